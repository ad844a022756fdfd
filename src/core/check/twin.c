/*
 * twin.c
 *		Find documents that are the same bucket.
 */
#include "core/check/twin.h"

#include <stdlib.h>
#include <string.h>

static int
compare(const void *a, const void *b)
{
	const MtsTwin *left = a;
	const MtsTwin *right = b;
	int result = strcmp(left->collection, right->collection);

	if (result == 0)
		result = bson_compare(left->values, right->values);
	return result != 0 ? result : strcmp(left->id, right->id);
}

static bool
are_same_bucket(const MtsTwin *a, const MtsTwin *b)
{
	return strcmp(a->collection, b->collection) == 0 &&
		   bson_equal(a->values, b->values);
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
