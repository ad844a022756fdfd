/*
 * new_bucket.c
 *		Build the document of a bucket that does not exist yet.
 *
 * MongoDB inserts a bucket with all its points much faster than it upserts
 * their slots one by one.  Arrays are as long as an update makes them.
 * Values that are added, and pre-aggregates that only a pipeline computes, are
 * left to the update.
 *
 * The other document is that of a preallocated bucket, whose slots are empty.
 */
#include "core/update/new_bucket.h"

#include <string.h>

#include "core/update/arrays.h"
#include "core/update/preaggregate.h"
#include "core/update/update.h"
#include "core/update/write_once.h"

/*
 * The elements of arrays for each point, at most.  An array is as long as its
 * last unit, however few of its elements are points, and a document that is
 * mostly empty costs more than an update.
 */
#define MAX_ELEMENTS 16

/* The content of a container in a new bucket */
typedef struct Tree
{
	const MtsLayout *layout;
	int container;
	const MtsColumn *only; /* the column that is the whole value in a slot, or
							* NULL */
	const MtsChange **changes; /* of the points, sorted by slot; NULL to append
								* an empty slot under each key that is known */
	MtsTime start;             /* of the bucket */
	MtsChange empty_slot;      /* values of an empty slot, and the keys of the
								* one that is appended */
	void (*check)(void);       /* raises interrupts; with empty slots only */
	int64_t room;              /* elements of arrays that may still follow */
	bool failed;               /* only an update can store a point */
} Tree;

static void append_steps(Tree *tree, int step, int level, int first, int end,
						 bson_t *parent, const char *key);

/* Append the array of a level without points; behind it, an empty element. */
static void
append_empty_array(Tree *tree, int level, bson_t *parent, const char *key)
{
	int64_t length;
	bson_t array;

	if (level == tree->layout->nslots)
	{
		mts_change_element(tree->layout, tree->container, &tree->empty_slot,
						   parent, key);
		return;
	}
	length = mts_arrays_empty_length(tree->layout, tree->start, level);
	bson_append_array_begin(parent, key, -1, &array);
	for (int64_t i = 0; i < length && tree->room-- > 0; i++)
	{
		char buffer[MTS_MAX_KEY];

		bson_uint32_to_string((uint32_t) i, &key, buffer, sizeof(buffer));
		append_empty_array(tree, level + 1, &array, key);
	}
	bson_append_array_end(parent, &array);
}

/*
 * Append the points from first to end as elements of an array: those of a
 * level whose indexes count units at their indexes, and others one after the
 * other.
 */
static void
append_elements(Tree *tree, int step, int level, int first, int end,
				bson_t *array)
{
	const MtsLayout *layout = tree->layout;
	bool is_unit = layout->slots[level]->kind == MTS_STEP_UNIT_INDEX;
	int64_t from, length = end - first;

	if (is_unit &&
		!mts_layout_keys(layout, tree->start, tree->changes[first]->index,
						 level, &from, &length))
		length = 0;
	for (int64_t i = 0; i < length && tree->room-- > 0; i++)
	{
		char buffer[MTS_MAX_KEY];
		const char *key;
		int next = first + !is_unit;

		bson_uint32_to_string((uint32_t) i, &key, buffer, sizeof(buffer));
		while (is_unit && next < end && tree->changes[next]->index[level] == i)
			next++;
		if (next > first)
			append_steps(tree, step + 1, level + 1, first, next, array, key);
		else
			append_empty_array(tree, level + 1, array, key);
		first = next;
	}
	tree->failed |= first < end;
}

/* Append the elements that have been collected from data[4] on. */
static void
append_collected(uint8_t *data, size_t len, bson_t *slots)
{
	uint32_t size = BSON_UINT32_TO_LE((uint32_t) len + 1);
	bson_t elements;

	memcpy(data, &size, sizeof(size));
	data[len] = 0;
	if (bson_init_static(&elements, data, len + 1))
		bson_concat(slots, &elements);
}

/* Tell whether two points have the same key in a level. */
static bool
is_same_key(const Tree *tree, int level, int i, int j)
{
	const MtsChange *a = tree->changes[i], *b = tree->changes[j];

	return tree->layout->slots[level]->kind == MTS_STEP_COLUMN_KEY
			   ? strcmp(a->texts[level], b->texts[level]) == 0
			   : a->index[level] == b->index[level];
}

/*
 * Append the points from first to end under their keys in the last level of
 * slots, where a number is all that a slot holds.
 *
 * Elements are collected, because libbson takes longer to append an element
 * than all else that is done for it.  Returns the first point that cannot be
 * appended so.
 */
static int
append_numbers(const Tree *tree, int level, int first, int end, bson_t *slots)
{
	const MtsStep *slot = tree->layout->slots[level];
	uint8_t data[4096];
	size_t len = 4;
	int i;

	for (i = first; i < end; i++)
	{
		const MtsChange *change = tree->changes[i];
		const bson_value_t *value =
			mts_change_value(change, tree->only);
		uint64_t bits = BSON_UINT64_TO_LE((uint64_t) value->value.v_int64);
		char buffer[MTS_MAX_KEY];
		const char *key = change->texts[level];
		size_t key_len;

		if (i > first && is_same_key(tree, level, i - 1, i))
			continue;
		if (value->value_type != BSON_TYPE_DOUBLE &&
			value->value_type != BSON_TYPE_INT64)
			break;
		if (slot->kind == MTS_STEP_COLUMN_KEY)
			key_len = strlen(key);
		else
			key_len = mts_slot_key_text(slot, change->index[level], buffer,
										&key);
		if (key_len > MTS_MAX_SLOT_TEXT)
			break;
		if (len + key_len + 2 + sizeof(bits) + 1 > sizeof(data))
		{
			append_collected(data, len, slots);
			len = 4;
		}
		data[len++] = (uint8_t) value->value_type;
		memcpy(data + len, key, key_len + 1);
		memcpy(data + len + key_len + 1, &bits, sizeof(bits));
		len += key_len + 1 + sizeof(bits);
	}
	if (len > 4)
		append_collected(data, len, slots);
	return i;
}

/* Append the points from first to end under their keys in a level of slots. */
static void
append_points(Tree *tree, int step, int level, int first, int end,
			  bson_t *slots)
{
	bool is_text = tree->layout->slots[level]->kind == MTS_STEP_COLUMN_KEY;
	int next;

	if (tree->only && level + 1 == tree->layout->nslots)
		first = append_numbers(tree, level, first, end, slots);
	for (int i = first; i < end; i = next)
	{
		const MtsChange *change = tree->changes[i];
		char buffer[MTS_MAX_KEY];
		const char *key = change->texts[level];

		for (next = i + 1; next < end; next++)
			if (!is_same_key(tree, level, i, next))
				break;
		if (!is_text)
			(void) mts_slot_key_text(tree->layout->slots[level],
									 change->index[level], buffer, &key);
		append_steps(tree, step + 1, level + 1, i, next, slots, key);
	}
}

static bool
has_missing(const Tree *tree)
{
	const MtsLayout *layout = tree->layout;

	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == tree->container &&
			layout->columns[i].missing.kind != MTS_MISSING_NONE)
			return true;
	return false;
}

/* Append an empty slot under each key of a level that is known. */
static void
append_empty_slots(Tree *tree, int step, int level, bson_t *slots)
{
	const MtsStep *slot = tree->layout->slots[level];
	int64_t first = 0, end = 0;

	tree->check();
	/* no unit keys are appended unless there is a missing value to store */
	if (slot->kind == MTS_STEP_UNIT_INDEX ||
		(slot->kind == MTS_STEP_UNIT_KEY && has_missing(tree)))
		(void) mts_layout_keys(tree->layout, tree->start,
							   tree->empty_slot.index, level, &first, &end);
	for (int64_t i = mts_path_step_is_array(slot) ? 0 : first; i < end; i++)
	{
		char buffer[MTS_MAX_KEY];
		const char *name;

		tree->empty_slot.index[level] = i;
		(void) mts_slot_key_text(slot, i, buffer, &name);
		append_steps(tree, step + 1, level + 1, 0, 0, slots, name);
	}
	if (slot->kind == MTS_STEP_COLUMN_KEY && tree->empty_slot.texts[level])
		append_steps(tree, step + 1, level + 1, 0, 0, slots,
					 tree->empty_slot.texts[level]);
}

/*
 * Append, as key, the container from a step on.  The points from first to end
 * have the same slots above it.
 */
static void
append_steps(Tree *tree, int step, int level, int first, int end,
			 bson_t *parent, const char *key)
{
	const MtsLayout *layout = tree->layout;
	const MtsStep *at = &layout->containers[tree->container].path->steps[step];
	bson_t inner;

	if (level == layout->nslots)
	{
		mts_change_element(layout, tree->container,
						   tree->changes ? tree->changes[first]
										 : &tree->empty_slot,
						   parent, key);
		return;
	}
	if (mts_path_step_is_array(at))
		bson_append_array_begin(parent, key, -1, &inner);
	else
		bson_append_document_begin(parent, key, -1, &inner);
	if (!mts_path_step_is_slot(at))
		append_steps(tree, step + 1, level, first, end, &inner, at->name);
	else if (tree->changes && mts_path_step_is_array(at))
		append_elements(tree, step, level, first, end, &inner);
	else if (tree->changes)
		append_points(tree, step, level, first, end, &inner);
	else
		append_empty_slots(tree, step, level, &inner);
	if (mts_path_step_is_array(at))
		bson_append_array_end(parent, &inner);
	else
		bson_append_document_end(parent, &inner);
}

/* Tell whether no field or earlier container uses a container's root. */
static bool
is_alone(const MtsLayout *layout, int container, const MtsFieldValue *fields,
		 int n)
{
	const MtsStep *root = &layout->containers[container].path->steps[0];

	if (root->kind != MTS_STEP_NAME)
		return false;
	for (int i = 0; i < n; i++)
		if (mts_path_step_same_name(root, &fields[i].steps[0]))
			return false;
	for (int i = 0; i < container; i++)
		if (mts_path_step_same_name(root,
									&layout->containers[i].path->steps[0]))
			return false;
	return true;
}

/* Return the column that is the whole value in the slots of a container. */
static const MtsColumn *
find_only_column(const MtsLayout *layout, int container)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == container)
			return layout->containers[container].is_value ? &layout->columns[i]
														  : NULL;
	return NULL;
}

/* Tell whether every point has a value, or null, of every column. */
static bool
are_complete(const MtsBucketChange *bucket)
{
	for (int i = 0; i < bucket->n; i++)
		for (int j = 0; j < bucket->layout->nplaces; j++)
			if (bucket->changes[i]->items[j].value_type == BSON_TYPE_EOD)
				return false;
	return true;
}

/* Tell whether the bucket's fields have its pre-aggregates, if any. */
static bool
has_aggregates(const MtsBucketChange *bucket)
{
	return !mts_update_needs_pipeline(bucket->layout) ||
		   !mts_preaggregate_is_declared(bucket->layout) ||
		   mts_write_once_is_possible(bucket);
}

/*
 * mts_new_bucket_is_possible
 *		Tell whether buckets of a layout can be inserted.
 */
bool
mts_new_bucket_is_possible(const MtsLayout *layout)
{
	return layout->write_mode != MTS_WRITE_INCREMENT && layout->nslots > 0 &&
		   layout->max_points == 0 &&
		   (!mts_update_needs_pipeline(layout) ||
			!mts_preaggregate_is_declared(layout) ||
			mts_write_once_suits(layout));
}

static int
add_fields(MtsFieldValue *fields, int at, MtsFields more)
{
	for (int i = 0; i < more.n; i++)
		fields[at++] = more.items[i];
	return at;
}

/*
 * mts_new_bucket_insert
 *		Append the document of a new bucket with its points.
 *
 * identity has the fields that identify it.  fields has room for these and
 * for all fields of the bucket.  Returns false where only an update can make
 * the bucket.
 */
bool
mts_new_bucket_insert(const MtsBucketChange *bucket, MtsFields identity,
					  MtsFieldValue *fields, bson_t *doc)
{
	const MtsLayout *layout = bucket->layout;
	bson_value_t empty[MTS_MAX_FIELDS];
	int n = add_fields(fields, 0, identity);

	if (!are_complete(bucket) || !has_aggregates(bucket))
		return false;
	n = add_fields(fields, n, bucket->attributes);
	n = add_fields(fields, n, bucket->lows);
	n = add_fields(fields, n, bucket->highs);
	n = add_fields(fields, n, bucket->sums);
	for (int i = 0; i < layout->ncontainers; i++)
		if (!is_alone(layout, i, fields, n))
			return false;
	mts_change_compose(fields, n, doc);
	mts_change_empty_slot(layout, empty);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		Tree tree = {layout,
					 i,
					 find_only_column(layout, i),
					 bucket->changes,
					 bucket->start,
					 {.items = empty},
					 .room = (int64_t) bucket->n * MAX_ELEMENTS};

		append_steps(&tree, 1, 0, 0, bucket->n, doc,
					 layout->containers[i].path->steps[0].name);
		if (tree.failed || tree.room < 0)
			return false;
	}
	return true;
}

/*
 * mts_new_bucket_preallocate
 *		Append {$setOnInsert: fields} of a bucket without points.
 *
 * Its slots hold the missing values, or an empty document if there are none:
 * neither is read as a point.  texts are the keys of {column} slots, by slot,
 * NULL where they are not known.  The function check raises interrupts.
 */
void
mts_new_bucket_preallocate(const MtsBucketChange *bucket, const char **texts,
						   void (*check)(void), bson_t *update)
{
	const MtsLayout *layout = bucket->layout;
	bson_value_t values[MTS_MAX_FIELDS];
	bson_t set;

	bson_append_document_begin(update, "$setOnInsert", -1, &set);
	mts_change_empty_slot(layout, values);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		int names = mts_path_leading_names(path);
		int64_t index[MTS_MAX_SLOTS] = {0};
		Tree tree = {layout,
					 i,
					 NULL,
					 NULL,
					 bucket->start,
					 {.index = index, .texts = texts, .items = values},
					 check};
		char dotted[MTS_MAX_PATH];

		mts_path_dotted(path->steps, names, dotted, sizeof(dotted));
		append_steps(&tree, names, 0, 0, 0, &set, dotted);
	}
	mts_change_append_fields(bucket->attributes, &set);
	mts_change_append_fields(bucket->sums, &set);
	bson_append_document_end(update, &set);
}
