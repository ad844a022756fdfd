/*
 * arrays.c
 *		Append the expression of an array with points changed, or pushed to it.
 *
 * The array is put together again from slices of the stored one and from what
 * changes, level by level, so that the expression is no longer than what is
 * written.  An array whose indexes count is filled up to its whole length
 * first, so that every slot has its place.
 */
#include "core/update/arrays.h"

#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/update/update.h"

/* {$cond: ..}: the source, or an empty array where it is not one */
#define ARRAY_OR_EMPTY "{$cond: [{$isArray: [%s]}, %s, []]}"

/* A document of what the columns of a container hold where nothing is read */
static void
append_vacancy(const MtsLayout *layout, int container, bson_t *parent,
			   const char *key)
{
	bson_value_t values[MTS_MAX_FIELDS];
	MtsChange vacancy = {.values = values};
	bson_t literal;

	mts_change_empty_slot(layout, values);
	bson_append_document_begin(parent, key, -1, &literal);
	mts_change_element(layout, container, &vacancy, &literal, "$literal");
	bson_append_document_end(parent, &literal);
}

/* Do all arrays of this level have the same length? */
static bool
is_even(const MtsLayout *layout, int level)
{
	MtsSpan unit = layout->slots[level]->unit;
	MtsSpan enclosing =
		level > 0 ? layout->slots[level - 1]->unit : layout->span;
	int64_t length = enclosing.usecs;

	/* days have the same length where no clock is set */
	if (!layout->clock.to_instant && enclosing.months == 0)
		length += enclosing.days * MTS_DAY;
	return length > 0 && unit.usecs > 0 && length % unit.usecs == 0 &&
		   (level == 0 || is_even(layout, level - 1));
}

/* What stands in a slot of a level that nothing has been written to */
static void
append_shell(const MtsBucketChange *bucket, int container, int level,
			 bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t shell = BSON_INITIALIZER;
	int64_t index[MTS_MAX_SLOTS];
	int64_t end;

	for (int i = 0; i < level; i++)
		index[i] = layout->slots[i]->base;
	if (level == layout->nslots)
		append_vacancy(layout, container, parent, key);
	else if (!is_even(layout, level) ||
			 !mts_layout_slot_end(layout, bucket->start, index, level, &end))
		mts_template_append(parent, key, "[]");
	else
	{
		append_shell(bucket, container, level + 1, &shell, "");
		mts_template_append(parent, key,
							"{$map: {input: {$range: [0, %i]}, in: %b}}", end,
							&shell);
	}
	bson_destroy(&shell);
}

/* Does a column's value stay as it is? */
static bool
adds_nothing(const MtsChange *change, int column)
{
	bson_type_t type = change->values[column].value_type;

	return type == BSON_TYPE_EOD ||
		   (type == BSON_TYPE_NULL && change->kind == MTS_CHANGE_ADD);
}

/* {$mergeObjects: [source, {name: value, ..}]}, subdocuments alike */
static void
append_merged(const MtsBucketChange *bucket, int container,
			  const MtsChange *change, const MtsStep *of, int depth,
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

		if (column->container != container || adds_nothing(change, i) ||
			mts_change_tail(layout, column, &tail) <= depth)
			continue;
		for (int j = 0; j < depth; j++)
			belongs &= mts_path_step_same_name(&tail.steps[j], &of[j]);
		if (!belongs || bson_has_field(&fields, tail.steps[depth].name))
			continue;
		snprintf(inner, sizeof(inner), "%s.%s", source,
				 tail.steps[depth].name);
		if (tail.nsteps == depth + 1)
			mts_update_append_value(change, column, &change->values[i], inner,
									&fields, tail.steps[depth].name);
		else
			append_merged(bucket, container, change, tail.steps, depth + 1,
						  inner, &fields, tail.steps[depth].name);
	}
	mts_template_append(parent, key, "{$mergeObjects: [%s, %o]}", source,
						&fields);
	bson_destroy(&fields);
}

/* What the last slot holds after a change; source is what it held before */
static void
append_leaf(const MtsBucketChange *bucket, int container,
			const MtsChange *change, const char *source, bson_t *parent,
			const char *key)
{
	const MtsLayout *layout = bucket->layout;

	if (change->kind == MTS_CHANGE_REMOVE)
	{
		append_vacancy(layout, container, parent, key);
		return;
	}
	if (!layout->containers[container].is_value)
	{
		append_merged(bucket, container, change, NULL, 0, source, parent, key);
		return;
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].container != container)
			continue;
		if (adds_nothing(change, i))
			mts_template_append(parent, key, "%s", source);
		else
			mts_update_append_value(change, &layout->columns[i],
									&change->values[i], source, parent, key);
	}
}

/* Does a change take the place of a whole value, whatever it was? */
static bool
is_constant(const MtsBucketChange *bucket, int container, int level,
			const MtsChange *change)
{
	const MtsLayout *layout = bucket->layout;

	if (level + 1 < layout->nslots)
		return false;
	if (change->kind == MTS_CHANGE_REMOVE)
		return true;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == container &&
			!adds_nothing(change, i))
			return layout->containers[container].is_value &&
				   (change->kind == MTS_CHANGE_SET ||
					layout->columns[i].role != MTS_ROLE_VALUE);
	return false;
}

/* [what stands at an index after these changes], with its old value as $$e */
static void
append_replaced(const MtsBucketChange *bucket, int container, int level,
				const MtsChange *const *changes, int n, bson_t *pieces)
{
	bson_t element = BSON_INITIALIZER;
	char old[16];

	snprintf(old, sizeof(old), "$$e%d", level);
	if (level + 1 < bucket->layout->nslots)
		mts_arrays_expression(bucket, container, level + 1, old, changes, n,
							  &element, "");
	else
		append_leaf(bucket, container, changes[0], old, &element, "");
	if (is_constant(bucket, container, level, changes[0]))
		mts_template_append(pieces, "", "%a", &element);
	else
		mts_template_append(
			pieces, "",
			"[{$let: {vars: {e%d: {$arrayElemAt: ['$$a%d', %i]}}, in: %b}}]",
			level, level, changes[0]->index[level], &element);
	bson_destroy(&element);
}

/* {$slice: [array, from, n]}, unless it is empty */
static void
append_slice(int level, int64_t from, int64_t to, bson_t *pieces)
{
	if (from < to)
		mts_template_append(pieces, "", "{$slice: ['$$a%d', %i, %i]}", level,
							from, to - from);
}

/* The slices between the changed indexes, and what stands at those */
static void
append_pieces(const MtsBucketChange *bucket, int container, int level,
			  const MtsChange *const *changes, int n, bson_t *pieces)
{
	bool is_element = bucket->layout->slots[level]->kind == MTS_STEP_ELEMENT;
	int64_t from = 0;
	int i = 0;

	while (i < n)
	{
		int64_t index = changes[i]->index[level];
		int first = i;

		while (i < n && changes[i]->index[level] == index)
			i++;
		append_slice(level, from, index, pieces);
		from = index + 1;
		if (!is_element || changes[first]->kind != MTS_CHANGE_REMOVE)
			append_replaced(bucket, container, level, changes + first,
							i - first, pieces);
	}
	append_slice(level, from, INT32_MAX, pieces);
}

/*
 * An array with new elements behind the stored ones.  Nulls fill it up to the
 * length of the longest of the arrays that are read side by side.
 */
static void
append_pushed(const MtsBucketChange *bucket, int container,
			  const MtsChange *const *changes, int n, const char *source,
			  bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t lengths = BSON_INITIALIZER, elements = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *of = &layout->containers[i];
		char path[MTS_MAX_DOTTED];

		mts_change_path(of->path->steps, of->nsteps - 1, changes[0], path);
		mts_template_append(&lengths, "", "{$size: [{$ifNull: ['$%s', []]}]}",
							path);
	}
	for (int i = 0; i < n; i++)
		mts_change_element(layout, container, changes[i], &elements, "");
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
 *		Append, as key, what becomes of an array at a level of slots.
 *
 * source is a reference to it, "$path" or "$$variable"; the changes share the
 * slots above.
 */
void
mts_arrays_expression(const MtsBucketChange *bucket, int container, int level,
					  const char *source, const MtsChange *const *changes,
					  int n, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	bson_t array = BSON_INITIALIZER, pieces = BSON_INITIALIZER,
		   shell = BSON_INITIALIZER;
	int64_t length;

	if (layout->slots[level]->kind == MTS_STEP_ELEMENT &&
		bucket->points_are_new)
	{
		append_pushed(bucket, container, changes, n, source, parent, key);
		return;
	}
	if (bucket->points_are_new &&
		mts_layout_slot_end(layout, bucket->start, changes[0]->index, level,
							&length))
	{
		append_shell(bucket, container, level + 1, &shell, "");
		mts_template_append(
			&array, "",
			"{$let: {vars: {s%d: " ARRAY_OR_EMPTY "}, in:"
			" {$concatArrays: ['$$s%d', {$map: {input: {$range:"
			" [{$size: ['$$s%d']}, %i]}, in: %b}}]}}}",
			level, source, source, level, level, length, &shell);
	}
	else
		mts_template_append(&array, "", ARRAY_OR_EMPTY, source, source);
	append_pieces(bucket, container, level, changes, n, &pieces);
	mts_template_append(parent, key,
						"{$let: {vars: {a%d: %b}, in: {$concatArrays: %a}}}",
						level, &array, &pieces);
	bson_destroy(&array);
	bson_destroy(&pieces);
	bson_destroy(&shell);
}
