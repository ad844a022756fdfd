/*
 * bucket_update.c
 *		Make the write that stores new points in their bucket.
 *
 * Everything is in the current memory context, where the documents hang.
 */
#include "writer.h"

#include "collections.h"
#include "document.h"
#include "number.h"

/* The fields that new points change beside their own */
typedef struct Fields
{
	MtsPlaced *items;
	int n;
} Fields;

static void
add_field(Fields *fields, const MtsField *field, bson_value_t value)
{
	bson_value_t *copy = palloc(sizeof(bson_value_t));

	*copy = value;
	fields->items[fields->n++] =
		(MtsPlaced){field->path.steps, field->path.nsteps, copy};
}

static bson_value_t
integer(int64 n)
{
	bson_value_t value = {.value_type = BSON_TYPE_INT32};

	value.value.v_int32 = (int32) n;
	return value;
}

/* The bound of a time: rounded outwards where it is finer than what is stored */
static bson_value_t
encode_bound(const MtsTable *table, const MtsField *field, MtsTime t,
			 MtsTime start, bool up)
{
	const MtsLayout *layout = &table->layout;
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsSpan step = field->format.kind == MTS_FORMAT_TEXT
					   ? field->format.unit
					   : (MtsSpan){0, 0, 1000};
	bson_value_t value;
	MtsTime stored;
	MtsError error;
	bool ok = mts_format_encode(&field->format, &layout->clock, t, start,
								&value, text, &stored, &error);

	if (ok && up && stored < t)
		ok = mts_clock_step(&layout->clock, stored, step, 1, &t) &&
			 mts_format_encode(&field->format, &layout->clock, t, start,
							   &value, text, &stored, &error);
	if (!ok)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
						errmsg("cannot store a bound of a bucket in MongoDB "
							   "collection \"%s.%s\"",
							   table->database, table->collection),
						errdetail("%s", error.detail)));
	return value;
}

static void
add_bounds(const MtsPlacer *placer, MtsTime start, MtsWrite **writes, int n,
		   Fields *lows, Fields *highs)
{
	const MtsLayout *layout = &placer->table->layout;
	MtsTime first = MTS_TIME_MAX, last = MTS_TIME_MIN;

	if (!layout->first.is_set && !layout->last.is_set)
		return;
	for (int i = 0; i < n; i++)
	{
		first = Min(first, writes[i]->time);
		last = Max(last, writes[i]->time);
	}
	if (layout->first.is_set)
		add_field(lows, &layout->first,
				  encode_bound(placer->table, &layout->first, first, start,
							   false));
	if (layout->last.is_set)
		add_field(highs, &layout->last,
				  encode_bound(placer->table, &layout->last, last, start,
							   true));
}

/* The counters of points that are all new to their bucket */
static void
add_totals(const MtsColumn *column, int i, MtsWrite **writes, int n,
		   Fields *sums, Fields *lows, Fields *highs)
{
	bson_value_t sum = {.value_type = BSON_TYPE_EOD};
	const bson_value_t *low = NULL, *high = NULL;

	if (!column->sum.is_set && !column->min.is_set && !column->max.is_set)
		return;
	for (int j = 0; j < n; j++)
	{
		const bson_value_t *value = &writes[j]->values[i];

		if (!mts_number_is_value(value))
			continue;
		sum = sum.value_type == BSON_TYPE_EOD ? *value
											  : mts_number_add(&sum, value);
		if ((column->min.is_set || column->max.is_set) &&
			(!low || mts_number_compare(value, low) < 0))
			low = value;
		if ((column->min.is_set || column->max.is_set) &&
			(!high || mts_number_compare(value, high) > 0))
			high = value;
	}
	if (column->sum.is_set)
		add_field(sums, &column->sum,
				  sum.value_type == BSON_TYPE_EOD ? integer(0) : sum);
	if (column->min.is_set && low)
		add_field(lows, &column->min, *low);
	if (column->max.is_set && high)
		add_field(highs, &column->max, *high);
}

static void
add_attributes(const MtsIdentity *identity, const MtsLayout *layout,
			   const bson_value_t *keys, Fields *attributes)
{
	for (int i = 0; i < identity->nattributes; i++)
	{
		int column = identity->attributes[i];
		const MtsPath *path = &layout->columns[column].path;

		attributes->items[attributes->n++] =
			(MtsPlaced){path->steps, path->nsteps, &keys[column]};
	}
}

/* A selector that finds a bucket with room for n points more */
static void
leave_room(const MtsLayout *layout, int n, bson_t *selector)
{
	const MtsContainer *container = &layout->containers[0];
	char path[MTS_MAX_PATH + 16];
	size_t len;
	bson_t absent;

	len = mts_path_dotted(container->path->steps, container->nsteps - 1, path,
						  MTS_MAX_PATH);
	snprintf(path + len, 16, "." INT64_FORMAT, layout->max_points - n);
	bson_append_document_begin(selector, path, -1, &absent);
	bson_append_bool(&absent, "$exists", -1, false);
	bson_append_document_end(selector, &absent);
}

/* Fill in what new points change beside their own fields. */
static void
add_counters(const MtsLayout *layout, MtsWrite **writes, int n, Fields *sums,
			 Fields *lows, Fields *highs)
{
	if (layout->count.is_set)
		add_field(sums, &layout->count, integer(n));
	for (int i = 0; i < layout->ncolumns; i++)
		add_totals(&layout->columns[i], i, writes, n, sums, lows, highs);
}

/*
 * The bucket as a new document, where the writer takes it for one that is not
 * there yet; or NULL.
 */
static const bson_t *
make_fresh(MtsWriter *writer, const MtsBucketWrite *bucket,
		   const MtsPlaced *identity)
{
	int nidentity = writer->placer->identity->n;
	MtsPlaced *fields;
	bson_t *doc;

	if (writer->fresh_left == 0)
		return NULL;
	writer->fresh_left--;
	fields = palloc((nidentity + bucket->nattributes + bucket->nlows +
					 bucket->nhighs + bucket->nsums) *
					sizeof(MtsPlaced));
	doc = mts_document_new();
	if (!mts_update_fresh(bucket, identity, nidentity, fields, doc))
		return NULL;
	writer->fresh_tried++;
	return doc;
}

/*
 * mts_writer_build
 *		Make the upsert of n points of a pending bucket, from the first on.
 */
void
mts_writer_build(MtsWriter *writer, const MtsPending *pending, int first,
				 int n, MtsOp *op)
{
	const MtsPlacer *placer = writer->placer;
	const MtsLayout *layout = &writer->table->layout;
	MtsWrite **writes = pending->writes + first;
	MtsTime start = pending->key.start;
	bool is_pipeline =
		mts_update_needs_pipeline(layout) ||
		(writer->is_move && layout->write_mode != MTS_WRITE_PUSH);
	MtsPlaced *identity = mts_place_identity(placer, start, pending->values);
	bson_t *selector = mts_identity_selector(placer->identity, identity);
	bson_t *update = mts_document_new();
	MtsBucketWrite bucket;
	Fields fields[4];
	Fields *attributes = &fields[0], *lows = &fields[1], *highs = &fields[2],
		   *sums = &fields[3];

	for (int i = 0; i < (int) lengthof(fields); i++)
		fields[i] =
			(Fields){palloc((3 * layout->ncolumns + 2) * sizeof(MtsPlaced)),
					 0};
	add_attributes(placer->identity, layout, pending->values, attributes);
	add_bounds(placer, start, writes, n, lows, highs);
	if (!is_pipeline)
		add_counters(layout, writes, n, sums, lows, highs);
	bucket = (MtsBucketWrite){
		.layout = layout,
		.start = start,
		.is_insert = true,
		.writes = (const MtsWrite **) writes,
		.n = n,
		.attributes = attributes->items,
		.nattributes = attributes->n,
		.lows = lows->items,
		.nlows = lows->n,
		.highs = highs->items,
		.nhighs = highs->n,
		.sums = sums->items,
		.nsums = sums->n,
	};
	(is_pipeline ? mts_update_pipeline : mts_update_plain)(&bucket, update);
	if (layout->max_points > 0)
		leave_room(layout, n, selector);
	if (pending->guard)
		bson_concat(selector, pending->guard);
	*op = (MtsOp){pending->exists ? MTS_OP_UPDATE : MTS_OP_UPSERT, selector,
				  update, n};
	op->fresh = make_fresh(writer, &bucket, identity);
	if (writer->table->set)
		op->collection = mts_collection_at(writer->table, start);
}

/*
 * mts_writer_build_edit
 *		Make the update that changes or removes stored points of a bucket.
 *
 * The selector tells the bucket, and that the points are as they were.
 */
void
mts_writer_build_edit(const MtsWriter *writer, MtsTime start,
					  MtsWrite **writes, int n, const bson_t *selector,
					  MtsOp *op)
{
	const MtsLayout *layout = &writer->table->layout;
	MtsPlaced items[4];
	Fields lows = {items, 0}, highs = {items + 2, 0};
	MtsWrite **changed = palloc(n * sizeof(MtsWrite *));
	bson_t *update = mts_document_new();
	int nchanged = 0;

	for (int i = 0; i < n; i++)
		if (writes[i]->kind == MTS_PUT && layout->time_column >= 0 &&
			writes[i]->values[layout->time_column].value_type != BSON_TYPE_EOD)
			changed[nchanged++] = writes[i];
	if (nchanged > 0)
		add_bounds(writer->placer, start, changed, nchanged, &lows, &highs);
	mts_update_pipeline(
		&(MtsBucketWrite){
			.layout = layout,
			.start = start,
			.writes = (const MtsWrite **) writes,
			.n = n,
			.lows = lows.items,
			.nlows = lows.n,
			.highs = highs.items,
			.nhighs = highs.n,
		},
		update);
	*op = (MtsOp){MTS_OP_UPDATE, selector, update, n};
}
