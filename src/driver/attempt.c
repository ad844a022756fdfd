/*
 * attempt.c
 *		Select the server of a call, and say whether a failed call can be repeated.
 *
 * While a replica set elects a primary, no member takes writes, and calls in
 * flight fail.  libmongoc's own wait for the election would be deaf to
 * interrupts, so its selection of a server tries once, and is repeated here until
 * serverSelectionTimeoutMS of the uri has passed.  Where no member answers
 * there is no election to wait for: then the error is raised at once, unless a
 * member had less time to answer than the uri gives it.
 *
 * A call whose effect does not depend on how often it is sent is sent again
 * after the election.  Writes have that property where the server recognises
 * them by the number of their session: see bulk.c.
 */
#include "driver/attempt.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "driver/document.h"
#include "driver/remote.h"
#include "driver/report.h"

/* Milliseconds between two looks for a server, as in MongoDB's drivers */
#define LOOK_AGAIN_MSECS 500

/* Milliseconds before a call that has failed is sent again */
#define SEND_AGAIN_MSECS 50

/* The longest time that a member has to answer, in microseconds */
#define MAX_PATIENCE INT64CONST(30000000)

/* The default of serverSelectionTimeoutMS, as in MongoDB's drivers */
#define DEFAULT_SELECTION_MSECS 30000

/* MongoDB's codes of errors that end with an election or a restart */
static const uint32 election_codes[] = {
	6,     /* HostUnreachable */
	7,     /* HostNotFound */
	89,    /* NetworkTimeout */
	91,    /* ShutdownInProgress */
	189,   /* PrimarySteppedDown */
	9001,  /* SocketException */
	10107, /* NotWritablePrimary */
	11600, /* InterruptedAtShutdown */
	11602, /* InterruptedDueToReplStateChange */
	13435, /* NotPrimaryNoSecondaryOk */
	13436, /* NotPrimaryOrSecondary */
};

/* When the time to find a server is over that begins now */
static int64
selection_expiry(const MtsConnection *connection)
{
	const mongoc_uri_t *uri = mongoc_client_get_uri(connection->client);

	return mts_stream_wait_expiry(
		mongoc_uri_get_option_as_int32(uri,
									   MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
									   DEFAULT_SELECTION_MSECS));
}

/*
 * mts_attempt_begin
 *		Prepare a call; nothing is sent yet.
 *
 * what is the message of its errors and outlives the attempt.
 */
MtsAttempt
mts_attempt_begin(MtsConnection *connection, const char *what, bool on_primary,
				  bool is_repeatable)
{
	return (MtsAttempt){
		.connection = connection,
		.what = what,
		.on_primary = on_primary,
		.is_repeatable = is_repeatable,
		.expires = selection_expiry(connection),
		.patience = MTS_PATIENCE,
	};
}

/*
 * mts_attempt_hurry
 *		Give up a call that is not answered in as many microseconds.
 *
 * The call does not wait for an election.  Interrupts stay pending until it ends.
 */
void
mts_attempt_hurry(MtsAttempt *attempt, int64 usecs)
{
	attempt->expires = 0;
	attempt->deadline = bson_get_monotonic_time() + usecs;
}

/* Sleep for some milliseconds, but not beyond an interrupt. */
void
mts_attempt_sleep(long msecs)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 msecs, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Read what a server has said of itself, and free it. */
static MtsServer
describe_server(const MtsConnection *connection,
				mongoc_server_description_t *description)
{
	const bson_t *hello =
		mongoc_server_description_hello_response(description);
	const mongoc_uri_t *uri = mongoc_client_get_uri(connection->client);
	MtsServer server = {.id = mongoc_server_description_id(description)};
	const char *msg = mts_document_string(hello, "msg");

	/* since 4.4, of members and mongos */
	server.is_mongodb = bson_has_field(hello, "topologyVersion");
	server.is_secondary = mts_document_number(hello, "secondary") != 0;
	server.is_replicated = bson_has_field(hello, "setName") ||
						   (msg && strcmp(msg, "isdbgrid") == 0);
	server.retries_writes =
		server.is_replicated &&
		bson_has_field(hello, "logicalSessionTimeoutMinutes") &&
		mongoc_uri_get_option_as_bool(uri, MONGOC_URI_RETRYWRITES, true);
	mongoc_server_description_destroy(description);
	return server;
}

/* Tell whether any member of the deployment answers. */
static bool
any_member_answers(const MtsConnection *connection)
{
	mongoc_server_description_t **all;
	bool found = false;
	size_t n;

	all = mongoc_client_get_server_descriptions(connection->client, &n);
	for (size_t i = 0; i < n; i++)
		found |=
			strcmp(mongoc_server_description_type(all[i]), "Unknown") != 0;
	mongoc_server_descriptions_destroy_all(all, n);
	return found;
}

/* Tell whether there is time left, and neither an interrupt nor a malformed reply. */
static bool
may_go_on(const MtsAttempt *attempt)
{
	const MtsWait *wait = &attempt->connection->wait;

	return !wait->interrupted && !wait->problem &&
		   bson_get_monotonic_time() < attempt->expires;
}

/*
 * Tell whether there may be a server later: while a member answers, which then
 * waits for an election, and where the members had too little time.
 */
static bool
is_worth_waiting(MtsAttempt *attempt, const bson_error_t *error)
{
	const MtsWait *wait = &attempt->connection->wait;

	/* libmongoc leaves out members that failed in the last seconds */
	if (wait->refusals[0] != '\0')
		attempt->was_hasty = wait->was_hasty;
	return error->domain == MONGOC_ERROR_SERVER_SELECTION &&
		   may_go_on(attempt) &&
		   (attempt->was_hasty || any_member_answers(attempt->connection));
}

/* Say which server is lacking; libmongoc says only that it has looked for one. */
static void
explain_lack(const MtsAttempt *attempt, bson_error_t *error)
{
	if (error->domain == MONGOC_ERROR_SERVER_SELECTION &&
		any_member_answers(attempt->connection))
		bson_set_error(error, MONGOC_ERROR_SERVER_SELECTION, MTS_NO_MEMBER,
					   attempt->on_primary
						   ? "No member of the replica set is the primary."
						   : "No member of the replica set is one that the "
							 "read preference accepts.");
}

/*
 * mts_attempt_try_server
 *		Select the server of a call, and wait for one while there is an election.
 *
 * False with the reason in *error when there is none in time.
 */
bool
mts_attempt_try_server(MtsAttempt *attempt, bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;
	MtsWait *wait = &connection->wait;
	mongoc_client_t *client = connection->client;
	const mongoc_read_prefs_t *prefs =
		attempt->on_primary ? NULL : mongoc_client_get_read_prefs(client);
	mongoc_server_description_t *description;
	char refusals[sizeof(wait->refusals)] = "";

	if (attempt->has_failed)
		mts_attempt_sleep(SEND_AGAIN_MSECS);
	for (;;)
	{
		mts_stream_wait_begin(wait);
		wait->patience = attempt->patience;
		wait->deadline = attempt->deadline;
		description = mongoc_client_select_server(client, attempt->on_primary,
												  prefs, error);
		wait->deadline = 0;
		if (description)
			break;
		if (wait->refusals[0] != '\0')
			strlcpy(refusals, wait->refusals, sizeof(refusals));
		if (!is_worth_waiting(attempt, error))
		{
			strlcpy(wait->refusals, refusals, sizeof(refusals));
			explain_lack(attempt, error);
			return false;
		}
		attempt->patience = Min(attempt->patience * 2, MAX_PATIENCE);
		mts_attempt_sleep(LOOK_AGAIN_MSECS);
	}
	/* which members could not be reached does not matter to the call */
	mts_stream_wait_begin(wait);
	attempt->server = describe_server(connection, description);
	if (attempt->server.is_secondary && attempt->is_of_write)
	{
		bson_set_error(error, MONGOC_ERROR_SERVER_SELECTION, MTS_NO_MEMBER,
					   "The only server that option \"uri\" names is a "
					   "secondary of a replica set.");
		return false;
	}
	return true;
}

/*
 * mts_attempt_server
 *		Do the same, and raise an error where there is no server.
 */
void
mts_attempt_server(MtsAttempt *attempt)
{
	bson_error_t error;

	if (!mts_attempt_try_server(attempt, &error))
		mts_remote_raise(attempt->connection, attempt->what, &error);
}

/*
 * Tell whether an error comes from a server that is not MongoDB and does not know
 * collations.  Then it compares strings byte by byte, which is what ours asks for.
 */
static bool
refuses_collation(const MtsAttempt *attempt, const bson_error_t *error)
{
	return error->domain == MONGOC_ERROR_SERVER &&
		   !attempt->server.is_mongodb &&
		   !attempt->connection->lacks_collation &&
		   strstr(error->message, "collation");
}

/*
 * mts_attempt_is_election
 *		Tell whether an election or a restart causes errors with this code.
 */
bool
mts_attempt_is_election(uint32 code)
{
	for (int i = 0; i < lengthof(election_codes); i++)
		if (election_codes[i] == code)
			return true;
	return false;
}

/*
 * mts_attempt_again
 *		Say whether a call that failed can be sent again.
 *
 * The caller selects a server again before.
 */
bool
mts_attempt_again(MtsAttempt *attempt, const bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;

	if (refuses_collation(attempt, error))
	{
		connection->lacks_collation = true;
		/* found out once a session, it is not the statement's */
		connection->round_trips--;
		return true;
	}
	/* the call itself may have taken long */
	if (!attempt->has_failed)
		attempt->expires = selection_expiry(connection);
	attempt->has_failed = true;
	return attempt->is_repeatable && attempt->server.is_replicated &&
		   may_go_on(attempt) &&
		   (mts_remote_is_lost(connection, error) ||
			((error->domain == MONGOC_ERROR_SERVER ||
			  error->domain == MONGOC_ERROR_WRITE_CONCERN) &&
			 mts_attempt_is_election(error->code)));
}

/*
 * mts_attempt_append_collation
 *		Append the option of commands that has strings compared byte by byte,
 *		whatever the default of the collection is.
 */
void
mts_attempt_append_collation(const MtsAttempt *attempt, bson_t *doc)
{
	if (!attempt->connection->lacks_collation)
		mts_template_fields(doc, "{collation: {locale: 'simple'}}");
}
