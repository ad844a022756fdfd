/*
 * infer_totals.c
 *		Which fields of the buckets are what their points add up to?
 *
 * A field is the count, or the sum, the minimum or the maximum of a value, if
 * it equals that in every sample, and has not been the same number in all of
 * them.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <string.h>

/* In so many buckets a number is the count by no chance. */
#define MIN_SAME 3

/* Sums depend on the order in which doubles are added, unless they are whole
 * and less than this. */
#define TOLERANCE 1e-9

typedef struct Total
{
	int64_t n; /* values that are numbers */
	double sum;
	double size; /* the sum without signs */
	double min;
	double max;
	bool is_whole; /* the sum is exact */
} Total;

/* What the samples' points add up to */
typedef struct Totals
{
	MtsInfer *infer;
	int columns[MTS_INFER_VALUES]; /* of the result */
	int values[MTS_INFER_VALUES];  /* their nodes */
	int nvalues;
	int64_t *points; /* of each sample */
	Total *totals;   /* of each sample and value */
} Totals;

typedef enum Kind
{
	IS_COUNT,
	IS_SUM,
	IS_MIN,
	IS_MAX
} Kind;

static bool
read_number(void *arg, const MtsElement *element)
{
	double *d = arg;

	if (!mts_element_number(element, d))
		*d = NAN;
	return true;
}

static bool
add_point(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Totals *totals = arg;
	int first = unfold->layout->ncolumns - totals->nvalues;

	totals->points[sample]++;
	for (int i = 0; i < totals->nvalues; i++)
	{
		Total *total = &totals->totals[sample * totals->nvalues + i];
		MtsElement element;
		double d;

		if (mts_unfold_value(unfold, point,
							 &unfold->layout->columns[first + i],
							 &element) != MTS_FOUND ||
			(MTS_TYPE_BIT(element.type) & MTS_NULL_TYPES))
			continue;
		read_number(&d, &element);
		total->min = total->n == 0 || d < total->min ? d : total->min;
		total->max = total->n == 0 || d > total->max ? d : total->max;
		total->sum += d;
		total->size += fabs(d);
		total->is_whole = (total->n == 0 || total->is_whole) && d == rint(d) &&
						  total->size < MTS_MAX_EXACT;
		total->n++;
	}
	return true;
}

/* Does a field's number say this of a sample? */
static bool
says(const Totals *totals, int sample, Kind kind, int value, double d)
{
	const Total *total = &totals->totals[sample * totals->nvalues + value];

	switch (kind)
	{
		case IS_COUNT:
			return d == (double) totals->points[sample];
		case IS_SUM:
			return fabs(d - total->sum) <=
				   (total->is_whole ? 0 : TOLERANCE * total->size);
		case IS_MIN:
			return total->n > 0 && d == total->min;
		default:
			return total->n > 0 && d == total->max;
	}
}

/* Is a field this total? */
typedef enum Verdict
{
	IS_NOT,
	IS_SAME, /* by the samples, but it is the same number in all of them */
	IS_THIS
} Verdict;

static Verdict
is_this(const Totals *totals, int node, Kind kind, int value)
{
	const MtsInfer *infer = totals->infer;
	double least = INFINITY, greatest = -INFINITY;
	int samples = 0;

	for (int i = 0; i < infer->nsamples; i++)
	{
		int64_t n = kind == IS_COUNT
						? totals->points[i]
						: totals->totals[i * totals->nvalues + value].n;
		double d = NAN;

		(void) mts_survey_visit(&infer->survey, i, node, read_number, &d);
		if (n == 0 && (isnan(d) || d == 0))
			continue;
		if (isnan(d) || !says(totals, i, kind, value, d))
			return IS_NOT;
		least = fmin(least, d);
		greatest = fmax(greatest, d);
		samples++;
	}
	if (least < greatest)
		return IS_THIS;
	return samples == 1 || (samples >= MIN_SAME && least > 1) ? IS_SAME
															  : IS_NOT;
}

/* Was there a sample with several values, so that sum and maximum differ? */
static bool
has_several(const Totals *totals, int value)
{
	for (int i = 0; i < totals->infer->nsamples; i++)
		if (totals->totals[i * totals->nvalues + value].n > 1)
			return true;
	return false;
}

/* Declare a field as what it is, once for each total. */
static bool
declare(Totals *totals, int node, Kind kind, int value)
{
	MtsInferred *result = totals->infer->result;
	MtsInferColumn *column = value < totals->nvalues
								 ? &result->columns[totals->columns[value]]
								 : NULL;
	char *fields[] = {result->count, column ? column->sum : NULL,
					  column ? column->min : NULL,
					  column ? column->max : NULL};
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH];

	if (!mts_infer_path(totals->infer, node, path))
		return false;
	totals->infer->used[node] = true;
	if (!fields[kind][0])
		strcpy(fields[kind], path);
	else
		mts_infer_remark(totals->infer, "%s: left out, as it always equals %s",
						 mts_infer_show(totals->infer, node, other),
						 fields[kind]);
	return true;
}

/*
 * A number that may be kept of the points, by an option of the table or of a
 * column, or not: it identifies no series, and an INSERT would leave it as it
 * is.
 */
static void
doubt(MtsInfer *infer, int node, int column, const char *option,
	  const char *why)
{
	char path[MTS_MAX_PATH];

	mts_infer_column(infer, node, MTS_ROLE_ATTRIBUTE,
					 mts_infer_type(infer, node, false));
	mts_infer_remark(
		infer,
		"%s: could be %s, but %s; declared as an attribute, and the table with updatable 'false'",
		mts_infer_show(infer, node, path), option, why);
	mts_infer_forbid(infer);
	if (mts_infer_path(infer, node, path))
		mts_infer_advise(infer, column, option, path);
}

/* Find out what a field is. */
static void
judge(Totals *totals, int node)
{
	bool is_only = totals->infer->nsamples - totals->infer->nothers == 1;
	static const char *const options[] = {"count_field", "sum_field",
										  "min_field", "max_field"};
	Verdict count = is_this(totals, node, IS_COUNT, 0);
	int same = count == IS_SAME ? IS_COUNT : -1;
	int column = -1; /* whose total it may be */

	if (count == IS_THIS && declare(totals, node, IS_COUNT, 0))
		return;
	for (int i = 0; i < totals->nvalues; i++)
		for (Kind kind = IS_SUM; kind <= IS_MAX; kind++)
		{
			Verdict verdict = is_only || has_several(totals, i)
								  ? is_this(totals, node, kind, i)
								  : IS_NOT;

			if (verdict == IS_THIS && declare(totals, node, kind, i))
				return;
			if (verdict == IS_SAME && is_only && same < 0)
			{
				same = kind;
				column = totals->columns[i];
			}
		}
	if (same >= 0)
		doubt(totals->infer, node, column, options[same],
			  is_only ? "only one bucket was sampled"
					  : "no bucket was sampled with another number of points");
}

/* Choose the values to compare with: numbers, but no Decimal128. */
static void
choose_values(Totals *totals)
{
	MtsInfer *infer = totals->infer;

	for (int i = 0; i < infer->result->ncolumns; i++)
		if (infer->result->columns[i].role == MTS_ROLE_VALUE &&
			totals->nvalues < MTS_INFER_VALUES &&
			!(mts_infer_types(infer, infer->nodes[i]) &
			  ~MTS_BINARY_NUMBER_TYPES))
		{
			totals->columns[totals->nvalues] = i;
			totals->values[totals->nvalues++] = infer->nodes[i];
		}
}

/*
 * mts_infer_totals
 *		Declare the fields that are pre-aggregates.
 */
void
mts_infer_totals(MtsInfer *infer)
{
	Totals totals = {.infer = infer};
	char why[MTS_INFER_REMARK];
	size_t size;
	int leaves[MTS_INFER_COLUMNS];
	int n;

	mts_infer_leaves(infer, 0);
	n = infer->nleaves;
	memcpy(leaves, infer->leaves, n * sizeof(int));
	choose_values(&totals);
	size = (size_t) infer->nsamples * totals.nvalues * sizeof(Total) + 1;
	totals.totals = infer->host->resize(NULL, size);
	memset(totals.totals, 0, size);
	totals.points =
		infer->host->resize(NULL, infer->nsamples * sizeof(int64_t));
	memset(totals.points, 0, infer->nsamples * sizeof(int64_t));
	infer->points = totals.points;
	if (!mts_infer_unfold(infer, totals.values, totals.nvalues, add_point,
						  &totals, why))
		return;
	for (int i = 0; i < n; i++)
		if (!infer->used[leaves[i]] && !mts_infer_is_in_id(infer, leaves[i]) &&
			mts_infer_is_only(infer, leaves[i], MTS_BINARY_NUMBER_TYPES))
			judge(&totals, leaves[i]);
}
