/*
 * clock.c
 *		Step instants by units of time, round them down, and count the units
 *		between two of them.
 *
 * Days and months are steps in the local time of the clock's zone.  The zone's
 * rules are not here: the clock's functions convert an instant to local time
 * and back.  Allocates nothing.
 */
#include "core/time/clock.h"

#define DAYS_PER_ERA 146097 /* 400 years */
#define DAYS_TO_2000 730425 /* from 0000-03-01 to 2000-01-01 */

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The days from 2000-01-01 to a day of the proleptic Gregorian calendar */
static int64_t
days_from_civil(int64_t year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t era = floor_div(y, 400);
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

	return era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 -
		   year_of_era / 100 + day_of_year - DAYS_TO_2000;
}

static void
civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t d = days + DAYS_TO_2000;
	int64_t era = floor_div(d, DAYS_PER_ERA);
	int64_t day_of_era = d - era * DAYS_PER_ERA;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 +
						   day_of_era / 36524 - day_of_era / 146096) /
						  365;
	int64_t day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int m = (int) ((5 * day_of_year + 2) / 153);

	*day = (int) (day_of_year - (153 * m + 2) / 5) + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = era * 400 + year_of_era + (*month <= 2);
}

/* The number of the month that has a day, from January of the year 0 on */
static int64_t
month_of_day(int64_t days, int *day)
{
	int64_t year;
	int month;

	civil_from_days(days, &year, &month, day);
	return year * 12 + month - 1;
}

/* The first day of a month with this number */
static int64_t
first_of_month(int64_t n)
{
	int64_t year = floor_div(n, 12);

	return days_from_civil(year, (int) (n - year * 12) + 1, 1);
}

/*
 * mts_clock_local
 *		The local time of an instant; in UTC, the same number.
 */
MtsTime
mts_clock_local(const MtsClock *clock, MtsTime t)
{
	return clock && clock->to_local ? clock->to_local(clock->arg, t) : t;
}

/*
 * mts_clock_instant
 *		An instant that has a local time, or one close to it if clocks skip
 *		that local time.
 */
MtsTime
mts_clock_instant(const MtsClock *clock, MtsTime local)
{
	return clock && clock->to_instant ? clock->to_instant(clock->arg, local)
									  : local;
}

/*
 * mts_clock_date
 *		The calendar day of a local time.
 */
void
mts_clock_date(MtsTime local, int64_t *year, int *month, int *day)
{
	civil_from_days(floor_div(local, MTS_DAY), year, month, day);
}

/*
 * mts_clock_midnight
 *		The local time at which a day begins; false if there is no such day.
 *
 * The year has at most four digits.
 */
bool
mts_clock_midnight(int64_t year, int month, int day, MtsTime *local)
{
	if (month < 1 || month > 12 || day < 1 ||
		days_from_civil(year, month, day) >= first_of_month(year * 12 + month))
		return false;
	*local = days_from_civil(year, month, day) * MTS_DAY;
	return true;
}

/*
 * Add months to a local time; a day past the end of the month becomes its
 * last.  False if the result is out of range.
 */
static bool
add_months(MtsTime local, int64_t months, MtsTime *result)
{
	int64_t days = floor_div(local, MTS_DAY);
	int day;
	int64_t month = month_of_day(days, &day) + months;
	int64_t moved = first_of_month(month) + day - 1;
	int64_t last = first_of_month(month + 1) - 1;

	if (moved > last)
		moved = last;
	return !__builtin_mul_overflow(moved, MTS_DAY, result) &&
		   !__builtin_add_overflow(*result, local - days * MTS_DAY, result);
}

/*
 * mts_clock_step
 *		The instant n units after t; n may be negative.
 *
 * False if an MtsTime cannot hold it.
 */
bool
mts_clock_step(const MtsClock *clock, MtsTime t, MtsSpan unit, int64_t n,
			   MtsTime *result)
{
	int64_t offset;

	if (!mts_span_is_calendar(unit))
		return mts_clock_add(t, unit.usecs, n, result);

	/*
	 * n = 0 returns t itself.  If its local time occurs twice, the conversion
	 * could return the other instant, and the first slot would not begin when
	 * its bucket does.
	 */
	if (n == 0)
	{
		*result = t;
		return true;
	}

	/* beyond any calendar; keeps the products below from overflowing */
	if (n > INT32_MAX || n < -INT32_MAX)
		return false;
	t = mts_clock_local(clock, t);
	if (unit.months != 0 && !add_months(t, unit.months * n, &t))
		return false;
	if (__builtin_mul_overflow(unit.days * n, MTS_DAY, &offset) ||
		__builtin_add_overflow(t, offset, &t) ||
		__builtin_add_overflow(t, unit.usecs * n, &t))
		return false;
	*result = mts_clock_instant(clock, t);
	return true;
}

/*
 * mts_clock_step_back
 *		Return a time such that every bucket of this span that ends after t
 *		begins later.  MTS_TIME_MIN if there is none.
 *
 * It is the last such time for spans of microseconds, and for days in UTC.
 */
MtsTime
mts_clock_step_back(const MtsClock *clock, MtsTime t, MtsSpan span)
{
	MtsTime result;

	if (t == MTS_TIME_MIN || !mts_clock_step(clock, t, span, -1, &result))
		return MTS_TIME_MIN;
	if (clock && clock->to_local && mts_span_is_calendar(span) &&
		__builtin_sub_overflow(result, MTS_ZONE_SLACK, &result))
		return MTS_TIME_MIN;
	return result;
}

/*
 * mts_clock_floor
 *		The last whole unit at or before t, in local time.
 *
 * Months count from January of the year 0, other units from 2000-01-01 00:00.
 * It is exact if the zone's clocks do not change, for calendar units, and for
 * units that divide an hour.
 */
MtsTime
mts_clock_floor(const MtsClock *clock, MtsTime t, MtsSpan unit)
{
	MtsTime local = mts_clock_local(clock, t);
	MtsTime floored, instant;

	if (unit.months > 0)
	{
		int day;
		int64_t month = month_of_day(floor_div(local, MTS_DAY), &day);

		month = floor_div(month, unit.months) * unit.months;
		floored = first_of_month(month) * MTS_DAY;
	}
	else
	{
		int64_t length = unit.days > 0 ? unit.days * MTS_DAY : unit.usecs;

		floored = floor_div(local, length) * length;
	}
	instant = mts_clock_instant(clock, floored);

	/*
	 * If the local time occurs twice, the conversion could return the later
	 * instant, so the unit could begin after t.
	 */
	return instant <= t ? instant : t - (local - floored);
}

/*
 * mts_clock_steps_between
 *		The largest n such that n units after `from` is not later than t.
 *
 * False if t is before `from`, and on overflow.
 */
bool
mts_clock_steps_between(const MtsClock *clock, MtsTime from, MtsTime t,
						MtsSpan unit, int64_t *n)
{
	MtsTime length =
		unit.usecs + unit.days * MTS_DAY + unit.months * 28 * MTS_DAY;
	MtsTime distance, reached;
	int64_t low = 0, high;

	if (__builtin_sub_overflow(t, from, &distance) || distance < 0)
		return false;
	if (!mts_span_is_calendar(unit))
	{
		*n = distance / length;
		return true;
	}

	/* length is the shortest calendar step; 2 more allow for clock changes */
	high = distance / length + 2;
	while (low < high)
	{
		int64_t middle = low + (high - low + 1) / 2;

		if (mts_clock_step(clock, from, unit, middle, &reached) &&
			reached <= t)
			low = middle;
		else
			high = middle - 1;
	}
	*n = low;
	return true;
}
