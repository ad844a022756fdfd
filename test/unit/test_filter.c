/*
 * test_filter.c
 *		Proves that the filter matches every bucket with a wanted point, and
 *		few others.
 */
#include "core/bson/template.h"
#include "core/query/filter.h"
#include "mongo.h"
#include "points.h"
#include "shell.h"

/* Print a filter to a buffer of SHELL_TEXT bytes. */
static void
show(const bson_t *filter, char *text)
{
	snprintf(text, SHELL_TEXT, "%s",
			 shell_print_quoted(filter, MTS_PRINT_SHELL));
}

/* Tell whether the filter of a condition matches the bucket. */
static bool
matches(const MtsLayout *layout, const MtsFilter *cond, const bson_t *doc,
		const bson_t *table_filter, char *text)
{
	bson_t filter = BSON_INITIALIZER;
	bool found = mts_filter_build(layout, cond, table_filter, &filter);

	show(&filter, text);
	found = found && mongo_matches(doc, &filter);
	bson_destroy(&filter);
	return found;
}

static bool
has_point(const Bucket *bucket, const MtsRanges *ranges)
{
	for (int i = 0; i < bucket->npoints; i++)
		if (in_ranges(ranges, bucket->points[i].time))
			return true;
	return false;
}

static void
check_range(const Bucket *bucket, MtsRange range)
{
	const MtsLayout *layout = &bucket->table->layout;
	MtsRange buckets = mts_layout_bucket_range(layout, range);

	for (int i = 0; i < bucket->npoints; i++)
		if (range.from <= bucket->points[i].time &&
			bucket->points[i].time < range.to &&
			(bucket->start < buckets.from || bucket->start >= buckets.to))
			tap_fault("%s: start %lld is not in [%lld, %lld)",
					  bucket->table->spec->name, (long long) bucket->start,
					  (long long) buckets.from, (long long) buckets.to);
}

static void
check_bucket(const Bucket *bucket, const MtsRanges *ranges)
{
	static char filter[SHELL_TEXT];
	MtsFilter cond = {.kind = MTS_FILTER_TIME, .ranges = *ranges};

	/* without a bucket time, the points bound the bucket */
	for (int i = 0; i < ranges->n; i++)
		if (bucket->table->layout.time_kind == MTS_TIME_FLAT ||
			bucket->table->layout.bucket_time.is_set)
			check_range(bucket, ranges->items[i]);
	if (has_point(bucket, ranges) &&
		!matches(&bucket->table->layout, &cond, &bucket->doc, NULL, filter))
	{
		char *json = bson_as_relaxed_extended_json(&bucket->doc, NULL);
		char start[40];

		table_show_time(bucket->start, start, sizeof(start));
		tap_fault("%s from %s:\n%.800s\nis not matched by %.500s",
				  bucket->table->spec->name, start, json, filter);
		bson_free(json);
	}
}

static void
test_covers(const TestTable *table)
{
	static Bucket bucket;
	char name[128];
	MtsRange items[8];
	MtsRanges ranges = {0, items};

	for (int turn = 0; turn < 600; turn++)
	{
		bucket_fill(&bucket, table, bucket_random_start(table),
					1 + (int) random_below(4));
		for (int i = 0; i < 4; i++)
		{
			random_ranges(table, bucket.start, &ranges);
			check_bucket(&bucket, &ranges);
		}
		/* the narrowest range around a point, and adjacent ranges */
		for (int i = -1; i <= 1; i++)
		{
			MtsTime t = bucket.points[0].time + i;

			items[0] = (MtsRange){t, t + 1};
			ranges.n = 1;
			check_bucket(&bucket, &ranges);
		}
		bson_destroy(&bucket.doc);
	}
	snprintf(name, sizeof(name), "the filter covers the range: %s",
			 table->spec->name);
	tap_claim(name);
}

/* Count the buckets from `start` on that match an hour of points. */
static int
count_matches(const TestTable *table, MtsTime from, MtsTime to, MtsTime start,
			  int64_t step, int n)
{
	static Bucket bucket;
	static char filter[SHELL_TEXT];
	MtsRange items[] = {{from, to}};
	MtsFilter cond = {.kind = MTS_FILTER_TIME, .ranges = {1, items}};
	int count = 0;

	for (int i = 0; i < n; i++)
	{
		bucket_fill(&bucket, table, start + i * step, 3);
		count += matches(&table->layout, &cond, &bucket.doc, NULL, filter);
		bson_destroy(&bucket.doc);
	}
	return count;
}

static void
test_tight(void)
{
	MtsTime t = table_time(2013, 10, 10, 23, 0, 0);
	TestTable table;

	table_open(1, &table);
	is_int(count_matches(&table, t, t + MTS_HOUR, t - MTS_HOUR, MTS_MINUTE,
						 180),
		   60, "an hour is 60 buckets of a minute");
	is_int(count_matches(&table, t, t + 1, t - MTS_HOUR, MTS_MINUTE, 180), 1,
		   "a microsecond is one bucket of a minute");
	table_open(3, &table);
	is_int(count_matches(&table, t, t + MTS_HOUR, t - MTS_DAY, MTS_HOUR, 48),
		   1, "an hour is one bucket of an hour");
	table_open(5, &table);
	is_int(count_matches(&table, t, t + MTS_HOUR,
						 t - 23 * MTS_HOUR - 10 * MTS_DAY, MTS_DAY, 20),
		   1, "an hour is one bucket of a day");
	table_open(10, &table);
	is_int(count_matches(&table, t, t + 2 * MTS_HOUR, t - MTS_DAY, MTS_HOUR,
						 48),
		   2, "two hours are two buckets with text");
	table_open(18, &table);
	is_int(count_matches(&table, t, t + MTS_HOUR, t - MTS_DAY, MTS_HOUR, 48),
		   1, "an hour is one bucket of an hour in epoch seconds");
}

/* Print the filter of a condition. */
static void
is_filter(const TestTable *table, MtsFilter *cond, const char *own,
		  const char *want, const char *name)
{
	static char text[SHELL_TEXT];
	bson_t filter = BSON_INITIALIZER;
	bson_t *table_filter =
		own ? bson_new_from_json((const uint8_t *) own, -1, NULL) : NULL;

	strcpy(text, "nothing");
	if (mts_filter_build(&table->layout, cond, table_filter, &filter))
		show(&filter, text);
	is_text(text, want, name);
	bson_destroy(&filter);
	if (table_filter)
		bson_destroy(table_filter);
}

static void
test_shape(void)
{
	MtsTime t = table_time(2013, 10, 10, 23, 0, 0);
	MtsRange items[] = {{t, t + MTS_HOUR},
						{t + MTS_DAY, t + MTS_DAY + 1},
						{t + 3 * MTS_DAY, MTS_TIME_MAX}};
	MtsRange all[] = {{MTS_TIME_MIN, MTS_TIME_MAX}};
	MtsFilter points = {.kind = MTS_FILTER_TIME, .ranges = {1, items}};
	MtsFilter always = {.kind = MTS_FILTER_TRUE};
	MtsFilter never = {.kind = MTS_FILTER_FALSE};
	MtsFilter *args[] = {&points, &never};
	MtsFilter both = {.kind = MTS_FILTER_AND, .nargs = 2, .args = args};
	TestTable table;

	table_open(1, &table);
	is_filter(
		&table, &points, NULL,
		"{timestamp_minute: {$not: {$lt: ISODate(\"2013-10-10T22:59:01Z\")}}, "
		"$and: [{timestamp_minute: {$not: {$gte: ISODate(\"2013-10-11T00:00:00Z\")}}}]}",
		"the filter of an hour in buckets of minutes");
	points.sorted = &table.layout.bucket_time.path;
	is_filter(
		&table, &points, NULL,
		"{timestamp_minute: {$gte: ISODate(\"2013-10-10T22:59:01Z\"), $lt: ISODate(\"2013-10-11T00:00:00Z\")}}",
		"the filter of an hour in buckets that are sorted by their minute");
	points.sorted = NULL;
	is_filter(&table, &always, NULL, "{}", "true has an empty filter");
	is_filter(&table, &never, NULL, "nothing", "false matches nothing");
	is_filter(&table, &both, NULL, "nothing", "points and nothing is nothing");
	both.kind = MTS_FILTER_OR;
	args[1] = &always;
	is_filter(&table, &both, "{\"a\": 1}", "{a: 1}",
			  "an open range leaves the table's own filter");
	points.ranges = (MtsRanges){1, all};
	is_filter(&table, &points, NULL, "{}", "an open range bounds nothing");
	table_open(0, &table);
	is_filter(&table, &points, NULL, "{timestamp: {$ne: null}}",
			  "an open range excludes documents without a time");
	table_open(1, &table);
	points.ranges.n = 0;
	is_filter(&table, &points, NULL, "nothing", "no range matches no bucket");
	table_open(12, &table);
	points.ranges = (MtsRanges){1, items};
	items[0].to = t + 40 * MTS_DAY;
	is_filter(
		&table, &points, NULL,
		"{$or: [{m: {$in: [\"2013:10\", \"2013:11\"]}}, {m: {$not: {$gte: \"\"}}}]}",
		"times as text that does not sort are enumerated");
	items[0].from = MTS_TIME_MIN;
	is_filter(
		&table, &points, NULL, "{}",
		"times as text that does not sort are not enumerated in an open range");
}

/* Replace the time of a bucket by a value of another type. */
static void
replace_time(const TestTable *table, const bson_t *doc, const bson_t *value,
			 bson_t *replaced)
{
	const MtsLayout *layout = &table->layout;
	const MtsPath *path = layout->time_kind == MTS_TIME_FLAT
							  ? &mts_layout_time_column(layout)->path
							  : &layout->bucket_time.path;
	bson_iter_t iter;

	for (bson_iter_init(&iter, doc); bson_iter_next(&iter);)
		if (strlen(bson_iter_key(&iter)) != path->steps[0].len ||
			memcmp(bson_iter_key(&iter), path->steps[0].name,
				   path->steps[0].len) != 0)
			bson_append_iter(replaced, NULL, 0, &iter);
		else
		{
			bson_iter_t first;

			bson_iter_init(&first, value);
			bson_iter_next(&first);
			bson_append_iter(replaced, bson_iter_key(&iter), -1, &first);
		}
}

/*
 * A document whose time has another type than its format's matches every
 * range that has bounds, since reading it is an error; without a time none.
 */
static void
test_other_types(const TestTable *table)
{
	static Bucket bucket;
	static char filter[SHELL_TEXT];
	static const char *const values[] = {"{0: 'x'}", "{0: 7}", "{0: true}",
										 "{0: {a: 1}}", "{0: null}"};
	const MtsLayout *layout = &table->layout;
	const MtsField *field = &layout->bucket_time;
	MtsField flat;
	MtsRange items[1];
	MtsFilter cond = {.kind = MTS_FILTER_TIME, .ranges = {1, items}};
	char name[128];

	if (layout->time_kind == MTS_TIME_FLAT)
	{
		flat = (MtsField){true, mts_layout_time_column(layout)->path,
						  mts_layout_time_column(layout)->format};
		field = &flat;
	}
	if (!field->is_set || field->path.nsteps != 1)
		return;
	bucket_fill(&bucket, table, bucket_random_start(table), 3);
	items[0] = (MtsRange){bucket.start, bucket.start + MTS_DAY};
	for (int i = 0; i < (int) (sizeof(values) / sizeof(values[0])); i++)
	{
		bson_t value = BSON_INITIALIZER, doc = BSON_INITIALIZER;
		bson_t terms = BSON_INITIALIZER, other = BSON_INITIALIZER;
		bson_type_t type = mts_format_type(&field->format);
		bool has_type = type == (i == 0   ? BSON_TYPE_UTF8
								 : i == 1 ? BSON_TYPE_DOUBLE
										  : BSON_TYPE_EOD);
		bool is_null = i == 4;

		mts_template_fields(&value, values[i]);
		replace_time(table, &bucket.doc, &value, &doc);
		if (!has_type &&
			matches(layout, &cond, &doc, NULL, filter) ==
				(is_null && layout->time_kind == MTS_TIME_FLAT) &&
			strcmp(filter, "{}") != 0)
			tap_fault("%s: %s is %smatched by %.500s", table->spec->name,
					  values[i], is_null ? "" : "not ", filter);
		mts_filter_add_other_types(&terms, "0", type, false);
		mts_filter_join(&terms, &other);
		if (mongo_matches(&value, &other) != (!has_type && !is_null))
			tap_fault("%s: %s has no type of its own", table->spec->name,
					  values[i]);
		bson_destroy(&terms);
		bson_destroy(&other);
		bson_destroy(&doc);
		bson_destroy(&value);
	}
	bson_destroy(&bucket.doc);
	snprintf(name, sizeof(name), "the filter finds other types: %s",
			 table->spec->name);
	tap_claim(name);
}

/*
 * Combine a table's filter that contains $and with terms that require another.
 */
static void
test_merging(void)
{
	static char text[SHELL_TEXT];
	MtsTime t = table_time(2013, 10, 10, 23, 0, 0);
	MtsRange items[] = {{t, t + MTS_HOUR}};
	MtsFilter points = {.kind = MTS_FILTER_TIME, .ranges = {1, items}};
	TestTable table;
	bson_t *own = bson_new_from_json(
		(const uint8_t
			 *) "{\"$and\": [{\"a\": 1}], \"timestamp_minute\": {\"$gte\": {\"$date\": \"2013-10-10T23:30:00Z\"}}}",
		-1, NULL);
	bson_t filter = BSON_INITIALIZER;
	bson_iter_t iter;
	int nands = 0;

	table_open(1, &table);
	mts_filter_build(&table.layout, &points, own, &filter);
	show(&filter, text);
	for (bson_iter_init(&iter, &filter); bson_iter_next(&iter);)
		nands += strcmp(bson_iter_key(&iter), "$and") == 0;
	if (!ok(nands == 1, "a filter never has two elements of one name"))
		diag(text);
	bson_destroy(&filter);
	bson_destroy(own);
}

/* The members of an $or get the conditions beside it. */
static void
test_distribute(void)
{
	static const struct
	{
		const char *filter;
		const char *expected; /* NULL if it stays as it is */
	} cases[] = {
		{"{\"a\": 1, \"$or\": [{\"b\": 2, \"c\": 3}, {\"a\": 4}]}",
		 "{ \"$or\" : [ { \"a\" : 1, \"b\" : 2, \"c\" : 3 }, { \"a\" : 1, \"$and\" : [ { \"a\" : 4 } ] } ] }"},
		{"{\"$or\": [{\"b\": 2}]}", NULL},
		{"{\"a\": 1, \"$and\": [{\"$or\": [{\"b\": 2}]}]}", NULL},
		{"{}", NULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		bson_t *filter =
			bson_new_from_json((const uint8_t *) cases[i].filter, -1, NULL);
		bson_t result = BSON_INITIALIZER;
		bool is_new = mts_filter_distribute(filter, &result);
		char *json = bson_as_relaxed_extended_json(&result, NULL);

		if (!ok(is_new == (cases[i].expected != NULL) &&
					(!is_new || strcmp(json, cases[i].expected) == 0),
				"an $or with the conditions beside it"))
			diag(json);
		bson_free(json);
		bson_destroy(&result);
		bson_destroy(filter);
	}
}

#include "bounds.h"
#include "query_tree.h"

int
main(void)
{
	TestTable table;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		table_open(i, &table);
		test_covers(&table);
		test_other_types(&table);
	}
	test_tight();
	test_shape();
	test_merging();
	test_distribute();
	test_trees();
	test_bounds();
	test_shape_of_bounds();
	return tap_done();
}
