/*
 * parallel.c
 *		Divide the buckets of a query into parts for the processes of a
 *		parallel scan.
 *
 * The leader makes several parts for each process, because parts differ in
 * size, and puts their conditions into shared memory.  A process that has read
 * a part claims the next one.
 *
 * A part is an interval of one field.  Every document belongs to exactly one
 * part, whatever it has in that field: MongoDB compares only values of like
 * types, and the first part has all that the others do not match.  If the
 * query fixes all keys, and an index leads to the time of the buckets, they
 * are divided by time.  Otherwise they are divided by _id, at values sampled
 * from the collection.  The parts of a rolling set are its collections.
 */
#include "scan/parallel.h"

#include <math.h>

#include "access/parallel.h"
#include "port/atomics.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "core/query/winning_plan.h"
#include "driver/attempt.h"
#include "driver/document.h"
#include "scan/rolling.h"

#define PARTS_PER_PROCESS 4
#define SAMPLED_IDS_PER_PART 16
#define NCOUNTERS ((int) (sizeof(MtsCounters) / sizeof(int64)))

/* In shared memory, followed by the BSON of the parts */
struct MtsParallel
{
	pg_atomic_uint32 next; /* the next part to claim, from 0 */
	uint32 nparts;
	uint32 size; /* of the BSON */
	uint64 time; /* that all processes read; 0 for the latest buckets */

	/* an MtsCounters: the sums of the workers that have ended */
	pg_atomic_uint64 counters[NCOUNTERS];
};

/* ---- Parts between values ----------------------------------------------- */

/*
 * The class of values that MongoDB compares with this one: all numbers, or the
 * values of its type.  0 if no part can begin at the value, because it is null
 * or NaN or has a rare type.
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
 * Make an array of the parts that begin at these values of a field, which are
 * in MongoDB's order.  A part is an array of terms.
 *
 * The part of a value ends before the next value of the same class, or with
 * its class.  The first part has all documents that are in none of the others:
 * they are not at or above the first value of any class.
 */
static bson_t *
make_parts(const char *field, const bson_t *values)
{
	bson_t *first = mts_document_new();
	bson_t *others = mts_document_new();
	bson_t *parts = mts_document_new();
	bson_iter_t value, next;
	int class = 0;
	bool has_next = bson_iter_init(&next, values) && bson_iter_next(&next);

	while (has_next)
	{
		value = next;
		has_next = bson_iter_next(&next);
		if (class_of(&value) != class)
			mts_filter_add_not(first, field, "$gte", &value);
		class = class_of(&value);
		if (has_next && class_of(&next) == class)
			mts_template_push(others, "[{%s: {$gte: %v, $lt: %v}}]", field,
							  bson_iter_value(&value), bson_iter_value(&next));
		else
			mts_template_push(others, "[{%s: {$gte: %v}}]", field,
							  bson_iter_value(&value));
	}
	mts_template_push(parts, "%a", first);
	bson_concat(parts, others);
	return parts;
}

/* Divide by _id, at evenly spaced values of a sorted sample. */
static bson_t *
divide_by_id(MtsBucketSource *source, int nparts)
{
	const MtsTable *table = source->table;
	int n = nparts * SAMPLED_IDS_PER_PART;
	bson_t *stages = mts_document_new();
	bson_t *values = mts_document_new();
	bson_t *last = NULL;
	MtsCursor *cursor;
	const bson_t *doc;

	mts_template_push(stages, "{$sample: {size: %d}}", n);
	mts_template_push(stages, "{$project: {_id: 1}}");
	mts_template_push(stages, "{$sort: {_id: 1}}");
	cursor =
		mts_cursor_aggregate(mts_connection_get(table->serverid,
												source->userid),
							 table->database, table->collection, stages, n,
							 &source->counters->round_trips, table->relid);
	for (int i = 1; (doc = mts_cursor_next(cursor)) != NULL; i++)
	{
		bson_iter_t id;

		if (i % SAMPLED_IDS_PER_PART == 0 && i < n &&
			bson_iter_init_find(&id, doc, "_id") && class_of(&id) != 0)
			last = append_distinct(values, bson_iter_value(&id), last);
	}
	mts_cursor_close(cursor);
	return make_parts("_id", values);
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
has_index(MtsBucketSource *source, const MtsOrderField *field)
{
	MtsFind find = {.filter = source->query->filter,
					.sort = mts_document_make("{%s: 1}", field->dotted)};
	bool is_indexed = true;
	const bson_t *reply;

	if (mts_source_try_explain(source, &find, source->table->collection,
							   &reply) &&
		reply)
		mts_winning_plan_walk(reply, note_stage, &is_indexed);
	return is_indexed;
}

/* Read the time of the query's first or last bucket; false if unknown. */
static bool
find_end(MtsBucketSource *source, const MtsOrderField *field, int direction,
		 MtsTime *t)
{
	const bson_t *bucket =
		mts_source_first(source,
						 &(MtsFind){.filter = source->query->filter,
									.sort = mts_document_make("{%s: %d}",
															  field->dotted,
															  direction)});

	return bucket &&
		   mts_sort_order_read_time(field, &source->table->layout.clock,
									bucket, t) == MTS_DECODED;
}

/* Divide into intervals of equal length; NULL if the times are unknown. */
static bson_t *
divide_by_time(MtsBucketSource *source, const MtsOrderField *field, int nparts)
{
	const MtsLayout *layout = &source->table->layout;
	const MtsRanges *ranges = &source->query->ranges;
	MtsTime from = ranges->items[0].from;
	MtsTime to = ranges->items[ranges->n - 1].to;
	bson_t *values = mts_document_new();
	bson_t *last = NULL;

	if ((from == MTS_TIME_MIN && !find_end(source, field, 1, &from)) ||
		(to == MTS_TIME_MAX && !find_end(source, field, -1, &to)))
		return NULL;
	for (int i = 1; i < nparts && from < to; i++)
	{
		MtsTime t = from + (to / nparts - from / nparts) * i;
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
	return make_parts(field->dotted, values);
}

/* Divide the buckets of a query into about so many parts. */
static bson_t *
divide(MtsBucketSource *source, int nparts)
{
	const MtsQuery *query = source->query;
	MtsOrderField field;
	bson_t *parts = NULL;

	if (source->rolling)
		return mts_rolling_parts(source);
	if (!query->is_possible)
		return make_parts("_id", mts_document_new());
	if (query->ranges.n > 0 &&
		mts_query_fixes_keys(source->table, query->filter) &&
		mts_sort_order_time_field(&source->table->layout, &field) &&
		has_index(source, &field))
		parts = divide_by_time(source, &field, nparts);
	return parts ? parts : divide_by_id(source, nparts);
}

/* ---- Reading parts ------------------------------------------------------ */

/* Begin to read a part, from 0; false if it has no wanted points. */
static bool
begin_part(MtsBucketSource *source, const bson_t *parts, uint32 part)
{
	bson_iter_t iter;
	const uint8 *data;
	uint32 len;
	bson_t terms;
	bool found = bson_iter_init(&iter, parts) && bson_iter_next(&iter);

	while (found && part-- > 0)
		found = bson_iter_next(&iter);
	if (!found)
		elog(ERROR, "a part of a parallel scan is missing");
	if (source->rolling)
		return mts_rolling_begin_part(source, bson_iter_utf8(&iter, NULL));
	bson_iter_array(&iter, &len, &data);
	if (!bson_init_static(&terms, data, len))
		elog(ERROR, "a part of a parallel scan is not an array");
	mts_source_begin_part(source, source->collection, &terms);
	return true;
}

/*
 * Claim the next part, or repeat the one that was claimed last; false when all
 * are claimed.
 */
static bool
next_part(MtsBucketSource *source)
{
	MtsParallel *shared = source->parallel;
	bool repeats = source->repeat_part;
	bson_t parts;

	if (!bson_init_static(&parts, (uint8 *) (shared + 1), shared->size))
		elog(ERROR, "the parts of a parallel scan are not valid BSON");
	source->repeat_part = false;
	for (;;)
	{
		if (!repeats)
			source->part = pg_atomic_fetch_add_u32(&shared->next, 1);
		if (source->part >= shared->nparts)
		{
			/* keep the number from wrapping around */
			pg_atomic_write_u32(&shared->next, shared->nparts);
			return false;
		}
		if (begin_part(source, &parts, source->part))
			break;
		repeats = false;
	}
	source->nparts += !repeats;
	return true;
}

/* ---- Shared memory ------------------------------------------------------ */

/*
 * Have the statement choose the moment that it reads, unless it has done so:
 * workers must not choose one each.
 */
static void
choose_time(MtsBucketSource *source)
{
	const MtsTable *table = source->table;
	const MtsCollections *all = source->rolling ? source->rolling->all : NULL;
	MtsConnection *connection;
	MtsFind find = {.filter = mts_document_new(),
					.projection = mts_document_make("{_id: 1}"),
					.on_primary = source->query->on_primary,
					.round_trips = &source->counters->round_trips,
					.snapshot = source->snapshot,
					.relid = table->relid};

	if (!source->snapshot || mts_snapshot_time(source->snapshot) != 0 ||
		(all && all->n == 0))
		return;
	connection = mts_connection_get(table->serverid, source->userid);
	if (mts_attempt_may_read_snapshots(connection, true))
		(void) mts_cursor_first(connection, table->database,
								all ? all->items[0].name : table->collection,
								&find);
}

/*
 * mts_parallel_estimate
 *		Divide the buckets of the source's query, and return the size of the
 *		shared memory.
 *
 * The parts are allocated in the current memory context, which must live as
 * long as the source.  They serve later queries of the source, too: they hold
 * all documents of the collections.
 */
Size
mts_parallel_estimate(MtsBucketSource *source, int nprocesses)
{
	if (!source->parts)
		source->parts = divide(source, nprocesses * PARTS_PER_PROCESS);
	choose_time(source);
	return sizeof(MtsParallel) + source->parts->len;
}

/* mts_parallel_share: write the parts to shared memory, and attach to it. */
void
mts_parallel_share(MtsBucketSource *source, MtsParallel *shared)
{
	pg_atomic_init_u32(&shared->next, 0);
	for (int i = 0; i < NCOUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	shared->nparts = bson_count_keys(source->parts);
	shared->size = source->parts->len;
	shared->time = source->snapshot ? mts_snapshot_time(source->snapshot) : 0;
	memcpy(shared + 1, bson_get_data(source->parts), source->parts->len);
	mts_parallel_attach(source, shared);
}

/*
 * mts_parallel_attach
 *		Have the source read the parts that it claims, at the leader's time.
 */
void
mts_parallel_attach(MtsBucketSource *source, MtsParallel *shared)
{
	if (shared->time == 0)
		source->snapshot = NULL;
	else if (IsParallelWorker() && source->snapshot)
		mts_snapshot_set_time(source->snapshot, shared->time);
	source->parallel = shared;
	source->next_part = next_part;
}

/* mts_parallel_restart: allow all parts to be claimed again. */
void
mts_parallel_restart(MtsParallel *shared)
{
	pg_atomic_write_u32(&shared->next, 0);
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
	MtsParallel *shared = source->parallel;
	int64 *counters = (int64 *) source->counters;

	if (!shared)
		return;
	for (int i = 0; i < NCOUNTERS; i++)
		if (IsParallelWorker())
			pg_atomic_fetch_add_u64(&shared->counters[i], counters[i]);
		else
			counters[i] += pg_atomic_read_u64(&shared->counters[i]);
	source->parallel = NULL;
	source->next_part = source->rolling ? mts_rolling_next : NULL;
}
