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
 *
 * A duplicate key aborts the transaction of MongoDB, which is begun again with
 * all its writes (xact.c).  So after the first one in a collection, a
 * transaction first looks for a document with the same key.
 */
#include "modify/on_conflict.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "modify/route.h"
#include "table/index.h"

/* A bucket that changes this often between read and write is given up */
#define MAX_TRIES 100

/* A collection that has refused a row of the statement */
typedef struct Refusal
{
	const char *collection;
	MtsIndexFields *indexes;
	int nindexes;
} Refusal;

/*
 * The time or the declared key of a table of flat documents that may be stored
 * in several forms, or NULL.  A unique index compares the forms.
 */
static const char *
find_ambiguous(const MtsTable *table)
{
	const MtsLayout *layout = &table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if ((i == layout->time_column || (column->role == MTS_ROLE_KEY &&
										  table->attributes[i].has_role)) &&
			!mts_format_is_unique(&column->format))
			return column->name;
	}
	return NULL;
}

/*
 * mts_on_conflict_check
 *		Refuse ON CONFLICT where rows cannot be compared with stored points.
 */
void
mts_on_conflict_check(const MtsTable *table, OnConflictAction action)
{
	const char *ambiguous;

	if (action == ONCONFLICT_NONE)
		return;
	if (table->layout.nslots == 0)
	{
		ambiguous = find_ambiguous(table);
		if (ambiguous)
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg(
					 "ON CONFLICT DO NOTHING is not supported with the format of column \"%s\"",
					 ambiguous),
				 errdetail("Several texts mean the same time, and a unique "
						   "index does not recognise it."),
				 errhint(
					 "If all texts have one form, set the format to its pattern, such as text:YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\".")));
		return;
	}
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
			mts_bucket_reader_require_bucket(layout, document,
											 write->required);
		}
		if (mts_bucket_open(reader->bucket, source, document))
			while (slot_is_free && mts_bucket_reader_next_point(reader))
				slot_is_free =
					mts_bucket_reader_find_change(reader, write) < 0;
	}
	if (write->kind == MTS_BUCKET_UPSERT)
		mts_bucket_reader_require_bucket(layout, NULL, write->required);
	mts_scan_reset(reader->scan);
	return slot_is_free;
}

/* ---- Duplicate keys ----------------------------------------------------- */

static const Refusal *
find_refusal(const MtsWriter *writer, const char *collection)
{
	ListCell *lc;

	foreach (lc, writer->refusals)
		if (strcmp(((const Refusal *) lfirst(lc))->collection, collection) ==
			0)
			return lfirst(lc);
	return NULL;
}

/* Remember the unique indexes of a collection that has refused a row. */
static void
record_refusal(MtsWriter *writer, const MtsOp *op)
{
	const MtsBulk *bulk = &writer->bulk;
	MemoryContext old;
	Refusal *refusal;

	if (bulk->scope < MTS_STATEMENT || find_refusal(writer, op->collection))
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(writer));
	refusal = palloc(sizeof(Refusal));
	refusal->collection = pstrdup(op->collection);
	refusal->indexes = mts_index_list(bulk->connection, bulk->database,
									  refusal->collection, &refusal->nindexes);
	writer->refusals = lappend(writer->refusals, refusal);
	MemoryContextSwitchTo(old);
}

/*
 * Append the condition that a document has the same key as another one to an
 * array, if MongoDB's comparison decides that as the index does.
 *
 * An array has several keys, null is the key of an absent field, too, and two
 * paths can lead to different elements of one array.
 */
static void
append_same_key(const bson_t *document, const MtsIndexFields *index,
				bson_t *terms)
{
	bson_t *term = mts_document_new();
	int ndotted = 0;
	bson_iter_t iter, value;

	for (int i = 0; i < index->nfields; i++)
	{
		const char *path = index->fields[i];

		ndotted += strchr(path, '.') != NULL;
		if (ndotted > 1 || !bson_iter_init(&iter, document) ||
			!bson_iter_find_descendant(&iter, path, &value) ||
			BSON_ITER_HOLDS_NULL(&value) || BSON_ITER_HOLDS_ARRAY(&value))
			return;
		mts_template_fields(term, "{%s: {$eq: %v}}", path,
							bson_iter_value(&value));
	}
	mts_template_push(terms, "%o", term);
}

/*
 * Tell whether a document with the same key as a new one is found.  If not,
 * the insert may still be refused.
 */
static bool
is_duplicate(const MtsWriter *writer, const MtsOp *insert)
{
	const MtsBulk *bulk = &writer->bulk;
	const Refusal *refusal = find_refusal(writer, insert->collection);
	bson_t *terms = mts_document_new();
	MtsFind find = {.projection = mts_document_make("{_id: 1}"),
					.on_primary = true,
					.in_xact = true,
					.before = InvalidCommandId};

	if (!refusal || !mts_xact_is_active(bulk->connection->serverid))
		return false;
	for (int i = 0; i < refusal->nindexes; i++)
		if (refusal->indexes[i].is_unique)
			append_same_key(mts_op_form(insert)->document,
							&refusal->indexes[i], terms);
	find.filter = mts_document_make("{$or: %a}", terms);
	return !bson_empty(terms) &&
		   mts_cursor_first(bulk->connection, bulk->database,
							insert->collection, &find);
}

/* ---- Rows --------------------------------------------------------------- */

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
	if (writer->marks)
	{
		mts_rollup_mark_add(writer->marks, write->changes[0]->time,
							write->changes[0]->time);
		mts_rollup_mark_send(writer->marks);
	}
	for (int tries = 0; tries < MAX_TRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		if (selector && !read_bucket(reader, selector, write))
			return false;
		duplicates = write->kind == MTS_BUCKET_UPDATE ? 1 : duplicates + 1;
		(void) mts_bucket_write_ops(writer->targeting, write,
									duplicates <= MTS_MAX_DUPLICATES
										? MTS_TRY_UNLESS_STORED
										: 0,
									&op);
		if (!selector && is_duplicate(writer, &op))
			return false;
		mts_route_execute(bulk, &op, 1);
		if (bulk->affected == 1)
			return true;
		if (selector)
			continue;
		record_refusal(writer, &op);
		return false;
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
