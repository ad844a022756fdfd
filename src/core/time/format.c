/*
 * format.c
 *		Parse the formats of times, decode and encode stored times, and bound
 *		them in a query.
 *
 * A stored value decodes to exactly one instant or is invalid.  An encoded
 * value decodes to the instant that is reported as stored: the time itself or,
 * if the format is coarser, the last one before it.  A bound admits every
 * stored value whose instant lies in the range.  If a format cannot be bounded
 * to the microsecond it admits a few more, which the unfolding trims.  The
 * clock's functions parse and format text, since PostgreSQL knows the
 * patterns.
 */
#include "core/time/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A time whose fields differ: 2001-11-24 14:25:36.789123 */
#define CHECKED_TIME INT64_C(59927136789123)

/* The range of PostgreSQL's timestamp */
#define FIRST_TIME INT64_C(-211813488000000000)
#define END_TIME INT64_C(9223371331200000000)

/* The greatest number that is read as a key */
#define MAX_KEY INT64_C(999999999999999999)

/* Doubles of a larger magnitude may not fit into 64 bits */
#define MAX_INTEGER 9.2e18

/* The numbers that count since 1970 */
#define SECONDS \
	MTS_FORMAT_EPOCH, .scale = MTS_SECOND, .unit = {0, 0, MTS_SECOND}
#define MILLISECONDS MTS_FORMAT_EPOCH_MS, .scale = 1000, .unit = {0, 0, 1000}
#define MICROSECONDS MTS_FORMAT_EPOCH_US, .scale = 1
#define NANOSECONDS \
	MTS_FORMAT_EPOCH_NS, .fineness = 1000, .origin = MTS_UNIX_EPOCH

static const struct
{
	const char *name;
	MtsFormat format;
} formats[] = {
	{"date", {MTS_FORMAT_DATE, .unit = {0, 0, 1000}}},
	{"epoch", {SECONDS}},
	{"epoch_ms", {MILLISECONDS}},
	{"epoch_us", {MICROSECONDS}},
	{"epoch_ns", {NANOSECONDS}},
	{"ticks", {MTS_FORMAT_TICKS, .fineness = 10, .origin = MTS_FIRST_YEAR}},
	{"text:epoch", {SECONDS, .ndigits = 10}},
	{"text:epoch_ms", {MILLISECONDS, .ndigits = 13}},
	{"text:epoch_us", {MICROSECONDS, .ndigits = 16}},
	{"text:epoch_ns", {NANOSECONDS, .ndigits = 19}},
	{"iso8601", {MTS_FORMAT_ISO8601}},
	{"oid", {MTS_FORMAT_OID}},
	{"timestamp", {MTS_FORMAT_TIMESTAMP}},
};

#define NFORMATS ((int) (sizeof(formats) / sizeof(formats[0])))

/* The BSON types of numbers, as they are written behind a format */
static const struct
{
	const char *name;
	bson_type_t type;
} types[] = {
	{":long", BSON_TYPE_INT64},
	{":double", BSON_TYPE_DOUBLE},
};

/* The fields of to_char patterns that have a fixed width */
static const struct
{
	const char *name;
	int rank; /* 0 is the year; text sorts as time if each rank is one more
			   * than the rank before it */
	MtsSpan unit;
} fields[] = {
	{"YYYY", 0, {12, 0, 0}},       {"MM", 1, {1, 0, 0}},
	{"DDD", 2, {0, 1, 0}},         {"DD", 2, {0, 1, 0}},
	{"HH24", 3, {0, 0, MTS_HOUR}}, {"MI", 4, {0, 0, MTS_MINUTE}},
	{"SS", 5, {0, 0, MTS_SECOND}}, {"MS", 6, {0, 0, 1000}},
	{"US", 6, {0, 0, 1}},
};

#define NFIELDS ((int) (sizeof(fields) / sizeof(fields[0])))

#define RANK_OF_DAY 2 /* in fields */

/* The date of a bucket, which completes a time of its day */
#define DATE_PATTERN "YYYY-MM-DD "
#define DATE_LEN ((size_t) 11)

/* Skip the literal text of a pattern; returns the next field or the end. */
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
 * Determine the unit of a pattern's finest field, and whether its text sorts
 * as time.  The text sorts as time if all fields have a fixed width and run
 * from the year, or from behind the day, to finer fields without a gap.  An
 * unknown field leaves the unit zero; such text cannot be bounded in a query.
 */
static void
analyse_pattern(MtsFormat *format)
{
	const char *at = skip_literal(format->pattern);
	int finest = format->kind == MTS_FORMAT_OF_DAY ? RANK_OF_DAY : -1;

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

/* Return the length of a format without the BSON type of its number. */
static size_t
parse_type(const char *text, bson_type_t *type)
{
	size_t len = strlen(text);

	*type = BSON_TYPE_EOD;
	if (strncmp(text, "epoch", 5) != 0 && strncmp(text, "ticks", 5) != 0 &&
		strncmp(text, "offset:", 7) != 0)
		return len;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
	{
		size_t end = strlen(types[i].name);

		if (len > end && strcmp(text + len - end, types[i].name) == 0)
		{
			*type = types[i].type;
			return len - end;
		}
	}
	return len;
}

/* Find a format by its name; NFORMATS if there is none. */
static int
find_format(const char *name, size_t len)
{
	int i = 0;

	while (i < NFORMATS && (strlen(formats[i].name) != len ||
							strncmp(name, formats[i].name, len) != 0))
		i++;
	return i;
}

static bool
parse_pattern(const char *text, MtsFormat *format)
{
	if (strncmp(text, "text:", 5) != 0 || !text[5])
		return false;
	format->pattern = text + 5;
	analyse_pattern(format);
	return true;
}

/*
 * mts_format_type
 *		Return the BSON type of stored times; double stands for all numbers.
 */
bson_type_t
mts_format_type(const MtsFormat *format)
{
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			return BSON_TYPE_DATE_TIME;
		case MTS_FORMAT_OID:
			return BSON_TYPE_OID;
		case MTS_FORMAT_TIMESTAMP:
			return BSON_TYPE_TIMESTAMP;
		case MTS_FORMAT_ISO8601:
		case MTS_FORMAT_OF_DAY:
			return BSON_TYPE_UTF8;
		default:
			return format->ndigits > 0 || (format->kind == MTS_FORMAT_TEXT &&
										   !format->is_number)
					   ? BSON_TYPE_UTF8
					   : BSON_TYPE_DOUBLE;
	}
}

/* One of the formats of a list, where NFORMATS stands for its pattern */
static MtsFormat
member(const MtsFormat *mixed, int i)
{
	MtsFormat pattern = *mixed;

	pattern.kind = MTS_FORMAT_TEXT;
	pattern.nmembers = 0;
	return mixed->members[i] < NFORMATS ? formats[mixed->members[i]].format
										: pattern;
}

/*
 * Parse several formats, as in "date or iso8601"; a pattern may come last.
 * Each stores another type, and the first one can be written.
 */
static bool
parse_mixed(const char *text, MtsFormat *format)
{
	const char *end;
	MtsFormat first;

	*format = (MtsFormat){MTS_FORMAT_MIXED};
	do
	{
		int i = format->nmembers++;

		end = strstr(text, " or ");
		if (i == MTS_FORMAT_MEMBERS)
			return false;
		format->members[i] =
			find_format(text, end ? (size_t) (end - text) : strlen(text));
		if (format->members[i] == NFORMATS &&
			(end || !parse_pattern(text, format)))
			return false;
		for (int j = 0; j < i; j++)
		{
			MtsFormat a = member(format, i), b = member(format, j);

			if (mts_format_type(&a) == mts_format_type(&b))
				return false;
		}
		text = end ? end + strlen(" or ") : text;
	} while (end);
	first = member(format, 0);
	return mts_format_is_writable(&first);
}

/* Parse a format that is not a list. */
static bool
parse_one(const char *text, MtsFormat *format)
{
	bson_type_t type;
	size_t len = parse_type(text, &type);
	int i = find_format(text, len);

	if (i < NFORMATS)
	{
		*format = formats[i].format;
		format->type = type;
		/* a double has fractions */
		if (type == BSON_TYPE_DOUBLE)
			format->unit = (MtsSpan){0};
		return true;
	}
	format->kind = MTS_FORMAT_TEXT;
	if (parse_pattern(text, format))
		return true;
	if (strncmp(text, "time:", 5) == 0 && text[5] &&
		strlen(text + 5) < MTS_MAX_TIME_TEXT - DATE_LEN)
	{
		format->kind = MTS_FORMAT_OF_DAY;
		format->pattern = text + 5;
		analyse_pattern(format);
		return true;
	}
	if (strncmp(text, "number:", 7) == 0)
	{
		format->is_number = true;
		format->pattern = text + 7;
		analyse_pattern(format);
		if (format->pattern[0] && format->sorted &&
			strspn(format->pattern, "YMDHIS24") == strlen(format->pattern))
			return true;
	}
	format->kind = MTS_FORMAT_OFFSET;
	format->type = type;
	return strncmp(text, "offset:", 7) == 0 &&
		   mts_span_parse_count(text + 7, len - 7, &format->unit,
								&format->base);
}

/*
 * mts_format_parse
 *		Parse the option "format".
 *
 * format->pattern points into text.  False with the reason in *error.
 */
bool
mts_format_parse(const char *text, MtsFormat *format, MtsError *error)
{
	*format = (MtsFormat){0};
	if (strstr(text, " or ") ? parse_mixed(text, format)
							 : parse_one(text, format))
		return true;
	return mts_error_set(
		error,
		"Valid values are \"date\", \"epoch\", \"epoch_ms\", \"epoch_us\", \"epoch_ns\", \"ticks\", \"timestamp\", \"oid\", \"iso8601\", \"text:epoch\" and the like, \"text:PATTERN\" with a pattern of to_char, \"number:YYYYMMDD\" and the like, \"offset:UNIT\", \"time:HH24:MI\" and the like, and several of them as in \"date or iso8601\".",
		"\"%.*s\" is not a format of a time.",
		mts_error_clip(text, strlen(text), 100), text);
}

/*
 * mts_format_is_key
 *		Tell whether the keys of a subdocument can be times in a format, and
 *		parse the format.
 *
 * Nanoseconds cannot: a key has at most 18 digits.  A key is text anyway, and
 * has no BSON type.
 */
bool
mts_format_is_key(const char *text, MtsFormat *format)
{
	MtsError error;

	return mts_format_parse(text, format, &error) && !format->is_number &&
		   format->ndigits == 0 && format->type == BSON_TYPE_EOD &&
		   (format->kind == MTS_FORMAT_TEXT || format->scale > 0);
}

/* ---- Decoding ---------------------------------------------------------- */

/* The length of the part of a pattern that errors quote */
static int
pattern_len(const MtsFormat *format)
{
	return mts_error_clip(format->pattern, strlen(format->pattern), 100);
}

static bool
wrong_type(MtsError *error, const char *declaration, const MtsElement *element)
{
	return mts_error_set(
		error,
		"If all documents store it so, set option \"format\" to that format, otherwise to all of them, such as \"date or iso8601\".",
		"%s, but stored as %s.", declaration,
		mts_element_type_name(element->type));
}

static bool
out_of_range(MtsError *error)
{
	return mts_error_set(
		error,
		"Correct the document, set table option \"on_invalid\" to \"skip\", or exclude the time by a condition, such as an upper bound.",
		"The time is out of range.");
}

static bool
checked(MtsTime t, MtsTime *result, MtsError *error)
{
	*result = t;
	return (t >= FIRST_TIME && t < END_TIME) || out_of_range(error);
}

/* Decode n units of scale microseconds since 1970. */
static bool
from_unix(int64_t n, int64_t scale, MtsTime *t, MtsError *error)
{
	int64_t usecs;

	/*
	 * Subtract the years 1970 to 2000 first: the product may overflow even if
	 * t does not.
	 */
	if (__builtin_add_overflow(n, MTS_UNIX_EPOCH / scale, &usecs) ||
		__builtin_mul_overflow(usecs, scale, &usecs))
		return out_of_range(error);
	return checked(usecs, t, error);
}

/*
 * mts_format_date
 *		Decode a BSON date, in milliseconds since 1970; false if PostgreSQL has
 *		no such time.
 */
bool
mts_format_date(int64_t ms, MtsTime *t)
{
	MtsError error;

	return from_unix(ms, 1000, t, &error);
}

static bool
too_fine(const char *text, size_t len, const char *what, MtsError *error)
{
	return mts_error_set(
		error,
		"Set option \"on_subresolution\" to \"truncate\" to round down to microseconds.",
		"%.*s%s not a whole number of microseconds.",
		mts_error_clip(text, len, 60), text, what);
}

/* Decode an integer; what is finer than a microsecond is refused or cut. */
static bool
from_integer(const MtsFormat *format, int64_t n, bool truncate, MtsTime *t,
			 MtsError *error)
{
	int64_t fineness = format->fineness, usecs;
	char number[24];

	if (format->scale > 0)
		return from_unix(n, format->scale, t, error);
	if (n % fineness != 0 && !truncate)
	{
		size_t len = snprintf(number, sizeof(number), "%" PRId64, n);

		return too_fine(number, len,
						format->kind == MTS_FORMAT_TICKS ? " ticks are"
														 : " nanoseconds are",
						error);
	}
	usecs = n / fineness - (n % fineness < 0);
	if (__builtin_add_overflow(usecs, format->origin, &usecs))
		return out_of_range(error);
	return checked(usecs, t, error);
}

static bool
round_to_int64(double d, int64_t *n)
{
	d = rint(d);
	if (!(fabs(d) < MAX_INTEGER))
		return false;
	*n = (int64_t) d;
	return true;
}

/*
 * Decode the text of an epoch.  All times from September 2001 to November 2286
 * have the same number of digits, so that the text sorts as time; those of
 * nanoseconds end in 2262.  Other text is invalid.
 */
static bool
decode_digits(const MtsFormat *format, const MtsElement *element,
			  bool truncate, MtsTime *t, MtsError *error)
{
	size_t len = 0;
	const char *text = element->type == BSON_TYPE_UTF8
						   ? mts_element_text(element, &len)
						   : NULL;
	int64_t n = 0;
	int i = 0;

	if (!text)
		return wrong_type(error, "The time is declared as text", element);
	while ((int) len == format->ndigits && i < format->ndigits &&
		   text[i] >= (i == 0 ? '1' : '0') && text[i] <= '9' &&
		   !__builtin_mul_overflow(n, 10, &n) &&
		   !__builtin_add_overflow(n, text[i] - '0', &n))
		i++;
	if (i == format->ndigits)
		return from_integer(format, n, truncate, t, error);
	return mts_error_set(error, NULL,
						 "The text \"%.*s\" is not a number of %d digits.",
						 mts_error_clip(text, len, 60), text, format->ndigits);
}

static bool
decode_number(const MtsFormat *format, const MtsElement *element,
			  bool truncate, MtsTime *t, MtsError *error)
{
	int64_t scale = format->scale;
	int64_t n;

	if (mts_element_integer(element, MAX_INTEGER, &n))
		return from_integer(format, n, truncate, t, error);
	if (element->type != BSON_TYPE_DOUBLE || scale == 0)
		return wrong_type(error,
						  scale > 0 ? "The time is declared as a number"
									: "The time is declared as an integer",
						  element);
	if (!round_to_int64(mts_element_double(element) * scale, &n))
		return out_of_range(error);
	return from_unix(n, 1, t, error);
}

static bool
decode_offset(const MtsFormat *format, const MtsClock *clock,
			  const MtsElement *element, MtsTime base_time, MtsTime *t,
			  MtsError *error)
{
	int64_t n;
	MtsSpan unit = format->unit;

	if (mts_element_integer(element, MAX_INTEGER, &n))
	{
		if (__builtin_sub_overflow(n, format->base, &n))
			return out_of_range(error);
	}
	else
	{
		if (element->type != BSON_TYPE_DOUBLE || mts_span_is_calendar(unit))
			return wrong_type(error,
							  mts_span_is_calendar(unit)
								  ? "The offset is declared as an integer"
								  : "The offset is declared as a number",
							  element);
		if (!round_to_int64((mts_element_double(element) - format->base) *
								unit.usecs,
							&n))
			return out_of_range(error);
		unit.usecs = 1;
	}
	if (!mts_clock_step(clock, base_time, unit, n, t))
		return out_of_range(error);
	return checked(*t, t, error);
}

static bool
parse_text(const MtsFormat *format, const MtsClock *clock, const char *text,
		   size_t len, MtsTime *t, MtsError *error)
{
	return (clock && clock->parse &&
			clock->parse(clock->arg, format->pattern, text, len, t) &&
			*t >= MTS_FIRST_YEAR && *t < MTS_END_YEAR) ||
		   mts_error_set(error, NULL,
						 "The text \"%.*s\" does not match pattern \"%.*s\".",
						 mts_error_clip(text, len, 60), text,
						 pattern_len(format), format->pattern);
}

static bool
decode_text(const MtsFormat *format, const MtsClock *clock,
			const MtsElement *element, MtsTime *t, MtsError *error)
{
	size_t len;
	const char *text;
	char number[24];
	int64_t n;

	if (format->is_number && mts_element_integer(element, MAX_INTEGER, &n))
	{
		len = snprintf(number, sizeof(number), "%" PRId64, n);
		text = number;
	}
	else if (format->is_number || element->type != BSON_TYPE_UTF8)
		return wrong_type(error,
						  format->is_number
							  ? "The time is declared as an integer"
							  : "The time is declared as text",
						  element);
	else
		text = mts_element_text(element, &len);
	return parse_text(format, clock, text, len, t, error);
}

/*
 * Write the date of a base time, and return the format of a text that is this
 * date and a time of day.  Its pattern is written to pattern.
 */
static MtsFormat
date_format(const MtsFormat *format, const MtsClock *clock, MtsTime base_time,
			char *pattern, char *date)
{
	MtsFormat dated = *format;
	int64_t year;
	int month, day;

	mts_clock_date(mts_clock_local(clock, base_time), &year, &month, &day);
	snprintf(date, MTS_MAX_TIME_TEXT, "%04" PRId64 "-%02d-%02d ", year, month,
			 day);
	snprintf(pattern, MTS_MAX_TIME_TEXT, DATE_PATTERN "%s", format->pattern);
	dated.kind = MTS_FORMAT_TEXT;
	dated.pattern = pattern;
	return dated;
}

static bool
parse_of_day(const MtsFormat *format, const MtsClock *clock, const char *time,
			 size_t len, MtsTime base_time, MtsTime *t, MtsError *error)
{
	char pattern[MTS_MAX_TIME_TEXT], text[MTS_MAX_TIME_TEXT];
	MtsFormat dated = date_format(format, clock, base_time, pattern, text);
	size_t date_len = strlen(text);

	if (len > sizeof(text) - date_len)
		return parse_text(format, NULL, time, len, t, error);
	memcpy(text + date_len, time, len);
	return parse_text(&dated, clock, text, date_len + len, t, error) ||
		   /* the error shows the time alone */
		   parse_text(format, NULL, time, len, t, error);
}

/* Decode a time of the day of the base time. */
static bool
decode_of_day(const MtsFormat *format, const MtsClock *clock,
			  const MtsElement *element, MtsTime base_time, MtsTime *t,
			  MtsError *error)
{
	size_t len;
	const char *text;

	if (element->type != BSON_TYPE_UTF8)
		return wrong_type(error, "The time is declared as text", element);
	text = mts_element_text(element, &len);
	return parse_of_day(format, clock, text, len, base_time, t, error);
}

/* ---- ISO 8601 --------------------------------------------------------- */

/* A text that is being read */
typedef struct Reader
{
	const char *at;
	const char *end;
} Reader;

/* Skip one of some characters; returns it, or NUL. */
static char
skip_any(Reader *reader, const char *characters)
{
	return reader->at < reader->end && *reader->at &&
				   strchr(characters, *reader->at)
			   ? *reader->at++
			   : '\0';
}

/* Read a number of a fixed width, which is at most limit. */
static bool
read_digits(Reader *reader, int width, int limit, int *n)
{
	*n = 0;
	for (int i = 0; i < width; i++, reader->at++)
	{
		if (reader->at == reader->end || *reader->at < '0' ||
			*reader->at > '9')
			return false;
		*n = *n * 10 + (*reader->at - '0');
	}
	return *n <= limit;
}

/* Read a fraction; set *is_finer if microseconds cannot hold it. */
static bool
read_fraction(Reader *reader, int *usecs, bool *is_finer)
{
	int ndigits = 0, digit;

	for (*usecs = 0; read_digits(reader, 1, 9, &digit); ndigits++)
	{
		if (ndigits < 6)
			*usecs = *usecs * 10 + digit;
		else
			*is_finer |= digit != 0;
	}
	for (int i = ndigits; i < 6; i++)
		*usecs *= 10;
	return ndigits > 0;
}

/* Read an offset from UTC: Z, +01:00, +0100 or +01. */
static bool
read_offset(Reader *reader, MtsTime *offset)
{
	char sign = skip_any(reader, "Z+-");
	int hours = 0, minutes = 0;

	if (sign == '\0' || (sign != 'Z' && !read_digits(reader, 2, 23, &hours)))
		return false;
	if (sign != 'Z' && reader->at < reader->end)
	{
		(void) skip_any(reader, ":");
		if (!read_digits(reader, 2, 59, &minutes))
			return false;
	}
	*offset = hours * MTS_HOUR + minutes * MTS_MINUTE;
	if (sign == '-')
		*offset = -*offset;
	return reader->at == reader->end;
}

/* Read a date and time of day that ends in an offset from UTC. */
static bool
read_iso8601(Reader *reader, MtsTime *t, bool *is_finer)
{
	int year, month, day, hour, minute, second = 0, usecs = 0;
	MtsTime midnight, offset;

	if (!read_digits(reader, 4, 9999, &year) || year == 0 ||
		!skip_any(reader, "-") || !read_digits(reader, 2, 12, &month) ||
		!skip_any(reader, "-") || !read_digits(reader, 2, 31, &day) ||
		!mts_clock_midnight(year, month, day, &midnight) ||
		!skip_any(reader, "T ") || !read_digits(reader, 2, 23, &hour) ||
		!skip_any(reader, ":") || !read_digits(reader, 2, 59, &minute) ||
		(skip_any(reader, ":") &&
		 (!read_digits(reader, 2, 59, &second) ||
		  (skip_any(reader, ".") &&
		   !read_fraction(reader, &usecs, is_finer)))) ||
		!read_offset(reader, &offset))
		return false;
	*t = midnight + hour * MTS_HOUR + minute * MTS_MINUTE +
		 second * MTS_SECOND + usecs - offset;
	return true;
}

static bool
decode_iso8601(const MtsElement *element, bool truncate, MtsTime *t,
			   MtsError *error)
{
	size_t len;
	const char *text;
	Reader reader;
	bool is_finer = false;

	if (element->type != BSON_TYPE_UTF8)
		return wrong_type(error, "The time is declared as text", element);
	text = mts_element_text(element, &len);
	reader = (Reader){text, text + len};
	if (!read_iso8601(&reader, t, &is_finer))
		return mts_error_set(
			error, NULL,
			"The text \"%.*s\" is not a time with an offset, such as 2024-03-01T10:00:00+00:00.",
			mts_error_clip(text, len, 60), text);
	return !is_finer || truncate || too_fine(text, len, " is", error);
}

/* ---- Any format ------------------------------------------------------- */

/* Decode the seconds that an ObjectId begins with, big-endian and unsigned. */
static bool
decode_oid(const MtsElement *element, MtsTime *t, MtsError *error)
{
	const uint8_t *b = element->value;

	if (element->type != BSON_TYPE_OID)
		return wrong_type(error, "The time is declared as an ObjectId",
						  element);
	return from_unix((int64_t) b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3],
					 MTS_SECOND, t, error);
}

/* Decode the seconds of a BSON timestamp, its upper half. */
static bool
decode_timestamp(const MtsElement *element, MtsTime *t, MtsError *error)
{
	uint64_t n = (uint64_t) mts_element_int64(element);

	if (element->type != BSON_TYPE_TIMESTAMP)
		return wrong_type(error, "The time is declared as a timestamp",
						  element);
	return from_unix((int64_t) (n >> 32), MTS_SECOND, t, error);
}

static bool decode(const MtsFormat *format, const MtsClock *clock,
				   const MtsElement *element, MtsTime base_time, bool truncate,
				   MtsTime *t, MtsError *error);

/* Decode a value in the format that stores its type. */
static bool
decode_mixed(const MtsFormat *format, const MtsClock *clock,
			 const MtsElement *element, bool truncate, MtsTime *t,
			 MtsError *error)
{
	double number;
	bson_type_t type = mts_element_number(element, &number) ? BSON_TYPE_DOUBLE
															: element->type;

	for (int i = 0; i < format->nmembers; i++)
	{
		MtsFormat one = member(format, i);

		if (mts_format_type(&one) == type)
			return decode(&one, clock, element, 0, truncate, t, error);
	}
	return wrong_type(error, "The time is declared in several formats",
					  element);
}

/* Decode a value that is not null; false with the reason in *error. */
static bool
decode(const MtsFormat *format, const MtsClock *clock,
	   const MtsElement *element, MtsTime base_time, bool truncate, MtsTime *t,
	   MtsError *error)
{
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			if (element->type != BSON_TYPE_DATE_TIME)
				return wrong_type(error, "The time is declared as a date",
								  element);
			return from_unix(mts_element_int64(element), 1000, t, error);
		case MTS_FORMAT_TEXT:
			return decode_text(format, clock, element, t, error);
		case MTS_FORMAT_OFFSET:
			return decode_offset(format, clock, element, base_time, t, error);
		case MTS_FORMAT_OF_DAY:
			return decode_of_day(format, clock, element, base_time, t, error);
		case MTS_FORMAT_OID:
			return decode_oid(element, t, error);
		case MTS_FORMAT_TIMESTAMP:
			return decode_timestamp(element, t, error);
		case MTS_FORMAT_ISO8601:
			return decode_iso8601(element, truncate, t, error);
		case MTS_FORMAT_MIXED:
			return decode_mixed(format, clock, element, truncate, t, error);
		default:
			return format->ndigits > 0
					   ? decode_digits(format, element, truncate, t, error)
					   : decode_number(format, element, truncate, t, error);
	}
}

/*
 * mts_format_decode
 *		Decode a stored value to an instant.
 *
 * base_time is the bucket's time, to which an offset is added, and which has
 * the date of a time of day.  truncate admits times that are not whole
 * microseconds.  Returns MTS_DECODED_NULL for null, and MTS_DECODED_INVALID
 * with the reason in *error for a value that the format does not allow.
 */
MtsDecoded
mts_format_decode(const MtsFormat *format, const MtsClock *clock,
				  const MtsElement *element, MtsTime base_time, bool truncate,
				  MtsTime *t, MtsError *error)
{
	if (element->type == BSON_TYPE_NULL)
		return MTS_DECODED_NULL;
	return decode(format, clock, element, base_time, truncate, t, error)
			   ? MTS_DECODED
			   : MTS_DECODED_INVALID;
}

/*
 * mts_format_decode_key
 *		Decode a key that is a time.
 *
 * The format is one that mts_format_is_key has parsed.  False with the reason
 * in *error.
 */
bool
mts_format_decode_key(const MtsFormat *format, const MtsClock *clock,
					  const char *key, size_t len, MtsTime *t, MtsError *error)
{
	int64_t n;

	if (format->kind == MTS_FORMAT_TEXT)
		return parse_text(format, clock, key, len, t, error);
	if (mts_element_key_number(key, len, &n) == MTS_KEYTEXT_NUMBER)
		return from_unix(n, format->scale, t, error);
	return mts_error_set(
		error, NULL,
		"The key \"%.*s\" is not a number of at most 18 digits without leading zeros.",
		mts_error_clip(key, len, 40), key);
}

/* Tell whether a pattern writes the same text for two times. */
static bool
writes_same(const MtsFormat *format, const MtsClock *clock, MtsTime a,
			MtsTime b)
{
	char texts[2][MTS_MAX_TIME_TEXT];

	return clock->format(clock->arg, format->pattern, a, texts[0],
						 sizeof(texts[0])) &&
		   clock->format(clock->arg, format->pattern, b, texts[1],
						 sizeof(texts[1])) &&
		   strcmp(texts[0], texts[1]) == 0;
}

/*
 * mts_format_check
 *		Check that the text of a pattern is a time, or a time of day, that can
 *		be read.
 *
 * The clock is in UTC.  False with the reason in *error.
 */
bool
mts_format_check(const MtsFormat *format, const MtsClock *clock,
				 MtsError *error)
{
	const MtsTime t = CHECKED_TIME;
	bool is_of_day = format->kind == MTS_FORMAT_OF_DAY;
	char text[MTS_MAX_TIME_TEXT];
	MtsTime read;

	if (format->kind == MTS_FORMAT_MIXED)
	{
		MtsFormat last = member(format, format->nmembers - 1);

		return mts_format_check(&last, clock, error);
	}
	if (format->kind != MTS_FORMAT_TEXT && !is_of_day)
		return true;
	if (is_of_day != writes_same(format, clock, t, t + 3333 * MTS_DAY))
		return is_of_day
				   ? mts_error_set(
						 error,
						 "Write hours and smaller units only, as in \"time:HH24:MI\".",
						 "Pattern \"%.*s\" of a time of day has a date.",
						 pattern_len(format), format->pattern)
				   : mts_error_set(
						 error,
						 "Format \"time:HH24:MI\", or the like, is the time of day of an element in a bucket of a day.",
						 "Pattern \"%.*s\" has no date.", pattern_len(format),
						 format->pattern);
	if (writes_same(format, clock, t, t - MTS_DAY / 2) &&
		!writes_same(format, clock, t, t - MTS_HOUR))
		return mts_error_set(error, "Write \"HH24\", or \"HH12 AM\".",
							 "Pattern \"%.*s\" does not tell 2:00 from 14:00.",
							 pattern_len(format), format->pattern);
	return (clock->format(clock->arg, format->pattern, t, text,
						  sizeof(text)) &&
			(is_of_day ? parse_of_day(format, clock, text, strlen(text), t,
									  &read, error)
					   : parse_text(format, clock, text, strlen(text), &read,
									error))) ||
		   mts_error_set(error, "A pattern has a year, and no time zone.",
						 "A time that pattern \"%.*s\" writes cannot be read.",
						 pattern_len(format), format->pattern);
}

/* ---- Encoding ---------------------------------------------------------- */

/*
 * The largest number of units of scale microseconds since 1970 that is not
 * after t; INT64_MAX if that is not an integer of 64 bits.
 */
static int64_t
unix_floor(MtsTime t, int64_t scale)
{
	int64_t n = t / scale - (t % scale < 0);

	return __builtin_sub_overflow(n, MTS_UNIX_EPOCH / scale, &n) ? INT64_MAX
																 : n;
}

/* The smallest number of them that is not before t */
static int64_t
unix_ceil(MtsTime t, int64_t scale)
{
	int64_t n = unix_floor(t, scale);

	return t % scale != 0 && n < INT64_MAX ? n + 1 : n;
}

static void
set_int64(bson_value_t *value, int64_t n)
{
	value->value_type = BSON_TYPE_INT64;
	value->value.v_int64 = n;
}

/* Set an int32, or an int64 if n requires it. */
static void
set_integer(bson_value_t *value, int64_t n)
{
	if (n < INT32_MIN || n > INT32_MAX)
	{
		set_int64(value, n);
		return;
	}
	value->value_type = BSON_TYPE_INT32;
	value->value.v_int32 = (int32_t) n;
}

static bool
set_double(bson_value_t *value, double d, bool is_exact, MtsError *error)
{
	value->value_type = BSON_TYPE_DOUBLE;
	value->value.v_double = d;
	return is_exact ||
		   mts_error_set(error, NULL,
						 "A double cannot hold the time to the microsecond.");
}

/*
 * Set a double that is not whole to base plus usecs / scale.  False if it does
 * not decode to the same microseconds.
 */
static bool
set_fraction(bson_value_t *value, int64_t usecs, int64_t scale, int64_t base,
			 MtsError *error)
{
	double d = (double) usecs / (double) scale + (double) base;
	int64_t decoded;

	/* a whole number would decode as an integer, without the rounding */
	return set_double(value, d,
					  d != rint(d) &&
						  round_to_int64((d - (double) base) * (double) scale,
										 &decoded) &&
						  decoded == usecs,
					  error);
}

/*
 * Set a whole number in the type of its format: by default an int or a long
 * for seconds and offsets, and a long for smaller units.
 */
static bool
set_whole(const MtsFormat *format, int64_t n, bson_value_t *value,
		  MtsError *error)
{
	double d = (double) n;

	if (format->type == BSON_TYPE_DOUBLE)
		return set_double(value, d, fabs(d) < MAX_INTEGER && (int64_t) d == n,
						  error);
	if (format->type == BSON_TYPE_EOD && (format->kind == MTS_FORMAT_EPOCH ||
										  format->kind == MTS_FORMAT_OFFSET))
		set_integer(value, n);
	else
		set_int64(value, n);
	return true;
}

/*
 * The number of a time in a format whose unit is finer than a microsecond;
 * false if that is not an integer of 64 bits.
 */
static bool
fine_number(const MtsFormat *format, MtsTime t, int64_t *n)
{
	return !__builtin_sub_overflow(t, format->origin, n) &&
		   !__builtin_mul_overflow(*n, format->fineness, n);
}

/* The time of the last whole unit of scale microseconds that is not after t */
static MtsTime
floor_time(MtsTime t, int64_t scale)
{
	return t - ((t % scale) + scale) % scale;
}

static bool
encode_number(const MtsFormat *format, MtsTime t, bson_value_t *value,
			  MtsTime *stored, MtsError *error)
{
	int64_t scale = format->scale;
	bool is_fraction =
		format->type == BSON_TYPE_DOUBLE && scale > 1 && t % scale != 0;
	int64_t n;

	if (scale == 0)
		return fine_number(format, t, &n)
				   ? set_whole(format, n, value, error)
				   : mts_error_set(error, NULL,
								   "The time is out of the range of %s.",
								   format->kind == MTS_FORMAT_TICKS
									   ? "ticks"
									   : "nanoseconds");
	n = unix_floor(t, is_fraction ? 1 : scale);
	if (n == INT64_MAX)
		return mts_error_set(error, NULL, "The time is out of range.");
	if (is_fraction)
		return set_fraction(value, n, scale, 0, error);
	*stored = floor_time(t, scale);
	return set_whole(format, n, value, error);
}

/* Write the text of an epoch; false if it has another number of digits. */
static bool
write_digits(const MtsFormat *format, MtsTime t, char *text)
{
	int64_t scale = format->scale;
	int64_t n = scale > 0 ? unix_floor(t, scale) : 0;

	return (scale > 0 || fine_number(format, t, &n)) && n > 0 &&
		   snprintf(text, MTS_MAX_TIME_TEXT, "%" PRId64, n) == format->ndigits;
}

static void
set_text(bson_value_t *value, char *text)
{
	value->value_type = BSON_TYPE_UTF8;
	value->value.v_utf8.str = text;
	value->value.v_utf8.len = (uint32_t) strlen(text);
}

static bool
encode_digits(const MtsFormat *format, MtsTime t, bson_value_t *value,
			  char *text, MtsTime *stored, MtsError *error)
{
	int64_t scale = format->scale;

	if (!write_digits(format, t, text))
		return mts_error_set(error, NULL,
							 "In this format, times are numbers of %d digits.",
							 format->ndigits);
	set_text(value, text);
	if (scale > 1)
		*stored = floor_time(t, scale);
	return true;
}

/* Write a time in UTC as Python does: with microseconds unless they are 0. */
static bool
encode_iso8601(MtsTime t, bson_value_t *value, char *text, MtsError *error)
{
	int64_t year;
	int month, day, usecs;
	int len;
	MtsTime rest = t - mts_clock_floor(NULL, t, (MtsSpan){0, 1, 0});

	if (t < MTS_FIRST_YEAR || t >= MTS_END_YEAR)
		return mts_error_set(error, NULL, "The time is out of range.");
	mts_clock_date(t, &year, &month, &day);
	usecs = (int) (rest % MTS_SECOND);
	len = snprintf(text, MTS_MAX_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d",
				   (int) year, month, day, (int) (rest / MTS_HOUR),
				   (int) (rest / MTS_MINUTE % 60),
				   (int) (rest / MTS_SECOND % 60));
	if (usecs != 0)
		len += snprintf(text + len, MTS_MAX_TIME_TEXT - len, ".%06d", usecs);
	snprintf(text + len, MTS_MAX_TIME_TEXT - len, "+00:00");
	set_text(value, text);
	return true;
}

static bool
encode_offset(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			  MtsTime base_time, bson_value_t *value, MtsTime *stored,
			  MtsError *error)
{
	MtsSpan unit = format->unit;
	int64_t n;

	if (format->type == BSON_TYPE_DOUBLE && !mts_span_is_calendar(unit) &&
		(t - base_time) % unit.usecs != 0)
		return set_fraction(value, t - base_time, unit.usecs, format->base,
							error);
	if (!mts_clock_steps_between(clock, base_time, t, unit, &n) ||
		!mts_clock_step(clock, base_time, unit, n, stored))
		return mts_error_set(error, NULL, "The time is out of range.");
	return set_whole(format, n + format->base, value, error);
}

static bool
encode_text(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			bson_value_t *value, char *text, MtsTime *stored, MtsError *error)
{
	MtsTime expected = mts_span_is_zero(format->unit)
						   ? t
						   : mts_clock_floor(clock, t, format->unit);

	/* where clocks are set back, two instants have the same text */
	if (t < MTS_FIRST_YEAR || t >= MTS_END_YEAR || !clock->format ||
		!clock->parse ||
		!clock->format(clock->arg, format->pattern, t, text,
					   MTS_MAX_TIME_TEXT) ||
		(format->is_number && text[0] == '0') ||
		!clock->parse(clock->arg, format->pattern, text, strlen(text),
					  stored) ||
		*stored != expected)
		return mts_error_set(
			error, NULL,
			"The text that pattern \"%.*s\" writes for the time does not read back as the same time.",
			pattern_len(format), format->pattern);
	if (format->is_number)
		set_integer(value, strtoll(text, NULL, 10));
	else
		set_text(value, text);
	return true;
}

/* Write the text of a time of the day of the base time. */
static bool
encode_of_day(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			  MtsTime base_time, bson_value_t *value, char *text,
			  MtsTime *stored, MtsError *error)
{
	char pattern[MTS_MAX_TIME_TEXT], date[MTS_MAX_TIME_TEXT];
	MtsFormat dated = date_format(format, clock, base_time, pattern, date);

	if (!encode_text(&dated, clock, t, value, text, stored, error))
		return false;
	if (strncmp(text, date, strlen(date)) != 0)
		return mts_error_set(
			error, NULL, "The time is not on the day of the bucket, %.10s.",
			date);
	memmove(text, text + DATE_LEN, strlen(text) - DATE_LEN + 1);
	set_text(value, text);
	return true;
}

/*
 * mts_format_encode
 *		Encode an instant as a value to store, and report the stored instant.
 *
 * base_time is the bucket's time, which is subtracted for an offset.  text has
 * room for MTS_MAX_TIME_TEXT bytes, which *value may point to.  False with the
 * reason in *error if the format cannot hold the time.
 */
bool
mts_format_encode(const MtsFormat *format, const MtsClock *clock, MtsTime t,
				  MtsTime base_time, bson_value_t *value, char *text,
				  MtsTime *stored, MtsError *error)
{
	MtsFormat first;

	*stored = t;
	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			value->value_type = BSON_TYPE_DATE_TIME;
			value->value.v_datetime = unix_floor(t, 1000);
			*stored = (value->value.v_datetime + MTS_UNIX_EPOCH / 1000) * 1000;
			return true;
		case MTS_FORMAT_TEXT:
			return encode_text(format, clock, t, value, text, stored, error);
		case MTS_FORMAT_OFFSET:
			return encode_offset(format, clock, t, base_time, value, stored,
								 error);
		case MTS_FORMAT_OF_DAY:
			return encode_of_day(format, clock, t, base_time, value, text,
								 stored, error);
		case MTS_FORMAT_OID:
		case MTS_FORMAT_TIMESTAMP:
			return mts_error_set(error, NULL,
								 "A time cannot be written in format \"%s\".",
								 format->kind == MTS_FORMAT_OID ? "oid"
																: "timestamp");
		case MTS_FORMAT_ISO8601:
			return encode_iso8601(t, value, text, error);
		case MTS_FORMAT_MIXED:
			first = member(format, 0);
			return mts_format_encode(&first, clock, t, base_time, value, text,
									 stored, error);
		default:
			return format->ndigits > 0
					   ? encode_digits(format, t, value, text, stored, error)
					   : encode_number(format, t, value, stored, error);
	}
}

/*
 * mts_format_encode_key
 *		Encode an instant as a key, and report the instant of the key.
 *
 * The format is one that mts_format_is_key has parsed.  key has room for
 * MTS_MAX_TIME_TEXT bytes.  False as above.
 */
bool
mts_format_encode_key(const MtsFormat *format, const MtsClock *clock,
					  MtsTime t, char *key, MtsTime *stored, MtsError *error)
{
	int64_t scale = format->scale;
	bson_value_t value;
	int64_t n;

	if (format->kind == MTS_FORMAT_TEXT)
		return encode_text(format, clock, t, &value, key, stored, error);
	n = unix_floor(t, scale);
	if (n > MAX_KEY || n < -MAX_KEY)
		return mts_error_set(error, NULL, "The time is out of range.");
	snprintf(key, MTS_MAX_TIME_TEXT, "%" PRId64, n);
	return from_unix(n, scale, stored, error);
}

/*
 * mts_format_key_unit
 *		The unit of times that have one key each; zero if there is none.
 */
MtsSpan
mts_format_key_unit(const MtsFormat *format)
{
	if (format->kind == MTS_FORMAT_TEXT)
		return format->unit;
	return (MtsSpan){0, 0, format->scale};
}

/* ---- Bounds ------------------------------------------------------------ */

typedef enum Bound
{
	LOWER,
	UPPER
} Bound;

/*
 * Append a bound of a number.  A double is rounded to the nearest microsecond,
 * so one that lies half a microsecond below the range may belong to it: the
 * bounds are whole numbers outside of the range.
 */
static void
append_number_bound(const MtsFormat *format, MtsTime t, Bound bound,
					bson_t *ops)
{
	int64_t scale = format->scale;
	int64_t n;

	if (scale > 0 && bound == LOWER)
		bson_append_int64(ops, "$gt", -1, unix_floor(t - 1, scale));
	else if (scale > 0)
		bson_append_int64(ops, "$lt", -1, unix_ceil(t, scale));
	else if (fine_number(format, t, &n))
		bson_append_int64(ops, bound == LOWER ? "$gte" : "$lt", -1, n);
}

/*
 * Append a bound of the text of an epoch, which sorts as time.  All stored
 * times are after or before a time with other digits.
 */
static void
append_digit_bound(const MtsFormat *format, MtsTime t, const char *op,
				   bson_t *ops)
{
	int64_t scale = format->scale;
	char text[MTS_MAX_TIME_TEXT];

	/* round up to the unit */
	if (!__builtin_add_overflow(t, scale > 0 ? scale - 1 : 0, &t) &&
		write_digits(format, t, text))
		bson_append_utf8(ops, op, -1, text, -1);
}

/*
 * Append a bound of text with an offset from UTC.  The text begins with the
 * local day, which is at most a day away from that in UTC.
 */
static void
append_iso8601_bound(MtsTime t, Bound bound, bson_t *ops)
{
	char text[MTS_MAX_TIME_TEXT];
	bson_value_t unused;
	MtsError error;

	if (!__builtin_add_overflow(t, bound == LOWER ? -MTS_DAY : 2 * MTS_DAY,
								&t) &&
		encode_iso8601(t, &unused, text, &error))
		bson_append_utf8(ops, bound == LOWER ? "$gte" : "$lt", -1, text,
						 strlen("YYYY-MM-DD"));
}

/* Append a bound of an ObjectId or BSON timestamp by its seconds. */
static void
append_seconds_bound(MtsFormatKind kind, MtsTime t, const char *op,
					 bson_t *ops)
{
	int64_t seconds = unix_ceil(t, MTS_SECOND);
	bson_oid_t oid = {{0}};

	if (seconds < 0 || seconds > UINT32_MAX)
		return;
	if (kind == MTS_FORMAT_TIMESTAMP)
	{
		bson_append_timestamp(ops, op, -1, (uint32_t) seconds, 0);
		return;
	}
	for (int i = 0; i < 4; i++)
		oid.bytes[i] = (uint8_t) (seconds >> (24 - 8 * i));
	bson_append_oid(ops, op, -1, &oid);
}

/*
 * Append a bound of a text that sorts as time.  Nothing if the text of t is
 * unknown.
 */
static void
append_text_bound(const MtsFormat *format, const MtsClock *clock, MtsTime t,
				  Bound bound, bson_t *ops)
{
	char text[MTS_MAX_TIME_TEXT];
	MtsTime slack = bound == LOWER ? -MTS_ZONE_SLACK : MTS_ZONE_SLACK;
	MtsTime written;
	const char *op;
	bool is_exact;

	/* local text sorts as the instants do except where clocks are set back */
	if (clock->to_local && __builtin_add_overflow(t, slack, &t))
		return;
	if (t < MTS_FIRST_YEAR || t >= MTS_END_YEAR || !clock->format ||
		!clock->parse ||
		!clock->format(clock->arg, format->pattern, t, text, sizeof(text)) ||
		!clock->parse(clock->arg, format->pattern, text, strlen(text),
					  &written))
		return;

	/* the text of a finer time is that of an instant before it */
	is_exact = written == t;
	op = bound == LOWER ? (is_exact ? "$gte" : "$gt")
						: (is_exact ? "$lt" : "$lte");
	if (format->is_number)
		bson_append_int64(ops, op, -1, strtoll(text, NULL, 10));
	else
		bson_append_utf8(ops, op, -1, text, -1);
}

/* Append a bound of a range, unless stored times have none. */
static void
append_bound(const MtsFormat *format, const MtsClock *clock, MtsTime t,
			 Bound bound, bson_t *ops)
{
	const char *op = bound == LOWER ? "$gte" : "$lt";

	switch (format->kind)
	{
		case MTS_FORMAT_DATE:
			bson_append_date_time(ops, op, -1, unix_ceil(t, 1000));
			break;
		case MTS_FORMAT_OID:
		case MTS_FORMAT_TIMESTAMP:
			append_seconds_bound(format->kind, t, op, ops);
			break;
		case MTS_FORMAT_ISO8601:
			append_iso8601_bound(t, bound, ops);
			break;
		case MTS_FORMAT_TEXT:
			if (format->sorted)
				append_text_bound(format, clock, t, bound, ops);
			break;
		case MTS_FORMAT_OFFSET:
		case MTS_FORMAT_OF_DAY:
			break;
		default:
			if (format->ndigits > 0)
				append_digit_bound(format, t, op, ops);
			else
				append_number_bound(format, t, bound, ops);
	}
}

/*
 * mts_format_bounds
 *		Append the operators that admit every stored time of a range.
 *
 * Appends nothing for offsets, times of day, and text that does not sort as
 * time, which have no bounds.
 */
void
mts_format_bounds(const MtsFormat *format, const MtsClock *clock,
				  MtsRange range, bson_t *ops)
{
	bool has_from = range.from != MTS_TIME_MIN;
	int64_t only = unix_ceil(range.from, 1000);

	for (int i = 0; i < format->nmembers; i++)
	{
		MtsFormat one = member(format, i);

		mts_format_bounds(&one, clock, range, ops);
	}
	if (format->kind == MTS_FORMAT_MIXED)
		return;

	/* only one date lies between the bounds */
	if (format->kind == MTS_FORMAT_DATE && has_from &&
		only + 1 == unix_ceil(range.to, 1000))
	{
		bson_append_date_time(ops, "$eq", -1, only);
		return;
	}
	if (has_from)
		append_bound(format, clock, range.from, LOWER, ops);
	if (range.to != MTS_TIME_MAX)
		append_bound(format, clock, range.to, UPPER, ops);
}

/* Append the texts of the times of a range; false if they are too many. */
static bool
append_texts(const MtsFormat *format, const MtsClock *clock, MtsRange range,
			 int limit, bson_t *array)
{
	MtsTime t = mts_clock_floor(clock, range.from, format->unit);
	int n = 0;

	while (t < range.to)
	{
		char text[MTS_MAX_TIME_TEXT];
		char key[16];

		if (n == limit ||
			!clock->format(clock->arg, format->pattern, t, text, sizeof(text)))
			return false;
		if (t >= range.from)
		{
			snprintf(key, sizeof(key), "%d", n++);
			bson_append_utf8(array, key, -1, text, -1);
		}
		if (!mts_clock_step(clock, t, format->unit, 1, &t))
			return false;
	}
	return true;
}

/*
 * mts_format_enumerate
 *		Append {$in: [..]} with every text that a time of the range can have.
 *
 * For text that does not sort as time.  Appends nothing and returns false
 * if the range is open, if there are more than limit texts, or if the pattern
 * has a field without a known unit.
 */
bool
mts_format_enumerate(const MtsFormat *format, const MtsClock *clock,
					 MtsRange range, int limit, bson_t *ops)
{
	bson_t texts = BSON_INITIALIZER;
	bool complete;

	if (format->kind != MTS_FORMAT_TEXT || mts_span_is_zero(format->unit) ||
		!clock->format || range.from < MTS_FIRST_YEAR ||
		range.to > MTS_END_YEAR)
		return false;
	/* where clocks are set back, the text may be that of an earlier instant */
	if (clock->to_local)
		range =
			(MtsRange){range.from - MTS_ZONE_SLACK, range.to + MTS_ZONE_SLACK};
	complete = append_texts(format, clock, range, limit, &texts);
	if (complete)
		bson_append_array(ops, "$in", -1, &texts);
	bson_destroy(&texts);
	return complete;
}
