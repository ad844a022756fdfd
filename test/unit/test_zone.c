/*
 * test_zone.c
 *		Proves that no point is lost where summer time begins and ends.
 *
 * test_clock.c tests the clock itself.  Bucket times are those that the format
 * can store: the text of a repeated hour means the later one.
 */
#include "core/query/projection.h"
#include "core/query/filter.h"
#include "mongo.h"
#include "points.h"

#define TIME MTS_ROLE_TIME
#define KEY MTS_ROLE_KEY

static TestZone zone;

static const TestSpec specs[] = {
	{"days",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{hour}", KEY, NULL, NULL}},
	 .grain = "day"},
	{"hours",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{minute}", KEY, NULL, NULL}},
	 .grain = "minute"},
	{"six hours",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{minute}", KEY, NULL, NULL}},
	 .span = "6 hours",
	 .grain = "6 hours"},
	{"minutes",
	 {{"ts", "t", TIME, NULL, NULL}, {"v", "v.{second}", KEY, NULL, NULL}},
	 .grain = "minute"},
	{"text to the second",
	 {{"ts", "t", TIME, "text:YYYY-MM-DD\"T\"HH24:MI:SS", NULL},
	  {"v", "v.{second}", KEY, NULL, NULL}},
	 .grain = "second"},
	{"text to the hour",
	 {{"ts", "t", TIME, "text:YYYYMMDD_HH24", NULL},
	  {"v", "v.{minute}", KEY, NULL, NULL}},
	 .grain = "hour"},
	{"unsorted text to the hour",
	 {{"ts", "t", TIME, "text:YYYY:FMMM:DD HH24", NULL},
	  {"v", "v.{minute}", KEY, NULL, NULL}},
	 .grain = "hour"},
	{"points with their own time",
	 {{"ts", "p[].t", TIME, NULL, NULL}, {"v", "p[].v", KEY, NULL, NULL}},
	 .bucket_time_field = "b",
	 .bucket_time_format = "text:YYYYMMDD_HH24",
	 .span = "hour",
	 .grain = "hour"},
};

#define NSPECS ((int) (sizeof(specs) / sizeof(specs[0])))

static void
open_table(const TestSpec *spec, TestTable *table)
{
	MtsError error;

	if (!table_declare(spec, table, &error))
		abort();
	table->layout.clock = table_clock(&zone);
}

/*
 * Return a bucket's start near the end of summer time that its format can
 * store.
 */
static MtsTime
random_start(const TestTable *table)
{
	const MtsLayout *layout = &table->layout;
	const MtsFormat *format = &layout->bucket_time.format;
	MtsTime t = (random_below(2) ? zone.from : zone.to) +
				random_between(-30 * MTS_HOUR, 30 * MTS_HOUR);
	char text[64];

	t = mts_clock_floor(&layout->clock, t, table->grain);
	if (format->kind == MTS_FORMAT_TEXT)
	{
		layout->clock.format(&zone, format->pattern, t, text, sizeof(text));
		layout->clock.parse(&zone, format->pattern, text, strlen(text), &t);
	}
	return t;
}

/* Drop the points after the bucket's end, which is earlier on a short day. */
static void
cut_points(Bucket *bucket)
{
	MtsTime end;
	int n = 0;

	mts_layout_bucket_end(&bucket->table->layout, bucket->start, &end);
	for (int i = 0; i < bucket->npoints; i++)
		if (bucket->points[i].time < end)
			bucket->points[n++] = bucket->points[i];
	bucket->npoints = n;
}

static void
check_filter(const Bucket *bucket, const MtsRanges *ranges)
{
	MtsFilter cond = {.kind = MTS_FILTER_TIME, .ranges = *ranges};
	bson_t filter = BSON_INITIALIZER;
	bool found =
		mts_filter_build(&bucket->table->layout, &cond, NULL, &filter);
	char *json = bson_as_relaxed_extended_json(&filter, NULL);
	char *doc = bson_as_relaxed_extended_json(&bucket->doc, NULL);
	char time[40];

	found = found && mongo_matches(&bucket->doc, &filter);
	for (int i = 0; i < bucket->npoints && !found; i++)
		if (in_ranges(ranges, bucket->points[i].time))
		{
			table_show_time(bucket->points[i].time, time, sizeof(time));
			tap_fault("the point of %s in %.500s\nis not matched by %.500s",
					  time, doc, json);
		}
	bson_free(doc);
	bson_free(json);
	bson_destroy(&filter);
}

/* Like a scan, read a bucket that is not aligned as a whole. */
static void
check_points(const Bucket *bucket, const MtsRanges *ranges)
{
	static Points want, got;
	static char texts[2][4096];
	const MtsLayout *layout = &bucket->table->layout;
	bool needed[TABLE_COLUMNS] = {true, true};
	bson_t projection = BSON_INITIALIZER;
	bson_t doc = BSON_INITIALIZER;
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	if (mts_projection_build(layout, needed, ranges, NULL, MTS_PROJECT_SLOTS,
							 &projection) &&
		mts_clock_floor(&layout->clock, bucket->start, layout->span) !=
			bucket->start)
		bson_reinit(&projection);
	mongo_project(&bucket->doc, &projection, &doc);
	mts_unfold_init(&unfold, layout, ranges, arena);
	points_unfold(&unfold, bson_get_data(&doc), doc.len, &got);
	points_expect(bucket, ranges, &want);
	got.ninvalid = 0;
	points_join(&want, texts[0], sizeof(texts[0]));
	points_join(&got, texts[1], sizeof(texts[1]));
	if (strcmp(texts[0], texts[1]) != 0)
	{
		char *json = bson_as_relaxed_extended_json(&projection, NULL);
		char time[40];

		table_show_time(bucket->start, time, sizeof(time));
		tap_fault("bucket of %s, projection %.800s\n got %.600s\nwant %.600s",
				  time, json, texts[1], texts[0]);
		bson_free(json);
	}
	mts_arena_free(arena);
	bson_destroy(&projection);
	bson_destroy(&doc);
}

static void
test_spec(const TestSpec *spec, bool filter)
{
	static Bucket bucket;
	char name[128];
	TestTable table;
	MtsRange items[8];
	MtsRanges ranges = {0, items};

	open_table(spec, &table);
	for (int turn = 0; turn < 300; turn++)
	{
		bucket_fill(&bucket, &table, random_start(&table), 10);
		cut_points(&bucket);
		for (int i = 0; i < 3; i++)
		{
			random_ranges(&table, bucket.start, &ranges);
			if (filter)
				check_filter(&bucket, &ranges);
			else
				check_points(&bucket, &ranges);
		}
		bson_destroy(&bucket.doc);
	}
	snprintf(name, sizeof(name), "in summer time, %s: %s",
			 filter ? "the filter covers the range"
					: "all points are returned",
			 spec->name);
	tap_claim(name);
}

/* A day in a zone with summer time has 23 or 25 hours of slots. */
static void
test_days(void)
{
	static const int hours[3] = {23, 25, 24};
	MtsTime starts[3] = {table_time(2013, 3, 31, 0, 0, 0),
						 table_time(2013, 10, 26, 23, 0, 0),
						 table_time(2013, 7, 1, 23, 0, 0)};
	MtsRange all[] = {{MTS_TIME_MIN, MTS_TIME_MAX}};
	MtsRanges ranges = {1, all};
	static Points got;

	for (int i = 0; i < 3; i++)
	{
		TestTable table;
		MtsArena *arena = mts_arena_new(realloc, free);
		MtsUnfold unfold;
		bson_t doc = BSON_INITIALIZER;
		bson_t slots;
		char key[16];

		open_table(&specs[0], &table);
		bson_append_date_time(&doc, "t", -1,
							  (starts[i] - MTS_UNIX_EPOCH) / 1000);
		bson_append_document_begin(&doc, "v", -1, &slots);
		for (int hour = 0; hour < 26; hour++)
		{
			snprintf(key, sizeof(key), "%d", hour);
			bson_append_int32(&slots, key, -1, hour);
		}
		bson_append_document_end(&doc, &slots);
		mts_unfold_init(&unfold, &table.layout, &ranges, arena);
		points_unfold(&unfold, bson_get_data(&doc), doc.len, &got);
		ok(got.n == hours[i] && got.ninvalid == 26 - hours[i],
		   "a day of %d hours", hours[i]);
		mts_arena_free(arena);
		bson_destroy(&doc);
	}
}

int
main(void)
{
	zone = (TestZone){table_time(2013, 3, 31, 2, 0, 0),
					  table_time(2013, 10, 27, 2, 0, 0)};
	tap_seed();
	for (int i = 0; i < NSPECS; i++)
	{
		test_spec(&specs[i], true);
		test_spec(&specs[i], false);
	}
	test_days();
	return tap_done();
}
