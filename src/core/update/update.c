/*
 * update.c
 *		Build the update that stores, changes or removes points of a bucket.
 *
 * A plain update has $set, $push or $inc of new points, and $inc, $min and
 * $max of their pre-aggregates.  A pipeline computes the new fields from the
 * stored ones.  Changed or removed points, arrays side by side, arrays by
 * index and attributes that are given require it, and more (see
 * mts_update_needs_pipeline).
 */
#include "core/update/update.h"

#include <string.h>

#include "core/bson/template.h"
#include "core/update/arrays.h"
#include "core/update/preaggregate.h"

/* Tell whether an extreme can be NaN, which $min and $max sort first. */
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
 * mts_update_is_computed
 *		Tell whether new points must be written by a pipeline, whatever the
 *		bucket has stored.
 */
bool
mts_update_is_computed(const MtsLayout *layout)
{
	int array = mts_change_array_level(layout);

	if (array >= 0 && layout->slots[array]->kind == MTS_STEP_UNIT_INDEX)
		return true;
	if (layout->write_mode == MTS_WRITE_PUSH)
		return layout->ncontainers > 1;
	if (layout->write_mode != MTS_WRITE_INCREMENT)
		return false;
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
	}
	return false;
}

/*
 * Tell whether a slot that is written twice makes pre-aggregates untrue, if
 * operators write it.
 */
static bool
counts_each_write(const MtsLayout *layout)
{
	/* $inc keeps a sum right, but not these */
	bool is_per_point = layout->count.is_set;

	if (layout->write_mode == MTS_WRITE_PUSH)
		return false;
	if (layout->write_mode != MTS_WRITE_INCREMENT)
		return mts_preaggregate_is_declared(layout);
	for (int i = 0; i < layout->ncolumns; i++)
		is_per_point |=
			layout->columns[i].min.is_set || layout->columns[i].max.is_set;
	return is_per_point;
}

/*
 * mts_update_needs_pipeline
 *		Tell whether new points must be written by a pipeline, as far as it is
 *		not known what the bucket has stored.
 */
bool
mts_update_needs_pipeline(const MtsLayout *layout)
{
	return mts_update_is_computed(layout) || has_nan_extremes(layout) ||
		   (counts_each_write(layout) && !layout->assume_write_once);
}

/*
 * mts_update_must_agree
 *		Tell whether the bucket must have an attribute, or none in its place.
 */
bool
mts_update_must_agree(const MtsBucketChange *bucket,
					  const MtsFieldValue *attribute)
{
	return bucket->attributes_agree &&
		   attribute->value->value_type != BSON_TYPE_NULL;
}

/* Tell whether an update is refused if the bucket has other attributes. */
static bool
checks_attributes(const MtsBucketChange *bucket)
{
	for (int i = 0; i < bucket->attributes.n; i++)
		if (mts_update_must_agree(bucket, &bucket->attributes.items[i]))
			return true;
	return false;
}

/*
 * mts_update_is_pipeline
 *		Tell whether a change of a bucket must be a pipeline.
 */
bool
mts_update_is_pipeline(const MtsBucketChange *bucket)
{
	return !bucket->points_are_new || bucket->may_overwrite ||
		   mts_update_needs_pipeline(bucket->layout) ||
		   checks_attributes(bucket);
}

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
			const bson_value_t *value =
				mts_change_value(bucket->changes[i], column);
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

/* From this number of slots on, $unset is slower than another stage */
#define LARGE_REMOVAL 1000

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
		const bson_value_t *value = mts_change_value(change, column);
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
 * Append a branch for each field that contains an attribute, which says what a
 * bucket has there instead of a subdocument: $set would replace it.  It may
 * replace null, which holds nothing.  checked has the fields that have a
 * branch.
 */
static void
append_parent_checks(const MtsBucketChange *bucket,
					 const MtsFieldValue *attribute, bson_t *checked,
					 bson_t *branches)
{
	char path[MTS_MAX_PATH];
	bson_iter_t iter;

	for (int n = 1; n < attribute->nsteps; n++)
	{
		MtsFieldValue rest = {attribute->steps + n, attribute->nsteps - n,
							  attribute->value};
		bson_t difference = BSON_INITIALIZER;
		bson_t row = BSON_INITIALIZER;

		mts_path_dotted(attribute->steps, n, path, sizeof(path));
		if (!bson_iter_init_find(&iter, checked, path))
		{
			bson_append_bool(checked, path, -1, true);
			mts_change_compose(&rest, 1, &row);
			mts_template_append(&difference, "field", "{$literal: %s}", path);
			if (!bucket->hides_stored)
				mts_template_append(&difference, "type", "{$type: ['$%s']}",
									path);
			mts_template_append(&difference, "row", "{$literal: %o}", &row);
			mts_template_push(branches,
							  "{case: {$not: [{$in: [{$type: ['$%s']},"
							  " ['object', 'missing', 'null']]}]}, then: %o}",
							  path, &difference);
		}
		bson_destroy(&row);
		bson_destroy(&difference);
	}
}

/* Append a branch that says how the bucket's value of an attribute differs. */
static void
append_value_check(const MtsBucketChange *bucket,
				   const MtsFieldValue *attribute, bson_t *branches)
{
	char path[MTS_MAX_PATH];
	bson_t difference = BSON_INITIALIZER;

	mts_path_dotted(attribute->steps, attribute->nsteps, path, sizeof(path));
	mts_template_append(&difference, "field", "{$literal: %s}", path);
	if (!bucket->hides_stored)
		mts_template_append(&difference, "bucket", "'$%s'", path);
	mts_template_append(&difference, "row", "{$literal: %v}",
						attribute->value);
	mts_template_push(branches,
					  "{case: {$not: [{$in: [{$ifNull: ['$%s', null]},"
					  " [null, {$literal: %v}]]}]}, then: %o}",
					  path, attribute->value, &difference);
	bson_destroy(&difference);
}

/*
 * Append the field _id, which stays as it is unless an attribute of the bucket
 * differs, or cannot be set.  Then it says so, and MongoDB refuses to change
 * an _id.  So the check and the update are one.
 */
static void
append_attribute_check(const MtsBucketChange *bucket, bson_t *set)
{
	bson_t branches = BSON_INITIALIZER;
	bson_t checked = BSON_INITIALIZER;

	for (int i = 0; i < bucket->attributes.n; i++)
	{
		const MtsFieldValue *attribute = &bucket->attributes.items[i];

		if (!mts_update_must_agree(bucket, attribute))
			continue;
		append_parent_checks(bucket, attribute, &checked, &branches);
		append_value_check(bucket, attribute, &branches);
	}
	if (!bson_empty(&branches))
		mts_template_append(set, "_id",
							"{$switch: {branches: %a, default: '$_id'}}",
							&branches);
	bson_destroy(&checked);
	bson_destroy(&branches);
}

/* Write the path of the field that holds all points: a bucket has it. */
static void
write_holder(const MtsLayout *layout, char holder[MTS_MAX_PATH])
{
	const MtsPath *path = layout->containers[0].path;

	mts_path_dotted(path->steps, mts_path_leading_names(path), holder,
					MTS_MAX_PATH);
}

/*
 * Append the value of the field at the first n names of an attribute's path,
 * in a new bucket: all attributes in it that need not agree are added to what
 * it has.  A parent that is not a subdocument stays as it is.
 */
static void
append_new_value(const MtsBucketChange *bucket, const MtsFieldValue *attribute,
				 int n, bson_t *parent, const char *key)
{
	const MtsFields *all = &bucket->attributes;
	bson_t fields = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];

	if (n == attribute->nsteps)
	{
		mts_template_append(parent, key, "{$literal: %v}", attribute->value);
		return;
	}
	for (int i = 0; i < all->n; i++)
	{
		const MtsFieldValue *item = &all->items[i];

		if (!mts_update_must_agree(bucket, item) &&
			mts_change_share(item, attribute, n - 1) &&
			!bson_has_field(&fields, item->steps[n].name))
			append_new_value(bucket, item, n + 1, &fields,
							 item->steps[n].name);
	}
	mts_path_dotted(attribute->steps, n, path, sizeof(path));
	mts_template_append(
		parent, key,
		"{$cond: [{$in: [{$type: ['$%s']}, ['object', 'missing']]},"
		" {$mergeObjects: ['$%s', %o]}, '$%s']}",
		path, path, &fields, path);
	bson_destroy(&fields);
}

/*
 * Append a stage that sets the attributes in subdocuments that need not agree,
 * if the bucket is new: its holder is missing.  It sets whole subdocuments,
 * because $set of a path in one that is missing would make it.
 */
static void
append_new_subdocuments(const MtsBucketChange *bucket, bson_t *pipeline)
{
	bson_t set = BSON_INITIALIZER;
	char holder[MTS_MAX_PATH];

	write_holder(bucket->layout, holder);
	for (int i = 0; i < bucket->attributes.n; i++)
	{
		const MtsFieldValue *attribute = &bucket->attributes.items[i];
		const char *name = attribute->steps[0].name;
		bson_t value = BSON_INITIALIZER;

		if (attribute->nsteps > 1 &&
			!mts_update_must_agree(bucket, attribute) &&
			!bson_has_field(&set, name))
		{
			append_new_value(bucket, attribute, 1, &value, "");
			mts_template_append(
				&set, name,
				"{$cond: [{$eq: [{$type: ['$%s']}, 'missing']}, %b, '$%s']}",
				holder, &value, name);
		}
		bson_destroy(&value);
	}
	if (!bson_empty(&set))
		mts_template_push(pipeline, "{$set: %o}", &set);
	bson_destroy(&set);
}

/*
 * Append the attributes.  One that must agree is set unless the bucket has it.
 * The others are set only in a new bucket, whose holder is missing; those in
 * subdocuments have been set.
 */
static void
append_attributes(const MtsBucketChange *bucket, bson_t *set)
{
	char holder[MTS_MAX_PATH];
	char path[MTS_MAX_PATH];

	write_holder(bucket->layout, holder);
	for (int i = 0; i < bucket->attributes.n; i++)
	{
		const MtsFieldValue *attribute = &bucket->attributes.items[i];

		mts_path_dotted(attribute->steps, attribute->nsteps, path,
						sizeof(path));
		if (mts_update_must_agree(bucket, attribute))
			mts_template_append(set, path,
								"{$ifNull: ['$%s', {$literal: %v}]}", path,
								attribute->value);
		else if (attribute->nsteps == 1)
			mts_template_append(
				set, path,
				"{$cond: [{$eq: [{$type: ['$%s']}, 'missing']},"
				" {$literal: %v}, '$%s']}",
				holder, attribute->value, path);
	}
	append_attribute_check(bucket, set);
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

	append_new_subdocuments(bucket, pipeline);
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
