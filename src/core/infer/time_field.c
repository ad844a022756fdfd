/*
 * time_field.c
 *		Finds the fields of documents that are times, and the units that they
 *		begin.
 *
 * Every value of a field must be a time in its format.  Text must be what a
 * pattern of to_char writes, which is derived from one value.  Numbers must
 * lie in the years from 1990 to 2100, which tells seconds from milliseconds.
 */
#include "core/infer/infer_private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1990-01-01 and 2100-01-01, in seconds since 1970 */
#define FIRST_SECOND ((double) MTS_SURVEY_FIRST_SECOND)
#define END_SECOND 4102444800.0

/* Values that are decoded by a format */
typedef struct Decoding
{
	const MtsInfer *infer;
	MtsFormat format;
	MtsTime last;
	bool has_times;
} Decoding;

static bool
decodes(void *arg, const MtsElement *element)
{
	Decoding *decoding = arg;
	MtsError error;
	MtsTime t;
	MtsDecoded decoded =
		mts_format_decode(&decoding->format, decoding->infer->hints->clock,
						  element, 0, false, &t, &error);

	if (decoded == MTS_DECODED)
	{
		decoding->has_times = true;
		decoding->last = t;
	}
	return decoded != MTS_DECODED_INVALID;
}

/* mts_time_field_fits: whether a node holds only times of this format */
bool
mts_time_field_fits(const MtsInfer *infer, int node, const char *format)
{
	Decoding decoding = {.infer = infer};
	MtsError error;

	return mts_format_parse(format, &decoding.format, &error) &&
		   mts_survey_visit_all(&infer->survey, node, decodes, &decoding) &&
		   decoding.has_times;
}

/* Extend a range by a number, or do nothing for a null. */
static bool
extend_range(void *arg, const MtsElement *element)
{
	double *range = arg;
	double d;

	if (MTS_TYPE_BIT(element->type) & MTS_NULL_TYPES)
		return true;
	if (!mts_element_number(element, &d) || d != d)
		return false;
	range[0] = d < range[0] ? d : range[0];
	range[1] = d > range[1] ? d : range[1];
	return true;
}

static bool
find_epoch(const MtsInfer *infer, int node, char *format)
{
	static const char *const names[] = {"epoch", "epoch_ms", "epoch_us",
										"epoch_ns"};
	double range[2] = {1e300, -1e300};
	double scale = 1;

	if (!mts_survey_visit_all(&infer->survey, node, extend_range, range))
		return false;
	for (int i = 0; i < 4; i++, scale *= 1000)
		if (range[0] >= FIRST_SECOND * scale && range[1] < END_SECOND * scale)
		{
			strcpy(format, names[i]);
			return mts_time_field_fits(infer, node, format);
		}
	return false;
}

static int
count_digits(const char *text)
{
	int n = 0;

	while (isdigit((unsigned char) text[n]))
		n++;
	return n;
}

/*
 * mts_time_field_pattern
 *		Write the format of a text such as 2024-03-01T10:00:00.000Z; false if
 *		it has none.
 *
 * Without padding, months and days may have one digit.
 */
bool
mts_time_field_pattern(const char *text, bool is_padded, char *pattern)
{
	static const char *const parts[] = {"MM", "DD", "HH24", "MI", "SS"};
	char separator = '\0';
	int i = 0;

	if (count_digits(text) < 4)
		return false;
	pattern += sprintf(pattern, "text:YYYY");
	for (text += 4; i < 5 && *text && *text != 'Z'; i++)
	{
		bool is_date = i < 2;
		int n;

		/* the date and the time of day each have one separator, or none */
		if (i == 0 || i == 2 || i == 3)
			separator = isdigit((unsigned char) *text) ? '\0' : *text;
		if (separator && *text != separator)
			return false;
		if (separator && !strchr(i == 0   ? "-/:_"
								 : i == 2 ? "T _-:"
								 : i == 3 ? ":"
										  : "-/:_",
								 separator))
			return false;
		if (separator)
			pattern +=
				sprintf(pattern, separator == 'T' ? "\"T\"" : "%c", separator);
		text += separator != '\0';
		n = count_digits(text);
		if (is_padded || !is_date || !separator ? n < 2 : n < 1 || n > 2)
			return false;
		pattern += sprintf(pattern, "%s%s", is_date && !is_padded ? "FM" : "",
						   parts[i]);
		text += is_padded || !is_date ? 2 : n;
	}
	if (i == 0)
		return false;
	if (i == 5 && *text == '.' &&
		(count_digits(text + 1) == 3 || count_digits(text + 1) == 6))
	{
		pattern +=
			sprintf(pattern, count_digits(text + 1) == 3 ? ".MS" : ".US");
		text += 1 + count_digits(text + 1);
	}
	if (*text == 'Z' && i > 2)
		text += sprintf(pattern, "\"Z\"") > 0;
	return *text == '\0';
}

/* Copy the first text. */
static bool
copy_text(void *arg, const MtsElement *element)
{
	size_t len;
	const char *text;

	if (element->type != BSON_TYPE_UTF8)
		return true;
	text = mts_element_text(element, &len);
	snprintf(arg, 32, "%.*s", len < 32 ? (int) len : 0, text);
	return false;
}

static bool
find_pattern(const MtsInfer *infer, int node, char *format)
{
	char text[32] = "";

	(void) mts_survey_visit_all(&infer->survey, node, copy_text, text);
	return (mts_time_field_pattern(text, true, format) &&
			mts_time_field_fits(infer, node, format)) ||
		   (mts_time_field_pattern(text, false, format) &&
			mts_time_field_fits(infer, node, format));
}

/*
 * mts_time_field_find_format
 *		Find the format in which all values of a node are times.
 */
bool
mts_time_field_find_format(const MtsInfer *infer, int node, char *format)
{
	if (mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DATE_TIME)))
		return mts_time_field_fits(infer, node, strcpy(format, "date"));
	if (mts_column_has_only(infer, node, MTS_BINARY_NUMBER_TYPES))
		return find_epoch(infer, node, format);
	return mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)) &&
		   find_pattern(infer, node, format);
}

static int
compare_times(const void *a, const void *b)
{
	MtsTime x = *(const MtsTime *) a, y = *(const MtsTime *) b;

	return (x > y) - (x < y);
}

/* mts_time_field_clock: the clock by which the times of a field begin units */
const MtsClock *
mts_time_field_clock(const MtsInfer *infer, const MtsTimeField *field)
{
	return field && field->is_local ? infer->hints->local
									: infer->hints->clock;
}

/* mts_time_field_begins: whether all times of a field begin this unit */
bool
mts_time_field_begins(const MtsInfer *infer, const MtsTimeField *field,
					  int unit)
{
	const MtsClock *clock = mts_time_field_clock(infer, field);

	for (int i = 0; i < infer->nsamples; i++)
		if (field->times[i] != MTS_TIME_MIN &&
			mts_clock_floor(clock, field->times[i], mts_unit_span(unit)) !=
				field->times[i])
			return false;
	return true;
}

/* The coarsest single unit that all times begin, or mts_unit_count() */
static int
coarsest_unit(const MtsInfer *infer, const MtsTimeField *field)
{
	int unit = 0;

	while (unit < mts_unit_count() &&
		   (!mts_unit_is_single(unit) ||
			!mts_time_field_begins(infer, field, unit)))
		unit++;
	return unit;
}

/*
 * Whether all times lie within an hour of a day in UTC.  Days of an unknown
 * zone begin like that, as daylight saving time changes by an hour.
 */
static bool
have_same_phase(const MtsInfer *infer, const MtsTimeField *field)
{
	int64_t least = MTS_DAY, greatest = 0;

	for (int i = 0; i < infer->nsamples; i++)
		if (field->times[i] != MTS_TIME_MIN)
		{
			int64_t phase = (field->times[i] % MTS_DAY + MTS_DAY) % MTS_DAY;

			least = phase < least ? phase : least;
			greatest = phase > greatest ? phase : greatest;
		}
	return greatest - least <= MTS_HOUR;
}

/* Find the unit that times begin: in UTC, in hints->local, or elsewhere. */
static void
find_unit(const MtsInfer *infer, MtsTimeField *field)
{
	int day = mts_unit_find((MtsSpan){0, 1, 0});

	field->unit = coarsest_unit(infer, field);
	if (field->unit <= day ||
		field->unit > mts_unit_find((MtsSpan){0, 0, MTS_MINUTE}) ||
		field->distinct < 3 || field->gap < MTS_DAY - MTS_HOUR)
		return;
	/* text has local time already */
	field->is_local =
		infer->hints->local && strncmp(field->format, "text:", 5) != 0;
	if (field->is_local && coarsest_unit(infer, field) <= day)
	{
		field->unit = coarsest_unit(infer, field);
		return;
	}
	field->is_local = false;
	field->has_daily_phase = have_same_phase(infer, field);
	if (field->has_daily_phase)
		field->unit = day;
}

/* Measure the times of a field, which sorted has room for. */
static void
measure_times(const MtsInfer *infer, MtsTimeField *field, MtsTime *sorted)
{
	const MtsClock *clock = mts_time_field_clock(infer, field);
	int n = 0;

	for (int i = 0; i < infer->nsamples; i++)
		if (field->times[i] != MTS_TIME_MIN)
			sorted[n++] = field->times[i];
	qsort(sorted, n, sizeof(MtsTime), compare_times);
	field->present = n;
	field->distinct = n > 0;
	field->gap = MTS_TIME_MAX;
	for (int i = 1; i < n; i++)
	{
		MtsTime gap = sorted[i] - sorted[i - 1];
		int64_t a = mts_clock_local(clock, sorted[i]) -
					mts_clock_local(clock, sorted[i - 1]);

		field->distinct += gap > 0;
		if (gap > 0 && gap < field->gap)
			field->gap = gap;
		field->distance = mts_span_common_divisor(field->distance, a);
	}
	if (field->distinct < 3)
		field->distance = 0;
}

static void
read_field(MtsInfer *infer, MtsTimeField *field)
{
	Decoding decoding = {.infer = infer};
	MtsError error;

	field->times =
		mts_infer_allocate(infer, 2 * infer->nsamples + 1, sizeof(MtsTime));
	(void) mts_format_parse(field->format, &decoding.format, &error);
	for (int i = 0; i < infer->nsamples; i++)
	{
		decoding.last = MTS_TIME_MIN;
		(void) mts_survey_visit(&infer->survey, i, field->node, decodes,
								&decoding);
		field->times[i] = decoding.last;
	}
	measure_times(infer, field, field->times + infer->nsamples);
	find_unit(infer, field);
}

/* Dates precede texts, and texts precede numbers. */
static int
format_rank(const MtsTimeField *field)
{
	return strcmp(field->format, "date") == 0        ? 0
		   : strncmp(field->format, "text:", 5) == 0 ? 1
													 : 2;
}

/* Fields that more documents have, and that differ in most, come first. */
static int
compare_fields(const void *x, const void *y)
{
	const MtsTimeField *a = x, *b = y;

	if (a->present != b->present)
		return b->present - a->present;
	if (a->distinct != b->distinct)
		return b->distinct - a->distinct;
	if (a->unit != b->unit)
		return a->unit - b->unit;
	if (format_rank(a) != format_rank(b))
		return format_rank(a) - format_rank(b);
	return a->node - b->node;
}

/*
 * mts_time_field_find_fields
 *		Find the fields of documents that are times, and read their times.
 */
void
mts_time_field_find_fields(MtsInfer *infer)
{
	MtsLeaves leaves;

	infer->fields =
		mts_infer_allocate(infer, MTS_READING_FIELDS, sizeof(MtsTimeField));
	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n && infer->nfields < MTS_READING_FIELDS; i++)
	{
		MtsTimeField *field = &infer->fields[infer->nfields];
		char path[MTS_MAX_PATH];

		*field = (MtsTimeField){.node = leaves.nodes[i]};
		if (!mts_remark_path(infer, field->node, path) ||
			!mts_time_field_find_format(infer, field->node, field->format))
			continue;
		read_field(infer, field);
		infer->nfields++;
	}
	qsort(infer->fields, infer->nfields, sizeof(MtsTimeField), compare_fields);
}
