/*
 * test_format.c
 *		Proves that stored times are decoded, and that bounds include every
 *		stored time of a range.
 */
#include <math.h>

#include "core/time/format.h"
#include "mongo.h"
#include "tables.h"
#include "tap.h"

static void
test_parse(void)
{
	static const struct
	{
		const char *text;
		bool sorted;
		MtsSpan unit;
	} patterns[] = {
		{"text:YYYYMMDD_HH24", true, {0, 0, MTS_HOUR}},
		{"text:YYYY-MM-DD\"T\"HH24:MI:SS", true, {0, 0, MTS_SECOND}},
		{"text:YYYY-MM-DD\"T\"HH24:MI:SS.MSZ", false, {0}},
		{"text:YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"", true, {0, 0, 1000}},
		{"text:YYYY-MM-DD HH24:MI:SS.US", true, {0, 0, 1}},
		{"text:\"a \\\"YYYY\"YYYY", true, {12, 0, 0}},
		{"text:YYYY-DDD", true, {0, 1, 0}},
		{"text:YYYY:FMMM", false, {1, 0, 0}},
		{"text:DD.MM.YYYY", false, {0, 1, 0}},
		{"text:YYYY-MM-DD HH12", false, {0}},
		{"text:YYYY-Mon", false, {0}},
		{"text:YYYY-DD", false, {0, 1, 0}},
		{"text:YYYY-MM-DD MI", false, {0, 0, MTS_MINUTE}},
		{"text:MM-DD", false, {0, 1, 0}},
		{"time:HH24:MI", true, {0, 0, MTS_MINUTE}},
		{"time:MI", false, {0, 0, MTS_MINUTE}},
		{"time:HH12 AM", false, {0}},
		{"text:--", false, {0}},
	};
	static const char *const wrong[] = {"",
										"text:",
										"time:",
										"offset:",
										"offset:weeks",
										"offset:second:",
										"offset:{second}",
										"Date",
										"epoch_s",
										"epoch:int",
										"epoch:long:double",
										"date:long",
										"offset:second:double:1",
										"date or date",
										"date or ",
										"date or epoch:long",
										"epoch or ticks",
										"text:YYYY or date",
										"oid or date",
										"number:",
										"number:YYYY-MM",
										"number:DDMMYYYY",
										"number:YYYYMMDDHH12",
										"oid "};
	MtsFormat format;
	MtsError error;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
	{
		const MtsSpan *unit = &patterns[i].unit;
		bool parsed = mts_format_parse(patterns[i].text, &format, &error);
		bool same = parsed && format.unit.months == unit->months &&
					format.unit.days == unit->days &&
					format.unit.usecs == unit->usecs;

		/* a pattern without fields has no bounds, sorted or not */
		ok(same && (format.sorted == patterns[i].sorted ||
					mts_span_is_zero(*unit)),
		   "%s %s", patterns[i].text,
		   patterns[i].sorted ? "sorts as time" : "does not sort as time");
	}
	ok(mts_format_parse("offset:15 seconds:1", &format, &error) &&
		   format.kind == MTS_FORMAT_OFFSET && format.base == 1 &&
		   format.unit.usecs == 15 * MTS_SECOND,
	   "an offset with a base");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
	{
		char want[64];

		snprintf(want, sizeof(want), "\"%s\" is not a format of a time.",
				 wrong[i]);
		ok(!mts_format_parse(wrong[i], &format, &error) && error.hint &&
			   strcmp(error.detail, want) == 0,
		   "refused: \"%s\"", wrong[i]);
	}
}

/* Decode the field "v" of a document in JSON. */
static void
is_decoded(const char *format_text, const char *json, const char *want)
{
	MtsClock clock = table_clock(NULL);
	bson_error_t problem;
	bson_t *doc = bson_new_from_json((const uint8_t *) json, -1, &problem);
	MtsElement element;
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "v", .len = 1};
	MtsElement whole;
	MtsFormat format;
	MtsError error = {"", NULL};
	MtsTime t = 0;
	char text[300];
	char name[300];

	if (!doc || !mts_format_parse(format_text, &format, &error))
		abort();
	whole = mts_element_document(bson_get_data(doc), doc->len);
	if (mts_path_find(&whole, &step, 1, &element) != MTS_FOUND)
		abort();
	switch (mts_format_decode(&format, &clock, &element,
							  table_time(2013, 10, 10, 0, 0, 0), false, &t,
							  &error))
	{
		case MTS_DECODED:
			table_show_time(t, text, sizeof(text));
			break;
		case MTS_DECODED_NULL:
			strcpy(text, "null");
			break;
		default:
			snprintf(text, sizeof(text), "%s", error.detail);
	}
	snprintf(name, sizeof(name), "%s of %s", format_text, json);
	is_text(text, want, name);
	bson_destroy(doc);
}

#define TWENTY "01234567890123456789"
#define SIXTY TWENTY TWENTY TWENTY
#define HUNDRED SIXTY TWENTY TWENTY

static void
test_decode(void)
{
	static const char *const cases[][3] = {
		{"date", "{\"v\": {\"$date\": \"1969-12-31T23:59:59.999Z\"}}",
		 "1969-12-31 23:59:59.999000"},
		{"date", "{\"v\": null}", "null"},
		{"date", "{\"v\": 5}",
		 "The time is declared as a date, but stored as int."},
		{"date",
		 "{\"v\": {\"$date\": {\"$numberLong\": \"9223372036854775807\"}}}",
		 "The time is out of range."},
		{"date",
		 "{\"v\": {\"$date\": {\"$numberLong\": \"-9223372036854775808\"}}}",
		 "The time is out of range."},
		{"date",
		 "{\"v\": {\"$date\": {\"$numberLong\": \"9224318016000000\"}}}",
		 "The time is out of range."},
		{"epoch", "{\"v\": -1}", "1969-12-31 23:59:59.000000"},
		{"epoch", "{\"v\": 1381446360.25}", "2013-10-10 23:06:00.250000"},
		{"epoch", "{\"v\": 1.0000006}", "1970-01-01 00:00:01.000001"},
		{"epoch", "{\"v\": {\"$numberDouble\": \"NaN\"}}",
		 "The time is out of range."},
		{"epoch", "{\"v\": 1e300}", "The time is out of range."},
		{"epoch", "{\"v\": {\"$numberLong\": \"9223372036854775807\"}}",
		 "The time is out of range."},
		{"ticks", "{\"v\": {\"$numberLong\": \"638448480000000000\"}}",
		 "2024-03-01 00:00:00.000000"},
		{"ticks", "{\"v\": 0}", "0001-01-01 00:00:00.000000"},
		{"ticks", "{\"v\": {\"$numberLong\": \"638448480000000015\"}}",
		 "638448480000000015 ticks are not a whole number of microseconds."},
		{"ticks", "{\"v\": {\"$numberLong\": \"-9223372036854775808\"}}",
		 "-9223372036854775808 ticks are not a whole number of microseconds."},
		{"ticks", "{\"v\": {\"$numberLong\": \"9223372036854775800\"}}",
		 "29228-09-14 02:48:05.477580"},
		{"ticks", "{\"v\": 0.5}",
		 "The time is declared as an integer, but stored as double."},
		{"text:epoch", "{\"v\": \"1709251200\"}",
		 "2024-03-01 00:00:00.000000"},
		{"text:epoch", "{\"v\": \"9999999999\"}",
		 "2286-11-20 17:46:39.000000"},
		{"text:epoch", "{\"v\": \"999999999\"}",
		 "The text \"999999999\" is not a number of 10 digits."},
		{"text:epoch", "{\"v\": \"0709251200\"}",
		 "The text \"0709251200\" is not a number of 10 digits."},
		{"text:epoch", "{\"v\": \"1709251200.5\"}",
		 "The text \"1709251200.5\" is not a number of 10 digits."},
		{"text:epoch", "{\"v\": \"170925120x\"}",
		 "The text \"170925120x\" is not a number of 10 digits."},
		{"text:epoch", "{\"v\": 1709251200}",
		 "The time is declared as text, but stored as int."},
		{"text:epoch_ms", "{\"v\": \"1709251200123\"}",
		 "2024-03-01 00:00:00.123000"},
		{"text:epoch_us", "{\"v\": \"1709251200123456\"}",
		 "2024-03-01 00:00:00.123456"},
		{"text:epoch_ns", "{\"v\": \"1709251200123456000\"}",
		 "2024-03-01 00:00:00.123456"},
		{"text:epoch_ns", "{\"v\": \"1709251200123456001\"}",
		 "1709251200123456001 nanoseconds are not a whole number of microseconds."},
		{"text:epoch_ns", "{\"v\": \"9999999999999999999\"}",
		 "The text \"9999999999999999999\" is not a number of 19 digits."},
		{"timestamp",
		 "{\"v\": {\"$timestamp\": {\"t\": 4294967295, \"i\": 7}}}",
		 "2106-02-07 06:28:15.000000"},
		{"timestamp", "{\"v\": {\"$date\": \"2024-03-01T00:00:00Z\"}}",
		 "The time is declared as a timestamp, but stored as date."},
		{"epoch", "{\"v\": \"1\"}",
		 "The time is declared as a number, but stored as string."},
		{"epoch_ms", "{\"v\": -1}", "1969-12-31 23:59:59.999000"},
		{"epoch_ms", "{\"v\": 0.5}", "1970-01-01 00:00:00.000500"},
		{"epoch_us", "{\"v\": -1}", "1969-12-31 23:59:59.999999"},
		{"epoch_us", "{\"v\": {\"$numberLong\": \"-9223372036854775808\"}}",
		 "The time is out of range."},
		{"epoch_ns", "{\"v\": -1000}", "1969-12-31 23:59:59.999999"},
		{"epoch_ns", "{\"v\": -1001}",
		 "-1001 nanoseconds are not a whole number of microseconds."},
		{"epoch_ns", "{\"v\": 0.5}",
		 "The time is declared as an integer, but stored as double."},
		{"oid", "{\"v\": {\"$oid\": \"ffffffff0000000000000000\"}}",
		 "2106-02-07 06:28:15.000000"},
		{"oid", "{\"v\": 1}",
		 "The time is declared as an ObjectId, but stored as int."},
		{"offset:second", "{\"v\": 1.5}", "2013-10-10 00:00:01.500000"},
		{"offset:minute:1", "{\"v\": 1}", "2013-10-10 00:00:00.000000"},
		{"offset:day", "{\"v\": -1}", "2013-10-09 00:00:00.000000"},
		{"offset:day", "{\"v\": 1.5}",
		 "The offset is declared as an integer, but stored as double."},
		{"offset:second",
		 "{\"v\": {\"$numberLong\": \"9223372036854775807\"}}",
		 "The time is out of range."},
		{"offset:second:-1",
		 "{\"v\": {\"$numberLong\": \"9223372036854775807\"}}",
		 "The time is out of range."},
		{"offset:second", "{\"v\": {\"$numberDouble\": \"Infinity\"}}",
		 "The time is out of range."},
		{"offset:second", "{\"v\": true}",
		 "The offset is declared as a number, but stored as bool."},
		{"text:YYYYMMDD_HH24", "{\"v\": \"20131010_23\"}",
		 "2013-10-10 23:00:00.000000"},
		{"text:YYYYMMDD_HH24", "{\"v\": \"20131010_24\"}",
		 "The text \"20131010_24\" does not match pattern \"YYYYMMDD_HH24\"."},
		{"text:YYYYMMDD_HH24", "{\"v\": 5}",
		 "The time is declared as text, but stored as int."},
		{"number:YYYYMMDD", "{\"v\": 20240229}", "2024-02-29 00:00:00.000000"},
		{"number:YYYYMMDD", "{\"v\": 20240229.0}",
		 "2024-02-29 00:00:00.000000"},
		{"number:YYYYMMDDHH24MI",
		 "{\"v\": {\"$numberLong\": \"202402292359\"}}",
		 "2024-02-29 23:59:00.000000"},
		{"number:YYYYMMDD", "{\"v\": 20230229}",
		 "The text \"20230229\" does not match pattern \"YYYYMMDD\"."},
		{"number:YYYYMMDD", "{\"v\": -20230228}",
		 "The text \"-20230228\" does not match pattern \"YYYYMMDD\"."},
		{"number:YYYYMMDD", "{\"v\": 20240229.5}",
		 "The time is declared as an integer, but stored as double."},
		{"number:YYYYMMDD", "{\"v\": \"20240229\"}",
		 "The time is declared as an integer, but stored as string."},
		{"text:YYYY:FMMM", "{\"v\": \"2013:3\"}",
		 "2013-03-01 00:00:00.000000"},
		{"time:HH24:MI", "{\"v\": \"05:07\"}", "2013-10-10 05:07:00.000000"},
		{"time:HH24:MI", "{\"v\": \"24:00\"}",
		 "The text \"24:00\" does not match pattern \"HH24:MI\"."},
		{"date or epoch or text:YYYY-MM-DD", "{\"v\": 1381446397}",
		 "2013-10-10 23:06:37.000000"},
		{"date or epoch or text:YYYY-MM-DD", "{\"v\": \"2013-10-10\"}",
		 "2013-10-10 00:00:00.000000"},
		{"date or epoch", "{\"v\": {\"$date\": {\"$numberLong\": \"0\"}}}",
		 "1970-01-01 00:00:00.000000"},
		{"date or epoch", "{\"v\": true}",
		 "The time is declared in several formats, but stored as bool."},
		{"date or epoch", "{\"v\": null}", "null"},
		{"time:HH24:MI", "{\"v\": 5}",
		 "The time is declared as text, but stored as int."},
		{"time:HH24", "{\"v\": \"" HUNDRED HUNDRED "\"}",
		 "The text \"" SIXTY "\" does not match pattern \"HH24\"."},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_decoded(cases[i][0], cases[i][1], cases[i][2]);
}

/* The patterns whose times cannot be read, and why */
static void
test_check(void)
{
	static const char *const cases[][2] = {
		{"text:YYYY-MM-DD", ""},
		{"text:YYYY:FMMM", ""},
		{"number:YYYYMMDD", ""},
		{"time:HH24:MI", ""},
		{"time:SS", ""},
		{"offset:second", ""},
		{"text:HH24:MI", "Pattern \"HH24:MI\" has no date."},
		{"time:DD HH24", "Pattern \"DD HH24\" of a time of day has a date."},
	};
	MtsClock clock = table_clock(NULL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		MtsFormat format;
		MtsError error = {"", NULL};

		if (!mts_format_parse(cases[i][0], &format, &error))
			abort();
		if (mts_format_check(&format, &clock, &error) != !cases[i][1][0])
			strcpy(error.detail, "checked otherwise");
		is_text(error.detail, cases[i][1], cases[i][0]);
	}
}

static void
test_iso8601(void)
{
	static const char *const valid[][2] = {
		{"2024-03-01T10:00:00+00:00", "2024-03-01 10:00:00.000000"},
		{"2024-03-01T10:00:00.123456+00:00", "2024-03-01 10:00:00.123456"},
		{"2024-03-01 10:00:00.5-05:30", "2024-03-01 15:30:00.500000"},
		{"2024-03-01T00:30:00.123Z", "2024-03-01 00:30:00.123000"},
		{"2024-03-01T00:30+0100", "2024-02-29 23:30:00.000000"},
		{"2024-03-01T00:30:00+01", "2024-02-29 23:30:00.000000"},
		{"2024-02-29T23:59:59.999999000-23:59", "2024-03-01 23:58:59.999999"},
		{"0001-01-01T00:00:00Z", "0001-01-01 00:00:00.000000"},
		{"9999-12-31T23:59:59-00:00", "9999-12-31 23:59:59.000000"},
	};
	static const char *const invalid[] = {
		"",
		"2024-03-01T10:00:00",
		"2024-03-01T10:00:00.+00:00",
		"2024-03-01T10:00:00,5+00:00",
		"2024-03-01T10:00:60+00:00",
		"2024-03-01T24:00:00+00:00",
		"2023-02-29T10:00:00+00:00",
		"2024-3-01T10:00:00+00:00",
		"2024-03-01t10:00:00+00:00",
		"2024-03-01T10:00:00+24:00",
		"2024-03-01T10:00:00+1:00",
		"2024-03-01T10:00:00+01:",
		"2024-03-01T10:00:00+01:60",
		"2024-03-01T10:00:00Z0",
		"2024-03-01T10:00:00z",
		"2024-03-01T10:00:00 +00:00",
		"2024-03-01T10:00:00Europe",
		"0000-03-01T10:00:00Z",
		"2024-03-01T10Z",
		"2024-03-01Z",
	};
	char json[200], want[200];

	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
	{
		snprintf(json, sizeof(json), "{\"v\": \"%s\"}", valid[i][0]);
		is_decoded("iso8601", json, valid[i][1]);
	}
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
	{
		snprintf(json, sizeof(json), "{\"v\": \"%s\"}", invalid[i]);
		snprintf(
			want, sizeof(want),
			"The text \"%s\" is not a time with an offset, such as 2024-03-01T10:00:00+00:00.",
			invalid[i]);
		is_decoded("iso8601", json, want);
	}
	is_decoded(
		"iso8601", "{\"v\": \"2024-03-01T10:00:00.1234567Z\"}",
		"2024-03-01T10:00:00.1234567Z is not a whole number of microseconds.");
	is_decoded("iso8601", "{\"v\": 1}",
			   "The time is declared as text, but stored as int.");
}

/* Append an instant as text with a random offset. */
static void
append_iso8601(bson_t *doc, int64_t usecs)
{
	int minutes = (int) random_between(-23 * 60 - 59, 24 * 60);
	MtsTime t = usecs + MTS_UNIX_EPOCH + minutes * MTS_MINUTE;
	char text[100], *at = text + 19;

	table_show_time(t, text, sizeof(text));
	text[10] = random_below(2) ? 'T' : ' ';
	if (random_below(2))
		at += 7;
	snprintf(at, 10, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs(minutes) / 60,
			 abs(minutes) % 60);
	bson_append_utf8(doc, "v", 1, text, -1);
}

static void
append_digits(bson_t *doc, int64_t n)
{
	char text[30];

	snprintf(text, sizeof(text), "%lld", (long long) n);
	bson_append_utf8(doc, "v", 1, text, -1);
}

static void
append_random(bson_t *doc, const MtsFormat *format, int64_t usecs)
{
	double exact = (double) random_between(-3, 4) / 2;
	char text[100];

	switch (format->kind)
	{
		case MTS_FORMAT_ISO8601:
			append_iso8601(doc, usecs);
			break;
		case MTS_FORMAT_TIMESTAMP:
			bson_append_timestamp(doc, "v", 1,
								  (uint32_t) (llabs(usecs) / MTS_SECOND),
								  (uint32_t) random_below(3));
			break;
		case MTS_FORMAT_TEXT:
			table_show_time(usecs, text, sizeof(text));
			memmove(text + 4, text + 5, 2);
			memmove(text + 6, text + 8, 2);
			text[8] = '\0';
			bson_append_int64(doc, "v", 1, strtoll(text, NULL, 10));
			break;
		case MTS_FORMAT_TICKS:
			bson_append_int64(doc, "v", 1,
							  (usecs + MTS_UNIX_EPOCH - MTS_FIRST_YEAR) * 10 +
								  random_below(10));
			break;
		case MTS_FORMAT_DATE:
			bson_append_date_time(doc, "v", 1, usecs / 1000);
			break;
		case MTS_FORMAT_EPOCH:
			if (format->ndigits > 0)
			{
				append_digits(doc, 1000000000 + llabs(usecs) / MTS_SECOND);
				break;
			}
			/* up to half a microsecond, which is rounded up or down */
			bson_append_double(doc, "v", 1, ((double) usecs + exact) / 1e6);
			break;
		case MTS_FORMAT_EPOCH_MS:
			bson_append_double(doc, "v", 1, ((double) usecs + exact) / 1e3);
			break;
		case MTS_FORMAT_EPOCH_US:
			bson_append_double(doc, "v", 1, (double) usecs + exact / 2);
			break;
		default:
			bson_append_int64(doc, "v", 1, usecs * 1000 + random_below(1000));
	}
}

/* Each value that decodes to a time of a range is within its bounds. */
static void
test_bounds(const char *text, const char *name)
{
	MtsFormat format;
	MtsClock clock = table_clock(NULL);

	if (!mts_format_parse(text, &format, &(MtsError){0}))
		abort();
	for (int turn = 0; turn < 20000; turn++)
	{
		int64_t usecs = random_between(INT64_C(-4000000000000000),
									   INT64_C(4000000000000000));
		bson_t doc = BSON_INITIALIZER;
		bson_t filter = BSON_INITIALIZER;
		bson_t ops = BSON_INITIALIZER;
		MtsElementCursor cursor;
		MtsElement element;
		MtsError error;
		MtsTime t = 0;
		MtsRange range;

		if (turn % 3)
			usecs -= usecs % (turn % 3 == 1 ? 1000 : MTS_SECOND);
		append_random(&doc, &format, usecs);
		mts_element_open(&cursor, bson_get_data(&doc), doc.len);
		mts_element_next(&cursor, &element);
		if (mts_format_decode(&format, &clock, &element, 0, true, &t,
							  &error) != MTS_DECODED)
			tap_fault("%lld is not decoded", (long long) usecs);
		range = (MtsRange){t - random_below(3), t + 1 + random_below(3)};
		if (turn % 5 == 0)
			range.to = t + random_below(MTS_DAY << (turn % 20)) + 1;
		range.from = random_below(8) ? range.from : MTS_TIME_MIN;
		range.to = random_below(8) ? range.to : MTS_TIME_MAX;
		mts_format_bounds(&format, &clock, range, &ops);
		bson_append_document(&filter, "v", 1, &ops);
		if (!bson_empty(&ops) && !mongo_matches(&doc, &filter))
		{
			char *json = bson_as_relaxed_extended_json(&ops, NULL);

			tap_fault("%lld is not in %s", (long long) t, json);
			bson_free(json);
		}
		bson_destroy(&doc);
		bson_destroy(&ops);
		bson_destroy(&filter);
	}
	tap_claim(name);
}

int
main(void)
{
	tap_seed();
	test_parse();
	test_decode();
	test_check();
	test_iso8601();
	test_bounds("date", "dates in a range are within its bounds");
	test_bounds("epoch", "seconds as doubles");
	test_bounds("epoch_ms", "milliseconds as doubles");
	test_bounds("epoch_us", "microseconds as doubles");
	test_bounds("epoch_ns", "nanoseconds, truncated");
	test_bounds("ticks", "ticks, truncated");
	test_bounds("text:epoch", "seconds as text");
	test_bounds("iso8601", "text with offsets");
	test_bounds("timestamp", "BSON timestamps");
	test_bounds("number:YYYYMMDD", "days as numbers");
	return tap_done();
}
