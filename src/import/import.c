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
#include "nodes/makefuncs.h"
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
	const char *reason =
		table->readonly ? mts_import_text(table->readonly)
		: mts_import_is_in_id(table)
			? "An INSERT writes the whole _id, of the columns' fields in the columns' order. Samples do not show that each _id has these fields in this order."
			: NULL;

	ereport(
		NOTICE,
		(reason
			 ? errmsg("collection \"%s\": the table is read-only",
					  import->collection->name)
			 : errmsg(
				   "collection \"%s\": the table is read-only, because nothing proves that the time and the keys identify a %s",
				   import->collection->name, is_limited ? "series" : "bucket"),
		 reason
			 ? errdetail("%s", reason)
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
 * Report a name that is neither a collection's nor a table's.  If one of these
 * differs from it in case only, that is an error.
 */
static void
report_missing(const MtsImport *import, const char *name)
{
	const char *other = NULL;
	ListCell *lc;

	foreach (lc, import->names)
	{
		const char *known = strVal(lfirst(lc));

		if (!import->only && strcmp(known, name) == 0)
			return;
		if (pg_strcasecmp(known, name) == 0)
			other = known;
	}
	ereport(other || import->only ? ERROR : NOTICE,
			(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
			 errmsg("database \"%s\" has no collection \"%s\"",
					import->stmt->remote_schema, name),
			 other ? errhint("Perhaps you meant \"%s\"%s.", other,
							 import->only || quote_identifier(other) == other
								 ? ""
								 : ", in double quotes")
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

/* Whether LIMIT TO or EXCEPT has the collection's name or its table's. */
static bool
is_listed(const MtsImport *import, const char *table)
{
	ListCell *lc;

	foreach (lc, import->stmt->table_list)
	{
		const char *name = lfirst_node(RangeVar, lc)->relname;

		if (strcmp(name, table) == 0 ||
			strcmp(name, import->collection->name) == 0)
			return true;
	}
	return false;
}

/* Report that documents of different groups are in different tables. */
static void
report_groups(const MtsImport *import, const MtsInferred *tables, char **names,
			  int n, int nsamples)
{
	StringInfoData counts;

	initStringInfo(&counts);
	for (int i = 0; i < n; i++)
		appendStringInfo(&counts, "%s%d are in table \"%s\"",
						 i > 0 ? ", " : "", tables[i].nsamples, names[i]);
	ereport(
		NOTICE,
		(errmsg(
			 "collection \"%s\": documents with different %s have different times, and are in different tables",
			 import->collection->name, mts_import_text(tables[0].group)),
		 errdetail(
			 "Of the %d sampled documents, %s. Documents with other values are in no table.",
			 nsamples, counts.data)));
}

/*
 * Name the tables of a collection, and if it is in LIMIT TO, add them to that:
 * PostgreSQL creates no others.
 */
static void
name_tables(MtsImport *import, const MtsInferred *tables, const char *name,
			char **names, int n)
{
	bool is_chosen = import->stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO &&
					 is_listed(import, name);

	for (int i = 0; i < n; i++)
	{
		names[i] = tables[i].group[0] ? group_name(import, &tables[i], name)
									  : pstrdup(name);
		if (is_chosen && !IsImportableForeignTable(names[i], import->stmt))
			import->stmt->table_list =
				lappend(import->stmt->table_list,
						makeRangeVar(NULL, names[i], -1));
	}
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
	char *names[MTS_INFER_TABLES];
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
	name_tables(import, tables, name, names, n);
	if (n > 1)
		report_groups(import, tables, names, n, nsamples);
	for (int i = 0; i < n; i++)
		import_table(import, &tables[i], names[i]);
	MemoryContextDelete(context);
}

/*
 * Whether a collection is imported, by LIMIT TO and EXCEPT.  A table of its
 * groups has a longer name than its own table.
 */
static bool
is_imported(const MtsImport *import, const char *table)
{
	ImportForeignSchemaStmt *stmt = import->stmt;
	char *prefix = psprintf("%s_", table);
	ListCell *lc;

	if (import->only)
		return strcmp(import->collection->name, import->only) == 0;
	if (stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO)
		return !is_listed(import, table);
	/* names that differ in case only are errors, reported later */
	foreach (lc, stmt->table_list)
		if (pg_strncasecmp(lfirst_node(RangeVar, lc)->relname, prefix,
						   strlen(prefix)) == 0)
			return true;
	return is_listed(import, table);
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
	foreach (lc, collections)
		import->names =
			lappend(import->names,
					makeString(((MtsImportCollection *) lfirst(lc))->name));
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
	else
		foreach (lc, stmt->table_list)
			report_missing(&import, lfirst_node(RangeVar, lc)->relname);
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
