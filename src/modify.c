/*
 * modify.c
 *		INSERT, COPY, UPDATE and DELETE as the executor asks for them.
 *
 * Inserted rows wait in a writer until its batch is full or the statement
 * ends; changed and removed ones in edits, until the statement ends.  The
 * executor's own batches would do the same by copying each row twice and
 * pinning its buffer, which took twice the time of all the rest here.
 */
#include "modify.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/rel.h"

#include "compat.h"
#include "edit.h"
#include "explain.h"
#include "keep.h"

/* The junk attributes by which a row is found again */
#define JUNK_PLACE "mongo_ts_place" /* the ctid that the scan gave it */
#define JUNK_ROW "wholerow"

/* One relation that a statement writes; its ri_FdwState */
typedef struct MtsModify
{
	MtsWriter *writer;
	MtsEdits *edits;  /* of UPDATE and DELETE */
	MtsKeep *keep;    /* of ON CONFLICT DO NOTHING */
	bool is_prompt;   /* must rows be stored before triggers look? */
	AttrNumber place; /* junk attributes of the plan's rows */
	AttrNumber old_row;
} MtsModify;

/*
 * mts_modify_check
 *		Raise why a table can't be written so, if it can't.
 */
void
mts_modify_check(const MtsTable *table, Relation relation, CmdType operation)
{
	const char *problem = mts_identity_shape_problem(table);
	const char *hint = NULL;

	if (!problem && operation == CMD_INSERT)
	{
		MtsIdentity *identity = mts_identity_make(table);

		problem = identity->problem;
		hint = identity->hint;
	}
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" is read only",
						RelationGetRelationName(relation)),
				 errdetail("%s", problem), hint ? errhint("%s", hint) : 0));
}

/* mtsIsForeignRelUpdatable: which statements can work. */
int
mtsIsForeignRelUpdatable(Relation rel)
{
	MtsTable *table = mts_table_open(rel);
	int edits = (1 << CMD_UPDATE) | (1 << CMD_DELETE);

	if (mts_identity_shape_problem(table))
		return 0;
	if (mts_identity_make(table)->problem)
		return edits;
	return edits | (1 << CMD_INSERT);
}

/*
 * mtsAddForeignUpdateTargets
 *		Have the scan give each row's place, and the row as it was.
 */
void
mtsAddForeignUpdateTargets(PlannerInfo *root, Index rtindex,
						   RangeTblEntry *target_rte, Relation target_relation)
{
	add_row_identity_var(root,
						 makeVar(rtindex, SelfItemPointerAttributeNumber,
								 TIDOID, -1, InvalidOid, 0),
						 rtindex, JUNK_PLACE);
	add_row_identity_var(root,
						 makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1,
								 InvalidOid, 0),
						 rtindex, JUNK_ROW);
}

static void
check_conflict(const MtsTable *table, OnConflictAction action)
{
	if (action == ONCONFLICT_NONE || table->layout.nslots == 0)
		return;
	if (table->layout.max_points > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO NOTHING is not supported where "
						"bucket_max_points is set"),
				 errdetail("The point may be stored in another bucket of the "
						   "same time.")));
	if (table->layout.write_mode == MTS_WRITE_PUSH &&
		table->layout.time_kind != MTS_TIME_POINT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO NOTHING is not supported where points "
						"of one array share their time"),
				 errdetail("Nothing tells them apart.")));
}

/* mtsPlanForeignModify: refuse what can't be done, before anything is. */
List *
mtsPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
					 Index resultRelation, int subplan_index)
{
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation relation = table_open(rte->relid, NoLock);
	MtsTable *table = mts_table_open(relation);

	mts_modify_check(table, relation, plan->operation);
	if (plan->onConflictAction == ONCONFLICT_UPDATE)
		elog(ERROR, "ON CONFLICT DO UPDATE has no unique index to go by");
	check_conflict(table, plan->onConflictAction);
	table_close(relation, NoLock);
	return NIL;
}

static MtsModify *
new_modify(ResultRelInfo *rinfo, EState *estate, bool keeps)
{
	MtsModify *modify = palloc0(sizeof(MtsModify));
	Relation relation = rinfo->ri_RelationDesc;
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	Oid userid = mts_result_user(rinfo, estate);

	modify->writer = mts_writer_new(mts_table_open(relation), userid);
	modify->is_prompt = triggers && triggers->trig_insert_after_row;
	if (keeps && modify->writer->table->layout.nslots > 0)
		modify->keep = mts_keep_new(modify->writer, relation, userid);
	return modify;
}

/* The scan of a relation, somewhere below a node */
typedef struct Search
{
	Index rtindex;
	ForeignScanState *found;
} Search;

static bool
find_scan(PlanState *node, void *arg)
{
	Search *search = arg;

	if (node == NULL || search->found)
		return false;
	if (IsA(node, ForeignScanState) &&
		((Scan *) node->plan)->scanrelid == search->rtindex)
	{
		search->found = (ForeignScanState *) node;
		return true;
	}
	return planstate_tree_walker(node, find_scan, arg);
}

/* mtsBeginForeignModify: prepare; nothing is sent yet. */
void
mtsBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
					  List *fdw_private, int subplan_index, int eflags)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	EState *estate = mtstate->ps.state;
	MtsModify *modify =
		new_modify(rinfo, estate,
				   plan->onConflictAction == ONCONFLICT_NOTHING);
	Plan *subplan = outerPlanState(mtstate)->plan;
	Search search = {rinfo->ri_RangeTableIndex, NULL};

	rinfo->ri_FdwState = modify;
	if (mtstate->operation == CMD_INSERT || (eflags & EXEC_FLAG_EXPLAIN_ONLY))
		return;
	modify->place =
		ExecFindJunkAttributeInTlist(subplan->targetlist, JUNK_PLACE);
	modify->old_row =
		ExecFindJunkAttributeInTlist(subplan->targetlist, JUNK_ROW);
	(void) find_scan(outerPlanState(mtstate), &search);
	/* a plan that finds nothing has no scan */
	if (!search.found)
		return;
	if (modify->place == 0 || modify->old_row == 0)
		elog(ERROR, "a plan does not tell which rows it changes");
	modify->edits =
		mts_edits_new(rinfo->ri_RelationDesc, modify->writer,
					  mts_result_user(rinfo, estate),
					  ((MtsScan *) search.found->fdw_state)->targets);
}

/* mtsBeginForeignInsert: prepare for COPY or routed rows. */
void
mtsBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	OnConflictAction action = plan ? plan->onConflictAction : ONCONFLICT_NONE;
	MtsModify *modify;

	/* an UPDATE that routes rows has prepared its relations already */
	if (rinfo->ri_FdwState)
		return;
	modify =
		new_modify(rinfo, mtstate->ps.state, action == ONCONFLICT_NOTHING);
	mts_modify_check(modify->writer->table, rinfo->ri_RelationDesc,
					 CMD_INSERT);
	check_conflict(modify->writer->table, action);
	rinfo->ri_FdwState = modify;
}

/* mtsExecForeignInsert: take one row; NULL when a stored point stays. */
TupleTableSlot *
mtsExecForeignInsert(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;

	if (modify->keep)
		return mts_keep_insert(modify->keep, slot) ? slot : NULL;
	mts_writer_add(modify->writer, slot);
	if (modify->is_prompt || mts_writer_is_full(modify->writer))
		mts_writer_flush(modify->writer);
	return slot;
}

/* The row as it was, and its place, from the plan's row */
static HeapTuple
read_junk(const MtsModify *modify, TupleTableSlot *planSlot, ItemPointer *tid)
{
	bool isnull;
	Datum place = ExecGetJunkAttribute(planSlot, modify->place, &isnull);
	Datum row;
	HeapTupleHeader header;
	HeapTuple tuple = palloc0(HEAPTUPLESIZE);

	if (isnull)
		elog(ERROR, "a row to be changed has no place");
	*tid = (ItemPointer) DatumGetPointer(place);
	row = ExecGetJunkAttribute(planSlot, modify->old_row, &isnull);
	if (isnull)
		elog(ERROR, "a row to be changed has no old values");
	header = DatumGetHeapTupleHeader(row);
	tuple->t_len = HeapTupleHeaderGetDatumLength(header);
	tuple->t_data = header;
	ItemPointerSetInvalid(&tuple->t_self);
	return tuple;
}

/* mtsExecForeignUpdate: take a change; NULL when the row is taken already. */
TupleTableSlot *
mtsExecForeignUpdate(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;
	ItemPointer tid;
	HeapTuple old_row = read_junk(modify, planSlot, &tid);

	return mts_edits_change(modify->edits, tid, old_row, slot) ? slot : NULL;
}

/* mtsExecForeignDelete: take a removal; the slot gets the row as it was. */
TupleTableSlot *
mtsExecForeignDelete(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;
	ItemPointer tid;
	HeapTuple old_row = read_junk(modify, planSlot, &tid);

	if (!mts_edits_remove(modify->edits, tid, old_row))
		return NULL;
	ExecForceStoreHeapTuple(heap_copytuple(old_row), slot, true);
	return slot;
}

static void
end_modify(ResultRelInfo *rinfo)
{
	MtsModify *modify = rinfo->ri_FdwState;

	if (!modify)
		return;
	if (modify->edits)
		mts_edits_finish(modify->edits);
	mts_writer_flush(modify->writer);
	rinfo->ri_FdwState = NULL;
}

/* mtsEndForeignModify: send what is left, and all changes. */
void
mtsEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	end_modify(rinfo);
}

/* mtsEndForeignInsert: send what is left. */
void
mtsEndForeignInsert(EState *estate, ResultRelInfo *rinfo)
{
	end_modify(rinfo);
}

/* The MongoDB operators that store this table's points */
static const char *
describe_write(const MtsTable *table, CmdType operation)
{
	const MtsLayout *layout = &table->layout;

	if (operation == CMD_DELETE)
		return "remove points, and buckets without points";
	if (operation == CMD_UPDATE)
		return "change points in place, or move them";
	if (layout->nslots == 0)
		return "insert documents";
	if (mts_update_needs_pipeline(layout))
		return "upsert one bucket at a time by a pipeline";
	return layout->write_mode == MTS_WRITE_PUSH
			   ? "upsert one bucket at a time by $push"
		   : layout->write_mode == MTS_WRITE_INCREMENT
			   ? "upsert one bucket at a time by $inc"
			   : "upsert one bucket at a time by $set";
}

/* mtsExplainForeignModify: where and how rows are written. */
void
mtsExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo,
						List *fdw_private, int subplan_index, ExplainState *es)
{
	MtsModify *modify = rinfo->ri_FdwState;
	const MtsTable *table;

	if (!modify)
		return;
	table = modify->writer->table;
	ExplainPropertyText("MongoDB Collection",
						mts_explain_collection(table->collection), es);
	ExplainPropertyText("MongoDB Write",
						describe_write(table, mtstate->operation), es);
	ExplainPropertyInteger("Batch Size", NULL, table->batch_size, es);
}
