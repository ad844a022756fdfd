/*
 * remote_list.c
 *		Which collections does a database have?
 *
 * Beside remote.c the only caller of a cursor: this one is not read by a scan.
 */
#include "remote.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "document.h"

/* How long a list that is only nice to have may take, in microseconds */
#define TRY_TIME 1000000

/* What the call needs; freed with the context */
typedef struct Call
{
	MtsConnection *connection;
	mongoc_database_t *database;
	mongoc_cursor_t *cursor;
} Call;

static void
release_call(void *arg)
{
	Call *call = arg;

	if (call->cursor)
	{
		mts_connection_begin_close(call->connection);
		mongoc_cursor_destroy(call->cursor);
		mts_connection_end_close(call->connection);
	}
	mongoc_database_destroy(call->database);
}

/* libmongoc asks for the first names at once. */
static mongoc_cursor_t *
open_cursor(MtsConnection *connection, const char *database,
			const bson_t *filter, int64 deadline)
{
	char *name = mts_document_utf8(database);
	Call *call = palloc0(sizeof(Call));
	bson_t opts = BSON_INITIALIZER;

	mts_connection_hold(connection);
	call->connection = connection;
	call->database = mongoc_client_get_database(connection->client, name);
	mts_release_with_context(release_call, call);
	bson_append_bool(&opts, "nameOnly", -1, true);
	bson_append_document(&opts, "filter", -1, filter);
	connection->wait.deadline = deadline;
	call->cursor =
		mongoc_database_find_collections_with_opts(call->database, &opts);
	connection->wait.deadline = 0;
	bson_destroy(&opts);
	return call->cursor;
}

/* The name in a document of the list, in the server's encoding */
static char *
read_name(const bson_t *doc)
{
	bson_iter_t iter;
	const char *name;
	uint32 len;

	if (!bson_iter_init_find(&iter, doc, "name") ||
		!BSON_ITER_HOLDS_UTF8(&iter))
		return NULL;
	name = bson_iter_utf8(&iter, &len);
	return pstrdup(pg_any_to_server(name, len, PG_UTF8));
}

/* A batch may be empty before the last one; the wait for each can be given up. */
static bool
next_name(MtsConnection *connection, mongoc_cursor_t *cursor, int64 deadline,
		  const bson_t **doc)
{
	bool found;

	connection->wait.deadline = deadline;
	do
		found = mongoc_cursor_next(cursor, doc);
	while (!found && !mongoc_cursor_error(cursor, NULL) &&
		   mongoc_cursor_more(cursor));
	connection->wait.deadline = 0;
	return found;
}

/*
 * Append the names to a list.  False with the reason in *error, and the list as
 * it was, when the server does not give all of them by the deadline; 0: none.
 */
static bool
read_names(MtsConnection *connection, const char *database,
		   const bson_t *filter, int64 deadline, List **names,
		   bson_error_t *error)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "mongo_ts_fdw collections",
							  ALLOCSET_SMALL_SIZES);
	int before = list_length(*names);
	mongoc_cursor_t *cursor;
	const bson_t *doc;
	MtsWait ended;
	bool ok;

	MemoryContextSwitchTo(context);
	cursor = open_cursor(connection, database, filter, deadline);
	MemoryContextSwitchTo(caller);
	while (!connection->wait.problem &&
		   next_name(connection, cursor, deadline, &doc))
	{
		char *name = read_name(doc);

		if (name)
			*names = lappend(*names, name);
		else
			connection->wait.problem = "a collection has no name";
	}
	ok = !connection->wait.problem && !mongoc_cursor_error(cursor, error);
	if (!ok)
		*names = list_truncate(*names, before);
	/* closing the cursor forgets how the call has ended */
	ended = connection->wait;
	MemoryContextDelete(context);
	if (!ok)
		connection->wait = ended;
	return ok;
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
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext held =
		AllocSetContextCreate(caller, "mongo_ts_fdw connection",
							  ALLOCSET_SMALL_SIZES);
	char *what = psprintf("could not list the collections of MongoDB "
						  "database \"%s\"",
						  database);
	MtsAttempt attempt = mts_attempt_begin(connection, what, true, true);
	bson_error_t error = {0};
	bool ok;

	/* closing a cursor may drop a connection that nobody holds */
	MemoryContextSwitchTo(held);
	mts_connection_hold(connection);
	MemoryContextSwitchTo(caller);
	if (is_try)
	{
		mts_wait_begin(&connection->wait);
		ok = read_names(connection, database, filter,
						bson_get_monotonic_time() + TRY_TIME, names, &error);
		/* but for an error of the server's own, the client begins anew */
		if (!ok && error.domain != MONGOC_ERROR_SERVER)
			connection->invalid = true;
		MemoryContextDelete(held);
		if (!ok)
			CHECK_FOR_INTERRUPTS();
		return ok;
	}
	do
	{
		(void) mts_attempt_server(&attempt);
		ok = read_names(connection, database, filter, 0, names, &error);
	} while (!ok && mts_attempt_again(&attempt, &error));
	if (!ok)
		mts_remote_raise(connection, what, &error);
	MemoryContextDelete(held);
	return true;
}
