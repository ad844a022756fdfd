/*
 * merge.c
 *		Return the points of sorted buckets in order.
 *
 * Buckets come sorted by their keys and time, but overlap: those of several
 * series begin at the same time.  Each becomes a sorted run of rows, and the
 * least row of all runs is given as soon as no bucket to come can hold a
 * lesser one.  PostgreSQL's tuplesort sorts runs that outgrow work_mem.
 *
 * A run has a memory context of its own.
 */
#include "scan/merge.h"

#include "executor/executor.h"
#include "lib/pairingheap.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "pushdown/sort_order.h"
#include "scan/rolling.h"
#include "scan/skip_scan.h"

/* A column by which rows are sorted */
typedef struct MtsSortColumn
{
	SortSupportData support;
	int output; /* of the bucket */
	int column; /* of the layout */
} MtsSortColumn;

typedef struct MtsRow
{
	MtsTime time;
	Datum *values; /* by output of the bucket */
	bool *nulls;
} MtsRow;

/* The rows of a bucket, sorted */
typedef struct MtsRun
{
	pairingheap_node node;
	MemoryContext memory;
	Size size;
	int n;
	int room;
	int next; /* the first that has not been given */
	MtsRow *rows;
} MtsRun;

struct MtsMerge
{
	MtsScan *scan;
	TupleDesc desc;
	const MtsSortOrder *order;
	MemoryContext memory;   /* of runs, and of the sorter */
	MtsSortColumn *columns; /* by key of the order */
	bool is_last;           /* does MongoDB sort by all of them? */

	MtsSkipScan *skip; /* goes from series to series; NULL: all are read */

	pairingheap *runs;
	Size size;    /* of the runs */
	Size largest; /* of the largest run so far */

	MtsTime bound; /* lower (descending: upper) bound of the times in the last
					 * bucket read, and in those to come that have its keys */
	MtsTime next_bound; /* the same without the last bucket read */
	Datum last_time;    /* of the last document read, where it is a row */
	bool last_time_is_null;
	bool
		has_limit; /* is limit such a bound of the collections of a rolling set
					 * that have not been read? */
	MtsTime limit;
	bool is_at_end;

	MtsRun *given; /* the run of the row that was given last, or NULL */

	Tuplesortstate *sorter; /* NULL: the runs fit */
	TupleTableSlot *sorted;
	bool is_sorted;   /* has it been given all rows? */
	MtsRun *greatest; /* the run of its greatest row */
};

/* ---- Comparing ----------------------------------------------------------- */

static inline int
compare_column(const MtsSortColumn *column, const MtsRow *a, Datum value,
			   bool isnull)
{
	return ApplySortComparator(a->values[column->output],
							   a->nulls[column->output], value, isnull,
							   (SortSupport) &column->support);
}

static int
compare_rows(const MtsRow *a, const MtsRow *b, const MtsMerge *merge)
{
	for (int i = 0; i < merge->order->nkeys; i++)
	{
		const MtsSortColumn *column = &merge->columns[i];
		int order = compare_column(column, a, b->values[column->output],
								   b->nulls[column->output]);

		if (order != 0)
			return order;
	}
	return 0;
}

static int
compare_for_sort(const void *a, const void *b, void *merge)
{
	return compare_rows(a, b, merge);
}

/* pairingheap's first is its greatest */
static int
compare_heads(const pairingheap_node *a, const pairingheap_node *b,
			  void *merge)
{
	const MtsRun *left = pairingheap_const_container(MtsRun, node, a);
	const MtsRun *right = pairingheap_const_container(MtsRun, node, b);

	return compare_rows(&right->rows[right->next], &left->rows[left->next],
						merge);
}

/* Is this sort by the time of points, which buckets only bound? */
static inline bool
is_bounded(const MtsMerge *merge, const MtsSortColumn *column)
{
	const MtsLayout *layout = &merge->scan->table->layout;

	return column->column == layout->time_column &&
		   layout->time_kind != MTS_TIME_FLAT;
}

/* May a set's collections to come have what belongs before a row? */
static inline bool
is_beyond_limit(const MtsMerge *merge, const MtsRow *row, bool descending)
{
	return merge->has_limit && (descending ? row->time <= merge->limit
										   : row->time >= merge->limit);
}

/*
 * Does a row come before those of all buckets not read yet?  They follow the
 * last one read, which is still open, in MongoDB's order.
 */
static bool
is_first(const MtsMerge *merge, const MtsRow *row)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsSortOrder *order = merge->order;

	for (int i = order->nseries; i < order->nsorted && !merge->is_at_end; i++)
	{
		const MtsSortColumn *column = &merge->columns[i];
		bool descending = column->support.ssup_reverse;
		bool nulls_last = !descending && !column->support.ssup_nulls_first;
		bool is_time = column->column == bucket->table->layout.time_column;
		Datum value =
			is_time ? merge->last_time : bucket->values[column->column];
		bool isnull =
			is_time ? merge->last_time_is_null : bucket->nulls[column->column];
		int result;

		if (is_time && is_beyond_limit(merge, row, descending))
			return false;
		if (is_bounded(merge, column))
		{
			/* while there is a sorter, the last bucket is beside it */
			MtsTime bound = merge->sorter ? merge->bound : merge->next_bound;

			if (row->time == bound)
				return merge->is_last;
			return (row->time < bound) != descending;
		}
		/* buckets without a null are still to come */
		if (isnull && nulls_last)
			return false;
		result = compare_column(column, row, value, isnull);
		if (result != 0)
			return result < 0;
	}
	return merge->is_at_end || merge->is_last;
}

/* ---- Reading ------------------------------------------------------------- */

static MtsRun *
new_run(MtsMerge *merge)
{
	MemoryContext memory =
		AllocSetContextCreate(merge->memory, "mongo_ts_fdw run",
							  ALLOCSET_SMALL_MINSIZE, ALLOCSET_SMALL_INITSIZE,
							  ALLOCSET_DEFAULT_MAXSIZE);
	MtsRun *run = MemoryContextAllocZero(memory, sizeof(MtsRun));

	run->memory = memory;
	return run;
}

static void
free_run(MtsMerge *merge, MtsRun *run)
{
	merge->size -= run->size;
	MemoryContextDelete(run->memory);
}

/* Copy a row of the bucket. */
static void
add_row(MtsMerge *merge, MtsRun *run, const TupleTableSlot *slot)
{
	const MtsBucket *bucket = merge->scan->bucket;
	MemoryContext old = MemoryContextSwitchTo(run->memory);
	int n = bucket->noutputs;
	MtsRow *row;

	if (run->n == run->room)
	{
		run->room = run->room ? run->room * 2 : 64;
		run->rows = run->rows
						? repalloc_huge(run->rows, run->room * sizeof(MtsRow))
						: palloc(run->room * sizeof(MtsRow));
	}
	row = &run->rows[run->n++];
	row->time = bucket->point.time;
	row->values = palloc(n * (sizeof(Datum) + sizeof(bool)));
	row->nulls = (bool *) (row->values + n);
	for (int i = 0; i < n; i++)
	{
		int attribute = bucket->outputs[i].column;
		Form_pg_attribute att = TupleDescAttr(merge->desc, attribute);

		row->nulls[i] = slot->tts_isnull[attribute];
		row->values[i] = slot->tts_values[attribute];
		if (!row->nulls[i] && !att->attbyval)
			row->values[i] =
				datumCopy(row->values[i], att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}

/* Sort a run; mostly it is sorted, or the other way round. */
static void
sort_run(const MtsMerge *merge, MtsRun *run)
{
	bool is_sorted = true;
	bool is_reversed = true;

	for (int i = 1; i < run->n && (is_sorted || is_reversed); i++)
	{
		int order = compare_rows(&run->rows[i - 1], &run->rows[i], merge);

		is_sorted &= order <= 0;
		is_reversed &= order >= 0;
	}
	if (is_sorted)
		return;
	if (!is_reversed)
	{
		qsort_arg(run->rows, run->n, sizeof(MtsRow), compare_for_sort,
				  (void *) merge);
		return;
	}
	for (int i = 0, j = run->n - 1; i < j; i++, j--)
	{
		MtsRow row = run->rows[i];

		run->rows[i] = run->rows[j];
		run->rows[j] = row;
	}
}

/*
 * The bound of the times in buckets that begin at a time, or follow such a one
 * in the order; *bound is not changed where it is not known.
 */
static void
bound_by_start(const MtsLayout *layout, bool descending, MtsTime start,
			   MtsTime *bound)
{
	MtsTime end;

	if (!descending)
		*bound = start;
	else if (mts_layout_bucket_end(layout, start, &end))
		*bound = mts_layout_last_time(layout, end);
}

/* Record the bounds of the buckets that follow the current one. */
static void
set_bound(MtsMerge *merge, const MtsRun *run)
{
	const MtsScan *scan = merge->scan;
	const MtsUnfold *unfold = &scan->bucket->unfold;
	const MtsSortColumn *last = &merge->columns[merge->order->nsorted - 1];
	bool descending = last->support.ssup_reverse;
	MtsTime start;

	if (last->column != scan->table->layout.time_column)
		return;
	merge->has_limit = mts_rolling_limit(scan->source, &merge->limit);
	if (!is_bounded(merge, last))
	{
		/* a document that was skipped as invalid bounds nothing */
		if (run->n > 0)
		{
			merge->last_time = run->rows[0].values[last->output];
			merge->last_time_is_null = run->rows[0].nulls[last->output];
		}
	}
	else if (merge->order->is_by_bound)
		merge->bound = descending ? unfold->last : unfold->first;
	else
		merge->bound = descending
						   ? mts_layout_last_time(unfold->layout, unfold->end)
						   : unfold->start;
	merge->next_bound = merge->bound;
	if (mts_source_next_time(scan->source, &start))
		bound_by_start(unfold->layout, descending, start, &merge->next_bound);
}

/*
 * Fail rather than give rows in another order than the plan says.  Where the
 * sort is by bounds, a bucket may have got points after it was sorted, which
 * are left out, as if it had been read before.
 */
static void
check_order(const MtsMerge *merge, MtsRun *run)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsRow *last =
		merge->given ? &merge->given->rows[merge->given->next - 1] : NULL;

	while (last && run->next < run->n &&
		   compare_rows(last, &run->rows[run->next], merge) > 0)
	{
		if (!merge->order->is_by_bound)
			ereport(
				ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg(
					 "the buckets of MongoDB collection \"%s.%s\" did not come "
					 "in order",
					 bucket->table->database, bucket->collection->name),
				 errdetail("A column that is declared NOT NULL may hold "
						   "nulls, or the collection may have another "
						   "collation."),
				 errhint(
					 "Use SET mongo_ts_fdw.enable_order_by = off to sort rows in PostgreSQL.")));
		run->next++;
	}
}

/* The rows of the next bucket; NULL at the end */
static MtsRun *
read_run(MtsMerge *merge, TupleTableSlot *slot)
{
	MtsBucket *bucket = mts_scan_next_bucket(merge->scan);
	MtsRun *run;

	if (!bucket)
	{
		merge->is_at_end = true;
		return NULL;
	}
	run = new_run(merge);
	while (mts_bucket_next_row(bucket, slot))
		add_row(merge, run, slot);
	set_bound(merge, run);
	run->size = MemoryContextMemAllocated(run->memory, false);
	merge->size += run->size;
	merge->largest = Max(merge->largest, run->size);
	if (run->n > 0)
	{
		sort_run(merge, run);
		check_order(merge, run);
	}
	return run;
}

/* Add a run, which may be NULL or empty, to those whose rows are merged. */
static void
add_run(MtsMerge *merge, MtsRun *run)
{
	if (run && run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
	else if (run)
		free_run(merge, run);
}

static void
fill_slot(const MtsMerge *merge, const MtsRow *row, TupleTableSlot *slot)
{
	const MtsBucket *bucket = merge->scan->bucket;

	memset(slot->tts_isnull, true, bucket->table->layout.ncolumns);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int attribute = bucket->outputs[i].column;

		slot->tts_values[attribute] = row->values[i];
		slot->tts_isnull[attribute] = row->nulls[i];
	}
	ExecStoreVirtualTuple(slot);
}

/* ---- Runs that outgrow memory ---------------------------------------------- */

/* Hand the rest of a run to the sorter. */
static void
put_run(MtsMerge *merge, MtsRun *run, TupleTableSlot *slot)
{
	const MtsRow *greatest =
		merge->greatest ? &merge->greatest->rows[merge->greatest->n - 1]
						: NULL;

	for (int i = run->next; i < run->n; i++)
	{
		fill_slot(merge, &run->rows[i], slot);
		tuplesort_puttupleslot(merge->sorter, slot);
		ExecClearTuple(slot);
	}
	if (run->n > run->next &&
		(!greatest ||
		 compare_rows(greatest, &run->rows[run->n - 1], merge) < 0))
	{
		MtsRun *last = merge->greatest;

		merge->greatest = run;
		run = last;
	}
	if (run && run != merge->given)
		free_run(merge, run);
}

/* Hand all runs to the sorter. */
static void
put_runs(MtsMerge *merge, TupleTableSlot *slot)
{
	while (!pairingheap_is_empty(merge->runs))
		put_run(merge,
				pairingheap_container(MtsRun, node,
									  pairingheap_remove_first(merge->runs)),
				slot);
}

/* Hand all runs to a sorter. */
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
		attributes[i] = merge->columns[i].support.ssup_attno;
		operators[i] = merge->order->keys[i].operator;
		collations[i] = merge->columns[i].support.ssup_collation;
		nulls_first[i] = merge->columns[i].support.ssup_nulls_first;
	}
	merge->sorter =
		tuplesort_begin_heap(merge->desc, n, attributes, operators, collations,
							 nulls_first, work_mem, NULL, TUPLESORT_NONE);
	MemoryContextSwitchTo(old);
	put_runs(merge, slot);
}

/*
 * Read until no bucket to come, nor the last one read, which stays a run, has
 * a row before the last of the sorter's.
 */
static void
fill_sorter(MtsMerge *merge, TupleTableSlot *slot)
{
	while (!is_first(merge, &merge->greatest->rows[merge->greatest->n - 1]))
	{
		put_runs(merge, slot);
		add_run(merge, read_run(merge, slot));
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

/* The sorter's next row; false when it has no more, and is gone. */
static bool
next_sorted(MtsMerge *merge, TupleTableSlot *slot)
{
	if (!merge->is_sorted)
		fill_sorter(merge, slot);
	if (!tuplesort_gettupleslot(merge->sorter, true, false, merge->sorted,
								NULL))
	{
		end_sorter(merge);
		/* nothing may come before what was given last */
		if (merge->given && merge->given != merge->greatest)
			free_run(merge, merge->given);
		merge->given = merge->greatest;
		merge->given->next = merge->given->n;
		merge->greatest = NULL;
		return false;
	}
	slot_getallattrs(merge->sorted);
	memcpy(slot->tts_values, merge->sorted->tts_values,
		   merge->desc->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, merge->sorted->tts_isnull,
		   merge->desc->natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	return true;
}

/* ---- Giving --------------------------------------------------------------- */

/* Give the first row of the first run. */
static void
give_row(MtsMerge *merge, TupleTableSlot *slot)
{
	MtsRun *run =
		pairingheap_container(MtsRun, node, pairingheap_first(merge->runs));
	MtsRun *before = merge->given;

	merge->given = run;
	fill_slot(merge, &run->rows[run->next++], slot);
	if (before && before != run && before->next == before->n)
		free_run(merge, before);

	/* a lone run stays the first */
	if (run->next < run->n && pairingheap_is_singular(merge->runs))
		return;
	(void) pairingheap_remove_first(merge->runs);
	if (run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
}

static const MtsRow *
first_row(const MtsMerge *merge)
{
	const MtsRun *run;

	if (pairingheap_is_empty(merge->runs))
		return NULL;
	run = pairingheap_container(MtsRun, node, pairingheap_first(merge->runs));
	return &run->rows[run->next];
}

/* The next row of the buckets that the scan reads */
static bool
next_row(MtsMerge *merge, TupleTableSlot *slot)
{
	Size limit = (Size) work_mem * 1024;

	for (;;)
	{
		const MtsRow *row = first_row(merge);
		MtsRun *run;

		if (merge->sorter)
		{
			if (next_sorted(merge, slot))
				return true;
			continue;
		}
		if (row && is_first(merge, row))
		{
			give_row(merge, slot);
			return true;
		}
		if (merge->is_at_end)
			return false;
		run = read_run(merge, slot);
		if (row && merge->size > limit + 2 * merge->largest)
			begin_sorter(merge, slot);
		add_run(merge, run);
	}
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
	merge->given = merge->greatest = NULL;
	merge->is_at_end = false;
}

/*
 * mts_merge_next
 *		Fill the slot with the next row in order; false at the end.
 *
 * The row's values live until the next call.
 */
bool
mts_merge_next(MtsMerge *merge, TupleTableSlot *slot)
{
	if (!merge->skip)
		return next_row(merge, slot);
	mts_scan_prepare(merge->scan);
	while (merge->scan->query->is_possible && mts_skip_scan_next(merge->skip))
	{
		clear(merge);
		if (next_row(merge, slot))
			return true;
	}
	return false;
}

/*
 * mts_merge_new
 *		Prepare to give the points of a node's scan in the scan's order.
 */
MtsMerge *
mts_merge_new(MtsScan *scan, ForeignScanState *node)
{
	MtsMerge *merge = palloc0(sizeof(MtsMerge));
	const MtsSortOrder *order = scan->spec.order;

	merge->scan = scan;
	merge->desc = RelationGetDescr(node->ss.ss_currentRelation);
	merge->order = order;
	merge->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw merge",
							  ALLOCSET_DEFAULT_SIZES);
	merge->is_last = order->nsorted == order->nkeys;
	merge->columns = palloc0(order->nkeys * sizeof(MtsSortColumn));
	for (int i = 0; i < order->nkeys; i++)
	{
		const MtsSortKey *key = &order->keys[i];
		SortSupport support = &merge->columns[i].support;

		support->ssup_cxt = CurrentMemoryContext;
		support->ssup_collation = key->collation;
		support->ssup_nulls_first = key->nulls_first;
		support->ssup_attno = key->column + 1;
		PrepareSortSupportFromOrderingOp(key->operator, support);
		merge->columns[i].column = key->column;
		merge->columns[i].output =
			mts_bucket_output(scan->bucket, key->column) -
			scan->bucket->outputs;
	}
	if (order->nseries > 0)
		merge->skip = mts_skip_scan_new(scan->source, order);
	merge->runs = pairingheap_allocate(compare_heads, merge);
	merge->sorted = ExecInitExtraTupleSlot(node->ss.ps.state, merge->desc,
										   &TTSOpsMinimalTuple);
	return merge;
}

/* Begin anew: the scan does. */
void
mts_merge_reset(MtsMerge *merge)
{
	clear(merge);
	if (merge->skip)
		mts_skip_scan_reset(merge->skip);
}
