/*
 * fdw_modify.c
 *		INSERT, COPY, UPDATE, DELETE and TRUNCATE, as the executor calls them.
 *
 * Rows are collected by a writer until its batch is full or the statement
 * ends.  The executor's own batches are not used: they copy each row twice and
 * pin its buffer, which took twice the time of all other work.
 *
 * The rows of a statement that reads their collection wait in a tuplestore, so
 * that the statement does not read them.  For the same reason, UPDATE and
 * DELETE send nothing until the statement ends; see modify/edit.c.
 */
#include "fdw_modify.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/appendinfo.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "core/update/update.h"
#include "core/update/write_once.h"
#include "driver/document.h"
#include "explain.h"
#include "fdw_scan.h"
#include "modify/edit.h"
#include "modify/on_conflict.h"
#include "modify/range_delete.h"
#include "modify/route.h"
#include "modify/writable.h"
#include "plan/plan.h"
#include "scan/fdw_private.h"
#include "table/collections.h"
#include "table/native.h"

/* The junk attributes of a plan that changes rows */
#define JUNK_ROW_ID "mongo_ts_row_id" /* the ctid that the scan gave the row */
#define JUNK_OLD_ROW "wholerow"

/* The rows of one relation that a statement writes; its ri_FdwState */
typedef struct MtsModify
{
	MtsWriter *writer;
	MtsEdits *edits;          /* of UPDATE and DELETE; otherwise NULL */
	MtsBucketReader *reader;  /* of ON CONFLICT DO NOTHING; otherwise NULL */
	bool is_immediate;        /* triggers must see each row stored */
	Tuplestorestate *waiting; /* rows that the statement must not read, or
							   * NULL */
	TupleTableSlot *waiting_slot;
	AttrNumber row_id; /* junk attributes of the plan's rows */
	AttrNumber old_row;
} MtsModify;

/* ---- Planning ----------------------------------------------------------- */

/*
 * mtsIsForeignRelUpdatable
 *		Return which statements can write a table; none where its options are
 *		wrong.
 *
 * The catalogs' views call this for all tables, so it raises no error.
 */
int
mtsIsForeignRelUpdatable(Relation rel)
{
	const MtsTable *table = mts_table_try_open(rel);

	return table->problem ? 0 : mts_writable_operations(table);
}

/*
 * mtsAddForeignUpdateTargets
 *		Have the scan return each row's number, and the row as it was.
 */
void
mtsAddForeignUpdateTargets(PlannerInfo *root, Index rtindex,
						   RangeTblEntry *target_rte, Relation target_relation)
{
	add_row_identity_var(root,
						 makeVar(rtindex, SelfItemPointerAttributeNumber,
								 TIDOID, -1, InvalidOid, 0),
						 rtindex, JUNK_ROW_ID);
	add_row_identity_var(root,
						 makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1,
								 InvalidOid, 0),
						 rtindex, JUNK_OLD_ROW);
}

/*
 * mtsPlanForeignModify
 *		Refuse a statement that the table cannot do.
 *
 * Returns the numbers of the columns that the statement returns.
 */
List *
mtsPlanForeignModify(PlannerInfo *root, ModifyTable *plan,
					 Index resultRelation, int subplan_index)
{
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation relation = table_open(rte->relid, NoLock);
	const MtsTable *table = mts_plan_table(root, resultRelation, relation);
	List *columns = NIL;

	mts_writable_check(table, relation, plan->operation);
	if (plan->returningLists)
		columns =
			mts_returning_columns(list_nth(plan->returningLists,
										   subplan_index),
								  resultRelation, RelationGetDescr(relation));
	mts_returning_check(table, plan->operation, columns);
	if (plan->onConflictAction == ONCONFLICT_UPDATE)
		elog(ERROR, "ON CONFLICT DO UPDATE has no unique index to go by");
	mts_on_conflict_check(table, plan->onConflictAction);
	table_close(relation, NoLock);
	return columns;
}

/* Return the only scan of a DELETE that decides all conditions by itself. */
static ForeignScan *
find_deciding_scan(ModifyTable *plan, Index rtindex)
{
	ForeignScan *scan = (ForeignScan *) outerPlan(plan);

	if (plan->operation != CMD_DELETE || plan->returningLists != NIL ||
		list_length(plan->resultRelations) != 1 || !IsA(scan, ForeignScan) ||
		scan->scan.scanrelid != rtindex || scan->scan.plan.qual != NIL)
		return NULL;
	return scan;
}

/* mtsPlanDirectModify: plan a DELETE of ranges of time, if it is one. */
bool
mtsPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation,
					int subplan_index)
{
	ForeignScan *scan = find_deciding_scan(plan, resultRelation);
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation relation;
	const MtsTable *table;
	bool is_possible;

	if (!scan)
		return false;
	relation = table_open(rte->relid, NoLock);
	table = mts_plan_table(root, resultRelation, relation);
	mts_writable_check(table, relation, CMD_DELETE);
	is_possible = mts_range_delete_is_possible(table);
	table_close(relation, NoLock);
	if (!is_possible)
		return false;
	scan->fdw_private =
		lappend(scan->fdw_private, makeBoolean(plan->canSetTag));
	scan->operation = CMD_DELETE;
	scan->resultRelation = resultRelation;
	return true;
}

/* ---- INSERT and COPY ---------------------------------------------------- */

/*
 * Raise an error where a row does not belong to its partition.  PostgreSQL
 * leaves that to the wrapper.  No query would find such a row again.
 */
static void
check_partition(ResultRelInfo *rinfo, TupleTableSlot *row, EState *estate)
{
	if (rinfo->ri_RelationDesc->rd_rel->relispartition)
		(void) ExecPartitionCheck(rinfo, row, estate, true);
}

/* Tell whether another table of the statement shows the same collection. */
static bool
is_read_elsewhere(const MtsTable *table, Index target, EState *estate)
{
	for (Index i = 1; i <= list_length(estate->es_range_table); i++)
	{
		RangeTblEntry *rte = exec_rt_fetch(i, estate);
		Relation relation;
		const MtsTable *other;

		if (i == target || rte->rtekind != RTE_RELATION ||
			rte->relkind != RELKIND_FOREIGN_TABLE ||
			!mts_table_is_ours(rte->relid))
			continue;
		relation = table_open(rte->relid, NoLock);
		other = mts_table_open(relation);
		table_close(relation, NoLock);
		if (mts_collections_overlap(table, other))
			return true;
	}
	return false;
}

/* Return the ON CONFLICT action of a statement; COPY has no plan. */
static OnConflictAction
conflict_action(const ModifyTableState *mtstate)
{
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;

	return plan ? plan->onConflictAction : ONCONFLICT_NONE;
}

/* Prepare to write the rows of a relation. */
static MtsModify *
begin_modify(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	MtsModify *modify = palloc0(sizeof(MtsModify));
	EState *estate = mtstate->ps.state;
	TupleDesc desc = RelationGetDescr(rinfo->ri_RelationDesc);
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	Oid userid = mts_result_user(rinfo, estate);
	const MtsTable *table = mts_table_open(rinfo->ri_RelationDesc);
	bool does_nothing = conflict_action(mtstate) == ONCONFLICT_NOTHING;
	bool is_read = mtstate->operation == CMD_UPDATE ||
				   is_read_elsewhere(table, rinfo->ri_RangeTableIndex, estate);

	modify->writer = mts_writer_new(table, userid);
	modify->is_immediate = triggers && (triggers->trig_insert_before_row ||
										triggers->trig_insert_after_row ||
										triggers->trig_insert_after_statement);
	if (is_read && does_nothing)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "ON CONFLICT DO NOTHING is not supported in a statement that reads the collection it inserts into"),
			 errdetail(
				 "The statement could read rows that it has just inserted."),
			 errhint("Put the rows into a temporary table first.")));
	if (is_read)
	{
		modify->waiting = tuplestore_begin_heap(false, false, work_mem);
		modify->waiting_slot =
			MakeSingleTupleTableSlot(CreateTupleDescCopy(desc),
									 &TTSOpsMinimalTuple);
	}
	if (does_nothing)
		modify->reader = mts_bucket_reader_new(table, userid, desc, NULL);
	return modify;
}

/* Have new rows show what RETURNING wants of them. */
static void
return_new_rows(MtsModify *modify, List *columns)
{
	MtsWriter *writer = modify->writer;

	writer->returning = mts_returning_new(writer->targeting, columns);
	if (modify->waiting && writer->returning && writer->returning->ids != NIL)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "RETURNING of the _id is not supported in a statement that reads the collection it inserts into"),
			 errhint("Put the rows into a temporary table first.")));
}

/* mtsBeginForeignInsert: prepare for the rows of COPY, or routed rows. */
void
mtsBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const MtsTable *table;
	List *columns = NIL;

	/* an UPDATE that routes rows has prepared its relations already */
	if (!rinfo->ri_FdwState)
		rinfo->ri_FdwState = begin_modify(mtstate, rinfo);
	table = ((MtsModify *) rinfo->ri_FdwState)->writer->table;
	mts_writable_check(table, rinfo->ri_RelationDesc, CMD_INSERT);
	mts_on_conflict_check(table, conflict_action(mtstate));
	/* the list of a partition names the first relation of the plan */
	if (rinfo->ri_returningList)
		columns =
			mts_returning_columns(rinfo->ri_returningList,
								  rinfo->ri_RangeTableIndex > 0
									  ? rinfo->ri_RangeTableIndex
									  : mtstate->resultRelInfo[0]
											.ri_RangeTableIndex,
								  RelationGetDescr(rinfo->ri_RelationDesc));
	mts_returning_check(table, CMD_INSERT, columns);
	return_new_rows(rinfo->ri_FdwState, columns);
}

/* mtsExecForeignInsert: store a row; NULL when it conflicts with a point. */
TupleTableSlot *
mtsExecForeignInsert(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	MtsModify *modify = rinfo->ri_FdwState;
	MtsWriter *writer = modify->writer;

	/* routing has checked the row, unless a trigger changed it afterwards */
	if (!rinfo->ri_RootResultRelInfo ||
		(rinfo->ri_TrigDesc && rinfo->ri_TrigDesc->trig_insert_before_row))
		check_partition(rinfo, slot, estate);
	/* PostgreSQL checks these only after the row may have been sent */
	if (rinfo->ri_WithCheckOptions)
		ExecWithCheckOptions(WCO_VIEW_CHECK, rinfo, slot, estate);
	if (writer->returning)
		mts_returning_check_new(writer->returning, slot);
	if (modify->reader)
		return mts_on_conflict_insert(writer, modify->reader, slot) ? slot
																	: NULL;
	mts_writer_add(writer, slot);
	if (modify->waiting)
	{
		/* the writer has only checked that the row can be stored */
		tuplestore_puttupleslot(modify->waiting, slot);
		if (mts_writer_is_full(writer))
			mts_writer_discard(writer);
	}
	else if (modify->is_immediate)
		mts_writer_flush(writer);
	else if (mts_writer_is_full(writer))
		mts_writer_send(writer);
	return slot;
}

/* Send the changes of a relation, once. */
static void
finish_edits(MtsModify *modify)
{
	if (!modify->edits)
		return;
	/* rows that wait were only added to be checked */
	if (modify->waiting)
		mts_writer_discard(modify->writer);
	mts_edits_finish(modify->edits);
	modify->edits = NULL;
}

/*
 * Send the changes of all relations of the statement.  Rows that move to
 * another partition can come from the same collection.
 */
static void
finish_all_edits(EState *estate)
{
	ListCell *lc;

	foreach (lc, estate->es_opened_result_relations)
	{
		ResultRelInfo *rinfo = lfirst(lc);

		if (rinfo->ri_FdwRoutine && !rinfo->ri_usesFdwDirectModify &&
			rinfo->ri_FdwRoutine->ExecForeignInsert == mtsExecForeignInsert &&
			rinfo->ri_FdwState)
			finish_edits(rinfo->ri_FdwState);
	}
}

/* Send the rows that have waited for the end of the statement. */
static void
store_waiting(MtsModify *modify, EState *estate)
{
	finish_all_edits(estate);
	mts_writer_discard(modify->writer);
	while (tuplestore_gettupleslot(modify->waiting, true, false,
								   modify->waiting_slot))
	{
		mts_writer_add(modify->writer, modify->waiting_slot);
		if (mts_writer_is_full(modify->writer))
			mts_writer_send(modify->writer);
	}
	ExecClearTuple(modify->waiting_slot);
	tuplestore_end(modify->waiting);
}

/* mtsEndForeignModify: send all that has not been sent; also after COPY. */
void
mtsEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	MtsModify *modify = rinfo->ri_FdwState;

	if (!modify)
		return;
	finish_edits(modify);
	if (modify->waiting)
		store_waiting(modify, estate);
	mts_writer_flush(modify->writer);
	rinfo->ri_FdwState = NULL;
}

/* ---- UPDATE and DELETE -------------------------------------------------- */

/* The search for the scan of a relation below a plan node */
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
	MtsModify *modify = begin_modify(mtstate, rinfo);
	List *tlist = outerPlanState(mtstate)->plan->targetlist;
	Search search = {rinfo->ri_RangeTableIndex, NULL};

	rinfo->ri_FdwState = modify;
	if (mtstate->operation == CMD_INSERT)
		return_new_rows(modify, fdw_private);
	if (mtstate->operation == CMD_INSERT || (eflags & EXEC_FLAG_EXPLAIN_ONLY))
		return;
	modify->writer->returning =
		mts_returning_new(modify->writer->targeting, fdw_private);
	mts_native_check_change(modify->writer->table,
							mts_result_user(rinfo, mtstate->ps.state),
							mtstate->operation == CMD_UPDATE);
	modify->row_id = ExecFindJunkAttributeInTlist(tlist, JUNK_ROW_ID);
	modify->old_row = ExecFindJunkAttributeInTlist(tlist, JUNK_OLD_ROW);
	(void) find_scan(outerPlanState(mtstate), &search);
	/* a plan that finds nothing has no scan */
	if (!search.found)
		return;
	if (modify->row_id == 0 || modify->old_row == 0)
		elog(ERROR, "a plan does not tell which rows it changes");
	modify->edits = mts_edits_new(rinfo->ri_RelationDesc, modify->writer,
								  mts_result_user(rinfo, mtstate->ps.state),
								  ((MtsScanNode *) search.found->fdw_state)
									  ->scan->bucket->spec.row_ids);
}

/*
 * Record a change of the row that the plan has returned, or its removal, and
 * set *old_row to that row.  Returns false when the row has one already.
 */
static bool
add_edit(const MtsModify *modify, TupleTableSlot *planSlot, Datum *old_row,
		 TupleTableSlot *new_row)
{
	bool no_id, no_row;
	Datum tid = ExecGetJunkAttribute(planSlot, modify->row_id, &no_id);

	*old_row = ExecGetJunkAttribute(planSlot, modify->old_row, &no_row);
	if (no_id || no_row)
		elog(ERROR, "a row to be changed has no row id or no old values");
	return mts_edits_add(modify->edits, (ItemPointer) DatumGetPointer(tid),
						 *old_row, new_row);
}

/* mtsExecForeignUpdate: record a change; NULL when the row has one already. */
TupleTableSlot *
mtsExecForeignUpdate(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	Datum old_row;

	check_partition(rinfo, slot, estate);
	return add_edit(rinfo->ri_FdwState, planSlot, &old_row, slot) ? slot
																  : NULL;
}

/* mtsExecForeignDelete: record a removal, and return the row as it was. */
TupleTableSlot *
mtsExecForeignDelete(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	Datum old_row;
	HeapTupleData tuple = {0};

	if (!add_edit(rinfo->ri_FdwState, planSlot, &old_row, NULL))
		return NULL;
	/* as a tuple, because RETURNING may read its system columns */
	tuple.t_data = DatumGetHeapTupleHeader(old_row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	ItemPointerSetInvalid(&tuple.t_self);
	ExecForceStoreHeapTuple(heap_copytuple(&tuple), slot, true);
	return slot;
}

/* ---- DELETE of ranges, TRUNCATE ----------------------------------------- */

/* mtsBeginDirectModify: prepare; nothing is sent yet. */
void
mtsBeginDirectModify(ForeignScanState *node, int eflags)
{
	MtsScan *scan = mts_scan_of_node(node);

	scan->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
	node->fdw_state = mts_range_delete_new(scan);
}

/* mtsIterateDirectModify: remove all; no row is returned. */
TupleTableSlot *
mtsIterateDirectModify(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	EState *estate = node->ss.ps.state;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	int64 n =
		mts_range_delete_execute(node->fdw_state, node->ss.ss_currentRelation);

	if (boolVal(list_nth(plan->fdw_private, MTS_PRIVATE_SET_TAG)))
		estate->es_processed += n;
	if (node->ss.ps.instrument)
		node->ss.ps.instrument->tuplecount += n;
	MemoryContextSwitchTo(old);
	return ExecClearTuple(node->ss.ss_ScanTupleSlot);
}

/* mtsEndDirectModify: close the cursor. */
void
mtsEndDirectModify(ForeignScanState *node)
{
	MtsRangeDelete *delete = node->fdw_state;

	if (delete)
		mts_scan_reset(delete->scan);
}

/* Open a table that TRUNCATE may empty; otherwise raise an error. */
static const MtsTable *
open_truncatable(Relation relation)
{
	const MtsTable *table = mts_table_open(relation);

	if (!table->updatable)
		mts_writable_check(table, relation, CMD_DELETE);
	if (!table->truncatable)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("foreign table \"%s\" does not allow truncates",
							   RelationGetRelationName(relation))));
	return table;
}

/*
 * mtsExecForeignTruncate
 *		Remove the documents of tables: all that match their filters.
 *
 * The collections and their indexes stay.  All tables are checked before
 * anything is removed.
 */
void
mtsExecForeignTruncate(List *rels, DropBehavior behavior, bool restart_seqs)
{
	List *tables = NIL;
	ListCell *lc;

	foreach (lc, rels)
		tables = lappend(tables, (void *) open_truncatable(lfirst(lc)));
	foreach (lc, tables)
	{
		const MtsTable *table = lfirst(lc);
		MtsCollections *all;
		MtsRollupMarks *marks = mts_rollup_mark_begin(table, GetUserId());
		MtsBulk bulk;

		if (marks)
		{
			mts_rollup_mark_add(marks, MTS_TIME_MIN, MTS_TIME_MAX);
			mts_rollup_mark_send(marks);
		}
		mts_route_init(&bulk, table, GetUserId());
		all = mts_collections_list(table, GetUserId(), false);
		for (int i = 0; i < all->n; i++)
			mts_range_delete_all(&bulk,
								 table->filter ? table->filter
											   : mts_document_new(),
								 all->items[i].name);
	}
}

/* ---- EXPLAIN ------------------------------------------------------------ */

/* Describe the MongoDB operators that write a table. */
static const char *
describe_write(const MtsTargeting *targeting, CmdType operation)
{
	const MtsLayout *layout = &targeting->table->layout;
	const char *by = "$set";

	if (operation == CMD_DELETE)
		return "remove points, and buckets without points";
	if (operation == CMD_UPDATE)
		return "change points in place, or move them";
	if (layout->nslots == 0)
		return "insert documents";
	if (mts_update_needs_pipeline(layout) && !mts_write_once_suits(layout))
		return "upsert each bucket by a pipeline";
	if (layout->write_mode == MTS_WRITE_PUSH)
		by = "$push";
	if (layout->write_mode == MTS_WRITE_INCREMENT)
		by = "$inc";
	return psprintf("upsert each bucket by %s%s", by,
					mts_update_needs_pipeline(layout)
						? ", or by a pipeline if slots are not empty"
					: targeting->identity->nattributes > 0
						? ", or by a pipeline if rows have attributes"
						: "");
}

/* mtsExplainForeignModify: show where and how rows are written. */
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
						psprintf("%s.%s", table->database, table->collection),
						es);
	ExplainPropertyText("MongoDB Write",
						describe_write(modify->writer->targeting,
									   mtstate->operation),
						es);
	ExplainPropertyInteger("Batch Size", NULL, table->batch_size, es);
}

/* mtsExplainDirectModify: show the command and the scan's query. */
void
mtsExplainDirectModify(ForeignScanState *node, ExplainState *es)
{
	MtsRangeDelete *delete = node->fdw_state;
	const char *collection;

	if (mts_explain_is_known(node, delete->scan))
		mts_range_delete_prepare(delete);
	collection = mts_explain_first_collection(delete->scan);
	if (delete->filter && collection)
		ExplainPropertyText("MongoDB Delete",
							psprintf("%s.deleteMany(%s)",
									 mts_explain_collection(collection),
									 mts_document_shell(delete->filter)),
							es);
	mts_explain_scan(delete->scan, es);
}
