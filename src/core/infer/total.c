/*
 * total.c
 *		Finds the pre-aggregates of buckets and declares them as options.
 *
 * A field is the count of the points, or the sum, the minimum or the maximum
 * of a value, if it equals that in every sample and differs between samples.
 * A field that is the same number in all samples may be one by chance: it
 * becomes an attribute, and the table read-only.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In fewer buckets a constant number is the count of points by chance. */
#define MIN_SAME 3

/* Sums of fractions depend on the order of addition, up to this part. */
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
	int columns[MTS_READING_VALUES]; /* the values: columns of the result */
	int values[MTS_READING_VALUES];  /* and their nodes */
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

/* The samples in which a field is an aggregate, or -1 if it is not in one */
static int
count_equal(const Totals *totals, int node, Kind kind, int value,
			bool *differs)
{
	double least = INFINITY, greatest = -INFINITY;
	int samples = 0;

	for (int i = 0; i < totals->infer->nsamples; i++)
	{
		const Total *total = &totals->totals[i * totals->nvalues + value];
		int64_t n =
			kind == IS_COUNT ? totals->infer->point_counts[i] : total->n;
		double d = NAN, want = kind == IS_COUNT ? n
							   : kind == IS_SUM ? total->sum
							   : kind == IS_MIN ? total->min
												: total->max;

		(void) mts_survey_visit(&totals->infer->survey, i, node, read_number,
								&d);
		if (n == 0 && (isnan(d) || d == 0))
			continue;
		if (isnan(d) || (n == 0 && kind > IS_SUM) ||
			!(fabs(d - want) <= (kind == IS_SUM && !total->is_whole
									 ? TOLERANCE * total->size
									 : 0)))
			return -1;
		least = fmin(least, d);
		greatest = fmax(greatest, d);
		samples++;
	}
	*differs = least < greatest;
	/* a sum and a maximum of single values are the same */
	return samples >= MIN_SAME && !*differs && least <= 1 ? -1 : samples;
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
static void
declare_total(Totals *totals, int node, char *field, const char *path)
{
	char other[MTS_MAX_PATH];

	totals->infer->is_declared[node] = true;
	if (!field[0])
		strcpy(field, path);
	else
		mts_remark(totals->infer,
				   "%s has no column, because it always equals %s",
				   mts_remark_label(totals->infer, node, other), field);
}

/* Declare a field if it is, or may be, an aggregate. */
static void
declare_field(Totals *totals, int node)
{
	static const char *const options[] = {"count_field", "sum_field",
										  "min_field", "max_field"};
	MtsInfer *infer = totals->infer;
	MtsInferred *result = infer->result;
	bool is_single = infer->nsamples - infer->nexcluded == 1;
	int kind = -1, column = -1; /* what it may be */
	char path[MTS_MAX_PATH], label[MTS_MAX_PATH];
	bool differs;

	if (!mts_remark_path(infer, node, path))
		return;
	for (int i = 0; i <= IS_MAX * totals->nvalues; i++)
	{
		int k = i == 0 ? IS_COUNT : 1 + (i - 1) % IS_MAX;
		int value = i == 0 ? 0 : (i - 1) / IS_MAX;
		MtsInferColumn *of = &result->columns[totals->columns[value]];
		char *field = k == IS_COUNT ? result->count
					  : k == IS_SUM ? of->sum
					  : k == IS_MIN ? of->min
									: of->max;
		int samples = count_equal(totals, node, k, value, &differs);

		if (samples <= 0 ||
			(k != IS_COUNT && !is_single && !has_several(totals, value)))
			continue;
		if (differs)
		{
			declare_total(totals, node, field, path);
			return;
		}
		if (kind < 0 && (is_single || (k == IS_COUNT && samples >= MIN_SAME)))
		{
			kind = k;
			column = k == IS_COUNT ? -1 : totals->columns[value];
		}
	}
	if (kind < 0)
		return;
	mts_column_add(infer, node, MTS_ROLE_ATTRIBUTE,
				   mts_column_type(infer, node, false));
	mts_remark(
		infer,
		"%s could be %s\n%s. The column is declared as an attribute, and the table as read-only.",
		mts_remark_label(infer, node, label), options[kind],
		is_single ? "Only one bucket was sampled"
				  : "No bucket was sampled with another number of points");
	mts_remark_forbid_writes(infer);
	snprintf(label, sizeof(label), "If the field is %s", options[kind]);
	(void) mts_remark_change(infer, label, column, MTS_INFER_ADD_OPTION,
							 options[kind], path);
}

/*
 * mts_total_declare
 *		Declare the fields that are pre-aggregates, and count the points.
 */
void
mts_total_declare(MtsInfer *infer)
{
	Totals totals = {.infer = infer};
	MtsLeaves leaves;

	/* numbers without Decimal128 */
	for (int i = 0; i < infer->result->ncolumns; i++)
		if (infer->result->columns[i].role == MTS_ROLE_VALUE &&
			totals.nvalues < MTS_READING_VALUES &&
			!(mts_column_bson_types(infer, infer->column_nodes[i]) &
			  ~MTS_BINARY_NUMBER_TYPES))
		{
			totals.columns[totals.nvalues] = i;
			totals.values[totals.nvalues++] = infer->column_nodes[i];
		}
	totals.totals =
		mts_infer_allocate(infer,
						   (size_t) infer->nsamples * (totals.nvalues + 1),
						   sizeof(Total));
	if (!mts_trial_unfold(infer, totals.values, totals.nvalues, add_point,
						  &totals))
		return;
	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (!infer->is_declared[leaves.nodes[i]] &&
			!mts_column_is_in(infer, leaves.nodes[i], "_id") &&
			mts_column_has_only(infer, leaves.nodes[i],
								MTS_BINARY_NUMBER_TYPES))
			declare_field(&totals, leaves.nodes[i]);
}
