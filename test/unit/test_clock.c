/*
 * test_clock.c
 *		Proves that arithmetic with units follows the calendar, with and
 *		without a zone.
 */
#include "core/time/clock.h"
#include "tables.h"
#include "tap.h"

static const MtsSpan second = {0, 0, MTS_SECOND};
static const MtsSpan hour = {0, 0, MTS_HOUR};
static const MtsSpan day = {0, 1, 0};
static const MtsSpan month = {1, 0, 0};
static const MtsSpan year = {12, 0, 0};

static void
is_step(const MtsClock *clock, MtsTime from, MtsSpan unit, int64_t n,
		const char *want, const char *name)
{
	MtsTime t = 0;
	char text[40] = "out of range";

	if (mts_clock_step(clock, from, unit, n, &t))
		table_show_time(t, text, sizeof(text));
	is_text(text, want, name);
}

static void
test_spans(void)
{
	static const struct
	{
		const char *text;
		bool valid;
		MtsSpan span;
	} cases[] = {
		{"second", true, {0, 0, 1000000}},
		{"months", true, {1, 0, 0}},
		{"15 minutes", true, {0, 0, 900000000}},
		{"2days", true, {0, 2, 0}},
		{"999999 months", true, {999999, 0, 0}},
		{"millisecond", true, {0, 0, 1000}},
		{"", false, {0}},
		{"15", false, {0}},
		{"s", false, {0}},
		{"secondss", false, {0}},
		{"seconds ", false, {0}},
		{" second", false, {0}},
		{"-1 second", false, {0}},
		{"0 days", false, {0}},
		{"1000000 days", false, {0}},
		{"99999999999999999999 days", false, {0}},
		{"year", false, {0}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		MtsSpan span = {0};
		bool valid =
			mts_span_parse(cases[i].text, strlen(cases[i].text), &span);

		ok(valid == cases[i].valid && span.months == cases[i].span.months &&
			   span.days == cases[i].span.days &&
			   span.usecs == cases[i].span.usecs,
		   "the unit \"%s\"", cases[i].text);
	}
	is_int(mts_span_enclosing(second).usecs, MTS_MINUTE,
		   "seconds fill a minute");
	is_int(mts_span_enclosing((MtsSpan){0, 0, 1000}).usecs, MTS_SECOND,
		   "milliseconds fill a second");
	is_int(mts_span_enclosing((MtsSpan){0, 0, 15 * MTS_MINUTE}).usecs,
		   MTS_HOUR, "quarters fill an hour");
	is_int(mts_span_enclosing(hour).days, 1, "hours fill a day");
	is_int(mts_span_enclosing(day).months, 1, "days fill a month");
	is_int(mts_span_enclosing(month).months, 12, "months fill a year");
}

static void
test_calendar(void)
{
	MtsTime t = table_time(2012, 1, 31, 12, 0, 0);

	is_step(NULL, t, month, 1, "2012-02-29 12:00:00.000000",
			"a month after January 31st is February's last day");
	is_step(NULL, t, month, 13, "2013-02-28 12:00:00.000000",
			"13 months after January 31st, 2012, is February 28th, 2013");
	is_step(NULL, t, month, -2, "2011-11-30 12:00:00.000000",
			"two months before January 31st");
	is_step(NULL, table_time(1969, 12, 31, 23, 59, 59), second, 1,
			"1970-01-01 00:00:00.000000", "a step across 1970");
	is_step(NULL, table_time(2016, 12, 31, 23, 59, 59), second, 1,
			"2017-01-01 00:00:00.000000",
			"a leap second has no time of its own");
	is_step(NULL, table_time(1900, 2, 28, 0, 0, 0), day, 1,
			"1900-03-01 00:00:00.000000", "1900 had no leap day");
	is_step(NULL, table_time(2000, 2, 28, 0, 0, 0), day, 1,
			"2000-02-29 00:00:00.000000", "2000 had a leap day");
	is_step(NULL, table_time(2000, 2, 29, 0, 0, 0), year, -2001,
			"-001-02-28 00:00:00.000000", "before the year 0");
	is_step(NULL, 0, (MtsSpan){1, 1, 1}, 2, "2000-03-03 00:00:00.000002",
			"months, days and microseconds in this order");
	is_step(NULL, INT64_MAX - 1, second, 1, "out of range", "too late");
	is_step(NULL, INT64_MIN + 1, second, -1, "out of range", "too early");
	is_step(NULL, 0, hour, INT64_MAX / 2, "out of range", "too many hours");
	is_step(NULL, 0, day, INT64_MAX, "out of range", "too many days");
	is_step(NULL, 0, day, INT32_MAX, "out of range",
			"too many days for a time");
	is_step(NULL, 0, month, INT32_MAX, "out of range", "too many months");
	is_step(NULL, INT64_MAX - 1, month, 1, "out of range", "a month too late");
	is_step(NULL, INT64_MIN + 1, month, -1, "out of range",
			"a month too early");
}

/* Compare with timegm(), which has a calendar of its own. */
static void
test_against_libc(void)
{
	for (int turn = 0; turn < 20000; turn++)
	{
		int y = (int) random_between(1600, 2500),
			m = (int) random_between(1, 13), d = (int) random_between(1, 29),
			n = (int) random_between(-5000, 5000);
		MtsTime t = table_time(y, m, d, 1, 2, 3) + 7;
		MtsTime got = 0;

		if (!mts_clock_step(NULL, t, day, n, &got) ||
			got != table_time(y, m, d + n, 1, 2, 3) + 7)
			tap_fault("%d days after %d-%d-%d", n, y, m, d);
		if (!mts_clock_step(NULL, t, month, n, &got) ||
			got != table_time(y, m + n, d, 1, 2, 3) + 7)
			tap_fault("%d months after %d-%d-%d", n, y, m, d);
		if (mts_clock_floor(NULL, t, month) != table_time(y, m, 1, 0, 0, 0) ||
			mts_clock_floor(NULL, t, year) != table_time(y, 1, 1, 0, 0, 0) ||
			mts_clock_floor(NULL, t, day) != table_time(y, m, d, 0, 0, 0) ||
			mts_clock_floor(NULL, t, hour) != table_time(y, m, d, 1, 0, 0))
			tap_fault("the floors of %d-%d-%d", y, m, d);
	}
	tap_claim("days, months and floors are those of the C library");
}

static const MtsSpan spans[] = {{0, 0, 1000},
								{0, 0, MTS_SECOND},
								{0, 0, 7 * MTS_MINUTE},
								{0, 0, MTS_HOUR},
								{0, 0, 6 * MTS_HOUR},
								{0, 1, 0},
								{0, 7, 0},
								{1, 0, 0},
								{3, 0, 0},
								{12, 0, 0}};

#define NSPANS ((int64_t) (sizeof(spans) / sizeof(spans[0])))

/* Test the identities that the arithmetic of layouts relies on. */
static void
test_laws(const MtsClock *clock, MtsTime from, MtsTime to, const char *name)
{
	char text[512];

	for (int turn = 0; turn < 40000; turn++)
	{
		MtsSpan unit = spans[random_below(NSPANS)];
		MtsTime start = random_between(from, to),
				t = start + random_below(400 * MTS_DAY), at = 0, next = 0,
				back, floor = mts_clock_floor(clock, t, unit);
		int64_t n = -1;

		/* whole hours, unless they are after t */
		if (turn % 2 && start - start % MTS_HOUR <= t)
			start -= start % MTS_HOUR;
		if (!mts_clock_steps_between(clock, start, t, unit, &n) || n < 0 ||
			!mts_clock_step(clock, start, unit, n, &at) || at > t ||
			!mts_clock_step(clock, start, unit, n + 1, &next) || next <= t)
			tap_fault("steps of {%d, %d, %lld} from %lld to %lld: %lld",
					  unit.months, unit.days, (long long) unit.usecs,
					  (long long) start, (long long) t, (long long) n);
		if (floor > t || ((unit.usecs == 0 || MTS_HOUR % unit.usecs == 0) &&
						  mts_clock_floor(clock, floor, unit) != floor))
		{
			table_show_time(t, text, 40);
			snprintf(text + strlen(text), 99,
					 " for {%d, %d, %lld}: ", unit.months, unit.days,
					 (long long) unit.usecs);
			table_show_time(floor, text + strlen(text), 40);
			tap_fault("floor of %s", text);
		}
		/* everything that starts at or before back ends at or before t */
		back = mts_clock_step_back(clock, t, unit);
		at = back - (turn % 4 ? random_below(40 * MTS_DAY) : 0);
		if (!mts_clock_step(clock, at, unit, 1, &next) || next > t)
			tap_fault("back from %lld by {%d, %d, %lld}", (long long) t,
					  unit.months, unit.days, (long long) unit.usecs);
	}
	snprintf(text, sizeof(text), "steps, floor and back agree %s", name);
	tap_claim(text);
}

static void
test_zone(void)
{
	TestZone zone = {table_time(2013, 3, 31, 2, 0, 0),
					 table_time(2013, 10, 27, 2, 0, 0)};
	MtsClock clock = table_clock(&zone);
	int64_t n = 0;

	is_step(&clock, table_time(2013, 3, 31, 0, 0, 0), day, 1,
			"2013-03-31 23:00:00.000000", "a day of 23 hours");
	is_step(&clock, table_time(2013, 3, 31, 0, 0, 0), hour, 24,
			"2013-04-01 00:00:00.000000", "24 hours are 24 hours");
	is_step(&clock, table_time(2013, 10, 26, 23, 0, 0), day, 1,
			"2013-10-28 00:00:00.000000", "a day of 25 hours");
	is_step(&clock, table_time(2013, 3, 1, 0, 0, 0), month, 1,
			"2013-03-31 23:00:00.000000", "a month into summer time");
	is_int(mts_clock_floor(&clock, table_time(2013, 7, 2, 22, 30, 0), day),
		   table_time(2013, 7, 1, 23, 0, 0), "a day begins an hour earlier");
	ok(mts_clock_steps_between(&clock, table_time(2013, 10, 26, 23, 0, 0),
							   table_time(2013, 10, 27, 23, 59, 59), day,
							   &n) &&
		   n == 0,
	   "the 25th hour belongs to the day");
	is_int(mts_clock_floor(&clock, table_time(2013, 10, 27, 1, 30, 30),
						   (MtsSpan){0, 0, MTS_MINUTE}),
		   table_time(2013, 10, 27, 1, 30, 0),
		   "a minute of a repeated hour begins in that hour");
	is_step(&clock, table_time(2013, 10, 27, 1, 30, 0), day, 0,
			"2013-10-27 01:30:00.000000", "an empty step changes nothing");
	test_laws(&clock, zone.from - 500 * MTS_DAY, zone.to + 500 * MTS_DAY,
			  "in years with a summer time");
	test_laws(&clock, zone.from - 401 * MTS_DAY, zone.from - 399 * MTS_DAY,
			  "into summer time");
	test_laws(&clock, zone.to - 2 * MTS_DAY, zone.to + MTS_DAY,
			  "around the end of summer time");
}

int
main(void)
{
	MtsClock utc = table_clock(NULL);

	tap_seed();
	test_spans();
	test_calendar();
	test_against_libc();
	test_laws(&utc, table_time(1850, 1, 1, 0, 0, 0),
			  table_time(2150, 1, 1, 0, 0, 0), "in UTC");
	is_int(mts_clock_step_back(NULL, MTS_TIME_MIN, day), MTS_TIME_MIN,
		   "a step back from an open end stays there");
	is_int(mts_clock_step_back(NULL, INT64_MIN + 5, day), MTS_TIME_MIN,
		   "a step out of range leads to an open end");
	is_int(mts_clock_step_back(NULL, INT64_MIN + 5, month), MTS_TIME_MIN,
		   "months out of range lead to an open end");
	test_zone();
	return tap_done();
}
