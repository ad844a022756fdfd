/*
 * bound.c
 *		Bound stored times in a query.
 *
 * A bound admits every stored value whose instant lies in the range; where a
 * format can't be bounded to the microsecond it admits a few more, which the
 * unfolding trims.
 */
#include "core/format.h"

#include <stdio.h>
#include <string.h>

/*
 * mts_format_unix
 *		t in units of scale microseconds since 1970, rounded down or up.
 *
 * The largest integer where it is more than that.
 */
int64_t
mts_format_unix(MtsTime t, int64_t scale, bool up)
{
	int64_t n = t / scale - (t % scale < 0) + (up && t % scale != 0);

	return __builtin_sub_overflow(n, MTS_UNIX_EPOCH / scale, &n) ? INT64_MAX
																 : n;
}

/* {$gte: from, $lt: to}, or the one date that lies between */
static void
date_bounds(MtsRange range, bson_t *ops)
{
	int64_t from = mts_format_unix(range.from, 1000, true);
	int64_t to = mts_format_unix(range.to, 1000, true);

	if (range.from != MTS_TIME_MIN && from + 1 == to)
		bson_append_date_time(ops, "$eq", -1, from);
	else
	{
		if (range.from != MTS_TIME_MIN)
			bson_append_date_time(ops, "$gte", -1, from);
		if (range.to != MTS_TIME_MAX)
			bson_append_date_time(ops, "$lt", -1, to);
	}
}

/*
 * Doubles round to the nearest microsecond, so a value half of one below the
 * range may belong to it: the bounds are whole numbers outside of the range.
 */
static void
number_bounds(const MtsFormat *format, MtsRange range, bson_t *ops)
{
	int64_t scale = mts_format_scale(format->kind);
	int64_t n;

	if (scale > 0)
	{
		if (range.from != MTS_TIME_MIN)
			bson_append_int64(ops, "$gt", -1,
							  mts_format_unix(range.from - 1, scale, false));
		if (range.to != MTS_TIME_MAX)
			bson_append_int64(ops, "$lt", -1,
							  mts_format_unix(range.to, scale, true));
		return;
	}
	if (range.from != MTS_TIME_MIN &&
		!__builtin_mul_overflow(mts_format_unix(range.from, 1, false), 1000,
								&n))
		bson_append_int64(ops, "$gte", -1, n);
	if (range.to != MTS_TIME_MAX &&
		!__builtin_mul_overflow(mts_format_unix(range.to, 1, false), 1000, &n))
		bson_append_int64(ops, "$lt", -1, n);
}

static void
append_oid_bound(bson_t *ops, const char *op, MtsTime t)
{
	int64_t seconds = mts_format_unix(t, MTS_SECOND, true);
	bson_oid_t oid = {{0}};

	if (seconds < 0 || seconds > UINT32_MAX)
		return;
	for (int i = 0; i < 4; i++)
		oid.bytes[i] = (uint8_t) (seconds >> (24 - 8 * i));
	bson_append_oid(ops, op, -1, &oid);
}

static void
append_text_bound(const MtsFormat *format, const MtsClock *clock, MtsTime t,
				  bool is_lower, bson_t *ops)
{
	char text[MTS_MAX_TIME_TEXT];
	MtsTime written;

	/* local text orders as instants do but where clocks are set back */
	if (clock->to_local &&
		__builtin_add_overflow(t, is_lower ? -MTS_ZONE_SLACK : MTS_ZONE_SLACK,
							   &t))
		return;
	if (t < MTS_FIRST_YEAR || t >= MTS_END_YEAR || !clock->format ||
		!clock->parse ||
		!clock->format(clock->arg, format->pattern, t, text, sizeof(text)) ||
		!clock->parse(clock->arg, format->pattern, text, strlen(text),
					  &written))
		return;
	if (is_lower)
		bson_append_utf8(ops, written == t ? "$gte" : "$gt", -1, text, -1);
	else
		bson_append_utf8(ops, written == t ? "$lt" : "$lte", -1, text, -1);
}

/*
 * mts_format_bounds
 *		Append the operators that admit every stored time of a range.
 *
 * Appends nothing where the format can't be bounded: the offset of a point
 * and text that doesn't sort as time.
 */
void
mts_format_bounds(const MtsFormat *format, const MtsClock *clock,
				  MtsRange range, bson_t *ops)
{
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			date_bounds(range, ops);
			break;
		case MTS_FORMAT_OID:
			if (range.from != MTS_TIME_MIN)
				append_oid_bound(ops, "$gte", range.from);
			if (range.to != MTS_TIME_MAX)
				append_oid_bound(ops, "$lt", range.to);
			break;
		case MTS_FORMAT_TEXT:
			if (!format->sorted)
				break;
			append_text_bound(format, clock, range.from, true, ops);
			append_text_bound(format, clock, range.to, false, ops);
			break;
		case MTS_FORMAT_OFFSET:
			break;
		default:
			number_bounds(format, range, ops);
	}
}

/*
 * mts_format_enumerate
 *		Append {$in: [..]} with every text that a time of the range can have.
 *
 * For text that doesn't sort as time.  False, appending nothing, when the
 * range is open, when there are more than limit of them, or when the pattern
 * has a field that can't be stepped through.
 */
bool
mts_format_enumerate(const MtsFormat *format, const MtsClock *clock,
					 MtsRange range, int limit, bson_t *ops)
{
	bson_t in = BSON_INITIALIZER;
	char text[MTS_MAX_TIME_TEXT];
	char key[16];
	MtsTime t;
	bool whole = false;
	int n = 0;

	if (format->kind == MTS_FORMAT_TEXT && !mts_span_is_zero(format->unit) &&
		clock->format && range.from >= MTS_FIRST_YEAR &&
		range.to <= MTS_END_YEAR)
	{
		/* where clocks are set back a text may be the earlier instant's */
		if (clock->to_local)
			range = (MtsRange){range.from - MTS_ZONE_SLACK,
							   range.to + MTS_ZONE_SLACK};
		t = mts_clock_floor(clock, range.from, format->unit);
		whole = true;
		while (whole && t < range.to)
		{
			whole = n < limit && clock->format(clock->arg, format->pattern, t,
											   text, sizeof(text));
			if (whole && t >= range.from)
			{
				snprintf(key, sizeof(key), "%d", n++);
				bson_append_utf8(&in, key, -1, text, -1);
			}
			whole = whole && mts_clock_step(clock, t, format->unit, 1, &t);
		}
	}
	if (whole)
		bson_append_array(ops, "$in", -1, &in);
	bson_destroy(&in);
	return whole;
}
