/*
 * range_delete.c
 *		Remove all points in some ranges of time, whole buckets at once.
 *
 * The scan must decide all conditions of the DELETE by itself.  It reads the
 * matching buckets, to count the points.  Buckets that surely lie in a range
 * are removed by a filter, with one command for each collection.  Other
 * points, and all of them if no filter is exact, are removed one by one (see
 * edit.c).
 */
#include "modify/range_delete.h"

#include "executor/executor.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "modify/edit.h"
#include "modify/route.h"

/*
 * mts_range_delete_is_possible
 *		Tell whether whole buckets of a table can be removed.
 *
 * A whole bucket must not be removed if it can hold what no row shows: a
 * missing value, or an invalid point that scans skip.  A flat table has no
 * buckets.
 */
bool
mts_range_delete_is_possible(const MtsTable *table)
{
	return table->layout.nslots > 0 && !table->layout.has_missing &&
		   table->on_invalid != MTS_INVALID_SKIP;
}

/*
 * mts_range_delete_new
 *		Begin the removal of what a scan finds; nothing is read yet.
 */
MtsRangeDelete *
mts_range_delete_new(MtsScan *scan)
{
	MtsRangeDelete *delete = palloc0(sizeof(MtsRangeDelete));

	delete->scan = scan;
	return delete;
}

/*
 * Return the ranges in which buckets start that lie in one of the ranges; none
 * if the layout has no bucket time.
 */
static MtsRanges
find_whole_buckets(const MtsLayout *layout, const MtsRanges *ranges)
{
	MtsRanges whole = {0, palloc(ranges->n * sizeof(MtsRange))};

	if (!layout->bucket_time.is_set)
		return whole;
	for (int i = 0; i < ranges->n; i++)
	{
		MtsTime to = ranges->items[i].to;

		if (to != MTS_TIME_MAX)
			to = mts_clock_step_back(&layout->clock, to, layout->span);
		if (to != MTS_TIME_MAX && to != MTS_TIME_MIN)
			to++; /* a bucket can end where the range ends */
		if (ranges->items[i].from < to)
			mts_ranges_add(&whole, ranges->items[i].from, to);
	}
	return whole;
}

/*
 * Return the filter that finds these buckets and no others; NULL where there
 * is none.  Only dates are compared exactly: for other formats, the filter of
 * a scan can find more.
 */
static bson_t *
make_filter(const MtsQuery *query, const MtsRanges *whole)
{
	const MtsLayout *layout = &query->table->layout;
	const MtsField *time = &layout->bucket_time;
	bson_t terms = BSON_INITIALIZER, any = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];
	bson_t *filter;

	if (whole->n == 0 || !query->is_possible ||
		time->format.kind != MTS_FORMAT_DATE)
		return NULL;
	mts_path_dotted(time->path.steps, time->path.nsteps, path, sizeof(path));
	for (int i = 0; i < whole->n; i++)
	{
		bson_t ops = BSON_INITIALIZER;

		mts_template_append(&ops, "$type", "'date'");
		mts_format_bounds(&time->format, &layout->clock, whole->items[i],
						  &ops);
		mts_template_append(&any, "", "{%s: %o}", path, &ops);
		bson_destroy(&ops);
	}
	mts_template_push(&terms, whole->n == 1 ? "%b" : "{$or: %a}", &any);
	filter = mts_query_restrict(query->filter, &terms);
	bson_destroy(&any);
	bson_destroy(&terms);
	return filter;
}

/*
 * mts_range_delete_prepare
 *		Make the query and the filter, unless they are made.
 */
void
mts_range_delete_prepare(MtsRangeDelete *delete)
{
	MtsScan *scan = delete->scan;
	MemoryContext old;

	if (scan->query)
		return;
	mts_scan_prepare(scan);
	old = MemoryContextSwitchTo(scan->query_context);
	delete->whole =
		find_whole_buckets(&scan->table->layout, &scan->query->ranges);
	delete->filter = make_filter(scan->query, &delete->whole);
	MemoryContextSwitchTo(old);
}

/*
 * Count the points to be removed, and collect those that need an edit.  Record
 * their buckets in marks, which can be NULL.
 */
static int64
read_points(const MtsRangeDelete *delete, MtsEdits *edits,
			MtsRollupMarks *marks, TupleTableSlot *slot)
{
	MtsScan *scan = delete->scan;
	const MtsUnfold *unfold = &scan->bucket->unfold;
	const MtsRanges *ranges = &scan->query->ranges;
	int64 n = 0;

	while (mts_scan_next(scan, slot))
	{
		n++;
		if (marks)
			mts_rollup_mark_add(marks,
								Max(unfold->earliest, ranges->items[0].from),
								Min(unfold->latest,
									ranges->items[ranges->n - 1].to - 1));
		ExecStoreVirtualTuple(slot);
		if (!delete->filter ||
			!mts_ranges_contain(&delete->whole, scan->bucket->unfold.start))
		{
			Datum row = ExecFetchSlotHeapTupleDatum(slot);

			(void) mts_edits_add(edits, &slot->tts_tid, row, NULL);
			pfree(DatumGetPointer(row));
		}
		ExecClearTuple(slot);
	}
	return n;
}

/*
 * mts_range_delete_execute
 *		Remove the points, and return how many they were.
 */
int64
mts_range_delete_execute(MtsRangeDelete *delete, Relation relation)
{
	MtsScan *scan = delete->scan;
	MtsWriter *writer = mts_writer_new(scan->table, scan->source->userid);
	MtsEdits *edits = mts_edits_new(relation, writer, scan->source->userid,
									scan->bucket->row_ids);
	TupleTableSlot *row =
		MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	int64 n;

	mts_range_delete_prepare(delete);
	n = read_points(delete, edits, writer->marks, row);
	if (writer->marks)
		mts_rollup_mark_send(writer->marks);
	if (delete->filter)
		mts_route_delete(&writer->bulk, delete->filter,
						 mts_part_names(scan->source->parts));
	mts_edits_finish(edits);
	ExecDropSingleTupleTableSlot(row);
	return n;
}
