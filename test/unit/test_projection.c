/*
 * test_projection.c
 *		Proves that a projected bucket has the same points as the whole one.
 */
#include "core/query/projection.h"

#include <time.h>

#include "mongo.h"
#include "points.h"
#include "shell.h"

static void
project(const Bucket *bucket, const bson_t *projection, bson_t *out)
{
	bson_init(out);
	mongo_project(&bucket->doc, projection, out);
}

/* MongoDB refuses a projection that names both a path and one below it. */
static bool
has_collision(const bson_t *projection)
{
	bson_iter_t a, b;

	for (bson_iter_init(&a, projection); bson_iter_next(&a);)
		for (bson_iter_init(&b, projection); bson_iter_next(&b);)
		{
			size_t len = bson_iter_key_len(&a);
			const char *path = bson_iter_key(&b);

			if (bson_iter_offset(&a) != bson_iter_offset(&b) &&
				strncmp(path, bson_iter_key(&a), len) == 0 &&
				(path[len] == '\0' || path[len] == '.'))
				return true;
		}
	return false;
}

static void
check_bucket(MtsUnfold *unfold, const Bucket *bucket, const MtsRanges *ranges)
{
	static Points want, got;
	static char texts[2][4096];
	const MtsLayout *layout = &bucket->table->layout;
	bool narrow = random_below(4) > 0;
	bool needed[TABLE_COLUMNS];
	bool is_narrow;
	bson_t projection = BSON_INITIALIZER;
	bson_t doc;

	/*
	 * the values of a flat table, and of containers beside that of the times,
	 * are projected if needed
	 */
	for (int i = 0; i < TABLE_COLUMNS; i++)
		needed[i] = layout->time_kind != MTS_TIME_SLOTS || random_below(2);
	is_narrow = mts_projection_build(layout, needed, ranges, NULL, narrow,
									 &projection);
	if (is_narrow && !narrow)
		tap_fault("%s: narrow unasked", bucket->table->spec->name);
	if (has_collision(&projection))
		tap_fault("%s: paths collide", bucket->table->spec->name);
	if (is_narrow && mts_clock_floor(&layout->clock, bucket->start,
									 layout->span) != bucket->start)
	{
		/* such a bucket is read again as a whole */
		bson_destroy(&projection);
		return;
	}
	project(bucket, &projection, &doc);
	points_expect(bucket, ranges, &want);
	points_unfold(unfold, bson_get_data(&doc), doc.len, &got);
	points_join(&want, texts[0], sizeof(texts[0]));
	points_join(&got, texts[1], sizeof(texts[1]));
	if (strcmp(texts[0], texts[1]) != 0)
	{
		char *json = bson_as_relaxed_extended_json(&projection, NULL);

		tap_fault("%s: %.900s\n got %.600s\nwant %.600s",
				  bucket->table->spec->name, json, texts[1], texts[0]);
		bson_free(json);
	}
	bson_destroy(&doc);
	bson_destroy(&projection);
}

static void
test_table(const TestTable *table)
{
	static Bucket bucket;
	char name[128];
	MtsRange items[8];
	MtsRanges ranges = {0, items};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	for (int turn = 0; turn < 200; turn++)
	{
		MtsTime start = bucket_random_start(table);

		if (turn % 4 && !mts_span_is_zero(table->layout.span))
			start = mts_clock_floor(&table->layout.clock, start,
									table->layout.span);
		bucket_fill(&bucket, table, start,
					1 + (int) random_below(BUCKET_POINTS));
		for (int i = 0; i < 3; i++)
		{
			random_ranges(table, bucket.start, &ranges);
			check_bucket(&unfold, &bucket, &ranges);
		}
		bson_destroy(&bucket.doc);
	}
	mts_arena_free(arena);
	snprintf(name, sizeof(name), "the projection keeps the points: %s",
			 table->spec->name);
	tap_claim(name);
}

static void
is_projection(int i, MtsTime from, MtsTime to, bool narrow, const char *want,
			  const char *name)
{
	TestTable table;
	MtsRange items[] = {{from, to}};
	MtsRanges ranges = {1, items};
	bool needed[TABLE_COLUMNS] = {true};
	bson_t projection = BSON_INITIALIZER;

	table_open(i, &table);
	mts_projection_build(&table.layout, needed, &ranges, NULL, narrow,
						 &projection);
	is_text(shell_print_quoted(&projection, MTS_PRINT_SHELL), want, name);
	bson_destroy(&projection);
}

static void
test_shape(void)
{
	MtsTime t = table_time(2013, 10, 10, 23, 7, 58);

	is_projection(1, t, t + MTS_SECOND, true,
				  "{\"values.58\": 1, timestamp_minute: 1}", "one second");
	is_projection(1, t + 1, t + 2, true,
				  "{\"values.58\": 1, timestamp_minute: 1}",
				  "a part of a second");
	is_projection(
		1, t, t + 3 * MTS_SECOND, true,
		"{\"values.58\": 1, \"values.59\": 1, \"values.0\": 1, timestamp_minute: 1}",
		"seconds of two buckets");
	is_projection(1, t, t + MTS_HOUR, true, "{values: 1, timestamp_minute: 1}",
				  "a wide range");
	is_projection(1, t, t + MTS_SECOND, false,
				  "{values: 1, timestamp_minute: 1}",
				  "a narrow range where no narrow projection is wanted");
	is_projection(3, t, t + MTS_SECOND, true,
				  "{\"values.7.58\": 1, timestamp_hour: 1}",
				  "one slot of two levels");
	is_projection(3, t, t + 3 * MTS_SECOND, true,
				  "{\"values.7\": 1, \"values.8\": 1, timestamp_hour: 1}",
				  "two outer slots are projected as a whole");
	is_projection(12, t, t + MTS_HOUR, true,
				  "{\"d.10\": 1, \"d.11\": 1, m: 1}", "days from 1");
	is_projection(12, t, t + 1, true, "{\"d.10.23\": 1, m: 1}",
				  "an hour of a day from 1");
	is_projection(26, t, t + 2 * MTS_HOUR, true,
				  "{\"v.10\": 1, \"v.11\": 1, t: 1}", "padded days");
	is_projection(26, t - 17 * MTS_HOUR, t - 16 * MTS_HOUR, true,
				  "{\"v.10.06\": 1, \"v.10.07\": 1, t: 1}",
				  "padded hours of a padded day");
	is_projection(27, t, t + 1, true,
				  "{\"v.h23.a1b\": 1, \"w.h23.a1b\": 1, t: 1}",
				  "text around slots");
	is_projection(28, t, t + 2 * MTS_MINUTE, true,
				  "{\"v.23:07\": 1, \"v.23:08\": 1, \"v.23:09\": 1, t: 1}",
				  "two numbers in a key");
	is_projection(29, t, t + 1, true, "{\"v.x211h008\": 1, t: 1}",
				  "four numbers in a key");
	is_projection(30, t, t + MTS_MINUTE, true,
				  "{\"v.23.1387\": 1, \"v.23.1388\": 1, t: 1}",
				  "minutes of the day");
	is_projection(
		31, t + 1500, t + 3500, true,
		"{\"p.1381446478001\": 1, \"p.1381446478002\": 1, \"p.1381446478003\": 1, start: 1}",
		"times as keys");
	is_projection(31, t, t + MTS_SECOND, true, "{p: 1, start: 1}",
				  "too many times as keys");
	is_projection(32, t, t + 1, true, "{v: 1, w: 1}",
				  "times below the keys of a column");
	is_projection(
		8, t, t + MTS_HOUR, true, "{samples: 1, day: 1, first: 1, last: 1}",
		"points with their own time are projected as a whole, with the bounds");
	is_projection(14, t, t + MTS_HOUR, true, "{timestamps: 1}",
				  "of parallel containers only those that are needed");
	is_projection(11, t, t + MTS_HOUR, true, "{points: 1, _id: 1}",
				  "a part of _id, for which all of _id is projected");
	is_projection(0, t, t + MTS_HOUR, true, "{timestamp: 1}", "a flat table");
	is_projection(
		20, t, t + MTS_HOUR, true, "{}",
		"slots in the document itself, which is projected as a whole");
}

static void
is_key_projection(const char *path, const char *span, const char *keys,
				  bool narrow, const char *want, const char *name)
{
	TestSpec spec = {"keys",
					 {{"t", NULL, MTS_ROLE_TIME, NULL, NULL},
					  {"s", NULL, MTS_ROLE_SLOT, NULL, NULL},
					  {"v", path, MTS_ROLE_VALUE, NULL, NULL}},
					 .span = span};
	TestTable table;
	MtsError error;
	MtsTime t = table_time(2013, 10, 10, 23, 7, 58);
	MtsRange items[] = {{narrow ? t : MTS_TIME_MIN,
						 narrow ? t + 2 * MTS_SECOND : MTS_TIME_MAX}};
	MtsRanges ranges = {1, items};
	bool needed[TABLE_COLUMNS] = {true, true, true};
	bson_t projection = BSON_INITIALIZER;
	bson_t *array = bson_new_from_json((const uint8_t *) keys, -1, NULL);
	MtsSlotTexts texts = {{0}};

	ok(table_declare(&spec, &table, &error), "keys are declared");
	texts.keys[table.layout.columns[1].slot] = array;
	mts_projection_build(&table.layout, needed, &ranges, &texts,
						 MTS_PROJECT_SLOTS, &projection);
	is_text(shell_print_quoted(&projection, MTS_PRINT_SHELL), want, name);
	bson_destroy(&projection);
	bson_destroy(array);
}

/* The wanted keys of {column} slots */
static void
test_keys(void)
{
	is_key_projection("v.{s}", "1 minute", "[\"a\", \"500\"]", false,
					  "{\"v.a\": 1, \"v.500\": 1, t: 1}", "two keys");
	is_key_projection("v.w.{s}.x.{second}", "1 minute", "[\"a\"]", false,
					  "{\"v.w.a.x\": 1, t: 1}", "all seconds below a key");
	is_key_projection("v.w.{s}.x.{second}", "1 minute", "[\"a\", \"b\"]", true,
					  "{\"v.w.a.x.58\": 1, \"v.w.a.x.59\": 1, "
					  "\"v.w.b.x.58\": 1, \"v.w.b.x.59\": 1, t: 1}",
					  "seconds below two keys");
	is_key_projection("v.{second}.{s}", "1 minute", "[\"a\", \"b\"]", true,
					  "{\"v.58.a\": 1, \"v.58.b\": 1, \"v.59.a\": 1, "
					  "\"v.59.b\": 1, t: 1}",
					  "keys below two seconds");
	is_key_projection("v.{20 second:1}.x.{s}", "1 minute", "[\"a\"]", false,
					  "{\"v.1.x.a\": 1, \"v.2.x.a\": 1, \"v.3.x.a\": 1, "
					  "\"v.4.x.a\": 1, t: 1}",
					  "keys below all units");
	is_key_projection("v.{minute}.{second}.{s}", "1 hour", "[\"a\"]", true,
					  "{\"v.7.58.a\": 1, \"v.7.59.a\": 1, t: 1}",
					  "keys below two of two levels");
	is_key_projection("v.{minute}.{second}.{s}", "1 hour", "[\"a\"]", false,
					  "{v: 1, t: 1}", "keys below too many units");
	is_key_projection("v.{second}.{s}", "1 minute",
					  "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", "
					  "\"7\", \"8\", \"9\"]",
					  false, "{v: 1, t: 1}", "too many keys below units");
	is_key_projection("v.{s}", "1 minute", "[\"a\", \"b.c\"]", false,
					  "{v: 1, t: 1}", "a key with a period");
	is_key_projection("v.{s}", "1 minute", "[\"$a\"]", false, "{v: 1, t: 1}",
					  "a key that begins with a dollar sign");
	is_key_projection("v.{s}", "1 minute", "[\"\"]", false, "{v: 1, t: 1}",
					  "an empty key");
	is_key_projection("_id.v.{s}", "1 minute", "[\"a\"]", false,
					  "{_id: 1, t: 1}", "keys in the _id");
}

/* The slots of many columns become a projection in a short time. */
static void
test_many_slots(void)
{
	static const TestSpec spec =
		{"many slots",
		 {{"t", NULL, MTS_ROLE_TIME, NULL, NULL},
		  {"a", "a.{second}", MTS_ROLE_VALUE, NULL, NULL},
		  {"b", "b.{second}", MTS_ROLE_VALUE, NULL, NULL},
		  {"c", "c.{second}", MTS_ROLE_VALUE, NULL, NULL},
		  {"d", "d.{second}", MTS_ROLE_VALUE, NULL, NULL}},
		 .span = "1 hour"};
	MtsTime t = table_time(2013, 10, 10, 23, 7, 58);
	MtsRange items[] = {{t, t + 500 * MTS_SECOND}};
	MtsRanges ranges = {1, items};
	bool needed[TABLE_COLUMNS] = {true, true, true, true, true};
	clock_t begin = clock();
	TestTable table;
	MtsError error;
	int n = 0;

	ok(table_declare(&spec, &table, &error), "many slots are declared");
	for (int i = 0; i < 100; i++)
	{
		bson_t projection = BSON_INITIALIZER;

		mts_projection_build(&table.layout, needed, &ranges, NULL, true,
							 &projection);
		n = (int) bson_count_keys(&projection);
		bson_destroy(&projection);
	}
	ok(n == 4 * 500 + 1, "all of many slots are projected");
	ok(clock() - begin < 3 * CLOCKS_PER_SEC,
	   "many slots are projected in a short time");
}

int
main(void)
{
	TestTable table;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		table_open(i, &table);
		test_table(&table);
	}
	test_shape();
	test_keys();
	test_many_slots();
	return tap_done();
}
