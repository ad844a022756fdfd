/*
 * insert.c
 *		INSERT, COPY and routed rows, as the executor gives them.
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
 */
#include "modify.h"

#include "access/table.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "collections.h"
#include "command.h"
#include "compat.h"
#include "document.h"
#include "insert.h"
#include "precondition.h"
#include "route.h"

/* A bucket that changes this often between two looks is given up */
#define MAX_TRIES 100

/* ---- ON CONFLICT DO NOTHING ---------------------------------------------- */

/*
 * mts_insert_check_conflict
 *		Refuse ON CONFLICT where no one can tell what conflicts.
 */
void
mts_insert_check_conflict(const MtsTable *table, OnConflictAction action)
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

/* Is a point stored where the only write of a bucket goes? */
static bool
is_stored(MtsReader *reader, const char *collection, const bson_t *selector,
		  const MtsPending *bucket)
{
	bool found = false;

	mts_reader_open(reader, collection, selector);
	while (!found && mts_reader_next_bucket(reader))
		while (!found && mts_reader_next_point(reader))
			found = mts_reader_find(reader, bucket->writes, 1) >= 0;
	mts_scan_reset(reader->scan);
	return found;
}

/* Require that a bucket is as it was read; NULL: that there is none. */
static void
require_bucket(const MtsLayout *layout, const bson_t *document,
			   const bson_t *selector, MtsPending *bucket)
{
	bson_iter_t id;

	bucket->exists = document != NULL;
	bucket->precondition = mts_document_new();
	if (document && !bson_has_field(selector, "_id") &&
		bson_iter_init_find(&id, document, "_id"))
		bson_append_iter(bucket->precondition, "_id", -1, &id);
	mts_precondition_bucket(layout, document, bucket->precondition);
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
	const MtsLayout *layout = &writer->table->layout;
	const char *collection =
		mts_collection_at(writer->table, bucket->key.start);
	const bson_t *selector =
		layout->nslots > 0
			? mts_place_selector(writer->placer, bucket->key.start,
								 bucket->values)
			: NULL;
	int duplicates = 0;
	MtsOp op;

	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		if (selector)
		{
			const bson_t *document =
				mts_remote_first(bulk->connection, bulk->database, collection,
								 &(MtsFind){.filter = selector,
											.on_primary = true});

			if (is_stored(modify->reader, collection, selector, bucket))
				return false;
			require_bucket(layout, document, selector, bucket);
			duplicates = document ? 1 : duplicates + 1;
		}
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

/* ---- Rows ---------------------------------------------------------------- */

/*
 * mts_insert_check_partition
 *		Refuse a row that does not belong to its partition.
 *
 * PostgreSQL leaves that to the wrapper; nobody would find the row again.
 */
void
mts_insert_check_partition(ResultRelInfo *rinfo, TupleTableSlot *row,
						   EState *estate)
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
			!mts_command_is_ours(
				GetForeignServer(GetForeignTable(rte->relid)->serverid)))
			continue;
		relation = table_open(rte->relid, NoLock);
		other = mts_table_open(relation);
		table_close(relation, NoLock);
		if (mts_collections_overlap(table, other))
			return true;
	}
	return false;
}

/*
 * mts_insert_begin
 *		Prepare to write a relation's rows.
 *
 * is_read: the statement reads them, too.
 */
MtsModify *
mts_insert_begin(ResultRelInfo *rinfo, EState *estate, bool keeps,
				 bool is_read)
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
		modify = mts_insert_begin(rinfo, mtstate->ps.state,
								  action == ONCONFLICT_NOTHING,
								  mtstate->operation == CMD_UPDATE);
	mts_modify_check(modify->writer->table, rinfo->ri_RelationDesc,
					 CMD_INSERT);
	mts_insert_check_conflict(modify->writer->table, action);
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
		mts_insert_check_partition(rinfo, slot, estate);
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

/*
 * mts_insert_end
 *		Send what is left, and all changes.
 */
void
mts_insert_end(EState *estate, ResultRelInfo *rinfo)
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
	mts_insert_end(estate, rinfo);
}
