/*
 * infer_time.c
 *		Which places hold times, and in which format?
 *
 * A format is taken only if every value that stands there is a time by it.
 * Text must be what the pattern writes; numbers must lie in years that
 * somebody measures in, which tells seconds from milliseconds and so on.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1990-01-01 and 2100-01-01, in seconds since 1970 */
#define FIRST_SECOND 631152000.0
#define END_SECOND 4102444800.0

/* Patterns of to_char, the first that fits is taken */
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
	double scale; /* units a second */
} epochs[] = {{"epoch", 1},
			  {"epoch_ms", 1e3},
			  {"epoch_us", 1e6},
			  {"epoch_ns", 1e9}};

/* A format that is being tried */
typedef struct Trial
{
	const MtsInfer *infer;
	MtsFormat format;
	MtsTime *t; /* where the last time goes, or NULL */
	bool found;
} Trial;

static bool
decodes(void *arg, const MtsElement *element)
{
	Trial *trial = arg;
	MtsError error;
	MtsTime t;

	switch (mts_format_decode(&trial->format, trial->infer->hints->clock,
							  element, 0, false, &t, &error))
	{
		case MTS_DECODED:
			trial->found = true;
			if (trial->t)
				*trial->t = t;
			return true;
		case MTS_DECODED_NULL:
			return true;
		default:
			return false;
	}
}

/* Are all values of a node times of this format? */
static bool
fits(const MtsInfer *infer, int node, const char *format)
{
	Trial trial = {.infer = infer};
	MtsError error;

	if (!mts_format_parse(format, &trial.format, &error))
		return false;
	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_visit(&infer->survey, i, node, decodes, &trial))
			return false;
	return trial.found;
}

static bool
widen(void *arg, const MtsElement *element)
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

	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_visit(&infer->survey, i, node, widen, range))
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
 * mts_infer_doubt
 *		Say so when the texts could have been written without a zero as well.
 */
void
mts_infer_doubt(MtsInfer *infer, int node, const char *format)
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
			"%s: taken for %s; no month before October was sampled, so it could be %s",
			mts_infer_show(infer, node, path), pattern, other);
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
 * mts_infer_format
 *		Find the format by which everything that stands at a node is a time.
 */
bool
mts_infer_format(const MtsInfer *infer, int node, char *format)
{
	if (mts_infer_is_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DATE_TIME)))
	{
		strcpy(format, "date");
		return fits(infer, node, format);
	}
	if (mts_infer_is_only(infer, node, MTS_BINARY_NUMBER_TYPES))
		return find_epoch(infer, node, format);
	if (mts_infer_is_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)))
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

/* Does text begin as 2024-03-01 or 01/03/2024 does? */
static bool
begins_date(void *arg, const MtsElement *element)
{
	const uint8_t *text = element->value + 4; /* behind its length */

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
 * mts_infer_seems_time
 *		Do texts look like times, though no known pattern reads them?
 */
bool
mts_infer_seems_time(const MtsInfer *infer, int node)
{
	char format[MTS_INFER_FORMAT];

	if (!mts_infer_is_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_UTF8)))
		return false;
	for (int i = 0; i < infer->nsamples; i++)
		if (!mts_survey_visit(&infer->survey, i, node, begins_date, NULL))
			return false;
	return !mts_infer_format(infer, node, format);
}

/*
 * read_time
 *		The time in a field of one sample; MTS_TIME_MIN: there is none.
 */
static MtsTime
read_time(const MtsInfer *infer, const MtsInferField *field, int sample)
{
	MtsTime t = MTS_TIME_MIN;
	Trial trial = {.infer = infer, .t = &t};
	MtsError error;

	if (mts_format_parse(field->format, &trial.format, &error))
		(void) mts_survey_visit(&infer->survey, sample, field->node, decodes,
								&trial);
	return t;
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
 * mts_infer_rhythm
 *		What divides all distances between a field's times, on its clock; 0:
 *		there are too few to tell.
 */
int64_t
mts_infer_rhythm(const MtsInfer *infer, const MtsInferField *field)
{
	const MtsClock *clock = mts_infer_clock(infer, field);
	MtsTime first = MTS_TIME_MIN;
	int64_t rhythm = 0;

	for (int i = 0; i < infer->nsamples && field->distinct > 2; i++)
	{
		MtsTime t = field->times[i];

		if (t == MTS_TIME_MIN)
			continue;
		t = mts_clock_local(clock, t);
		if (first == MTS_TIME_MIN)
			first = t;
		rhythm = common_divisor(rhythm, t > first ? t - first : first - t);
	}
	return rhythm;
}

/* Count a field's times, and find the least distance between two. */
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

/* The clock by which a field's times begin units. */
const MtsClock *
mts_infer_clock(const MtsInfer *infer, const MtsInferField *field)
{
	return field && field->is_local ? infer->hints->local
									: infer->hints->clock;
}

static bool
all_begin(const MtsInfer *infer, const MtsInferField *field, MtsInferUnit unit)
{
	MtsSpan span = mts_infer_unit_span(unit);
	const MtsClock *clock = mts_infer_clock(infer, field);

	for (int i = 0; i < infer->nsamples; i++)
		if (field->times[i] != MTS_TIME_MIN &&
			mts_clock_floor(clock, field->times[i], span) != field->times[i])
			return false;
	return true;
}

/*
 * Do all times lie within an hour of the day, as the days of a zone begin?
 * (In UTC, and not around midnight.)
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

static MtsInferUnit
coarsest_unit(const MtsInfer *infer, const MtsInferField *field)
{
	MtsInferUnit unit = MTS_UNIT_YEAR;

	while (unit < MTS_UNIT_NONE && !all_begin(infer, field, unit))
		unit++;
	return unit;
}

/* Find what the times of a field begin, in UTC or elsewhere. */
static void
find_unit(const MtsInfer *infer, MtsInferField *field)
{
	field->unit = coarsest_unit(infer, field);
	if (field->unit <= MTS_UNIT_DAY || field->unit > MTS_UNIT_MINUTE ||
		field->distinct < 3 || field->gap < MTS_DAY - MTS_HOUR)
		return;
	/* text says local time as it is */
	field->is_local =
		infer->hints->local && strncmp(field->format, "text:", 5) != 0;
	if (field->is_local && coarsest_unit(infer, field) <= MTS_UNIT_DAY)
	{
		field->unit = coarsest_unit(infer, field);
		return;
	}
	field->is_local = false;
	field->is_phased = have_same_phase(infer, field);
	if (field->is_phased)
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
 * mts_infer_fields
 *		Find the fields of documents that are times, with those of each sample.
 */
void
mts_infer_fields(MtsInfer *infer)
{
	infer->fields =
		infer->host->resize(NULL, MTS_INFER_FIELDS * sizeof(MtsInferField));
	mts_infer_leaves(infer, 0);
	for (int i = 0; i < infer->nleaves && infer->nfields < MTS_INFER_FIELDS;
		 i++)
	{
		MtsInferField *field = &infer->fields[infer->nfields];
		char path[MTS_MAX_PATH];

		*field = (MtsInferField){.node = infer->leaves[i]};
		if (!mts_infer_path(infer, field->node, path) ||
			!mts_infer_format(infer, field->node, field->format))
			continue;
		read_field(infer, field);
		infer->nfields++;
	}
}

static int
format_rank(const MtsInferField *field)
{
	return strcmp(field->format, "date") == 0        ? 0
		   : strncmp(field->format, "text:", 5) == 0 ? 1
													 : 2;
}

/* Which field is more likely the bucket's time?  Negative: a. */
static int
compare_fields(const MtsInferField *a, const MtsInferField *b, bool by_unit)
{
	int coarser = (int) a->unit - (int) b->unit;

	if (a->present != b->present)
		return b->present - a->present;
	if (by_unit && coarser != 0)
		return coarser;
	if (a->distinct != b->distinct)
		return b->distinct - a->distinct;
	if (coarser != 0)
		return coarser;
	if (format_rank(a) != format_rank(b))
		return format_rank(a) - format_rank(b);
	return a->node - b->node;
}

/*
 * mts_infer_sort_fields
 *		Bring the fields into the order in which they are tried.
 *
 * Of those that most documents have, the time of a bucket tells the most
 * buckets apart; where points carry their own time, it is one that begins
 * large units (by_unit).
 */
void
mts_infer_sort_fields(MtsInfer *infer, bool by_unit)
{
	for (int i = 1; i < infer->nfields; i++)
	{
		MtsInferField field = infer->fields[i];
		int j = i;

		for (; j > 0 &&
			   compare_fields(&field, &infer->fields[j - 1], by_unit) < 0;
			 j--)
			infer->fields[j] = infer->fields[j - 1];
		infer->fields[j] = field;
	}
}
