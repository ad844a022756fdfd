/*
 * first_rows.c
 *		Keep the first row of each series, while all buckets are read.
 *
 * Where series are keys in the buckets, no index finds them, and a series may
 * be in old buckets only.  So all buckets are read, in any order, but only the
 * row of a series with the least or the greatest time is kept.  Conditions are
 * checked for each row that would be kept, and again by the executor.
 *
 * If points are checked at once, batch_reader.c reduces them to such points,
 * and no rows are made of them: their values replace those that are kept of
 * their series.  A row is made of a point whose series has none yet.
 *
 * Rows are returned when all have been read, or when those that are kept need
 * too much memory.  Then a series may be returned several times.  PostgreSQL
 * sorts the rows, and takes the first one of each series.
 */
#include "scan/first_rows.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"

/* The row of a series that is kept */
typedef struct Kept
{
	MtsTime time;
	int series; /* the known series that it is of; or -1 */
	NullableDatum values[FLEXIBLE_ARRAY_MEMBER]; /* by output */
} Kept;

struct MtsFirstRows
{
	MtsScan *scan;
	const MtsSortOrder *order;
	MtsExtreme extreme;   /* the row that is kept */
	ExprState *quals;     /* that it must fulfil; or NULL */
	MemoryContext memory; /* of the rows */
	TupleHashTable table; /* by the keys of series, with a Kept each */
	TupleTableSlot *keys;
	TupleDesc desc; /* of rows */
	Size kept_size;
	TupleHashIterator iterator;

	/* by known series of batches: what was kept of it; or NULL */
	Kept **by_series;
	int nseries;
	int keys_version; /* that these are of */
	bool is_returning;
	bool is_at_end; /* all rows have been read */
};

/* Describe the keys of series. */
static TupleDesc
describe_keys(const MtsSortOrder *order, TupleDesc rows)
{
	List *keys = NIL;

	for (int i = 0; i < order->nfirst; i++)
	{
		Form_pg_attribute column = TupleDescAttr(rows, order->keys[i].column);

		keys = lappend(keys, makeNullConst(column->atttypid, column->atttypmod,
										   column->attcollation));
	}
	return ExecTypeFromExprList(keys);
}

/* Make the table of series. */
static void
make_table(MtsFirstRows *rows, TupleDesc desc)
{
	const MtsSortOrder *order = rows->order;
	int n = order->nfirst;
	AttrNumber *numbers = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	Oid *equalities;
	FmgrInfo *hashes;

	for (int i = 0; i < n; i++)
	{
		numbers[i] = i + 1;
		operators[i] = lookup_type_cache(TupleDescAttr(desc, i)->atttypid,
										 TYPECACHE_EQ_OPR)
						   ->eq_opr;
		collations[i] = order->keys[i].collation;
	}
	execTuplesHashPrepare(n, operators, &equalities, &hashes);
	rows->table =
		mts_build_hash_table(desc, n, numbers, equalities, hashes, collations,
							 256, rows->kept_size, CurrentMemoryContext,
							 rows->memory,
							 rows->scan->econtext->ecxt_per_tuple_memory);
}

/*
 * mts_first_rows_new
 *		Prepare to return the first rows of a scan by its order and conditions.
 *
 * They are allocated in the current memory context.
 */
MtsFirstRows *
mts_first_rows_new(MtsScan *scan, ForeignScanState *node)
{
	MtsFirstRows *rows = palloc0(sizeof(MtsFirstRows));
	TupleDesc desc = RelationGetDescr(node->ss.ss_currentRelation);
	const MtsSortOrder *order = scan->spec.order;
	TupleDesc keys = describe_keys(order, desc);

	rows->scan = scan;
	rows->order = order;
	rows->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw first rows",
							  ALLOCSET_DEFAULT_SIZES);
	rows->keys =
		ExecInitExtraTupleSlot(node->ss.ps.state, keys, &TTSOpsVirtual);
	rows->desc = desc;
	rows->kept_size = offsetof(Kept, values) +
					  scan->bucket->noutputs * sizeof(NullableDatum);
	make_table(rows, keys);
	rows->extreme = order->nkeys == order->nfirst ? MTS_EXTREME_ANY
					: order->keys[order->nfirst].descending
						? MTS_EXTREME_LAST
						: MTS_EXTREME_FIRST;
	rows->quals = node->ss.ps.qual;
	if (list_length(scan->bucket->spec.conditions) ==
		list_length(node->ss.ps.plan->qual))
		scan->bucket->spec.extreme = rows->extreme;
	return rows;
}

/* Make the keys of the row in a slot. */
static void
fill_keys(MtsFirstRows *rows, const TupleTableSlot *slot)
{
	TupleTableSlot *keys = rows->keys;

	ExecClearTuple(keys);
	for (int i = 0; i < rows->order->nfirst; i++)
	{
		int column = rows->order->keys[i].column;

		keys->tts_values[i] = slot->tts_values[column];
		keys->tts_isnull[i] = slot->tts_isnull[column];
	}
	ExecStoreVirtualTuple(keys);
}

/* Store a value in the place of one that is kept. */
static inline void
store_value(MtsFirstRows *rows, Kept *kept, int output, Datum value,
			bool isnull)
{
	int column = rows->scan->bucket->outputs[output].column;
	Form_pg_attribute att = TupleDescAttr(rows->desc, column);
	NullableDatum *stored = &kept->values[output];

	if (!att->attbyval && !isnull)
	{
		MemoryContext old = MemoryContextSwitchTo(rows->memory);

		value = datumCopy(value, false, att->attlen);
		MemoryContextSwitchTo(old);
	}
	if (!att->attbyval && !stored->isnull)
		pfree(DatumGetPointer(stored->value));
	*stored = (NullableDatum){value, isnull};
}

/* Make room for the row of a series that has none. */
static Kept *
new_kept(MtsFirstRows *rows)
{
	bool isnew;
	TupleHashEntry entry =
		LookupTupleHashEntry(rows->table, rows->keys, &isnew, NULL);
	Kept *kept;

	mts_hash_make_additional(entry, rows->memory, rows->kept_size);
	kept = mts_hash_additional(rows->table, entry);
	for (int i = 0; i < rows->scan->bucket->noutputs; i++)
		kept->values[i].isnull = true;
	return kept;
}

/* Keep the row of a slot. */
static void
keep(MtsFirstRows *rows, const TupleTableSlot *slot, Kept *kept)
{
	const MtsBucket *bucket = rows->scan->bucket;

	kept->time = mts_bucket_time(bucket);
	kept->series = -1;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;

		store_value(rows, kept, i, slot->tts_values[column],
					slot->tts_isnull[column]);
	}
}

/* Tell whether the row of a slot fulfils the conditions. */
static bool
passes(MtsFirstRows *rows, TupleTableSlot *slot)
{
	ExprContext *econtext = rows->scan->econtext;

	econtext->ecxt_scantuple = slot;
	if (ExecQual(rows->quals, econtext))
		return true;
	rows->scan->counters->removed++;
	return false;
}

/*
 * Keep the row of a slot, if it comes before that of its series.  Return what
 * is kept then; otherwise NULL.
 */
static Kept *
consider(MtsFirstRows *rows, TupleTableSlot *slot)
{
	TupleHashEntry entry;
	Kept *kept = NULL;
	bool is_kept;

	ResetExprContext(rows->scan->econtext);
	fill_keys(rows, slot);
	entry = LookupTupleHashEntry(rows->table, rows->keys, NULL, NULL);
	if (entry)
		kept = mts_hash_additional(rows->table, entry);
	if (kept && !mts_bucket_comes_first(rows->extreme,
										mts_bucket_time(rows->scan->bucket),
										kept->time))
		return NULL;
	ExecStoreVirtualTuple(slot);
	is_kept = passes(rows, slot);
	if (is_kept)
	{
		if (!kept)
			kept = new_kept(rows);
		keep(rows, slot, kept);
	}
	ExecClearTuple(slot);
	return is_kept ? kept : NULL;
}

/* ---- Points of known series --------------------------------------------- */

/*
 * Tell whether the series of points tell the rows apart, and the points need
 * not be checked one by one.
 */
static bool
are_of_series(const MtsFirstRows *rows, const MtsPoints *points)
{
	const MtsBucket *bucket = rows->scan->bucket;

	if (!points->series ||
		(rows->quals &&
		 (bucket->spec.extreme == MTS_EXTREME_NONE || !points->is_checked)))
		return false;
	for (int i = 0; i < rows->order->nfirst; i++)
		if (!mts_batch_key(points->series, 0, rows->order->keys[i].column))
			return false;
	return true;
}

/* Forget which series of batches the rows are of. */
static void
forget_series(MtsFirstRows *rows)
{
	memset(rows->by_series, 0, rows->nseries * sizeof(Kept *));
	rows->keys_version = rows->scan->bucket->at_once.keys.version;
}

/* Make room for the series that a batch knows. */
static void
reserve_series(MtsFirstRows *rows, const MtsBatch *series)
{
	int n = series->series.known.room;

	if (rows->keys_version != rows->scan->bucket->at_once.keys.version)
		forget_series(rows);
	if (rows->nseries >= n)
		return;
	rows->by_series = rows->by_series
						  ? repalloc(rows->by_series, n * sizeof(Kept *))
						  : MemoryContextAlloc(GetMemoryChunkContext(rows),
											   n * sizeof(Kept *));
	memset(rows->by_series + rows->nseries, 0,
		   (n - rows->nseries) * sizeof(Kept *));
	rows->nseries = n;
}

/* Replace what is kept of a series by a point that is of it. */
static void
replace(MtsFirstRows *rows, const MtsPoints *points, int point, Kept *kept)
{
	const MtsBucket *bucket = rows->scan->bucket;

	kept->time = points->times[point];
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		const MtsPointValues *from = &points->columns[i];

		if (from->values)
			store_value(rows, kept, i, from->values[point],
						from->missing && from->missing[point]);
		else if (output->kind == MTS_OUTPUT_BUCKET)
			store_value(rows, kept, i, bucket->values[output->column],
						bucket->nulls[output->column]);
	}
}

/* Keep those points that come before the rows of their series. */
static void
consider_series(MtsFirstRows *rows, const MtsPoints *points,
				TupleTableSlot *slot)
{
	MtsBucket *bucket = rows->scan->bucket;
	const MtsBatch *batch = points->series;

	reserve_series(rows, batch);
	while (points->next < points->n)
	{
		int point = points->next;
		int series = batch->series.items[batch->series.of[point]].known;
		Kept *kept = rows->by_series[series];
		bool is_first =
			!kept || mts_bucket_comes_first(rows->extreme,
											points->times[point], kept->time);

		if (is_first && kept && kept->series == series)
			replace(rows, points, point, kept);
		if (!is_first || (kept && kept->series == series))
			mts_bucket_take(bucket, 1);
		else
		{
			(void) mts_bucket_next_row(bucket, slot);
			kept = rows->by_series[series] = consider(rows, slot);
			if (kept)
				kept->series = series;
		}
	}
}

/* Read the next points that are at hand; false if there are none. */
static bool
read_next(MtsFirstRows *rows, TupleTableSlot *slot)
{
	MtsScan *scan = rows->scan;
	const MtsPoints *points = NULL;

	while (!points)
	{
		if (!scan->in_bucket)
			scan->in_bucket = mts_scan_next_bucket(scan) != NULL;
		if (!scan->in_bucket)
			return false;
		points = mts_bucket_points(scan->bucket);
		scan->in_bucket = points != NULL;
	}
	if (are_of_series(rows, points))
		consider_series(rows, points, slot);
	while (points->next < points->n && mts_bucket_next_row(scan->bucket, slot))
		(void) consider(rows, slot);
	return true;
}

/* ---- All rows ----------------------------------------------------------- */

/* Forget what is kept. */
static void
clear(MtsFirstRows *rows)
{
	forget_series(rows);
	ResetTupleHashTable(rows->table);
	MemoryContextReset(rows->memory);
	rows->is_returning = false;
}

/* Read rows until all have been read, or the memory is used. */
static void
read_rows(MtsFirstRows *rows, TupleTableSlot *slot)
{
	Size limit = get_hash_memory_limit();

	clear(rows);
	rows->is_at_end = true;
	while (read_next(rows, slot))
	{
		if (MemoryContextMemAllocated(rows->memory, true) > limit)
		{
			rows->is_at_end = false;
			break;
		}
	}
	rows->is_returning = true;
	InitTupleHashIterator(rows->table, &rows->iterator);
}

/*
 * mts_first_rows_next
 *		Store the next row in a slot; false if there is none.
 *
 * Its values live until the next call.
 */
bool
mts_first_rows_next(MtsFirstRows *rows, TupleTableSlot *slot)
{
	const MtsBucket *bucket = rows->scan->bucket;
	TupleHashEntry entry = NULL;
	const Kept *kept;

	while (!entry)
	{
		if (rows->is_returning)
			entry = ScanTupleHashTable(rows->table, &rows->iterator);
		if (!entry && rows->is_at_end)
			return false;
		if (!entry)
			read_rows(rows, slot);
	}
	kept = mts_hash_additional(rows->table, entry);
	memset(slot->tts_isnull, true, rows->desc->natts);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;

		slot->tts_values[column] = kept->values[i].value;
		slot->tts_isnull[column] = kept->values[i].isnull;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* mts_first_rows_reset: forget all rows, when the scan begins anew. */
void
mts_first_rows_reset(MtsFirstRows *rows)
{
	clear(rows);
	rows->is_at_end = false;
}
