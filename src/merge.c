/*
 * merge.c
 *		Give the points of sorted buckets in order.
 *
 * Buckets come sorted by their keys and time, but overlap: those of several
 * series begin at the same time.  Each becomes a sorted run of rows, and the
 * least row of all runs is given as soon as no bucket to come can hold a
 * lesser one.  Runs that outgrow work_mem are sorted in merge_sort.c.
 */
#include "merge_private.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "order.h"

/* Give the first row of the first run. */
static void
give_row(MtsMerge *merge, TupleTableSlot *slot)
{
	MtsRun *run =
		pairingheap_container(MtsRun, node, pairingheap_first(merge->runs));
	MtsRun *before = merge->given;

	merge->given = run;
	mts_run_fill_slot(merge, &run->rows[run->next++], slot);
	if (before && before != run && before->next == before->n)
		mts_run_free(merge, before);

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
next_row(MtsMerge *merge, ExprContext *econtext, TupleTableSlot *slot)
{
	Size limit = (Size) work_mem * 1024;

	for (;;)
	{
		const MtsRow *row = first_row(merge);
		MtsRun *run;

		if (merge->sorter)
		{
			if (mts_merge_next_sorted(merge, econtext, slot))
				return true;
			continue;
		}
		if (row && mts_run_is_first(merge, row))
		{
			give_row(merge, slot);
			return true;
		}
		if (merge->is_at_end)
			return false;
		run = mts_run_read(merge, econtext, slot);
		if (row && merge->size > limit + 2 * merge->largest)
			mts_merge_begin_sorter(merge, slot);
		mts_run_add(merge, run);
	}
}

/* Forget all runs. */
static void
clear(MtsMerge *merge)
{
	if (merge->sorter)
		mts_merge_end_sorter(merge);
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
mts_merge_next(MtsMerge *merge, ExprContext *econtext, TupleTableSlot *slot)
{
	if (!merge->skip)
		return next_row(merge, econtext, slot);
	mts_scan_prepare(merge->scan, econtext);
	while (merge->scan->is_possible && mts_skip_next(merge->skip))
	{
		clear(merge);
		if (next_row(merge, econtext, slot))
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
	List *order = scan->order;
	List *attributes = list_nth(order, MTS_ORDER_ATTRIBUTES);

	merge->scan = scan;
	merge->desc = RelationGetDescr(node->ss.ss_currentRelation);
	merge->order = order;
	merge->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw merge",
							  ALLOCSET_DEFAULT_SIZES);
	merge->ncolumns = list_length(attributes);
	merge->columns = palloc0(merge->ncolumns * sizeof(MtsSortColumn));
	merge->nsorted = intVal(list_nth(order, MTS_ORDER_SORTED));
	merge->is_last = merge->nsorted == merge->ncolumns;
	merge->is_by_bound = mts_order_is_by_bound(scan->table, order);
	for (int i = 0; i < merge->ncolumns; i++)
	{
		MtsSortColumn *column = &merge->columns[i];
		SortSupport support = &column->support;
		int attribute = list_nth_int(attributes, i);

		support->ssup_cxt = CurrentMemoryContext;
		support->ssup_collation =
			list_nth_oid(list_nth(order, MTS_ORDER_COLLATIONS), i);
		support->ssup_nulls_first =
			list_nth_int(list_nth(order, MTS_ORDER_NULLS_FIRST), i);
		support->ssup_attno = attribute;
		PrepareSortSupportFromOrderingOp(
			list_nth_oid(list_nth(order, MTS_ORDER_OPERATORS), i), support);
		column->column = mts_table_column(scan->table, attribute);
		while (scan->filled[column->place] != attribute - 1)
			column->place++;
	}
	merge->nfixed = intVal(list_nth(order, MTS_ORDER_SERIES));
	if (merge->nfixed > 0)
		merge->skip = mts_skip_new(scan);
	merge->runs = pairingheap_allocate(mts_run_compare_heads, merge);
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
		mts_skip_reset(merge->skip);
}
