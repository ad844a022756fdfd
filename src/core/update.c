/*
 * update.c
 *		Which update stores these points in their bucket?
 *
 * A plain update names what changes; a pipeline computes from what is stored,
 * which pre-aggregates, zipped arrays and positional arrays need.
 */
#include "core/write.h"

#include <string.h>

/*
 * mts_update_array_level
 *		The first slot that is an index of an array; -1 when all are keys.
 */
int
mts_update_array_level(const MtsLayout *layout)
{
	for (int i = 0; i < layout->nslots; i++)
		if (mts_step_is_array(layout->slots[i]))
			return i;
	return -1;
}

/* Are there extremes that may be NaN?  $min and $max take it for the least. */
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
 *		Must new points be written by a pipeline?
 */
bool
mts_update_needs_pipeline(const MtsLayout *layout)
{
	int array = mts_update_array_level(layout);
	bool counts = layout->count.is_set;

	if (has_nan_extremes(layout) ||
		(array >= 0 && layout->slots[array]->kind == MTS_STEP_UNIT_INDEX))
		return true;
	if (layout->write_mode == MTS_WRITE_PUSH)
		return layout->ncontainers > 1;
	if (layout->write_mode != MTS_WRITE_INCREMENT)
		return mts_preaggregate_is_declared(layout) && !layout->write_once;
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
		counts |= column->min.is_set || column->max.is_set;
	}
	return counts && !layout->write_once;
}

static void
append_placed(bson_t *update, const char *op, const MtsPlaced *fields, int n)
{
	char path[MTS_MAX_DOTTED];
	bson_t doc;

	if (n == 0)
		return;
	bson_append_document_begin(update, op, -1, &doc);
	for (int i = 0; i < n; i++)
	{
		mts_path_dotted(fields[i].steps, fields[i].nsteps, path, sizeof(path));
		bson_append_value(&doc, path, -1, fields[i].value);
	}
	bson_append_document_end(update, &doc);
}

/* Append {path: value} for every value of the points. */
static void
append_values(const MtsBucketWrite *bucket, bool skip_null, bson_t *doc)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < bucket->n; i++)
		for (int j = 0; j < layout->ncolumns; j++)
		{
			const MtsColumn *column = &layout->columns[j];
			const bson_value_t *value = &bucket->writes[i]->values[j];
			size_t len;

			if (column->container < 0 || value->value_type == BSON_TYPE_EOD ||
				(skip_null && value->value_type == BSON_TYPE_NULL))
				continue;
			len = mts_write_path(column->path.steps, column->path.nsteps,
								 bucket->writes[i], path);
			bson_append_value(doc, path, (int) len, value);
		}
}

/* Append {array: {$each: [points]}}, the arrays by the slots before them. */
static void
append_pushes(const MtsBucketWrite *bucket, bson_t *doc)
{
	const MtsContainer *container = &bucket->layout->containers[0];
	const MtsStep *steps = container->path->steps;
	char path[MTS_MAX_DOTTED];
	char next[MTS_MAX_DOTTED];
	int i = 0;

	while (i < bucket->n)
	{
		bson_t push, each;
		size_t len = mts_write_path(steps, container->nsteps - 1,
									bucket->writes[i], path);
		uint32_t n = 0;

		bson_append_document_begin(doc, path, (int) len, &push);
		bson_append_array_begin(&push, "$each", -1, &each);
		do
		{
			char buffer[16];
			const char *key;

			bson_uint32_to_string(n++, &key, buffer, sizeof(buffer));
			mts_write_element(bucket->layout, 0, bucket->writes[i++], &each,
							  key);
			if (i < bucket->n)
				mts_write_path(steps, container->nsteps - 1, bucket->writes[i],
							   next);
		} while (i < bucket->n && strcmp(path, next) == 0);
		bson_append_array_end(&push, &each);
		bson_append_document_end(doc, &push);
	}
}

/*
 * mts_update_plain
 *		Append the operators that store new points.
 */
void
mts_update_plain(const MtsBucketWrite *bucket, bson_t *update)
{
	char path[MTS_MAX_DOTTED];
	bson_t doc;

	if (bucket->layout->write_mode == MTS_WRITE_PUSH)
	{
		bson_append_document_begin(update, "$push", -1, &doc);
		append_pushes(bucket, &doc);
		bson_append_document_end(update, &doc);
	}
	else if (bucket->layout->write_mode != MTS_WRITE_INCREMENT)
	{
		bson_append_document_begin(update, "$set", -1, &doc);
		append_values(bucket, false, &doc);
		bson_append_document_end(update, &doc);
	}
	append_placed(update, "$setOnInsert", bucket->attributes,
				  bucket->nattributes);
	append_placed(update, "$min", bucket->lows, bucket->nlows);
	append_placed(update, "$max", bucket->highs, bucket->nhighs);
	if (bucket->layout->write_mode != MTS_WRITE_INCREMENT)
	{
		append_placed(update, "$inc", bucket->sums, bucket->nsums);
		return;
	}
	bson_append_document_begin(update, "$inc", -1, &doc);
	append_values(bucket, true, &doc);
	for (int i = 0; i < bucket->nsums; i++)
	{
		const MtsPlaced *sum = &bucket->sums[i];

		mts_path_dotted(sum->steps, sum->nsteps, path, sizeof(path));
		bson_append_value(&doc, path, -1, sum->value);
	}
	bson_append_document_end(update, &doc);
}
