/*
 * rollup_admin.c
 *		SQL functions that administer roll-ups: mongo_ts_rollup_state.
 *
 * The view mongo_ts_rollups, in the install script, calls it for
 * each roll-up.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_rollup_state);

/* ---- The state ---------------------------------------------------------- */

/* The columns of mongo_ts_rollup_state() */
enum
{
	UNTIL,
	STALE,
	OPEN,
	PROBLEM,
	REFRESHED,
	TOOK,
	FAILURE,
	POINTS,
	SOURCE,
	TIME_COLUMN,
	COUNT_COLUMN,
	GENERATION,
	NCOLUMNS
};

static Datum
text_datum(const char *text, bool *isnull)
{
	*isnull = text == NULL;
	return *isnull ? (Datum) 0 : CStringGetTextDatum(text);
}

static Datum
time_datum(MtsTime t, bool *isnull)
{
	*isnull = t == MTS_TIME_MIN;
	return TimestampTzGetDatum(t == MTS_TIME_MAX ? DT_NOEND : t);
}

static Datum
relation_datum(Oid relid, bool *isnull)
{
	*isnull = !OidIsValid(relid);
	return ObjectIdGetDatum(relid);
}

/* Return ranges as a tstzmultirange. */
static Datum
multirange_datum(const MtsRanges *ranges)
{
	TypeCacheEntry *type =
		lookup_type_cache(TSTZRANGEOID, TYPECACHE_RANGE_INFO);
	RangeType **items = palloc((ranges->n + 1) * sizeof(RangeType *));

	for (int i = 0; i < ranges->n; i++)
	{
		MtsRange range = ranges->items[i];
		RangeBound lower = {.val = TimestampTzGetDatum(range.from),
							.infinite = range.from == MTS_TIME_MIN,
							.inclusive = true,
							.lower = true};
		RangeBound upper = {.val = TimestampTzGetDatum(range.to),
							.infinite = range.to == MTS_TIME_MAX};

		items[i] = mts_make_range(type, &lower, &upper);
	}
	return MultirangeTypePGetDatum(
		make_multirange(TSTZMULTIRANGEOID, type, ranges->n, items));
}

/* Write a reason as a sentence. */
static const char *
sentence(const char *reason)
{
	if (!reason || reason[strlen(reason) - 1] == '.')
		return reason;
	return psprintf("%c%s.", toupper((unsigned char) reason[0]), reason + 1);
}

/* Return the name of a column, from 0, as text. */
static Datum
column_datum(const MtsRollup *rollup, int column)
{
	return CStringGetTextDatum(rollup->table->layout.columns[column].name);
}

/* The owner sees the state, and who may read the roll-up or its points. */
static void
check_reader(Oid relid, Oid points)
{
	Oid userid = GetUserId();

	if (!mts_table_ownercheck(relid, userid) &&
		pg_class_aclcheck(relid, userid, ACL_SELECT) != ACLCHECK_OK &&
		(!OidIsValid(points) ||
		 pg_class_aclcheck(points, userid, ACL_SELECT) != ACLCHECK_OK))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FOREIGN_TABLE,
					   get_rel_name(relid));
}

/*
 * Read the latest state of a roll-up.  Unless told to wait, do not wait for a
 * server that is silent.  While the session reads from it, it is not.
 */
static void
read_state(const MtsRollup *rollup, bool wait, MtsRollupState *state)
{
	Oid userid = GetUserId();
	MtsConnection *connection =
		mts_connection_get(rollup->table->serverid, userid);

	if (wait || connection->pins > 0)
		mts_rollup_read_state(rollup, userid, NULL, state);
	else if (!mts_rollup_try_read_state(rollup, userid, state))
	{
		CHECK_FOR_INTERRUPTS();
		state->problem = "MongoDB does not answer.";
	}
	if (state->until == MTS_TIME_MIN && !state->problem)
		state->problem = "It has not been refreshed.";
}

/*
 * SQL: mongo_ts_rollup_state(relation regclass, wait boolean, OUT ..)
 *
 * Show what of a roll-up is complete, and why it is not usable.
 */
Datum
mongo_ts_rollup_state(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Relation relation = mts_table_open_relation(relid, AccessShareLock);
	const char *problem;
	const MtsRollup *rollup = mts_rollup_describe(relation, &problem);
	MtsRollupState state = {.until = MTS_TIME_MIN, .refreshed = MTS_TIME_MIN};
	Interval *took = palloc0(sizeof(Interval));
	Datum values[NCOLUMNS];
	bool nulls[NCOLUMNS] = {false};
	TupleDesc desc;

	if (!mts_option_get(GetForeignTable(relid)->options, "rollup_of"))
		(void) mts_rollup_open(relation);
	table_close(relation, NoLock);
	check_reader(relid, rollup->points);
	if (problem)
		state.problem = problem;
	else
		read_state(rollup, PG_GETARG_BOOL(1), &state);
	values[UNTIL] = time_datum(state.until, &nulls[UNTIL]);
	nulls[STALE] = nulls[OPEN] = nulls[UNTIL];
	values[STALE] = multirange_datum(&state.stale);
	values[OPEN] = multirange_datum(&state.open);
	values[PROBLEM] = text_datum(sentence(state.problem), &nulls[PROBLEM]);
	values[REFRESHED] = time_datum(state.refreshed, &nulls[REFRESHED]);
	nulls[TOOK] = nulls[REFRESHED];
	took->time = state.took * 1000;
	values[TOOK] = IntervalPGetDatum(took);
	values[FAILURE] = text_datum(state.error, &nulls[FAILURE]);
	values[POINTS] = relation_datum(rollup->points, &nulls[POINTS]);
	values[SOURCE] = relation_datum(rollup->source, &nulls[SOURCE]);
	nulls[TIME_COLUMN] = problem != NULL;
	if (!problem)
		values[TIME_COLUMN] =
			column_datum(rollup, rollup->table->layout.time_column);
	nulls[COUNT_COLUMN] = problem || rollup->npoints == 0;
	if (!nulls[COUNT_COLUMN])
		values[COUNT_COLUMN] = column_datum(rollup, rollup->npoints - 1);
	values[GENERATION] = Int64GetDatum(state.generation);
	(void) get_call_result_type(fcinfo, NULL, &desc);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
