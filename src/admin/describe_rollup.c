/*
 * describe_rollup.c
 *		SQL functions that describe roll-ups: _mongo_ts_list_rollups,
 *		_mongo_ts_rollup_columns and _mongo_ts_rollup_intervals.
 *
 * From these, the install script makes the statements of a refresh and of a
 * check.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_list_rollups);
PG_FUNCTION_INFO_V1(mongo_ts_rollup_columns);
PG_FUNCTION_INFO_V1(mongo_ts_rollup_intervals);

/*
 * SQL: _mongo_ts_list_rollups(relation regclass) returns regclass[]
 *
 * Return the roll-ups of a table, and those computed from these, that belong
 * to its owner; the coarsest first.
 */
Datum
mongo_ts_list_rollups(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	List *rollups =
		mts_rollup_list(RelationGetRelid(relation), MTS_ROLLUPS_TO_READ);
	Datum *items = palloc((list_length(rollups) + 1) * sizeof(Datum));
	int n = 0;
	ListCell *lc;

	foreach (lc, rollups)
		items[n++] = ObjectIdGetDatum(lfirst_oid(lc));
	table_close(relation, NoLock);
	PG_RETURN_ARRAYTYPE_P(construct_array(items, n, REGCLASSOID, sizeof(Oid),
										  true, TYPALIGN_INT));
}

/* The columns of _mongo_ts_rollup_columns() */
enum
{
	NAME,
	TYPE,
	IS_TIME,
	AGGREGATE,
	SOURCE,
	SOURCE_COLUMN,
	SOURCE_TYPE,
	NCOLUMNS
};

static const MtsRollup *
open_rollup(Oid relid)
{
	Relation relation = mts_table_open_relation(relid, AccessShareLock);
	const MtsRollup *rollup = mts_rollup_open(relation);

	table_close(relation, NoLock);
	return rollup;
}

typedef struct Columns
{
	const MtsRollup *rollup;
	const MtsRollup *finer; /* that is read; NULL for the points */
	ReturnSetInfo *result;
} Columns;

static Oid
source_of(const Columns *columns)
{
	return columns->finer ? columns->finer->table->relid
						  : columns->rollup->points;
}

/* Return the type of a column, as a cast needs it. */
static char *
type_name(Oid relid, AttrNumber attnum)
{
	Oid type, collation;
	int32 typmod;

	get_atttypetypmodcoll(relid, attnum, &type, &typmod, &collation);
	return format_type_with_typemod(type, typmod);
}

/*
 * Add a column.  aggregate is NULL for a key or the time, and source 0 for the
 * number of points.
 */
static void
add_column(const Columns *columns, AttrNumber attnum, const char *aggregate,
		   AttrNumber source)
{
	Oid relid = columns->rollup->table->relid;
	Datum values[NCOLUMNS];
	bool nulls[NCOLUMNS] = {[AGGREGATE] = aggregate == NULL,
							[SOURCE_COLUMN] = source == 0,
							[SOURCE_TYPE] = source == 0};

	values[NAME] = CStringGetTextDatum(get_attname(relid, attnum, false));
	values[TYPE] = CStringGetTextDatum(type_name(relid, attnum));
	values[IS_TIME] =
		BoolGetDatum(attnum - 1 == columns->rollup->table->layout.time_column);
	values[SOURCE] = ObjectIdGetDatum(source_of(columns));
	if (source != 0)
	{
		values[SOURCE_COLUMN] = CStringGetTextDatum(
			get_attname(source_of(columns), source, false));
		values[SOURCE_TYPE] =
			ObjectIdGetDatum(get_atttype(source_of(columns), source));
	}
	if (aggregate)
		values[AGGREGATE] = CStringGetTextDatum(aggregate);
	tuplestore_putvalues(columns->result->setResult, columns->result->setDesc,
						 values, nulls);
}

/* Raise an error: the finer roll-up lacks a column.  of is NULL for points. */
static _Noreturn void
refuse_source(const Columns *columns, const char *of)
{
	ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					errmsg("cannot compute roll-up \"%s\" from roll-up \"%s\"",
						   get_rel_name(columns->rollup->table->relid),
						   get_rel_name(source_of(columns))),
					of ? errdetail("The finer roll-up lacks a column that is "
								   "computed of column \"%s\" of the points.",
								   of)
					   : errdetail("The finer roll-up lacks a column with the "
								   "number of points.")));
	pg_unreachable();
}

/* Add a total; i is the column of the points, or -1 for their number. */
static void
add_total(const Columns *columns, int i, MtsRollupKind kind)
{
	const MtsRollup *rollup = columns->rollup, *finer = columns->finer;
	AttrNumber attnum = i < 0 ? rollup->npoints : rollup->totals[i].of[kind];
	AttrNumber source;

	if (attnum == 0)
		return;
	if (!finer)
	{
		add_column(columns, attnum, mts_rollup_kinds[kind], i + 1);
		return;
	}
	source = i < 0 ? finer->npoints : finer->totals[i].of[kind];
	if (source == 0)
		refuse_source(columns,
					  i < 0 ? NULL
							: get_attname(rollup->points, i + 1, false));
	if (kind == MTS_ROLLUP_COUNT)
		kind = MTS_ROLLUP_SUM;
	add_column(columns, attnum, mts_rollup_kinds[kind], source);
}

static void
add_columns(const Columns *columns)
{
	const MtsRollup *rollup = columns->rollup, *finer = columns->finer;

	for (int i = 0; i < rollup->ncolumns; i++)
	{
		if (rollup->keys[i] == 0)
			continue;
		if (finer && finer->keys[i] == 0)
			refuse_source(columns, get_attname(rollup->points, i + 1, false));
		add_column(columns, rollup->keys[i], NULL,
				   finer ? finer->keys[i] : i + 1);
	}
	add_total(columns, -1, MTS_ROLLUP_COUNT);
	for (int i = 0; i < rollup->ncolumns; i++)
		for (MtsRollupKind kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			add_total(columns, i, kind);
}

/*
 * SQL: _mongo_ts_rollup_columns(relation regclass, of_points boolean)
 *		returns setof record
 *
 * Return the keys, the time and the totals of a roll-up, each with the column
 * that it is computed of, and by which aggregate: of the points, or of what
 * the roll-up summarizes.
 */
Datum
mongo_ts_rollup_columns(PG_FUNCTION_ARGS)
{
	Columns columns = {.rollup = open_rollup(PG_GETARG_OID(0))};

	InitMaterializedSRF(fcinfo, 0);
	columns.result = (ReturnSetInfo *) fcinfo->resultinfo;
	if (!PG_GETARG_BOOL(1))
		columns.finer = mts_rollup_open_finer(columns.rollup);
	add_columns(&columns);
	PG_RETURN_VOID();
}

/* Tell whether two intervals begin at one time by the clocks. */
static bool
is_repeated(const MtsRollup *rollup, MtsTime a, MtsTime b)
{
	return a != b && mts_clock_local(&rollup->clock, a) ==
						 mts_clock_local(&rollup->clock, b);
}

/*
 * SQL: _mongo_ts_rollup_intervals(relation regclass, from_time timestamptz,
 *		to_time timestamptz) returns record
 *
 * Return the begin of the interval that holds a time, and the end of the last
 * one that ends at or before another time, but of the former at least.  An
 * infinite time is an interval of its own.  The third column tells whether
 * clocks are set back over the begin of a day: then its row can have points
 * that are before the begin.
 */
Datum
mongo_ts_rollup_intervals(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	const MtsRollup *rollup = mts_rollup_open(relation);
	MtsTime start = mts_rollup_floor(rollup, PG_GETARG_TIMESTAMPTZ(1));
	MtsTime stop = mts_rollup_floor(rollup, PG_GETARG_TIMESTAMPTZ(2));
	Datum values[3];
	bool nulls[3] = {false};
	TupleDesc desc;

	table_close(relation, NoLock);
	if (start != MTS_TIME_MIN && start != MTS_TIME_MAX)
		stop = Max(stop, mts_rollup_ceil(rollup, start + 1));
	values[0] = TimestampTzGetDatum(start);
	values[1] = TimestampTzGetDatum(stop);
	values[2] = BoolGetDatum(
		is_repeated(rollup, start, mts_rollup_floor(rollup, start - 1)) ||
		is_repeated(rollup, start, mts_rollup_floor(rollup, stop - 1)));
	(void) get_call_result_type(fcinfo, NULL, &desc);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
