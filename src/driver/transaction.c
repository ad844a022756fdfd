/*
 * transaction.c
 *		Transactions of MongoDB: begin, commit and abort them.
 *
 * A transaction is a number in a session.  Its first command begins it.  An
 * error of a command aborts it.  The commit can be sent again until a primary
 * answers, because the server knows what became of the number.  Retryable
 * writes have such numbers, too.  The server knows only the last number of a
 * session.
 *
 * The commit is sent when all commands are answered.  To send it right behind
 * them would spare a round trip.  But a command that is lost may then still be
 * on its way when the commit is sent again, so the number had to be used up
 * first, by a write that finds nothing, and the transaction to be aborted.
 */
#include "driver/transaction.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/orphan.h"
#include "driver/overload.h"
#include "driver/stream.h"
#include "driver/topology.h"

/* How long members may take to acknowledge a commit that is sent again, in
 * milliseconds, as in MongoDB's drivers */
#define COMMIT_AGAIN_MSECS 10000

/*
 * mts_transaction_next_number
 *		Return the next number of a connection.  The numbers increase.
 */
int64
mts_transaction_next_number(MtsConnection *connection)
{
	return ++connection->txn_number;
}

/*
 * mts_transaction_append_number
 *		Append to a command the number by which the server recognizes it.
 */
void
mts_transaction_append_number(MtsLsid *lsid, int64 number, bson_t *command)
{
	mts_connection_append_lsid(lsid, "lsid", command);
	bson_append_int64(command, "txnNumber", -1, number);
}

/*
 * mts_transaction_begin
 *		Begin a transaction in a session of a connection.
 *
 * The server learns of it by its first command.
 */
void
mts_transaction_begin(MtsTransaction *transaction, MtsConnection *connection,
					  MtsLsid *lsid)
{
	*transaction =
		(MtsTransaction){.connection = connection,
						 .lsid = lsid,
						 .number = mts_transaction_next_number(connection)};
}

/*
 * mts_transaction_append
 *		Append to a command that it belongs to a transaction.
 */
void
mts_transaction_append(MtsTransaction *transaction, bson_t *command)
{
	mts_transaction_append_number(transaction->lsid, transaction->number,
								  command);
	bson_append_bool(command, "autocommit", -1, false);
	if (transaction->ncommands++ > 0)
		return;
	bson_append_bool(command, "startTransaction", -1, true);
	if (transaction->reads_snapshot)
		mts_template_fields(command, "{readConcern: {level: 'snapshot'}}");
	transaction->is_open = true;
}

/*
 * mts_transaction_classify
 *		Replace the code of an error that the server calls transient, so that
 *		the transaction is sent again; or of one that other transactions are
 *		the reason of.
 */
void
mts_transaction_classify(const bson_t *reply, bson_error_t *error)
{
	const char *name = reply ? mts_document_string(reply, "codeName") : NULL;

	if (error->domain == MONGOC_ERROR_SERVER &&
		mts_server_error(error->code).kind == MTS_ERROR_REFUSAL &&
		(mts_server_error_has_label(reply, "TransientTransactionError") ||
		 (name && strcmp(name, "TooManyOpenTransactions") == 0)))
		error->code = MTS_CODE_NO_SUCH_TRANSACTION;
}

/* ---- The end ------------------------------------------------------------ */

/* Append the write concern of the connection, or a safer one. */
static void
append_write_concern(const MtsAttempt *attempt, bool is_repeated,
					 bson_t *command)
{
	mongoc_write_concern_t *concern = mongoc_write_concern_copy(
		mongoc_client_get_write_concern(attempt->connection->client));

	/* so the answer is that of a primary which stays one */
	if (is_repeated)
	{
		mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_MAJORITY);
		if (mongoc_write_concern_get_wtimeout_int64(concern) == 0)
			mongoc_write_concern_set_wtimeout_int64(concern,
													COMMIT_AGAIN_MSECS);
	}
	(void) mongoc_write_concern_append(concern, command);
	mongoc_write_concern_destroy(concern);
}

/* Make the command that commits a transaction. */
static bson_t *
make_commit(const MtsTransaction *transaction, const MtsAttempt *attempt,
			bool is_repeated)
{
	bson_t *command = mts_document_new();

	bson_append_int32(command, "commitTransaction", -1, 1);
	mts_transaction_append_number(transaction->lsid, transaction->number,
								  command);
	bson_append_bool(command, "autocommit", -1, false);
	append_write_concern(attempt, is_repeated, command);
	return command;
}

/*
 * Decide what to do after an error of a commit; an error that aborts the
 * transaction gets a code that says so.
 *
 * A member may not know a transaction that another one has committed.  Then it
 * does not say that the transaction is aborted.
 */
static MtsDecision
decide(const MtsTransaction *transaction, const bson_t *reply,
	   bson_error_t *error)
{
	MtsDecision decision = mts_server_error_decide(transaction->connection,
												   error, MTS_PHASE_COMMIT);

	if (mts_server_error_may_be_done(decision))
		return decision;
	if (error->domain == MONGOC_ERROR_SERVER &&
		bson_has_field(reply, "writeConcernError") &&
		!mts_server_error_has_label(reply, "TransientTransactionError"))
		return MTS_UNKNOWN_OUTCOME;
	mts_transaction_classify(reply, error);
	return mts_server_error_decide(transaction->connection, error,
								   MTS_PHASE_COMMIT);
}

/*
 * mts_transaction_commit
 *		Commit a transaction, and wait for an election if need be.
 *
 * attempt is that of its commands.  *error has the reason of another outcome.
 * If the domain is MONGOC_ERROR_WRITE_CONCERN, the transaction is committed,
 * but not as the write concern requires.
 */
MtsOutcome
mts_transaction_commit(MtsTransaction *transaction, MtsAttempt *attempt,
					   bson_error_t *error)
{
	bool may_be_done = false, is_repeated = false;
	MtsDecision decision = MTS_AGAIN_ON_PRIMARY;

	error->domain = 0;
	if (transaction->ncommands == 0)
		return MTS_COMMITTED;
	do
	{
		const bson_t *reply;
		bool ok;

		if (!mts_attempt_try_select_server(attempt, error))
		{
			/* an interrupt gives no reason */
			if (error->domain == 0)
				bson_set_error(error, MONGOC_ERROR_STREAM,
							   MONGOC_ERROR_STREAM_NOT_ESTABLISHED,
							   "The commit was interrupted.");
			break;
		}
		ok = mts_command_send(attempt, "admin",
							  make_commit(transaction, attempt, is_repeated),
							  &reply, error);
		transaction->is_open = false;
		if (ok)
		{
			error->domain = 0; /* that of an earlier try */
			return MTS_COMMITTED;
		}
		decision = decide(transaction, reply, error);
		if (mts_server_error_may_be_done(decision))
			may_be_done = true;
		else if (error->domain == MONGOC_ERROR_WRITE_CONCERN)
			return MTS_COMMITTED;
		/* if it is not aborted, an earlier try may have committed it */
		else if (error->domain == MONGOC_ERROR_SERVER &&
				 !(is_repeated && may_be_done &&
				   mts_server_error_is_final(decision)))
		{
			/* otherwise the error has aborted it */
			transaction->is_open = decision == MTS_AGAIN_SLOWLY;
			return MTS_ABORTED;
		}
		transaction->is_open = true;
		is_repeated = true;
	} while (mts_server_error_asks_primary(decision) &&
			 mts_attempt_should_repeat(attempt, error));
	return may_be_done ? MTS_UNKNOWN : MTS_ABORTED;
}

/*
 * mts_transaction_orphan
 *		Have a transaction aborted when the server is used again.
 */
void
mts_transaction_orphan(MtsTransaction *transaction)
{
	mts_orphan_add_session(transaction->connection, transaction->lsid);
	/* its number is not known to be the last one */
	*transaction->lsid = (MtsLsid){0};
	transaction->is_open = false;
}

/*
 * Send the command that aborts a transaction.  Unless that may wait, it is not
 * sent if its connection is lost, or other replies must be received before.
 */
static void
submit_abort(MtsTransaction *transaction, bool may_wait)
{
	MtsConnection *connection = transaction->connection;
	MtsExchange *exchange = &connection->exchange;
	bson_t command = BSON_INITIALIZER, fields = BSON_INITIALIZER;
	bson_error_t error;

	bson_append_int32(&command, "abortTransaction", -1, 1);
	mts_transaction_append_number(transaction->lsid, transaction->number,
								  &command);
	bson_append_bool(&command, "autocommit", -1, false);
	bson_append_utf8(&fields, "$db", -1, "admin", -1);
	mts_exchange_append_time(exchange, &fields);
	if (may_wait)
	{
		/* an interrupt that ended a wait has lost the connection */
		if (!mts_exchange_is_usable(exchange, connection->primary.channel) &&
			!mts_wait_is_over(&connection->wait))
			(void) mts_topology_select(connection, true, NULL,
									   &connection->primary, &error);
		mts_exchange_make_room(exchange, connection->primary.channel,
							   command.len + fields.len);
	}
	if (mts_exchange_has_room(exchange, connection->primary.channel,
							  command.len + fields.len))
		transaction->abort =
			mts_exchange_send(exchange, connection->primary.channel, &command,
							  &fields, false);
	bson_destroy(&fields);
	bson_destroy(&command);
}

/* Wait until the aborts that were sent are answered, or the time is over. */
static void
await_aborts(List *transactions)
{
	mongoc_stream_t **streams =
		palloc(list_length(transactions) * sizeof(*streams));
	MtsWait *wait = NULL;
	ListCell *lc;
	int n;

	do
	{
		n = 0;
		foreach (lc, transactions)
		{
			MtsTransaction *transaction = lfirst(lc);
			MtsConnection *connection = transaction->connection;

			streams[n] = transaction->abort != 0
							 ? mts_exchange_await(&connection->exchange,
												  transaction->abort)
							 : NULL;
			if (!streams[n])
				continue;
			wait = &connection->wait;
			n++;
		}
		if (n > 0)
			mts_stream_wait(streams, n, wait->deadline);
	} while (n > 0 && !mts_wait_is_over(wait));
	pfree(streams);
}

/*
 * Receive the reply to an abort; false if there is none yet, it is lost, or an
 * overloaded server has not aborted the transaction.
 */
static bool
receive_abort(const MtsTransaction *transaction)
{
	MtsExchange *exchange = &transaction->connection->exchange;
	MtsReply reply = {0};
	bson_t document;
	bool is_done = false;

	if (!mts_exchange_await(exchange, transaction->abort) &&
		mts_exchange_receive(exchange, transaction->abort, &reply))
	{
		mts_wire_view(&reply, &document);
		is_done = !mts_overload_is(&document);
	}
	mts_exchange_forget(exchange, transaction->abort);
	mts_wire_free(&reply);
	return is_done;
}

/* End the aborts that were sent; one without an answer makes an orphan. */
static void
finish_aborts(List *transactions)
{
	ListCell *lc;

	await_aborts(transactions);
	foreach (lc, transactions)
	{
		MtsTransaction *transaction = lfirst(lc);

		if (transaction->abort == 0)
			continue;
		transaction->is_open = false;
		if (!receive_abort(transaction))
			mts_transaction_orphan(transaction);
		transaction->abort = 0;
	}
}

/*
 * mts_transaction_abort_all
 *		Abort transactions that servers may have open.
 *
 * Otherwise their buckets would stay locked until the server's time limit ends
 * them.  A command that the server still executes ends first.  If a server is
 * lost or silent, its transaction becomes an orphan.  All aborts are sent
 * before one is waited for, so no server keeps another one waiting.  Raises no
 * error, and takes at most MTS_ABORT_TIME, or the time that the end of
 * PostgreSQL's transaction has.
 */
void
mts_transaction_abort_all(List *transactions)
{
	List *open = NIL;
	ListCell *lc;

	foreach (lc, transactions)
	{
		MtsTransaction *transaction = lfirst(lc);

		if (!transaction->is_open)
			continue;
		open = lappend(open, transaction);
		mts_connection_set_deadline(transaction->connection, MTS_ABORT_TIME);
	}
	if (open == NIL)
		return;
	foreach (lc, open)
		submit_abort(lfirst(lc), false);
	finish_aborts(open);
	foreach (lc, open)
		if (((MtsTransaction *) lfirst(lc))->is_open)
			submit_abort(lfirst(lc), true);
	finish_aborts(open);
	foreach (lc, open)
	{
		MtsTransaction *transaction = lfirst(lc);

		if (transaction->is_open)
			mts_transaction_orphan(transaction);
		if (mts_wait_unlimit(&transaction->connection->wait))
			transaction->connection->invalid = true;
	}
	list_free(open);
}
