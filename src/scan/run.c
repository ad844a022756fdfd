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
 * Tell whether the rows of a batch are sorted, or in reverse: their times
 * increase or decrease, and the columns by which they are sorted before the
 * time are the bucket's.
 */
static bool
is_in_order_of_time(const MtsRunOrder *order, const MtsBatch *batch)
{
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
	while (increasing < batch->n &&
		   batch->times[increasing - 1] < batch->times[increasing])
		increasing++;
	while (decreasing < batch->n &&
		   batch->times[decreasing - 1] > batch->times[decreasing])
		decreasing++;
	return increasing >= batch->n || decreasing >= batch->n;
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

/* Append a copy of the bucket's current row. */
static void
append_row(const MtsRunOrder *order, MtsRun *run, const TupleTableSlot *slot)
{
	const MtsBucket *bucket = order->bucket;
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
	row->values = palloc(bucket->noutputs * (sizeof(Datum) + sizeof(bool)));
	row->nulls = (bool *) (row->values + bucket->noutputs);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;

		row->nulls[i] = slot->tts_isnull[column];
		row->values[i] =
			copy_value(order, i, slot->tts_values[column], row->nulls[i]);
	}
}

/* ---- Batches ------------------------------------------------------------ */

/* Copy the bucket's own values, with the keys of each series of a batch. */
static void
copy_own(const MtsRunOrder *order, MtsBucket *bucket, MtsRow *own, int n)
{
	for (int series = 0; series < n; series++)
	{
		MtsRow *row = &own[series];

		row->values = palloc(bucket->noutputs * sizeof(Datum));
		row->nulls = palloc(bucket->noutputs * sizeof(bool));
		if (bucket->batch->nkeys > 0)
			mts_bucket_enter_series(bucket, series);
		for (int i = 0; i < bucket->noutputs; i++)
		{
			int column = bucket->outputs[i].column;

			row->nulls[i] = bucket->nulls[column];
			row->values[i] =
				copy_value(order, i, bucket->values[column], row->nulls[i]);
		}
	}
}

/* Set the values that an output has in the points of a batch. */
static void
set_column(const MtsBucket *bucket, int output, MtsRow *rows)
{
	const bool *missing;
	const Datum *values =
		mts_bucket_batch_column(bucket, &bucket->outputs[output], &missing);
	int n = bucket->batch->n;

	for (int i = 0; i < n; i++)
		rows[i].values[output] = values[i];
	for (int i = 0; i < n && missing; i++)
		rows[i].nulls[output] = missing[i];
}

/* Set the values of an output that all points of a series have. */
static void
set_own(const MtsBucket *bucket, int output, const MtsRow *own, MtsRow *rows)
{
	const MtsBatch *batch = bucket->batch;
	const int *series = batch->nkeys > 0 ? batch->series_of : NULL;
	int n = batch->n;

	for (int i = 0; i < n; i++)
	{
		const MtsRow *of = &own[series ? series[i] : 0];

		rows[i].values[output] = of->values[output];
		rows[i].nulls[output] = of->nulls[output];
	}
}

/* Copy the points of a batch, column by column. */
static void
copy_batch(const MtsRunOrder *order, MtsRun *run, MtsBucket *bucket)
{
	const MtsBatch *batch = bucket->batch;
	int n = bucket->noutputs;
	int nseries = batch->nkeys > 0 ? batch->nseries : 1;
	MtsRow *own = palloc(nseries * sizeof(MtsRow));
	Datum *values = palloc(batch->n * n * sizeof(Datum) + 1);
	bool *nulls = palloc0(batch->n * n * sizeof(bool) + 1);

	copy_own(order, bucket, own, nseries);
	run->n = batch->n;
	run->rows = palloc(batch->n * sizeof(MtsRow) + 1);
	for (int i = 0; i < batch->n; i++)
		run->rows[i] =
			(MtsRow){batch->times[i], values + i * n, nulls + i * n};
	for (int i = 0; i < n; i++)
		if (bucket->outputs[i].kind == MTS_OUTPUT_TIME ||
			batch->words[bucket->outputs[i].column].room > 0)
			set_column(bucket, i, run->rows);
		else
			set_own(bucket, i, own, run->rows);
}

/*
 * mts_run_read
 *		Read and sort the rows of a bucket.
 *
 * The run's memory context is a child of the current one.  That of many points
 * begins with a block of the size that PostgreSQL keeps for the next context.
 */
MtsRun *
mts_run_read(const MtsRunOrder *order, MtsBucket *bucket, TupleTableSlot *slot)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw run",
							  ALLOCSET_DEFAULT_MINSIZE,
							  bucket->next_batch ? ALLOCSET_DEFAULT_INITSIZE
												 : ALLOCSET_SMALL_INITSIZE,
							  ALLOCSET_DEFAULT_MAXSIZE);
	MemoryContext old = MemoryContextSwitchTo(memory);
	MtsRun *run = palloc0(sizeof(MtsRun));
	bool is_in_order = false;

	run->memory = memory;
	if (mts_bucket_take_batch(bucket))
	{
		copy_batch(order, run, bucket);
		is_in_order = is_in_order_of_time(order, bucket->batch);
	}
	else
		while (mts_bucket_next_row(bucket, slot))
			append_row(order, run, slot);
	sort_rows(order, run, is_in_order);
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
