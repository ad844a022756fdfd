/*
 * fresh.c
 *		Which document does a write make where its bucket is not there yet?
 *
 * To insert it is much cheaper than an upsert of its slots, one by one.  Only
 * what is set under keys is made so: what pipelines compute, what is counted up
 * or pushed, is left to the update.
 */
#include "core/write.h"

#include <string.h>

static const char *
key_of(const MtsLayout *layout, const MtsWrite *write, int level,
	   char buffer[MTS_MAX_KEY])
{
	const char *key;

	if (layout->slots[level]->kind == MTS_STEP_COLUMN_KEY)
		return write->texts[level];
	(void) mts_write_key(write->index[level], buffer, &key);
	return key;
}

static bool
same_key(const MtsLayout *layout, const MtsWrite *a, const MtsWrite *b,
		 int level)
{
	return layout->slots[level]->kind == MTS_STEP_COLUMN_KEY
			   ? strcmp(a->texts[level], b->texts[level]) == 0
			   : a->index[level] == b->index[level];
}

/*
 * Append what stands under a key: the names and slots of a container from a
 * step on, with the points from first to end, whose outer slots are the same.
 */
static void
append_points(const MtsBucketWrite *bucket, int container, int step, int level,
			  int first, int end, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	const MtsStep *steps = layout->containers[container].path->steps;
	char buffer[MTS_MAX_KEY];
	bson_t inner;
	int next;

	if (level == layout->nslots)
	{
		mts_write_element(layout, container, bucket->writes[first], parent,
						  key);
		return;
	}
	bson_append_document_begin(parent, key, -1, &inner);
	if (!mts_step_is_slot(&steps[step]))
		append_points(bucket, container, step + 1, level, first, end, &inner,
					  steps[step].name);
	else
		for (int i = first; i < end; i = next)
		{
			const MtsWrite *write = bucket->writes[i];

			for (next = i + 1; next < end; next++)
				if (!same_key(layout, write, bucket->writes[next], level))
					break;
			append_points(bucket, container, step + 1, level + 1, i, next,
						  &inner, key_of(layout, write, level, buffer));
		}
	bson_append_document_end(parent, &inner);
}

/* Does the field at the root that holds a container hold nothing else? */
static bool
is_alone(const MtsLayout *layout, int container, const MtsPlaced *fields,
		 int n)
{
	const MtsStep *root = &layout->containers[container].path->steps[0];

	if (root->kind != MTS_STEP_NAME)
		return false;
	for (int i = 0; i < n; i++)
		if (mts_step_same_name(root, &fields[i].steps[0]))
			return false;
	for (int i = 0; i < container; i++)
		if (mts_step_same_name(root, &layout->containers[i].path->steps[0]))
			return false;
	return true;
}

/* Has every point a value, null or not, of every column? */
static bool
are_complete(const MtsBucketWrite *bucket)
{
	const MtsLayout *layout = bucket->layout;

	for (int i = 0; i < bucket->n; i++)
		for (int j = 0; j < layout->ncolumns; j++)
			if (layout->columns[j].container >= 0 &&
				bucket->writes[i]->values[j].value_type == BSON_TYPE_EOD)
				return false;
	return true;
}

/*
 * mts_update_may_be_fresh
 *		Can buckets of a layout be inserted at all?
 */
bool
mts_update_may_be_fresh(const MtsLayout *layout)
{
	return layout->write_mode == MTS_WRITE_SET && layout->nslots > 0 &&
		   mts_update_array_level(layout) < 0 &&
		   !mts_update_needs_pipeline(layout);
}

static int
add_fields(MtsPlaced *fields, int at, MtsFields more)
{
	for (int i = 0; i < more.n; i++)
		fields[at++] = more.items[i];
	return at;
}

/*
 * mts_update_fresh
 *		Append the fields of a new bucket, where mts_update_may_be_fresh, with
 *		new points.
 *
 * identity are the fields that tell it.  fields is room for these and all others
 * of the write.  False, and nothing is appended, where only the update makes the
 * bucket.
 */
bool
mts_update_fresh(const MtsBucketWrite *bucket, MtsFields identity,
				 MtsPlaced *fields, bson_t *doc)
{
	const MtsLayout *layout = bucket->layout;
	int n = add_fields(fields, 0, identity);

	if (!are_complete(bucket))
		return false;
	n = add_fields(fields, n, bucket->attributes);
	n = add_fields(fields, n, bucket->lows);
	n = add_fields(fields, n, bucket->highs);
	n = add_fields(fields, n, bucket->sums);
	for (int i = 0; i < layout->ncontainers; i++)
		if (!is_alone(layout, i, fields, n))
			return false;
	mts_compose(fields, n, doc);
	for (int i = 0; i < layout->ncontainers; i++)
		append_points(bucket, i, 1, 0, 0, bucket->n, doc,
					  layout->containers[i].path->steps[0].name);
	return true;
}
