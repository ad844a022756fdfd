/*
 * preaggregate.c
 *		Append the stages that compute a bucket's pre-aggregates.
 *
 * The first stage collects the points of each container as the unfolding sees
 * them: keys that are not numbers, empty subdocuments and what means "no
 * reading" are not points.  NaN is the greatest value, as in PostgreSQL; in
 * MongoDB it is the least.
 */
#include "core/update/preaggregate.h"

#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/update/change.h"

/* The keys by which a slot of units counts */
#define NUMBER_PATTERN "^(0|-?[1-9][0-9]*)$"

/* The field that holds the points of a container between the stages */
#define POINTS "_mts%d"

/* ---- The points --------------------------------------------------------- */

static void
append_path(char *source, const MtsStep *step)
{
	size_t len = strlen(source);

	snprintf(source + len, MTS_MAX_DOTTED - len, "%s%s", len > 1 ? "." : "",
			 step->name);
}

/* The entries of a level, each {k: key, v: value} or, bare, the value */
static void
append_entries(const MtsStep *slot, const char *source, int level, bool bare,
			   bson_t *parent, const char *key)
{
	if (!mts_path_step_is_array(slot))
		mts_template_append(
			parent, key, "{$objectToArray: {$ifNull: [%s, {$literal: {}}]}}",
			source);
	else if (bare)
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
 * The entries that can hold points.  last is the container whose last slot
 * this is, or NULL: then a document without fields is not a point, nor is null
 * where points are documents.
 */
static void
append_slots(const MtsStep *slot, const char *source, int level, bool bare,
			 const MtsContainer *last, bson_t *parent, const char *key)
{
	bson_t input = BSON_INITIALIZER, conditions = BSON_INITIALIZER;
	char value[16];

	snprintf(value, sizeof(value), bare ? "$$s%d" : "$$s%d.v", level);
	append_entries(slot, source, level, bare, &input, "");
	if (slot->kind == MTS_STEP_UNIT_KEY)
		mts_template_append(&conditions, "",
							"{$regexMatch: {input: '$$s%d.k', regex: %s}}",
							level, NUMBER_PATTERN);
	if (last)
		mts_template_append(&conditions, "", "{$ne: [%s, {$literal: {}}]}",
							value);
	if (last && !last->is_value)
		mts_template_append(&conditions, "", "{$ne: [%s, null]}", value);
	mts_template_append(parent, key,
						"{$filter: {input: %b, as: 's%d', cond: {$and: %a}}}",
						&input, level, &conditions);
	bson_destroy(&input);
	bson_destroy(&conditions);
}

/* {k: the keys of all levels, v: value} */
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

/* The points of a container from a step and level of slots on */
static void
append_points(const MtsContainer *container, int step, int level, int nslots,
			  bool keyed, char *source, bson_t *parent, const char *key)
{
	const MtsStep *steps = container->path->steps;
	bool is_last = level == nslots - 1;
	bson_t input = BSON_INITIALIZER, in = BSON_INITIALIZER;
	char value[MTS_MAX_DOTTED];
	bool bare;

	while (!mts_path_step_is_slot(&steps[step]))
		append_path(source, &steps[step++]);
	bare = !keyed && mts_path_step_is_array(&steps[step]);
	snprintf(value, sizeof(value), bare ? "$$s%d" : "$$s%d.v", level);
	append_slots(&steps[step], source, level, bare, is_last ? container : NULL,
				 &input, "");
	if (!is_last)
		append_points(container, step + 1, level + 1, nslots, keyed, value,
					  &in, "");
	else if (keyed)
		append_keyed(level, &in, "");
	else
		mts_template_append(&in, "", "%s", value);
	if (is_last && bare)
		mts_template_append(parent, key, "%b", &input);
	else
		mts_template_append(
			parent, key,
			is_last
				? "{$map: {input: %b, as: 's%d', in: %b}}"
				: "{$reduce: {input: {$map: {input: %b, as: 's%d', in: %b}},"
				  " initialValue: [],"
				  " in: {$concatArrays: ['$$value', '$$this']}}}",
			&input, level, &in);
	bson_destroy(&input);
	bson_destroy(&in);
}

/* ---- The pre-aggregates ------------------------------------------------- */

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

/* Name a column's value in a point that is the variable c. */
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

/* The points of a container in which a column has a reading */
static void
append_readable(const MtsLayout *layout, int container, bson_t *parent,
				const char *key)
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
		mts_template_append(&any, "",
							column->missing.kind == MTS_MISSING_NONE
								? "{$and: [{$ne: [{$type: [%s]}, 'missing']}]}"
								: "{$and: [{$ne: [{$type: [%s]}, 'missing']},"
								  " {$ne: [%s, {$literal: %v}]}]}",
							value, value, &missing);
	}
	mts_template_append(parent, key,
						layout->has_missing ? "{$filter: {input: '$" POINTS
											  "', as: 'c', cond: {$or: %a}}}"
											: "'$" POINTS "'",
						container, &any);
	bson_destroy(&any);
}

/* {count: how many points there are} */
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

		append_readable(layout, i, &points, "");
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

/* The values of a column that are readings */
static void
append_readings(const MtsLayout *layout, const MtsColumn *column,
				bson_t *parent, const char *key)
{
	bson_value_t missing = mts_change_missing_value(&column->missing);
	bson_t values = BSON_INITIALIZER;
	char value[MTS_MAX_DOTTED];

	name_value(layout, column, value);
	mts_template_append(&values, "",
						"{$map: {input: '$" POINTS "', as: 'c', in: %s}}",
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
 * {field: {$let: {vars: {v: the readings}, in: expression}}}.  A minimum or
 * maximum of no reading is removed: null would be the least value for $min.
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
	/* the sum of integers that 64 bits do not hold is a decimal */
	append_aggregate(
		layout, column, &column->sum,
		column->is_wide
			? "{$cond: [{$lt: [{$abs: [{$sum: '$$v'}]}, 9223372036854775808.0]},"
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

	for (int i = 0; i < layout->ncontainers; i++)
	{
		char source[MTS_MAX_DOTTED] = "$";
		char name[16];

		snprintf(name, sizeof(name), POINTS, i);
		append_points(&layout->containers[i], 0, 0, layout->nslots,
					  layout->ncontainers > 1, source, &points, name);
		mts_template_append(&names, "", "%s", name);
	}
	if (layout->count.is_set)
		append_count(layout, &set);
	for (int i = 0; i < layout->ncolumns; i++)
		append_aggregates(layout, &layout->columns[i], &set);
	if (mts_preaggregate_is_declared(layout))
	{
		mts_template_push(pipeline, "{$set: %o}", &points);
		mts_template_push(pipeline, "{$set: %o}", &set);
		mts_template_push(pipeline, "{$unset: %a}", &names);
	}
	bson_destroy(&points);
	bson_destroy(&set);
	bson_destroy(&names);
}
