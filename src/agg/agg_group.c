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
 * times in a bucket (stretch.c), so the group is looked up once for that.
 */
#include "agg/agg_private.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"

static void
begin_states(const MtsAgg *agg, MtsState *states)
{
	for (int i = 0; i < agg->naggregates; i++)
		mts_transition_begin(&agg->aggregates[i], &states[i], agg->memory);
}

/* Begin without a group. */
void
mts_agg_begin_groups(MtsAgg *agg)
{
	if (agg->table)
		ResetTupleHashTable(agg->table);
	MemoryContextReset(agg->memory);
	agg->current = NULL;
	agg->is_giving = false;
	if (agg->stretch)
		mts_stretch_reset(agg->stretch);
	if (agg->table)
		return;
	agg->only = MemoryContextAlloc(agg->memory,
								   (agg->naggregates + 1) * sizeof(MtsState));
	begin_states(agg, agg->only);
}

/* ---- Conditions ----------------------------------------------------------- */

/* May points of the bucket be wanted, of which one is in the row? */
static bool
wants_bucket(MtsAgg *agg)
{
	if (!agg->has_filtered)
		agg->filtered_out = !ExecQual(agg->bucket_filter, agg->econtext);
	agg->has_filtered = true;
	return !agg->filtered_out;
}

/* Is the point in the row wanted? */
bool
mts_agg_wants_point(MtsAgg *agg)
{
	if (wants_bucket(agg) && ExecQual(agg->filter, agg->econtext))
		return true;
	agg->scan->counters->removed++;
	return false;
}

/* Evaluate which aggregates' filters let them see the points of this bucket. */
static void
apply_filters(MtsAgg *agg)
{
	for (int i = 0; i < agg->naggregates; i++)
	{
		MtsTransition *aggregate = &agg->aggregates[i];

		aggregate->is_off = !ExecQual(aggregate->bucket_filter, agg->econtext);
	}
}

/* ---- Groups --------------------------------------------------------------- */

/* Evaluate the keys for the row; those of time only for a new stretch. */
static void
evaluate_keys(MtsAgg *agg)
{
	if (agg->is_stale)
		MemoryContextReset(agg->key_memory);
	for (int i = 0; i < agg->nkeys; i++)
	{
		MtsGroupKey *key = &agg->keys[i];
		Form_pg_attribute att =
			TupleDescAttr(agg->key->tts_tupleDescriptor, i);
		MemoryContext old;

		if (key->is_of_time && !agg->is_stale)
			continue;
		key->value = ExecEvalExprSwitchContext(key->state, agg->econtext,
											   &key->is_null);
		if (!key->is_of_time || key->is_null)
			continue;
		old = MemoryContextSwitchTo(agg->key_memory);
		key->value = datumCopy(key->value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old);
	}
	agg->is_stale = false;
}

/* Look the group of the row's keys up, or begin it. */
static void
find_group(MtsAgg *agg)
{
	bool isnew;
	TupleHashEntry entry;

	agg->current = agg->only;
	if (!agg->table)
		return;
	evaluate_keys(agg);
	ExecClearTuple(agg->key);
	for (int i = 0; i < agg->nkeys; i++)
	{
		agg->key->tts_values[i] = agg->keys[i].value;
		agg->key->tts_isnull[i] = agg->keys[i].is_null;
	}
	ExecStoreVirtualTuple(agg->key);
	entry = LookupTupleHashEntry(agg->table, agg->key, &isnew, NULL);
	if (isnew)
		mts_hash_make_additional(entry, agg->memory,
								 (agg->naggregates + 1) * sizeof(MtsState));
	agg->current = mts_hash_additional(agg->table, entry);
	if (isnew)
		begin_states(agg, agg->current);
}

/* mts_agg_begin_bucket: go to a bucket; the points that come are its. */
void
mts_agg_begin_bucket(MtsAgg *agg, MtsBucket *bucket)
{
	agg->bucket = bucket;
	agg->current = NULL;
	agg->has_filtered = false;
}

/*
 * Find the stretch of the point in the row, whose time is t, and which is the
 * first of its bucket, or not.
 */
static void
find_stretch(MtsAgg *agg, MtsTime t, bool is_first)
{
	MtsTime last = agg->bucket->unfold.end - 1;

	agg->from = MTS_TIME_MIN;
	agg->to = MTS_TIME_MAX;
	if (!agg->stretch)
		return;
	if (agg->row->tts_isnull[agg->time])
		mts_stretch_reset(agg->stretch);
	if (agg->row->tts_isnull[agg->time] || !mts_stretch_seek(agg->stretch, t))
	{
		agg->is_stale = true;
		if (!is_first)
			mts_stretch_look_ahead(agg->stretch, last);
	}
	/* points need not come in order */
	if (is_first && mts_stretch_extend(agg->stretch, last))
		(void) mts_stretch_extend(agg->stretch, agg->bucket->unfold.start);
	agg->from = agg->stretch->from;
	agg->to = agg->stretch->to;
}

/*
 * mts_agg_enter_point
 *		Enter the group of the point in the row.
 */
void
mts_agg_enter_point(MtsAgg *agg)
{
	MtsTime t = agg->bucket->point.time;
	bool is_new = !agg->current;

	if (!is_new && !agg->has_point_keys && t >= agg->from && t <= agg->to)
		return;
	if (is_new)
		apply_filters(agg);
	find_stretch(agg, t, is_new);
	find_group(agg);
}

/* Do the keys stay the same from the first time of the bucket to the last? */
static bool
is_one_group(MtsAgg *agg, MtsTime first, MtsTime last)
{
	if (agg->has_point_keys)
		return false;
	if (!agg->stretch)
		return true;
	if (!mts_stretch_seek(agg->stretch, first))
		agg->is_stale = true;
	return mts_stretch_extend(agg->stretch, last);
}

/*
 * mts_agg_enter_bucket
 *		Enter the group of all points of the bucket, of which there are some,
 *		and whose times are from first to last.
 *
 * The current memory context is a point's.
 */
MtsEntry
mts_agg_enter_bucket(MtsAgg *agg, MtsTime first, MtsTime last)
{
	MtsEntry entry = MTS_ENTRY_GROUP;

	if (!mts_bucket_fill_row(agg->bucket, first, agg->row))
		return MTS_ENTRY_SEVERAL;
	ExecStoreVirtualTuple(agg->row);
	if (!wants_bucket(agg))
		entry = MTS_ENTRY_REFUSED;
	else if (!is_one_group(agg, first, last))
		entry = MTS_ENTRY_SEVERAL;
	else
	{
		apply_filters(agg);
		find_group(agg);
	}
	ExecClearTuple(agg->row);
	return entry;
}
