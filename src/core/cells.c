/*
 * cells.c
 *		Expressions that see a bucket's points as the unfolding does.
 *
 * Keys that are no numbers, empty subdocuments and what means "no reading" are
 * no points.
 */
#include "core/cells.h"

#include "core/expression.h"

#include <stdio.h>
#include <string.h>

/* Keys that a slot of units counts with */
#define NUMBER_PATTERN "^(0|-?[1-9][0-9]*)$"

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

/*
 * {$filter: ..} of the entries that can hold points.  last is the container
 * whose last slot this is, or NULL: then a document without fields is no
 * point, nor is null where points are documents.
 */
static void
append_slots(const MtsStep *slot, const char *source, int level, bool bare,
			 const MtsContainer *last, bson_t *parent, const char *key)
{
	MtsOperator filter, and, ne, match;
	char var[8], name[16], value[16], digits[12];

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
	if (last)
	{
		mts_list_begin(&and.inner, mts_next_key(&and.inner, digits), "$ne",
					   &ne);
		mts_append_text(&ne.inner, "0", value);
		mts_append_empty(&ne.inner, "1");
		mts_list_end(&and.inner, &ne);
	}
	if (last && !last->is_value)
	{
		mts_list_begin(&and.inner, mts_next_key(&and.inner, digits), "$ne",
					   &ne);
		mts_append_text(&ne.inner, "0", value);
		bson_append_null(&ne.inner, "1", -1);
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
	char ref[24], digits[16];
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
		append_slots(&steps[step], source, level, true, container, parent,
					 key);
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
	append_slots(&steps[step], source, level, bare, is_last ? container : NULL,
				 &map.inner, "input");
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

/*
 * mts_cells_append
 *		Append {_mts<i>: the cells of a container}, which later stages use.
 *
 * Cells are bare values, or keyed ones where several containers are to be
 * counted together.
 */
void
mts_cells_append(const MtsLayout *layout, int container, bson_t *set)
{
	char source[MTS_MAX_DOTTED] = "$";
	char name[MTS_MAX_CELLS];

	snprintf(name, sizeof(name), MTS_CELLS, container);
	append_cells(&layout->containers[container], 0, 0, layout->nslots,
				 layout->ncontainers > 1, source, set, name);
}

/*
 * mts_cells_value
 *		Name a column's value in a cell that is the variable c.
 *
 * source has room for MTS_MAX_DOTTED bytes.
 */
void
mts_cells_value(const MtsLayout *layout, const MtsColumn *column, char *source)
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

	mts_cells_value(layout, column, source);
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

/*
 * mts_cells_append_points
 *		Append the cells in which a column that is a value has a reading.
 */
void
mts_cells_append_points(const MtsLayout *layout, int container, bson_t *parent,
						const char *key)
{
	char cells[MTS_MAX_CELLS];
	MtsOperator filter, or ;
	char digits[16];
	int n = 0;

	snprintf(cells, sizeof(cells), "$" MTS_CELLS, container);
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
