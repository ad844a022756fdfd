/*
 * fold.c
 *		Fold the points of buckets into groups, and give the groups' states.
 *
 * Groups are kept until all points are read or memory is short; what is given
 * then is combined by the Agg node above, as often as a group comes.
 */
#include "fold_private.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"

/* The scan of the table's points */
MtsScan *
mts_fold_scan(const MtsFold *fold)
{
	return fold->scan;
}

/* Have what an aggregate is taken of, for the point in the row. */
static void
take_arguments(MtsFold *fold, MtsAggregate *aggregate)
{
	NullableDatum *values = &aggregate->transition->args[1];

	for (int i = 0; i < aggregate->narguments; i++)
	{
		const MtsArgument *argument = &aggregate->arguments[i];

		if (argument->state)
			values[i].value = ExecEvalExpr(argument->state, fold->econtext,
										   &values[i].isnull);
		else
		{
			values[i].value = fold->row->tts_values[argument->attribute];
			values[i].isnull = fold->row->tts_isnull[argument->attribute];
		}
	}
}

static void
fold_point(MtsFold *fold)
{
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsAggregate *aggregate = &fold->aggregates[i];

		if (aggregate->is_off || !ExecQual(aggregate->filter, fold->econtext))
			continue;
		take_arguments(fold, aggregate);
		mts_aggregate_advance(aggregate, &fold->current[i], fold->memory);
	}
}

/* Do all points of the bucket belong to groups that are there? */
static bool
is_settled(const MtsFold *fold)
{
	return fold->naggregates == 0 && !fold->has_point_keys &&
		   fold->from <= fold->bucket->unfold.start &&
		   fold->to >= fold->bucket->unfold.end - 1;
}

/* Fold the points of the bucket, one by one. */
static void
fold_bucket(MtsFold *fold)
{
	bool is_done = false;

	while (!is_done && mts_bucket_next_row(fold->bucket, fold->row))
	{
		MemoryContext old =
			MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);

		ExecStoreVirtualTuple(fold->row);
		if (mts_fold_wants_point(fold))
		{
			mts_fold_enter_point(fold);
			fold_point(fold);
			is_done = is_settled(fold);
		}
		ExecClearTuple(fold->row);
		MemoryContextSwitchTo(old);
	}
}

/* Take the n values of a bucket. */
static void
fold_values(MtsFold *fold, int n)
{
	for (int i = 0; i < fold->naggregates; i++)
		if (!fold->aggregates[i].is_off)
			mts_aggregate_advance_doubles(&fold->aggregates[i],
										  &fold->current[i],
										  fold->bucket->doubles.values, n,
										  fold->memory);
}

/*
 * Fold a bucket that holds but doubles, all of which are in one group; false
 * when it is none.
 */
static bool
fold_at_once(MtsFold *fold)
{
	MtsBucket *bucket = fold->bucket;
	MemoryContext old;
	MtsEntry entry;
	int n;

	if (!fold->reads_doubles)
		return false;
	n = mts_bucket_doubles(bucket, false);
	if (n <= 0)
		return n == 0;
	old = MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);
	entry = mts_fold_enter_bucket(fold, bucket->unfold.start,
								  bucket->unfold.end - 1);
	if (entry == MTS_ENTRY_GROUP)
		fold_values(fold, n);
	MemoryContextSwitchTo(old);
	if (entry == MTS_ENTRY_SEVERAL)
		return false;
	if (entry == MTS_ENTRY_REFUSED)
		bucket->counters->removed += n;
	bucket->counters->points += n;
	return true;
}

/* Fold points until there are no more, or too many groups. */
static void
read_points(MtsFold *fold)
{
	Size limit = (Size) work_mem * 1024;
	MtsBucket *bucket;

	while (mts_fold_next_bucket(fold, &bucket))
	{
		if (bucket && !fold_at_once(fold))
			fold_bucket(fold);
		if (fold->table &&
			MemoryContextMemAllocated(fold->memory, true) > limit)
			return;
	}
	fold->is_done = true;
}

/* ---- Giving -------------------------------------------------------------- */

static void
fill_row(MtsFold *fold, MtsState *states, TupleTableSlot *slot)
{
	MemoryContext old;

	ResetExprContext(fold->econtext);
	old = MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);
	if (fold->table)
		slot_getallattrs(fold->given);
	for (int i = 0; i < fold->ncolumns; i++)
	{
		int column = fold->columns[i];

		if (column >= 0)
		{
			slot->tts_values[i] = fold->given->tts_values[column];
			slot->tts_isnull[i] = fold->given->tts_isnull[column];
		}
		else
			slot->tts_values[i] =
				mts_aggregate_give(&fold->aggregates[-1 - column],
								   &states[-1 - column], fold->memory,
								   &slot->tts_isnull[i]);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/* Begin to give the groups. */
static void
begin_giving(MtsFold *fold)
{
	fold->is_giving = fold->has_given = true;
	if (fold->table)
		InitTupleHashIterator(fold->table, &fold->next);
}

/* The next group's states, or NULL */
static MtsState *
next_group(MtsFold *fold)
{
	TupleHashEntry entry;
	MtsState *only = fold->only;

	if (!fold->table)
	{
		fold->only = NULL;
		return only;
	}
	entry = ScanTupleHashTable(fold->table, &fold->next);
	if (!entry)
		return NULL;
	ExecStoreMinimalTuple(mts_hash_tuple(entry), fold->given, false);
	return mts_hash_additional(fold->table, entry);
}

/*
 * mts_fold_next
 *		Fill the slot with the states of the next group; empty at the end.
 */
TupleTableSlot *
mts_fold_next(MtsFold *fold, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (;;)
	{
		MtsState *states;

		if (!fold->is_giving)
		{
			read_points(fold);
			begin_giving(fold);
		}
		states = next_group(fold);
		if (states)
		{
			fill_row(fold, states, slot);
			return slot;
		}
		if (fold->is_done)
			return slot;
		mts_fold_begin_groups(fold);
	}
}

/* Begin anew: parameters may have changed. */
void
mts_fold_reset(MtsFold *fold)
{
	mts_fold_reset_headers(fold);
	mts_scan_reset(fold->scan);
	mts_fold_begin_groups(fold);
	fold->is_done = fold->has_given = false;
}
