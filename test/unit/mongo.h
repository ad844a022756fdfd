/*
 * mongo.h
 *		Applies filters and projections to documents as MongoDB does.
 *
 * Knows only the operators that core/ uses.  As in the server, a comparison
 * matches only values of one class of types, null matches absent fields, and a
 * path into an array reaches each of its elements that is a document, and the
 * one with an index.
 */
#ifndef MONGO_H
#define MONGO_H

#include <bson/bson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline bool mongo_match(const bson_iter_t *doc,
							   const bson_iter_t *filter);

static inline bool
mongo_number(const bson_iter_t *v, long double *n)
{
	if (BSON_ITER_HOLDS_DOUBLE(v))
		*n = bson_iter_double(v);
	else if (BSON_ITER_HOLDS_INT(v))
		*n = bson_iter_as_int64(v);
	else
		return false;
	return true;
}

/*
 * Compare two values.  Returns false if their classes differ, or one is NaN.
 */
static inline bool
mongo_compare(const bson_iter_t *a, const bson_iter_t *b, int *order)
{
	long double x, y;

	if (mongo_number(a, &x) && mongo_number(b, &y))
	{
		*order = (x > y) - (x < y);
		return !isnan(x) == !isnan(y);
	}
	if (bson_iter_type(a) != bson_iter_type(b))
		return false;
	else if (BSON_ITER_HOLDS_DATE_TIME(a))
		*order = (bson_iter_date_time(a) > bson_iter_date_time(b)) -
				 (bson_iter_date_time(a) < bson_iter_date_time(b));
	else if (BSON_ITER_HOLDS_TIMESTAMP(a))
	{
		uint32_t seconds[2], increments[2];

		bson_iter_timestamp(a, &seconds[0], &increments[0]);
		bson_iter_timestamp(b, &seconds[1], &increments[1]);
		*order = (seconds[0] > seconds[1]) - (seconds[0] < seconds[1]);
		if (*order == 0)
			*order = (increments[0] > increments[1]) -
					 (increments[0] < increments[1]);
	}
	else if (BSON_ITER_HOLDS_UTF8(a))
		*order = strcmp(bson_iter_utf8(a, NULL), bson_iter_utf8(b, NULL));
	else if (BSON_ITER_HOLDS_OID(a))
		*order = bson_oid_compare(bson_iter_oid(a), bson_iter_oid(b));
	else if (BSON_ITER_HOLDS_NULL(a))
		*order = 0;
	else
		return false;
	return true;
}

/* Tell whether a value satisfies an operator. */
static inline bool
mongo_operator(const bson_iter_t *value, const bson_iter_t *op)
{
	const char *name = bson_iter_key(op);
	long double number;
	int order;
	bson_iter_t arg;

	if (strcmp(name, "$exists") == 0)
		return true;
	if (strcmp(name, "$type") == 0)
		return strcmp(bson_iter_utf8(op, NULL), "array") == 0
				   ? BSON_ITER_HOLDS_ARRAY(value)
				   : strcmp(bson_iter_utf8(op, NULL), "number") == 0 &&
						 mongo_number(value, &number);
	if (strcmp(name, "$in") == 0)
	{
		for (bson_iter_recurse(op, &arg); bson_iter_next(&arg);)
			if (mongo_compare(value, &arg, &order) && order == 0)
				return true;
		return false;
	}
	if (!mongo_compare(value, op, &order))
		return false;
	if (strcmp(name, "$gt") == 0)
		return order > 0;
	if (strcmp(name, "$gte") == 0)
		return order >= 0;
	if (strcmp(name, "$lt") == 0)
		return order < 0;
	if (strcmp(name, "$lte") == 0)
		return order <= 0;
	if (name[0] == '$' && strcmp(name, "$eq") != 0)
	{
		printf("Bail out! the operator %s is not one of match's\n", name);
		exit(1);
	}
	return order == 0;
}

static inline bool
mongo_elem_match(const bson_iter_t *element, const bson_iter_t *match)
{
	bson_iter_t op;

	bson_iter_recurse(match, &op);
	while (bson_iter_next(&op))
	{
		if (bson_iter_key(&op)[0] != '$')
			return (BSON_ITER_HOLDS_DOCUMENT(element) ||
					BSON_ITER_HOLDS_ARRAY(element)) &&
				   mongo_match(element, match);
		if (!mongo_operator(element, &op))
			return false;
	}
	return true;
}

/* Tell whether a value at a path, or one of its elements, satisfies op. */
static inline bool
mongo_value(const bson_iter_t *value, const bson_iter_t *op)
{
	bool is_elem = strcmp(bson_iter_key(op), "$elemMatch") == 0;
	bson_iter_t element;

	if (!is_elem && mongo_operator(value, op))
		return true;
	if (!BSON_ITER_HOLDS_ARRAY(value))
		return false;
	for (bson_iter_recurse(value, &element); bson_iter_next(&element);)
		if (is_elem ? mongo_elem_match(&element, op)
					: mongo_operator(&element, op))
			return true;
	return false;
}

static inline bool
mongo_path(const bson_iter_t *at, const char *path, const bson_iter_t *op)
{
	size_t len = strcspn(path, ".");
	bson_iter_t child;

	if (BSON_ITER_HOLDS_ARRAY(at))
		for (bson_iter_recurse(at, &child); bson_iter_next(&child);)
			if (BSON_ITER_HOLDS_DOCUMENT(&child) &&
				mongo_path(&child, path, op))
				return true;
	if (!BSON_ITER_HOLDS_DOCUMENT(at) && !BSON_ITER_HOLDS_ARRAY(at))
		return false;
	for (bson_iter_recurse(at, &child); bson_iter_next(&child);)
		if (bson_iter_key_len(&child) == len &&
			memcmp(bson_iter_key(&child), path, len) == 0)
			return path[len] ? mongo_path(&child, path + len + 1, op)
							 : mongo_value(&child, op);
	return false;
}

/* Test the operators on a path, each of which must match. */
static inline bool
mongo_operators(const bson_iter_t *doc, const char *path,
				const bson_iter_t *ops)
{
	static const char *const negations[][2] = {{"$ne", "$eq"},
											   {"$nin", "$in"}};
	bson_t any = BSON_INITIALIZER;
	bson_iter_t op, exists;

	bson_append_bool(&any, "$exists", -1, true);
	bson_iter_init(&exists, &any);
	bson_iter_next(&exists);

	for (bson_iter_recurse(ops, &op); bson_iter_next(&op);)
	{
		bool is_negated = strcmp(bson_iter_key(&op), "$not") == 0;
		const char *name = bson_iter_key(&op);
		bson_t single = BSON_INITIALIZER;
		bson_iter_t iter;
		bool matches;

		if (is_negated)
			matches = mongo_operators(doc, path, &op);
		else
		{
			/* negations also match absent values */
			for (int i = 0; i < 2; i++)
				if (strcmp(bson_iter_key(&op), negations[i][0]) == 0)
				{
					is_negated = true;
					name = negations[i][1];
				}
			bson_append_iter(&single, name, -1, &op);
			bson_iter_init(&iter, &single);
			bson_iter_next(&iter);
			matches =
				mongo_path(doc, path, &iter) ||
				(BSON_ITER_HOLDS_NULL(&iter) && strcmp(name, "$eq") == 0 &&
				 !mongo_path(doc, path, &exists));
		}
		bson_destroy(&single);
		if (matches == is_negated)
			return false;
	}
	return true;
}

/* Test a field of a filter: a value, operators, or a list of filters. */
static inline bool
mongo_field(const bson_iter_t *doc, const bson_iter_t *field)
{
	const char *name = bson_iter_key(field);
	bool is_nor = strcmp(name, "$nor") == 0;
	bool is_or = is_nor || strcmp(name, "$or") == 0;
	bson_iter_t child;

	bson_iter_recurse(field, &child);
	if (is_or || strcmp(name, "$and") == 0)
	{
		while (bson_iter_next(&child))
			if (mongo_match(doc, &child) == is_or)
				return is_or != is_nor;
		return is_or == is_nor;
	}
	return BSON_ITER_HOLDS_DOCUMENT(field) && bson_iter_next(&child) &&
				   bson_iter_key(&child)[0] == '$'
			   ? mongo_operators(doc, name, field)
			   : mongo_path(doc, name, field);
}

/*
 * Tell whether a document matches a filter.  Each iterator is on its document.
 */
static inline bool
mongo_match(const bson_iter_t *doc, const bson_iter_t *filter)
{
	bson_iter_t field;

	for (bson_iter_recurse(filter, &field); bson_iter_next(&field);)
		if (!mongo_field(doc, &field))
			return false;
	return true;
}

static inline bool
mongo_matches(const bson_t *doc, const bson_t *filter)
{
	bson_t both = BSON_INITIALIZER;
	bson_iter_t d, f;
	bool matches;

	bson_append_document(&both, "d", 1, doc);
	bson_append_document(&both, "f", 1, filter);
	bson_iter_init_find(&d, &both, "d");
	bson_iter_init_find(&f, &both, "f");
	matches = mongo_match(&d, &f);
	bson_destroy(&both);
	return matches;
}

/*
 * Return 2 if the projection names this path, 1 if one below it, otherwise 0.
 */
static inline int
mongo_keeps(const bson_t *projection, const char *path)
{
	size_t len = strlen(path);
	bson_iter_t iter;

	for (bson_iter_init(&iter, projection); bson_iter_next(&iter);)
	{
		const char *key = bson_iter_key(&iter);

		if (strncmp(key, path, len) == 0 && (!key[len] || key[len] == '.'))
			return key[len] ? 1 : 2;
	}
	return 0;
}

/* Copy the parts of a document or array at a path that a projection keeps. */
static inline void
mongo_project_at(bson_iter_t *from, bool in_array, const char *path,
				 const bson_t *projection, bson_t *out)
{
	int n = 0;

	while (bson_iter_next(from))
	{
		char below[512];
		char index[16];
		const char *key = bson_iter_key(from);
		int keeps = 1;
		bson_iter_t child;
		bson_t copy;

		snprintf(below, sizeof(below), "%s%s%s", path,
				 in_array || !*path ? "" : ".", in_array ? "" : key);
		if (in_array)
		{
			snprintf(index, sizeof(index), "%d", n);
			key = index;
		}
		else
			keeps = mongo_keeps(projection, below);
		if (keeps == 2)
			bson_append_iter(out, key, -1, from);
		/* values on the way that are not documents are omitted */
		if (keeps != 1 || !bson_iter_recurse(from, &child))
			continue;
		n++;
		if (BSON_ITER_HOLDS_ARRAY(from))
			bson_append_array_begin(out, key, -1, &copy);
		else
			bson_append_document_begin(out, key, -1, &copy);
		mongo_project_at(&child, BSON_ITER_HOLDS_ARRAY(from), below,
						 projection, &copy);
		if (BSON_ITER_HOLDS_ARRAY(from))
			bson_append_array_end(out, &copy);
		else
			bson_append_document_end(out, &copy);
	}
}

static inline void
mongo_project(const bson_t *doc, const bson_t *projection, bson_t *out)
{
	bson_iter_t iter;

	if (bson_empty(projection))
	{
		bson_concat(out, doc);
		return;
	}
	/* _id is included unless it is excluded */
	if (!bson_has_field(projection, "_id") &&
		bson_iter_init_find(&iter, doc, "_id") &&
		mongo_keeps(projection, "_id") == 0)
		bson_append_iter(out, "_id", -1, &iter);
	bson_iter_init(&iter, doc);
	mongo_project_at(&iter, false, "", projection, out);
}

#endif /* MONGO_H */
