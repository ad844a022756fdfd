/*
 * infer_slots.c
 *		Which places may hold the points of a series?
 *
 * Keys that are numbers, and elements of arrays.  The places with the most
 * values are tried first; others with the same slots are read along.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* More places than these are not tried. */
#define MAX_CANDIDATES 64

/*
 * Of slots that count the same, the fewest keys are no less than this part of
 * the most: where they are, other units have been counted.
 */
#define MIN_PART 12

typedef struct Candidate
{
	int node;
	bool is_likely; /* numbers as keys, or points with a time? */
	int64_t values;
} Candidate;

/* Are all slots on the way to a node keys? */
static bool
is_keyed(const MtsInfer *infer, int node)
{
	for (; node >= 0; node = infer->survey.nodes[node].parent)
		if (infer->survey.nodes[node].kind == MTS_NODE_ELEMENTS)
			return false;
	return true;
}

/* Can all slots on the way to a node be read? */
static bool
is_readable(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int at = node; nodes[at].parent >= 0; at = nodes[at].parent)
	{
		const MtsNode *parent = &nodes[nodes[at].parent];
		bool is_array = nodes[at].kind == MTS_NODE_ELEMENTS;

		if (!mts_infer_is_only(infer, nodes[at].parent,
							   MTS_TYPE_BIT(is_array ? BSON_TYPE_ARRAY
													 : BSON_TYPE_DOCUMENT)))
			return false;
		if ((nodes[at].kind == MTS_NODE_NUMBERS &&
			 (parent->has_odd_keys || parent->is_truncated)) ||
			mts_infer_is_tuple(infer, at))
			return false;
	}
	/* a point that is an array would have no names */
	return is_keyed(infer, node) ||
		   !(nodes[node].types & MTS_TYPE_BIT(BSON_TYPE_ARRAY)) ||
		   mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS) < 0;
}

/* Has a node's point a field that may be a time, or is it one? */
static bool
has_time(MtsInfer *infer, int node)
{
	char format[MTS_INFER_FORMAT];

	if (!mts_infer_is_record(infer, node))
		return mts_infer_format(infer, node, format);
	mts_infer_leaves(infer, node);
	for (int i = 0; i < infer->nleaves; i++)
		if (mts_infer_format(infer, infer->leaves[i], format))
			return true;
	return false;
}

/* Is a candidate tried before another? */
static bool
comes_before(const Candidate *a, const Candidate *b)
{
	if (a->is_likely != b->is_likely)
		return a->is_likely;
	return a->values > b->values;
}

/* How many values count for a node: inner slots come before outer ones. */
static int64_t
rank_values(const MtsInfer *infer, int node, const Candidate *found, int n)
{
	int64_t values = infer->survey.nodes[node].values;

	for (int i = 0; i < n; i++)
		if (found[i].node != node && found[i].values >= values &&
			mts_survey_is_within(&infer->survey, node, found[i].node) &&
			is_keyed(infer, node))
			values = found[i].values + 1;
	return values;
}

static int
find_candidates(MtsInfer *infer, Candidate *candidates)
{
	int n = 0;

	for (int node = 0; node < infer->survey.nnodes; node++)
	{
		Candidate candidate = {.node = node};
		int i = n;

		if (infer->survey.nodes[node].kind == MTS_NODE_NAME ||
			n == MAX_CANDIDATES || !is_readable(infer, node))
			continue;
		candidate.is_likely = is_keyed(infer, node) || has_time(infer, node);
		candidate.values = rank_values(infer, node, candidates, n);
		for (; i > 0 && comes_before(&candidate, &candidates[i - 1]); i--)
			candidates[i] = candidates[i - 1];
		candidates[i] = candidate;
		n++;
	}
	return n;
}

static bool
count_one(void *arg, const MtsElement *element)
{
	++*(int64_t *) arg;
	return true;
}

/* Have the arrays of two nodes the same length in every sample? */
static bool
are_parallel(const MtsInfer *infer, int a, int b)
{
	for (int i = 0; i < infer->nsamples; i++)
	{
		int64_t na = 0, nb = 0;

		(void) mts_survey_visit(&infer->survey, i, a, count_one, &na);
		(void) mts_survey_visit(&infer->survey, i, b, count_one, &nb);
		if (na != nb)
			return false;
	}
	return true;
}

/* Do the slots of two nodes look as if they counted the same? */
static bool
have_same_slots(const MtsInfer *infer, int a, int b)
{
	int nslots = infer->survey.nodes[a].nslots;

	if (infer->survey.nodes[b].nslots != nslots)
		return false;
	for (int i = 0; i < nslots; i++)
	{
		const MtsNode *x =
			&infer->survey.nodes[mts_survey_slot(&infer->survey, a, i)];
		const MtsNode *y =
			&infer->survey.nodes[mts_survey_slot(&infer->survey, b, i)];

		if (x->kind != y->kind || y->greatest / MIN_PART > x->greatest ||
			x->greatest / MIN_PART > y->greatest)
			return false;
	}
	return true;
}

/* Let nodes with the same slots be read together. */
static void
add_parallel(MtsInfer *infer, int first)
{
	MtsReading *reading = &infer->reading;
	bool is_array = !is_keyed(infer, first);

	if (is_array && mts_infer_is_record(infer, first))
	{
		reading->containers[reading->ncontainers++] = first;
		return;
	}
	for (int node = 0; node < infer->survey.nnodes &&
					   reading->ncontainers < MTS_INFER_CONTAINERS;
		 node++)
		if (node == first)
			reading->containers[reading->ncontainers++] = node;
		else if (infer->survey.nodes[node].kind != MTS_NODE_NAME &&
				 is_readable(infer, node) &&
				 have_same_slots(infer, first, node) &&
				 (!is_array || (!mts_infer_is_record(infer, node) &&
								are_parallel(infer, first, node))))
			reading->containers[reading->ncontainers++] = node;
}

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
 * try_containers
 *		Find a reading of the containers in infer->reading that holds.
 *
 * False with the last reason in why.
 */
static bool
try_containers(MtsInfer *infer, char *why)
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

/*
 * mts_infer_series
 *		Find a reading of the samples as buckets of points.
 *
 * False, with an empty reading, when there is none.
 */
bool
mts_infer_series(MtsInfer *infer)
{
	Candidate candidates[MAX_CANDIDATES];
	int n = find_candidates(infer, candidates);
	char why[MTS_INFER_REMARK];
	char reason[MTS_INFER_REMARK] = "";
	char path[MTS_MAX_PATH];

	for (int i = 0; i < n; i++)
	{
		infer->reading = (MtsReading){.own_time = -1};
		add_parallel(infer, candidates[i].node);
		if (try_containers(infer, why))
			return true;
		if (i == 0 && (is_keyed(infer, candidates[i].node) ||
					   (candidates[i].is_likely &&
						mts_infer_is_record(infer, candidates[i].node))))
			memcpy(reason, why, sizeof(reason));
	}
	infer->reading = (MtsReading){.own_time = -1, .span = MTS_UNIT_NONE};
	infer->nothers = 0;
	if (reason[0])
		mts_infer_remark(
			infer,
			"%s: not taken for a series of points, as %s; if it is one, ALTER FOREIGN TABLE can give the column a type and a field with slots",
			mts_infer_show(infer,
						   infer->survey.nodes[candidates[0].node].parent,
						   path),
			reason);
	return false;
}
