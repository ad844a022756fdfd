/*
 * twin.c
 *		Find documents that are the same bucket.
 */
#include "advice/check/twin.h"

#include <stdlib.h>
#include <string.h>

#include "core/bson/element.h"

/* Compare two values; whole numbers of all types as numbers. */
static int
compare_elements(const MtsElement *a, const MtsElement *b)
{
	int64_t m, n;
	bool is_whole = mts_element_integer(a, MTS_MAX_EXACT, &m);

	if (is_whole != mts_element_integer(b, MTS_MAX_EXACT, &n))
		return is_whole ? -1 : 1;
	if (is_whole)
		return (m > n) - (m < n);
	if (a->type != b->type)
		return (int) a->type - (int) b->type;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return memcmp(a->value, b->value, a->size);
}

/* Compare what identifies two buckets. */
static int
compare_values(const bson_t *a, const bson_t *b)
{
	MtsElementCursor left, right;

	if (!mts_element_open(&left, bson_get_data(a), a->len) ||
		!mts_element_open(&right, bson_get_data(b), b->len))
		return bson_compare(a, b);
	for (;;)
	{
		MtsElement x, y;
		bool has_left = mts_element_next(&left, &x) == MTS_NEXT_OK;
		bool has_right = mts_element_next(&right, &y) == MTS_NEXT_OK;
		int result = has_left && has_right ? compare_elements(&x, &y)
										   : (int) has_left - (int) has_right;

		if (result != 0 || !has_left)
			return result;
	}
}

static int
compare(const void *a, const void *b)
{
	const MtsTwin *left = a;
	const MtsTwin *right = b;
	int result = strcmp(left->collection, right->collection);

	if (result == 0)
		result = compare_values(left->values, right->values);
	return result != 0 ? result : strcmp(left->id, right->id);
}

static bool
are_same_bucket(const MtsTwin *a, const MtsTwin *b)
{
	return strcmp(a->collection, b->collection) == 0 &&
		   compare_values(a->values, b->values) == 0;
}

/*
 * mts_twin_find
 *		Find the documents that are the same bucket as another one, and sort
 *		the items.
 *
 * A document that is given twice, with the same _id, is one.
 */
MtsTwins
mts_twin_find(MtsTwin *items, int n)
{
	MtsTwins twins = {0};

	qsort(items, n, sizeof(MtsTwin), compare);
	for (int i = 0, j; i < n; i = j)
	{
		int same = 1;

		for (j = i + 1; j < n && are_same_bucket(&items[i], &items[j]); j++)
		{
			if (strcmp(items[j].id, items[j - 1].id) == 0)
				continue;
			same++;
			if (!twins.first)
			{
				twins.first = &items[i];
				twins.second = &items[j];
			}
		}
		if (same > 1)
			twins.documents += same;
	}
	return twins;
}
