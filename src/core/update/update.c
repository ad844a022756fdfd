/*
 * update.c
 *		Build the update that stores, changes or removes points of a bucket.
 *
 * A plain update has $set, $push or $inc of new points, and $inc, $min and
 * $max of their pre-aggregates.  A pipeline computes the new fields from the
 * stored ones.  Changed or removed points, arrays side by side and arrays by
 * index require it, and more (see mts_update_needs_pipeline).
 */
#include "core/update/update.h"

#include <string.h>

#include "core/bson/template.h"
#include "core/update/arrays.h"
#include "core/update/preaggregate.h"

/* Return whether an extreme can be NaN, which $min and $max sort first. */
static bool
has_nan_extremes(const MtsLayout *layout)
{
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->may_be_nan && (column->min.is_set || column->max.is_set))
			return true;
	}
	return false;
}

/*
 * mts_update_needs_pipeline
 *		Return whether new points must be written by a pipeline.
 */
bool
mts_update_needs_pipeline(const MtsLayout *layout)
{
	int array = mts_change_array_level(layout);
	/* $inc keeps a sum right if a slot is written twice, but not these */
	bool is_per_point = layout->count.is_set;

	if (has_nan_extremes(layout) ||
		(array >= 0 && layout->slots[array]->kind == MTS_STEP_UNIT_INDEX))
		return true;
	if (layout->write_mode == MTS_WRITE_PUSH)
		return layout->ncontainers > 1;
	if (layout->write_mode != MTS_WRITE_INCREMENT)
		return mts_preaggregate_is_declared(layout) &&
			   !layout->assume_write_once;
	if (layout->time_kind == MTS_TIME_POINT)
		return true; /* the time is set, not added to */
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		/* $inc would add to what means "no reading" */
		if (column->missing.kind != MTS_MISSING_NONE &&
			!(column->missing.kind == MTS_MISSING_NUMBER &&
			  column->missing.number == 0))
			return true;
		is_per_point |= column->min.is_set || column->max.is_set;
	}
	return is_per_point && !layout->assume_write_once;
}

/* From this number of slots on, $unset is slower than another stage */
#define LARGE_REMOVAL 1000

/* ---- Plain updates ------------------------------------------------------ */

/* Append {op: {dotted path: value, ..}}, unless there are no fields. */
static void
append_operator(bson_t *update, const char *op, MtsFields fields)
{
	bson_t doc;

	if (fields.n == 0)
		return;
	bson_append_document_begin(update, op, -1, &doc);
	mts_change_append_fields(fields, &doc);
	bson_append_document_end(update, &doc);
}

/*
 * Return the changes from number first on that have the same path, as far as
 * nsteps steps of their container, and write that path.
 */
static MtsBucketChange
find_part(const MtsBucketChange *bucket, int first, const MtsStep *steps,
		  int nsteps, char path[MTS_MAX_DOTTED])
{
	MtsBucketChange part = *bucket;
	char next[MTS_MAX_DOTTED];

	part.changes += first;
	mts_change_path(steps, nsteps, part.changes[0], path);
	for (part.n = 1; first + part.n < bucket->n; part.n++)
	{
		mts_change_path(steps, nsteps, part.changes[part.n], next);
		if (strcmp(path, next) != 0)
			break;
	}
	return part;
}

/* Append {dotted path: value} for each value of the points. */
static void
append_values(const MtsBucketChange *bucket, bool skip_null, bson_t *doc)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < bucket->n; i++)
		for (int j = 0; j < layout->ncolumns; j++)
		{
			const MtsColumn *column = &layout->columns[j];
			const bson_value_t *value = &bucket->changes[i]->values[j];
			size_t len;

			if (column->container < 0 || value->value_type == BSON_TYPE_EOD ||
				(skip_null && value->value_type == BSON_TYPE_NULL))
				continue;
			len = mts_change_path(column->path.steps, column->path.nsteps,
								  bucket->changes[i], path);
			bson_append_value(doc, path, (int) len, value);
		}
}

/* Append {array: {$each: [points]}} for each array that gets points. */
static void
append_pushes(const MtsBucketChange *bucket, bson_t *doc)
{
	const MtsContainer *container = &bucket->layout->containers[0];
	MtsBucketChange part;

	for (int first = 0; first < bucket->n; first += part.n)
	{
		bson_t points = BSON_INITIALIZER;
		char path[MTS_MAX_DOTTED];

		part = find_part(bucket, first, container->path->steps,
						 container->nsteps - 1, path);
		for (int i = 0; i < part.n; i++)
			mts_change_element(part.layout, 0, part.changes[i], &points, "");
		mts_template_append(doc, path, "{$each: %a}", &points);
		bson_destroy(&points);
	}
}

/*
 * mts_update_plain
 *		Append the operators that store new points.
 */
void
mts_update_plain(const MtsBucketChange *bucket, bson_t *update)
{
	bool is_push = bucket->layout->write_mode == MTS_WRITE_PUSH;
	bool adds = bucket->layout->write_mode == MTS_WRITE_INCREMENT;
	bson_t doc;

	if (!adds)
	{
		bson_append_document_begin(update, is_push ? "$push" : "$set", -1,
								   &doc);
		if (is_push)
			append_pushes(bucket, &doc);
		else
			append_values(bucket, false, &doc);
		bson_append_document_end(update, &doc);
	}
	append_operator(update, "$setOnInsert", bucket->attributes);
	append_operator(update, "$min", bucket->lows);
	append_operator(update, "$max", bucket->highs);
	if (!adds)
	{
		append_operator(update, "$inc", bucket->sums);
		return;
	}
	bson_append_document_begin(update, "$inc", -1, &doc);
	append_values(bucket, true, &doc);
	mts_change_append_fields(bucket->sums, &doc);
	bson_append_document_end(update, &doc);
}

/* ---- Pipelines ---------------------------------------------------------- */

/* Append source + value; the value alone if source is not a reading. */
static void
append_sum(const MtsColumn *column, const char *source,
		   const bson_value_t *value, bson_t *parent, const char *key)
{
	bson_value_t missing = mts_layout_missing_value(&column->missing);
	bson_t conditions = BSON_INITIALIZER;

	mts_template_append(
		&conditions, "",
		"{$in: [{$type: [%s]}, ['int', 'long', 'double', 'decimal']]}",
		source);
	if (column->missing.kind == MTS_MISSING_NUMBER)
		mts_template_append(&conditions, "", "{$ne: [%s, {$literal: %v}]}",
							source, &missing);
	mts_template_append(
		parent, key, "{$add: [{$cond: [{$and: %a}, %s, 0]}, {$literal: %v}]}",
		&conditions, source, value);
	bson_destroy(&conditions);
}

/*
 * mts_update_append_value
 *		Append the expression of a changed value: a literal, or its sum with
 *		the source.
 */
void
mts_update_append_value(const MtsChange *change, const MtsColumn *column,
						const bson_value_t *value, const char *source,
						bson_t *parent, const char *key)
{
	bson_t literal;

	if (change->kind == MTS_CHANGE_ADD && column->role == MTS_ROLE_VALUE)
	{
		append_sum(column, source, value, parent, key);
		return;
	}
	/* without a template, because pipelines consist mostly of literals */
	bson_append_document_begin(parent, key, -1, &literal);
	bson_append_value(&literal, "$literal", 8, value);
	bson_append_document_end(parent, &literal);
}

/* Append the values of a point whose slots are all keys. */
static void
append_key_values(const MtsBucketChange *bucket, const MtsChange *change,
				  bson_t *set)
{
	const MtsLayout *layout = bucket->layout;
	char source[MTS_MAX_DOTTED + 1] = "$";

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const bson_value_t *value = &change->values[i];
		bson_value_t missing;

		if (column->container < 0)
			continue;
		if (change->kind == MTS_CHANGE_REMOVE)
		{
			if (column->missing.kind == MTS_MISSING_NONE)
				continue;
			missing = mts_layout_missing_value(&column->missing);
			value = &missing;
		}
		else if (value->value_type == BSON_TYPE_EOD ||
				 (change->kind == MTS_CHANGE_ADD &&
				  value->value_type == BSON_TYPE_NULL))
			continue;
		mts_change_path(column->path.steps, column->path.nsteps, change,
						source + 1);
		mts_update_append_value(change, column, value, source, set,
								source + 1);
	}
}

/*
 * Append a stage that removes all slots of a part, which are in one
 * subdocument.
 *
 * MongoDB looks for each path of $unset among all fields, so many paths in a
 * large subdocument take quadratic time.  Here each value becomes an array of
 * one value, the removed ones become empty arrays, and the others are kept.
 */
static void
append_removal(const MtsBucketChange *part, const MtsContainer *container,
			   bson_t *pipeline)
{
	bson_t removed = BSON_INITIALIZER;
	char path[MTS_MAX_DOTTED];
	size_t parent =
		mts_change_path(container->path->steps, container->nsteps - 1,
						part->changes[0], path);

	for (int i = 0; i < part->n; i++)
	{
		mts_change_path(container->path->steps, container->nsteps,
						part->changes[i], path);
		mts_template_append(&removed, path + parent + 1, "[]");
	}
	path[parent] = '\0';
	mts_template_push(
		pipeline,
		"{$set: {%s: {$arrayToObject: {$map: {"
		"input: {$filter: {"
		"input: {$objectToArray: {$mergeObjects: ["
		"{$arrayToObject: {$map: {input: {$objectToArray: '$%s'}, "
		"in: {k: '$$this.k', v: ['$$this.v']}}}}, {$literal: %o}]}}, "
		"cond: {$ne: ['$$this.v', []]}}}, "
		"in: {k: '$$this.k', v: {$arrayElemAt: ['$$this.v', 0]}}}}}}}",
		path, path, &removed);
	bson_destroy(&removed);
}

/* Tell whether a change removes its point. */
static bool
is_removal(const MtsChange *change)
{
	return change->kind == MTS_CHANGE_REMOVE;
}

/* Tell whether a part only removes points, and so many that it is large. */
static bool
is_large_removal(const MtsBucketChange *part)
{
	for (int i = 0; i < part->n; i++)
		if (!is_removal(part->changes[i]))
			return false;
	return part->n >= LARGE_REMOVAL;
}

/*
 * Append the paths of the slots that are removed from a container, but a stage
 * of its own where they are many in one subdocument.
 */
static void
append_container_removal(const MtsBucketChange *bucket,
						 const MtsContainer *container, bson_t *paths,
						 bson_t *pipeline)
{
	char path[MTS_MAX_DOTTED];
	MtsBucketChange part;

	for (int first = 0; first < bucket->n; first += part.n)
	{
		part = find_part(bucket, first, container->path->steps,
						 container->nsteps - 1, path);
		if (container->nsteps > 1 && is_large_removal(&part))
		{
			append_removal(&part, container, pipeline);
			continue;
		}
		for (int i = 0; i < part.n; i++)
		{
			if (!is_removal(part.changes[i]))
				continue;
			mts_change_path(container->path->steps, container->nsteps,
							part.changes[i], path);
			mts_template_append(paths, "", "%s", path);
		}
	}
}

/*
 * Append the stages that remove the fields of removed points.  If any column
 * has a missing value, append_key_values has set those, and only the columns
 * without one are unset.
 */
static void
append_unset(const MtsBucketChange *bucket, bson_t *pipeline)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];
	bson_t paths = BSON_INITIALIZER;

	for (int i = 0; i < layout->ncontainers && !layout->has_missing; i++)
		append_container_removal(bucket, &layout->containers[i], &paths,
								 pipeline);
	for (int i = 0; i < bucket->n && layout->has_missing; i++)
	{
		if (!is_removal(bucket->changes[i]))
			continue;
		for (int j = 0; j < layout->ncolumns; j++)
		{
			const MtsColumn *column = &layout->columns[j];

			if (column->container < 0 ||
				column->missing.kind != MTS_MISSING_NONE)
				continue;
			mts_change_path(column->path.steps, column->path.nsteps,
							bucket->changes[i], path);
			mts_template_append(&paths, "", "%s", path);
		}
	}
	if (!bson_empty(&paths))
		mts_template_push(pipeline, "{$unset: %a}", &paths);
	bson_destroy(&paths);
}

/* Append {array: expression} for each array of a container that changes. */
static void
append_arrays(const MtsBucketChange *bucket, int index, int level, bson_t *set)
{
	const MtsStep *steps = bucket->layout->containers[index].path->steps;
	MtsBucketChange part;
	char path[MTS_MAX_DOTTED + 1] = "$";
	int nsteps = 0;

	while (!mts_path_step_is_array(&steps[nsteps]))
		nsteps++;
	for (int first = 0; first < bucket->n; first += part.n)
	{
		part = find_part(bucket, first, steps, nsteps, path + 1);
		mts_arrays_expression(&part, index, level, path, set, path + 1);
	}
}

/*
 * Append the attributes.  They are set only if the container is missing,
 * because the bucket is new then; otherwise they stay as they are stored.
 */
static void
append_attributes(const MtsBucketChange *bucket, bson_t *set)
{
	const MtsContainer *container = &bucket->layout->containers[0];
	char holder[MTS_MAX_PATH];
	char path[MTS_MAX_PATH];

	mts_path_dotted(container->path->steps,
					mts_path_leading_names(container->path), holder,
					sizeof(holder));
	for (int i = 0; i < bucket->attributes.n; i++)
	{
		const MtsFieldValue *attribute = &bucket->attributes.items[i];

		mts_path_dotted(attribute->steps, attribute->nsteps, path,
						sizeof(path));
		mts_template_append(set, path,
							"{$cond: [{$eq: [{$type: ['$%s']}, 'missing']},"
							" {$literal: %v}, '$%s']}",
							holder, attribute->value, path);
	}
}

/*
 * Append {field: {op: [field, value]}}; op is $min or $max, which ignore a
 * field that is absent.
 */
static void
append_extremes(const char *op, MtsFields fields, bson_t *set)
{
	char path[MTS_MAX_PATH];

	for (int i = 0; i < fields.n; i++)
	{
		mts_path_dotted(fields.items[i].steps, fields.items[i].nsteps, path,
						sizeof(path));
		mts_template_append(set, path, "{%s: ['$%s', {$literal: %v}]}", op,
							path, fields.items[i].value);
	}
}

/*
 * mts_update_pipeline
 *		Append the stages that store, change or remove points.
 *
 * The last stages compute the pre-aggregates anew, from all points.
 */
void
mts_update_pipeline(const MtsBucketChange *bucket, bson_t *pipeline)
{
	int array = mts_change_array_level(bucket->layout);
	bson_t set = BSON_INITIALIZER;

	append_attributes(bucket, &set);
	append_extremes("$min", bucket->lows, &set);
	append_extremes("$max", bucket->highs, &set);
	if (array < 0)
		for (int i = 0; i < bucket->n; i++)
			append_key_values(bucket, bucket->changes[i], &set);
	else
		for (int i = 0; i < bucket->layout->ncontainers; i++)
			append_arrays(bucket, i, array, &set);
	if (!bson_empty(&set))
		mts_template_push(pipeline, "{$set: %o}", &set);
	bson_destroy(&set);
	if (array < 0)
		append_unset(bucket, pipeline);
	mts_preaggregate_stages(bucket->layout, pipeline);
}
