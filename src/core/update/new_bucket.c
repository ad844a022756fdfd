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

#include "core/bson/builder.h"
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

/* A document with more elements is too large for MongoDB: each has at least 3
 * bytes. */
#define MAX_EMPTY_SLOTS (16 * 1024 * 1024 / 3)

/* The columns of a container, as a point has them in its slot */
typedef struct Slot
{
	bool is_simple; /* a value, or a document of values without subdocuments */
	bool is_value;
	int n;
	struct
	{
		int place;           /* MtsColumn.place */
		const MtsStep *name; /* in the document */
	} fields[MTS_MAX_FIELDS];
} Slot;

/* The points of a container in a new bucket, or its empty slots */
typedef struct Points
{
	const MtsLayout *layout;
	int container;
	const Slot *slot;
	const MtsChange **changes; /* sorted by slot; NULL without points */
	MtsTime start;             /* of the bucket */
	MtsChange empty_slot;      /* values of an empty slot, and the keys of the
								* one that is appended */
	int64_t room;              /* elements of arrays that may still follow */
	bool failed;               /* only an update can store a point */
	MtsBuilder builder;
} Points;

/* ---- Points ------------------------------------------------------------- */

static void build_steps(Points *points, int step, int level, int first,
						int end, const char *key, size_t len);

/* Find the columns of a container. */
static void
find_slot(const MtsLayout *layout, int container, Slot *slot)
{
	slot->is_simple = true;
	slot->is_value = layout->containers[container].is_value;
	slot->n = 0;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		MtsFieldValue tail;

		if (column->container != container)
			continue;
		slot->is_simple &=
			mts_change_tail(layout, column, &tail) == !slot->is_value;
		slot->fields[slot->n].place = column->place;
		slot->fields[slot->n++].name = tail.steps;
	}
}

/* Append what a slot holds. */
static void
build_slot(Points *points, const MtsChange *change, const char *key,
		   size_t len)
{
	const Slot *slot = points->slot;
	MtsBuilder *builder = &points->builder;
	size_t begin;

	if (!slot->is_simple ||
		(slot->is_value &&
		 change->items[slot->fields[0].place].value_type == BSON_TYPE_EOD))
	{
		bson_t element = BSON_INITIALIZER;

		mts_change_element(points->layout, points->container, change, &element,
						   key);
		mts_builder_append_elements(builder, &element);
		bson_destroy(&element);
		return;
	}
	if (slot->is_value)
	{
		mts_builder_append(builder, key, len,
						   &change->items[slot->fields[0].place]);
		return;
	}
	begin = mts_builder_begin(builder, BSON_TYPE_DOCUMENT, key, len);
	for (int i = 0; i < slot->n; i++)
	{
		const MtsStep *name = slot->fields[i].name;
		const bson_value_t *value = &change->items[slot->fields[i].place];

		if (value->value_type != BSON_TYPE_EOD)
			mts_builder_append(builder, name->name, name->len, value);
	}
	mts_builder_end(builder, begin);
}

/* Tell whether a column of a container has a missing value. */
static bool
has_missing(const MtsLayout *layout, int container)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == container &&
			layout->columns[i].missing.kind != MTS_MISSING_NONE)
			return true;
	return false;
}

/*
 * Append the empty slots of a level.  Beside points, an array is as long as an
 * update makes it.  Without points, it has all its units, and a subdocument
 * has those keys that are known, if there is a missing value to store.
 */
static void
build_empty_slots(Points *points, int step, int level)
{
	const MtsLayout *layout = points->layout;
	const MtsStep *slot = layout->slots[level];
	MtsChange *empty = &points->empty_slot;
	bool is_array = mts_path_step_is_array(slot);
	int64_t first = 0, end = 0;

	if (points->changes)
		end = mts_arrays_empty_length(layout, points->start, level);
	else if (slot->kind == MTS_STEP_UNIT_INDEX ||
			 (slot->kind == MTS_STEP_UNIT_KEY &&
			  has_missing(layout, points->container)))
		(void) mts_layout_keys(layout, points->start, empty->index, level,
							   &first, &end);
	for (int64_t i = is_array ? 0 : first; i < end && points->room-- > 0; i++)
	{
		char buffer[MTS_MAX_KEY];
		const char *key;
		size_t len = mts_slot_key_text(slot, i, buffer, &key);

		empty->index[level] = i;
		build_steps(points, step + 1, level + 1, 0, 0, key, len);
	}
	if (slot->kind == MTS_STEP_COLUMN_KEY && empty->texts[level])
		build_steps(points, step + 1, level + 1, 0, 0, empty->texts[level],
					strlen(empty->texts[level]));
}

/*
 * Append the points from first to end as elements of an array: those of a
 * level whose indexes count units at their indexes, and others one after the
 * other.
 */
static void
build_elements(Points *points, int step, int level, int first, int end)
{
	const MtsLayout *layout = points->layout;
	bool is_unit = layout->slots[level]->kind == MTS_STEP_UNIT_INDEX;
	int64_t from, length = end - first;

	if (is_unit &&
		!mts_layout_keys(layout, points->start, points->changes[first]->index,
						 level, &from, &length))
		length = 0;
	for (int64_t i = 0; i < length && points->room-- > 0; i++)
	{
		char buffer[MTS_MAX_KEY];
		const char *index;
		size_t len =
			mts_slot_key_text(layout->slots[level], i, buffer, &index);
		int next = first + !is_unit;

		while (is_unit && next < end &&
			   points->changes[next]->index[level] == i)
			next++;
		build_steps(points, step + 1, level + 1, first, next, index, len);
		first = next;
	}
	points->failed |= first < end;
}

/* Append the points from first to end under their keys in a level of slots. */
static void
build_keys(Points *points, int step, int level, int first, int end)
{
	bool is_text = points->layout->slots[level]->kind == MTS_STEP_COLUMN_KEY;
	int next;

	for (int i = first; i < end; i = next)
	{
		const MtsChange *change = points->changes[i];
		char buffer[MTS_MAX_KEY];
		const char *key = change->texts[level];
		size_t len;

		for (next = i + 1; next < end; next++)
			if (is_text ? strcmp(key, points->changes[next]->texts[level]) != 0
						: points->changes[next]->index[level] !=
							  change->index[level])
				break;
		len = is_text ? strlen(key)
					  : mts_slot_key_text(points->layout->slots[level],
										  change->index[level], buffer, &key);
		build_steps(points, step + 1, level + 1, i, next, key, len);
	}
}

/*
 * Append, under a key, the container from a step on.  The points from first to
 * end, which may be none, have the same slots above it.
 */
static void
build_steps(Points *points, int step, int level, int first, int end,
			const char *key, size_t len)
{
	const MtsStep *at =
		&points->layout->containers[points->container].path->steps[step];
	bool is_array =
		level < points->layout->nslots && mts_path_step_is_array(at);
	size_t begin;

	if (level == points->layout->nslots)
	{
		build_slot(points,
				   first < end ? points->changes[first] : &points->empty_slot,
				   key, len);
		return;
	}
	begin = mts_builder_begin(&points->builder,
							  is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT,
							  key, len);
	if (!mts_path_step_is_slot(at))
		build_steps(points, step + 1, level, first, end, at->name, at->len);
	else if (first == end)
		build_empty_slots(points, step, level);
	else if (is_array)
		build_elements(points, step, level, first, end);
	else
		build_keys(points, step, level, first, end);
	mts_builder_end(&points->builder, begin);
}

/* ---- Buckets ------------------------------------------------------------ */

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
	int64_t index[MTS_MAX_SLOTS];
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
		const MtsStep *root = &layout->containers[i].path->steps[0];
		Slot slot;
		Points points = {layout,
						 i,
						 &slot,
						 bucket->changes,
						 bucket->start,
						 {.index = index, .items = empty},
						 .room = (int64_t) bucket->n * MAX_ELEMENTS};

		find_slot(layout, i, &slot);
		build_steps(&points, 1, 0, 0, bucket->n, root->name, root->len);
		if (!mts_builder_finish(&points.builder, doc) || points.failed ||
			points.room < 0)
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
 * NULL where they are not known.  The document can be too large for MongoDB.
 */
void
mts_new_bucket_preallocate(const MtsBucketChange *bucket, const char **texts,
						   bson_t *update)
{
	const MtsLayout *layout = bucket->layout;
	bson_value_t values[MTS_MAX_FIELDS];
	int64_t index[MTS_MAX_SLOTS];
	int64_t room = MAX_EMPTY_SLOTS;
	bson_t set;

	bson_append_document_begin(update, "$setOnInsert", -1, &set);
	mts_change_empty_slot(layout, values);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		int names = mts_path_leading_names(path);
		Slot slot;
		Points points = {layout,
						 i,
						 &slot,
						 NULL,
						 bucket->start,
						 {.index = index, .texts = texts, .items = values},
						 room};
		char dotted[MTS_MAX_PATH];

		mts_path_dotted(path->steps, names, dotted, sizeof(dotted));
		find_slot(layout, i, &slot);
		build_steps(&points, names, 0, 0, 0, dotted, strlen(dotted));
		(void) mts_builder_finish(&points.builder, &set);
		room = points.room;
	}
	mts_change_append_fields(bucket->attributes, &set);
	mts_change_append_fields(bucket->sums, &set);
	bson_append_document_end(update, &set);
}
