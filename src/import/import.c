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
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "driver/document.h"
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

/*
 * Whether the statement imports this collection, by LIMIT TO and EXCEPT.  Its
 * tables may have longer names.
 */
static bool
is_imported(const ImportForeignSchemaStmt *stmt, const char *table)
{
	bool is_limit = stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO;
	ListCell *lc;

	foreach (lc, stmt->table_list)
	{
		const char *name = lfirst_node(RangeVar, lc)->relname;

		if (strcmp(name, table) == 0 ||
			(is_limit && strncmp(name, table, strlen(table)) == 0 &&
			 name[strlen(table)] == '_'))
			return is_limit;
	}
	return !is_limit;
}

/* Whether LIMIT TO or EXCEPT has a name */
static bool
is_listed(const ImportForeignSchemaStmt *stmt, const char *table)
{
	ListCell *lc;

	foreach (lc, stmt->table_list)
		if (strcmp(lfirst_node(RangeVar, lc)->relname, table) == 0)
			return true;
	return false;
}

/* An import of a collection */
typedef struct Import
{
	ImportForeignSchemaStmt *stmt;
	MtsConnection *connection;
	const ForeignServer *server;
	const MtsImportCollection *collection;
	const char *table; /* the name of the collection's table */
	List *names;       /* of all tables */
} Import;

static void
report_remarks(const Import *import, const MtsInferred *inferred,
			   const char *table)
{
	for (int i = 0; i < inferred->nremarks; i++)
	{
		char *hint = mts_import_hint(inferred, i, import->collection->is_view,
									 import->stmt->local_schema, table);
		char *text = mts_import_text(inferred->remarks[i].text);
		char *detail = strchr(text, '\n');

		if (detail)
			*detail++ = '\0';
		ereport(NOTICE, (errmsg("collection \"%s\": %s",
								import->collection->name, text),
						 detail ? errdetail("%s", detail) : 0,
						 hint[0] ? errhint("%s", hint) : 0));
	}
}

/* Whether an imported table may be written, with a NOTICE if it can't be */
static bool
is_updatable(const Import *import, const MtsInferred *inferred,
			 const char *table)
{
	const char *name =
		quote_qualified_identifier(import->stmt->local_schema, table);
	bool is_limited = inferred->max_points > 0;

	if (!mts_option_get_bool(import->stmt->options, "updatable", false) ||
		import->collection->is_view || inferred->is_readonly)
		return false;
	if (!inferred->has_buckets ||
		(!is_limited &&
		 mts_import_is_identified(import->connection,
								  import->stmt->remote_schema,
								  import->collection->name, inferred)))
		return true;
	ereport(
		NOTICE,
		(errmsg(
			 "collection \"%s\": the table is read-only, because nothing proves that the time and the keys identify a %s",
			 import->collection->name, is_limited ? "series" : "bucket"),
		 is_limited
			 ? errhint(
				   "To allow writes after you have checked the keys, run: ALTER FOREIGN TABLE %s OPTIONS (SET updatable 'true');",
				   name)
			 : errhint(
				   "To allow writes, run: SELECT mongo_ts_create_index(%s); ALTER FOREIGN TABLE %s OPTIONS (SET updatable 'true');",
				   quote_literal_cstr(name), name)));
	return false;
}

/* The name of the table of a group: the collection's, and the field's value */
static const char *
group_name(const Import *import, const MtsInferred *inferred)
{
	bson_value_t value;

	if (!inferred->group[0])
		return import->table;
	value = mts_document_value(&inferred->value);
	return table_name(psprintf("%s_%s", import->table,
							   value.value_type == BSON_TYPE_UTF8
								   ? mts_import_text(value.value.v_utf8.str)
								   : mts_document_value_json(
										 &inferred->value)),
					  import->names);
}

/*
 * Write the statements that create a collection's tables, in the caller's
 * context.  The samples are freed.
 */
static List *
import_collection(Import *import)
{
	List *options = import->stmt->options;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw import",
							  ALLOCSET_DEFAULT_SIZES);
	const char *database = import->stmt->remote_schema;
	const char *default_database;
	const char *zone = pg_get_timezone_name(session_timezone);
	MtsClock clock, local;
	MtsInferHints hints = {import->collection->time, import->collection->meta,
						   &clock, &local};
	MtsInferred *tables;
	MtsSample *samples;
	List *statements = NIL;
	int nsamples, n;

	MemoryContextSwitchTo(context);
	clock = mts_zone_clock("UTC");
	if (mts_zone_find(zone))
		local = mts_zone_clock(zone);
	else
		hints.local = NULL;
	samples =
		mts_import_samples(import->connection, database, import->collection,
						   mts_option_get_int(options, "sample_size",
											  DEFAULT_SAMPLE_SIZE),
						   &nsamples);
	tables = palloc(MTS_INFER_TABLES * sizeof(MtsInferred));
	n = mts_infer(samples, nsamples, &hints, &host, tables);
	default_database = mts_option_database(import->server->options);
	if (default_database && strcmp(default_database, database) == 0)
		database = NULL;
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < n; i++)
	{
		const char *name = group_name(import, &tables[i]);
		char *statement;

		mts_import_write_case(&tables[i], mts_option_get(options, "case"));
		statement =
			mts_import_table(&tables[i], name, import->server->servername,
							 database,
							 tables[i].bucket_time_is_local ? zone : NULL,
							 import->collection,
							 is_updatable(import, &tables[i], name));
		import->names = lappend(import->names, makeString(pstrdup(name)));
		if (n > 1 && import->stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO &&
			!is_listed(import->stmt, name))
		{
			ereport(
				NOTICE,
				(errmsg("collection \"%s\": table \"%s\" is not in LIMIT TO",
						import->collection->name, name)));
			continue;
		}
		statements = lappend(statements, statement);
		report_remarks(import, &tables[i], name);
	}
	MemoryContextDelete(context);
	return statements;
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

/*
 * Report a table of LIMIT TO that is missing.  A name that differs in case is
 * an error.
 */
static void
report_missing_name(const char *database, const char *name, List *names)
{
	const char *other = find_similar(names, name);

	ereport(other ? ERROR : NOTICE,
			(other ? errcode(ERRCODE_FDW_TABLE_NOT_FOUND) : 0,
			 errmsg("database \"%s\" has no collection \"%s\"", database,
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
	Import import = {stmt, NULL, server};
	const char *letters = mts_option_get(stmt->options, "case");
	List *statements = NIL;
	List *imported = NIL;
	List *tables = NIL;
	ListCell *lc;

	mts_option_check_import(stmt->options);
	import.connection = mts_connection_get(serverid, GetUserId());
	mts_connection_pin(import.connection);
	foreach (lc,
			 mts_import_collections(import.connection, stmt->remote_schema))
	{
		import.collection = lfirst(lc);
		import.table =
			table_name(mts_import_case(import.collection->name, letters),
					   import.names);
		tables = lappend(tables, makeString(pstrdup(import.table)));
		if (!is_imported(stmt, import.table))
		{
			import.names =
				list_concat(import.names, list_make1(llast(tables)));
			continue;
		}
		imported = lappend(imported, import.collection->name);
		statements = list_concat(statements, import_collection(&import));
	}
	report_missing(stmt, list_concat_unique(tables, import.names));
	mts_import_families(imported);
	return statements;
}

/*
 * mts_import_suggest
 *		Write the statements that create the tables of a collection of a
 *		database, a line break between two, with the same notices.
 */
char *
mts_import_suggest(const ForeignServer *server, const char *database,
				   const char *name)
{
	ImportForeignSchemaStmt *stmt = makeNode(ImportForeignSchemaStmt);
	Import import = {stmt, mts_connection_get(server->serverid, GetUserId()),
					 server};
	StringInfoData statements;
	List *names = NIL;
	const char *other;
	ListCell *lc;

	stmt->list_type = FDW_IMPORT_SCHEMA_ALL;
	stmt->remote_schema = pstrdup(database);
	mts_connection_pin(import.connection);
	foreach (lc, mts_import_collections(import.connection, database))
	{
		import.collection = lfirst(lc);
		if (strcmp(import.collection->name, name) == 0)
			break;
		names = lappend(names, makeString(import.collection->name));
	}
	if (lc == NULL)
	{
		other = find_similar(names, name);
		ereport(ERROR,
				(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
				 errmsg("database \"%s\" has no collection \"%s\"", database,
						name),
				 other ? errhint("Perhaps you meant \"%s\".", other) : 0));
	}
	import.table = table_name(name, NIL);
	initStringInfo(&statements);
	foreach (lc, import_collection(&import))
		appendStringInfo(&statements, "%s%s;", statements.len ? "\n" : "",
						 (char *) lfirst(lc));
	return statements.data;
}
