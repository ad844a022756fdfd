/*
 * points.c
 *		Build the expressions of the points of a bucket and of their readings.
 *
 * The first stage of a pipeline collects the points of each container, with
 * the rules of the unfolding, in a field of their own.  The expressions of
 * later stages count them, or give the readings of a column: its values
 * without declared missing values.
 *
 * Elements of arrays get empty keys here, because conversion %a numbers them.
 */
#include "core/query/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bson/template.h"

/* The field that holds the points of a container between the stages */
#define POINTS_FIELD "_mts%d"

/* ---- The points --------------------------------------------------------- */

/* How the points of a container are collected */
typedef struct Collector
{
	const MtsContainer *container;
	int nslots;
	int number_slot; /* whose keys are numbers that are times; or -1 */
	bool have_keys;  /* points are {k: keys, v: value}, not only the value */
	bool of_any;     /* documents, as MTS_POINTS_OF_DOCUMENTS */
	bool may_have_keys; /* the elements of [] may be in a subdocument */
} Collector;

/*
 * Append a name to the reference source, after a period.  Reference "$" has
 * no name yet and requires none.
 */
static void
append_path(char *source, const MtsStep *step)
{
	size_t len = strlen(source);

	snprintf(source + len, MTS_MAX_DOTTED - len, "%s%s", len > 1 ? "." : "",
			 step->name);
}

/* Write the reference to the value of an entry in a slot. */
static void
name_entry(const Collector *collector, const MtsStep *slot, int level,
		   char value[MTS_MAX_DOTTED])
{
	bool is_value = !collector->have_keys && mts_path_step_is_array(slot);

	snprintf(value, MTS_MAX_DOTTED, is_value ? "$$s%d" : "$$s%d.v", level);
}

/* Append the subdocument at source, or an empty one where there is none. */
static void
append_subdocument(const Collector *collector, const char *source,
				   bson_t *parent, const char *key)
{
	if (collector->of_any)
		mts_template_append(
			parent, key,
			"{$cond: [{$eq: [{$type: [%s]}, 'object']}, %s, {$literal: {}}]}",
			source, source);
	else
		mts_template_append(parent, key, "{$ifNull: [%s, {$literal: {}}]}",
							source);
}

/* Append the array at source, or an empty one where there is none. */
static void
append_array(const Collector *collector, const char *source, bson_t *parent,
			 const char *key)
{
	if (collector->of_any)
		mts_template_append(parent, key, "{$cond: [{$isArray: [%s]}, %s, []]}",
							source, source);
	else
		mts_template_append(parent, key, "{$ifNull: [%s, []]}", source);
}

/*
 * Append the entries of an array's slot, each {k: key, v: value}, or the
 * values alone where keys are not needed.
 */
static void
append_elements(const Collector *collector, const char *source, int level,
				bson_t *parent, const char *key)
{
	bson_t array = BSON_INITIALIZER;

	append_array(collector, source, &array, "");
	if (!collector->have_keys)
		mts_template_append(parent, key, "%b", &array);
	else
		mts_template_append(
			parent, key,
			"{$map: {input: {$range: [0, {$size: [%b]}]}, as: 'r%d',"
			" in: {k: {$toString: ['$$r%d']},"
			" v: {$arrayElemAt: [%s, '$$r%d']}}}}",
			&array, level, level, source, level);
	bson_destroy(&array);
}

/* Append the entries of a slot, as append_elements does. */
static void
append_entries(const Collector *collector, const MtsStep *slot,
			   const char *source, int level, bson_t *parent, const char *key)
{
	bson_t keys = BSON_INITIALIZER, elements = BSON_INITIALIZER;

	append_subdocument(collector, source, &keys, "");
	if (!mts_path_step_is_array(slot))
		mts_template_append(parent, key, "{$objectToArray: %b}", &keys);
	else if (!collector->may_have_keys || slot->kind != MTS_STEP_ELEMENT)
		append_elements(collector, source, level, parent, key);
	else
	{
		append_elements(collector, source, level, &elements, "");
		mts_template_append(
			parent, key,
			collector->have_keys
				? "{$cond: [{$isArray: [%s]}, %b, {$objectToArray: %b}]}"
				: "{$cond: [{$isArray: [%s]}, %b,"
				  " {$map: {input: {$objectToArray: %b}, in: '$$this.v'}}]}",
			source, &elements, &keys);
	}
	bson_destroy(&keys);
	bson_destroy(&elements);
}

/*
 * Append the entries of a slot that can hold points.  In the last slot, an
 * empty document is not a point, nor is null where points are documents.
 */
static void
append_filtered_entries(const Collector *collector, const MtsStep *slot,
						const char *source, int level, bson_t *parent,
						const char *key)
{
	bool is_last = level == collector->nslots - 1;
	bson_t input = BSON_INITIALIZER, conditions = BSON_INITIALIZER;
	char value[MTS_MAX_DOTTED];
	char regex[MTS_MAX_KEY_REGEX];

	name_entry(collector, slot, level, value);
	append_entries(collector, slot, source, level, &input, "");
	if (slot->kind == MTS_STEP_UNIT_KEY || level == collector->number_slot)
	{
		mts_slot_key_regex(slot, regex);
		mts_template_append(&conditions, "",
							"{$regexMatch: {input: '$$s%d.k', regex: %s}}",
							level, regex);
	}
	if (is_last)
		mts_template_append(&conditions, "", "{$ne: [%s, {$literal: {}}]}",
							value);
	if (is_last && !collector->container->is_value)
		mts_template_append(&conditions, "", "{$ne: [%s, null]}", value);
	if (is_last && collector->container->is_tuple)
		mts_template_append(&conditions, "", "{$ne: [%s, []]}", value);
	mts_template_append(parent, key,
						"{$filter: {input: %b, as: 's%d', cond: {$and: %a}}}",
						&input, level, &conditions);
	bson_destroy(&input);
	bson_destroy(&conditions);
}

/* Append {k: the keys of all levels, v: value}. */
static void
append_keyed(int level, bson_t *parent, const char *key)
{
	bson_t keys = BSON_INITIALIZER;

	for (int i = 0; i <= level; i++)
	{
		mts_template_append(&keys, "", "'$$s%d.k'", i);
		mts_template_append(&keys, "", "'.'");
	}
	mts_template_append(parent, key, "{k: {$concat: %a}, v: '$$s%d.v'}", &keys,
						level);
	bson_destroy(&keys);
}

/*
 * Append an array of the points under the expression source.  step and level
 * are the next path step and slot level.  source is a buffer and is extended.
 */
static void
append_points(const Collector *collector, int step, int level, char *source,
			  bson_t *parent, const char *key)
{
	const MtsStep *slot = &collector->container->path->steps[step];
	bool is_last = level == collector->nslots - 1;
	bson_t input = BSON_INITIALIZER, in = BSON_INITIALIZER;
	char value[MTS_MAX_DOTTED];

	for (; !mts_path_step_is_slot(slot); slot++, step++)
		append_path(source, slot);
	if (strcmp(source, "$") == 0)
		strcpy(source, "$$ROOT");
	name_entry(collector, slot, level, value);
	append_filtered_entries(collector, slot, source, level, &input, "");
	if (!is_last)
	{
		append_points(collector, step + 1, level + 1, value, &in, "");
		mts_template_append(
			parent, key,
			"{$reduce: {input: {$map: {input: %b, as: 's%d', in: %b}},"
			" initialValue: [], in: {$concatArrays: ['$$value', '$$this']}}}",
			&input, level, &in);
	}
	else if (!collector->have_keys && mts_path_step_is_array(slot))
		mts_template_append(parent, key, "%b", &input);
	else
	{
		if (collector->have_keys)
			append_keyed(level, &in, "");
		else
			mts_template_append(&in, "", "%s", value);
		mts_template_append(parent, key,
							"{$map: {input: %b, as: 's%d', in: %b}}", &input,
							level, &in);
	}
	bson_destroy(&input);
	bson_destroy(&in);
}

/*
 * mts_points_collect
 *		Append the fields that hold the points of each container.
 *
 * They are those of a $set or $project stage.  A container of several has its
 * points with their keys.
 */
void
mts_points_collect(const MtsLayout *layout, MtsPointsOf of, bson_t *set)
{
	bool of_any = of == MTS_POINTS_OF_DOCUMENTS;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		Collector collector = {&layout->containers[i],
							   layout->nslots,
							   mts_layout_number_slot(layout),
							   layout->ncontainers > 1,
							   of_any,
							   of_any && mts_layout_has_bounds(layout)};
		char source[MTS_MAX_DOTTED] = "$";
		char name[16];

		snprintf(name, sizeof(name), POINTS_FIELD, i);
		append_points(&collector, 0, 0, source, set, name);
	}
}

/* mts_points_names: append the names of these fields to an array. */
void
mts_points_names(const MtsLayout *layout, bson_t *names)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		char name[16];

		snprintf(name, sizeof(name), POINTS_FIELD, i);
		mts_template_append(names, "", "%s", name);
	}
}

/* ---- The readings ------------------------------------------------------- */

/* The steps of a column behind its last slot */
static const MtsStep *
find_tail(const MtsLayout *layout, const MtsColumn *column, int *nsteps)
{
	int skip = layout->containers[column->container].nsteps;

	*nsteps = column->path.nsteps - skip;
	return column->path.steps + skip;
}

/*
 * mts_points_reach_column
 *		Tell whether the values of a column of the points can be expressed.
 *
 * No name on its path is empty, begins with a dollar sign or has a period.
 * Only the first step behind the last slot may be an index.
 */
bool
mts_points_reach_column(const MtsLayout *layout, const MtsColumn *column)
{
	int ntail;
	const MtsStep *tail = find_tail(layout, column, &ntail);

	for (int i = 0; i < column->path.nsteps; i++)
	{
		const MtsStep *step = &column->path.steps[i];

		if (!mts_path_step_is_slot(step) &&
			!mts_path_step_is_addressable(step) &&
			!(step->may_be_index && step == tail && ntail == 1))
			return false;
	}
	return true;
}

/* Append a column's value in the point that is variable c. */
static void
append_value(const MtsLayout *layout, const MtsColumn *column, bson_t *parent,
			 const char *key)
{
	char source[MTS_MAX_DOTTED];
	int ntail;
	const MtsStep *tail = find_tail(layout, column, &ntail);

	strcpy(source, layout->ncontainers > 1 ? "$$c.v" : "$$c");
	if (ntail > 0 && tail->may_be_index)
	{
		mts_template_append(
			parent, key,
			"{$arrayElemAt: [{$cond: [{$isArray: [%s]}, %s, []]}, %d]}",
			source, source, atoi(tail->name));
		return;
	}
	for (int i = 0; i < ntail; i++)
		append_path(source, &tail[i]);
	mts_template_append(parent, key, "%s", source);
}

/* Append the points of a container that have a reading. */
static void
append_points_with_reading(const MtsLayout *layout, int container,
						   bson_t *parent, const char *key)
{
	bson_t any = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncolumns && layout->has_missing; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bson_value_t missing = mts_layout_missing_value(&column->missing);
		bson_t value = BSON_INITIALIZER;

		if (column->container == container && column->role == MTS_ROLE_VALUE)
		{
			append_value(layout, column, &value, "");
			mts_template_append(
				&any, "",
				column->missing.kind == MTS_MISSING_NONE
					? "{$and: [{$ne: [{$type: [%b]}, 'missing']}]}"
					: "{$and: [{$ne: [{$type: [%b]}, 'missing']},"
					  " {$ne: [%b, {$literal: %v}]}]}",
				&value, &value, &missing);
		}
		bson_destroy(&value);
	}
	if (layout->has_missing)
		mts_template_append(parent, key,
							"{$filter: {input: '$" POINTS_FIELD
							"', as: 'c', cond: {$or: %a}}}",
							container, &any);
	else
		mts_template_append(parent, key, "'$" POINTS_FIELD "'", container);
	bson_destroy(&any);
}

/*
 * mts_points_count
 *		Append the number of points that have a reading.
 *
 * A point with values in several containers counts once.
 */
void
mts_points_count(const MtsLayout *layout, bson_t *parent, const char *key)
{
	bson_t all = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		bson_t points = BSON_INITIALIZER;

		append_points_with_reading(layout, i, &points, "");
		mts_template_append(&all, "",
							layout->ncontainers == 1
								? "%b"
								: "{$map: {input: %b, as: 'c', in: '$$c.k'}}",
							&points);
		bson_destroy(&points);
	}
	mts_template_append(parent, key,
						layout->ncontainers == 1
							? "{$size: %a}"
							: "{$size: [{$setUnion: %a}]}",
						&all);
	bson_destroy(&all);
}

/* mts_points_readings: append an array of the readings of a column. */
void
mts_points_readings(const MtsLayout *layout, const MtsColumn *column,
					bson_t *parent, const char *key)
{
	bson_value_t missing = mts_layout_missing_value(&column->missing);
	bson_t value = BSON_INITIALIZER, values = BSON_INITIALIZER;

	append_value(layout, column, &value, "");
	mts_template_append(&values, "",
						"{$map: {input: '$" POINTS_FIELD
						"', as: 'c', in: %b}}",
						column->container, &value);
	if (column->missing.kind == MTS_MISSING_NONE)
		mts_template_append(parent, key, "%b", &values);
	else
		mts_template_append(
			parent, key,
			"{$filter: {as: 'x',"
			" cond: {$ne: ['$$x', {$literal: %v}]}, input: %b}}",
			&missing, &values);
	bson_destroy(&value);
	bson_destroy(&values);
}

/*
 * mts_points_aggregate
 *		Append the sum, minimum or maximum of a column's readings, which are
 *		variable v.
 *
 * NaN is the greatest value, as in PostgreSQL, though MongoDB sorts it first.
 * The sum of integers that 64 bits do not hold is a decimal.  A sum that
 * overflows is a double, which can be the rounded -2^63.
 */
void
mts_points_aggregate(const MtsColumn *column, MtsAggregateOf kind,
					 bson_t *parent, const char *key)
{
	switch (kind)
	{
		case MTS_SUM_OF:
			mts_template_append(
				parent, key,
				column->is_wide
					? "{$cond: [{$and: ["
					  "{$gt: [{$sum: '$$v'}, -9223372036854775808.0]},"
					  " {$lt: [{$sum: '$$v'}, 9223372036854775808.0]}]},"
					  " {$sum: '$$v'},"
					  " {$sum: {$map: {input: '$$v',"
					  " in: {$toDecimal: '$$this'}}}}]}"
					: "{$sum: '$$v'}");
			break;
		case MTS_MINIMUM_OF:
			/* the least value that is a number or, where none is, NaN */
			mts_template_append(parent, key,
								column->may_be_nan
									? "{$ifNull: [{$min: {$filter: {as: 'x',"
									  " cond: {$ne: ['$$x', {$literal: NaN}]},"
									  " input: '$$v'}}}, {$max: '$$v'}]}"
									: "{$min: '$$v'}");
			break;
		case MTS_MAXIMUM_OF:
			mts_template_append(
				parent, key,
				column->may_be_nan
					? "{$cond: [{$in: [NaN, '$$v']}, NaN, {$max: '$$v'}]}"
					: "{$max: '$$v'}");
			break;
	}
}
