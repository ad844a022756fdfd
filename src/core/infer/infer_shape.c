/*
 * infer_shape.c
 *		Measures how completely subdocuments and arrays fill their slots.
 *
 * Keys and indexes can be small numbers by chance.  They are likely to count a
 * unit if they are complete, or if arrays were padded for them.
 */
#include "core/infer/infer_private.h"

#include <string.h>

/* Inner arrays of more elements are not records without names. */
#define MAX_TUPLE 4

/* Fewer inner arrays do not show what their positions are. */
#define MIN_TUPLES 3

/* The slots that are being measured */
typedef struct Measure
{
	const MtsNode *node;
	MtsInferShape *shape;
} Measure;

static bool
is_padding(const MtsElement *element)
{
	return (MTS_TYPE_BIT(element->type) & MTS_NULL_TYPES) ||
		   mts_element_is_empty_document(element);
}

/* Count the slots of one subdocument or array. */
static bool
measure(void *arg, const MtsElement *holder)
{
	const Measure *m = arg;
	MtsInferShape *shape = m->shape;
	bool is_array = m->node->kind == MTS_NODE_ELEMENTS;
	MtsElementCursor cursor;
	MtsElement element;
	int64_t n = 0;

	if (holder->type != (is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT) ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return true;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		int64_t key;

		if (!is_array && mts_element_key_number(element.key, element.key_len,
												&key) != MTS_KEYTEXT_NUMBER)
			continue;
		n++;
		shape->has_padding |= is_array && is_padding(&element);
	}
	if (n == 0)
		return true;
	shape->holders++;
	shape->full += n == mts_survey_count_keys(m->node);
	return true;
}

/*
 * mts_infer_shape
 *		Measure the slots of a node, once.
 */
const MtsInferShape *
mts_infer_shape(const MtsInfer *infer, int node)
{
	MtsInferShape *shape = &infer->shapes[node];
	Measure m = {&infer->survey.nodes[node], shape};

	if (shape->is_measured)
		return shape;
	shape->is_measured = true;
	(void) mts_survey_visit_all(&infer->survey, m.node->parent, measure, &m);
	shape->is_dense = m.node->kind == MTS_NODE_ELEMENTS
						  ? 2 * shape->full > shape->holders
						  : shape->full == shape->holders;
	return shape;
}

/* The positions of inner arrays of one length */
typedef struct Tuples
{
	int length;
	int64_t n;               /* arrays of the sample that were compared */
	bool types_differ;       /* between positions */
	bool ascends[MAX_TUPLE]; /* from array to array, in every sample */
	bool less[MAX_TUPLE][MAX_TUPLE]; /* one is always less */
	MtsElement last[MAX_TUPLE];
} Tuples;

/* Read a number or a date as a double. */
static bool
read_value(const MtsElement *element, double *d)
{
	if (element->type != BSON_TYPE_DATE_TIME)
		return mts_element_number(element, d);
	*d = (double) mts_element_int64(element);
	return true;
}

static void
compare_positions(Tuples *tuples, const MtsElement *elements)
{
	for (int i = 0; i < tuples->length; i++)
	{
		double x, y;
		bool is_number = read_value(&elements[i], &x);
		bool follows = tuples->n > 0 && read_value(&tuples->last[i], &y);

		tuples->ascends[i] &=
			tuples->n == 0 || (is_number && follows && x > y);
		for (int j = 0; j < tuples->length; j++)
			tuples->less[i][j] &=
				is_number && read_value(&elements[j], &y) && x < y;
		tuples->types_differ |=
			!(MTS_TYPE_BIT(elements[i].type) & MTS_NUMBER_TYPES) !=
			!(MTS_TYPE_BIT(elements[0].type) & MTS_NUMBER_TYPES);
		tuples->last[i] = elements[i];
	}
	tuples->n++;
}

static bool
add_tuple(void *arg, const MtsElement *holder)
{
	Tuples *tuples = arg;
	MtsElement elements[MAX_TUPLE];
	MtsElementCursor cursor;
	int n = 0;

	if (holder->type != BSON_TYPE_ARRAY ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return true;
	while (n < tuples->length &&
		   mts_element_next(&cursor, &elements[n]) == MTS_NEXT_OK)
		n++;
	if (n == tuples->length)
		compare_positions(tuples, elements);
	return true;
}

/*
 * mts_infer_has_tuples
 *		Whether inner arrays are records without names, whose positions differ
 *		in meaning.
 *
 * They are if their types differ, or if one position ascends from array to
 * array, as a time does, or is always less than another.  Few arrays show
 * nothing; they are treated as records.
 */
bool
mts_infer_has_tuples(const MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	const MtsInferShape *shape = mts_infer_shape(infer, node);
	Tuples tuples = {.length = (int) nodes[node].greatest + 1};
	int parent = nodes[node].parent;

	if (nodes[node].kind != MTS_NODE_ELEMENTS ||
		nodes[parent].kind == MTS_NODE_NAME ||
		mts_infer_is_record(infer, node) || shape->full != shape->holders ||
		nodes[node].greatest < 1 || nodes[node].greatest >= MAX_TUPLE)
		return false;
	memset(tuples.ascends, true, sizeof(tuples.ascends));
	memset(tuples.less, true, sizeof(tuples.less));
	for (int i = 0; i < infer->nsamples; i++)
	{
		tuples.n = 0;
		(void) mts_survey_visit(&infer->survey, i, parent, add_tuple, &tuples);
	}
	if (tuples.types_differ || shape->holders < MIN_TUPLES)
		return true;
	for (int i = 0; i < tuples.length; i++)
		for (int j = 0; j < tuples.length; j++)
			if (tuples.ascends[i] || (i != j && tuples.less[i][j]))
				return true;
	return false;
}
