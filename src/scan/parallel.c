/*
 * parallel.c
 *		Divide the buckets of a query into parts that workers read.
 *
 * The leader divides them more finely than there are workers, and puts the
 * split into shared memory.  Whoever has read a part takes the next one.
 *
 * A split is a field and some of its values, in MongoDB's order: {field:
 * [value, ..]}.  Every document belongs to one of its parts, whatever it has
 * in that field: values of different types are not compared.  Where an index
 * leads to the time, because the query fixes all keys, the buckets are divided
 * by their time; otherwise by _id, at values drawn from the collection.  The
 * parts of a rolling set are its collections.
 */
#include "scan/parallel.h"

#include <math.h>

#include "foreign/foreign.h"
#include "optimizer/optimizer.h"
#include "port/atomics.h"
#include "storage/shm_toc.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/document.h"
#include "fdw_scan.h"
#include "scan/rolling.h"

/* So many parts for each process: they are not equally large */
#define PARTS_PER_PROCESS 4

/* So many _ids are drawn for each part */
#define DRAWN_PER_PART 16

#define COUNTERS ((int) (sizeof(MtsCounters) / sizeof(int64)))

/* In shared memory, followed by the split's bytes */
typedef struct MtsParallel
{
	pg_atomic_uint32 next; /* part to be taken */
	uint32 parts;
	uint32 size; /* of the split */

	/* what workers have counted when they end: an MtsCounters */
	pg_atomic_uint64 counters[COUNTERS];
} MtsParallel;

/* ---- The parts ----------------------------------------------------------- */

/* Count the parts. */
static uint32
count_parts(const bson_t *split)
{
	bson_iter_t iter, value;
	uint32 n = 1;

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
 * Append the condition of a part, counted from 0, to an array of terms.
 *
 * A part has what is not less than its value, and less than the next one if
 * that compares with it.  The first part has what is less than all values, or
 * compares with none.
 */
static void
append_part(const bson_t *split, int part, bson_t *terms)
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
			mts_filter_add_not(terms, bson_iter_key(&field), "$gte", &value);
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
split_by_id(MtsBucketSource *source, int parts)
{
	const MtsTable *table = source->table;
	MtsConnection *connection =
		mts_connection_get(table->serverid, source->userid);
	int64 before = connection->round_trips;
	bson_t *last = mts_document_new();
	int n = parts * DRAWN_PER_PART;
	MtsCursorState *cursor =
		mts_remote_aggregate(connection, table->database, table->collection,
							 drawing(n), n);
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
	source->counters->round_trips += connection->round_trips - before;
	mts_remote_close(cursor);
	bson_append_array_end(split, &values);
	return split;
}

/* ---- By time ------------------------------------------------------------- */

/* The time of the first bucket of the query, or of the last; false if none */
static bool
find_end(MtsBucketSource *source, const MtsOrderField *field, bool last,
		 MtsTime *t)
{
	const bson_t *bucket =
		mts_source_first(source,
						 &(MtsFind){.filter = source->query->filter,
									.sort = mts_document_make("{%s: %d}",
															  field->dotted,
															  last ? -1 : 1)});

	return bucket &&
		   mts_sort_order_read_time(field, &source->table->layout.clock,
									bucket, t) == MTS_DECODED;
}

/* Parts that are equally long; NULL where the times are not known. */
static bson_t *
split_by_time(MtsBucketSource *source, const MtsOrderField *field, int parts)
{
	const MtsLayout *layout = &source->table->layout;
	const MtsRanges *ranges = &source->query->ranges;
	MtsTime from = ranges->items[0].from;
	MtsTime to = ranges->items[ranges->n - 1].to;
	bson_t *last = mts_document_new();
	bson_t values;
	bson_t *split;

	if ((from == MTS_TIME_MIN && !find_end(source, field, false, &from)) ||
		(to == MTS_TIME_MAX && !find_end(source, field, true, &to)))
		return NULL;
	split = begin_split(field->dotted, &values);
	for (int i = 1; i < parts && from < to; i++)
	{
		MtsTime t = from + (to / parts - from / parts) * i;
		char text[MTS_MAX_TIME_TEXT];
		bson_value_t value;
		MtsTime stored;
		MtsError error;

		if (!mts_span_is_zero(layout->span))
			t = mts_clock_floor(&layout->clock, t, layout->span);
		if (mts_format_encode(field->format, &layout->clock, t, 0, &value,
							  text, &stored, &error))
			append_value(&values, &value, last);
	}
	bson_append_array_end(split, &values);
	return split;
}

/*
 * Divide the buckets of a query into so many parts, or fewer.  The split lives
 * in the current memory context.
 */
static bson_t *
make_split(MtsBucketSource *source, int parts)
{
	const MtsQuery *query = source->query;
	MtsOrderField field;
	bson_t *split = NULL;

	if (!query->is_possible)
		return mts_document_new();
	if (source->rolling)
		return mts_rolling_split(source);
	if (query->ranges.n > 0 &&
		mts_query_fixes_keys(source->table, query->filter) &&
		mts_sort_order_time_field(&source->table->layout, &field))
		split = split_by_time(source, &field, parts);
	return split ? split : split_by_id(source, parts);
}

/* ---- Taking parts --------------------------------------------------------- */

/* Read the part that was taken; false when it has nothing that is wanted. */
static bool
begin_part(MtsBucketSource *source, const bson_t *split)
{
	bson_t terms = BSON_INITIALIZER;

	if (source->rolling)
		return mts_rolling_begin_part(source, split, source->part);
	append_part(split, source->part, &terms);
	mts_source_begin_part(source, source->collection, &terms);
	bson_destroy(&terms);
	return true;
}

/* Read the next part, or the same one again; false when all are taken. */
static bool
next_part(MtsBucketSource *source)
{
	MtsParallel *shared = source->parallel;
	bson_t split;
	bool found;

	if (!bson_init_static(&split, (uint8 *) (shared + 1), shared->size))
		elog(ERROR, "the split of a parallel scan is no BSON");
	do
	{
		bool repeat = source->repeat_part;

		if (!repeat)
			source->part = pg_atomic_fetch_add_u32(&shared->next, 1);
		source->repeat_part = false;
		if (source->part >= shared->parts)
		{
			/* so that it never wraps around */
			pg_atomic_write_u32(&shared->next, shared->parts);
			return false;
		}
		found = begin_part(source, &split);
		source->nparts += found && !repeat;
	} while (!found);
	return true;
}

static void
attach(MtsBucketSource *source, MtsParallel *shared)
{
	source->parallel = shared;
	source->next_part = next_part;
}

static void
detach(MtsBucketSource *source)
{
	source->parallel = NULL;
	source->next_part = source->rolling ? mts_rolling_next : NULL;
}

/*
 * mtsIsForeignScanParallelSafe
 *		May workers read a table?
 *
 * To skip what a type's input function refuses may take a subtransaction,
 * which a worker can't have.
 */
bool
mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
							 RangeTblEntry *rte)
{
	const char *invalid =
		mts_option_get(GetForeignTable(rte->relid)->options, "on_invalid");

	return !invalid || strcmp(invalid, "skip") != 0;
}

/* mtsEstimateDSMForeignScan: divide the buckets, and tell the split's size. */
Size
mtsEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt)
{
	MtsScan *scan = ((MtsScanNode *) node->fdw_state)->scan;
	MtsBucketSource *source = scan->source;
	int parts = (pcxt->nworkers + 1) * PARTS_PER_PROCESS;
	MemoryContext memory = CurrentMemoryContext;
	bson_t *split;

	mts_scan_prepare(scan);

	/* one that was made for other parameters divides these as well */
	if (!source->split)
	{
		MemoryContext splitting =
			AllocSetContextCreate(memory, "mongo_ts_fdw split",
								  ALLOCSET_SMALL_SIZES);

		MemoryContextSwitchTo(splitting);
		split = make_split(source, parts);
		MemoryContextSwitchTo(memory);
		source->split = bson_copy(split);
		mts_document_adopt(source->split);
		MemoryContextDelete(splitting);
	}
	return sizeof(MtsParallel) + source->split->len;
}

/* mtsInitializeDSMForeignScan: put the split into shared memory. */
void
mtsInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
							void *coordinate)
{
	MtsBucketSource *source = ((MtsScanNode *) node->fdw_state)->scan->source;
	MtsParallel *shared = coordinate;

	pg_atomic_init_u32(&shared->next, 0);
	for (int i = 0; i < COUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	shared->parts = source->rolling ? bson_count_keys(source->split)
									: count_parts(source->split);
	shared->size = source->split->len;
	memcpy(shared + 1, bson_get_data(source->split), source->split->len);
	attach(source, shared);
}

/* mtsReInitializeDSMForeignScan: all parts are to be read again. */
void
mtsReInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
							  void *coordinate)
{
	pg_atomic_write_u32(&((MtsParallel *) coordinate)->next, 0);
}

/* mtsInitializeWorkerForeignScan: find the split. */
void
mtsInitializeWorkerForeignScan(ForeignScanState *node, shm_toc *toc,
							   void *coordinate)
{
	attach(((MtsScanNode *) node->fdw_state)->scan->source, coordinate);
}

/*
 * mtsShutdownForeignScan
 *		Add what a worker has counted to what the leader shows.
 *
 * The leader's scan is shut down when the workers have ended, unless a LIMIT
 * has had enough before: what they have read by then is not counted.
 */
void
mtsShutdownForeignScan(ForeignScanState *node)
{
	MtsScan *scan;
	MtsParallel *shared;
	int64 *counters;

	/* a direct modify is no scan of ours */
	if (((ForeignScan *) node->ss.ps.plan)->operation != CMD_SELECT ||
		!node->fdw_state)
		return;
	scan = ((MtsScanNode *) node->fdw_state)->scan;
	shared = scan->source->parallel;
	counters = (int64 *) scan->counters;
	if (!shared)
		return;
	detach(scan->source);
	for (int i = 0; i < COUNTERS; i++)
		if (IsParallelWorker())
			pg_atomic_fetch_add_u64(&shared->counters[i], counters[i]);
		else
			counters[i] += pg_atomic_read_u64(&shared->counters[i]);
}
