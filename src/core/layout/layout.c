/*
 * layout.c
 *		Check that the columns of a table fit together, and compute the bucket
 *		and the slot of a time, the time of a slot, and its number.
 *
 * A single path or format is checked when it is parsed.  The arithmetic fails
 * only for times and keys out of range.  A slot's number orders the points of
 * a bucket; two points with the same number differ in the text of a {column}
 * slot.  Allocates nothing.
 */
#include "core/layout/layout.h"

#include <math.h>
#include <string.h>

#define NO_TIME_COLUMN "The foreign table has no time column."
#define TIME_COLUMN_HINT \
	"Declare a column of type timestamptz, timestamp or date for the time of the points."

#define BUCKET_TIME_HINT \
	"The option is for points that carry a time of their own."

/*
 * mts_layout_time_column
 *		Return the time column.  NULL if a flat table has none.
 */
const MtsColumn *
mts_layout_time_column(const MtsLayout *layout)
{
	return layout->time_column < 0 ? NULL
								   : &layout->columns[layout->time_column];
}

/*
 * mts_layout_time_is_key
 *		Tell whether the keys of a slot are the times of the points.
 */
bool
mts_layout_time_is_key(const MtsLayout *layout)
{
	return layout->time_column >= 0 &&
		   layout->columns[layout->time_column].role == MTS_ROLE_SLOT;
}

/*
 * mts_layout_number_slot
 *		The slot whose keys are times that are numbers, or -1.
 */
int
mts_layout_number_slot(const MtsLayout *layout)
{
	return mts_layout_time_is_key(layout) &&
				   layout->key_format.kind != MTS_FORMAT_TEXT
			   ? mts_layout_time_column(layout)->slot
			   : -1;
}

/* Find a column by its name, or by that of its field, or return -1. */
static int
find_column(const MtsLayout *layout, const char *name)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (strcmp(layout->columns[i].name, name) == 0)
			return i;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *path = &layout->columns[i].path;

		if (path->nsteps == 1 && path->steps[0].kind == MTS_STEP_NAME &&
			strcmp(path->steps[0].name, name) == 0)
			return i;
	}
	return -1;
}

/* The number of steps up to and including the last slot */
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

/* Assign a column with slots to its container; add that if it is new. */
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
			"All columns whose paths have slots must have the same slots, in the same order.",
			"The slots of column \"%s\" are not those of the columns before it.",
			column->name);
	while (i < layout->ncontainers &&
		   (layout->containers[i].nsteps != nsteps ||
			!mts_path_starts_with(path, layout->containers[i].path, nsteps)))
		i++;
	if (i == layout->ncontainers)
		layout->containers[layout->ncontainers++] =
			(MtsContainer){.path = path, .nsteps = nsteps};
	layout->containers[i].is_value |= nsteps == path->nsteps;
	layout->containers[i].is_tuple |=
		nsteps < path->nsteps && path->steps[nsteps].may_be_index;
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

		/* build completes a layout anew, so an earlier result is undone */
		column->container = -1;
		if (column->role == MTS_ROLE_SLOT)
			column->role =
				i == layout->time_column ? MTS_ROLE_TIME : MTS_ROLE_KEY;
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

/* Find the column of the keys of a slot, which gets its role. */
static bool
assign_slot(MtsLayout *layout, const MtsStep *step, MtsError *error)
{
	MtsFormat format;
	bool is_time = mts_format_is_key(step->name, &format);
	int i = is_time ? layout->time_column : find_column(layout, step->name);
	MtsColumn *column;

	if (i < 0 && is_time)
		return mts_error_set(error, TIME_COLUMN_HINT, NO_TIME_COLUMN);
	if (i < 0)
		return mts_error_set(
			error,
			"A slot in braces is a unit (millisecond, second, minute, hour, day, month, or a multiple of one), a format of times (epoch, epoch_ms, epoch_us or text:PATTERN) or a text or integer column of the foreign table.",
			"The slot {%s} is not a unit, and the foreign table has no column \"%s\".",
			step->name, step->name);
	column = &layout->columns[i];
	if (is_time &&
		(column->role != MTS_ROLE_TIME || column->path.nsteps != 1 ||
		 strcmp(column->path.steps[0].name, column->name) != 0))
		return mts_error_set(
			error,
			"Option \"bucket_time_field\" names the field of a bucket's time.",
			"Column \"%s\" is the time, which the keys of the slot {%s} are, so it cannot have option \"field\" or hold the keys of another slot.",
			column->name, step->name);
	if (!is_time && column->role != MTS_ROLE_KEY)
		return mts_error_set(
			error, NULL,
			"Column \"%s\" holds the keys of the slot {%s}, so it cannot be the time or an attribute, have a path with slots or hold the keys of another slot.",
			step->name, step->name);
	if (is_time)
		layout->key_format = format;
	column->role = MTS_ROLE_SLOT;
	column->slot = layout->nslots;
	return true;
}

/* Collect the slots, which all containers share, and their key columns. */
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

		if (!mts_path_step_is_slot(step))
			continue;
		if (step->kind == MTS_STEP_COLUMN_KEY &&
			!assign_slot(layout, step, error))
			return false;
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

/* The unit of the first number of a key */
static MtsSpan
outer_unit(const MtsStep *level)
{
	MtsSpan unit = level->unit;

	for (int i = 1; i < level->nnumbers; i++)
		unit.usecs *= level->numbers[i].count;
	return unit;
}

/*
 * mts_layout_counts_units
 *		Tell whether some slot counts units of time.
 */
bool
mts_layout_counts_units(const MtsLayout *layout)
{
	return first_unit(layout) != NULL;
}

/* Derive an undeclared span from the outermost slot or a point's format. */
static void
default_span(MtsLayout *layout)
{
	const MtsStep *outer = first_unit(layout);
	const MtsFormat *format = &mts_layout_time_column(layout)->format;

	if (!mts_span_is_zero(layout->span))
		return;
	if (outer)
		layout->span = mts_span_is_zero(outer->of)
						   ? mts_span_enclosing(outer_unit(outer))
						   : outer->of;
	else if (layout->time_kind == MTS_TIME_POINT &&
			 mts_format_is_relative(format))
		layout->span = format->kind == MTS_FORMAT_OF_DAY
						   ? (MtsSpan){0, 1, 0}
						   : mts_span_enclosing(format->unit);
}

/*
 * Check that only the points' own time is relative to that of a bucket, and
 * that this has a time, or a day.
 */
static bool
check_relative(const MtsLayout *layout, MtsError *error)
{
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool is_offset = column->format.kind == MTS_FORMAT_OFFSET;

		if (!mts_format_is_relative(&column->format))
			continue;
		if (i != layout->time_column || column->role != MTS_ROLE_TIME ||
			layout->time_kind != MTS_TIME_POINT)
			return mts_error_set(
				error, NULL,
				"Column \"%s\" has %s as format, but is not the time in a point.",
				column->name, is_offset ? "an offset" : "a time of day");
		if (!layout->bucket_time.is_set)
			return mts_error_set(
				error, "Set table option \"bucket_time_field\".",
				"Column \"%s\" is %s the bucket's time, but no option says where that is.",
				column->name,
				is_offset ? "an offset from" : "a time of the day of");
		if (!is_offset && mts_span_length(layout->span, 28) != MTS_DAY)
			return mts_error_set(
				error, "Set table option \"bucket_span\" to \"1 day\".",
				"Column \"%s\" is a time of day, but a bucket does not have the points of one day.",
				column->name);
	}
	return true;
}

/* Determine the field that stores the time of a point; check its options. */
static bool
determine_time(MtsLayout *layout, MtsError *error)
{
	const MtsColumn *time = mts_layout_time_column(layout);

	if (!time)
	{
		layout->time_kind = MTS_TIME_FLAT;
		return layout->nslots == 0 ||
			   mts_error_set(error, TIME_COLUMN_HINT, NO_TIME_COLUMN);
	}
	layout->time_kind = layout->nslots == 0 ? MTS_TIME_FLAT
						: time->container < 0 && time->role == MTS_ROLE_TIME
							? MTS_TIME_SLOTS
							: MTS_TIME_POINT;
	if (layout->bucket_time.is_set && layout->time_kind == MTS_TIME_FLAT)
		return mts_error_set(
			error, BUCKET_TIME_HINT,
			"Option \"bucket_time_field\" has no meaning, because the table has no buckets.");
	if (layout->bucket_time.is_set && layout->time_kind == MTS_TIME_SLOTS)
		return mts_error_set(
			error, BUCKET_TIME_HINT,
			"Option \"bucket_time_field\" has no meaning, because column \"%s\" is the bucket's time.",
			time->name);
	default_span(layout);
	if (layout->time_kind == MTS_TIME_SLOTS)
		layout->bucket_time = (MtsField){true, time->path, time->format};
	else if (layout->bucket_time.is_set && mts_span_is_zero(layout->span))
		return mts_error_set(
			error, "Set option \"bucket_span\" to the length of a bucket.",
			"Option \"bucket_time_field\" requires option \"bucket_span\".");
	return true;
}

/*
 * Check that the keys of a level have one meaning each.  A key that counts
 * from the start of a unit would occur twice in a longer slot; where clocks
 * change, a day does not have as many hours as a key with days can count.
 */
static bool
check_keys(const MtsLayout *layout, MtsError *error)
{
	MtsSpan enclosing = layout->span;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *level = layout->slots[i];

		if (!mts_span_is_zero(level->of) &&
			mts_span_length(enclosing, 28) > mts_span_length(level->of, 28))
			return mts_error_set(
				error,
				"Write the slots of the longer units before it, or set option \"bucket_span\".",
				"Slot number %d counts from the start of a unit that is shorter than the bucket or slot around it.",
				i + 1);
		if (level->nnumbers > 1 && layout->clock.to_local &&
			mts_span_length(outer_unit(level), 0) >= MTS_DAY)
			return mts_error_set(
				error, "Set option \"bucket_time_zone\" to \"UTC\".",
				"Slot number %d has days and a shorter unit in one key, but days have no fixed length in the table's time zone.",
				i + 1);
		if (mts_path_step_is_unit(level))
			enclosing = level->unit;
	}
	return true;
}

/* Count the columns of the points, and check where missing values are. */
static bool
assign_places(MtsLayout *layout, MtsError *error)
{
	layout->has_missing = false;
	layout->nplaces = 0;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsColumn *column = &layout->columns[i];

		column->place = -1;
		if (layout->nslots == 0 || column->container >= 0 ||
			column->role == MTS_ROLE_VALUE)
			column->place = layout->nplaces++;
		if (column->missing.kind == MTS_MISSING_NONE)
			continue;
		if (column->role != MTS_ROLE_VALUE)
			return mts_error_set(
				error, NULL,
				"Column \"%s\" has option \"missing_value\", but is not a value of a point.",
				column->name);
		layout->has_missing = true;
	}
	return true;
}

/*
 * mts_layout_build
 *		Complete a layout from its columns and fields.
 *
 * False with the reason in *error if they do not fit together.
 */
bool
mts_layout_build(MtsLayout *layout, MtsError *error)
{
	return assign_containers(layout, error) && collect_slots(layout, error) &&
		   determine_time(layout, error) && check_relative(layout, error) &&
		   check_keys(layout, error) && assign_places(layout, error);
}

/*
 * mts_layout_needs_container
 *		Tell whether a needed column is in a container; needed is by column.
 */
bool
mts_layout_needs_container(const MtsLayout *layout, int container,
						   const bool *needed)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (needed[i] && layout->columns[i].container == container)
			return true;
	return false;
}

/*
 * mts_layout_narrow
 *		Leave out the containers that have neither a needed column nor the
 *		time.
 *
 * Their columns become attributes without a path, which nothing may read.  A
 * point exists then if it has an element in a container that remains.  False
 * if none does.
 */
bool
mts_layout_narrow(MtsLayout *layout, const bool *needed)
{
	int time = mts_layout_time_column(layout)->container;
	MtsError error;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsColumn *column = &layout->columns[i];

		if (column->container >= 0 && column->container != time &&
			!mts_layout_needs_container(layout, column->container, needed))
			*column = (MtsColumn){.name = column->name,
								  .role = MTS_ROLE_ATTRIBUTE,
								  .container = -1};
	}
	return assign_containers(layout, &error) && layout->ncontainers > 0 &&
		   collect_slots(layout, &error) && assign_places(layout, &error);
}

/*
 * mts_layout_capacity
 *		Return the number of points in a full bucket, or 0 if the layout does
 *		not tell it.
 */
double
mts_layout_capacity(const MtsLayout *layout)
{
	double span = (double) mts_span_length(layout->span, 30);

	if (layout->nslots == 0)
		return 1;
	if (layout->max_points > 0)
		return layout->max_points;
	for (int i = layout->nslots - 1; i >= 0; i--)
	{
		double unit = (double) mts_span_length(layout->slots[i]->unit, 30);

		if (unit > 0 && span > 0)
			return BSON_MAX(span / unit, 1);
	}
	return 0;
}

/*
 * mts_layout_has_bounds
 *		Tell whether fields of a bucket say when its points can be.
 */
bool
mts_layout_has_bounds(const MtsLayout *layout)
{
	return layout->bucket_time.is_set || layout->first.is_set ||
		   layout->last.is_set;
}

/*
 * mts_layout_missing_value
 *		The stored value that means "no reading"; null where none is
 *		declared.
 */
bson_value_t
mts_layout_missing_value(const MtsMissing *missing)
{
	bson_value_t value = {.value_type = BSON_TYPE_NULL};

	switch (missing->kind)
	{
		case MTS_MISSING_NUMBER:
			value.value_type = BSON_TYPE_DOUBLE;
			value.value.v_double = missing->number;
			if (missing->number == rint(missing->number) &&
				fabs(missing->number) <= INT32_MAX)
			{
				value.value_type = BSON_TYPE_INT32;
				value.value.v_int32 = (int32_t) missing->number;
			}
			break;
		case MTS_MISSING_TEXT:
			value.value_type = BSON_TYPE_UTF8;
			value.value.v_utf8.str = (char *) missing->text;
			value.value.v_utf8.len = (uint32_t) strlen(missing->text);
			break;
		default:
			break;
	}
	return value;
}

/* ---- Times ------------------------------------------------------------- */

/*
 * mts_layout_slot_clock
 *		Determine the clock that the slots of a bucket count.
 *
 * False if the bucket's end is out of range.
 */
bool
mts_layout_slot_clock(const MtsLayout *layout, MtsTime start,
					  MtsSlotClock *slots)
{
	return mts_slot_clock_open(slots, &layout->clock, layout->span,
							   layout->slots_are_local, start);
}

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
 *		Tell whether `start` is a multiple of the bucket span.
 */
bool
mts_layout_is_aligned(const MtsLayout *layout, MtsTime start)
{
	return mts_clock_floor(&layout->clock, start, layout->span) == start;
}

static bool
is_multiple(MtsSpan span, int64_t usecs)
{
	return !mts_span_is_calendar(span) && span.usecs % usecs == 0;
}

/*
 * The least distance from a point to the end of its bucket.  If the innermost
 * level divides the bucket evenly, the last point is a whole slot before the
 * end.  Otherwise, or if clocks can change in it, it is a microsecond before
 * the end.
 */
static int64_t
last_slot_length(const MtsLayout *layout)
{
	MtsSpan inner = {0};

	if (layout->time_kind == MTS_TIME_SLOTS && !layout->slots_are_local)
		for (int i = 0; i < layout->nslots; i++)
			if (mts_path_step_is_unit(layout->slots[i]))
				inner = layout->slots[i]->unit;
	if (inner.usecs == 0 || !is_multiple(layout->span, inner.usecs))
		return 1;
	for (int i = 0; i < layout->nslots; i++)
		if (!is_multiple(layout->slots[i]->unit, inner.usecs))
			return 1;
	return inner.usecs;
}

/*
 * mts_layout_last_time
 *		The last time of a point that a bucket with this end can hold.
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
 * A bucket whose time is outside of the result holds no such point.
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
 * mts_layout_reach
 *		The times in which the start of a native bucket lies if it holds a
 *		point of a range.
 *
 * All times for other buckets.
 */
MtsRange
mts_layout_reach(const MtsLayout *layout, MtsRange range)
{
	MtsRange reach = {MTS_TIME_MIN, MTS_TIME_MAX};

	if (mts_span_is_zero(layout->reach))
		return reach;
	reach.from =
		mts_clock_step_back(&layout->clock, range.from, layout->reach);
	if (!mts_clock_step(&layout->clock, range.to, layout->reach, 1, &reach.to))
		reach.to = MTS_TIME_MAX;
	return reach;
}

/*
 * Below, a level is a step of the paths that layout->slots has, and a slot is
 * the place of one point: it has a key on each level.
 */

/*
 * mts_layout_first_key
 *		The key with which a level begins in an enclosing slot from *start on.
 *
 * If the level counts from the start of another unit, *end moves to the end of
 * that unit at most.  False if no key begins at the start.
 */
bool
mts_layout_first_key(const MtsClock *clock, const MtsStep *level,
					 MtsTime start, MtsTime *end, int64_t *key)
{
	MtsTime origin, t;
	int64_t n;

	*key = level->base;
	if (mts_span_is_zero(level->of) || start == MTS_TIME_MIN)
		return true;
	origin = mts_clock_floor(clock, start, level->of);
	if (!mts_clock_steps_between(clock, origin, start, level->unit, &n) ||
		!mts_clock_step(clock, origin, level->unit, n, &t) || t != start ||
		!mts_clock_step(clock, origin, level->of, 1, &t))
		return false;
	if (t < *end)
		*end = t;
	*key += n;
	return true;
}

/*
 * Narrow the interval of a bucket, on the clock of its slots, to that of
 * these keys on the first nlevels levels.  False if a key lies outside of its
 * level's range.
 */
static bool
narrow_to_keys(const MtsLayout *layout, const MtsClock *clock,
			   const int64_t *keys, int nlevels, MtsTime *start, MtsTime *end)
{
	for (int i = 0; i < nlevels; i++)
	{
		const MtsStep *level = layout->slots[i];
		MtsTime outer = *start, next;
		int64_t n;

		if (!mts_path_step_is_unit(level))
			continue;
		if (!mts_layout_first_key(clock, level, outer, end, &n) ||
			(n = keys[i] - n) < 0 ||
			!mts_clock_step(clock, outer, level->unit, n, start) ||
			*start >= *end ||
			!mts_clock_step(clock, outer, level->unit, n + 1, &next))
			return false;
		if (next < *end)
			*end = next;
	}
	return true;
}

/*
 * mts_layout_instant
 *		The time of the slot with these keys, in a bucket with this clock.
 *
 * False if a key lies outside of its level's range, or if the clocks skip the
 * slot's local time.
 */
bool
mts_layout_instant(const MtsLayout *layout, const MtsSlotClock *slots,
				   const int64_t *keys, MtsTime *t)
{
	MtsTime end = slots->slots.to;

	*t = slots->slots.from;
	return narrow_to_keys(layout, slots->steps, keys, layout->nslots, t,
						  &end) &&
		   mts_slot_clock_instant(slots, *t, t);
}

/*
 * mts_layout_slot_time
 *		The time of the slot with these keys, in a bucket that starts at start.
 *
 * keys has one key per level; that of a level without a unit is ignored.
 * False as in mts_layout_instant.
 */
bool
mts_layout_slot_time(const MtsLayout *layout, MtsTime start,
					 const int64_t *keys, MtsTime *t)
{
	MtsSlotClock slots;

	return mts_layout_slot_clock(layout, start, &slots) &&
		   mts_layout_instant(layout, &slots, keys, t);
}

/*
 * mts_layout_slot_index
 *		The keys of the slot that holds a time, the inverse of slot_time.
 *
 * *slot_time is the slot's own time: t or, if t is finer than the slot, a time
 * before it.  False if t lies outside of the bucket, or if no slot of local
 * time means t and points do not carry a time of their own.  A bucket without
 * a span has no length, but holds its own time.
 */
bool
mts_layout_slot_index(const MtsLayout *layout, MtsTime start, MtsTime t,
					  int64_t *keys, MtsTime *slot_time)
{
	MtsSlotClock slots;

	return mts_layout_slot_clock(layout, start, &slots) &&
		   mts_layout_slot_index_in(layout, &slots, t, keys, slot_time);
}

/*
 * mts_layout_slot_index_in
 *		As mts_layout_slot_index, in a bucket whose slots the caller knows.
 */
bool
mts_layout_slot_index_in(const MtsLayout *layout, const MtsSlotClock *slots,
						 MtsTime t, int64_t *keys, MtsTime *slot_time)
{
	MtsTime start = slots->bucket.from;
	MtsTime time, end;
	bool has_own_time = layout->time_kind == MTS_TIME_POINT;

	if (t < start || (t >= slots->bucket.to && t != start) ||
		(!mts_slot_clock_time(slots, t, &time) &&
		 (!has_own_time || time >= slots->slots.to)))
		return false;
	*slot_time = slots->slots.from;
	end = slots->slots.to;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *level = layout->slots[i];
		int64_t first, n;

		keys[i] = 0;
		if (!mts_path_step_is_unit(level))
			continue;
		if (!mts_layout_first_key(slots->steps, level, *slot_time, &end,
								  &first) ||
			(time >= end && t != start) ||
			!mts_clock_steps_between(slots->steps, *slot_time, time,
									 level->unit, &n) ||
			!mts_clock_step(slots->steps, *slot_time, level->unit, n,
							slot_time))
			return false;
		keys[i] = n + first;
	}
	return mts_slot_clock_instant(slots, *slot_time, slot_time) ||
		   has_own_time;
}

/* ---- Numbers of slots -------------------------------------------------- */

/*
 * mts_layout_max_keys
 *		An upper bound of the number of keys of a level, from its first one.
 */
int64_t
mts_layout_max_keys(const MtsLayout *layout, int i)
{
	const MtsStep *level = layout->slots[i];
	MtsSpan enclosing = layout->span;
	int64_t longest;

	if (level->kind == MTS_STEP_ELEMENT)
		return MTS_MAX_ELEMENTS;
	if (level->kind == MTS_STEP_COLUMN_KEY)
		return 1;
	for (int outer = 0; outer < i; outer++)
		if (!mts_span_is_zero(layout->slots[outer]->unit))
			enclosing = layout->slots[outer]->unit;
	if (!mts_span_is_zero(level->of))
		enclosing = level->of;
	longest = mts_span_length(enclosing, 31);

	/* clocks may be set back within a day, or forward between two days */
	if (mts_span_is_calendar(enclosing) || mts_span_is_calendar(level->unit))
		longest += MTS_ZONE_SLACK;
	return longest / mts_span_length(level->unit, 28) + 1;
}

/*
 * mts_layout_slots_are_numbered
 *		Tell whether 62 bits hold the numbers of a bucket's slots.
 */
bool
mts_layout_slots_are_numbered(const MtsLayout *layout)
{
	int64_t n = 1;

	for (int i = 0; i < layout->nslots; i++)
		if (__builtin_mul_overflow(n, mts_layout_max_keys(layout, i), &n) ||
			n > INT64_MAX / 2)
			return false;
	return true;
}

/*
 * mts_layout_slot_number
 *		The number of the slot with these keys, in the order of the slots.
 *
 * The key of a {column} level is not counted.
 */
int64_t
mts_layout_slot_number(const MtsLayout *layout, const int64_t *keys)
{
	int64_t n = 0;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *level = layout->slots[i];

		if (level->kind != MTS_STEP_COLUMN_KEY)
			n = n * mts_layout_max_keys(layout, i) + keys[i] - level->base;
	}
	return n;
}

/*
 * mts_layout_keys
 *		The first key of a level and the last one plus one, within the
 *		enclosing slots.
 *
 * keys has those of the enclosing levels.  False if they do not lie in the
 * bucket, or if the level has no unit.
 */
bool
mts_layout_keys(const MtsLayout *layout, MtsTime start, const int64_t *keys,
				int level, int64_t *first_key, int64_t *end_key)
{
	const MtsStep *step = layout->slots[level];
	MtsSlotClock slots;
	MtsTime from, end;
	int64_t n;

	if (!mts_path_step_is_unit(step) ||
		!mts_layout_slot_clock(layout, start, &slots))
		return false;
	from = slots.slots.from;
	end = slots.slots.to;
	if (!narrow_to_keys(layout, slots.steps, keys, level, &from, &end) ||
		!mts_layout_first_key(slots.steps, step, from, &end, first_key) ||
		!mts_clock_steps_between(slots.steps, from, end - 1, step->unit, &n))
		return false;
	*end_key = n + 1 + *first_key;
	return true;
}
