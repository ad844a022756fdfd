/*
 * merge_run.c
 *		The rows of one bucket as a sorted run, and which of them can be given.
 *
 * A run has a memory context of its own.
 */
#include "merge_private.h"

#include "utils/datum.h"
#include "utils/memutils.h"

#include "rolling.h"

/* ---- Comparing ----------------------------------------------------------- */

static inline int
compare_column(const MtsSortColumn *column, const MtsRow *a, Datum value,
			   bool isnull)
{
	return ApplySortComparator(a->values[column->place],
							   a->nulls[column->place], value, isnull,
							   (SortSupport) &column->support);
}

int
mts_run_compare(const MtsRow *a, const MtsRow *b, const MtsMerge *merge)
{
	for (int i = 0; i < merge->ncolumns; i++)
	{
		const MtsSortColumn *column = &merge->columns[i];
		int order = compare_column(column, a, b->values[column->place],
								   b->nulls[column->place]);

		if (order != 0)
			return order;
	}
	return 0;
}

static int
compare_for_sort(const void *a, const void *b, void *merge)
{
	return mts_run_compare(a, b, merge);
}

/* pairingheap's first is its greatest */
int
mts_run_compare_heads(const pairingheap_node *a, const pairingheap_node *b,
					  void *merge)
{
	const MtsRun *left = pairingheap_const_container(MtsRun, node, a);
	const MtsRun *right = pairingheap_const_container(MtsRun, node, b);

	return mts_run_compare(&right->rows[right->next], &left->rows[left->next],
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
 * Does a row come before those of all buckets to come?  They follow the last
 * one read, whose keys the scan has, in MongoDB's order.
 */
bool
mts_run_is_first(const MtsMerge *merge, const MtsRow *row)
{
	const MtsScan *scan = merge->scan;

	for (int i = merge->nfixed; i < merge->nsorted && !merge->is_at_end; i++)
	{
		const MtsSortColumn *column = &merge->columns[i];
		bool descending = column->support.ssup_reverse;
		bool nulls_last = !descending && !column->support.ssup_nulls_first;
		int order;

		if (column->column == scan->table->layout.time_column &&
			is_beyond_limit(merge, row, descending))
			return false;
		if (is_bounded(merge, column))
		{
			if (row->time == merge->bound)
				return merge->is_last;
			return (row->time < merge->bound) != descending;
		}
		/* buckets without a null are still to come */
		if (scan->nulls[column->column] && nulls_last)
			return false;
		order = compare_column(column, row, scan->values[column->column],
							   scan->nulls[column->column]);
		if (order != 0)
			return order < 0;
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

void
mts_run_free(MtsMerge *merge, MtsRun *run)
{
	merge->size -= run->size;
	MemoryContextDelete(run->memory);
}

/* Keep the row that the scan has filled. */
static void
add_row(MtsMerge *merge, MtsRun *run, const TupleTableSlot *slot)
{
	const MtsScan *scan = merge->scan;
	MemoryContext old = MemoryContextSwitchTo(run->memory);
	int n = scan->nfilled;
	MtsRow *row;

	if (run->n == run->room)
	{
		run->room = run->room ? run->room * 2 : 64;
		run->rows = run->rows
						? repalloc_huge(run->rows, run->room * sizeof(MtsRow))
						: palloc(run->room * sizeof(MtsRow));
	}
	row = &run->rows[run->n++];
	row->time = scan->point.time;
	row->values = palloc(n * (sizeof(Datum) + sizeof(bool)));
	row->nulls = (bool *) (row->values + n);
	for (int i = 0; i < n; i++)
	{
		int attribute = scan->filled[i];
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
		int order = mts_run_compare(&run->rows[i - 1], &run->rows[i], merge);

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
 * Note where the buckets to come begin: at the keys of the current one, and
 * at the time that it is sorted by.
 */
static void
set_bound(MtsMerge *merge, const MtsRun *run)
{
	MtsScan *scan = merge->scan;
	const MtsLayout *layout = &scan->table->layout;
	const MtsSortColumn *last = &merge->columns[merge->nsorted - 1];
	bool has_bounds = layout->time_kind == MTS_TIME_POINT;

	if (last->column != layout->time_column)
		return;
	merge->has_limit = mts_rolling_limit(scan, &merge->limit);
	if (!is_bounded(merge, last))
	{
		/* what is skipped is no bound, and needs none */
		if (run->n > 0)
		{
			scan->values[last->column] = run->rows[0].values[last->place];
			scan->nulls[last->column] = run->rows[0].nulls[last->place];
		}
	}
	else if (last->support.ssup_reverse)
		merge->bound = has_bounds && layout->last.is_set
						   ? scan->unfold.last
						   : mts_layout_last_slot(layout, scan->unfold.end);
	else
		merge->bound = has_bounds && layout->first.is_set ? scan->unfold.first
														  : scan->unfold.start;
}

/*
 * Fail rather than give rows in another order than the plan says.  Where the
 * sort is by bounds, a bucket may have got points after it was sorted, which
 * are left out, as if it had been read before.
 */
static void
check_order(const MtsMerge *merge, MtsRun *run)
{
	const MtsScan *scan = merge->scan;
	const MtsRow *last =
		merge->given ? &merge->given->rows[merge->given->next - 1] : NULL;

	while (last && run->next < run->n &&
		   mts_run_compare(last, &run->rows[run->next], merge) > 0)
	{
		if (!merge->is_by_bound)
			ereport(
				ERROR,
				(errcode(ERRCODE_FDW_ERROR),
				 errmsg(
					 "the buckets of MongoDB collection \"%s.%s\" did not come "
					 "in order",
					 scan->table->database, scan->collection->name),
				 errdetail("A column that is declared NOT NULL may hold "
						   "nulls, or the collection may have another "
						   "collation."),
				 errhint(
					 "Use SET mongo_ts_fdw.enable_sort = off to sort rows in PostgreSQL.")));
		run->next++;
	}
}

/* The rows of the next bucket; NULL at the end */
MtsRun *
mts_run_read(MtsMerge *merge, ExprContext *econtext, TupleTableSlot *slot)
{
	MtsRun *run;

	if (!mts_scan_next_bucket(merge->scan, econtext))
	{
		merge->is_at_end = true;
		return NULL;
	}
	run = new_run(merge);
	while (mts_scan_next_in_bucket(merge->scan, econtext, slot))
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
void
mts_run_add(MtsMerge *merge, MtsRun *run)
{
	if (run && run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
	else if (run)
		mts_run_free(merge, run);
}

void
mts_run_fill_slot(const MtsMerge *merge, const MtsRow *row,
				  TupleTableSlot *slot)
{
	const MtsScan *scan = merge->scan;

	memset(slot->tts_isnull, true, scan->table->natts);
	for (int i = 0; i < scan->nfilled; i++)
	{
		slot->tts_values[scan->filled[i]] = row->values[i];
		slot->tts_isnull[scan->filled[i]] = row->nulls[i];
	}
	ExecStoreVirtualTuple(slot);
}
