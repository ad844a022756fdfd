/*
 * remote_close.c
 *		Close cursors, here and on the server, whatever happens.
 *
 * A cursor closes with the memory context in which it was opened.  Nothing here
 * raises an error.  The few cursors that a lost server still has are noted in
 * this process's own memory.
 */
#include "remote_private.h"

#include "core/bson.h"

/* A cursor that is open on its server, which was lost or silent */
typedef struct Orphan
{
	Oid serverid;
	Oid mappingid;
	char *database;
	bson_t *command; /* that kills it */
} Orphan;

/* Of this session; more are left to the server, which drops idle cursors */
static Orphan orphans[16];
static int norphans = 0;

static void
add_orphan(const MtsCursorState *state, int64 id)
{
	Orphan *orphan = &orphans[norphans];
	bson_t ids;

	if (norphans == lengthof(orphans))
		return;
	norphans++;
	orphan->serverid = state->connection->serverid;
	orphan->mappingid = state->connection->mappingid;
	orphan->database = bson_strdup(state->database);
	orphan->command = bson_new();
	bson_append_utf8(orphan->command, "killCursors", -1,
					 mongoc_collection_get_name(state->collection), -1);
	bson_append_array_begin(orphan->command, "cursors", -1, &ids);
	bson_append_int64(&ids, "0", -1, id);
	bson_append_array_end(orphan->command, &ids);
}

/*
 * Kill the orphans of a connection's server.  What fails is tried once more
 * if the connection was lost, and else would hold up each close from now on.
 */
static void
kill_orphans(MtsConnection *connection, bool is_lost)
{
	for (int i = norphans - 1; i >= 0; i--)
	{
		Orphan *orphan = &orphans[i];

		if (orphan->serverid != connection->serverid ||
			orphan->mappingid != connection->mappingid)
			continue;
		if (!mongoc_client_command_simple(connection->client, orphan->database,
										  orphan->command, NULL, NULL, NULL) &&
			is_lost)
			return;
		bson_free(orphan->database);
		bson_destroy(orphan->command);
		*orphan = orphans[--norphans];
	}
}

/* Close the cursor; what libmongoc can't close on the server is an orphan. */
static void
close_cursor(MtsCursorState *state)
{
	MtsConnection *connection = state->connection;
	int64 id = mongoc_cursor_get_id(state->cursor);
	bool is_lost;

	mts_connection_begin_close(connection);
	mongoc_cursor_destroy(state->cursor);
	is_lost = connection->invalid || mts_wait_is_over(&connection->wait);
	if (id != 0 && is_lost)
		add_orphan(state, id);
	kill_orphans(connection, is_lost);
	mts_connection_end_close(connection);
}

/*
 * mts_remote_close
 *		Close a cursor, here and on the server; a second time does nothing.
 *
 * It raises no error and takes no longer than MTS_CLOSE_TIME, as all that is
 * closed on a connection whose server is silent.  What could not be closed on
 * the server then is closed when the session has read from it again.
 */
void
mts_remote_close(MtsCursorState *state)
{
	if (!state->collection)
		return;
	if (state->cursor)
		close_cursor(state);
	if (state->session)
		mongoc_client_session_destroy(state->session);
	mongoc_collection_destroy(state->collection);
	state->collection = NULL;
	mts_connection_release(state->connection);
}

static void
close_with_context(void *state)
{
	mts_remote_close(state);
}

/*
 * mts_remote_track
 *		Have a state with a collection closed with the current memory context.
 *
 * It allocates nothing, so that no error loses the collection.
 */
void
mts_remote_track(MtsCursorState *state)
{
	state->closing.func = close_with_context;
	state->closing.arg = state;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &state->closing);
	state->connection->users++;
}
