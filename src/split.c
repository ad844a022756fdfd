/*
 * split.c
 *		Where can the buckets of a query be divided?
 *
 * A split is a field and some of its values, in MongoDB's order: {field:
 * [value, ..]}.  Every document belongs to one of its parts, whatever it has
 * in that field: values of different types are not compared.  Where an index
 * leads to the time, because the query says which series it wants, the buckets
 * are divided by their time; else by _id, at values drawn from the collection.
 */
#include "split.h"

#include <math.h>

#include "core/terms.h"
#include "core/write.h"
#include "document.h"
#include "order.h"

/* So many _ids are drawn for each part */
#define DRAWN_PER_PART 16

/* ---- The parts ----------------------------------------------------------- */

/* How many parts there are */
int
mts_split_count(const bson_t *split)
{
	bson_iter_t iter, value;
	int n = 1;

	if (bson_iter_init(&iter, split) && bson_iter_next(&iter) &&
		bson_iter_recurse(&iter, &value))
		while (bson_iter_next(&value))
			n++;
	return n;
}

/*
 * What MongoDB compares with each other: numbers, else values of one type.  0
 * for what is not used, such as null and NaN.
 */
static int
class_of(const bson_iter_t *value)
{
	switch (bson_iter_type(value))
	{
		case BSON_TYPE_DOUBLE:
			return isnan(bson_iter_double(value)) ? 0 : BSON_TYPE_INT64;
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			return BSON_TYPE_INT64;
		case BSON_TYPE_UTF8:
		case BSON_TYPE_DOCUMENT:
		case BSON_TYPE_BINARY:
		case BSON_TYPE_OID:
		case BSON_TYPE_DATE_TIME:
			return bson_iter_type(value);
		default:
			return 0;
	}
}

/* Append {field: {$gte: from, $lt: to}}; to may be NULL. */
static void
append_between(bson_t *terms, const char *field, bson_iter_t *from,
			   bson_iter_t *to)
{
	mts_template_push(terms,
					  to ? "{%s: {$gte: %v, $lt: %v}}" : "{%s: {$gte: %v}}",
					  field, bson_iter_value(from),
					  to ? bson_iter_value(to) : NULL);
}

/*
 * mts_split_append
 *		Append the condition of a part, counted from 0, to an array of terms.
 *
 * A part has what is not less than its value, and less than the next one if
 * that compares with it.  The first part has what is less than all values, or
 * compares with none.
 */
void
mts_split_append(const bson_t *split, int part, bson_t *terms)
{
	bson_iter_t field, value, before;
	int class = 0;

	if (!bson_iter_init(&field, split) || !bson_iter_next(&field) ||
		!bson_iter_recurse(&field, &value))
		return;
	for (int i = 0; bson_iter_next(&value); i++)
	{
		bool is_same = class_of(&value) == class;

		if (part == 0 && !is_same)
			mts_terms_add_not(terms, bson_iter_key(&field), "$gte", &value);
		if (part > 0 && i == part)
		{
			append_between(terms, bson_iter_key(&field), &before,
						   is_same ? &value : NULL);
			return;
		}
		class = class_of(&value);
		before = value;
	}
	if (part > 0)
		append_between(terms, bson_iter_key(&field), &before, NULL);
}

/* Begin {field: [ .. */
static bson_t *
begin_split(const char *field, bson_t *values)
{
	bson_t *split = mts_document_new();

	bson_append_array_begin(split, field, -1, values);
	return split;
}

/* Append a value to those of a split, unless it is the last one again. */
static void
append_value(bson_t *values, const bson_value_t *value, bson_t *last)
{
	bson_t one = BSON_INITIALIZER;
	char key[16];

	bson_append_value(&one, "", -1, value);
	if (!bson_equal(&one, last))
	{
		snprintf(key, sizeof(key), "%u", bson_count_keys(values));
		bson_append_value(values, key, -1, value);
		bson_reinit(last);
		bson_concat(last, &one);
	}
	bson_destroy(&one);
}

/* ---- By _id -------------------------------------------------------------- */

/* The stages that draw so many documents by chance */
static bson_t *
drawing(int n)
{
	bson_t *stages = mts_document_new();

	mts_template_push(stages, "{$sample: {size: %d}}", n);
	mts_template_push(stages, "{$project: {_id: 1}}");
	mts_template_push(stages, "{$sort: {_id: 1}}");
	return stages;
}

static bson_t *
split_by_id(MtsScan *scan, int parts)
{
	bson_t *last = mts_document_new();
	int n = parts * DRAWN_PER_PART;
	MtsCursorState *cursor =
		mts_remote_aggregate(scan->connection, scan->table->database,
							 scan->table->collection, drawing(n), n);
	bson_t values;
	bson_t *split = begin_split("_id", &values);
	const bson_t *doc;

	for (int i = 1; (doc = mts_remote_next(cursor)) != NULL; i++)
	{
		bson_iter_t id;

		if (i % DRAWN_PER_PART == 0 && i < n &&
			bson_iter_init_find(&id, doc, "_id") && class_of(&id) != 0)
			append_value(&values, bson_iter_value(&id), last);
	}
	mts_remote_close(cursor);
	bson_append_array_end(split, &values);
	return split;
}

/* ---- By time ------------------------------------------------------------- */

/* Does the query fix a field to one value? */
static bool
is_fixed(const MtsScan *scan, const MtsPath *path)
{
	char field[MTS_MAX_DOTTED + 1];
	bson_iter_t iter, op;

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	return bson_iter_init_find(&iter, scan->filter, field) &&
		   !(BSON_ITER_HOLDS_DOCUMENT(&iter) &&
			 bson_iter_recurse(&iter, &op) && bson_iter_next(&op) &&
			 *bson_iter_key(&op) == '$');
}

/*
 * Does the index that mongo_ts_create_index makes lead to the times of the
 * buckets?  It does if the query fixes all keys.
 */
static bool
is_by_time(const MtsScan *scan)
{
	const MtsTable *table = scan->table;
	const MtsLayout *layout = &table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->role == MTS_ROLE_KEY && column->path.nsteps > 0 &&
			(layout->nslots > 0 || table->attributes[i].has_role) &&
			!is_fixed(scan, &column->path))
			return false;
	}
	return true;
}

/* The time of the first bucket of the query, or of the last; false if none */
static bool
find_end(MtsScan *scan, const MtsOrderField *field, bool last, MtsTime *t)
{
	const MtsTable *table = scan->table;
	bson_t *sort = mts_document_new();
	const bson_t *doc;
	MtsElement bucket, element;
	MtsError error;

	bson_append_int32(sort, field->dotted, -1, last ? -1 : 1);
	doc =
		mts_remote_first(scan->connection, table->database, table->collection,
						 &(MtsFind){.filter = scan->filter, .sort = sort});
	if (!doc)
		return false;
	bucket = mts_element_document(bson_get_data(doc), doc->len);
	return mts_element_find(&bucket, field->path->steps, field->path->nsteps,
							&element) == MTS_FOUND &&
		   mts_format_decode(field->format, &table->layout.clock, &element, 0,
							 true, t, &error) == MTS_DECODED;
}

/* Parts that are equally long; NULL where the times can't be told. */
static bson_t *
split_by_time(MtsScan *scan, const MtsOrderField *field, int parts)
{
	const MtsClock *clock = &scan->table->layout.clock;
	MtsTime from = scan->ranges.items[0].from;
	MtsTime to = scan->ranges.items[scan->ranges.n - 1].to;
	bson_t *last = mts_document_new();
	bson_t values;
	bson_t *split;

	if ((from == MTS_TIME_MIN && !find_end(scan, field, false, &from)) ||
		(to == MTS_TIME_MAX && !find_end(scan, field, true, &to)))
		return NULL;
	split = begin_split(field->dotted, &values);
	for (int i = 1; i < parts && from < to; i++)
	{
		MtsTime t = from + (to / parts - from / parts) * i;
		char text[MTS_MAX_TIME_TEXT];
		bson_value_t value;
		MtsTime stored;
		MtsError error;

		if (!mts_span_is_zero(scan->table->layout.span))
			t = mts_clock_floor(clock, t, scan->table->layout.span);
		if (mts_format_encode(field->format, clock, t, 0, &value, text,
							  &stored, &error))
			append_value(&values, &value, last);
	}
	bson_append_array_end(split, &values);
	return split;
}

/*
 * mts_split_make
 *		Divide the buckets of a prepared scan into so many parts, or fewer.
 *
 * The split lives in the current memory context.
 */
bson_t *
mts_split_make(MtsScan *scan, int parts)
{
	MtsOrderField field;
	bson_t *split = NULL;
	int64 round_trips;

	scan->connection = mts_connection_get(scan->table->serverid, scan->userid);
	round_trips = scan->connection->round_trips;
	if (scan->ranges.n > 0 && is_by_time(scan) &&
		mts_order_time_field(&scan->table->layout, &field))
		split = split_by_time(scan, &field, parts);
	if (!split)
		split = split_by_id(scan, parts);
	scan->counters.round_trips += scan->connection->round_trips - round_trips;
	return split;
}
