/*
 * walk.c
 *		Iterate over the points in one container of a bucket, level by level.
 *
 * The points come in the order in which they are stored.  An element that
 * does not fit the layout is reported as invalid; the next call continues
 * after it.
 */
#include "core/bucket/walk.h"

#include <stdio.h>
#include <string.h>

/* mts_walk_init: prepare to walk a container of many buckets. */
void
mts_walk_init(MtsWalk *walk, const MtsLayout *layout,
			  const MtsContainer *container, MtsInvalid *invalid,
			  const MtsArena *arena)
{
	int slot = 0;

	memset(walk, 0, sizeof(*walk));
	walk->layout = layout;
	walk->container = container;
	walk->invalid = invalid;
	walk->depth = -1;
	walk->number_slot = mts_layout_number_slot(layout);
	walk->is_beside_time =
		layout->time_kind == MTS_TIME_POINT &&
		!mts_layout_time_is_key(layout) &&
		container !=
			&layout->containers[mts_layout_time_column(layout)->container];
	for (int step = 0; step < container->nsteps; step++)
		if (mts_path_step_is_slot(&container->path->steps[step]))
			walk->slot_step[slot++] = step;
	for (int i = 0; i < slot && !walk->column; i++)
		if (layout->slots[i]->kind == MTS_STEP_ELEMENT)
		{
			walk->column = mts_arena_allocate(arena, sizeof(MtsCompressed));
			mts_compressed_init(walk->column, arena);
		}
}

/* The bytes of a key that a message shows */
#define MAX_KEY_SHOWN 40

/* ---- Messages ---------------------------------------------------------- */

/*
 * mts_walk_append_step
 *		Append a name, or the key of a slot, to the path of an invalid element.
 */
void
mts_walk_append_step(MtsInvalid *invalid, const MtsStep *step,
					 const MtsSlotKey *key)
{
	size_t len = strlen(invalid->where);
	char *end = invalid->where + len;
	size_t room = sizeof(invalid->where) - len;
	char buffer[MTS_MAX_KEY];
	const char *text;

	if (step->kind == MTS_STEP_NAME)
		text = step->name;
	else if (key->text)
		text = key->text;
	else
		(void) mts_slot_key_text(step, key->index, buffer, &text);
	if (len > 0 && room > 1)
	{
		*end++ = '.';
		room--;
	}
	snprintf(end, room, "%.*s",
			 mts_error_clip(text, strlen(text), (int) room - 1), text);
}

/* Set the path of an invalid element to the current slot of a level. */
static void
locate(const MtsWalk *walk, int depth)
{
	int slot = 0;

	walk->invalid->where[0] = '\0';
	for (int i = 0; i < walk->container->nsteps && slot <= depth; i++)
	{
		const MtsStep *step = &walk->container->path->steps[i];

		mts_walk_append_step(walk->invalid, step,
							 mts_path_step_is_slot(step)
								 ? &walk->levels[slot++].key
								 : NULL);
	}
}

static void
refuse_corrupt(const MtsWalk *walk, int depth)
{
	locate(walk, depth);
	(void) mts_error_set(&walk->invalid->error, NULL,
						 "The document's BSON is malformed.");
}

/* ---- Levels ------------------------------------------------------------ */

/*
 * Tell whether a level's slots can be in a value of this type.  The elements
 * of [] can also be in a subdocument with the keys of an array, or in a
 * compressed column, which is not within another one.  A bucket without bounds
 * is found by the elements of its array, so it must have an array.
 */
static bool
can_hold(const MtsWalk *walk, int depth, uint8_t type)
{
	const MtsStep *slot = walk->layout->slots[depth];

	switch (type)
	{
		case BSON_TYPE_ARRAY:
			return mts_path_step_is_array(slot);
		case BSON_TYPE_DOCUMENT:
			return slot->kind != MTS_STEP_UNIT_INDEX &&
				   (slot->kind != MTS_STEP_ELEMENT ||
					mts_layout_has_bounds(walk->layout));
		case BSON_TYPE_BINARY:
			for (int i = 0; i < depth; i++)
				if (walk->levels[i].is_compressed)
					return false;
			return slot->kind == MTS_STEP_ELEMENT &&
				   mts_layout_has_bounds(walk->layout);
		default:
			return false;
	}
}

/* Descend by names to the array or document of a level's slots; open it. */
static MtsVerdict
open_level(MtsWalk *walk, int depth, const MtsElement *from, MtsRange interval)
{
	const MtsStep *steps = walk->container->path->steps;
	int first = depth == 0 ? 0 : walk->slot_step[depth - 1] + 1;
	int slot = walk->slot_step[depth];
	bool is_array = mts_path_step_is_array(&steps[slot]);
	MtsLevel *level = &walk->levels[depth];
	MtsElement *holder = &level->holder;
	MtsFound found = MTS_FOUND;

	if (slot == first)
		*holder = *from;
	else
		found = mts_path_find(from, steps + first, slot - first, holder);
	if (found == MTS_ABSENT ||
		(found == MTS_FOUND && holder->type == BSON_TYPE_NULL))
		return MTS_SKIPPED;
	if (found == MTS_MALFORMED || !can_hold(walk, depth, holder->type))
	{
		locate(walk, depth - 1);
		for (int i = first; i < slot; i++)
			mts_walk_append_step(walk->invalid, &steps[i], NULL);
		if (found == MTS_MALFORMED)
			(void) mts_error_set(&walk->invalid->error, NULL,
								 "A value on the path is not a subdocument.");
		else
			(void) mts_error_set(
				&walk->invalid->error, NULL,
				"The points must be in %s, not in a value of type %s.",
				is_array ? "an array" : "a subdocument",
				mts_element_type_name(holder->type));
		return MTS_REFUSED;
	}
	level->has_keys = holder->type == BSON_TYPE_DOCUMENT;
	level->is_compressed = holder->type == BSON_TYPE_BINARY;
	if (level->is_compressed
			? !mts_compressed_open(walk->column, holder)
			: !mts_element_open(&level->cursor, holder->value, holder->size))
	{
		refuse_corrupt(walk, depth - 1);
		return MTS_REFUSED;
	}
	level->next_index = 0;
	level->start = interval.from;
	level->end = interval.to;
	walk->depth = depth;
	if (mts_layout_first_key(walk->slots->steps, &steps[slot], level->start,
							 &level->end, &level->first_key))
		return MTS_ACCEPTED;
	locate(walk, depth - 1);
	(void) mts_error_set(
		&walk->invalid->error, NULL,
		"The slots below count from the start of a unit, but the slot around them does not start a whole number of slots after it.");
	walk->depth--;
	return MTS_REFUSED;
}

/*
 * mts_walk_start
 *		Begin with the container of a bucket whose slots have this clock.
 *
 * Skips a bucket without the container.  ranges are those of the points that
 * are wanted.
 */
MtsVerdict
mts_walk_start(MtsWalk *walk, const MtsElement *bucket,
			   const MtsSlotClock *slots, const MtsRanges *ranges)
{
	walk->depth = -1;
	walk->levels[0].is_compressed = false;
	walk->ranges = ranges;
	walk->wants_all =
		!slots->zone &&
		mts_ranges_cover(ranges, slots->slots.from, slots->slots.to);
	walk->slots = slots;
	return open_level(walk, 0, bucket, slots->slots);
}

/* mts_clock_step, without a call for units of microseconds */
static inline bool
step(const MtsWalk *walk, MtsTime start, MtsSpan unit, int64_t n, MtsTime *t)
{
	return mts_span_is_calendar(unit)
			   ? mts_clock_step(walk->slots->steps, start, unit, n, t)
			   : mts_clock_add(start, unit.usecs, n, t);
}

/* Refuse a key that is out of range for its slot. */
static MtsVerdict
refuse_range(MtsWalk *walk, const MtsStep *slot)
{
	char buffer[MTS_MAX_KEY];
	const char *key;

	locate(walk, walk->depth);
	(void) mts_slot_key_text(slot, walk->levels[walk->depth].key.index, buffer,
							 &key);
	(void) mts_error_set(
		&walk->invalid->error,
		"Correct the unit of the slot. If buckets are longer than the unit that encloses the outermost slot, set option \"bucket_span\".",
		"The key %.*s is out of range for its slot.",
		mts_error_clip(key, strlen(key), MAX_KEY_SHOWN), key);
	return MTS_REFUSED;
}

/* Tell whether instants of an interval of slots are wanted. */
static bool
is_wanted(const MtsWalk *walk, MtsTime start, MtsTime end)
{
	MtsTime from = mts_slot_clock_reach(walk->slots, start);
	MtsTime to = mts_slot_clock_reach(walk->slots, end);

	/* slots that clocks skip take no time, but can hold an invalid point */
	return mts_ranges_overlap(walk->ranges, from, from < to ? to : from + 1);
}

/*
 * Compute the interval of a slot that counts units.  Skip an outer slot that
 * is outside the ranges; an innermost one gets its start alone.  Without a
 * bucket time, the interval stays that of the enclosing slot.
 */
static MtsVerdict
count_units(MtsWalk *walk, MtsLevel *level, const MtsStep *slot,
			const MtsElement *element)
{
	const MtsLayout *layout = walk->layout;
	int64_t n = level->key.index - level->first_key;

	if (layout->time_kind == MTS_TIME_POINT && !layout->bucket_time.is_set)
		return MTS_ACCEPTED;
	if (n < 0 ||
		!step(walk, level->start, slot->unit, n, &level->slot_start) ||
		level->slot_start >= level->end)
	{
		/* MongoDB pads arrays with null */
		if (slot->kind == MTS_STEP_UNIT_INDEX &&
			element->type == BSON_TYPE_NULL)
			return MTS_SKIPPED;
		return refuse_range(walk, slot);
	}
	/* judge_element checks the time of an innermost slot */
	if (walk->depth == layout->nslots - 1)
		return MTS_ACCEPTED;
	if (!step(walk, level->start, slot->unit, n + 1, &level->slot_end) ||
		level->slot_end > level->end)
		level->slot_end = level->end;
	if (layout->time_kind == MTS_TIME_SLOTS && !walk->wants_all &&
		!is_wanted(walk, level->slot_start, level->slot_end))
		return MTS_SKIPPED;
	return MTS_ACCEPTED;
}

/* Refuse the key of an element; the detail names it, and then `like`. */
static MtsVerdict
refuse_key(MtsWalk *walk, const MtsElement *element, const char *hint,
		   const char *detail, const char *like)
{
	MtsLevel *level = &walk->levels[walk->depth];

	level->key.text = element->key;
	locate(walk, walk->depth);
	level->key.text = NULL;
	(void) mts_error_set(&walk->invalid->error, hint, detail,
						 mts_error_clip(element->key, element->key_len,
										MAX_KEY_SHOWN),
						 element->key,
						 mts_error_clip(like, strlen(like), MAX_KEY_SHOWN),
						 like);
	return MTS_REFUSED;
}

/* Refuse a number that is not written as the keys of its slot are. */
static MtsVerdict
refuse_number(MtsWalk *walk, const MtsStep *slot, const MtsElement *element)
{
	char buffer[MTS_MAX_KEY];
	const char *first;

	(void) mts_slot_key_text(slot, slot->base, buffer, &first);
	return refuse_key(
		walk, element,
		slot->nnumbers == 0
			? "If all keys have leading zeros, declare how the first one is written, as in {minute:00}. If keys are written in two ways, declare the field that holds them as jsonb."
			: "Declare the first key as it is written. If keys are written in two ways, declare the field that holds them as jsonb.",
		slot->nnumbers == 0
			? "The key \"%.*s\" is not a number of at most 18 digits without leading zeros."
			: "The key \"%.*s\" is not written like the slot's first key, \"%.*s\".",
		first);
}

/* Read a key that counts units; a plain number without another call. */
static inline MtsVerdict
read_key(MtsWalk *walk, MtsLevel *level, const MtsStep *slot,
		 const MtsElement *element)
{
	int64_t *index = &level->key.index;

	switch (
		slot->nnumbers == 0
			? mts_element_key_number(element->key, element->key_len, index)
			: mts_slot_key_index(slot, element->key, element->key_len, index))
	{
		case MTS_KEYTEXT_OTHER:
			return MTS_SKIPPED;
		case MTS_KEYTEXT_NUMBER:
			return MTS_ACCEPTED;
		default:
			return refuse_number(walk, slot, element);
	}
}

/*
 * Number an element of [].  The keys of a subdocument are the indexes of an
 * array that has gaps.
 */
static MtsVerdict
read_index(MtsWalk *walk, MtsLevel *level, const MtsElement *element)
{
	if (!level->has_keys)
		level->key.index = level->next_index;
	else if (mts_element_key_number(element->key, element->key_len,
									&level->key.index) != MTS_KEYTEXT_NUMBER ||
			 level->key.index < level->next_index)
		return refuse_key(
			walk, element, NULL,
			"The key \"%.*s\" is not the next index of an array.", "");
	level->next_index = level->key.index + 1;
	return MTS_ACCEPTED;
}

/*
 * mts_walk_read_slot
 *		Read the slot of an element of the current level.
 */
MtsVerdict
mts_walk_read_slot(MtsWalk *walk, const MtsElement *element)
{
	MtsLevel *level = &walk->levels[walk->depth];
	const MtsStep *slot =
		&walk->container->path->steps[walk->slot_step[walk->depth]];
	MtsVerdict verdict;
	int64_t number;

	level->slot_start = level->start;
	level->slot_end = level->end;
	switch (slot->kind)
	{
		case MTS_STEP_UNIT_KEY:
			verdict = read_key(walk, level, slot, element);
			return verdict == MTS_ACCEPTED
					   ? count_units(walk, level, slot, element)
					   : verdict;
		case MTS_STEP_UNIT_INDEX:
			level->key.index = level->next_index++;
			return count_units(walk, level, slot, element);
		case MTS_STEP_ELEMENT:
			return read_index(walk, level, element);
		default:
			level->key.text = element->key;
			level->key.len = element->key_len;
			return walk->depth == walk->number_slot &&
						   mts_element_key_number(element->key,
												  element->key_len,
												  &number) == MTS_KEYTEXT_OTHER
					   ? MTS_SKIPPED
					   : MTS_ACCEPTED;
	}
}

/* Decide whether the element in an innermost slot is a point. */
static MtsVerdict
judge_element(MtsWalk *walk, const MtsElement *element)
{
	/* without a call where slots count instants */
	walk->time = walk->levels[walk->depth].slot_start;
	if (walk->slots->zone)
		walk->time = mts_slot_clock_reach(walk->slots, walk->time);
	if (walk->layout->time_kind == MTS_TIME_SLOTS &&
		!mts_ranges_contain(walk->ranges, walk->time))
		return MTS_SKIPPED;
	if (walk->is_beside_time)
		return MTS_ACCEPTED;
	if (mts_element_is_empty_document(element))
		return MTS_SKIPPED;
	if (walk->container->is_value || element->type == BSON_TYPE_DOCUMENT)
		return MTS_ACCEPTED;
	if (element->type == BSON_TYPE_NULL)
		return MTS_SKIPPED;
	if (walk->container->is_tuple && element->type == BSON_TYPE_ARRAY)
		return mts_element_is_empty_array(element) ? MTS_SKIPPED
												   : MTS_ACCEPTED;
	locate(walk, walk->depth);
	(void) mts_error_set(
		&walk->invalid->error, NULL,
		"The point must be a subdocument, not a value of type %s.",
		mts_element_type_name(element->type));
	return MTS_REFUSED;
}

/* Find a level's next element; the missing ones of a column are counted. */
static MtsNext
next_element(MtsWalk *walk, MtsLevel *level, MtsElement *element)
{
	MtsNext next;

	if (!level->is_compressed)
		return mts_element_next(&level->cursor, element);
	for (;;)
	{
		next = mts_compressed_next(walk->column, element);
		if (next != MTS_NEXT_OK || element->type != 0)
			return next;
		level->next_index++;
	}
}

/*
 * Read the slot of the next element of the current level.  MTS_DONE at the end
 * of the level, which is left then.
 */
static MtsUnfolded
next_slot(MtsWalk *walk, MtsElement *element, MtsVerdict *verdict)
{
	switch (next_element(walk, &walk->levels[walk->depth], element))
	{
		case MTS_NEXT_OK:
			break;
		case MTS_NEXT_END:
			walk->depth--;
			return MTS_DONE;
		case MTS_NEXT_CORRUPT:
			refuse_corrupt(walk, --walk->depth);
			return MTS_INVALID;
	}
	*verdict = mts_walk_read_slot(walk, element);
	return *verdict == MTS_REFUSED ? MTS_INVALID : MTS_POINT;
}

/*
 * mts_walk_next_level
 *		Go to the next innermost level, unless the walk is in one.
 *
 * MTS_POINT if there is one.  mts_walk_level is that then.
 */
MtsUnfolded
mts_walk_next_level(MtsWalk *walk)
{
	int innermost = walk->layout->nslots - 1;

	while (walk->depth >= 0 && walk->depth < innermost)
	{
		MtsLevel *level = &walk->levels[walk->depth];
		MtsElement element;
		MtsVerdict verdict;

		switch (next_slot(walk, &element, &verdict))
		{
			case MTS_DONE:
				continue;
			case MTS_INVALID:
				return MTS_INVALID;
			case MTS_POINT:
				break;
		}
		/* the next turn reads the level that this opens */
		if (verdict == MTS_ACCEPTED &&
			open_level(walk, walk->depth + 1, &element,
					   (MtsRange){level->slot_start, level->slot_end}) ==
				MTS_REFUSED)
			return MTS_INVALID;
	}
	return walk->depth < 0 ? MTS_DONE : MTS_POINT;
}

/*
 * mts_walk_next_in_level
 *		Find the next point of an innermost level; MTS_DONE at its end, when
 *		the level is left.
 *
 * An element of a compressed column stays until the next call.
 */
MtsUnfolded
mts_walk_next_in_level(MtsWalk *walk, MtsElement *element)
{
	for (;;)
	{
		MtsVerdict verdict;
		MtsUnfolded result = next_slot(walk, element, &verdict);

		if (result != MTS_POINT)
			return result;
		if (verdict == MTS_ACCEPTED)
			verdict = judge_element(walk, element);
		if (verdict == MTS_ACCEPTED)
			return MTS_POINT;
		if (verdict == MTS_REFUSED)
			return MTS_INVALID;
	}
}

/*
 * mts_walk_next
 *		Find the next point of the container.
 *
 * An element of a compressed column stays until the next call.
 */
MtsUnfolded
mts_walk_next(MtsWalk *walk, MtsElement *element)
{
	MtsUnfolded result;

	/* a level without another point is left */
	while ((result = mts_walk_next_level(walk)) == MTS_POINT &&
		   (result = mts_walk_next_in_level(walk, element)) == MTS_DONE)
		continue;
	return result;
}
