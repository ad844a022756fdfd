/*
 * infer_offset.c
 *		Finds the number in the points of an array that is an offset from the
 *		bucket's time.
 *
 * An offset differs between the points of a bucket, and is less than the span
 * of the bucket.  Of several such numbers one that ascends in every bucket is
 * chosen, and otherwise the one that fills the bucket best.
 */
#include "core/infer/infer_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Evidence of a series: so many buckets have so many points, whose offsets
 * reach this part of the bucket.
 */
#define MIN_POINTS 5
#define MIN_BUCKETS 3
#define MIN_REACH 0.5

/* The numbers at a node in one sample, and facts about all samples */
typedef struct Numbers
{
	double *items;
	int n;
	int room;
	double greatest;
	bool is_ascending;
	bool has_several; /* a sample has more than one */
	int nseries;      /* samples with MIN_POINTS or more */
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
		numbers->is_ascending = false;
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

/* Read the numbers at a node.  Returns false if they are not offsets. */
static bool
read_numbers(const MtsInfer *infer, int node, Numbers *numbers)
{
	numbers->greatest = 0;
	numbers->is_ascending = true;
	numbers->has_several = false;
	numbers->nseries = 0;
	for (int i = 0; i < infer->nsamples; i++)
	{
		numbers->n = 0;
		if (!mts_survey_visit(&infer->survey, i, node, add_number, numbers))
			return false;
		numbers->has_several |= numbers->n > 1;
		numbers->nseries += numbers->n >= MIN_POINTS;
		if (numbers->n > 0)
			qsort(numbers->items, numbers->n, sizeof(double), compare_numbers);
		for (int j = 1; j < numbers->n; j++)
			if (numbers->items[j] == numbers->items[j - 1])
				return false;
	}
	return numbers->has_several;
}

/* The coarsest unit in which offsets are less than the span, or NONE */
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

/* Whether the points have text, as the lines of an order do */
static bool
has_text(const MtsInfer *infer, const MtsInferLeaves *leaves)
{
	const uint32_t texts =
		MTS_TYPE_BIT(BSON_TYPE_UTF8) | MTS_TYPE_BIT(BSON_TYPE_OID);

	for (int i = 0; i < leaves->n; i++)
		if (infer->survey.nodes[leaves->nodes[i]].types & texts)
			return true;
	return false;
}

/* Whether the numbers are as many and as large as the offsets of a series */
static bool
is_series(const Numbers *numbers, double span)
{
	return numbers->is_ascending && numbers->nseries >= MIN_BUCKETS &&
		   numbers->greatest >= MIN_REACH * span;
}

/*
 * Choose the best offset among the leaves of points, for buckets of this span.
 * Returns -1 if none is an offset.
 *
 * If the bucket's time is not part of the _id, it may be the time of anything.
 * Then an offset needs the evidence of a series.
 */
static int
choose_offset(MtsInfer *infer, const MtsInferLeaves *leaves, MtsInferUnit span,
			  MtsInferUnit *unit, int *ncandidates)
{
	const MtsInferField *bucket = infer->reading.bucket;
	bool time_is_sure = mts_infer_is_in_id(infer, bucket->node);
	Numbers numbers = {.resize = infer->host->resize};
	double best = -1;
	int node = -1;

	*ncandidates = 0;
	for (int i = 0; i < leaves->n; i++)
	{
		MtsInferUnit inner;
		double inside, score;

		if (!mts_infer_has_only(infer, leaves->nodes[i],
								MTS_BINARY_NUMBER_TYPES) ||
			!read_numbers(infer, leaves->nodes[i], &numbers))
			continue;
		inner = offset_unit(span, numbers.greatest);
		if (inner == MTS_UNIT_NONE)
			continue;
		inside = (double) mts_infer_units_in(span, inner);
		if (!time_is_sure &&
			(!is_series(&numbers, inside) || has_text(infer, leaves)))
		{
			if (infer->possible_offset == 0)
				infer->possible_offset = leaves->nodes[i];
			continue;
		}
		++*ncandidates;
		score = numbers.is_ascending + numbers.greatest / inside;
		if (score <= best)
			continue;
		best = score;
		node = leaves->nodes[i];
		*unit = inner;
	}
	return node;
}

/* Try a field as the bucket's time. */
static bool
try_field(MtsInfer *infer, const MtsInferField *field, char *why)
{
	MtsReading *reading = &infer->reading;
	MtsInferUnit unit = MTS_UNIT_NONE;
	MtsInferLeaves leaves;
	char path[MTS_MAX_PATH];
	int ncandidates;

	mts_infer_set_bucket_time(infer, field);
	reading->span = mts_infer_longest_span(field);
	mts_infer_collect_leaves(infer, reading->containers[0], &leaves);
	reading->time_node =
		choose_offset(infer, &leaves, reading->span, &unit, &ncandidates);
	if (reading->time_node < 0)
		return false;
	snprintf(reading->time_format, sizeof(reading->time_format), "offset:%s",
			 mts_infer_unit_name(unit));
	if (!mts_infer_check(infer, why))
		return false;
	mts_infer_remark(infer,
					 "%s is assumed to count %ss since the bucket's time%s",
					 mts_infer_label(infer, reading->time_node, path),
					 mts_infer_unit_name(unit),
					 ncandidates > 1
						 ? "\nOf several numbers, it fills the bucket best."
						 : "");
	return true;
}

/*
 * mts_infer_find_offset
 *		Find a reading of an array's points whose time is an offset.
 *
 * Returns false if none holds, with the last reason in why, if there is one.
 */
bool
mts_infer_find_offset(MtsInfer *infer, char *why)
{
	MtsReading *reading = &infer->reading;
	const MtsNode *node = &infer->survey.nodes[reading->containers[0]];

	if (node->kind != MTS_NODE_ELEMENTS || node->nslots != 1 ||
		!mts_infer_is_record(infer, reading->containers[0]))
		return false;
	reading->nslots = 1;
	reading->slots[0] = (MtsInferSlot){MTS_UNIT_NONE, 0, 1};
	mts_infer_sort_fields(infer, MTS_FIELDS_BY_BUCKETS);
	for (int i = 0; i < infer->nfields; i++)
		if (infer->fields[i].unit <= MTS_UNIT_MINUTE &&
			try_field(infer, &infer->fields[i], why))
			return true;
	reading->time_node = -1;
	mts_infer_set_bucket_time(infer, NULL);
	return false;
}
