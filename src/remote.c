/*
 * remote.c
 *		Talk to MongoDB by cursors, and tell what became of a call.
 *
 * The end of the data and an error are told apart here: a cursor that dies
 * raises an error, so a scan never gives fewer rows.  A cursor closes with
 * the memory context in which it was opened, whatever happens.
 */
#include "remote.h"

#include "miscadmin.h"

#include "document.h"
#include "error.h"

/* MongoDB 4.4, whose find command may sort on disk */
#define WIRE_ALLOW_DISK_USE 9

struct MtsCursorState
{
	MtsConnection *connection;
	char *database;
	mongoc_collection_t *collection;
	mongoc_cursor_t *cursor;
	mongoc_client_session_t *session; /* of a cursor that a command made */
	char *what;                       /* the message of its errors */
	int batch;      /* documents of the current batch, at most */
	int left;       /* so many of them have not been read */
	int fetch_size; /* documents of a batch, when these have grown */
};

/*
 * mts_remote_is_lost
 *		Did a call fail because the connection is of no use any more?
 *
 * Then nothing is known of what the server has made of it.
 */
bool
mts_remote_is_lost(const MtsConnection *connection, const bson_error_t *error)
{
	return connection->wait.interrupted || connection->wait.problem ||
		   error->domain == MONGOC_ERROR_STREAM ||
		   error->domain == MONGOC_ERROR_PROTOCOL ||
		   error->domain == MONGOC_ERROR_SERVER_SELECTION;
}

/*
 * mts_remote_raise
 *		Raise the error of a call that failed, or the interrupt that ended it.
 */
void
mts_remote_raise(MtsConnection *connection, const char *what,
				 const bson_error_t *error)
{
	/* libmongoc would refuse to connect, or to log in, again for a while */
	if (mts_remote_is_lost(connection, error) ||
		(error->domain == MONGOC_ERROR_CLIENT &&
		 error->code == MONGOC_ERROR_CLIENT_AUTHENTICATE))
		connection->invalid = true;
	if (connection->wait.interrupted)
	{
		connection->wait.interrupted = false;
		CHECK_FOR_INTERRUPTS();
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceling statement while MongoDB was waited for")));
	}
	if (connection->wait.problem)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("%s", what),
				 errdetail("The server's reply is malformed: %s.",
						   connection->wait.problem)));
	mts_error_raise(what, error);
}

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
	state->cursor = NULL;
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
	if (state->cursor)
		close_cursor(state);
	if (state->session)
	{
		mongoc_client_session_destroy(state->session);
		state->session = NULL;
	}
	if (state->collection)
	{
		mongoc_collection_destroy(state->collection);
		state->collection = NULL;
		mts_connection_release(state->connection);
	}
}

static void
close_with_context(void *state)
{
	mts_remote_close(state);
}

/* The server that a reading command goes to; the caller destroys it. */
static mongoc_server_description_t *
select_server(MtsCursorState *state)
{
	mongoc_client_t *client = state->connection->client;
	mongoc_server_description_t *server;
	bson_error_t error;

	mts_wait_begin(&state->connection->wait);
	server = mongoc_client_select_server(client, false,
										 mongoc_client_get_read_prefs(client),
										 &error);
	if (!server)
		mts_remote_raise(state->connection, state->what, &error);
	return server;
}

/* What that server speaks */
static int32
wire_version(MtsCursorState *state)
{
	mongoc_server_description_t *server = select_server(state);
	bson_iter_t iter;
	int32 version = 0;

	if (bson_iter_init_find(&iter,
							mongoc_server_description_hello_response(server),
							"maxWireVersion"))
		version = (int32) bson_iter_as_int64(&iter);
	mongoc_server_description_destroy(server);
	return version;
}

/* Sorting without an index may take more memory than the server gives. */
static void
append_sort(MtsCursorState *state, const bson_t *sort, bson_t *opts)
{
	bson_append_document(opts, "sort", -1, sort);
	if (wire_version(state) >= WIRE_ALLOW_DISK_USE)
		bson_append_bool(opts, "allowDiskUse", -1, true);
}

/* The libmongoc object of a collection, which the caller destroys */
static mongoc_collection_t *
get_collection(MtsConnection *connection, const char *database,
			   const char *collection)
{
	return mongoc_client_get_collection(connection->client,
										mts_document_utf8(database),
										mts_document_utf8(collection));
}

/* mts_remote_reading: the message of an error while a collection is read */
char *
mts_remote_reading(const char *database, const char *collection)
{
	return psprintf("could not read MongoDB collection \"%s.%s\"", database,
					collection);
}

/* A state without a cursor yet */
static MtsCursorState *
new_state(MtsConnection *connection, const char *database,
		  const char *collection)
{
	MtsCursorState *state = palloc0(sizeof(MtsCursorState));

	state->connection = connection;
	state->database = pstrdup(mts_document_utf8(database));
	state->what = mts_remote_reading(database, collection);
	mts_release_with_context(close_with_context, state);
	state->collection = get_collection(connection, database, collection);
	connection->users++;
	return state;
}

/*
 * mts_remote_find
 *		Open a cursor over the documents that match a filter.
 *
 * The documents are asked for when the first one is; *find is the caller's.
 */
MtsCursorState *
mts_remote_find(MtsConnection *connection, const char *database,
				const char *collection, const MtsFind *find)
{
	MtsCursorState *state = new_state(connection, database, collection);
	bson_t *opts = mts_document_new();

	state->batch = state->left = find->first_batch;
	state->fetch_size = find->fetch_size;
	if (find->projection && !bson_empty(find->projection))
		bson_append_document(opts, "projection", -1, find->projection);
	if (find->sort && !bson_empty(find->sort))
		append_sort(state, find->sort, opts);
	if (find->limit > 0)
		bson_append_int64(opts, "limit", -1, find->limit);
	bson_append_int64(opts, "batchSize", -1, find->first_batch);
	state->cursor = mongoc_collection_find_with_opts(state->collection,
													 find->filter, opts, NULL);
	return state;
}

/*
 * What ties a cursor to the command that makes it: the server, and the session
 * where there are sessions.
 */
static void
append_origin(MtsCursorState *state, bson_t *opts)
{
	mongoc_server_description_t *server = select_server(state);
	bson_error_t error;

	bson_append_int32(opts, "serverId", -1,
					  (int32) mongoc_server_description_id(server));
	mongoc_server_description_destroy(server);
	state->session =
		mongoc_client_start_session(state->connection->client, NULL, &error);
	if (state->session &&
		!mongoc_client_session_append(state->session, opts, &error))
		mts_remote_raise(state->connection, state->what, &error);
}

/*
 * mts_remote_aggregate
 *		Open a cursor over what a pipeline gives: {"pipeline": [stage, ..]}.
 *
 * The first batch has come when it returns.  The command is our own, because
 * mongoc_collection_aggregate() takes the namespace for the database, and
 * refuses it, in Debian 13's libmongoc (1.30.4-1+deb13u3).
 */
MtsCursorState *
mts_remote_aggregate(MtsConnection *connection, const char *database,
					 const char *collection, const bson_t *pipeline,
					 int fetch_size)
{
	MtsCursorState *state = new_state(connection, database, collection);
	bson_t *command = mts_document_new();
	bson_t *opts = mts_document_new();
	bson_t cursor, reply;
	bson_error_t error;

	state->batch = state->left = state->fetch_size = fetch_size;
	bson_append_utf8(command, "aggregate", -1,
					 mongoc_collection_get_name(state->collection), -1);
	bson_concat(command, pipeline);
	bson_append_document_begin(command, "cursor", -1, &cursor);
	bson_append_int32(&cursor, "batchSize", -1, fetch_size);
	bson_append_document_end(command, &cursor);
	bson_append_bool(command, "allowDiskUse", -1, true);
	append_origin(state, opts);
	mts_wait_begin(&connection->wait);
	if (!mongoc_collection_read_command_with_opts(state->collection, command,
												  NULL, opts, &reply, &error))
	{
		bson_destroy(&reply);
		mts_remote_raise(connection, state->what, &error);
	}
	bson_append_int32(opts, "batchSize", -1, fetch_size);
	/* it takes the reply over */
	state->cursor =
		mongoc_cursor_new_from_command_reply_with_opts(connection->client,
													   &reply, opts);
	return state;
}

/*
 * mts_remote_collections
 *		Open a cursor over what the server says of a database's collections, in
 *		batches of its own choice.
 *
 * libmongoc asks for the first one at once.
 */
MtsCursorState *
mts_remote_collections(MtsConnection *connection, const char *database)
{
	MtsCursorState *state =
		new_state(connection, database, "$cmd.listCollections");
	mongoc_database_t *object =
		mongoc_client_get_database(connection->client,
								   mts_document_utf8(database));
	bson_error_t error;

	state->what =
		psprintf("could not list the collections of MongoDB database \"%s\"",
				 database);
	mts_wait_begin(&connection->wait);
	state->cursor = mongoc_database_find_collections_with_opts(object, NULL);
	mongoc_database_destroy(object);
	if (mongoc_cursor_error(state->cursor, &error))
		mts_remote_raise(connection, state->what, &error);
	return state;
}

/*
 * mts_remote_next
 *		The next document, or NULL at the end of the data.
 *
 * It belongs to the cursor until the next call.
 */
const bson_t *
mts_remote_next(MtsCursorState *state)
{
	const bson_t *doc;
	bson_error_t error;

	mts_wait_begin(&state->connection->wait);
	if (state->left == 0)
	{
		state->batch =
			Min((int64) state->batch * MTS_BATCH_GROWTH, state->fetch_size);
		state->left = state->batch;
		mongoc_cursor_set_batch_size(state->cursor, state->batch);
	}
	state->left--;
	while (!mongoc_cursor_next(state->cursor, &doc))
	{
		if (mongoc_cursor_error(state->cursor, &error))
			mts_remote_raise(state->connection, state->what, &error);
		/* a batch may be empty before the last one */
		if (!mongoc_cursor_more(state->cursor))
			return NULL;
		CHECK_FOR_INTERRUPTS();
	}
	return doc;
}
