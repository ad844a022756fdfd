/*
 * second.c
 *		Writes a second of many series after the other, without PostgreSQL: the
 *		reference of test/bench/sessions.
 *
 * usage: second URI DATABASE COLLECTION CLIENTS SERIES SECONDS
 *
 * Each client is a process with SERIES series of its own.  It writes a second
 * of them by one bulk write of upserts with $set and $inc, unordered and with
 * the extension's write concern.  The buckets have an hour.  Prints how many
 * bulk writes there were in a second of real time.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOUR INT64_C(1700002800000) /* of the bucket, in milliseconds */
#define NAME_SIZE 32

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "second: %s: %s\n", what, why);
	exit(1);
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Add the update of one series' bucket to a bulk. */
static void
add_update(mongoc_bulk_operation_t *bulk, int series, int second)
{
	bson_t selector = BSON_INITIALIZER, update = BSON_INITIALIZER, fields;
	bson_t upsert = BSON_INITIALIZER;
	char name[NAME_SIZE];
	bson_error_t error;

	snprintf(name, sizeof name, "host_%d", series);
	bson_append_utf8(&selector, "host", -1, name, -1);
	bson_append_date_time(&selector, "d", -1, HOUR);
	snprintf(name, sizeof name, "v.%d", second);
	bson_append_document_begin(&update, "$set", -1, &fields);
	bson_append_double(&fields, name, -1, series);
	bson_append_document_end(&update, &fields);
	bson_append_document_begin(&update, "$inc", -1, &fields);
	bson_append_int32(&fields, "n", -1, 1);
	bson_append_double(&fields, "sum", -1, series);
	bson_append_document_end(&update, &fields);
	bson_append_bool(&upsert, "upsert", -1, true);
	if (!mongoc_bulk_operation_update_one_with_opts(bulk, &selector, &update,
													&upsert, &error))
		die("update", error.message);
	bson_destroy(&selector);
	bson_destroy(&update);
	bson_destroy(&upsert);
}

static void
write_second(mongoc_collection_t *collection, int first, int n, int second)
{
	bson_t unordered = BSON_INITIALIZER, reply;
	mongoc_bulk_operation_t *bulk;
	bson_error_t error;

	bson_append_bool(&unordered, "ordered", -1, false);
	bulk = mongoc_collection_create_bulk_operation_with_opts(collection,
															 &unordered);
	for (int i = first; i < first + n; i++)
		add_update(bulk, i, second);
	if (!mongoc_bulk_operation_execute(bulk, &reply, &error))
		die("bulk write", error.message);
	bson_destroy(&reply);
	bson_destroy(&unordered);
	mongoc_bulk_operation_destroy(bulk);
}

/* Write some seconds of the series of a client. */
static void
run_client(char **args, int client, int n, int end)
{
	mongoc_client_t *connection;
	mongoc_collection_t *collection;
	mongoc_write_concern_t *concern = mongoc_write_concern_new();

	mongoc_init();
	connection = mongoc_client_new(args[0]);
	if (!connection)
		die("URI", args[0]);
	mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_MAJORITY);
	mongoc_write_concern_set_journal(concern, true);
	mongoc_client_set_write_concern(connection, concern);
	collection = mongoc_client_get_collection(connection, args[1], args[2]);
	for (int second = 0; second < end; second++)
		write_second(collection, client * n, n, second);
	mongoc_collection_destroy(collection);
	mongoc_write_concern_destroy(concern);
	mongoc_client_destroy(connection);
}

int
main(int argc, char **argv)
{
	int clients, series, end, status;
	double began = seconds();

	if (argc != 7)
		die("usage", "second URI DATABASE COLLECTION CLIENTS SERIES SECONDS");
	clients = atoi(argv[4]);
	series = atoi(argv[5]);
	end = atoi(argv[6]);
	for (int i = 0; i < clients; i++)
	{
		pid_t child = fork();

		if (child < 0)
			die("fork", "no process");
		if (child == 0)
		{
			run_client(argv + 1, i, series, end);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status != 0)
			die("client", "it has failed");
	printf("%.1f\n", clients * end / (seconds() - began));
	return 0;
}
