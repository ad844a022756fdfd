/*
 * on_conflict.c
 *		Insert a row unless a point is stored in its slot.
 *
 * MongoDB has no such upsert of a slot.  The bucket is read, and is written
 * under the condition that its points are as they were read; where another
 * session has changed them, it is read again.  A document that is a row
 * conflicts by the unique indexes of its collection.
 *
 * Each row is sent by itself, because only then does the server's answer tell
 * whether it was stored.
 */
#include "modify/on_conflict.h"

#include "miscadmin.h"

#include "driver/document.h"
#include "modify/precondition.h"
#include "modify/route.h"

/* A bucket that changes this often between read and write is given up */
#define MAX_TRIES 100

/*
 * mts_on_conflict_check
 *		Refuse ON CONFLICT where rows cannot be compared with stored points.
 */
void
mts_on_conflict_check(const MtsTable *table, OnConflictAction action)
{
	if (action == ONCONFLICT_NONE)
		return;
	if (table->layout.nslots == 0)
		return;
	if (table->layout.max_points > 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "ON CONFLICT DO NOTHING is not supported with option \"bucket_max_points\""),
			 errdetail("The point may be stored in another bucket of the "
					   "same time.")));
	if (table->layout.write_mode == MTS_WRITE_PUSH &&
		table->layout.time_kind != MTS_TIME_POINT)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "ON CONFLICT DO NOTHING is not supported for array elements without a time of their own"),
			 errdetail("Such elements cannot be compared with the new row.")));
}

/*
 * Read the bucket of a write that stores one point; return false when a point
 * is stored in the same slot.  Otherwise require of the write that the bucket
 * is as it was read, or that there is none.
 */
static bool
read_bucket(MtsBucketReader *reader, const bson_t *selector,
			MtsBucketWrite *write)
{
	const MtsLayout *layout = &reader->scan->table->layout;
	MtsBucketSource *source = reader->scan->source;
	const bson_t *document;
	bool slot_is_free = true;

	write->kind = MTS_BUCKET_UPSERT;
	write->required = mts_document_new();
	mts_bucket_reader_open(reader, write->collection, selector);
	while (slot_is_free && (document = mts_source_next(source)))
	{
		if (write->kind == MTS_BUCKET_UPSERT)
		{
			write->kind = MTS_BUCKET_UPDATE;
			/* views have documents without one; MongoDB refuses the write */
			if (!bson_has_field(selector, "_id") &&
				bson_has_field(document, "_id"))
				mts_source_append_id(source, document, write->required, "_id");
			mts_precondition_bucket(layout, document, write->required);
		}
		if (mts_bucket_open(reader->bucket, source, document))
			while (slot_is_free && mts_bucket_reader_next_point(reader))
				slot_is_free =
					mts_bucket_reader_find_change(reader, write) < 0;
	}
	if (write->kind == MTS_BUCKET_UPSERT)
		mts_precondition_bucket(layout, NULL, write->required);
	mts_scan_reset(reader->scan);
	return slot_is_free;
}

/*
 * Send the write of one point; return false when another point is stored in
 * its slot.  A duplicate key means that another session has made the bucket;
 * met too often, it is an error.  For a document that is a row, a duplicate
 * key means that the row conflicts.
 */
static bool
store(MtsWriter *writer, MtsBucketReader *reader, MtsBucketWrite *write)
{
	MtsBulk *bulk = &writer->bulk;
	const bson_t *selector = NULL;
	int duplicates = 0;
	MtsOp op;

	if (writer->table->layout.nslots > 0)
		selector = mts_row_target_selector(writer->targeting, write->start,
										   write->values);
	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		if (selector && !read_bucket(reader, selector, write))
			return false;
		duplicates = write->kind == MTS_BUCKET_UPDATE ? 1 : duplicates + 1;
		(void) mts_bucket_write_ops(writer->targeting, write, &op);
		op.ignores_duplicate = duplicates <= MTS_MAX_DUPLICATES;
		mts_route_execute(bulk, &op, 1);
		if (!selector || bulk->affected == 1)
			return bulk->affected == 1;
	}
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("other sessions keep changing a bucket of MongoDB "
						   "collection \"%s.%s\"",
						   writer->table->database, write->collection),
					errhint("Run the statement again.")));
}

/*
 * mts_on_conflict_insert
 *		Store a row; return false when a point is stored in its slot.
 */
bool
mts_on_conflict_insert(MtsWriter *writer, MtsBucketReader *reader,
					   TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	bool is_stored = store(writer, reader, mts_writer_add(writer, slot));

	mts_writer_discard(writer);
	MemoryContextSwitchTo(old);
	return is_stored;
}
