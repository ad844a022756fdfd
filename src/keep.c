/*
 * keep.c
 *		Insert a point unless one is stored in its place.
 *
 * The bucket is read, and written under the condition that what holds its
 * points is as it was read; else it is read again.  A document that is a row
 * conflicts by the collection's unique indexes.  Each row is sent by itself,
 * since only so the server tells whether it was stored.
 */
#include "keep.h"

#include "access/tupdesc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "document.h"
#include "guard.h"
#include "route.h"
#include "scan.h"

/* A bucket that changes this often between two looks is given up */
#define MAX_TRIES 100

struct MtsKeep
{
	MtsWriter *writer;
	MtsScan *reader;
	ExprContext *econtext;
	TupleTableSlot *row;
	const bson_t *bucket; /* as it was read last; NULL: there is none */
};

/* Prepare to insert into a table. */
MtsKeep *
mts_keep_new(MtsWriter *writer, Relation relation, Oid userid)
{
	MtsKeep *keep = palloc0(sizeof(MtsKeep));

	keep->writer = writer;
	keep->reader = mts_scan_new(writer->table, userid, list_make1_int(0));
	keep->econtext = CreateStandaloneExprContext();
	keep->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(
											 RelationGetDescr(relation)),
										 &TTSOpsVirtual);
	return keep;
}

/*
 * Is the point that was read in the place of the new one?  Elements of an
 * array have their time for a place.
 */
static bool
is_same_place(const MtsKeep *keep, const MtsWrite *write)
{
	const MtsLayout *layout = &keep->writer->table->layout;
	const MtsPoint *point = &keep->reader->point;

	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY
				? strcmp(point->slots[i].text, write->texts[i]) != 0
				: layout->slots[i]->kind != MTS_STEP_ELEMENT &&
					  point->slots[i].index != write->index[i])
			return false;
	return layout->write_mode != MTS_WRITE_PUSH || point->time == write->time;
}

/* Is a point stored in the new one's place? */
static bool
is_stored(MtsKeep *keep, const bson_t *selector, const MtsWrite *write)
{
	bool found = false;

	mts_scan_set_filter(keep->reader, selector);
	while (!found && mts_scan_next(keep->reader, keep->econtext, keep->row))
		found = is_same_place(keep, write);
	mts_scan_reset(keep->reader);
	return found;
}

/*
 * Write the point, if its bucket is as it was read.  may_conflict: a duplicate
 * key is not an error, but a bucket that another session has made.
 */
static bool
try_write(MtsKeep *keep, MtsOp *op, const bson_t *selector, bool may_conflict)
{
	MtsBulk *bulk = &keep->writer->bulk;
	bson_t *guarded = bson_copy(selector);
	bson_iter_t id;

	mts_document_adopt(guarded);
	op->selector = guarded;
	op->may_conflict = may_conflict;
	if (keep->bucket)
	{
		op->kind = MTS_OP_UPDATE;
		if (!bson_has_field(guarded, "_id") &&
			bson_iter_init_find(&id, keep->bucket, "_id"))
			bson_append_iter(guarded, "_id", -1, &id);
	}
	mts_guard_containers(&keep->writer->table->layout, keep->bucket, guarded);
	mts_route_execute(bulk, op, 1);
	return bulk->affected == 1;
}

/* Insert a document; false when a unique index has another one. */
static bool
insert_document(MtsKeep *keep)
{
	MtsWriter *writer = keep->writer;
	MtsOp *op = llast(writer->documents);

	op->may_conflict = true;
	mts_route_execute(&writer->bulk, op, 1);
	return writer->bulk.made == 1;
}

/* Store the pending point, unless one is stored in its place. */
static bool
insert_point(MtsKeep *keep)
{
	MtsWriter *writer = keep->writer;
	MtsPending *pending = writer->last;
	const bson_t *selector =
		mts_place_selector(writer->placer, pending->key.start,
						   pending->values);
	const char *collection =
		mts_collection_at(writer->table, pending->key.start);
	int duplicates = 0;
	MtsOp op;

	mts_scan_set_collection(keep->reader, collection);
	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		keep->bucket = mts_remote_first(writer->bulk.connection,
										writer->bulk.database, collection,
										&(MtsFind){.filter = selector,
												   .on_primary = true});
		if (is_stored(keep, selector, pending->writes[0]))
			return false;
		mts_writer_build(writer, pending, 0, 1, &op);
		if (keep->bucket)
			duplicates = 0;
		if (try_write(keep, &op, selector, duplicates++ < MTS_MAX_DUPLICATES))
			return true;
	}
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("other sessions keep changing a bucket of MongoDB "
						   "collection \"%s.%s\"",
						   writer->table->database, collection)));
}

/*
 * mts_keep_insert
 *		Store a row; false when another point is stored in its place.
 */
bool
mts_keep_insert(MtsKeep *keep, TupleTableSlot *slot)
{
	MtsWriter *writer = keep->writer;
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	bool done;

	mts_writer_add(writer, slot);
	done = writer->table->layout.nslots == 0 ? insert_document(keep)
											 : insert_point(keep);
	mts_writer_discard(writer);
	MemoryContextSwitchTo(old);
	return done;
}
