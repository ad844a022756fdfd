/*
 * arrays.c
 *		Build the expression of an array whose elements are changed, or to
 *		which points are appended.
 *
 * The array is concatenated from slices of the stored one and the changed
 * elements, level by level of the slots.  So the expression is as long as what
 * changes, not as the array.  Before points are stored in an array whose
 * indexes count units, it is filled up to its whole length.
 */
#include "core/update/arrays.h"

#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/update/update.h"

/* {$cond: ..}: the source, or an empty array where it is not one */
#define ARRAY_OR_EMPTY "{$cond: [{$isArray: [%s]}, %s, []]}"

/* Append {$literal: the element of a slot without a reading}. */
static void
append_empty_element(const MtsLayout *layout, int container, bson_t *parent,
					 const char *key)
{
	bson_value_t values[MTS_MAX_FIELDS];
	MtsChange empty = {.items = values};
	bson_t literal;

	mts_change_empty_slot(layout, values);
	bson_append_document_begin(parent, key, -1, &literal);
	mts_change_element(layout, container, &empty, &literal, "$literal");
	bson_append_document_end(parent, &literal);
}

/* Tell whether all arrays of a level have the same length. */
static bool
has_fixed_length(const MtsLayout *layout, int level)
{
	MtsSpan unit = layout->slots[level]->unit;
	MtsSpan enclosing =
		level > 0 ? layout->slots[level - 1]->unit : layout->span;
	int64_t length = enclosing.usecs;

	/* in UTC and on local clocks, all days have the same length */
	if ((!layout->clock.to_instant || layout->slots_are_local) &&
		enclosing.months == 0)
		length += enclosing.days * MTS_DAY;
	return length > 0 && unit.usecs > 0 && length % unit.usecs == 0 &&
		   (level == 0 || has_fixed_length(layout, level - 1));
}

/*
 * mts_arrays_empty_length
 *		The length of the arrays of a level before a point is stored in them.
 */
int64_t
mts_arrays_empty_length(const MtsLayout *layout, MtsTime start, int level)
{
	int64_t index[MTS_MAX_SLOTS];
	int64_t first, end;

	for (int i = 0; i < level; i++)
		index[i] = layout->slots[i]->base;
	return has_fixed_length(layout, level) &&
				   mts_layout_keys(layout, start, index, level, &first, &end)
			   ? end
			   : 0;
}

/*
 * Append the empty array of a level, as it is before a point is stored in it.
 * Behind the last level, append an empty element.
 */
static void
append_empty_slot(const MtsBucketChange *bucket, int container, int level,
				  bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t empty = BSON_INITIALIZER;
	int64_t length;

	if (level == layout->nslots)
		append_empty_element(layout, container, parent, key);
	else if ((length =
				  mts_arrays_empty_length(layout, bucket->start, level)) == 0)
		mts_template_append(parent, key, "[]");
	else
	{
		append_empty_slot(bucket, container, level + 1, &empty, "");
		mts_template_append(parent, key,
							"{$map: {input: {$range: [0, %i]}, in: %b}}",
							length, &empty);
	}
	bson_destroy(&empty);
}

/* Tell whether a change leaves the stored value of a column as it is. */
static bool
keeps_value(const MtsChange *change, const MtsColumn *column)
{
	bson_type_t type = mts_change_value(change, column)->value_type;

	return type == BSON_TYPE_EOD ||
		   (type == BSON_TYPE_NULL && change->kind == MTS_CHANGE_ADD);
}

/*
 * Append {$mergeObjects: [source, {name: value, ..}]} of the changed columns
 * whose paths begin with the first depth steps of prefix; recurse into
 * subdocuments.
 */
static void
append_merged(const MtsBucketChange *bucket, int container,
			  const MtsChange *change, const MtsStep *prefix, int depth,
			  const char *source, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t fields = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		char inner[MTS_MAX_PATH + 8];
		MtsFieldValue tail;
		bool belongs = true;

		if (column->container != container || keeps_value(change, column) ||
			mts_change_tail(layout, column, &tail) <= depth)
			continue;
		for (int j = 0; j < depth; j++)
			belongs &= mts_path_step_same_name(&tail.steps[j], &prefix[j]);
		if (!belongs || bson_has_field(&fields, tail.steps[depth].name))
			continue;
		snprintf(inner, sizeof(inner), "%s.%s", source,
				 tail.steps[depth].name);
		if (tail.nsteps == depth + 1)
			mts_update_append_value(change, column,
									mts_change_value(change, column), inner,
									&fields, tail.steps[depth].name);
		else
			append_merged(bucket, container, change, tail.steps, depth + 1,
						  inner, &fields, tail.steps[depth].name);
	}
	mts_template_append(parent, key, "{$mergeObjects: [%s, %o]}", source,
						&fields);
	bson_destroy(&fields);
}

/* Append the changed element of the last slot; source is the stored one. */
static void
append_element(const MtsBucketChange *bucket, int container,
			   const MtsChange *change, const char *source, bson_t *parent,
			   const char *key)
{
	const MtsLayout *layout = bucket->layout;

	if (change->kind == MTS_CHANGE_REMOVE)
	{
		append_empty_element(layout, container, parent, key);
		return;
	}
	if (!layout->containers[container].is_value)
	{
		append_merged(bucket, container, change, NULL, 0, source, parent, key);
		return;
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->container != container)
			continue;
		if (keeps_value(change, column))
			mts_template_append(parent, key, "%s", source);
		else
			mts_update_append_value(change, column,
									mts_change_value(change, column), source,
									parent, key);
	}
}

/* Tell whether a change replaces a whole element, whatever is stored. */
static bool
replaces_element(const MtsBucketChange *bucket, int container, int level,
				 const MtsChange *change)
{
	const MtsLayout *layout = bucket->layout;

	if (level + 1 < layout->nslots)
		return false;
	if (change->kind == MTS_CHANGE_REMOVE)
		return true;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == container &&
			!keeps_value(change, &layout->columns[i]))
			return layout->containers[container].is_value &&
				   (change->kind == MTS_CHANGE_SET ||
					layout->columns[i].role != MTS_ROLE_VALUE);
	return false;
}

/*
 * Append [the element at an index after these changes]; its stored value is
 * the variable e<level>.
 */
static void
append_replaced(const MtsBucketChange *bucket, int container, int level,
				bson_t *pieces)
{
	const MtsChange *first = bucket->changes[0];
	bson_t element = BSON_INITIALIZER;
	char old[16];

	snprintf(old, sizeof(old), "$$e%d", level);
	if (level + 1 < bucket->layout->nslots)
		mts_arrays_expression(bucket, container, level + 1, old, &element, "");
	else
		append_element(bucket, container, first, old, &element, "");
	if (replaces_element(bucket, container, level, first))
		mts_template_append(pieces, "", "%a", &element);
	else
		mts_template_append(
			pieces, "",
			"[{$let: {vars: {e%d: {$arrayElemAt: ['$$a%d', %i]}}, in: %b}}]",
			level, level, first->index[level], &element);
	bson_destroy(&element);
}

/* Append the slice of an array between two indexes, unless it is empty. */
static void
append_slice(int level, int64_t from, int64_t to, bson_t *pieces)
{
	if (from < to)
		mts_template_append(pieces, "", "{$slice: ['$$a%d', %i, %i]}", level,
							from, to - from);
}

/* Append the unchanged slices of an array and its changed elements in turn. */
static void
append_pieces(const MtsBucketChange *bucket, int container, int level,
			  bson_t *pieces)
{
	bool is_element = bucket->layout->slots[level]->kind == MTS_STEP_ELEMENT;
	MtsBucketChange part = *bucket;
	int64_t from = 0;

	for (int i = 0; i < bucket->n; i += part.n)
	{
		int64_t index = bucket->changes[i]->index[level];

		part.changes = bucket->changes + i;
		part.n = 1;
		while (i + part.n < bucket->n &&
			   part.changes[part.n]->index[level] == index)
			part.n++;
		append_slice(level, from, index, pieces);
		from = index + 1;
		if (!is_element || part.changes[0]->kind != MTS_CHANGE_REMOVE)
			append_replaced(&part, container, level, pieces);
	}
	append_slice(level, from, INT32_MAX, pieces);
}

/*
 * Append the array with new elements at its end.  Nulls fill it up to the
 * length of the longest of the arrays that are read side by side.
 */
static void
append_pushed(const MtsBucketChange *bucket, int container, const char *source,
			  bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t lengths = BSON_INITIALIZER, elements = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *of = &layout->containers[i];
		char path[MTS_MAX_DOTTED];

		mts_change_path(of->path->steps, of->nsteps - 1, bucket->changes[0],
						path);
		mts_template_append(&lengths, "", "{$size: [{$ifNull: ['$%s', []]}]}",
							path);
	}
	for (int i = 0; i < bucket->n; i++)
		mts_change_element(layout, container, bucket->changes[i], &elements,
						   "");
	mts_template_append(
		parent, key,
		"{$concatArrays: [{$ifNull: [%s, []]}, {$map: {input:"
		" {$range: [{$size: [{$ifNull: [%s, []]}]}, {$max: %a}]}, in: null}},"
		" {$literal: %a}]}",
		source, source, &lengths, &elements);
	bson_destroy(&lengths);
	bson_destroy(&elements);
}

/*
 * mts_arrays_expression
 *		Append, as key, the expression of a changed array at a level of slots.
 *
 * source refers to the stored array, "$path" or "$$variable".  The changes of
 * the bucket have the same slots above this level.
 */
void
mts_arrays_expression(const MtsBucketChange *bucket, int container, int level,
					  const char *source, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t array = BSON_INITIALIZER, pieces = BSON_INITIALIZER,
		   empty = BSON_INITIALIZER;
	int64_t first, length;

	if (layout->slots[level]->kind == MTS_STEP_ELEMENT &&
		bucket->points_are_new)
	{
		append_pushed(bucket, container, source, parent, key);
		return;
	}
	if (bucket->points_are_new &&
		mts_layout_keys(layout, bucket->start, bucket->changes[0]->index,
						level, &first, &length))
	{
		append_empty_slot(bucket, container, level + 1, &empty, "");
		mts_template_append(
			&array, "",
			"{$let: {vars: {s%d: " ARRAY_OR_EMPTY "}, in:"
			" {$concatArrays: ['$$s%d', {$map: {input: {$range:"
			" [{$size: ['$$s%d']}, %i]}, in: %b}}]}}}",
			level, source, source, level, level, length, &empty);
	}
	else
		mts_template_append(&array, "", ARRAY_OR_EMPTY, source, source);
	append_pieces(bucket, container, level, &pieces);
	mts_template_append(parent, key,
						"{$let: {vars: {a%d: %b}, in: {$concatArrays: %a}}}",
						level, &array, &pieces);
	bson_destroy(&array);
	bson_destroy(&pieces);
	bson_destroy(&empty);
}
