/*
 * table.c
 *		Read a foreign table's options into a layout, and judge the whole.
 *
 * It rejects what no single option shows to be wrong.  A table lives in the
 * memory context in which it was opened.
 */
#include "table.h"

#include "catalog/pg_type.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"

#include "document.h"
#include "zone.h"

/*
 * Record why options don't fit together, if nothing else was found before; hint
 * may be NULL.  What was read then is of no use, but can be read on.
 */
void
mts_table_refuse(MtsTable *table, const char *detail, const char *hint)
{
	if (table->problem)
		return;
	table->problem = pstrdup(detail);
	table->hint = hint;
}

/* The validator has seen the path, so an error here is one of the catalog's */
void
mts_table_parse_path(MtsTable *table, const char *text, MtsPath *path)
{
	MtsError error;

	text = mts_document_utf8(text);
	if (!mts_path_parse(text, palloc(strlen(text) + 1), path, &error))
	{
		mts_table_refuse(table, error.detail, error.hint);
		memset(path, 0, sizeof(*path));
	}
}

void
mts_table_parse_format(MtsTable *table, const char *text, MtsFormat *format)
{
	MtsError error;

	if (!mts_format_parse(text, format, &error))
		mts_table_refuse(table, error.detail, error.hint);
}

/* The field that an option names; not set where there is no such option. */
void
mts_table_parse_field(MtsTable *table, List *options, const char *name,
					  MtsField *field)
{
	const char *text = mts_option_get(options, name);

	field->is_set = text != NULL;
	if (text)
		mts_table_parse_path(table, text, &field->path);
}

/* Is a column of this type a time? */
bool
mts_table_is_time_type(Oid typid)
{
	return typid == TIMESTAMPTZOID || typid == TIMESTAMPOID ||
		   typid == DATEOID;
}

bool
mts_table_is_number_type(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID ||
		   typid == FLOAT4OID || typid == FLOAT8OID || typid == NUMERICOID;
}

/* May this column be the time, with no role that says so? */
static bool
may_be_time(const MtsAttribute *attribute, bool dates)
{
	return !attribute->has_role && mts_table_is_time_type(attribute->typid) &&
		   (attribute->typid == DATEOID) == dates;
}

/* Find the time column: by its role, else by its type; a timestamp first. */
static void
find_time(MtsTable *table)
{
	MtsLayout *layout = &table->layout;

	layout->time_column = -1;
	for (int pass = 0; pass < 3 && layout->time_column < 0; pass++)
		for (int i = 0; i < layout->ncolumns; i++)
		{
			if (pass == 0 ? layout->columns[i].role != MTS_ROLE_TIME
						  : !may_be_time(&table->attributes[i], pass == 2))
				continue;
			if (layout->time_column >= 0)
				mts_table_refuse(
					table,
					psprintf(
						"Both column \"%s\" and column \"%s\" can be the time of the points.",
						layout->columns[layout->time_column].name,
						layout->columns[i].name),
					"Set option \"role\" of one of them to \"time\".");
			layout->time_column = i;
		}
	if (layout->time_column >= 0)
		layout->columns[layout->time_column].role = MTS_ROLE_TIME;
}

static void
read_table_options(List *options, MtsTable *table)
{
	MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time(layout);
	const char *format = mts_option_get(options, "bucket_time_format");
	const char *span = mts_option_get(options, "bucket_span");
	const char *invalid = mts_option_get(options, "on_invalid");
	const char *finer = mts_option_get(options, "on_subresolution");
	const char *zone = mts_option_get(options, "bucket_time_zone");

	layout->clock = mts_zone_clock(zone ? zone : "UTC");
	table->is_utc = layout->clock.to_local == NULL;
	layout->truncate = finer && strcmp(finer, "truncate") == 0;
	table->on_invalid = invalid && strcmp(invalid, "skip") == 0
							? MTS_INVALID_SKIP
							: MTS_INVALID_ERROR;
	if (span)
		layout->span = mts_option_span(span);

	mts_table_parse_field(table, options, "bucket_time_field",
						  &layout->bucket_time);
	mts_table_parse_field(table, options, "bucket_first_field",
						  &layout->first);
	mts_table_parse_field(table, options, "bucket_last_field", &layout->last);
	if (format && !layout->bucket_time.is_set)
		mts_table_refuse(
			table,
			"Option \"bucket_time_format\" requires option \"bucket_time_field\".",
			NULL);
	mts_table_parse_format(table, format ? format : "date",
						   &layout->bucket_time.format);

	/* bounds are written as the points' times are */
	if (time && time->format.kind != MTS_FORMAT_OFFSET)
		layout->first.format = layout->last.format = time->format;
	else
		layout->first.format = layout->last.format =
			layout->bucket_time.format;
}

static void
read_filter(MtsTable *table, const char *json)
{
	char *problem;

	if (!json)
		return;
	table->filter = mts_document_from_json(json, strlen(json), &problem);
	if (!table->filter)
		elog(ERROR, "invalid filter in the catalog: %s", problem);
}

/* The column that takes the keys of a slot is text. */
static void
check_slot_columns(MtsTable *table)
{
	for (int i = 0; i < table->layout.ncolumns; i++)
		if (table->layout.columns[i].role == MTS_ROLE_SLOT &&
			table->attributes[i].typid != TEXTOID &&
			table->attributes[i].typid != VARCHAROID)
			mts_table_refuse(
				table,
				psprintf(
					"Column \"%s\" takes the keys of a slot, but its type is %s.",
					table->layout.columns[i].name,
					format_type_be(table->attributes[i].typid)),
				"Declare it as text.");
}

/*
 * mts_table_try_open
 *		Read the options of a foreign table and those of its server.
 *
 * A table whose options don't fit together has a problem, and is of no use
 * besides; one without a database, too.
 */
MtsTable *
mts_table_try_open(Relation relation)
{
	ForeignTable *table_object = GetForeignTable(RelationGetRelid(relation));
	ForeignServer *server = GetForeignServer(table_object->serverid);
	List *options = table_object->options;
	MtsTable *table = palloc0(sizeof(MtsTable));
	MtsError error;
	int fetch_size;

	table->relid = RelationGetRelid(relation);
	table->serverid = server->serverid;
	table->database = mts_option_get(options, "database");
	if (!table->database)
		table->database = mts_option_get(server->options, "database");
	if (!table->database)
		mts_table_refuse(
			table,
			"Neither the foreign table nor its server has option \"database\".",
			psprintf(
				"Use ALTER SERVER %s OPTIONS (ADD database '...') to set it.",
				quote_identifier(server->servername)));
	mts_table_read_collection(relation, options, table);
	fetch_size = mts_option_get_int(server->options, "fetch_size",
									MTS_DEFAULT_FETCH_SIZE);
	table->fetch_size = mts_option_get_int(options, "fetch_size", fetch_size);

	mts_table_read_columns(relation, table);
	find_time(table);
	read_table_options(options, table);
	read_filter(table, mts_option_get(options, "filter"));
	if (!table->problem && !mts_layout_build(&table->layout, &error))
		mts_table_refuse(table, error.detail, error.hint);
	/* what follows asks a layout that was built */
	if (table->problem)
		return table;
	check_slot_columns(table);
	mts_table_check_set(table);
	mts_table_read_writing(server->options, options, table);
	return table;
}

/*
 * mts_table_open
 *		The same; an error where the options don't fit together.
 */
MtsTable *
mts_table_open(Relation relation)
{
	MtsTable *table = mts_table_try_open(relation);

	if (table->problem)
		ereport(ERROR,
				(errcode(table->database ? ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE
										 : ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
				 table->database ? errmsg("invalid options of foreign table "
										  "\"%s\"",
										  RelationGetRelationName(relation))
								 : errmsg("no database for foreign table "
										  "\"%s\"",
										  RelationGetRelationName(relation)),
				 errdetail("%s", table->problem),
				 table->hint ? errhint("%s", table->hint) : 0));
	return table;
}

/* The layout's column of an attribute; -1 when it has none. */
int
mts_table_column(const MtsTable *table, AttrNumber attnum)
{
	if (attnum < 1 || attnum > table->natts)
		return -1;
	return table->columns[attnum - 1];
}
