/*
 * total.c
 *		Finds the pre-aggregates and bounds of buckets, and declares them.
 *
 * A field is the count of the points, or the sum, the minimum or the maximum
 * of a value, or the first or the last time, if it equals that in every sample
 * and differs between samples.  The count of full buckets is the same in all.
 * Another field that is the same number may be one by chance, like a count of
 * few points: it stays a column, and the table is read-only.  So it is with
 * a field that no option declares, like an average.
 */
#include "advice/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/bucket/derived.h"

/* More values are not compared with pre-aggregates. */
#define MAX_VALUES 16

/* In fewer buckets a constant number is the count of points by chance. */
#define MIN_SAME 3

/* A lesser constant number is the count of points by chance. */
#define MIN_CONSTANT 6

/* The points of a sample */
typedef struct Points
{
	int64_t n;
	int64_t readings; /* points with a value that is not null */
	MtsTime first;
	MtsTime last;
	MtsDerived totals[MAX_VALUES]; /* of values that are not null */
} Points;

/* The aggregates of all samples */
typedef struct Totals
{
	MtsInfer *infer;
	int columns[MAX_VALUES];      /* the values */
	bool has_several[MAX_VALUES]; /* in a sample: sum and maximum differ */
	int nvalues;
	Points *points;  /* by sample */
	bool are_single; /* no sample has two times */
} Totals;

typedef enum Kind
{
	IS_COUNT,    /* of the points */
	IS_READINGS, /* of those with a value that is not null */
	IS_DERIVED,  /* from the values that are not null, by derivation */
	IS_VALUES = IS_DERIVED + MTS_DERIVED_COUNT, /* no option has it */
	IS_SUM = IS_DERIVED + MTS_DERIVED_SUM,
	IS_MIN = IS_DERIVED + MTS_DERIVED_MIN,
	IS_MAX = IS_DERIVED + MTS_DERIVED_MAX
} Kind;

/* Accumulate a point in the aggregates of its sample. */
static bool
add_point(void *arg, int sample, MtsUnfold *unfold, const MtsPoint *point)
{
	Totals *totals = arg;
	Points *points = &totals->points[sample];
	bool has_reading = false;

	if (points->n == 0 || point->time < points->first)
		points->first = point->time;
	if (points->n == 0 || point->time > points->last)
		points->last = point->time;
	points->n++;
	totals->are_single &= points->first == points->last;
	for (int i = 0; i < totals->nvalues; i++)
	{
		MtsElement element;
		double d;

		if (mts_unfold_value(unfold, point,
							 &unfold->layout->columns[totals->columns[i]],
							 &element) != MTS_FOUND ||
			(MTS_TYPE_BIT(element.type) & MTS_NULL_TYPES))
			continue;
		has_reading = true;
		if (!mts_element_amount(&element, &d))
			d = NAN;
		mts_derived_add(&points->totals[i], d, point->time);
		totals->has_several[i] |= points->totals[i].n > 1;
	}
	points->readings += has_reading;
	return true;
}

/* The samples in which a field is an aggregate, or -1 if it is not in one */
static int
count_equal(const Totals *totals, int node, Kind kind, int value,
			bool *differs, double *most)
{
	double least = INFINITY, greatest = -INFINITY;
	int samples = 0;
	MtsElement element;

	for (int i = 0; i < totals->infer->nsamples; i++)
	{
		const MtsDerived *total = &totals->points[i].totals[value];
		int64_t n = kind == IS_COUNT      ? totals->points[i].n
					: kind == IS_READINGS ? totals->points[i].readings
										  : total->n;
		double d = NAN;

		if (mts_survey_find(&totals->infer->survey, i, node, &element))
			(void) mts_element_amount(&element, &d);
		if (n == 0 && (isnan(d) || d == 0))
			continue;
		if (kind < IS_DERIVED
				? d != (double) n
				: !mts_derived_equals(total, kind - IS_DERIVED, d))
			return -1;
		least = fmin(least, d);
		greatest = fmax(greatest, d);
		samples++;
	}
	*differs = least < greatest;
	*most = greatest;
	/* a sum and a maximum of single values are the same */
	return (samples >= MIN_SAME && !*differs && least <= 1) ||
				   (kind > IS_MAX && samples < MIN_SAME)
			   ? -1
			   : samples;
}

/*
 * The option of a table for a field that is an aggregate, or NULL.  Totals of
 * Decimal128 values are Decimal128, and others are not.
 */
static char *
find_option(const MtsInfer *infer, int node, int column, Kind kind)
{
	static const uint32_t decimal = MTS_TYPE_BIT(BSON_TYPE_DECIMAL128);
	MtsInferred *table = infer->result;
	MtsInferColumn *of = &table->columns[column];
	uint32_t types = mts_column_bson_types(infer, node);

	if (kind <= IS_READINGS)
		return types & decimal ? NULL : table->count;
	if (kind == IS_VALUES || kind > IS_MAX ||
		(types & decimal) !=
			(mts_column_bson_types(infer, of->node) & decimal))
		return NULL;
	return kind == IS_SUM ? of->sum : kind == IS_MIN ? of->min : of->max;
}

/*
 * Let null mean that there is no reading, as the count of points is that of
 * the others.  Returns false if it cannot: another value means that already.
 */
static bool
exclude_nulls(const Totals *totals)
{
	MtsInferColumn *columns = totals->infer->result->columns;

	for (int i = 0; i < totals->nvalues; i++)
		if (columns[totals->columns[i]].missing[0])
			return false;
	for (int i = 0; i < totals->nvalues; i++)
		strcpy(columns[totals->columns[i]].missing, "null");
	return totals->nvalues < MAX_VALUES;
}

/*
 * Let a table be read-only because of a field; format has its label, and what
 * it is.
 */
static void
set_readonly(MtsInfer *infer, int node, const char *format, const char *what)
{
	char *text = mts_infer_allocate(infer, MTS_INFER_REMARK, 1);

	snprintf(text, MTS_INFER_REMARK, format, mts_remark_label(infer, node),
			 what);
	infer->result->readonly = text;
	infer->is_total[node] = true;
}

/* Whether a field is not proved to be a total; of alternatives none is. */
static bool
is_distrusted(const MtsInfer *infer, const char *path)
{
	if (infer->is_quiet)
		return true;
	for (int i = 0; i < infer->hints->ndistrusted; i++)
		if (strcmp(infer->hints->distrusted[i], path) == 0)
			return true;
	return false;
}

/*
 * Declare a field if it is an aggregate, or only if it is the count of all
 * points.  One that may be, but is not shown to be or not proved, or is so
 * beside another field, stays a column.
 */
static void
declare_field(Totals *totals, int node, bool is_of_all)
{
	MtsInfer *infer = totals->infer;
	bool is_single = infer->nsamples - infer->nexcluded == 1;
	bool may_be = false, is_shown;
	const char *what = NULL;
	char path[MTS_MAX_PATH];
	double most;
	int end =
		is_of_all ? 1 : IS_DERIVED + MTS_DERIVED_NUMBERS * totals->nvalues;

	for (int i = 0; i < end; i++)
	{
		int value =
			i < IS_DERIVED ? 0 : (i - IS_DERIVED) / MTS_DERIVED_NUMBERS;
		Kind kind = i - value * MTS_DERIVED_NUMBERS;
		char *field = find_option(infer, node, totals->columns[value], kind);
		int samples = count_equal(totals, node, kind, value, &is_shown, &most);

		if (samples <= 0 || !mts_remark_path(infer, node, path) ||
			(kind >= IS_SUM && !is_single && !totals->has_several[value]))
			continue;
		if (!may_be && is_shown && kind >= IS_SUM)
			what = mts_derived_name(kind - IS_DERIVED);
		may_be |= is_shown || is_single;
		/* full buckets have the same number of points */
		if (kind <= IS_VALUES && samples >= MIN_SAME)
		{
			may_be = true;
			is_shown |= most >= MIN_CONSTANT;
		}
		if (!is_shown || !field || field[0] || is_distrusted(infer, path) ||
			(kind == IS_READINGS && !exclude_nulls(totals)))
			continue;
		infer->is_declared[node] = true;
		strcpy(field, path);
		return;
	}
	if (may_be && !is_of_all)
		set_readonly(
			infer, node,
			what
				? "Field \"%s\" equals the %s of the points, and is not declared: writes would make it wrong."
				: "Field \"%s\" may be a count or a total of the points, and is not declared as one.",
			what);
}

/* Whether a field is the first or the last time of each sample's points */
static bool
is_bound(const Totals *totals, const MtsTimeField *field, bool is_first)
{
	for (int i = 0; i < totals->infer->nsamples; i++)
	{
		const Points *points = &totals->points[i];

		if (!totals->infer->is_excluded[i] &&
			(field->times[i] == MTS_TIME_MIN ||
			 (points->n > 0 &&
			  field->times[i] != (is_first ? points->first : points->last))))
			return false;
	}
	return true;
}

/*
 * Declare the bounds of buckets.  Without a last time, hours and days are
 * hardly the first times.
 * In buckets of single points a field may be either bound, and is a column.
 */
static void
declare_bounds(const Totals *totals)
{
	MtsInfer *infer = totals->infer;
	const MtsReading *reading = &infer->reading;
	const char *format = mts_time_field_is_relative(reading->time_format)
							 ? reading->bucket->format
							 : reading->time_format;

	/* once more, as the last time may follow the first */
	for (int i = 0; i < 2 * infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i % infer->nfields];

		if (field == reading->bucket || infer->is_declared[field->node] ||
			strcmp(field->format, format) != 0)
			continue;
		for (int is_first = 1; is_first >= 0; is_first--)
		{
			char *bound =
				is_first ? infer->result->first : infer->result->last;
			char path[MTS_MAX_PATH];

			if (bound[0] || !is_bound(totals, field, is_first) ||
				(is_first && !infer->result->last[0] &&
				 field->unit <= mts_unit_find((MtsSpan){0, 0, MTS_HOUR})))
				continue;
			if (totals->are_single)
				set_readonly(
					infer, field->node,
					"Field \"%s\" may be the first or the last time of the points, but every sampled bucket has a single point.",
					NULL);
			else if (mts_remark_path(infer, field->node, path) &&
					 is_distrusted(infer, path))
				set_readonly(
					infer, field->node,
					"Field \"%s\" may be the first or the last time of the points, but that is not proved.",
					NULL);
			else
				infer->is_declared[field->node] =
					mts_remark_path(infer, field->node, bound);
			break;
		}
	}
}

/* Whether a field is a time of a value in samples of several times */
static bool
is_derived_time(const Totals *totals, const MtsTimeField *field, int value,
				MtsDerivation derivation)
{
	const MtsTimeField *bucket = totals->infer->reading.bucket;
	int samples = 0, starts = 0;

	for (int i = 0; i < totals->infer->nsamples; i++)
	{
		const MtsDerived *total = &totals->points[i].totals[value];

		if (totals->infer->is_excluded[i] || total->n == 0)
			continue;
		if (field->times[i] == MTS_TIME_MIN ||
			!mts_derived_equals(total, derivation, (double) field->times[i]))
			return false;
		samples++;
		starts += bucket && field->times[i] == bucket->times[i];
	}
	return samples >= MIN_SAME && starts < samples && !totals->are_single;
}

/* Find the times of values, which no option declares. */
static void
find_derived_times(const Totals *totals)
{
	MtsInfer *infer = totals->infer;

	for (int i = 0; i < infer->nfields; i++)
	{
		const MtsTimeField *field = &infer->fields[i];

		for (int j = 0; j < totals->nvalues * MTS_DERIVATIONS; j++)
		{
			MtsDerivation derivation = j % MTS_DERIVATIONS;

			if (derivation < MTS_DERIVED_NUMBERS ||
				field == infer->reading.bucket ||
				infer->is_declared[field->node] ||
				infer->is_total[field->node] ||
				!is_derived_time(totals, field, j / MTS_DERIVATIONS,
								 derivation))
				continue;
			set_readonly(
				infer, field->node,
				"Field \"%s\" equals the %s of the points, and is not declared: writes would make it wrong.",
				mts_derived_name(derivation));
		}
	}
}

/*
 * mts_total_declare
 *		Declare the fields that are pre-aggregates and bounds.  Returns the
 *		most points of a bucket, and how many samples have as many.
 *
 * starts and ends get the first and the last time of each sample's points, or
 * MTS_TIME_MIN.
 */
int64_t
mts_total_declare(MtsInfer *infer, int *full, MtsTime *starts, MtsTime *ends)
{
	Totals totals = {.infer = infer, .are_single = true};
	MtsInferred *result = infer->result;
	MtsLeaves leaves;
	int64_t most = 0;

	for (int i = 0; i < result->ncolumns; i++)
		if (result->columns[i].role == MTS_ROLE_VALUE &&
			totals.nvalues < MAX_VALUES)
			totals.columns[totals.nvalues++] = i;
	totals.points = mts_infer_allocate(infer, infer->nsamples, sizeof(Points));
	*full = 0;
	/* the samples are valid: a trial has unfolded them by this declaration */
	(void) mts_trial_unfold(infer, result, add_point, &totals);
	for (int i = 0; i < infer->nsamples; i++)
		most = totals.points[i].n > most ? totals.points[i].n : most;
	for (int i = 0; i < infer->nsamples; i++)
	{
		*full += totals.points[i].n == most;
		starts[i] =
			totals.points[i].n > 0 ? totals.points[i].first : MTS_TIME_MIN;
		ends[i] =
			totals.points[i].n > 0 ? totals.points[i].last : MTS_TIME_MIN;
	}
	mts_column_leaves(infer, 0, &leaves);
	/* without a count of all points, one of those that are not null */
	for (int i = 0; i < 2 * leaves.n; i++)
	{
		int node = leaves.nodes[i % leaves.n];

		if (!infer->is_declared[node] &&
			infer->survey.nodes[node].nslots == 0 &&
			!mts_column_is_in(infer, node, "_id") &&
			mts_column_has_only(infer, node, MTS_NUMBER_TYPES))
			declare_field(&totals, node, i < leaves.n);
	}
	if (infer->reading.time_node >= 0)
		declare_bounds(&totals);
	find_derived_times(&totals);
	infer->host->release(totals.points);
	return most;
}
