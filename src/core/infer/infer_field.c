/*
 * infer_field.c
 *		Which fields of the documents are times, and what do these begin?
 */
#include "core/infer/infer_private.h"

#include <stdlib.h>
#include <string.h>

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
		field->times[i] = mts_infer_time(infer, field, i);
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
