/*
 * precondition.c
 *		Append terms to a selector, so that it matches a bucket only as it was
 *		read.
 *
 * An update with these terms finds no document when another session has
 * changed what they state.  The caller sees that by the number of documents
 * that were found.
 */
#include "modify/precondition.h"

#include "core/bson/template.h"
#include "driver/document.h"

/* Require an element at a path; type 0 requires that there is none. */
static void
require_element(bson_t *selector, const char *path, const MtsElement *element)
{
	bson_value_t value;

	if (element->type == 0)
		mts_template_append(selector, path, "{$exists: false}");
	else if (element->type == BSON_TYPE_NULL)
		mts_template_append(selector, path, "{$type: 'null'}");
	else
	{
		value = mts_document_value(element);
		mts_template_append(selector, path, "{$eq: %v}", &value);
	}
}

/*
 * Require what a bucket has at the first nsteps names of a path; bucket is
 * NULL when there was none.
 */
static void
require_field(const bson_t *bucket, const MtsPath *path, int nsteps,
			  bson_t *selector)
{
	MtsElement element = {0};
	char dotted[MTS_MAX_PATH];

	if (bucket)
	{
		MtsElement document =
			mts_element_document(bson_get_data(bucket), bucket->len);

		if (mts_path_find(&document, path->steps, nsteps, &element) !=
			MTS_FOUND)
			element.type = 0;
	}
	mts_path_dotted(path->steps, nsteps, dotted, sizeof(dotted));
	require_element(selector, dotted, &element);
}

/*
 * mts_precondition_point
 *		Require the point that was read, in the slot of a change.
 *
 * These are the elements that its containers have in the slot.  If a document
 * is a row, they are its fields, except those in _id and those that no dotted
 * path can address.
 */
void
mts_precondition_point(const MtsBucketReader *reader, const MtsChange *change,
					   bson_t *selector)
{
	const MtsBucket *bucket = reader->bucket;
	const MtsLayout *layout = &bucket->table->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];

		mts_change_path(container->path->steps, container->nsteps, change,
						path);
		require_element(selector, path, &bucket->point.elements[i]);
	}
	for (int i = 0; layout->nslots == 0 && i < layout->ncolumns; i++)
	{
		const MtsPath *field = &layout->columns[i].path;

		if (mts_path_addressable_steps(field) == field->nsteps &&
			field->nsteps > 0 && !mts_path_is_in_id(field))
			require_field(bucket->document, field, field->nsteps, selector);
	}
}

/*
 * mts_precondition_free
 *		Require that the slot of a change is free.
 *
 * No simple term states that an index of an array is free, or that a slot is
 * free if a missing value can be stored there.  Nothing is required then.
 */
void
mts_precondition_free(const MtsLayout *layout, const MtsChange *change,
					  bson_t *selector)
{
	MtsElement none = {.type = 0};
	char path[MTS_MAX_DOTTED];

	if (layout->has_missing || mts_change_array_level(layout) >= 0)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *field = &layout->columns[i].path;

		if (layout->columns[i].container < 0)
			continue;
		mts_change_path(field->steps, field->nsteps, change, path);
		require_element(selector, path, &none);
	}
}

/*
 * mts_precondition_bucket
 *		Require all points of a bucket, by the fields that hold its containers.
 *
 * bucket is NULL when there was none.
 */
void
mts_precondition_bucket(const MtsLayout *layout, const bson_t *bucket,
						bson_t *selector)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;

		require_field(bucket, path, mts_path_leading_names(path), selector);
	}
}
