/*
 * format.c
 *		Read the formats of times, and decode stored times.
 *
 * A stored value decodes to exactly one instant or is invalid.  Text goes
 * through the clock, since PostgreSQL knows the patterns.
 */
#include "core/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What PostgreSQL's timestamp holds */
#define FIRST_TIME INT64_C(-211813488000000000)
#define END_TIME INT64_C(9223371331200000000)

/* Doubles beyond this are no integers of 64 bits */
#define MAX_INTEGER 9.2e18

static const struct
{
	const char *name;
	MtsFormatKind kind;
} formats[] = {
	{"date", MTS_FORMAT_DATE},         {"epoch", MTS_FORMAT_EPOCH},
	{"epoch_ms", MTS_FORMAT_EPOCH_MS}, {"epoch_us", MTS_FORMAT_EPOCH_US},
	{"epoch_ns", MTS_FORMAT_EPOCH_NS}, {"oid", MTS_FORMAT_OID},
};

/* Fields of to_char patterns with a fixed width, from coarse to fine */
static const struct
{
	const char *name;
	int rank; /* in a pattern that sorts, each follows the one before it */
	MtsSpan unit;
} fields[] = {
	{"YYYY", 0, {12, 0, 0}},       {"MM", 1, {1, 0, 0}},
	{"DDD", 2, {0, 1, 0}},         {"DD", 2, {0, 1, 0}},
	{"HH24", 3, {0, 0, MTS_HOUR}}, {"MI", 4, {0, 0, MTS_MINUTE}},
	{"SS", 5, {0, 0, MTS_SECOND}}, {"MS", 6, {0, 0, 1000}},
	{"US", 6, {0, 0, 1}},
};

#define NFIELDS ((int) (sizeof(fields) / sizeof(fields[0])))

/* Skip what a pattern copies as it is; returns the next field or the end. */
static const char *
skip_literal(const char *at)
{
	while (*at)
	{
		if (*at == '"')
		{
			for (at++; *at && *at != '"'; at++)
				if (*at == '\\' && at[1])
					at++;
			if (*at)
				at++;
		}
		else if ((*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z'))
			break;
		else
			at++;
	}
	return at;
}

/*
 * Tell what a pattern's last field counts and whether its text sorts as time:
 * fixed-width fields only, from the year down.  A field not known here leaves
 * the unit zero: such text can't be bounded in a query.
 */
static void
analyse_pattern(MtsFormat *format)
{
	const char *at = skip_literal(format->pattern);
	int finest = -1;

	format->sorted = true;
	format->unit = (MtsSpan){12, 0, 0};
	while (*at)
	{
		int i = 0;

		if (strncmp(at, "FM", 2) == 0)
		{
			format->sorted = false;
			at += 2;
		}
		while (i < NFIELDS &&
			   strncmp(at, fields[i].name, strlen(fields[i].name)) != 0)
			i++;
		if (i == NFIELDS)
		{
			format->sorted = false;
			format->unit = (MtsSpan){0};
			return;
		}
		/* the day of the year follows the year */
		if (fields[i].rank != finest + 1 &&
			!(finest == 0 && strcmp(fields[i].name, "DDD") == 0))
			format->sorted = false;
		if (fields[i].rank > finest)
		{
			finest = fields[i].rank;
			format->unit = fields[i].unit;
		}
		at = skip_literal(at + strlen(fields[i].name));
	}
	if (finest < 0)
		format->unit = (MtsSpan){0};
}

/*
 * mts_format_parse
 *		Read the option "format".
 *
 * A pattern points into text.  False with the reason in *error.
 */
bool
mts_format_parse(const char *text, MtsFormat *format, MtsError *error)
{
	*format = (MtsFormat){0};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(text, formats[i].name) == 0)
		{
			format->kind = formats[i].kind;
			return true;
		}
	if (strncmp(text, "text:", 5) == 0 && text[5])
	{
		format->kind = MTS_FORMAT_TEXT;
		format->pattern = text + 5;
		analyse_pattern(format);
		return true;
	}
	if (strncmp(text, "offset:", 7) == 0 &&
		mts_offset_parse(text + 7, strlen(text + 7), &format->unit,
						 &format->base))
	{
		format->kind = MTS_FORMAT_OFFSET;
		return true;
	}
	snprintf(error->detail, sizeof(error->detail),
			 "\"%.100s\" is not a format of a time.", text);
	error->hint =
		"Valid values are \"date\", \"epoch\", \"epoch_ms\", \"epoch_us\", \"epoch_ns\", \"oid\", \"text:PATTERN\" with a pattern of to_char, and \"offset:UNIT\".";
	return false;
}

/* Microseconds that one stored number counts for; 0 for nanoseconds. */
int64_t
mts_format_scale(MtsFormatKind kind)
{
	switch (kind)
	{
		case MTS_FORMAT_EPOCH:
			return 1000000;
		case MTS_FORMAT_EPOCH_MS:
			return 1000;
		case MTS_FORMAT_EPOCH_US:
			return 1;
		default:
			return 0;
	}
}

static MtsDecoded
invalid(MtsError *error, const char *what, const MtsElement *element)
{
	snprintf(error->detail, sizeof(error->detail), "%s, but stored as %s.",
			 what, mts_type_name(element->type));
	error->hint =
		"Option \"format\" says how a time is stored, such as \"date\", \"epoch\" or \"epoch_ms\".";
	return MTS_DECODED_INVALID;
}

static MtsDecoded
out_of_range(MtsError *error)
{
	snprintf(error->detail, sizeof(error->detail),
			 "The time is out of range.");
	error->hint = NULL;
	return MTS_DECODED_INVALID;
}

static MtsDecoded
checked(MtsTime t, MtsTime *result, MtsError *error)
{
	if (t < FIRST_TIME || t >= END_TIME)
		return out_of_range(error);
	*result = t;
	return MTS_DECODED;
}

/* n units of scale microseconds after 1970 */
static MtsDecoded
from_unix(int64_t n, int64_t scale, MtsTime *t, MtsError *error)
{
	int64_t usecs;

	/* 1970 to 2000 first: the product may leave the range when t does not */
	if (__builtin_add_overflow(n, MTS_UNIX_EPOCH / scale, &usecs) ||
		__builtin_mul_overflow(usecs, scale, &usecs))
		return out_of_range(error);
	return checked(usecs, t, error);
}

static MtsDecoded
from_nanoseconds(int64_t n, bool truncate, MtsTime *t, MtsError *error)
{
	int64_t usecs = n / 1000 - (n % 1000 < 0);

	if (n % 1000 != 0 && !truncate)
	{
		snprintf(error->detail, sizeof(error->detail),
				 "%lld nanoseconds are not a whole number of microseconds.",
				 (long long) n);
		error->hint =
			"Set option \"on_subresolution\" to \"truncate\" to round down to microseconds.";
		return MTS_DECODED_INVALID;
	}
	return from_unix(usecs, 1, t, error);
}

static MtsDecoded
decode_number(const MtsFormat *format, const MtsElement *element,
			  bool truncate, MtsTime *t, MtsError *error)
{
	int64_t scale = mts_format_scale(format->kind);
	int64_t n;
	double usecs;

	if (mts_element_integer(element, MAX_INTEGER, &n))
		return scale > 0 ? from_unix(n, scale, t, error)
						 : from_nanoseconds(n, truncate, t, error);
	if (element->type != BSON_TYPE_DOUBLE || scale == 0)
		return invalid(error, "The time is declared as a number", element);
	usecs = rint(mts_element_double(element) * scale);
	if (!(usecs > -9.2e18 && usecs < 9.2e18))
		return out_of_range(error);
	return from_unix((int64_t) usecs, 1, t, error);
}

static MtsDecoded
decode_offset(const MtsFormat *format, const MtsClock *clock,
			  const MtsElement *element, MtsTime base_time, MtsTime *t,
			  MtsError *error)
{
	int64_t n;
	MtsSpan unit = format->unit;

	if (!mts_element_integer(element, MAX_INTEGER, &n))
	{
		double usecs;

		if (element->type != BSON_TYPE_DOUBLE || mts_span_is_calendar(unit))
			return invalid(error, "The offset is declared as a number",
						   element);
		usecs =
			rint((mts_element_double(element) - format->base) * unit.usecs);
		if (!(usecs > -9.2e18 && usecs < 9.2e18))
			return out_of_range(error);
		n = (int64_t) usecs;
		unit.usecs = 1;
	}
	else if (__builtin_sub_overflow(n, format->base, &n))
		return out_of_range(error);
	if (!mts_clock_step(clock, base_time, unit, n, t))
		return out_of_range(error);
	return checked(*t, t, error);
}

static MtsDecoded
decode_text(const MtsFormat *format, const MtsClock *clock,
			const MtsElement *element, MtsTime *t, MtsError *error)
{
	size_t len;
	const char *text;

	if (element->type != BSON_TYPE_UTF8)
		return invalid(error, "The time is declared as text", element);
	text = mts_element_text(element, &len);
	if (clock && clock->parse &&
		clock->parse(clock->arg, format->pattern, text, len, t) &&
		*t >= MTS_FIRST_YEAR && *t < MTS_END_YEAR)
		return MTS_DECODED;
	snprintf(error->detail, sizeof(error->detail),
			 "The text \"%.*s\" does not match pattern \"%.100s\".",
			 len < 60 ? (int) len : 60, text, format->pattern);
	error->hint = NULL;
	return MTS_DECODED_INVALID;
}

/* The seconds that an ObjectId begins with, big-endian and unsigned. */
static MtsDecoded
decode_oid(const MtsElement *element, MtsTime *t, MtsError *error)
{
	const uint8_t *b = element->value;

	if (element->type != BSON_TYPE_OID)
		return invalid(error, "The time is declared as an ObjectId", element);
	return from_unix((int64_t) b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3],
					 1000000, t, error);
}

/*
 * mts_format_decode
 *		Turn a stored value into an instant.
 *
 * base_time is the bucket's, for an offset.  truncate admits nanoseconds that
 * are no whole microseconds.  A null is MTS_DECODED_NULL; what is no time of
 * the format, MTS_DECODED_INVALID with the reason in *error.
 */
MtsDecoded
mts_format_decode(const MtsFormat *format, const MtsClock *clock,
				  const MtsElement *element, MtsTime base_time, bool truncate,
				  MtsTime *t, MtsError *error)
{
	if (element->type == BSON_TYPE_NULL)
		return MTS_DECODED_NULL;
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			if (element->type != BSON_TYPE_DATE_TIME)
				return invalid(error, "The time is declared as a date",
							   element);
			return from_unix(mts_element_int64(element), 1000, t, error);
		case MTS_FORMAT_TEXT:
			return decode_text(format, clock, element, t, error);
		case MTS_FORMAT_OFFSET:
			return decode_offset(format, clock, element, base_time, t, error);
		case MTS_FORMAT_OID:
			return decode_oid(element, t, error);
		default:
			return decode_number(format, element, truncate, t, error);
	}
}
