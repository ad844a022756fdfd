/*
 * infer_points.c
 *		Which reading of the points in this container holds?
 *
 * Points get their time from a field of their own, from an offset, or from
 * their slots; that is the order in which readings are tried.
 */
#include "core/infer_private.h"

#include <stdio.h>
#include <string.h>

/* Are all slots of the containers elements of arrays? */
static bool
is_array(const MtsInfer *infer)
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
		reading->slots[i] = (MtsInferSlot){MTS_UNIT_NONE, 0};
}

static void
set_bucket(MtsInfer *infer, const MtsInferField *field)
{
	infer->reading.bucket = field;
	infer->reading.span = MTS_UNIT_NONE;
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

/* Name the other units that the outermost slot could count. */
static void
remark_units(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferField *bucket = reading->bucket;
	const MtsNode *nodes = infer->survey.nodes;
	MtsReading other = *reading;
	char path[MTS_MAX_PATH];
	char others[128] = "";
	int outer = reading->containers[0];

	if (bucket->distinct > 2 && reading->span == bucket->unit)
		return;
	for (MtsInferUnit span = bucket->unit; span <= MTS_UNIT_MINUTE; span++)
		if (span != reading->span &&
			mts_infer_units(infer, &other, span, true))
			snprintf(others + strlen(others), sizeof(others) - strlen(others),
					 "%s%ss of %s %s", others[0] ? " or " : "",
					 mts_infer_unit_name(other.slots[0].unit),
					 mts_infer_unit_article(span), mts_infer_unit_name(span));
	while (nodes[outer].nslots > 1)
		outer = nodes[outer].parent;
	while (nodes[outer].kind == MTS_NODE_NAME)
		outer = nodes[outer].parent;
	if (others[0])
		mts_infer_remark(
			infer,
			"%s: %lld to %lld taken for %ss of %s %s, as %s sampled begin%s %s %s; they could be %s",
			mts_infer_show(infer, outer, path), (long long) nodes[outer].least,
			(long long) nodes[outer].greatest,
			mts_infer_unit_name(reading->slots[0].unit),
			mts_infer_unit_article(reading->span),
			mts_infer_unit_name(reading->span),
			bucket->distinct == 1 ? "the only bucket time"
								  : "the few bucket times",
			bucket->distinct == 1 ? "s" : "",
			mts_infer_unit_article(bucket->unit),
			mts_infer_unit_name(bucket->unit), others);
}

/* Is the outermost slot's array long enough to be more than a list? */
static bool
is_filled(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int node = reading->containers[0];

	if (!is_array(infer) || reading->own_time >= 0)
		return true;
	while (infer->survey.nodes[node].nslots > 1 ||
		   infer->survey.nodes[node].kind == MTS_NODE_NAME)
		node = infer->survey.nodes[node].parent;
	return 2 * (infer->survey.nodes[node].greatest + 1) >
		   mts_infer_units_in(reading->span, reading->slots[0].unit);
}

/* Slots that count, in buckets of all spans that the times allow. */
static bool
try_spans(MtsInfer *infer, const MtsInferField *field, bool adjacent,
		  char *why)
{
	MtsInferUnit finest =
		field->unit > MTS_UNIT_MINUTE ? field->unit : MTS_UNIT_MINUTE;

	for (MtsInferUnit span = field->unit; span <= finest; span++)
	{
		/* three times that begin an hour are no chance */
		if (adjacent && field->distinct > 2 && span > field->unit &&
			(field->unit > MTS_UNIT_MONTH || span > MTS_UNIT_DAY))
			break;
		if (mts_infer_units(infer, &infer->reading, span, adjacent) &&
			is_filled(infer) && mts_infer_check(infer, why))
			return true;
	}
	return false;
}

static bool
try_slots(MtsInfer *infer, char *why)
{
	for (int i = 0; i < infer->nfields; i++)
	{
		set_bucket(infer, &infer->fields[i]);
		if (infer->fields[i].unit <= MTS_UNIT_SECOND &&
			(try_spans(infer, &infer->fields[i], true, why) ||
			 try_spans(infer, &infer->fields[i], false, why)))
			return true;
	}
	set_bucket(infer, NULL);
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
			set_bucket(infer, &infer->fields[i]);
			infer->reading.span = span;
			if (mts_infer_check(infer, why))
				return true;
		}
	set_bucket(infer, NULL);
	return mts_infer_check(infer, why);
}

/* The points' time in this node, if it is one */
static bool
try_own_time(MtsInfer *infer, int node, char *why)
{
	MtsReading *reading = &infer->reading;

	reading->own_time = node;
	if (!is_array(infer) || is_padded(infer))
	{
		mts_infer_sort_fields(infer, false);
		if (try_slots(infer, why))
			return true;
	}
	if (is_array(infer))
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
			mts_infer_format(infer, nodes[i], infer->reading.own_format,
							 false) &&
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
		for (; n < infer->nleaves && n < MTS_INFER_CONTAINERS; n++)
			nodes[n] = infer->leaves[n];
	}
	else if (reading->ncontainers > 1 && is_array(infer))
		for (; n < reading->ncontainers; n++)
			nodes[n] = reading->containers[n];
	return n;
}

/* Keys of the points that some lack are data: names of what was measured. */
static bool
is_sparse(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;
	int first = nodes[container].child;
	bool sparse = false;

	if (!mts_infer_is_record(infer, container) || nodes[first].next < 0)
		return false;
	for (int child = first; child >= 0; child = nodes[child].next)
	{
		if (!mts_infer_is_only(infer, child, MTS_NUMBER_TYPES))
			return false;
		sparse |= nodes[child].values != nodes[first].values;
	}
	return sparse;
}

static bool
try_counted(MtsInfer *infer, char *why)
{
	MtsReading *reading = &infer->reading;
	char path[MTS_MAX_PATH];

	mts_infer_sort_fields(infer, false);
	reading->is_unpivoted =
		reading->ncontainers == 1 &&
		infer->survey.nodes[reading->containers[0]].nslots < MTS_MAX_SLOTS &&
		is_sparse(infer, reading->containers[0]);
	if (!try_slots(infer, why))
	{
		reading->is_unpivoted = false;
		return false;
	}
	remark_units(infer);
	if (reading->is_unpivoted)
		mts_infer_remark(
			infer,
			"%s: names inside of the points are taken for values of the column \"key\", as some points lack some of them",
			mts_infer_show(infer, reading->containers[0], path));
	return true;
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
		   mts_infer_offset(infer, why) || try_counted(infer, why);
}
