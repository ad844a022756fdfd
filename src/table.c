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

/* Raise that options don't fit together; hint may be NULL. */
void
mts_table_refuse(Relation relation, const char *detail, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					errmsg("invalid options of foreign table \"%s\"",
						   RelationGetRelationName(relation)),
					errdetail("%s", detail), hint ? errhint("%s", hint) : 0));
}

/* The validator has seen the path, so an error here is one of the catalog's */
static void
parse_path(Relation relation, const char *text, MtsPath *path)
{
	MtsError error;

	text = mts_document_utf8(text);
	if (!mts_path_parse(text, palloc(strlen(text) + 1), path, &error))
		mts_table_refuse(relation, error.detail, error.hint);
}

static void
parse_format(Relation relation, const char *text, MtsFormat *format)
{
	MtsError error;

	if (!mts_format_parse(text, format, &error))
		mts_table_refuse(relation, error.detail, error.hint);
}

/* The field that an option names; not set where there is no such option. */
void
mts_table_parse_field(Relation relation, List *options, const char *name,
					  MtsField *field)
{
	const char *text = mts_option_get(options, name);

	field->is_set = text != NULL;
	if (text)
		parse_path(relation, text, &field->path);
}

/* Is a column of this type a time? */
bool
mts_table_is_time_type(Oid typid)
{
	return typid == TIMESTAMPTZOID || typid == TIMESTAMPOID ||
		   typid == DATEOID;
}

static MtsMissing
parse_missing(const char *text)
{
	MtsMissing missing = {MTS_MISSING_NONE};
	char *end;

	if (!text)
		return missing;
	missing.text = mts_document_utf8(text);
	missing.number = strtod(text, &end);
	if (strcmp(text, "null") == 0)
		missing.kind = MTS_MISSING_NULL;
	else if (*end == '\0')
		missing.kind = MTS_MISSING_NUMBER;
	else
		missing.kind = MTS_MISSING_TEXT;
	return missing;
}

/* The BSON type that the option bson_type names for a key, or its SQL type */
static MtsKeyType
key_type(const char *bson_type, const MtsColumn *column, Oid typid)
{
	if (!bson_type)
	{
		/* the text of an _id may be that of an ObjectId */
		if (column->path.nsteps == 0 ||
			(column->path.nsteps == 1 && column->path.nslots == 0 &&
			 strcmp(column->path.steps[0].name, "_id") == 0 &&
			 (typid == TEXTOID || typid == VARCHAROID || typid == BPCHAROID)))
			return MTS_KEY_ANY;
		switch (typid)
		{
			case INT2OID:
			case INT4OID:
			case INT8OID:
			case FLOAT4OID:
			case FLOAT8OID:
			case NUMERICOID:
				return MTS_KEY_IS_NUMBER;
			case TEXTOID:
			case VARCHAROID:
			case BPCHAROID:
				return MTS_KEY_IS_STRING;
			case BOOLOID:
				return MTS_KEY_IS_BOOL;
			case TIMESTAMPTZOID:
			case TIMESTAMPOID:
			case DATEOID:
				return column->format.kind == MTS_FORMAT_DATE
						   ? MTS_KEY_IS_DATE
						   : MTS_KEY_IS_TIME;
			default:
				return MTS_KEY_ANY;
		}
	}
	if (strcmp(bson_type, "string") == 0)
		return MTS_KEY_IS_STRING;
	if (strcmp(bson_type, "date") == 0)
		return MTS_KEY_IS_DATE;
	if (strcmp(bson_type, "bool") == 0)
		return MTS_KEY_IS_BOOL;
	if (strcmp(bson_type, "objectId") == 0)
		return MTS_KEY_IS_OID;
	return MTS_KEY_IS_NUMBER;
}

static void
read_column(Relation relation, Form_pg_attribute att, MtsColumn *column,
			MtsAttribute *attribute)
{
	List *options =
		GetForeignColumnOptions(RelationGetRelid(relation), att->attnum);
	const char *field = mts_option_get(options, "field");
	const char *format = mts_option_get(options, "format");
	const char *role = mts_option_get(options, "role");
	const char *bson_type = mts_option_get(options, "bson_type");

	column->name = pstrdup(NameStr(att->attname));
	if (!field)
	{
		/* a name is no path: what has a meaning in one is escaped */
		MtsStep *step = &column->path.steps[0];

		column->path.nsteps = 1;
		step->kind = MTS_STEP_NAME;
		step->name = mts_document_utf8(column->name);
		step->len = strlen(step->name);
	}
	else
		parse_path(relation, field, &column->path);
	parse_format(relation, format ? format : "date", &column->format);
	if (format && !mts_table_is_time_type(att->atttypid))
		mts_table_refuse(
			relation,
			psprintf("Column \"%s\" has option \"format\", but type %s.",
					 column->name, format_type_be(att->atttypid)),
			"Option \"format\" is for columns of type timestamptz, timestamp or date.");
	column->role = !role || strcmp(role, "key") == 0 ? MTS_ROLE_KEY
				   : strcmp(role, "time") == 0       ? MTS_ROLE_TIME
													 : MTS_ROLE_ATTRIBUTE;
	if (column->role == MTS_ROLE_TIME &&
		!mts_table_is_time_type(att->atttypid))
		mts_table_refuse(
			relation,
			psprintf("Column \"%s\" has role \"time\", but type %s.",
					 column->name, format_type_be(att->atttypid)),
			"The time must be a column of type timestamptz, timestamp or date.");
	if (bson_type && column->format.kind != MTS_FORMAT_DATE)
		mts_table_refuse(
			relation,
			psprintf("Column \"%s\" has both option \"format\" and option "
					 "\"bson_type\".",
					 column->name),
			"Option \"format\" alone says how a time is stored.");
	if (role && strcmp(role, "key") == 0 && column->path.nslots > 0)
		mts_table_refuse(
			relation,
			psprintf("Column \"%s\" has role \"key\", but its path has a "
					 "slot, so it belongs to a point, not to the bucket.",
					 column->name),
			NULL);
	column->missing = parse_missing(mts_option_get(options, "missing"));
	attribute->attnum = att->attnum;
	attribute->has_role = role != NULL;
	attribute->bson_type = bson_type;
	attribute->typid = att->atttypid;
	attribute->typmod = att->atttypmod;
	attribute->not_null = att->attnotnull;
	attribute->key_type = key_type(bson_type, column, att->atttypid);
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
find_time(Relation relation, MtsTable *table)
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
					relation,
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
read_columns(Relation relation, MtsTable *table)
{
	TupleDesc desc = RelationGetDescr(relation);
	MtsLayout *layout = &table->layout;

	table->natts = desc->natts;
	table->columns = palloc(desc->natts * sizeof(int));
	table->attributes = palloc0(desc->natts * sizeof(MtsAttribute));
	layout->columns = palloc0(desc->natts * sizeof(MtsColumn));
	layout->containers = palloc0(desc->natts * sizeof(MtsContainer));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		int n = layout->ncolumns;

		table->columns[i] = -1;
		if (att->attisdropped)
			continue;
		read_column(relation, att, &layout->columns[n], &table->attributes[n]);
		table->columns[i] = n;
		layout->ncolumns++;
	}
}

static void
read_table_options(Relation relation, List *options, MtsTable *table)
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

	mts_table_parse_field(relation, options, "bucket_time_field",
						  &layout->bucket_time);
	mts_table_parse_field(relation, options, "bucket_first_field",
						  &layout->first);
	mts_table_parse_field(relation, options, "bucket_last_field",
						  &layout->last);
	if (format && !layout->bucket_time.is_set)
		mts_table_refuse(
			relation,
			"Option \"bucket_time_format\" requires option \"bucket_time_field\".",
			NULL);
	parse_format(relation, format ? format : "date",
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
check_slot_columns(Relation relation, const MtsTable *table)
{
	for (int i = 0; i < table->layout.ncolumns; i++)
		if (table->layout.columns[i].role == MTS_ROLE_SLOT &&
			table->attributes[i].typid != TEXTOID &&
			table->attributes[i].typid != VARCHAROID)
			mts_table_refuse(
				relation,
				psprintf(
					"Column \"%s\" takes the keys of a slot, but its type is %s.",
					table->layout.columns[i].name,
					format_type_be(table->attributes[i].typid)),
				"Declare it as text.");
}

/*
 * mts_table_open
 *		Read the options of a foreign table and those of its server.
 *
 * An error when they don't fit together.
 */
MtsTable *
mts_table_open(Relation relation)
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
		ereport(
			ERROR,
			(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
			 errmsg("no database for foreign table \"%s\"",
					RelationGetRelationName(relation)),
			 errdetail(
				 "Neither the foreign table nor its server has option \"database\"."),
			 errhint(
				 "Use ALTER SERVER %s OPTIONS (ADD database '...') to set it.",
				 quote_identifier(server->servername))));
	mts_table_read_collection(relation, options, table);
	fetch_size = mts_option_get_int(server->options, "fetch_size",
									MTS_DEFAULT_FETCH_SIZE);
	table->fetch_size = mts_option_get_int(options, "fetch_size", fetch_size);

	read_columns(relation, table);
	find_time(relation, table);
	read_table_options(relation, options, table);
	read_filter(table, mts_option_get(options, "filter"));
	if (!mts_layout_build(&table->layout, &error))
		mts_table_refuse(relation, error.detail, error.hint);
	check_slot_columns(relation, table);
	mts_table_check_set(relation, table);
	mts_table_read_writing(relation, server->options, options, table);
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

/* How MongoDB's $type names what a key holds. */
const char *
mts_key_type_name(MtsKeyType type)
{
	switch (type)
	{
		case MTS_KEY_IS_NUMBER:
			return "number";
		case MTS_KEY_IS_STRING:
			return "string";
		case MTS_KEY_IS_DATE:
			return "date";
		case MTS_KEY_IS_BOOL:
			return "bool";
		case MTS_KEY_IS_OID:
			return "objectId";
		default:
			return NULL;
	}
}
