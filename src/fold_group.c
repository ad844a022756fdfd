/*
 * fold_group.c
 *		Which group does a point belong to, and for how long do the next ones?
 *
 * A bucket's keys are the same for all of its points, and an expression of
 * time for a stretch of them (fold_steady.c), so a group is looked up for that
 * stretch once.
 */
#include "fold_private.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"

static void
begin_states(const MtsFold *fold, MtsState *states)
{
	for (int i = 0; i < fold->naggregates; i++)
		mts_aggregate_begin(&fold->aggregates[i], &states[i], fold->memory);
}

/* Begin without a group. */
void
mts_fold_begin_groups(MtsFold *fold)
{
	if (fold->table)
		ResetTupleHashTable(fold->table);
	MemoryContextReset(fold->memory);
	fold->current = NULL;
	fold->is_giving = false;
	fold->nrecent = 0;
	mts_fold_forget_steady(fold);
	if (fold->table)
		return;
	fold->only = MemoryContextAlloc(fold->memory, (fold->naggregates + 1) *
													  sizeof(MtsState));
	begin_states(fold, fold->only);
}

/* Find what is grouped by of the row, whose time is t, and for how long. */
static void
find_key(MtsFold *fold, MtsTime t, MtsTime first, MtsTime last)
{
	fold->from = MTS_TIME_MIN;
	fold->to = MTS_TIME_MAX;
	if (!fold->table)
		return;
	if (fold->nsteps > 0)
		mts_fold_find_steady(fold, t, first, last);
	ExecClearTuple(fold->key);
	for (int i = 0; i < fold->ngroupings; i++)
	{
		MtsGrouping *grouping = &fold->groupings[i];

		if (!grouping->is_of_time)
			grouping->value =
				ExecEvalExprSwitchContext(grouping->state, fold->econtext,
										  &grouping->is_null);
		fold->key->tts_values[i] = grouping->value;
		fold->key->tts_isnull[i] = grouping->is_null;
	}
	ExecStoreVirtualTuple(fold->key);
}

/* Has a group that was entered lately the same key, bit by bit? */
static bool
is_recent(const MtsFold *fold, const MtsRecent *recent)
{
	for (int i = 0; i < fold->ngroupings; i++)
	{
		const MtsGrouping *grouping = &fold->groupings[i];
		Form_pg_attribute att =
			TupleDescAttr(fold->key->tts_tupleDescriptor, i);

		if (!grouping->is_of_time &&
			(grouping->is_null != recent->nulls[i] ||
			 !(grouping->is_null ||
			   datum_image_eq(grouping->value, recent->values[i],
							  att->attbyval, att->attlen))))
			return false;
	}
	return true;
}

/* Note the current group; when there is no room, the others are forgotten. */
static void
note_recent(MtsFold *fold)
{
	MtsRecent *recent;
	MemoryContext old;

	if (fold->nrecent == MTS_FOLD_RECENT)
		fold->nrecent = 0;
	if (fold->nrecent == 0)
		MemoryContextReset(fold->recent_memory);
	fold->latest = fold->nrecent++;
	recent = &fold->recent[fold->latest];
	old = MemoryContextSwitchTo(fold->recent_memory);
	recent->values = palloc(fold->ngroupings * sizeof(Datum));
	recent->nulls = palloc(fold->ngroupings * sizeof(bool));
	recent->states = fold->current;
	for (int i = 0; i < fold->ngroupings; i++)
	{
		const MtsGrouping *grouping = &fold->groupings[i];
		Form_pg_attribute att =
			TupleDescAttr(fold->key->tts_tupleDescriptor, i);

		recent->nulls[i] = grouping->is_null;
		if (!grouping->is_of_time && !grouping->is_null)
			recent->values[i] =
				datumCopy(grouping->value, att->attbyval, att->attlen);
	}
	MemoryContextSwitchTo(old);
}

/* Look the group of the key up, or begin it. */
static void
find_group(MtsFold *fold)
{
	bool isnew;
	TupleHashEntry entry =
		LookupTupleHashEntry(fold->table, fold->key, &isnew, NULL);

	if (isnew)
		mts_hash_make_additional(entry, fold->memory,
								 (fold->naggregates + 1) * sizeof(MtsState));
	fold->current = mts_hash_additional(fold->table, entry);
	if (isnew)
		begin_states(fold, fold->current);
}

/* Enter the group of the key. */
static void
enter_group(MtsFold *fold)
{
	fold->current = fold->only;
	if (!fold->table)
		return;
	/* series often come in turn */
	for (int i = 1; i <= fold->nrecent; i++)
	{
		int n = (fold->latest + i) % fold->nrecent;

		if (is_recent(fold, &fold->recent[n]))
		{
			fold->current = fold->recent[n].states;
			fold->latest = n;
			return;
		}
	}
	find_group(fold);
	note_recent(fold);
}

/* Which aggregates does a filter let see the points of this bucket? */
static void
apply_filters(MtsFold *fold)
{
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsAggregate *aggregate = &fold->aggregates[i];

		aggregate->is_off =
			!ExecQual(aggregate->bucket_filter, fold->econtext);
	}
}

/* Forget where the last point was: the next bucket is of another scan. */
void
mts_fold_forget_bucket(MtsFold *fold)
{
	fold->bucket = fold->judged = 0;
	fold->current = NULL;
}

/*
 * mts_fold_enter_point
 *		See to which group the point belongs that is in the row.
 */
void
mts_fold_enter_point(MtsFold *fold)
{
	const MtsScan *scan = fold->scan;
	MtsTime t = scan->point.time;
	bool is_new = fold->bucket != scan->counters.buckets;

	if (fold->current && !is_new && t >= fold->from && t <= fold->to)
		return;
	if (is_new)
		apply_filters(fold);
	fold->bucket = scan->counters.buckets;
	find_key(fold, t, scan->unfold.start, scan->unfold.end - 1);
	enter_group(fold);
}

/*
 * Fill a row with the bucket's own columns and a time; others are null.  False
 * when the time's type can't hold it.
 */
static bool
fill_bucket(MtsScan *scan, TupleTableSlot *slot, MtsTime t)
{
	const MtsLayout *layout = &scan->table->layout;

	memset(slot->tts_isnull, true, scan->table->natts);
	for (int n = 0; n < scan->nfilled; n++)
	{
		int i = scan->filled[n];
		int column = scan->table->columns[i];

		if (column == layout->time_column)
		{
			if (!mts_scan_time_datum(scan, t, &slot->tts_values[i]))
				return false;
			slot->tts_isnull[i] = false;
		}
		else if (layout->columns[column].container < 0 &&
				 layout->columns[column].role != MTS_ROLE_SLOT)
		{
			slot->tts_values[i] = scan->values[column];
			slot->tts_isnull[i] = scan->nulls[column];
		}
	}
	return true;
}

/* Enter the group of the row, if it is that of all times to the last. */
static MtsEntry
enter_row(MtsFold *fold, MtsTime first, MtsTime last)
{
	if (!mts_fold_wants_bucket(fold))
		return MTS_ENTRY_REFUSED;
	apply_filters(fold);
	fold->bucket = fold->scan->counters.buckets;
	fold->current = NULL;
	find_key(fold, first, first, last);
	if (fold->to < last)
		return MTS_ENTRY_SEVERAL;
	enter_group(fold);
	return MTS_ENTRY_GROUP;
}

/*
 * mts_fold_enter_bucket
 *		Enter the group of all points of the bucket, whose times are from first
 *		to last.
 *
 * The current memory context is a point's.
 */
MtsEntry
mts_fold_enter_bucket(MtsFold *fold, MtsTime first, MtsTime last)
{
	MtsEntry entry;

	if (!fill_bucket(fold->scan, fold->row, first))
		return MTS_ENTRY_SEVERAL;
	ExecStoreVirtualTuple(fold->row);
	entry = enter_row(fold, first, last);
	ExecClearTuple(fold->row);
	return entry;
}
