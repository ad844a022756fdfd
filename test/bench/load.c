/*
 * load.c
 *		Creates a collection of the benchmark.
 *
 * usage: load URI DATABASE [COLLECTION SHAPE VALUES SERIES HOURS [PROCESSES]]
 *
 * Without a collection, drops the database.  SHAPE is one of shapes[]; VALUES
 * is one of kinds[]; SERIES is the number of series, host_0 and so on; HOURS,
 * perhaps with decimals, are counted from 2013-10-01.  Each series has a value
 * each second, or of shape tsbs ten values each ten seconds, of shape counters
 * one value each minute.  Bench/Layouts.pm makes the same values in SQL.
 * PROCESSES (1) insert the buckets in turn.
 *
 * The buckets are in the order in which the points of all series would arrive.
 * The status is 2 if the server has no time-series collections.  Any other
 * error ends the program with status 1.
 */
#include <inttypes.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES_PER_INSERT (8 * 1024 * 1024)
#define MOST_PER_INSERT 2000
#define FIRST_SECOND INT64_C(1380585600) /* 2013-10-01T00:00:00Z */
#define MINUTE 60
#define HOUR 3600
#define DAY 86400
#define SAMPLES 200
#define TSBS_STEP 10
#define NAME_SIZE 64
#define KEY_SIZE 16

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

static int
find_name(const char *what, const char *name, const char *const *names)
{
	int i;

	for (i = 0; names[i] && strcmp(name, names[i]) != 0; i++)
		;
	if (!names[i])
		die(what, name);
	return i;
}

/* ---- Values ---- */

typedef enum Kind
{
	KIND_DOUBLE,
	KIND_INT,
	KIND_LONG,
	KIND_RANDOM
} Kind;

static const char *const kinds[] = {"double", "int", "long", "random", NULL};

/* The collection that is made */
static Kind kind;
static int series;

/* Return a value in hundredths: neighbors are alike. */
static int64_t
hundredths(int host, int64_t second)
{
	return 4000 + host * 1000 + llabs(second % 20000 - 10000) / 2 +
		   second * 7919 % 11;
}

/* Return the value of a series at a second. */
static double
value(int host, int64_t second)
{
	if (kind == KIND_RANDOM)
		return ((second * 5 + host + 1) * INT64_C(2654435761) &
				INT64_C(0xffffffff)) *
			   100.0 / 4294967296.0;
	return hundredths(host, second) / 100.0;
}

static void
append_value(bson_t *parent, const char *key, int host, int64_t second)
{
	if (kind == KIND_INT)
		bson_append_int32(parent, key, -1, (int32_t) hundredths(host, second));
	else if (kind == KIND_LONG)
		bson_append_int64(parent, key, -1, hundredths(host, second));
	else
		bson_append_double(parent, key, -1, value(host, second));
}

static void
append_date(bson_t *parent, const char *key, int64_t second)
{
	bson_append_date_time(parent, key, -1, (FIRST_SECOND + second) * 1000);
}

static void
append_host(bson_t *parent, const char *key, int host)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof name, "host_%d", host);
	bson_append_utf8(parent, key, -1, name, -1);
}

/* Append a subdocument of values with keys from 0 to n - 1. */
static void
append_slots(bson_t *parent, const char *field, int host, int64_t second,
			 uint32_t n)
{
	bson_t values;

	bson_append_document_begin(parent, field, -1, &values);
	for (uint32_t slot = 0; slot < n; slot++)
	{
		char buffer[KEY_SIZE];
		const char *key;

		bson_uint32_to_string(slot, &key, buffer, sizeof buffer);
		append_value(&values, key, host, second + slot);
	}
	bson_append_document_end(parent, &values);
}

/* ---- Shapes ---- */

/* Each appends the fields of a bucket of a series that begins at a second. */
typedef void (*AppendBucket)(bson_t *bucket, int host, int64_t second);

static void
append_header(bson_t *bucket, int host, int64_t second)
{
	append_host(bucket, "host", host);
	append_date(bucket, "d", second);
}

/* Append the pre-aggregates of a minute. */
static void
append_totals(bson_t *bucket, int host, int64_t second)
{
	double sum = 0, min = value(host, second), max = min;

	for (int slot = 0; slot < MINUTE; slot++)
	{
		double number = value(host, second + slot);

		sum += number;
		min = number < min ? number : min;
		max = number > max ? number : max;
	}
	bson_append_int32(bucket, "n", -1, MINUTE);
	bson_append_double(bucket, "sum", -1, sum);
	bson_append_double(bucket, "min", -1, min);
	bson_append_double(bucket, "max", -1, max);
}

static void
append_minute(bson_t *bucket, int host, int64_t second)
{
	append_header(bucket, host, second);
	append_slots(bucket, "v", host, second, MINUTE);
	if (kind == KIND_DOUBLE)
		append_totals(bucket, host, second);
}

static void
append_hour(bson_t *bucket, int host, int64_t second)
{
	append_header(bucket, host, second);
	append_slots(bucket, "v", host, second, HOUR);
}

static void
append_nested(bson_t *bucket, int host, int64_t second)
{
	bson_t minutes;

	append_header(bucket, host, second);
	bson_append_document_begin(bucket, "v", -1, &minutes);
	for (uint32_t minute = 0; minute < HOUR / MINUTE; minute++)
	{
		char buffer[KEY_SIZE];
		const char *key;

		bson_uint32_to_string(minute, &key, buffer, sizeof buffer);
		append_slots(&minutes, key, host, second + minute * MINUTE, MINUTE);
	}
	bson_append_document_end(bucket, &minutes);
}

static void
append_samples(bson_t *bucket, int host, int64_t second)
{
	bson_t samples, sample;

	append_host(bucket, "host", host);
	append_date(bucket, "d", second / DAY * DAY);
	bson_append_int32(bucket, "n", -1, SAMPLES);
	append_date(bucket, "first", second);
	append_date(bucket, "last", second + SAMPLES - 1);
	bson_append_array_begin(bucket, "samples", -1, &samples);
	for (uint32_t i = 0; i < SAMPLES; i++)
	{
		char buffer[KEY_SIZE];
		const char *key;

		bson_uint32_to_string(i, &key, buffer, sizeof buffer);
		bson_append_document_begin(&samples, key, -1, &sample);
		append_date(&sample, "t", second + i);
		append_value(&sample, "v", host, second + i);
		bson_append_document_end(&samples, &sample);
	}
	bson_append_array_end(bucket, &samples);
}

static void
append_parallel(bson_t *bucket, int host, int64_t second)
{
	bson_t array;

	append_header(bucket, host, second);
	for (int is_value = 0; is_value <= 1; is_value++)
	{
		bson_append_array_begin(bucket, is_value ? "v" : "t", -1, &array);
		for (uint32_t i = 0; i < HOUR; i++)
		{
			char buffer[KEY_SIZE];
			const char *key;

			bson_uint32_to_string(i, &key, buffer, sizeof buffer);
			if (is_value)
				append_value(&array, key, host, second + i);
			else
				append_date(&array, key, second + i);
		}
		bson_append_array_end(bucket, &array);
	}
}

/* The series are the keys of each second, so there is one bucket for all. */
static void
append_unpivoted(bson_t *bucket, int host, int64_t second)
{
	bson_t seconds, hosts;

	if (host > 0)
		return;
	append_date(bucket, "d", second);
	bson_append_document_begin(bucket, "v", -1, &seconds);
	for (uint32_t slot = 0; slot < MINUTE; slot++)
	{
		char buffer[KEY_SIZE], name[NAME_SIZE];
		const char *key;

		bson_uint32_to_string(slot, &key, buffer, sizeof buffer);
		bson_append_document_begin(&seconds, key, -1, &hosts);
		for (int i = 0; i < series; i++)
		{
			snprintf(name, sizeof name, "host_%d", i);
			append_value(&hosts, name, i, second + slot);
		}
		bson_append_document_end(&seconds, &hosts);
	}
	bson_append_document_end(bucket, &seconds);
}

/* The series are numbers, the keys of a minute with one value of each. */
static void
append_counters(bson_t *bucket, int host, int64_t second)
{
	bson_t values;

	if (host > 0)
		return;
	append_date(bucket, "d", second);
	bson_append_document_begin(bucket, "v", -1, &values);
	for (uint32_t i = 0; i < (uint32_t) series; i++)
	{
		char buffer[KEY_SIZE];
		const char *key;

		bson_uint32_to_string(i, &key, buffer, sizeof buffer);
		append_value(&values, key, (int) i, second);
	}
	bson_append_document_end(bucket, &values);
}

static void
append_point(bson_t *point, int host, int64_t second)
{
	append_header(point, host, second);
	append_value(point, "v", host, second);
}

/* ---- The shape of TSBS ---- */

static void
append_tags(bson_t *parent, int host)
{
	static const char *const tags[][2] = {{"region", "eu-central-1"},
										  {"datacenter", "eu-central-1a"},
										  {"rack", "6"},
										  {"os", "Ubuntu15.10"},
										  {"arch", "x86"},
										  {"team", "SF"},
										  {"service", "19"},
										  {"service_version", "1"},
										  {"service_environment", "test"}};
	bson_t view;

	bson_append_document_begin(parent, "tags", -1, &view);
	append_host(&view, "hostname", host);
	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
		bson_append_utf8(&view, tags[i][0], -1, tags[i][1], -1);
	bson_append_document_end(parent, &view);
}

/* Append the ten metrics and the time of a point. */
static void
append_event(bson_t *event, int host, int64_t second)
{
	static const char *const metrics[] = {"usage_user",    "usage_system",
										  "usage_idle",    "usage_nice",
										  "usage_iowait",  "usage_irq",
										  "usage_softirq", "usage_steal",
										  "usage_guest",   "usage_guest_nice"};
	int64_t step = second / TSBS_STEP;

	for (int i = 0; i < (int) (sizeof metrics / sizeof metrics[0]); i++)
	{
		int64_t phase = (step * (5 + i) + host * 997) % 7200;

		bson_append_double(event, metrics[i], -1,
						   (double) (llabs(phase - 3600) / 36));
	}
	bson_append_int64(event, "timestamp_ns", -1,
					  (FIRST_SECOND + second) * INT64_C(1000000000));
}

/* Seconds without a point are empty documents. */
static void
append_tsbs(bson_t *bucket, int host, int64_t second)
{
	time_t begin = (time_t) (FIRST_SECOND + second);
	char text[NAME_SIZE], id[2 * NAME_SIZE];
	bson_t minutes, seconds, event;

	strftime(text, sizeof text, "%Y%m%d_%H", gmtime(&begin));
	snprintf(id, sizeof id, "day_host_%d_%s_cpu", host, text);
	bson_append_utf8(bucket, "doc_id", -1, id, -1);
	bson_append_utf8(bucket, "key_id", -1, text, -1);
	bson_append_utf8(bucket, "measurement", -1, "cpu", -1);
	append_tags(bucket, host);
	bson_append_array_begin(bucket, "events", -1, &minutes);
	for (uint32_t i = 0; i < HOUR; i++)
	{
		char buffer[KEY_SIZE];
		const char *key;

		if (i % MINUTE == 0)
		{
			bson_uint32_to_string(i / MINUTE, &key, buffer, sizeof buffer);
			bson_append_array_begin(&minutes, key, -1, &seconds);
		}
		bson_uint32_to_string(i % MINUTE, &key, buffer, sizeof buffer);
		bson_append_document_begin(&seconds, key, -1, &event);
		if (i % TSBS_STEP == 0)
			append_event(&event, host, second + i);
		bson_append_document_end(&seconds, &event);
		if (i % MINUTE == MINUTE - 1)
			bson_append_array_end(&minutes, &seconds);
	}
	bson_append_array_end(bucket, &minutes);
}

/* ---- Sending ---- */

typedef struct Batch
{
	mongoc_collection_t *collection;
	bson_t *documents[MOST_PER_INSERT];
	size_t n;
	size_t bytes;
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
	batch->bytes = 0;
	bson_destroy(&unordered);
}

static void
add(Batch *batch, bson_t *document)
{
	if (bson_empty(document))
	{
		bson_destroy(document);
		return;
	}
	batch->documents[batch->n++] = document;
	batch->bytes += document->len;
	if (batch->n == MOST_PER_INSERT || batch->bytes >= BYTES_PER_INSERT)
		send_batch(batch);
}

static void
create_time_series(mongoc_database_t *db, const char *name)
{
	bson_t *command = BCON_NEW("create", BCON_UTF8(name), "timeseries", "{",
							   "timeField", "d", "metaField", "host", "}");
	bson_error_t error;

	if (!mongoc_database_write_command_with_opts(db, command, NULL, NULL,
												 &error))
	{
		fprintf(stderr, "load: without %s: %s\n", name, error.message);
		exit(2);
	}
	bson_destroy(command);
}

/* ---- Main program ---- */

static const struct Shape
{
	const char *name;
	int span; /* seconds of a bucket */
	AppendBucket append;
} shapes[] = {{"minute", MINUTE, append_minute},
			  {"hour", HOUR, append_hour},
			  {"nested", HOUR, append_nested},
			  {"samples", SAMPLES, append_samples},
			  {"parallel", HOUR, append_parallel},
			  {"unpivoted", MINUTE, append_unpivoted},
			  {"counters", MINUTE, append_counters},
			  {"point", 1, append_point},
			  {"native", 1, append_point},
			  {"tsbs", HOUR, append_tsbs}};

static const struct Shape *
find_shape(const char *name)
{
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		if (strcmp(name, shapes[i].name) == 0)
			return &shapes[i];
	die("no such shape", name);
	return NULL;
}

typedef struct Collection
{
	const char *uri;
	const char *database;
	const char *name;
	const struct Shape *shape;
	int64_t end; /* in seconds */
	int processes;
} Collection;

static mongoc_client_t *
connect_to(const char *text)
{
	bson_error_t error;
	mongoc_uri_t *uri = mongoc_uri_new_with_error(text, &error);
	mongoc_client_t *client;

	if (!uri)
		die("URI", error.message);
	client = mongoc_client_new_from_uri(uri);
	mongoc_uri_destroy(uri);
	return client;
}

/* Drop the collection, or without its name the database. */
static void
begin(const Collection *c)
{
	mongoc_client_t *client = connect_to(c->uri);
	mongoc_database_t *db = mongoc_client_get_database(client, c->database);
	bson_error_t error;

	if (!c->name)
		mongoc_database_drop(db, &error);
	else
	{
		mongoc_collection_t *old = mongoc_database_get_collection(db, c->name);

		mongoc_collection_drop(old, NULL);
		mongoc_collection_destroy(old);
		if (strcmp(c->shape->name, "native") == 0)
			create_time_series(db, c->name);
	}
	mongoc_database_destroy(db);
	mongoc_client_destroy(client);
}

/* Insert every so many buckets of each series, from one of the first ones. */
static void
load(const Collection *c, int process)
{
	mongoc_client_t *client = connect_to(c->uri);
	int64_t step = (int64_t) c->shape->span * c->processes;
	Batch batch = {mongoc_client_get_collection(client, c->database, c->name),
				   {NULL},
				   0,
				   0};

	for (int64_t second = (int64_t) c->shape->span * process; second < c->end;
		 second += step)
		for (int host = 0; host < series; host++)
		{
			bson_t *bucket = bson_new();

			c->shape->append(bucket, host, second);
			add(&batch, bucket);
		}
	send_batch(&batch);
	mongoc_collection_destroy(batch.collection);
	mongoc_client_destroy(client);
}

static void
load_by_processes(const Collection *c)
{
	int status;

	for (int i = 0; i < c->processes; i++)
	{
		pid_t child = fork();

		if (child < 0)
			die("fork", "no process");
		if (child == 0)
		{
			load(c, i);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status != 0)
			die("process", "it has failed");
}

int
main(int argc, char **argv)
{
	Collection c = {.processes = 1};

	if (argc != 3 && argc != 8 && argc != 9)
		die("usage", "load URI DATABASE "
					 "[COLLECTION SHAPE VALUES SERIES HOURS [PROCESSES]]");
	mongoc_init();
	c.uri = argv[1];
	c.database = argv[2];
	if (argc > 3)
	{
		c.name = argv[3];
		c.shape = find_shape(argv[4]);
		kind = (Kind) find_name("no such values", argv[5], kinds);
		series = atoi(argv[6]);
		c.end = (int64_t) (atof(argv[7]) * HOUR + 0.5);
		c.processes = argc > 8 ? atoi(argv[8]) : 1;
	}
	begin(&c);
	if (c.name)
		load_by_processes(&c);
	mongoc_cleanup();
	return 0;
}
