/*
 * remote.c
 *		Talk to MongoDB by commands and cursors, with interrupts.
 *
 * The end of the data and an error are told apart here: a cursor that dies
 * raises an error, so a scan never gives fewer rows.  A cursor closes, here and
 * on the server, with the memory context in which it was opened.  The few
 * cursors that a lost server still has are noted in this process's own memory.
 */
#include "driver/remote.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/bson.h"
#include "driver/document.h"
#include "driver/report.h"

/*
 * How long an answer that is only nice to have may take: the server, in
 * milliseconds; and all together, in microseconds
 */
#define TRY_SERVER_TIME 500
#define TRY_TIME 1000000

struct MtsCursorState
{
	MemoryContextCallback closing;
	MtsConnection *connection; /* NULL: it is closed */
	char *database;            /* in UTF-8, as the next one */
	char *collection;
	char *what;         /* the message of its errors */
	bson_t *command;    /* that opens it */
	bool is_list;       /* of collections: no concern of the uri is for it */
	bool compares;      /* strings, byte by byte */
	MtsAttempt attempt; /* to get the first document */
	mongoc_cursor_t *cursor;          /* NULL: the command has not been sent */
	mongoc_client_session_t *session; /* which the command and it share */
	bool has_begun;                   /* it has given a document */
	int batch;          /* documents of the current batch, at most */
	int left;           /* so many of them have not been read */
	int fetch_size;     /* documents of a batch, when these have grown */
	int64 *round_trips; /* the caller's counter, or NULL */
};

/* ---- Errors ---------------------------------------------------------------- */

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
		   error->domain == MONGOC_ERROR_SERVER_SELECTION ||
		   (error->domain == MONGOC_ERROR_CLIENT &&
			error->code == MONGOC_ERROR_STREAM_NOT_ESTABLISHED);
}

/*
 * mts_remote_explain
 *		Put the reasons why members could not be reached into libmongoc's message,
 *		in place of the way in which their streams failed; see mts_stream_open.
 */
bson_error_t
mts_remote_explain(const MtsConnection *connection, const bson_error_t *error)
{
	const MtsWait *wait = &connection->wait;
	static const char ours[] = " [connection refused calling ";
	bson_error_t explained = *error;
	const char *from = error->message;
	StringInfoData text;

	if (wait->refusals[0] == '\0' || !mts_remote_is_lost(connection, error))
		return explained;
	initStringInfo(&text);
	while (*from)
	{
		const char *next = strstr(from + 1, " [");
		int len = next ? next - from : strlen(from);

		if (strncmp(from, ours, sizeof(ours) - 1) != 0)
			appendBinaryStringInfo(&text, from, len);
		from += len;
	}
	appendStringInfo(&text, " %s", wait->refusals);
	strlcpy(explained.message, text.data, sizeof(explained.message));
	return explained;
}

/*
 * mts_remote_raise
 *		Raise the error of a call that failed, or the interrupt that ended it.
 */
void
mts_remote_raise(MtsConnection *connection, const char *what,
				 const bson_error_t *error)
{
	bson_error_t explained;

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
				 errmsg("canceling statement while waiting for MongoDB")));
	}
	if (connection->wait.problem)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("%s", what),
				 errdetail("The server's reply is malformed: %s.",
						   connection->wait.problem)));
	explained = mts_remote_explain(connection, error);
	mts_report_raise(what, &explained);
}

/* mts_remote_reading: the message of an error while a collection is read */
char *
mts_remote_reading(const char *database, const char *collection)
{
	return psprintf("could not read MongoDB collection \"%s.%s\"", database,
					collection);
}

/* ---- Closing --------------------------------------------------------------- */

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
	if (norphans == lengthof(orphans))
		return;
	norphans++;
	orphan->serverid = state->connection->serverid;
	orphan->mappingid = state->connection->mappingid;
	orphan->database = bson_strdup(state->database);
	orphan->command = bson_new();
	mts_template_fields(orphan->command, "{killCursors: %s, cursors: [%i]}",
						state->collection, id);
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
	is_lost =
		connection->invalid || mts_stream_wait_is_over(&connection->wait);
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
	MtsConnection *connection = state->connection;

	if (!connection)
		return;
	if (state->cursor)
		close_cursor(state);
	if (state->session)
		mongoc_client_session_destroy(state->session);
	state->connection = NULL;
	mts_connection_release(connection);
}

static void
close_with_context(void *state)
{
	mts_remote_close(state);
}

/* ---- Cursors --------------------------------------------------------------- */

/*
 * A cursor that is opened when its first document is asked for, by a command
 * that the caller appends to an empty document.
 *
 * (The commands are our own, because mongoc_collection_aggregate() takes the
 * namespace for the database, and refuses it, in Debian 13's libmongoc,
 * 1.30.4-1+deb13u3.)
 */
static MtsCursorState *
new_cursor(MtsConnection *connection, const char *database,
		   const char *collection)
{
	MtsCursorState *state = palloc0(sizeof(MtsCursorState));

	state->connection = connection;
	state->database = pstrdup(mts_document_utf8(database));
	state->collection = pstrdup(mts_document_utf8(collection));
	state->what = mts_remote_reading(database, collection);
	state->attempt = mts_attempt_begin(connection, state->what, false, true);
	state->command = mts_document_new();
	state->closing.func = close_with_context;
	state->closing.arg = state;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &state->closing);
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
	MtsCursorState *state = new_cursor(connection, database, collection);
	bson_t *command = state->command;

	state->attempt.on_primary = find->on_primary;
	state->attempt.is_of_write = find->on_primary;
	state->batch = state->left = find->first_batch;
	state->fetch_size = find->fetch_size;
	state->round_trips = find->round_trips;
	/* what compares nothing also reads views that have another collation */
	state->compares = !bson_empty(find->filter);
	bson_append_utf8(command, "find", -1, state->collection, -1);
	bson_append_document(command, "filter", -1, find->filter);
	if (find->projection && !bson_empty(find->projection))
		bson_append_document(command, "projection", -1, find->projection);
	if (find->sort && !bson_empty(find->sort))
	{
		state->compares = true;
		bson_append_document(command, "sort", -1, find->sort);
		/* without an index it may take more memory than the server gives */
		bson_append_bool(command, "allowDiskUse", -1, true);
	}
	if (find->limit > 0)
		bson_append_int64(command, "limit", -1, find->limit);
	/* a batch that the limit fills exactly would leave the cursor open */
	bson_append_int64(command, "batchSize", -1,
					  find->first_batch + (find->limit > 0 &&
										   find->limit == find->first_batch));
	return state;
}

/*
 * mts_remote_aggregate
 *		Open a cursor over what an array of stages gives.
 *
 * round_trips may be NULL; otherwise it counts those of the cursor.
 */
MtsCursorState *
mts_remote_aggregate(MtsConnection *connection, const char *database,
					 const char *collection, const bson_t *stages,
					 int fetch_size, int64 *round_trips)
{
	MtsCursorState *state = new_cursor(connection, database, collection);
	bson_iter_t iter, match;

	state->batch = state->left = state->fetch_size = fetch_size;
	state->round_trips = round_trips;
	state->compares = bson_iter_init(&iter, stages) &&
					  bson_iter_find_descendant(&iter, "0.$match", &match);
	mts_template_fields(state->command,
						"{aggregate: %s, pipeline: %a, "
						"cursor: {batchSize: %d}, allowDiskUse: true}",
						state->collection, stages, fetch_size);
	return state;
}

/*
 * mts_remote_collections
 *		Open a cursor over what the server says of a database's collections, in
 *		batches of its own choice.
 *
 * filter may be NULL; names_only asks for nothing but names and types.
 */
MtsCursorState *
mts_remote_collections(MtsConnection *connection, const char *database,
					   const bson_t *filter, bool names_only)
{
	MtsCursorState *state =
		new_cursor(connection, database, "$cmd.listCollections");

	state->what =
		psprintf("could not list the collections of MongoDB database \"%s\"",
				 database);
	state->attempt.what = state->what;
	state->attempt.on_primary = true;
	state->is_list = true;
	bson_append_int32(state->command, "listCollections", -1, 1);
	if (filter)
		bson_append_document(state->command, "filter", -1, filter);
	if (names_only)
		bson_append_bool(state->command, "nameOnly", -1, true);
	return state;
}

/*
 * Send the command that opens a cursor, once, to the server that has been
 * selected.  False with the reason in *error when that fails.
 */
static bool
send_opening(MtsCursorState *state, bson_error_t *error)
{
	MtsConnection *connection = state->connection;
	mongoc_client_t *client = connection->client;
	bson_t *command = bson_copy(state->command);
	bson_t opts = BSON_INITIALIZER;
	mongoc_read_prefs_t *prefs =
		state->attempt.on_primary ? mongoc_read_prefs_new(MONGOC_READ_PRIMARY)
								  : NULL;
	bson_t reply;
	bool ok;

	if (state->compares)
		mts_attempt_append_collation(&state->attempt, command);
	if (!state->session)
		state->session = mongoc_client_start_session(client, NULL, error);
	bson_append_int32(&opts, "serverId", -1, (int32) state->attempt.server.id);
	ok = !state->session ||
		 mongoc_client_session_append(state->session, &opts, error);
	connection->wait.deadline = state->attempt.deadline;
	if (ok)
		ok =
			(state->is_list
				 ? mongoc_client_command_with_opts
				 : mongoc_client_read_command_with_opts)(client,
														 state->database,
														 command, prefs, &opts,
														 &reply, error);
	else
		bson_init(&reply);
	connection->wait.deadline = 0;
	if (ok)
	{
		if (state->batch > 0)
			bson_append_int32(&opts, "batchSize", -1, state->batch);
		/* it takes the reply over */
		state->cursor =
			mongoc_cursor_new_from_command_reply_with_opts(client, &reply,
														   &opts);
	}
	else
		bson_destroy(&reply);
	if (prefs)
		mongoc_read_prefs_destroy(prefs);
	bson_destroy(&opts);
	bson_destroy(command);
	return ok;
}

/* Open a cursor anew, until it succeeds or an error is raised. */
static void
open_cursor(MtsCursorState *state)
{
	bson_error_t error;
	bool ok;

	if (state->cursor)
		mongoc_cursor_destroy(state->cursor);
	state->cursor = NULL;
	do
	{
		mts_attempt_server(&state->attempt);
		ok = send_opening(state, &error);
	} while (!ok && mts_attempt_again(&state->attempt, &error));
	if (!ok)
		mts_remote_raise(state->connection, state->what, &error);
}

/*
 * The next document of an open cursor, or NULL at the end of the data.  False
 * with the reason in *error when the cursor has failed.
 */
static bool
read_next(MtsCursorState *state, const bson_t **doc, bson_error_t *error)
{
	MtsWait *wait = &state->connection->wait;
	bool failed = false;

	mts_stream_wait_begin(wait);
	if (state->left == 0)
	{
		state->batch =
			Min((int64) state->batch * MTS_BATCH_GROWTH, state->fetch_size);
		state->left = state->batch;
		mongoc_cursor_set_batch_size(state->cursor, state->batch);
	}
	state->left--;
	wait->deadline = state->attempt.deadline;
	*doc = NULL;
	/* a batch may be empty before the last one */
	while (!mongoc_cursor_next(state->cursor, doc) &&
		   !(failed = mongoc_cursor_error(state->cursor, error)) &&
		   mongoc_cursor_more(state->cursor))
		;
	wait->deadline = 0;
	return !failed;
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
	int64 before = state->connection->round_trips;
	const bson_t *doc;
	bson_error_t error;

	if (!state->cursor)
		open_cursor(state);
	while (!read_next(state, &doc, &error))
	{
		/* as long as no document was given, another cursor does as well */
		if (state->has_begun || !mts_attempt_again(&state->attempt, &error))
			mts_remote_raise(state->connection, state->what, &error);
		open_cursor(state);
	}
	state->has_begun = true;
	if (state->round_trips)
		*state->round_trips += state->connection->round_trips - before;
	return doc;
}

/*
 * mts_remote_first
 *		The first document of a query, or NULL when there is none.
 *
 * It lives as long as the current memory context.  The sizes of batches and the
 * limit of *find are not used.
 */
const bson_t *
mts_remote_first(MtsConnection *connection, const char *database,
				 const char *collection, const MtsFind *find)
{
	MtsFind one = *find;
	MtsCursorState *cursor;
	const bson_t *doc;

	one.first_batch = one.limit = 1;
	cursor = mts_remote_find(connection, database, collection, &one);
	doc = mts_remote_next(cursor);
	if (doc)
	{
		bson_t *copy = bson_copy(doc);

		mts_document_adopt(copy);
		doc = copy;
	}
	mts_remote_close(cursor);
	return doc;
}

/* ---- Names of collections ------------------------------------------------- */

/* Append the names that a cursor gives; false with the reason in *error. */
static bool
read_names(MtsCursorState *state, List **names, bson_error_t *error)
{
	const bson_t *doc;

	while (read_next(state, &doc, error))
	{
		const char *name = doc ? mts_document_string(doc, "name") : NULL;

		if (!doc)
			return true;
		if (!name)
		{
			state->connection->wait.problem = "a collection has no name";
			return false;
		}
		*names =
			lappend(*names,
					pstrdup(pg_any_to_server(name, strlen(name), PG_UTF8)));
	}
	return false;
}

/*
 * mts_remote_list
 *		Append the names of the collections that match a filter of
 *		listCollections to a list of strings.
 *
 * may_fail: return false, and raise no error, when the server doesn't answer
 * soon; interrupts stay pending for as long.  Cursors that are open on the
 * connection would suffer from a wait that is given up, so then it is waited
 * for.
 */
bool
mts_remote_list(MtsConnection *connection, const char *database,
				const bson_t *filter, bool may_fail, List **names)
{
	bool is_try = may_fail && connection->users == 0;
	MtsCursorState *state =
		mts_remote_collections(connection, database, filter, true);
	int before = list_length(*names);
	bson_error_t error = {0};
	bool ok;

	if (is_try)
	{
		mts_attempt_hurry(&state->attempt, TRY_TIME);
		ok = mts_attempt_try_server(&state->attempt, &error) &&
			 send_opening(state, &error) && read_names(state, names, &error);
		/* but for an error of the server's own, the client begins anew */
		connection->invalid |= !ok && error.domain != MONGOC_ERROR_SERVER;
	}
	else
		do
		{
			*names = list_truncate(*names, before);
			open_cursor(state);
			ok = read_names(state, names, &error);
		} while (!ok && mts_attempt_again(&state->attempt, &error));
	if (!ok && !is_try)
		mts_remote_raise(connection, state->what, &error);
	if (!ok)
		*names = list_truncate(*names, before);
	mts_remote_close(state);
	if (!ok)
		CHECK_FOR_INTERRUPTS();
	return ok;
}

/* ---- Commands that answer at once ----------------------------------------- */

/*
 * mts_remote_send
 *		Send a command once; false with the reason in *error when it fails.
 *
 * A write goes to the server that has been selected, perhaps in a session.  The
 * reply lives as long as the memory context.
 */
bool
mts_remote_send(const MtsAttempt *attempt, const char *database,
				const bson_t *command, mongoc_client_session_t *session,
				const bson_t **reply, bson_error_t *error)
{
	mongoc_client_t *client = attempt->connection->client;
	char *name = mts_document_utf8(database);
	bson_t opts = BSON_INITIALIZER;
	bson_t answer = BSON_INITIALIZER;
	bson_t *copy;
	bool ok;

	attempt->connection->wait.deadline = attempt->deadline;
	bson_append_int32(&opts, "serverId", -1, (int32) attempt->server.id);
	if (session && !mongoc_client_session_append(session, &opts, error))
		ok = false;
	else if (attempt->is_of_write)
		ok = mongoc_client_write_command_with_opts(client, name, command,
												   &opts, &answer, error);
	else if (attempt->on_primary)
		ok = mongoc_client_command_simple(client, name, command, NULL, &answer,
										  error);
	else
		ok = mongoc_client_read_command_with_opts(client, name, command, NULL,
												  NULL, &answer, error);
	attempt->connection->wait.deadline = 0;
	bson_destroy(&opts);
	copy = bson_copy(&answer);
	bson_destroy(&answer);
	mts_document_adopt(copy);
	*reply = copy;
	return ok;
}

/*
 * mts_remote_run
 *		Select a server and run a command there, once.
 *
 * The reply lives as long as the memory context; NULL with the reason in *error
 * when the command failed.
 */
const bson_t *
mts_remote_run(MtsAttempt *attempt, const char *database,
			   const bson_t *command, bson_error_t *error)
{
	const bson_t *reply;

	mts_attempt_server(attempt);
	return mts_remote_send(attempt, database, command, NULL, &reply, error)
			   ? reply
			   : NULL;
}

/*
 * mts_remote_command
 *		Run a database command on the primary; its reply lives as long as the
 *		context.
 *
 * what is the message of its error.  NULL is for a server that refuses what may
 * be refused.
 */
const bson_t *
mts_remote_command(MtsConnection *connection, const char *database,
				   const char *what, const bson_t *command, MtsRunMode mode)
{
	MtsAttempt attempt =
		mts_attempt_begin(connection, what, true, mode != MTS_RUN_ONCE);
	const bson_t *reply;
	bson_error_t error;

	do
		reply = mts_remote_run(&attempt, database, command, &error);
	while (!reply && mts_attempt_again(&attempt, &error));
	if (!reply && (mode != MTS_RUN_TRY || error.domain != MONGOC_ERROR_SERVER))
		mts_remote_raise(connection, what, &error);
	return reply;
}

/* Without a filter it counts as the server keeps count. */
static bson_t *
count_command(const char *collection, const bson_t *filter)
{
	return mts_document_make(filter ? "{count: %s, query: %o}" : "{count: %s}",
							 mts_document_utf8(collection), filter);
}

/*
 * mts_remote_count
 *		The number of documents that match a filter; NULL matches all.
 *
 * Without a filter it is the number that the server keeps.
 */
double
mts_remote_count(MtsConnection *connection, const char *database,
				 const char *collection, const bson_t *filter)
{
	char *what = mts_remote_reading(database, collection);
	MtsAttempt attempt = mts_attempt_begin(connection, what, false, true);
	const bson_t *reply;
	bson_error_t error;

	do
	{
		bson_t *command = count_command(collection, filter);

		mts_attempt_append_collation(&attempt, command);
		reply = mts_remote_run(&attempt, database, command, &error);
	} while (!reply && mts_attempt_again(&attempt, &error));
	if (!reply)
		mts_remote_raise(connection, what, &error);
	return (double) mts_document_number(reply, "n");
}

/*
 * mts_remote_try_count
 *		The number of documents that the server keeps, if it answers soon.
 *
 * False, and no error, when it doesn't; interrupts stay pending for as long as
 * TRY_TIME.
 */
bool
mts_remote_try_count(MtsConnection *connection, const char *database,
					 const char *collection, double *count)
{
	MtsAttempt attempt = mts_attempt_begin(connection, "", false, true);
	bson_t *command = count_command(collection, NULL);
	const bson_t *reply;
	bson_error_t error;
	bool ok;

	bson_append_int32(command, "maxTimeMS", -1, TRY_SERVER_TIME);
	mts_attempt_hurry(&attempt, TRY_TIME);
	ok = mts_attempt_try_server(&attempt, &error) &&
		 mts_remote_send(&attempt, database, command, NULL, &reply, &error);
	if (ok)
		*count = (double) mts_document_number(reply, "n");
	/* but for an error of the server's own, the client begins anew */
	else if (error.domain != MONGOC_ERROR_SERVER)
		connection->invalid = true;
	return ok;
}
