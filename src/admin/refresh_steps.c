/*
 * refresh_steps.c
 *		SQL functions by which mongo_ts_refresh_rollup does what SQL cannot:
 *		lock a roll-up, wait for writers, read and change its state, and
 *		compute a chunk of rows.
 *
 * The refresh itself is in the install script.  All of these require that the
 * current user owns the roll-up.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "modify/rollup_mark.h"
#include "table/rollup.h"
#include "table/rollup_field.h"

PG_FUNCTION_INFO_V1(mongo_ts_lock_rollup);
PG_FUNCTION_INFO_V1(mongo_ts_rollup_totals);
PG_FUNCTION_INFO_V1(mongo_ts_rollup_document);
PG_FUNCTION_INFO_V1(mongo_ts_change_state);
PG_FUNCTION_INFO_V1(mongo_ts_begin_refresh);
PG_FUNCTION_INFO_V1(mongo_ts_compute_rollup);

/* ---- Opening ------------------------------------------------------------ */

/* Open a roll-up of the current user. */
static MtsRollup *
open_own(Oid relid, LOCKMODE mode)
{
	Relation relation = mts_table_open_relation(relid, AccessShareLock);
	MtsRollup *rollup;

	/* others cannot lock the table, or read its options in errors */
	mts_rollup_check_owner(relation);
	LockRelationOid(relid, mode);
	rollup = mts_rollup_open(relation);
	table_close(relation, NoLock);
	return rollup;
}

/*
 * A trigger is refused: whoever has the privilege TRIGGER can make one, and it
 * would run as the owner.
 */
static void
refuse_triggers(Oid relid)
{
	Relation relation = table_open(relid, NoLock);

	if (relation->trigdesc)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot refresh roll-up \"%s\" because it has "
						"triggers",
						RelationGetRelationName(relation)),
				 errdetail("They would run as the owner of the roll-up."),
				 errhint("Drop the triggers.")));
	table_close(relation, NoLock);
}

/* The columns of _mongo_ts_lock_rollup() */
enum
{
	NAME,
	SOURCE,
	POINTS,
	BY_APPLICATION,
	LIMIT,
	BUCKET_SPAN,
	NCOLUMNS
};

static Datum
span_datum(MtsSpan span)
{
	Interval *interval = palloc(sizeof(Interval));

	*interval =
		(Interval){.time = span.usecs, .day = span.days, .month = span.months};
	return IntervalPGetDatum(interval);
}

/*
 * SQL: _mongo_ts_lock_rollup(relation regclass, OUT name text,
 *		OUT source regclass, OUT points regclass, OUT by_application boolean,
 *		OUT latest timestamptz, OUT bucket_span interval)
 *
 * Lock a roll-up against other refreshes until the transaction ends, and its
 * points, so that nobody alters them before it is computed.  Returns its name,
 * and what it declares; latest is how far it can be complete now.
 */
Datum
mongo_ts_lock_rollup(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	const MtsRollup *rollup = open_own(relid, ShareUpdateExclusiveLock);
	Datum values[NCOLUMNS];
	bool nulls[NCOLUMNS] = {false};
	TupleDesc desc;

	PreventCommandIfReadOnly("mongo_ts_refresh_rollup()");
	refuse_triggers(relid);
	LockRelationOid(rollup->points, AccessShareLock);
	rollup = open_own(relid, AccessShareLock);
	if (mts_xact_is_active(rollup->table->serverid))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot refresh a roll-up in a transaction that has "
						"written to its server")));
	values[NAME] = CStringGetTextDatum(get_rel_name(relid));
	values[SOURCE] = ObjectIdGetDatum(rollup->source);
	values[POINTS] = ObjectIdGetDatum(rollup->points);
	values[BY_APPLICATION] = BoolGetDatum(rollup->by_application);
	values[LIMIT] =
		TimestampTzGetDatum(mts_rollup_limit(rollup, GetCurrentTimestamp()));
	values[BUCKET_SPAN] = span_datum(rollup->table->layout.span);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * SQL: _mongo_ts_rollup_totals(relation regclass, is_anew boolean,
 *		OUT change text, OUT document json)
 *
 * Find what has been declared since the rows of a roll-up were computed: none,
 * extended or altered; see MtsRollupChange.  The document has what the state
 * says after a refresh of the declarations, as fingerprint, and of its fields,
 * as totals.  The refresh computes all rows again if is_anew.
 */
Datum
mongo_ts_rollup_totals(PG_FUNCTION_ARGS)
{
	static const char *const changes[] = {[MTS_ROLLUP_SAME] = "none",
										  [MTS_ROLLUP_EXTENDED] = "extended",
										  [MTS_ROLLUP_ALTERED] = "altered"};
	const MtsRollup *rollup = open_own(PG_GETARG_OID(0), AccessShareLock);
	const MtsRollup *finer = mts_rollup_open_finer(rollup);
	bson_value_t fingerprint = {.value_type = BSON_TYPE_INT64};
	MtsRollupState state, finer_state = {0};
	Datum values[2];
	bool nulls[2] = {false};
	TupleDesc desc;

	mts_rollup_read_state(rollup, GetUserId(), NULL, &state);
	if (finer)
		mts_rollup_read_state(finer, GetUserId(), NULL, &finer_state);
	fingerprint.value.v_int64 = mts_rollup_fingerprint(rollup);
	values[0] =
		CStringGetTextDatum(changes[mts_rollup_field_change(rollup, &state)]);
	values[1] = CStringGetTextDatum(mts_document_json(
		mts_document_make("{fingerprint: %v, totals: %a}", &fingerprint,
						  mts_rollup_field_make(rollup, &state,
												PG_GETARG_BOOL(1), finer,
												&finer_state))));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ---- The state ---------------------------------------------------------- */

/* Return a document of a JSON argument. */
static bson_t *
json_argument(const text *json)
{
	char *problem;
	bson_t *doc = mts_document_from_json(VARDATA_ANY(json),
										 VARSIZE_ANY_EXHDR(json), &problem);

	if (!doc)
		elog(ERROR, "invalid document: %s", problem);
	return doc;
}

/*
 * SQL: _mongo_ts_rollup_document(relation regclass) returns json
 *
 * Return the document with the latest state of a roll-up; NULL without one.
 * jsonb would lose the order of the fields, by which MongoDB compares.
 */
Datum
mongo_ts_rollup_document(PG_FUNCTION_ARGS)
{
	const MtsRollup *rollup = open_own(PG_GETARG_OID(0), AccessShareLock);
	const MtsTable *table = rollup->table;
	MtsFind find = {.filter =
						mts_document_make("{_id: %s}", mts_document_utf8(
														   table->collection)),
					.on_primary = true,
					.relid = table->relid};
	const bson_t *doc =
		mts_cursor_first(mts_connection_get(table->serverid, GetUserId()),
						 table->database, MTS_ROLLUP_STATES, &find);

	if (!doc)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(mts_document_json(doc)));
}

/* The _ids of the state of a roll-up, and of the token of its last refresh */
#define STATE_ID "{_id: %s}"
#define TOKEN_ID "{_id: {refresh: %s}}"

/* Return the selector of one of these documents, if it has some fields. */
static bson_t *
selector_of(const MtsRollup *rollup, const char *id, const bson_t *fields)
{
	bson_t *selector =
		mts_document_make(id, mts_document_utf8(rollup->table->collection));

	bson_concat(selector, fields);
	return selector;
}

/* Change the documents that satisfy a selector.  Returns how many do. */
static int64
change(MtsBulk bulk, MtsOpKind kind, const bson_t *selector,
	   const bson_t *changes)
{
	MtsOp op = mts_op(kind, selector, changes);

	mts_bulk_execute(&bulk, &op, 1);
	return bulk.affected;
}

/*
 * SQL: _mongo_ts_change_state(relation regclass, change json,
 *		condition json) returns boolean
 *
 * Change the state of a roll-up by an update document, if it satisfies a
 * condition.  Returns whether it does.  Without a condition, a missing state
 * is made.
 */
Datum
mongo_ts_change_state(PG_FUNCTION_ARGS)
{
	const MtsRollup *rollup = open_own(PG_GETARG_OID(0), AccessShareLock);
	const bson_t *condition = json_argument(PG_GETARG_TEXT_PP(2));

	PG_RETURN_BOOL(
		change(mts_rollup_mark_bulk(rollup, GetUserId()),
			   bson_empty(condition) ? MTS_OP_UPSERT : MTS_OP_UPDATE,
			   selector_of(rollup, STATE_ID, condition),
			   json_argument(PG_GETARG_TEXT_PP(1))) > 0);
}

/* Wait for the transactions that write to a table, not for later ones. */
static void
wait_for_writers(Oid relid)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	WaitForLockers(tag, ShareLock, false);
}

/*
 * SQL: _mongo_ts_begin_refresh(relation regclass, token json) returns void
 *
 * Store the token of a refresh: an earlier one of another PostgreSQL server
 * does not find its own then, and ends.  Wait for the transactions that write
 * to the points, or to the finer roll-up, and may not have seen the state.
 */
Datum
mongo_ts_begin_refresh(PG_FUNCTION_ARGS)
{
	const MtsRollup *rollup = open_own(PG_GETARG_OID(0), AccessShareLock);
	bson_t *changes = mts_document_new();

	bson_append_document(changes, "$set", -1,
						 json_argument(PG_GETARG_TEXT_PP(1)));
	change(mts_rollup_mark_bulk(rollup, GetUserId()), MTS_OP_UPSERT,
		   selector_of(rollup, TOKEN_ID, mts_document_new()), changes);
	wait_for_writers(rollup->points);
	if (rollup->source != rollup->points)
		wait_for_writers(rollup->source);
	PG_RETURN_VOID();
}

/* ---- Chunks ------------------------------------------------------------- */

/*
 * Check that the rows of a range consist of whole rows of the finer roll-up
 * that they are computed from, if they are not from points.
 */
static void
check_intervals(const MtsRollup *rollup, MtsRange range)
{
	const MtsRollup *finer = mts_rollup_open_finer(rollup);

	if (finer && !mts_rollup_is_made_of(rollup, finer, range))
		ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
						errmsg("cannot compute roll-up \"%s\" from roll-up "
							   "\"%s\"",
							   get_rel_name(rollup->table->relid),
							   get_rel_name(rollup->source)),
						errdetail("Its intervals do not consist of whole "
								  "intervals of the finer roll-up.")));
}

/* Execute statements of two parameters, the begin and the end of a range. */
static void
execute(ArrayType *statements, Datum *range)
{
	Oid types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID};
	ListCell *lc;

	foreach (lc, mts_table_texts(statements))
	{
		int result =
			SPI_execute_with_args(lfirst(lc), 2, types, range, NULL, false, 0);

		if (result < 0)
			elog(ERROR, "SPI_execute_with_args failed: %s",
				 SPI_result_code_string(result));
	}
}

/*
 * SQL: _mongo_ts_compute_rollup(relation regclass, statements text[],
 *		start_time timestamptz, end_time timestamptz, token json)
 *		returns boolean
 *
 * Execute the statements that compute the rows of a range, in a transaction of
 * MongoDB's if the server has them, unless another refresh has stored its
 * token.  Then nothing is written, and the result is false.  Without a
 * statement, the function only determines that.  In a transaction, no refresh
 * begins before it ends.  The rows do not become stale by being written.
 */
Datum
mongo_ts_compute_rollup(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	const MtsRollup *rollup = open_own(relid, AccessShareLock);
	MtsBulk bulk = mts_rollup_mark_bulk(rollup, GetUserId());
	Datum range[] = {PG_GETARG_DATUM(2), PG_GETARG_DATUM(3)};
	ArrayType *statements = PG_GETARG_ARRAYTYPE_P(1);
	bool is_own = ARR_NDIM(statements) > 0 &&
				  mts_table_joins_xact(rollup->table) &&
				  mts_xact_begin_own(bulk.connection);
	bool is_last;
	Oid before;

	check_intervals(rollup, (MtsRange){PG_GETARG_TIMESTAMPTZ(2),
									   PG_GETARG_TIMESTAMPTZ(3)});
	/* the transaction begins here, so it reads what it will write */
	if (is_own)
		bulk.scope = MTS_STATEMENT;
	is_last = change(bulk, MTS_OP_UPDATE,
					 selector_of(rollup, TOKEN_ID,
								 json_argument(PG_GETARG_TEXT_PP(4))),
					 mts_document_make("{$inc: {chunks: 1}}")) > 0;
	SPI_connect();
	before = mts_rollup_mark_exempt(relid);
	PG_TRY();
	{
		if (is_last)
			execute(statements, range);
	}
	PG_FINALLY();
	{
		(void) mts_rollup_mark_exempt(before);
	}
	PG_END_TRY();
	if (is_own)
		mts_xact_commit(bulk.connection);
	SPI_finish();
	PG_RETURN_BOOL(is_last);
}
