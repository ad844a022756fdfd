/*
 * test_invalid.c
 *		Proves that invalid parts of a bucket are reported, and its other
 *		points are returned.
 *
 * Also distinguishes null, absent, missing and empty.
 */
#include "points.h"

#define AT "{\"$date\": \"2013-10-10T23:06:00Z\"}"
#define MS "{\"$numberLong\": \"1381446360000\"}"
#define P "2013-10-10 23:06:0"

typedef struct Case
{
	int table; /* index in table_specs */
	const char *json;
	const char *want; /* the points, and the number of invalid values */
	const char *name;
} Case;

static const Case cases[] = {
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"1\": null, \"3\": 5}}",
	 P "1.000000 1 value=null; " P "3.000000 3 value=5",
	 "a null is a point, absent slots are not"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"1\": {}}}", "",
	 "an empty subdocument is not a point"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {}}", "", "no slots"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": null}", "",
	 "a null on the way"},
	{1, "{\"timestamp_minute\": " AT "}", "", "no container"},
	{1,
	 "{\"timestamp_minute\": " AT
	 ", \"values\": {\"total\": 9, \"1\": 5, \"1x\": 7, \"\": 8, \"-\": 1, \"1.5\": 2}}",
	 P "1.000000 1 value=5", "keys that are not numbers are not points"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"07\": 1, \"8\": 2}}",
	 P
	 "8.000000 8 value=2 (1: values.07: The key \"07\" is not a number of at most 18 digits without leading zeros.)",
	 "07 is not a key"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"60\": 1, \"8\": 2}}",
	 P
	 "8.000000 8 value=2 (1: values.60: The key 60 is out of range for its slot.)",
	 "a key that is too large"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"8\": 2, \"-1\": 2}}",
	 P
	 "8.000000 8 value=2 (1: values.-1: The key -1 is out of range for its slot.)",
	 "a negative key"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": {\"-0\": 2}}",
	 " (1: values.-0: The key \"-0\" is not a number of at most 18 digits without leading zeros.)",
	 "-0"},
	{1,
	 "{\"timestamp_minute\": " AT
	 ", \"values\": {\"9999999999999999999999\": 2, \"999999999999999999\": 1}}",
	 " (2: values.9999999999999999999999: The key \"9999999999999999999999\" is not a number of at most 18 digits without leading zeros.)",
	 "a key with too many digits"},
	{26,
	 "{\"t\": {\"$date\": \"2013-10-01T00:00:00Z\"}, \"v\": {\"10\": {\"7\": 1, \"07\": 2, \"24\": 3, \"x\": 4}, \"9\": {}, \"09\": {\"23\": 5}}}",
	 "2013-10-09 23:00:00.000000 9 23 v=5; 2013-10-10 07:00:00.000000 10 7 v=2 (3: v.10.7: The key \"7\" is not written like the slot's first key, \"00\".)",
	 "padded keys"},
	{26,
	 "{\"t\": {\"$date\": \"2013-10-01T00:00:00Z\"}, \"v\": {\"00\": {\"00\": 1}}}",
	 " (1: v.00: The key 00 is out of range for its slot.)",
	 "a padded key that is out of range"},
	{28,
	 "{\"t\": {\"$date\": \"2013-10-10T00:00:00Z\"}, \"v\": {\"07:19\": 1, \"total\": 2, \"24:00\": 3}}",
	 "2013-10-10 07:19:00.000000 439 v=1 (1: v.24:00: The key 24:00 is out of range for its slot.)",
	 "a key with two numbers that is out of range"},
	{28,
	 "{\"t\": {\"$date\": \"2013-10-10T00:00:00Z\"}, \"v\": {\"07:60\": 1}}",
	 " (1: v.07:60: The key \"07:60\" is not written like the slot's first key, \"00:00\".)",
	 "an inner number that is out of range"},
	{31,
	 "{\"start\": {\"$date\": \"2013-10-10T00:00:00Z\"}, \"p\": {\"1381363200250\": {\"v\": 1}, \"01381363200250\": {\"v\": 2}, \"n\": 1, \"x\": {\"v\": 3}, \"1381366800000\": {\"v\": 4}}}",
	 "2013-10-10 00:00:00.250000 1381363200250 v=1 (2: p.01381363200250.v: The key \"01381363200250\" is not a number of at most 18 digits without leading zeros.)",
	 "keys that are times in milliseconds"},
	{32,
	 "{\"v\": {\"a\": {\"2013-10-10 23:06:01\": 1, \"2013-10-10 23:6:01\": 2}}}",
	 "2013-10-10 23:06:01.000000 a 2013-10-10 23:06:01 v=1 (1: v.a.2013-10-10 23:6:01: The text \"2013-10-10 23:6:01\" does not match pattern \"YYYY-MM-DD HH24:MI:SS\".)",
	 "keys that are texts of times"},
	{30,
	 "{\"t\": {\"$date\": \"2013-10-10T00:00:00Z\"}, \"v\": {\"23\": {\"1380\": 1, \"5\": 2}}}",
	 "2013-10-10 23:00:00.000000 23 1380 v=1 (1: v.23.5: The key 5 is out of range for its slot.)",
	 "a minute of the day in another hour"},
	{30,
	 "{\"t\": {\"$date\": \"2013-10-10T23:30:00Z\"}, \"v\": {\"0\": {\"1439\": 1, \"1440\": 2, \"0\": 3}}}",
	 "2013-10-10 23:59:00.000000 0 1439 v=1 (2: v.0.1440: The key 1440 is out of range for its slot.)",
	 "an hour that lies in two days"},
	{30,
	 "{\"t\": {\"$date\": \"2013-10-10T23:30:30Z\"}, \"v\": {\"0\": {\"1410\": 1}}}",
	 " (1: v.0: The slots below count from the start of a unit, but the slot around them does not start a whole number of slots after it.)",
	 "an hour that does not begin with a minute"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": [1, 2]}",
	 " (1: values: The points must be in a subdocument, not in a value of type array.)",
	 "an array in place of a subdocument"},
	{1, "{\"timestamp_minute\": " AT ", \"values\": 7}",
	 " (1: values: The points must be in a subdocument, not in a value of type int.)",
	 "a number in place of a subdocument"},
	{1, "{\"values\": {\"1\": 1}}",
	 " (1: timestamp_minute: The bucket has no time in field \"timestamp_minute\".)",
	 "no bucket time"},
	{1, "{\"timestamp_minute\": null, \"values\": {\"1\": 1}}",
	 " (1: timestamp_minute: The bucket has no time in field \"timestamp_minute\".)",
	 "a null as bucket time"},
	{1, "{\"timestamp_minute\": \"2013\", \"values\": {\"1\": 1}}",
	 " (1: timestamp_minute: The time is declared as a date, but stored as string.)",
	 "text as bucket time"},
	{1,
	 "{\"timestamp_minute\": {\"$date\": {\"$numberLong\": \"9223372036854775807\"}}, \"values\": {\"1\": 1}}",
	 " (1: timestamp_minute: The time is out of range.)",
	 "a time out of range"},
	{3,
	 "{\"timestamp_hour\": " AT
	 ", \"values\": {\"0\": null, \"1\": {}, \"2\": 7, \"3\": {\"0\": 1}}}",
	 "2013-10-10 23:09:00.000000 3 0 value=1 (1: values.2: The points must be in a subdocument, not in a value of type int.)",
	 "a number between the slots"},
	{3,
	 "{\"timestamp_hour\": " AT
	 ", \"values\": {\"total\": {\"1\": 5}, \"60\": {\"1\": 1}, \"59\": {\"60\": 1, \"59\": 2}}}",
	 "2013-10-11 00:05:59.000000 59 59 value=2 (2: values.60: The key 60 is out of range for its slot.)",
	 "keys at either level"},
	{12,
	 "{\"m\": \"2013:2\", \"d\": {\"28\": {\"0\": {\"c\": 1}}, \"29\": {\"0\": {\"c\": 2}}, \"0\": {\"0\": {\"c\": 2}}}}",
	 "2013-02-28 00:00:00.000000 28 0 c=1 (2: d.29: The key 29 is out of range for its slot.)",
	 "days that February does not have"},
	{12, "{\"m\": \"2013:02\", \"d\": {\"1\": {\"0\": {\"c\": 1}}}}",
	 " (1: m: The text \"2013:02\" does not match pattern \"YYYY:FMMM\".)",
	 "text that does not match the pattern"},
	{12,
	 "{\"m\": \"2013:3\", \"d\": {\"total\": 4, \"1\": {\"total\": 3, \"0\": {\"c\": 1}, \"1\": {\"x\": 1}, \"2\": null, \"3\": {}, \"4\": 5}}}",
	 "2013-03-01 00:00:00.000000 1 0 c=1; 2013-03-01 01:00:00.000000 1 1 (1: d.1.4: The point must be a subdocument, not a value of type int.)",
	 "sibling totals, a null, an empty and a wrong point"},
	{13,
	 "{\"ts\": " AT
	 ", \"values\": {\"1\": {\"cpu\": 1, \"7\": null, \"\": 3}}}",
	 P "1.000000 1  value=3; " P "1.000000 1 7 value=null; " P
	   "1.000000 1 cpu value=1",
	 "any key is a column's value"},
	{14, "{\"timestamps\": [" AT ", null, 5], \"values\": [1, 2, 3]}",
	 P "0.000000 0 value=1 (2: timestamps.1: The point has no time.)",
	 "an array with points without a time"},
	{14, "{\"timestamps\": [" AT ", " AT "], \"values\": [1]}",
	 P "0.000000 0 value=1; " P "0.000000 1", "arrays of different lengths"},
	{14, "{\"timestamps\": [" AT "], \"values\": [1, 2]}",
	 P "0.000000 0 value=1 (1: timestamps.1: The point has no time.)",
	 "a value without a time"},
	{14, "{\"timestamps\": 5, \"values\": [1]}",
	 " (1: timestamps: The points must be in an array, not in a value of type int.)",
	 "a number in place of an array"},
	{14, "{\"timestamps\": {\"0\": " AT "}, \"values\": {\"0\": 7}}",
	 " (1: timestamps: The points must be in an array, not in a value of type object.)",
	 "subdocuments in a bucket without bounds"},
	{34,
	 "{\"first\": " AT ", \"timestamps\": {\"0\": " AT ", \"2\": " AT
	 "}, \"values\": {\"2\": 7}}",
	 P "0.000000 0; " P "0.000000 2 value=7",
	 "subdocuments with the keys of arrays"},
	{34,
	 "{\"first\": " AT ", \"timestamps\": {\"1\": " AT ", \"0\": " AT
	 ", \"a\": " AT "}, \"values\": {}}",
	 P
	 "0.000000 1 (2: timestamps.0: The key \"0\" is not the next index of an array.)",
	 "keys that are not the next index"},
	{24,
	 "{\"candles\": [[" MS ", 1, 2, 3, 4.5], [" MS
	 ", 1, null], [], null, {}, {\"0\": " MS ", \"4\": 7}, [5], [null], 6]}",
	 "1970-01-01 00:00:00.005000 6; " P "0.000000 0 close=double high=2; " P
	 "0.000000 1 high=null; " P
	 "0.000000 5 close=7 (2: candles.7.0: The point has no time.)",
	 "tuples that are short, empty or no tuples"},
	{25,
	 "{\"span\": [0, " AT
	 "], \"k\": [{\"0\": [0, [7], 0, 1], \"1\": [0, 5], \"2\": 8, \"3\": []}]}",
	 P
	 "0.000000 0 v=1 w=7; 2013-10-11 00:06:00.000000 1 (1: k.0.2: The point must be a subdocument, not a value of type int.)",
	 "tuples in slots"},
	{8, "{\"day\": " AT ", \"first\": " AT ", \"last\": " AT "}",
	 " (1: first: The time is declared as a number, but stored as date.)",
	 "bounds of the wrong type"},
	{11,
	 "{\"_id\": {\"origin\": " AT
	 "}, \"points\": [{\"offset\": 1.5, \"sum\": 1}, {\"offset\": 60, \"sum\": 2}, {\"offset\": -1, \"sum\": 3}, {\"offset\": \"1\"}, {}, null, 7]}",
	 P
	 "1.500000 0 sum=1 (4: points.1.offset: The point's time is outside of its bucket.)",
	 "offsets outside of the bucket, and no points"},
	{11, "{\"_id\": 5, \"points\": []}",
	 " (1: _id.origin: A value on the path is not a subdocument.)",
	 "a value that is not a document on the way to the bucket time"},
	{10,
	 "{\"key_id\": \"20131010_23\", \"events\": [null, [null, {}, {\"ts_ns\": {\"$numberLong\": \"1381446421000000000\"}, \"usage_user\": 4}], []]}",
	 "2013-10-10 23:07:01.000000 1 2 user=4", "an array padded with nulls"},
	{10,
	 "{\"key_id\": \"20131010_23\", \"events\": [[{\"ts_ns\": {\"$numberLong\": \"1381446421000000001\"}, \"usage_user\": 4}]]}",
	 " (1: events.0.0.ts_ns: 1381446421000000001 nanoseconds are not a whole number of microseconds.)",
	 "nanoseconds"},
	{16,
	 "{\"ts\": {\"$numberLong\": \"1381446360000\"}, \"temp\": {\"7\": 1, \"3\": 2, \"x\": 5}, \"hum\": {\"5\": 3, \"7\": 4, \"61\": 5}}",
	 P
	 "3.000000 3 temp=2; " P "5.000000 5 hum=3; " P
	 "7.000000 7 temp=1 hum=4 (1: hum.61: The key 61 is out of range for its slot.)",
	 "zipped containers with gaps, slots in any order"},
	{16,
	 "{\"ts\": {\"$numberLong\": \"1381446360000\"}, \"temp\": null, \"hum\": {\"5\": 3}}",
	 P "5.000000 5 hum=3", "one of the containers absent"},
	{22,
	 "{\"ts\": " AT
	 ", \"v\": {\"1\": {\"x\": 0, \"y\": 1}, \"2\": {\"x\": 0, \"y\": null}, \"3\": {\"x\": 0.0}, \"4\": {\"x\": null}, \"5\": {\"z\": 1}}}",
	 P "0.001000 1 w=1; " P "0.004000 4 v=null",
	 "missing values are absent, and a point with no other values is not a row"},
	{0, "{\"timestamp\": " AT ", \"value\": 5}", P "0.000000 value=5", "flat"},
	{0, "{\"value\": 5}", "-inf value=5",
	 "a document without a time is a row"},
	{0, "{\"timestamp\": 5, \"value\": 5}",
	 " (1: timestamp: The time is declared as a date, but stored as int.)",
	 "a time of the wrong type"},
};

static void
unfold_once(const TestTable *table, const MtsRanges *ranges,
			const uint8_t *data, size_t size, Points *points)
{
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	mts_unfold_init(&unfold, &table->layout, ranges, arena);
	points_unfold(&unfold, data, size, points);
	mts_arena_free(arena);
}

static MtsRange all_items[] = {{MTS_TIME_MIN, MTS_TIME_MAX}};
static const MtsRanges all = {1, all_items};

static void
test_cases(void)
{
	static Points points;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char text[2048];
		TestTable table;
		bson_error_t error;
		bson_t *doc =
			bson_new_from_json((const uint8_t *) cases[i].json, -1, &error);

		if (!doc)
		{
			printf("Bail out! %s: %s\n", cases[i].name, error.message);
			exit(1);
		}
		table_open(cases[i].table, &table);
		unfold_once(&table, &all, bson_get_data(doc), doc->len, &points);
		points_join(&points, text, sizeof(text));
		is_text(text, cases[i].want, cases[i].name);
		bson_destroy(doc);
	}
}

/*
 * Unfold a copy that ends with its allocation, so that ASan sees reads past
 * the end.
 */
static void
unfold_copy(const TestTable *table, const uint8_t *data, size_t size)
{
	static Points points;
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	unfold_once(table, &all, copy, size, &points);
	free(copy);
}

static void
put_length(uint8_t *at, size_t size)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (size >> (8 * i));
}

/*
 * Test a bucket truncated at every byte, with and without a corrected length.
 */
static void
test_truncated(void)
{
	static Bucket bucket;

	for (int i = 0; i < table_nspecs; i++)
	{
		TestTable table;
		uint8_t *data;

		table_open(i, &table);
		bucket_fill(&bucket, &table, bucket_random_start(&table), 12);
		data = malloc(bucket.doc.len);
		for (size_t n = 0; n < bucket.doc.len; n++)
		{
			memcpy(data, bson_get_data(&bucket.doc), bucket.doc.len);
			unfold_copy(&table, data, n);
			if (n < 5)
				continue;
			put_length(data, n);
			unfold_copy(&table, data, n);
			data[n - 1] = 0;
			unfold_copy(&table, data, n);
		}
		free(data);
		bson_destroy(&bucket.doc);
	}
	tap_claim("unfolding a bucket truncated anywhere ends");
}

static void
test_flipped(void)
{
	static Bucket bucket;
	static const uint8_t telling[] = {0, 1, 2,    3,    4,   5,
									  8, 9, 0x7f, 0x80, 0xff};

	for (int turn = 0; turn < 30000; turn++)
	{
		TestTable table;
		uint8_t *data;

		table_open(turn % table_nspecs, &table);
		bucket_fill(&bucket, &table, bucket_random_start(&table), 6);
		data = malloc(bucket.doc.len);
		memcpy(data, bson_get_data(&bucket.doc), bucket.doc.len);
		for (int n = (int) random_between(1, 5); n > 0; n--)
		{
			uint8_t *at = &data[random_below(bucket.doc.len)];

			*at = random_below(2) ? telling[random_below(sizeof(telling))]
								  : *at ^ (uint8_t) (1 << random_below(8));
		}
		unfold_copy(&table, data, bucket.doc.len);
		free(data);
		bson_destroy(&bucket.doc);
	}
	tap_claim("unfolding a bucket with bytes changed ends");
}

int
main(void)
{
	tap_seed();
	test_cases();
	test_truncated();
	test_flipped();
	return tap_done();
}
