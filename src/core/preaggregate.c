/*
 * preaggregate.c
 *		Compute a bucket's pre-aggregates from the points that it holds.
 *
 * NaN is the greatest value, as in PostgreSQL; MongoDB takes it for the least.
 */
#include "core/cells.h"
#include "core/expression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* {count: how many points there are} */
static void
append_count(const MtsLayout *layout, bson_t *set)
{
	char path[MTS_MAX_PATH];
	MtsOperator size, both, map;
	char digits[16];

	mts_path_dotted(layout->count.path.steps, layout->count.path.nsteps, path,
					sizeof(path));
	mts_list_begin(set, path, "$size", &size);
	if (layout->ncontainers == 1)
		mts_cells_append_points(layout, 0, &size.inner, "0");
	else
	{
		mts_list_begin(&size.inner, "0", "$setUnion", &both);
		for (int i = 0; i < layout->ncontainers; i++)
		{
			snprintf(digits, sizeof(digits), "%d", i);
			mts_op_begin(&both.inner, digits, "$map", &map);
			mts_cells_append_points(layout, i, &map.inner, "input");
			mts_append_text(&map.inner, "as", "c");
			mts_append_text(&map.inner, "in", "$$c.k");
			mts_op_end(&both.inner, &map);
		}
		mts_list_end(&size.inner, &both);
	}
	mts_list_end(set, &size);
}

/* A column's values, those that mean "no reading" among them */
static void
append_column(const MtsLayout *layout, const MtsColumn *column, bson_t *parent,
			  const char *key)
{
	char source[MTS_MAX_DOTTED], cells[MTS_MAX_CELLS];
	MtsOperator map;

	mts_cells_value(layout, column, source);
	snprintf(cells, sizeof(cells), "$" MTS_CELLS, column->container);
	mts_op_begin(parent, key, "$map", &map);
	mts_append_text(&map.inner, "input", cells);
	mts_append_text(&map.inner, "as", "c");
	mts_append_text(&map.inner, "in", source);
	mts_op_end(parent, &map);
}

/* The elements of an array that are not a value: {$filter: .. {$ne: ..}} */
static void
begin_without(const bson_value_t *value, bson_t *parent, const char *key,
			  MtsOperator *filter)
{
	MtsOperator ne;

	mts_op_begin(parent, key, "$filter", filter);
	mts_append_text(&filter->inner, "as", "x");
	mts_list_begin(&filter->inner, "cond", "$ne", &ne);
	mts_append_text(&ne.inner, "0", "$$x");
	mts_append_literal(&ne.inner, "1", value);
	mts_list_end(&filter->inner, &ne);
}

static void
append_readings(const MtsLayout *layout, const MtsColumn *column,
				bson_t *parent, const char *key)
{
	bson_value_t missing = mts_missing_value(&column->missing);
	MtsOperator filter;

	if (column->missing.kind == MTS_MISSING_NONE)
	{
		append_column(layout, column, parent, key);
		return;
	}
	begin_without(&missing, parent, key, &filter);
	append_column(layout, column, &filter.inner, "input");
	mts_op_end(parent, &filter);
}

/* {$cond: [{$in: [NaN, $$v]}, NaN, {$max: $$v}]} */
static void
append_maximum(bool may_be_nan, bson_t *parent, const char *key)
{
	MtsOperator cond, in;
	bson_t max;

	if (!may_be_nan)
	{
		bson_append_document_begin(parent, key, -1, &max);
		mts_append_text(&max, "$max", "$$v");
		bson_append_document_end(parent, &max);
		return;
	}
	mts_list_begin(parent, key, "$cond", &cond);
	mts_list_begin(&cond.inner, "0", "$in", &in);
	bson_append_double(&in.inner, "0", -1, NAN);
	mts_append_text(&in.inner, "1", "$$v");
	mts_list_end(&cond.inner, &in);
	bson_append_double(&cond.inner, "1", -1, NAN);
	append_maximum(false, &cond.inner, "2");
	mts_list_end(parent, &cond);
}

/* The least value that is a number or, where there is none, NaN */
static void
append_minimum(bool may_be_nan, bson_t *parent, const char *key)
{
	bson_value_t nan = {.value_type = BSON_TYPE_DOUBLE,
						.value = {.v_double = NAN}};
	MtsOperator if_null, filter;
	bson_t min;

	if (!may_be_nan)
	{
		bson_append_document_begin(parent, key, -1, &min);
		mts_append_text(&min, "$min", "$$v");
		bson_append_document_end(parent, &min);
		return;
	}
	mts_list_begin(parent, key, "$ifNull", &if_null);
	bson_append_document_begin(&if_null.inner, "0", -1, &min);
	begin_without(&nan, &min, "$min", &filter);
	mts_append_text(&filter.inner, "input", "$$v");
	mts_op_end(&min, &filter);
	bson_append_document_end(&if_null.inner, &min);
	append_maximum(false, &if_null.inner, "1");
	mts_list_end(parent, &if_null);
}

static void
append_plain_sum(bson_t *parent, const char *key)
{
	bson_t sum;

	bson_append_document_begin(parent, key, -1, &sum);
	mts_append_text(&sum, "$sum", "$$v");
	bson_append_document_end(parent, &sum);
}

/* The sum; of integers that no 64 bits hold as a decimal, which loses nothing */
static void
append_total(bool is_wide, bson_t *parent, const char *key)
{
	MtsOperator cond, less, abs, map;
	bson_t sum, in;

	if (!is_wide)
	{
		append_plain_sum(parent, key);
		return;
	}
	mts_list_begin(parent, key, "$cond", &cond);
	mts_list_begin(&cond.inner, "0", "$lt", &less);
	mts_list_begin(&less.inner, "0", "$abs", &abs);
	append_plain_sum(&abs.inner, "0");
	mts_list_end(&less.inner, &abs);
	bson_append_double(&less.inner, "1", -1, 9223372036854775808.0);
	mts_list_end(&cond.inner, &less);
	append_plain_sum(&cond.inner, "1");
	bson_append_document_begin(&cond.inner, "2", -1, &sum);
	mts_op_begin(&sum, "$sum", "$map", &map);
	mts_append_text(&map.inner, "input", "$$v");
	bson_append_document_begin(&map.inner, "in", -1, &in);
	mts_append_text(&in, "$toDecimal", "$$this");
	bson_append_document_end(&map.inner, &in);
	mts_op_end(&sum, &map);
	bson_append_document_end(&cond.inner, &sum);
	mts_list_end(parent, &cond);
}

/* {field: {$let: {vars: {v: the readings}, in: ..}}} for one pre-aggregate */
static void
append_aggregate(const MtsLayout *layout, const MtsColumn *column,
				 const MtsField *field, bson_t *set)
{
	char path[MTS_MAX_PATH];
	MtsOperator let, if_null;
	bson_t part;

	if (!field->is_set)
		return;
	mts_path_dotted(field->path.steps, field->path.nsteps, path, sizeof(path));
	mts_op_begin(set, path, "$let", &let);
	bson_append_document_begin(&let.inner, "vars", -1, &part);
	append_readings(layout, column, &part, "v");
	bson_append_document_end(&let.inner, &part);
	if (field == &column->sum)
		append_total(column->is_wide, &let.inner, "in");
	else
	{
		/* null would be the least value for $min */
		mts_list_begin(&let.inner, "in", "$ifNull", &if_null);
		(field == &column->min
			 ? append_minimum
			 : append_maximum)(column->may_be_nan, &if_null.inner, "0");
		mts_append_text(&if_null.inner, "1", "$$REMOVE");
		mts_list_end(&let.inner, &if_null);
	}
	mts_op_end(set, &let);
}

static void
begin_stage(bson_t *pipeline, MtsOperator *stage, const char *op)
{
	char key[12];

	bson_append_document_begin(pipeline, mts_next_key(pipeline, key), -1,
							   &stage->outer);
	if (op)
		bson_append_document_begin(&stage->outer, op, -1, &stage->inner);
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
	MtsOperator stage;
	bson_t unset;
	char name[MTS_MAX_CELLS], digits[16];

	if (!mts_preaggregate_is_declared(layout))
		return;
	begin_stage(pipeline, &stage, "$set");
	for (int i = 0; i < layout->ncontainers; i++)
		mts_cells_append(layout, i, &stage.inner);
	mts_op_end(pipeline, &stage);
	begin_stage(pipeline, &stage, "$set");
	if (layout->count.is_set)
		append_count(layout, &stage.inner);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		append_aggregate(layout, column, &column->sum, &stage.inner);
		append_aggregate(layout, column, &column->min, &stage.inner);
		append_aggregate(layout, column, &column->max, &stage.inner);
	}
	mts_op_end(pipeline, &stage);
	begin_stage(pipeline, &stage, NULL);
	bson_append_array_begin(&stage.outer, "$unset", -1, &unset);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		snprintf(name, sizeof(name), MTS_CELLS, i);
		snprintf(digits, sizeof(digits), "%d", i);
		mts_append_text(&unset, digits, name);
	}
	bson_append_array_end(&stage.outer, &unset);
	bson_append_document_end(pipeline, &stage.outer);
}
