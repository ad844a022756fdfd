/*
 * survey.c
 *		Count what stands at each place of sample documents.
 *
 * The bytes are not trusted: what is nested too deep or has too many names is
 * cut off, and said to be.  The nodes refer to each other by index, since
 * they move when their array grows.
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
					  .next = -1,
					  .last = -1};
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
 * The child of this kind and name, a new one if need be; -1: there are too
 * many.  Keys mostly come in the same order, so the search begins behind the
 * child that was found last.
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
	/* what has more names than are counted is not searched for each */
	if (kind == MTS_NODE_NAME && survey->nodes[parent].is_cut)
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
		survey->nodes[parent].is_cut = true;
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

static void take(MtsSurvey *survey, int node, int sample,
				 const MtsElement *element);

/* Count what stands at the keys of a subdocument or in an array. */
static void
take_children(MtsSurvey *survey, int node, int sample,
			  const MtsElement *holder)
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
			MtsKeyNumber number =
				mts_element_key_number(element.key, element.key_len, &key);

			if (number == MTS_KEY_BAD_NUMBER ||
				(number == MTS_KEY_NUMBER && key < 0))
			{
				survey->nodes[node].is_odd = true;
				continue;
			}
			kind = number == MTS_KEY_NUMBER ? MTS_NODE_NUMBERS : MTS_NODE_NAME;
		}
		child =
			find_child(survey, node, kind, element.key, element.key_len, last);
		if (child < 0)
			continue;
		if (kind != MTS_NODE_NAME)
			count_key(&survey->nodes[child], key);
		else
			last = child;
		take(survey, child, sample, &element);
	}
}

static void
take(MtsSurvey *survey, int node, int sample, const MtsElement *element)
{
	MtsNode *at = &survey->nodes[node];

	at->types |= MTS_TYPE_BIT(element->type);
	at->values++;
	if (at->last != sample)
		at->samples++;
	at->last = sample;
	if (element->type == BSON_TYPE_DOCUMENT ||
		element->type == BSON_TYPE_ARRAY)
		take_children(survey, node, sample, element);
}

/*
 * mts_survey_take
 *		Survey documents, which are sound; see mts_element_is_valid.
 *
 * resize is realloc or like it; what it gave is the caller's.
 */
void
mts_survey_take(MtsSurvey *survey, const MtsSample *samples, int nsamples,
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

		take(survey, 0, i, &doc);
	}
}

/*
 * mts_survey_chain
 *		The nodes from below the root to this one, and how many they are.
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

/* Is a node another one, or inside of it? */
bool
mts_survey_is_below(const MtsSurvey *survey, int node, int above)
{
	while (node >= 0 && node != above)
		node = survey->nodes[node].parent;
	return node == above;
}

/* The child that is numbers or elements; -1: there is none. */
int
mts_survey_child(const MtsSurvey *survey, int node, MtsNodeKind kind)
{
	int child = survey->nodes[node].child;

	while (child >= 0 && survey->nodes[child].kind != kind)
		child = survey->nodes[child].next;
	return child;
}

/* Is an element of a holder one of a node's? */
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
			   MTS_KEY_NUMBER &&
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
			break; /* a second one of the name is never read */
	}
	return true;
}

/*
 * mts_survey_visit
 *		Call visit for everything that stands at a node in one sample.
 *
 * False as soon as visit is.
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
