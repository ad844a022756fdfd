/*
 * remote.c
 *		Talk to MongoDB by cursors, and tell what became of a call.
 *
 * The end of the data and an error are told apart here: a cursor that dies
 * raises an error, so a scan never gives fewer rows.  How a cursor closes, with
 * the memory context in which it was opened, is in remote_close.c.
 */
#include "remote_private.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "document.h"
#include "error.h"

/* MongoDB 4.4, whose find command may sort on disk */
#define WIRE_ALLOW_DISK_USE 9

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
	mts_error_raise(what, &explained);
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
	state->attempt = mts_attempt_begin(connection, state->what, false, true);
	state->collection = get_collection(connection, database, collection);
	mts_remote_track(state);
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

	state->attempt.on_primary = find->on_primary;
	state->attempt.is_of_write = find->on_primary;
	state->batch = state->left = find->first_batch;
	state->fetch_size = find->fetch_size;
	state->filter = bson_copy(find->filter);
	mts_document_adopt(state->filter);
	state->opts = mts_document_new();
	if (find->projection && !bson_empty(find->projection))
		bson_append_document(state->opts, "projection", -1, find->projection);
	if (find->sort && !bson_empty(find->sort))
		bson_append_document(state->opts, "sort", -1, find->sort);
	if (find->limit > 0)
		bson_append_int64(state->opts, "limit", -1, find->limit);
	/* a batch that the limit fills exactly would leave the cursor open */
	bson_append_int64(state->opts, "batchSize", -1,
					  find->first_batch + (find->limit > 0 &&
										   find->limit == find->first_batch));
	return state;
}

/* Prepare to send the command of mts_remote_find, perhaps once more. */
static void
begin_find(MtsCursorState *state)
{
	const MtsServer *server = mts_attempt_server(&state->attempt);
	bson_t *opts = bson_copy(state->opts);
	mongoc_read_prefs_t *prefs =
		state->attempt.on_primary ? mongoc_read_prefs_new(MONGOC_READ_PRIMARY)
								  : NULL;

	/* sorting without an index may take more memory than the server gives */
	if (bson_has_field(opts, "sort") &&
		server->wire_version >= WIRE_ALLOW_DISK_USE)
		bson_append_bool(opts, "allowDiskUse", -1, true);
	/* what compares nothing also reads views that have another collation */
	if (bson_has_field(opts, "sort") || !bson_empty(state->filter))
		mts_attempt_append_collation(&state->attempt, opts);
	if (state->cursor)
		mongoc_cursor_destroy(state->cursor);
	state->cursor =
		mongoc_collection_find_with_opts(state->collection, state->filter,
										 opts, prefs);
	if (prefs)
		mongoc_read_prefs_destroy(prefs);
	bson_destroy(opts);
}

/*
 * What ties a cursor to the command that makes it: the server, and the session
 * where there are sessions.
 */
static void
append_origin(MtsCursorState *state, bson_t *opts)
{
	const MtsServer *server = mts_attempt_server(&state->attempt);
	bson_error_t error;

	bson_append_int32(opts, "serverId", -1, (int32) server->id);
	if (!state->session)
		state->session = mongoc_client_start_session(state->connection->client,
													 NULL, &error);
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
	bson_t *opts = mts_document_new();
	bson_t reply;
	bson_error_t error;
	bool ok;

	state->batch = state->left = state->fetch_size = fetch_size;
	do
	{
		bson_t command = BSON_INITIALIZER;
		bson_t cursor;
		bson_iter_t iter, match;

		bson_reinit(opts);
		append_origin(state, opts);
		bson_append_utf8(&command, "aggregate", -1,
						 mongoc_collection_get_name(state->collection), -1);
		bson_concat(&command, pipeline);
		bson_append_document_begin(&command, "cursor", -1, &cursor);
		bson_append_int32(&cursor, "batchSize", -1, fetch_size);
		bson_append_document_end(&command, &cursor);
		bson_append_bool(&command, "allowDiskUse", -1, true);
		if (bson_iter_init(&iter, pipeline) &&
			bson_iter_find_descendant(&iter, "pipeline.0.$match", &match))
			mts_attempt_append_collation(&state->attempt, &command);
		ok = mongoc_collection_read_command_with_opts(state->collection,
													  &command, NULL, opts,
													  &reply, &error);
		bson_destroy(&command);
		if (!ok)
			bson_destroy(&reply);
	} while (!ok && mts_attempt_again(&state->attempt, &error));
	if (!ok)
		mts_remote_raise(connection, state->what, &error);
	bson_append_int32(opts, "batchSize", -1, fetch_size);
	/* it takes the reply over */
	state->cursor =
		mongoc_cursor_new_from_command_reply_with_opts(connection->client,
													   &reply, opts);
	state->has_begun = true;
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
	mongoc_database_t *object;
	bson_error_t error;

	state->what =
		psprintf("could not list the collections of MongoDB database \"%s\"",
				 database);
	state->attempt.what = state->what;
	state->attempt.on_primary = true;
	(void) mts_attempt_server(&state->attempt);
	/* nothing raises an error before it is destroyed */
	object = mongoc_client_get_database(connection->client,
										mts_document_utf8(database));
	state->cursor = mongoc_database_find_collections_with_opts(object, NULL);
	mongoc_database_destroy(object);
	state->has_begun = true;
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

	if (!state->cursor)
		begin_find(state);
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
		{
			/* as long as no document was given, another cursor does as well */
			if (state->has_begun ||
				!mts_attempt_again(&state->attempt, &error))
				mts_remote_raise(state->connection, state->what, &error);
			begin_find(state);
		}
		/* a batch may be empty before the last one */
		else if (!mongoc_cursor_more(state->cursor))
			return NULL;
		CHECK_FOR_INTERRUPTS();
	}
	state->has_begun = true;
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
