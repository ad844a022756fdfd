/*
 * unit.c
 *		The units of time that buckets span and slots count.
 *
 * A unit is an index of one table, from coarse to fine.
 */
#include "advice/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
#define HOURS(n) {n, "hour", {0, 0, (n) * MTS_HOUR}},
#define MINUTES(n) {n, "minute", {0, 0, (n) * MTS_MINUTE}},
#define SECONDS(n) {n, "second", {0, 0, (n) * MTS_SECOND}},
#define MILLISECONDS(n) {n, "millisecond", {0, 0, (n) * INT64_C(1000)}},

static const struct
{
	int times;
	const char *name;
	MtsSpan span;
} units[] = {
	{1, "year", {12, 0, 0}}, {3, "month", {3, 0, 0}}, {1, "month", {1, 0, 0}},
	{7, "day", {0, 7, 0}}, {1, "day", {0, 1, 0}},
	HOURS(12) HOURS(8) HOURS(6) HOURS(4) HOURS(3) HOURS(2) HOURS(1)
	MINUTES(30) MINUTES(20) MINUTES(15) MINUTES(12) MINUTES(10) MINUTES(6)
	MINUTES(5) MINUTES(4) MINUTES(3) MINUTES(2) MINUTES(1)
	SECONDS(30) SECONDS(20) SECONDS(15) SECONDS(10) SECONDS(5) SECONDS(2)
	SECONDS(1)
	MILLISECONDS(500) MILLISECONDS(100) MILLISECONDS(50) MILLISECONDS(20)
	MILLISECONDS(10) MILLISECONDS(1)
};
/* clang-format on */

#define NUNITS ((int) (sizeof(units) / sizeof(units[0])))

/* mts_unit_count: the number of units, and the index of no unit at all */
int
mts_unit_count(void)
{
	return NUNITS;
}

MtsSpan
mts_unit_span(int unit)
{
	return units[unit].span;
}

bool
mts_unit_is_single(int unit)
{
	return units[unit].times == 1;
}

/* mts_unit_single: the single unit that a unit is a multiple of */
int
mts_unit_single(int unit)
{
	while (units[unit].times > 1)
		unit++;
	return unit;
}

/* mts_unit_find: the unit of this span */
int
mts_unit_find(MtsSpan span)
{
	int i = 0;

	while (i < NUNITS && (units[i].span.months != span.months ||
						  units[i].span.days != span.days ||
						  units[i].span.usecs != span.usecs))
		i++;
	return i;
}

/*
 * mts_unit_name
 *		Write a unit as in an option: "hour" or "15 minutes".
 *
 * text has room for 32 bytes, and is returned.
 */
const char *
mts_unit_name(int unit, char *text)
{
	if (unit >= NUNITS)
		snprintf(text, 32, "microsecond");
	else if (units[unit].times == 1)
		snprintf(text, 32, "%s", units[unit].name);
	else
		snprintf(text, 32, "%d %ss", units[unit].times, units[unit].name);
	return text;
}

/* mts_unit_amount: write a unit with its number: "1 hour" or "15 minutes" */
const char *
mts_unit_amount(int unit, char *text)
{
	strcpy(text, "1 ");
	(void) mts_unit_name(unit, text + (mts_unit_is_single(unit) ? 2 : 0));
	return text;
}

/*
 * mts_unit_capacity
 *		How many of an inner unit an outer one has at least or at most, or 0 if
 *		it does not have a whole number of them.
 */
int64_t
mts_unit_capacity(int outer, int inner, bool most)
{
	int32_t months = units[outer].span.months;
	int64_t length = mts_span_length(units[inner].span, 0);
	int64_t least = mts_span_length(units[outer].span, 28);

	if (months > 1)
		least = (months == 12 ? 365 : 90) * MTS_DAY;

	if (units[inner].span.months > 0)
		return months / units[inner].span.months;
	if (inner <= outer || least % length != 0)
		return 0;
	if (most && months > 0)
		return (months == 12 ? 366 : months == 3 ? 92 : 31) * MTS_DAY / length;
	return least / length;
}
