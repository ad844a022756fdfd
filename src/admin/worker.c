/*
 * worker.c
 *		The background workers that refresh roll-ups.
 *
 * The launcher starts a worker for the roll-ups of a role in a database.  It
 * is connected as that role, so whatever the role has declared runs with its
 * rights.  Another kind of worker looks which roles have such roll-ups.  It is
 * connected as the superuser, but only reads catalogs.
 *
 * Each refresh is a transaction.  The time of the last one, and of an error,
 * is in the state of the roll-up in MongoDB, so it is known after a restart,
 * and if others refresh.  After an error, a worker waits for as long as
 * refreshes have failed until then: at least a minute, at most the interval.
 */
#include "admin/worker.h"

#include "access/table.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/document.h"
#include "driver/wait.h"
#include "modify/rollup_mark.h"
#include "table/rollup.h"
#include "table/schedule.h"

/* The shortest time from an error to the next try */
#define RETRY_TIME USECS_PER_MINUTE

/* ---- What the launcher is sent ------------------------------------------ */

/* Send an item; wait until there is room for it. */
static void
send_due(MtsDue due)
{
	while (!mts_schedule_send(due))
	{
		CHECK_FOR_INTERRUPTS();
		mts_wait_nap(100);
	}
}

/* Return all roll-ups that are refreshed, in the current memory context. */
static List *
list_rollups(void)
{
	MemoryContext memory = CurrentMemoryContext;
	List *rollups;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(memory);
	rollups = mts_rollup_list_refreshed();
	CommitTransactionCommand();
	MemoryContextSwitchTo(memory);
	return rollups;
}

/* Send the roles that have roll-ups. */
static void
send_owners(void)
{
	ListCell *lc;

	foreach (lc, list_rollups())
		send_due((MtsDue){.database = MyDatabaseId,
						  .owner = ((MtsRefreshedRollup *) lfirst(lc))->owner,
						  .time = GetCurrentTimestamp()});
}

/* ---- When a roll-up is due ---------------------------------------------- */

/* Return a time of a state that is neither before 1970 nor in the future. */
static TimestampTz
past(MtsTime t)
{
	return Max(MTS_UNIX_EPOCH, Min(t, GetCurrentTimestamp()));
}

/* Return when a roll-up is due, by its state. */
static TimestampTz
read_due(const MtsRollup *rollup, int64 interval)
{
	MtsRollupState state;
	TimestampTz due, failed;

	mts_rollup_read_state(rollup, GetUserId(), NULL, &state);
	due = past(state.refreshed) + interval;
	if (!state.error)
		return due;
	failed = past(state.failed);
	return Max(due,
			   failed + Min(interval, Max(failed - past(state.failed_since),
										  RETRY_TIME)));
}

/* ---- Refresh ------------------------------------------------------------ */

static void
execute(const char *sql)
{
	int result;

	pgstat_report_activity(STATE_RUNNING, sql);
	debug_query_string = sql;
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	result = SPI_execute(sql, false, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	PopActiveSnapshot();
	SPI_finish();
}

/*
 * Return the statement that refreshes a roll-up.  It names the types of all
 * arguments, so that it calls the function of the extension, not another one
 * of its name.
 */
static char *
make_statement(const MtsTable *table)
{
	Oid fdw = GetForeignServer(table->serverid)->fdwid;
	Oid namespace = get_func_namespace(GetForeignDataWrapper(fdw)->fdwhandler);
	char *name =
		quote_qualified_identifier(get_namespace_name(
									   get_rel_namespace(table->relid)),
								   get_rel_name(table->relid));

	return psprintf("SELECT %s.mongo_ts_refresh_rollup(%s::regclass, "
					"NULL::timestamptz, NULL::timestamptz, "
					"NULL::interval)",
					quote_identifier(get_namespace_name(namespace)),
					quote_literal_cstr(name));
}

/*
 * Refresh a roll-up if it is due.  Returns when it is due next, or DT_NOEND if
 * it is not refreshed any more.
 *
 * One that is locked is being refreshed, or altered.
 */
static TimestampTz
refresh_if_due(const MtsRefreshedRollup *item)
{
	TimestampTz now = GetCurrentTimestamp(), due;
	Relation relation;
	const MtsRollup *rollup;
	const char *problem;
	bool is_own;

	if (!ConditionalLockRelationOid(item->relid, ShareUpdateExclusiveLock))
		return now + Min(item->interval, RETRY_TIME);
	relation = try_table_open(item->relid, NoLock);
	if (!relation)
		return DT_NOEND;
	is_own = relation->rd_rel->relowner == item->owner;
	rollup = mts_rollup_try_open(relation, &problem);
	table_close(relation, NoLock);
	if (!is_own)
		return DT_NOEND;
	if (!rollup)
	{
		ereport(LOG, (errmsg("roll-up \"%s\" is not refreshed",
							 get_rel_name(item->relid)),
					  errdetail("%s", problem)));
		return now + item->interval;
	}
	due = read_due(rollup, item->interval);
	if (due > now)
		return due;
	execute(make_statement(rollup->table));
	return GetCurrentTimestamp() + item->interval;
}

/* Record an error in the state of a roll-up. */
static void
record_error(Oid relid, const char *message)
{
	bson_value_t now = {.value_type = BSON_TYPE_DATE_TIME};
	Relation relation = try_table_open(relid, AccessShareLock);
	const MtsRollup *rollup;
	const char *problem;
	MtsBulk bulk;
	MtsOp op;

	if (!relation)
		return;
	rollup = mts_rollup_try_open(relation, &problem);
	table_close(relation, NoLock);
	if (!rollup)
		return;
	now.value.v_datetime = (GetCurrentTimestamp() - MTS_UNIX_EPOCH) / 1000;
	bulk = mts_rollup_mark_bulk(rollup, GetUserId());
	op =
		mts_op(MTS_OP_UPSERT,
			   mts_document_make("{_id: %s}",
								 mts_document_utf8(rollup->table->collection)),
			   mts_document_make("{$set: {failed.at: %v, failed.error: %s}, "
								 "$min: {failed.since: %v}}",
								 &now, mts_document_utf8(message), &now));
	mts_bulk_execute(&bulk, &op, 1);
}

/* Tell whether the server is lost, which cannot store an error, either. */
static bool
is_lost(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION ||
		   ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
			   ERRCODE_CONNECTION_EXCEPTION;
}

/*
 * Do a part of the work in a transaction: refresh a roll-up, or record the
 * error of that.  Returns the error, or NULL.
 */
static ErrorData *
run(const MtsRefreshedRollup *item, const ErrorData *former, TimestampTz *due)
{
	ErrorData *volatile error = NULL;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PG_TRY();
	{
		if (former)
			record_error(item->relid, former->message);
		else
			*due = refresh_if_due(item);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(TopMemoryContext);
		error = CopyErrorData();
		EmitErrorReport();
		FlushErrorState();
		AbortCurrentTransaction();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(TopMemoryContext);
	debug_query_string = NULL;
	pgstat_report_activity(STATE_IDLE, NULL);
	return error;
}

/*
 * Refresh the roll-ups of a role that are due, the coarsest first, since each
 * refreshes the finer ones that it is made of.
 */
static void
refresh_due(Oid owner)
{
	TimestampTz next = DT_NOEND;
	ListCell *lc;

	foreach (lc, list_rollups())
	{
		MtsRefreshedRollup *item = lfirst(lc);
		TimestampTz due = DT_NOEND;
		ErrorData *error;

		if (item->owner != owner)
			continue;
		CHECK_FOR_INTERRUPTS();
		error = run(item, NULL, &due);
		if (error)
		{
			due = GetCurrentTimestamp() + Min(item->interval, RETRY_TIME);
			if (!is_lost(error))
				(void) run(item, error, &due);
		}
		next = Min(next, due);
	}
	if (next != DT_NOEND)
		send_due(
			(MtsDue){.database = MyDatabaseId, .owner = owner, .time = next});
}

/* ---- The worker --------------------------------------------------------- */

static void
set(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/* mts_worker_main: the process of a worker. */
void
mts_worker_main(Datum arg)
{
	MtsDue due;

	memcpy(&due, MyBgworkerEntry->bgw_extra, sizeof(due));
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(due.database, due.owner,
											  MTS_WORKER_FLAGS);
	MemoryContextSwitchTo(TopMemoryContext);
	/* whatever the settings of the database and the role are */
	set("application_name", MyBgworkerEntry->bgw_type);
	set("role", "none");
	set("search_path", "pg_catalog, pg_temp");
	set("default_transaction_isolation", "read committed");
	set("default_transaction_read_only", "off");
	if (OidIsValid(due.owner))
		refresh_due(due.owner);
	else
		send_owners();
}
