/*
 * unshown.c
 *		Find the fields of documents that no path of a table leads to.
 *
 * A path leads to a field and to all that is in it.  So a field is not shown
 * if no path is, or continues, in the place where it is.  The _id of the
 * document is not missed.
 */
#include "core/check/unshown.h"

#include <string.h>

/* The paths that lead to the current place */
typedef struct Place
{
	const int *paths;
	int n;
	int steps; /* of each of them */
} Place;

static void visit(MtsUnshown *unshown, const MtsElement *holder, Place place);

/*
 * mts_unshown_init
 *		Begin with the paths of a table.
 *
 * The caller keeps them, and room for MTS_UNSHOWN_ROOM(npaths) integers.
 */
void
mts_unshown_init(MtsUnshown *unshown, const MtsPath *const *paths, int npaths,
				 int *room)
{
	memset(unshown, 0, sizeof(*unshown));
	unshown->paths = paths;
	unshown->npaths = npaths;
	unshown->room = room;
}

/* A type that holds values of both types; EOD if there is none */
static bson_type_t
join_types(bson_type_t a, bson_type_t b)
{
	static const bson_type_t numbers[] = {BSON_TYPE_INT32, BSON_TYPE_INT64,
										  BSON_TYPE_DOUBLE};
	int rank_a = -1, rank_b = -1;

	if (a == b || b == BSON_TYPE_NULL)
		return a;
	if (a == BSON_TYPE_NULL)
		return b;
	for (int i = 0; i < 3; i++)
	{
		rank_a = numbers[i] == a ? i : rank_a;
		rank_b = numbers[i] == b ? i : rank_b;
	}
	if (rank_a < 0 || rank_b < 0)
		return BSON_TYPE_EOD;
	return rank_a > rank_b ? a : b;
}

/* Record a field that is in a place. */
static void
record(MtsUnshown *unshown, const MtsElement *element, Place place)
{
	MtsUnshownField *field = unshown->fields;
	MtsUnshownField *end = field + unshown->n;

	while (field < end &&
		   (strcmp(field->name, element->key) != 0 ||
			field->steps != place.steps ||
			!mts_path_starts_with(unshown->paths[place.paths[0]],
								  unshown->paths[field->path], place.steps)))
		field++;
	unshown->incomplete += unshown->last != unshown->documents;
	unshown->last = unshown->documents;
	if (field == end)
	{
		if (unshown->n == MTS_UNSHOWN_FIELDS ||
			element->key_len >= MTS_PROBE_KEY_SIZE)
			return;
		unshown->n++;
		*field = (MtsUnshownField){.path = place.paths[0],
								   .steps = place.steps,
								   .type = BSON_TYPE_NULL};
		memcpy(field->name, element->key, element->key_len + 1);
	}
	field->documents += field->last != unshown->documents;
	field->last = unshown->documents;
	field->type = join_types(field->type, (bson_type_t) element->type);
}

/* Visit a field, or an element of an array, that is in a place. */
static void
visit_element(MtsUnshown *unshown, const MtsElement *element, bool in_array,
			  Place place)
{
	int *paths = unshown->room + (place.steps + 1) * unshown->npaths;
	Place next = {paths, 0, place.steps + 1};

	for (int i = 0; i < place.n; i++)
	{
		const MtsPath *path = unshown->paths[place.paths[i]];

		if (!mts_probe_is_at(element, &path->steps[place.steps], in_array))
			continue;
		if (path->nsteps == next.steps)
			return;
		paths[next.n++] = place.paths[i];
	}
	if (next.n > 0)
		visit(unshown, element, next);
	else if (!in_array &&
			 !(place.steps == 0 && strcmp(element->key, "_id") == 0))
		record(unshown, element, place);
}

/* Visit what is in a document or an array; what cannot be read is skipped. */
static void
visit(MtsUnshown *unshown, const MtsElement *holder, Place place)
{
	MtsElementCursor cursor;
	MtsElement element;

	if ((holder->type != BSON_TYPE_DOCUMENT &&
		 holder->type != BSON_TYPE_ARRAY) ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
		visit_element(unshown, &element, holder->type == BSON_TYPE_ARRAY,
					  place);
}

/*
 * mts_unshown_add_document
 *		Record the fields of another document.
 */
void
mts_unshown_add_document(MtsUnshown *unshown, const MtsElement *document)
{
	int *paths = unshown->room;
	Place place = {paths, 0, 0};

	unshown->documents++;
	for (int i = 0; i < unshown->npaths; i++)
	{
		if (unshown->paths[i]->nsteps == 0)
			return;
		paths[place.n++] = i;
	}
	if (place.n > 0)
		visit(unshown, document, place);
}
