/*
 * xact.c
 *		A transaction of MongoDB that ends with that of PostgreSQL.
 *
 * The first write of a PostgreSQL transaction to a server begins it.  All
 * later writes belong to it, and all later reads, so that they see the writes.
 * Tables with another value of the option take no part.  It is committed right
 * before PostgreSQL commits, and aborted when PostgreSQL aborts.  Each
 * connection has its own, so the transactions of two servers are committed one
 * after the other.
 *
 * It has a session of libmongoc's, which adds the number of the transaction to
 * each command, also to those that read on.  No command of it is repeated
 * after an error of the server, because that has aborted it.
 *
 * MongoDB has no savepoints.  After the rollback of one that was set before a
 * write, the transaction is aborted, and refuses everything.
 */
#include "driver/xact.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "driver/document.h"
#include "driver/report.h"
#include "driver/snapshot.h"
#include "driver/transaction.h"

/* One of the transactions of PostgreSQL's */
typedef struct Xact
{
	MtsConnection *connection; /* it is pinned */
	char *server;              /* its name */
	mongoc_client_session_t *session;
	SubTransactionId subid; /* of the last write; InvalidSubTransactionId when
							 * it was rolled back */
} Xact;

static List *xacts = NIL; /* in TopTransactionContext, as are its items */

/* ---- Errors ------------------------------------------------------------- */

/* Raise an error if a savepoint was rolled back after a write. */
static void
check_savepoints(const Xact *xact)
{
	if (xact->subid != InvalidSubTransactionId)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot continue the transaction on foreign server \"%s\"",
				xact->server),
		 errdetail(
			 "A savepoint, or a block with an exception handler, was rolled back after a write to the server. MongoDB cannot undo a part of a transaction."),
		 errhint(
			 "Roll back the transaction. To write within savepoints, set option \"transactions\" to \"batch\", whose writes are not undone by ROLLBACK.")));
}

/* ---- Reads and writes --------------------------------------------------- */

static Xact *
find(const MtsConnection *connection)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		Xact *xact = lfirst(lc);

		if (xact->connection->serverid == connection->serverid &&
			xact->connection->mappingid == connection->mappingid)
			return xact;
	}
	return NULL;
}

/*
 * mts_xact_session
 *		Return the session of a connection's transaction, for commands that
 *		read; NULL if there is none.
 *
 * Raises an error if the transaction has been rolled back in part, or lost.
 */
mongoc_client_session_t *
mts_xact_session(const MtsConnection *connection)
{
	const Xact *xact = find(connection);

	if (!xact)
		return NULL;
	check_savepoints(xact);
	if (xact->connection != connection)
		ereport(
			ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("cannot continue the transaction on foreign server \"%s\"",
					xact->server),
			 errdetail("Its connection was lost, or options of the server or "
					   "the user mapping have changed."),
			 errhint("Run the transaction again.")));
	return xact->session;
}

/* Release a transaction at the end of PostgreSQL's, after its cursors. */
static void
release(void *arg)
{
	Xact *xact = arg;

	mongoc_client_session_destroy(xact->session);
	mts_connection_unpin(xact->connection);
}

/* Begin a transaction.  The server learns of it by its first command. */
static Xact *
begin(const MtsAttempt *attempt)
{
	MtsConnection *connection = attempt->connection;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Xact *xact = palloc0(sizeof(Xact));
	char *server = pstrdup(GetForeignServer(connection->serverid)->servername);
	mongoc_transaction_opt_t *opts = mongoc_transaction_opts_new();
	mongoc_read_concern_t *concern = mongoc_read_concern_new();
	mongoc_read_prefs_t *primary = mongoc_read_prefs_new(MONGOC_READ_PRIMARY);
	mongoc_client_session_t *session;
	bson_error_t error;
	bool ok;

	/*
	 * Other writes count the numbers of a session of their own.  It must not
	 * be one that a transaction has used before.
	 */
	(void) mts_transaction_next_number(connection);
	mongoc_read_concern_set_level(concern, MONGOC_READ_CONCERN_LEVEL_SNAPSHOT);
	mongoc_transaction_opts_set_read_concern(opts, concern);
	mongoc_transaction_opts_set_read_prefs(opts, primary);
	session = mongoc_client_start_session(connection->client, NULL, &error);
	if (session)
		mts_snapshot_tell_time(connection, session);
	ok = session &&
		 mongoc_client_session_start_transaction(session, opts, &error);
	mongoc_read_prefs_destroy(primary);
	mongoc_read_concern_destroy(concern);
	mongoc_transaction_opts_destroy(opts);
	if (!ok)
	{
		if (session)
			mongoc_client_session_destroy(session);
		mts_report_failure(connection, attempt->message, &error);
	}
	xact->connection = connection;
	xact->session = session;
	xact->server = server;
	connection->pins++;
	mts_document_release_with(release, xact);
	xacts = lappend(xacts, xact);
	MemoryContextSwitchTo(old);
	return xact;
}

/*
 * mts_xact_write
 *		Return the session for a command that writes.
 *
 * The attempt has selected its server.  Raises an error if that has no
 * transactions, too.
 */
mongoc_client_session_t *
mts_xact_write(const MtsAttempt *attempt)
{
	mongoc_client_session_t *session = mts_xact_session(attempt->connection);
	Xact *xact;

	if (!session && !attempt->server.has_transactions)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s", attempt->message),
			 errdetail(
				 "MongoDB has transactions only on a replica set, and the option requires version 4.4 or later."),
			 errhint("Set option \"transactions\" of the foreign server or "
					 "table to \"batch\".")));
	xact = session ? find(attempt->connection) : begin(attempt);
	xact->subid = GetCurrentSubTransactionId();
	return xact->session;
}

/* ---- The end ------------------------------------------------------------ */

/* Abort a transaction on the server, so that it keeps nothing locked. */
static void
abort_xact(const Xact *xact)
{
	MtsConnection *connection = xact->connection;

	if (!mongoc_client_session_in_transaction(xact->session))
		return;
	mts_connection_set_deadline(connection, MTS_ABORT_TIME);
	(void) mongoc_client_session_abort_transaction(xact->session, NULL);
	/* libmongoc would go on waiting for a silent server */
	if (mts_connection_clear_deadline(connection))
	{
		connection->invalid = true;
		mts_connection_orphan_session(connection, xact->session);
	}
}

/* Tell whether the reply to a commit leaves open whether it was done. */
static bool
is_unknown(const bson_t *reply)
{
	return mongoc_error_has_label(reply, "UnknownTransactionCommitResult");
}

/* Raise the error of a commit, which may be done if is_open. */
static _Noreturn void
refuse_commit(const Xact *xact, const char *message, bool is_open,
			  const bson_error_t *error)
{
	MtsConnection *connection = xact->connection;

	if (!is_open || error->domain == MONGOC_ERROR_WRITE_CONCERN)
		mts_report_failure(connection, message, error);
	connection->invalid = true;
	mts_connection_orphan_session(connection, xact->session);
	ereport(
		ERROR,
		(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
		 errmsg("%s", message),
		 errdetail("%s\nIt is unknown whether the transaction was committed "
				   "there.",
				   mts_report_detail(connection, error)),
		 errhint("Check what is stored before you run the transaction "
				 "again.")));
	pg_unreachable();
}

/* Commit a transaction, and wait for an election if need be. */
static void
commit(Xact *xact)
{
	MtsConnection *connection = xact->connection;
	char *message =
		psprintf("could not commit the transaction on foreign server \"%s\"",
				 xact->server);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PRIMARY);
	bool is_open = false, is_done = false;
	bson_error_t error;

	attempt.is_write = true;
	do
	{
		bson_t reply;

		if (!mts_attempt_try_select_server(&attempt, &error))
			break;
		mts_snapshot_begin_write(connection);
		is_done = mongoc_client_session_commit_transaction(xact->session,
														   &reply, &error);
		if (is_done)
			mts_snapshot_end_write(connection, &reply);
		else
		{
			is_open = is_unknown(&reply);
			mts_transaction_classify(&reply, &error);
		}
		bson_destroy(&reply);
	} while (!is_done && is_open &&
			 mts_attempt_should_repeat(&attempt, &error));
	if (!is_done)
		refuse_commit(xact, message, is_open, &error);
}

/* Raise an error if there are transactions, because two phases are not had. */
static void
refuse_prepare(void)
{
	if (xacts == NIL)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot PREPARE a transaction that has written to foreign "
				"server \"%s\"",
				((Xact *) linitial(xacts))->server),
		 errdetail("MongoDB cannot prepare a transaction."),
		 errhint(
			 "Use COMMIT, or set option \"transactions\" to \"batch\", whose writes are not undone by ROLLBACK.")));
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	ListCell *lc;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			foreach (lc, xacts)
				check_savepoints(lfirst(lc));
			foreach (lc, xacts)
				commit(lfirst(lc));
			break;
		case XACT_EVENT_PRE_PREPARE:
			refuse_prepare();
			break;
		case XACT_EVENT_ABORT:
			foreach (lc, xacts)
				abort_xact(lfirst(lc));
			xacts = NIL;
			break;
		case XACT_EVENT_COMMIT:
			xacts = NIL;
			break;
		default:
			break;
	}
}

static void
at_subtransaction_end(SubXactEvent event, SubTransactionId subid,
					  SubTransactionId parent, void *arg)
{
	ListCell *lc;

	foreach (lc, xacts)
	{
		Xact *xact = lfirst(lc);

		if (xact->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			xact->subid = parent;
		else if (event == SUBXACT_EVENT_ABORT_SUB)
		{
			xact->subid = InvalidSubTransactionId;
			abort_xact(xact);
		}
	}
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
