/*
 * merge_sort.c
 *		Sort runs that outgrow work_mem by PostgreSQL's tuplesort.
 *
 * It takes what overlaps, and gives it when no bucket to come does.
 */
#include "merge_private.h"

#include "miscadmin.h"

#include "order.h"

/* Hand the rest of a run to the sorter. */
static void
put_run(MtsMerge *merge, MtsRun *run, TupleTableSlot *slot)
{
	const MtsRow *greatest =
		merge->greatest ? &merge->greatest->rows[merge->greatest->n - 1]
						: NULL;

	for (int i = run->next; i < run->n; i++)
	{
		mts_run_fill_slot(merge, &run->rows[i], slot);
		tuplesort_puttupleslot(merge->sorter, slot);
		ExecClearTuple(slot);
	}
	if (run->n > run->next &&
		(!greatest ||
		 mts_run_compare(greatest, &run->rows[run->n - 1], merge) < 0))
	{
		MtsRun *last = merge->greatest;

		merge->greatest = run;
		run = last;
	}
	if (run && run != merge->given)
		mts_run_free(merge, run);
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
void
mts_merge_begin_sorter(MtsMerge *merge, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(merge->memory);
	int n = merge->ncolumns;
	AttrNumber *attributes = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	bool *nulls_first = palloc(n * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		attributes[i] = merge->columns[i].support.ssup_attno;
		operators[i] =
			list_nth_oid(list_nth(merge->order, MTS_ORDER_OPERATORS), i);
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
fill_sorter(MtsMerge *merge, ExprContext *econtext, TupleTableSlot *slot)
{
	while (!mts_run_is_first(merge,
							 &merge->greatest->rows[merge->greatest->n - 1]))
	{
		put_runs(merge, slot);
		mts_run_add(merge, mts_run_read(merge, econtext, slot));
	}
	tuplesort_performsort(merge->sorter);
	merge->is_sorted = true;
}

void
mts_merge_end_sorter(MtsMerge *merge)
{
	ExecClearTuple(merge->sorted);
	tuplesort_end(merge->sorter);
	merge->sorter = NULL;
	merge->is_sorted = false;
}

/* The sorter's next row; false when it has no more, and is gone. */
bool
mts_merge_next_sorted(MtsMerge *merge, ExprContext *econtext,
					  TupleTableSlot *slot)
{
	if (!merge->is_sorted)
		fill_sorter(merge, econtext, slot);
	if (!tuplesort_gettupleslot(merge->sorter, true, false, merge->sorted,
								NULL))
	{
		mts_merge_end_sorter(merge);
		/* nothing may come before what was given last */
		if (merge->given && merge->given != merge->greatest)
			mts_run_free(merge, merge->given);
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
