/*
 * preaggregate.c
 *		Build the stages that compute the pre-aggregates of a bucket.
 *
 * The first stage collects the points of each container with the rules of the
 * unfolding.  The second stage ignores declared missing values.  NaN is the
 * greatest value, as in PostgreSQL, though MongoDB sorts it first.
 *
 * Elements of arrays get empty keys here, because conversion %a numbers them.
 */
#include "core/update/preaggregate.h"

#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/update/change.h"

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

/*
 * Append the entries of a slot, each {k: key, v: value}.  Those of an array
 * are the values alone where keys are not needed.
 */
static void
append_entries(const Collector *collector, const MtsStep *slot,
			   const char *source, int level, bson_t *parent, const char *key)
{
	if (!mts_path_step_is_array(slot))
		mts_template_append(
			parent, key, "{$objectToArray: {$ifNull: [%s, {$literal: {}}]}}",
			source);
	else if (!collector->have_keys)
		mts_template_append(parent, key, "{$ifNull: [%s, []]}", source);
	else
		mts_template_append(
			parent, key,
			"{$map: {input: {$range: [0, {$size: [{$ifNull: [%s, []]}]}]},"
			" as: 'r%d', in: {k: {$toString: ['$$r%d']},"
			" v: {$arrayElemAt: [%s, '$$r%d']}}}}",
			source, level, level, source, level);
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

/* ---- The pre-aggregates ------------------------------------------------- */

/*
 * mts_preaggregate_is_declared
 *		Return whether buckets have a count or pre-aggregates of a column.
 */
bool
mts_preaggregate_is_declared(const MtsLayout *layout)
{
	if (layout->count.is_set)
		return true;
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].sum.is_set || layout->columns[i].min.is_set ||
			layout->columns[i].max.is_set)
			return true;
	return false;
}

/* Write the reference to a column's value in the point that is variable c. */
static void
name_value(const MtsLayout *layout, const MtsColumn *column,
		   char source[MTS_MAX_DOTTED])
{
	MtsFieldValue tail;

	strcpy(source, layout->ncontainers > 1 ? "$$c.v" : "$$c");
	mts_change_tail(layout, column, &tail);
	for (int i = 0; i < tail.nsteps; i++)
		append_path(source, &tail.steps[i]);
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
		bson_value_t missing = mts_change_missing_value(&column->missing);
		char value[MTS_MAX_DOTTED];

		if (column->container != container || column->role != MTS_ROLE_VALUE)
			continue;
		name_value(layout, column, value);
		if (column->missing.kind == MTS_MISSING_NONE)
			mts_template_append(&any, "",
								"{$and: [{$ne: [{$type: [%s]}, 'missing']}]}",
								value);
		else
			mts_template_append(&any, "",
								"{$and: [{$ne: [{$type: [%s]}, 'missing']},"
								" {$ne: [%s, {$literal: %v}]}]}",
								value, value, &missing);
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
 * Append the number of points.  A point with values in several containers
 * counts once.
 */
static void
append_count(const MtsLayout *layout, bson_t *set)
{
	bson_t all = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];

	mts_path_dotted(layout->count.path.steps, layout->count.path.nsteps, path,
					sizeof(path));
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
	mts_template_append(set, path,
						layout->ncontainers == 1
							? "{$size: %a}"
							: "{$size: [{$setUnion: %a}]}",
						&all);
	bson_destroy(&all);
}

/* Append the readings of a column. */
static void
append_readings(const MtsLayout *layout, const MtsColumn *column,
				bson_t *parent, const char *key)
{
	bson_value_t missing = mts_change_missing_value(&column->missing);
	bson_t values = BSON_INITIALIZER;
	char value[MTS_MAX_DOTTED];

	name_value(layout, column, value);
	mts_template_append(&values, "",
						"{$map: {input: '$" POINTS_FIELD
						"', as: 'c', in: %s}}",
						column->container, value);
	if (column->missing.kind == MTS_MISSING_NONE)
		mts_template_append(parent, key, "%b", &values);
	else
		mts_template_append(
			parent, key,
			"{$filter: {as: 'x',"
			" cond: {$ne: ['$$x', {$literal: %v}]}, input: %b}}",
			&missing, &values);
	bson_destroy(&values);
}

/*
 * Append {field: expression of the readings, which are variable v}.  A minimum
 * or maximum of no reading is removed.  Otherwise the $min of a later update
 * would sort the stored null lower than every number.
 */
static void
append_aggregate(const MtsLayout *layout, const MtsColumn *column,
				 const MtsField *field, const char *expression, bson_t *set)
{
	bson_t readings = BSON_INITIALIZER, in = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];

	if (!field->is_set)
		return;
	mts_path_dotted(field->path.steps, field->path.nsteps, path, sizeof(path));
	append_readings(layout, column, &readings, "");
	mts_template_append(&in, "", expression);
	mts_template_append(set, path,
						field == &column->sum
							? "{$let: {vars: {v: %b}, in: %b}}"
							: "{$let: {vars: {v: %b},"
							  " in: {$ifNull: [%b, '$$REMOVE']}}}",
						&readings, &in);
	bson_destroy(&readings);
	bson_destroy(&in);
}

static void
append_aggregates(const MtsLayout *layout, const MtsColumn *column,
				  bson_t *set)
{
	/*
	 * The sum of integers that 64 bits do not hold is a decimal.  A sum that
	 * overflows is a double, which can be the rounded -2^63.
	 */
	append_aggregate(
		layout, column, &column->sum,
		column->is_wide
			? "{$cond: [{$and: ["
			  "{$gt: [{$sum: '$$v'}, -9223372036854775808.0]},"
			  " {$lt: [{$sum: '$$v'}, 9223372036854775808.0]}]},"
			  " {$sum: '$$v'},"
			  " {$sum: {$map: {input: '$$v', in: {$toDecimal: '$$this'}}}}]}"
			: "{$sum: '$$v'}",
		set);
	/* the least value that is a number or, where there is none, NaN */
	append_aggregate(layout, column, &column->min,
					 column->may_be_nan
						 ? "{$ifNull: [{$min: {$filter: {as: 'x',"
						   " cond: {$ne: ['$$x', {$literal: NaN}]},"
						   " input: '$$v'}}}, {$max: '$$v'}]}"
						 : "{$min: '$$v'}",
					 set);
	append_aggregate(layout, column, &column->max,
					 column->may_be_nan
						 ? "{$cond: [{$in: [NaN, '$$v']}, NaN, {$max: '$$v'}]}"
						 : "{$max: '$$v'}",
					 set);
}

/*
 * mts_preaggregate_stages
 *		Append the stages that compute the declared pre-aggregates, if any.
 *
 * The sum of no reading is 0; its minimum and maximum are absent.
 */
void
mts_preaggregate_stages(const MtsLayout *layout, bson_t *pipeline)
{
	bson_t points = BSON_INITIALIZER, set = BSON_INITIALIZER,
		   names = BSON_INITIALIZER;

	if (!mts_preaggregate_is_declared(layout))
		return;
	for (int i = 0; i < layout->ncontainers; i++)
	{
		Collector collector = {&layout->containers[i], layout->nslots,
							   mts_layout_number_slot(layout),
							   layout->ncontainers > 1};
		char source[MTS_MAX_DOTTED] = "$";
		char name[16];

		snprintf(name, sizeof(name), POINTS_FIELD, i);
		append_points(&collector, 0, 0, source, &points, name);
		mts_template_append(&names, "", "%s", name);
	}
	if (layout->count.is_set)
		append_count(layout, &set);
	for (int i = 0; i < layout->ncolumns; i++)
		append_aggregates(layout, &layout->columns[i], &set);
	mts_template_push(pipeline, "{$set: %o}", &points);
	mts_template_push(pipeline, "{$set: %o}", &set);
	mts_template_push(pipeline, "{$unset: %a}", &names);
	bson_destroy(&points);
	bson_destroy(&set);
	bson_destroy(&names);
}
