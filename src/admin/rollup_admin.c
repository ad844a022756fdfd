/*
 * rollup_admin.c
 *		SQL functions that show and drop roll-ups: mongo_ts_rollup_state and
 *		mongo_ts_drop_rollup.
 *
 * The view mongo_ts_rollups, in the install script, calls the first one for
 * each roll-up.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
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
#include "driver/attempt.h"
#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "driver/xact.h"
#include "modify/rollup_mark.h"
#include "table/collections.h"
#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_rollup_state);
PG_FUNCTION_INFO_V1(mongo_ts_drop_rollup);

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
	FIRST_KEPT,
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
 * Show what of a roll-up is complete, and why it is not usable.  first_kept is
 * the begin of the first interval whose points have not been removed because
 * of their age; NULL if no option says that they are.
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
	values[FIRST_KEPT] =
		time_datum(problem ? MTS_TIME_MIN : mts_rollup_first_kept(rollup),
				   &nulls[FIRST_KEPT]);
	values[GENERATION] = Int64GetDatum(state.generation);
	(void) get_call_result_type(fcinfo, NULL, &desc);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- Dropping ----------------------------------------------------------- */

static void
check_owner(Oid relid)
{
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   get_rel_name(relid));
}

/* Check that no other roll-up is made of one. */
static void
check_unused(Oid relid)
{
	List *others = mts_rollup_list(relid, MTS_ROLLUPS_TO_READ);
	StringInfoData names;
	ListCell *lc;

	if (others == NIL)
		return;
	initStringInfo(&names);
	foreach (lc, others)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 mts_table_name(lfirst_oid(lc)));
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot drop roll-up \"%s\" because other roll-ups "
					"are made of it",
					get_rel_name(relid)),
			 errhint("Drop these before, in this order: %s.", names.data)));
}

/*
 * Check that a table is a roll-up that can be dropped, with its collection if
 * that is not an application's.
 */
static void
check_rollup(Relation relation, const MtsTable *table, bool keeps_collection)
{
	Oid relid = RelationGetRelid(relation);
	Oid other;

	if (table->rolling_name ||
		!mts_option_get(GetForeignTable(relid)->options, "rollup_of"))
		(void) mts_rollup_open(relation);
	check_unused(relid);
	if (keeps_collection)
		return;
	other = mts_collections_other_table(table);
	if (OidIsValid(other))
		ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
						errmsg("cannot drop roll-up \"%s\" because another "
							   "foreign table has its collection",
							   get_rel_name(relid)),
						errhint("Drop foreign table %s before, or use DROP "
								"FOREIGN TABLE, which keeps the collection.",
								mts_table_name(other))));
	if (mts_xact_is_active(table->serverid))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot drop a roll-up in a transaction that has "
						"written to its server")));
}

static void
drop_table(Oid relid)
{
	char *sql =
		psprintf("DROP FOREIGN TABLE %s",
				 quote_qualified_identifier(get_namespace_name(
												get_rel_namespace(relid)),
											get_rel_name(relid)));
	int result;

	SPI_connect();
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	SPI_finish();
}

/* Remove the state of a roll-up, and the token of its refreshes. */
static void
remove_state(MtsBulk *bulk, const char *collection)
{
	MtsOp ops[] = {mts_op(MTS_OP_DELETE,
						  mts_document_make("{_id: %s}", collection), NULL),
				   mts_op(MTS_OP_DELETE,
						  mts_document_make("{_id: {refresh: %s}}",
											collection),
						  NULL)};

	mts_bulk_execute(bulk, ops, lengthof(ops));
}

/* Drop a collection; it may have been dropped before. */
static void
drop_collection(const MtsBulk *bulk, const char *collection)
{
	MtsAttempt attempt =
		mts_attempt_begin(bulk->connection, bulk->message, MTS_FROM_PRIMARY);
	bson_error_t error;
	bool ok;

	attempt.is_write = true;
	do
		ok = mts_command_select_and_send(&attempt, bulk->database,
										 mts_document_make("{drop: %s}",
														   collection),
										 &error);
	while (!ok && mts_attempt_should_repeat(&attempt, &error));
	if (!ok && (error.domain != MONGOC_ERROR_SERVER ||
				error.code != MTS_CODE_NO_COLLECTION))
		mts_report_write_failure(bulk->connection, bulk->message, &error);
}

/*
 * SQL: mongo_ts_drop_rollup(relation regclass) returns void
 *
 * Drop the table of a roll-up, and then what MongoDB has of it: the lock of
 * the table waits for those who read it, and it may not be dropped if others
 * depend on it.  The state goes before the rows.  If MongoDB fails, or the
 * transaction is rolled back, the table stays without a state, so that queries
 * read the points.
 */
Datum
mongo_ts_drop_rollup(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	Relation relation;
	const MtsTable *table;
	const char *by, *message;
	bool keeps_collection;

	PreventCommandIfReadOnly("mongo_ts_drop_rollup()");
	/* others cannot lock the table */
	check_owner(relid);
	relation = mts_table_open_relation(relid, AccessExclusiveLock);
	check_owner(relid);
	table = mts_table_open(relation);
	by = mts_option_get(GetForeignTable(relid)->options,
						"rollup_maintained_by");
	keeps_collection = by && strcmp(by, "application") == 0;
	check_rollup(relation, table, keeps_collection);
	table_close(relation, NoLock);
	message =
		psprintf("could not drop roll-up \"%s\" and its MongoDB "
				 "collection \"%s.%s\"",
				 get_rel_name(relid), table->database, table->collection);
	drop_table(relid);
	if (!keeps_collection)
	{
		MtsBulk bulk =
			mts_rollup_mark_bulk(&(MtsRollup){.table = table}, GetUserId());
		const char *collection = mts_document_utf8(table->collection);

		bulk.message = message;
		remove_state(&bulk, collection);
		drop_collection(&bulk, collection);
	}
	PG_RETURN_VOID();
}
