/*
 * import.c
 *		Turns the collections of a database into CREATE FOREIGN TABLE
 *		statements.
 *
 * Each collection is sampled, core/infer finds the layout of the samples, and
 * the statement is returned to PostgreSQL, which runs it.  What the samples
 * leave open is reported in NOTICEs.
 */
#include "import/import.h"

#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "table/option.h"
#include "table/zone.h"

#define DEFAULT_SAMPLE_SIZE 100

/* Memory of the inference belongs to the current context. */
static void *
resize(void *memory, size_t size)
{
	return memory ? repalloc_huge(memory, size)
				  : MemoryContextAllocHuge(CurrentMemoryContext, size);
}

static void
pause_inference(void)
{
	CHECK_FOR_INTERRUPTS();
}

static const MtsInferHost host = {resize, pfree, pause_inference};

/*
 * mts_import_text
 *		Convert a text of MongoDB's or the inference's to the server's
 *		encoding.
 */
char *
mts_import_text(const char *utf8)
{
	return pg_any_to_server(utf8, strlen(utf8), PG_UTF8);
}

/* A collection's name as an identifier, made unique by a number */
static char *
table_name(const char *collection, List *names)
{
	char *name = pstrdup(collection);
	int n = 1;

	name[pg_mbcliplen(name, strlen(name), NAMEDATALEN - 1)] = '\0';
	while (list_member(names, makeString(name)))
	{
		char *number = psprintf("_%d", ++n);
		int len = pg_mbcliplen(collection, strlen(collection),
							   NAMEDATALEN - 1 - strlen(number));

		name = psprintf("%.*s%s", len, collection, number);
	}
	return name;
}

/* Whether the statement imports this table, by LIMIT TO and EXCEPT */
static bool
is_imported(const ImportForeignSchemaStmt *stmt, const char *table)
{
	ListCell *lc;

	foreach (lc, stmt->table_list)
		if (strcmp(lfirst_node(RangeVar, lc)->relname, table) == 0)
			return stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO;
	return stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO;
}

static void
report_remarks(const MtsInferred *inferred,
			   const MtsImportCollection *collection, const char *schema,
			   const char *table)
{
	for (int i = 0; i < inferred->nremarks; i++)
	{
		char *hint =
			mts_import_hint(inferred, i, collection->is_view, schema, table);
		char *text = mts_import_text(inferred->remarks[i].text);
		char *detail = strchr(text, '\n');

		if (detail)
			*detail++ = '\0';
		ereport(NOTICE,
				(errmsg("collection \"%s\": %s", collection->name, text),
				 detail ? errdetail("%s", detail) : 0,
				 hint[0] ? errhint("%s", hint) : 0));
	}
}

/*
 * Write the statement that creates a collection's table, in the caller's
 * context.  The samples are freed.
 */
static char *
import_collection(MtsConnection *connection, const ForeignServer *server,
				  const char *database, const MtsImportCollection *collection,
				  const char *schema, const char *table, List *options)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw import",
							  ALLOCSET_DEFAULT_SIZES);
	const char *default_database;
	const char *zone = pg_get_timezone_name(session_timezone);
	MtsClock clock, local;
	MtsInferHints hints = {collection->time, collection->meta, &clock, &local};
	MtsInferred inferred;
	MtsSample *samples;
	int sample_size =
		mts_option_get_int(options, "sample_size", DEFAULT_SAMPLE_SIZE);
	int nsamples;
	char *statement;

	MemoryContextSwitchTo(context);
	clock = mts_zone_clock("UTC");
	if (mts_zone_find(zone))
		local = mts_zone_clock(zone);
	else
		hints.local = NULL;
	samples = mts_import_samples(connection, database, collection, sample_size,
								 &nsamples);
	mts_infer(samples, nsamples, &hints, &host, &inferred);
	default_database = mts_option_database(server->options);
	if (default_database && strcmp(default_database, database) == 0)
		database = NULL;
	MemoryContextSwitchTo(caller);
	statement =
		mts_import_table(&inferred, table, server->servername, database,
						 inferred.bucket_time_is_local ? zone : NULL,
						 collection,
						 mts_option_get_bool(options, "updatable", false));
	report_remarks(&inferred, collection, schema, table);
	MemoryContextDelete(context);
	return statement;
}

/* The last name that differs from another one in case only, or NULL */
static const char *
find_similar(List *names, const char *name)
{
	const char *other = NULL;
	ListCell *lc;

	foreach (lc, names)
		if (pg_strcasecmp(strVal(lfirst(lc)), name) == 0)
			other = strVal(lfirst(lc));
	return other;
}

/* Report a collection that is missing, with a name that differs in case. */
static void
report_missing_name(const char *database, const char *name, List *names)
{
	const char *other = find_similar(names, name);

	ereport(NOTICE,
			(errmsg("database \"%s\" has no collection \"%s\"", database,
					name),
			 other ? errhint("Perhaps you meant \"%s\", in double quotes.",
							 other)
				   : 0));
}

/* Report that the database is empty, or which tables of LIMIT TO it lacks. */
static void
report_missing(const ImportForeignSchemaStmt *stmt, List *names)
{
	ListCell *lc;

	if (names == NIL)
		ereport(NOTICE,
				(errmsg("database \"%s\" has no collections",
						stmt->remote_schema),
				 errhint(
					 "The remote schema is the name of a MongoDB database.")));
	else if (stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
		foreach (lc, stmt->table_list)
		{
			char *name = lfirst_node(RangeVar, lc)->relname;

			if (!list_member(names, makeString(name)))
				report_missing_name(stmt->remote_schema, name, names);
		}
}

/*
 * mtsImportForeignSchema
 *		Write the statements that create tables for a database's collections.
 *
 * The remote schema is the name of the database.
 */
List *
mtsImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverid)
{
	ForeignServer *server = GetForeignServer(serverid);
	MtsConnection *connection;
	List *statements = NIL;
	List *names = NIL;
	List *imported = NIL;
	ListCell *lc;

	mts_option_check_import(stmt->options);
	connection = mts_connection_get(serverid, GetUserId());
	mts_connection_pin(connection);
	foreach (lc, mts_import_collections(connection, stmt->remote_schema))
	{
		const MtsImportCollection *collection = lfirst(lc);
		char *table = table_name(collection->name, names);

		names = lappend(names, makeString(table));
		if (!is_imported(stmt, table))
			continue;
		imported = lappend(imported, collection->name);
		statements =
			lappend(statements,
					import_collection(connection, server, stmt->remote_schema,
									  collection, stmt->local_schema, table,
									  stmt->options));
	}
	report_missing(stmt, names);
	mts_import_families(imported);
	return statements;
}

/*
 * mts_import_suggest
 *		Write the statement that creates a table for a collection of a
 *		database, with the same notices.
 */
char *
mts_import_suggest(const ForeignServer *server, const char *database,
				   const char *name)
{
	MtsConnection *connection =
		mts_connection_get(server->serverid, GetUserId());
	List *names = NIL;
	const char *other;
	ListCell *lc;

	mts_connection_pin(connection);
	foreach (lc, mts_import_collections(connection, database))
	{
		const MtsImportCollection *collection = lfirst(lc);

		if (strcmp(collection->name, name) == 0)
			return import_collection(connection, server, database, collection,
									 NULL, table_name(name, NIL), NIL);
		names = lappend(names, makeString(collection->name));
	}
	other = find_similar(names, name);
	ereport(ERROR, (errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
					errmsg("database \"%s\" has no collection \"%s\"",
						   database, name),
					other ? errhint("Perhaps you meant \"%s\".", other) : 0));
}
