/*
 * load.c
 *		Creates the collections of the benchmark.
 *
 * usage: load URI DATABASE DAYS; 0 days drop the database
 *
 * stock: 5 symbols, a price each second for DAYS days from 2013-10-01, in
 * minute buckets {symbol, d, p: {"0": 40.5, ..}, n, sum, min, max}. stock_day
 * has those of 2013-10-02 only. stock_hours has the same points in hour
 * buckets {symbol, d, p: {"0": {"0": 40.5, ..}, ..}}, stock_points in a
 * document each. devices: 100 devices, two hours of minute buckets {device, d,
 * v: {..}}.  Each has a unique index on its key and d. tables.sql computes the
 * same prices by the same formula.
 *
 * stock_native is a time-series collection of MongoDB with a point {d, symbol,
 * price} for each second of the same days. Its prices are a walk with two
 * decimals, so that neighbors are alike. stock_random has two days of random
 * prices with all their digits. A server without such collections gets none.
 *
 * Any error ends the program.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 60
#define DOCUMENTS_PER_INSERT 2000
#define FIRST_MS INT64_C(1380585600000) /* 2013-10-01T00:00:00Z */
#define MS_PER_SECOND INT64_C(1000)
#define MS_PER_MINUTE INT64_C(60000)
#define MINUTES_PER_HOUR 60
#define MINUTES_PER_DAY 1440
#define RANDOM_MINUTES (2 * MINUTES_PER_DAY)
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

/* Return the price of a symbol's n-th second. */
static double
price(int64_t point)
{
	return 40 + point * 7919 % 10007 / 100.0;
}

/* Return a number of 53 bits that looks random. */
static int64_t
random_bits(void)
{
	static uint64_t state = 1;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* Return the next price of a walk; *cents is the last one, in cents. */
static double
walk(int64_t *cents)
{
	*cents += random_bits() % 11 - 5;
	if (*cents < 100)
		*cents = 100;
	return *cents / 100.0;
}

/* Append the values of a minute's seconds. */
static void
append_values(bson_t *parent, const char *field, int64_t first)
{
	bson_t values;

	bson_append_document_begin(parent, field, -1, &values);
	for (int slot = 0; slot < SLOTS; slot++)
	{
		char buffer[16];
		const char *key;
		size_t length = bson_uint32_to_string(slot, &key, buffer, 16);

		bson_append_double(&values, key, length, price(first + slot));
	}
	bson_append_document_end(parent, &values);
}

/* Append the pre-aggregates of a minute. */
static void
append_totals(bson_t *bucket, int64_t first)
{
	double sum = 0, min = price(first), max = price(first);

	for (int slot = 0; slot < SLOTS; slot++)
	{
		double value = price(first + slot);

		sum += value;
		min = value < min ? value : min;
		max = value > max ? value : max;
	}
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

/* Create an empty collection with its index. */
static void
open_batch(Batch *batch, mongoc_database_t *db, const char *name,
		   const char *key)
{
	bson_t *command =
		BCON_NEW("createIndexes", BCON_UTF8(name), "indexes", "[", "{", "key",
				 "{", key, BCON_INT32(1), "d", BCON_INT32(1), "}", "name",
				 "buckets", "unique", BCON_BOOL(true), "}", "]");
	bson_error_t error;

	batch->n = 0;
	batch->collection = mongoc_database_get_collection(db, name);
	mongoc_collection_drop(batch->collection, NULL);
	if (!mongoc_database_write_command_with_opts(db, command, NULL, NULL,
												 &error))
		die("createIndexes", error.message);
	bson_destroy(command);
}

static void
close_batch(Batch *batch)
{
	send_batch(batch);
	mongoc_collection_destroy(batch->collection);
}

/* ---- The collections ---- */

/* Begin a document with a key and a minute. */
static bson_t *
next_of(Batch *batch, const char *symbol, int64_t minute)
{
	bson_t *document = next_document(batch);

	bson_append_utf8(document, "symbol", -1, symbol, -1);
	bson_append_date_time(document, "d", -1,
						  FIRST_MS + minute * MS_PER_MINUTE);
	return document;
}

/*
 * Minute by minute, in the order in which the points of all symbols would
 * arrive
 */
static void
load_minutes(Batch *batch, int64_t first, int64_t end, int64_t minutes)
{
	for (int64_t minute = first; minute < end; minute++)
		for (int i = 0; i < SYMBOLS; i++)
		{
			bson_t *bucket = next_of(batch, symbols[i], minute);
			int64_t point = (i * minutes + minute) * SLOTS;

			append_values(bucket, "p", point);
			append_totals(bucket, point);
		}
}

static void
load_hours(Batch *batch, int64_t first, int64_t end, int64_t minutes)
{
	for (int64_t hour = first; hour < end; hour += MINUTES_PER_HOUR)
		for (int i = 0; i < SYMBOLS; i++)
		{
			bson_t *bucket = next_of(batch, symbols[i], hour);
			bson_t values;

			bson_append_document_begin(bucket, "p", -1, &values);
			for (int minute = 0; minute < MINUTES_PER_HOUR; minute++)
			{
				char buffer[16];
				const char *key;

				bson_uint32_to_string(minute, &key, buffer, 16);
				append_values(&values, key,
							  (i * minutes + hour + minute) * SLOTS);
			}
			bson_append_document_end(bucket, &values);
		}
}

static void
append_point(Batch *batch, int symbol, int64_t second, double value)
{
	bson_t *point = next_document(batch);

	bson_append_utf8(point, "symbol", -1, symbols[symbol], -1);
	bson_append_date_time(point, "d", -1, FIRST_MS + second * MS_PER_SECOND);
	bson_append_double(point, "price", -1, value);
}

static void
load_points(Batch *batch, int64_t first, int64_t end, int64_t minutes)
{
	for (int64_t minute = first; minute < end; minute++)
		for (int i = 0; i < SYMBOLS; i++)
			for (int slot = 0; slot < SLOTS; slot++)
				append_point(batch, i, minute * SLOTS + slot,
							 price((i * minutes + minute) * SLOTS + slot));
}

/* Load a time-series collection. */
static void
load_native(mongoc_database_t *db, const char *name, int64_t minutes,
			bool is_random)
{
	bson_t *command = BCON_NEW("create", BCON_UTF8(name), "timeseries", "{",
							   "timeField", "d", "metaField", "symbol", "}");
	int64_t cents[SYMBOLS];
	bson_error_t error;
	Batch batch = {NULL, {NULL}, 0};

	batch.collection = mongoc_database_get_collection(db, name);
	mongoc_collection_drop(batch.collection, NULL);
	if (!mongoc_database_write_command_with_opts(db, command, NULL, NULL,
												 &error))
		fprintf(stderr, "load: without %s: %s\n", name, error.message);
	else
	{
		for (int i = 0; i < SYMBOLS; i++)
			cents[i] = 10000 + i * 2500;
		for (int64_t minute = 0; minute < minutes; minute++)
			for (int i = 0; i < SYMBOLS; i++)
				for (int slot = 0; slot < SLOTS; slot++)
					append_point(&batch, i, minute * SLOTS + slot,
								 is_random
									 ? random_bits() * 100.0 / (1LL << 53)
									 : walk(&cents[i]));
		send_batch(&batch);
	}
	mongoc_collection_destroy(batch.collection);
	bson_destroy(command);
}

static void
load_devices(Batch *batch)
{
	for (int64_t minute = 0; minute < DEVICE_MINUTES; minute++)
		for (int device = 1; device <= DEVICES; device++)
		{
			bson_t *bucket = next_document(batch);
			int64_t point = device * 1000 + minute;

			bson_append_int32(bucket, "device", -1, device);
			bson_append_date_time(bucket, "d", -1,
								  FIRST_MS + minute * MS_PER_MINUTE);
			append_values(bucket, "v", point);
		}
}

static void
load_all(mongoc_database_t *db, int64_t minutes)
{
	const int64_t day = MINUTES_PER_DAY, next = 2 * MINUTES_PER_DAY;
	Batch batch;

	open_batch(&batch, db, "stock", "symbol");
	load_minutes(&batch, 0, minutes, minutes);
	close_batch(&batch);
	open_batch(&batch, db, "stock_day", "symbol");
	load_minutes(&batch, day, next, minutes);
	close_batch(&batch);
	open_batch(&batch, db, "stock_hours", "symbol");
	load_hours(&batch, day, next, minutes);
	close_batch(&batch);
	open_batch(&batch, db, "stock_points", "symbol");
	load_points(&batch, day, next, minutes);
	close_batch(&batch);
	open_batch(&batch, db, "devices", "device");
	load_devices(&batch);
	close_batch(&batch);
	load_native(db, "stock_native", minutes, false);
	load_native(db, "stock_random", RANDOM_MINUTES, true);
}

int
main(int argc, char **argv)
{
	int days = argc == 4 ? atoi(argv[3]) : 0;
	mongoc_client_t *client;
	mongoc_database_t *db;
	mongoc_uri_t *uri;
	bson_error_t error;

	if (days != 0 && days < 2)
		die("usage", "load URI DATABASE DAYS, none or at least 2");
	mongoc_init();
	uri = mongoc_uri_new_with_error(argv[1], &error);
	if (!uri)
		die("URI", error.message);
	client = mongoc_client_new_from_uri(uri);
	db = mongoc_client_get_database(client, argv[2]);
	if (days == 0)
		mongoc_database_drop(db, &error);
	else
		load_all(db, (int64_t) days * MINUTES_PER_DAY);
	mongoc_database_destroy(db);
	mongoc_client_destroy(client);
	mongoc_uri_destroy(uri);
	mongoc_cleanup();
	return 0;
}
