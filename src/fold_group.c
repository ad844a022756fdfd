/*
 * fold_group.c
 *		Find the group of a point, or of all points of a bucket.
 *
 * Conditions that stay here come first, in PostgreSQL's order: those at the
 * beginning that look at columns of the bucket alone are evaluated once a
 * bucket.  Grouping keys may fail, so they are evaluated only for a point that
 * passes, or where all points of the bucket have the same keys.
 *
 * Keys by the bucket's columns and the time don't change over a stretch of
 * times in a bucket (monotonic.c), so the group is looked up once for that.
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
	if (fold->stretch)
		mts_monotonic_forget(fold->stretch);
	if (fold->table)
		return;
	fold->only = MemoryContextAlloc(fold->memory, (fold->naggregates + 1) *
													  sizeof(MtsState));
	begin_states(fold, fold->only);
}

/* ---- Conditions ----------------------------------------------------------- */

/* May points of the bucket be wanted, of which one is in the row? */
static bool
wants_bucket(MtsFold *fold)
{
	int64 bucket = fold->scan->counters.buckets;

	if (fold->bucket_filter && fold->judged != bucket)
	{
		fold->judged = bucket;
		fold->is_off = !ExecQual(fold->bucket_filter, fold->econtext);
	}
	return !fold->is_off;
}

/* Is the point in the row wanted? */
bool
mts_fold_wants_point(MtsFold *fold)
{
	if (wants_bucket(fold) && ExecQual(fold->filter, fold->econtext))
		return true;
	mts_fold_scan(fold)->counters.removed++;
	return false;
}

/* Evaluate which aggregates' filters let them see the points of this bucket. */
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

/* ---- Groups --------------------------------------------------------------- */

/* Evaluate the keys for the row; those of time only for a new stretch. */
static void
evaluate_keys(MtsFold *fold)
{
	if (fold->is_stale)
		MemoryContextReset(fold->key_memory);
	for (int i = 0; i < fold->nkeys; i++)
	{
		MtsGroupKey *key = &fold->keys[i];
		Form_pg_attribute att =
			TupleDescAttr(fold->key->tts_tupleDescriptor, i);
		MemoryContext old;

		if (key->is_of_time && !fold->is_stale)
			continue;
		key->value = ExecEvalExprSwitchContext(key->state, fold->econtext,
											   &key->is_null);
		if (!key->is_of_time || key->is_null)
			continue;
		old = MemoryContextSwitchTo(fold->key_memory);
		key->value = datumCopy(key->value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old);
	}
	fold->is_stale = false;
}

/* Look the group of the row's keys up, or begin it. */
static void
find_group(MtsFold *fold)
{
	bool isnew;
	TupleHashEntry entry;

	fold->current = fold->only;
	if (!fold->table)
		return;
	evaluate_keys(fold);
	ExecClearTuple(fold->key);
	for (int i = 0; i < fold->nkeys; i++)
	{
		fold->key->tts_values[i] = fold->keys[i].value;
		fold->key->tts_isnull[i] = fold->keys[i].is_null;
	}
	ExecStoreVirtualTuple(fold->key);
	entry = LookupTupleHashEntry(fold->table, fold->key, &isnew, NULL);
	if (isnew)
		mts_hash_make_additional(entry, fold->memory,
								 (fold->naggregates + 1) * sizeof(MtsState));
	fold->current = mts_hash_additional(fold->table, entry);
	if (isnew)
		begin_states(fold, fold->current);
}

/* Forget where the last point was: the next bucket is of another scan. */
void
mts_fold_forget_bucket(MtsFold *fold)
{
	fold->bucket = fold->judged = 0;
	fold->current = NULL;
}

/* Find the stretch of the point in the row, whose time is t. */
static void
find_stretch(MtsFold *fold, MtsTime t, bool is_new)
{
	fold->from = MTS_TIME_MIN;
	fold->to = MTS_TIME_MAX;
	if (!fold->stretch)
		return;
	if (fold->row->tts_isnull[fold->time])
		mts_monotonic_forget(fold->stretch);
	if (fold->row->tts_isnull[fold->time] ||
		!mts_monotonic_enter(fold->stretch, t))
		fold->is_stale = true;
	/* points need not come in order */
	if (is_new)
		(void) mts_monotonic_extend(fold->stretch, fold->scan->unfold.start);
	mts_monotonic_look_ahead(fold->stretch, t, fold->scan->unfold.end - 1,
							 &fold->from, &fold->to);
}

/*
 * mts_fold_enter_point
 *		Enter the group of the point in the row.
 */
void
mts_fold_enter_point(MtsFold *fold)
{
	const MtsScan *scan = fold->scan;
	MtsTime t = scan->point.time;
	bool is_new = fold->bucket != scan->counters.buckets;

	if (fold->current && t >= fold->from && t <= fold->to && !is_new &&
		!fold->has_point_keys)
		return;
	if (is_new)
		apply_filters(fold);
	fold->bucket = scan->counters.buckets;
	find_stretch(fold, t, is_new);
	find_group(fold);
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

/* Do the keys stay the same from the first time of the bucket to the last? */
static bool
is_one_group(MtsFold *fold, MtsTime first, MtsTime last)
{
	if (fold->has_point_keys)
		return false;
	if (!fold->stretch)
		return true;
	if (!mts_monotonic_enter(fold->stretch, first))
		fold->is_stale = true;
	return mts_monotonic_extend(fold->stretch, last);
}

/*
 * mts_fold_enter_bucket
 *		Enter the group of all points of the bucket, of which there are some,
 *		and whose times are from first to last.
 *
 * The current memory context is a point's.
 */
MtsEntry
mts_fold_enter_bucket(MtsFold *fold, MtsTime first, MtsTime last)
{
	MtsEntry entry = MTS_ENTRY_GROUP;

	if (!fill_bucket(fold->scan, fold->row, first))
		return MTS_ENTRY_SEVERAL;
	ExecStoreVirtualTuple(fold->row);
	if (!wants_bucket(fold))
		entry = MTS_ENTRY_REFUSED;
	else if (!is_one_group(fold, first, last))
		entry = MTS_ENTRY_SEVERAL;
	else
	{
		apply_filters(fold);
		fold->bucket = 0;
		find_group(fold);
	}
	ExecClearTuple(fold->row);
	return entry;
}
