/*
 * infer_offset.c
 *		Which number in the points of an array is an offset from the bucket's
 *		time?
 *
 * One that every point has, that no two points of a bucket share, and that
 * stays within the bucket.  Of several the one that ascends in every bucket
 * is taken, else the one that fills the bucket best.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A series has so many points in a bucket, and so many such buckets were seen;
 * its offsets reach this part of the bucket. */
#define MIN_POINTS 5
#define MIN_BUCKETS 3
#define MIN_REACH 0.5

/* The numbers at a node, in one sample, and what is known of all */
typedef struct Numbers
{
	double *items;
	int n;
	int room;
	double greatest;
	bool ascending;
	bool several; /* had a sample more than one? */
	int series;   /* samples that had as many as a series has */
	void *(*resize)(void *memory, size_t size);
} Numbers;

static bool
add_number(void *arg, const MtsElement *element)
{
	Numbers *numbers = arg;
	double d;

	if (!mts_element_number(element, &d) || !(d >= 0) || isinf(d))
		return false;
	if (numbers->n == numbers->room)
	{
		numbers->room = numbers->room > 0 ? 2 * numbers->room : 64;
		numbers->items =
			numbers->resize(numbers->items, numbers->room * sizeof(double));
	}
	if (numbers->n > 0 && d < numbers->items[numbers->n - 1])
		numbers->ascending = false;
	if (d > numbers->greatest)
		numbers->greatest = d;
	numbers->items[numbers->n++] = d;
	return true;
}

static int
compare_numbers(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Can the numbers at a node be offsets? */
static bool
read_numbers(const MtsInfer *infer, int node, Numbers *numbers)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		numbers->n = 0;
		if (!mts_survey_visit(&infer->survey, i, node, add_number, numbers))
			return false;
		numbers->several |= numbers->n > 1;
		numbers->series += numbers->n >= MIN_POINTS;
		if (numbers->n > 0)
			qsort(numbers->items, numbers->n, sizeof(double), compare_numbers);
		for (int j = 1; j < numbers->n; j++)
			if (numbers->items[j] == numbers->items[j - 1])
				return false;
	}
	return numbers->several;
}

/* The coarsest unit in which an offset stays in the span; NONE: there is none */
static MtsInferUnit
offset_unit(MtsInferUnit span, double greatest)
{
	MtsInferUnit unit = span + 1;

	if (unit < MTS_UNIT_HOUR)
		unit = MTS_UNIT_HOUR;
	while (unit < MTS_UNIT_NONE &&
		   greatest >= (double) mts_infer_units_in(span, unit))
		unit++;
	return unit;
}

/* Has a point text, as an order's line has? */
static bool
has_text(const MtsInfer *infer)
{
	const uint32_t texts =
		MTS_TYPE_BIT(BSON_TYPE_UTF8) | MTS_TYPE_BIT(BSON_TYPE_OID);

	for (int i = 0; i < infer->nleaves; i++)
		if (infer->survey.nodes[infer->leaves[i]].types & texts)
			return true;
	return false;
}

/*
 * Choose the best offset for buckets of this span.  Where their time is not a
 * part of the _id, it may be that of anything: then the offset must be one
 * that nothing but a series has.
 */
static int
choose(MtsInfer *infer, MtsInferUnit span, bool doubtful, MtsInferUnit *unit,
	   int *rivals)
{
	Numbers numbers = {.resize = infer->host->resize};
	double best = -1;
	int node = -1;

	*rivals = 0;
	for (int i = 0; i < infer->nleaves; i++)
	{
		MtsInferUnit inner;
		double score;

		numbers.greatest = 0;
		numbers.ascending = true;
		numbers.several = false;
		numbers.series = 0;
		if (!mts_infer_is_only(infer, infer->leaves[i],
							   MTS_BINARY_NUMBER_TYPES) ||
			!read_numbers(infer, infer->leaves[i], &numbers))
			continue;
		inner = offset_unit(span, numbers.greatest);
		if (inner == MTS_UNIT_NONE)
			continue;
		if (doubtful &&
			(!numbers.ascending || numbers.series < MIN_BUCKETS ||
			 has_text(infer) ||
			 numbers.greatest <
				 MIN_REACH * (double) mts_infer_units_in(span, inner)))
		{
			if (infer->doubtful == 0)
				infer->doubtful = infer->leaves[i];
			continue;
		}
		++*rivals;
		score = numbers.ascending +
				numbers.greatest / (double) mts_infer_units_in(span, inner);
		if (score <= best)
			continue;
		best = score;
		node = infer->leaves[i];
		*unit = inner;
	}
	return node;
}

static bool
try_field(MtsInfer *infer, const MtsInferField *field, char *why)
{
	MtsReading *reading = &infer->reading;
	MtsInferUnit unit = MTS_UNIT_NONE;
	char path[MTS_MAX_PATH];
	int rivals;

	reading->bucket = field;
	reading->span = field->distinct > 1 || field->unit > MTS_UNIT_DAY
						? field->unit
						: MTS_UNIT_DAY;
	mts_infer_leaves(infer, reading->containers[0]);
	reading->own_time =
		choose(infer, reading->span, !mts_infer_is_in_id(infer, field->node),
			   &unit, &rivals);
	if (reading->own_time < 0)
		return false;
	snprintf(reading->own_format, sizeof(reading->own_format), "offset:%s",
			 mts_infer_unit_name(unit));
	if (!mts_infer_check(infer, why))
		return false;
	mts_infer_remark(infer, "%s: taken for %ss since the bucket's time%s",
					 mts_infer_show(infer, reading->own_time, path),
					 mts_infer_unit_name(unit),
					 rivals > 1
						 ? ", as it fills the bucket best of several numbers"
						 : "");
	return true;
}

/*
 * mts_infer_offset
 *		Find a reading of an array's points whose time is an offset.
 */
bool
mts_infer_offset(MtsInfer *infer, char *why)
{
	MtsReading *reading = &infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading->containers[0]];

	if (node->kind != MTS_NODE_ELEMENTS || node->nslots != 1 ||
		!mts_infer_is_record(infer, reading->containers[0]))
		return false;
	reading->nslots = 1;
	reading->slots[0] = (MtsInferSlot){MTS_UNIT_NONE, 0, 0};
	mts_infer_sort_fields(infer, false);
	for (int i = 0; i < infer->nfields; i++)
		if (infer->fields[i].unit <= MTS_UNIT_MINUTE &&
			try_field(infer, &infer->fields[i], why))
			return true;
	reading->own_time = -1;
	reading->bucket = NULL;
	reading->span = MTS_UNIT_NONE;
	return false;
}
