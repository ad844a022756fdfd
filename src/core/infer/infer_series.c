/*
 * infer_series.c
 *		Finds the reading of samples as buckets of points.
 *
 * Candidates for points are keys that are numbers, and elements of arrays.
 * For each candidate the time of its points is looked for. infer.c explains
 * the order of attempts.
 */
#include "core/infer/infer_private.h"

#include <stdio.h>
#include <string.h>

/* More candidates are not tried. */
#define MAX_CANDIDATES 64

/* The times of points may be one of so many fields. */
#define MAX_TIMES 8

/*
 * Two slots count different units if the greatest key of one is less than this
 * part of the other's.
 */
#define MIN_PART 12

typedef struct Candidate
{
	int node;
	bool is_likely; /* the slots are keys, or the points have a time */
	int64_t values; /* decides between likely ones */
} Candidate;

/* Whether all slots of a node are keys */
static bool
is_keyed(const MtsInfer *infer, int node)
{
	for (; node >= 0; node = infer->survey.nodes[node].parent)
		if (infer->survey.nodes[node].kind == MTS_NODE_ELEMENTS)
			return false;
	return true;
}

/* Whether a path can name the slots of a node */
static bool
is_readable(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int at = node; nodes[at].parent >= 0; at = nodes[at].parent)
	{
		const MtsNode *parent = &nodes[nodes[at].parent];
		bool is_array = nodes[at].kind == MTS_NODE_ELEMENTS;

		if (!mts_infer_has_only(infer, nodes[at].parent,
								MTS_TYPE_BIT(is_array ? BSON_TYPE_ARRAY
													  : BSON_TYPE_DOCUMENT)))
			return false;
		if ((nodes[at].kind == MTS_NODE_NUMBERS &&
			 (parent->has_odd_keys || parent->is_truncated)) ||
			mts_infer_has_tuples(infer, at))
			return false;
	}
	/* elements of an array in an array have no names */
	return is_keyed(infer, node) ||
		   !(nodes[node].types & MTS_TYPE_BIT(BSON_TYPE_ARRAY)) ||
		   mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS) < 0;
}

/* Whether points have a field that may be a time, or are times themselves */
static bool
has_time(MtsInfer *infer, int node)
{
	char format[MTS_INFER_FORMAT];
	MtsInferLeaves leaves;

	mts_infer_collect_leaves(infer, node, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (mts_infer_find_format(infer, leaves.nodes[i], format))
			return true;
	return false;
}

/* Whether a candidate is tried before another */
static bool
comes_before(const Candidate *a, const Candidate *b)
{
	if (a->is_likely != b->is_likely)
		return a->is_likely;
	return a->values > b->values;
}

/*
 * The number of values of a node, raised so that inner keys precede outer ones
 */
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

/* Find the candidates, in the order of attempts.  Returns their number. */
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

/* Whether two nodes have the same number of elements in every sample */
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

/* Whether the slots of two nodes can count the same units */
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

/* Let the reading consist of a node and of those with the same slots. */
static void
set_containers(MtsInfer *infer, int first)
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

/* mts_infer_slots_are_elements: whether all slots are elements of arrays */
bool
mts_infer_slots_are_elements(const MtsInfer *infer)
{
	int node = infer->reading.containers[0];

	for (; node >= 0; node = infer->survey.nodes[node].parent)
		if (infer->survey.nodes[node].kind == MTS_NODE_NUMBERS)
			return false;
	return true;
}

/*
 * Whether the arrays have nulls or arrays in them, so that indexes may count
 */
static bool
has_padding(const MtsInfer *infer)
{
	int node = infer->reading.containers[0];

	if (infer->survey.nodes[node].nslots > 1)
		return true;
	return infer->survey.nodes[node].types & MTS_NULL_TYPES;
}

/* Let no slot count a unit. */
static void
set_elements(MtsInfer *infer)
{
	MtsReading *reading = &infer->reading;

	reading->nslots = infer->survey.nodes[reading->containers[0]].nslots;
	for (int i = 0; i < reading->nslots; i++)
		reading->slots[i] = (MtsInferSlot){MTS_UNIT_NONE, 0, 1};
}

/* mts_infer_set_bucket_time: let a field be the bucket's time, or NULL. */
void
mts_infer_set_bucket_time(MtsInfer *infer, const MtsInferField *field)
{
	infer->reading.bucket = field;
	infer->reading.span = MTS_UNIT_NONE;
	infer->reading.spans = 1;
}

/* Whether the points have numbers beside their time */
static bool
are_measured(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsInferLeaves leaves;

	for (int i = 0; i < reading->ncontainers; i++)
	{
		mts_infer_collect_leaves(infer, reading->containers[i], &leaves);
		for (int j = 0; j < leaves.n; j++)
			if (leaves.nodes[j] != reading->time_node &&
				mts_infer_has_only(infer, leaves.nodes[j], MTS_NUMBER_TYPES))
				return true;
	}
	return false;
}

/* Try elements with a time of their own, in buckets with a time or without. */
static bool
try_elements(MtsInfer *infer, char *why)
{
	set_elements(infer);
	for (int i = 0; i < infer->nfields; i++)
		for (MtsInferUnit span = mts_infer_longest_span(&infer->fields[i]);
			 span <= MTS_UNIT_MINUTE; span++)
		{
			mts_infer_set_bucket_time(infer, &infer->fields[i]);
			infer->reading.span = span;
			if (mts_infer_check(infer, why))
				return true;
		}
	mts_infer_set_bucket_time(infer, NULL);
	if (!are_measured(infer))
	{
		snprintf(why, MTS_INFER_REMARK,
				 "they hold no numbers, and no field is the time of buckets");
		return false;
	}
	return mts_infer_check(infer, why);
}

/* Try a node as the time of the points. */
static bool
try_own_time(MtsInfer *infer, int node, char *why)
{
	MtsReading *reading = &infer->reading;

	reading->time_node = node;
	if (!mts_infer_slots_are_elements(infer) || has_padding(infer))
	{
		mts_infer_sort_fields(infer, MTS_FIELDS_BY_BUCKETS);
		if (mts_infer_find_slot_units(infer, why))
			return true;
	}
	if (mts_infer_slots_are_elements(infer))
	{
		mts_infer_sort_fields(infer, MTS_FIELDS_BY_UNIT);
		if (try_elements(infer, why))
			return true;
	}
	reading->time_node = -1;
	return false;
}

/* Try the nodes of these types as the time of the points. */
static bool
try_own_times(MtsInfer *infer, const int *nodes, int n, uint32_t types,
			  char *why)
{
	for (int i = 0; i < n; i++)
		if (mts_infer_has_only(infer, nodes[i], types) &&
			mts_infer_find_format(infer, nodes[i],
								  infer->reading.time_format) &&
			try_own_time(infer, nodes[i], why))
			return true;
	return false;
}

/*
 * List the nodes that may be the time of the points: leaves of the first
 * container, or one of several arrays.
 */
static int
time_nodes(MtsInfer *infer, int *nodes)
{
	const MtsReading *reading = &infer->reading;
	int n = 0;

	if (mts_infer_is_record(infer, reading->containers[0]))
	{
		MtsInferLeaves leaves;

		mts_infer_collect_leaves(infer, reading->containers[0], &leaves);
		n = leaves.n < MAX_TIMES ? leaves.n : MAX_TIMES;
		memcpy(nodes, leaves.nodes, n * sizeof(int));
	}
	else if (reading->ncontainers > 1 && mts_infer_slots_are_elements(infer))
		for (; n < reading->ncontainers; n++)
			nodes[n] = reading->containers[n];
	return n;
}

/*
 * Find a reading of the containers that holds.  Returns false, with the last
 * reason in why, if there is none.
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
		   mts_infer_find_offset(infer, why) ||
		   mts_infer_find_slot_times(infer, why);
}

/*
 * mts_infer_find_series
 *		Find a reading of the samples as buckets of points.
 *
 * Returns false, with an empty reading, if there is none.  If it was likely, a
 * remark gives the reason.
 */
bool
mts_infer_find_series(MtsInfer *infer)
{
	Candidate candidates[MAX_CANDIDATES];
	int n = find_candidates(infer, candidates);
	char why[MTS_INFER_REMARK];
	char reason[MTS_INFER_REMARK] = "";
	char path[MTS_MAX_PATH];

	for (int i = 0; i < n; i++)
	{
		mts_infer_clear_reading(infer);
		set_containers(infer, candidates[i].node);
		if (try_containers(infer, why))
			return true;
		if (i == 0 && (is_keyed(infer, candidates[i].node) ||
					   (candidates[i].is_likely &&
						mts_infer_is_record(infer, candidates[i].node))))
			memcpy(reason, why, sizeof(reason));
	}
	mts_infer_clear_reading(infer);
	infer->nexcluded = 0;
	if (reason[0])
		mts_infer_remark(
			infer,
			"%s is not declared as a series of points, because %s\nIf it is one, give the column a type and a field with slots.",
			mts_infer_label(infer,
							infer->survey.nodes[candidates[0].node].parent,
							path),
			reason);
	return false;
}
