/*
 * counted.c
 *		Finds the fields of documents that equal a number of their points or
 *		values, or one that is derived from the values, in nearly all
 *		documents that have points.
 *
 * Such a field is in a subdocument or in none; what slots hold are points.
 */
#include "core/check/counted.h"

#include <string.h>

/* Fewer documents show nothing, nor does a lesser number of all of them. */
#define MIN_DOCUMENTS 3
#define MIN_CONSTANT 6

/* One of so many documents may differ.  Fields of the first ones are tried,
 * and kept as long as a number differs in few more. */
#define MIN_ALIKE 20
#define TRIED 3

/* Fields of deeper subdocuments are not compared. */
#define MAX_DEPTH 8

/* The document that is compared, and the way to the current place in it */
typedef struct Visit
{
	MtsCounted *counted;
	const MtsCountedPoints *points;
	bool is_found[MTS_COUNTED_FIELDS];
	MtsElement chain[MAX_DEPTH];
	int depth;
	char path[MTS_MAX_PATH];
} Visit;

/* Whether the last element of the chain is in a slot */
static bool
is_in_slot(const Visit *visit)
{
	const MtsLayout *layout = visit->counted->layout;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		int at = 0;

		while (at < visit->depth && at < path->nsteps &&
			   mts_probe_is_at(&visit->chain[at], &path->steps[at], false))
			if (mts_path_step_is_slot(&path->steps[at++]))
				return true;
	}
	return false;
}

/* Whether a field is one of the numbers of the document */
static bool
equals_number(const MtsCountedPoints *points, int number, double d)
{
	int at = number - MTS_COUNTED_VALUES;

	if (number == MTS_COUNTED_POINTS)
		return d == (double) points->n;
	if (number == MTS_COUNTED_READINGS)
		return d == (double) points->readings;
	return mts_derived_equals(&points->columns[at / MTS_DERIVED_NUMBERS],
							  at % MTS_DERIVED_NUMBERS, d);
}

/* Record which of the numbers a field does not equal. */
static void
compare(Visit *visit, double d)
{
	MtsCounted *counted = visit->counted;
	MtsCountedField *field = counted->fields;

	while (field < counted->fields + counted->n &&
		   strcmp(field->path, visit->path) != 0)
		field++;
	if (field == counted->fields + counted->n)
	{
		if (counted->documents > TRIED || counted->n == MTS_COUNTED_FIELDS)
			return;
		counted->n++;
		memset(field, 0, sizeof(*field));
		strcpy(field->path, visit->path);
		field->least = field->greatest = d;
		for (int i = 0; i < MTS_COUNTED_NUMBERS; i++)
			field->misses[i] = field->odd[i] = counted->documents - 1;
	}
	visit->is_found[field - counted->fields] = true;
	field->least = d < field->least ? d : field->least;
	field->greatest = d > field->greatest ? d : field->greatest;
	for (int i = 0;
		 i < MTS_COUNTED_VALUES + counted->ncolumns * MTS_DERIVED_NUMBERS; i++)
		if (!equals_number(visit->points, i, d))
		{
			field->misses[i]++;
			field->odd[i] = counted->documents;
		}
}

/* The number that a field equals in the most documents, the first of these */
static int
best_number(const MtsCounted *counted, const MtsCountedField *field)
{
	int best = MTS_COUNTED_POINTS;

	for (int i = 1;
		 i < MTS_COUNTED_VALUES + counted->ncolumns * MTS_DERIVED_NUMBERS; i++)
		if (field->misses[i] < field->misses[best])
			best = i;
	return best;
}

/* Visit the fields of a subdocument, whose path is len bytes long. */
static void
visit_fields(Visit *visit, const MtsElement *holder, size_t len)
{
	MtsElementCursor cursor;
	MtsElement *element = &visit->chain[visit->depth];
	double d;

	if (visit->depth == MAX_DEPTH ||
		!mts_element_open(&cursor, holder->value, holder->size))
		return;
	visit->depth++;
	while (mts_element_next(&cursor, element) == MTS_NEXT_OK)
	{
		bool is_document = element->type == BSON_TYPE_DOCUMENT;
		size_t size = len + 2 * element->key_len + 2;

		if (size > MTS_MAX_PATH ||
			(!is_document && !mts_element_amount(element, &d)) ||
			is_in_slot(visit))
			continue;
		if (len > 0)
			visit->path[len] = '.';
		mts_probe_escape(element->key, visit->path + len + (len > 0));
		if (is_document)
			visit_fields(visit, element, strlen(visit->path));
		else
			compare(visit, d);
	}
	visit->depth--;
}

/*
 * mts_counted_add_document
 *		Compare the fields of another document with its points.
 */
void
mts_counted_add_document(MtsCounted *counted, const MtsElement *document,
						 const MtsCountedPoints *points)
{
	Visit visit = {counted, points};
	int kept = 0;

	counted->ncolumns = points->ncolumns;
	for (int i = 0; i < points->ncolumns; i++)
		counted->has_several[i] |= points->columns[i].n > 1;
	counted->documents++;
	visit_fields(&visit, document, 0);
	for (int i = 0; i < counted->n; i++)
	{
		MtsCountedField *field = &counted->fields[i];

		for (int j = 0; j < MTS_COUNTED_NUMBERS && !visit.is_found[i]; j++)
		{
			field->misses[j]++;
			field->odd[j] = counted->documents;
		}
		if (field->misses[best_number(counted, field)] >
			counted->documents / MIN_ALIKE + TRIED)
			continue;
		if (kept != i)
			counted->fields[kept] = *field;
		kept++;
	}
	counted->n = kept;
}

/*
 * mts_counted_number
 *		The number that a field does not equal by chance, or -1.
 */
int
mts_counted_number(const MtsCounted *counted, int field)
{
	const MtsCountedField *of = &counted->fields[field];
	int number = best_number(counted, of);
	int at = number - MTS_COUNTED_VALUES;
	bool is_count = at < 0 || at % MTS_DERIVED_NUMBERS == MTS_DERIVED_COUNT;

	if (counted->documents < MIN_DOCUMENTS ||
		of->misses[number] * MIN_ALIKE > counted->documents ||
		(!is_count && !counted->has_several[at / MTS_DERIVED_NUMBERS]) ||
		(of->least == of->greatest &&
		 !(is_count && of->greatest >= MIN_CONSTANT)))
		return -1;
	return number;
}
