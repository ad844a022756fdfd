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
 * mts_infer_time
 *		The time in a field of one sample; MTS_TIME_MIN: there is none.
 */
MtsTime
mts_infer_time(const MtsInfer *infer, const MtsInferField *field, int sample)
{
	MtsTime t = MTS_TIME_MIN;
	Trial trial = {.infer = infer, .t = &t};
	MtsError error;

	if (mts_format_parse(field->format, &trial.format, &error))
		(void) mts_survey_visit(&infer->survey, sample, field->node, decodes,
								&trial);
	return t;
}
