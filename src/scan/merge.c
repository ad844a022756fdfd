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
#include "lib/pairingheap.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "driver/document.h"
#include "scan/skip_scan.h"

/* A column by which rows are sorted */
typedef struct RunColumn
{
	SortSupportData support;
	int column; /* of the layout */
	int output; /* of the bucket */
} RunColumn;

/* How the rows of a scan are stored and compared */
typedef struct RunOrder
{
	const MtsBucket *bucket; /* whose outputs are stored */
	TupleDesc desc;
	int ncolumns;
	RunColumn *columns; /* by key of the sort order */
} RunOrder;

typedef struct Row
{
	MtsTime time;  /* unless the time column is null */
	Datum *values; /* by output */
	bool *nulls;
} Row;

/* The sorted rows of a bucket, which a memory context of its own has */
typedef struct Run
{
	pairingheap_node node;
	MemoryContext memory; /* of the run */
	Size size;            /* of that memory */
	int n;
	int next; /* the first row that has not been returned */
	Row *rows;
} Run;

struct MtsMerge
{
	MtsScan *scan;
	const MtsSortOrder *order;
	const RunOrder *run_order;
	MtsSkipScan *skip_scan; /* reads series one by one; or NULL */
	MemoryContext memory;   /* of runs and sorter */

	pairingheap *runs; /* the run with the least row is the first */
	Size size;         /* of the runs */
	Size largest;      /* of the largest run so far */
	Run *current;      /* the run of the last row returned; or NULL */
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
	Run *greatest;          /* the run of its greatest row */
};

/* ---- The rows of a bucket ----------------------------------------------- */

/* Prepare to read rows of a table, whose descriptor this is, in an order. */
static RunOrder *
new_order(const MtsBucket *bucket, const MtsSortOrder *order, TupleDesc desc)
{
	RunOrder *result = palloc0(sizeof(RunOrder));

	result->bucket = bucket;
	result->desc = desc;
	result->ncolumns = order->nkeys;
	result->columns = palloc0(order->nkeys * sizeof(RunColumn));
	for (int i = 0; i < order->nkeys; i++)
	{
		const MtsSortKey *key = &order->keys[i];
		RunColumn *column = &result->columns[i];

		column->column = key->column;
		column->output =
			mts_bucket_output(bucket, key->column) - bucket->outputs;
		column->support.ssup_cxt = CurrentMemoryContext;
		column->support.ssup_collation = key->collation;
		column->support.ssup_nulls_first = key->nulls_first;
		column->support.ssup_attno = key->column + 1;
		PrepareSortSupportFromOrderingOp(key->opno, &column->support);
	}
	return result;
}

/* Compare a column of a row with a value, as qsort() does. */
static inline int
compare_column(const RunColumn *column, const Row *row, Datum value,
			   bool isnull)
{
	return ApplySortComparator(row->values[column->output],
							   row->nulls[column->output], value, isnull,
							   (SortSupport) &column->support);
}

/* Compare two rows, as qsort() does. */
static int
compare_rows(const RunOrder *order, const Row *a, const Row *b)
{
	for (int i = 0; i < order->ncolumns; i++)
	{
		const RunColumn *column = &order->columns[i];
		int result = compare_column(column, a, b->values[column->output],
									b->nulls[column->output]);

		if (result != 0)
			return result;
	}
	return 0;
}

static int
compare_for_qsort(const void *a, const void *b, void *order)
{
	return compare_rows(order, a, b);
}

/*
 * Tell whether the rows of a bucket are sorted, or in reverse: their times
 * increase or decrease, and the columns by which they are sorted before the
 * time are the bucket's.
 */
static bool
is_in_order_of_time(const RunOrder *order, const Run *run)
{
	const Row *rows = run->rows;
	const MtsOutput *outputs = order->bucket->outputs;
	int column = 0;
	int increasing = 1;
	int decreasing = 1;

	while (column < order->ncolumns &&
		   outputs[order->columns[column].output].kind == MTS_OUTPUT_BUCKET)
		column++;
	if (column == order->ncolumns ||
		outputs[order->columns[column].output].kind != MTS_OUTPUT_TIME)
		return false;
	while (increasing < run->n &&
		   rows[increasing - 1].time < rows[increasing].time)
		increasing++;
	while (decreasing < run->n &&
		   rows[decreasing - 1].time > rows[decreasing].time)
		decreasing++;
	return increasing >= run->n || decreasing >= run->n;
}

/* Sort the rows of a run, if they are not sorted or in reverse already. */
static void
sort_rows(const RunOrder *order, Run *run, bool is_in_order)
{
	if (run->n > 1 &&
		compare_rows(order, &run->rows[0], &run->rows[run->n - 1]) > 0)
		for (int i = 0, j = run->n - 1; i < j; i++, j--)
		{
			Row row = run->rows[i];

			run->rows[i] = run->rows[j];
			run->rows[j] = row;
		}
	/* PostgreSQL's qsort checks for sorted input first */
	if (!is_in_order)
		qsort_arg(run->rows, run->n, sizeof(Row), compare_for_qsort,
				  (void *) order);
}

/* Copy a value of an output, unless it is in the Datum or null. */
static Datum
copy_value(const RunOrder *order, int output, Datum value, bool isnull)
{
	Form_pg_attribute att =
		TupleDescAttr(order->desc, order->bucket->outputs[output].column);

	return isnull || att->attbyval ? value
								   : datumCopy(value, false, att->attlen);
}

/*
 * Copy the values that points have in common: the bucket's own and, by series,
 * keys.
 */
static Row *
copy_own(const RunOrder *order, MtsBucket *bucket, const MtsPoints *points)
{
	const MtsBatch *series = points->series;
	int n = series ? series->series.n : 1;
	Row *own = palloc(n * sizeof(Row) + 1);

	for (int i = 0; i < n; i++)
	{
		Row *row = &own[i];

		row->values = palloc(bucket->noutputs * sizeof(Datum));
		row->nulls = palloc(bucket->noutputs * sizeof(bool));
		if (series)
			mts_bucket_enter_series(bucket, i);
		for (int output = 0; output < bucket->noutputs; output++)
		{
			int column = bucket->outputs[output].column;

			if (points->columns[output].values)
				continue;
			row->nulls[output] = bucket->nulls[column];
			row->values[output] =
				copy_value(order, output, bucket->values[column],
						   row->nulls[output]);
		}
	}
	return own;
}

/* Set the values that an output has in points. */
static void
set_column(const RunOrder *order, int output, const MtsPoints *points,
		   Row *rows)
{
	const MtsPointValues *from = &points->columns[output];
	int column = order->bucket->outputs[output].column;
	bool is_copied = !TupleDescAttr(order->desc, column)->attbyval;

	for (int i = 0; i < points->n; i++)
		rows[i].values[output] = from->values[i];
	for (int i = 0; i < points->n && from->missing; i++)
		rows[i].nulls[output] = from->missing[i];
	for (int i = 0; i < points->n && is_copied; i++)
		rows[i].values[output] =
			copy_value(order, output, rows[i].values[output],
					   rows[i].nulls[output]);
}

/* Set the values of an output that all points of a series have. */
static void
set_own(int output, const Row *own, const MtsPoints *points, Row *rows)
{
	const int *series = points->series ? points->series->series.of : NULL;

	for (int i = 0; i < points->n; i++)
	{
		const Row *of = &own[series ? series[i] : 0];

		rows[i].values[output] = of->values[output];
		rows[i].nulls[output] = of->nulls[output];
	}
}

/* Append copies of points, column by column. */
static void
copy_points(const RunOrder *order, Run *run, MtsBucket *bucket,
			const MtsPoints *points)
{
	int n = bucket->noutputs;
	const Row *own = copy_own(order, bucket, points);
	Datum *values = palloc(points->n * n * sizeof(Datum) + 1);
	bool *nulls = palloc0(points->n * n * sizeof(bool) + 1);
	Size size = (run->n + points->n) * sizeof(Row);
	Row *rows;

	/* most often, they are all points of the bucket */
	run->rows = run->rows ? repalloc_huge(run->rows, size) : palloc(size);
	rows = run->rows + run->n;
	run->n += points->n;
	for (int i = 0; i < points->n; i++)
		rows[i] = (Row){points->times[i], values + i * n, nulls + i * n};
	for (int i = 0; i < n; i++)
		if (points->columns[i].values)
			set_column(order, i, points, rows);
		else
			set_own(i, own, points, rows);
}

/*
 * Read and sort the rows of a bucket.  The run's memory context is a child of
 * the current one.  That of many points begins with a block of the size that
 * PostgreSQL keeps for the next context.
 */
static Run *
read_rows(const RunOrder *order, MtsBucket *bucket)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw run",
							  ALLOCSET_DEFAULT_MINSIZE,
							  bucket->table->layout.ncontainers > 0
								  ? ALLOCSET_DEFAULT_INITSIZE
								  : ALLOCSET_SMALL_INITSIZE,
							  ALLOCSET_DEFAULT_MAXSIZE);
	MemoryContext old = MemoryContextSwitchTo(memory);
	Run *run = palloc0(sizeof(Run));
	MtsPoints *points;

	run->memory = memory;
	while ((points = mts_bucket_points(bucket)) != NULL)
	{
		copy_points(order, run, bucket, points);
		mts_bucket_take(bucket, points->n);
	}
	sort_rows(order, run, is_in_order_of_time(order, run));
	run->size = MemoryContextMemAllocated(memory, false);
	MemoryContextSwitchTo(old);
	return run;
}

/*
 * Store a row in an empty virtual slot.  By-reference values stay in the
 * memory of the run.
 */
static void
fill_slot(const RunOrder *order, const Row *row, TupleTableSlot *slot)
{
	const MtsOutput *outputs = order->bucket->outputs;
	int noutputs = order->bucket->noutputs;
	Row from = *row;
	Row to = {.values = slot->tts_values, .nulls = slot->tts_isnull};

	if (noutputs < order->desc->natts)
		memset(to.nulls, true, order->desc->natts);
	for (int i = 0; i < noutputs; i++)
	{
		int column = outputs[i].column;

		to.values[column] = from.values[i];
		to.nulls[column] = from.nulls[i];
	}
	ExecStoreVirtualTuple(slot);
}

/* ---- Runs --------------------------------------------------------------- */

/* Order the runs in the heap, whose first element is the greatest. */
static int
compare_runs(const pairingheap_node *a, const pairingheap_node *b, void *order)
{
	const Run *left = pairingheap_const_container(Run, node, a);
	const Run *right = pairingheap_const_container(Run, node, b);

	return compare_rows(order, &right->rows[right->next],
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
move_extreme(MtsMerge *merge, const Run *run)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const RunColumn *column = &merge->run_order->columns[0];
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
	if (run->n > 0 && compare_column(column, &run->rows[0], value, false) < 0)
		report_extreme(merge);
	merge->extreme = value;
	merge->has_extreme = true;
}

/* Move the frontier to the last bucket read, which has become a run. */
static void
move_frontier(MtsMerge *merge, const Run *run)
{
	const MtsScan *scan = merge->scan;
	const MtsLayout *layout = &scan->table->layout;
	const MtsUnfold *unfold = &scan->bucket->unfold;
	/* by which MongoDB sorts last, if at all */
	const RunColumn *time =
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
compare_time(const MtsMerge *merge, const RunColumn *column, const Row *row)
{
	bool isnull = row->nulls[column->output];
	/* the last bucket is not among the rows of a sorter */
	MtsTime frontier = merge->sorter ? merge->frontier : merge->next_frontier;
	int result;

	if (isnull || merge->frontier_is_null)
		return compare_column(column, row, (Datum) 0, merge->frontier_is_null);
	result = (row->time > frontier) - (row->time < frontier);
	return column->support.ssup_reverse ? -result : result;
}

/* Tell whether a row comes before what unread buckets declare. */
static bool
is_before_extreme(const MtsMerge *merge, const Row *row)
{
	int result;

	if (!merge->has_extreme)
		return false;
	result = compare_column(&merge->run_order->columns[0], row, merge->extreme,
							false);
	return result < 0 || (result == 0 && merge->order->nkeys == 1);
}

/* Tell whether a row comes before all rows of unread buckets. */
static bool
is_first(const MtsMerge *merge, const Row *row)
{
	const MtsBucket *bucket = merge->scan->bucket;
	const MtsSortOrder *order = merge->order;

	if (order->extreme && !merge->is_at_end)
		return is_before_extreme(merge, row);
	for (int i = order->nseries; i < order->nsorted && !merge->is_at_end; i++)
	{
		const RunColumn *column = &merge->run_order->columns[i];
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
					 : compare_column(column, row,
									  bucket->values[column->column], isnull);
		if (result != 0)
			return result < 0;
	}
	/* rows with the same sorted keys are equal if there are no other keys */
	return merge->is_at_end || order->nsorted == order->nkeys;
}

/* ---- Reading ------------------------------------------------------------ */

/* Tell whether MongoDB sorts by a bound, and rows differ in that key alone. */
static bool
differ_in_bound(const MtsMerge *merge, const Row *a, const Row *b)
{
	if (!merge->order->is_by_bound)
		return false;
	for (int i = 0; i < merge->order->nsorted - 1; i++)
	{
		const RunColumn *column = &merge->run_order->columns[i];

		if (compare_column(column, a, b->values[column->output],
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
check_order(const MtsMerge *merge, Run *run)
{
	const MtsTable *table = merge->scan->table;
	const Run *current = merge->current;

	while (current && run->next < run->n &&
		   compare_rows(merge->run_order, &current->rows[current->next - 1],
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
free_run(MtsMerge *merge, Run *run)
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
static Run *
read_run(MtsMerge *merge)
{
	MtsBucket *bucket = mts_scan_next_bucket(merge->scan);
	MemoryContext old;
	Run *run;

	if (!bucket)
	{
		merge->is_at_end = true;
		return NULL;
	}
	keep_first(merge, bucket);
	old = MemoryContextSwitchTo(merge->memory);
	run = read_rows(merge->run_order, bucket);
	MemoryContextSwitchTo(old);
	merge->size += run->size;
	merge->largest = Max(merge->largest, run->size);
	move_frontier(merge, run);
	check_order(merge, run);
	return run;
}

/* Add a run, which may be NULL or empty, to those that are merged. */
static void
add_run(MtsMerge *merge, Run *run)
{
	if (run && run->next < run->n)
		pairingheap_add(merge->runs, &run->node);
	else if (run)
		free_run(merge, run);
}

static Run *
first_run(const MtsMerge *merge)
{
	return pairingheap_container(Run, node, pairingheap_first(merge->runs));
}

/* ---- Runs that outgrow memory ------------------------------------------- */

/* Move a run to the sorter. */
static void
spill_run(MtsMerge *merge, Run *run, TupleTableSlot *slot)
{
	Run *unused = run;

	for (int i = run->next; i < run->n; i++)
	{
		fill_slot(merge->run_order, &run->rows[i], slot);
		tuplesort_puttupleslot(merge->sorter, slot);
		ExecClearTuple(slot);
	}
	if (!merge->greatest ||
		compare_rows(merge->run_order,
					 &merge->greatest->rows[merge->greatest->n - 1],
					 &run->rows[run->n - 1]) < 0)
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
		Run *run = first_run(merge);

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
	while (!is_first(merge, &merge->greatest->rows[merge->greatest->n - 1]))
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
	Run *before = merge->current;
	Run *run;
	const Run *second;
	const Row *last;

	if (pairingheap_is_empty(merge->runs))
		return false;
	run = first_run(merge);
	if (!is_first(merge, &run->rows[run->next]))
		return false;
	(void) pairingheap_remove_first(merge->runs);
	merge->nready = 1;
	last = &run->rows[run->n - 1];
	second = pairingheap_is_empty(merge->runs) ? NULL : first_run(merge);
	if ((!second || compare_rows(merge->run_order, last,
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
	Run *run = merge->current;

	fill_slot(merge->run_order, &run->rows[run->next++], slot);
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
		Run *run;

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
	merge->run_order = new_order(scan->bucket, merge->order, desc);
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
