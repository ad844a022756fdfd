/*
 * test_encode.c
 *		Proves that a stored time reads as the time written, and that a loss of
 *		precision is reported.
 */
#include "core/time/format.h"
#include "shell.h"
#include "tables.h"

#define SUMMER_ENDS table_time(2013, 10, 27, 2, 0, 0)

/* Microseconds since 2000 of "2013-10-10 23:06:37.25" */
static MtsTime
parse_time(const char *text)
{
	int year, month, day, hour, minute;
	double second;

	if (sscanf(text, "%d-%d-%d %d:%d:%lf", &year, &month, &day, &hour, &minute,
			   &second) != 6)
		abort();
	return table_time(year, month, day, hour, minute, 0) +
		   (MtsTime) (second * 1e6 + 0.5);
}

/* Print a stored value as "int 5", and the stored time if it was rounded. */
static void
describe(const bson_value_t *value, MtsTime t, MtsTime stored, char *text,
		 size_t size)
{
	int len =
		snprintf(text, size, "%s %s", mts_element_type_name(value->value_type),
				 shell_print_value(value));

	if (stored != t)
	{
		len += snprintf(text + len, size - len, " = ");
		table_show_time(stored, text + len, size - len);
	}
}

/* The format, the time and the stored value; offsets count from 2013-10-10 */
static const char *const cases[][3] = {
	{"date", "2013-10-10 23:06:37.12",
	 "date ISODate('2013-10-10T23:06:37.120Z')"},
	{"date", "2013-10-10 23:06:37.123999",
	 "date ISODate('2013-10-10T23:06:37.123Z') = 2013-10-10 23:06:37.123000"},
	{"date", "1969-12-31 23:59:59.999999",
	 "date ISODate('1969-12-31T23:59:59.999Z') = 1969-12-31 23:59:59.999000"},
	{"date", "0001-01-01 00:00:00", "date ISODate('0001-01-01T00:00:00Z')"},
	{"epoch", "2013-10-10 23:06:37", "int 1381446397"},
	{"epoch", "2013-10-10 23:06:37.25",
	 "int 1381446397 = 2013-10-10 23:06:37.000000"},
	{"epoch", "1969-12-31 23:59:59.5", "int -1 = 1969-12-31 23:59:59.000000"},
	{"epoch:long", "2013-10-10 23:06:37.25",
	 "long 1381446397 = 2013-10-10 23:06:37.000000"},
	{"epoch:double", "2013-10-10 23:06:37", "double 1381446397"},
	{"epoch:double", "2013-10-10 23:06:37.25", "double 1381446397.25"},
	{"epoch:double", "1969-12-31 23:59:59.5", "double -0.5"},
	{"epoch", "2038-01-19 03:14:07", "int 2147483647"},
	{"epoch", "2038-01-19 03:14:08", "long 2147483648"},
	{"epoch", "1901-12-13 20:45:52", "int -2147483648"},
	{"epoch", "1901-12-13 20:45:51", "long -2147483649"},
	{"epoch:double", "9999-12-31 23:59:59.000001",
	 "A double cannot hold the time to the microsecond."},
	{"epoch_ms", "1970-01-01 00:00:01", "long 1000"},
	{"epoch_ms", "2013-10-10 23:06:37.0005",
	 "long 1381446397000 = 2013-10-10 23:06:37.000000"},
	{"epoch_ms:double", "2013-10-10 23:06:37", "double 1381446397000"},
	{"epoch_ms:double", "2013-10-10 23:06:37.0005", "double 1381446397000.5"},
	{"epoch_ms:double", "7987-07-19 08:28:53.043008",
	 "A double cannot hold the time to the microsecond."},
	{"epoch_ms:double", "9999-12-31 23:59:59.000001",
	 "A double cannot hold the time to the microsecond."},
	{"epoch_us:double", "2013-10-10 23:06:37.25", "double 1.38144639725e+15"},
	{"epoch_us:double", "9999-12-31 23:59:59.999999",
	 "A double cannot hold the time to the microsecond."},
	{"epoch_us", "1970-01-01 00:00:00.000001", "long 1"},
	{"epoch_us", "9999-12-31 23:59:59.999999",
	 "long NumberLong('253402300799999999')"},
	{"epoch_us", "294247-01-10 04:00:54.775806",
	 "long NumberLong('9223372036854775806')"},
	{"epoch_us", "294270-01-01 00:00:00", "The time is out of range."},
	{"epoch_ms", "294270-01-01 00:00:00.001",
	 "long NumberLong('9224097091200001')"},
	{"epoch_ms:double", "294270-01-01 00:00:00.0005",
	 "The time is out of range."},
	{"epoch_ns", "1969-12-31 23:59:59.999999", "long -1000"},
	{"epoch_ns", "2262-04-11 23:47:16.854775",
	 "long NumberLong('9223372036854775000')"},
	{"epoch_ns", "2262-04-11 23:47:16.854776",
	 "The time is out of the range of nanoseconds."},
	{"epoch_ns", "1677-09-21 00:12:43.145225",
	 "long NumberLong('-9223372036854775000')"},
	{"epoch_ns", "1677-09-21 00:12:43.145224",
	 "The time is out of the range of nanoseconds."},
	{"ticks", "2013-10-10 23:06:37.25",
	 "long NumberLong('635170431972500000')"},
	{"ticks", "0001-01-01 00:00:00", "long 0"},
	{"ticks:double", "0001-01-01 00:00:01", "double 10000000"},
	{"ticks:double", "2013-10-10 23:06:37.000001",
	 "A double cannot hold the time to the microsecond."},
	{"ticks", "9999-12-31 23:59:59.999999",
	 "long NumberLong('3155378975999999990')"},
	{"ticks", "29228-09-14 02:48:06",
	 "The time is out of the range of ticks."},
	{"text:epoch", "2013-10-10 23:06:37.25",
	 "string '1381446397' = 2013-10-10 23:06:37.000000"},
	{"text:epoch", "2001-09-09 01:46:39.999999",
	 "In this format, times are numbers of 10 digits."},
	{"text:epoch", "2001-09-09 01:46:40", "string '1000000000'"},
	{"text:epoch", "2286-11-20 17:46:40",
	 "In this format, times are numbers of 10 digits."},
	{"text:epoch_ms", "2013-10-10 23:06:37.25", "string '1381446397250'"},
	{"text:epoch_us", "2013-10-10 23:06:37.25", "string '1381446397250000'"},
	{"text:epoch_ns", "2013-10-10 23:06:37.25",
	 "string '1381446397250000000'"},
	{"text:epoch_ns", "2270-01-01 00:00:00",
	 "In this format, times are numbers of 19 digits."},
	{"iso8601", "2013-10-10 23:06:37", "string '2013-10-10T23:06:37+00:00'"},
	{"iso8601", "1969-12-31 23:59:59.5",
	 "string '1969-12-31T23:59:59.500000+00:00'"},
	{"iso8601", "0001-01-01 00:00:00", "string '0001-01-01T00:00:00+00:00'"},
	{"iso8601", "10000-01-01 00:00:00", "The time is out of range."},
	{"timestamp", "2013-10-10 00:00:00",
	 "A time cannot be written in format 'timestamp'."},
	{"text:YYYYMMDD_HH24", "2013-10-10 23:00:00", "string '20131010_23'"},
	{"text:YYYYMMDD_HH24", "2013-10-10 23:06:37.5",
	 "string '20131010_23' = 2013-10-10 23:00:00.000000"},
	{"number:YYYYMMDD", "2013-03-31 23:59:59",
	 "int 20130331 = 2013-03-31 00:00:00.000000"},
	{"number:YYYYMMDDHH24MISS", "2013-03-31 23:59:59", "long 20130331235959"},
	{"number:YYYYMMDD", "0999-01-01 00:00:00",
	 "The text that pattern 'YYYYMMDD' writes for the time does not read back as the same time."},
	{"text:YYYY:FMMM", "2013-03-31 23:59:59",
	 "string '2013:3' = 2013-03-01 00:00:00.000000"},
	{"text:YYYY-MM-DD", "10000-01-01 00:00:00",
	 "The text that pattern 'YYYY-MM-DD' writes for the time does not read back as the same time."},
	{"text:YYYY-MM-DD", "0000-12-31 00:00:00",
	 "The text that pattern 'YYYY-MM-DD' writes for the time does not read back as the same time."},
	{"text:HH24:MI", "2013-10-10 23:06:00",
	 "The text that pattern 'HH24:MI' writes for the time does not read back as the same time."},
	{"epoch or date", "2013-10-10 23:06:37", "int 1381446397"},
	{"time:HH24:MI", "2013-10-10 23:06:00", "string '23:06'"},
	{"time:HH24:MI", "2013-10-10 23:06:37",
	 "string '23:06' = 2013-10-10 23:06:00.000000"},
	{"time:HH24:MI", "2013-10-11 00:00:00",
	 "The time is not on the day of the bucket, 2013-10-10."},
	{"offset:second", "2013-10-10 01:00:01", "int 3601"},
	{"offset:second", "2013-10-10 00:00:01.5",
	 "int 1 = 2013-10-10 00:00:01.000000"},
	{"offset:second:long", "2013-10-10 00:00:01", "long 1"},
	{"offset:second:double", "2013-10-10 00:00:01", "double 1"},
	{"offset:second:double", "2013-10-10 00:00:01.5", "double 1.5"},
	{"offset:second:1", "2013-10-10 00:00:00", "int 1"},
	{"offset:15 seconds:1", "2013-10-10 00:00:30", "int 3"},
	{"offset:15 seconds:1", "2013-10-10 00:00:22.5",
	 "int 2 = 2013-10-10 00:00:15.000000"},
	{"offset:15 seconds:1:double", "2013-10-10 00:00:22.5", "double 2.5"},
	{"offset:month:1:double", "2014-01-09 00:00:00",
	 "double 3 = 2013-12-10 00:00:00.000000"},
	{"offset:millisecond", "2013-12-10 00:00:00", "long 5270400000"},
	{"offset:day", "2013-10-12 00:00:00", "int 2"},
	{"offset:day:1", "2013-10-12 23:59:59.999999",
	 "int 3 = 2013-10-12 00:00:00.000000"},
	{"offset:month:1", "2014-01-09 00:00:00",
	 "int 3 = 2013-12-10 00:00:00.000000"},
	{"oid", "2013-10-10 00:00:00",
	 "A time cannot be written in format 'oid'."},
};

static void
test_cases(void)
{
	MtsClock clock = table_clock(NULL);
	char name[200], got[SHELL_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		MtsTime t = parse_time(cases[i][1]), stored;
		char text[MTS_MAX_TIME_TEXT];
		bson_value_t value = {0};
		MtsFormat format;
		MtsError error;

		if (!mts_format_parse(cases[i][0], &format, &error))
			abort();
		if (mts_format_encode(&format, &clock, t,
							  table_time(2013, 10, 10, 0, 0, 0), &value, text,
							  &stored, &error))
			describe(&value, t, stored, got, sizeof(got));
		else
		{
			snprintf(got, sizeof(got), "%s", error.detail);
			shell_unquote(got);
		}
		snprintf(name, sizeof(name), "%s of %s", cases[i][0], cases[i][1]);
		is_text(got, cases[i][2], name);
	}
}

/* Read a stored time. */
static bool
read_again(const MtsFormat *format, const MtsClock *clock, MtsTime base,
		   const bson_value_t *value, MtsTime *t)
{
	bson_t doc = BSON_INITIALIZER;
	MtsElementCursor cursor;
	MtsElement element;
	MtsError error;
	bool decoded;

	bson_append_value(&doc, "v", 1, value);
	decoded = mts_element_open(&cursor, bson_get_data(&doc), doc.len) &&
			  mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
			  mts_format_decode(format, clock, &element, base, false, t,
								&error) == MTS_DECODED;
	bson_destroy(&doc);
	return decoded;
}

/* Return the largest difference between a time and its stored value. */
static int64_t
coarseness(const MtsFormat *format)
{
	if (mts_span_is_zero(format->unit) ||
		(format->type == BSON_TYPE_DOUBLE &&
		 !mts_span_is_calendar(format->unit)))
		return 1;
	return format->unit.months * 31 * MTS_DAY +
		   format->unit.days * (MTS_DAY + MTS_HOUR) + format->unit.usecs;
}

/* Text of a repeated hour reads as the second one. */
static bool
is_ambiguous(const MtsFormat *format, const MtsClock *clock, MtsTime t)
{
	return format->kind == MTS_FORMAT_TEXT && clock->arg &&
		   format->unit.usecs > 0 && t >= SUMMER_ENDS - MTS_HOUR &&
		   t < SUMMER_ENDS;
}

/*
 * Doubles represent microseconds within 2^32 seconds of 1970.  Epochs that are
 * text have the same number of digits, and numbers have no leading zero.
 */
static bool
may_be_refused(const MtsFormat *format, MtsTime t)
{
	if (format->is_number)
		return t < table_time(1000, 1, 1, 0, 0, 0);
	if (format->ndigits > 0)
		return t < table_time(2001, 9, 9, 1, 46, 40) ||
			   t >= table_time(2286, 11, 20, 17, 46, 40);
	return format->type == BSON_TYPE_DOUBLE &&
		   llabs(t - MTS_UNIX_EPOCH) >= (MTS_SECOND << 32);
}

static void
check_time(const char *name, const MtsFormat *format, const MtsClock *clock,
		   MtsTime base, MtsTime t)
{
	char text[MTS_MAX_TIME_TEXT];
	bson_value_t value = {0};
	MtsTime stored = 0, again = 0;
	MtsError error = {"", NULL};
	bool encoded = mts_format_encode(format, clock, t, base, &value, text,
									 &stored, &error);

	if (encoded
			? is_ambiguous(format, clock, t)
			: !is_ambiguous(format, clock, t) && !may_be_refused(format, t))
		tap_fault("%s of %lld is %s: %s", name, (long long) t,
				  encoded ? "written" : "refused", error.detail);
	if (!encoded)
		return;
	if (!read_again(format, clock, base, &value, &again))
		tap_fault("%s of %lld is not read: %s", name, (long long) t,
				  shell_print_value(&value));
	else if (again != stored || stored > t || t - stored >= coarseness(format))
		tap_fault("%s of %lld: stored %lld, read %lld from %s", name,
				  (long long) t, (long long) stored, (long long) again,
				  shell_print_value(&value));
}

static void
test_random(const MtsClock *clock, const char *zone)
{
	static const char *const formats[] = {
		"date",
		"epoch",
		"epoch:double",
		"epoch_ms:long",
		"epoch_ms:double",
		"epoch_us",
		"epoch_ns",
		"text:YYYYMMDD_HH24",
		"text:YYYY:FMMM",
		"text:YYYY-MM-DD\"T\"HH24:MI:SS",
		"ticks",
		"iso8601",
		"text:epoch",
		"text:epoch_us",
		"number:YYYYMMDD",
		"number:YYYYMMDDHH24MISS",
		"offset:second:double",
		"offset:15 minutes:-3",
		"offset:day:1",
		"offset:3 months",
	};
	static const int64_t grains[] = {1, 1000, MTS_SECOND, MTS_HOUR};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
	{
		char name[100];
		MtsFormat format;
		MtsError error;

		if (!mts_format_parse(formats[i], &format, &error))
			abort();
		for (int turn = 0; turn < 5000; turn++)
		{
			MtsTime t = random_between(table_time(1700, 1, 1, 0, 0, 0),
									   table_time(2240, 1, 1, 0, 0, 0));
			MtsTime base;

			if (turn % 5 == 0 && format.kind != MTS_FORMAT_EPOCH_NS)
				t = random_between(table_time(1, 1, 1, 0, 0, 0),
								   table_time(9999, 12, 31, 0, 0, 0));
			if (turn % 3 == 0)
				t = SUMMER_ENDS + random_between(-2 * MTS_HOUR, 2 * MTS_HOUR);
			t -= (t % grains[turn % 4] + grains[turn % 4]) % grains[turn % 4];
			/* a bucket is at most a year long and begins at a whole second */
			base = t - random_below(366 * MTS_DAY);
			base -= (base % MTS_SECOND + MTS_SECOND) % MTS_SECOND;
			check_time(formats[i], &format, clock, base, t);
		}
		snprintf(name, sizeof(name), "%s reads as it was stored, %s",
				 formats[i], zone);
		tap_claim(name);
	}
}

int
main(void)
{
	TestZone zone = {table_time(2013, 3, 31, 2, 0, 0), SUMMER_ENDS};
	MtsClock utc = table_clock(NULL);
	MtsClock summer = table_clock(&zone);

	tap_seed();
	test_cases();
	test_random(&utc, "in UTC");
	test_random(&summer, "in a zone with summer time");
	return tap_done();
}
