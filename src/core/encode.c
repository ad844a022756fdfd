/*
 * encode.c
 *		Store a time in a field: the inverse of mts_format_decode.
 *
 * What is written decodes to the instant that is reported as stored: the
 * time itself or, where the format is coarser, the last one before it.
 */
#include "core/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool
refuse(MtsError *error, const char *detail)
{
	snprintf(error->detail, sizeof(error->detail), "%s", detail);
	error->hint = NULL;
	return false;
}

/* A whole number, in 32 bits where they hold it and that is wanted */
static void
set_integer(bson_value_t *value, int64_t n, bool may_be_short)
{
	if (may_be_short && n >= INT32_MIN && n <= INT32_MAX)
	{
		value->value_type = BSON_TYPE_INT32;
		value->value.v_int32 = (int32_t) n;
		return;
	}
	value->value_type = BSON_TYPE_INT64;
	value->value.v_int64 = n;
}

/* usecs in units of scale, as a double that reads as usecs again */
static bool
set_double(bson_value_t *value, int64_t usecs, int64_t scale, int64_t base,
		   MtsError *error)
{
	double d = (double) usecs / (double) scale + (double) base;
	double read = rint((d - (double) base) * (double) scale);

	value->value_type = BSON_TYPE_DOUBLE;
	value->value.v_double = d;
	/* a whole one is read without rounding */
	return (d != rint(d) && fabs(read) < 9.2e18 && (int64_t) read == usecs) ||
		   refuse(error, "A double cannot hold the time to the microsecond.");
}

static bool
encode_number(const MtsFormat *format, MtsTime t, bson_value_t *value,
			  MtsError *error)
{
	int64_t scale = mts_format_scale(format->kind);
	int64_t usecs = mts_format_unix(t, 1, false);
	int64_t nanoseconds;

	if (scale == 0)
	{
		if (__builtin_mul_overflow(usecs, 1000, &nanoseconds))
			return refuse(error,
						  "The time is out of the range of nanoseconds.");
		set_integer(value, nanoseconds, false);
		return true;
	}
	if (usecs % scale != 0)
		return set_double(value, usecs, scale, 0, error);
	set_integer(value, usecs / scale, format->kind == MTS_FORMAT_EPOCH);
	return true;
}

static bool
encode_offset(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			  MtsTime base_time, bson_value_t *value, MtsTime *stored,
			  MtsError *error)
{
	MtsSpan unit = format->unit;
	int64_t n;

	if (!mts_span_is_calendar(unit) && (t - base_time) % unit.usecs != 0)
		return set_double(value, t - base_time, unit.usecs, format->base,
						  error);
	if (!mts_clock_steps_between(clock, base_time, t, unit, &n) ||
		!mts_clock_step(clock, base_time, unit, n, stored))
		return refuse(error, "The time is out of range.");
	set_integer(value, n + format->base, true);
	return true;
}

static bool
encode_text(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			bson_value_t *value, char *text, MtsTime *stored, MtsError *error)
{
	MtsTime expected = mts_span_is_zero(format->unit)
						   ? t
						   : mts_clock_floor(clock, t, format->unit);

	/* where clocks are set back, a text is that of another instant, too */
	if (t < MTS_FIRST_YEAR || t >= MTS_END_YEAR || !clock->format ||
		!clock->parse ||
		!clock->format(clock->arg, format->pattern, t, text,
					   MTS_MAX_TIME_TEXT) ||
		!clock->parse(clock->arg, format->pattern, text, strlen(text),
					  stored) ||
		*stored != expected)
	{
		snprintf(
			error->detail, sizeof(error->detail),
			"The text that pattern \"%.100s\" writes for the time does not read back as the same time.",
			format->pattern);
		error->hint = NULL;
		return false;
	}
	value->value_type = BSON_TYPE_UTF8;
	value->value.v_utf8.str = text;
	value->value.v_utf8.len = (uint32_t) strlen(text);
	return true;
}

/*
 * mts_format_encode
 *		Turn an instant into what is stored of it.
 *
 * base_time is the bucket's, for an offset.  text has room for
 * MTS_MAX_TIME_TEXT bytes, which *value may point to.  False with the reason
 * in *error when the format can't hold the time.
 */
bool
mts_format_encode(const MtsFormat *format, const MtsClock *clock, MtsTime t,
				  MtsTime base_time, bson_value_t *value, char *text,
				  MtsTime *stored, MtsError *error)
{
	*stored = t;
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			value->value_type = BSON_TYPE_DATE_TIME;
			value->value.v_datetime = mts_format_unix(t, 1000, false);
			*stored = (value->value.v_datetime + MTS_UNIX_EPOCH / 1000) * 1000;
			return true;
		case MTS_FORMAT_TEXT:
			return encode_text(format, clock, t, value, text, stored, error);
		case MTS_FORMAT_OFFSET:
			return encode_offset(format, clock, t, base_time, value, stored,
								 error);
		case MTS_FORMAT_OID:
			return refuse(error, "MongoDB makes ObjectIds itself.");
		default:
			return encode_number(format, t, value, error);
	}
}
