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

/* The node's slot on a level from 0 on */
static const MtsNode *
slot_node(const MtsInfer *infer, int node, int level)
{
	const MtsNode *nodes = infer->survey.nodes;

	while (nodes[node].nslots > level + 1 || nodes[node].kind == MTS_NODE_NAME)
		node = nodes[node].parent;
	return &nodes[node];
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
		const MtsNode *x = slot_node(infer, a, i);
		const MtsNode *y = slot_node(infer, b, i);

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
		if (mts_infer_try(infer, why))
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
