/*
 * modify.c
 *		UPDATE, DELETE and TRUNCATE as the executor asks for them, and all plans.
 *
 * Changed and removed rows wait in edits until the statement ends.
 */
#include "modify.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "collections.h"
#include "compat.h"
#include "document.h"
#include "explain.h"
#include "insert.h"
#include "option.h"
#include "route.h"
#include "plan.h"

/* The junk attributes by which a row is found again */
#define JUNK_PLACE "mongo_ts_place" /* the ctid that the scan gave it */
#define JUNK_ROW "wholerow"

/* How to make a table writable that option "updatable" forbids to write */
static char *
advise_updatable(Relation relation)
{
	ForeignTable *table = GetForeignTable(RelationGetRelid(relation));
	char *schema = get_namespace_name(RelationGetNamespace(relation));

	return psprintf("An INSERT finds a bucket by its time and its keys. Check "
					"that no two buckets have the same ones, then run ALTER "
					"FOREIGN TABLE %s OPTIONS (%s updatable 'true').",
					quote_qualified_identifier(schema, RelationGetRelationName(
														   relation)),
					mts_option_get(table->options, "updatable") ? "SET"
																: "ADD");
}

/*
 * mts_modify_check
 *		Raise why a table can't be written so, if it can't.
 */
void
mts_modify_check(const MtsTable *table, Relation relation, CmdType operation)
{
	const char *problem = mts_identity_shape_problem(table);
	const char *hint = NULL;
	bool takes_points = problem == NULL;

	if (!table->updatable)
		hint = advise_updatable(relation);
	if (!problem && operation == CMD_INSERT)
	{
		MtsIdentity *identity = mts_identity_make(table);

		problem = identity->problem;
		hint = identity->hint;
	}
	if (problem)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 takes_points ? errmsg("cannot insert points into foreign "
									   "table \"%s\"",
									   RelationGetRelationName(relation))
							  : errmsg("foreign table \"%s\" is read-only",
									   RelationGetRelationName(relation)),
				 errdetail("%s", problem), hint ? errhint("%s", hint) : 0));
}

/*
 * mtsIsForeignRelUpdatable
 *		Which statements can work; none where the options are wrong.
 *
 * The catalogs' views call this for all tables, and shall not fail by one.
 */
int
mtsIsForeignRelUpdatable(Relation rel)
{
	MtsTable *table = mts_table_try_open(rel);
	int edits = (1 << CMD_UPDATE) | (1 << CMD_DELETE);

	if (table->problem || mts_identity_shape_problem(table))
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

/* mtsPlanForeignModify: refuse what can't be done, before anything is. */
List *
mtsPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
					 Index resultRelation, int subplan_index)
{
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation relation = table_open(rte->relid, NoLock);
	const MtsTable *table = mts_plan_table(root, resultRelation, relation);

	mts_modify_check(table, relation, plan->operation);
	if (plan->onConflictAction == ONCONFLICT_UPDATE)
		elog(ERROR, "ON CONFLICT DO UPDATE has no unique index to go by");
	mts_insert_check_conflict(table, plan->onConflictAction);
	table_close(relation, NoLock);
	return NIL;
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
		mts_insert_begin(rinfo, estate,
						 plan->onConflictAction == ONCONFLICT_NOTHING,
						 mtstate->operation == CMD_UPDATE);
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
					  ((MtsScan *) search.found->fdw_state)->bucket->targets);
}

/* A junk attribute of the plan's row */
static Datum
read_junk(TupleTableSlot *planSlot, AttrNumber attribute)
{
	bool isnull;
	Datum value = ExecGetJunkAttribute(planSlot, attribute, &isnull);

	if (isnull)
		elog(ERROR, "a row to be changed has no place or no old values");
	return value;
}

/* mtsExecForeignUpdate: take a change; NULL when the row is taken already. */
TupleTableSlot *
mtsExecForeignUpdate(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;
	Datum tid = read_junk(planSlot, modify->place);

	mts_insert_check_partition(rinfo, slot, estate);
	return mts_edits_change(modify->edits, (ItemPointer) DatumGetPointer(tid),
							read_junk(planSlot, modify->old_row), slot)
			   ? slot
			   : NULL;
}

/* mtsExecForeignDelete: take a removal; the slot gets the row as it was. */
TupleTableSlot *
mtsExecForeignDelete(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;
	Datum tid = read_junk(planSlot, modify->place);
	Datum old_row = read_junk(planSlot, modify->old_row);

	if (!mts_edits_remove(modify->edits, (ItemPointer) DatumGetPointer(tid),
						  old_row))
		return NULL;
	ExecStoreHeapTupleDatum(old_row, slot);
	return slot;
}

/* mtsEndForeignModify: send what is left, and all changes. */
void
mtsEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	mts_insert_end(estate, rinfo);
}

/*
 * mtsExecForeignTruncate
 *		Remove what the tables show, and what else matches their filters.
 *
 * The collections and their indexes stay.
 */
void
mtsExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	ListCell *lc;

	foreach (lc, rels)
	{
		Relation relation = lfirst(lc);
		MtsTable *table = mts_table_open(relation);
		const bson_t *filter =
			table->filter ? table->filter : mts_document_new();
		MtsCollections *all;
		MtsBulk bulk;
		MtsOp *ops;

		if (!table->updatable)
			mts_modify_check(table, relation, CMD_DELETE);
		mts_route_init(&bulk, table, GetUserId());
		all = mts_collections_list(table, GetUserId());
		ops = palloc((all->n + 1) * sizeof(MtsOp));
		for (int i = 0; i < all->n; i++)
			ops[i] = (MtsOp){MTS_OP_DELETE_MANY, filter,
							 .collection = all->items[i].name};
		mts_route_execute(&bulk, ops, all->n);
	}
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
		return "upsert each bucket by a pipeline";
	return layout->write_mode == MTS_WRITE_PUSH ? "upsert each bucket by $push"
		   : layout->write_mode == MTS_WRITE_INCREMENT
			   ? "upsert each bucket by $inc"
			   : "upsert each bucket by $set";
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
