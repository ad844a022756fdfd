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

#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "driver/document.h"
#include "table/option.h"
#include "table/zone.h"

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

/* ---- Notices ------------------------------------------------------------ */

/* Report why a table is read-only though the statement allows writes. */
static void
report_read_only(const MtsImport *import, const MtsInferred *table,
				 const char *name)
{
	bool is_limited = table->max_points > 0;

	ereport(
		NOTICE,
		(table->readonly
			 ? errmsg("collection \"%s\": the table is read-only",
					  import->collection->name)
			 : errmsg(
				   "collection \"%s\": the table is read-only, because nothing proves that the time and the keys identify a %s",
				   import->collection->name, is_limited ? "series" : "bucket"),
		 table->readonly
			 ? errdetail("%s", table->readonly)
			 : errhint(
				   "To allow writes%s, run: SELECT mongo_ts_create_index(%s); ALTER FOREIGN TABLE %s OPTIONS (SET updatable 'true');",
				   is_limited ? " after you have checked the keys" : "",
				   quote_literal_cstr(name), name)));
}

/* The statements that declare the alternatives of a remark, one in a line */
static char *
write_hint(const MtsImport *import, const MtsInferred *table, int remark,
		   const char *name)
{
	List *hints = NIL;

	for (int i = 0; i < table->nalternatives; i++)
	{
		const MtsInferAlternative *other = &table->alternatives[i];
		char *actions;

		if (other->remark != remark)
			continue;
		actions = mts_import_alter(import, table, other->table);
		if (actions[0])
			hints =
				lappend(hints, psprintf("%s, run: ALTER FOREIGN TABLE %s %s;",
										mts_import_text(other->condition),
										name, actions));
	}
	return mts_import_join(hints, "\n");
}

static void
report_remarks(const MtsImport *import, const MtsInferred *table,
			   const char *name)
{
	for (int i = 0; i < table->nremarks; i++)
	{
		char *hint = write_hint(import, table, i, name);
		char *text = mts_import_text(table->remarks[i].text);
		char *detail = strchr(text, '\n');

		if (detail)
			*detail++ = '\0';
		ereport(NOTICE, (errmsg("collection \"%s\": %s",
								import->collection->name, text),
						 detail ? errdetail("%s", detail) : 0,
						 hint[0] ? errhint("%s", hint) : 0));
	}
}

/*
 * Report a collection that the database lacks.  If a name differs from it in
 * case only, that is an error.
 */
static void
report_missing(const MtsImport *import, const char *name)
{
	const char *other = NULL;
	ListCell *lc;

	foreach (lc, import->names)
		if (pg_strcasecmp(strVal(lfirst(lc)), name) == 0)
			other = strVal(lfirst(lc));
	ereport(other || import->only ? ERROR : NOTICE,
			(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
			 errmsg("database \"%s\" has no collection \"%s\"",
					import->stmt->remote_schema, name),
			 other ? errhint("Perhaps you meant \"%s\"%s.", other,
							 import->only ? "" : ", in double quotes")
				   : 0));
}

/* ---- Tables ------------------------------------------------------------- */

/* The name of the table of a group: the collection's, and the field's value */
static char *
group_name(MtsImport *import, const MtsInferred *inferred, const char *name)
{
	bson_value_t value = mts_document_value(&inferred->value);
	char *text = value.value_type == BSON_TYPE_UTF8
					 ? mts_import_text(value.value.v_utf8.str)
					 : mts_document_value_json(&inferred->value);

	import->names =
		lappend(import->names, makeString(psprintf("%s_%s", name, text)));
	return mts_import_name(import, import->names, list_tail(import->names));
}

/* Write the statement that creates a table, unless LIMIT TO lacks it. */
static void
import_table(MtsImport *import, const MtsInferred *table, const char *name)
{
	ImportForeignSchemaStmt *stmt = import->stmt;
	const char *full_name =
		quote_qualified_identifier(stmt->local_schema, name);

	if (!IsImportableForeignTable(name, stmt))
	{
		if (table->group[0] && stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
			ereport(
				NOTICE,
				(errmsg("collection \"%s\": table \"%s\" is not in LIMIT TO",
						import->collection->name, name)));
		return;
	}
	import->statements =
		lappend(import->statements, mts_import_create(import, table, name));
	if (mts_option_get_bool(stmt->options, "updatable", false) &&
		!import->collection->is_view &&
		!mts_import_is_updatable(import, table))
		report_read_only(import, table, full_name);
	report_remarks(import, table, full_name);
}

/*
 * Write the statements that create a collection's tables, in the caller's
 * context.  The samples are freed.
 */
static void
import_collection(MtsImport *import, const char *name)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw import",
							  ALLOCSET_DEFAULT_SIZES);
	const char *zone = pg_get_timezone_name(session_timezone);
	MtsClock clock, local;
	MtsInferHints hints = {import->collection->time, import->collection->meta,
						   &clock, mts_zone_find(zone) ? &local : NULL};
	MtsInferred *tables;
	MtsSample *samples;
	int nsamples, n;

	MemoryContextSwitchTo(context);
	clock = mts_zone_clock("UTC");
	if (hints.local)
		local = mts_zone_clock(zone);
	if (hints.local && !local.to_local) /* UTC */
		hints.local = NULL;
	samples = mts_import_samples(import, &nsamples);
	tables = palloc(MTS_INFER_TABLES * sizeof(MtsInferred));
	n = mts_infer(samples, nsamples, &hints, &host, tables);
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < n; i++)
		import_table(import, &tables[i],
					 tables[i].group[0] ? group_name(import, &tables[i], name)
										: name);
	MemoryContextDelete(context);
}

/*
 * Whether a collection is imported, by LIMIT TO and EXCEPT.  Its tables may
 * have longer names than it has.
 */
static bool
is_imported(const MtsImport *import, const char *table)
{
	ImportForeignSchemaStmt *stmt = import->stmt;
	char *prefix = psprintf("%s_", table);
	ListCell *lc;

	if (import->only)
		return strcmp(import->collection->name, import->only) == 0;
	if (stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
		foreach (lc, stmt->table_list)
			if (strncmp(lfirst_node(RangeVar, lc)->relname, prefix,
						strlen(prefix)) == 0)
				return true;
	return IsImportableForeignTable(table, stmt);
}

/* Write the statements that create the tables of an import. */
static void
import_all(MtsImport *import)
{
	List *collections;
	ListCell *lc;

	import->connection =
		mts_connection_get(import->server->serverid, GetUserId());
	mts_connection_pin(import->connection);
	collections = mts_import_collections(import);
	foreach (lc, collections)
		import->names =
			lappend(import->names,
					makeString(((MtsImportCollection *) lfirst(lc))->name));
	foreach (lc, collections)
	{
		char *name = mts_import_name(import, import->names,
									 list_nth_cell(import->names,
												   foreach_current_index(lc)));

		import->collection = lfirst(lc);
		if (is_imported(import, name))
			import_collection(import, name);
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
	MtsImport import = {stmt, GetForeignServer(serverid)};
	ListCell *lc;

	mts_option_check_import(stmt->options);
	import_all(&import);
	if (import.names == NIL)
		ereport(NOTICE,
				(errmsg("database \"%s\" has no collections",
						stmt->remote_schema),
				 errhint(
					 "The remote schema is the name of a MongoDB database.")));
	else if (stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
		foreach (lc, stmt->table_list)
		{
			char *name = lfirst_node(RangeVar, lc)->relname;

			if (!list_member(import.names, makeString(name)))
				report_missing(&import, name);
		}
	return import.statements;
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
	MtsImport import = {stmt, server, .only = name};

	stmt->list_type = FDW_IMPORT_SCHEMA_ALL;
	stmt->remote_schema = pstrdup(database);
	import_all(&import);
	if (import.statements == NIL)
		report_missing(&import, name);
	return psprintf("%s;", mts_import_join(import.statements, ";\n"));
}
