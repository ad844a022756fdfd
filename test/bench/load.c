/*
 * load.c
 *		Make the collections of the benchmark, anew.
 *
 * usage: load URI DATABASE DAYS
 *
 * stock: 5 symbols, a price a second for DAYS days from 2013-10-01, in minute
 * buckets {symbol, d, p: {"0": 40.5, ..}, n, sum, min, max}; devices: 100 of
 * them, two hours of the same kind, {device, d, v: {..}}.  Each has a unique
 * index on its key and d.  tables.sql makes the same prices by the same
 * formula.  Any error ends the program.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 60
#define DOCUMENTS_PER_INSERT 2000
#define FIRST_MS INT64_C(1380585600000) /* 2013-10-01T00:00:00Z */
#define MS_PER_MINUTE INT64_C(60000)
#define MINUTES_PER_DAY 1440
#define DEVICES 100
#define DEVICE_MINUTES 120

static const char *const symbols[] = {"AAPL", "AMZN", "GOOG", "MDB", "ORCL"};

#define SYMBOLS ((int) (sizeof symbols / sizeof symbols[0]))

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

/* The price of a symbol's n-th second is that of this point. */
static double
price(int64_t point)
{
	return 40 + point * 7919 % 10007 / 100.0;
}

/* Append the values of a minute's seconds, and what they add up to. */
static void
append_points(bson_t *bucket, const char *field, int64_t first)
{
	double sum = 0, min = 0, max = 0;
	bson_t values;

	bson_append_document_begin(bucket, field, -1, &values);
	for (int slot = 0; slot < SLOTS; slot++)
	{
		double value = price(first + slot);
		char buffer[16];
		const char *key;
		size_t length = bson_uint32_to_string(slot, &key, buffer, 16);

		bson_append_double(&values, key, length, value);
		sum += value;
		min = slot == 0 || value < min ? value : min;
		max = slot == 0 || value > max ? value : max;
	}
	bson_append_document_end(bucket, &values);
	bson_append_int32(bucket, "n", -1, SLOTS);
	bson_append_double(bucket, "sum", -1, sum);
	bson_append_double(bucket, "min", -1, min);
	bson_append_double(bucket, "max", -1, max);
}

/* ---- Sending ---- */

typedef struct Batch
{
	mongoc_collection_t *collection;
	bson_t *documents[DOCUMENTS_PER_INSERT];
	size_t n;
} Batch;

static void
send_batch(Batch *batch)
{
	bson_t unordered = BSON_INITIALIZER;
	bson_error_t error;

	bson_append_bool(&unordered, "ordered", -1, false);
	if (batch->n > 0 &&
		!mongoc_collection_insert_many(batch->collection,
									   (const bson_t **) batch->documents,
									   batch->n, &unordered, NULL, &error))
		die("insert", error.message);
	while (batch->n > 0)
		bson_destroy(batch->documents[--batch->n]);
	bson_destroy(&unordered);
}

static bson_t *
next_document(Batch *batch)
{
	if (batch->n == DOCUMENTS_PER_INSERT)
		send_batch(batch);
	return batch->documents[batch->n++] = bson_new();
}

/* An empty collection with its index */
static void
open_batch(Batch *batch, mongoc_client_t *client, const char *database,
		   const char *name, const char *key)
{
	mongoc_database_t *db = mongoc_client_get_database(client, database);
	bson_t *command =
		BCON_NEW("createIndexes", BCON_UTF8(name), "indexes", "[", "{", "key",
				 "{", key, BCON_INT32(1), "d", BCON_INT32(1), "}", "name",
				 "buckets", "unique", BCON_BOOL(true), "}", "]");
	bson_error_t error;

	batch->n = 0;
	batch->collection = mongoc_client_get_collection(client, database, name);
	mongoc_collection_drop(batch->collection, NULL);
	if (!mongoc_database_write_command_with_opts(db, command, NULL, NULL,
												 &error))
		die("createIndexes", error.message);
	bson_destroy(command);
	mongoc_database_destroy(db);
}

static void
close_batch(Batch *batch)
{
	send_batch(batch);
	mongoc_collection_destroy(batch->collection);
}

/* ---- The collections ---- */

/* Minute by minute, as the points of all symbols would come */
static void
load_stock(Batch *batch, int64_t minutes)
{
	for (int64_t minute = 0; minute < minutes; minute++)
		for (int i = 0; i < SYMBOLS; i++)
		{
			bson_t *bucket = next_document(batch);

			bson_append_utf8(bucket, "symbol", -1, symbols[i], -1);
			bson_append_date_time(bucket, "d", -1,
								  FIRST_MS + minute * MS_PER_MINUTE);
			append_points(bucket, "p", (i * minutes + minute) * SLOTS);
		}
}

static void
load_devices(Batch *batch)
{
	for (int64_t minute = 0; minute < DEVICE_MINUTES; minute++)
		for (int device = 1; device <= DEVICES; device++)
		{
			bson_t *bucket = next_document(batch);

			bson_append_int32(bucket, "device", -1, device);
			bson_append_date_time(bucket, "d", -1,
								  FIRST_MS + minute * MS_PER_MINUTE);
			append_points(bucket, "v", device * 1000 + minute);
		}
}

int
main(int argc, char **argv)
{
	int days = argc == 4 ? atoi(argv[3]) : 0;
	mongoc_client_t *client;
	mongoc_uri_t *uri;
	bson_error_t error;
	Batch batch;

	if (days <= 0)
		die("usage", "load URI DATABASE DAYS");
	mongoc_init();
	uri = mongoc_uri_new_with_error(argv[1], &error);
	if (!uri)
		die("URI", error.message);
	client = mongoc_client_new_from_uri(uri);

	open_batch(&batch, client, argv[2], "stock", "symbol");
	load_stock(&batch, (int64_t) days * MINUTES_PER_DAY);
	close_batch(&batch);
	open_batch(&batch, client, argv[2], "devices", "device");
	load_devices(&batch);
	close_batch(&batch);

	mongoc_client_destroy(client);
	mongoc_uri_destroy(uri);
	mongoc_cleanup();
	return 0;
}
