/*
 * import.c
 *		Turns the collections of a database into CREATE FOREIGN TABLE
 *		statements.
 *
 * Each collection is sampled, core/infer finds the layout of the samples, and
 * the statement is returned to PostgreSQL, which runs it.  One NOTICE says
 * what a table assumes.
 */
#include "advice/import/import.h"

#include "foreign/fdwapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "catalog/namespace.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "driver/document.h"
#include "table/collections.h"
#include "table/index.h"
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

/* Append a text after a separator, unless it is the first. */
static void
append(StringInfo to, const char *separator, const char *text)
{
	appendStringInfo(to, "%s%s", to->len > 0 ? separator : "", text);
}

/* Say why a table is read-only though the statement allows writes. */
static void
add_read_only(const MtsImport *import, const MtsInferred *table,
			  const char *name, StringInfo detail, StringInfo hint)
{
	bool is_in_id = !table->readonly && mts_import_is_in_id(table);
	const char *identity = mts_import_identity(table);
	const char *reason =
		table->readonly ? mts_import_text(table->readonly)
		: is_in_id
			? "An INSERT finds its document only if every _id has just these fields, in this order, and MongoDB does not enforce that."
			: NULL;

	if (table->message[0] || detail->len > 0)
		append(detail, " ", "The table is read-only.");
	append(
		detail, " ",
		reason ? reason
		: identity && table->max_points > 0
			? psprintf(
				  "Several documents have the same %s. If another field tells two series apart, declare it as a key first.",
				  identity)
		: identity
			? psprintf(
				  "No unique index proves that no two documents have the same %s.",
				  identity)
			: "Nothing proves that the time and the keys identify a document.");
	if (!reason)
		append(
			hint, "\n",
			psprintf(
				"To allow writes%s, run: SELECT mongo_ts_create_index(%s); ALTER FOREIGN TABLE %s OPTIONS (SET updatable 'true');",
				table->max_points > 0 ? " after you have checked the keys"
									  : "",
				quote_literal_cstr(name), name));
	if (is_in_id)
		append(
			hint, "\n",
			psprintf(
				"If each _id has these fields in this order, run: ALTER FOREIGN TABLE %s OPTIONS (SET updatable 'true');",
				name));
}

/* Name the function that shows the alternatives, if it reads the database. */
static void
add_suggestion(const MtsImport *import, StringInfo hint)
{
	const char *database = mts_option_database(import->server->options);

	if (!import->only && database &&
		strcmp(database, import->stmt->remote_schema) == 0)
		append(
			hint, "\n",
			psprintf(
				"To see other tables that the documents allow, run: SELECT mongo_ts_suggest(%s, %s);",
				quote_literal_cstr(import->server->servername),
				quote_literal_cstr(import->collection->name)));
}

/* Whether a table has a number, as the name of another one is the same */
static bool
is_numbered(const MtsImport *import, const MtsInferred *table,
			const char *name)
{
	return !table->group[0] && strlen(name) > strlen(import->collection->name);
}

/* Name the column of a field that option "time_column" calls like the time. */
static void
add_clash(const MtsImport *import, const MtsInferred *table, StringInfo detail)
{
	const char *time = mts_option_get(import->stmt->options, "time_column");

	for (int i = 0; i < table->ncolumns && time; i++)
		if (table->columns[i].role != MTS_ROLE_TIME &&
			strcmp(mts_import_text(table->columns[i].name), time) == 0)
			append(
				detail, " ",
				psprintf(
					"Field \"%s\" is column \"%s\", as the time's column has its name.",
					time,
					strVal(list_nth(mts_import_columns(import, table), i))));
}

/* Report what a table assumes in one NOTICE, if anything. */
static void
report_table(const MtsImport *import, const MtsInferred *table,
			 const MtsImportDoubts *doubts, const char *name)
{
	const char *full_name =
		quote_qualified_identifier(import->stmt->local_schema, name);
	char *sentences = mts_import_join(doubts->sentences, " ");
	bool is_refused =
		mts_option_get_bool(import->stmt->options, "updatable", false) &&
		!import->collection->is_view &&
		!mts_import_is_updatable(import, table);
	bool is_rolling = false;
	StringInfoData detail, hint;

	for (int i = 0; i < table->ncolumns && !table->group[0]; i++)
		is_rolling |= table->columns[i].role == MTS_ROLE_TIME &&
					  import->collection->nrolling > 1;
	initStringInfo(&detail);
	initStringInfo(&hint);
	appendStringInfoString(&detail, mts_import_text(table->detail));
	add_clash(import, table, &detail);
	if (is_numbered(import, table, name))
		append(&detail, " ",
			   psprintf("Its table is \"%s\", as another one has its name.",
						name));
	if (!table->message[0] && !sentences[0] && !is_rolling && !is_refused &&
		detail.len == 0)
		return;
	if (sentences[0])
		append(&detail, " ", sentences);
	if (doubts->actions)
		append(
			&hint, "\n",
			psprintf(
				"To declare what is right in all documents, run: ALTER FOREIGN TABLE %s %s;",
				full_name, mts_import_join(doubts->actions, ", ")));
	if (is_rolling)
		append(
			&hint, "\n",
			psprintf(
				"To read the %d collections named \"%s\" as one table, run: ALTER FOREIGN TABLE %s OPTIONS (SET collection %s);",
				import->collection->nrolling, import->collection->rolling,
				full_name, quote_literal_cstr(import->collection->rolling)));
	if (is_refused)
		add_read_only(import, table, full_name, &detail, &hint);
	if (table->nalternatives > 0)
		add_suggestion(import, &hint);
	ereport(
		NOTICE,
		(errmsg("collection \"%s\"%s: %s", import->collection->name,
				table->group[0] ? psprintf(", table \"%s\"", name) : "",
				table->message[0] ? mts_import_text(table->message)
				: sentences[0]
					? "some totals or bounds of the points are not declared"
				: is_rolling
					? "other collections have such a name with another date"
				: is_refused ? "the table is read-only"
							 : "a name is already taken"),
		 detail.len > 0 ? errdetail("%s", detail.data) : 0,
		 hint.len > 0 ? errhint("%s", hint.data) : 0));
}

/*
 * Report a name that is neither a collection's nor a table's.  If one of these
 * differs from it in case only, that is an error.
 */
static void
report_missing(const MtsImport *import, const char *name)
{
	List *names = NIL;
	const char *other;
	ListCell *lc;

	foreach (lc, import->names)
		if (!import->only || strcmp(strVal(lfirst(lc)), name) != 0)
			names = lappend(names, strVal(lfirst(lc)));
	other = mts_collections_similar(names, name);
	if (other && strcmp(other, name) == 0)
		return;
	ereport(import->only || (other && pg_strcasecmp(other, name) == 0)
				? ERROR
				: NOTICE,
			(errcode(ERRCODE_FDW_TABLE_NOT_FOUND),
			 errmsg("database \"%s\" has no collection \"%s\"",
					import->stmt->remote_schema, name),
			 other ? errhint("Perhaps you meant \"%s\"%s.", other,
							 import->only || quote_identifier(other) == other
								 ? ""
								 : ", in double quotes")
				   : 0));
}

/* Name the collections of roll-ups, which are not imported. */
static void
report_rollups(List *names)
{
	if (names != NIL)
		ereport(NOTICE, (errmsg("roll-ups are not imported: %s",
								mts_import_join(names, ", ")),
						 errhint("To import one as a table, name its "
								 "collection in LIMIT TO.")));
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

/* Whether the local schema has a table of this name */
static bool
exists(const MtsImport *import, const char *name)
{
	return !import->only &&
		   OidIsValid(
			   get_relname_relid(name,
								 get_namespace_oid(import->stmt->local_schema,
												   false)));
}

/* Whether a table exists and is kept */
static bool
is_kept(const MtsImport *import, const char *name)
{
	if (!mts_option_get_bool(import->stmt->options, "skip_existing", false) ||
		!exists(import, name))
		return false;
	ereport(NOTICE,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("relation \"%s\" already exists, skipping", name)));
	return true;
}

/* Write the statements of the alternatives to a table, with comments. */
static void
list_others(MtsImport *import, const MtsInferred *table, const char *name)
{
	for (int i = 0; i < table->nalternatives; i++)
	{
		const MtsInferAlternative *other = &table->alternatives[i];

		import->others =
			lappend(import->others,
					psprintf("%s:\n%s;", mts_import_text(other->condition),
							 mts_import_create(import, other->table, name)));
	}
}

/* Write the statement that creates a table, unless LIMIT TO lacks it. */
static void
import_table(MtsImport *import, const MtsInferred *table,
			 const MtsImportDoubts *doubts, const char *name)
{
	ImportForeignSchemaStmt *stmt = import->stmt;

	if (!IsImportableForeignTable(name, stmt))
	{
		if (table->group[0] && stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
			ereport(
				NOTICE,
				(errmsg("collection \"%s\": table \"%s\" is not in LIMIT TO",
						import->collection->name, name)));
		return;
	}
	if (table->group[0] && is_kept(import, name))
		return;
	if (exists(import, name))
		ereport(
			ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE),
			 errmsg("relation \"%s\" already exists", name),
			 errhint(
				 "To skip tables that exist, use OPTIONS (skip_existing 'true').")));
	import->statements =
		lappend(import->statements, mts_import_create(import, table, name));
	list_others(import, table, name);
	report_table(import, table, doubts, name);
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
 * Infer the tables of samples.  Unless these are all documents, the tables are
 * inferred again without what is not proved of all documents.  Other fields
 * may take its options then, and are to be proved too.  This ends, as each
 * time more fields are distrusted.
 */
static int
infer_tables(const MtsImport *import, const MtsSample *samples, int nsamples,
			 MtsInferHints *hints, MtsInferred *tables,
			 MtsImportDoubts *doubts)
{
	List *fields = NIL;

	for (;;)
	{
		int n = mts_infer(samples, nsamples, hints, &host, tables);
		const char **distrusted;
		ListCell *lc;

		for (int i = 0; i < n && !hints->are_all; i++)
			fields =
				list_concat(fields, mts_import_doubt(import, &tables[i], hints,
													 &host, &doubts[i]));
		if (list_length(fields) == hints->ndistrusted)
			return n;
		distrusted = palloc(list_length(fields) * sizeof(char *));
		foreach (lc, fields)
			distrusted[foreach_current_index(lc)] = lfirst(lc);
		hints->distrusted = distrusted;
		hints->ndistrusted = list_length(fields);
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
	const MtsImportCollection *collection = import->collection;
	const char *zone = pg_get_timezone_name(session_timezone);
	const char *time = mts_option_get(import->stmt->options, "time_column");
	MtsClock clock, local;
	MtsInferHints hints = {.time = collection->time,
						   .meta = collection->meta,
						   .clock = &clock,
						   .local = mts_zone_find(zone) ? &local : NULL};
	MtsImportDoubts doubts[MTS_INFER_TABLES] = {{NIL}};
	MtsInferred *tables;
	char *names[MTS_INFER_TABLES];
	MtsSample *samples;
	int nsamples, n;

	MemoryContextSwitchTo(context);
	if (time)
		hints.time_column = mts_document_utf8(time);
	clock = mts_zone_clock("UTC");
	if (hints.local)
		local = mts_zone_clock(zone);
	if (hints.local && !local.to_local) /* UTC */
		hints.local = NULL;
	import->nindexes = 0;
	if (!collection->is_view)
		import->indexes =
			mts_index_list(import->connection, import->stmt->remote_schema,
						   collection->name, &import->nindexes);
	hints.indexes = import->indexes;
	hints.nindexes = import->nindexes;
	samples = mts_import_samples(import, &nsamples, &hints.are_all);
	tables = palloc(MTS_INFER_TABLES * sizeof(MtsInferred));
	n = infer_tables(import, samples, nsamples, &hints, tables, doubts);
	MemoryContextSwitchTo(caller);
	name_tables(import, tables, name, names, n);
	for (int i = 0; i < n; i++)
		import_table(import, &tables[i], &doubts[i], names[i]);
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

/* Whether the current collection is a roll-up that nobody has named */
static bool
is_unnamed_rollup(const MtsImport *import)
{
	return import->collection->is_rollup && !import->only &&
		   import->stmt->list_type != FDW_IMPORT_SCHEMA_LIMIT_TO;
}

/* Write the statements that create the tables of an import. */
static void
import_all(MtsImport *import)
{
	List *rollups = NIL;
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
		if (!is_imported(import, name))
			continue;
		if (is_unnamed_rollup(import))
			rollups =
				lappend(rollups, psprintf("\"%s\"", import->collection->name));
		else if (!is_kept(import, name))
			import_collection(import, name);
	}
	report_rollups(rollups);
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

/* Write text as comments, so that no line of it is run. */
static void
append_comment(StringInfo to, const char *text)
{
	appendStringInfoString(to, "\n\n-- ");
	for (; *text; text++)
	{
		appendStringInfoChar(to, *text);
		if (*text == '\n' || *text == '\r')
			appendStringInfoString(to, "-- ");
	}
}

/*
 * mts_import_suggest
 *		Write the statements that create the tables of a collection of a
 *		database, a line break between two, with the same notices.
 *
 * Other declarations that the documents allow follow as comments.
 */
char *
mts_import_suggest(const ForeignServer *server, const char *database,
				   const char *name)
{
	ImportForeignSchemaStmt *stmt = makeNode(ImportForeignSchemaStmt);
	MtsImport import = {stmt, server, .only = name};
	StringInfoData text;
	ListCell *lc;

	stmt->list_type = FDW_IMPORT_SCHEMA_ALL;
	stmt->remote_schema = pstrdup(database);
	import_all(&import);
	if (import.statements == NIL)
		report_missing(&import, name);
	initStringInfo(&text);
	appendStringInfo(&text, "%s;", mts_import_join(import.statements, ";\n"));
	foreach (lc, import.others)
		append_comment(&text, lfirst(lc));
	return text.data;
}
