/*
 * test_rolling_name.c
 *		Proves that each time belongs to one collection of a rolling set.
 */
#include "core/layout/rolling_name.h"
#include "tables.h"
#include "tap.h"

#define ROOM 128

/* Patterns used at random */
static const char *const patterns[] = {
	"metrics_%Y",           "metrics_%Y%m",        "metrics_%Y%m%d",
	"metrics_%Y%m%d%H",     "%H.%d-%m-%Y",         "%d%m%Y",
	"100%%_%m_of_%Y",       "%Y-%m-%d %Hh",        "%%Y%Y",
	"a.b$c[0-9]{4}^%Y(%m)", "\\%Y\\+*?|%m%d%H%%H",
};

#define NPATTERNS ((int) (sizeof(patterns) / sizeof(patterns[0])))

static MtsRollingName
parse(const char *pattern)
{
	MtsRollingName rolling;
	MtsError error;

	if (!mts_rolling_name_parse(pattern, &rolling, &error))
		abort();
	return rolling;
}

static void
is_refused(const char *pattern, const char *want)
{
	MtsRollingName rolling;
	MtsError error = {0};

	ok(!mts_rolling_name_parse(pattern, &rolling, &error), "\"%s\" is refused",
	   pattern);
	is_text(error.detail, want, "the reason of the refusal");
}

static void
test_patterns(void)
{
	is_int(parse("metrics").nfields, 0, "a name without fields is not a set");
	is_int(parse("100%%").nfields, 0,
		   "a name with a percent sign is not a set");
	is_int(parse("a%Y").nfields, 1, "years");
	is_int(parse("%m%Y").nfields, 2, "months");
	is_int(parse("%d%m%Y").nfields, 3, "days");
	is_int(parse("%H%d%m%Y").nfields, 4, "hours");
	is_refused("a%q", "\"%q\" is not a placeholder.");
	is_refused("a%", "A percent sign is not followed by a placeholder.");
	is_refused("a%Y%", "A percent sign is not followed by a placeholder.");
	is_refused("a%y", "\"%y\" is not a placeholder.");
	is_refused("a%Y%m%Y", "The value has %Y more than once.");
	is_refused("a%m", "The value has %m, but not %Y.");
	is_refused("a%Y%d", "The value has %d, but not %m.");
	is_refused("a%Y%m%H", "The value has %H, but not %d.");
	is_refused("a%H%Y", "The value has %H, but not %m.");
}

static void
is_name(const char *pattern, MtsTime t, const char *want)
{
	MtsRollingName rolling = parse(pattern);
	char name[ROOM] = "none";

	(void) mts_rolling_name_format(&rolling, NULL, t, name);
	is_text(name, want, pattern);
}

static void
test_names(void)
{
	MtsTime t = table_time(2013, 1, 9, 23, 6, 59);

	is_name("m_%Y", t, "m_2013");
	is_name("m_%Y%m", t, "m_201301");
	is_name("m_%Y%m%d", t, "m_20130109");
	is_name("%H/%d.%m.%Y", t, "23/09.01.2013");
	is_name("100%%%Y", t, "100%2013");
	is_name("100%%", t, "100%");
	is_name("m_%Y%m%d%H", table_time(1969, 12, 31, 23, 59, 59) + 999999,
			"m_1969123123");
	is_name("m_%Y", table_time(1, 1, 1, 0, 0, 0), "m_0001");
	is_name("m_%Y", table_time(1, 1, 1, 0, 0, 0) - 1, "none");
	is_name("m_%Y", table_time(9999, 12, 31, 23, 59, 59), "m_9999");
	is_name("m_%Y", table_time(9999, 12, 31, 23, 59, 59) + MTS_SECOND, "none");
	is_name("m_%Y", MTS_TIME_MIN, "none");
	is_name("m_%Y", MTS_TIME_MAX, "none");
}

/* A name and its period; from is NULL if the name is not in the set */
static void
is_period(const char *pattern, const char *name, const char *from,
		  const char *to)
{
	MtsRollingName rolling = parse(pattern);
	MtsPeriod period;
	char text[64];
	bool found = mts_rolling_name_period(&rolling, NULL, name, &period);

	ok(found == (from != NULL), "\"%s\" is %s of \"%s\"", name,
	   from ? "one" : "none", pattern);
	if (!found || !from)
		return;
	table_show_time(period.local.from, text, sizeof(text));
	is_text(text, from, "from");
	table_show_time(period.local.to, text, sizeof(text));
	is_text(text, to, "to");
	ok(period.instants.from == period.local.from &&
		   period.instants.to == period.local.to,
	   "the period is the same in UTC and in local time");
}

static void
test_periods(void)
{
	is_period("m_%Y", "m_2012", "2012-01-01 00:00:00.000000",
			  "2013-01-01 00:00:00.000000");
	is_period("m_%Y%m", "m_201202", "2012-02-01 00:00:00.000000",
			  "2012-03-01 00:00:00.000000");
	is_period("m_%Y%m%d", "m_20120229", "2012-02-29 00:00:00.000000",
			  "2012-03-01 00:00:00.000000");
	is_period("%H%d%m%Y", "2331121999", "1999-12-31 23:00:00.000000",
			  "2000-01-01 00:00:00.000000");
	is_period("m_%Y%m%d", "m_20130229", NULL, NULL);
	is_period("m_%Y%m%d", "m_20130100", NULL, NULL);
	is_period("m_%Y%m", "m_201313", NULL, NULL);
	is_period("m_%Y%m", "m_201300", NULL, NULL);
	is_period("m_%Y", "m_0000", NULL, NULL);
	is_period("m_%Y%m%d%H", "m_2013010124", NULL, NULL);
	is_period("m_%Y", "m_201", NULL, NULL);
	is_period("m_%Y", "m_20134", NULL, NULL);
	is_period("m_%Y", "m_2013_old", NULL, NULL);
	is_period("m_%Y", "m_+213", NULL, NULL);
	is_period("m_%Y", "m_ 213", NULL, NULL);
	is_period("m_%Y", "m", NULL, NULL);
	is_period("m_%Y", "", NULL, NULL);
	is_period("m_%Y_x", "m_2013", NULL, NULL);
	is_period("m_%Y%%", "m_2013%", "2013-01-01 00:00:00.000000",
			  "2014-01-01 00:00:00.000000");
	is_period("m", "m", NULL, NULL);
}

static void
test_regex(void)
{
	MtsRollingName rolling = parse("m.x$_%Y-%m %%(é)");
	char regex[4 * ROOM];

	mts_rolling_name_regex(&rolling, regex);
	is_text(regex, "^m\\.x\\$_[0-9]{4}\\-[0-9]{2}\\ \\%\\(é\\)$",
			"special characters of a name are escaped");
	for (int i = 0; i < NPATTERNS; i++)
	{
		rolling = parse(patterns[i]);
		mts_rolling_name_regex(&rolling, regex);
		if (strlen(regex) >= 4 * mts_rolling_name_size(&rolling))
			tap_fault("%s: %s", patterns[i], regex);
	}
	tap_claim("every regular expression fits its buffer");
}

/*
 * A time is within the period of its collection, and of no other.  Names and
 * periods separate times in the same way.
 */
static void
test_inverse(const MtsClock *clock, MtsTime from, MtsTime to, const char *what)
{
	for (int i = 0; i < 20000; i++)
	{
		MtsRollingName rolling = parse(patterns[random_below(NPATTERNS)]);
		MtsTime t = random_between(from, to);
		MtsTime other =
			t + random_between(-2, 3) * MTS_HOUR * random_below(400);
		char name[ROOM], name_of_other[ROOM];
		MtsPeriod period;

		if (!mts_rolling_name_format(&rolling, clock, t, name) ||
			!mts_rolling_name_format(&rolling, clock, other, name_of_other) ||
			strlen(name) >= mts_rolling_name_size(&rolling) ||
			!mts_rolling_name_period(&rolling, clock, name, &period))
			tap_fault("%s: %s", rolling.pattern, name);
		else if (!mts_rolling_name_period_contains(&period, clock, t) ||
				 t < period.instants.from || t >= period.instants.to)
			tap_fault("%s does not hold its time", name);
		else if (mts_rolling_name_period_contains(&period, clock, other) !=
				 (strcmp(name, name_of_other) == 0))
			tap_fault("%s and %s", name, name_of_other);
		else if (strcmp(name, name_of_other) == 0 &&
				 (other < period.instants.from || other >= period.instants.to))
			tap_fault("%s does not reach as far", name);
	}
	tap_claim(what);
}

static void
test_zone(void)
{
	TestZone zone = {table_time(2013, 3, 31, 2, 0, 0),
					 table_time(2013, 10, 27, 2, 0, 0)};
	MtsClock clock = table_clock(&zone);
	MtsRollingName rolling = parse("%Y%m%d%H");
	MtsPeriod period;
	char name[ROOM];

	(void) mts_rolling_name_format(&rolling, &clock, zone.to - MTS_MINUTE,
								   name);
	is_text(name, "2013102702", "the last minute of summer time");
	(void) mts_rolling_name_format(&rolling, &clock, zone.to, name);
	is_text(name, "2013102702",
			"the first minute after summer time has the same name");
	ok(mts_rolling_name_period(&rolling, &clock, name, &period) &&
		   period.instants.from <= zone.to - MTS_HOUR &&
		   period.instants.to >= zone.to + MTS_HOUR,
	   "the period of a repeated hour");
	ok(mts_rolling_name_period(&rolling, &clock, "2013070112", &period) &&
		   period.instants.from == table_time(2013, 7, 1, 11, 0, 0) &&
		   period.instants.to == table_time(2013, 7, 1, 12, 0, 0),
	   "an hour far from a change of the clocks has exact bounds");
	test_inverse(&clock, zone.from - 2 * MTS_DAY, zone.from + 2 * MTS_DAY,
				 "into summer time");
	test_inverse(&clock, zone.to - 2 * MTS_DAY, zone.to + 2 * MTS_DAY,
				 "around the end of summer time");
	test_inverse(&clock, zone.from - 500 * MTS_DAY, zone.to + 500 * MTS_DAY,
				 "in years with a summer time");
}

int
main(void)
{
	tap_seed();
	test_patterns();
	test_names();
	test_periods();
	test_regex();
	test_inverse(NULL, table_time(1, 3, 1, 0, 0, 0),
				 table_time(9999, 10, 1, 0, 0, 0), "in UTC");
	test_zone();
	return tap_done();
}
