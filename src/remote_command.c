/*
 * remote_command.c
 *		Run commands that answer at once: of users, and counts.
 */
#include "remote.h"

#include "document.h"

/*
 * How long a number that is only nice to have may take: the server, in
 * milliseconds; and all together, in microseconds
 */
#define TRY_SERVER_TIME 500
#define TRY_TIME 1000000

/*
 * mts_remote_run
 *		Run a database command on the primary, once.
 *
 * The reply lives as long as the memory context; NULL with the reason in *error
 * when the command failed.
 */
const bson_t *
mts_remote_run(MtsAttempt *attempt, const char *database,
			   const bson_t *command, bson_error_t *error)
{
	char *name = mts_document_utf8(database);
	bson_t reply;
	bson_t *copy;
	bool ok;

	(void) mts_attempt_server(attempt);
	ok = mongoc_client_command_simple(attempt->connection->client, name,
									  command, NULL, &reply, error);
	copy = bson_copy(&reply);
	bson_destroy(&reply);
	mts_document_adopt(copy);
	return ok ? copy : NULL;
}

/* Run a database command; raises an error, or returns NULL where it may. */
static const bson_t *
run_command(MtsConnection *connection, const char *database, const char *what,
			const bson_t *command, bool is_repeatable, bool may_refuse)
{
	MtsAttempt attempt =
		mts_attempt_begin(connection, what, true, is_repeatable);
	const bson_t *reply;
	bson_error_t error;


	do
		reply = mts_remote_run(&attempt, database, command, &error);
	while (!reply && mts_attempt_again(&attempt, &error));
	if (!reply && (!may_refuse || error.domain != MONGOC_ERROR_SERVER))
		mts_remote_raise(connection, what, &error);
	return reply;
}

/*
 * mts_remote_command
 *		Run a database command on the primary; its reply lives as long as the
 *		context.
 *
 * what is the message of its error.  A repeatable command is sent again when an
 * election interrupts it.
 */
const bson_t *
mts_remote_command(MtsConnection *connection, const char *database,
				   const char *what, const bson_t *command, bool is_repeatable)
{
	return run_command(connection, database, what, command, is_repeatable,
					   false);
}

/*
 * mts_remote_try_command
 *		The same, of a repeatable command; NULL where the server refuses it.
 */
const bson_t *
mts_remote_try_command(MtsConnection *connection, const char *database,
					   const char *what, const bson_t *command)
{
	return run_command(connection, database, what, command, true, true);
}

/*
 * Count documents that match a filter; NULL matches all, and makes it the
 * number that the server keeps.  -1 with the reason in *error when it fails.
 * The server may take as many milliseconds; 0: no limit.  Strings are compared
 * as the attempt has it; NULL: by the collation of the collection.
 *
 * (libmongoc's own function looks for a server twice, so that one that is away
 * is waited for twice.)
 */
static double
count_documents(MtsConnection *connection, const char *database,
				const char *collection, const bson_t *filter,
				const MtsAttempt *attempt, int32 msecs, bson_error_t *error)
{
	mongoc_collection_t *object =
		mongoc_client_get_collection(connection->client,
									 mts_document_utf8(database),
									 mts_document_utf8(collection));
	bson_t command = BSON_INITIALIZER;
	bson_t reply;
	bson_iter_t n;
	double count = -1;

	bson_append_utf8(&command, "count", -1, mongoc_collection_get_name(object),
					 -1);
	if (filter)
		bson_append_document(&command, "query", -1, filter);
	if (attempt)
		mts_attempt_append_collation(attempt, &command);
	if (msecs > 0)
		bson_append_int32(&command, "maxTimeMS", -1, msecs);
	if (mongoc_collection_read_command_with_opts(object, &command, NULL, NULL,
												 &reply, error))
		count = bson_iter_init_find(&n, &reply, "n")
					? (double) bson_iter_as_int64(&n)
					: 0;
	bson_destroy(&reply);
	bson_destroy(&command);
	mongoc_collection_destroy(object);
	return count;
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
	bson_error_t error;
	double count;

	do
	{
		(void) mts_attempt_server(&attempt);
		count = count_documents(connection, database, collection, filter,
								&attempt, 0, &error);
	} while (count < 0 && mts_attempt_again(&attempt, &error));
	if (count < 0)
		mts_remote_raise(connection, what, &error);
	return count;
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
	bson_error_t error;

	mts_wait_begin(&connection->wait);
	connection->wait.deadline = bson_get_monotonic_time() + TRY_TIME;
	*count = count_documents(connection, database, collection, NULL, NULL,
							 TRY_SERVER_TIME, &error);
	connection->wait.deadline = 0;

	/* but for an error of the server's own, the client begins anew */
	if (*count < 0 && error.domain != MONGOC_ERROR_SERVER)
		connection->invalid = true;
	return *count >= 0;
}
