/*
 * modify.c
 *		INSERT, COPY, UPDATE, DELETE and TRUNCATE as the executor asks for them.
 *
 * Rows wait in a writer until its batch is full or the statement ends.  The
 * executor's own batches would do the same by copying each row twice and
 * pinning its buffer, which took twice the time of all the rest here.
 *
 * By ON CONFLICT DO NOTHING a point is inserted unless one is stored in its
 * place.  The bucket is read, and written under the condition that what holds
 * its points is as it was read; otherwise it is read again.  A document that is
 * a row conflicts by the collection's unique indexes.  Each row is sent by
 * itself, since only so the server tells whether it was stored.
 *
 * Changed and removed rows wait in edits until the statement ends.
 */
#include "modify/modify.h"

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
#include "utils/tuplestore.h"

#include "compat.h"
#include "core/update/update.h"
#include "driver/document.h"
#include "explain.h"
#include "fdw_scan.h"
#include "modify/edit.h"
#include "modify/precondition.h"
#include "modify/route.h"
#include "plan/plan.h"
#include "scan/fdw_private.h"
#include "table/collections.h"
#include "table/option.h"

/* The junk attributes by which a row is found again */
#define JUNK_PLACE "mongo_ts_place" /* the ctid that the scan gave it */
#define JUNK_ROW "wholerow"

/* A bucket that changes this often between two looks is given up */
#define MAX_TRIES 100

/* One relation that a statement writes; its ri_FdwState */
typedef struct MtsModify
{
	MtsWriter *writer;
	MtsEdits *edits;          /* of UPDATE and DELETE */
	MtsReader *reader;        /* of ON CONFLICT DO NOTHING */
	bool is_prompt;           /* must rows be stored before triggers look? */
	Tuplestorestate *waiting; /* rows that the statement must not read */
	TupleTableSlot *waiting_slot;
	AttrNumber place; /* junk attributes of the plan's rows */
	AttrNumber old_row;
} MtsModify;

/* ---- Which tables and statements ----------------------------------------- */

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

/* Refuse ON CONFLICT where no one can tell what conflicts. */
static void
check_conflict(const MtsTable *table, OnConflictAction action)
{
	if (action == ONCONFLICT_NONE || table->layout.nslots == 0)
		return;
	if (table->layout.max_points > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO NOTHING is not supported where "
						"option \"bucket_max_points\" is set"),
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
	check_conflict(table, plan->onConflictAction);
	table_close(relation, NoLock);
	return NIL;
}

/* ---- ON CONFLICT DO NOTHING ---------------------------------------------- */

/*
 * Read a bucket; false when a point is stored where its only write goes.
 * Otherwise require that it is as it was read, or that there is none.
 */
static bool
read_bucket(MtsReader *reader, const char *collection, const bson_t *selector,
			MtsPending *bucket)
{
	const MtsLayout *layout = &reader->scan->table->layout;
	MtsBucketSource *source = reader->scan->source;
	const bson_t *document;
	bool is_free = true;
	bson_iter_t id;

	bucket->exists = false;
	bucket->precondition = mts_document_new();
	mts_reader_open(reader, collection, selector);
	while (is_free && (document = mts_source_next(source)))
	{
		if (!bucket->exists && !bson_has_field(selector, "_id") &&
			bson_iter_init_find(&id, document, "_id"))
			bson_append_iter(bucket->precondition, "_id", -1, &id);
		if (!bucket->exists)
			mts_precondition_bucket(layout, document, bucket->precondition);
		bucket->exists = true;
		if (mts_bucket_open(reader->bucket, source, document))
			while (is_free && mts_reader_next_point(reader))
				is_free = mts_reader_find(reader, bucket->writes, 1) < 0;
	}
	if (!bucket->exists)
		mts_precondition_bucket(layout, NULL, bucket->precondition);
	mts_scan_reset(reader->scan);
	return is_free;
}

/*
 * Write a bucket, or a document, with one point; false when another one is
 * stored in its place.  Where no bucket was found, a duplicate key is not an
 * error, but a bucket that another session has made.
 */
static bool
insert_if_free(MtsModify *modify, MtsPending *bucket)
{
	MtsWriter *writer = modify->writer;
	MtsBulk *bulk = &writer->bulk;
	const char *collection =
		mts_collections_at(writer->table, bucket->key.start);
	const bson_t *selector =
		writer->table->layout.nslots > 0
			? mts_row_target_selector(writer->placer, bucket->key.start,
									  bucket->values)
			: NULL;
	int duplicates = 0;
	MtsOp op;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		if (selector &&
			!read_bucket(modify->reader, collection, selector, bucket))
			return false;
		duplicates = bucket->exists ? 1 : duplicates + 1;
		mts_writer_build(writer, bucket, 0, 1, &op);
		op.may_conflict = duplicates <= MTS_MAX_DUPLICATES;
		mts_route_execute(bulk, &op, 1);
		if (!selector || bulk->affected == 1)
			return bulk->affected == 1;
	}
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("other sessions keep changing a bucket of MongoDB "
						   "collection \"%s.%s\"",
						   writer->table->database, collection)));
}

/* Store a row; false when another point is stored in its place. */
static bool
insert_row_if_free(MtsModify *modify, TupleTableSlot *slot)
{
	MtsWriter *writer = modify->writer;
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	bool done = insert_if_free(modify, mts_writer_add(writer, slot));

	mts_writer_discard(writer);
	MemoryContextSwitchTo(old);
	return done;
}

/* ---- INSERT and COPY ----------------------------------------------------- */

/*
 * Refuse a row that does not belong to its partition.  PostgreSQL leaves that to
 * the wrapper; nobody would find the row again.
 */
static void
check_partition(ResultRelInfo *rinfo, TupleTableSlot *row, EState *estate)
{
	if (rinfo->ri_RelationDesc->rd_rel->relispartition)
		(void) ExecPartitionCheck(rinfo, row, estate, true);
}

/* Does another table of the statement show the same collection? */
static bool
is_read_too(const MtsTable *table, Index target, EState *estate)
{
	for (Index i = 1; i <= list_length(estate->es_range_table); i++)
	{
		RangeTblEntry *rte = exec_rt_fetch(i, estate);
		Relation relation;
		MtsTable *other;

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

/* Prepare to write a relation's rows.  is_read: the statement reads them, too. */
static MtsModify *
begin_modify(ResultRelInfo *rinfo, EState *estate, bool keeps, bool is_read)
{
	MtsModify *modify = palloc0(sizeof(MtsModify));
	Relation relation = rinfo->ri_RelationDesc;
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	Oid userid = mts_result_user(rinfo, estate);
	MtsTable *table = mts_table_open(relation);

	modify->writer = mts_writer_new(table, userid);
	modify->is_prompt = triggers && (triggers->trig_insert_before_row ||
									 triggers->trig_insert_after_row ||
									 triggers->trig_insert_after_statement);
	if (!is_read && !is_read_too(table, rinfo->ri_RangeTableIndex, estate))
	{
		if (keeps)
			modify->reader = mts_reader_new(table, userid,
											RelationGetDescr(relation), NULL);
		return modify;
	}
	if (keeps)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ON CONFLICT DO NOTHING is not supported where a "
						"statement reads the collection that it inserts into"),
				 errdetail("It could read what it has inserted."),
				 errhint("Put the rows into a temporary table first.")));
	modify->waiting = tuplestore_begin_heap(false, false, work_mem);
	modify->waiting_slot =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(
									 RelationGetDescr(relation)),
								 &TTSOpsMinimalTuple);
	return modify;
}

/* mtsBeginForeignInsert: prepare for COPY or routed rows. */
void
mtsBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	ModifyTable *plan = (ModifyTable *) mtstate->ps.plan;
	OnConflictAction action = plan ? plan->onConflictAction : ONCONFLICT_NONE;
	MtsModify *modify;

	/* an UPDATE that routes rows has prepared its relations already */
	modify = rinfo->ri_FdwState;
	if (!modify)
		modify = begin_modify(rinfo, mtstate->ps.state,
							  action == ONCONFLICT_NOTHING,
							  mtstate->operation == CMD_UPDATE);
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

	/* a routed row is in its partition, unless a trigger has changed it */
	if (!rinfo->ri_RootResultRelInfo ||
		(rinfo->ri_TrigDesc && rinfo->ri_TrigDesc->trig_insert_before_row))
		check_partition(rinfo, slot, estate);
	/* PostgreSQL looks when the row may be stored already */
	if (rinfo->ri_WithCheckOptions)
		ExecWithCheckOptions(WCO_VIEW_CHECK, rinfo, slot, estate);
	if (modify->reader)
		return insert_row_if_free(modify, slot) ? slot : NULL;
	mts_writer_add(modify->writer, slot);
	if (modify->waiting)
	{
		/* it can be stored, which is all that was to be known now */
		tuplestore_puttupleslot(modify->waiting, slot);
		if (mts_writer_is_full(modify->writer))
			mts_writer_discard(modify->writer);
	}
	else if (modify->is_prompt || mts_writer_is_full(modify->writer))
		mts_writer_flush(modify->writer);
	return slot;
}

/* Send the changes of a relation, once. */
static void
finish_edits(MtsModify *modify)
{
	if (modify->edits)
		mts_edits_finish(modify->edits);
	modify->edits = NULL;
}

/*
 * Send the changes of all the statement's relations: rows may come from a
 * collection that they leave.
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

/* Send what has been inserted. */
static void
store_rows(MtsModify *modify, EState *estate)
{
	if (modify->waiting)
	{
		finish_all_edits(estate);
		mts_writer_discard(modify->writer);
		while (tuplestore_gettupleslot(modify->waiting, true, false,
									   modify->waiting_slot))
		{
			mts_writer_add(modify->writer, modify->waiting_slot);
			if (mts_writer_is_full(modify->writer))
				mts_writer_flush(modify->writer);
		}
		ExecClearTuple(modify->waiting_slot);
		tuplestore_end(modify->waiting);
		modify->waiting = NULL;
	}
	mts_writer_flush(modify->writer);
}

/* mtsEndForeignModify: send what is left, and all changes. */
void
mtsEndForeignModify(EState *estate, ResultRelInfo *rinfo)
{
	MtsModify *modify = rinfo->ri_FdwState;

	if (!modify)
		return;
	finish_edits(modify);
	store_rows(modify, estate);
	rinfo->ri_FdwState = NULL;
}

/* mtsEndForeignInsert: send what is left. */
void
mtsEndForeignInsert(EState *estate, ResultRelInfo *rinfo)
{
	mtsEndForeignModify(estate, rinfo);
}

/* ---- UPDATE and DELETE --------------------------------------------------- */

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
		begin_modify(rinfo, estate,
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
	modify->edits = mts_edits_new(rinfo->ri_RelationDesc, modify->writer,
								  mts_result_user(rinfo, estate),
								  ((MtsScanNode *) search.found->fdw_state)
									  ->scan->bucket->row_ids);
}

/* Note a change of the row that the plan has given, which gets *old_row. */
static bool
add_edit(const MtsModify *modify, TupleTableSlot *planSlot, Datum *old_row,
		 TupleTableSlot *new_row)
{
	bool no_place, no_row;
	Datum tid = ExecGetJunkAttribute(planSlot, modify->place, &no_place);

	*old_row = ExecGetJunkAttribute(planSlot, modify->old_row, &no_row);
	if (no_place || no_row)
		elog(ERROR, "a row to be changed has no place or no old values");
	return mts_edits_add(modify->edits, (ItemPointer) DatumGetPointer(tid),
						 *old_row, new_row);
}

/* mtsExecForeignUpdate: take a change; NULL when the row is taken already. */
TupleTableSlot *
mtsExecForeignUpdate(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	Datum old_row;

	check_partition(rinfo, slot, estate);
	return add_edit(rinfo->ri_FdwState, planSlot, &old_row, slot) ? slot
																  : NULL;
}

/* mtsExecForeignDelete: take a removal; the slot gets the row as it was. */
TupleTableSlot *
mtsExecForeignDelete(EState *estate, ResultRelInfo *rinfo,
					 TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	Datum old_row;
	HeapTupleData tuple = {0};

	if (!add_edit(rinfo->ri_FdwState, planSlot, &old_row, NULL))
		return NULL;
	/* as a tuple, because RETURNING may look at its system columns */
	tuple.t_data = DatumGetHeapTupleHeader(old_row);
	tuple.t_len = HeapTupleHeaderGetDatumLength(tuple.t_data);
	ItemPointerSetInvalid(&tuple.t_self);
	ExecForceStoreHeapTuple(heap_copytuple(&tuple), slot, true);
	return slot;
}

/* ---- TRUNCATE, EXPLAIN --------------------------------------------------- */

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
		all = mts_collections_list(table, GetUserId(), false);
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
