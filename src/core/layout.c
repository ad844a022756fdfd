/*
 * layout.c
 *		Put the columns of a table together.
 *
 * It says what the whole table shows to be wrong; a single path or format was
 * checked when it was parsed.  Nothing is allocated.
 */
#include "core/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool BSON_GNUC_PRINTF(3, 4)
	fail(MtsError *error, const char *hint, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->detail, sizeof(error->detail), format, args);
	va_end(args);
	error->hint = hint;
	return false;
}

/*
 * mts_layout_time
 *		The time column; NULL in a flat table without one.
 */
const MtsColumn *
mts_layout_time(const MtsLayout *layout)
{
	return layout->time_column < 0 ? NULL
								   : &layout->columns[layout->time_column];
}

static int
find_column(const MtsLayout *layout, const char *name)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (strcmp(layout->columns[i].name, name) == 0)
			return i;
	return -1;
}

/* The number of steps up to and with the last slot. */
static int
container_steps(const MtsPath *path)
{
	int n = path->nsteps;

	while (n > 0 && !mts_step_is_slot(&path->steps[n - 1]))
		n--;
	return n;
}

static bool
same_slots(const MtsPath *a, const MtsPath *b)
{
	int i = 0, j = 0;

	if (a->nslots != b->nslots)
		return false;
	for (int n = 0; n < a->nslots; n++, i++, j++)
	{
		while (!mts_step_is_slot(&a->steps[i]))
			i++;
		while (!mts_step_is_slot(&b->steps[j]))
			j++;
		if (!mts_step_equal(&a->steps[i], &b->steps[j]))
			return false;
	}
	return true;
}

/* Put a column with slots into its container, a new one if need be. */
static bool
assign_container(MtsLayout *layout, MtsColumn *column, MtsError *error)
{
	const MtsPath *path = &column->path;
	int nsteps = container_steps(path);
	int i = 0;

	if (layout->ncontainers > 0 &&
		!same_slots(path, layout->containers[0].path))
		return fail(
			error,
			"All columns of a foreign table must have the same slots in the same order.",
			"The slots of column \"%s\" are not those of the columns before it.",
			column->name);
	while (i < layout->ncontainers &&
		   (layout->containers[i].nsteps != nsteps ||
			!mts_path_starts_with(path, layout->containers[i].path, nsteps)))
		i++;
	if (i == layout->ncontainers)
		layout->containers[layout->ncontainers++] =
			(MtsContainer){path, nsteps, false};
	layout->containers[i].is_value |= nsteps == path->nsteps;
	column->container = i;
	return true;
}

static bool
assign_containers(MtsLayout *layout, MtsError *error)
{
	layout->ncontainers = 0;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsColumn *column = &layout->columns[i];

		column->container = -1;
		if (column->role == MTS_ROLE_SLOT)
			column->role = MTS_ROLE_KEY;
		if (column->path.nslots == 0)
			continue;
		if (column->role == MTS_ROLE_ATTRIBUTE)
			return fail(
				error, NULL,
				"Column \"%s\" has role \"attribute\", but its path has a slot, so it belongs to a point, not to the bucket.",
				column->name);
		if (column->role != MTS_ROLE_TIME)
			column->role = MTS_ROLE_VALUE;
		if (!assign_container(layout, column, error))
			return false;
	}
	return true;
}

/* Collect the slots, which all containers share, and their columns. */
static bool
collect_slots(MtsLayout *layout, MtsError *error)
{
	const MtsPath *path;

	layout->nslots = 0;
	if (layout->ncontainers == 0)
		return true;
	path = layout->containers[0].path;
	for (int i = 0; i < path->nsteps; i++)
	{
		const MtsStep *step = &path->steps[i];
		int column;

		if (!mts_step_is_slot(step))
			continue;
		if (step->kind == MTS_STEP_COLUMN_KEY)
		{
			column = find_column(layout, step->name);
			if (column < 0)
				return fail(
					error,
					"A slot in braces is a unit (millisecond, second, minute, hour, day, month, or a multiple of one) or a text column of the foreign table.",
					"The slot {%s} is not a unit, and the foreign table has no column \"%s\".",
					step->name, step->name);
			if (layout->columns[column].role != MTS_ROLE_KEY)
				return fail(
					error, NULL,
					"Column \"%s\" takes the keys of the slot {%s}, so it cannot be the time, have a path with slots or take another slot.",
					step->name, step->name);
			layout->columns[column].role = MTS_ROLE_SLOT;
			layout->columns[column].slot = layout->nslots;
		}
		layout->slots[layout->nslots++] = step;
	}
	return true;
}

static const MtsStep *
first_unit(const MtsLayout *layout)
{
	for (int i = 0; i < layout->nslots; i++)
		if (mts_step_is_unit(layout->slots[i]))
			return layout->slots[i];
	return NULL;
}

/* Complete the span from the outermost slot, or from a point's offset. */
static void
default_span(MtsLayout *layout)
{
	const MtsStep *outer = first_unit(layout);
	const MtsFormat *format = &mts_layout_time(layout)->format;

	if (!mts_span_is_zero(layout->span))
		return;
	if (outer)
		layout->span = mts_span_enclosing(outer->unit);
	else if (layout->time_kind == MTS_TIME_POINT &&
			 format->kind == MTS_FORMAT_OFFSET)
		layout->span = mts_span_enclosing(format->unit);
}

static bool
settle_time(MtsLayout *layout, MtsError *error)
{
	const MtsColumn *time = mts_layout_time(layout);
	bool is_offset;

	if (!time)
	{
		layout->time_kind = MTS_TIME_FLAT;
		return layout->nslots == 0 ||
			   fail(
				   error,
				   "Declare a column of type timestamptz, timestamp or date for the time of the points.",
				   "The foreign table has no time column.");
	}
	is_offset = time->format.kind == MTS_FORMAT_OFFSET;
	layout->time_kind = layout->nslots == 0   ? MTS_TIME_FLAT
						: time->container < 0 ? MTS_TIME_SLOTS
											  : MTS_TIME_POINT;
	if (is_offset && layout->time_kind != MTS_TIME_POINT)
		return fail(
			error, NULL,
			"Column \"%s\" has an offset as format, but is not a field of the points.",
			time->name);
	if (is_offset && !layout->bucket_time.is_set)
		return fail(
			error, "Set table option \"bucket_time_field\".",
			"Column \"%s\" is an offset from the bucket's time, but no option says where that is.",
			time->name);
	if (layout->bucket_time.is_set && layout->time_kind != MTS_TIME_POINT)
		return fail(
			error, "The option is for points that carry a time of their own.",
			"Option \"bucket_time_field\" has no meaning, because column \"%s\" is the bucket's time.",
			time->name);
	default_span(layout);
	if (layout->time_kind == MTS_TIME_SLOTS)
		layout->bucket_time = (MtsField){true, time->path, time->format};
	else if (layout->bucket_time.is_set && mts_span_is_zero(layout->span))
		return fail(
			error,
			"Set option \"bucket_span\" to how long after the bucket's time a point can be.",
			"Option \"bucket_time_field\" requires option \"bucket_span\".");
	return true;
}

/*
 * mts_layout_build
 *		Complete a layout from its columns and fields.
 *
 * False with the reason in *error when they don't fit together.
 */
bool
mts_layout_build(MtsLayout *layout, MtsError *error)
{
	if (!assign_containers(layout, error) || !collect_slots(layout, error) ||
		!settle_time(layout, error))
		return false;
	layout->has_missing = false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->missing.kind == MTS_MISSING_NONE)
			continue;
		if (column->role != MTS_ROLE_VALUE)
			return fail(
				error, NULL,
				"Column \"%s\" has option \"missing\", but is not a value of a point.",
				column->name);
		layout->has_missing = true;
	}
	return true;
}
