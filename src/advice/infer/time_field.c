/*
 * time_field.c
 *		Finds the fields of documents that are times, and the units that they
 *		begin.
 *
 * Every value of a field must be a time in its format, of the years from 1990
 * to 2100 if it is a number, which tells seconds from milliseconds.  Numbers
 * of a date's digits, such as 20240301, are dates.  Text must be what a
 * pattern of to_char writes, which is derived from one value, or have an
 * offset from UTC.  Times that are finer than microseconds are rounded down.
 */
#include "advice/infer/infer_private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lesser fields are not tried as the time of buckets. */
#define MAX_FIELDS 16

/* 1990-01-01 and 2100-01-01, in seconds since 1970 */
#define FIRST_SECOND ((double) MTS_SURVEY_FIRST_SECOND)
#define END_SECOND 4102444800.0

/* These times in ticks of .NET; nanoseconds of 1990 are not taken for times */
#define FIRST_TICK 627667488e9
#define END_TICK 662380416e9

/* Lesser numbers are not taken for times. */
#define FIRST_NUMBER 19900101.0

/* So many different numbers are not dates by chance. */
#define MIN_DATES 8

/*
 * mts_time_field_is_number
 *		Whether the values of a format could be other numbers than times.
 */
bool
mts_time_field_is_number(const char *format)
{
	return strncmp(format, "epoch", 5) == 0 ||
		   strncmp(format, "text:epoch", 10) == 0 ||
		   strncmp(format, "number:", 7) == 0 || strcmp(format, "ticks") == 0;
}

/*
 * mts_time_field_has_zone
 *		Whether times of a format do not depend on a zone.
 */
bool
mts_time_field_has_zone(const char *format)
{
	const char *last = strstr(format, " or text:");

	if (last)
		return mts_time_field_has_zone(last + 4);
	return strncmp(format, "number:", 7) != 0 &&
		   strncmp(format, "time:", 5) != 0 &&
		   (strncmp(format, "text:", 5) != 0 || strchr(format, 'Z') ||
			strchr(format, '+') || mts_time_field_is_number(format));
}

/*
 * mts_time_field_is_relative
 *		Whether times of a format count from the bucket's time or its day.
 */
bool
mts_time_field_is_relative(const char *format)
{
	return strncmp(format, "offset:", 7) == 0 ||
		   strncmp(format, "time:", 5) == 0;
}

/*
 * mts_time_field_fits
 *		Whether a node holds only times of this format, which are whole
 *		microseconds or truncated to them.
 */
bool
mts_time_field_fits(const MtsInfer *infer, int node, const char *format,
					bool truncate)
{
	bool has_times = false;
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, node, MTS_ALL);
	MtsFormat parsed;
	MtsError error;
	MtsTime t;

	if (!mts_format_parse(format, &parsed, &error))
		return false;
	while (mts_survey_next(&scan))
	{
		MtsDecoded decoded =
			mts_format_decode(&parsed, infer->hints->clock, &scan.element, 0,
							  truncate, &t, &error);

		if (decoded == MTS_DECODED_INVALID)
			return false;
		has_times |= decoded == MTS_DECODED;
	}
	return has_times;
}

/*
 * mts_time_field_write
 *		Write a format with the BSON type of the numbers at a node, so that an
 *		INSERT writes the same.
 *
 * JavaScript stores a whole number below 2^31 as int, and any other number as
 * double.  An int or a long by its size is the default.
 */
void
mts_time_field_write(const MtsInfer *infer, int node, const char *format,
					 char *typed)
{
	uint32_t types = infer->survey.nodes[node].types & ~MTS_NULL_TYPES;
	bool is_offset = strncmp(format, "offset:", 7) == 0;

	strcpy(typed, format);
	if (strstr(format, " or ") ||
		(!is_offset && strncmp(format, "epoch", 5) != 0 &&
		 strcmp(format, "ticks") != 0))
		return;
	if (types & MTS_TYPE_BIT(BSON_TYPE_DOUBLE) &&
		!(types & MTS_TYPE_BIT(BSON_TYPE_INT64)))
		strcat(typed, ":double");
	else if (types == MTS_TYPE_BIT(BSON_TYPE_INT64) &&
			 (is_offset || strcmp(format, "epoch") == 0))
		strcat(typed, ":long");
}

/* mts_time_field_epoch: write the format of numbers from least to greatest */
bool
mts_time_field_epoch(double least, double greatest, char *format)
{
	static const char *const names[] = {"epoch", "epoch_ms", "epoch_us",
										"epoch_ns"};
	double scale = 1;

	if (least >= FIRST_TICK && greatest < END_TICK)
		return strcpy(format, "ticks") != NULL;
	for (int i = 0; i < 4; i++, scale *= 1000)
		if (least >= FIRST_SECOND * scale && greatest < END_SECOND * scale)
			return strcpy(format, names[i]) != NULL;
	return false;
}

/* Find the format of numbers that begin with a year, such as 20240301. */
static bool
find_digits(const MtsInfer *infer, int node, double least, char *format)
{
	char text[40], pattern[MTS_INFER_FORMAT - 2];

	snprintf(text, sizeof(text), "%.0f", least);
	if (strncmp(text, "1990", 4) < 0 || strncmp(text, "2100", 4) >= 0 ||
		!mts_time_field_pattern(text, true, pattern))
		return false;
	snprintf(format, MTS_INFER_FORMAT, "number:%s", pattern + 5);
	return mts_time_field_fits(infer, node, format, true);
}

/* Whether a number has the digits of a date without a century: yymmddHHMM */
static bool
is_short_date(double d)
{
	int64_t n = fabs(d) < MTS_MAX_EXACT ? (int64_t) d : 0;
	int month = n / 1000000 % 100, day = n / 10000 % 100;

	return d == rint(d) && month >= 1 && month <= 12 && day >= 1 &&
		   day <= 31 && n / 100 % 100 < 24 && n % 100 < 60;
}

static bool
read_number(const MtsElement *element, double *d)
{
	size_t len;
	const char *text;

	if (element->type != BSON_TYPE_UTF8)
		return mts_element_number(element, d);
	text = mts_element_text(element, &len);
	*d = strtod(text, NULL);
	return true;
}

/* Find the format of numbers, or of numbers that are text. */
static bool
find_number(const MtsInfer *infer, int node, char *format)
{
	double least = INFINITY, greatest = -INFINITY, d, last = 0;
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, node, MTS_ALL);
	bool is_text =
		mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8));
	bool are_dates = true;
	int changes = 0;

	while (mts_survey_next(&scan))
		if (read_number(&scan.element, &d))
		{
			least = fmin(least, d);
			greatest = fmax(greatest, d);
			if (!(least >= FIRST_NUMBER))
				return false;
			are_dates &= is_short_date(d);
			changes += d != last;
			last = d;
		}
	if (!is_text && find_digits(infer, node, least, format))
		return true;
	if (!mts_time_field_epoch(least, greatest, format + (is_text ? 5 : 0)) ||
		(strcmp(format + (is_text ? 5 : 0), "epoch") == 0 && are_dates &&
		 changes >= MIN_DATES && greatest - least >= 100))
		return false;
	if (is_text)
		memcpy(format, "text:", 5);
	return mts_time_field_fits(infer, node, format, true);
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
	/* the date and the time of day each have one separator, or none */
	static const struct
	{
		const char *name;
		const char *separators; /* NULL: the one before */
	} parts[] = {{"MM", "-/:_"},
				 {"DD", NULL},
				 {"HH24", "T _-:"},
				 {"MI", ":"},
				 {"SS", NULL}};
	char separator = '\0';
	size_t i = 0, n;

	if (strspn(text, MTS_DIGITS) < 4)
		return false;
	pattern += sprintf(pattern, "text:YYYY");
	for (text += 4; i < 5 && *text && *text != 'Z'; i++)
	{
		bool is_short = i < 2 && !is_padded; /* it may have one digit */
		const char *separators = parts[i].separators;

		if (separators)
			separator = strchr(MTS_DIGITS, *text) ? '\0' : *text;
		if (separator && (*text++ != separator ||
						  (separators && !strchr(separators, separator))))
			return false;
		n = strspn(text, MTS_DIGITS);
		if (is_short && separator ? n < 1 || n > 2 : n < 2)
			return false;
		if (separator)
			pattern +=
				sprintf(pattern, separator == 'T' ? "\"T\"" : "%c", separator);
		pattern +=
			sprintf(pattern, "%s%s", is_short ? "FM" : "", parts[i].name);
		text += is_short ? n : 2;
	}
	if (i == 0)
		return false;
	n = i == 5 && *text == '.' ? strspn(text + 1, MTS_DIGITS) : 0;
	if (n == 3 || n == 6)
	{
		pattern += sprintf(pattern, n == 3 ? ".MS" : ".US");
		text += 1 + n;
	}
	if (*text == 'Z' && i > 2)
		text += sprintf(pattern, "\"Z\"") > 0;
	else if (strcmp(text, "+00:00") == 0 && i == 5)
		text += sprintf(pattern, "\"+00:00\"") - 2;
	return *text == '\0';
}

/* Find the first text of a node; false if it has none, or a long one. */
static bool
find_text(const MtsInfer *infer, int node, char text[40])
{
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, node, MTS_ALL);
	size_t len;

	do
	{
		if (!mts_survey_next(&scan))
			return false;
	} while (scan.element.type != BSON_TYPE_UTF8);
	snprintf(text, 40, "%s", mts_element_text(&scan.element, &len));
	return len < 40;
}

static bool
find_pattern(const MtsInfer *infer, int node, char *format)
{
	char text[40];

	return find_text(infer, node, text) &&
		   ((mts_time_field_pattern(text, true, format) &&
			 mts_time_field_fits(infer, node, format, true)) ||
			(mts_time_field_pattern(text, false, format) &&
			 mts_time_field_fits(infer, node, format, true)) ||
			mts_time_field_fits(infer, node, strcpy(format, "iso8601"),
								true) ||
			find_number(infer, node, format));
}

/*
 * mts_time_field_find_of_day
 *		Find the format in which all values of a node are times of day, with
 *		hours and minutes at least.
 */
bool
mts_time_field_find_of_day(const MtsInfer *infer, int node, char *format)
{
	static const char date[] = "2000-01-01 ",
					  date_format[] = "text:YYYY-MM-DD ";
	char text[40], dated[sizeof(text) + sizeof(date)];
	char pattern[MTS_INFER_FORMAT];

	if (!find_text(infer, node, text))
		return false;
	snprintf(dated, sizeof(dated), "%s%s", date, text);
	if (!mts_time_field_pattern(dated, true, pattern) ||
		!strstr(pattern, "MI") || strchr(pattern, '"'))
		return false;
	snprintf(format, MTS_INFER_FORMAT, "time:%s",
			 pattern + strlen(date_format));
	return mts_time_field_fits(infer, node, format, true);
}

/* Find the format of the numbers of a node that has other times, too. */
static bool
find_epoch(const MtsInfer *infer, int node, char *format)
{
	double least = INFINITY, greatest = -INFINITY, d;
	MtsSurveyScan scan = mts_survey_scan(&infer->survey, node, MTS_ALL);

	while (mts_survey_next(&scan))
		if (mts_element_number(&scan.element, &d))
		{
			least = fmin(least, d);
			greatest = fmax(greatest, d);
		}
	return mts_time_field_epoch(least, greatest, format);
}

/*
 * Find the formats of times that writers have stored in several types, such as
 * "date or iso8601".  A pattern comes last.
 */
static bool
find_mixed(const MtsInfer *infer, int node, char *format)
{
	char number[MTS_INFER_FORMAT], text[40], pattern[MTS_INFER_FORMAT];
	uint32_t types = infer->survey.nodes[node].types;
	bool has_dates = types & MTS_TYPE_BIT(BSON_TYPE_DATE_TIME);
	bool has_numbers = types & MTS_BINARY_NUMBER_TYPES;
	bool has_text = find_text(infer, node, text);
	const char *texts[] = {pattern, "iso8601"};

	if (has_dates + has_numbers + has_text < 2 ||
		(has_numbers && !find_epoch(infer, node, number)))
		return false;
	for (int i = 0; i < 2; i++)
	{
		int len = snprintf(format, MTS_INFER_FORMAT, "%s%s%s",
						   has_dates ? "date" : "",
						   has_dates && has_numbers ? " or " : "",
						   has_numbers ? number : "");

		if (has_text && (i > 0 || mts_time_field_pattern(text, true, pattern)))
			len += snprintf(format + len, MTS_INFER_FORMAT - len, " or %s",
							texts[i]);
		if (len < MTS_INFER_FORMAT &&
			mts_time_field_fits(infer, node, format, true))
			return true;
	}
	return false;
}

/*
 * mts_time_field_find_format
 *		Find the format in which all values of a node are times.
 */
bool
mts_time_field_find_format(const MtsInfer *infer, int node, char *format)
{
	if (mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DATE_TIME)))
		return mts_time_field_fits(infer, node, strcpy(format, "date"), true);
	if (mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_TIMESTAMP)))
		return mts_time_field_fits(infer, node, strcpy(format, "timestamp"),
								   true);
	if (mts_column_has_only(infer, node, MTS_BINARY_NUMBER_TYPES))
		return find_number(infer, node, format);
	if (mts_column_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)))
		return find_pattern(infer, node, format);
	return find_mixed(infer, node, format);
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
		infer->hints->local && mts_time_field_has_zone(field->format);
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
	field->least = n > 0 ? sorted[0] : MTS_TIME_MAX;
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

/* Read the times of a field, by the clock of UTC or hints->local. */
static void
read_times(MtsInfer *infer, MtsTimeField *field)
{
	MtsElement element;
	MtsFormat format;
	MtsError error;

	field->times =
		mts_infer_allocate(infer, 2 * infer->nsamples + 1, sizeof(MtsTime));
	(void) mts_format_parse(field->format, &format, &error);
	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_find(&infer->survey, i, field->node, &element) ||
			mts_format_decode(&format, mts_time_field_clock(infer, field),
							  &element, 0, true, &field->times[i],
							  &error) != MTS_DECODED)
			field->times[i] = MTS_TIME_MIN;
	measure_times(infer, field, field->times + infer->nsamples);
}

/*
 * Add a field once more if its times may begin days of hints->local: they are
 * texts, or so few that days in UTC are not ruled out.
 */
static void
add_local(MtsInfer *infer, const MtsTimeField *field)
{
	int day = mts_unit_find((MtsSpan){0, 1, 0});
	MtsTimeField *local = &infer->fields[infer->nfields + infer->nlocal];
	bool is_text = !mts_time_field_has_zone(field->format);

	if (!infer->hints->local || field->is_local ||
		(!is_text && (field->distinct >= 3 || field->unit <= day)))
		return;
	*local = *field;
	local->is_local = true;
	local->distance = 0;
	read_times(infer, local);
	local->unit = coarsest_unit(infer, local);
	infer->nlocal += local->unit <= day;
}

/*
 * mts_time_field_change
 *		Return a copy of a field whose times have another format.
 */
const MtsTimeField *
mts_time_field_change(MtsInfer *infer, const MtsTimeField *field,
					  const char *format)
{
	MtsTimeField *other = mts_infer_allocate(infer, 1, sizeof(MtsTimeField));

	*other = (MtsTimeField){.node = field->node};
	strcpy(other->format, format);
	read_times(infer, other);
	find_unit(infer, other);
	return other;
}

/*
 * mts_time_field_is_storing
 *		Whether the last name of a field says that it is the time when the
 *		document was stored, in any letters and with any separators.
 */
bool
mts_time_field_is_storing(const MtsInfer *infer, const MtsTimeField *field)
{
	static const char *const verbs[] = {"created",  "updated",  "inserted",
										"modified", "stored",   "ingested",
										"imported", "uploaded", "deleted"};
	static const char *const ends[] = {"", "at", "on", "date", "time"};
	const char *name = infer->survey.nodes[field->node].name;
	char letters[16];
	size_t n = 0;

	for (; *name && n < sizeof(letters) - 1; name++)
		if (isalpha((unsigned char) *name))
			letters[n++] = (char) tolower((unsigned char) *name);
	letters[n] = '\0';
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++)
		{
			size_t len = strlen(verbs[i]);

			if (strncmp(letters, verbs[i], len) == 0 &&
				strcmp(letters + len, ends[j]) == 0)
				return true;
		}
	return false;
}

/* Dates precede texts, and texts precede numbers. */
static int
format_rank(const MtsTimeField *field)
{
	return strcmp(field->format, "date") == 0        ? 0
		   : mts_time_field_is_number(field->format) ? 2
													 : 1;
}

/*
 * The time of buckets comes first: more documents have it, indexes have it, it
 * tells more documents apart, it begins longer units, and it is the earlier
 * one of a start and an end.
 */
static int
compare_fields(const void *x, const void *y)
{
	const MtsTimeField *a = x, *b = y;

	int order[] = {b->present - a->present,
				   b->nindexes - a->nindexes,
				   b->told - a->told,
				   a->unit - b->unit,
				   b->distinct - a->distinct,
				   format_rank(a) - format_rank(b),
				   (a->least > b->least) - (a->least < b->least),
				   a->node - b->node};
	int i = 0;

	while (i < 7 && order[i] == 0)
		i++;
	return order[i];
}

/*
 * mts_time_field_find_fields
 *		Find the fields of documents that are times, and read their times.
 */
void
mts_time_field_find_fields(MtsInfer *infer)
{
	MtsLeaves leaves;

	mts_column_leaves(infer, 0, &leaves);
	infer->fields =
		mts_infer_allocate(infer, 2 * leaves.n, sizeof(MtsTimeField));
	for (int i = 0; i < leaves.n; i++)
	{
		MtsTimeField *field = &infer->fields[infer->nfields];
		char path[MTS_MAX_PATH];

		*field = (MtsTimeField){.node = leaves.nodes[i]};
		if (!mts_remark_path(infer, field->node, path) ||
			!mts_time_field_find_format(infer, field->node, field->format))
			continue;
		read_times(infer, field);
		find_unit(infer, field);
		infer->nfields++;
	}
	if (infer->nfields > 1)
		mts_key_weigh_times(infer);
	qsort(infer->fields, infer->nfields, sizeof(MtsTimeField), compare_fields);
	if (infer->nfields > MAX_FIELDS)
		infer->nfields = MAX_FIELDS;
	for (int i = 0; i < infer->nfields; i++)
		add_local(infer, &infer->fields[i]);
}
