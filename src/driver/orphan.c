/*
 * orphan.c
 *		Close cursors and sessions that are open on a server that was lost or
 *		silent, when this session uses the server again.
 *
 * The server drops others when they have been idle.
 */
#include "driver/orphan.h"

#include "core/bson/bson.h"
#include "driver/command.h"

typedef struct Orphan
{
	Oid serverid;
	Oid mappingid;
	char *database; /* in the server's encoding */
	bson_t *kill_command;
} Orphan;

/* Those of this session */
static Orphan orphans[16];
static int norphans = 0;

/*
 * mts_orphan_add
 *		Have a command sent when the session uses the server again.
 *
 * The command is the caller's no longer.
 */
void
mts_orphan_add(const MtsConnection *connection, const char *database,
			   bson_t *kill_command)
{
	if (norphans == lengthof(orphans))
	{
		bson_destroy(kill_command);
		return;
	}
	orphans[norphans++] = (Orphan){connection->serverid, connection->mappingid,
								   bson_strdup(database), kill_command};
}

/*
 * mts_orphan_add_session
 *		Have a session killed, and its transaction with it, when the server is
 *		used again.
 */
void
mts_orphan_add_session(const MtsConnection *connection, MtsLsid *lsid)
{
	bson_t *command = bson_new();
	bson_t list;

	bson_append_array_begin(command, "killSessions", -1, &list);
	mts_connection_append_lsid(lsid, "0", &list);
	bson_append_array_end(command, &list);
	mts_orphan_add(connection, "admin", command);
}

/* Send the commands of the orphans of a connection's server. */
static void
send_commands(MtsAttempt *attempt, bool is_lost)
{
	const MtsConnection *connection = attempt->connection;

	for (int i = norphans - 1; i >= 0; i--)
	{
		Orphan *orphan = &orphans[i];
		const bson_t *reply;
		bson_error_t error;

		if (orphan->serverid != connection->serverid ||
			orphan->mappingid != connection->mappingid)
			continue;
		if ((!mts_attempt_try_select_server(attempt, &error) ||
			 !mts_command_send(attempt, orphan->database, orphan->kill_command,
							   &reply, &error)) &&
			is_lost)
			return;
		bson_free(orphan->database);
		bson_destroy(orphan->kill_command);
		*orphan = orphans[--norphans];
	}
}

/*
 * mts_orphan_kill
 *		Kill the orphans of a connection's server, in at most MTS_CLOSE_TIME.
 *
 * A writer does so because a transaction of theirs locks its buckets.  One
 * whose command fails stays if the connection is lost.  Otherwise it goes,
 * because it would delay each close from now on.
 */
void
mts_orphan_kill(MtsConnection *connection, bool is_lost)
{
	MtsAttempt attempt;

	if (norphans == 0)
		return;
	attempt = mts_attempt_begin(connection, "", MTS_FROM_PRIMARY);
	attempt.expiry = 0;
	mts_connection_set_deadline(connection, MTS_CLOSE_TIME);
	send_commands(&attempt, is_lost);
	/* libmongoc would go on waiting for a silent server */
	if (mts_wait_unlimit(&connection->wait))
		connection->invalid = true;
}
