/*
 * agg_group.c
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
#include "agg/agg_private.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"

static void
begin_states(const MtsAgg *fold, MtsState *states)
{
	for (int i = 0; i < fold->naggregates; i++)
		mts_transition_begin(&fold->aggregates[i], &states[i], fold->memory);
}

/* Begin without a group. */
void
mts_agg_begin_groups(MtsAgg *fold)
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
wants_bucket(MtsAgg *fold)
{
	if (!fold->has_filtered)
		fold->filtered_out = !ExecQual(fold->bucket_filter, fold->econtext);
	fold->has_filtered = true;
	return !fold->filtered_out;
}

/* Is the point in the row wanted? */
bool
mts_agg_wants_point(MtsAgg *fold)
{
	if (wants_bucket(fold) && ExecQual(fold->filter, fold->econtext))
		return true;
	fold->scan->counters->removed++;
	return false;
}

/* Evaluate which aggregates' filters let them see the points of this bucket. */
static void
apply_filters(MtsAgg *fold)
{
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsTransition *aggregate = &fold->aggregates[i];

		aggregate->is_off =
			!ExecQual(aggregate->bucket_filter, fold->econtext);
	}
}

/* ---- Groups --------------------------------------------------------------- */

/* Evaluate the keys for the row; those of time only for a new stretch. */
static void
evaluate_keys(MtsAgg *fold)
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
find_group(MtsAgg *fold)
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

/* mts_agg_begin_bucket: go to a bucket; the points that come are its. */
void
mts_agg_begin_bucket(MtsAgg *fold, MtsBucket *bucket)
{
	fold->bucket = bucket;
	fold->current = NULL;
	fold->has_filtered = false;
}

/*
 * Find the stretch of the point in the row, whose time is t, and which is the
 * first of its bucket, or not.
 */
static void
find_stretch(MtsAgg *fold, MtsTime t, bool is_first)
{
	MtsTime last = fold->bucket->unfold.end - 1;

	fold->from = MTS_TIME_MIN;
	fold->to = MTS_TIME_MAX;
	if (!fold->stretch)
		return;
	if (fold->row->tts_isnull[fold->time])
		mts_monotonic_forget(fold->stretch);
	if (fold->row->tts_isnull[fold->time] ||
		!mts_monotonic_enter(fold->stretch, t))
	{
		fold->is_stale = true;
		if (!is_first)
			mts_monotonic_look_ahead(fold->stretch, last);
	}
	/* points need not come in order */
	if (is_first && mts_monotonic_extend(fold->stretch, last))
		(void) mts_monotonic_extend(fold->stretch, fold->bucket->unfold.start);
	fold->from = fold->stretch->from;
	fold->to = fold->stretch->to;
}

/*
 * mts_agg_enter_point
 *		Enter the group of the point in the row.
 */
void
mts_agg_enter_point(MtsAgg *fold)
{
	MtsTime t = fold->bucket->point.time;
	bool is_new = !fold->current;

	if (!is_new && !fold->has_point_keys && t >= fold->from && t <= fold->to)
		return;
	if (is_new)
		apply_filters(fold);
	find_stretch(fold, t, is_new);
	find_group(fold);
}

/* Do the keys stay the same from the first time of the bucket to the last? */
static bool
is_one_group(MtsAgg *fold, MtsTime first, MtsTime last)
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
 * mts_agg_enter_bucket
 *		Enter the group of all points of the bucket, of which there are some,
 *		and whose times are from first to last.
 *
 * The current memory context is a point's.
 */
MtsEntry
mts_agg_enter_bucket(MtsAgg *fold, MtsTime first, MtsTime last)
{
	MtsEntry entry = MTS_ENTRY_GROUP;

	if (!mts_bucket_fill_row(fold->bucket, first, fold->row))
		return MTS_ENTRY_SEVERAL;
	ExecStoreVirtualTuple(fold->row);
	if (!wants_bucket(fold))
		entry = MTS_ENTRY_REFUSED;
	else if (!is_one_group(fold, first, last))
		entry = MTS_ENTRY_SEVERAL;
	else
	{
		apply_filters(fold);
		find_group(fold);
	}
	ExecClearTuple(fold->row);
	return entry;
}
