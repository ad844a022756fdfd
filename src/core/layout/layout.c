/*
 * layout.c
 *		Put the columns of a table together, and tell the bucket and the slot of
 *		a time, and back.
 *
 * It says what the whole table shows to be wrong; a single path or format was
 * checked when it was parsed.  The arithmetic fails for nothing but times out of
 * range.  Numbers order the points of a bucket by slot: they tell two points of
 * one bucket apart, but for the texts of {column} slots.  Nothing is allocated.
 */
#include "core/layout/layout.h"

#include <string.h>

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

	while (n > 0 && !mts_path_step_is_slot(&path->steps[n - 1]))
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
		while (!mts_path_step_is_slot(&a->steps[i]))
			i++;
		while (!mts_path_step_is_slot(&b->steps[j]))
			j++;
		if (!mts_path_step_equal(&a->steps[i], &b->steps[j]))
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
		return mts_error_set(
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
			return mts_error_set(
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

		if (!mts_path_step_is_slot(step))
			continue;
		if (step->kind == MTS_STEP_COLUMN_KEY)
		{
			column = find_column(layout, step->name);
			if (column < 0)
				return mts_error_set(
					error,
					"A slot in braces is a unit (millisecond, second, minute, hour, day, month, or a multiple of one) or a text column of the foreign table.",
					"The slot {%s} is not a unit, and the foreign table has no column \"%s\".",
					step->name, step->name);
			if (layout->columns[column].role != MTS_ROLE_KEY)
				return mts_error_set(
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
		if (mts_path_step_is_unit(layout->slots[i]))
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
			   mts_error_set(
				   error,
				   "Declare a column of type timestamptz, timestamp or date for the time of the points.",
				   "The foreign table has no time column.");
	}
	is_offset = time->format.kind == MTS_FORMAT_OFFSET;
	layout->time_kind = layout->nslots == 0   ? MTS_TIME_FLAT
						: time->container < 0 ? MTS_TIME_SLOTS
											  : MTS_TIME_POINT;
	if (is_offset && layout->time_kind != MTS_TIME_POINT)
		return mts_error_set(
			error, NULL,
			"Column \"%s\" has an offset as format, but is not a field of the points.",
			time->name);
	if (is_offset && !layout->bucket_time.is_set)
		return mts_error_set(
			error, "Set table option \"bucket_time_field\".",
			"Column \"%s\" is an offset from the bucket's time, but no option says where that is.",
			time->name);
	if (layout->bucket_time.is_set && layout->time_kind != MTS_TIME_POINT)
		return mts_error_set(
			error, "The option is for points that carry a time of their own.",
			"Option \"bucket_time_field\" has no meaning, because column \"%s\" is the bucket's time.",
			time->name);
	default_span(layout);
	if (layout->time_kind == MTS_TIME_SLOTS)
		layout->bucket_time = (MtsField){true, time->path, time->format};
	else if (layout->bucket_time.is_set && mts_span_is_zero(layout->span))
		return mts_error_set(
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
			return mts_error_set(
				error, NULL,
				"Column \"%s\" has option \"missing\", but is not a value of a point.",
				column->name);
		layout->has_missing = true;
	}
	return true;
}

/* ---- Times ------------------------------------------------------------------ */

/*
 * mts_layout_bucket_end
 *		The instant at which a bucket that starts at `start` ends.
 */
bool
mts_layout_bucket_end(const MtsLayout *layout, MtsTime start, MtsTime *end)
{
	return mts_clock_step(&layout->clock, start, layout->span, 1, end);
}

/*
 * mts_layout_is_aligned
 *		Does a bucket that starts at `start` start a whole span?
 */
bool
mts_layout_is_aligned(const MtsLayout *layout, MtsTime start)
{
	return mts_clock_floor(&layout->clock, start, layout->span) == start;
}

/*
 * How far before the end of its bucket the last point lies: a whole slot,
 * where the innermost slots divide the bucket evenly; else a microsecond.
 */
static int64_t
last_slot_length(const MtsLayout *layout)
{
	MtsSpan inner = {0};

	if (layout->time_kind == MTS_TIME_SLOTS)
		for (int i = 0; i < layout->nslots; i++)
			if (mts_path_step_is_unit(layout->slots[i]))
				inner = layout->slots[i]->unit;
	if (inner.usecs == 0 || mts_span_is_calendar(layout->span) ||
		layout->span.usecs % inner.usecs != 0)
		return 1;
	for (int i = 0; i < layout->nslots; i++)
		if (mts_path_step_is_unit(layout->slots[i]) &&
			(mts_span_is_calendar(layout->slots[i]->unit) ||
			 layout->slots[i]->unit.usecs % inner.usecs != 0))
			return 1;
	return inner.usecs;
}

/*
 * mts_layout_last_time
 *		The time of the last point that a bucket with this end can hold.
 */
MtsTime
mts_layout_last_time(const MtsLayout *layout, MtsTime end)
{
	return end == MTS_TIME_MAX ? end : end - last_slot_length(layout);
}

/*
 * mts_layout_bucket_range
 *		The bucket times of the buckets that can hold a point of a range.
 *
 * It always covers the range: a bucket outside of it holds no such point.
 */
MtsRange
mts_layout_bucket_range(const MtsLayout *layout, MtsRange range)
{
	MtsTime from;

	if (layout->time_kind == MTS_TIME_FLAT || mts_span_is_zero(layout->span) ||
		range.from == MTS_TIME_MIN)
		return range;
	from = mts_clock_step_back(&layout->clock, range.from, layout->span);
	if (from != MTS_TIME_MIN)
		from += last_slot_length(layout);
	return (MtsRange){from, range.to};
}

/*
 * mts_layout_slot_time
 *		The time of the slot with these keys, in a bucket that starts at start.
 *
 * index has one number per slot (ignored where the slot counts no unit).
 * False when a key lies outside of its slot's range.
 */
bool
mts_layout_slot_time(const MtsLayout *layout, MtsTime start,
					 const int64_t *index, MtsTime *t)
{
	MtsTime end, next;

	if (!mts_layout_bucket_end(layout, start, &end))
		return false;
	*t = start;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];
		int64_t n = index[i] - slot->base;
		MtsTime from = *t;

		if (!mts_path_step_is_unit(slot))
			continue;
		if (n < 0 || !mts_clock_step(&layout->clock, from, slot->unit, n, t) ||
			*t >= end ||
			!mts_clock_step(&layout->clock, from, slot->unit, n + 1, &next))
			return false;
		if (next < end)
			end = next;
	}
	return true;
}

/*
 * mts_layout_slot_index
 *		The keys of the slot that holds a time, the inverse of slot_time.
 *
 * *exact is the slot's own time, which is t or, where t is finer than the
 * slot, before it.  False when t lies outside of the bucket.
 */
bool
mts_layout_slot_index(const MtsLayout *layout, MtsTime start, MtsTime t,
					  int64_t *index, MtsTime *exact)
{
	MtsTime end;

	if (t < start || !mts_layout_bucket_end(layout, start, &end) ||
		(t >= end && t != start))
		return false;
	*exact = start;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];
		int64_t n;

		index[i] = 0;
		if (!mts_path_step_is_unit(slot))
			continue;
		if (!mts_clock_steps_between(&layout->clock, *exact, t, slot->unit,
									 &n) ||
			!mts_clock_step(&layout->clock, *exact, slot->unit, n, exact))
			return false;
		index[i] = n + slot->base;
	}
	return true;
}

/* ---- Numbers of slots -------------------------------------------------------- */

/* A length in microseconds that no such span exceeds, or falls short of */
static int64_t
longest(MtsSpan span)
{
	return span.usecs + span.days * (MTS_DAY + MTS_HOUR) +
		   span.months * (31 * MTS_DAY + MTS_HOUR);
}

static int64_t
shortest(MtsSpan span)
{
	return span.usecs + span.days * (MTS_DAY - MTS_HOUR) +
		   span.months * (28 * MTS_DAY - MTS_HOUR);
}

/* A number that no key of a slot reaches, counted from its base */
static int64_t
radix(const MtsLayout *layout, int slot)
{
	const MtsStep *step = layout->slots[slot];
	MtsSpan enclosing = layout->span;

	if (step->kind == MTS_STEP_ELEMENT)
		return MTS_MAX_ELEMENTS;
	if (step->kind == MTS_STEP_COLUMN_KEY)
		return 1;
	for (int i = 0; i < slot; i++)
		if (!mts_span_is_zero(layout->slots[i]->unit))
			enclosing = layout->slots[i]->unit;
	return longest(enclosing) / shortest(step->unit) + 1;
}

/*
 * mts_layout_slots_are_numbered
 *		Have the slots of a bucket numbers that 62 bits hold?
 */
bool
mts_layout_slots_are_numbered(const MtsLayout *layout)
{
	int64_t n = 1;

	for (int i = 0; i < layout->nslots; i++)
		if (__builtin_mul_overflow(n, radix(layout, i), &n) ||
			n > INT64_MAX / 2)
			return false;
	return true;
}

/*
 * mts_layout_slot_number
 *		The number of the slot with these keys, one per slot of the path.
 */
int64_t
mts_layout_slot_number(const MtsLayout *layout, const int64_t *index)
{
	int64_t n = 0;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *step = layout->slots[i];

		if (step->kind != MTS_STEP_COLUMN_KEY)
			n = n * radix(layout, i) + index[i] - step->base;
	}
	return n;
}

/*
 * mts_layout_slot_end
 *		The key after the last slot of a level, within those that enclose it.
 *
 * index has the keys of the enclosing ones.  False when they don't lie in the
 * bucket, or when the level counts no unit.
 */
bool
mts_layout_slot_end(const MtsLayout *layout, MtsTime start,
					const int64_t *index, int level, int64_t *end_key)
{
	const MtsStep *slot = layout->slots[level];
	MtsTime end, next;
	int64_t n;

	if (mts_span_is_zero(slot->unit) ||
		!mts_layout_bucket_end(layout, start, &end))
		return false;
	for (int i = 0; i < level; i++)
	{
		const MtsStep *step = layout->slots[i];
		int64_t k = index[i] - step->base;

		if (mts_span_is_zero(step->unit))
			continue;
		if (!mts_clock_step(&layout->clock, start, step->unit, k + 1, &next) ||
			!mts_clock_step(&layout->clock, start, step->unit, k, &start))
			return false;
		if (next < end)
			end = next;
	}
	if (!mts_clock_steps_between(&layout->clock, start, end - 1, slot->unit,
								 &n))
		return false;
	*end_key = n + 1 + slot->base;
	return true;
}
