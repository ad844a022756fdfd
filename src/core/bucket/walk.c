/*
 * walk.c
 *		Walk the slots of one container, level by level, or of several together.
 *
 * The points come in the order in which they are stored.  What doesn't fit
 * the layout is reported, and the next step goes on behind it.
 */
#include "core/bucket/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * mts_walk_init
 *		Prepare to walk a container of many buckets.
 */
void
mts_walk_init(MtsWalk *walk, const MtsContainer *container)
{
	int slot = 0;

	memset(walk, 0, sizeof(*walk));
	walk->container = container;
	walk->depth = -1;
	for (int step = 0; step < container->nsteps; step++)
		if (mts_path_step_is_slot(&container->path->steps[step]))
			walk->slot_step[slot++] = step;
}

/*
 * mts_walk_refuse
 *		Note why something is invalid; gives MTS_INVALID.
 */
MtsUnfolded
mts_walk_refuse(MtsUnfold *unfold, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(unfold->error.detail, sizeof(unfold->error.detail), format,
			  args);
	va_end(args);
	unfold->error.hint = NULL;
	return MTS_INVALID;
}

/* Append a name or a slot's key to unfold->where. */
void
mts_walk_locate_step(MtsUnfold *unfold, const MtsStep *step,
					 const MtsSlotKey *key)
{
	size_t len = strlen(unfold->where);
	char *at = unfold->where + len;
	size_t room = sizeof(unfold->where) - len;
	const char *period = len > 0 ? "." : "";

	if (step->kind == MTS_STEP_NAME)
		snprintf(at, room, "%s%s", period, step->name);
	else if (key->text)
		snprintf(at, room, "%s%s", period, key->text);
	else
		snprintf(at, room, "%s%lld", period, (long long) key->index);
}

/* Say that the walk is at level `depth`. */
static void
locate_walk(MtsUnfold *unfold, const MtsWalk *walk, int depth)
{
	int slot = 0;

	unfold->where[0] = '\0';
	for (int i = 0; i < walk->container->nsteps && slot <= depth; i++)
	{
		const MtsStep *step = &walk->container->path->steps[i];

		mts_walk_locate_step(unfold, step,
							 mts_path_step_is_slot(step)
								 ? &walk->levels[slot++].key
								 : NULL);
	}
}

static MtsUnfolded
corrupt(MtsUnfold *unfold)
{
	return mts_walk_refuse(unfold, "The document's BSON is malformed.");
}

/*
 * mts_walk_open
 *		Descend by names to what holds the slots of a level, and open it.
 */
MtsEntered
mts_walk_open(MtsUnfold *unfold, MtsWalk *walk, int depth,
			  const MtsElement *from)
{
	const MtsStep *steps = walk->container->path->steps;
	int first = depth == 0 ? 0 : walk->slot_step[depth - 1] + 1;
	int slot = walk->slot_step[depth];
	bool is_array = mts_path_step_is_array(&steps[slot]);
	MtsLevel *level = &walk->levels[depth];
	MtsElement holder;
	MtsFound found = mts_path_find(from, steps + first, slot - first, &holder);

	if (found == MTS_ABSENT ||
		(found == MTS_FOUND && holder.type == BSON_TYPE_NULL))
		return MTS_SKIPPED;
	if (found == MTS_MALFORMED ||
		holder.type != (is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT))
	{
		locate_walk(unfold, walk, depth - 1);
		for (int i = first; i < slot; i++)
			mts_walk_locate_step(unfold, &steps[i], NULL);
		if (found == MTS_MALFORMED)
			mts_walk_refuse(unfold, "The path leads through something that "
									"is not a document.");
		else
			mts_walk_refuse(
				unfold, "The points must be in %s, not in a value of type %s.",
				is_array ? "an array" : "a subdocument",
				mts_element_type_name(holder.type));
		return MTS_REFUSED;
	}
	if (!mts_element_open(&level->cursor, holder.value, holder.size))
	{
		locate_walk(unfold, walk, depth - 1);
		corrupt(unfold);
		return MTS_REFUSED;
	}
	level->next = 0;
	level->start = depth == 0 ? unfold->start : walk->levels[depth - 1].at;
	level->end = depth == 0 ? unfold->end : walk->levels[depth - 1].until;
	walk->depth = depth;
	return MTS_ENTERED;
}

/* mts_clock_step, without a call for units of microseconds */
static inline bool
step(const MtsLayout *layout, MtsTime start, MtsSpan unit, int64_t n,
	 MtsTime *t)
{
	return mts_span_is_calendar(unit)
			   ? mts_clock_step(&layout->clock, start, unit, n, t)
			   : mts_clock_add(start, unit.usecs, n, t);
}

/* Which unit a slot's key counts, and whether the slot is wanted. */
static MtsEntered
enter_unit(MtsUnfold *unfold, MtsWalk *walk, MtsLevel *level,
		   const MtsStep *slot, const MtsElement *element)
{
	const MtsLayout *layout = unfold->layout;
	int64_t n = level->key.index - slot->base;

	if (layout->time_kind == MTS_TIME_POINT && !layout->bucket_time.is_set)
		return MTS_ENTERED;
	if (n < 0 || !step(layout, level->start, slot->unit, n, &level->at) ||
		level->at >= level->end)
	{
		/* what MongoDB pads an array with */
		if (slot->kind == MTS_STEP_UNIT_INDEX &&
			element->type == BSON_TYPE_NULL)
			return MTS_SKIPPED;
		locate_walk(unfold, walk, walk->depth);
		mts_walk_refuse(unfold, "The key %lld is outside of its slot's range.",
						(long long) level->key.index);
		unfold->error.hint =
			"A bucket is as long as option \"bucket_span\" says; by default, it is the unit that encloses the outermost slot.";
		return MTS_REFUSED;
	}
	if (walk->depth == layout->nslots - 1)
		return MTS_ENTERED; /* enter_cell looks at the slot's own time */
	if (!step(layout, level->start, slot->unit, n + 1, &level->until) ||
		level->until > level->end)
		level->until = level->end;
	if (layout->time_kind == MTS_TIME_SLOTS &&
		!mts_ranges_overlap(unfold->ranges, level->at, level->until))
		return MTS_SKIPPED;
	return MTS_ENTERED;
}

/* Take the key of the element that the level's cursor has read. */
static MtsEntered
enter_slot(MtsUnfold *unfold, MtsWalk *walk, const MtsElement *element)
{
	MtsLevel *level = &walk->levels[walk->depth];
	const MtsStep *slot =
		&walk->container->path->steps[walk->slot_step[walk->depth]];

	level->at = level->start;
	level->until = level->end;
	switch (slot->kind)
	{
		case MTS_STEP_UNIT_KEY:
			switch (mts_element_key_number(element->key, element->key_len,
										   &level->key.index))
			{
				case MTS_KEY_TEXT:
					return MTS_SKIPPED;
				case MTS_KEY_BAD_NUMBER:
					level->key.text = element->key;
					locate_walk(unfold, walk, walk->depth);
					level->key.text = NULL;
					mts_walk_refuse(
						unfold,
						"The key \"%.40s\" is not written like its slot's numbers.",
						element->key);
					return MTS_REFUSED;
				case MTS_KEY_NUMBER:
					break;
			}
			return enter_unit(unfold, walk, level, slot, element);
		case MTS_STEP_UNIT_INDEX:
			level->key.index = level->next++;
			return enter_unit(unfold, walk, level, slot, element);
		case MTS_STEP_ELEMENT:
			level->key.index = level->next++;
			return MTS_ENTERED;
		default:
			level->key.text = element->key;
			level->key.len = element->key_len;
			return MTS_ENTERED;
	}
}

/* Is what stands in the innermost slot a point? */
static MtsEntered
enter_cell(MtsUnfold *unfold, MtsWalk *walk, const MtsElement *cell)
{
	const MtsLayout *layout = unfold->layout;

	if (layout->time_kind == MTS_TIME_SLOTS &&
		!mts_ranges_contain(unfold->ranges, walk->levels[walk->depth].at))
		return MTS_SKIPPED;
	if (mts_element_is_empty_document(cell))
		return MTS_SKIPPED;
	if (walk->container->is_value || cell->type == BSON_TYPE_DOCUMENT)
		return MTS_ENTERED;
	if (cell->type == BSON_TYPE_NULL)
		return MTS_SKIPPED;
	locate_walk(unfold, walk, walk->depth);
	mts_walk_refuse(unfold,
					"The point must be a subdocument, not a value of type %s.",
					mts_element_type_name(cell->type));
	return MTS_REFUSED;
}

/*
 * mts_walk_next
 *		The next point of the container.
 */
MtsUnfolded
mts_walk_next(MtsUnfold *unfold, MtsWalk *walk, MtsElement *cell)
{
	int innermost = unfold->layout->nslots - 1;

	while (walk->depth >= 0)
	{
		MtsEntered entered;

		switch (mts_element_next(&walk->levels[walk->depth].cursor, cell))
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
		if (entered == MTS_ENTERED && walk->depth < innermost)
		{
			/* a level that was opened is walked by the next turn */
			if (mts_walk_open(unfold, walk, walk->depth + 1, cell) ==
				MTS_REFUSED)
				return MTS_INVALID;
			continue;
		}
		if (entered == MTS_ENTERED)
			entered = enter_cell(unfold, walk, cell);
		if (entered == MTS_ENTERED)
			return MTS_POINT;
		if (entered == MTS_REFUSED)
			return MTS_INVALID;
	}
	return MTS_DONE;
}

/* The keys of the slots on the way to the current point */
void
mts_walk_slots(const MtsWalk *walk, int nslots, MtsSlotKey *slots)
{
	for (int i = 0; i < nslots; i++)
		slots[i] = walk->levels[i].key;
}

/* ---- Several containers ---------------------------------------------------
 *
 * Each container's points are collected and sorted; then those of the least
 * slot make the next point.  The memory comes from the caller's function and
 * is reused from bucket to bucket.
 */

/* A point of one container, kept until all containers are collected */
struct MtsCell
{
	MtsTime time;
	MtsElement element;
	MtsSlotKey slots[MTS_MAX_SLOTS];
};

/*
 * mts_walk_zip_init
 *		Get the first room for the points of a container.
 */
void
mts_walk_zip_init(MtsUnfold *unfold, int container)
{
	struct MtsCells *cells = &unfold->collected[container];

	cells->room = 64;
	cells->items = unfold->resize(NULL, cells->room * sizeof(MtsCell));
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
			int order =
				strcmp(a[i].text ? a[i].text : "", b[i].text ? b[i].text : "");

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
	MtsCell *cell;

	if (cells->n == cells->room)
	{
		cells->room *= 2;
		cells->items =
			unfold->resize(cells->items, cells->room * sizeof(MtsCell));
	}
	cell = &cells->items[cells->n++];
	memset(cell->slots, 0, sizeof(cell->slots));
	return cell;
}

/* Collect and sort the points of each container; false when one is invalid. */
static bool
collect(MtsUnfold *unfold)
{
	int nslots = unfold->layout->nslots;
	MtsElement element;

	for (; unfold->walking < unfold->layout->ncontainers; unfold->walking++)
	{
		MtsWalk *walk = &unfold->walks[unfold->walking];
		struct MtsCells *cells = &unfold->collected[unfold->walking];
		bool sorted = true;
		MtsUnfolded result;

		while ((result = mts_walk_next(unfold, walk, &element)) == MTS_POINT)
		{
			MtsCell *cell = add_cell(unfold, cells);

			cell->time = walk->levels[nslots - 1].at;
			cell->element = element;
			mts_walk_slots(walk, nslots, cell->slots);
		}
		if (result == MTS_INVALID)
			return false;
		for (size_t i = 1; i < cells->n && sorted; i++)
			sorted =
				compare_cells(&cells->items[i - 1], &cells->items[i]) <= 0;
		if (!sorted)
			qsort(cells->items, cells->n, sizeof(MtsCell), compare_cells);
	}
	return true;
}

static const MtsCell *
next_cell(const MtsUnfold *unfold, int container)
{
	const struct MtsCells *cells = &unfold->collected[container];

	return cells->next < cells->n ? &cells->items[cells->next] : NULL;
}

/*
 * mts_walk_zip_next
 *		The next point of several containers: what they have in the least slot.
 */
MtsUnfolded
mts_walk_zip_next(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsCell *least = NULL;
	const MtsCell *cell;
	int n = unfold->layout->ncontainers;

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
			point->elements[i] = cell->element;
			unfold->collected[i].next++;
		}
		else
			point->elements[i].type = 0;
	}
	return MTS_POINT;
}
