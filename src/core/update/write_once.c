/*
 * write_once.c
 *		State the conditions under which operators store points as a pipeline
 *		does.
 *
 * Most slots are written once.  Then $set, $inc, $min and $max of the new
 * points keep the pre-aggregates of a bucket true, and take the server a
 * third of the time of a pipeline, which computes them from all points.  The
 * conditions are part of the selector: the slots are empty, the bucket has
 * the pre-aggregates, none of its extremes is NaN, and its attributes are
 * those of the points.
 *
 * An update with these conditions finds no bucket where one of them is not
 * met, and none where the bucket does not exist.  Either the caller upserts,
 * and knows of a unique index that refuses a second bucket with the same key.
 * Or it does not upsert, learns from the number of buckets that some were not
 * found, and sends the pipelines of all.
 */
#include "core/update/write_once.h"

#include <math.h>

#include "core/bson/template.h"
#include "core/update/update.h"

/*
 * mts_write_once_suits
 *		Tell whether a pipeline is required only for the sake of what is stored
 *		already.
 */
bool
mts_write_once_suits(const MtsLayout *layout)
{
	return layout->nslots > 0 && !mts_update_is_computed(layout);
}

/*
 * mts_write_once_may_repeat
 *		Tell whether a pipeline stores the same after operators have stored the
 *		points already: it neither adds to a value nor appends an element.
 */
bool
mts_write_once_may_repeat(const MtsLayout *layout)
{
	return layout->write_mode == MTS_WRITE_SET &&
		   mts_change_array_level(layout) < 0;
}

/* Tell whether a value is NaN: of a decimal, by its first bits. */
static bool
is_nan(const bson_value_t *value)
{
	if (value->value_type == BSON_TYPE_DECIMAL128)
		return (value->value.v_decimal128.high >> 58 & 0x1f) == 0x1f;
	return value->value_type == BSON_TYPE_DOUBLE &&
		   isnan(value->value.v_double);
}

/*
 * Tell whether a value can be a number that means "no reading": rows of one
 * slot can add up to it.
 */
static bool
may_be_missing(const MtsMissing *missing, const bson_value_t *value)
{
	double d;

	if (missing->kind != MTS_MISSING_NUMBER)
		return false;
	if (value->value_type == BSON_TYPE_INT32)
		d = value->value.v_int32;
	else if (value->value_type == BSON_TYPE_INT64)
		d = (double) value->value.v_int64;
	else if (value->value_type == BSON_TYPE_DOUBLE)
		d = value->value.v_double;
	else
		return value->value_type == BSON_TYPE_DECIMAL128;
	return !(d < missing->number) && !(d > missing->number);
}

/*
 * mts_write_once_is_possible
 *		Tell whether operators can store the points of a bucket.
 *
 * $min and $max sort NaN first, and PostgreSQL last.  Operators would count
 * each slot, also one without a reading.
 */
bool
mts_write_once_is_possible(const MtsBucketChange *bucket)
{
	const MtsLayout *layout = bucket->layout;

	if (!bucket->points_are_new || bucket->may_overwrite ||
		!mts_write_once_suits(layout))
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool excludes_nan =
			column->may_be_nan && (column->min.is_set || column->max.is_set);
		bool excludes_missing = layout->write_mode == MTS_WRITE_INCREMENT &&
								column->missing.kind != MTS_MISSING_NONE;

		if (!excludes_nan && !excludes_missing)
			continue;
		for (int j = 0; j < bucket->n; j++)
		{
			const bson_value_t *value =
				mts_change_value(bucket->changes[j], column);

			if ((excludes_nan && is_nan(value)) ||
				(excludes_missing && may_be_missing(&column->missing, value)))
				return false;
		}
	}
	return true;
}

/* Append the conditions that no column has a reading in the slot. */
static void
require_no_reading(const MtsLayout *layout, const MtsChange *change,
				   bson_t *selector)
{
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bson_value_t missing = mts_layout_missing_value(&column->missing);

		if (column->container < 0 || column->role != MTS_ROLE_VALUE)
			continue;
		mts_change_path(column->path.steps, column->path.nsteps, change, path);
		if (column->missing.kind == MTS_MISSING_NONE)
			mts_template_append(selector, path, "{$exists: false}");
		else
			mts_template_append(selector, path,
								"{$not: {$exists: true, $ne: %v}}", &missing);
	}
}

/*
 * Append the conditions that the slots of the points are empty.  Where points
 * are documents, null and an empty document are none, but an operator fails
 * on null.
 */
static void
require_empty_slots(const MtsBucketChange *bucket, bool may_fail,
					bson_t *selector)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < bucket->n; i++)
	{
		const MtsChange *change = bucket->changes[i];

		if (layout->has_missing)
			require_no_reading(layout, change, selector);
		for (int j = 0; j < layout->ncontainers && !layout->has_missing; j++)
		{
			const MtsContainer *container = &layout->containers[j];

			mts_change_path(container->path->steps, container->nsteps, change,
							path);
			mts_template_append(selector, path,
								may_fail && !container->is_value
									? "{$in: [null, {}]}"
									: "{$exists: false}");
		}
	}
}

/* Append the conditions that what leads to the slots are subdocuments. */
static void
require_subdocuments(const MtsBucketChange *bucket, bson_t *selector)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];
	bson_iter_t iter;

	for (int i = 0; i < bucket->n; i++)
		for (int j = 0; j < layout->ncolumns; j++)
		{
			const MtsColumn *column = &layout->columns[j];
			int n = column->path.nsteps;

			if (column->container < 0 || column->role != MTS_ROLE_VALUE)
				continue;
			/* an operator makes what is in an empty slot */
			if (!layout->has_missing)
				n = layout->containers[column->container].nsteps;
			for (int k = 1; k < n; k++)
			{
				mts_change_path(column->path.steps, k, bucket->changes[i],
								path);
				if (!bson_iter_init_find(&iter, selector, path))
					mts_template_append(selector, path, "{$type: 'object'}");
			}
		}
}

/* Append the conditions that the bucket has its bounds. */
static void
require_bounds(const MtsLayout *layout, bson_t *selector)
{
	const MtsField *bounds[] = {&layout->first, &layout->last};
	char path[MTS_MAX_PATH];

	for (int i = 0; i < 2; i++)
		if (bounds[i]->is_set)
		{
			mts_path_dotted(bounds[i]->path.steps, bounds[i]->path.nsteps,
							path, sizeof(path));
			mts_template_append(selector, path, "{$exists: true}");
		}
}

/* Return the name of the type that sums and extremes have with a value. */
static const char *
name_type(const bson_value_t *value)
{
	switch (value->value_type)
	{
		case BSON_TYPE_UTF8:
			return "string";
		case BSON_TYPE_DATE_TIME:
			return "date";
		default:
			return "number";
	}
}

/*
 * Append the condition that the bucket has a field of this type.  An extreme
 * must not be NaN, which no update by operators replaces rightly.
 */
static void
require_field(const MtsField *field, const char *type, bool may_be_nan,
			  bson_t *selector)
{
	char path[MTS_MAX_PATH];

	mts_path_dotted(field->path.steps, field->path.nsteps, path, sizeof(path));
	mts_template_append(selector, path,
						may_be_nan ? "{$type: %s, $ne: NaN}" : "{$type: %s}",
						type);
}

/* Return a value of a column that extremes count, or NULL. */
static const bson_value_t *
find_reading(const MtsBucketChange *bucket, const MtsColumn *column)
{
	for (int i = 0; i < bucket->n; i++)
	{
		const bson_value_t *value =
			mts_change_value(bucket->changes[i], column);

		if (value->value_type != BSON_TYPE_EOD &&
			value->value_type != BSON_TYPE_NULL)
			return value;
	}
	return NULL;
}

/*
 * Append the conditions that the bucket has its pre-aggregates.  If it has
 * not, nobody may have computed them so far.
 */
static void
require_aggregates(const MtsBucketChange *bucket, bson_t *selector)
{
	const MtsLayout *layout = bucket->layout;

	if (layout->count.is_set)
		require_field(&layout->count, "number", false, selector);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const bson_value_t *reading = find_reading(bucket, column);

		if (column->sum.is_set)
			require_field(&column->sum, "number", false, selector);
		if (column->min.is_set && reading)
			require_field(&column->min, name_type(reading), column->may_be_nan,
						  selector);
		if (column->max.is_set && reading)
			require_field(&column->max, name_type(reading), column->may_be_nan,
						  selector);
	}
}

/*
 * Append the condition that no sum of integers exceeds 64 bits, which a
 * pipeline makes a decimal.
 */
static void
require_no_overflow(const MtsBucketChange *bucket, bson_t *selector)
{
	char path[MTS_MAX_PATH];
	bson_t terms = BSON_INITIALIZER;

	for (int i = 0; i < bucket->sums.n; i++)
	{
		const MtsFieldValue *sum = &bucket->sums.items[i];
		bson_value_t limit = {.value_type = BSON_TYPE_INT64};
		int64_t added;

		if (sum->value->value_type == BSON_TYPE_INT32)
			added = sum->value->value.v_int32;
		else if (sum->value->value_type == BSON_TYPE_INT64)
			added = sum->value->value.v_int64;
		else
			continue;
		limit.value.v_int64 = (added > 0 ? INT64_MAX : INT64_MIN) - added;
		mts_path_dotted(sum->steps, sum->nsteps, path, sizeof(path));
		mts_template_push(&terms,
						  added > 0 ? "{%s: {$gt: %v}}" : "{%s: {$lt: %v}}",
						  path, &limit);
	}
	if (!bson_empty(&terms))
		mts_template_append(selector, "$nor", "%a", &terms);
	bson_destroy(&terms);
}

/*
 * Append the condition that the bucket has an attribute.  A query for a value
 * also finds arrays of it, which are excluded.
 */
static void
require_attribute(const MtsFieldValue *attribute, bson_t *selector)
{
	char path[MTS_MAX_PATH];
	char index[MTS_MAX_PATH + 2];

	for (int n = 1; n <= attribute->nsteps; n++)
	{
		mts_path_dotted(attribute->steps, n, path, sizeof(path));
		snprintf(index, sizeof(index), "%s.0", path);
		mts_template_append(selector, index, "{$exists: false}");
	}
	mts_template_append(selector, path, "{$eq: %v}", attribute->value);
}

/*
 * mts_write_once_require
 *		Append the conditions under which operators store the points.
 *
 * It must be possible.  Unless an operator may fail, which aborts a
 * transaction, the conditions include that it does not: the operators need
 * not make a subdocument in the place of something else, or exceed an integer.
 */
void
mts_write_once_require(const MtsBucketChange *bucket, bool may_fail,
					   bson_t *selector)
{
	const MtsLayout *layout = bucket->layout;

	for (int i = 0; i < bucket->attributes.n; i++)
	{
		const MtsFieldValue *attribute = &bucket->attributes.items[i];

		if (mts_update_must_agree(bucket, attribute))
			require_attribute(attribute, selector);
	}
	if (!may_fail)
	{
		require_subdocuments(bucket, selector);
		require_bounds(layout, selector);
		require_no_overflow(bucket, selector);
	}
	if (!mts_update_needs_pipeline(layout))
		return;
	require_aggregates(bucket, selector);
	if (mts_change_array_level(layout) < 0)
		require_empty_slots(bucket, may_fail, selector);
}
