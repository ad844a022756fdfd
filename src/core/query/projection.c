/*
 * projection.c
 *		Build the projection of a find command.
 *
 * The points of a query must not depend on the columns it names, so every
 * field that decides whether a point exists is projected.  A container is
 * projected whole, or by the slots that a narrow range can touch.
 */
#include "core/query/projection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout/slot_key.h"

/* The most slots of a container that are projected one by one */
#define MAX_SLOTS_PROJECTED 512

/* The most buckets that a narrow range can touch */
#define MAX_NARROW_BUCKETS 2

/* Add a path; drop_nested() drops those that are not needed. */
static void
add_path(bson_t *projection, const char *path)
{
	bson_append_int32(projection, path, -1, 1);
}

/*
 * Add the part of a path that a query can address; false if that is empty.
 * _id is added whole, since it identifies the bucket.
 */
static bool
add_field(bson_t *projection, const MtsPath *path)
{
	char text[MTS_MAX_PATH];
	int n = mts_path_addressable_steps(path);

	if (n == 0)
		return false;
	if (mts_path_is_in_id(path))
		n = 1;
	mts_path_dotted(path->steps, n, text, sizeof(text));
	add_path(projection, text);
	return true;
}

/*
 * Tell whether a span divides the calendar evenly, so the start of an aligned
 * bucket can be computed.
 */
static bool
divides_calendar(MtsSpan span)
{
	if (span.months != 0)
		return (span.months == 1 || span.months == 12) && span.days == 0 &&
			   span.usecs == 0;
	if (span.days != 0)
		return span.days == 1 && span.usecs == 0;
	return span.usecs > 0 && MTS_DAY % span.usecs == 0;
}

/* The slots of a container whose paths are added */
typedef struct Slots
{
	bson_t *projection;
	const MtsLayout *layout;
	const MtsContainer *container;
	const int64_t *from;       /* keys of the first wanted slot; or NULL */
	const int64_t *to;         /* those of the last one */
	const MtsSlotTexts *texts; /* the wanted keys of {column} slots; or NULL */
	int n;                     /* paths that have been added */
	char path[MTS_MAX_DOTTED];
} Slots;

static bool add_below(Slots *slots, int step, int slot, bool is_one,
					  size_t len);

/* Append a step to the path; returns its length, or 0 if it is too long. */
static size_t
append_step(Slots *slots, size_t len, const char *text)
{
	size_t period = len > 0;
	size_t n = strlen(text);

	/* without snprintf: this is called for each slot */
	if (len + period + n >= sizeof(slots->path))
		return 0;
	if (period)
		slots->path[len] = '.';
	memcpy(slots->path + len + period, text, n + 1);
	return len + period + n;
}

/* Tell whether a {column} slot at or below a level has known keys. */
static bool
has_texts(const Slots *slots, int slot)
{
	for (; slots->texts && slot < slots->layout->nslots; slot++)
		if (slots->texts->keys[slot])
			return true;
	return false;
}

/* Add the paths below each wanted key of a {column} slot. */
static bool
add_texts(Slots *slots, int step, int slot, bool is_one, size_t len)
{
	bson_iter_t iter;

	bson_iter_init(&iter, slots->texts->keys[slot]);
	while (bson_iter_next(&iter))
	{
		const char *text = bson_iter_utf8(&iter, NULL);
		size_t end = mts_slot_key_text_is_addressable(text, strlen(text))
						 ? append_step(slots, len, text)
						 : 0;

		if (end == 0 || !add_below(slots, step + 1, slot + 1, is_one, end))
			return false;
	}
	return true;
}

/*
 * Add the paths below each wanted key of a slot that counts units.  Below
 * several keys, and without a range of times, all keys are wanted that a
 * bucket of the layout can have, wherever it begins.
 */
static bool
add_units(Slots *slots, int step, int slot, bool is_one, size_t len)
{
	const MtsStep *unit = &slots->container->path->steps[step];
	int64_t from = unit->base;
	int64_t to = from + mts_layout_max_keys(slots->layout, slot) - 1;

	if (is_one && slots->from)
	{
		from = slots->from[slot];
		to = slots->to[slot];
	}
	if (to - from >= MAX_SLOTS_PROJECTED)
		return false;
	for (int64_t key = from; key <= to; key++)
	{
		char buffer[MTS_MAX_KEY];
		const char *text;
		size_t end;

		(void) mts_slot_key_text(unit, key, buffer, &text);
		end = append_step(slots, len, text);
		if (end == 0 ||
			!add_below(slots, step + 1, slot + 1, is_one && from == to, end))
			return false;
	}
	return true;
}

/*
 * Add the paths of the wanted slots below a path of so many bytes.
 *
 * is_one tells that the levels above have one wanted key each, or are {column}
 * slots.  The paths end before the first level on which all keys are wanted.
 * False if there are too many paths.
 */
static bool
add_below(Slots *slots, int step, int slot, bool is_one, size_t len)
{
	const MtsContainer *container = slots->container;
	size_t end = len;

	for (; step < container->nsteps; step++)
	{
		const MtsStep *next = &container->path->steps[step];

		if (mts_path_step_is_addressable(next))
		{
			end = append_step(slots, end, next->name);
			if (end == 0)
				return false;
			continue;
		}
		if (slots->texts && next->kind == MTS_STEP_COLUMN_KEY &&
			slots->texts->keys[slot])
			return add_texts(slots, step, slot, is_one, end);
		if (mts_slot_key_is_addressable(next) &&
			((is_one && slots->from) || has_texts(slots, slot + 1)))
			return add_units(slots, step, slot, is_one, end);
		break;
	}
	if (slots->n++ == MAX_SLOTS_PROJECTED)
		return false;
	slots->path[is_one ? end : len] = '\0';
	add_path(slots->projection, slots->path);
	return true;
}

/*
 * Add the paths of a container's slots from one set of keys to another, or of
 * all units, and with the wanted keys of {column} slots, unless there are too
 * many of these.
 */
static bool
add_slots(const MtsLayout *layout, const MtsContainer *container,
		  const int64_t *from, const int64_t *to, const MtsSlotTexts *texts,
		  bson_t *projection)
{
	Slots slots = {.projection = projection,
				   .layout = layout,
				   .container = container,
				   .from = from,
				   .to = to,
				   .texts = texts};

	return add_below(&slots, 0, 0, true, 0);
}

/*
 * Add the paths of the keys that are the times of a range, in each container.
 * False, with an invalid projection, if they are not known, or too many, or if
 * the range has half the span of a bucket or more.
 */
static bool
add_times(const MtsLayout *layout, MtsRange range, bson_t *projection)
{
	const MtsClock *clock = &layout->clock;
	MtsSpan unit = mts_format_key_unit(&layout->key_format);
	char key[MTS_MAX_TIME_TEXT];
	char path[MTS_MAX_PATH + MTS_MAX_TIME_TEXT];
	MtsTime t, stored;
	MtsError error;
	int n = 0;

	if (clock->to_local || mts_layout_time_column(layout)->slot != 0 ||
		mts_span_is_zero(unit) || mts_span_is_zero(layout->span) ||
		range.from < MTS_FIRST_YEAR || range.to > MTS_END_YEAR ||
		!mts_layout_bucket_end(layout, range.from, &t) ||
		(range.to - range.from) * 2 >= t - range.from)
		return false;
	for (t = mts_clock_floor(clock, range.from, unit); t < range.to; n++)
	{
		if (n == MAX_SLOTS_PROJECTED ||
			!mts_format_encode_key(&layout->key_format, clock, t, key, &stored,
								   &error) ||
			stored != t || !mts_slot_key_text_is_addressable(key, strlen(key)))
			return false;
		for (int i = 0; i < layout->ncontainers; i++)
		{
			const MtsPath *to = layout->containers[i].path;
			int names = mts_path_leading_names(to);
			size_t len = mts_path_dotted(to->steps, names, path, sizeof(path));

			if (names == 0 || mts_path_addressable_steps(to) != names)
				return false;
			snprintf(path + len, sizeof(path) - len, ".%s", key);
			add_path(projection, path);
		}
		if (!mts_clock_step(clock, t, unit, 1, &t))
			return false;
	}
	return true;
}

/* Tell whether a query can address wanted slots of a container. */
static bool
has_addressable_slots(const MtsContainer *container, const MtsSlotTexts *texts)
{
	int n = mts_path_addressable_steps(container->path);

	return n > 0 && (mts_slot_key_is_addressable(&container->path->steps[n]) ||
					 (texts && texts->keys[0]));
}

/*
 * Tell whether the clocks of the zone do not change near the buckets that can
 * hold a point of a range.  Where they do, buckets may overlap, or start off a
 * whole span.
 */
static bool
is_far_from_changes(const MtsLayout *layout, MtsRange range)
{
	const MtsClock *clock = &layout->clock;
	MtsTime from, to;

	if (!clock->to_local)
		return true;
	from = mts_clock_step_back(clock, range.from, layout->span);
	return clock->next_change && from != MTS_TIME_MIN &&
		   !__builtin_sub_overflow(from, MTS_ZONE_SLACK, &from) &&
		   !__builtin_add_overflow(range.to, MTS_ZONE_SLACK, &to) &&
		   clock->next_change(clock->arg, from) >= to;
}

/*
 * Add the slots of all containers that aligned buckets can have in a range.
 * False, with an invalid projection, if there are too many buckets or if a
 * bucket has half its span or more in the range.
 */
static bool
add_narrow(const MtsLayout *layout, MtsRange range, const MtsSlotTexts *texts,
		   bson_t *projection)
{
	const MtsClock *clock = &layout->clock;
	MtsTime start, end;
	int nbuckets = 0;

	if (mts_layout_time_is_key(layout))
		return add_times(layout, range, projection);
	if (layout->time_kind != MTS_TIME_SLOTS ||
		!divides_calendar(layout->span) || range.from == MTS_TIME_MIN ||
		range.to == MTS_TIME_MAX || !is_far_from_changes(layout, range))
		return false;
	for (int i = 0; i < layout->ncontainers; i++)
		if (!has_addressable_slots(&layout->containers[i], texts))
			return false;
	for (start = mts_clock_floor(clock, range.from, layout->span);
		 start < range.to; start = end)
	{
		int64_t first[MTS_MAX_SLOTS];
		int64_t last[MTS_MAX_SLOTS];
		MtsTime from, to, exact;

		if (++nbuckets > MAX_NARROW_BUCKETS ||
			!mts_layout_bucket_end(layout, start, &end) || end <= start)
			return false;
		from = range.from > start ? range.from : start;
		to = range.to < end ? range.to : end;
		if ((to - from) * 2 >= end - start ||
			!mts_layout_slot_index(layout, start, from, first, &exact) ||
			!mts_layout_slot_index(layout, start, to - 1, last, &exact))
			return false;
		for (int i = 0; i < layout->ncontainers; i++)
			if (!add_slots(layout, &layout->containers[i], first, last, texts,
						   projection))
				return false;
	}
	return true;
}

/*
 * Tell whether a container decides which points exist.  A point that carries
 * its time exists where the time is, unless a reading must be there, too.
 */
static bool
container_decides(const MtsLayout *layout, int container)
{
	return layout->time_kind != MTS_TIME_POINT || layout->has_missing ||
		   mts_layout_time_is_key(layout) ||
		   container == mts_layout_time_column(layout)->container;
}

static bool
add_containers(const MtsLayout *layout, const bool *needed, bson_t *projection)
{
	for (int i = 0; i < layout->ncontainers; i++)
		if ((container_decides(layout, i) ||
			 mts_layout_needs_container(layout, i, needed)) &&
			!add_field(projection, layout->containers[i].path))
			return false;
	return true;
}

static bool
add_bucket_fields(const MtsLayout *layout, const bool *needed,
				  const MtsRanges *ranges, bson_t *projection)
{
	const MtsField *fields[] = {&layout->bucket_time, &layout->version, NULL,
								NULL};

	if (layout->time_kind == MTS_TIME_POINT)
	{
		fields[2] = &layout->first;
		fields[3] = &layout->last;
	}
	for (int i = 0; i < 4; i++)
		if (fields[i] && fields[i]->is_set &&
			!add_field(projection, &fields[i]->path))
			return false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool decides = layout->time_kind == MTS_TIME_FLAT &&
					   i == layout->time_column &&
					   !mts_ranges_cover_all(ranges);
		/* where a bucket has its time, which has been added */
		bool is_added =
			layout->time_kind == MTS_TIME_SLOTS && i == layout->time_column;

		if (column->container < 0 && column->role != MTS_ROLE_SLOT &&
			(needed[i] || decides) && !is_added &&
			!add_field(projection, &column->path))
			return false;
	}
	return true;
}

/* ---- Nested paths ------------------------------------------------------- */

typedef struct Path
{
	const char *text;
	uint32_t len;
	int number;
} Path;

/* Order paths so that those below a path follow it, and equal ones it. */
static int
compare_paths(const void *a, const void *b)
{
	const Path *left = a;
	const Path *right = b;
	uint32_t i = 0;
	int c, d;

	while (i < left->len && i < right->len && left->text[i] == right->text[i])
		i++;
	/* an end comes before a period, and that before any other byte */
	c = i == left->len         ? -2
		: left->text[i] == '.' ? -1
							   : (uint8_t) left->text[i];
	d = i == right->len         ? -2
		: right->text[i] == '.' ? -1
								: (uint8_t) right->text[i];
	return c != d ? (c > d) - (c < d) : left->number - right->number;
}

/* Tell whether a path is another one or lies below it. */
static bool
is_below(const Path *path, const Path *other)
{
	return path->len >= other->len &&
		   memcmp(path->text, other->text, other->len) == 0 &&
		   (path->len == other->len || path->text[other->len] == '.');
}

/* Mark the paths that are repeated, or below another one; false if none is. */
static bool
find_nested(const bson_t *projection, bool *is_nested, int n)
{
	Path *paths = bson_malloc((n + 1) * sizeof(Path));
	const Path *kept = NULL;
	bool found = false;
	bson_iter_t iter;

	bson_iter_init(&iter, projection);
	for (int i = 0; bson_iter_next(&iter); i++)
		paths[i] = (Path){bson_iter_key(&iter), bson_iter_key_len(&iter), i};
	qsort(paths, n, sizeof(Path), compare_paths);
	for (int i = 0; i < n; i++)
	{
		bool nested = kept && is_below(&paths[i], kept);

		is_nested[paths[i].number] = nested;
		found |= nested;
		if (!nested)
			kept = &paths[i];
	}
	bson_free(paths);
	return found;
}

/*
 * Drop repeated paths, and those below another one, which MongoDB refuses.
 * The others keep their order.
 */
static void
drop_nested(bson_t *projection)
{
	int n = (int) bson_count_keys(projection);
	bool *is_nested = bson_malloc(n + 1);
	bson_t all;
	bson_iter_t iter;

	if (find_nested(projection, is_nested, n))
	{
		bson_copy_to(projection, &all);
		bson_reinit(projection);
		bson_iter_init(&iter, &all);
		for (int i = 0; bson_iter_next(&iter); i++)
			if (!is_nested[i])
				bson_append_iter(projection, NULL, 0, &iter);
		bson_destroy(&all);
	}
	bson_free(is_nested);
}

/* ---- Projections -------------------------------------------------------- */

/*
 * Add the slots with the wanted keys of {column} slots; false, with an invalid
 * projection, if none are known.  They are of one container: a bucket may lack
 * one of several containers, and would be read again for it.
 */
static bool
add_keys(const MtsLayout *layout, const MtsSlotTexts *texts,
		 bson_t *projection)
{
	const MtsContainer *container = layout->containers;
	bool has_keys = false;

	for (int i = 0; texts && i < layout->nslots; i++)
		has_keys |= texts->keys[i] != NULL;
	return has_keys && layout->ncontainers == 1 &&
		   mts_path_addressable_steps(container->path) > 0 &&
		   !mts_path_is_in_id(container->path) &&
		   add_slots(layout, container, NULL, NULL, texts, projection);
}

/* Add the wanted slots, or nothing if all are. */
static MtsProjected
add_wanted(const MtsLayout *layout, const MtsRanges *ranges,
		   const MtsSlotTexts *texts, bson_t *projection)
{
	if (layout->ncontainers != 1)
		texts = NULL;
	if (layout->ncontainers > 0 && ranges->n > 0)
	{
		MtsRange hull = {ranges->items[0].from,
						 ranges->items[ranges->n - 1].to};

		if (add_narrow(layout, hull, texts, projection))
			return MTS_PROJECTED_TIMES;
		bson_reinit(projection);
		if (texts && add_narrow(layout, hull, NULL, projection))
			return MTS_PROJECTED_TIMES;
		bson_reinit(projection);
		if (add_keys(layout, texts, projection))
			return MTS_PROJECTED_KEYS;
		bson_reinit(projection);
	}
	return MTS_PROJECTED_ALL;
}

/*
 * mts_projection_build
 *		Build the projection for the needed columns.
 *
 * *projection is initialized and empty; it stays empty if whole documents are
 * required.  texts are the wanted keys of {column} slots; NULL for any.
 * Slots are left out only if the scope allows that.  The result tells what the
 * caller must then read again, whole: see MtsProjected.
 */
MtsProjected
mts_projection_build(const MtsLayout *layout, const bool *needed,
					 const MtsRanges *ranges, const MtsSlotTexts *texts,
					 MtsProjectionScope scope, bson_t *projection)
{
	MtsProjected result = MTS_PROJECTED_ALL;

	if (scope == MTS_PROJECT_SLOTS)
		result = add_wanted(layout, ranges, texts, projection);
	if ((result == MTS_PROJECTED_ALL &&
		 !add_containers(layout, needed, projection)) ||
		!add_bucket_fields(layout, needed, ranges, projection))
	{
		bson_reinit(projection);
		return MTS_PROJECTED_ALL;
	}
	if (bson_empty(projection))
		bson_append_int32(projection, "_id", -1, 1);
	drop_nested(projection);
	return result;
}

/*
 * mts_projection_headers
 *		Build the projection of some fields and the bucket's needed columns.
 *
 * False, with an empty projection, if whole documents are required.
 */
bool
mts_projection_headers(const MtsLayout *layout, const bool *needed,
					   const MtsRanges *ranges, const MtsField *const *fields,
					   int nfields, bson_t *projection)
{
	bool ok = add_bucket_fields(layout, needed, ranges, projection);

	for (int i = 0; ok && i < nfields; i++)
		ok = add_field(projection, &fields[i]->path);
	if (!ok)
		bson_reinit(projection);
	drop_nested(projection);
	return ok;
}

/*
 * mts_projection_add
 *		Add a field that a query can address to a projection that is not empty.
 */
void
mts_projection_add(bson_t *projection, const MtsField *field)
{
	(void) add_field(projection, &field->path);
	drop_nested(projection);
}
