/*
 * agg_input.c
 *		Read what an aggregation can do with: counts, rows of roll-ups,
 *		headers, or buckets.
 *
 * Roll-ups are read first, the coarsest one of the times that the query wants,
 * and each next one of those that the ones before leave open.  The points are
 * read of what all leave open.
 *
 * A header is a bucket without its points: its keys, its times and its
 * pre-aggregates.  If headers can suffice, the scan reads them first.  A
 * bucket whose header does not suffice is deferred: a second scan reads it
 * with its points, by its _id, in batches between the headers.
 *
 * This file alone changes what is wanted of the points; by that, the query is
 * made for each execution (choose_content() in scan/query.c).
 */
#include "agg/agg_input.h"

#include "utils/memutils.h"

#include "driver/document.h"

/* A batch of _ids has at most this many bytes, and one _id more. */
#define MAX_IDS (4 * 1024 * 1024)

/* mts_agg_input_new: prepare to read the buckets of a scan, with points. */
MtsAggInput *
mts_agg_input_new(MtsScan *scan)
{
	MtsAggInput *input = palloc0(sizeof(MtsAggInput));

	input->scan = scan;
	return input;
}

/* mts_agg_input_add_counts: have MongoDB count rows, where it can. */
void
mts_agg_input_add_counts(MtsAggInput *input)
{
	input->scan->spec.counts_rows = true;
}

/*
 * mts_agg_input_add_rollups
 *		Read roll-ups, the coarsest first, before the points that these leave
 *		open.  row is that of the points.
 */
void
mts_agg_input_add_rollups(MtsAggInput *input, List *rollups,
						  TupleTableSlot *row)
{
	input->rollups = rollups;
	input->scan->reads_a_part = rollups != NIL;
	input->row = row;
	input->times =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw times",
							  ALLOCSET_SMALL_SIZES);
}

/* mts_agg_input_add_headers: read headers first, with these fields. */
void
mts_agg_input_add_headers(MtsAggInput *input, const MtsField **fields,
						  int nfields)
{
	input->fields = fields;
	input->scan->spec.headers = fields;
	input->scan->spec.nheaders = nfields;
	input->deferred_scan = mts_scan_beside(input->scan);
	input->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw buckets",
							  ALLOCSET_DEFAULT_SIZES);
}

/* mts_agg_input_refuse_headers: say why no headers are read. */
void
mts_agg_input_refuse_headers(MtsAggInput *input, const char *problem)
{
	input->scan->spec.headers = NULL;
	input->scan->spec.headers_problem = problem;
}

/* ---- Deferred buckets --------------------------------------------------- */

static void
forget_batch(MtsAggInput *input)
{
	MemoryContextReset(input->memory);
	input->ids = NULL;
	input->nids = 0;
}

/* Begin to read the batch of deferred buckets; the next batch is empty. */
static void
begin_deferred(MtsAggInput *input)
{
	mts_scan_set_ids(input->deferred_scan, input->scan->query,
					 input->collection, input->ids);
	input->is_reading_deferred = true;
	forget_batch(input);
}

static void
end_deferred(MtsAggInput *input)
{
	mts_scan_reset(input->deferred_scan);
	input->is_reading_deferred = false;
}

/*
 * mts_agg_input_defer
 *		Have the bucket of the current header read with its points, later.
 *
 * A batch that is full, or is of another collection, is read first.
 */
void
mts_agg_input_defer(MtsAggInput *input)
{
	const MtsBucketSource *source = input->scan->source;
	int most = Min(input->scan->table->fetch_size, MTS_FIRST_BATCH);
	MemoryContext old;
	char digits[16];
	const char *key;

	if (input->ids && (input->collection != source->collection ||
					   input->nids >= most || input->ids->len > MAX_IDS))
		begin_deferred(input);
	old = MemoryContextSwitchTo(input->memory);
	if (!input->ids)
		input->ids = mts_document_new();
	input->collection = source->collection;
	bson_uint32_to_string(input->nids++, &key, digits, sizeof(digits));
	mts_source_append_id(source, input->bucket->document, input->ids, key);
	MemoryContextSwitchTo(old);
}

/* ---- Roll-ups ----------------------------------------------------------- */

/* Find the times that the query of the points wants. */
static void
find_wanted(MtsAggInput *input)
{
	MtsScan *scan = input->scan;
	const MtsQuery *query =
		mts_query_make(scan->table, &scan->spec, scan->econtext);

	input->unanswered = query->ranges;
	if (!query->is_possible)
		input->unanswered.n = 0;
}

/* Begin to read the next roll-up; see mts_agg_rollup_begin(). */
static void
begin_rollup(MtsAggInput *input, bool may_fail)
{
	MemoryContext old = MemoryContextSwitchTo(input->times);

	if (input->nread == 0)
		find_wanted(input);
	MemoryContextSwitchTo(old);
	input->rollup = list_nth(input->rollups, input->nread);
	mts_agg_rollup_begin(input->rollup, &input->unanswered, may_fail);
}

/* End a roll-up, so that what it leaves open is wanted of the next one. */
static void
end_rollup(MtsAggInput *input)
{
	MemoryContext old = MemoryContextSwitchTo(input->times);

	mts_agg_rollup_open_times(input->rollup, &input->unanswered);
	MemoryContextSwitchTo(old);
	input->rollup = NULL;
	if (++input->nread == list_length(input->rollups))
		input->scan->spec.times = &input->unanswered;
}

/* Read the next row of a roll-up; MTS_AGG_END after the last one. */
static MtsAggItem
read_rollups(MtsAggInput *input)
{
	while (input->nread < list_length(input->rollups))
	{
		if (!input->rollup)
			begin_rollup(input, false);
		if (mts_agg_rollup_next(input->rollup, input->row))
			return MTS_AGG_TOTALS;
		if (mts_agg_rollup_has_changed(input->rollup))
			return MTS_AGG_CHANGE;
		end_rollup(input);
	}
	return MTS_AGG_END;
}

/*
 * mts_agg_input_make_queries
 *		Find the queries of the roll-ups and of the points, as far as they are
 *		known without reading rows, and without waiting for the server.
 */
void
mts_agg_input_make_queries(MtsAggInput *input)
{
	while (input->nread < list_length(input->rollups))
	{
		begin_rollup(input, true);
		mts_scan_prepare(input->rollup->scan);
		end_rollup(input);
	}
}

static void
forget_rollups(MtsAggInput *input)
{
	ListCell *lc;

	if (input->rollups == NIL)
		return;
	foreach (lc, input->rollups)
		mts_agg_rollup_reset(lfirst(lc));
	input->rollup = NULL;
	input->nread = 0;
	input->scan->spec.times = NULL;
	MemoryContextReset(input->times);
}

/* ---- Reading ------------------------------------------------------------ */

/* Read the next bucket of the scan, or the number of the rows of a part. */
static MtsAggItem
read_scan(MtsAggInput *input)
{
	MtsScan *scan = input->scan;

	mts_scan_prepare(scan);
	if (scan->query->content == MTS_CONTENT_COUNT)
	{
		input->counted =
			scan->query->is_possible ? mts_source_next(scan->source) : NULL;
		return input->counted ? MTS_AGG_COUNT : MTS_AGG_END;
	}
	input->bucket = mts_scan_next_bucket(scan);
	if (!input->bucket)
		return MTS_AGG_END;
	return scan->query->content == MTS_CONTENT_HEADERS ? MTS_AGG_HEADER
													   : MTS_AGG_BUCKET;
}

/*
 * mts_agg_input_next
 *		Read the next item, and tell what it is.
 *
 * If the scan must wait, it is as if it were at its end; see source->awaited.
 * It lives until the next call.
 */
MtsAggItem
mts_agg_input_next(MtsAggInput *input)
{
	MtsAggItem item = read_rollups(input);

	if (item != MTS_AGG_END)
		return item;
	for (;;)
	{
		if (input->is_reading_deferred)
		{
			input->bucket = mts_scan_next_bucket(input->deferred_scan);
			if (input->bucket)
				return MTS_AGG_BUCKET;
			end_deferred(input);
		}
		item = read_scan(input);
		if (item != MTS_AGG_END || input->scan->source->awaited || !input->ids)
			return item;
		begin_deferred(input);
	}
}

/* ---- Restarts ----------------------------------------------------------- */

static void
forget_deferred(MtsAggInput *input)
{
	if (!input->deferred_scan)
		return;
	end_deferred(input);
	forget_batch(input);
}

/*
 * mts_agg_input_begin_again
 *		Read all again that has been read since the last reset, without items
 *		of one kind.  Roll-ups are read again in any case.
 */
void
mts_agg_input_begin_again(MtsAggInput *input, MtsAggItem without)
{
	ListCell *lc;

	foreach (lc, input->rollups)
		mts_scan_restart(((MtsRollupScan *) lfirst(lc))->scan);
	forget_deferred(input);
	forget_rollups(input);
	if (without == MTS_AGG_COUNT)
		input->scan->spec.counts_rows = false;
	if (without == MTS_AGG_HEADER)
		mts_agg_input_refuse_headers(input, "most of the first buckets need "
											"their points");
	mts_scan_restart(input->scan);
}

/*
 * mts_agg_input_reset
 *		Prepare to read with other parameters: headers again, which these may
 *		have use for, but no counts, since a field that has made these doubtful
 *		would do so again.
 */
void
mts_agg_input_reset(MtsAggInput *input)
{
	forget_deferred(input);
	forget_rollups(input);
	if (!input->fields)
		return;
	input->scan->spec.headers = input->fields;
	input->scan->spec.headers_problem = NULL;
}
