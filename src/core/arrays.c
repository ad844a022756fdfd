/*
 * arrays.c
 *		Which expression gives an array with these points changed?
 *
 * The array is put together again from slices of the stored one and from what
 * changes, level by level, so that the expression is no longer than what is
 * written.  An array whose indexes count is filled up to its whole length
 * first, so that every slot has its place.
 */
#include "core/expression.h"
#include "core/slot.h"
#include "core/write.h"

#include <stdio.h>
#include <string.h>

/* A document of what the columns of a container hold where nothing is read */
static void
append_vacancy(const MtsLayout *layout, int container, bson_t *parent,
			   const char *key)
{
	bson_value_t values[MTS_MAX_FIELDS];
	MtsWrite vacancy = {.values = values};
	bson_t literal;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		values[i] = (bson_value_t){.value_type = BSON_TYPE_EOD};
		if (column->container == container &&
			column->missing.kind != MTS_MISSING_NONE)
			values[i] = mts_missing_value(&column->missing);
	}
	bson_append_document_begin(parent, key, -1, &literal);
	mts_write_element(layout, container, &vacancy, &literal, "$literal");
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
append_shell(const MtsBucketWrite *bucket, int container, int level,
			 bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	int64_t index[MTS_MAX_SLOTS];
	int64_t end;
	MtsOperator map, range;
	bson_t empty;

	if (level == layout->nslots)
	{
		append_vacancy(layout, container, parent, key);
		return;
	}
	for (int i = 0; i < level; i++)
		index[i] = layout->slots[i]->base;
	if (!is_even(layout, level) ||
		!mts_slot_end(layout, bucket->start, index, level, &end))
	{
		bson_append_array_begin(parent, key, -1, &empty);
		bson_append_array_end(parent, &empty);
		return;
	}
	mts_op_begin(parent, key, "$map", &map);
	mts_list_begin(&map.inner, "input", "$range", &range);
	bson_append_int32(&range.inner, "0", -1, 0);
	bson_append_int64(&range.inner, "1", -1, end);
	mts_list_end(&map.inner, &range);
	append_shell(bucket, container, level + 1, &map.inner, "in");
	mts_op_end(parent, &map);
}

/* {$cond: [{$isArray: source}, source, []]} */
static void
append_array_or_empty(const char *source, bson_t *parent, const char *key)
{
	MtsOperator cond, is_array;
	bson_t empty;

	mts_list_begin(parent, key, "$cond", &cond);
	mts_list_begin(&cond.inner, "0", "$isArray", &is_array);
	mts_append_text(&is_array.inner, "0", source);
	mts_list_end(&cond.inner, &is_array);
	mts_append_text(&cond.inner, "1", source);
	bson_append_array_begin(&cond.inner, "2", -1, &empty);
	bson_append_array_end(&cond.inner, &empty);
	mts_list_end(parent, &cond);
}

/* The source, filled up to length with shells of the next level */
static void
append_filled(const MtsBucketWrite *bucket, int container, int level,
			  const char *source, int64_t length, bson_t *parent,
			  const char *key)
{
	MtsOperator let, concat, map, range, size;
	char var[8], ref[8];
	bson_t vars;

	snprintf(var, sizeof(var), "s%d", level);
	snprintf(ref, sizeof(ref), "$$s%d", level);
	mts_op_begin(parent, key, "$let", &let);
	bson_append_document_begin(&let.inner, "vars", -1, &vars);
	append_array_or_empty(source, &vars, var);
	bson_append_document_end(&let.inner, &vars);
	mts_list_begin(&let.inner, "in", "$concatArrays", &concat);
	mts_append_text(&concat.inner, "0", ref);
	mts_op_begin(&concat.inner, "1", "$map", &map);
	mts_list_begin(&map.inner, "input", "$range", &range);
	mts_list_begin(&range.inner, "0", "$size", &size);
	mts_append_text(&size.inner, "0", ref);
	mts_list_end(&range.inner, &size);
	bson_append_int64(&range.inner, "1", -1, length);
	mts_list_end(&map.inner, &range);
	append_shell(bucket, container, level + 1, &map.inner, "in");
	mts_op_end(&concat.inner, &map);
	mts_list_end(&let.inner, &concat);
	mts_op_end(parent, &let);
}

/* Does a column's value stay as it is? */
static bool
adds_nothing(const MtsWrite *write, int column)
{
	bson_type_t type = write->values[column].value_type;

	return type == BSON_TYPE_EOD ||
		   (type == BSON_TYPE_NULL && write->kind == MTS_ADD);
}

/* {$mergeObjects: [source, {name: value, ..}]}, subdocuments alike */
static void
append_merged(const MtsBucketWrite *bucket, int container,
			  const MtsWrite *write, const MtsStep *of, int depth,
			  const char *source, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	MtsOperator merge;
	bson_t fields;

	mts_list_begin(parent, key, "$mergeObjects", &merge);
	mts_append_text(&merge.inner, "0", source);
	bson_append_document_begin(&merge.inner, "1", -1, &fields);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		char inner[MTS_MAX_PATH + 8];
		MtsPlaced tail;
		bool belongs = true;

		if (column->container != container || adds_nothing(write, i) ||
			mts_write_tail(layout, column, &tail) <= depth)
			continue;
		for (int j = 0; j < depth; j++)
			belongs &= mts_step_same_name(&tail.steps[j], &of[j]);
		if (!belongs || bson_has_field(&fields, tail.steps[depth].name))
			continue;
		snprintf(inner, sizeof(inner), "%s.%s", source,
				 tail.steps[depth].name);
		if (tail.nsteps == depth + 1)
			mts_update_append_value(write, column, &write->values[i], inner,
									&fields, tail.steps[depth].name);
		else
			append_merged(bucket, container, write, tail.steps, depth + 1,
						  inner, &fields, tail.steps[depth].name);
	}
	bson_append_document_end(&merge.inner, &fields);
	mts_list_end(parent, &merge);
}

/* What the last slot holds after a write; source is what it held before */
static void
append_leaf(const MtsBucketWrite *bucket, int container, const MtsWrite *write,
			const char *source, bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;

	if (write->kind == MTS_CLEAR)
	{
		append_vacancy(layout, container, parent, key);
		return;
	}
	if (!layout->containers[container].is_value)
	{
		append_merged(bucket, container, write, NULL, 0, source, parent, key);
		return;
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].container != container)
			continue;
		if (adds_nothing(write, i))
			mts_append_text(parent, key, source);
		else
			mts_update_append_value(write, &layout->columns[i],
									&write->values[i], source, parent, key);
	}
}

/* Does a write take the place of a whole value, whatever it was? */
static bool
is_constant(const MtsBucketWrite *bucket, int container, int level,
			const MtsWrite *write)
{
	const MtsLayout *layout = bucket->layout;

	if (level + 1 < layout->nslots)
		return false;
	if (write->kind == MTS_CLEAR)
		return true;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == container &&
			!adds_nothing(write, i))
			return layout->containers[container].is_value &&
				   (write->kind == MTS_PUT ||
					layout->columns[i].role != MTS_ROLE_VALUE);
	return false;
}

/* [what stands at an index after these writes], with its old value as $$e */
static void
append_replaced(const MtsBucketWrite *bucket, int container, int level,
				int64_t index, const MtsWrite *const *writes, int n,
				bson_t *parent, const char *key)
{
	char array[8], var[8], ref[8];
	MtsOperator let, at;
	bson_t list, vars;

	snprintf(array, sizeof(array), "$$a%d", level);
	snprintf(var, sizeof(var), "e%d", level);
	snprintf(ref, sizeof(ref), "$$e%d", level);
	bson_append_array_begin(parent, key, -1, &list);
	if (is_constant(bucket, container, level, writes[0]))
	{
		append_leaf(bucket, container, writes[0], NULL, &list, "0");
		bson_append_array_end(parent, &list);
		return;
	}
	mts_op_begin(&list, "0", "$let", &let);
	bson_append_document_begin(&let.inner, "vars", -1, &vars);
	mts_list_begin(&vars, var, "$arrayElemAt", &at);
	mts_append_text(&at.inner, "0", array);
	bson_append_int64(&at.inner, "1", -1, index);
	mts_list_end(&vars, &at);
	bson_append_document_end(&let.inner, &vars);
	if (level + 1 < bucket->layout->nslots)
		mts_array_expression(bucket, container, level + 1, ref, writes, n,
							 &let.inner, "in");
	else
		append_leaf(bucket, container, writes[0], ref, &let.inner, "in");
	mts_op_end(&list, &let);
	bson_append_array_end(parent, &list);
}

/* {$slice: [array, from, n]}, unless it is empty */
static void
append_slice(int level, int64_t from, int64_t to, bson_t *list, uint32_t *n)
{
	char array[8], key[16];
	MtsOperator slice;

	if (from >= to)
		return;
	snprintf(array, sizeof(array), "$$a%d", level);
	snprintf(key, sizeof(key), "%u", (*n)++);
	mts_list_begin(list, key, "$slice", &slice);
	mts_append_text(&slice.inner, "0", array);
	bson_append_int64(&slice.inner, "1", -1, from);
	bson_append_int64(&slice.inner, "2", -1, to - from);
	mts_list_end(list, &slice);
}

/* The slices between the changed indexes, and what stands at those */
static void
append_pieces(const MtsBucketWrite *bucket, int container, int level,
			  const MtsWrite *const *writes, int n, bson_t *list)
{
	bool is_element = bucket->layout->slots[level]->kind == MTS_STEP_ELEMENT;
	int64_t from = 0;
	uint32_t pieces = 0;
	char key[16];
	int i = 0;

	while (i < n)
	{
		int64_t index = writes[i]->index[level];
		int first = i;

		while (i < n && writes[i]->index[level] == index)
			i++;
		append_slice(level, from, index, list, &pieces);
		from = index + 1;
		if (is_element && writes[first]->kind == MTS_CLEAR)
			continue;
		snprintf(key, sizeof(key), "%u", pieces++);
		append_replaced(bucket, container, level, index, writes + first,
						i - first, list, key);
	}
	append_slice(level, from, INT32_MAX, list, &pieces);
}

/*
 * mts_array_expression
 *		Append, as key, what becomes of an array at a level of slots.
 *
 * source is a reference to it, "$path" or "$$variable"; the writes share the
 * slots above.
 */
void
mts_array_expression(const MtsBucketWrite *bucket, int container, int level,
					 const char *source, const MtsWrite *const *writes, int n,
					 bson_t *parent, const char *key)
{
	const MtsLayout *layout = bucket->layout;
	MtsOperator let, concat;
	char var[8];
	bson_t vars;
	int64_t length;

	if (layout->slots[level]->kind == MTS_STEP_ELEMENT && bucket->is_insert)
	{
		mts_array_pushed(bucket, container, writes, n, source, parent, key);
		return;
	}
	snprintf(var, sizeof(var), "a%d", level);
	mts_op_begin(parent, key, "$let", &let);
	bson_append_document_begin(&let.inner, "vars", -1, &vars);
	if (bucket->is_insert &&
		mts_slot_end(layout, bucket->start, writes[0]->index, level, &length))
		append_filled(bucket, container, level, source, length, &vars, var);
	else
		append_array_or_empty(source, &vars, var);
	bson_append_document_end(&let.inner, &vars);
	mts_list_begin(&let.inner, "in", "$concatArrays", &concat);
	append_pieces(bucket, container, level, writes, n, &concat.inner);
	mts_list_end(&let.inner, &concat);
	mts_op_end(parent, &let);
}
