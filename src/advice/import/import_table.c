/*
 * import_table.c
 *		Writes the SQL that declares an inferred table.
 *
 * Names and options come from documents, so each one is quoted.  Nothing here
 * runs a statement.
 */
#include "advice/import/import.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/formatting.h"

#include "driver/document.h"
#include "table/option.h"

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
	[MTS_INFER_ANY] = "text",
};

/* ---- Names -------------------------------------------------------------- */

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

/* Whether a list has a name, in any letters */
static bool
has_letters_of(List *names, const char *name)
{
	ListCell *lc;

	foreach (lc, names)
		if (lfirst(lc) && pg_strcasecmp(strVal(lfirst(lc)), name) == 0)
			return true;
	return false;
}

/*
 * mts_import_name
 *		Make a name in a list of Strings an identifier that the others are not:
 *		in the letters of option "case", clipped, and with a number if it needs
 *		one.  Returns the name.
 */
char *
mts_import_name(const MtsImport *import, List *names, ListCell *lc)
{
	const char *letters = mts_option_get(import->stmt->options, "case");
	char *name = strVal(lfirst(lc));
	char *lower = str_tolower(name, strlen(name), DEFAULT_COLLATION_OID);
	char *number = "";

	/* a name does not clash with itself */
	lfirst(lc) = NULL;
	if (letters && strcmp(letters, "keep") != 0 &&
		(strcmp(letters, "lower") == 0 || !has_letters_of(names, lower)))
		name = lower;
	for (int n = 2;; n++)
	{
		int len =
			pg_mbcliplen(name, strlen(name), NAMEDATALEN - 1 - strlen(number));
		char *result = psprintf("%.*s%s", len, name, number);

		if (!list_member(names, makeString(result)))
		{
			lfirst(lc) = makeString(result);
			return result;
		}
		number = psprintf("_%d", n);
	}
}

/*
 * mts_import_columns
 *		List the names of a table's columns, as Strings.
 */
List *
mts_import_columns(const MtsImport *import, const MtsInferred *table)
{
	const char *time = mts_option_get(import->stmt->options, "time_column");
	List *names = NIL;
	ListCell *lc;

	for (int i = 0; i < table->ncolumns; i++)
		names =
			lappend(names,
					time && table->columns[i].role == MTS_ROLE_TIME
						? makeString(pstrdup(time))
						: makeString(mts_import_text(table->columns[i].name)));
	foreach (lc, names)
		if (!time ||
			table->columns[foreach_current_index(lc)].role != MTS_ROLE_TIME)
			(void) mts_import_name(import, names, lc);
	return names;
}

/* ---- Writes ------------------------------------------------------------- */

/* Add the dotted path of a field by which an INSERT finds a bucket. */
static List *
add_field(List *fields, const char *field)
{
	char buffer[MTS_MAX_PATH], dotted[MTS_MAX_PATH];
	MtsPath path;
	MtsError error;

	/* the column of a whole _id is read-only, so it finds no bucket */
	if (strcmp(field, "_id") == 0 ||
		!mts_path_parse(field, buffer, &path, &error) ||
		mts_path_addressable_steps(&path) < path.nsteps)
		return fields;
	mts_path_dotted(path.steps, path.nsteps, dotted, sizeof(dotted));
	return lappend(fields, makeString(pstrdup(dotted)));
}

/* The fields by which an INSERT finds a bucket; the first is the time */
static List *
identity_fields(const MtsInferred *table)
{
	List *fields = add_field(NIL, table->bucket_time);

	for (int i = 0; i < table->ncolumns && !table->bucket_time[0]; i++)
		if (table->columns[i].role == MTS_ROLE_TIME)
			fields = add_field(fields, table->columns[i].field);
	for (int i = 0; i < table->ncolumns && fields; i++)
		if (table->columns[i].role == MTS_ROLE_KEY)
			fields = add_field(fields, table->columns[i].field);
	return fields;
}

/*
 * mts_import_is_in_id
 *		Whether a field by which an INSERT finds a bucket is inside of _id.
 */
bool
mts_import_is_in_id(const MtsInferred *table)
{
	ListCell *lc;

	foreach (lc, identity_fields(table))
		if (strncmp(strVal(lfirst(lc)), "_id.", 4) == 0)
			return true;
	return false;
}

/*
 * mts_import_identity
 *		Write the fields by which an INSERT finds a bucket, the time last; NULL
 *		if there are none.
 */
char *
mts_import_identity(const MtsInferred *table)
{
	List *fields = identity_fields(table);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 1; i <= list_length(fields); i++)
		appendStringInfo(&text, "%s\"%s\"",
						 i == 1                     ? ""
						 : i == list_length(fields) ? " and "
													: ", ",
						 mts_import_text(strVal(
							 list_nth(fields, i % list_length(fields)))));
	return fields ? text.data : NULL;
}

/*
 * Whether a unique index proves that the time and the keys identify a bucket:
 * it has the time, and otherwise only keys and the filter's field.
 *
 * The samples prove nothing, nor does any index if these are inside of _id:
 * the _id of another document may have more fields, or another order.
 */
static bool
is_identified(const MtsImport *import, const MtsInferred *table)
{
	List *fields = identity_fields(table);

	for (int i = 0;
		 i < import->nindexes && fields && !mts_import_is_in_id(table); i++)
	{
		const MtsIndexFields *index = &import->indexes[i];
		bool has_only = index->is_unique, has_time = false;

		for (int j = 0; j < index->nfields; j++)
		{
			String *field = makeString(pstrdup(index->fields[j]));

			has_time |= equal(field, linitial(fields));
			has_only &= list_member(fields, field) ||
						strcmp(table->group, index->fields[j]) == 0;
		}
		if (has_only && has_time)
			return true;
	}
	return false;
}

/*
 * mts_import_is_updatable
 *		Whether a table may be written: the statement says so, and an INSERT
 *		is proved to find its bucket, if there are buckets.
 */
bool
mts_import_is_updatable(const MtsImport *import, const MtsInferred *table)
{
	return mts_option_get_bool(import->stmt->options, "updatable", false) &&
		   !import->collection->is_view && !table->readonly &&
		   (!table->has_buckets ||
			(table->max_points == 0 && is_identified(import, table)));
}

/* ---- Options ------------------------------------------------------------ */

/* Add an option, in the server's encoding, unless it has no value. */
static void
add_option(List **options, const char *name, const char *value)
{
	if (value && *value)
		*options =
			lappend(*options,
					makeDefElem(pstrdup(name),
								(Node *) makeString(pstrdup(value)), -1));
}

/* Add an option whose value is in UTF-8, as all texts of the inference. */
static void
add_text(List **options, const char *name, const char *value)
{
	add_option(options, name, mts_import_text(value));
}

/* Whether the time needs its role, as several columns are timestamps */
static bool
has_several_times(const MtsInferred *table)
{
	int n = 0;

	for (int i = 0; i < table->ncolumns; i++)
		n += table->columns[i].type == MTS_INFER_TIME &&
			 !table->columns[i].is_array;
	return n > 1;
}

static List *
column_options(const MtsInferred *table, const MtsInferColumn *column)
{
	List *options = NIL;

	/* so that the column can be renamed */
	add_text(&options, "field", column->field);
	if (strcmp(column->format, "date") != 0)
		add_text(&options, "format", column->format);
	if (column->role == MTS_ROLE_ATTRIBUTE)
		add_option(&options, "role", "attribute");
	if (column->role == MTS_ROLE_TIME && has_several_times(table))
		add_option(&options, "role", "time");
	if (column->role == MTS_ROLE_KEY && column->type == MTS_INFER_TIME)
		add_option(&options, "role", "key");
	if (column->type == MTS_INFER_OID)
		add_option(&options, "bson_type", "objectId");
	if (column->type == MTS_INFER_ANY)
		add_option(&options, "bson_type", "any");
	add_text(&options, "missing_value", column->missing);
	add_text(&options, "sum_field", column->sum);
	add_text(&options, "min_field", column->min);
	add_text(&options, "max_field", column->max);
	return options;
}

/*
 * mts_import_filter
 *		Make the filter that excludes documents that are not buckets, or are of
 *		another group; it may be empty.
 */
bson_t *
mts_import_filter(const MtsInferred *table)
{
	bson_t *filter = mts_document_new();
	bson_value_t value;

	if (table->required[0])
		mts_template_fields(filter, "{%s: {$ne: null}}", table->required);
	if (table->group[0])
	{
		value = mts_document_value(&table->value);
		bson_append_value(filter, table->group, -1, &value);
	}
	return filter;
}

static List *
table_options(const MtsImport *import, const MtsInferred *table)
{
	const char *database = import->stmt->remote_schema;
	const char *by_default = mts_option_database(import->server->options);
	/* in option collection, % begins a placeholder */
	Datum collection =
		DirectFunctionCall3Coll(replace_text, C_COLLATION_OID,
								CStringGetTextDatum(import->collection->name),
								CStringGetTextDatum("%"),
								CStringGetTextDatum("%%"));
	const bson_t *filter = mts_import_filter(table);
	List *options = NIL;

	if (!by_default || strcmp(by_default, database) != 0)
		add_option(&options, "database", database);
	add_option(&options, "collection", TextDatumGetCString(collection));
	add_option(&options, "filter",
			   bson_empty(filter) ? NULL : mts_document_json(filter));
	add_text(&options, "bucket_time_field", table->bucket_time);
	if (strcmp(table->bucket_format, "date") != 0)
		add_text(&options, "bucket_time_format", table->bucket_format);
	if (table->bucket_time_is_local || table->slots_are_local)
		add_option(&options, "bucket_time_zone",
				   pg_get_timezone_name(session_timezone));
	add_text(&options, "bucket_span", table->bucket_span);
	if (table->slots_are_local)
		add_option(&options, "slot_clock", "local");
	if (table->truncates)
		add_option(&options, "on_subresolution", "truncate");
	add_text(&options, "bucket_first_field", table->first);
	add_text(&options, "bucket_last_field", table->last);
	if (table->max_points > 0)
		add_option(&options, "bucket_max_points",
				   psprintf("%lld", (long long) table->max_points));
	add_text(&options, "count_field", table->count);
	add_option(&options, "updatable",
			   mts_import_is_updatable(import, table) ? "true" : "false");
	return options;
}

/* ---- Statements --------------------------------------------------------- */

/* mts_import_join: join texts with a separator. */
char *
mts_import_join(List *texts, const char *separator)
{
	StringInfoData joined;
	ListCell *lc;

	initStringInfo(&joined);
	foreach (lc, texts)
		appendStringInfo(&joined, "%s%s", joined.len > 0 ? separator : "",
						 (char *) lfirst(lc));
	return joined.data;
}

/* Write a clause with options, or nothing. */
static char *
write_options(List *options)
{
	List *texts = NIL;
	ListCell *lc;

	foreach (lc, options)
	{
		DefElem *def = lfirst(lc);

		texts = lappend(texts, psprintf("%s %s", def->defname,
										quote_literal_cstr(strVal(def->arg))));
	}
	return texts ? psprintf(" OPTIONS (%s)", mts_import_join(texts, ", "))
				 : "";
}

static char *
write_column(const MtsInferred *table, const MtsInferColumn *column,
			 const char *name)
{
	return psprintf("%s %s%s%s%s", quote_identifier(name),
					type_names[column->type], column->is_array ? "[]" : "",
					write_options(column_options(table, column)),
					column->is_not_null ? " NOT NULL" : "");
}

/*
 * mts_import_create
 *		Write the statement that creates a table.
 */
char *
mts_import_create(const MtsImport *import, const MtsInferred *table,
				  const char *name)
{
	List *columns = NIL;
	ListCell *lc;

	foreach (lc, mts_import_columns(import, table))
		columns =
			lappend(columns,
					write_column(table,
								 &table->columns[foreach_current_index(lc)],
								 strVal(lfirst(lc))));
	return psprintf("CREATE FOREIGN TABLE %s (\n  %s\n) SERVER %s%s",
					quote_identifier(name), mts_import_join(columns, ",\n  "),
					quote_identifier(import->server->servername),
					write_options(table_options(import, table)));
}
