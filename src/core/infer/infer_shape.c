/*
 * infer_shape.c
 *		How are the slots of a place filled: completely, evenly, with what?
 *
 * Keys and indexes that happen to be small numbers count no time.  That they
 * fill what holds them, or were padded, is the evidence that they do.
 */
#include "core/infer/infer_private.h"

#include <string.h>

/* Inner arrays of so many elements may be a record without names. */
#define MAX_TUPLE 4

/* So many of these show what each position is. */
#define MIN_TUPLES 3

/* Shorter arrays of numbers are a list, of which nothing need be said. */
#define MIN_ARRAY 4

/* A shape that is being measured */
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
												&key) != MTS_KEY_NUMBER)
			continue;
		n++;
		shape->is_padded |= is_array && is_padding(&element);
	}
	if (n == 0)
		return true;
	shape->least = shape->holders == 0 || n < shape->least ? n : shape->least;
	shape->holders++;
	shape->full +=
		n == m->node->greatest + 1 - (!is_array && m->node->least >= 1);
	return true;
}

/*
 * mts_infer_shape
 *		How the slots of a node are filled; measured once.
 */
const MtsInferShape *
mts_infer_shape(const MtsInfer *infer, int node)
{
	MtsInferShape *shape = &infer->shapes[node];
	Measure m = {&infer->survey.nodes[node], shape};

	if (shape->is_known)
		return shape;
	shape->is_known = true;
	for (int i = 0; i < infer->nsamples; i++)
		(void) mts_survey_visit(&infer->survey, i, m.node->parent, measure,
								&m);
	return shape;
}

/* What the positions of arrays of one length have shown so far */
typedef struct Tuples
{
	int length;
	int64_t n; /* of the sample's that were compared */
	bool are_mixed;
	bool ascends[MAX_TUPLE];           /* in every sample */
	bool before[MAX_TUPLE][MAX_TUPLE]; /* always less than another position */
	MtsElement last[MAX_TUPLE];
} Tuples;

/* A number or a date as a double; false for anything else */
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
			tuples->before[i][j] &=
				is_number && read_value(&elements[j], &y) && x < y;
		tuples->are_mixed |=
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
 * mts_infer_is_tuple
 *		Are the elements of these inner arrays a record without names, whose
 *		positions differ in type or meaning?
 *
 * One of them ascends from array to array, as a time does, or is always less
 * than another.  Few arrays show nothing, and are taken for such records.
 */
bool
mts_infer_is_tuple(const MtsInfer *infer, int node)
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
	memset(tuples.before, true, sizeof(tuples.before));
	for (int i = 0; i < infer->nsamples; i++)
	{
		tuples.n = 0;
		(void) mts_survey_visit(&infer->survey, i, parent, add_tuple, &tuples);
	}
	if (tuples.are_mixed || shape->holders < MIN_TUPLES)
		return true;
	for (int i = 0; i < tuples.length; i++)
		for (int j = 0; j < tuples.length; j++)
			if (tuples.ascends[i] || (i != j && tuples.before[i][j]))
				return true;
	return false;
}

/*
 * mts_infer_remark_array
 *		Say why an array that could be a series is jsonb.
 */
void
mts_infer_remark_array(MtsInfer *infer, int node)
{
	const MtsNode *nodes = infer->survey.nodes;
	int child = mts_survey_child(&infer->survey, node, MTS_NODE_ELEMENTS);
	int inner =
		child < 0 ? -1
				  : mts_survey_child(&infer->survey, child, MTS_NODE_ELEMENTS);
	char path[MTS_MAX_PATH], other[MTS_MAX_PATH];

	if (inner >= 0 && mts_infer_is_tuple(infer, inner))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as its elements are arrays of %lld whose positions differ in meaning, and a path cannot name a position",
			mts_infer_show(infer, node, path),
			(long long) nodes[inner].greatest + 1);
	else if (child >= 0 && infer->doubtful > 0 &&
			 mts_survey_is_within(&infer->survey, infer->doubtful, child))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as there is too little evidence that %s is an offset from a time; if it is, declare a column with this field and a format such as offset:second",
			mts_infer_show(infer, node, path),
			mts_infer_show(infer, infer->doubtful, other));
	else if (child >= 0 && infer->nfields > 0 &&
			 nodes[child].greatest + 1 >= MIN_ARRAY &&
			 mts_infer_is_only(infer, child,
							   MTS_NUMBER_TYPES |
								   MTS_TYPE_BIT(BSON_TYPE_ARRAY)))
		mts_infer_remark(
			infer,
			"%s: declared as jsonb, as arrays of up to %lld elements do not show which time an element stands for; if they count a unit, ALTER FOREIGN TABLE can give the column a type and a field such as %s[{minute}]",
			mts_infer_show(infer, node, path),
			(long long) nodes[child].greatest + 1, path);
}
