/*
 * unfold.c
 *		Walk a bucket's slots and give its points one by one.
 *
 * The bytes are not trusted: what doesn't fit the layout is reported as
 * invalid, point by point, and the walk goes on behind it.  Points come in
 * the order in which they are stored; only when the columns lie in several
 * containers are they sorted by slot, to be zipped.  Memory for that comes
 * from the caller's function and is reused from bucket to bucket.
 */
#include "core/unfold.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A point of one container, kept until all containers are collected */
struct MtsCell
{
	MtsTime		time;
	MtsElement	element;
	MtsSlotKey	slots[MTS_MAX_SLOTS];
};

typedef enum Entered
{
	ENTERED,
	SKIPPED,
	REFUSED
} Entered;

/*
 * mts_unfold_init
 *		Prepare to unfold buckets of a layout.
 *
 * ranges may change between buckets.  resize is realloc or like it; what it
 * gave is never freed here.
 */
void
mts_unfold_init(MtsUnfold *unfold, const MtsLayout *layout,
				const MtsRanges *ranges,
				void *(*resize) (void *memory, size_t size))
{
	int			n = layout->ncontainers;

	memset(unfold, 0, sizeof(*unfold));
	unfold->layout = layout;
	unfold->ranges = ranges;
	unfold->resize = resize;
	if (n == 0)
		return;
	unfold->walks = resize(NULL, n * sizeof(MtsWalk));
	unfold->cells = resize(NULL, n * sizeof(struct MtsCells));
	memset(unfold->walks, 0, n * sizeof(MtsWalk));
	memset(unfold->cells, 0, n * sizeof(struct MtsCells));
	for (int i = 0; i < n; i++)
	{
		MtsWalk    *walk = &unfold->walks[i];
		int			slot = 0;

		walk->container = &layout->containers[i];
		walk->depth = -1;
		for (int step = 0; step < walk->container->nsteps; step++)
			if (mts_step_is_slot(&walk->container->path->steps[step]))
				walk->slot_step[slot++] = step;
	}
}

static MtsUnfolded BSON_GNUC_PRINTF(2, 3)
invalid(MtsUnfold *unfold, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(unfold->error.detail, sizeof(unfold->error.detail), format,
			  args);
	va_end(args);
	unfold->error.hint = NULL;
	return MTS_INVALID;
}

/* Append a name or a slot's key to unfold->where. */
static void
append_where(MtsUnfold *unfold, const MtsStep *step, const MtsSlotKey *key)
{
	size_t		len = strlen(unfold->where);
	char	   *at = unfold->where + len;
	size_t		room = sizeof(unfold->where) - len;
	const char *period = len > 0 ? "." : "";

	if (step->kind == MTS_STEP_NAME)
		snprintf(at, room, "%s%s", period, step->name);
	else if (step->kind == MTS_STEP_COLUMN_KEY)
		snprintf(at, room, "%s%s", period, key->text);
	else
		snprintf(at, room, "%s%lld", period, (long long) key->index);
}

/* Say where a column's value of this point is, for the message of an error. */
void
mts_unfold_locate(MtsUnfold *unfold, const MtsPoint *point,
				  const MtsColumn *column)
{
	const MtsSlotKey *key = point ? point->slots : NULL;

	unfold->where[0] = '\0';
	for (int i = 0; i < column->path.nsteps; i++)
	{
		const MtsStep *step = &column->path.steps[i];

		append_where(unfold, step, mts_step_is_slot(step) ? key++ : NULL);
	}
}

/* Say that the walk is at level `depth`. */
static void
locate_walk(MtsUnfold *unfold, const MtsWalk *walk, int depth)
{
	int			slot = 0;

	unfold->where[0] = '\0';
	for (int i = 0; i < walk->container->nsteps && slot <= depth; i++)
	{
		const MtsStep *step = &walk->container->path->steps[i];

		append_where(unfold, step, mts_step_is_slot(step) ?
					 &walk->levels[slot++].key : NULL);
	}
}

static MtsUnfolded
corrupt(MtsUnfold *unfold)
{
	return invalid(unfold, "The document's BSON is malformed.");
}

/* A bucket's field that holds a time; false when it is absent or invalid. */
static bool
decode_field(MtsUnfold *unfold, const MtsField *field, MtsTime *t)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement	element;

	mts_path_dotted(field->path.steps, field->path.nsteps, unfold->where,
					sizeof(unfold->where));
	switch (mts_element_find(&unfold->document, field->path.steps,
							 field->path.nsteps, &element))
	{
		case MTS_MALFORMED:
			invalid(unfold, "The path leads through something that is no document.");
			return false;
		case MTS_ABSENT:
			element.type = BSON_TYPE_NULL;
			break;
		case MTS_FOUND:
			break;
	}
	switch (mts_format_decode(&field->format, &layout->clock, &element, 0,
							  layout->truncate, t, &unfold->error))
	{
		case MTS_DECODED:
			return true;
		case MTS_DECODED_NULL:
			invalid(unfold, "The bucket has no time there.");
			return false;
		default:
			return false;
	}
}

/* Descend by names to what holds the slots of a level, and open it. */
static Entered
open_level(MtsUnfold *unfold, MtsWalk *walk, int depth,
		   const MtsElement *from)
{
	const MtsStep *steps = walk->container->path->steps;
	int			first = depth == 0 ? 0 : walk->slot_step[depth - 1] + 1;
	int			slot = walk->slot_step[depth];
	bool		is_array = mts_step_is_array(&steps[slot]);
	MtsLevel   *level = &walk->levels[depth];
	MtsElement	holder;
	MtsFound	found = mts_element_find(from, steps + first, slot - first,
										 &holder);

	if (found == MTS_ABSENT ||
		(found == MTS_FOUND && holder.type == BSON_TYPE_NULL))
		return SKIPPED;
	if (found == MTS_MALFORMED ||
		holder.type != (is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT))
	{
		locate_walk(unfold, walk, depth - 1);
		for (int i = first; i < slot; i++)
			append_where(unfold, &steps[i], NULL);
		invalid(unfold, "What holds the points there is no %s.",
				is_array ? "array" : "subdocument");
		return REFUSED;
	}
	if (!mts_cursor_open(&level->cursor, holder.value, holder.size))
	{
		locate_walk(unfold, walk, depth - 1);
		corrupt(unfold);
		return REFUSED;
	}
	level->next = 0;
	level->start = depth == 0 ? unfold->start : walk->levels[depth - 1].at;
	level->end = depth == 0 ? unfold->end : walk->levels[depth - 1].until;
	walk->depth = depth;
	return ENTERED;
}

/*
 * mts_unfold_start
 *		Begin with a bucket, whose bytes must stay until it is done.
 *
 * False when its own time or bounds are invalid: it holds no points then.
 */
bool
mts_unfold_start(MtsUnfold *unfold, const uint8_t *bucket, size_t size)
{
	const MtsLayout *layout = unfold->layout;

	unfold->document = mts_element_document(bucket, size);
	unfold->start = unfold->first = MTS_TIME_MIN;
	unfold->end = unfold->last = MTS_TIME_MAX;
	unfold->walking = 0;
	if (layout->time_kind == MTS_TIME_FLAT)
		return true;
	if (layout->bucket_time.is_set)
	{
		if (!decode_field(unfold, &layout->bucket_time, &unfold->start))
			return false;
		if (!mts_layout_bucket_end(layout, unfold->start, &unfold->end))
		{
			invalid(unfold, "The bucket ends out of the range of times.");
			return false;
		}
	}
	if (layout->time_kind == MTS_TIME_POINT &&
		((layout->first.is_set &&
		  !decode_field(unfold, &layout->first, &unfold->first)) ||
		 (layout->last.is_set &&
		  !decode_field(unfold, &layout->last, &unfold->last))))
		return false;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		unfold->walks[i].depth = -1;
		unfold->cells[i].n = unfold->cells[i].next = 0;
		if (open_level(unfold, &unfold->walks[i], 0, &unfold->document) ==
			REFUSED)
			return false;
	}
	return true;
}

/* Which unit a slot's key counts, and whether the slot is wanted. */
static Entered
enter_unit(MtsUnfold *unfold, MtsWalk *walk, MtsLevel *level,
		   const MtsStep *slot, const MtsElement *element)
{
	const MtsLayout *layout = unfold->layout;
	int64_t		n = level->key.index - slot->base;

	if (layout->time_kind == MTS_TIME_POINT && !layout->bucket_time.is_set)
		return ENTERED;
	if (n < 0 || !mts_clock_step(&layout->clock, level->start, slot->unit, n,
								 &level->at) ||
		level->at >= level->end)
	{
		/* what MongoDB pads an array with */
		if (slot->kind == MTS_STEP_UNIT_INDEX &&
			element->type == BSON_TYPE_NULL)
			return SKIPPED;
		locate_walk(unfold, walk, walk->depth);
		invalid(unfold, "The key %lld is outside of its slot's range.",
				(long long) level->key.index);
		return REFUSED;
	}
	if (!mts_clock_step(&layout->clock, level->start, slot->unit, n + 1,
						&level->until) ||
		level->until > level->end)
		level->until = level->end;
	if (layout->time_kind == MTS_TIME_SLOTS &&
		!mts_ranges_overlap(unfold->ranges, level->at, level->until))
		return SKIPPED;
	return ENTERED;
}

/* Take the key of the element that the level's cursor has read. */
static Entered
enter_slot(MtsUnfold *unfold, MtsWalk *walk, const MtsElement *element)
{
	MtsLevel   *level = &walk->levels[walk->depth];
	const MtsStep *slot =
		&walk->container->path->steps[walk->slot_step[walk->depth]];

	level->at = level->start;
	level->until = level->end;
	switch (slot->kind)
	{
		case MTS_STEP_UNIT_KEY:
			switch (mts_key_number(element->key, element->key_len,
								   &level->key.index))
			{
				case MTS_KEY_TEXT:
					return SKIPPED;
				case MTS_KEY_BAD_NUMBER:
					locate_walk(unfold, walk, walk->depth);
					invalid(unfold, "The key \"%.40s\" is not written as its slot's numbers are.",
							element->key);
					return REFUSED;
				case MTS_KEY_NUMBER:
					break;
			}
			return enter_unit(unfold, walk, level, slot, element);
		case MTS_STEP_UNIT_INDEX:
			level->key.index = level->next++;
			return enter_unit(unfold, walk, level, slot, element);
		case MTS_STEP_ELEMENT:
			level->key.index = level->next++;
			return ENTERED;
		default:
			level->key.text = element->key;
			level->key.len = element->key_len;
			return ENTERED;
	}
}

/* Is what stands in the innermost slot a point? */
static Entered
enter_cell(MtsUnfold *unfold, MtsWalk *walk, const MtsElement *cell)
{
	const MtsLayout *layout = unfold->layout;

	if (layout->time_kind == MTS_TIME_SLOTS &&
		!mts_ranges_contain(unfold->ranges, walk->levels[walk->depth].at))
		return SKIPPED;
	if (mts_element_is_empty_document(cell))
		return SKIPPED;
	if (walk->container->is_value || cell->type == BSON_TYPE_DOCUMENT)
		return ENTERED;
	if (cell->type == BSON_TYPE_NULL)
		return SKIPPED;
	locate_walk(unfold, walk, walk->depth);
	invalid(unfold, "The point is no subdocument but %s.",
			mts_type_name(cell->type));
	return REFUSED;
}

/* The next point of one container. */
static MtsUnfolded
walk_next(MtsUnfold *unfold, MtsWalk *walk, MtsElement *cell)
{
	int			innermost = unfold->layout->nslots - 1;

	while (walk->depth >= 0)
	{
		Entered		entered;

		switch (mts_cursor_next(&walk->levels[walk->depth].cursor, cell))
		{
			case MTS_NEXT_OK:
				break;
			case MTS_NEXT_END:
				walk->depth--;
				continue;
			case MTS_NEXT_CORRUPT:
				walk->depth--;
				locate_walk(unfold, walk, walk->depth);
				return corrupt(unfold);
		}
		entered = enter_slot(unfold, walk, cell);
		if (entered == ENTERED && walk->depth < innermost)
		{
			/* a level that was opened is walked by the next turn */
			if (open_level(unfold, walk, walk->depth + 1, cell) == REFUSED)
				return MTS_INVALID;
			continue;
		}
		if (entered == ENTERED)
			entered = enter_cell(unfold, walk, cell);
		if (entered == ENTERED)
			return MTS_POINT;
		if (entered == REFUSED)
			return MTS_INVALID;
	}
	return MTS_DONE;
}

static void
take_slots(const MtsWalk *walk, int nslots, MtsSlotKey *slots)
{
	for (int i = 0; i < nslots; i++)
		slots[i] = walk->levels[i].key;
}

static MtsUnfolded
next_single(MtsUnfold *unfold, MtsPoint *point)
{
	int			nslots = unfold->layout->nslots;
	MtsWalk    *walk = &unfold->walks[0];
	MtsUnfolded result = walk_next(unfold, walk, point->cells);

	if (result == MTS_POINT)
	{
		point->time = walk->levels[nslots - 1].at;
		take_slots(walk, nslots, point->slots);
	}
	return result;
}

/* Slots compare level by level; those that don't count have text. */
static int
compare_slots(const MtsSlotKey *a, const MtsSlotKey *b)
{
	for (int i = 0; i < MTS_MAX_SLOTS; i++)
	{
		if (a[i].index != b[i].index)
			return a[i].index < b[i].index ? -1 : 1;
		if (a[i].text || b[i].text)
		{
			int			order = strcmp(a[i].text ? a[i].text : "",
									   b[i].text ? b[i].text : "");

			if (order != 0)
				return order;
		}
	}
	return 0;
}

static int
compare_cells(const void *a, const void *b)
{
	return compare_slots(((const MtsCell *) a)->slots,
						 ((const MtsCell *) b)->slots);
}

static MtsCell *
add_cell(MtsUnfold *unfold, struct MtsCells *cells)
{
	MtsCell    *cell;

	if (cells->n == cells->room)
	{
		cells->room = cells->room > 0 ? cells->room * 2 : 64;
		cells->items = unfold->resize(cells->items,
									  cells->room * sizeof(MtsCell));
	}
	cell = &cells->items[cells->n++];
	memset(cell->slots, 0, sizeof(cell->slots));
	return cell;
}

/* Collect and sort the points of each container; false when one is invalid. */
static bool
collect(MtsUnfold *unfold)
{
	int			nslots = unfold->layout->nslots;
	MtsElement	element;

	for (; unfold->walking < unfold->layout->ncontainers; unfold->walking++)
	{
		MtsWalk    *walk = &unfold->walks[unfold->walking];
		struct MtsCells *cells = &unfold->cells[unfold->walking];
		bool		sorted = true;
		MtsUnfolded result;

		while ((result = walk_next(unfold, walk, &element)) == MTS_POINT)
		{
			MtsCell    *cell = add_cell(unfold, cells);

			cell->time = walk->levels[nslots - 1].at;
			cell->element = element;
			take_slots(walk, nslots, cell->slots);
		}
		if (result == MTS_INVALID)
			return false;
		for (size_t i = 1; i < cells->n && sorted; i++)
			sorted = compare_cells(&cells->items[i - 1],
								   &cells->items[i]) <= 0;
		if (!sorted)
			qsort(cells->items, cells->n, sizeof(MtsCell), compare_cells);
	}
	return true;
}

static const MtsCell *
next_cell(const MtsUnfold *unfold, int container)
{
	const struct MtsCells *cells = &unfold->cells[container];

	return cells->next < cells->n ? &cells->items[cells->next] : NULL;
}

/* The next point of several containers: what they have in the least slot. */
static MtsUnfolded
next_zipped(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsCell *least = NULL;
	const MtsCell *cell;
	int			n = unfold->layout->ncontainers;

	if (!collect(unfold))
		return MTS_INVALID;
	for (int i = 0; i < n; i++)
	{
		cell = next_cell(unfold, i);
		if (cell && (!least || compare_cells(cell, least) < 0))
			least = cell;
	}
	if (!least)
		return MTS_DONE;
	point->time = least->time;
	memcpy(point->slots, least->slots, sizeof(point->slots));
	for (int i = 0; i < n; i++)
	{
		cell = next_cell(unfold, i);
		if (cell && compare_slots(cell->slots, point->slots) == 0)
		{
			point->cells[i] = cell->element;
			unfold->cells[i].next++;
		}
		else
			point->cells[i].type = 0;
	}
	return MTS_POINT;
}

static bool
number_of(const MtsElement *element, double *d)
{
	switch (element->type)
	{
		case BSON_TYPE_INT32:
			*d = mts_element_int32(element);
			return true;
		case BSON_TYPE_INT64:
			*d = (double) mts_element_int64(element);
			return true;
		case BSON_TYPE_DOUBLE:
			*d = mts_element_double(element);
			return true;
		default:
			return false;
	}
}

/* Is this the value that means "no reading"?  NaN is equal to NaN. */
static bool
is_missing(const MtsMissing *missing, const MtsElement *element)
{
	double		d;
	size_t		len;
	const char *text;

	switch (missing->kind)
	{
		case MTS_MISSING_NUMBER:
			return number_of(element, &d) &&
				(d == missing->number ||
				 (d != d && missing->number != missing->number));
		case MTS_MISSING_TEXT:
			if (element->type != BSON_TYPE_UTF8)
				return false;
			text = mts_element_text(element, &len);
			return len == strlen(missing->text) &&
				memcmp(text, missing->text, len) == 0;
		case MTS_MISSING_NULL:
			return element->type == BSON_TYPE_NULL;
		default:
			return false;
	}
}

/*
 * mts_unfold_value
 *		What a column has at a point, or, of a bucket's column, in the bucket.
 *
 * point may be NULL for a bucket's column.  What means "no reading" is absent.
 */
MtsFound
mts_unfold_value(MtsUnfold *unfold, const MtsPoint *point,
				 const MtsColumn *column, MtsElement *element)
{
	const MtsStep *steps = column->path.steps;
	int			n = column->path.nsteps;
	const MtsElement *from = &unfold->document;
	MtsFound	found;

	if (column->container >= 0)
	{
		int			skip = unfold->layout->containers[column->container].nsteps;

		from = &point->cells[column->container];
		if (from->type == 0)
			return MTS_ABSENT;
		steps += skip;
		n -= skip;
	}
	found = mts_element_find(from, steps, n, element);
	if (found == MTS_FOUND && is_missing(&column->missing, element))
		return MTS_ABSENT;
	if (found == MTS_MALFORMED)
	{
		mts_unfold_locate(unfold, point, column);
		invalid(unfold, "The path leads through something that is no document.");
	}
	return found;
}

/* Decide a point that carries its own time. */
static Entered
take_own_time(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	const MtsColumn *time = mts_layout_time(layout);
	MtsElement	element;
	MtsDecoded	decoded;
	MtsFound	found = mts_unfold_value(unfold, point, time, &element);
	bool		is_flat = layout->time_kind == MTS_TIME_FLAT;

	if (found == MTS_MALFORMED)
		return REFUSED;
	decoded = found == MTS_ABSENT ? MTS_DECODED_NULL :
		mts_format_decode(&time->format, &layout->clock, &element,
						  unfold->start, layout->truncate, &point->time,
						  &unfold->error);
	point->time_is_null = decoded == MTS_DECODED_NULL;
	if (point->time_is_null && is_flat)
		return mts_ranges_are_all(unfold->ranges) ? ENTERED : SKIPPED;
	mts_unfold_locate(unfold, point, time);
	if (decoded == MTS_DECODED_INVALID)
		return REFUSED;
	if (decoded == MTS_DECODED_NULL)
		invalid(unfold, "The point has no time.");
	else if (point->time < unfold->start || point->time >= unfold->end ||
			 point->time < unfold->first || point->time > unfold->last)
		invalid(unfold, "The point's time is outside of its bucket's.");
	else
		return mts_ranges_contain(unfold->ranges, point->time) ?
			ENTERED : SKIPPED;
	return REFUSED;
}

/* Has any value column a reading here? */
static Entered
has_reading(MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement	element;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].role != MTS_ROLE_VALUE)
			continue;
		switch (mts_unfold_value(unfold, point, &layout->columns[i],
								 &element))
		{
			case MTS_FOUND:
				return ENTERED;
			case MTS_MALFORMED:
				return REFUSED;
			case MTS_ABSENT:
				break;
		}
	}
	return SKIPPED;
}

/*
 * mts_unfold_next
 *		Give the bucket's next point whose time is wanted.
 *
 * point->cells has room for the layout's containers.  After MTS_INVALID the
 * next call goes on behind what was invalid.
 */
MtsUnfolded
mts_unfold_next(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	bool		own_time = layout->time_kind == MTS_TIME_POINT ||
		(layout->time_kind == MTS_TIME_FLAT && layout->time_column >= 0);

	for (;;)
	{
		Entered		entered = ENTERED;
		MtsUnfolded result;

		if (layout->ncontainers == 0)
			result = unfold->walking++ == 0 ? MTS_POINT : MTS_DONE;
		else if (layout->ncontainers == 1)
			result = next_single(unfold, point);
		else
			result = next_zipped(unfold, point);
		if (result != MTS_POINT)
			return result;
		point->time_is_null = layout->time_column < 0;
		if (layout->has_missing)
			entered = has_reading(unfold, point);
		if (entered == ENTERED && own_time)
			entered = take_own_time(unfold, point);
		if (entered == ENTERED)
			return MTS_POINT;
		if (entered == REFUSED)
			return MTS_INVALID;
	}
}
