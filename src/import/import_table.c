/*
 * import_table.c
 *		Writes the SQL that declares an inferred table: the CREATE FOREIGN
 *		TABLE statement, and the hints that say how to alter the table.
 *
 * Names and options come from documents, so each one is quoted.  Nothing here
 * runs a statement: PostgreSQL runs the first one, and the user may run those
 * in hints.
 */
#include "import/import.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "driver/document.h"

/* The types of PostgreSQL for the inferred ones */
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

/* A list of options that is being written */
typedef struct Options
{
	StringInfo statement;
	const char *separator; /* before the next option */
} Options;

/*
 * Append an option whose value is in the server's encoding.  Without a value
 * there is no option.
 */
static void
add_option(Options *options, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	appendStringInfo(options->statement, "%s%s %s", options->separator, name,
					 quote_literal_cstr(value));
	options->separator = ", ";
}

/* Append an option whose value is in UTF-8, as all texts of the inference. */
static void
add_text(Options *options, const char *name, const char *value)
{
	add_option(options, name, mts_import_text(value));
}

static void
end_options(Options *options)
{
	if (strcmp(options->separator, ", ") == 0)
		appendStringInfoChar(options->statement, ')');
}

/* Whether the time needs its role, as several columns are timestamps */
static bool
has_several_times(const MtsInferred *inferred)
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
					 quote_identifier(mts_import_text(column->name)),
					 type_names[column->type]);
	if (strcmp(column->field, column->name) != 0)
		add_text(&options, "field", column->field);
	if (strcmp(column->format, "date") != 0)
		add_text(&options, "format", column->format);
	if (column->role == MTS_ROLE_ATTRIBUTE)
		add_option(&options, "role", "attribute");
	if (column->role == MTS_ROLE_TIME && has_several_times(inferred))
		add_option(&options, "role", "time");
	if (column->type == MTS_INFER_OID)
		add_option(&options, "bson_type", "objectId");
	add_text(&options, "sum_field", column->sum);
	add_text(&options, "min_field", column->min);
	add_text(&options, "max_field", column->max);
	end_options(&options);
}

/* The filter that excludes documents that are not buckets, or NULL */
static char *
write_filter(const MtsInferred *inferred)
{
	if (!inferred->required[0])
		return NULL;
	return mts_document_json(
		mts_document_make("{%s: {$ne: null}}", inferred->required));
}

/*
 * mts_import_escape
 *		Escape a collection's name for the option collection, in which % begins
 *		a placeholder.
 *
 * The result is palloc'd.
 */
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
 *		Write the statement that creates a table for a collection.
 *
 * database is NULL for the database of the server, and zone is NULL
 * for UTC.  The table is read-only unless IMPORT FOREIGN SCHEMA asks for an
 * updatable one and the samples allow it.  The result is palloc'd.
 */
char *
mts_import_table(const MtsInferred *inferred, const char *table,
				 const char *server, const char *database, const char *zone,
				 const MtsImportCollection *collection, bool updatable)
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

/* Begin a line of a hint: when to run a statement. */
static void
begin_alter(StringInfo hint, const char *when, const char *schema,
			const char *table)
{
	if (hint->len > 0)
		appendStringInfoChar(hint, '\n');
	appendStringInfo(hint, "%s, run: ALTER FOREIGN TABLE %s", when,
					 quote_qualified_identifier(schema, table));
}

/* Say how to declare an alternative reading of the samples. */
static void
hint_at_alternative(StringInfo hint, const MtsInferred *inferred, int other,
					const char *schema, const char *table)
{
	const char *separator = "";

	begin_alter(hint,
				psprintf("If the keys are %s",
						 inferred->alternatives[other].description),
				schema, table);
	for (int i = 0; i < inferred->ncolumns; i++)
	{
		const MtsInferColumn *column = &inferred->columns[i];

		if (!column->alternatives[other][0])
			continue;
		appendStringInfo(hint, "%s ALTER COLUMN %s OPTIONS (SET field %s)",
						 separator,
						 quote_identifier(mts_import_text(column->name)),
						 quote_literal_cstr(
							 mts_import_text(column->alternatives[other])));
		separator = ",";
	}
	appendStringInfoChar(hint, ';');
}

/* Say how to add an option that may be missing. */
static void
hint_at_option(StringInfo hint, const MtsInferRemark *remark,
			   const char *schema, const char *table)
{
	begin_alter(hint,
				strcmp(remark->option, "bucket_max_points") == 0
					? psprintf("If a full bucket has %s points", remark->value)
					: psprintf("If the field is %s", remark->option),
				schema, table);
	if (remark->column[0])
		appendStringInfo(hint, " ALTER COLUMN %s",
						 quote_identifier(mts_import_text(remark->column)));
	appendStringInfo(hint, " OPTIONS (ADD %s %s);", remark->option,
					 quote_literal_cstr(mts_import_text(remark->value)));
}

/* Whether a remark is the last one that forbids writes */
static bool
is_last_reason(const MtsInferred *inferred, int remark)
{
	if (!inferred->remarks[remark].forbids_writes)
		return false;
	for (int i = remark + 1; i < inferred->nremarks; i++)
		if (inferred->remarks[i].forbids_writes)
			return false;
	return true;
}

/*
 * mts_import_hint
 *		Write the hint of a remark: the statements that alter the table if the
 *		remark's doubt is resolved.
 *
 * The result is palloc'd, and empty when the remark has no hint.
 */
char *
mts_import_hint(const MtsInferred *inferred, int remark, bool is_view,
				const char *schema, const char *table)
{
	StringInfoData hint;

	initStringInfo(&hint);
	for (int i = 0; i < inferred->nalternatives; i++)
		if (inferred->alternatives[i].remark == remark)
			hint_at_alternative(&hint, inferred, i, schema, table);
	if (is_view) /* views cannot be written */
		return hint.data;
	if (inferred->remarks[remark].option)
		hint_at_option(&hint, &inferred->remarks[remark], schema, table);
	if (is_last_reason(inferred, remark))
	{
		begin_alter(&hint,
					"To allow writes after you have settled these notices",
					schema, table);
		appendStringInfoString(&hint, " OPTIONS (SET updatable 'true');");
	}
	return hint.data;
}
