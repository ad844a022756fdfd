/*
 * preaggregate.c
 *		Compute a bucket's pre-aggregates from the points that it holds.
 *
 * The stages see the points as the unfolding does: keys that are no numbers,
 * empty subdocuments and what means "no reading" are none.  NaN is the
 * greatest value, as in PostgreSQL, where MongoDB takes it for the least.
 */
#include "core/expression.h"
#include "core/write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keys that a slot of units counts with */
#define NUMBER_PATTERN "^(0|[1-9][0-9]*)$"

/* Where the cells of a container are kept between the stages */
#define CELLS "_mts%d"

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
	MtsOperator op, range, size, at, text;
	char var[8], ref[12];
	bson_t entry;

	if (!mts_step_is_array(slot))
	{
		bson_append_document_begin(parent, key, -1, &op.outer);
		mts_append_default(&op.outer, "$objectToArray", source, false);
		bson_append_document_end(parent, &op.outer);
		return;
	}
	if (bare)
	{
		mts_append_default(parent, key, source, true);
		return;
	}
	snprintf(var, sizeof(var), "r%d", level);
	snprintf(ref, sizeof(ref), "$$r%d", level);
	mts_op_begin(parent, key, "$map", &op);
	mts_list_begin(&op.inner, "input", "$range", &range);
	bson_append_int32(&range.inner, "0", -1, 0);
	mts_list_begin(&range.inner, "1", "$size", &size);
	mts_append_default(&size.inner, "0", source, true);
	mts_list_end(&range.inner, &size);
	mts_list_end(&op.inner, &range);
	mts_append_text(&op.inner, "as", var);
	bson_append_document_begin(&op.inner, "in", -1, &entry);
	mts_list_begin(&entry, "k", "$toString", &text);
	mts_append_text(&text.inner, "0", ref);
	mts_list_end(&entry, &text);
	mts_list_begin(&entry, "v", "$arrayElemAt", &at);
	mts_append_text(&at.inner, "0", source);
	mts_append_text(&at.inner, "1", ref);
	mts_list_end(&entry, &at);
	bson_append_document_end(&op.inner, &entry);
	mts_op_end(parent, &op);
}

/* {$filter: ..} of the entries that can hold points */
static void
append_slots(const MtsStep *slot, const char *source, int level, bool bare,
			 bool is_last, bson_t *parent, const char *key)
{
	MtsOperator filter, and, ne, match;
	char var[8], name[16], value[16];

	snprintf(var, sizeof(var), "s%d", level);
	snprintf(name, sizeof(name), "$$s%d.k", level);
	snprintf(value, sizeof(value), bare ? "$$s%d" : "$$s%d.v", level);
	mts_op_begin(parent, key, "$filter", &filter);
	append_entries(slot, source, level, bare, &filter.inner, "input");
	mts_append_text(&filter.inner, "as", var);
	mts_list_begin(&filter.inner, "cond", "$and", &and);
	if (slot->kind == MTS_STEP_UNIT_KEY)
	{
		mts_op_begin(&and.inner, "0", "$regexMatch", &match);
		mts_append_text(&match.inner, "input", name);
		mts_append_text(&match.inner, "regex", NUMBER_PATTERN);
		mts_op_end(&and.inner, &match);
	}
	if (is_last)
	{
		char digits[12];

		mts_list_begin(&and.inner, mts_next_key(&and.inner, digits), "$ne",
					   &ne);
		mts_append_text(&ne.inner, "0", value);
		mts_append_empty(&ne.inner, "1");
		mts_list_end(&and.inner, &ne);
	}
	mts_list_end(&filter.inner, &and);
	mts_op_end(parent, &filter);
}

/* {k: the keys of all levels, v: value} */
static void
append_keyed_cell(int level, bson_t *parent, const char *key)
{
	MtsOperator concat;
	char ref[16], digits[16];
	bson_t cell;

	bson_append_document_begin(parent, key, -1, &cell);
	mts_list_begin(&cell, "k", "$concat", &concat);
	for (int i = 0; i <= level; i++)
	{
		snprintf(digits, sizeof(digits), "%d", 2 * i);
		snprintf(ref, sizeof(ref), "$$s%d.k", i);
		mts_append_text(&concat.inner, digits, ref);
		snprintf(digits, sizeof(digits), "%d", 2 * i + 1);
		mts_append_text(&concat.inner, digits, ".");
	}
	mts_list_end(&cell, &concat);
	snprintf(ref, sizeof(ref), "$$s%d.v", level);
	mts_append_text(&cell, "v", ref);
	bson_append_document_end(parent, &cell);
}

/*
 * The cells of a container as one array: bare values, or keyed ones where
 * several containers are to be counted together.
 */
static void
append_cells(const MtsContainer *container, int step, int level, int nslots,
			 bool keyed, char *source, bson_t *parent, const char *key)
{
	const MtsStep *steps = container->path->steps;
	bool is_last = level == nslots - 1;
	bool bare;
	MtsOperator map, reduce, concat;
	char var[8], ref[MTS_MAX_DOTTED];
	bson_t empty;

	while (!mts_step_is_slot(&steps[step]))
		append_path(source, &steps[step++]);
	bare = !keyed && mts_step_is_array(&steps[step]);
	if (is_last && bare)
	{
		append_slots(&steps[step], source, level, true, true, parent, key);
		return;
	}
	snprintf(var, sizeof(var), "s%d", level);
	snprintf(ref, sizeof(ref), bare ? "$$s%d" : "$$s%d.v", level);
	if (!is_last)
	{
		mts_op_begin(parent, key, "$reduce", &reduce);
		mts_op_begin(&reduce.inner, "input", "$map", &map);
	}
	else
		mts_op_begin(parent, key, "$map", &map);
	append_slots(&steps[step], source, level, bare, is_last, &map.inner,
				 "input");
	mts_append_text(&map.inner, "as", var);
	if (!is_last)
		append_cells(container, step + 1, level + 1, nslots, keyed, ref,
					 &map.inner, "in");
	else if (keyed)
		append_keyed_cell(level, &map.inner, "in");
	else
		mts_append_text(&map.inner, "in", ref);
	mts_op_end(is_last ? parent : &reduce.inner, &map);
	if (is_last)
		return;
	bson_append_array_begin(&reduce.inner, "initialValue", -1, &empty);
	bson_append_array_end(&reduce.inner, &empty);
	mts_list_begin(&reduce.inner, "in", "$concatArrays", &concat);
	mts_append_text(&concat.inner, "0", "$$value");
	mts_append_text(&concat.inner, "1", "$$this");
	mts_list_end(&reduce.inner, &concat);
	mts_op_end(parent, &reduce);
}

/* A reference to a column's value in a cell that is the variable c */
static void
column_reference(const MtsLayout *layout, const MtsColumn *column,
				 char *source)
{
	MtsPlaced tail;

	strcpy(source, layout->ncontainers > 1 ? "$$c.v" : "$$c");
	mts_write_tail(layout, column, &tail);
	for (int i = 0; i < tail.nsteps; i++)
		append_path(source, &tail.steps[i]);
}

/* Does a column have a reading in the cell c? */
static void
append_has_reading(const MtsLayout *layout, const MtsColumn *column,
				   bson_t *parent, const char *key)
{
	char source[MTS_MAX_DOTTED];
	MtsOperator and, ne, type;

	column_reference(layout, column, source);
	mts_list_begin(parent, key, "$and", &and);
	mts_list_begin(&and.inner, "0", "$ne", &ne);
	mts_list_begin(&ne.inner, "0", "$type", &type);
	mts_append_text(&type.inner, "0", source);
	mts_list_end(&ne.inner, &type);
	mts_append_text(&ne.inner, "1", "missing");
	mts_list_end(&and.inner, &ne);
	if (column->missing.kind != MTS_MISSING_NONE)
	{
		bson_value_t missing = mts_missing_value(&column->missing);

		mts_list_begin(&and.inner, "1", "$ne", &ne);
		mts_append_text(&ne.inner, "0", source);
		mts_append_literal(&ne.inner, "1", &missing);
		mts_list_end(&and.inner, &ne);
	}
	mts_list_end(parent, &and);
}

/* The cells in which a column that is a value has a reading */
static void
append_points(const MtsLayout *layout, int container, bson_t *parent,
			  const char *key)
{
	char cells[16];
	MtsOperator filter, or ;
	char digits[16];
	int n = 0;

	snprintf(cells, sizeof(cells), "$" CELLS, container);
	if (!layout->has_missing)
	{
		mts_append_text(parent, key, cells);
		return;
	}
	mts_op_begin(parent, key, "$filter", &filter);
	mts_append_text(&filter.inner, "input", cells);
	mts_append_text(&filter.inner, "as", "c");
	mts_list_begin(&filter.inner, "cond", "$or", & or);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].container != container ||
			layout->columns[i].role != MTS_ROLE_VALUE)
			continue;
		snprintf(digits, sizeof(digits), "%d", n++);
		append_has_reading(layout, &layout->columns[i], & or.inner, digits);
	}
	mts_list_end(&filter.inner, & or);
	mts_op_end(parent, &filter);
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
		append_points(layout, 0, &size.inner, "0");
	else
	{
		mts_list_begin(&size.inner, "0", "$setUnion", &both);
		for (int i = 0; i < layout->ncontainers; i++)
		{
			snprintf(digits, sizeof(digits), "%d", i);
			mts_op_begin(&both.inner, digits, "$map", &map);
			append_points(layout, i, &map.inner, "input");
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
	char source[MTS_MAX_DOTTED], cells[16];
	MtsOperator map;

	column_reference(layout, column, source);
	snprintf(cells, sizeof(cells), "$" CELLS, column->container);
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
	{
		bson_append_document_begin(&let.inner, "in", -1, &part);
		mts_append_text(&part, "$sum", "$$v");
		bson_append_document_end(&let.inner, &part);
	}
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
	char name[16], digits[16];

	if (!mts_preaggregate_is_declared(layout))
		return;
	begin_stage(pipeline, &stage, "$set");
	for (int i = 0; i < layout->ncontainers; i++)
	{
		char source[MTS_MAX_DOTTED] = "$";

		snprintf(name, sizeof(name), CELLS, i);
		append_cells(&layout->containers[i], 0, 0, layout->nslots,
					 layout->ncontainers > 1, source, &stage.inner, name);
	}
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
		snprintf(name, sizeof(name), CELLS, i);
		snprintf(digits, sizeof(digits), "%d", i);
		mts_append_text(&unset, digits, name);
	}
	bson_append_array_end(&stage.outer, &unset);
	bson_append_document_end(pipeline, &stage.outer);
}
