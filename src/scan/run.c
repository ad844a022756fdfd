/*
 * run.c
 *		Read the rows of a bucket, and sort them.
 *
 * A run is the sorted rows of one bucket.  It stores only the needed columns,
 * in a memory context of its own.  Deleting that context frees it.
 */
#include "scan/run.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"

/*
 * mts_run_order_new
 *		Prepare to read rows of a table in a sort order.
 *
 * It is allocated in the current memory context; desc is the table's.
 */
MtsRunOrder *
mts_run_order_new(const MtsBucket *bucket, const MtsSortOrder *order,
				  TupleDesc desc)
{
	MtsRunOrder *result = palloc0(sizeof(MtsRunOrder));

	result->bucket = bucket;
	result->desc = desc;
	result->ncolumns = order->nkeys;
	result->columns = palloc0(order->nkeys * sizeof(MtsRunColumn));
	for (int i = 0; i < order->nkeys; i++)
	{
		const MtsSortKey *key = &order->keys[i];
		MtsRunColumn *column = &result->columns[i];

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

/* mts_run_compare: compare two rows, as qsort() does. */
int
mts_run_compare(const MtsRunOrder *order, const MtsRow *a, const MtsRow *b)
{
	for (int i = 0; i < order->ncolumns; i++)
	{
		const MtsRunColumn *column = &order->columns[i];
		int result =
			mts_run_compare_column(column, a, b->values[column->output],
								   b->nulls[column->output]);

		if (result != 0)
			return result;
	}
	return 0;
}

static int
compare_for_qsort(const void *a, const void *b, void *order)
{
	return mts_run_compare(order, a, b);
}

/*
 * Tell whether the rows of a bucket are sorted, or in reverse: their times
 * increase or decrease, and the columns by which they are sorted before the
 * time are the bucket's.
 */
static bool
is_in_order_of_time(const MtsRunOrder *order, const MtsRun *run)
{
	const MtsRow *rows = run->rows;
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
sort_rows(const MtsRunOrder *order, MtsRun *run, bool is_in_order)
{
	if (run->n > 1 &&
		mts_run_compare(order, &run->rows[0], mts_run_last(run)) > 0)
		for (int i = 0, j = run->n - 1; i < j; i++, j--)
		{
			MtsRow row = run->rows[i];

			run->rows[i] = run->rows[j];
			run->rows[j] = row;
		}
	/* PostgreSQL's qsort checks for sorted input first */
	if (!is_in_order)
		qsort_arg(run->rows, run->n, sizeof(MtsRow), compare_for_qsort,
				  (void *) order);
}

/* Copy a value of an output, unless it is in the Datum or null. */
static Datum
copy_value(const MtsRunOrder *order, int output, Datum value, bool isnull)
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
static MtsRow *
copy_own(const MtsRunOrder *order, MtsBucket *bucket, const MtsPoints *points)
{
	const MtsBatch *series = points->series;
	int n = series ? series->nseries : 1;
	MtsRow *own = palloc(n * sizeof(MtsRow) + 1);

	for (int i = 0; i < n; i++)
	{
		MtsRow *row = &own[i];

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
set_column(const MtsRunOrder *order, int output, const MtsPoints *points,
		   MtsRow *rows)
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
set_own(int output, const MtsRow *own, const MtsPoints *points, MtsRow *rows)
{
	const int *series = points->series ? points->series->series_of : NULL;

	for (int i = 0; i < points->n; i++)
	{
		const MtsRow *of = &own[series ? series[i] : 0];

		rows[i].values[output] = of->values[output];
		rows[i].nulls[output] = of->nulls[output];
	}
}

/* Append copies of points, column by column. */
static void
copy_points(const MtsRunOrder *order, MtsRun *run, MtsBucket *bucket,
			const MtsPoints *points)
{
	int n = bucket->noutputs;
	const MtsRow *own = copy_own(order, bucket, points);
	Datum *values = palloc(points->n * n * sizeof(Datum) + 1);
	bool *nulls = palloc0(points->n * n * sizeof(bool) + 1);
	Size size = (run->n + points->n) * sizeof(MtsRow);
	MtsRow *rows;

	/* most often, they are all points of the bucket */
	run->rows = run->rows ? repalloc_huge(run->rows, size) : palloc(size);
	rows = run->rows + run->n;
	run->n += points->n;
	for (int i = 0; i < points->n; i++)
		rows[i] = (MtsRow){points->times[i], values + i * n, nulls + i * n};
	for (int i = 0; i < n; i++)
		if (points->columns[i].values)
			set_column(order, i, points, rows);
		else
			set_own(i, own, points, rows);
}

/*
 * mts_run_read
 *		Read and sort the rows of a bucket.
 *
 * The run's memory context is a child of the current one.  That of many points
 * begins with a block of the size that PostgreSQL keeps for the next context.
 */
MtsRun *
mts_run_read(const MtsRunOrder *order, MtsBucket *bucket)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw run",
							  ALLOCSET_DEFAULT_MINSIZE,
							  bucket->table->layout.ncontainers > 0
								  ? ALLOCSET_DEFAULT_INITSIZE
								  : ALLOCSET_SMALL_INITSIZE,
							  ALLOCSET_DEFAULT_MAXSIZE);
	MemoryContext old = MemoryContextSwitchTo(memory);
	MtsRun *run = palloc0(sizeof(MtsRun));
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
 * mts_run_fill_slot
 *		Store a row in an empty virtual slot.  By-reference values stay in the
 *		memory of the run.
 */
void
mts_run_fill_slot(const MtsRunOrder *order, const MtsRow *row,
				  TupleTableSlot *slot)
{
	const MtsOutput *outputs = order->bucket->outputs;
	int noutputs = order->bucket->noutputs;
	MtsRow from = *row;
	MtsRow to = {.values = slot->tts_values, .nulls = slot->tts_isnull};

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
