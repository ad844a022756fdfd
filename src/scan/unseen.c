/*
 * unseen.c
 *		Warn of columns whose field no document has.
 *
 * A wrong name causes no error: the column is null in all rows, and a
 * condition on it finds none.  So a scan doubts the columns that it needs and
 * whose field was in none of its documents; or, if it read no document, those
 * that its conditions test.  An optional field may be in other documents, so
 * MongoDB is asked whether any document has it.  The warning is thus never
 * wrong.  It is given once per session and column.
 *
 * MongoDB finds a field at once if most documents have it, and otherwise reads
 * all documents.  So it is asked only about small collections, once per
 * session and column.  mongo_ts_check() samples any collection.
 *
 * The field is the part of the path before its first slot.
 */
#include "scan/unseen.h"

#include "access/parallel.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/command.h"
#include "driver/document.h"
#include "pushdown/qual.h"
#include "table/known.h"

/* Collections with more documents are not asked about fields. */
#define MAX_DOCUMENTS 10000

/* How long MongoDB may look for a field, in milliseconds */
#define MAX_TIME 100

/* Everything is forgotten when there are so many entries. */
#define MAX_ENTRIES 10000

/* A column that this session doubts no more */
typedef struct Settled
{
	Oid relid;
	int32 column;
	uint32 field; /* a hash, with the collection's name: options may change */
} Settled;

static HTAB *settled = NULL;

/* Write the field of a column, as queries address it. */
static void
write_field(const MtsTable *table, int column, char field[MTS_MAX_PATH])
{
	const MtsPath *path = &table->layout.columns[column].path;

	mts_path_dotted(path->steps, mts_path_leading_names(path), field,
					MTS_MAX_PATH);
}

/* Tell whether a column is settled; if not, settle it if that is asked for. */
static bool
is_settled(const MtsTable *table, int column, bool settle)
{
	Settled key = {table->relid, column, 0};
	HASHCTL control = {.keysize = sizeof(Settled),
					   .entrysize = sizeof(Settled),
					   .hcxt = TopMemoryContext};
	char field[MTS_MAX_PATH];
	bool found;

	write_field(table, column, field);
	key.field = hash_combine(string_hash(field, sizeof(field)),
							 string_hash(table->collection, sizeof(field)));
	if (settled && hash_get_num_entries(settled) >= MAX_ENTRIES)
	{
		hash_destroy(settled);
		settled = NULL;
	}
	if (!settled)
		settled = hash_create("mongo_ts_fdw fields", 64, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	(void) hash_search(settled, &key, settle ? HASH_ENTER : HASH_FIND, &found);
	return found;
}

/*
 * Tell whether a query can ask for the field of a column: for a dotted path,
 * or for a name of the document itself.
 */
static bool
can_be_asked(const MtsTable *table, int column)
{
	const MtsColumn *layout_column = &table->layout.columns[column];
	int names = mts_path_leading_names(&layout_column->path);

	return !table->attributes[column].dropped &&
		   layout_column->role != MTS_ROLE_SLOT && names > 0 &&
		   (names == 1 ||
			mts_path_addressable_steps(&layout_column->path) >= names);
}

/*
 * mts_unseen_new
 *		Doubt the columns of a scan; NULL if there are none.
 *
 * attnums are the attributes that the query needs; 0 is the whole row.  The
 * buckets of a native collection lack fields, and a rolling set has many
 * collections, so these are not doubted.  Neither are those of a worker, whose
 * leader doubts them.
 */
MtsUnseen *
mts_unseen_new(const MtsTable *table, List *attnums)
{
	MtsUnseen *unseen;
	int n = table->layout.ncolumns;

	if (table->native || table->rolling_name || IsParallelWorker())
		return NULL;
	unseen = palloc0(sizeof(MtsUnseen));
	unseen->columns = palloc0((n + 1) * sizeof(bool));
	for (int i = 0; i < n; i++)
	{
		unseen->columns[i] =
			(list_member_int(attnums, 0) || list_member_int(attnums, i + 1)) &&
			can_be_asked(table, i) && !is_settled(table, i, false);
		unseen->n += unseen->columns[i];
	}
	return unseen->n > 0 ? unseen : NULL;
}

/* mts_unseen_read: doubt no column whose field a document has. */
void
mts_unseen_read(MtsUnseen *unseen, const MtsTable *table,
				const bson_t *document)
{
	const MtsLayout *layout = &table->layout;
	MtsElement root =
		mts_element_document(bson_get_data(document), document->len);

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *path = &layout->columns[i].path;
		MtsElement element;

		if (!unseen->columns[i] ||
			mts_path_find(&root, path->steps, mts_path_leading_names(path),
						  &element) == MTS_ABSENT)
			continue;
		unseen->columns[i] = false;
		unseen->n--;
	}
}

/* Tell whether a condition tests a column. */
static bool
tests_column(List *quals, int column)
{
	ListCell *lc;

	foreach (lc, quals)
	{
		const MtsQual *qual = lfirst(lc);

		if (qual->kind == MTS_QUAL_AND || qual->kind == MTS_QUAL_OR
				? tests_column(qual->args, column)
				: qual->column == column)
			return true;
	}
	return false;
}

/* Tell whether MongoDB answers that no document has a field. */
static bool
is_in_no_document(MtsConnection *connection, const MtsTable *table, Oid userid,
				  int column)
{
	const MtsPath *path = &table->layout.columns[column].path;
	bson_t *filter = mts_document_new();
	char field[MTS_MAX_PATH];
	const bson_t *reply;
	bson_iter_t iter, batch, first;
	uint32 code;

	write_field(table, column, field);
	if (mts_path_addressable_steps(path) > 0)
		mts_template_append(filter, field, "{$exists: true}");
	else
		/* a name with periods; unknown to servers before 5.0 */
		mts_template_fields(
			filter,
			"{$expr: {$ne: [{$type: {$getField: {$literal: %s}}}, 'missing']}}",
			field);
	reply = mts_command_ask_soon(
		connection, table->database,
		mts_document_make("{find: %s, filter: %o, projection: {_id: 1},"
						  " limit: 1, singleBatch: true, maxTimeMS: %d}",
						  mts_document_utf8(table->collection), filter,
						  MAX_TIME),
		MTS_FROM_PREFERRED, &code);
	if (!reply && code == 0)
		mts_known_record_silence(table->serverid, userid);
	return reply && bson_iter_init(&iter, reply) &&
		   bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) &&
		   bson_iter_recurse(&batch, &first) && !bson_iter_next(&first);
}

/* Tell whether MongoDB may be asked now about fields of a collection. */
static bool
may_ask(const MtsConnection *connection, const MtsTable *table, Oid userid)
{
	const MtsKnown *known;

	if (mts_known_server_is_silent(table->serverid, userid))
		return false;
	known = mts_known_collection(table->serverid, userid, table->database,
								 table->collection);
	/* giving up an answer would close the cursors of the connection */
	return connection->pins == 0 && known->documents > 0 &&
		   known->documents <= MAX_DOCUMENTS &&
		   mts_known_is_recent(known->counted);
}

/*
 * mts_unseen_report
 *		Warn of doubted columns whose field no document has.
 *
 * The scan has ended, with its cursor closed.  It read so many documents, and
 * has these conditions, a List of MtsQual.
 */
void
mts_unseen_report(MtsUnseen *unseen, const MtsTable *table, Oid userid,
				  int64 documents, List *quals)
{
	TimestampTz begun = GetCurrentTimestamp();
	MtsConnection *connection;

	if (unseen->n == 0 || (documents == 0 && quals == NIL))
		return;
	connection = mts_connection_get(table->serverid, userid);
	/* the questions together take little longer than one may */
	for (int i = 0;
		 i < table->layout.ncolumns &&
		 !TimestampDifferenceExceeds(begun, GetCurrentTimestamp(), MAX_TIME);
		 i++)
	{
		char field[MTS_MAX_PATH];

		if (!unseen->columns[i] ||
			(documents == 0 && !tests_column(quals, i)) ||
			!may_ask(connection, table, userid) || is_settled(table, i, true))
			continue;
		if (!is_in_no_document(connection, table, userid, i))
			continue;
		write_field(table, i, field);
		ereport(
			WARNING,
			(errmsg("no document of MongoDB collection \"%s.%s\" has "
					"field \"%s\" of column \"%s\"",
					table->database, table->collection,
					mts_document_text(field), table->layout.columns[i].name),
			 errhint(
				 "SELECT * FROM mongo_ts_check(%s) shows which fields the documents have.",
				 quote_literal_cstr(mts_table_name(table->relid)))));
	}
}
