/*
 * terms.c
 *		Join the terms of a filter into one document that reads well.
 *
 * Operators on one field stand together; $and is left for what can't.
 */
#include "core/terms.h"

#include <string.h>

#include "core/template.h"

/* Append {field: {$not: {op: value}}} to an array of terms. */
void
mts_terms_add_not(bson_t *terms, const char *field, const char *op,
				  bson_iter_t *value)
{
	mts_template_push(terms, "{%s: {$not: {%s: %v}}}", field, op,
					  bson_iter_value(value));
}

/* Is this term's one element {field: {operators}}? */
static bool
has_operators(const bson_iter_t *element)
{
	bson_iter_t child;

	return BSON_ITER_HOLDS_DOCUMENT(element) &&
		   bson_iter_recurse(element, &child) && bson_iter_next(&child) &&
		   bson_iter_key(&child)[0] == '$';
}

/* Do two documents of operators share one? */
static bool
share_operator(const bson_iter_t *a, const bson_iter_t *b)
{
	bson_iter_t child_a, child_b;

	if (!bson_iter_recurse(a, &child_a))
		return true;
	while (bson_iter_next(&child_a))
		if (bson_iter_recurse(b, &child_b) &&
			bson_iter_find(&child_b, bson_iter_key(&child_a)))
			return true;
	return false;
}

/* Append the operators of one element to a document of operators. */
static void
copy_operators(const bson_iter_t *element, bson_t *ops)
{
	bson_iter_t child;

	if (bson_iter_recurse(element, &child))
		while (bson_iter_next(&child))
			bson_append_iter(ops, bson_iter_key(&child), -1, &child);
}

/*
 * Merge one term into the document of those before it: as a field of its own,
 * or with the operators that its field has there.  False when neither goes.
 */
static bool
merge_term(bson_t *doc, const bson_iter_t *element)
{
	const char *field = bson_iter_key(element);
	bson_iter_t there;
	bson_t merged = BSON_INITIALIZER;
	bson_iter_t iter;

	if (!bson_iter_init_find(&there, doc, field))
	{
		bson_append_iter(doc, field, -1, element);
		bson_destroy(&merged);
		return true;
	}
	if (!has_operators(&there) || !has_operators(element) ||
		share_operator(&there, element))
	{
		bson_destroy(&merged);
		return false;
	}
	bson_iter_init(&iter, doc);
	while (bson_iter_next(&iter))
	{
		bson_t ops = BSON_INITIALIZER;

		if (strcmp(bson_iter_key(&iter), field) == 0)
		{
			copy_operators(&iter, &ops);
			copy_operators(element, &ops);
			bson_append_document(&merged, field, -1, &ops);
		}
		else
			bson_append_iter(&merged, bson_iter_key(&iter), -1, &iter);
		bson_destroy(&ops);
	}
	bson_reinit(doc);
	bson_concat(doc, &merged);
	bson_destroy(&merged);
	return true;
}

/* Append the members of an $and that a table's filter has. */
static void
append_members(bson_t *array, const bson_iter_t *and)
{
	bson_iter_t member;

	if (!bson_iter_recurse(and, &member))
		return;
	while (bson_iter_next(&member))
		mts_template_push(array, "%v", bson_iter_value(&member));
}

/*
 * mts_terms_join
 *		Write an array of terms as one document, $and only where it must be.
 *
 * doc is initialized and empty.
 */
void
mts_terms_join(const bson_t *terms, bson_t *doc)
{
	bson_t rest = BSON_INITIALIZER;
	bson_iter_t iter, element;

	bson_iter_init(&iter, terms);
	while (bson_iter_next(&iter))
	{
		bool whole = bson_iter_recurse(&iter, &element);

		while (whole && bson_iter_next(&element))
		{
			if (strcmp(bson_iter_key(&element), "$and") == 0)
				append_members(&rest, &element);
			else if (!merge_term(doc, &element))
				mts_template_push(&rest, "{%s: %v}", bson_iter_key(&element),
								  bson_iter_value(&element));
		}
	}
	if (!bson_empty(&rest))
		bson_append_array(doc, "$and", -1, &rest);
	bson_destroy(&rest);
}
