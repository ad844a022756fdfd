/*
 * survey.c
 *		Counts the values and types at each place of sample documents.
 *
 * The bytes are not trusted.  A node is marked as truncated when it is nested
 * too deeply, or has too many children, to have all of them in the tree.
 * Nodes refer to each other by index, as their array moves when it grows.
 */
#include "core/infer/survey.h"

#include <string.h>

static int
add_node(MtsSurvey *survey, int parent, MtsNodeKind kind, const char *name,
		 uint32_t len)
{
	MtsNode *node;

	if (survey->nnodes == survey->room)
	{
		survey->room *= 2;
		survey->nodes =
			survey->resize(survey->nodes, survey->room * sizeof(MtsNode));
	}
	node = &survey->nodes[survey->nnodes];
	*node = (MtsNode){.kind = kind,
					  .name = name,
					  .len = len,
					  .parent = parent,
					  .child = -1,
					  .next = -1};
	if (parent >= 0)
	{
		node->depth = survey->nodes[parent].depth + 1;
		node->nslots = survey->nodes[parent].nslots + (kind != MTS_NODE_NAME);
	}
	return survey->nnodes++;
}

static bool
is_node(const MtsNode *node, MtsNodeKind kind, const char *name, uint32_t len)
{
	return node->kind == kind &&
		   (kind != MTS_NODE_NAME ||
			(node->len == len && memcmp(node->name, name, len) == 0));
}

/*
 * Find or add the child of this kind and name.  Returns -1 when there is no
 * room for it.
 *
 * Keys mostly come in the same order, so the child after the one that was
 * found last is tried first.
 */
static int
find_child(MtsSurvey *survey, int parent, MtsNodeKind kind, const char *name,
		   uint32_t len, int last)
{
	int first = survey->nodes[parent].child;
	int tail = -1;
	int n = 0;
	int child;

	if (last >= 0)
	{
		child = survey->nodes[last].next;
		if (child >= 0 && is_node(&survey->nodes[child], kind, name, len))
			return child;
	}
	/* do not search a long list for each of too many names */
	if (kind == MTS_NODE_NAME && survey->nodes[parent].is_truncated)
		return -1;
	for (child = first; child >= 0; child = survey->nodes[child].next)
	{
		if (is_node(&survey->nodes[child], kind, name, len))
			return child;
		tail = child;
		n++;
	}
	if (n >= MTS_SURVEY_MAX_NAMES || survey->nnodes >= MTS_SURVEY_MAX_NODES ||
		survey->nodes[parent].depth >= MTS_MAX_STEPS ||
		(kind != MTS_NODE_NAME &&
		 survey->nodes[parent].nslots >= MTS_MAX_SLOTS))
	{
		survey->nodes[parent].is_truncated = true;
		return -1;
	}
	child = add_node(survey, parent, kind, name, len);
	if (tail >= 0)
		survey->nodes[tail].next = child;
	else
		survey->nodes[parent].child = child;
	return child;
}

static void
count_key(MtsNode *node, int64_t key)
{
	if (node->values == 0 || key < node->least)
		node->least = key;
	if (node->values == 0 || key > node->greatest)
		node->greatest = key;
}

static void count_value(MtsSurvey *survey, int node, const MtsElement *value);

/* Count the values in a subdocument or an array. */
static void
count_children(MtsSurvey *survey, int node, const MtsElement *holder)
{
	bool is_array = holder->type == BSON_TYPE_ARRAY;
	MtsElementCursor cursor;
	MtsElement element;
	int64_t index = 0;
	int last = -1;

	if (!mts_element_open(&cursor, holder->value, holder->size))
		return;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		MtsNodeKind kind = MTS_NODE_ELEMENTS;
		int64_t key = index++;
		int child;

		if (!is_array)
		{
			MtsKeyText number =
				mts_element_key_number(element.key, element.key_len, &key);

			if (number == MTS_KEYTEXT_BAD_NUMBER ||
				(number == MTS_KEYTEXT_NUMBER && key < 0))
			{
				survey->nodes[node].has_odd_keys = true;
				continue;
			}
			kind = number == MTS_KEYTEXT_NUMBER ? MTS_NODE_NUMBERS
												: MTS_NODE_NAME;
		}
		child =
			find_child(survey, node, kind, element.key, element.key_len, last);
		if (child < 0)
			continue;
		if (kind != MTS_NODE_NAME)
			count_key(&survey->nodes[child], key);
		else
			last = child;
		count_value(survey, child, &element);
	}
}

static void
count_value(MtsSurvey *survey, int node, const MtsElement *value)
{
	survey->nodes[node].types |= MTS_TYPE_BIT(value->type);
	survey->nodes[node].values++;
	if (value->type == BSON_TYPE_DOCUMENT || value->type == BSON_TYPE_ARRAY)
		count_children(survey, node, value);
}

/*
 * mts_survey_build
 *		Build the tree of valid documents; see mts_element_is_valid.
 *
 * resize works like realloc.  The nodes belong to the caller.
 */
void
mts_survey_build(MtsSurvey *survey, const MtsSample *samples, int nsamples,
				 void *(*resize)(void *memory, size_t size))
{
	*survey = (MtsSurvey){.samples = samples,
						  .nsamples = nsamples,
						  .room = 64,
						  .resize = resize};
	survey->nodes = resize(NULL, survey->room * sizeof(MtsNode));
	add_node(survey, -1, MTS_NODE_NAME, "", 0);
	for (int i = 0; i < nsamples; i++)
	{
		MtsElement doc =
			mts_element_document(samples[i].bytes, samples[i].size);

		count_value(survey, 0, &doc);
	}
}

/*
 * mts_survey_chain
 *		Write the nodes on the way from the root, which is not among them, to
 *		a node.  Returns their number.
 *
 * chain has room for MTS_MAX_STEPS.
 */
int
mts_survey_chain(const MtsSurvey *survey, int node, int *chain)
{
	int n = survey->nodes[node].depth;

	for (int i = n - 1; i >= 0; i--)
	{
		chain[i] = node;
		node = survey->nodes[node].parent;
	}
	return n;
}

/* mts_survey_is_within: whether a node is another one, or inside of it */
bool
mts_survey_is_within(const MtsSurvey *survey, int node, int outer)
{
	while (node >= 0 && node != outer)
		node = survey->nodes[node].parent;
	return node == outer;
}

/* mts_survey_child: the first child of this kind, or -1. */
int
mts_survey_child(const MtsSurvey *survey, int node, MtsNodeKind kind)
{
	int child = survey->nodes[node].child;

	while (child >= 0 && survey->nodes[child].kind != kind)
		child = survey->nodes[child].next;
	return child;
}

/*
 * mts_survey_slot
 *		The node of a slot on the way to a node that has more than level slots;
 *		the outermost slot is on level 0.
 */
int
mts_survey_slot(const MtsSurvey *survey, int node, int level)
{
	const MtsNode *nodes = survey->nodes;

	while (nodes[node].nslots > level + 1 || nodes[node].kind == MTS_NODE_NAME)
		node = nodes[node].parent;
	return node;
}

/* Whether an element of a subdocument or an array belongs to a node */
static bool
is_at(const MtsNode *node, const MtsElement *holder, const MtsElement *element)
{
	int64_t key;

	if (node->kind == MTS_NODE_ELEMENTS)
		return holder->type == BSON_TYPE_ARRAY;
	if (holder->type != BSON_TYPE_DOCUMENT)
		return false;
	if (node->kind == MTS_NODE_NAME)
		return is_node(node, MTS_NODE_NAME, element->key, element->key_len);
	return mts_element_key_number(element->key, element->key_len, &key) ==
			   MTS_KEYTEXT_NUMBER &&
		   key >= 0;
}

static bool
visit_below(const MtsSurvey *survey, const int *chain, int n,
			const MtsElement *holder, MtsVisit visit, void *arg)
{
	const MtsNode *node = &survey->nodes[chain[0]];
	MtsElementCursor cursor;
	MtsElement element;

	if ((holder->type != BSON_TYPE_DOCUMENT &&
		 holder->type != BSON_TYPE_ARRAY) ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return true;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		if (!is_at(node, holder, &element))
			continue;
		if (n == 1
				? !visit(arg, &element)
				: !visit_below(survey, chain + 1, n - 1, &element, visit, arg))
			return false;
		if (node->kind == MTS_NODE_NAME)
			break; /* a duplicate of the key is never read */
	}
	return true;
}

/*
 * mts_survey_visit
 *		Call visit for every value at a node in one sample, until it returns
 *		false.
 *
 * Returns false when visit did.
 */
bool
mts_survey_visit(const MtsSurvey *survey, int sample, int node, MtsVisit visit,
				 void *arg)
{
	int chain[MTS_MAX_STEPS + 1];
	int n = mts_survey_chain(survey, node, chain);
	MtsElement doc = mts_element_document(survey->samples[sample].bytes,
										  survey->samples[sample].size);

	return n == 0 ? visit(arg, &doc)
				  : visit_below(survey, chain, n, &doc, visit, arg);
}

/* mts_survey_visit_all: mts_survey_visit for all samples. */
bool
mts_survey_visit_all(const MtsSurvey *survey, int node, MtsVisit visit,
					 void *arg)
{
	for (int i = 0; i < survey->nsamples; i++)
		if (!mts_survey_visit(survey, i, node, visit, arg))
			return false;
	return true;
}
