/*
 * encode.c
 *		Makes buckets of points and inserts them, without PostgreSQL.
 *
 * The points are those that the extension is given, in the order of time, all
 * series in turn.  Each is looked up by the text of its series, and appended
 * to its bucket by libbson.  A bucket is sent when a point of its series
 * belongs to the next one.  The time has this and the bulk writes; reading the
 * points from a file is not in it.
 */
#include "encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MINUTE 60
#define HOUR 3600
#define DAY 86400
#define SAMPLES 200
#define TSBS_STEP 10
#define NAME_SIZE 16
#define KEY_SIZE 8
#define MEASURES 10
#define MOST_FILES 8
#define PLACES 1024 /* a power of two, more than there are series */

typedef enum Kind
{
	KIND_DOUBLE,
	KIND_INT,
	KIND_LONG
} Kind;

typedef struct Point
{
	int64_t second;
	char host[NAME_SIZE];
	double values[MEASURES];
} Point;

typedef struct Points
{
	char *file;
	size_t n;
	Point *items;
} Points;

/* A bucket whose points are coming */
typedef struct Bucket
{
	char host[NAME_SIZE]; /* empty if the place is free */
	int64_t start;        /* in seconds */
	int64_t first;
	int64_t last;
	uint32_t n; /* points */
	bson_t *document;
	bson_t outer;  /* of slots */
	bson_t inner;  /* of the slots of a minute or a second */
	int64_t group; /* which inner is open; -1 if none */
	int64_t next;  /* the next index of inner */
} Bucket;

typedef struct Shape
{
	const char *name;
	int span; /* seconds of a bucket */
	void (*begin)(Bucket *bucket);
	void (*append)(Bucket *bucket, const Point *point);
	void (*end)(Bucket *bucket);
} Shape;

static Kind kind;

/* "0", "1" and so on, and their lengths */
static char keys[HOUR][KEY_SIZE];
static int lengths[HOUR];

/* ---- The points ---- */

/* Read a line of COPY's text: a time such as 2013-10-01 00:00:00+00, a series
 * and values. */
static void
read_point(char *line, Point *point)
{
	struct tm tm = {0};
	char *end, *rest = strchr(line, '\t');
	size_t length;

	if (!rest || sscanf(line, "%d-%d-%d %d:%d:%d", &tm.tm_year, &tm.tm_mon,
						&tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		die("no point", line);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	point->second = timegm(&tm);
	length = strcspn(++rest, "\t");
	if (length >= NAME_SIZE)
		die("a long name", rest);
	memcpy(point->host, rest, length);
	rest += length;
	for (int i = 0; i < MEASURES && *rest == '\t'; i++, rest = end)
		point->values[i] = strtod(rest + 1, &end);
}

static const Points *
read_points(const char *name)
{
	static Points files[MOST_FILES];
	size_t size = 0, room = 0;
	char *line = NULL;
	Points *points = files;
	FILE *file;

	while (points < files + MOST_FILES && points->file)
	{
		if (strcmp(points->file, name) == 0)
			return points;
		points++;
	}
	file = fopen(name, "r");
	if (!file || points == files + MOST_FILES)
		die("points", name);
	points->file = strdup(name);
	while (getline(&line, &size, file) > 0)
	{
		if (points->n == room)
		{
			room = room ? 2 * room : 1 << 16;
			points->items = realloc(points->items, room * sizeof(Point));
		}
		memset(&points->items[points->n], 0, sizeof(Point));
		read_point(line, &points->items[points->n++]);
	}
	fclose(file);
	free(line);
	return points;
}

/* ---- Parts of documents ---- */

static void
append_value(bson_t *parent, const char *key, int length, double value)
{
	if (kind == KIND_INT)
		bson_append_int32(parent, key, length, (int32_t) value);
	else if (kind == KIND_LONG)
		bson_append_int64(parent, key, length, (int64_t) value);
	else
		bson_append_double(parent, key, length, value);
}

static void
append_date(bson_t *parent, const char *key, int length, int64_t second)
{
	bson_append_date_time(parent, key, length, second * 1000);
}

static void
append_header(Bucket *bucket)
{
	bson_append_utf8(bucket->document, "host", 4, bucket->host, -1);
	append_date(bucket->document, "d", 1, bucket->start);
}

static void
append_slot(bson_t *parent, int64_t slot, const Point *point)
{
	append_value(parent, keys[slot], lengths[slot], point->values[0]);
}

/* ---- Shapes ---- */

static void
begin_slots(Bucket *bucket)
{
	append_header(bucket);
	bson_append_document_begin(bucket->document, "v", 1, &bucket->outer);
}

static void
append_to_slots(Bucket *bucket, const Point *point)
{
	append_slot(&bucket->outer, point->second - bucket->start, point);
}

static void
end_slots(Bucket *bucket)
{
	if (bucket->group >= 0)
		bson_append_document_end(&bucket->outer, &bucket->inner);
	bson_append_document_end(bucket->document, &bucket->outer);
}

/* Open the subdocument of a minute or a second. */
static void
enter(Bucket *bucket, int64_t group)
{
	if (bucket->group == group)
		return;
	if (bucket->group >= 0)
		bson_append_document_end(&bucket->outer, &bucket->inner);
	bson_append_document_begin(&bucket->outer, keys[group], lengths[group],
							   &bucket->inner);
	bucket->group = group;
}

static void
append_nested(Bucket *bucket, const Point *point)
{
	int64_t slot = point->second - bucket->start;

	enter(bucket, slot / MINUTE);
	append_slot(&bucket->inner, slot % MINUTE, point);
}

/* One bucket has all series. */
static void
begin_unpivoted(Bucket *bucket)
{
	append_date(bucket->document, "d", 1, bucket->start);
	bson_append_document_begin(bucket->document, "v", 1, &bucket->outer);
}

static void
append_unpivoted(Bucket *bucket, const Point *point)
{
	enter(bucket, point->second - bucket->start);
	append_value(&bucket->inner, point->host, -1, point->values[0]);
}

static void
begin_samples(Bucket *bucket)
{
	append_header(bucket);
	bson_append_array_begin(bucket->document, "samples", 7, &bucket->outer);
}

static void
append_sample(Bucket *bucket, const Point *point)
{
	bson_t sample;

	bson_append_document_begin(&bucket->outer, keys[bucket->n],
							   lengths[bucket->n], &sample);
	append_date(&sample, "t", 1, point->second);
	append_value(&sample, "v", 1, point->values[0]);
	bson_append_document_end(&bucket->outer, &sample);
}

static void
end_samples(Bucket *bucket)
{
	bson_append_array_end(bucket->document, &bucket->outer);
	bson_append_int32(bucket->document, "n", 1, (int32_t) bucket->n);
	append_date(bucket->document, "first", 5, bucket->first);
	append_date(bucket->document, "last", 4, bucket->last);
}

/* The values wait in an array of their own. */
static void
begin_parallel(Bucket *bucket)
{
	append_header(bucket);
	bson_append_array_begin(bucket->document, "t", 1, &bucket->outer);
	bson_init(&bucket->inner);
}

static void
append_parallel(Bucket *bucket, const Point *point)
{
	const char *key = keys[bucket->n];
	int length = lengths[bucket->n];

	append_date(&bucket->outer, key, length, point->second);
	append_value(&bucket->inner, key, length, point->values[0]);
}

static void
end_parallel(Bucket *bucket)
{
	bson_append_array_end(bucket->document, &bucket->outer);
	bson_append_array(bucket->document, "v", 1, &bucket->inner);
	bson_destroy(&bucket->inner);
}

static void
append_point(Bucket *bucket, const Point *point)
{
	append_header(bucket);
	append_value(bucket->document, "v", 1, point->values[0]);
}

static void
begin_tsbs(Bucket *bucket)
{
	time_t start = (time_t) bucket->start;
	char text[NAME_SIZE];
	struct tm tm;
	bson_t tags;

	strftime(text, sizeof text, "%Y%m%d_%H", gmtime_r(&start, &tm));
	bson_append_utf8(bucket->document, "key_id", 6, text, -1);
	bson_append_document_begin(bucket->document, "tags", 4, &tags);
	bson_append_utf8(&tags, "hostname", 8, bucket->host, -1);
	bson_append_document_end(bucket->document, &tags);
	bson_append_utf8(bucket->document, "measurement", 11, "cpu", 3);
	bson_append_array_begin(bucket->document, "events", 6, &bucket->outer);
}

/* Append empty documents up to a second of the hour. */
static void
pad(Bucket *bucket, int64_t end)
{
	bson_t empty = BSON_INITIALIZER;

	for (; bucket->next < end; bucket->next++)
	{
		int64_t minute = bucket->next / MINUTE, i = bucket->next % MINUTE;

		if (bucket->group != minute)
		{
			bson_append_array_begin(&bucket->outer, keys[minute],
									lengths[minute], &bucket->inner);
			bucket->group = minute;
		}
		bson_append_document(&bucket->inner, keys[i], lengths[i], &empty);
		if (i == MINUTE - 1)
			bson_append_array_end(&bucket->outer, &bucket->inner);
	}
}

static void
append_event(Bucket *bucket, const Point *point)
{
	static const char *const names[MEASURES] =
		{"usage_user",   "usage_system",    "usage_idle",    "usage_nice",
		 "usage_iowait", "usage_irq",       "usage_softirq", "usage_steal",
		 "usage_guest",  "usage_guest_nice"};
	int64_t slot = point->second - bucket->start;
	int64_t minute = slot / MINUTE, i = slot % MINUTE;
	bson_t event;

	pad(bucket, slot);
	if (bucket->group != minute)
	{
		bson_append_array_begin(&bucket->outer, keys[minute], lengths[minute],
								&bucket->inner);
		bucket->group = minute;
	}
	bson_append_document_begin(&bucket->inner, keys[i], lengths[i], &event);
	bson_append_int64(&event, "timestamp_ns", 12,
					  point->second * INT64_C(1000000000));
	for (int m = 0; m < MEASURES; m++)
		bson_append_double(&event, names[m], -1, point->values[m]);
	bson_append_document_end(&bucket->inner, &event);
	bucket->next++;
}

static void
end_tsbs(Bucket *bucket)
{
	pad(bucket, HOUR);
	bson_append_array_end(bucket->document, &bucket->outer);
}

static const Shape shapes[] =
	{{"minute", MINUTE, begin_slots, append_to_slots, end_slots},
	 {"hour", HOUR, begin_slots, append_to_slots, end_slots},
	 {"nested", HOUR, begin_slots, append_nested, end_slots},
	 {"samples", DAY, begin_samples, append_sample, end_samples},
	 {"parallel", HOUR, begin_parallel, append_parallel, end_parallel},
	 {"unpivoted", MINUTE, begin_unpivoted, append_unpivoted, end_slots},
	 {"point", 1, NULL, append_point, NULL},
	 {"native", 1, NULL, append_point, NULL},
	 {"tsbs", HOUR, begin_tsbs, append_event, end_tsbs}};

/* ---- Sending ---- */

typedef struct Sender
{
	mongoc_collection_t *collection;
	mongoc_bulk_operation_t *bulk;
	int64_t size; /* documents of a bulk */
	Total *total;
} Sender;

/* Send a bucket, and free its place. */
static void
send_bucket(Sender *sender, const Shape *shape, Bucket *bucket)
{
	bson_t opts = BSON_INITIALIZER;
	bson_error_t error;

	if (shape->end)
		shape->end(bucket);
	bson_append_bool(&opts, "validate", -1, false);
	if (!sender->bulk)
		sender->bulk = begin_bulk(sender->collection);
	if (!mongoc_bulk_operation_insert_with_opts(sender->bulk, bucket->document,
												&opts, &error))
		die("insert", error.message);
	sender->total->bytes += bucket->document->len;
	if (++sender->total->documents % sender->size == 0)
	{
		run_bulk(sender->bulk);
		sender->bulk = NULL;
	}
	bson_destroy(bucket->document);
	bucket->document = NULL;
}

/* Return the place of a series' bucket. */
static Bucket *
find_place(Bucket *places, const char *host)
{
	uint32_t hash = 2166136261u;

	for (const char *c = host; *c; c++)
		hash = (hash ^ (uint8_t) *c) * 16777619u;
	for (;; hash++)
	{
		Bucket *bucket = &places[hash % PLACES];

		if (bucket->host[0] == '\0')
			strcpy(bucket->host, host);
		if (strcmp(bucket->host, host) == 0)
			return bucket;
	}
}

static void
begin_bucket(const Shape *shape, Bucket *bucket, const Point *point)
{
	bucket->document = bson_sized_new(1024);
	bucket->start = point->second - point->second % shape->span;
	bucket->first = point->second;
	bucket->n = 0;
	bucket->group = -1;
	bucket->next = 0;
	if (shape->begin)
		shape->begin(bucket);
}

static void
add_point(Sender *sender, const Shape *shape, Bucket *places,
		  const Point *point)
{
	bool has_all = shape->begin == begin_unpivoted;
	Bucket *bucket = find_place(places, has_all ? "all" : point->host);

	if (bucket->document &&
		(point->second >= bucket->start + shape->span ||
		 (shape->begin == begin_samples && bucket->n == SAMPLES)))
		send_bucket(sender, shape, bucket);
	if (!bucket->document)
		begin_bucket(shape, bucket, point);
	shape->append(bucket, point);
	bucket->last = point->second;
	bucket->n++;
	/* no other point belongs to it */
	if (!shape->begin)
		send_bucket(sender, shape, bucket);
}

static const Shape *
find_shape(const char *name)
{
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		if (strcmp(name, shapes[i].name) == 0)
			return &shapes[i];
	die("no such shape", name);
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

void
encode_points(mongoc_collection_t *collection, const char *file,
			  const char *shape_name, const char *kind_name, int64_t size,
			  Total *total, double *took)
{
	const Points *points = read_points(file);
	const Shape *shape = find_shape(shape_name);
	Bucket *places = calloc(PLACES, sizeof(Bucket));
	Sender sender = {collection, NULL, size, total};
	double began;

	kind = strcmp(kind_name, "int") == 0    ? KIND_INT
		   : strcmp(kind_name, "long") == 0 ? KIND_LONG
											: KIND_DOUBLE;
	for (int i = 0; i < HOUR; i++)
		lengths[i] = snprintf(keys[i], KEY_SIZE, "%d", i);
	began = now();
	for (size_t i = 0; i < points->n; i++)
		add_point(&sender, shape, places, &points->items[i]);
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].document)
			send_bucket(&sender, shape, &places[i]);
	if (sender.bulk)
		run_bulk(sender.bulk);
	*took = now() - began;
	free(places);
}
