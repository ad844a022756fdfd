/*
 * command.c
 *		Commands that MongoDB answers by one document.
 *
 * Replies live as long as the memory context in which the command is sent.
 */
#include "driver/command.h"

#include "driver/command_log.h"
#include "driver/comment.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/snapshot.h"

/* How long the server may take for an optional count, in milliseconds */
#define OPTIONAL_COUNT_MSECS 500

/* Return whether a reply reports success, otherwise the reason in *error. */
static bool
is_success(const bson_t *answer, bson_error_t *error)
{
	const char *message = mts_document_string(answer, "errmsg");

	if (mts_document_number(answer, "ok") == 0 &&
		(message || bson_has_field(answer, "code")))
	{
		bson_set_error(error, MONGOC_ERROR_SERVER,
					   (uint32) mts_document_number(answer, "code"), "%s",
					   message ? message : "no message");
		return false;
	}
	if (!bson_has_field(answer, "writeConcernError"))
		return true;
	message = mts_document_string(answer, "writeConcernError.errmsg");
	bson_set_error(error, MONGOC_ERROR_WRITE_CONCERN,
				   (uint32) mts_document_number(answer,
												"writeConcernError.code"),
				   "Write Concern error: %s",
				   message ? message : "no message");
	return false;
}

/*
 * mts_command_send
 *		Send a command once: a write to the server that has been selected.
 *
 * A read goes to the primary or by the read preference; libmongoc selects its
 * server again, which can be another member.
 *
 * A command without a comment gets one.  session is that of a retryable write
 * or a transaction, or NULL.  In a transaction, only the commit has a write
 * concern, which is in the command.
 * Returns false with the reason in *error when the command fails.  There is a
 * reply nevertheless.
 */
bool
mts_command_send(const MtsAttempt *attempt, const char *database,
				 const bson_t *command, mongoc_client_session_t *session,
				 const bson_t **reply, bson_error_t *error)
{
	mongoc_client_t *client = attempt->connection->client;
	char *name = mts_document_utf8(database);
	bson_t opts = BSON_INITIALIZER;
	bson_t answer = BSON_INITIALIZER;
	bson_t *copy;
	bool ok;

	bson_append_int32(&opts, "serverId", -1, (int32) attempt->server.id);
	if (!bson_has_field(command, "comment"))
	{
		copy = bson_copy(command);
		mts_document_adopt(copy);
		mts_comment_append(attempt, copy);
		command = copy;
	}
	if (attempt->is_write)
		mts_snapshot_begin_write(attempt->connection);
	if (session && !mongoc_client_session_append(session, &opts, error))
		ok = false;
	else if (attempt->in_transaction)
		ok = mongoc_client_command_with_opts(client, name, command, NULL,
											 &opts, &answer, error) &&
			 is_success(&answer, error);
	else if (attempt->is_write)
		ok = mongoc_client_write_command_with_opts(client, name, command,
												   &opts, &answer, error);
	else if (attempt->needs_primary)
		ok = mongoc_client_command_simple(client, name, command, NULL, &answer,
										  error);
	else
		ok = mongoc_client_read_command_with_opts(client, name, command, NULL,
												  NULL, &answer, error);
	bson_destroy(&opts);
	copy = bson_copy(&answer);
	bson_destroy(&answer);
	mts_document_adopt(copy);
	*reply = copy;
	if (attempt->is_write)
		mts_snapshot_end_write(attempt->connection, copy);
	return ok;
}

/* Send a command, and return when it is sent, if possible. */
static bool
send_early(const MtsAttempt *attempt, const char *database,
		   const bson_t *command, mongoc_client_session_t *session,
		   const bson_t **reply, bson_error_t *error)
{
	MtsReplies *replies = &attempt->connection->wait.replies;
	int nawaited = replies->nawaited;
	bson_iter_t verb;
	bool ok;

	if (bson_iter_init(&verb, command) && bson_iter_next(&verb))
		replies->early = bson_iter_key(&verb);
	ok = mts_command_send(attempt, database, command, session, reply, error);
	replies->early = NULL;
	if (replies->nawaited > nawaited)
		*reply = NULL;
	return ok;
}

/*
 * mts_command_send_early
 *		Do the same with a write, but return when it is sent, if possible.
 *
 * Then *reply is NULL, and mts_command_receive() must follow.  It is possible
 * for one command of a connection at a time, and if commands are not logged,
 * because the log has their outcome.
 */
bool
mts_command_send_early(const MtsAttempt *attempt, const char *database,
					   const bson_t *command, mongoc_client_session_t *session,
					   const bson_t **reply, bson_error_t *error)
{
	const MtsReplies *replies = &attempt->connection->wait.replies;

	if (replies->nawaited > 0 || replies->pending || mts_log_commands)
		return mts_command_send(attempt, database, command, session, reply,
								error);
	return send_early(attempt, database, command, session, reply, error);
}

/*
 * mts_command_send_next
 *		Send a command right after the one that the caller has sent early;
 *		returns whether that was possible.
 *
 * mts_command_receive() then receives the reply to that one, and once more the
 * reply to this one.  Otherwise the command may have been done nevertheless.
 */
bool
mts_command_send_next(const MtsAttempt *attempt, const char *database,
					  const bson_t *command, mongoc_client_session_t *session)
{
	const bson_t *reply;
	bson_error_t error;

	return send_early(attempt, database, command, session, &reply, &error) &&
		   !reply;
}

/*
 * mts_command_receive
 *		Receive the reply to the command that was sent early, as
 *		mts_command_send would have done.
 */
bool
mts_command_receive(const MtsAttempt *attempt, const bson_t **reply,
					bson_error_t *error)
{
	MtsReplies *replies = &attempt->connection->wait.replies;
	MtsLateReply late;

	mts_wait_reset(&attempt->connection->wait);
	attempt->connection->wait.deadline = 0;
	if (!mts_reply_receive(replies))
	{
		mts_reply_forget(replies);
		*reply = mts_document_new();
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
					   "The connection was lost before the server answered.");
		return false;
	}
	late = mts_reply_next(replies);
	/* an OP_MSG has 5 bytes before its document */
	*reply = bson_new_from_data(late.body + 5, late.size - 5);
	bson_free(late.body);
	mts_document_adopt((bson_t *) *reply);
	mts_snapshot_end_write(attempt->connection, *reply);
	return is_success(*reply, error);
}

/*
 * mts_command_select_and_send
 *		Select a server and send a command, once.
 *
 * Returns NULL with the reason in *error when the command fails.
 */
const bson_t *
mts_command_select_and_send(MtsAttempt *attempt, const char *database,
							const bson_t *command, bson_error_t *error)
{
	const bson_t *reply;

	mts_attempt_select_server(attempt);
	return mts_command_send(attempt, database, command, NULL, &reply, error)
			   ? reply
			   : NULL;
}

/*
 * mts_command_run
 *		Run a command on the primary and return its reply.
 *
 * It is sent once, because its effect is unknown.  message is that of its
 * error.
 */
const bson_t *
mts_command_run(MtsConnection *connection, const char *database,
				const char *message, const bson_t *command)
{
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PRIMARY);
	const bson_t *reply;
	bson_error_t error;

	mts_snapshot_begin_write(connection);
	reply = mts_command_select_and_send(&attempt, database, command, &error);
	if (!reply)
		mts_report_failure(connection, message, &error);
	mts_snapshot_end_write(connection, reply);
	return reply;
}

/*
 * mts_command_ask
 *		Run a command that only reads; returns NULL if the server refuses it.
 *
 * *code is that of the refusal, otherwise 0.
 */
const bson_t *
mts_command_ask(MtsConnection *connection, const char *database,
				const char *message, const bson_t *command, MtsReadFrom from,
				uint32 *code)
{
	MtsAttempt attempt = mts_attempt_begin(connection, message, from);
	const bson_t *reply;
	bson_error_t error;

	do
		reply =
			mts_command_select_and_send(&attempt, database, command, &error);
	while (!reply && mts_attempt_should_repeat(&attempt, &error));
	if (!reply && error.domain != MONGOC_ERROR_SERVER)
		mts_report_failure(connection, message, &error);
	*code = reply ? 0 : error.code;
	return reply;
}

/*
 * mts_command_try_run
 *		Do the same on the primary.
 */
const bson_t *
mts_command_try_run(MtsConnection *connection, const char *database,
					const char *message, const bson_t *command)
{
	uint32 code;

	return mts_command_ask(connection, database, message, command,
						   MTS_FROM_PRIMARY, &code);
}

/*
 * mts_command_try_aggregate
 *		Run stages that return at most one document, which is returned.
 *
 * It is empty if there is none.  NULL is returned if the server refuses the
 * stages, or if they take longer than max_time milliseconds.
 */
const bson_t *
mts_command_try_aggregate(MtsConnection *connection, const char *database,
						  const char *collection, const bson_t *stages,
						  int max_time)
{
	char *message = mts_report_reading(database, collection);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PREFERRED);
	const bson_t *reply;
	bson_t *document = mts_document_new();
	bson_iter_t iter, first;
	bson_error_t error;
	bson_t view;

	do
	{
		bson_t *command = mts_document_make(
			"{aggregate: %s, pipeline: %a, cursor: {}, maxTimeMS: %d}",
			mts_document_utf8(collection), stages, max_time);

		mts_attempt_append_collation(&attempt, command);
		reply =
			mts_command_select_and_send(&attempt, database, command, &error);
	} while (!reply && mts_attempt_should_repeat(&attempt, &error));
	if (!reply && error.domain != MONGOC_ERROR_SERVER)
		mts_report_failure(connection, message, &error);
	if (reply && bson_iter_init(&iter, reply) &&
		bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &first) &&
		mts_document_view(&first, &view))
		bson_concat(document, &view);
	return reply ? document : NULL;
}

/*
 * mts_command_ask_soon
 *		Run a command that only reads; returns NULL unless the server answers
 *		soon.
 *
 * *code is that of a refusal.  It is 0 if there was no answer.
 */
const bson_t *
mts_command_ask_soon(MtsConnection *connection, const char *database,
					 const bson_t *command, MtsReadFrom from, uint32 *code)
{
	MtsAttempt attempt = mts_attempt_begin(connection, "", from);
	const bson_t *reply;
	bson_error_t error;
	bool ok;

	mts_attempt_begin_optional(&attempt);
	ok = mts_attempt_try_select_server(&attempt, &error) &&
		 mts_command_send(&attempt, database, command, NULL, &reply, &error);
	mts_attempt_end_optional(&attempt, ok, &error);
	*code = !ok && error.domain == MONGOC_ERROR_SERVER ? error.code : 0;
	return ok ? reply : NULL;
}

/* ---- Counts ------------------------------------------------------------- */

/*
 * mts_command_count
 *		Return the number of documents of a table that match a filter.
 *
 * NULL is the empty filter.  Its number is in the collection's metadata.
 */
double
mts_command_count(MtsConnection *connection, const char *database,
				  const char *collection, const bson_t *filter, Oid relid)
{
	char *message = mts_report_reading(database, collection);
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PREFERRED);
	const bson_t *reply;
	bson_error_t error;

	attempt.relid = relid;
	do
	{
		bson_t *command =
			mts_document_make(filter ? "{count: %s, query: %o}"
									 : "{count: %s}",
							  mts_document_utf8(collection), filter);

		mts_attempt_append_collation(&attempt, command);
		reply =
			mts_command_select_and_send(&attempt, database, command, &error);
	} while (!reply && mts_attempt_should_repeat(&attempt, &error));
	if (!reply)
		mts_report_failure(connection, message, &error);
	return (double) mts_document_number(reply, "n");
}

/*
 * mts_command_try_count
 *		Get the number of documents of a collection from its metadata; returns
 *		false unless the server answers soon.
 */
bool
mts_command_try_count(MtsConnection *connection, const char *database,
					  const char *collection, double *count)
{
	bson_t *command =
		mts_document_make("{count: %s, maxTimeMS: %d}",
						  mts_document_utf8(collection), OPTIONAL_COUNT_MSECS);
	uint32 code;
	const bson_t *reply = mts_command_ask_soon(connection, database, command,
											   MTS_FROM_PREFERRED, &code);

	if (reply)
		*count = (double) mts_document_number(reply, "n");
	return reply != NULL;
}
