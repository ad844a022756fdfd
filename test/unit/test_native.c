/*
 * test_native.c
 *		Proves that the filter matches every native bucket with a wanted point,
 *		whenever it is, and few others.
 */
#include "core/bson/template.h"
#include "core/query/filter.h"
#include "mongo.h"
#include "points.h"
#include "shell.h"

#define SPAN MTS_HOUR
#define ROUNDING MTS_MINUTE
#define NPOINTS 4

static const TestSpec spec = {"native buckets",
							  {{"ts", "data.ts[]", MTS_ROLE_TIME, NULL, NULL},
							   {"v", "data.v[]", MTS_ROLE_KEY, NULL, NULL}},
							  .first_field = "control.min.ts",
							  .last_field = "control.max.ts"};

typedef struct NativeBucket
{
	MtsTime times[NPOINTS];
	bson_t doc;
} NativeBucket;

static void
open_native(TestTable *table)
{
	MtsError error;

	if (!table_declare(&spec, table, &error))
		tap_fault("%s", error.detail);
	table->layout.reach = (MtsSpan){.usecs = SPAN + ROUNDING};
	table->layout.ids_are_ordered = false;
	table->layout.time_is_date = true;
}

static int64_t
seconds_of(MtsTime t)
{
	return (t - MTS_UNIX_EPOCH) / MTS_SECOND;
}

/* Make a bucket as MongoDB does for a first point at a time. */
static void
fill_native(NativeBucket *bucket, MtsTime t)
{
	MtsTime start = t - (t - MTS_UNIX_EPOCH) % ROUNDING;
	MtsTime first = start < t ? start : t;
	MtsTime least = first;
	MtsTime greatest = start > t ? start : t;
	uint32_t seconds = (uint32_t) seconds_of(start);
	bson_oid_t id = {{0}};
	bson_value_t min = {.value_type = BSON_TYPE_DATE_TIME};
	bson_value_t max = min, oid = {.value_type = BSON_TYPE_OID};

	bucket->times[0] = t;
	for (int i = 1; i < NPOINTS; i++)
	{
		MtsTime room = start + SPAN - first;

		t = first + random_below(room / 1000) * 1000;
		bucket->times[i] = t;
		greatest = t > greatest ? t : greatest;
	}
	for (int i = 0; i < 4; i++)
		id.bytes[i] = (uint8_t) (seconds >> (24 - 8 * i));
	for (int i = 4; i < 12; i++)
		id.bytes[i] = (uint8_t) random_below(256);
	oid.value.v_oid = id;
	min.value.v_datetime = (least - MTS_UNIX_EPOCH) / 1000;
	max.value.v_datetime = (greatest - MTS_UNIX_EPOCH) / 1000;
	bson_init(&bucket->doc);
	mts_template_fields(&bucket->doc,
						"{_id: %v, control: {min: {ts: %v}, max: {ts: %v}}}",
						&oid, &min, &max);
}

static bool
matches(const MtsLayout *layout, MtsRanges ranges, const bson_t *doc,
		char *text)
{
	MtsFilter cond = {.kind = MTS_FILTER_TIME, .ranges = ranges};
	bson_t filter = BSON_INITIALIZER;
	bool found = mts_filter_build(layout, &cond, NULL, &filter);

	snprintf(text, SHELL_TEXT, "%s",
			 shell_print_quoted(&filter, MTS_PRINT_SHELL));
	found = found && mongo_matches(doc, &filter);
	bson_destroy(&filter);
	return found;
}

/* A time around one at which an _id wraps, or clocks are often wrong */
static MtsTime
random_time(bool is_ordered)
{
	static const int64_t ends[] = {0,
								   1700000000,
								   INT64_C(1) << 31,
								   INT64_C(1) << 32,
								   -(INT64_C(1) << 31),
								   INT64_C(5) << 32,
								   -INT64_C(62135596800)};
	int64_t end = ends[random_below(is_ordered ? 2 : 7)];
	int64_t room = random_below(2) ? 2 * SPAN : 400 * MTS_DAY;
	MtsTime t = MTS_UNIX_EPOCH + end * MTS_SECOND;

	t += random_between(is_ordered && end == 0 ? 0 : -room, room);
	return t - (t - MTS_UNIX_EPOCH) % 1000;
}

static void
check_bucket(const TestTable *table, const NativeBucket *bucket)
{
	static char text[SHELL_TEXT];
	MtsRange items[2];
	MtsRanges ranges = {0, items};
	MtsTime at = bucket->times[random_below(NPOINTS)];
	MtsTime from = at - (random_below(2) ? 0 : random_below(2 * SPAN));
	MtsTime to = at + 1 + (random_below(2) ? 0 : random_below(2 * SPAN));

	if (random_below(4) == 0)
		from = MTS_TIME_MIN;
	else if (random_below(4) == 0)
	{
		int64_t gap = 1 + random_below(random_below(2) ? SPAN : 400 * MTS_DAY);

		mts_ranges_add(&ranges, from - gap - 1, from - gap);
	}
	if (random_below(4) == 0)
		to = MTS_TIME_MAX;
	mts_ranges_add(&ranges, from, to);
	if (!matches(&table->layout, ranges, &bucket->doc, text))
	{
		char *json = bson_as_relaxed_extended_json(&bucket->doc, NULL);

		tap_fault("%.800s\nis not matched by %.800s", json, text);
		bson_free(json);
	}
}

static void
test_covers(bool is_ordered)
{
	static NativeBucket bucket;
	TestTable table;

	open_native(&table);
	table.layout.ids_are_ordered = is_ordered;
	for (int turn = 0; turn < 20000; turn++)
	{
		fill_native(&bucket, random_time(is_ordered));
		check_bucket(&table, &bucket);
		bson_destroy(&bucket.doc);
	}
	tap_claim(is_ordered ? "the filter covers the range if no id has wrapped"
						 : "the filter covers the range at any time");
}

/* Count the buckets of 1000 hours that a range of one hour matches. */
static void
test_tight(MtsTime start, const char *name)
{
	static NativeBucket bucket;
	static char text[SHELL_TEXT];
	TestTable table;
	MtsRange range = {start + 500 * SPAN, start + 501 * SPAN};
	int count = 0;

	open_native(&table);
	for (int i = 0; i < 1000; i++)
	{
		fill_native(&bucket, start + i * SPAN);
		count +=
			matches(&table.layout, (MtsRanges){1, &range}, &bucket.doc, text);
		bson_destroy(&bucket.doc);
	}
	is_int(count, 1, name);
}

static void
is_filter(const MtsLayout *layout, MtsTime from, MtsTime to, const char *want,
		  const char *name)
{
	static char text[SHELL_TEXT];
	MtsRange range = {from, to};
	bson_t any = BSON_INITIALIZER;

	matches(layout, (MtsRanges){1, &range}, &any, text);
	is_text(text, want, name);
	bson_destroy(&any);
}

static void
test_shape(void)
{
	MtsTime t = table_time(2024, 1, 1, 12, 0, 0);
	MtsTime wrap = MTS_UNIX_EPOCH + (INT64_C(1) << 32) * MTS_SECOND;
	TestTable table;
	MtsLayout *layout = &table.layout;

	open_native(&table);
	is_filter(
		layout, t, t + MTS_HOUR,
		"{\"control.min.ts\": {$gte: ISODate(\"2024-01-01T09:58:00Z\"), $lt: ISODate(\"2024-01-01T13:00:00Z\")}, \"control.max.ts\": {$gte: ISODate(\"2024-01-01T12:00:00Z\"), $lt: ISODate(\"2024-01-01T15:02:00Z\")}, _id: {$gte: ObjectId(\"65929af40000000000000000\"), $lt: ObjectId(\"6592b7500000000000000000\")}}",
		"two ends");
	is_filter(
		layout, t, MTS_TIME_MAX,
		"{\"control.min.ts\": {$gte: ISODate(\"2024-01-01T09:58:00Z\")}, \"control.max.ts\": {$gte: ISODate(\"2024-01-01T12:00:00Z\")}}",
		"an open end, with wrapped ids");
	is_filter(
		layout, wrap, wrap + MTS_HOUR,
		"{\"control.min.ts\": {$gte: ISODate(\"2106-02-07T04:26:16Z\"), $lt: ISODate(\"2106-02-07T07:28:16Z\")}, \"control.max.ts\": {$gte: ISODate(\"2106-02-07T06:28:16Z\"), $lt: ISODate(\"2106-02-07T09:30:16Z\")}}",
		"a range that wraps");
	is_filter(
		layout, wrap + MTS_DAY, wrap + 2 * MTS_DAY,
		"{\"control.min.ts\": {$gte: ISODate(\"2106-02-08T04:26:16Z\"), $lt: ISODate(\"2106-02-09T06:28:16Z\")}, \"control.max.ts\": {$gte: ISODate(\"2106-02-08T06:28:16Z\"), $lt: ISODate(\"2106-02-09T08:30:16Z\")}, _id: {$gte: ObjectId(\"000143340000000000000000\"), $lt: ObjectId(\"0002a3000000000000000000\")}}",
		"a range after 2106");
	t = table_time(1960, 1, 1, 0, 0, 0);
	is_filter(
		layout, t, t + MTS_HOUR,
		"{\"control.min.ts\": {$gte: ISODate(\"1959-12-31T21:58:00Z\"), $lt: ISODate(\"1960-01-01T01:00:00Z\")}, \"control.max.ts\": {$gte: ISODate(\"1960-01-01T00:00:00Z\"), $lt: ISODate(\"1960-01-01T03:02:00Z\")}, _id: {$gte: ObjectId(\"ed2ffa340000000000000000\"), $lt: ObjectId(\"ed3024dc0000000000000000\")}}",
		"a range before 1970");
	t = table_time(2024, 1, 1, 12, 0, 0);
	layout->ids_are_ordered = true;
	is_filter(
		layout, t, MTS_TIME_MAX,
		"{\"control.min.ts\": {$gte: ISODate(\"2024-01-01T09:58:00Z\")}, \"control.max.ts\": {$gte: ISODate(\"2024-01-01T12:00:00Z\")}, _id: {$gte: ObjectId(\"65929af40000000000000000\")}}",
		"an open end");
	is_filter(
		layout, MTS_TIME_MIN, t,
		"{\"control.min.ts\": {$lt: ISODate(\"2024-01-01T12:00:00Z\")}, \"control.max.ts\": {$lt: ISODate(\"2024-01-01T14:02:00Z\")}}",
		"an open begin");
	is_filter(layout, MTS_TIME_MIN, MTS_TIME_MAX, "{}", "all times");
}

/* The _id of this bucket is like one of March 2025. */
static void
test_early(void)
{
	static NativeBucket bucket;
	static char text[SHELL_TEXT];
	MtsRange before = {MTS_TIME_MIN, table_time(2024, 1, 1, 0, 0, 0)};
	MtsRange after = {table_time(1700, 1, 1, 0, 0, 0), MTS_TIME_MAX};
	TestTable table;

	open_native(&table);
	table.layout.ids_are_ordered = true;
	fill_native(&bucket, table_time(1753, 1, 1, 0, 0, 0));
	ok(matches(&table.layout, (MtsRanges){1, &before}, &bucket.doc, text) &&
		   matches(&table.layout, (MtsRanges){1, &after}, &bucket.doc, text),
	   "an early date, whose id is like that of a late one");
	bson_destroy(&bucket.doc);
}

int
main(void)
{
	tap_seed();
	test_covers(false);
	test_covers(true);
	test_tight(table_time(2024, 1, 1, 0, 0, 0), "an hour is one bucket");
	test_tight(table_time(1960, 1, 1, 0, 0, 0), "before 1970, too");
	test_shape();
	test_early();
	return tap_done();
}
