/*
 * guard.c
 *		Add to a selector that a part of a bucket is what was read of it.
 */
#include "guard.h"

#include "document.h"

/*
 * mts_guard_element
 *		Require that an element stands at a path; type 0: that none does.
 */
void
mts_guard_element(bson_t *selector, const char *path,
				  const MtsElement *element)
{
	bson_value_t value;
	bson_t guard;

	bson_append_document_begin(selector, path, -1, &guard);
	if (element->type == 0)
		bson_append_bool(&guard, "$exists", -1, false);
	else if (element->type == BSON_TYPE_NULL)
		bson_append_utf8(&guard, "$type", -1, "null", -1);
	else
	{
		value = mts_element_value(element);
		bson_append_value(&guard, "$eq", -1, &value);
	}
	bson_append_document_end(selector, &guard);
}

/*
 * mts_guard_field
 *		Require that the first nsteps names of a path lead to what they did.
 *
 * bucket is NULL when there was none.
 */
void
mts_guard_field(const bson_t *bucket, const MtsPath *path, int nsteps,
				bson_t *selector)
{
	MtsElement element = {0};
	char dotted[MTS_MAX_PATH];

	if (bucket)
	{
		MtsElement document =
			mts_element_document(bson_get_data(bucket), bucket->len);

		if (mts_element_find(&document, path->steps, nsteps, &element) !=
			MTS_FOUND)
			element.type = 0;
	}
	mts_path_dotted(path->steps, nsteps, dotted, sizeof(dotted));
	mts_guard_element(selector, dotted, &element);
}

/* Require that all points of a bucket are those that were read. */
void
mts_guard_containers(const MtsLayout *layout, const bson_t *bucket,
					 bson_t *selector)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;

		mts_guard_field(bucket, path, mts_path_names(path), selector);
	}
}
