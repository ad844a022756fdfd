/*
 * create_rollup.c
 *		SQL functions that make roll-ups: mongo_ts_create_rollup.
 *
 * A roll-up is a foreign table, which the function declares by a statement
 * that anybody could write.  A document has the intervals of a series in an
 * hour, a day, a month or a year, and of each interval the totals:
 *
 *		{ts: .., sensor: .., hours: {"0": {points: 60, temp: {count: 60,
 *		sum: .., min: .., max: ..}}, ..}}
 */
#include "postgres.h"

#include <ctype.h>

#include "access/genam.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "modify/rollup_mark.h"
#include "table/rollup.h"
#include "table/zone.h"

PG_FUNCTION_INFO_V1(mongo_ts_create_rollup);

extern Datum mongo_ts_create_index(PG_FUNCTION_ARGS);

/* Where a roll-up keeps intervals of one length */
typedef struct Shape
{
	const char *field;  /* of a bucket, that has the intervals */
	char *slot;         /* in it */
	const char *span;   /* of a bucket */
	const char *suffix; /* of the table's name */
} Shape;

/* What is wanted of a roll-up, and the table that it summarizes */
typedef struct Wanted
{
	Relation relation;
	const MtsTable *source;
	const MtsRollup *finer; /* that table as a roll-up, or NULL */
	Oid points;             /* the table of the points */
	const MtsTable *points_table;
	Interval *interval;
	const char *zone;
	char *name;
	bool totals[MTS_ROLLUP_NKINDS];
	List *columns; /* numbers of columns of the points; NIL for all */
	Interval *lag;
	Shape shape;
} Wanted;

/* ---- The shape ---------------------------------------------------------- */

static _Noreturn void
refuse_interval(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid interval of a roll-up"),
			 errdetail("It must be whole seconds that divide a day, or \"1 "
					   "day\", or \"1 month\".")));
	pg_unreachable();
}

/* Set the shape for intervals of n units. */
static void
set_shape(Shape *shape, const char *field, const char *unit, int64 n,
		  const char *span, const char *suffix)
{
	*shape = (Shape){.field = field, .span = span};
	shape->slot = n == 1 ? psprintf("{%s}", unit)
						 : psprintf("{" INT64_FORMAT " %ss}", n, unit);
	shape->suffix = psprintf(INT64_FORMAT "%s", n, suffix);
}

/* Choose buckets with some hundreds of intervals at most. */
static void
choose_shape(Wanted *wanted)
{
	const Interval *interval = wanted->interval;
	int64 seconds = interval->time / USECS_PER_SEC;
	Shape *shape = &wanted->shape;

	if (interval->month == 1 && interval->day == 0 && interval->time == 0)
		set_shape(shape, "months", "month:1", 1, "1 year", "mo");
	else if (interval->month == 0 && interval->day == 1 && interval->time == 0)
		set_shape(shape, "days", "day:1", 1, "1 month", "d");
	else if (interval->month != 0 || interval->day != 0 ||
			 interval->time <= 0 || interval->time % USECS_PER_SEC != 0 ||
			 SECS_PER_DAY % seconds != 0 || seconds == SECS_PER_DAY)
		refuse_interval();
	else if (seconds % SECS_PER_HOUR == 0)
		set_shape(shape, "hours", "hour", seconds / SECS_PER_HOUR, "1 day",
				  "h");
	else if (seconds % SECS_PER_MINUTE == 0)
		set_shape(shape, "minutes", "minute", seconds / SECS_PER_MINUTE,
				  seconds >= 5 * SECS_PER_MINUTE ? "1 day" : "1 hour", "m");
	else
		set_shape(shape, "seconds", "second", seconds,
				  SECS_PER_HOUR % seconds != 0 ? "1 day"
				  : seconds >= 8               ? "1 hour"
											   : "1 minute",
				  "s");
}

/* ---- The columns -------------------------------------------------------- */

/*
 * Tell whether a column of the points' table is a key of the roll-up.  Where
 * each document is a row, the columns that are not summarized are.
 */
static bool
is_key(const Wanted *wanted, int i)
{
	const MtsTable *table = wanted->points_table;
	const MtsColumn *column = &table->layout.columns[i];

	if (table->attributes[i].dropped || i == table->layout.time_column)
		return false;
	if (wanted->finer)
		return wanted->finer->keys[i] != 0;
	if (table->layout.nslots == 0)
		return column->role == MTS_ROLE_KEY &&
			   !list_member_int(wanted->columns, i) &&
			   !(column->path.nsteps == 1 && mts_path_is_in_id(&column->path));
	return column->role == MTS_ROLE_KEY || column->role == MTS_ROLE_SLOT;
}

/* Tell whether a column of the points' table can be summarized. */
static bool
is_value(const Wanted *wanted, int i)
{
	const MtsTable *table = wanted->points_table;

	return !table->attributes[i].dropped && i != table->layout.time_column &&
		   (table->layout.columns[i].role == MTS_ROLE_VALUE ||
			(table->layout.nslots == 0 &&
			 table->layout.columns[i].role == MTS_ROLE_KEY));
}

/* Tell whether the roll-up shall have a total of a column of the points. */
static bool
has_total(const Wanted *wanted, int i, MtsRollupKind kind)
{
	bool is_number = mts_type_is_number(
		getBaseType(wanted->points_table->attributes[i].typid));

	if (!is_value(wanted, i) || is_key(wanted, i) || !wanted->totals[kind] ||
		(wanted->columns && !list_member_int(wanted->columns, i)))
		return false;
	if (wanted->finer)
		return wanted->finer->totals[i].of[kind] != 0;
	return is_number || kind == MTS_ROLLUP_COUNT;
}

/*
 * Return the type of a total: that of PostgreSQL's aggregate, but bigint for
 * all sums of integers, which queries are answered by.
 */
static Oid
total_type(const Wanted *wanted, int i, MtsRollupKind kind)
{
	Oid typid = wanted->points_table->attributes[i].typid;

	if (kind == MTS_ROLLUP_COUNT)
		return INT8OID;
	if (kind != MTS_ROLLUP_SUM)
		return typid;
	switch (getBaseType(typid))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return INT8OID;
		case FLOAT4OID:
		case FLOAT8OID:
			return FLOAT8OID;
		default:
			return NUMERICOID;
	}
}

/*
 * Return the name of a field for a column: its name, if MongoDB's updates can
 * address that.
 */
static char *
field_name(const char *column)
{
	char *name = isdigit((unsigned char) *column) || *column == '\0' ||
						 strcmp(column, "_id") == 0
					 ? psprintf("_%s", column)
					 : pstrdup(column);

	for (char *c = name; *c; c++)
		if (strchr(".{}[]$\\", *c))
			*c = '_';
	return name;
}

static void
append_option(StringInfo sql, const char *name, const char *value)
{
	appendStringInfo(sql, "%s%s %s",
					 sql->data[sql->len - 1] == '(' ? "" : ", ", name,
					 quote_literal_cstr(value));
}

static void
begin_column(StringInfo sql, const char *name, const char *type)
{
	appendStringInfo(sql, "%s\n  %s %s OPTIONS (",
					 sql->data[sql->len - 1] == '(' ? "" : ",",
					 quote_identifier(name), type);
}

/* Append the declaration of the time or of a key, as the source has it. */
static void
append_key(StringInfo sql, const Wanted *wanted, int i)
{
	static const char *const copied[] = {"bson_type", "format"};
	const MtsTable *points = wanted->points_table;
	const MtsAttribute *attribute = &points->attributes[i];
	const char *name = points->layout.columns[i].name;
	List *options = GetForeignColumnOptions(wanted->points, i + 1);
	bool is_time = i == points->layout.time_column;
	Oid typid, collation;
	int32 typmod;

	begin_column(sql, name,
				 format_type_extended(attribute->typid, attribute->typmod,
									  FORMAT_TYPE_TYPEMOD_GIVEN |
										  FORMAT_TYPE_FORCE_QUALIFY));
	append_option(sql, "role", is_time ? "time" : "key");
	if (strcmp(field_name(name), name) != 0)
		append_option(sql, "field", field_name(name));
	for (int j = 0; j < lengthof(copied) && !is_time; j++)
		if (mts_option_get(options, copied[j]))
			append_option(sql, copied[j], mts_option_get(options, copied[j]));
	appendStringInfoChar(sql, ')');
	get_atttypetypmodcoll(wanted->points, i + 1, &typid, &typmod, &collation);
	if (collation != get_typcollation(typid))
		appendStringInfo(sql, " COLLATE %s",
						 generate_collation_name(collation));
}

/* Append the declaration of a total; i is -1 for the number of points. */
static void
append_total(StringInfo sql, const Wanted *wanted, int i, MtsRollupKind kind)
{
	const char *column =
		i < 0 ? NULL : wanted->points_table->layout.columns[i].name;
	char *path =
		psprintf("%s.%s.%s%s%s", wanted->shape.field, wanted->shape.slot,
				 column ? field_name(column) : "points", column ? "." : "",
				 column ? mts_rollup_kinds[kind] : "");

	begin_column(sql,
				 column ? makeObjectName(column, NULL, mts_rollup_kinds[kind])
						: "points",
				 column ? format_type_extended(total_type(wanted, i, kind), -1,
											   FORMAT_TYPE_FORCE_QUALIFY)
						: "bigint");
	append_option(sql, "field", path);
	append_option(sql, "rollup", mts_rollup_kinds[kind]);
	if (column)
		append_option(sql, "rollup_column", column);
	appendStringInfoChar(sql, ')');
}

static void
append_columns(StringInfo sql, const Wanted *wanted)
{
	int n = wanted->points_table->layout.ncolumns;

	append_key(sql, wanted, wanted->points_table->layout.time_column);
	for (int i = 0; i < n; i++)
		if (is_key(wanted, i))
			append_key(sql, wanted, i);
	append_total(sql, wanted, -1, MTS_ROLLUP_COUNT);
	for (int i = 0; i < n; i++)
		for (MtsRollupKind kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			if (has_total(wanted, i, kind))
				append_total(sql, wanted, i, kind);
}

/* ---- The table ---------------------------------------------------------- */

/* Write an interval as an option has it, whatever IntervalStyle is. */
static char *
interval_text(const Interval *interval)
{
	static const struct
	{
		int64 usecs;
		const char *name;
	} units[] = {{USECS_PER_HOUR, "hour"},
				 {USECS_PER_MINUTE, "minute"},
				 {USECS_PER_SEC, "second"},
				 {1, "microsecond"}};
	StringInfoData text;
	int i = 0;

	initStringInfo(&text);
	if (interval->month != 0)
		appendStringInfo(&text, "%d month ", interval->month);
	if (interval->day != 0)
		appendStringInfo(&text, "%d day%s ", interval->day,
						 interval->day == 1 ? "" : "s");
	while (interval->time % units[i].usecs != 0)
		i++;
	if (interval->time != 0 || text.len == 0)
		appendStringInfo(&text, INT64_FORMAT " %s%s ",
						 interval->time / units[i].usecs, units[i].name,
						 interval->time == units[i].usecs ? "" : "s");
	text.data[--text.len] = '\0';
	return text.data;
}

/* Return the statement that declares the roll-up. */
static char *
make_statement(const Wanted *wanted)
{
	Oid relid = wanted->source->relid;
	char *schema = get_namespace_name(get_rel_namespace(relid));
	ForeignServer *server = GetForeignServer(wanted->source->serverid);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE FOREIGN TABLE %s (",
					 quote_qualified_identifier(schema, wanted->name));
	append_columns(&sql, wanted);
	appendStringInfo(&sql, ")\nSERVER %s OPTIONS (",
					 quote_identifier(server->servername));
	append_option(&sql, "database", wanted->source->database);
	append_option(&sql, "collection", wanted->name);
	append_option(&sql, "bucket_span", wanted->shape.span);
	append_option(&sql, "bucket_time_zone", wanted->zone);
	append_option(&sql, "rollup_of",
				  quote_qualified_identifier(schema, RelationGetRelationName(
														 wanted->relation)));
	append_option(&sql, "rollup_interval", interval_text(wanted->interval));
	append_option(&sql, "rollup_zone", wanted->zone);
	append_option(&sql, "rollup_lag", interval_text(wanted->lag));
	if (!mts_option_get_bool(server->options, "updatable", true))
		append_option(&sql, "updatable", "true");
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* Run a statement that returns no rows, with the rights of the user. */
static void
run(const char *sql)
{
	int result;

	SPI_connect();
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	SPI_finish();
}

/* Check that the intervals of a new roll-up consist of those of the finer. */
static void
check_intervals(const Wanted *wanted, const MtsRollup *rollup)
{
	MtsTime now = GetCurrentTimestamp();
	MtsRange range = {mts_rollup_floor(rollup, now - 366 * MTS_DAY),
					  mts_rollup_floor(rollup, now)};

	if (wanted->finer && !mts_rollup_is_made_of(rollup, wanted->finer, range))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid interval of a roll-up"),
				 errdetail("It must consist of whole intervals of \"%s\".",
						   RelationGetRelationName(wanted->relation))));
}

/* Tell whether a foreign table of the server has the collection of a table. */
static bool
is_declared(const MtsTable *table)
{
	List *of_server = GetForeignServer(table->serverid)->options;
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan =
		systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	bool found = false;
	HeapTuple tuple;

	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);
		List *options;
		const char *database, *collection;

		if (form->ftserver != table->serverid || form->ftrelid == table->relid)
			continue;
		options = GetForeignTable(form->ftrelid)->options;
		collection = mts_option_get(options, "collection");
		if (!collection)
			collection = get_rel_name(form->ftrelid);
		database = mts_option_database(list_concat_copy(options, of_server));
		found = collection && database &&
				strcmp(collection, table->collection) == 0 &&
				strcmp(database, table->database) == 0;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

/*
 * Check that nothing else has the collection of a new roll-up, and remove the
 * state that another roll-up of this name has left.
 */
static void
prepare_collection(const MtsRollup *rollup)
{
	const MtsTable *table = rollup->table;
	MtsBulk bulk = mts_rollup_mark_bulk(rollup, GetUserId());
	MtsOp op = {.kind = MTS_OP_DELETE,
				.selector =
					mts_document_make("{_id: %s}",
									  mts_document_utf8(table->collection))};

	if (is_declared(table) ||
		strcmp(table->collection, MTS_ROLLUP_STATES) == 0 ||
		mts_cursor_list_names(bulk.connection, table->database,
							  mts_document_make("{name: %s}",
												mts_document_utf8(
													table->collection))) !=
			NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("MongoDB collection \"%s.%s\" exists already",
						table->database, table->collection),
				 errdetail("A collection or a foreign table has this name."),
				 errhint("Give the roll-up another name, or drop the "
						 "collection.")));
	mts_bulk_execute(&bulk, &op, 1);
}

/* ---- The function ------------------------------------------------------- */

static void
read_aggregates(ArrayType *array, Wanted *wanted)
{
	ListCell *lc;

	foreach (lc, mts_table_texts(array))
	{
		MtsRollupKind kind;

		if (!mts_rollup_find_kind(lfirst(lc), &kind))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a roll-up cannot have the aggregate \"%s\"",
							(char *) lfirst(lc)),
					 errhint("Valid values are \"count\", \"sum\", \"min\" "
							 "and \"max\".")));
		wanted->totals[kind] = true;
	}
}

static void
read_columns(ArrayType *array, Wanted *wanted)
{
	ListCell *lc;

	foreach (lc, mts_table_texts(array))
	{
		AttrNumber attnum = mts_table_find_column(wanted->points, lfirst(lc));

		if (!is_value(wanted, attnum - 1))
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("column \"%s\" is not a value of a point",
								   (char *) lfirst(lc))));
		wanted->columns = lappend_int(wanted->columns, attnum - 1);
	}
}

/* Open the table that is summarized, and that of the points. */
static void
open_source(Oid relid, Wanted *wanted)
{
	Relation points;

	wanted->relation = mts_table_open_relation(relid, AccessShareLock);
	wanted->source = mts_table_open(wanted->relation);
	wanted->points = relid;
	if (mts_option_get(GetForeignTable(relid)->options, "rollup_of"))
	{
		wanted->finer = mts_rollup_open(wanted->relation);
		wanted->points = wanted->finer->points;
	}
	points = table_open(wanted->points, AccessShareLock);
	wanted->points_table = mts_table_open(points);
	table_close(points, NoLock);
	if (wanted->points_table->layout.time_column < 0 ||
		wanted->points_table
				->attributes[wanted->points_table->layout.time_column]
				.typid != TIMESTAMPTZOID)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("cannot make a roll-up of foreign table \"%s\"",
							   get_rel_name(wanted->points)),
						errdetail("The time of its points must be a column of "
								  "type timestamptz.")));
}

static void
check_wanted(const Wanted *wanted)
{
	if (!mts_zone_find(wanted->zone))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized", wanted->zone)));
	if (wanted->points_table->layout.nslots == 0 && !wanted->columns &&
		!wanted->finer)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the columns of the roll-up must be named"),
			 errdetail("Each document of foreign table \"%s\" is a row, so "
					   "all of its fields could be keys.",
					   get_rel_name(wanted->points)),
			 errhint("Name the values by the argument \"columns\".")));
}

/*
 * SQL: mongo_ts_create_rollup(relation regclass, span interval, name text,
 *		aggregates text[], columns text[], zone text, lag interval)
 *		returns regclass
 *
 * Declare a roll-up of a table of points, or of a roll-up, and make its
 * collection.  It is empty until it is refreshed.
 */
Datum
mongo_ts_create_rollup(PG_FUNCTION_ARGS)
{
	Wanted wanted = {0};
	const MtsRollup *rollup;
	Relation relation;
	Oid relid, owner;

	PreventCommandIfReadOnly("mongo_ts_create_rollup()");
	for (int i = 0; i < 7; i++)
		if (PG_ARGISNULL(i) && i != 2 && i != 4)
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("only the name and the columns of a "
								   "roll-up can be null")));
	if (!mts_table_ownercheck(PG_GETARG_OID(0), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   get_rel_name(PG_GETARG_OID(0)));
	open_source(PG_GETARG_OID(0), &wanted);
	wanted.interval = PG_GETARG_INTERVAL_P(1);
	wanted.zone = text_to_cstring(PG_GETARG_TEXT_PP(5));
	wanted.lag = PG_GETARG_INTERVAL_P(6);
	choose_shape(&wanted);
	wanted.name = PG_ARGISNULL(2) ? makeObjectName(get_rel_name(wanted.points),
												   NULL, wanted.shape.suffix)
								  : text_to_cstring(PG_GETARG_TEXT_PP(2));
	/* as PostgreSQL's parser does */
	truncate_identifier(wanted.name, strlen(wanted.name), true);
	read_aggregates(PG_GETARG_ARRAYTYPE_P(3), &wanted);
	if (!PG_ARGISNULL(4))
		read_columns(PG_GETARG_ARRAYTYPE_P(4), &wanted);
	check_wanted(&wanted);
	run(make_statement(&wanted));
	owner = wanted.relation->rd_rel->relowner;
	relid = get_relname_relid(wanted.name,
							  get_rel_namespace(wanted.source->relid));
	if (owner != GetUserId())
		run(psprintf("ALTER FOREIGN TABLE %s OWNER TO %s",
					 mts_table_name(relid),
					 quote_identifier(GetUserNameFromId(owner, false))));
	relation = table_open(relid, NoLock);
	rollup = mts_rollup_open(relation);
	check_intervals(&wanted, rollup);
	prepare_collection(rollup);
	(void) DirectFunctionCall1(mongo_ts_create_index, ObjectIdGetDatum(relid));
	table_close(relation, NoLock);
	table_close(wanted.relation, NoLock);
	PG_RETURN_OID(relid);
}
