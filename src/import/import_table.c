/*
 * import_table.c
 *		Write the statement that declares what was inferred.
 *
 * Names and options come from documents, so each is quoted, whatever it is.
 */
#include "import/import.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "driver/document.h"

/* How the statement names a type */
static const char *const type_names[] = {
	[MTS_INFER_JSON] = "jsonb",
	[MTS_INFER_BOOL] = "boolean",
	[MTS_INFER_INT] = "integer",
	[MTS_INFER_LONG] = "bigint",
	[MTS_INFER_DOUBLE] = "double precision",
	[MTS_INFER_NUMERIC] = "numeric",
	[MTS_INFER_TEXT] = "text",
	[MTS_INFER_TIME] = "timestamp with time zone",
	[MTS_INFER_OID] = "text",
	[MTS_INFER_UUID] = "uuid",
	[MTS_INFER_BYTES] = "bytea",
};

/* A list of options that is being written, and what stands before the first */
typedef struct Options
{
	StringInfo statement;
	const char *before;
} Options;

/* Add an option whose value is in the server's encoding, if there is one. */
static void
add_option(Options *options, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	appendStringInfo(options->statement, "%s%s %s", options->before, name,
					 quote_literal_cstr(value));
	options->before = ", ";
}

/* The same of a value in UTF-8 */
static void
add_text(Options *options, const char *name, const char *value)
{
	add_option(options, name, pg_any_to_server(value, strlen(value), PG_UTF8));
}

static void
end_options(Options *options)
{
	if (strcmp(options->before, ", ") == 0)
		appendStringInfoChar(options->statement, ')');
}

/* Has the table more than one column that could be taken for the time? */
static bool
has_rivals(const MtsInferred *inferred)
{
	int n = 0;

	for (int i = 0; i < inferred->ncolumns; i++)
		n += inferred->columns[i].type == MTS_INFER_TIME;
	return n > 1;
}

static void
write_column(const MtsInferred *inferred, const MtsInferColumn *column,
			 StringInfo statement)
{
	Options options = {statement, " OPTIONS ("};

	appendStringInfo(statement, "  %s %s",
					 quote_identifier(pg_any_to_server(column->name,
													   strlen(column->name),
													   PG_UTF8)),
					 type_names[column->type]);
	if (strcmp(column->field, column->name) != 0)
		add_text(&options, "field", column->field);
	if (strcmp(column->format, "date") != 0)
		add_text(&options, "format", column->format);
	if (column->role == MTS_ROLE_ATTRIBUTE)
		add_option(&options, "role", "attribute");
	if (column->role == MTS_ROLE_TIME && has_rivals(inferred))
		add_option(&options, "role", "time");
	if (column->type == MTS_INFER_OID)
		add_option(&options, "bson_type", "objectId");
	add_text(&options, "sum_field", column->sum);
	add_text(&options, "min_field", column->min);
	add_text(&options, "max_field", column->max);
	end_options(&options);
}

/* The filter that leaves out what is no bucket; NULL: there is none */
static char *
write_filter(const MtsInferred *inferred)
{
	bson_t *filter;
	bson_t there;

	if (!inferred->required[0])
		return NULL;
	filter = mts_document_new();
	bson_append_document_begin(filter, inferred->required, -1, &there);
	bson_append_null(&there, "$ne", -1);
	bson_append_document_end(filter, &there);
	return mts_document_json(filter);
}

/* mts_import_escape: a name as the option collection takes it, palloc'd: one %
 * would begin a placeholder. */
char *
mts_import_escape(const char *name)
{
	StringInfoData escaped;

	initStringInfo(&escaped);
	for (; *name; name++)
	{
		if (*name == '%')
			appendStringInfoChar(&escaped, '%');
		appendStringInfoChar(&escaped, *name);
	}
	return escaped.data;
}

/*
 * mts_import_table
 *		The statement that creates a table for a collection, palloc'd.
 *
 * database is NULL where the server's is meant, zone where it is UTC.  The
 * table is read-only unless the statement asks for an updatable one and nothing
 * sampled forbids it.
 */
char *
mts_import_table(const MtsInferred *inferred, const char *table,
				 const char *server, const char *database, const char *zone,
				 const MtsImported *collection, bool updatable)
{
	StringInfoData statement;
	Options options = {&statement, " OPTIONS ("};

	initStringInfo(&statement);
	appendStringInfo(&statement, "CREATE FOREIGN TABLE %s (\n",
					 quote_identifier(table));
	for (int i = 0; i < inferred->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoString(&statement, ",\n");
		write_column(inferred, &inferred->columns[i], &statement);
	}
	appendStringInfo(&statement, "\n) SERVER %s", quote_identifier(server));
	add_option(&options, "database", database);
	add_option(&options, "collection", mts_import_escape(collection->name));
	add_option(&options, "filter", write_filter(inferred));
	add_text(&options, "bucket_time_field", inferred->bucket_time);
	if (strcmp(inferred->bucket_format, "date") != 0)
		add_text(&options, "bucket_time_format", inferred->bucket_format);
	add_option(&options, "bucket_time_zone", zone);
	add_text(&options, "bucket_span", inferred->bucket_span);
	add_text(&options, "bucket_first_field", inferred->first);
	add_text(&options, "bucket_last_field", inferred->last);
	if (inferred->max_points > 0)
		add_option(&options, "bucket_max_points",
				   psprintf("%lld", (long long) inferred->max_points));
	add_text(&options, "count_field", inferred->count);
	if (collection->is_view || inferred->is_readonly)
		updatable = false;
	add_option(&options, "updatable", updatable ? "true" : "false");
	end_options(&options);
	return statement.data;
}
