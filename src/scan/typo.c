/*
 * typo.c
 *		Warn of names that are probably misspelt.
 *
 * The wrong name of a collection, or of a field that holds points, causes no
 * error: there are no rows.  So a scan that has read no document asks once in
 * a session whether its collection exists, and names a similar one.  A scan
 * that has read documents warns if none of them has a field that holds the
 * points of a needed column.  If it needs only the time or the number of
 * points, any such field will do.  A column of documents may be optional, so
 * the scan warns of it only if many documents lack its field.  A column that a
 * path names as a slot, or whose times are keys, has no field.
 *
 * Documents that are read by the outline of another one have the same fields.
 * The documents of a condition, and those that roll-ups leave open, may lack a
 * field that others have, so nothing is said of their fields.
 *
 * A rolling set may have no collection: nothing is said of it.
 * mongo_ts_check() says more.
 */
#include "scan/typo.h"

#include "common/hashfn.h"
#include "utils/builtins.h"

#include "driver/document.h"
#include "table/known.h"

/* Fewer documents may lack a field that is optional. */
#define MIN_DOCUMENTS 20

/* ---- Fields ------------------------------------------------------------- */

/* Tell whether the current document has the field that holds a container. */
static bool
has_container(const MtsBucket *bucket, int container)
{
	const MtsPath *path = bucket->table->layout.containers[container].path;
	MtsElement element;

	return mts_path_find(&bucket->unfold.document, path->steps,
						 mts_path_leading_names(path), &element) != MTS_ABSENT;
}

/* The container of an output, or -1 */
static int
container_of(const MtsBucket *bucket, int output)
{
	int column = bucket->outputs[output].column;

	return bucket->table->layout.columns[column].container;
}

/* Look for the fields of needed columns of documents. */
static void
find_fields(const MtsBucket *bucket)
{
	for (int i = 0; i < bucket->noutputs; i++)
	{
		MtsOutput *output = &bucket->outputs[i];
		const MtsPath *path =
			&bucket->table->layout.columns[output->column].path;
		MtsElement element;
		int n;

		if (output->was_found)
			continue;
		n = mts_path_leading_names(path);
		output->was_found =
			bucket->table->layout.columns[output->column].role ==
				MTS_ROLE_SLOT ||
			container_of(bucket, i) >= 0 || n == 0 ||
			mts_path_find(&bucket->unfold.document, path->steps, n,
						  &element) != MTS_ABSENT;
	}
}

/* mts_typo_record: record which of the fields the open bucket has. */
void
mts_typo_record(const MtsBucket *bucket)
{
	bool needs_values = false;

	find_fields(bucket);

	if (!bucket->unfold.lacks_container)
		return;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int container = container_of(bucket, i);

		if (container >= 0 && has_container(bucket, container))
			return;
		needs_values |= container >= 0;
	}
	for (int i = 0; i < bucket->table->layout.ncontainers; i++)
		if (!needs_values && has_container(bucket, i))
			return;
	bucket->counters->lacking++;
}

/* The first column of the points, a needed one if there is any */
static const MtsColumn *
find_column(const MtsBucket *bucket)
{
	const MtsColumn *column = bucket->table->layout.columns;

	for (int i = 0; i < bucket->noutputs; i++)
		if (container_of(bucket, i) >= 0)
			return &bucket->table->layout.columns[bucket->outputs[i].column];
	while (column->container < 0)
		column++;
	return column;
}

/* Record a warning; false if it has been given, unless that was long ago. */
static bool
record_warning(MtsKnown *known, uint32 hash)
{
	for (int i = 0; i < MTS_KNOWN_WARNINGS; i++)
		if (known->warned[i] == hash)
			return false;
	known->warned[known->nwarned++ % MTS_KNOWN_WARNINGS] = hash;
	return true;
}

/* Warn once of a column whose field no document had. */
static void
report_field(const MtsBucket *bucket, const MtsColumn *column, MtsKnown *known)
{
	const MtsTable *table = bucket->table;
	char field[MTS_MAX_PATH];
	uint32 hash;

	mts_path_dotted(column->path.steps, mts_path_leading_names(&column->path),
					field, sizeof(field));
	hash = hash_combine(string_hash(field, sizeof(field)), table->relid);
	if (!record_warning(known, hash))
		return;
	ereport(
		WARNING,
		(errmsg("no document that was read from MongoDB collection "
				"\"%s.%s\" has field \"%s\" of column \"%s\"",
				table->database, table->collection, mts_document_text(field),
				column->name),
		 errhint(
			 "SELECT * FROM mongo_ts_check(%s) shows which fields the documents have.",
			 quote_literal_cstr(mts_table_name(table->relid)))));
}

/* ---- The collection ----------------------------------------------------- */

/* Warn if the collection does not exist. */
static void
report_collection(const MtsTable *table, Oid userid)
{
	MtsConnection *connection = mts_connection_get(table->serverid, userid);
	const char *similar;
	List *names;

	/* giving up an answer would close the cursors of the connection */
	if (connection->pins > 0 ||
		!mts_cursor_try_list_names(connection, table->database,
								   mts_document_new(), &names))
		return;
	similar = mts_collections_similar(names, table->collection);
	if (similar && strcmp(similar, table->collection) == 0)
		return;
	ereport(WARNING,
			(errmsg("MongoDB database \"%s\" has no collection \"%s\"",
					table->database, table->collection),
			 similar
				 ? errhint("Perhaps you meant the collection \"%s\".", similar)
				 : 0));
}

/*
 * mts_typo_report
 *		Warn of what a scan has not found.
 *
 * The scan has sent its query and has ended, with its cursor closed.  Of a
 * part of the documents, fields are not reported.
 */
void
mts_typo_report(const MtsBucket *bucket, Oid userid, bool is_of_part)
{
	const MtsTable *table = bucket->table;
	const MtsCounters *counters = bucket->counters;
	MtsKnown *known;

	if (table->native || table->rolling_name ||
		(counters->buckets > 0 && is_of_part) ||
		mts_known_server_is_silent(table->serverid, userid))
		return;
	known = mts_known_collection(table->serverid, userid, table->database,
								 table->collection);
	if (counters->buckets > counters->lacking)
		for (int i = 0;
			 i < bucket->noutputs && counters->buckets >= MIN_DOCUMENTS; i++)
		{
			if (!bucket->outputs[i].was_found)
				report_field(bucket,
							 &table->layout.columns[bucket->outputs[i].column],
							 known);
		}
	else if (counters->buckets > 0)
		report_field(bucket, find_column(bucket), known);
	else if (!known->was_looked_for && known->documents == 0)
	{
		known->was_looked_for = true;
		report_collection(table, userid);
	}
}
