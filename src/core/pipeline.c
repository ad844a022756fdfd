/*
 * pipeline.c
 *		The pipeline that changes a bucket by what is stored in it.
 */
#include "core/expression.h"
#include "core/write.h"

/* {path: what is stored there if it is a reading, else 0, plus the value} */
static void
append_sum(const MtsColumn *column, const char *source,
		   const bson_value_t *value, bson_t *parent, const char *key)
{
	static const char *const numbers[] = {"int", "long", "double", "decimal"};
	MtsOperator add, cond, and, in, type, ne;
	bson_t list;

	mts_list_begin(parent, key, "$add", &add);
	mts_list_begin(&add.inner, "0", "$cond", &cond);
	mts_list_begin(&cond.inner, "0", "$and", &and);
	mts_list_begin(&and.inner, "0", "$in", &in);
	mts_list_begin(&in.inner, "0", "$type", &type);
	mts_append_text(&type.inner, "0", source);
	mts_list_end(&in.inner, &type);
	bson_append_array_begin(&in.inner, "1", -1, &list);
	for (int i = 0; i < 4; i++)
	{
		char digit[2] = {(char) ('0' + i), '\0'};

		mts_append_text(&list, digit, numbers[i]);
	}
	bson_append_array_end(&in.inner, &list);
	mts_list_end(&and.inner, &in);
	if (column->missing.kind == MTS_MISSING_NUMBER)
	{
		bson_value_t missing = mts_missing_value(&column->missing);

		mts_list_begin(&and.inner, "1", "$ne", &ne);
		mts_append_text(&ne.inner, "0", source);
		mts_append_literal(&ne.inner, "1", &missing);
		mts_list_end(&and.inner, &ne);
	}
	mts_list_end(&cond.inner, &and);
	mts_append_text(&cond.inner, "1", source);
	bson_append_int32(&cond.inner, "2", -1, 0);
	mts_list_end(&add.inner, &cond);
	mts_append_literal(&add.inner, "1", value);
	mts_list_end(parent, &add);
}

/*
 * mts_update_append_value
 *		Append what becomes of a value: it is set, or added to its source.
 */
void
mts_update_append_value(const MtsWrite *write, const MtsColumn *column,
						const bson_value_t *value, const char *source,
						bson_t *parent, const char *key)
{
	if (write->kind == MTS_ADD && column->role == MTS_ROLE_VALUE)
		append_sum(column, source, value, parent, key);
	else
		mts_append_literal(parent, key, value);
}

/* The fields under keys that a point's values go to */
static void
append_key_values(const MtsBucketWrite *bucket, const MtsWrite *write,
				  bson_t *set)
{
	const MtsLayout *layout = bucket->layout;
	char source[MTS_MAX_DOTTED + 1] = "$";

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const bson_value_t *value = &write->values[i];
		bson_value_t missing;

		if (column->container < 0)
			continue;
		if (write->kind == MTS_CLEAR)
		{
			if (column->missing.kind == MTS_MISSING_NONE)
				continue;
			missing = mts_missing_value(&column->missing);
			value = &missing;
		}
		else if (value->value_type == BSON_TYPE_EOD ||
				 (write->kind == MTS_ADD &&
				  value->value_type == BSON_TYPE_NULL))
			continue;
		mts_write_path(column->path.steps, column->path.nsteps, write,
					   source + 1);
		mts_update_append_value(write, column, value, source, set, source + 1);
	}
}

/* {$unset: [..]} of what points under keys leave behind when they go */
static void
append_unset(const MtsBucketWrite *bucket, bson_t *pipeline)
{
	const MtsLayout *layout = bucket->layout;
	char path[MTS_MAX_DOTTED];
	bson_t unset = BSON_INITIALIZER;
	bson_t stage;
	char key[16];
	uint32_t n = 0;

	for (int i = 0; i < bucket->n; i++)
	{
		if (bucket->writes[i]->kind != MTS_CLEAR)
			continue;
		for (int j = 0; j < layout->ncolumns; j++)
		{
			const MtsColumn *column = &layout->columns[j];

			if (column->container < 0 || !layout->has_missing ||
				column->missing.kind != MTS_MISSING_NONE)
				continue;
			mts_write_path(column->path.steps, column->path.nsteps,
						   bucket->writes[i], path);
			snprintf(key, sizeof(key), "%u", n++);
			mts_append_text(&unset, key, path);
		}
		for (int j = 0; j < layout->ncontainers && !layout->has_missing; j++)
		{
			mts_write_path(layout->containers[j].path->steps,
						   layout->containers[j].nsteps, bucket->writes[i],
						   path);
			snprintf(key, sizeof(key), "%u", n++);
			mts_append_text(&unset, key, path);
		}
	}
	if (n > 0)
	{
		bson_append_document_begin(pipeline, mts_next_key(pipeline, key), -1,
								   &stage);
		bson_append_array(&stage, "$unset", -1, &unset);
		bson_append_document_end(pipeline, &stage);
	}
	bson_destroy(&unset);
}

/* {array: expression} for one container, the arrays by the slots before them */
static void
append_arrays(const MtsBucketWrite *bucket, int index, int level, bson_t *set)
{
	const MtsContainer *container = &bucket->layout->containers[index];
	const MtsStep *steps = container->path->steps;
	char path[MTS_MAX_DOTTED + 1] = "$";
	char next[MTS_MAX_DOTTED];
	int nsteps = 0;
	int i = 0;

	while (!mts_step_is_array(&steps[nsteps]))
		nsteps++;
	while (i < bucket->n)
	{
		int first = i;

		mts_write_path(steps, nsteps, bucket->writes[i], path + 1);
		do
		{
			i++;
			if (i < bucket->n)
				mts_write_path(steps, nsteps, bucket->writes[i], next);
		} while (i < bucket->n && strcmp(path + 1, next) == 0);
		mts_array_expression(bucket, index, level, path,
							 bucket->writes + first, i - first, set, path + 1);
	}
}

/* What new buckets get beside their points: told by what holds these */
static void
append_attributes(const MtsBucketWrite *bucket, bson_t *set)
{
	const MtsContainer *container = &bucket->layout->containers[0];
	char holder[MTS_MAX_PATH + 1] = "$";
	char source[MTS_MAX_PATH + 1] = "$";

	mts_path_dotted(container->path->steps, mts_path_names(container->path),
					holder + 1, MTS_MAX_PATH);
	for (int i = 0; i < bucket->nattributes; i++)
	{
		const MtsPlaced *attribute = &bucket->attributes[i];
		MtsOperator cond, eq, type;

		mts_path_dotted(attribute->steps, attribute->nsteps, source + 1,
						MTS_MAX_PATH);
		mts_list_begin(set, source + 1, "$cond", &cond);
		mts_list_begin(&cond.inner, "0", "$eq", &eq);
		mts_list_begin(&eq.inner, "0", "$type", &type);
		mts_append_text(&type.inner, "0", holder);
		mts_list_end(&eq.inner, &type);
		mts_append_text(&eq.inner, "1", "missing");
		mts_list_end(&cond.inner, &eq);
		mts_append_literal(&cond.inner, "1", attribute->value);
		mts_append_text(&cond.inner, "2", source);
		mts_list_end(set, &cond);
	}
}

/* {field: {$min: [what is stored, value]}} or $max; both ignore what is not */
static void
append_extremes(const char *op, const MtsPlaced *fields, int n, bson_t *set)
{
	char source[MTS_MAX_PATH + 1] = "$";

	for (int i = 0; i < n; i++)
	{
		MtsOperator extreme;

		mts_path_dotted(fields[i].steps, fields[i].nsteps, source + 1,
						MTS_MAX_PATH);
		mts_list_begin(set, source + 1, op, &extreme);
		mts_append_text(&extreme.inner, "0", source);
		mts_append_literal(&extreme.inner, "1", fields[i].value);
		mts_list_end(set, &extreme);
	}
}

/*
 * mts_update_pipeline
 *		Append the stages that store, change or remove points.
 *
 * The pre-aggregates are computed anew from what the bucket holds then.
 */
void
mts_update_pipeline(const MtsBucketWrite *bucket, bson_t *pipeline)
{
	int array = mts_update_array_level(bucket->layout);
	bson_t set = BSON_INITIALIZER;
	bson_t stage;

	append_attributes(bucket, &set);
	append_extremes("$min", bucket->lows, bucket->nlows, &set);
	append_extremes("$max", bucket->highs, bucket->nhighs, &set);
	if (array < 0)
		for (int i = 0; i < bucket->n; i++)
			append_key_values(bucket, bucket->writes[i], &set);
	else
		for (int i = 0; i < bucket->layout->ncontainers; i++)
			append_arrays(bucket, i, array, &set);
	if (!bson_empty(&set))
	{
		bson_append_document_begin(pipeline, "0", -1, &stage);
		bson_append_document(&stage, "$set", -1, &set);
		bson_append_document_end(pipeline, &stage);
	}
	bson_destroy(&set);
	if (array < 0)
		append_unset(bucket, pipeline);
	mts_preaggregate_stages(bucket->layout, pipeline);
}
