/*
 * merge.c
 *		Return the points of sorted buckets in order.
 *
 * MongoDB returns buckets sorted by keys and by their time, but buckets
 * overlap: those of several series begin at the same time.  Each bucket
 * becomes a run of sorted rows.  The least row of all runs is returned as
 * soon as no unread bucket can have a lesser one.  Runs that outgrow work_mem
 * go to PostgreSQL's tuplesort.
 *
 * To sort by a value of the points, MongoDB sorts buckets by the greatest
 * value that each of them declares, or by the least.  The first rows are in
 * the first buckets, so a query that wants few rows reads few buckets.  Those
 * that do not declare it are read first, and hold all rows back.
 *
 * An error is raised if buckets do not come in the order that the plan rests
 * on; rows are never returned in another order.
 */
#include "scan/merge.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "driver/document.h"
#include "scan/run.h"
#include "scan/skip_scan.h"

struct MtsMerge
{
	MtsScan *scan;
	const MtsSortOrder *order;
	const MtsRunOrder *run_order;
	MtsSkipScan *skip_scan; /* reads series one by one; or NULL */
	MemoryContext memory;   /* of runs and sorter */

	pairingheap *runs; /* the run with the least row is the first */
	Size size;         /* of the runs */
	Size largest;      /* of the largest run so far */
	MtsRun *current;   /* the run of the last row returned; or NULL */
	int nready;        /* its rows that come before all others; while there are
						* some, it is not among the runs */

	/*
	 * Unread buckets, and the last one read, have no row before the keys of
	 * the last one read and, if MongoDB sorts by time, before this time.  (In
	 * descending order, they have none after it.)
	 */
	MtsTime frontier;
	bool frontier_is_null;
	MtsTime next_frontier; /* the frontier without the last bucket read */
	bool is_at_end;        /* there are no unread buckets */

	/* unread buckets have no row before this value; or none is known */
	Datum extreme;
	bool has_extreme;

	/* of runs that have outgrown memory */
	Tuplesortstate *sorter; /* or NULL */
	TupleTableSlot *sorted; /* its row */
	bool is_sorted;         /* it has all rows, and returns them */
	MtsRun *greatest;       /* the run of its greatest row */
};

/* Order the runs in the heap, whose first element is the greatest. */
static int
compare_runs(const pairingheap_node *a, const pairingheap_node *b, void *order)
{
	const MtsRun *left = pairingheap_const_container(MtsRun, node, a);
	const MtsRun *right = pairingheap_const_container(MtsRun, node, b);

	return mts_run_compare(order, &right->rows[right->next],
						   &left->rows[left->next]);
}

/* ---- The frontier ------------------------------------------------------- */

/* The frontier of buckets that do not start before (after) this time */
static MtsTime
frontier_of_start(const MtsMerge *merge, MtsTime start, bool descending)
{
	return descending
			   ? mts_bucket_last_time(&merge->scan->table->layout, start)
			   : start;
}

/* The frontier that is also one of a rolling set's unread collections */
static MtsTime
limit_frontier(const MtsMerge *merge, MtsTime frontier, bool descending)
{
	MtsTime limit;

	if (!mts_source_next_limit(merge->scan->source, &limit))
		return frontier;
	return descending ? Max(frontier, limit) : Min(frontier, limit);
}

/* Raise the error that a bucket has a value beyond its declared extreme. */
static void
report_extreme(const MtsMerge *merge)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsSortKey *key = &merge->order->keys[0];
	const MtsTable *table = bucket->table;

	ereport(
		ERROR,
		(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
		 errmsg("invalid bucket in MongoDB collection \"%s.%s\"",
				table->database, bucket->collection->name),
		 errdetail("Field \"%s\" is not the %s value of column \"%s\".",
				   key->field, key->descending ? "greatest" : "least",
				   table->layout.columns[key->column].name),
		 errhint(
			 "Find such buckets by mongo_ts_check().  To sort the rows in PostgreSQL, run SET mongo_ts_fdw.enable_preaggregates = off."),
		 bucket->hides_values
			 ? 0
			 : errcontext("MongoDB collection \"%s.%s\", _id %s",
						  table->database, bucket->collection->name,
						  mts_document_id_shell(bucket->document))));
}

/*
 * Move the frontier to the extreme of the last bucket read, which has become a
 * run.  If it is not a value of the column, the frontier stays.
 */
static void
move_extreme(MtsMerge *merge, const MtsRun *run)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsRunColumn *column = &merge->run_order->columns[0];
	MtsElement element;
	MtsError error;
	Datum value;
	bool isnull;

	if (bucket->source->is_unsorted ||
		!mts_unfold_header_find(&bucket->unfold, merge->order->extreme,
								&element) ||
		!mts_from_bson_element(mts_bucket_converter(bucket, column->column),
							   &element, &value, &isnull, &error) ||
		isnull)
		return;
	if (run->n > 0 &&
		mts_run_compare_column(column, &run->rows[0], value, false) < 0)
		report_extreme(merge);
	merge->extreme = value;
	merge->has_extreme = true;
}

/* Move the frontier to the last bucket read, which has become a run. */
static void
move_frontier(MtsMerge *merge, const MtsRun *run)
{
	const MtsScan *scan = merge->scan;
	const MtsLayout *layout = &scan->table->layout;
	const MtsUnfold *unfold = &scan->bucket->unfold;
	/* by which MongoDB sorts last, if at all */
	const MtsRunColumn *time =
		&merge->run_order->columns[merge->order->nsorted - 1];
	bool descending = time->support.ssup_reverse;
	MtsTime start;

	if (merge->order->extreme)
		move_extreme(merge, run);
	if (time->column != layout->time_column)
		return;
	if (layout->time_kind == MTS_TIME_FLAT)
	{
		/* an invalid document was skipped, and moves nothing */
		if (run->n == 0)
			return;
		merge->frontier = run->rows[0].time;
		merge->frontier_is_null = run->rows[0].nulls[time->output];
	}
	else if (merge->order->is_by_bound)
		merge->frontier = descending ? unfold->last : unfold->first;
	else
		merge->frontier = frontier_of_start(merge, unfold->start, descending);
	merge->next_frontier = merge->frontier;
	if (mts_source_next_time(scan->source, &start))
		merge->next_frontier = frontier_of_start(merge, start, descending);
	merge->frontier = limit_frontier(merge, merge->frontier, descending);
	merge->next_frontier =
		limit_frontier(merge, merge->next_frontier, descending);
}

/* Compare the time of a row with the frontier. */
static int
compare_time(const MtsMerge *merge, const MtsRunColumn *column,
			 const MtsRow *row)
{
	bool isnull = row->nulls[column->output];
	/* the last bucket is not among the rows of a sorter */
	MtsTime frontier = merge->sorter ? merge->frontier : merge->next_frontier;
	int result;

	if (isnull || merge->frontier_is_null)
		return mts_run_compare_column(column, row, (Datum) 0,
									  merge->frontier_is_null);
	result = (row->time > frontier) - (row->time < frontier);
	return column->support.ssup_reverse ? -result : result;
}

/* Tell whether a row comes before what unread buckets declare. */
static bool
is_before_extreme(const MtsMerge *merge, const MtsRow *row)
{
	int result;

	if (!merge->has_extreme)
		return false;
	result = mts_run_compare_column(&merge->run_order->columns[0], row,
									merge->extreme, false);
	return result < 0 || (result == 0 && merge->order->nkeys == 1);
}

/* Tell whether a row comes before all rows of unread buckets. */
static bool
is_first(const MtsMerge *merge, const MtsRow *row)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsSortOrder *order = merge->order;

	if (order->extreme && !merge->is_at_end)
		return is_before_extreme(merge, row);
	for (int i = order->nseries; i < order->nsorted && !merge->is_at_end; i++)
	{
		const MtsRunColumn *column = &merge->run_order->columns[i];
		const SortSupportData *support = &column->support;
		bool is_time = column->column == bucket->table->layout.time_column;
		bool isnull =
			is_time ? merge->frontier_is_null : bucket->nulls[column->column];
		int result;

		/* MongoDB returns nulls first, so values are still to come */
		if (isnull && !support->ssup_reverse && !support->ssup_nulls_first)
			return false;
		result = is_time
					 ? compare_time(merge, column, row)
					 : mts_run_compare_column(column, row,
											  bucket->values[column->column],
											  isnull);
		if (result != 0)
			return result < 0;
	}
	/* rows with the same sorted keys are equal if there are no other keys */
	return merge->is_at_end || order->nsorted == order->nkeys;
}

/* ---- Reading ------------------------------------------------------------ */

/* Tell whether MongoDB sorts by a bound, and rows differ in that key alone. */
static bool
differ_in_bound(const MtsMerge *merge, const MtsRow *a, const MtsRow *b)
{
	if (!merge->order->is_by_bound)
		return false;
	for (int i = 0; i < merge->order->nsorted - 1; i++)
	{
		const MtsRunColumn *column = &merge->run_order->columns[i];

		if (mts_run_compare_column(column, a, b->values[column->output],
								   b->nulls[column->output]) != 0)
			return false;
	}
	return true;
}

/*
 * Raise an error if rows of a run belong before the last row returned.  Rows
 * of buckets sorted by a bound are skipped if that alone is to blame: points
 * can be added to a bucket after MongoDB has sorted it, as if it had been read
 * before.
 */
static void
check_order(const MtsMerge *merge, MtsRun *run)
{
	const MtsTable *table = merge->scan->table;
	const MtsRun *current = merge->current;

	while (current && run->next < run->n &&
		   mts_run_compare(merge->run_order, &current->rows[current->next - 1],
						   &run->rows[run->next]) > 0)
	{
		if (!differ_in_bound(merge, &current->rows[current->next - 1],
							 &run->rows[run->next]))
			ereport(
				ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg(
					 "MongoDB returned the buckets of collection \"%s.%s\" out of order",
					 table->database, table->collection),
				 errdetail("A column that is declared NOT NULL may hold "
						   "nulls, or the collection may have another "
						   "collation."),
				 errhint(
					 "To sort the rows in PostgreSQL, run SET mongo_ts_fdw.enable_order_by = off.")));
		run->next++;
	}
}

static void
free_run(MtsMerge *merge, MtsRun *run)
{
	merge->size -= run->size;
	MemoryContextDelete(run->memory);
}

/* Read no other points of a series than those that can be the first row. */
static void
keep_first(const MtsMerge *merge, MtsBucket *bucket)
{
	const MtsSortOrder *order = merge->order;
	const MtsSortKey *key = &order->keys[order->nseries];

	if (merge->skip_scan && order->nkeys > order->nseries &&
		key->column == merge->scan->table->layout.time_column)
		mts_bucket_keep_extreme(bucket, key->descending ? MTS_EXTREME_LAST
														: MTS_EXTREME_FIRST);
}

/* Read the run of the next bucket; NULL at the end. */
static MtsRun *
read_run(MtsMerge *merge)
{
	MtsBucket *bucket = mts_scan_next_bucket(merge->scan);
	MemoryContext old;
	MtsRun *run;

	if (!bucket)
	{
		merge->is_at_end = true;
		return NULL;
	}
	keep_first(merge, bucket);
	old = MemoryContextSwitchTo(merge->memory);
	run = mts_run_read(merge->run_order, bucket);
	MemoryContextSwitchTo(old);
	merge->size += run->size;
	merge->largest = Max(merge->largest, run->size);
	move_frontier(merge, run);
	check_order(merge, run);
	return run;
}

/* Add a run, which may be NULL or empty, to those that are merged. */
static void
add_run(MtsMerge *merge, MtsRun *run)
{
	if (run && run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
	else if (run)
		free_run(merge, run);
}

static MtsRun *
first_run(const MtsMerge *merge)
{
	return pairingheap_container(MtsRun, node, pairingheap_first(merge->runs));
}

/* ---- Runs that outgrow memory ------------------------------------------- */

/* Move a run to the sorter. */
static void
spill_run(MtsMerge *merge, MtsRun *run, TupleTableSlot *slot)
{
	MtsRun *unused = run;

	for (int i = run->next; i < run->n; i++)
	{
		mts_run_fill_slot(merge->run_order, &run->rows[i], slot);
		tuplesort_puttupleslot(merge->sorter, slot);
		ExecClearTuple(slot);
	}
	if (!merge->greatest ||
		mts_run_compare(merge->run_order, mts_run_last(merge->greatest),
						mts_run_last(run)) < 0)
	{
		unused = merge->greatest;
		merge->greatest = run;
	}
	if (unused && unused != merge->current)
		free_run(merge, unused);
}

/* Move all runs to the sorter. */
static void
spill_runs(MtsMerge *merge, TupleTableSlot *slot)
{
	while (!pairingheap_is_empty(merge->runs))
	{
		MtsRun *run = first_run(merge);

		(void) pairingheap_remove_first(merge->runs);
		spill_run(merge, run, slot);
	}
}

/* Move all runs to a new sorter. */
static void
begin_sorter(MtsMerge *merge, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(merge->memory);
	int n = merge->order->nkeys;
	AttrNumber *attributes = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	bool *nulls_first = palloc(n * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		const MtsSortKey *key = &merge->order->keys[i];

		attributes[i] = key->column + 1;
		operators[i] = key->opno;
		collations[i] = key->collation;
		nulls_first[i] = key->nulls_first;
	}
	merge->sorter = tuplesort_begin_heap(merge->run_order->desc, n, attributes,
										 operators, collations, nulls_first,
										 work_mem, NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
	spill_runs(merge, slot);
}

/*
 * Read until neither the unread buckets nor the last one, which stays a run,
 * have a row before the greatest one of the sorter.
 */
static void
fill_sorter(MtsMerge *merge, TupleTableSlot *slot)
{
	while (!is_first(merge, mts_run_last(merge->greatest)))
	{
		spill_runs(merge, slot);
		add_run(merge, read_run(merge));
	}
	tuplesort_performsort(merge->sorter);
	merge->is_sorted = true;
}

static void
end_sorter(MtsMerge *merge)
{
	ExecClearTuple(merge->sorted);
	tuplesort_end(merge->sorter);
	merge->sorter = NULL;
	merge->is_sorted = false;
}

/* Return the sorter's next row; end the sorter and return false if none. */
static bool
next_sorted_row(MtsMerge *merge, TupleTableSlot *slot)
{
	int natts = merge->run_order->desc->natts;

	if (!merge->is_sorted)
		fill_sorter(merge, slot);
	if (tuplesort_gettupleslot(merge->sorter, true, false, merge->sorted,
							   NULL))
	{
		slot_getallattrs(merge->sorted);
		memcpy(slot->tts_values, merge->sorted->tts_values,
			   natts * sizeof(Datum));
		memcpy(slot->tts_isnull, merge->sorted->tts_isnull,
			   natts * sizeof(bool));
		ExecStoreVirtualTuple(slot);
		return true;
	}
	end_sorter(merge);
	/* its greatest row was the last one returned */
	if (merge->current && merge->current != merge->greatest)
		free_run(merge, merge->current);
	merge->current = merge->greatest;
	merge->current->next = merge->current->n;
	merge->greatest = NULL;
	return false;
}

/* ---- Returning rows ----------------------------------------------------- */

/*
 * Take the first run from the runs, if its first row comes before all rows of
 * unread buckets, and find how many of its rows come before all others.
 */
static bool
take_first_run(MtsMerge *merge)
{
	MtsRun *before = merge->current;
	MtsRun *run;
	const MtsRun *second;
	const MtsRow *last;

	if (pairingheap_is_empty(merge->runs))
		return false;
	run = first_run(merge);
	if (!is_first(merge, &run->rows[run->next]))
		return false;
	(void) pairingheap_remove_first(merge->runs);
	merge->nready = 1;
	last = mts_run_last(run);
	second = pairingheap_is_empty(merge->runs) ? NULL : first_run(merge);
	if ((!second || mts_run_compare(merge->run_order, last,
									&second->rows[second->next]) <= 0) &&
		is_first(merge, last))
		merge->nready = run->n - run->next;
	merge->current = run;
	if (before && before != run && before->next == before->n)
		free_run(merge, before);
	return true;
}

/* Return the next row of the current run, which is ready. */
static void
return_row(MtsMerge *merge, TupleTableSlot *slot)
{
	MtsRun *run = merge->current;

	mts_run_fill_slot(merge->run_order, &run->rows[run->next++], slot);
	if (--merge->nready == 0 && run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
}

/* Return the next row of the buckets that the source reads; false if none. */
static bool
next_row(MtsMerge *merge, TupleTableSlot *slot)
{
	Size limit = (Size) work_mem * 1024;

	while (merge->nready == 0)
	{
		MtsRun *run;

		if (merge->sorter)
		{
			if (next_sorted_row(merge, slot))
				return true;
			continue;
		}
		if (take_first_run(merge))
			break;
		if (merge->is_at_end)
			return false;
		run = read_run(merge);
		if (!pairingheap_is_empty(merge->runs) &&
			merge->size > limit + 2 * merge->largest)
			begin_sorter(merge, slot);
		add_run(merge, run);
	}
	return_row(merge, slot);
	return true;
}

/* Forget all runs. */
static void
clear(MtsMerge *merge)
{
	if (merge->sorter)
		end_sorter(merge);
	pairingheap_reset(merge->runs);
	MemoryContextReset(merge->memory);
	merge->size = 0;
	merge->current = merge->greatest = NULL;
	merge->nready = 0;
	merge->frontier_is_null = false;
	merge->is_at_end = false;
	merge->has_extreme = false;
}

/*
 * mts_merge_next
 *		Store the next row in a slot; false if there is none.
 *
 * Its values live until the next call.
 */
bool
mts_merge_next(MtsMerge *merge, TupleTableSlot *slot)
{
	if (!merge->skip_scan && merge->nready > 0)
	{
		return_row(merge, slot);
		return true;
	}
	if (!merge->skip_scan)
		return next_row(merge, slot);
	mts_scan_prepare(merge->scan);
	while (merge->scan->query->is_possible &&
		   mts_skip_scan_next(merge->skip_scan))
	{
		clear(merge);
		if (next_row(merge, slot))
			return true;
	}
	return false;
}

/*
 * mts_merge_new
 *		Prepare to return the rows of a scan in its sort order.
 *
 * The merge is allocated in the current memory context.
 */
MtsMerge *
mts_merge_new(MtsScan *scan, ForeignScanState *node)
{
	MtsMerge *merge = palloc0(sizeof(MtsMerge));
	TupleDesc desc = RelationGetDescr(node->ss.ss_currentRelation);

	merge->scan = scan;
	merge->order = scan->spec.order;
	merge->run_order = mts_run_order_new(scan->bucket, merge->order, desc);
	if (merge->order->nseries > 0)
		merge->skip_scan = mts_skip_scan_new(scan->source, merge->order);
	merge->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw merge",
							  ALLOCSET_DEFAULT_SIZES);
	merge->runs =
		pairingheap_allocate(compare_runs, (void *) merge->run_order);
	merge->sorted =
		ExecInitExtraTupleSlot(node->ss.ps.state, desc, &TTSOpsMinimalTuple);
	return merge;
}

/* mts_merge_reset: forget all rows, when the scan begins anew. */
void
mts_merge_reset(MtsMerge *merge)
{
	clear(merge);
	if (merge->skip_scan)
		mts_skip_scan_reset(merge->skip_scan);
}
