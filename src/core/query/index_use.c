/*
 * index_use.c
 *		Find out how MongoDB can use an index for a filter, and what that
 *		costs.
 *
 * MongoDB uses an index only if the filter has a condition on its first field.
 * It then skips in the index: for each value of the fields without a condition
 * it seeks the next key within the bounds of those that have one.  So a
 * condition on the first field that is true of every document suffices, such
 * as {field: {$gte: MinKey}}.  It holds for null, arrays and absent fields.
 *
 * Measured on MongoDB 6.0: a scan of the collection takes 2 us for a small
 * document, a key of an index with its document 5 to 9 us.  So skipping is
 * faster until a query wants about a quarter of the documents.
 */
#include "core/query/index_use.h"

#include <string.h>

#include "core/bson/element.h"
#include "core/bson/template.h"

/* The different values of a field without statistics */
#define DEFAULT_DISTINCT 200.0

/* The values of several fields depend on each other: together, they are not
 * more than this share of the documents. */
#define MOST_SERIES 0.1

static MtsFieldUse bounds_of(bson_iter_t doc, const char *field, int depth);

static double
at_most(double value, double limit)
{
	return value < limit ? value : limit;
}

/* ---- Bounds of fields --------------------------------------------------- */

/* Find the bounds of {operator: value, ..}, or of a value. */
static MtsFieldUse
bounds_of_value(const bson_iter_t *value)
{
	MtsFieldUse use = {.nvalues = 0};
	bool has_operators = false;
	bson_iter_t op, member;

	if (BSON_ITER_HOLDS_DOCUMENT(value) && bson_iter_recurse(value, &op))
		while (bson_iter_next(&op) && *bson_iter_key(&op) == '$')
		{
			const char *name = bson_iter_key(&op);

			has_operators = true;
			if (strcmp(name, "$eq") == 0)
				use.nvalues = 1;
			else if (strcmp(name, "$in") == 0 &&
					 bson_iter_recurse(&op, &member))
				while (bson_iter_next(&member))
					use.nvalues++;
			else if (strncmp(name, "$gt", 3) == 0)
				use.has_low |= bson_iter_type(&op) != BSON_TYPE_MINKEY;
			else if (strncmp(name, "$lt", 3) == 0)
				use.has_high = true;
			else if (strcmp(name, "$not") == 0 &&
					 bson_iter_recurse(&op, &member) &&
					 bson_iter_next(&member))
			{
				/* the other types are few */
				name = bson_iter_key(&member);
				use.has_low |= strncmp(name, "$lt", 3) == 0;
				use.has_high |= strncmp(name, "$gt", 3) == 0;
			}
		}
	if (!has_operators && !BSON_ITER_HOLDS_REGEX(value))
		use.nvalues = 1;
	if (use.nvalues > 0)
		use.has_low = use.has_high = true;
	use.is_bounded = use.has_low || use.has_high;
	return use;
}

/* mts_index_use_both: join the bounds of two conditions that both hold. */
MtsFieldUse
mts_index_use_both(MtsFieldUse a, MtsFieldUse b)
{
	if (a.nvalues == 0 || (b.nvalues > 0 && b.nvalues < a.nvalues))
		a.nvalues = b.nvalues;
	a.is_bounded |= b.is_bounded;
	a.has_low |= b.has_low;
	a.has_high |= b.has_high;
	return a;
}

/* mts_index_use_either: join the bounds of two conditions if either holds. */
MtsFieldUse
mts_index_use_either(MtsFieldUse a, MtsFieldUse b)
{
	a.nvalues = a.nvalues > 0 && b.nvalues > 0 ? a.nvalues + b.nvalues : 0;
	a.is_bounded &= b.is_bounded;
	a.has_low &= b.has_low;
	a.has_high &= b.has_high;
	return a;
}

/* Find the bounds that the members of an array of filters give a field. */
static MtsFieldUse
bounds_of_members(bson_iter_t array, const char *field,
				  MtsFieldUse (*join)(MtsFieldUse, MtsFieldUse), int depth)
{
	MtsFieldUse use = {.nvalues = 0};
	bool is_first = true;
	bson_iter_t member;

	while (bson_iter_next(&array))
		if (bson_iter_recurse(&array, &member))
		{
			MtsFieldUse one = bounds_of(member, field, depth);

			use = is_first ? one : join(use, one);
			is_first = false;
		}
	return use;
}

static MtsFieldUse
bounds_of(bson_iter_t doc, const char *field, int depth)
{
	MtsFieldUse use = {.nvalues = 0};
	bson_iter_t members;

	while (depth < MTS_MAX_DEPTH && bson_iter_next(&doc))
	{
		const char *key = bson_iter_key(&doc);

		if (strcmp(key, field) == 0)
			use = mts_index_use_both(use, bounds_of_value(&doc));
		else if (strcmp(key, "$and") == 0 && bson_iter_recurse(&doc, &members))
			use = mts_index_use_both(use, bounds_of_members(members, field,
															mts_index_use_both,
															depth + 1));
		else if (strcmp(key, "$or") == 0 && bson_iter_recurse(&doc, &members))
			use =
				mts_index_use_both(use, bounds_of_members(members, field,
														  mts_index_use_either,
														  depth + 1));
	}
	return use;
}

/*
 * mts_index_use_bounds
 *		Find the bounds that a filter gives the values of a field.
 *
 * Only conditions count that MongoDB turns into bounds of an index.
 */
MtsFieldUse
mts_index_use_bounds(const bson_t *filter, const char *field)
{
	bson_iter_t doc;

	return bson_iter_init(&doc, filter) ? bounds_of(doc, field, 0)
										: (MtsFieldUse){.nvalues = 0};
}

/* ---- Uses of indexes ---------------------------------------------------- */

/*
 * mts_index_use_find
 *		Find the use of an index, whose fields are the keys of a document.
 *
 * documents is the number of those in the collection.
 */
MtsIndexUse
mts_index_use_find(const bson_t *keys, double documents,
				   MtsFieldUseFunction describe, void *arg)
{
	MtsIndexUse result = {.nfields = 0};
	double most = documents * MOST_SERIES;
	double prefixes = 1; /* of keys: the values of the fields so far */
	double seeks = 1;
	double found = documents;
	int n = 0;
	bson_iter_t key;

	bson_iter_init(&key, keys);
	while (bson_iter_next(&key))
	{
		MtsFieldUse use = describe(arg, bson_iter_key(&key));
		double distinct = use.ndistinct > 0 ? use.ndistinct
											: at_most(DEFAULT_DISTINCT, most);

		n++;
		if (!use.is_bounded)
		{
			result.needs_term |= n == 1;
			prefixes *= distinct;
			most = distinct > most ? distinct : most;
			continue;
		}
		result.nfields = n;
		found *= use.share;
		seeks = use.nvalues > 0 ? prefixes * use.nvalues : prefixes;
		prefixes *= use.nvalues > 0 ? use.nvalues : distinct;
	}
	seeks = at_most(at_most(seeks, most), documents);
	result.cost =
		(seeks + (found > seeks ? found : seeks)) * MTS_INDEX_KEY_COST;
	return result;
}

/*
 * mts_index_use_cheapest
 *		Find the cheapest use of one of the indexes {name: {field: direction,
 *		..}, ..}, and set *index to it.
 *
 * A scan of the collection has no nfields, and leaves *index.
 */
MtsIndexUse
mts_index_use_cheapest(const bson_t *indexes, double documents,
					   MtsFieldUseFunction describe, void *arg,
					   bson_iter_t *index)
{
	MtsIndexUse result = {.cost = documents};
	bson_iter_t iter;

	if (!bson_iter_init(&iter, indexes))
		return result;
	while (bson_iter_next(&iter))
	{
		const uint8_t *data;
		uint32_t length;
		bson_t keys;
		MtsIndexUse use;

		if (!BSON_ITER_HOLDS_DOCUMENT(&iter))
			continue;
		bson_iter_document(&iter, &length, &data);
		if (!bson_init_static(&keys, data, length))
			continue;
		use = mts_index_use_find(&keys, documents, describe, arg);
		if (use.nfields == 0 || use.cost >= result.cost)
			continue;
		result = use;
		*index = iter;
	}
	return result;
}

/*
 * mts_index_use_push_term
 *		Append {field: {$gte: MinKey}} to an array of terms.
 */
void
mts_index_use_push_term(bson_t *terms, const char *field)
{
	bson_t minimum = BSON_INITIALIZER;

	bson_append_minkey(&minimum, "", -1);
	mts_template_push(terms, "{%s: {$gte: %b}}", field, &minimum);
	bson_destroy(&minimum);
}
