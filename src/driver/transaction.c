/*
 * transaction.c
 *		Transactions of MongoDB: begin and commit them.
 *
 * A transaction is a number in a session.  Its first command begins it.  An
 * error of a command aborts it.  The commit can be sent again until a primary
 * answers, because the server knows what became of the number.
 *
 * The commit of a transaction of one command can be sent with that command.
 * The server executes both in turn, and refuses the commit if it has refused
 * the command.  If the connection is lost, the command may still be on its
 * way.  Before the commit is sent again, a write that finds nothing then uses
 * the number up.  After that the server cannot begin the transaction any more,
 * and its answer to the commit is final.
 */
#include "driver/transaction.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/server_error.h"

/* How long members may take to acknowledge a commit that is sent again, in
 * milliseconds, as in MongoDB's drivers */
#define COMMIT_AGAIN_MSECS 10000

/*
 * mts_transaction_next_number
 *		Return the next number in the connection's session, or 0 if there is no
 *		session.  The numbers increase.
 */
int64
mts_transaction_next_number(MtsConnection *connection)
{
	bson_error_t error;

	if (!connection->session)
		connection->session =
			mongoc_client_start_session(connection->client, NULL, &error);
	return connection->session ? ++connection->txn_number : 0;
}

/*
 * mts_transaction_begin
 *		Begin a transaction; returns false if there is no session.
 *
 * The server learns of it by its first command.
 */
bool
mts_transaction_begin(MtsTransaction *transaction, MtsConnection *connection,
					  const char *database, const char *collection)
{
	*transaction =
		(MtsTransaction){.database = database,
						 .collection = collection,
						 .number = mts_transaction_next_number(connection)};
	connection->open_transaction = transaction->number;
	return transaction->number > 0;
}

/*
 * mts_transaction_append
 *		Append to a command that it belongs to a transaction.
 */
void
mts_transaction_append(MtsTransaction *transaction, bson_t *command)
{
	bson_append_int64(command, "txnNumber", -1, transaction->number);
	bson_append_bool(command, "autocommit", -1, false);
	if (!transaction->has_begun)
		bson_append_bool(command, "startTransaction", -1, true);
	transaction->has_begun = true;
}

/* Tell whether a reply has one of the labels that servers give to errors. */
static bool
has_label(const bson_t *reply, const char *name)
{
	bson_iter_t iter, label;

	if (!reply || !bson_iter_init_find(&iter, reply, "errorLabels") ||
		!BSON_ITER_HOLDS_ARRAY(&iter) || !bson_iter_recurse(&iter, &label))
		return false;
	while (bson_iter_next(&label))
		if (BSON_ITER_HOLDS_UTF8(&label) &&
			strcmp(bson_iter_utf8(&label, NULL), name) == 0)
			return true;
	return false;
}

/*
 * mts_transaction_classify
 *		Replace the code of an error that the server calls transient, so that
 *		the transaction is sent again.
 */
void
mts_transaction_classify(const bson_t *reply, bson_error_t *error)
{
	if (error->domain == MONGOC_ERROR_SERVER &&
		mts_server_error(error->code).kind == MTS_ERROR_REFUSAL &&
		has_label(reply, "TransientTransactionError"))
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
make_commit(MtsTransaction *transaction, const MtsAttempt *attempt,
			bool is_repeated)
{
	bson_t *command = mts_document_new();

	bson_append_int32(command, "commitTransaction", -1, 1);
	mts_transaction_append(transaction, command);
	append_write_concern(attempt, is_repeated, command);
	return command;
}

/*
 * mts_transaction_commit_early
 *		Send the commit with the only command, which was sent early.
 *
 * mts_transaction_commit() must follow.
 */
void
mts_transaction_commit_early(MtsTransaction *transaction,
							 const MtsAttempt *attempt)
{
	transaction->commit_is_sent =
		mts_command_send_next(attempt, "admin",
							  make_commit(transaction, attempt, false),
							  attempt->connection->session);
	/* it may have been sent all the same */
	transaction->is_in_doubt = !transaction->commit_is_sent;
	if (transaction->commit_is_sent)
		attempt->connection->open_transaction = 0;
}

/* Use the number of a transaction up, unless the server has begun it. */
static bool
prevent_begin(MtsTransaction *transaction, const MtsAttempt *attempt,
			  bson_error_t *error)
{
	bson_t *command =
		mts_document_make("{update: %s, updates: [{q: {_id: {$in: []}}, "
						  "u: {$set: {a: 1}}}]}",
						  mts_document_utf8(transaction->collection));
	const bson_t *reply;

	bson_append_int64(command, "txnNumber", -1, transaction->number);
	/* the server refuses it if it has begun the transaction */
	if (mts_command_send(attempt, transaction->database, command,
						 attempt->connection->session, &reply, error))
		return true;
	if (error->domain == MONGOC_ERROR_SERVER)
		return error->code != MTS_CODE_UNAUTHORIZED &&
			   mts_server_error_decide_code(error->code, MTS_PHASE_READ) !=
				   MTS_AGAIN_ON_PRIMARY;
	return error->domain == MONGOC_ERROR_WRITE_CONCERN;
}

/*
 * mts_transaction_decide_commit
 *		Decide what to do after an error of a commit; an error that aborts the
 *		transaction gets a code that says so.
 *
 * A member may not know a transaction that another one has committed.  Then it
 * does not say that the transaction is aborted.
 */
MtsDecision
mts_transaction_decide_commit(const MtsConnection *connection,
							  const bson_t *reply, bson_error_t *error)
{
	MtsDecision decision =
		mts_server_error_decide(connection, error, MTS_PHASE_COMMIT);

	if (mts_server_error_may_be_done(decision))
		return decision;
	if (error->domain == MONGOC_ERROR_SERVER &&
		bson_has_field(reply, "writeConcernError") &&
		!has_label(reply, "TransientTransactionError"))
		return MTS_UNKNOWN_OUTCOME;
	mts_transaction_classify(reply, error);
	return decision;
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
	MtsConnection *connection = attempt->connection;
	bool is_repeated = transaction->is_in_doubt;
	MtsDecision decision;

	do
	{
		const bson_t *reply;
		bool ok;

		if (transaction->commit_is_sent)
			ok = mts_command_receive(attempt, &reply, error);
		else if (!mts_attempt_try_select_server(attempt, error))
			return MTS_UNKNOWN;
		else if (transaction->is_in_doubt &&
				 !prevent_begin(transaction, attempt, error))
			continue;
		else
			ok = mts_command_send(attempt, "admin",
								  make_commit(transaction, attempt,
											  is_repeated),
								  connection->session, &reply, error);
		transaction->commit_is_sent = false;
		connection->open_transaction = 0;
		if (ok)
		{
			error->domain = 0; /* that of an earlier try */
			return MTS_COMMITTED;
		}
		decision = mts_transaction_decide_commit(connection, reply, error);
		if (error->domain == MONGOC_ERROR_WRITE_CONCERN &&
			!mts_server_error_may_be_done(decision))
			return MTS_COMMITTED;
		if (error->domain == MONGOC_ERROR_SERVER &&
			!mts_server_error_may_be_done(decision))
			return MTS_ABORTED;
		connection->open_transaction = transaction->number;
		is_repeated = true;
	} while (mts_attempt_should_repeat(attempt, error));
	return MTS_UNKNOWN;
}
