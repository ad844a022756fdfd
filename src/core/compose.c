/*
 * compose.c
 *		Make a document of values and their paths.
 *
 * Fields stand in the order in which their first one is given; what shares
 * the beginning of its path shares the subdocument.
 */
#include "core/compose.h"

#include <string.h>

/* Have two steps of a path the same name? */
bool
mts_step_same_name(const MtsStep *a, const MtsStep *b)
{
	return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* Do two fields share their first depth + 1 names? */
static bool
share(const MtsPlaced *a, const MtsPlaced *b, int depth)
{
	if (a->nsteps <= depth || b->nsteps <= depth)
		return false;
	for (int i = 0; i <= depth; i++)
		if (!mts_step_same_name(&a->steps[i], &b->steps[i]))
			return false;
	return true;
}

/* Append the fields that share the names of `of` up to depth. */
static void
append_fields(const MtsPlaced *fields, int n, const MtsPlaced *of, int depth,
			  bson_t *doc)
{
	for (int i = 0; i < n; i++)
	{
		const MtsPlaced *field = &fields[i];
		const MtsStep *step = &field->steps[depth];
		bool is_first = true;
		bson_t child;

		if (depth > 0 && !share(field, of, depth - 1))
			continue;
		for (int j = 0; j < i; j++)
			is_first &= !share(field, &fields[j], depth);
		if (!is_first)
			continue;
		if (field->nsteps == depth + 1)
		{
			bson_append_value(doc, step->name, (int) step->len, field->value);
			continue;
		}
		bson_append_document_begin(doc, step->name, (int) step->len, &child);
		append_fields(fields, n, field, depth + 1, &child);
		bson_append_document_end(doc, &child);
	}
}

/*
 * mts_compose
 *		Append the fields to a document.
 *
 * No path is another one's beginning.
 */
void
mts_compose(const MtsPlaced *fields, int n, bson_t *doc)
{
	append_fields(fields, n, NULL, 0, doc);
}
