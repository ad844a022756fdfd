/*
 * xact.c
 *		Units of work: writes to a server that are stored together.
 *
 * A unit is a transaction of MongoDB, which is aborted when PostgreSQL aborts.
 * Its scope says what belongs to it, and when it is committed:
 *
 * - That of PostgreSQL's transaction is committed right before PostgreSQL
 *	 commits.  The first write begins it.  All later writes belong to it, and
 *	 the reads of all later statements, so that they see the writes.  Tables
 *	 with another value of the option take no part.
 * - That of a statement differs only in that mts_xact_commit() commits it.
 * - That of a call of bulk.c has the writes of the call alone.  No read
 *	 belongs to it, and it is open only while the call waits for the server.
 *
 * Each connection has its own units, so the transactions of two servers are
 * committed one after the other.  Each has a session of its own, since a later
 * number of its session would abort it.
 *
 * The commands that have written are kept in a log (write_log.c).  After the
 * server has aborted the transaction, they can be sent again in a new one.
 * A call has no log: it has its writes still, and makes its commands anew.
 * Each command of a log must have the effect again that was reported, or the
 * transaction fails with a serialization failure:
 *
 * - An insert has an _id, so another one of the document is refused.
 * - An update or a delete of a bucket has the condition that its points are as
 *	 they were read.  It must find its bucket.
 * - An upsert of new points stores these points, whatever else is stored.
 * - A delete by a filter removes what matches.  So what it has matched is read
 *	 again before, and compared (seen.c).
 * - Preallocation reports how many buckets are new, which are counted again.
 *
 * This is done on two occasions:
 *
 * - A statement outside of a transaction block is repeated if another session
 *	 or an election was in its way.  Nothing of it has been returned.
 * - MongoDB has no savepoints.  After the rollback of one, the log ends where
 *	 it did when the savepoint was set, and the rest is sent again, unless the
 *	 isolation level has promised that reads do not change.
 *
 * A write outside of a block that is a single document is sent last, right
 * before PostgreSQL commits, if nothing follows it.  It needs no transaction.
 */
#include "driver/xact.h"

#include "access/xact.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "driver/transaction.h"
#include "driver/write_log.h"

/* How often a transaction is begun while other sessions are in its way */
#define MAX_TRIES 30

/*
 * How long the tries that were aborted may have taken in all, in microseconds.
 * A transaction that is too large or too long for the server would fail each
 * time.
 */
#define MAX_LOST_TIME INT64CONST(60000000)

/* What was written when a subtransaction began */
typedef struct Mark
{
	SubTransactionId subid;
	MtsLogEnd end;
	int ntables; /* of those that were written before */
} Mark;

/* A collection that the transaction has written */
typedef struct Written
{
	char *database;
	char *collection;
	bool is_kept;       /* a command of the log has written it */
	CommandId last;     /* PostgreSQL's command that has written it last */
	bool is_recorded;   /* so has a command that is not kept yet */
	CommandId recorded; /* and its command of PostgreSQL's */
} Written;

/* A unit of a connection */
struct MtsXact
{
	MtsConnection *connection; /* it is pinned */
	char *server;              /* its name */
	MtsTransaction transaction;
	bool is_open;     /* it has begun */
	bool must_abort;  /* so it may be, but not with all of the log */
	bool is_aborted;  /* it was open, and is to be begun again */
	bool reads_first; /* it begins with reads, before it has written */
	int starts;       /* how often it was begun */
	int64 time;       /* of the last begin, in monotonic microseconds */
	int64 lost_time;  /* of the tries that were aborted */
	MtsScope scope;   /* not MTS_EACH_WRITE */

	MtsWriteLog log; /* the commands that were done */
	CommandId first; /* PostgreSQL's command that sent the first of them */
	List *written;   /* Written: the collections */
	List *tables;    /* MtsStoredTable: that they have written */
	List *marks;     /* Mark, of the subtransactions that have begun since */

	MtsXactSend send; /* the only command, if it has not been sent; or NULL */
	void *send_arg;
};

static List *xacts = NIL; /* in TopTransactionContext, as are its items */

/* Find the transaction of a connection that is not that of a call. */
static MtsXact *
find(const MtsConnection *connection)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		MtsXact *xact = lfirst(lc);

		if (xact->connection->serverid == connection->serverid &&
			xact->connection->mappingid == connection->mappingid &&
			xact->scope != MTS_EACH_CALL)
			return xact;
	}
	return NULL;
}

/* Tell whether there is anything to commit. */
static bool
has_work(const MtsXact *xact)
{
	return xact->is_open || xact->log.kept.ncommands > 0;
}

/* Tell whether reads belong to the transaction. */
static bool
is_active(const MtsXact *xact)
{
	return xact->scope != MTS_EACH_CALL &&
		   (has_work(xact) || xact->reads_first);
}

/*
 * Tell whether the transaction can have more statements.  Within a
 * subtransaction, PostgreSQL says so always.  Then it has one statement if
 * both began at once, and BEGIN has not changed the isolation level.
 */
static bool
is_block(void)
{
	if (IsSubTransaction())
		return XactIsoLevel != DefaultXactIsoLevel ||
			   GetCurrentStatementStartTimestamp() !=
				   GetCurrentTransactionStartTimestamp();
	return IsTransactionBlock() || (MyXactFlags & XACT_FLAGS_PIPELINING) != 0;
}

/* Tell whether a transaction, or one to come, can have more statements. */
static bool
outlives_statement(const MtsXact *xact)
{
	return is_block() && (!xact || xact->scope == MTS_TRANSACTION);
}

/* Tell whether all reads of the transaction must see one moment. */
static bool
keeps_promise(const MtsXact *xact)
{
	return outlives_statement(xact) && IsolationUsesXactSnapshot();
}

/*
 * Tell whether a transaction would have to be begun again although its reads
 * have been promised not to change.
 */
static bool
breaks_promise(const MtsXact *xact)
{
	return xact->is_aborted && keeps_promise(xact);
}

/*
 * mts_xact_is_active
 *		Tell whether the reads of a statement belong to a transaction, because
 *		the current one has written to a server.
 *
 * A statement asks before it begins, so that all its reads see one moment.
 */
bool
mts_xact_is_active(Oid serverid)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		const MtsXact *xact = lfirst(lc);

		if (xact->connection->serverid == serverid &&
			(is_active(xact) || breaks_promise(xact)))
			return true;
	}
	return false;
}

/*
 * mts_xact_has_written
 *		Tell whether the reads of a statement belong to a transaction, because
 *		the current one has written to a server before a command of it.
 *
 * The statement sees what commands before that of its snapshot have written,
 * and not what it, or a function that it calls, has written.
 */
bool
mts_xact_has_written(Oid serverid, CommandId before)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		const MtsXact *xact = lfirst(lc);

		if (xact->connection->serverid == serverid &&
			((xact->log.kept.ncommands > 0 && xact->first < before) ||
			 breaks_promise(xact)))
			return true;
	}
	return false;
}

/*
 * mts_xact_starts
 *		Return how often a connection's transaction was begun; 0 if it is not
 *		open.
 *
 * A cursor ends with the try in which it was opened.
 */
int
mts_xact_starts(const MtsConnection *connection)
{
	const MtsXact *xact = find(connection);

	return xact && xact->is_open && !xact->must_abort ? xact->starts : 0;
}

/* ---- Errors ------------------------------------------------------------- */

/*
 * Raise an error if a transaction would have to be begun again although its
 * reads have been promised not to change.
 */
static void
check_promise(const MtsXact *xact)
{
	if (!breaks_promise(xact))
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot continue the transaction on foreign server \"%s\"",
				xact->server),
		 errdetail(
			 "MongoDB has aborted its transaction. The cause is a write that failed, or a savepoint or block with an exception handler that was rolled back after a write. Another transaction would read a later moment."),
		 errhint(
			 "Roll back the transaction. Savepoints can be rolled back under isolation level READ COMMITTED.")));
}

/* Decide what to do after an error of a transaction's command. */
static MtsDecision
decide(const MtsConnection *connection, const bson_error_t *error)
{
	return mts_server_error_decide(connection, error, MTS_PHASE_TRANSACTION);
}

/* Tell whether an error aborts a transaction that could succeed again. */
static bool
is_transient(const MtsConnection *connection, const bson_error_t *error)
{
	MtsDecision decision = decide(connection, error);

	return decision == MTS_AGAIN_LATER || decision == MTS_AGAIN_ON_PRIMARY;
}

/*
 * mts_xact_report_failure
 *		Raise the error of a command of a transaction, or the interrupt that
 *		ended it.
 *
 * A lost connection or an election is a serialization failure, because nothing
 * is stored and the transaction can be run again.
 */
void
mts_xact_report_failure(MtsConnection *connection, const char *message,
						const bson_error_t *error)
{
	const MtsWait *wait = &connection->wait;

	if (wait->interrupted || wait->problem ||
		!is_transient(connection, error) ||
		(error->domain == MONGOC_ERROR_SERVER &&
		 mts_server_error(error->code).hint))
		mts_report_failure(connection, message, error);
	if (mts_connection_is_lost(connection, error))
		connection->invalid = true;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE), errmsg("%s", message),
			 errdetail("%s\nThe server has stored nothing of the transaction.",
					   mts_report_detail(connection, error)),
			 errhint("Run the transaction again.")));
}

/*
 * mts_xact_may_repeat
 *		Tell whether a connection's transaction may be begun again after an
 *		error.
 *
 * Nothing of a statement has been returned with which the transaction ends.
 */
bool
mts_xact_may_repeat(const MtsConnection *connection)
{
	const MtsXact *xact = find(connection);

	return !outlives_statement(xact) &&
		   (!xact || xact->lost_time < MAX_LOST_TIME);
}

/*
 * mts_xact_should_repeat
 *		Tell whether to begin the transaction of a connection again after an
 *		error of the last of some tries.
 *
 * If so, other sessions have had some time to get out of the way.
 */
bool
mts_xact_should_repeat(MtsAttempt *attempt, int tries,
					   const bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;

	if (connection->wait.interrupted || connection->wait.problem ||
		!is_transient(connection, error) || !mts_xact_may_repeat(connection))
		return false;
	if (decide(connection, error) == MTS_AGAIN_ON_PRIMARY)
		return mts_attempt_should_repeat(attempt, error);
	if (tries >= MAX_TRIES)
		return false;
	mts_attempt_back_off(tries);
	return true;
}

/* ---- The log ------------------------------------------------------------ */

/* Find what is recorded of a collection; NULL if it was not written. */
static Written *
find_written(const MtsXact *xact, const char *database, const char *collection)
{
	ListCell *lc;

	foreach (lc, xact->written)
	{
		Written *written = lfirst(lc);

		if (strcmp(written->collection, collection) == 0 &&
			strcmp(written->database, database) == 0)
			return written;
	}
	return NULL;
}

/*
 * Record that the current command of PostgreSQL has written a collection, of a
 * database whose name is in UTF-8.  Statements that begin after that have a
 * later number.
 */
static void
record_written(MtsXact *xact, const char *database, const bson_t *command)
{
	CommandId current = GetCurrentCommandId(true);
	Written *written;
	bson_iter_t name;

	if (xact->log.kept.ncommands == 0)
		xact->first = current;
	if (!bson_iter_init(&name, command) || !bson_iter_next(&name))
		return;
	written = find_written(xact, database, bson_iter_utf8(&name, NULL));
	if (!written)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		written = palloc0(sizeof(Written));
		written->database = pstrdup(database);
		written->collection = pstrdup(bson_iter_utf8(&name, NULL));
		xact->written = lappend(xact->written, written);
		MemoryContextSwitchTo(old);
	}
	written->is_recorded = true;
	written->recorded = current;
}

/* Keep what was recorded of collections, because it is written. */
static void
keep_written(const MtsXact *xact)
{
	ListCell *lc;

	foreach (lc, xact->written)
	{
		Written *written = lfirst(lc);

		if (written->is_recorded)
			written->last = written->recorded;
		written->is_kept |= written->is_recorded;
		written->is_recorded = false;
	}
}

/* Remove the commands that were recorded and are not kept. */
static void
forget_recorded(MtsXact *xact)
{
	ListCell *lc;

	foreach (lc, xact->written)
		((Written *) lfirst(lc))->is_recorded = false;
	mts_write_log_cut(&xact->log, xact->log.kept);
}

/*
 * mts_xact_writes_since
 *		Tell whether a connection's transaction has written a collection in a
 *		command of PostgreSQL's or a later one.
 *
 * The names are in UTF-8.
 */
bool
mts_xact_writes_since(const MtsConnection *connection, const char *database,
					  const char *collection, CommandId since)
{
	const MtsXact *xact = find(connection);
	const Written *written =
		xact ? find_written(xact, database, collection) : NULL;

	return written && written->is_kept && written->last >= since;
}

/*
 * mts_xact_record
 *		Append a command that writes to the log, until mts_xact_keep() keeps it
 *		or the next command of another call replaces it.
 *
 * ndocuments is the number of documents that it must write, or -1.
 * reports_new says that the number of its new documents is reported; see
 * mts_xact_keep.
 */
void
mts_xact_record(MtsXact *xact, const char *database, const bson_t *command,
				int64 ndocuments, bool reports_new)
{
	record_written(xact, mts_document_utf8(database), command);
	mts_write_log_append(&xact->log, database, command, ndocuments,
						 reports_new);
}

/*
 * mts_xact_record_read
 *		Append the command that has found what the next command removes to the
 *		log.
 */
void
mts_xact_record_read(MtsXact *xact, const char *database,
					 const bson_t *command, const MtsSeen *seen)
{
	mts_write_log_append_read(&xact->log, database, command, seen);
}

/*
 * mts_xact_drop
 *		Remove the commands that were recorded, because others follow that do
 *		the same.
 */
void
mts_xact_drop(MtsXact *xact)
{
	forget_recorded(xact);
}

/*
 * mts_xact_keep
 *		Keep the commands that were recorded, because they were done.
 *
 * They have written points of the table, unless it is NULL, and have reported
 * nnew documents as new.
 */
void
mts_xact_keep(MtsXact *xact, const MtsStoredTable *table, int64 nnew)
{
	mts_write_log_keep(&xact->log, nnew);
	keep_written(xact);
	xact->reads_first = false;
	if (table)
	{
		MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

		xact->tables = list_append_unique_ptr(xact->tables, (void *) table);
		MemoryContextSwitchTo(old);
	}
}

/* Raise an error: what was written or removed cannot be written again. */
static _Noreturn void
refuse_replay(const MtsAttempt *attempt, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("%s", attempt->message), errdetail("%s", detail),
					errhint("Run the transaction again.")));
	pg_unreachable();
}

/*
 * Tell whether a refusal of a command that was postponed is its own failure:
 * it was not sent before.  A duplicate key is not, if another session has made
 * the bucket that it would make.
 */
static bool
is_own_failure(const MtsXact *xact, const MtsLogEntry *entry, uint32 code)
{
	return xact->starts == 1 &&
		   (code != MTS_CODE_DUPLICATE_KEY ||
			!mts_document_number(entry->command, "updates.0.upsert"));
}

/*
 * Raise an error unless a command of the log has written what it did before.
 */
static void
check_replayed(const MtsXact *xact, const MtsAttempt *attempt,
			   const MtsLogEntry *entry, const bson_t *reply)
{
	const char *reason = mts_document_string(reply, "writeErrors.0.errmsg");
	uint32 code = (uint32) mts_document_number(reply, "writeErrors.0.code");
	bson_error_t error;
	bson_iter_t name;

	if (reason && is_own_failure(xact, entry, code) &&
		bson_iter_init(&name, entry->command) && bson_iter_next(&name))
	{
		bson_set_error(&error, MONGOC_ERROR_SERVER, code, "%s", reason);
		mts_report_failure(xact->connection,
						   mts_report_writing(entry->database,
											  bson_iter_utf8(&name, NULL)),
						   &error);
	}
	if (bson_has_field(reply, "writeErrors") ||
		(entry->ndocuments >= 0 &&
		 mts_document_number(reply, "n") != entry->ndocuments))
		refuse_replay(attempt, "Another session has changed what this "
							   "transaction has written.");
}

/*
 * Send a command of the log again, and add the new documents that it reports.
 * Returns false with the reason in *error if the server does not answer, or
 * aborts the transaction.
 */
static bool
replay_command(MtsXact *xact, const MtsAttempt *attempt,
			   const MtsLogEntry *entry, int64 *nnew, bson_error_t *error)
{
	MtsSeen before = {.ndocuments = entry->ndocuments, .hash = entry->hash};
	MtsSeen now = {0};
	const bson_t *reply;
	bson_t *command;

	if (entry->is_read)
	{
		if (!mts_seen_read(attempt, &xact->transaction, entry->database,
						   entry->command, &now, error))
			return false;
		if (!mts_seen_is_equal(&before, &now))
			refuse_replay(attempt, "Another session has changed what this "
								   "transaction has removed.");
		return true;
	}
	command = bson_copy(entry->command);
	mts_document_adopt(command);
	mts_transaction_append(&xact->transaction, command);
	if (!mts_command_send(attempt, entry->database, command, &reply, error))
	{
		mts_transaction_classify(reply, error);
		return false;
	}
	check_replayed(xact, attempt, entry, reply);
	if (entry->reports_new)
		*nnew += mts_document_count(reply, "upserted");
	return true;
}

/*
 * Send the commands of the log again, or that which was postponed.  Returns
 * false with the reason in *error if the server does not answer, or aborts the
 * transaction.
 */
static bool
replay(MtsXact *xact, const MtsAttempt *attempt, bson_error_t *error)
{
	MemoryContext memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw log",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(memory);
	int64 nnew = 0;
	bool ok = true;
	MtsLogEntry entry;

	mts_write_log_rewind(&xact->log);
	while (ok && mts_write_log_next(&xact->log, &entry))
	{
		ok = replay_command(xact, attempt, &entry, &nnew, error);
		MemoryContextReset(memory);
	}
	if (ok && nnew != xact->log.kept.nnew)
		refuse_replay(attempt, "Another session has made or removed a "
							   "document that this transaction makes unless "
							   "it exists.");
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
	return ok;
}

/* ---- Beginning ---------------------------------------------------------- */

/* Release a transaction at the end of PostgreSQL's, after its cursors. */
static void
release(void *arg)
{
	MtsXact *xact = arg;

	/* that of a call may have ended before */
	if (!xact->connection)
		return;
	xact->connection->wait.timeout = 0;
	mts_connection_unpin(xact->connection);
}

/* Make a transaction of a connection, in one of its sessions. */
static MtsXact *
make(MtsConnection *connection, MtsLsid *lsid, MtsScope scope)
{
	MtsXact *xact;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	xact = palloc0(sizeof(MtsXact));
	xact->server = pstrdup(GetForeignServer(connection->serverid)->servername);
	xact->connection = connection;
	xact->transaction.lsid = lsid;
	xact->scope = scope;
	connection->pins++;
	mts_document_release_with(release, xact);
	xacts = lappend(xacts, xact);
	MemoryContextSwitchTo(old);
	return xact;
}

/*
 * mts_xact_unit
 *		Return the unit of a statement or of PostgreSQL's transaction.
 */
MtsXact *
mts_xact_unit(MtsConnection *connection)
{
	MtsXact *xact = find(connection);

	return xact ? xact : make(connection, &connection->xact, MTS_TRANSACTION);
}

/*
 * mts_xact_begin_call
 *		Make the unit of a call that has a session of the connection.
 *
 * Nothing else belongs to it.  It has no log, because the caller has all of
 * its writes until mts_xact_commit_call() has committed them.  Then, or when
 * it is aborted for good, mts_xact_end_call() ends it, and so does an error.
 */
MtsXact *
mts_xact_begin_call(MtsConnection *connection, MtsLsid *lsid)
{
	return make(connection, lsid, MTS_EACH_CALL);
}

/* mts_xact_end_call: end the unit of a call, which the server has not open. */
void
mts_xact_end_call(MtsXact *xact)
{
	Assert(!xact->is_open);
	xacts = list_delete_ptr(xacts, xact);
	mts_connection_unpin(xact->connection);
	xact->connection = NULL;
}

/* Raise an error if a transaction cannot be used by a connection. */
static void
check(const MtsXact *xact, const MtsConnection *connection)
{
	check_promise(xact);
	if (xact->connection != connection)
		ereport(
			ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("cannot continue the transaction on foreign server \"%s\"",
					xact->server),
			 errdetail("Its connection was lost, or options of the server or "
					   "the user mapping have changed."),
			 errhint("Run the transaction again.")));
}

/* Begin a transaction; the server learns of it by the first command. */
static void
start(MtsXact *xact)
{
	mts_transaction_begin(&xact->transaction, xact->connection,
						  xact->transaction.lsid);
	xact->transaction.reads_snapshot = xact->scope != MTS_EACH_CALL;
	xact->is_open = true;
	xact->is_aborted = false;
	xact->starts++;
	xact->time = bson_get_monotonic_time();
}

/* Abort transactions on their servers, so that they keep nothing locked. */
static void
abort_list(List *list)
{
	List *open = NIL;
	ListCell *lc;

	foreach (lc, list)
	{
		MtsXact *xact = lfirst(lc);

		if (!xact->is_open)
			continue;
		xact->is_open = xact->must_abort = false;
		/* what was read for a write has promised nothing */
		xact->is_aborted |= !xact->reads_first;
		xact->lost_time += bson_get_monotonic_time() - xact->time;
		open = lappend(open, &xact->transaction);
	}
	mts_transaction_abort_all(open);
	list_free(open);
}

static void
abort_xact(MtsXact *xact)
{
	abort_list(list_make1(xact));
}

/*
 * mts_xact_abort_unit
 *		Abort a unit on the server, because of an error or, if that is NULL,
 *		for another reason; the log stays.
 *
 * The next command of the transaction, or the commit, begins it again, so the
 * caller raises an error unless mts_xact_may_repeat().  If the connection was
 * lost, it is aborted then: libmongoc would not look for another primary for a
 * while after a server that does not answer the abort.
 */
void
mts_xact_abort_unit(MtsXact *xact, const bson_error_t *error)
{
	forget_recorded(xact);
	if (error && error->domain != MONGOC_ERROR_SERVER &&
		mts_connection_is_lost(xact->connection, error))
	{
		xact->must_abort = xact->is_open;
		xact->is_aborted |= xact->is_open && !xact->reads_first;
	}
	else
		abort_xact(xact);
}

/*
 * mts_xact_abort
 *		Abort the unit of a connection, if there is one.
 */
void
mts_xact_abort(const MtsConnection *connection, const bson_error_t *error)
{
	MtsXact *xact = find(connection);

	if (xact)
		mts_xact_abort_unit(xact, error);
}

/*
 * mts_xact_open
 *		Have a unit open for commands that write, and return its transaction.
 *
 * The attempt has selected its server, which has transactions.  Returns false
 * with the reason in *error if the transaction is aborted when it is begun
 * again.
 */
bool
mts_xact_open(MtsXact *xact, MtsAttempt *attempt, MtsTransaction **transaction,
			  bson_error_t *error)
{
	check(xact, attempt->connection);
	xact->send = NULL;
	forget_recorded(xact);
	attempt->in_transaction = true;
	if (xact->must_abort)
		abort_xact(xact);
	if (!xact->is_open)
	{
		/* an error that is raised in between leaves part of the log done */
		start(xact);
		xact->must_abort = true;
		if (!replay(xact, attempt, error))
		{
			mts_xact_abort_unit(xact, error);
			return false;
		}
		xact->must_abort = false;
	}
	*transaction = &xact->transaction;
	return true;
}

/* Begin a transaction again if the server does not have it. */
static void
reopen(MtsXact *xact)
{
	MtsConnection *connection = xact->connection;
	char *message = psprintf(
		"could not begin the transaction on foreign server \"%s\" again",
		xact->server);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PRIMARY);
	MtsTransaction *transaction;
	bson_error_t error;
	int tries = 0;

	if (xact->is_open && !xact->must_abort)
		return;
	attempt.is_write = true;
	while (!mts_attempt_try_select_server(&attempt, &error) ||
		   !mts_xact_open(xact, &attempt, &transaction, &error))
		if (!mts_xact_should_repeat(&attempt, ++tries, &error))
			mts_xact_report_failure(connection, message, &error);
}

/*
 * mts_xact_transaction
 *		Return a connection's transaction, for commands that read; NULL if
 *		nothing has been written.
 */
MtsTransaction *
mts_xact_transaction(MtsConnection *connection)
{
	MtsXact *xact = find(connection);

	if (xact)
		check_promise(xact);
	if (!xact || !is_active(xact))
		return NULL;
	check(xact, connection);
	reopen(xact);
	return &xact->transaction;
}

/*
 * mts_xact_begin_reading
 *		Have the next reads belong to a connection's transaction, although it
 *		may not have written yet.
 *
 * The server has transactions.  What they find can then be removed, and
 * nothing else: the server refuses to write what has changed since.
 */
void
mts_xact_begin_reading(MtsConnection *connection)
{
	MtsXact *xact = mts_xact_unit(connection);

	xact->reads_first = xact->log.kept.ncommands == 0;
	(void) mts_xact_transaction(connection);
}

/*
 * mts_xact_end_reading
 *		Have reads not belong to a connection's transaction, because their
 *		collection excludes transactions; returns false if it has written.
 */
bool
mts_xact_end_reading(const MtsConnection *connection)
{
	MtsXact *xact = find(connection);

	if (!xact || xact->log.kept.ncommands > 0)
		return false;
	mts_xact_abort(connection, NULL);
	xact->reads_first = false;
	return true;
}

/*
 * mts_xact_restart
 *		Have a connection's transaction begin again at its next use, because
 *		it cannot see a new collection, or cannot write to one; returns false
 *		if the isolation level does not allow that.
 */
bool
mts_xact_restart(const MtsConnection *connection)
{
	MtsXact *xact = find(connection);

	if (!xact)
		return true;
	if (xact->log.kept.ncommands > 0 && keeps_promise(xact))
		return false;
	mts_xact_abort(connection, NULL);
	xact->is_aborted &= xact->log.kept.ncommands > 0;
	xact->reads_first = false;
	return true;
}

/*
 * mts_xact_may_postpone
 *		Tell whether a write can wait for the commit of PostgreSQL's
 *		transaction, because it may be its only one.
 */
bool
mts_xact_may_postpone(const MtsConnection *connection)
{
	const MtsXact *xact = find(connection);

	return !IsTransactionBlock() && !IsSubTransaction() &&
		   (!xact || !is_active(xact));
}

/*
 * mts_xact_postpone
 *		Take over a command that writes one document, to be sent when
 *		PostgreSQL's transaction commits.
 *
 * If nothing follows, the function sends it, without a transaction of MongoDB.
 */
void
mts_xact_postpone(MtsConnection *connection, const char *database,
				  const bson_t *command, const MtsStoredTable *table,
				  MtsXactSend send, void *arg)
{
	MtsXact *xact = mts_xact_unit(connection);

	mts_xact_record(xact, database, command, 1, false);
	mts_xact_keep(xact, table, 0);
	xact->send = send;
	xact->send_arg = arg;
}

/* ---- Committing --------------------------------------------------------- */

/*
 * Record that the tables of a transaction are stored, or that it is not known
 * whether they are.
 */
static void
record_stored(const MtsXact *xact, bool is_known)
{
	ListCell *lc;

	foreach (lc, xact->tables)
		mts_stored_record(lfirst(lc), is_known);
}

/* Raise the error of a commit that may be done. */
static _Noreturn void
refuse_commit(MtsXact *xact, const char *message, const bson_error_t *error)
{
	record_stored(xact, false);
	mts_transaction_orphan(&xact->transaction);
	mts_report_unknown(
		xact->connection, message, error,
		"It is unknown whether the transaction was committed there.");
}

/* Commit a transaction, and begin it again if it was aborted. */
static void
commit(MtsXact *xact)
{
	MtsConnection *connection = xact->connection;
	char *message =
		psprintf("could not commit the transaction on foreign server \"%s\"",
				 xact->server);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PRIMARY);
	MtsOutcome outcome;
	bson_error_t error;
	int tries = 0;

	attempt.is_write = attempt.in_transaction = true;
	reopen(xact);
	while ((outcome = mts_transaction_commit(&xact->transaction, &attempt,
											 &error)) == MTS_ABORTED)
	{
		mts_xact_abort_unit(xact, &error);
		if (!mts_xact_should_repeat(&attempt, ++tries, &error))
			mts_xact_report_failure(connection, message, &error);
		reopen(xact);
	}
	if (outcome == MTS_UNKNOWN)
		refuse_commit(xact, message, &error);
	xact->is_open = false;
	record_stored(xact, true);
	if (error.domain != 0)
		mts_report_failure(connection, message, &error);
}

/*
 * mts_xact_commit_call
 *		Commit the unit of a call once; see mts_transaction_commit.
 *
 * Unless it is committed, mts_xact_abort_unit() follows, or an error.
 */
MtsOutcome
mts_xact_commit_call(MtsXact *xact, MtsAttempt *attempt, bson_error_t *error)
{
	MtsOutcome outcome =
		mts_transaction_commit(&xact->transaction, attempt, error);

	xact->is_open = outcome != MTS_COMMITTED;
	return outcome;
}

/* Do what a transaction has written, for good. */
static void
finish(MtsXact *xact)
{
	if (xact->scope == MTS_EACH_CALL)
		return;
	if (xact->send)
		xact->send(xact->connection, xact->send_arg);
	else if (has_work(xact))
		commit(xact);
	xact->reads_first = false;
	mts_write_log_close(&xact->log);
	xact->tables = NIL;
	xact->written = NIL;
	xact->scope = MTS_TRANSACTION;
}

/*
 * mts_xact_begin_own
 *		Have the next writes of a connection be a transaction of the current
 *		statement, which mts_xact_commit() ends; returns false if they belong
 *		to that of earlier writes.
 */
bool
mts_xact_begin_own(MtsConnection *connection)
{
	if (mts_xact_is_active(connection->serverid))
		return false;
	mts_xact_unit(connection)->scope = MTS_STATEMENT;
	return true;
}

/*
 * mts_xact_commit
 *		Commit the transaction of the current statement.
 */
void
mts_xact_commit(const MtsConnection *connection)
{
	finish(find(connection));
}

/*
 * Do what a transaction has written after another server has committed.  To
 * run PostgreSQL's transaction again would write there twice, so no error
 * asks for that.
 */
static void
finish_after_another(MtsXact *xact)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		finish(xact);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_T_R_SERIALIZATION_FAILURE)
			PG_RE_THROW();
		FlushErrorState();
		error->sqlerrcode = ERRCODE_FDW_ERROR;
		error->hint = pstrdup(
			"Another foreign server has committed its part of the transaction. Check what is stored before you run the transaction again.");
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * Do what the transactions of all servers have written.  One that must be
 * begun again may fail, so that comes first.
 */
static void
finish_all(void)
{
	bool any_is_done = false;
	ListCell *lc;

	foreach (lc, xacts)
	{
		MtsXact *xact = lfirst(lc);

		if (has_work(xact) && !xact->send)
			reopen(xact);
	}
	foreach (lc, xacts)
	{
		MtsXact *xact = lfirst(lc);
		bool is_written = has_work(xact);

		if (any_is_done)
			finish_after_another(xact);
		else
			finish(xact);
		any_is_done |= is_written;
	}
}

/*
 * Raise an error if there are transactions, because MongoDB has no two-phase
 * commit.
 */
static void
refuse_prepare(void)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		const MtsXact *xact = lfirst(lc);

		if (is_active(xact))
			ereport(
				ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has written to "
						"foreign server \"%s\"",
						xact->server),
				 errdetail("MongoDB cannot prepare a transaction."),
				 errhint(
					 "Use COMMIT, or set option \"transactions\" to \"batch\", whose writes are not undone by ROLLBACK.")));
	}
}

/* ---- The ends of PostgreSQL's transactions ------------------------------ */

/*
 * Have statement_timeout end the waits of a commit; PostgreSQL's own timer has
 * ended with the statement.
 */
static void
set_timeout(MtsXact *xact)
{
	if (StatementTimeout > 0)
		xact->connection->wait.timeout = mts_wait_expiry(StatementTimeout);
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	ListCell *lc;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			foreach (lc, xacts)
			{
				set_timeout(lfirst(lc));
				if (is_active(lfirst(lc)))
					check_promise(lfirst(lc));
			}
			/* otherwise PostgreSQL checks that after MongoDB has committed */
			if (xacts != NIL && IsolationIsSerializable())
				PreCommit_CheckForSerializationFailure();
			finish_all();
			break;
		case XACT_EVENT_PRE_PREPARE:
			refuse_prepare();
			break;
		case XACT_EVENT_ABORT:
			abort_list(xacts);
			xacts = NIL;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
			xacts = NIL;
			break;
		default:
			break;
	}
}

/* Record what is written when a subtransaction begins. */
static void
add_mark(MtsXact *xact, SubTransactionId subid)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Mark *mark = palloc(sizeof(Mark));

	*mark = (Mark){subid, xact->log.kept, list_length(xact->tables)};
	xact->marks = lappend(xact->marks, mark);
	MemoryContextSwitchTo(old);
}

/*
 * Remove the mark of a subtransaction that ends, and return it.  A transaction
 * that began later has no mark.
 */
static Mark
remove_mark(MtsXact *xact, SubTransactionId subid)
{
	Mark *last = xact->marks ? llast(xact->marks) : NULL;
	Mark mark = {0};

	if (!last || last->subid != subid)
		return mark;
	mark = *last;
	xact->marks = list_delete_last(xact->marks);
	pfree(last);
	return mark;
}

/*
 * Undo what a subtransaction has written; returns whether it has written, or
 * read in order to write.
 */
static bool
undo(MtsXact *xact, Mark mark)
{
	if (xact->scope == MTS_EACH_CALL)
		return xact->is_open;
	xact->scope = MTS_TRANSACTION;
	if (xact->log.end.ncommands == mark.end.ncommands)
		return xact->reads_first;
	mts_write_log_cut(&xact->log, mark.end);
	xact->tables = list_truncate(xact->tables, mark.ntables);
	return true;
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg)
{
	List *undone = NIL;
	ListCell *lc;

	foreach (lc, xacts)
	{
		MtsXact *xact = lfirst(lc);

		if (event == SUBXACT_EVENT_START_SUB)
			add_mark(xact, subid);
		else if (event == SUBXACT_EVENT_COMMIT_SUB)
			(void) remove_mark(xact, subid);
		else if (event == SUBXACT_EVENT_ABORT_SUB &&
				 undo(xact, remove_mark(xact, subid)))
			undone = lappend(undone, xact);
	}
	abort_list(undone);
	foreach (lc, undone)
		((MtsXact *) lfirst(lc))->reads_first = false;
	list_free(undone);
}

/*
 * mts_xact_init
 *		Have transactions end with those of PostgreSQL; called once, after
 *		mts_connection_init().
 */
void
mts_xact_init(void)
{
	RegisterXactCallback(at_transaction_end, NULL);
	RegisterSubXactCallback(at_subtransaction_end, NULL);
}
