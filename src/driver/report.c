/*
 * report.c
 *		Report what libmongoc or MongoDB says as PostgreSQL's errors.
 *
 * The message names the object, and is the caller's.  The detail is
 * libmongoc's or the server's own text.  It never has a password in it,
 * because the URI is never formatted.  SQLSTATE and hint come from the error's
 * code.
 */
#include "driver/report.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "driver/document.h"
#include "driver/server_error.h"

/*
 * mts_report_refuse
 *		Record why a value is refused, and what would do; returns false.
 *
 * detail is in the server's encoding.  hint is static, or NULL.
 */
bool
mts_report_refuse(MtsError *error, const char *detail, const char *hint)
{
	int len = pg_mbcliplen(detail, strlen(detail), sizeof(error->detail) - 1);

	memcpy(error->detail, detail, len);
	error->detail[len] = '\0';
	error->hint = hint;
	return false;
}

/*
 * mts_report_reading
 *		Make the message of errors that occur while a collection is read.
 */
char *
mts_report_reading(const char *database, const char *collection)
{
	return psprintf("could not read MongoDB collection \"%s.%s\"", database,
					collection);
}

/*
 * mts_report_writing
 *		Make the message of errors that occur while a collection is written.
 */
char *
mts_report_writing(const char *database, const char *collection)
{
	return psprintf("could not write to MongoDB collection \"%s.%s\"",
					database, collection);
}

/* Find the SQLSTATE and the hint of an error. */
static MtsServerError
classify(const bson_error_t *error)
{
	MtsServerError class = {.sqlstate = ERRCODE_FDW_ERROR};

	switch (error->domain)
	{
		case MONGOC_ERROR_SERVER:
			return mts_server_error(error->code);
		case MONGOC_ERROR_CLIENT:
			if (error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE)
				return mts_server_error(MTS_CODE_AUTHENTICATION_FAILED);
			if (error->code < MONGOC_ERROR_STREAM_NOT_ESTABLISHED)
				class.sqlstate = ERRCODE_CONNECTION_FAILURE;
			break;
		case MONGOC_ERROR_SERVER_SELECTION:
			class.sqlstate = ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION;
			class.hint =
				error->code == MTS_NO_SUCH_MEMBER
					? "In option \"uri\" of the foreign server, name several members and \"replicaSet\". A longer \"serverSelectionTimeoutMS\" there waits longer for an election."
					: "Check the hosts, \"replicaSet\" and \"tls\" in option \"uri\" of the foreign server, and that MongoDB runs there and accepts connections.";
			break;
		case MONGOC_ERROR_STREAM:
			class.sqlstate = ERRCODE_CONNECTION_FAILURE;
			break;
		case MONGOC_ERROR_PROTOCOL:
			class.sqlstate =
				error->code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION
					? ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION
					: ERRCODE_PROTOCOL_VIOLATION;
			break;
		case MONGOC_ERROR_CURSOR: /* the reply to a query has no cursor */
			class.sqlstate = ERRCODE_PROTOCOL_VIOLATION;
			break;
		case MONGOC_ERROR_WRITE_CONCERN:
			class.hint =
				"The writes are stored, but not as the write concern in option \"uri\" requires. Check that enough members of the replica set are available.";
			break;
	}
	return class;
}

/*
 * mts_report_detail
 *		Make the detail of an error, palloc'd.
 *
 * Of a member that could not be reached, libmongoc says only that its stream
 * failed.  The reasons that stream.c found replace that.  It does not say what
 * has ended a wait here.
 */
char *
mts_report_detail(const MtsConnection *connection, const bson_error_t *error)
{
	static const char stream_failed[] = " [connection refused calling ";
	const char *refusals = connection->wait.refusals;
	const char *part = error->message;
	StringInfoData text;

	if (connection->wait.problem)
		return psprintf("The server's reply is malformed: %s.",
						connection->wait.problem);
	if (connection->wait.interrupted)
		return pstrdup("The wait for the server's answer was interrupted.");
	if (refusals[0] == '\0' || !mts_connection_is_lost(connection, error))
		return mts_document_text(error->message);
	initStringInfo(&text);
	while (*part)
	{
		const char *next = strstr(part + 1, " [");
		int len = next ? next - part : strlen(part);

		if (strncmp(part, stream_failed, sizeof(stream_failed) - 1) != 0)
			appendBinaryStringInfo(&text, part, len);
		part += len;
	}
	appendStringInfo(&text, " %s", refusals);
	return mts_document_text(text.data);
}

/*
 * mts_report_failure
 *		Raise the error of a call that failed, or the interrupt that ended it.
 *
 * message is a lower-case sentence that names the object.
 */
void
mts_report_failure(MtsConnection *connection, const char *message,
				   const bson_error_t *error)
{
	MtsWait *wait = &connection->wait;
	MtsServerError class = classify(error);

	/* libmongoc would refuse to connect, or to log in, again for a while */
	if (mts_connection_is_lost(connection, error) ||
		(error->domain == MONGOC_ERROR_CLIENT &&
		 error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE))
		connection->invalid = true;
	if (wait->interrupted)
	{
		wait->interrupted = false;
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceling statement while waiting for MongoDB")));
	}
	if (wait->problem)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("%s", message),
				 errdetail("%s", mts_report_detail(connection, error))));
	ereport(ERROR, (errcode(class.sqlstate), errmsg("%s", message),
					errdetail("%s", mts_report_detail(connection, error)),
					class.hint ? errhint("%s", class.hint) : 0));
	pg_unreachable();
}

/*
 * mts_report_unknown
 *		Raise the error of a write or a commit that was sent, and may be done.
 *
 * This is the error whatever the reason is: a lost server, a malformed reply,
 * or an interrupt, which stays pending.  Who runs a statement again after a
 * cancel must not write twice.  outcome is the sentence that says what is
 * unknown.
 */
void
mts_report_unknown(MtsConnection *connection, const char *message,
				   const bson_error_t *error, const char *outcome)
{
	connection->invalid = true;
	ereport(ERROR,
			(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
			 errmsg("%s", message),
			 errdetail("%s\n%s", mts_report_detail(connection, error),
					   outcome),
			 errhint("Check what is stored before you run the statement or "
					 "the transaction again.")));
	pg_unreachable();
}

/*
 * mts_report_write_failure
 *		Raise the error of a command that may write and was sent once.
 */
void
mts_report_write_failure(MtsConnection *connection, const char *message,
						 const bson_error_t *error)
{
	if (mts_server_error_may_be_done(
			mts_server_error_decide(connection, error, MTS_PHASE_WRITE)))
		mts_report_unknown(connection, message, error,
						   "It is unknown whether the command was executed.");
	mts_report_failure(connection, message, error);
}
