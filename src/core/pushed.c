/*
 * pushed.c
 *		Which expression gives parallel arrays with elements pushed to them?
 */
#include "core/expression.h"
#include "core/write.h"

#include <stdio.h>

/* The lengths of all containers' arrays that lie behind the same slots */
static void
append_lengths(const MtsLayout *layout, const MtsWrite *write, bson_t *parent,
			   const char *key)
{
	char source[MTS_MAX_DOTTED + 1] = "$";
	bson_t list;

	bson_append_array_begin(parent, key, -1, &list);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];
		char digits[16];
		MtsOperator size;

		mts_write_path(container->path->steps, container->nsteps - 1, write,
					   source + 1);
		snprintf(digits, sizeof(digits), "%d", i);
		mts_list_begin(&list, digits, "$size", &size);
		mts_append_default(&size.inner, "0", source, true);
		mts_list_end(&list, &size);
	}
	bson_append_array_end(parent, &list);
}

/*
 * mts_array_pushed
 *		Append, as key, an array with new elements behind the stored ones.
 *
 * Nulls fill it up to the length of the longest of the arrays that are read
 * side by side.
 */
void
mts_array_pushed(const MtsBucketWrite *bucket, int container,
				 const MtsWrite *const *writes, int n, const char *source,
				 bson_t *parent, const char *key)
{
	MtsOperator concat, map, range, size, max;
	bson_t literal, list;

	mts_list_begin(parent, key, "$concatArrays", &concat);
	mts_append_default(&concat.inner, "0", source, true);
	mts_op_begin(&concat.inner, "1", "$map", &map);
	mts_list_begin(&map.inner, "input", "$range", &range);
	mts_list_begin(&range.inner, "0", "$size", &size);
	mts_append_default(&size.inner, "0", source, true);
	mts_list_end(&range.inner, &size);
	bson_append_document_begin(&range.inner, "1", -1, &max.outer);
	append_lengths(bucket->layout, writes[0], &max.outer, "$max");
	bson_append_document_end(&range.inner, &max.outer);
	mts_list_end(&map.inner, &range);
	bson_append_null(&map.inner, "in", -1);
	mts_op_end(&concat.inner, &map);
	bson_append_document_begin(&concat.inner, "2", -1, &literal);
	bson_append_array_begin(&literal, "$literal", -1, &list);
	for (int i = 0; i < n; i++)
	{
		char digits[16];

		snprintf(digits, sizeof(digits), "%d", i);
		mts_write_element(bucket->layout, container, writes[i], &list, digits);
	}
	bson_append_array_end(&literal, &list);
	bson_append_document_end(&concat.inner, &literal);
	mts_list_end(parent, &concat);
}
