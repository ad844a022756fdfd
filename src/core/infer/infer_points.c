/*
 * infer_points.c
 *		Which reading of the points in this container holds?
 *
 * Points get their time from a field of their own, from an offset, or from
 * their slots; that is the order in which readings are tried.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* Are all slots of the reading elements of arrays? */
bool
mts_infer_is_array(const MtsInfer *infer)
{
	int node = infer->reading.containers[0];

	for (; node >= 0; node = infer->survey.nodes[node].parent)
		if (infer->survey.nodes[node].kind == MTS_NODE_NUMBERS)
			return false;
	return true;
}

/* Have its arrays been padded, so that an element's place counts? */
static bool
is_padded(const MtsInfer *infer)
{
	int node = infer->reading.containers[0];

	if (infer->survey.nodes[node].nslots > 1)
		return true;
	return infer->survey.nodes[node].types & MTS_NULL_TYPES;
}

/* Let every slot be each element of an array. */
static void
set_elements(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;

	reading->nslots = infer->survey.nodes[reading->containers[0]].nslots;
	for (int i = 0; i < reading->nslots; i++)
		reading->slots[i] = (MtsInferSlot){MTS_UNIT_NONE, 0, 0};
}

/* Let a field be the bucket's time, or none. */
void
mts_infer_set_bucket(MtsInfer *infer, const MtsInferField *field)
{
	infer->reading.bucket = field;
	infer->reading.span = MTS_UNIT_NONE;
	infer->reading.spans = 1;
}

/*
 * The longest span to try: what all times begin, but of a single one no more
 * than a day, since it begins a month or a year by chance.
 */
static MtsInferUnit
longest_span(const MtsInferField *field)
{
	return field->distinct > 1 || field->unit > MTS_UNIT_DAY ? field->unit
															 : MTS_UNIT_DAY;
}

/* Is there a number among the values of the points? */
static bool
are_measured(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int n = reading->ncontainers;

	if (mts_infer_is_record(infer, reading->containers[0]))
	{
		mts_infer_leaves(infer, reading->containers[0]);
		n = infer->nleaves;
	}
	else
		memcpy(infer->leaves, reading->containers, n * sizeof(int));
	for (int i = 0; i < n; i++)
		if (infer->leaves[i] != reading->own_time &&
			mts_infer_is_only(infer, infer->leaves[i], MTS_NUMBER_TYPES))
			return true;
	return false;
}

/* Elements that carry their own time, in buckets with one, or without */
static bool
try_elements(MtsInfer *infer, char *why)
{
	set_elements(infer);
	for (int i = 0; i < infer->nfields; i++)
		for (MtsInferUnit span = longest_span(&infer->fields[i]);
			 span <= MTS_UNIT_MINUTE; span++)
		{
			mts_infer_set_bucket(infer, &infer->fields[i]);
			infer->reading.span = span;
			if (mts_infer_check(infer, why))
				return true;
		}
	mts_infer_set_bucket(infer, NULL);
	if (!are_measured(infer))
	{
		snprintf(why, MTS_INFER_REMARK,
				 "they hold no numbers, and no field is the time of buckets");
		return false;
	}
	return mts_infer_check(infer, why);
}

/* The points' time in this node, if it is one */
static bool
try_own_time(MtsInfer *infer, int node, char *why)
{
	MtsReading *reading = &infer->reading;

	reading->own_time = node;
	if (!mts_infer_is_array(infer) || is_padded(infer))
	{
		mts_infer_sort_fields(infer, false);
		if (mts_infer_slots(infer, why))
			return true;
	}
	if (mts_infer_is_array(infer))
	{
		mts_infer_sort_fields(infer, true);
		if (try_elements(infer, why))
			return true;
	}
	reading->own_time = -1;
	return false;
}

/* Try the points' fields of one kind of format. */
static bool
try_own_times(MtsInfer *infer, const int *nodes, int n, uint32_t types,
			  char *why)
{
	for (int i = 0; i < n; i++)
		if (mts_infer_is_only(infer, nodes[i], types) &&
			mts_infer_format(infer, nodes[i], infer->reading.own_format) &&
			try_own_time(infer, nodes[i], why))
			return true;
	return false;
}

/* Where the time of the points may be: a few nodes in the first container, or
 * one of several arrays */
static int
time_nodes(MtsInfer *infer, int *nodes)
{
	const MtsReading *reading = &infer->reading;
	int n = 0;

	if (mts_infer_is_record(infer, reading->containers[0]))
	{
		mts_infer_leaves(infer, reading->containers[0]);
		for (; n < infer->nleaves && n < MTS_INFER_TIMES; n++)
			nodes[n] = infer->leaves[n];
	}
	else if (reading->ncontainers > 1 && mts_infer_is_array(infer))
		for (; n < reading->ncontainers; n++)
			nodes[n] = reading->containers[n];
	return n;
}

/*
 * mts_infer_try
 *		Find a reading of the containers in infer->reading that holds.
 *
 * False with the last reason in why.
 */
bool
mts_infer_try(MtsInfer *infer, char *why)
{
	int nodes[MTS_INFER_CONTAINERS];
	int n = time_nodes(infer, nodes);

	snprintf(why, MTS_INFER_REMARK,
			 "no field of the documents is a time that begins such buckets");
	return try_own_times(infer, nodes, n, MTS_TYPE_BIT(BSON_TYPE_DATE_TIME),
						 why) ||
		   try_own_times(infer, nodes, n, MTS_TYPE_BIT(BSON_TYPE_UTF8), why) ||
		   try_own_times(infer, nodes, n, MTS_BINARY_NUMBER_TYPES, why) ||
		   mts_infer_offset(infer, why) || mts_infer_counted(infer, why);
}
