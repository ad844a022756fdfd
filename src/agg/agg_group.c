/*
 * agg_group.c
 *		Find the group of a point, or of all points of a bucket.
 *
 * Conditions that are evaluated here come first, in PostgreSQL's order.  The
 * leading ones that depend on columns of the bucket alone are evaluated once
 * for a bucket.  Grouping keys can raise errors, so they are evaluated only
 * for a point that passes, or where all points of the bucket have the same
 * keys.
 *
 * Keys that depend on columns of the bucket and on the time keep their values
 * over a stretch of time in a bucket (stretch.c).  The group is looked up
 * once for each stretch.
 *
 * The point, or what all points of the bucket have in common, is the row that
 * the expressions read.
 */
#include "agg/agg_group.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"

/*
 * mts_agg_group_new
 *		Prepare to find groups in a table, by expressions of the row that
 *		econtext has.
 *
 * time_converter is that of the time's column, or NULL if it is not read.
 */
MtsGroups *
mts_agg_group_new(const MtsAggSpec *spec, MtsGroupTable *table,
				  ExprContext *econtext, const MtsFromBson *time_converter,
				  MtsCounters *counters)
{
	MtsGroups *groups = palloc0(sizeof(MtsGroups));

	groups->spec = spec;
	groups->table = table;
	groups->econtext = econtext;
	groups->counters = counters;
	groups->excludes = palloc0((spec->naggregates + 1) * sizeof(bool));
	groups->key_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw key",
							  ALLOCSET_SMALL_SIZES);
	groups->keys =
		MakeSingleTupleTableSlot(ExecTypeFromExprList(spec->key_exprs),
								 &TTSOpsVirtual);
	if (spec->step_exprs != NIL)
		groups->stretch =
			mts_stretch_new(spec->step_exprs, spec->varno, spec->time,
							spec->table->layout.clock.arg, time_converter,
							econtext->ecxt_scantuple->tts_tupleDescriptor,
							econtext->ecxt_estate);
	return groups;
}

/* mts_agg_group_clear: remove all groups, and forget the current one. */
void
mts_agg_group_clear(MtsGroups *groups)
{
	mts_group_table_clear(groups->table);
	groups->version++;
	groups->group = NULL;
	groups->is_of_bucket = false;
	if (groups->stretch)
		mts_stretch_reset(groups->stretch);
}

/*
 * mts_agg_group_begin_bucket
 *		Let the points that follow be those of another bucket.
 *
 * Their times are between two times.
 */
void
mts_agg_group_begin_bucket(MtsGroups *groups, MtsTime earliest, MtsTime latest)
{
	groups->earliest = earliest;
	groups->latest = latest;
	groups->is_of_bucket = false;
	groups->is_checked = false;
}

/* ---- Conditions --------------------------------------------------------- */

/*
 * Evaluate the conditions on columns of the bucket, for a number of its
 * points.
 */
static bool
bucket_passes(MtsGroups *groups, int64 npoints)
{
	if (!groups->is_checked)
		groups->is_filtered_out =
			!ExecQual(groups->spec->bucket_filter, groups->econtext);
	groups->is_checked = true;
	if (groups->is_filtered_out)
		groups->counters->removed += npoints;
	return !groups->is_filtered_out;
}

/*
 * mts_agg_group_run_passes
 *		Evaluate the conditions on the bucket and a filter, for a number of
 *		points for which they are the same.
 */
bool
mts_agg_group_run_passes(MtsGroups *groups, ExprState *filter, int64 npoints)
{
	if (!bucket_passes(groups, npoints))
		return false;
	if (ExecQual(filter, groups->econtext))
		return true;
	groups->counters->removed += npoints;
	return false;
}

/* Evaluate the aggregates' filters that depend on columns of the bucket. */
static void
filter_aggregates(MtsGroups *groups)
{
	const MtsAggSpec *spec = groups->spec;

	for (int i = 0; i < spec->naggregates; i++)
		groups->excludes[i] =
			!ExecQual(spec->aggregates[i].bucket_filter, groups->econtext);
}

/* ---- Groups ------------------------------------------------------------- */

/*
 * Evaluate the keys of the row.  Keys of the time alone are evaluated only if
 * the stretch has changed.  Returns false if no key was.
 */
static bool
evaluate_keys(MtsGroups *groups)
{
	const MtsAggSpec *spec = groups->spec;
	TupleTableSlot *slot = groups->keys;
	bool can_differ = false;

	ExecClearTuple(slot);
	if (groups->stretch_has_changed)
		MemoryContextReset(groups->key_memory);
	for (int i = 0; i < spec->nkeys; i++)
	{
		MtsGroupKey *key = &spec->keys[i];
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, i);
		Datum value;

		if (key->is_of_time && !groups->stretch_has_changed)
			continue;
		can_differ = true;
		value = ExecEvalExprSwitchContext(key->state, groups->econtext,
										  &slot->tts_isnull[i]);
		if (key->is_of_time && !slot->tts_isnull[i])
		{
			MemoryContext old = MemoryContextSwitchTo(groups->key_memory);

			value = datumCopy(value, att->attbyval, att->attlen);
			MemoryContextSwitchTo(old);
		}
		slot->tts_values[i] = value;
	}
	groups->stretch_has_changed = false;
	ExecStoreVirtualTuple(slot);
	return can_differ;
}

/* Find the group of the row's keys, or start it. */
static void
find_group(MtsGroups *groups)
{
	groups->is_of_bucket = true;
	if (evaluate_keys(groups) || !groups->group)
		groups->group = mts_group_table_find(groups->table, groups->keys);
}

/*
 * Find the stretch of the point in the row, whose time is t.  Set from and to:
 * points of the bucket between them have the same group.
 */
static void
find_stretch(MtsGroups *groups, MtsTime t)
{
	MtsStretch *stretch = groups->stretch;
	bool is_first = !groups->is_of_bucket;
	bool is_null;

	groups->from = MTS_TIME_MIN;
	groups->to = MTS_TIME_MAX;
	if (!stretch)
		return;
	is_null = groups->econtext->ecxt_scantuple->tts_isnull[groups->spec->time];
	if (is_null)
		mts_stretch_reset(stretch);
	if (is_null || !mts_stretch_seek(stretch, t))
	{
		groups->stretch_has_changed = true;
		if (!is_first)
			mts_stretch_look_ahead(stretch, groups->latest);
	}
	/* try the whole bucket, in both directions as points need no order */
	if (is_first && mts_stretch_extend(stretch, groups->latest))
		(void) mts_stretch_extend(stretch, groups->earliest);
	groups->from = stretch->from;
	groups->to = stretch->to;
}

/*
 * mts_agg_group_enter_point
 *		Make the group of the point in the row, whose time is t, the current
 *		one.
 */
void
mts_agg_group_enter_point(MtsGroups *groups, MtsTime t)
{
	if (groups->is_of_bucket && !groups->spec->has_point_keys &&
		t >= groups->from && t <= groups->to)
		return;
	if (!groups->is_of_bucket)
		filter_aggregates(groups);
	find_stretch(groups, t);
	find_group(groups);
}

/*
 * mts_agg_group_end_of_run
 *		Find the points after one of n that have its group, the current one;
 *		return the index of the first that may have another.
 *
 * This is a galloping search, since most points come in the order of their
 * times.  The distance to the point that is tried, ahead, doubles when the
 * stretch can be extended to it, and is halved when not.  A distance of 0 is
 * the next point.  Its time may be any, so that point ends the run only if the
 * stretch cannot be extended to it alone.
 */
int
mts_agg_group_end_of_run(MtsGroups *groups, const MtsTime *times, int from,
						 int n)
{
	MtsStretch *stretch = groups->stretch;
	int to = from + 1;
	int ahead = n;

	for (;;)
	{
		while (to < n && times[to] >= groups->from && times[to] <= groups->to)
			to++;
		if (to == n)
			return n;
		ahead = Min(ahead, n - 1 - to);
		while (ahead > 0 && !mts_stretch_extend(stretch, times[to + ahead]))
			ahead /= 2;
		if (!mts_stretch_extend(stretch, times[to]))
			return to;
		ahead = 2 * ahead + 1;
		groups->from = stretch->from;
		groups->to = stretch->to;
	}
}

/*
 * mts_agg_group_has_whole_bucket
 *		Tell whether all points of the bucket have the current group.
 */
bool
mts_agg_group_has_whole_bucket(const MtsGroups *groups)
{
	return !groups->spec->has_point_keys && groups->from <= groups->earliest &&
		   groups->to >= groups->latest;
}

/* Tell whether the keys are the same for all times of the bucket. */
static bool
has_one_group(MtsGroups *groups)
{
	if (groups->spec->has_point_keys)
		return false;
	if (!groups->stretch)
		return true;
	if (!mts_stretch_seek(groups->stretch, groups->earliest))
		groups->stretch_has_changed = true;
	return mts_stretch_extend(groups->stretch, groups->latest);
}

/*
 * mts_agg_group_enter_bucket
 *		Make the group of all points of the bucket the current one, if they
 *		have the same.
 *
 * There are npoints > 0 points.  The row has what they have in common, and
 * their earliest time.
 */
MtsBucketGroup
mts_agg_group_enter_bucket(MtsGroups *groups, int64 npoints)
{
	if (!bucket_passes(groups, npoints))
		return MTS_BUCKET_FILTERED_OUT;
	if (!has_one_group(groups))
		return MTS_BUCKET_UNDECIDED;
	filter_aggregates(groups);
	find_group(groups);
	return MTS_BUCKET_IN_GROUP;
}
