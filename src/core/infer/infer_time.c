/*
 * infer_time.c
 *		Finds the nodes that are times, their formats, and the units that the
 *		times begin.
 *
 * Every value of a node must be a time in its format.  Text must be what the
 * pattern writes.  Numbers must lie in the years from 1990 to 2100, which
 * tells seconds from milliseconds.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1990-01-01 and 2100-01-01, in seconds since 1970 */
#define FIRST_SECOND 631152000.0
#define END_SECOND 4102444800.0

/* Patterns of to_char, in the order of attempts */
static const char *const patterns[] = {
	"YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"",
	"YYYY-MM-DD\"T\"HH24:MI:SS",
	"YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"",
	"YYYY-MM-DD\"T\"HH24:MI:SS.MS",
	"YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"",
	"YYYY-MM-DD\"T\"HH24:MI:SS.US",
	"YYYY-MM-DD HH24:MI:SS",
	"YYYY-MM-DD HH24:MI:SS.MS",
	"YYYY-MM-DD HH24:MI:SS.US",
	"YYYY-MM-DD\"T\"HH24:MI\"Z\"",
	"YYYY-MM-DD\"T\"HH24:MI",
	"YYYY-MM-DD HH24:MI",
	"YYYY-MM-DD\"T\"HH24",
	"YYYY-MM-DD HH24",
	"YYYY-MM-DD_HH24",
	"YYYY-MM-DD-HH24",
	"YYYY-MM-DD",
	"YYYY/MM/DD HH24:MI:SS",
	"YYYY/MM/DD HH24:MI",
	"YYYY/MM/DD",
	"YYYY:MM:DD:HH24",
	"YYYY:MM:DD",
	"YYYYMMDD\"T\"HH24MISS\"Z\"",
	"YYYYMMDD\"T\"HH24MISS",
	"YYYYMMDD_HH24MISS",
	"YYYYMMDD_HH24MI",
	"YYYYMMDD_HH24",
	"YYYYMMDD-HH24",
	"YYYYMMDDHH24MISS",
	"YYYYMMDDHH24MI",
	"YYYYMMDDHH24",
	"YYYYMMDD",
	"YYYY-MM",
	"YYYY:MM",
	"YYYY/MM",
	"YYYY_MM",
	"YYYYMM",
	"YYYY-FMMM-FMDD",
	"YYYY:FMMM:FMDD",
	"YYYY/FMMM/FMDD",
	"YYYY-FMMM",
	"YYYY:FMMM",
	"YYYY/FMMM",
	"YYYY_FMMM",
};

#define NPATTERNS ((int) (sizeof(patterns) / sizeof(patterns[0])))

static const struct
{
	const char *name;
	double scale; /* of a second */
} epochs[] = {{"epoch", 1},
			  {"epoch_ms", 1e3},
			  {"epoch_us", 1e6},
			  {"epoch_ns", 1e9}};

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

	switch (mts_format_decode(&decoding->format, decoding->infer->hints->clock,
							  element, 0, false, &t, &error))
	{
		case MTS_DECODED:
			decoding->has_times = true;
			decoding->last = t;
			return true;
		case MTS_DECODED_NULL:
			return true;
		default:
			return false;
	}
}

/* Whether all values of a node are times of this format */
static bool
fits(const MtsInfer *infer, int node, const char *format)
{
	Decoding decoding = {.infer = infer};
	MtsError error;

	if (!mts_format_parse(format, &decoding.format, &error))
		return false;
	return mts_survey_visit_all(&infer->survey, node, decodes, &decoding) &&
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
	double range[2] = {1e300, -1e300};

	if (!mts_survey_visit_all(&infer->survey, node, extend_range, range))
		return false;
	for (size_t i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++)
		if (range[0] >= FIRST_SECOND * epochs[i].scale &&
			range[1] < END_SECOND * epochs[i].scale)
		{
			strcpy(format, epochs[i].name);
			return fits(infer, node, format);
		}
	return false;
}

static bool
is_pattern(const char *text)
{
	for (int i = 0; i < NPATTERNS; i++)
		if (strcmp(patterns[i], text) == 0)
			return true;
	return false;
}

/*
 * mts_infer_remark_pattern
 *		Remark that texts may be in a pattern without leading zeros, if no
 *		month with one digit was sampled.
 */
void
mts_infer_remark_pattern(MtsInfer *infer, int node, const char *format)
{
	const char *pattern = format + strlen("text:");
	char other[MTS_INFER_FORMAT];
	char doubt[MTS_INFER_FORMAT + 8];
	char path[MTS_MAX_PATH];
	const char *month = strstr(format, "MM");

	if (strncmp(format, "text:", 5) != 0 || !month ||
		strlen(pattern) + 3 > sizeof(other))
		return;
	snprintf(other, sizeof(other), "%.*sFM%s", (int) (month - pattern),
			 pattern, month);
	snprintf(doubt, sizeof(doubt), "text:%s", other);
	if (is_pattern(other) && fits(infer, node, doubt))
		mts_infer_remark(
			infer,
			"%s is assumed to have pattern %s\nNo month before October was sampled, so it could also be %s.",
			mts_infer_label(infer, node, path), pattern, other);
}

static bool
find_pattern(const MtsInfer *infer, int node, char *format)
{
	for (int i = 0; i < NPATTERNS; i++)
	{
		snprintf(format, MTS_INFER_FORMAT, "text:%s", patterns[i]);
		if (fits(infer, node, format))
			return true;
	}
	return false;
}

/*
 * mts_infer_find_format
 *		Find the format in which all values of a node are times.
 */
bool
mts_infer_find_format(const MtsInfer *infer, int node, char *format)
{
	if (mts_infer_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DATE_TIME)))
	{
		strcpy(format, "date");
		return fits(infer, node, format);
	}
	if (mts_infer_has_only(infer, node, MTS_BINARY_NUMBER_TYPES))
		return find_epoch(infer, node, format);
	if (mts_infer_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)))
		return find_pattern(infer, node, format);
	return false;
}

static bool
is_digits(const uint8_t *text, int n)
{
	while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9')
		n--;
	return n == 0;
}

/* Whether text begins with a date such as 2024-03-01 or 01/03/2024 */
static bool
begins_date(void *arg, const MtsElement *element)
{
	const uint8_t *text = element->value + 4; /* after its length */

	if (MTS_TYPE_BIT(element->type) & MTS_NULL_TYPES)
		return true;
	if (element->type != BSON_TYPE_UTF8 || element->size < 4 + 10)
		return false;
	return (is_digits(text, 4) && text[4] == '-' && is_digits(text + 5, 2) &&
			text[7] == '-' && is_digits(text + 8, 2)) ||
		   (is_digits(text, 2) && text[2] == '/' && is_digits(text + 3, 2) &&
			text[5] == '/' && is_digits(text + 6, 4));
}

/*
 * mts_infer_looks_like_time
 *		Whether texts begin with a date, although no pattern fits them.
 */
bool
mts_infer_looks_like_time(const MtsInfer *infer, int node)
{
	char format[MTS_INFER_FORMAT];

	return mts_infer_has_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)) &&
		   mts_survey_visit_all(&infer->survey, node, begins_date, NULL) &&
		   !mts_infer_find_format(infer, node, format);
}

/* The time in a field of one sample, or MTS_TIME_MIN */
static MtsTime
read_time(const MtsInfer *infer, const MtsInferField *field, int sample)
{
	Decoding decoding = {.infer = infer, .last = MTS_TIME_MIN};
	MtsError error;

	if (mts_format_parse(field->format, &decoding.format, &error))
		(void) mts_survey_visit(&infer->survey, sample, field->node, decodes,
								&decoding);
	return decoding.last;
}

static int
compare_times(const void *a, const void *b)
{
	MtsTime x = *(const MtsTime *) a, y = *(const MtsTime *) b;

	return (x > y) - (x < y);
}

static int64_t
common_divisor(int64_t a, int64_t b)
{
	while (b != 0)
	{
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * mts_infer_common_distance
 *		The greatest common divisor of the distances between a field's times,
 *		in local time.  It is 0 if there are fewer than three times.
 */
int64_t
mts_infer_common_distance(const MtsInfer *infer, const MtsInferField *field)
{
	const MtsClock *clock = mts_infer_field_clock(infer, field);
	MtsTime first = MTS_TIME_MIN;
	int64_t divisor = 0;

	for (int i = 0; i < infer->nsamples && field->distinct > 2; i++)
	{
		MtsTime t = field->times[i];

		if (t == MTS_TIME_MIN)
			continue;
		t = mts_clock_local(clock, t);
		if (first == MTS_TIME_MIN)
			first = t;
		divisor = common_divisor(divisor, t > first ? t - first : first - t);
	}
	return divisor;
}

/* Count a field's times, and find the least distance between two of them. */
static void
measure_times(const MtsInfer *infer, MtsInferField *field)
{
	MtsTime *sorted =
		infer->host->resize(NULL, (infer->nsamples + 1) * sizeof(MtsTime));
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

		field->distinct += gap > 0;
		if (gap > 0 && gap < field->gap)
			field->gap = gap;
	}
}

/*
 * mts_infer_field_clock: the clock by which the times of a field begin units
 */
const MtsClock *
mts_infer_field_clock(const MtsInfer *infer, const MtsInferField *field)
{
	return field && field->is_local ? infer->hints->local
									: infer->hints->clock;
}

/* Whether all times of a field begin this unit */
static bool
all_begin(const MtsInfer *infer, const MtsInferField *field, MtsInferUnit unit)
{
	MtsSpan span = mts_infer_unit_span(unit);
	const MtsClock *clock = mts_infer_field_clock(infer, field);

	for (int i = 0; i < infer->nsamples; i++)
		if (field->times[i] != MTS_TIME_MIN &&
			mts_clock_floor(clock, field->times[i], span) != field->times[i])
			return false;
	return true;
}

/*
 * Whether all times lie within an hour of a day in UTC.  Days of an unknown
 * zone begin like that, as daylight saving time changes by an hour.
 */
static bool
have_same_phase(const MtsInfer *infer, const MtsInferField *field)
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

/* The coarsest unit that all times of a field begin */
static MtsInferUnit
coarsest_unit(const MtsInfer *infer, const MtsInferField *field)
{
	MtsInferUnit unit = MTS_UNIT_YEAR;

	while (unit < MTS_UNIT_NONE && !all_begin(infer, field, unit))
		unit++;
	return unit;
}

/*
 * Find the unit that the times of a field begin: in UTC, in hints->local, or
 * days in an unknown zone.
 */
static void
find_unit(const MtsInfer *infer, MtsInferField *field)
{
	field->unit = coarsest_unit(infer, field);
	if (field->unit <= MTS_UNIT_DAY || field->unit > MTS_UNIT_MINUTE ||
		field->distinct < 3 || field->gap < MTS_DAY - MTS_HOUR)
		return;
	/* text has local time already */
	field->is_local =
		infer->hints->local && strncmp(field->format, "text:", 5) != 0;
	if (field->is_local && coarsest_unit(infer, field) <= MTS_UNIT_DAY)
	{
		field->unit = coarsest_unit(infer, field);
		return;
	}
	field->is_local = false;
	field->has_daily_phase = have_same_phase(infer, field);
	if (field->has_daily_phase)
		field->unit = MTS_UNIT_DAY;
}

static void
read_field(MtsInfer *infer, MtsInferField *field)
{
	field->times =
		infer->host->resize(NULL, (infer->nsamples + 1) * sizeof(MtsTime));
	for (int i = 0; i < infer->nsamples; i++)
		field->times[i] = read_time(infer, field, i);
	measure_times(infer, field);
	find_unit(infer, field);
}

/*
 * mts_infer_find_fields
 *		Find the fields of documents that are times, and read their times.
 */
void
mts_infer_find_fields(MtsInfer *infer)
{
	MtsInferLeaves leaves;

	infer->fields =
		mts_infer_allocate(infer, MTS_INFER_FIELDS, sizeof(MtsInferField));
	mts_infer_collect_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n && infer->nfields < MTS_INFER_FIELDS; i++)
	{
		MtsInferField *field = &infer->fields[infer->nfields];
		char path[MTS_MAX_PATH];

		*field = (MtsInferField){.node = leaves.nodes[i]};
		if (!mts_infer_write_path(infer, field->node, path) ||
			!mts_infer_find_format(infer, field->node, field->format))
			continue;
		read_field(infer, field);
		infer->nfields++;
	}
}

/* Dates precede texts, and texts precede numbers. */
static int
format_rank(const MtsInferField *field)
{
	return strcmp(field->format, "date") == 0        ? 0
		   : strncmp(field->format, "text:", 5) == 0 ? 1
													 : 2;
}

/*
 * mts_infer_longest_span
 *		The longest span of buckets with this time.
 *
 * A single time begins a month or a year by chance, so it allows a day at
 * most.
 */
MtsInferUnit
mts_infer_longest_span(const MtsInferField *field)
{
	return field->distinct > 1 || field->unit > MTS_UNIT_DAY ? field->unit
															 : MTS_UNIT_DAY;
}

/* Compare fields by everything but what mts_infer_sort_fields puts first. */
static int
compare_rest(const MtsInferField *a, const MtsInferField *b)
{
	if (a->distinct != b->distinct)
		return b->distinct - a->distinct;
	if (a->unit != b->unit)
		return (int) a->unit - (int) b->unit;
	if (format_rank(a) != format_rank(b))
		return format_rank(a) - format_rank(b);
	return a->node - b->node;
}

static int
compare_by_buckets(const void *x, const void *y)
{
	const MtsInferField *a = x, *b = y;

	return a->present != b->present ? b->present - a->present
									: compare_rest(a, b);
}

static int
compare_by_unit(const void *x, const void *y)
{
	const MtsInferField *a = x, *b = y;

	if (a->present != b->present || a->unit == b->unit)
		return compare_by_buckets(a, b);
	return (int) a->unit - (int) b->unit;
}

/*
 * mts_infer_sort_fields
 *		Sort the fields into the order in which they are tried as the bucket's
 *		time.
 *
 * Fields that more documents have come first.
 */
void
mts_infer_sort_fields(MtsInfer *infer, MtsInferFieldOrder order)
{
	qsort(infer->fields, infer->nfields, sizeof(MtsInferField),
		  order == MTS_FIELDS_BY_UNIT ? compare_by_unit : compare_by_buckets);
}
