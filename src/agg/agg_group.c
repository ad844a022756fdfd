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
 */
#include "agg/agg_private.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"

/* The size of a group's transition values, which is not 0 */
static Size
group_size(const MtsAgg *agg)
{
	return (agg->naggregates + 1) * sizeof(NullableDatum);
}

/*
 * mts_agg_init_groups
 *		Prepare the table of groups by these expressions, if there are any.
 */
void
mts_agg_init_groups(MtsAgg *agg, List *keys)
{
	int n = list_length(keys);
	TupleDesc desc = CreateTemplateTupleDesc(n);
	AttrNumber *numbers = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	Oid *equalities;
	FmgrInfo *hashes;
	ListCell *lc;

	if (n == 0)
		return;
	foreach (lc, keys)
	{
		Node *key = lfirst(lc);
		int i = foreach_current_index(lc);

		TupleDescInitEntry(desc, i + 1, NULL, exprType(key), exprTypmod(key),
						   0);
		TupleDescInitEntryCollation(desc, i + 1, exprCollation(key));
		numbers[i] = i + 1;
		operators[i] =
			lookup_type_cache(exprType(key), TYPECACHE_EQ_OPR)->eq_opr;
		collations[i] = exprCollation(key);
	}
	execTuplesHashPrepare(n, operators, &equalities, &hashes);
	agg->key_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	agg->group_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	agg->table = mts_build_hash_table(desc, n, numbers, equalities, hashes,
									  collations, 1024, group_size(agg),
									  CurrentMemoryContext, agg->memory,
									  agg->econtext->ecxt_per_tuple_memory);
}

static void
start_group(const MtsAgg *agg, NullableDatum *group)
{
	for (int i = 0; i < agg->naggregates; i++)
		mts_transition_start(&agg->aggregates[i].transition, &group[i]);
}

/*
 * mts_agg_reset_groups
 *		Remove all groups.  Without keys, start the only group again; it
 *		exists even if no point follows.
 */
void
mts_agg_reset_groups(MtsAgg *agg)
{
	if (agg->table)
		ResetTupleHashTable(agg->table);
	MemoryContextReset(agg->memory);
	agg->group = NULL;
	agg->bucket_has_group = false;
	agg->is_emitting = false;
	if (agg->stretch)
		mts_stretch_reset(agg->stretch);
	if (agg->table)
		return;
	agg->only = MemoryContextAlloc(agg->memory, group_size(agg));
	start_group(agg, agg->only);
}

/* ---- Conditions --------------------------------------------------------- */

/* mts_agg_set_bucket: let the points that follow be those of a bucket. */
void
mts_agg_set_bucket(MtsAgg *agg, MtsBucket *bucket)
{
	agg->bucket = bucket;
	agg->bucket_has_group = false;
	agg->has_filtered_bucket = false;
}

/*
 * mts_agg_bucket_passes
 *		Evaluate the conditions on the columns of the bucket, which the row
 *		has, for a number of its points.
 */
bool
mts_agg_bucket_passes(MtsAgg *agg, int64 npoints)
{
	if (!agg->has_filtered_bucket)
		agg->bucket_is_filtered_out =
			!ExecQual(agg->bucket_filter, agg->econtext);
	agg->has_filtered_bucket = true;
	if (agg->bucket_is_filtered_out)
		agg->scan->counters->removed += npoints;
	return !agg->bucket_is_filtered_out;
}

/* mts_agg_point_passes: evaluate all conditions for the point in the row. */
bool
mts_agg_point_passes(MtsAgg *agg)
{
	if (!mts_agg_bucket_passes(agg, 1))
		return false;
	if (ExecQual(agg->filter, agg->econtext))
		return true;
	agg->scan->counters->removed++;
	return false;
}

/* Evaluate the aggregates' filters that depend on columns of the bucket. */
static void
filter_aggregates(MtsAgg *agg)
{
	for (int i = 0; i < agg->naggregates; i++)
	{
		MtsAggregate *aggregate = &agg->aggregates[i];

		aggregate->bucket_is_filtered_out =
			!ExecQual(aggregate->bucket_filter, agg->econtext);
	}
}

/* ---- Groups ------------------------------------------------------------- */

/*
 * Evaluate the keys of the row into key_slot.  Keys of the time alone are
 * evaluated only if the stretch has changed.  Returns false if no key was.
 */
static bool
evaluate_keys(MtsAgg *agg)
{
	TupleTableSlot *slot = agg->key_slot;
	bool can_differ = false;

	ExecClearTuple(slot);
	if (agg->stretch_has_changed)
		MemoryContextReset(agg->key_memory);
	for (int i = 0; i < agg->nkeys; i++)
	{
		MtsGroupKey *key = &agg->keys[i];
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, i);
		Datum value;

		if (key->is_of_time && !agg->stretch_has_changed)
			continue;
		can_differ = true;
		value = ExecEvalExprSwitchContext(key->state, agg->econtext,
										  &slot->tts_isnull[i]);
		if (key->is_of_time && !slot->tts_isnull[i])
		{
			MemoryContext old = MemoryContextSwitchTo(agg->key_memory);

			value = datumCopy(value, att->attbyval, att->attlen);
			MemoryContextSwitchTo(old);
		}
		slot->tts_values[i] = value;
	}
	agg->stretch_has_changed = false;
	ExecStoreVirtualTuple(slot);
	return can_differ;
}

/* Find the group of the row's keys, or start it. */
static void
find_group(MtsAgg *agg)
{
	TupleHashEntry entry;
	bool isnew;

	agg->bucket_has_group = true;
	if (!agg->table)
		agg->group = agg->only;
	else if (evaluate_keys(agg) || !agg->group)
	{
		entry = LookupTupleHashEntry(agg->table, agg->key_slot, &isnew, NULL);
		if (isnew)
			mts_hash_make_additional(entry, agg->memory, group_size(agg));
		agg->group = mts_hash_additional(agg->table, entry);
		if (isnew)
			start_group(agg, agg->group);
	}
}

/*
 * Find the stretch of the point in the row, whose time is t.  Set from and to:
 * points of the bucket between them have the same group.
 */
static void
find_stretch(MtsAgg *agg, MtsTime t)
{
	MtsStretch *stretch = agg->stretch;
	const MtsUnfold *unfold = &agg->bucket->unfold;
	bool is_first = !agg->bucket_has_group;

	agg->from = MTS_TIME_MIN;
	agg->to = MTS_TIME_MAX;
	if (!stretch)
		return;
	if (agg->row->tts_isnull[agg->time])
		mts_stretch_reset(stretch);
	if (agg->row->tts_isnull[agg->time] || !mts_stretch_seek(stretch, t))
	{
		agg->stretch_has_changed = true;
		if (!is_first)
			mts_stretch_look_ahead(stretch, unfold->latest);
	}
	/* try the whole bucket, in both directions as points need no order */
	if (is_first && mts_stretch_extend(stretch, unfold->latest))
		(void) mts_stretch_extend(stretch, unfold->earliest);
	agg->from = stretch->from;
	agg->to = stretch->to;
}

/*
 * mts_agg_enter_point
 *		Make the group of the point in the row the current one.
 */
void
mts_agg_enter_point(MtsAgg *agg)
{
	MtsTime t = agg->bucket->point.time;

	if (agg->bucket_has_group && !agg->has_point_keys && t >= agg->from &&
		t <= agg->to)
		return;
	if (!agg->bucket_has_group)
		filter_aggregates(agg);
	find_stretch(agg, t);
	find_group(agg);
}

/*
 * mts_agg_end_of_run
 *		Find the points after one of n that have its group, the current one;
 *		return the index of the first that may have another.
 *
 * Most points come in the order of their times.  So the stretch is extended to
 * a point far ahead and, where that fails, to half the distance.  Whether that
 * includes the next point, whose time may be any, is decided last.
 */
int
mts_agg_end_of_run(MtsAgg *agg, const MtsTime *times, int from, int n)
{
	MtsStretch *stretch = agg->stretch;
	int to = from + 1;
	int ahead = n;

	for (;;)
	{
		while (to < n && times[to] >= agg->from && times[to] <= agg->to)
			to++;
		if (to == n)
			return n;
		ahead = Min(ahead, n - 1 - to);
		while (ahead > 0 && !mts_stretch_extend(stretch, times[to + ahead]))
			ahead /= 2;
		if (!mts_stretch_extend(stretch, times[to]))
			return to;
		ahead = 2 * ahead + 1;
		agg->from = stretch->from;
		agg->to = stretch->to;
	}
}

/* Tell whether the keys are the same for all times of the bucket. */
static bool
has_one_group(MtsAgg *agg)
{
	const MtsUnfold *unfold = &agg->bucket->unfold;

	if (agg->has_point_keys)
		return false;
	if (!agg->stretch)
		return true;
	if (!mts_stretch_seek(agg->stretch, unfold->earliest))
		agg->stretch_has_changed = true;
	return mts_stretch_extend(agg->stretch, unfold->latest);
}

/*
 * mts_agg_enter_bucket
 *		Make the group of all points of the bucket the current one, if they
 *		have the same.
 *
 * There are npoints > 0 points.  Call this in the memory context that is reset
 * for each point.
 */
MtsBucketGroup
mts_agg_enter_bucket(MtsAgg *agg, int64 npoints)
{
	MtsBucketGroup found = MTS_BUCKET_IN_GROUP;

	if (!mts_bucket_fill_row(agg->bucket, agg->bucket->unfold.earliest,
							 agg->row))
		return MTS_BUCKET_UNDECIDED;
	ExecStoreVirtualTuple(agg->row);
	if (!mts_agg_bucket_passes(agg, npoints))
		found = MTS_BUCKET_FILTERED_OUT;
	else if (!has_one_group(agg))
		found = MTS_BUCKET_UNDECIDED;
	else
	{
		filter_aggregates(agg);
		find_group(agg);
	}
	ExecClearTuple(agg->row);
	return found;
}

/* ---- Result ------------------------------------------------------------- */

/* mts_agg_emit_groups: begin to emit the groups. */
void
mts_agg_emit_groups(MtsAgg *agg)
{
	agg->is_emitting = agg->has_emitted = true;
	if (agg->table)
		InitTupleHashIterator(agg->table, &agg->iterator);
}

/*
 * mts_agg_next_group
 *		The transition values of the next group, whose keys are in group_slot
 *		then; NULL at the end.
 */
const NullableDatum *
mts_agg_next_group(MtsAgg *agg)
{
	NullableDatum *only = agg->only;
	TupleHashEntry entry;

	if (!agg->table)
	{
		agg->only = NULL;
		return only;
	}
	entry = ScanTupleHashTable(agg->table, &agg->iterator);
	if (!entry)
		return NULL;
	ExecStoreMinimalTuple(mts_hash_tuple(entry), agg->group_slot, false);
	return mts_hash_additional(agg->table, entry);
}
