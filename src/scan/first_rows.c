/*
 * first_rows.c
 *		Keep the first row of each series, while all buckets are read.
 *
 * Where series are keys in the buckets, no index finds them, and a series may
 * be in old buckets only.  So all buckets are read, in any order, but only the
 * row of a series with the least or the greatest time is kept.  Conditions are
 * checked for each row that would be kept, and again by the executor.  If a
 * batch of points is checked at once, it is reduced to such rows before they
 * are made (bucket.c).
 *
 * Rows are returned when all have been read, or when those that are kept need
 * too much memory.  Then a series may be returned several times.  PostgreSQL
 * sorts the rows, and takes the first one of each series.
 */
#include "scan/first_rows.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"

/* The row of a series that is kept */
typedef struct Kept
{
	MtsTime time;
	MinimalTuple tuple;
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
	TupleTableSlot *kept;
	TupleHashIterator iterator;
	bool is_returning;
	bool is_at_end; /* all rows have been read */
};

/* Describe the keys of series. */
static TupleDesc
describe_keys(const MtsSortOrder *order, TupleDesc rows)
{
	TupleDesc desc = CreateTemplateTupleDesc(order->nfirst);

	for (int i = 0; i < order->nfirst; i++)
		TupleDescCopyEntry(desc, i + 1, rows, order->keys[i].column + 1);
	return desc;
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
							 256, sizeof(Kept), CurrentMemoryContext,
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
	rows->kept =
		ExecInitExtraTupleSlot(node->ss.ps.state, desc, &TTSOpsMinimalTuple);
	make_table(rows, keys);
	rows->extreme = order->nkeys == order->nfirst ? MTS_EXTREME_ANY
					: order->keys[order->nfirst].descending
						? MTS_EXTREME_LAST
						: MTS_EXTREME_FIRST;
	rows->quals = node->ss.ps.qual;
	if (list_length(scan->bucket->conditions) ==
		list_length(node->ss.ps.plan->qual))
		scan->bucket->extreme = rows->extreme;
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

/* Keep the row of a slot for a series; kept is NULL if it has none yet. */
static void
keep(MtsFirstRows *rows, TupleTableSlot *slot, Kept *kept)
{
	TupleHashEntry entry;
	bool isnew;
	MemoryContext old;

	if (kept)
		heap_free_minimal_tuple(kept->tuple);
	else
	{
		entry = LookupTupleHashEntry(rows->table, rows->keys, &isnew, NULL);
		mts_hash_make_additional(entry, rows->memory, sizeof(Kept));
		kept = mts_hash_additional(rows->table, entry);
	}
	old = MemoryContextSwitchTo(rows->memory);
	kept->time = rows->scan->bucket->point.time;
	kept->tuple = ExecCopySlotMinimalTuple(slot);
	MemoryContextSwitchTo(old);
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

/* Keep the row of a slot, if it comes before that of its series. */
static void
consider(MtsFirstRows *rows, TupleTableSlot *slot)
{
	TupleHashEntry entry;
	Kept *kept = NULL;

	fill_keys(rows, slot);
	entry = LookupTupleHashEntry(rows->table, rows->keys, NULL, NULL);
	if (entry)
		kept = mts_hash_additional(rows->table, entry);
	if (kept &&
		!mts_bucket_comes_first(rows->extreme, rows->scan->bucket->point.time,
								kept->time))
		return;
	ExecStoreVirtualTuple(slot);
	if (passes(rows, slot))
		keep(rows, slot, kept);
	ExecClearTuple(slot);
}

/* Forget what is kept. */
static void
clear(MtsFirstRows *rows)
{
	ExecClearTuple(rows->kept);
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
	while (mts_scan_next(rows->scan, slot))
	{
		consider(rows, slot);
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
	int natts = slot->tts_tupleDescriptor->natts;
	TupleHashEntry entry = NULL;

	while (!entry)
	{
		if (rows->is_returning)
			entry = ScanTupleHashTable(rows->table, &rows->iterator);
		if (!entry && rows->is_at_end)
			return false;
		if (!entry)
			read_rows(rows, slot);
	}
	ExecStoreMinimalTuple(((Kept *) mts_hash_additional(rows->table, entry))
							  ->tuple,
						  rows->kept, false);
	slot_getallattrs(rows->kept);
	memcpy(slot->tts_values, rows->kept->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, rows->kept->tts_isnull, natts * sizeof(bool));
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
