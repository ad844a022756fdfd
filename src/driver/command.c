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
#include "driver/overload.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "driver/snapshot.h"

/* How long the server may take for an optional count, in milliseconds */
#define OPTIONAL_COUNT_MSECS 500

/* What a command has of the fields that are common to commands */
typedef struct Given
{
	bool is_more; /* it is a getMore */
	bool comment;
	bool session;
	bool read_concern;
	bool write_concern;
} Given;

/* ---- Requests ----------------------------------------------------------- */

/*
 * Append the read preference of a command that reads.  The server requires one
 * where it is a secondary.  If the primary was wanted, it is the only server
 * that the URI names.
 */
static void
append_read_preference(const MtsAttempt *attempt, bson_t *fields)
{
	static const char *const modes[] = {[MONGOC_READ_PRIMARY] = NULL,
										[MONGOC_READ_SECONDARY] = "secondary",
										[MONGOC_READ_PRIMARY_PREFERRED] =
											"primaryPreferred",
										[MONGOC_READ_SECONDARY_PREFERRED] =
											"secondaryPreferred",
										[MONGOC_READ_NEAREST] = "nearest"};
	const mongoc_read_prefs_t *prefs =
		attempt->needs_primary
			? NULL
			: mongoc_client_get_read_prefs(attempt->connection->client);
	const char *mode = NULL;
	bson_t document;
	int64 staleness;

	if (prefs)
		mode = modes[mongoc_read_prefs_get_mode(prefs)];
	if (!mode && !attempt->server.is_secondary)
		return;
	bson_append_document_begin(fields, "$readPreference", -1, &document);
	bson_append_utf8(&document, "mode", -1, mode ? mode : "primaryPreferred",
					 -1);
	if (mode && !bson_empty0(mongoc_read_prefs_get_tags(prefs)))
		bson_append_array(&document, "tags", -1,
						  mongoc_read_prefs_get_tags(prefs));
	staleness = mode ? mongoc_read_prefs_get_max_staleness_seconds(prefs)
					 : MONGOC_NO_MAX_STALENESS;
	if (staleness != MONGOC_NO_MAX_STALENESS)
		bson_append_int64(&document, "maxStalenessSeconds", -1, staleness);
	bson_append_document_end(fields, &document);
}

/* Look through the fields of a command once. */
static Given
find_given(const bson_t *command)
{
	Given given = {0};
	bson_iter_t iter;

	if (!bson_iter_init(&iter, command) || !bson_iter_next(&iter))
		return given;
	given.is_more = strcmp(bson_iter_key(&iter), "getMore") == 0;
	while (bson_iter_next(&iter))
	{
		const char *key = bson_iter_key(&iter);

		switch (key[0])
		{
			case 'c':
				given.comment |= strcmp(key, "comment") == 0;
				break;
			case 'l':
				given.session |= strcmp(key, "lsid") == 0;
				break;
			case 'r':
				given.read_concern |= strcmp(key, "readConcern") == 0;
				break;
			case 'w':
				given.write_concern |= strcmp(key, "writeConcern") == 0;
				break;
		}
	}
	return given;
}

/*
 * Append the read and write concerns of the URI, as far as the command has
 * none.  In a transaction, the caller does that.
 */
static void
append_concerns(const MtsAttempt *attempt, Given given, bson_t *fields)
{
	const mongoc_client_t *client = attempt->connection->client;
	const mongoc_read_concern_t *reads =
		mongoc_client_get_read_concern(client);
	const mongoc_write_concern_t *writes =
		mongoc_client_get_write_concern(client);

	if (attempt->is_write && !given.write_concern &&
		!mongoc_write_concern_is_default(writes))
		(void) mongoc_write_concern_append((mongoc_write_concern_t *) writes,
										   fields);
	else if (!attempt->is_write && !attempt->needs_primary &&
			 !given.read_concern && !mongoc_read_concern_is_default(reads))
		(void) mongoc_read_concern_append((mongoc_read_concern_t *) reads,
										  fields);
}

/*
 * Append the fields that each command has besides its own.  has_session says
 * that it belongs to the session of reads.
 */
static void
append_fields(const MtsAttempt *attempt, const char *database,
			  bool has_session, bson_t *fields)
{
	MtsConnection *connection = attempt->connection;

	bson_append_utf8(fields, "$db", -1, database, -1);
	if (attempt->server.has_sessions && has_session)
		mts_connection_append_lsid(&connection->reads, "lsid", fields);
	mts_exchange_append_time(&connection->exchange, fields);
}

/* Send a command with its fields, and do not wait for its reply. */
static bool
submit(const MtsAttempt *attempt, const char *database, const bson_t *command,
	   const bson_t *fields, MtsTicket *ticket, bson_error_t *error)
{
	MtsExchange *exchange = &attempt->connection->exchange;
	uint32 channel = attempt->server.channel;
	bool is_usable;

	mts_exchange_make_room(exchange, channel, command->len + fields->len);
	is_usable = mts_exchange_is_usable(exchange, channel);
	/* a write outside of a transaction can be refused part by part */
	*ticket =
		mts_exchange_send(exchange, channel, command, fields,
						  !attempt->is_write || !attempt->in_transaction);
	if (*ticket == 0)
	{
		bson_set_error(error, MONGOC_ERROR_STREAM,
					   is_usable ? MONGOC_ERROR_STREAM_SOCKET
								 : MONGOC_ERROR_STREAM_NOT_ESTABLISHED,
					   "The connection was lost before a command was sent.");
		return false;
	}
	mts_command_log_sent(*ticket, database, command, fields);
	return true;
}

/*
 * mts_command_submit
 *		Send a command once, to the server that has been selected, and do not
 *		wait for its reply.
 *
 * A command without a comment gets one.  A command of a session or a
 * transaction has the fields that say so.  In a transaction, only the commit
 * has a write concern, which is in the command.  Returns false with the reason
 * in *error when the connection is lost; the server may have got the command.
 * mts_command_collect() must follow, or mts_exchange_forget().
 */
bool
mts_command_submit(const MtsAttempt *attempt, const char *database,
				   const bson_t *command, MtsTicket *ticket,
				   bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;
	char *name = mts_document_utf8(database);
	bson_t *fields = mts_document_new();
	Given given = find_given(command);

	if (!given.comment)
		mts_comment_append(attempt, fields);
	if (!attempt->in_transaction)
		append_concerns(attempt, given, fields);
	/* a cursor of a caller's can be one of another session */
	append_fields(attempt, name, !given.session && !given.is_more, fields);
	if (!attempt->in_transaction && !attempt->is_write)
		append_read_preference(attempt, fields);
	if (attempt->is_write)
		mts_snapshot_begin_write(connection);
	connection->round_trips++;
	return submit(attempt, name, command, fields, ticket, error);
}

/*
 * mts_command_submit_more
 *		Ask for the next batch of a cursor, which has the comment and the
 *		concerns of the command that opened it.
 *
 * The database is in UTF-8.  The round trip is not counted yet.
 */
bool
mts_command_submit_more(const MtsAttempt *attempt, const char *database,
						const bson_t *command, MtsTicket *ticket,
						bson_error_t *error)
{
	bson_t fields = BSON_INITIALIZER;
	bool ok;

	append_fields(attempt, database, !find_given(command).session, &fields);
	ok = submit(attempt, database, command, &fields, ticket, error);
	bson_destroy(&fields);
	return ok;
}

/*
 * mts_command_send_only
 *		Send a command whose outcome nobody waits for; returns false if the
 *		connection is lost.
 *
 * The database is in UTF-8.  Raises no error.  Only MongoDB is known not to
 * answer such a command.
 */
bool
mts_command_send_only(const MtsAttempt *attempt, const char *database,
					  const bson_t *command)
{
	MtsExchange *exchange = &attempt->connection->exchange;
	uint32 channel = attempt->server.channel;
	bson_t fields = BSON_INITIALIZER;
	MtsTicket ticket;

	append_fields(attempt, database, !find_given(command).session, &fields);
	mts_exchange_make_room(exchange, channel, command->len + fields.len);
	if (attempt->server.is_mongodb)
		ticket = mts_exchange_send_only(exchange, channel, command, &fields);
	else
	{
		ticket = mts_exchange_send(exchange, channel, command, &fields, false);
		mts_exchange_forget(exchange, ticket);
	}
	if (ticket != 0)
	{
		mts_command_log_sent(ticket, database, command, &fields);
		mts_command_log_unanswered(ticket);
	}
	bson_destroy(&fields);
	return ticket != 0;
}

/* ---- Replies ------------------------------------------------------------ */

/*
 * Return whether a reply reports success, otherwise the reason in *error.  If
 * it tells neither, the outcome of the command is unknown.
 */
static bool
is_success(const bson_t *answer, bson_error_t *error)
{
	const char *message = mts_document_string(answer, "errmsg");

	if (mts_document_number(answer, "ok") == 0)
	{
		if (message || bson_has_field(answer, "code"))
			bson_set_error(error, MONGOC_ERROR_SERVER,
						   mts_overload_is(answer)
							   ? MTS_CODE_OVERLOADED
							   : (uint32) mts_document_number(answer, "code"),
						   "%s", message ? message : "no message");
		else
			bson_set_error(error, MONGOC_ERROR_PROTOCOL,
						   MONGOC_ERROR_PROTOCOL_INVALID_REPLY,
						   "The server's reply tells neither success nor an "
						   "error.");
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
 * mts_command_receive
 *		Receive the reply to a command into a buffer.
 *
 * Returns false with the reason in *error when the command has failed; its
 * size is 0 if the reply was lost.  The server of an error of an election is
 * not used any more until libmongoc has asked the members.
 */
bool
mts_command_receive(const MtsAttempt *attempt, MtsTicket ticket,
					MtsReply *reply, bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;
	bson_t document;
	bool ok;

	if (!mts_exchange_receive(&connection->exchange, ticket, reply))
	{
		/* an interrupt may have ended an earlier wait, and is still pending */
		(void) mts_wait_is_over(&connection->wait);
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
					   "The connection was lost before the server answered.");
		mts_command_log_received(ticket, NULL, error);
		return false;
	}
	mts_wire_view(reply, &document);
	ok = is_success(&document, error);
	if (!ok && error->domain == MONGOC_ERROR_SERVER &&
		mts_server_error_asks_primary(
			mts_server_error_decide_code(error->code, MTS_PHASE_READ)))
		mts_exchange_retire(&connection->exchange, attempt->server.channel);
	if (attempt->is_write)
		mts_snapshot_end_write(connection, &document);
	mts_command_log_received(ticket, &document, error);
	return ok;
}

/*
 * mts_command_collect
 *		Receive the reply to a command.
 *
 * Returns false with the reason in *error when the command has failed.  There
 * is a reply nevertheless, which is empty if it was lost.  It lives as long as
 * the current memory context.
 */
bool
mts_command_collect(const MtsAttempt *attempt, MtsTicket ticket,
					const bson_t **reply, bson_error_t *error)
{
	MtsReply received = {0};
	bool ok = mts_command_receive(attempt, ticket, &received, error);
	bson_t *copy = NULL;
	bson_t document;

	if (received.size > 0)
	{
		mts_wire_view(&received, &document);
		copy = bson_copy(&document);
	}
	mts_wire_free(&received);
	if (!copy)
		copy = bson_new();
	mts_document_adopt(copy);
	*reply = copy;
	return ok;
}

/*
 * mts_command_send
 *		Send a command once, to the server that has been selected, and receive
 *		its reply.
 *
 * Returns false with the reason in *error when the command fails.  There is a
 * reply nevertheless.
 */
bool
mts_command_send(const MtsAttempt *attempt, const char *database,
				 const bson_t *command, const bson_t **reply,
				 bson_error_t *error)
{
	MtsTicket ticket;

	if (mts_command_submit(attempt, database, command, &ticket, error))
		return mts_command_collect(attempt, ticket, reply, error);
	*reply = mts_document_new();
	return false;
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
	return mts_command_send(attempt, database, command, &reply, error) ? reply
																	   : NULL;
}

/*
 * mts_command_run
 *		Run a command on the primary and return its reply.
 *
 * It is sent once, because its effect is unknown.  message is that of its
 * error.  If it may write, the error says when its outcome is unknown.
 */
const bson_t *
mts_command_run(MtsConnection *connection, const char *database,
				const char *message, const bson_t *command, bool may_write)
{
	MtsAttempt attempt =
		mts_attempt_begin(connection, message, MTS_FROM_PRIMARY);
	const bson_t *reply;
	bson_error_t error;

	mts_snapshot_begin_write(connection);
	reply = mts_command_select_and_send(&attempt, database, command, &error);
	if (!reply && may_write)
		mts_report_write_failure(connection, message, &error);
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
 *		Run a command on the primary; returns NULL if the server refuses it.
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
		 mts_command_send(&attempt, database, command, &reply, &error);
	mts_attempt_end_optional(&attempt, ok, &error);
	*code = !ok && error.domain == MONGOC_ERROR_SERVER ? error.code : 0;
	return ok ? reply : NULL;
}

/* ---- Counts ------------------------------------------------------------- */

/* Have a command read the buckets of a time-series collection. */
static void
append_raw_data(bool raw_data, bson_t *command)
{
	if (raw_data)
		bson_append_bool(command, "rawData", -1, true);
}

/*
 * mts_command_count
 *		Return the number of documents of a table that match a filter.
 *
 * NULL is the empty filter.  Its number is in the collection's metadata.
 * raw_data is that of MtsFind.
 */
double
mts_command_count(MtsConnection *connection, const char *database,
				  const char *collection, const bson_t *filter, bool raw_data,
				  Oid relid)
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

		append_raw_data(raw_data, command);
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
					  const char *collection, bool raw_data, double *count)
{
	bson_t *command =
		mts_document_make("{count: %s, maxTimeMS: %d}",
						  mts_document_utf8(collection), OPTIONAL_COUNT_MSECS);
	const bson_t *reply;
	uint32 code;

	append_raw_data(raw_data, command);
	reply = mts_command_ask_soon(connection, database, command,
								 MTS_FROM_PREFERRED, &code);
	if (reply)
		*count = (double) mts_document_number(reply, "n");
	return reply != NULL;
}
