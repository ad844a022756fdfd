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

#include "catalog/pg_collation.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/formatting.h"

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
		n += inferred->columns[i].type == MTS_INFER_TIME &&
			 !inferred->columns[i].is_array;
	return n > 1;
}

static void
write_column(const MtsInferred *inferred, const MtsInferColumn *column,
			 StringInfo statement)
{
	Options options = {statement, " OPTIONS ("};

	appendStringInfo(statement, "  %s %s%s",
					 quote_identifier(mts_import_text(column->name)),
					 type_names[column->type], column->is_array ? "[]" : "");
	if (strcmp(column->field, column->name) != 0)
		add_text(&options, "field", column->field);
	if (strcmp(column->format, "date") != 0)
		add_text(&options, "format", column->format);
	if (column->role == MTS_ROLE_ATTRIBUTE)
		add_option(&options, "role", "attribute");
	if (column->role == MTS_ROLE_TIME && has_several_times(inferred))
		add_option(&options, "role", "time");
	if (column->role == MTS_ROLE_KEY && column->type == MTS_INFER_TIME)
		add_option(&options, "role", "key");
	if (column->type == MTS_INFER_OID)
		add_option(&options, "bson_type", "objectId");
	add_text(&options, "sum_field", column->sum);
	add_text(&options, "min_field", column->min);
	add_text(&options, "max_field", column->max);
	end_options(&options);
	if (column->is_not_null)
		appendStringInfoString(statement, " NOT NULL");
}

/*
 * The filter that excludes documents that are not buckets, or are of another
 * group, or NULL
 */
static char *
write_filter(const MtsInferred *inferred)
{
	bson_t *filter = mts_document_new();
	bson_value_t value;

	if (inferred->required[0])
		mts_template_fields(filter, "{%s: {$ne: null}}", inferred->required);
	if (inferred->group[0])
	{
		value = mts_document_value(&inferred->value);
		bson_append_value(filter, inferred->group, -1, &value);
	}
	return bson_empty(filter) ? NULL : mts_document_json(filter);
}

/*
 * mts_import_case
 *		A name in lower case if option "case" says so.  The result is palloc'd.
 */
char *
mts_import_case(const char *name, const char *letters)
{
	return !letters || strcmp(letters, "keep") == 0
			   ? pstrdup(name)
			   : str_tolower(name, strlen(name), DEFAULT_COLLATION_OID);
}

/* Whether another column has this name */
static bool
is_column(const MtsInferred *inferred, int except, const char *name)
{
	for (int i = 0; i < inferred->ncolumns; i++)
		if (i != except && strcmp(inferred->columns[i].name, name) == 0)
			return true;
	return false;
}

/*
 * mts_import_write_case
 *		Write the names of columns: 'lower' numbers those that are then the
 *		same, and 'smart' keeps them.
 */
void
mts_import_write_case(MtsInferred *inferred, const char *letters)
{
	for (int i = 0; letters && i < inferred->ncolumns; i++)
	{
		MtsInferColumn *column = &inferred->columns[i];
		char *name = mts_document_utf8(
			mts_import_case(mts_import_text(column->name), letters));
		char *base = pnstrdup(name, MTS_INFER_NAME - 5);

		if (strcmp(letters, "smart") == 0 && is_column(inferred, i, name))
			continue;
		for (int n = 2; is_column(inferred, i, name); n++)
			name = psprintf("%s_%d", base, n);
		if (strlen(name) >= MTS_INFER_NAME)
			continue;
		for (int j = 0; j < inferred->nchanges; j++)
			if (strcmp(inferred->changes[j].column, column->name) == 0)
				strcpy(inferred->changes[j].column, name);
		strcpy(column->name, name);
	}
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
 * updatable one and that is proved to be safe.  The result is palloc'd.
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

/* Write an action of ALTER FOREIGN TABLE. */
static void
write_change(StringInfo hint, const MtsInferChange *change)
{
	static const char *const verbs[] = {"SET", "ADD", "DROP"};
	const char *column = quote_identifier(mts_import_text(change->column));

	switch (change->action)
	{
		case MTS_INFER_ADD_COLUMN:
			appendStringInfo(hint, " ADD COLUMN %s text", change->option);
			return;
		case MTS_INFER_DROP_COLUMN:
			appendStringInfo(hint, " DROP COLUMN %s", column);
			return;
		case MTS_INFER_SET_TYPE:
			appendStringInfo(hint, " ALTER COLUMN %s TYPE %s", column,
							 type_names[change->type]);
			return;
		default:
			if (change->column[0])
				appendStringInfo(hint, " ALTER COLUMN %s", column);
			appendStringInfo(hint, " OPTIONS (%s %s", verbs[change->action],
							 change->option);
			if (change->action != MTS_INFER_DROP_OPTION)
				appendStringInfo(hint, " %s",
								 quote_literal_cstr(
									 mts_import_text(change->value)));
			appendStringInfoChar(hint, ')');
	}
}

/* Write the statements that declare what a remark describes. */
static void
hint_at_changes(StringInfo hint, const MtsInferred *inferred, int remark,
				const char *schema, const char *table)
{
	const MtsInferChange *last = NULL;

	for (int i = 0; i < inferred->nchanges; i++)
	{
		const MtsInferChange *change = &inferred->changes[i];

		if (change->remark != remark)
			continue;
		if (last && strcmp(last->condition, change->condition) == 0)
			appendStringInfoChar(hint, ',');
		else
		{
			if (last)
				appendStringInfoChar(hint, ';');
			begin_alter(hint, change->condition, schema, table);
		}
		write_change(hint, change);
		last = change;
	}
	if (last)
		appendStringInfoChar(hint, ';');
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
	hint_at_changes(&hint, inferred, remark, schema, table);
	/* views cannot be written */
	if (!is_view && is_last_reason(inferred, remark))
	{
		begin_alter(&hint,
					"To allow writes after you have settled these notices",
					schema, table);
		appendStringInfoString(&hint, " OPTIONS (SET updatable 'true');");
	}
	return hint.data;
}
