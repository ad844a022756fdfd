/*
 * unit.c
 *		The units of time that buckets span and slots count.
 *
 * A unit is an index of one table, from coarse to fine.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>

/* So many milliseconds, seconds, minutes or hours */
#define MS(n) \
	{ \
		0, 0, (n) *INT64_C(1000) \
	}
#define S(n) \
	{ \
		0, 0, (n) *MTS_SECOND \
	}
#define MIN(n) \
	{ \
		0, 0, (n) *MTS_MINUTE \
	}
#define H(n) \
	{ \
		0, 0, (n) *MTS_HOUR \
	}

/* clang-format off */
static const struct
{
	int times;
	const char *name;
	MtsSpan span;
} units[] = {
	{1, "year", {12, 0, 0}}, {1, "month", {1, 0, 0}},
	{7, "day", {0, 7, 0}}, {1, "day", {0, 1, 0}},
	{12, "hour", H(12)}, {8, "hour", H(8)}, {6, "hour", H(6)},
	{4, "hour", H(4)}, {3, "hour", H(3)}, {2, "hour", H(2)},
	{1, "hour", H(1)},
	{30, "minute", MIN(30)}, {20, "minute", MIN(20)}, {15, "minute", MIN(15)},
	{12, "minute", MIN(12)}, {10, "minute", MIN(10)}, {6, "minute", MIN(6)},
	{5, "minute", MIN(5)}, {4, "minute", MIN(4)}, {3, "minute", MIN(3)},
	{2, "minute", MIN(2)}, {1, "minute", MIN(1)},
	{30, "second", S(30)}, {20, "second", S(20)}, {15, "second", S(15)},
	{10, "second", S(10)}, {5, "second", S(5)}, {2, "second", S(2)},
	{1, "second", S(1)},
	{500, "millisecond", MS(500)}, {100, "millisecond", MS(100)},
	{50, "millisecond", MS(50)}, {20, "millisecond", MS(20)},
	{10, "millisecond", MS(10)}, {1, "millisecond", MS(1)},
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
	int64_t least =
		months > 1 ? 365 * MTS_DAY : mts_span_length(units[outer].span, 28);

	if (units[inner].span.months > 0)
		return months / units[inner].span.months;
	if (inner <= outer || least % length != 0)
		return 0;
	if (most && months > 0)
		return (months > 1 ? 366 : 31) * MTS_DAY / length;
	return least / length;
}
