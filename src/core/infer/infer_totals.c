/*
 * infer_totals.c
 *		Finds the pre-aggregates of buckets and declares them as options.
 *
 * A field is the count of the points, or the sum, the minimum or the maximum
 * of a value, if it equals that in every sample and differs between samples.
 * A field that is the same number in all samples may be one by chance: it
 * becomes an attribute, and the table read-only.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <string.h>

/* In fewer buckets a constant number is the count of points by chance. */
#define MIN_SAME 3

/*
 * Sums of fractions depend on the order of addition, up to this part of them.
 */
#define TOLERANCE 1e-9

/* The aggregates of a value in a sample */
typedef struct Total
{
	int64_t n; /* values that are numbers */
	double sum;
	double size; /* the sum of absolute values */
	double min;
	double max;
	bool is_whole; /* the sum is exact */
} Total;

/* The aggregates of all samples */
typedef struct Totals
{
	MtsInfer *infer;
	int columns[MTS_INFER_VALUES]; /* the values: columns of the result */
	int values[MTS_INFER_VALUES];  /* and their nodes */
	int nvalues;
	Total *totals; /* by sample and value */
} Totals;

typedef enum Kind
{
	IS_COUNT,
	IS_SUM,
	IS_MIN,
	IS_MAX
} Kind;

/* Read a number; others are NaN. */
static bool
read_number(void *arg, const MtsElement *element)
{
	double *d = arg;

	if (!mts_element_number(element, d))
		*d = NAN;
	return true;
}

/* Accumulate a point in the aggregates of its sample. */
static bool
add_point(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Totals *totals = arg;
	int first = unfold->layout->ncolumns - totals->nvalues;

	totals->infer->point_counts[sample]++;
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

/* Whether a number is this aggregate of a sample */
static bool
equals_total(const Totals *totals, int sample, Kind kind, int value, double d)
{
	const Total *total = &totals->totals[sample * totals->nvalues + value];

	switch (kind)
	{
		case IS_COUNT:
			return d == (double) totals->infer->point_counts[sample];
		case IS_SUM:
			return fabs(d - total->sum) <=
				   (total->is_whole ? 0 : TOLERANCE * total->size);
		case IS_MIN:
			return total->n > 0 && d == total->min;
		default:
			return total->n > 0 && d == total->max;
	}
}

typedef enum Verdict
{
	IS_NOT,
	IS_CONSTANT, /* it is in all samples, but is the same number in them */
	IS_TOTAL
} Verdict;

/* Whether a field is this aggregate */
static Verdict
classify(const Totals *totals, int node, Kind kind, int value)
{
	const MtsInfer *infer = totals->infer;
	double least = INFINITY, greatest = -INFINITY;
	int samples = 0;

	for (int i = 0; i < infer->nsamples; i++)
	{
		int64_t n = kind == IS_COUNT
						? totals->infer->point_counts[i]
						: totals->totals[i * totals->nvalues + value].n;
		double d = NAN;

		(void) mts_survey_visit(&infer->survey, i, node, read_number, &d);
		if (n == 0 && (isnan(d) || d == 0))
			continue;
		if (isnan(d) || !equals_total(totals, i, kind, value, d))
			return IS_NOT;
		least = fmin(least, d);
		greatest = fmax(greatest, d);
		samples++;
	}
	if (least < greatest)
		return IS_TOTAL;
	return samples == 1 || (samples >= MIN_SAME && least > 1) ? IS_CONSTANT
															  : IS_NOT;
}

/* Whether a sample has several values, so that sum and maximum differ */
static bool
has_several(const Totals *totals, int value)
{
	for (int i = 0; i < totals->infer->nsamples; i++)
		if (totals->totals[i * totals->nvalues + value].n > 1)
			return true;
	return false;
}

/* Declare a field as an aggregate, unless another field is it already. */
static bool
declare_total(Totals *totals, int node, Kind kind, int value)
{
	MtsInferred *result = totals->infer->result;
	MtsInferColumn *column = value < totals->nvalues
								 ? &result->columns[totals->columns[value]]
								 : NULL;
	char *fields[] = {result->count, column ? column->sum : NULL,
					  column ? column->min : NULL,
					  column ? column->max : NULL};
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH];

	if (!mts_infer_write_path(totals->infer, node, path))
		return false;
	totals->infer->is_declared[node] = true;
	if (!fields[kind][0])
		strcpy(fields[kind], path);
	else
		mts_infer_remark(totals->infer,
						 "%s has no column, because it always equals %s",
						 mts_infer_label(totals->infer, node, other),
						 fields[kind]);
	return true;
}

/*
 * Declare a field as an attribute that may be a pre-aggregate.  It does not
 * identify a series, and an INSERT would not update it.
 */
static void
declare_doubtful(MtsInfer *infer, int node, int column, const char *option,
				 const char *why)
{
	char path[MTS_MAX_PATH];

	mts_infer_add_column(infer, node, MTS_ROLE_ATTRIBUTE,
						 mts_infer_column_type(infer, node, MTS_USE_IDENTIFY));
	mts_infer_remark(
		infer,
		"%s could be %s\n%s. The column is declared as an attribute, and the table as read-only.",
		mts_infer_label(infer, node, path), option, why);
	mts_infer_forbid_writes(infer);
	if (mts_infer_write_path(infer, node, path))
		mts_infer_suggest_option(infer, column, option, path);
}

/* Declare a field if it is, or may be, an aggregate. */
static void
declare_field(Totals *totals, int node)
{
	bool sample_is_single =
		totals->infer->nsamples - totals->infer->nexcluded == 1;
	static const char *const options[] = {"count_field", "sum_field",
										  "min_field", "max_field"};
	Verdict count = classify(totals, node, IS_COUNT, 0);
	int constant = count == IS_CONSTANT ? IS_COUNT : -1;
	int column = -1; /* of the constant */

	if (count == IS_TOTAL && declare_total(totals, node, IS_COUNT, 0))
		return;
	for (int i = 0; i < totals->nvalues; i++)
		for (Kind kind = IS_SUM; kind <= IS_MAX; kind++)
		{
			Verdict verdict = sample_is_single || has_several(totals, i)
								  ? classify(totals, node, kind, i)
								  : IS_NOT;

			if (verdict == IS_TOTAL && declare_total(totals, node, kind, i))
				return;
			if (verdict == IS_CONSTANT && sample_is_single && constant < 0)
			{
				constant = kind;
				column = totals->columns[i];
			}
		}
	if (constant >= 0)
		declare_doubtful(
			totals->infer, node, column, options[constant],
			sample_is_single
				? "Only one bucket was sampled"
				: "No bucket was sampled with another number of points");
}

/* Choose the values to aggregate: numbers without Decimal128. */
static void
choose_values(Totals *totals)
{
	MtsInfer *infer = totals->infer;

	for (int i = 0; i < infer->result->ncolumns; i++)
		if (infer->result->columns[i].role == MTS_ROLE_VALUE &&
			totals->nvalues < MTS_INFER_VALUES &&
			!(mts_infer_node_types(infer, infer->column_nodes[i]) &
			  ~MTS_BINARY_NUMBER_TYPES))
		{
			totals->columns[totals->nvalues] = i;
			totals->values[totals->nvalues++] = infer->column_nodes[i];
		}
}

/*
 * mts_infer_declare_totals
 *		Declare the fields that are pre-aggregates, and count the points.
 */
void
mts_infer_declare_totals(MtsInfer *infer)
{
	Totals totals = {.infer = infer};
	char why[MTS_INFER_REMARK];
	MtsInferLeaves leaves;

	mts_infer_collect_leaves(infer, 0, &leaves);
	choose_values(&totals);
	totals.totals =
		mts_infer_allocate(infer, (size_t) infer->nsamples * totals.nvalues,
						   sizeof(Total));
	infer->point_counts =
		mts_infer_allocate(infer, infer->nsamples, sizeof(int64_t));
	if (!mts_infer_unfold(infer, totals.values, totals.nvalues, add_point,
						  &totals, why))
		return;
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!mts_infer_is_in_id(infer, leaves.nodes[i]) &&
			mts_infer_has_only(infer, leaves.nodes[i],
							   MTS_BINARY_NUMBER_TYPES))
			declare_field(&totals, leaves.nodes[i]);
}
