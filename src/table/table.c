/*
 * table.c
 *		Read a foreign table's options into a layout, and check them together.
 *
 * The validator (option.c) has checked each option by itself.  A single one
 * that is invalid has become so (a time zone can disappear, another version
 * can have other options), or the catalog is corrupt.  This file rejects
 * options that contradict each other, the columns or the layout, and those
 * that do not exist: the rows could be wrong without them.  A table lives in
 * the memory context in which it was opened; the session keeps what was read
 * (table_cache.c).
 */
#include "table/table.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "driver/document.h"
#include "table/table_cache.h"
#include "table/zone.h"

extern Datum mongo_ts_fdw_handler(PG_FUNCTION_ARGS);

/*
 * Record why options contradict each other; hint may be NULL.
 *
 * Only the first problem is kept.  Reading goes on, but the table is not used.
 */
static void
refuse(MtsTable *table, const char *detail, const char *hint)
{
	if (table->problem)
		return;
	table->problem = pstrdup(detail);
	table->hint = hint;
}

/* Check that all options exist: one of another version may not. */
static void
check_names(MtsTable *table, const char *owner, List *options, Oid catalog)
{
	const char *hint;
	const char *unknown = mts_option_unknown(options, catalog, &hint);

	if (unknown)
		refuse(table,
			   psprintf("%s has the invalid option \"%s\".", owner, unknown),
			   hint);
}

static void
parse_path(MtsTable *table, const char *text, MtsPath *path)
{
	MtsError error;

	text = mts_document_utf8(text);
	if (!mts_path_parse(text, palloc(strlen(text) + 1), path, &error))
	{
		refuse(table, error.detail, error.hint);
		memset(path, 0, sizeof(*path));
	}
}

static void
parse_format(MtsTable *table, const char *text, MtsFormat *format)
{
	MtsError error;

	if (!mts_format_parse(text ? text : "date", format, &error))
		refuse(table, error.detail, error.hint);
}

/* Read the field that an option names; without the option it is not set. */
static void
parse_field(MtsTable *table, List *options, const char *name, MtsField *field)
{
	const char *text = mts_option_get(options, name);

	field->is_set = text != NULL;
	if (text)
		parse_path(table, text, &field->path);
}

/* Tell whether option bson_type allows values of any type. */
static bool
allows_any_type(List *options)
{
	const char *type = mts_option_get(options, "bson_type");

	return type && strcmp(type, "any") == 0;
}

/* Which BSON types a key holds: by option bson_type, or by its SQL type */
static MtsKeyType
key_type(const MtsColumn *column, const MtsAttribute *attribute, List *options)
{
	Oid typid = attribute->typid;
	bool is_text = mts_type_is_text(typid) || typid == BPCHAROID;
	bson_type_t type = attribute->bson_type;

	/* the option names the type of an array's elements */
	if (mts_type_is_array(typid) || column->path.nsteps == 0)
		return MTS_KEY_ANY;
	if (allows_any_type(options))
		return MTS_KEY_AS_TEXT;
	if (type == BSON_TYPE_EOD)
	{
		/* an _id that is shown as text may be an ObjectId */
		if (column->path.nsteps == 1 && mts_path_is_in_id(&column->path) &&
			is_text)
			return MTS_KEY_AS_TEXT;
		type = mts_type_bson(typid);
		if (type == BSON_TYPE_DATE_TIME &&
			column->format.kind != MTS_FORMAT_DATE)
			return MTS_KEY_IS_TIME;
		if ((type == BSON_TYPE_UTF8 && !is_text) ||
			(type == BSON_TYPE_BINARY && typid != UUIDOID))
			return MTS_KEY_ANY;
	}
	for (MtsKeyType key = MTS_KEY_IS_NUMBER; key <= MTS_KEY_IS_UUID; key++)
		if (mts_type_key_holds(key, type))
			return key;
	return MTS_KEY_ANY;
}

/* ---- Columns ---------------------------------------------------------- */

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

/* Make the path of one step by this name, even if it looks like a path. */
static void
set_name(const char *name, MtsPath *path)
{
	MtsStep *step = &path->steps[0];

	path->nsteps = 1;
	step->kind = MTS_STEP_NAME;
	step->name = mts_document_utf8(name);
	step->len = strlen(step->name);
}

/* Check that a column's options agree with each other and its type. */
static void
check_column(MtsTable *table, const MtsColumn *column, Oid typid,
			 List *options)
{
	const char *format = mts_option_get(options, "format");
	const char *role = mts_option_get(options, "role");
	bool is_time = mts_type_is_time(typid);

	if (format && !is_time)
		refuse(
			table,
			psprintf("Column \"%s\" has option \"format\", but type %s.",
					 column->name, format_type_be(typid)),
			"Option \"format\" is for columns of type timestamptz, timestamp or date.");
	if (mts_type_is_array(getBaseType(typid)) && !mts_type_is_array(typid))
		refuse(
			table,
			psprintf("Column \"%s\" has type %s, a domain over an array type.",
					 column->name, format_type_be(typid)),
			psprintf("Declare it as %s.", format_type_be(getBaseType(typid))));
	if (column->role == MTS_ROLE_TIME && !is_time)
		refuse(
			table,
			psprintf("Column \"%s\" has role \"time\", but type %s.",
					 column->name, format_type_be(typid)),
			"The time must be a column of type timestamptz, timestamp or date.");
	if (mts_option_get(options, "bson_type") &&
		column->format.kind != MTS_FORMAT_DATE)
		refuse(table,
			   psprintf("Column \"%s\" has both option \"format\" and option "
						"\"bson_type\".",
						column->name),
			   "Option \"format\" alone says how a time is stored.");
	if (allows_any_type(options) && !mts_type_is_text(typid))
		refuse(table,
			   psprintf("Column \"%s\" has option \"bson_type\" 'any', but "
						"type %s.",
						column->name, format_type_be(typid)),
			   "Declare the column as text.");
	if (role && strcmp(role, "key") == 0 && column->path.nslots > 0)
		refuse(table,
			   psprintf("Column \"%s\" has role \"key\", but its path has a "
						"slot, so it belongs to a point, not to the bucket.",
						column->name),
			   NULL);
}

static void
read_column(MtsTable *table, Form_pg_attribute att, MtsColumn *column,
			MtsAttribute *attribute)
{
	List *options = GetForeignColumnOptions(table->relid, att->attnum);
	const char *field = mts_option_get(options, "field");
	const char *role = mts_option_get(options, "role");
	Oid base = getBaseType(att->atttypid);

	column->name = pstrdup(NameStr(att->attname));
	if (field)
		parse_path(table, field, &column->path);
	else
		set_name(column->name, &column->path);
	parse_format(table, mts_option_get(options, "format"), &column->format);
	column->role = !role || strcmp(role, "key") == 0 ? MTS_ROLE_KEY
				   : strcmp(role, "time") == 0       ? MTS_ROLE_TIME
													 : MTS_ROLE_ATTRIBUTE;
	check_names(table, psprintf("Column \"%s\"", column->name), options,
				AttributeRelationId);
	check_column(table, column, att->atttypid, options);
	column->missing = parse_missing(mts_option_get(options, "missing_value"));
	parse_field(table, options, "sum_field", &column->sum);
	parse_field(table, options, "min_field", &column->min);
	parse_field(table, options, "max_field", &column->max);
	column->may_be_nan = mts_type_is_fraction(base);
	column->is_wide = base == INT8OID;
	attribute->has_role = role != NULL;
	attribute->bson_type =
		mts_type_bson_named(mts_option_get(options, "bson_type"));
	attribute->typid = att->atttypid;
	attribute->typmod = att->atttypmod;
	attribute->not_null = att->attnotnull;
	attribute->key_type = key_type(column, attribute, options);
}

/*
 * Describe a dropped column, so that columns are numbered as attributes.
 *
 * It is like a column that shows the whole document: it has no part in the
 * layout and is never written.  Neither is it ever needed.
 */
static void
drop_column(Form_pg_attribute att, MtsColumn *column, MtsAttribute *attribute)
{
	column->name = pstrdup(NameStr(att->attname));
	column->role = MTS_ROLE_ATTRIBUTE;
	attribute->dropped = true;
	attribute->bson_type = BSON_TYPE_EOD;
	attribute->key_type = MTS_KEY_ANY;
}

/* Read the columns; attribute number n is column n - 1. */
static void
read_columns(Relation relation, MtsTable *table)
{
	TupleDesc desc = RelationGetDescr(relation);
	MtsLayout *layout = &table->layout;

	layout->ncolumns = desc->natts;
	layout->columns = palloc0(desc->natts * sizeof(MtsColumn));
	layout->containers = palloc0(desc->natts * sizeof(MtsContainer));
	table->attributes = palloc0(desc->natts * sizeof(MtsAttribute));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			drop_column(att, &layout->columns[i], &table->attributes[i]);
		else
			read_column(table, att, &layout->columns[i],
						&table->attributes[i]);
	}
}

/* Tell whether a column may be the time, though no role says so. */
static bool
may_be_time(const MtsAttribute *attribute, bool dates)
{
	return !attribute->has_role && mts_type_is_time(attribute->typid) &&
		   (attribute->typid == DATEOID) == dates;
}

/* Find the time column: by its role, else a timestamp, else a date. */
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
				refuse(
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

/* Check that a column agrees with its role in the layout. */
static void
check_role(MtsTable *table, const MtsColumn *column,
		   const MtsAttribute *attribute)
{
	static const char *const names[] = {"sum_field", "min_field", "max_field"};
	const MtsField *fields[] = {&column->sum, &column->min, &column->max};
	bool is_number = mts_type_is_number(getBaseType(attribute->typid));

	if (column->role == MTS_ROLE_SLOT &&
		column != mts_layout_time_column(&table->layout) &&
		!mts_type_is_text(attribute->typid) &&
		!mts_type_is_integer(attribute->typid))
		refuse(
			table,
			psprintf(
				"Column \"%s\" holds the keys of a slot, but its type is %s.",
				column->name, format_type_be(attribute->typid)),
			"Declare it as text or as an integer.");
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (!fields[i]->is_set)
			continue;
		if (column->role != MTS_ROLE_VALUE)
			refuse(table,
				   psprintf("Column \"%s\" has option \"%s\", but is not a "
							"value of a point.",
							column->name, names[i]),
				   "A value's path has a slot, such as values.{second}.");
		if (i == 0 ? !is_number
				   : !mts_type_has_extremes(attribute->typid,
											attribute->key_type))
			refuse(table,
				   psprintf("Column \"%s\" has option \"%s\", but type %s.",
							column->name, names[i],
							format_type_be(attribute->typid)),
				   i == 0
					   ? "Only numbers can have a sum."
					   : "Only numbers, text stored as strings, and times "
						 "stored as dates can have a minimum and a maximum.");
	}
	/* $inc applies to numbers only */
	if (table->layout.write_mode == MTS_WRITE_INCREMENT &&
		column->role == MTS_ROLE_VALUE &&
		(!is_number || attribute->bson_type == BSON_TYPE_UTF8 ||
		 attribute->bson_type == BSON_TYPE_BOOL))
		refuse(table,
			   psprintf("Column \"%s\" is written by write_mode "
						"\"increment\", but is not a number.",
						column->name),
			   NULL);
}

/* ---- The table -------------------------------------------------------- */

/*
 * Read option collection: the name of a collection, or the pattern of a
 * rolling set.  The default is the table's name.
 */
static void
read_collection(Relation relation, List *options, MtsTable *table)
{
	MtsRollingName *rolling_name = palloc(sizeof(MtsRollingName));
	char *name;
	MtsError error;

	table->collection = mts_option_get(options, "collection");
	if (!table->collection)
		table->collection = pstrdup(RelationGetRelationName(relation));
	else if (!mts_rolling_name_parse(table->collection, rolling_name, &error))
		refuse(table, error.detail, error.hint);
	else if (rolling_name->nfields > 0)
		table->rolling_name = rolling_name;
	else
	{
		name = palloc(mts_rolling_name_size(rolling_name));
		(void) mts_rolling_name_format(rolling_name, NULL, 0, name);
		table->collection = name;
	}
}

/* Check that the buckets of a rolling set have a time. */
static void
check_set(MtsTable *table)
{
	const MtsLayout *layout = &table->layout;

	if (table->rolling_name && !layout->bucket_time.is_set &&
		(layout->time_kind != MTS_TIME_FLAT || layout->time_column < 0))
		refuse(table,
			   "Option \"collection\" names collections by the time of their "
			   "buckets, which no column or option declares.",
			   layout->nslots == 0
				   ? "Declare a column of type timestamptz, timestamp or date."
				   : "Set options \"bucket_time_field\" and \"bucket_span\".");
}

static bool
is_set_to(List *options, const char *name, const char *value)
{
	const char *set = mts_option_get(options, name);

	return set && strcmp(set, value) == 0;
}

static void
read_bucket_options(List *options, MtsTable *table)
{
	MtsLayout *layout = &table->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	const char *format = mts_option_get(options, "bucket_time_format");
	const char *span = mts_option_get(options, "bucket_span");
	const char *zone = mts_option_get(options, "bucket_time_zone");

	/* unlike UTC, PostgreSQL knows GMT without reading a file */
	layout->clock = mts_zone_clock(zone ? zone : "GMT");
	table->is_utc = layout->clock.to_local == NULL;
	layout->slots_are_local =
		!table->is_utc && is_set_to(options, "slot_clock", "local");
	layout->truncate = is_set_to(options, "on_subresolution", "truncate");
	table->on_invalid = is_set_to(options, "on_invalid", "skip")
							? MTS_INVALID_SKIP
							: MTS_INVALID_ERROR;
	if (span)
		layout->span = mts_option_span(span);

	parse_field(table, options, "bucket_time_field", &layout->bucket_time);
	parse_field(table, options, "bucket_first_field", &layout->first);
	parse_field(table, options, "bucket_last_field", &layout->last);
	parse_field(table, options, "count_field", &layout->count);
	if (format && !layout->bucket_time.is_set)
		refuse(table,
			   "Option \"bucket_time_format\" requires option "
			   "\"bucket_time_field\".",
			   NULL);
	parse_format(table, format, &layout->bucket_time.format);

	/* bounds have the format of the points' times */
	if (time && !mts_format_is_relative(&time->format))
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

/* Read option write_mode; the layout determines its default. */
static void
read_write_mode(MtsTable *table, List *options)
{
	MtsLayout *layout = &table->layout;
	static const char *const names[] = {"set", "increment", "push", "insert"};
	const char *name = mts_option_get(options, "write_mode");

	layout->write_mode =
		layout->nslots == 0 ? MTS_WRITE_INSERT
		: layout->slots[layout->nslots - 1]->kind == MTS_STEP_ELEMENT
			? MTS_WRITE_PUSH
			: MTS_WRITE_SET;
	if (!name || strcmp(name, names[layout->write_mode]) == 0)
		return;
	if (strcmp(name, "increment") != 0 || layout->write_mode != MTS_WRITE_SET)
		refuse(
			table,
			psprintf("The points of the foreign table cannot be written by "
					 "write_mode \"%s\".",
					 name),
			layout->write_mode == MTS_WRITE_SET
				? "Points in slots other than [] are written by \"set\" or \"increment\"."
			: layout->write_mode == MTS_WRITE_PUSH
				? "Points in a [] slot are written by \"push\"."
				: "Points that are documents of their own are written by \"insert\".");
	layout->write_mode = MTS_WRITE_INCREMENT;
}

/* Read and check the options that depend on the built layout. */
static void
read_layout_options(List *options, MtsTable *table)
{
	MtsLayout *layout = &table->layout;

	check_set(table);
	layout->max_points = mts_option_get_int(options, "bucket_max_points", 0);
	layout->assume_write_once =
		mts_option_get_bool(options, "assume_write_once", false);
	read_write_mode(table, options);
	for (int i = 0; i < layout->ncolumns; i++)
		if (!table->attributes[i].dropped)
			check_role(table, &layout->columns[i], &table->attributes[i]);
	if (layout->max_points > 0 && layout->write_mode != MTS_WRITE_PUSH)
		refuse(
			table,
			"Option \"bucket_max_points\" has no meaning for these points.",
			"It limits arrays that points are pushed to, such as samples[].");
	if (mts_option_get(options, "slot_clock") &&
		!mts_layout_counts_units(layout))
		refuse(table,
			   "Option \"slot_clock\" has no meaning, because no slot counts "
			   "units of time.",
			   NULL);
	if (layout->count.is_set && layout->nslots == 0)
		refuse(
			table,
			"Option \"count_field\" has no meaning where a document is a row.",
			NULL);
}

/*
 * mts_table_server_is_ours
 *		Tell whether a server's wrapper has our handler, whatever its name is.
 */
bool
mts_table_server_is_ours(const ForeignServer *server)
{
	Oid handler = GetForeignDataWrapper(server->fdwid)->fdwhandler;
	FmgrInfo info;

	if (!OidIsValid(handler))
		return false;
	fmgr_info(handler, &info);
	return info.fn_addr == mongo_ts_fdw_handler;
}

/* mts_table_is_ours: tell whether a foreign table has such a server. */
bool
mts_table_is_ours(Oid relid)
{
	return mts_table_server_is_ours(
		GetForeignServer(GetForeignTable(relid)->serverid));
}

/*
 * mts_table_open_relation
 *		Open a relation; raise an error unless it is a table of this wrapper.
 */
Relation
mts_table_open_relation(Oid relid, LOCKMODE lock)
{
	Relation relation = table_open(relid, lock);

	if (relation->rd_rel->relkind != RELKIND_FOREIGN_TABLE ||
		!mts_table_is_ours(relid))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a foreign table of mongo_ts_fdw",
							   RelationGetRelationName(relation))));
	return relation;
}

/*
 * mts_table_name
 *		Return the name of a table, as a statement needs it here and now.
 */
char *
mts_table_name(Oid relid)
{
	return quote_qualified_identifier(RelationIsVisible(relid)
										  ? NULL
										  : get_namespace_name(
												get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* mts_table_find_column: find a column by its name, or raise an error. */
AttrNumber
mts_table_find_column(Oid relid, const char *name)
{
	AttrNumber attnum = get_attnum(relid, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, get_rel_name(relid))));
	return attnum;
}

/*
 * mts_table_texts
 *		Return the elements of an array of text, which must not be null.
 */
List *
mts_table_texts(ArrayType *array)
{
	Datum *values;
	bool *nulls;
	int n;
	List *texts = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
					  &n);
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("array element must not be null")));
		texts = lappend(texts, TextDatumGetCString(values[i]));
	}
	return texts;
}

/* Read the options of a foreign table and its server. */
static const MtsTable *
read_table(Relation relation)
{
	ForeignTable *foreign = GetForeignTable(RelationGetRelid(relation));
	ForeignServer *server = GetForeignServer(foreign->serverid);
	/* an option of the table hides that of the server */
	List *options = list_concat_copy(foreign->options, server->options);
	MtsTable *table = palloc0(sizeof(MtsTable));
	const char *retention;
	MtsError error;

	table->relid = RelationGetRelid(relation);
	table->serverid = server->serverid;
	table->database = mts_option_database(options);
	if (!table->database)
		refuse(
			table,
			"Neither the foreign table nor its server has option \"database\", "
			"and option \"uri\" names no database in its path.",
			psprintf(
				"Use ALTER SERVER %s OPTIONS (ADD database '...') to set it.",
				quote_identifier(server->servername)));
	table->fetch_size =
		mts_option_get_int(options, "fetch_size", MTS_DEFAULT_FETCH_SIZE);
	table->batch_size =
		mts_option_get_int(options, "batch_size", MTS_DEFAULT_BATCH_SIZE);
	table->transactions = mts_option_get_transactions(options);
	table->updatable = mts_option_get_bool(options, "updatable", true);
	table->async_capable =
		mts_option_get_bool(options, "async_capable", false);
	table->truncatable = mts_option_get_bool(options, "truncatable", true);
	table->is_consistent = !is_set_to(options, "consistency", "none");
	table->native_buckets = !is_set_to(options, "native_buckets", "off");
	retention = mts_option_get(options, "rollup_retention");
	table->drops_points = retention != NULL;
	if (retention)
		table->retention = mts_option_span(retention);
	check_names(table, "The foreign table", foreign->options,
				ForeignTableRelationId);
	read_collection(relation, options, table);
	read_columns(relation, table);
	find_time(table);
	read_bucket_options(options, table);
	read_filter(table, mts_option_get(options, "filter"));
	if (!table->problem && !mts_layout_build(&table->layout, &error))
		refuse(table, error.detail, error.hint);
	if (!table->problem)
		read_layout_options(options, table);
	return table;
}

/*
 * mts_table_try_open
 *		Open a foreign table by its options and those of its server.
 *
 * If they contradict each other, or name no database, the result has a problem
 * and must not be used.  Others have the table open, too.
 */
const MtsTable *
mts_table_try_open(Relation relation)
{
	return mts_table_cache_get(relation, read_table);
}

/*
 * mts_table_open
 *		Open a foreign table, and raise an error if its options have a problem.
 */
const MtsTable *
mts_table_open(Relation relation)
{
	const MtsTable *table = mts_table_try_open(relation);

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

/*
 * mts_table_copy
 *		Copy a table, in order to change it.
 *
 * It has its own columns and containers.  Otherwise the copy shares what
 * pointers lead to, so it lives no longer than the table.
 */
MtsTable *
mts_table_copy(const MtsTable *table)
{
	MtsTable *copy = palloc(sizeof(MtsTable));
	MtsLayout *layout = &copy->layout;
	Size columns = table->layout.ncolumns * sizeof(MtsColumn);
	Size containers = table->layout.ncolumns * sizeof(MtsContainer);

	*copy = *table;
	layout->columns = memcpy(palloc(columns), layout->columns, columns);
	layout->containers =
		memcpy(palloc(containers), layout->containers, containers);
	return copy;
}

/*
 * mts_table_narrow
 *		Copy a table without the containers that have none of these attributes.
 *
 * It has the points that have an element in the other containers.
 */
const MtsTable *
mts_table_narrow(const MtsTable *table, List *attnums)
{
	MtsTable *narrow = mts_table_copy(table);
	bool *needed = palloc0(table->layout.ncolumns * sizeof(bool));
	ListCell *lc;

	foreach (lc, attnums)
		if (lfirst_int(lc) > 0)
			needed[lfirst_int(lc) - 1] = true;
	if (!mts_layout_narrow(&narrow->layout, needed))
		elog(ERROR, "no container is needed");
	narrow->is_narrow = true;
	return narrow;
}

/*
 * mts_table_joins_xact
 *		Tell whether writes belong to PostgreSQL's transaction, if the server
 *		has transactions.
 */
bool
mts_table_joins_xact(const MtsTable *table)
{
	return table->transactions == MTS_TRANSACTIONS_AUTO ||
		   table->transactions == MTS_TRANSACTIONS_REQUIRED;
}

/*
 * mts_table_shows_values
 *		Tell whether messages may show stored values to the current user.
 *
 * A view, or privileges on some columns, can hide the rows and columns that
 * these values are from.  So the user must have SELECT on all of the table, as
 * for PostgreSQL's own messages.
 */
bool
mts_table_shows_values(const MtsTable *table)
{
	Oid userid = GetUserId();

	return pg_class_aclcheck(table->relid, userid, ACL_SELECT) ==
			   ACLCHECK_OK ||
		   pg_attribute_aclcheck_all(table->relid, userid, ACL_SELECT,
									 ACLMASK_ALL) == ACLCHECK_OK;
}
