/*
 * counted.c
 *		Finds the fields of documents that equal a number of their points or
 *		values, in all documents that have points.
 *
 * Such a field is in a subdocument or in none; what slots hold are points.
 */
#include "core/check/counted.h"

#include <string.h>

/* Fewer documents show nothing, nor does a lesser number of all of them. */
#define MIN_DOCUMENTS 3
#define MIN_CONSTANT 6

/* Fields of deeper subdocuments are not compared. */
#define MAX_DEPTH 8

/* The document that is compared, and the way to the current place in it */
typedef struct Visit
{
	MtsCounted *counted;
	const int64_t *numbers;
	int n;
	uint32_t equals[MTS_COUNTED_FIELDS];
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

/* Record which of the numbers a field equals. */
static void
compare(Visit *visit, double d)
{
	MtsCounted *counted = visit->counted;
	uint32_t equals = 0;
	int i = 0;

	for (int number = 0; number < visit->n; number++)
		equals |= (uint32_t) (d == (double) visit->numbers[number]) << number;
	while (i < counted->n && strcmp(counted->fields[i].path, visit->path) != 0)
		i++;
	if (i < counted->n)
		visit->equals[i] = equals;
	else if (counted->documents == 1 && equals != 0 && i < MTS_COUNTED_FIELDS)
	{
		strcpy(counted->fields[i].path, visit->path);
		counted->fields[i].equals = visit->equals[i] = equals;
		counted->n++;
	}
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
			(!is_document && !mts_element_number(element, &d)) ||
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
 *		Compare the fields of another document with n numbers, which are those
 *		of its points and values.
 */
void
mts_counted_add_document(MtsCounted *counted, const MtsElement *document,
						 const int64_t *numbers, int n)
{
	Visit visit = {counted, numbers, n};
	int kept = 0;

	for (int i = 0; i < n; i++)
	{
		if (counted->documents == 0 || numbers[i] < counted->least[i])
			counted->least[i] = numbers[i];
		if (counted->documents == 0 || numbers[i] > counted->greatest[i])
			counted->greatest[i] = numbers[i];
	}
	counted->documents++;
	visit_fields(&visit, document, 0);
	for (int i = 0; i < counted->n; i++)
	{
		counted->fields[i].equals &= visit.equals[i];
		if (counted->fields[i].equals != 0)
			counted->fields[kept++] = counted->fields[i];
	}
	counted->n = kept;
}

/*
 * mts_counted_number
 *		The first number that a field does not equal by chance, or -1.
 */
int
mts_counted_number(const MtsCounted *counted, int field)
{
	for (int i = 0;
		 i < MTS_COUNTED_NUMBERS && counted->documents >= MIN_DOCUMENTS; i++)
		if ((counted->fields[field].equals & UINT32_C(1) << i) &&
			(counted->least[i] < counted->greatest[i] ||
			 counted->greatest[i] >= MIN_CONSTANT))
			return i;
	return -1;
}
