/*
 * identity_filter.c
 *		What a table's filter says of the buckets that it writes.
 */
#include "identity.h"

#include "core/template.h"

/* Is a term of the filter true of documents that lack the field? */
static bool
admits_absence(const bson_iter_t *ops)
{
	bson_iter_t op;

	if (!BSON_ITER_HOLDS_DOCUMENT(ops) || !bson_iter_recurse(ops, &op))
		return false;
	while (bson_iter_next(&op))
	{
		const char *name = bson_iter_key(&op);

		if (!((strcmp(name, "$ne") == 0 && !BSON_ITER_HOLDS_NULL(&op)) ||
			  (strcmp(name, "$exists") == 0 && !bson_iter_as_bool(&op))))
			return false;
	}
	return true;
}

static bool
has_operators(const bson_iter_t *value)
{
	bson_iter_t op;

	return BSON_ITER_HOLDS_DOCUMENT(value) && bson_iter_recurse(value, &op) &&
		   bson_iter_next(&op) && bson_iter_key(&op)[0] == '$';
}

/* Add a part of what identifies a bucket. */
void
mts_identity_add(MtsIdentity *identity, MtsIdentityPart part)
{
	identity->parts[identity->n++] = part;
	identity->is_id |= mts_identity_is_id(part.steps, part.nsteps);
}

/* The value that a term of the filter asks for; false when it is no equality */
static bool
find_equality(const bson_iter_t *term, bson_iter_t *value)
{
	bson_iter_t more;

	*value = *term;
	if (!has_operators(term))
		return true;
	if (!bson_iter_recurse(term, value) || !bson_iter_next(value) ||
		strcmp(bson_iter_key(value), "$eq") != 0)
		return false;
	more = *value;
	return !bson_iter_next(&more);
}

/*
 * A term that is no equality must hold of new buckets by itself, which it
 * does not where a column has the field.
 */
static void
add_other(MtsIdentity *identity, const MtsLayout *layout,
		  const bson_iter_t *term)
{
	const char *name = bson_iter_key(term);
	char path[MTS_MAX_PATH];
	bson_t other = BSON_INITIALIZER;
	bool is_known = false;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (layout->columns[i].role == MTS_ROLE_SLOT)
			continue;
		mts_path_dotted(of->steps, of->nsteps, path, sizeof(path));
		is_known |= strcmp(path, name) == 0;
	}
	if (is_known || !admits_absence(term))
	{
		identity->problem = psprintf(
			"A new bucket would not match the term \"%s\" of the filter.",
			name);
		return;
	}
	bson_append_iter(&other, name, -1, term);
	mts_template_push(identity->others, "%o", &other);
	bson_destroy(&other);
}

/* Add one term of a filter. */
static void
add_term(MtsIdentity *identity, const MtsLayout *layout,
		 const bson_iter_t *term)
{
	MtsIdentityPart part = {.column = -1};
	const char *name = bson_iter_key(term);
	MtsPath *path = palloc(sizeof(MtsPath));
	bson_iter_t value;
	MtsError error;

	if (!find_equality(term, &value))
	{
		add_other(identity, layout, term);
		return;
	}
	part.fixed = *bson_iter_value(&value);
	if (part.fixed.value_type == BSON_TYPE_REGEX ||
		!mts_path_parse(name, palloc(strlen(name) + 1), path, &error) ||
		!mts_identity_writable(path) || path->nslots > 0)
	{
		identity->problem =
			psprintf("The filter's term \"%s\" is not an equality of a field.",
					 name);
		return;
	}
	part.steps = path->steps;
	part.nsteps = path->nsteps;
	mts_identity_add(identity, part);
}

/*
 * mts_identity_add_filter
 *		Add the equalities of a table's filter, and what else it asks.
 */
void
mts_identity_add_filter(MtsIdentity *identity, const MtsLayout *layout,
						const bson_t *filter)
{
	bson_iter_t term;

	if (bson_iter_init(&term, filter))
		while (bson_iter_next(&term))
			add_term(identity, layout, &term);
}
