/*
 * attempt.c
 *		Select the server of a call, and decide whether to repeat the call.
 *
 * While a replica set elects a primary, no member accepts writes, and calls in
 * flight fail.  Interrupts do not end libmongoc's own wait for the election.
 * So libmongoc scans the members only once, and the scan is repeated here
 * until serverSelectionTimeoutMS of the URI has passed.  There is no election
 * to wait for where no member answers.  Then the error is raised at once,
 * unless a member had less time to answer than the URI gives it.
 *
 * A call is sent again if the connection was lost, or if the server's code is
 * one of an election: server_error.c decides that.  It must have the same
 * effect whether it is sent once or twice.  A read has that property.  So has
 * a write that the server recognises by the number of its session; see bulk.c.
 */
#include "driver/attempt.h"

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "driver/document.h"
#include "driver/report.h"
#include "driver/topology.h"
#include "driver/server_error.h"

/* Milliseconds between two scans of the members, as in MongoDB's drivers */
#define SCAN_AGAIN_MSECS 500

/* Milliseconds before a call that has failed is sent again */
#define SEND_AGAIN_MSECS 50

/*
 * The longest wait between two tries, in milliseconds.  MongoDB ends a
 * deadlock after a second, and sessions of other PostgreSQL servers do not
 * share our lock.  They succeed only if one of them finds the others asleep.
 */
#define MAX_WAIT 4096

/* The longest time that a member has to answer, in microseconds */
#define MAX_PATIENCE INT64CONST(30000000)

/* How long the primary that was selected serves other calls, too, in
 * microseconds; libmongoc checks connections that were idle for 5 seconds */
#define SELECTION_TIME 1000000

/* How long an optional call may take, in microseconds */
#define OPTIONAL_TIME 1000000

/*
 * mts_attempt_begin
 *		Prepare a call that can be repeated; nothing is sent yet.
 *
 * message is that of its errors and outlives the attempt.
 */
MtsAttempt
mts_attempt_begin(MtsConnection *connection, const char *message,
				  MtsReadFrom from)
{
	/* an error may have left that of an optional call */
	connection->wait.deadline = 0;
	return (MtsAttempt){
		.connection = connection,
		.message = message,
		.needs_primary = from == MTS_FROM_PRIMARY,
		.is_repeatable = true,
		.sends_collation = !connection->lacks_collation,
		.expiry = mts_wait_expiry(connection->selection_timeout),
		.patience = MTS_PATIENCE,
	};
}

/*
 * mts_attempt_begin_optional
 *		Give a call up unless it is answered soon.
 *
 * The call does not wait for an election.  Interrupts stay pending until
 * mts_attempt_end_optional().
 */
void
mts_attempt_begin_optional(MtsAttempt *attempt)
{
	attempt->expiry = 0;
	mts_connection_set_deadline(attempt->connection, OPTIONAL_TIME);
}

/*
 * mts_attempt_end_optional
 *		End an optional call; ok tells whether it succeeded.
 *
 * After a failure the connection is replaced, because libmongoc would refuse
 * to connect again for a while.  An error of the server's own does not hurt.
 */
void
mts_attempt_end_optional(MtsAttempt *attempt, bool ok,
						 const bson_error_t *error)
{
	bool is_over = mts_wait_unlimit(&attempt->connection->wait);

	if (!ok && (is_over || error->domain != MONGOC_ERROR_SERVER))
		attempt->connection->invalid = true;
}

/*
 * mts_attempt_back_off
 *		Sleep for a random time before the next try of a write, longer after
 *		each, or until an interrupt, which is raised.
 */
void
mts_attempt_back_off(int tries)
{
	double longest = Min(1L << Min(tries, 20), MAX_WAIT);

	mts_wait_nap(1 + (long) (pg_prng_double(&pg_global_prng_state) * longest));
	CHECK_FOR_INTERRUPTS();
}

/* ---- Selecting a server ------------------------------------------------- */

/* Find out whether any server of a connection reads snapshots. */
static MtsSnapshots
find_snapshots(const MtsConnection *connection)
{
	MtsSnapshots found = MTS_SNAPSHOTS_UNASKED;
	mongoc_server_description_t **all;
	size_t n;

	all = mongoc_client_get_server_descriptions(connection->client, &n);
	for (size_t i = 0; i < n && found != MTS_SNAPSHOTS_READ; i++)
		if (mts_topology_describe(connection, all[i]).reads_snapshots)
			found = MTS_SNAPSHOTS_READ;
		else if (strcmp(mongoc_server_description_type(all[i]), "Unknown") !=
				 0)
			found = MTS_SNAPSHOTS_REFUSED;
	mongoc_server_descriptions_destroy_all(all, n);
	return found;
}

/*
 * mts_attempt_may_read_snapshots
 *		Tell whether any server of a connection reads snapshots; otherwise if
 *		no server has been asked yet.
 *
 * libmongoc copies what servers have said, so that is read once.
 */
bool
mts_attempt_may_read_snapshots(MtsConnection *connection, bool otherwise)
{
	if (connection->snapshots == MTS_SNAPSHOTS_UNKNOWN)
		connection->snapshots = find_snapshots(connection);
	return connection->snapshots == MTS_SNAPSHOTS_UNASKED
			   ? otherwise
			   : connection->snapshots == MTS_SNAPSHOTS_READ;
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

/* Tell whether there is time left, and no interrupt or malformed reply. */
static bool
may_go_on(const MtsAttempt *attempt)
{
	MtsWait *wait = &attempt->connection->wait;

	return !mts_wait_is_over(wait) && !wait->problem &&
		   bson_get_monotonic_time() < attempt->expiry;
}

/*
 * Tell whether another scan may find a server.  The members that answer may
 * end their election, and a member that was given up may answer in more time.
 */
static bool
should_scan_again(MtsAttempt *attempt, const bson_error_t *error)
{
	const MtsWait *wait = &attempt->connection->wait;

	/* libmongoc does not scan members that failed in the last seconds */
	if (wait->refusals[0] != '\0')
		attempt->patience_ended = wait->patience_ended;
	if (!may_go_on(attempt))
		return false;
	/* a member was selected, but its connection was lost */
	if (error->domain != MONGOC_ERROR_SERVER_SELECTION)
		return attempt->server.is_replicated &&
			   mts_connection_is_lost(attempt->connection, error);
	return attempt->patience_ended || any_member_answers(attempt->connection);
}

/* Name the member that is missing; libmongoc says only that it found none. */
static void
explain_missing_member(const MtsAttempt *attempt, bson_error_t *error)
{
	if (error->domain == MONGOC_ERROR_SERVER_SELECTION &&
		any_member_answers(attempt->connection))
		bson_set_error(
			error, MONGOC_ERROR_SERVER_SELECTION, MTS_NO_SUCH_MEMBER,
			attempt->needs_primary
				? "No member of the replica set is the primary."
				: "No member of the replica set matches the read preference.");
}

/* Tell whether a call writes, or reads what will be written. */
static bool
serves_write(const MtsAttempt *attempt)
{
	return attempt->is_write || attempt->precedes_write;
}

/* Tell whether a call goes to the primary or to the only server. */
static bool
goes_to_primary(const MtsAttempt *attempt)
{
	const mongoc_read_prefs_t *prefs =
		mongoc_client_get_read_prefs(attempt->connection->client);

	return attempt->needs_primary || !prefs ||
		   mongoc_read_prefs_get_mode(prefs) == MONGOC_READ_PRIMARY;
}

/*
 * Use the primary that another call has just selected, if libmongoc has
 * learnt nothing about any server since.
 */
static bool
use_selected(MtsAttempt *attempt)
{
	MtsConnection *connection = attempt->connection;

	if (attempt->has_failed || !goes_to_primary(attempt) ||
		bson_get_monotonic_time() >= connection->primary_expiry ||
		!mts_exchange_is_usable(&connection->exchange,
								connection->primary.channel))
		return false;
	mts_wait_reset(&connection->wait);
	attempt->server = connection->primary;
	connection->wire_version = attempt->server.wire_version;
	connection->is_mongodb = attempt->server.is_mongodb;
	return true;
}

/*
 * mts_attempt_try_select_server
 *		Select the server of a call, and wait for one while there is an
 *		election.
 *
 * Returns false with the reason in *error when no server was found in time.
 * After an interrupt, that is what the call failed of before, and the caller
 * raises the interrupt: it may have to say that an outcome is unknown.
 */
bool
mts_attempt_try_select_server(MtsAttempt *attempt, bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;
	MtsWait *wait = &connection->wait;
	mongoc_client_t *client = connection->client;
	const mongoc_read_prefs_t *prefs =
		attempt->needs_primary ? NULL : mongoc_client_get_read_prefs(client);
	char refusals[sizeof(wait->refusals)] =
		""; /* of the last scan that connected */

	if (use_selected(attempt))
		return true;
	if (attempt->has_failed)
	{
		mts_wait_nap(SEND_AGAIN_MSECS);
		if (mts_wait_is_over(wait))
			return false;
	}
	for (;;)
	{
		mts_wait_reset(wait);
		wait->patience = attempt->patience;
		if (mts_topology_select(connection, attempt->needs_primary, prefs,
								&attempt->server, error))
			break;
		if (wait->refusals[0] != '\0')
			strlcpy(refusals, wait->refusals, sizeof(refusals));
		if (!should_scan_again(attempt, error))
		{
			strlcpy(wait->refusals, refusals, sizeof(refusals));
			explain_missing_member(attempt, error);
			return false;
		}
		attempt->patience = Min(attempt->patience * 2, MAX_PATIENCE);
		mts_wait_nap(SCAN_AGAIN_MSECS);
		if (mts_wait_is_over(wait))
			return false;
	}
	/* forget the refusals of members that the call does not need */
	mts_wait_reset(wait);
	connection->wire_version = attempt->server.wire_version;
	connection->is_mongodb = attempt->server.is_mongodb;
	if (attempt->server.is_secondary && serves_write(attempt))
	{
		bson_set_error(error, MONGOC_ERROR_SERVER_SELECTION,
					   MTS_NO_SUCH_MEMBER,
					   "The only server that option \"uri\" names is a "
					   "secondary of a replica set.");
		return false;
	}
	if (goes_to_primary(attempt) && !attempt->server.is_secondary)
	{
		connection->primary = attempt->server;
		connection->primary_expiry =
			bson_get_monotonic_time() + SELECTION_TIME;
	}
	return true;
}

/*
 * mts_attempt_select_server
 *		Select a server; raises an error when none was found.
 */
void
mts_attempt_select_server(MtsAttempt *attempt)
{
	bson_error_t error = {0};

	if (!mts_attempt_try_select_server(attempt, &error))
		mts_report_failure(attempt->connection, attempt->message, &error);
}

/* ---- Repeating a call --------------------------------------------------- */

/*
 * Tell whether an error comes from a server that does not know collations.
 * MongoDB knows them.  The others compare strings byte by byte, as the simple
 * collation does.
 */
static bool
refuses_collation(const MtsAttempt *attempt, const bson_error_t *error)
{
	return error->domain == MONGOC_ERROR_SERVER &&
		   !attempt->server.is_mongodb && attempt->sends_collation &&
		   strstr(error->message, "collation");
}

/*
 * Tell whether a call is a read that is repeated once where there are no
 * elections, as MongoDB's drivers do.
 */
static bool
is_retryable_read(const MtsAttempt *attempt)
{
	return !serves_write(attempt) && !attempt->in_transaction &&
		   mongoc_uri_get_option_as_bool(mongoc_client_get_uri(
											 attempt->connection->client),
										 MONGOC_URI_RETRYREADS, true);
}

/*
 * mts_attempt_should_repeat
 *		Tell whether to repeat a call that has failed with this error.
 *
 * If so, the caller selects a server again, which waits a little.
 */
bool
mts_attempt_should_repeat(MtsAttempt *attempt, const bson_error_t *error)
{
	MtsConnection *connection = attempt->connection;
	bool is_first = !attempt->has_failed;
	MtsDecision decision =
		mts_server_error_decide(connection, error,
								serves_write(attempt) ? MTS_PHASE_WRITE
													  : MTS_PHASE_READ);

	if (refuses_collation(attempt, error))
	{
		connection->lacks_collation = true;
		attempt->sends_collation = false;
		/* EXPLAIN does not count it: only the first commands are refused */
		connection->round_trips--;
		return true;
	}
	/* the time to wait begins with the first failure */
	if (is_first)
		attempt->expiry = mts_wait_expiry(connection->selection_timeout);
	attempt->has_failed = true;
	return attempt->is_repeatable &&
		   (attempt->server.is_replicated ||
			(is_first && is_retryable_read(attempt))) &&
		   may_go_on(attempt) && mts_server_error_asks_primary(decision);
}

/*
 * mts_attempt_append_collation
 *		Append the option of commands that has strings compared byte by byte,
 *		whatever the default of the collection is.
 */
void
mts_attempt_append_collation(const MtsAttempt *attempt, bson_t *doc)
{
	static bson_t simple = BSON_INITIALIZER;

	if (!attempt->sends_collation)
		return;
	if (bson_empty(&simple))
		bson_append_utf8(&simple, "locale", -1, "simple", -1);
	bson_append_document(doc, "collation", -1, &simple);
}
