/*
 * span.c
 *		Parse units of time and their multiples.
 *
 * Paths and options use this table of units.  Hints in layout/path.c and
 * layout/layout.c list its names, and infer/infer_unit.c has its own table.
 * Days and months have no fixed length; clock.c adds them to an instant.
 */
#include "core/time/span.h"

#include <stdlib.h>
#include <string.h>

static const struct
{
	const char *name;
	MtsSpan span;
} units[] = {
	{"millisecond", {0, 0, 1000}},
	{"second", {0, 0, MTS_SECOND}},
	{"minute", {0, 0, MTS_MINUTE}},
	{"hour", {0, 0, MTS_HOUR}},
	{"day", {0, 1, 0}},
	{"month", {1, 0, 0}},
};

#define NUNITS ((int) (sizeof(units) / sizeof(units[0])))

/* n times a unit, for an n small enough not to overflow: below 1000000 */
static MtsSpan
times(MtsSpan unit, int64_t n)
{
	return (MtsSpan){(int32_t) (unit.months * n), (int32_t) (unit.days * n),
					 unit.usecs * n};
}

/*
 * mts_span_parse
 *		Parse "minute", "minutes" or "15 minutes".
 *
 * False unless the text is a unit or a multiple of one, from 1 to 999999.
 */
bool
mts_span_parse(const char *text, size_t len, MtsSpan *span)
{
	int64_t n = 0;
	size_t pos = 0;

	while (pos < len && text[pos] >= '0' && text[pos] <= '9' && n < 1000000)
		n = n * 10 + (text[pos++] - '0');
	if (pos == 0)
		n = 1;
	else if (n == 0 || n >= 1000000)
		return false;
	while (pos > 0 && pos < len && text[pos] == ' ')
		pos++;

	for (int i = 0; i < NUNITS; i++)
	{
		size_t name_len = strlen(units[i].name);
		size_t rest = len - pos;

		if (rest == name_len + 1 && text[len - 1] == 's')
			rest--;
		if (rest == name_len && memcmp(text + pos, units[i].name, rest) == 0)
		{
			*span = times(units[i].span, n);
			return true;
		}
	}
	return false;
}

/*
 * mts_span_enclosing
 *		The smallest calendar unit above a unit: a minute for 15 seconds.
 */
MtsSpan
mts_span_enclosing(MtsSpan unit)
{
	if (unit.months > 0 || unit.days > 28)
		return (MtsSpan){12, 0, 0};
	if (unit.days > 0 || unit.usecs >= MTS_DAY)
		return (MtsSpan){1, 0, 0};
	for (int i = 1; i < NUNITS && units[i].span.usecs > 0; i++)
		if (unit.usecs < units[i].span.usecs)
			return units[i].span;
	return (MtsSpan){0, 1, 0};
}

/*
 * mts_span_parse_count
 *		Parse "unit" or "unit:base", as in a slot and in the format "offset:".
 *
 * The base is the number that the unit counts from, 0 unless given.
 */
bool
mts_span_parse_count(const char *text, size_t len, MtsSpan *unit,
					 int64_t *base)
{
	const char *colon = memchr(text, ':', len);
	size_t unit_len = colon ? (size_t) (colon - text) : len;
	char *end;

	*base = 0;
	if (!mts_span_parse(text, unit_len, unit))
		return false;
	if (!colon)
		return true;
	if (colon[1] != '-' && (colon[1] < '0' || colon[1] > '9'))
		return false; /* strtol would skip leading spaces */
	*base = strtol(colon + 1, &end, 10);
	return end > colon + 1 && end == text + len && *base > -1000000 &&
		   *base < 1000000;
}

/*
 * mts_span_length
 *		The length of a span in microseconds, if a month has that many days.
 */
int64_t
mts_span_length(MtsSpan span, int days_per_month)
{
	return span.usecs + span.days * MTS_DAY +
		   (int64_t) span.months * days_per_month * MTS_DAY;
}

/*
 * mts_span_common_divisor
 *		The greatest common divisor of two distances, which may be negative.
 */
int64_t
mts_span_common_divisor(int64_t a, int64_t b)
{
	while (b != 0)
	{
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}
