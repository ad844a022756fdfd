/*
 * second.c
 *		Writes a second of many series after the other, without PostgreSQL: the
 *		reference of test/bench/sessions.
 *
 * usage: second URI DATABASE COLLECTION CLIENTS SERIES SECONDS [FIRST]
 *
 * Each client is a process with SERIES series of its own.  It writes a second
 * of them by one bulk write of upserts with $set and $inc, unordered and with
 * the extension's write concern, SECONDS times, and begins with the second
 * FIRST (0) of an hour.  The buckets have an hour.  With 0 SERIES it stores one
 * point of the current time, in a bucket of a minute and without $inc.  Prints
 * how many bulk writes there were in a second of real time, after all clients
 * had connected.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_HOUR INT64_C(1700002800) /* in seconds */
#define HOUR 3600
#define MINUTE 60
#define NAME_SIZE 32

/* Whether the buckets have a count and a sum */
static bool has_totals;

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
add_update(mongoc_bulk_operation_t *bulk, int series, int64_t second, int span,
		   double value)
{
	bson_t selector = BSON_INITIALIZER, update = BSON_INITIALIZER, fields;
	bson_t upsert = BSON_INITIALIZER;
	char name[NAME_SIZE];
	bson_error_t error;

	snprintf(name, sizeof name, "host_%d", series);
	bson_append_utf8(&selector, "host", -1, name, -1);
	bson_append_date_time(&selector, "d", -1, second / span * span * 1000);
	snprintf(name, sizeof name, "v.%d", (int) (second % span));
	bson_append_document_begin(&update, "$set", -1, &fields);
	bson_append_double(&fields, name, -1, value);
	bson_append_document_end(&update, &fields);
	if (has_totals)
	{
		bson_append_document_begin(&update, "$inc", -1, &fields);
		bson_append_int32(&fields, "n", -1, 1);
		bson_append_double(&fields, "sum", -1, value);
		bson_append_document_end(&update, &fields);
	}
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
	if (!has_totals)
		add_update(bulk, first, time(NULL), MINUTE, drand48());
	for (int i = first; has_totals && i < first + n; i++)
		add_update(bulk, i, FIRST_HOUR + second, HOUR, i);
	if (!mongoc_bulk_operation_execute(bulk, &reply, &error))
		die("bulk write", error.message);
	bson_destroy(&reply);
	bson_destroy(&unordered);
	mongoc_bulk_operation_destroy(bulk);
}

/* A pipe whose end is awaited: the clients begin together. */
typedef struct Gate
{
	int ends[2];
} Gate;

static void
open_gate(Gate *gate)
{
	if (pipe(gate->ends) != 0)
		die("pipe", "none");
}

/* Wait until every process has closed its writing end. */
static void
await(Gate *gate)
{
	char nothing;

	close(gate->ends[1]);
	while (read(gate->ends[0], &nothing, 1) > 0)
		;
}

static mongoc_client_t *
connect_to(const char *uri)
{
	mongoc_write_concern_t *concern = mongoc_write_concern_new();
	mongoc_client_t *client;
	bson_t ping = BSON_INITIALIZER;
	bson_error_t error;

	mongoc_init();
	client = mongoc_client_new(uri);
	if (!client)
		die("URI", uri);
	mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_MAJORITY);
	mongoc_write_concern_set_journal(concern, true);
	mongoc_client_set_write_concern(client, concern);
	mongoc_write_concern_destroy(concern);
	bson_append_int32(&ping, "ping", -1, 1);
	if (!mongoc_client_command_simple(client, "admin", &ping, NULL, NULL,
									  &error))
		die("ping", error.message);
	bson_destroy(&ping);
	return client;
}

typedef struct Work
{
	char **server; /* URI, database and collection */
	int clients;
	int series;
	int seconds; /* of each client */
	int first;
} Work;

/* Connect, wait for the others, and write. */
static void
run_client(const Work *work, int client, Gate *ready, Gate *begin)
{
	mongoc_client_t *connection = connect_to(work->server[0]);
	mongoc_collection_t *collection =
		mongoc_client_get_collection(connection, work->server[1],
									 work->server[2]);

	close(ready->ends[1]);
	await(begin);
	for (int i = 0; i < work->seconds; i++)
		write_second(collection, client * work->series, work->series,
					 work->first + i);
	mongoc_collection_destroy(collection);
	mongoc_client_destroy(connection);
}

int
main(int argc, char **argv)
{
	Gate ready, begin;
	Work work;
	int status;
	double began;

	if (argc != 7 && argc != 8)
		die("usage", "second URI DATABASE COLLECTION CLIENTS SERIES SECONDS "
					 "[FIRST]");
	work = (Work){argv + 1, atoi(argv[4]), atoi(argv[5]), atoi(argv[6]),
				  argc == 8 ? atoi(argv[7]) : 0};
	has_totals = work.series > 0;
	open_gate(&ready);
	open_gate(&begin);
	for (int i = 0; i < work.clients; i++)
	{
		pid_t child = fork();

		if (child < 0)
			die("fork", "no process");
		if (child == 0)
		{
			run_client(&work, i, &ready, &begin);
			_exit(0);
		}
	}
	await(&ready);
	began = seconds();
	close(begin.ends[1]);
	while (wait(&status) > 0)
		if (status != 0)
			die("client", "it has failed");
	printf("%.2f\n", work.clients * work.seconds / (seconds() - began));
	return 0;
}
