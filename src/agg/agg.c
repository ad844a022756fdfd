/*
 * agg.c
 *		Emit a row for each group of the points that a scan reads.
 *
 * A row has the group's keys and the transition values of its aggregates.  An
 * Agg node above combines them; a group can come more than once.  Groups are
 * collected until all points are read or work_mem is exceeded.
 *
 *		agg_spec	what is computed; constant
 *		agg_input	what is read: counts, roll-ups, headers or buckets
 *		agg_answer	the five ways to aggregate that
 *		agg_group	the groups
 */
#include "agg/agg.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "agg/agg_answer.h"
#include "compat.h"
#include "scan/fdw_private.h"

struct MtsAgg
{
	const MtsAggSpec *spec;
	const MtsScan *scan;
	MtsAggInput *input;
	MtsGroups *groups;
	MtsAnswers *answers;
	ExprContext *econtext;
	bool is_emitting;
	bool has_emitted; /* since the scan began */
	bool is_at_end;   /* all points have been read */
};

/* Open the roll-ups of a plan, as far as they still fit. */
static List *
open_rollups(ForeignScanState *node, const MtsAggSpec *spec,
			 const MtsScan *scan, List *private, const TupleTableSlot *row)
{
	List *rollups = NIL;
	ListCell *lc;

	foreach (lc, list_nth(private, MTS_AGG_ROLLUPS))
	{
		MtsRollupScan *rollup =
			mts_agg_rollup_open(node, lfirst_oid(lc), spec, scan, private,
								row->tts_tupleDescriptor);

		if (rollup)
			rollups = lappend(rollups, rollup);
	}
	return rollups;
}

/*
 * mts_agg_begin
 *		Prepare the partial aggregation of a plan, and the scan of its points.
 *
 * Nothing is sent to MongoDB yet.
 */
MtsAgg *
mts_agg_begin(ForeignScanState *node, MtsScan **result)
{
	MtsAgg *agg = palloc0(sizeof(MtsAgg));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	ExprContext *econtext = CreateExprContext(node->ss.ps.state);
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw groups",
							  ALLOCSET_DEFAULT_SIZES);
	Relation relation =
		/* a worker has not locked the relation yet */
		mts_open_relation(node, bms_next_member(mts_scan_relids(plan), -1));
	MtsScan *scan =
		mts_scan_of_plan(node, relation,
						 intVal(list_nth(private, MTS_AGG_VARNO)),
						 list_nth(private, MTS_AGG_CLAUSES), econtext);

	econtext->ecxt_scantuple =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(
									 RelationGetDescr(relation)),
								 &TTSOpsVirtual);
	agg->econtext = econtext;
	agg->spec = mts_agg_spec_make(scan->table, private, memory);
	agg->groups =
		mts_agg_group_new(agg->spec,
						  mts_group_table_new(agg->spec, memory,
											  econtext->ecxt_per_tuple_memory),
						  econtext,
						  mts_bucket_converter(scan->bucket, agg->spec->time),
						  scan->counters);
	agg->input = mts_agg_input_new(scan);
	mts_agg_input_add_rollups(agg->input,
							  open_rollups(node, agg->spec, scan, private,
										   econtext->ecxt_scantuple),
							  econtext->ecxt_scantuple);
	agg->answers = mts_agg_answer_new(agg->spec, private, agg->input,
									  agg->groups, econtext);
	*result = scan;
	agg->scan = scan;
	return agg;
}

/*
 * Aggregate until all buckets are read or the groups exceed work_mem; false if
 * the scan must wait before.
 */
static bool
aggregate_buckets(MtsAgg *agg)
{
	Size limit = (Size) work_mem * 1024;

	while (mts_agg_answer_next(agg->answers, !agg->has_emitted))
		if (mts_group_table_is_larger(agg->groups->table, limit))
			return true;
	agg->is_at_end = !agg->scan->source->awaited;
	return agg->is_at_end;
}

/* Fill the slot with the keys and the transition values of a group. */
static void
fill_slot(MtsAgg *agg, const NullableDatum *group, TupleTableSlot *slot)
{
	const MtsAggSpec *spec = agg->spec;
	TupleTableSlot *keys = agg->groups->table->keys;
	MemoryContext old;

	ResetExprContext(agg->econtext);
	old = MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);
	if (keys)
		slot_getallattrs(keys);
	for (int i = 0; i < spec->ncolumns; i++)
	{
		int key = spec->columns[i];
		int aggregate = -1 - key;
		NullableDatum value;

		if (key >= 0)
		{
			value.value = keys->tts_values[key];
			value.isnull = keys->tts_isnull[key];
		}
		else
			value = mts_transition_serialize(
				&spec->aggregates[aggregate].transition, &group[aggregate]);
		slot->tts_values[i] = value.value;
		slot->tts_isnull[i] = value.isnull;
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/*
 * mts_agg_next
 *		Fill the slot with the next row of the result; empty at the end, or
 *		when the scan must wait.
 */
TupleTableSlot *
mts_agg_next(MtsAgg *agg, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (;;)
	{
		const NullableDatum *group;

		if (!agg->is_emitting)
		{
			if (!aggregate_buckets(agg))
				return slot;
			mts_group_table_emit(agg->groups->table);
			agg->is_emitting = agg->has_emitted = true;
		}
		group = mts_group_table_next(agg->groups->table);
		if (group)
		{
			fill_slot(agg, group, slot);
			return slot;
		}
		if (agg->is_at_end)
			return slot;
		mts_agg_group_clear(agg->groups);
		agg->is_emitting = false;
	}
}

/*
 * mts_agg_rollups
 *		List the roll-ups that are read, as MtsRollupScans.  Their queries, and
 *		that of the points, are made if that is possible.
 */
List *
mts_agg_rollups(MtsAgg *agg, bool is_possible)
{
	if (is_possible)
		mts_agg_input_make_queries(agg->input);
	return agg->input->rollups;
}

/* mts_agg_reset: begin anew, perhaps with other parameters. */
void
mts_agg_reset(MtsAgg *agg)
{
	mts_agg_answer_reset(agg->answers);
	agg->is_emitting = agg->has_emitted = agg->is_at_end = false;
}
