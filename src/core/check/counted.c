/*
 * counted.c
 *		Finds the fields of documents that equal the number of their points, in
 *		all documents that have points.
 */
#include "core/check/counted.h"

#include <string.h>

/* Fewer documents show nothing, nor does a lesser number of all of them. */
#define MIN_DOCUMENTS 3
#define MIN_CONSTANT 6

/* Whether a document has this number in a field */
static bool
equals(const MtsElement *document, const char *name, int64_t points)
{
	MtsElementCursor cursor;
	MtsElement element;
	double d;

	if (mts_element_open(&cursor, document->value, document->size))
		while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
			if (strcmp(element.key, name) == 0)
				return mts_element_number(&element, &d) &&
					   d == (double) points;
	return false;
}

/* Record the fields of the first document that equal the number. */
static void
begin(MtsCounted *counted, const MtsElement *document, int64_t points)
{
	MtsElementCursor cursor;
	MtsElement element;
	double d;

	counted->least = counted->greatest = points;
	if (mts_element_open(&cursor, document->value, document->size))
		while (mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
			   counted->n < MTS_COUNTED_FIELDS)
			if (element.key_len < MTS_PROBE_KEY_SIZE &&
				mts_element_number(&element, &d) && d == (double) points)
				memcpy(counted->names[counted->n++], element.key,
					   element.key_len + 1);
}

/*
 * mts_counted_add_document
 *		Compare the fields of another document with the number of its points.
 */
void
mts_counted_add_document(MtsCounted *counted, const MtsElement *document,
						 int64_t points)
{
	int n = 0;

	if (counted->documents++ == 0)
		begin(counted, document, points);
	if (points < counted->least)
		counted->least = points;
	if (points > counted->greatest)
		counted->greatest = points;
	for (int i = 0; i < counted->n; i++)
		if (equals(document, counted->names[i], points))
			memmove(counted->names[n++], counted->names[i],
					MTS_PROBE_KEY_SIZE);
	counted->n = n;
}

/*
 * mts_counted_is_probable
 *		Whether the fields that are left do not equal the numbers by chance.
 */
bool
mts_counted_is_probable(const MtsCounted *counted)
{
	return counted->documents >= MIN_DOCUMENTS &&
		   (counted->least < counted->greatest ||
			counted->greatest >= MIN_CONSTANT);
}
