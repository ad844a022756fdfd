/*
 * parallel.c
 *		Divide the buckets of a query into shares for the processes of a
 *		parallel scan.
 *
 * The leader makes several shares for each process, because shares differ in
 * size, and puts them into shared memory.  A process that has read a share
 * claims the next one.  A share is a part of the query: a collection, and an
 * interval of one field.
 *
 * Every document belongs to exactly one share, whatever it has in that field:
 * MongoDB compares only values of like types, and one share of a collection
 * has all that the others do not match.  If the query fixes all keys, and an
 * index leads to the time of the buckets, they are divided by time.  Otherwise
 * they are divided by _id, at values sampled from the collection.  If a
 * rolling set has enough collections, each of them is a share.
 */
#include "scan/parallel.h"

#include <math.h>

#include "access/parallel.h"
#include "port/atomics.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "core/query/winning_plan.h"
#include "driver/attempt.h"
#include "driver/document.h"

#define SHARES_PER_PROCESS 4
#define SAMPLED_IDS_PER_SHARE 16
#define NCOUNTERS ((int) (sizeof(MtsCounters) / sizeof(int64)))

/*
 * Followed by the BSON of the shares, an array of {c: collection, t: terms}
 * after what the leader knows: {d: documents, i: indexes}.
 */
struct MtsShares
{
	pg_atomic_uint32 next_unclaimed; /* comes first: the source knows only
									  * this; see mts_parallel_detach() */
	uint32 size;                     /* of the BSON */
	uint64 time; /* that all processes read; 0 for the latest buckets */

	/* an MtsCounters: the sums of the workers that have ended */
	pg_atomic_uint64 counters[NCOUNTERS];
};

/* ---- Shares between values ---------------------------------------------- */

/*
 * Return the class of values that MongoDB compares with this one: all
 * numbers, or the values of its type.  0 if no share can begin at the value,
 * because it is null or NaN or has a rare type.
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

/*
 * Append a value to an array unless it is equal to the last one, {"": value}.
 * Returns the new last one.
 */
static bson_t *
append_distinct(bson_t *values, const bson_value_t *value, const bson_t *last)
{
	bson_t *one = mts_document_new();

	bson_append_value(one, "", -1, value);
	if (!last || !bson_equal(one, last))
		mts_template_push(values, "%v", value);
	return one;
}

/*
 * Append the shares of a collection that begin at these values of a field,
 * which are in MongoDB's order.
 *
 * The share of a value ends before the next value of the same class, or with
 * its class.  Another share has all documents that are in none of these: they
 * are not at or above the first value of any class.
 */
static void
append_shares(bson_t *shares, const char *collection, const char *field,
			  const bson_t *values)
{
	bson_t *others = mts_document_new();
	bson_iter_t value, next;
	int class = 0;
	bool has_next = bson_iter_init(&next, values) && bson_iter_next(&next);

	while (has_next)
	{
		value = next;
		has_next = bson_iter_next(&next);
		if (class_of(&value) != class)
			mts_filter_add_not(others, field, "$gte", &value);
		class = class_of(&value);
		if (has_next && class_of(&next) == class)
			mts_template_push(shares,
							  "{c: %s, t: {0: {%s: {$gte: %v, $lt: %v}}}}",
							  collection, field, bson_iter_value(&value),
							  bson_iter_value(&next));
		else
			mts_template_push(shares, "{c: %s, t: {0: {%s: {$gte: %v}}}}",
							  collection, field, bson_iter_value(&value));
	}
	mts_template_push(shares, "{c: %s, t: %o}", collection, others);
}

/* Find evenly spaced values of a sorted sample of _id. */
static bson_t *
divide_by_id(MtsBucketSource *source, const char *collection, int n)
{
	int size = n * SAMPLED_IDS_PER_SHARE;
	bson_t *stages = mts_document_new();
	bson_t *values = mts_document_new();
	bson_t *last = NULL;
	MtsCursor *cursor;
	const bson_t *doc;

	mts_template_push(stages, "{$sample: {size: %d}}", size);
	mts_template_push(stages, "{$project: {_id: 1}}");
	mts_template_push(stages, "{$sort: {_id: 1}}");
	cursor = mts_source_aggregate(source, collection, stages, size);
	for (int i = 1; (doc = mts_cursor_next(cursor)) != NULL; i++)
	{
		bson_iter_t id;

		if (i % SAMPLED_IDS_PER_SHARE == 0 && i < size &&
			bson_iter_init_find(&id, doc, "_id") && class_of(&id) != 0)
			last = append_distinct(values, bson_iter_value(&id), last);
	}
	mts_cursor_close(cursor);
	return values;
}

/* Note a stage that reads or sorts all documents. */
static void
note_stage(void *arg, const char *stage, const char *index)
{
	bool *is_indexed = arg;

	if (strcmp(stage, "COLLSCAN") == 0 || strcmp(stage, "SORT") == 0)
		*is_indexed = false;
}

/* Tell whether an index gives the documents in the order of a field. */
static bool
has_index(const MtsBucketSource *source, const char *collection,
		  const MtsOrderField *field)
{
	MtsFind find = {.filter = source->query->filter,
					.sort = mts_document_make("{%s: 1}", field->dotted)};
	bool is_indexed = true;
	const bson_t *reply;

	if (mts_source_try_explain(source, &find, collection, &reply) && reply)
		mts_winning_plan_walk(reply, note_stage, &is_indexed);
	return is_indexed;
}

/* Read the time of the query's first or last bucket; false if unknown. */
static bool
find_end(const MtsBucketSource *source, const char *collection,
		 const MtsOrderField *field, int direction, MtsTime *t)
{
	const bson_t *bucket =
		mts_source_first(source, collection,
						 &(MtsFind){.filter = source->query->filter,
									.sort = mts_document_make("{%s: %d}",
															  field->dotted,
															  direction)});

	return bucket &&
		   mts_sort_order_read_time(field, &source->table->layout.clock,
									bucket, t) == MTS_DECODED;
}

/* Find times at equal distances; NULL if the times are unknown. */
static bson_t *
divide_by_time(const MtsBucketSource *source, const MtsCollection *collection,
			   const MtsOrderField *field, int n)
{
	const MtsRange *held = &collection->period.instants;
	const MtsLayout *layout = &source->table->layout;
	const MtsRanges *ranges = &source->query->ranges;
	MtsTime from = Max(ranges->items[0].from, held->from);
	MtsTime to = Min(ranges->items[ranges->n - 1].to, held->to);
	bson_t *values = mts_document_new();
	bson_t *last = NULL;

	if ((from == MTS_TIME_MIN &&
		 !find_end(source, collection->name, field, 1, &from)) ||
		(to == MTS_TIME_MAX &&
		 !find_end(source, collection->name, field, -1, &to)))
		return NULL;
	for (int i = 1; i < n && from < to; i++)
	{
		MtsTime t = from + (to / n - from / n) * i;
		char text[MTS_MAX_TIME_TEXT];
		bson_value_t value;
		MtsTime stored;
		MtsError error;

		if (!mts_span_is_zero(layout->span))
			t = mts_clock_floor(&layout->clock, t, layout->span);
		if (mts_format_encode(field->format, &layout->clock, t, 0, &value,
							  text, &stored, &error))
			last = append_distinct(values, &value, last);
	}
	return values;
}

/* Append about n shares of a collection. */
static void
divide(MtsBucketSource *source, const MtsCollection *collection, int n,
	   bson_t *shares)
{
	const MtsQuery *query = source->query;
	MtsOrderField field;
	bson_t *values = NULL;

	if (query->is_possible && n > 1 && query->ranges.n > 0 &&
		mts_query_fixes_keys(source->table, query->filter) &&
		mts_sort_order_time_field(&source->table->layout, &field) &&
		has_index(source, collection->name, &field))
		values = divide_by_time(source, collection, &field, n);
	if (values)
		append_shares(shares, collection->name, field.dotted, values);
	else
		append_shares(shares, collection->name, "_id",
					  query->is_possible && n > 1
						  ? divide_by_id(source, collection->name, n)
						  : mts_document_new());
}

/*
 * Divide the collections of a query into about so many shares.
 *
 * Whether a collection is read depends on parameters, which may change while
 * the shares stay.  So there are shares of all collections.
 */
static void
divide_all(MtsBucketSource *source, int n, bson_t *shares)
{
	ListCell *lc;

	foreach (lc, source->collections)
	{
		const MtsCollection *collection =
			((const MtsPart *) lfirst(lc))->collection;

		divide(source, collection,
			   mts_part_is_wanted(source->query, collection)
				   ? n / list_length(source->parts)
				   : 1,
			   shares);
	}
}

/* ---- Shared memory ------------------------------------------------------ */

/* Learn of the indexes what the leader knows. */
static void
read_indexes(MtsBucketSource *source, const bson_iter_t *known)
{
	double documents = 0;
	bson_iter_t field;
	bson_t indexes = BSON_INITIALIZER;

	if (bson_iter_recurse(known, &field) && bson_iter_next(&field))
	{
		documents = (double) bson_iter_as_int64(&field);
		if (bson_iter_next(&field))
			(void) mts_document_view(&field, &indexes);
	}
	mts_source_set_indexes(source, &indexes, documents);
}

/* Read the shares from shared memory, as parts of a table. */
static List *
read_shares(MtsBucketSource *source, const MtsShares *shared)
{
	List *parts = NIL;
	bson_t shares;
	bson_iter_t iter, field;

	if (!bson_init_static(&shares, (const uint8 *) (shared + 1),
						  shared->size) ||
		!bson_iter_init(&iter, &shares))
		elog(ERROR, "the shares of a parallel scan are not valid BSON");
	if (bson_iter_next(&iter) && IsParallelWorker())
		read_indexes(source, &iter);
	while (bson_iter_next(&iter))
	{
		MtsPart *part = palloc0(sizeof(MtsPart));
		bson_t *terms = mts_document_new();

		if (bson_iter_recurse(&iter, &field) && bson_iter_find(&field, "c") &&
			BSON_ITER_HOLDS_UTF8(&field))
			part->collection =
				mts_collections_named(source->table,
									  bson_iter_utf8(&field, NULL));
		if (!part->collection || !bson_iter_next(&field) ||
			!mts_document_view(&field, terms))
			elog(ERROR, "a share of a parallel scan is not valid");
		part->terms = terms;
		parts = lappend(parts, part);
	}
	return parts;
}

/*
 * Have the statement choose the moment that it reads, unless it has done so:
 * workers must not choose one each.
 */
static void
choose_snapshot_time(MtsBucketSource *source)
{
	const MtsTable *table = source->table;
	MtsFind find = {.filter = mts_document_new(),
					.projection = mts_document_make("{_id: 1}"),
					.on_primary = source->query->on_primary};

	if (!source->snapshot || mts_snapshot_time(source->snapshot) != 0 ||
		source->collections == NIL)
		return;
	if (mts_attempt_may_read_snapshots(mts_connection_get(table->serverid,
														  source->userid),
									   true))
		(void) mts_source_first(source,
								((MtsPart *) linitial(source->collections))
									->collection->name,
								&find);
}

/*
 * mts_parallel_divide
 *		Divide the buckets of the source's query into an array of shares.
 *
 * The shares serve later queries of the source, too: they hold all documents
 * of the collections.
 */
bson_t *
mts_parallel_divide(MtsBucketSource *source, int nprocesses)
{
	bson_t *shares = mts_document_new();

	(void) mts_source_list_parts(source, false);
	if (source->has_indexes)
		mts_template_push(shares, "{d: %i, i: %o}", (int64) source->documents,
						  source->indexes);
	else
		mts_template_push(shares, "{}");
	divide_all(source, nprocesses * SHARES_PER_PROCESS, shares);
	choose_snapshot_time(source);
	return shares;
}

/* mts_parallel_size: return the size of the shared memory for shares. */
Size
mts_parallel_size(const bson_t *shares)
{
	return sizeof(MtsShares) + shares->len;
}

/*
 * mts_parallel_share
 *		Write shares to shared memory, and have the source read those that it
 *		claims.
 */
void
mts_parallel_share(MtsBucketSource *source, const bson_t *shares,
				   MtsShares *shared)
{
	pg_atomic_init_u32(&shared->next_unclaimed, 0);
	for (int i = 0; i < NCOUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	shared->size = shares->len;
	shared->time = source->snapshot ? mts_snapshot_time(source->snapshot) : 0;
	memcpy(shared + 1, bson_get_data(shares), shares->len);
	mts_parallel_attach(source, shared);
}

/*
 * mts_parallel_attach
 *		Have the source read the shares that it claims, at the leader's time.
 */
void
mts_parallel_attach(MtsBucketSource *source, MtsShares *shared)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(source));

	if (shared->time == 0)
		mts_source_read_snapshot(source, NULL);
	else if (IsParallelWorker() && source->snapshot)
		mts_snapshot_set_time(source->snapshot, shared->time);
	mts_source_read_parts(source, read_shares(source, shared),
						  &shared->next_unclaimed);
	MemoryContextSwitchTo(old);
}

/* mts_parallel_restart: allow all shares to be claimed again. */
void
mts_parallel_restart(MtsShares *shared)
{
	pg_atomic_write_u32(&shared->next_unclaimed, 0);
}

/*
 * mts_parallel_detach
 *		Detach from shared memory: a worker leaves its counters there, and the
 *		leader adds them to its own.
 *
 * The leader detaches when its workers have ended.  If a LIMIT ends the scan
 * before, their counters are incomplete.
 */
void
mts_parallel_detach(MtsBucketSource *source)
{
	int64 *counters = (int64 *) source->counters;
	MtsShares *shared = (MtsShares *) source->next_unclaimed;

	if (!shared)
		return;
	for (int i = 0; i < NCOUNTERS; i++)
		if (IsParallelWorker())
			pg_atomic_fetch_add_u64(&shared->counters[i], counters[i]);
		else
			counters[i] += pg_atomic_read_u64(&shared->counters[i]);
	mts_source_read_parts(source, NIL, NULL);
}
