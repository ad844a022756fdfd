/*
 * survey.c
 *		Counts the values and types at each place of sample documents.
 *
 * The bytes are not trusted.  A node is marked as truncated when it is nested
 * too deeply, or has too many children, to have all of them in the tree.
 * Nodes refer to each other by index, as their array moves when it grows.
 *
 * Keys that are numbers are one node.  So are keys such as h0 to h23 when
 * there are many, and short arrays inside of an array are tuples with a node
 * for each element.  Both become known while the samples are counted, so they
 * are then counted again.
 */
#include "advice/infer/survey.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* So many keys that differ in their digits are data and not names. */
#define MIN_ALIKE 12

/* Longer arrays of scalars are not tuples; those with a time may be longer. */
#define MAX_TUPLE 5
#define MAX_TUPLE_WITH_TIME 16

static int
add_node(MtsSurvey *survey, int parent, MtsNodeKind kind, const char *name)
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
is_node(const MtsNode *node, MtsNodeKind kind, const char *name)
{
	return node->kind == kind &&
		   (kind != MTS_NODE_NAME || strcmp(node->name, name) == 0);
}

/* Whether two texts are the same except for the digits in some places */
static bool
have_same_shape(const char *a, const char *b)
{
	while (*a && *b)
	{
		size_t i = strspn(a, MTS_DIGITS), j = strspn(b, MTS_DIGITS);

		if ((i == 0) != (j == 0) || (i == 0 && *a != *b))
			return false;
		a += i + (i == 0);
		b += j + (j == 0);
	}
	return *a == *b;
}

/*
 * mts_survey_is_key
 *		Whether a key of a subdocument at a node belongs to its node of KEYS.
 */
bool
mts_survey_is_key(const MtsSurvey *survey, int node, const MtsElement *element)
{
	const char *shape = survey->nodes[node].shape;

	return have_same_shape(shape ? shape : "0", element->key);
}

/*
 * Let names become KEYS if a new name is like many others.  Fields of
 * documents that have letters, such as sensor1 to sensor60, stay names.
 */
static void
find_shape(MtsSurvey *survey, int parent, const char *name)
{
	int n = 1;

	if (survey->keeps_names || survey->nodes[parent].shape ||
		!strpbrk(name, MTS_DIGITS) ||
		(parent == 0 && name[strspn(name, MTS_DIGITS " -_.:T")]) ||
		mts_survey_child(survey, parent, MTS_NODE_KEYS) >= 0)
		return;
	for (int i = survey->nodes[parent].child; i >= 0;
		 i = survey->nodes[i].next)
		n += have_same_shape(survey->nodes[i].name, name);
	if (n < MIN_ALIKE)
		return;
	survey->nodes[parent].shape = name;
	survey->has_shapes = true;
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
		   int last)
{
	int first = survey->nodes[parent].child;
	int tail = -1;
	int n = 0;
	int child;

	if (last >= 0)
	{
		child = survey->nodes[last].next;
		if (child >= 0 && is_node(&survey->nodes[child], kind, name))
			return child;
	}
	/* do not search a long list for each of too many names */
	if (kind == MTS_NODE_NAME && survey->nodes[parent].is_truncated)
		return -1;
	for (child = first; child >= 0; child = survey->nodes[child].next)
	{
		if (is_node(&survey->nodes[child], kind, name))
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
	if (kind == MTS_NODE_NAME)
		find_shape(survey, parent, name);
	child = add_node(survey, parent, kind, name);
	if (tail >= 0)
		survey->nodes[tail].next = child;
	else
		survey->nodes[parent].child = child;
	return child;
}

static void count_value(MtsSurvey *survey, int node, const MtsElement *value);

/* The kind of the node for a value in a subdocument or an array */
static MtsNodeKind
kind_of(const MtsSurvey *survey, int node, bool is_array,
		const MtsElement *element)
{
	if (is_array)
		return survey->nodes[node].holds_tuples ? MTS_NODE_NAME
												: MTS_NODE_ELEMENTS;
	return mts_survey_is_key(survey, node, element) ? MTS_NODE_KEYS
													: MTS_NODE_NAME;
}

/* mts_survey_number: the first number in a key */
int64_t
mts_survey_number(const char *key)
{
	return strtoll(key + strcspn(key, MTS_DIGITS), NULL, 10);
}

/* Record the numbers in a key. */
static void
count_numbers(MtsNode *node, const char *key)
{
	int64_t first = mts_survey_number(key);

	if (first > node->greatest)
		node->greatest = first;
	for (const char *at = key; *at; at++)
		node->has_letters |= isalpha((unsigned char) *at);
	for (int i = 0; *(key += strcspn(key, MTS_DIGITS)); i++)
	{
		size_t width = strspn(key, MTS_DIGITS);

		if (i == node->nnumbers)
			node->nnumbers++;
		if (i == MTS_MAX_NUMBERS)
			return;
		if (node->numbers[i].width == 0 || width < node->numbers[i].width)
			node->numbers[i].width = width;
		node->numbers[i].is_padded |= *key == '0' && width > 1;
		key += width;
	}
}

/* Count the values in a subdocument or an array. */
static void
count_children(MtsSurvey *survey, int node, const MtsElement *holder)
{
	bool is_array = holder->type == BSON_TYPE_ARRAY;
	MtsElementCursor cursor;
	MtsElement element;
	int64_t index = -1, number;
	int last = -1;

	if (!mts_element_open(&cursor, holder->value, holder->size))
		return;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		MtsNodeKind kind = kind_of(survey, node, is_array, &element);
		int child;

		index++;
		if (kind == MTS_NODE_NAME && !survey->nodes[node].holds_tuples &&
			mts_element_key_number(element.key, element.key_len, &number) !=
				MTS_KEYTEXT_OTHER)
		{
			survey->nodes[node].has_odd_keys = true;
			continue;
		}
		child = find_child(survey, node, kind, element.key, last);
		if (child < 0)
			continue;
		if (kind == MTS_NODE_NAME)
			last = child;
		if (kind == MTS_NODE_KEYS)
			count_numbers(&survey->nodes[child], element.key);
		else if (index > survey->nodes[child].greatest)
			survey->nodes[child].greatest = index;
		survey->nodes[child].is_index = is_array;
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

static void
count_samples(MtsSurvey *survey)
{
	for (int i = 0; i < survey->nnodes; i++)
	{
		MtsNode *node = &survey->nodes[i];

		node->types = 0;
		node->values = node->greatest = 0;
		node->has_odd_keys = node->is_truncated = false;
	}
	for (int i = 0; i < survey->nsamples; i++)
	{
		MtsElement doc = mts_element_document(survey->samples[i].bytes,
											  survey->samples[i].size);

		count_value(survey, 0, &doc);
	}
}

/* Whether a value is not an array, or is one that begins with a time */
static bool
begins_with_time(const MtsElement *holder)
{
	MtsElementCursor cursor;
	MtsElement element;
	double d;
	size_t len;

	if (holder->type != BSON_TYPE_ARRAY ||
		!mts_element_open(&cursor, holder->value, holder->size) ||
		mts_element_next(&cursor, &element) != MTS_NEXT_OK)
		return true;
	if (element.type == BSON_TYPE_UTF8)
		return strspn(mts_element_text(&element, &len), MTS_DIGITS) >= 4;
	return element.type == BSON_TYPE_DATE_TIME ||
		   (mts_element_number(&element, &d) && d >= MTS_SURVEY_FIRST_SECOND);
}

/* Find the arrays inside of arrays that are tuples. */
static bool
find_tuples(MtsSurvey *survey)
{
	const uint32_t holders =
		MTS_TYPE_BIT(BSON_TYPE_DOCUMENT) | MTS_TYPE_BIT(BSON_TYPE_ARRAY);
	bool found = false;

	for (int i = 1; i < survey->nnodes; i++)
	{
		const MtsNode *node = &survey->nodes[i];

		if (node->kind != MTS_NODE_ELEMENTS || (node->types & holders) ||
			survey->nodes[node->parent].kind != MTS_NODE_ELEMENTS ||
			(survey->nodes[node->parent].types & holders) !=
				MTS_TYPE_BIT(BSON_TYPE_ARRAY) ||
			node->greatest >= MAX_TUPLE_WITH_TIME ||
			(node->greatest >= MAX_TUPLE &&
			 !mts_survey_all(survey, node->parent, begins_with_time)))
			continue;
		survey->nodes[node->parent].holds_tuples = found = true;
	}
	return found;
}

/*
 * mts_survey_build
 *		Build the tree of valid documents; see mts_element_is_valid.
 *
 * Only keys that are numbers are taken together if keeps_names.  resize works
 * like realloc.  The nodes belong to the caller.
 */
void
mts_survey_build(MtsSurvey *survey, const MtsSample *samples, int nsamples,
				 bool keeps_names, void *(*resize)(void *memory, size_t size))
{
	*survey = (MtsSurvey){.samples = samples,
						  .nsamples = nsamples,
						  .keeps_names = keeps_names,
						  .room = 64,
						  .resize = resize};
	survey->nodes = resize(NULL, survey->room * sizeof(MtsNode));
	add_node(survey, -1, MTS_NODE_NAME, "");
	count_samples(survey);
	if (find_tuples(survey) || survey->has_shapes)
		count_samples(survey);
}

/* mts_survey_add_name: add a field of documents that has no values. */
void
mts_survey_add_name(MtsSurvey *survey, const char *name)
{
	(void) find_child(survey, 0, MTS_NODE_NAME, name, -1);
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

/* mts_survey_child: the first child of this kind that has values, or -1. */
int
mts_survey_child(const MtsSurvey *survey, int node, MtsNodeKind kind)
{
	int child = survey->nodes[node].child;

	while (child >= 0 && (survey->nodes[child].kind != kind ||
						  survey->nodes[child].values == 0))
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

/* mts_survey_scan: begin to read the values at a node in one sample or all. */
MtsSurveyScan
mts_survey_scan(const MtsSurvey *survey, int node, int sample)
{
	MtsSurveyScan scan = {.survey = survey, .sample = sample};

	scan.n = mts_survey_chain(survey, node, scan.chain);
	scan.end = sample + 1;
	if (sample == MTS_ALL)
	{
		scan.sample = 0;
		scan.end = survey->nsamples;
	}
	return scan;
}

/* Go down into the value, if it is a subdocument or an array. */
static void
descend(MtsSurveyScan *scan)
{
	const MtsElement *holder = &scan->element;
	MtsSurveyLevel *level = &scan->levels[scan->depth];

	level->is_array = holder->type == BSON_TYPE_ARRAY;
	level->is_done = false;
	if ((level->is_array || holder->type == BSON_TYPE_DOCUMENT) &&
		mts_element_open(&level->cursor, holder->value, holder->size))
		scan->depth++;
}

/* Read the next element of a level that belongs to a node. */
static bool
next_in(const MtsSurvey *survey, const MtsNode *node, MtsSurveyLevel *level,
		MtsElement *element)
{
	while (!level->is_done &&
		   mts_element_next(&level->cursor, element) == MTS_NEXT_OK)
		if (kind_of(survey, node->parent, level->is_array, element) ==
				node->kind &&
			(node->kind != MTS_NODE_NAME ||
			 (node->is_index == level->is_array &&
			  is_node(node, MTS_NODE_NAME, element->key))))
		{
			/* a duplicate of the key is never read */
			level->is_done = node->kind == MTS_NODE_NAME;
			return true;
		}
	return false;
}

/* mts_survey_next: read the next value; false at the end. */
bool
mts_survey_next(MtsSurveyScan *scan)
{
	const MtsSurvey *survey = scan->survey;

	for (;;)
	{
		int i = scan->depth - 1;

		if (i < 0 && scan->sample == scan->end)
			return false;
		if (i < 0)
		{
			const MtsSample *sample = &survey->samples[scan->sample++];

			scan->element = mts_element_document(sample->bytes, sample->size);
		}
		else if (!next_in(survey, &survey->nodes[scan->chain[i]],
						  &scan->levels[i], &scan->element))
		{
			scan->depth--;
			continue;
		}
		if (i + 1 == scan->n)
			return true;
		descend(scan);
	}
}

/* mts_survey_all: whether something holds for all values at a node */
bool
mts_survey_all(const MtsSurvey *survey, int node,
			   bool (*holds)(const MtsElement *element))
{
	MtsSurveyScan scan = mts_survey_scan(survey, node, MTS_ALL);

	while (mts_survey_next(&scan))
		if (!holds(&scan.element))
			return false;
	return true;
}

/* mts_survey_find: read the first value at a node in a sample. */
bool
mts_survey_find(const MtsSurvey *survey, int sample, int node,
				MtsElement *element)
{
	MtsSurveyScan scan = mts_survey_scan(survey, node, sample);
	bool is_found = mts_survey_next(&scan);

	*element = scan.element;
	return is_found;
}
