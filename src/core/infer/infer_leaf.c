/*
 * infer_leaf.c
 *		Which places of a subdocument become columns of their own?
 *
 * Those without names inside: scalars, arrays, and subdocuments whose keys
 * are data.  Subdocuments that hold the points of the reading are looked into,
 * their slots are not.
 */
#include "core/infer/infer_private.h"

#include <string.h>

/* Do only these types stand at a node, and nulls? */
bool
mts_infer_is_only(const MtsInfer *infer, int node, uint32_t types)
{
	uint32_t seen = infer->survey.nodes[node].types & ~MTS_NULL_TYPES;

	return seen != 0 && (seen & ~types) == 0;
}

/* Is it always a subdocument, of names only? */
bool
mts_infer_is_record(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return mts_infer_is_only(infer, node, MTS_TYPE_BIT(BSON_TYPE_DOCUMENT)) &&
		   !at->has_odd_keys && !at->is_truncated && at->child >= 0 &&
		   mts_survey_child(&infer->survey, node, MTS_NODE_NUMBERS) < 0;
}

/* Is a node the document's _id? */
bool
mts_infer_is_id(const MtsInfer *infer, int node)
{
	const MtsNode *at = &infer->survey.nodes[node];

	return at->depth == 1 && strcmp(at->name, "_id") == 0;
}

/* Is a node the document's _id, or inside of it? */
bool
mts_infer_is_in_id(const MtsInfer *infer, int node)
{
	while (infer->survey.nodes[node].depth > 1)
		node = infer->survey.nodes[node].parent;
	return mts_infer_is_id(infer, node);
}

static bool
holds_points(const MtsInfer *infer, int node)
{
	for (int i = 0; i < infer->reading.ncontainers; i++)
		if (mts_survey_is_within(&infer->survey, infer->reading.containers[i],
								 node))
			return true;
	return false;
}

static void
gather(MtsInfer *infer, int node)
{
	int child = infer->survey.nodes[node].child;

	for (; child >= 0; child = infer->survey.nodes[child].next)
	{
		if (infer->survey.nodes[child].kind != MTS_NODE_NAME)
			continue;
		if (holds_points(infer, child) || mts_infer_is_record(infer, child))
			gather(infer, child);
		else if (infer->nleaves < MTS_INFER_COLUMNS - 1)
			infer->leaves[infer->nleaves++] = child;
		else
			infer->nlost++; /* one is left for the whole document */
	}
}

/*
 * mts_infer_leaves
 *		Collect what becomes columns below a node in infer->leaves.
 */
void
mts_infer_leaves(MtsInfer *infer, int node)
{
	infer->nleaves = infer->nlost = 0;
	gather(infer, node);
	if (infer->nlost > 0)
		mts_infer_remark(infer, "%d fields beyond the first %d have no column",
						 infer->nlost, infer->nleaves);
}
