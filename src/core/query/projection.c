/*
 * projection.c
 *		Build the projection of a find command.
 *
 * It keeps every field that decides whether a point exists, so that a query
 * never sees other points for asking for fewer columns: containers come whole,
 * or by the slots that a narrow range can touch.
 */
#include "core/query/projection.h"

#include <stdio.h>
#include <string.h>

/* More slots than this are not projected one by one */
#define MAX_SLOTS_PROJECTED 512

/* A range that reaches into more buckets than this is not narrow */
#define MAX_NARROW_BUCKETS 2

/* Is this path the prefix, or below it? */
static bool
is_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 &&
		   (path[len] == '\0' || path[len] == '.');
}

/* Add a path; MongoDB refuses one beside another that lies below it. */
static void
add_path(bson_t *projection, const char *path)
{
	bson_t kept = BSON_INITIALIZER;
	bson_iter_t iter;
	bool displaces = false;

	bson_iter_init(&iter, projection);
	while (bson_iter_next(&iter))
	{
		if (is_below(path, bson_iter_key(&iter)))
		{
			bson_destroy(&kept);
			return;
		}
		if (is_below(bson_iter_key(&iter), path))
			displaces = true;
		else
			bson_append_iter(&kept, NULL, 0, &iter);
	}
	if (displaces)
	{
		bson_reinit(projection);
		bson_concat(projection, &kept);
	}
	bson_destroy(&kept);
	bson_append_int32(projection, path, -1, 1);
}

/*
 * Add a path as far as it can be addressed; false when that is nowhere.  Of
 * _id all comes, since buckets are told by it.
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
 * Does a span divide the calendar, so that aligned buckets are known without
 * looking at one?
 */
static bool
is_regular(MtsSpan span)
{
	if (span.months != 0)
		return (span.months == 1 || span.months == 12) && span.days == 0 &&
			   span.usecs == 0;
	if (span.days != 0)
		return span.days == 1 && span.usecs == 0;
	return span.usecs > 0 && MTS_DAY % span.usecs == 0;
}

/*
 * Append a container's paths for the slots between two sets of keys.  It goes
 * down as long as both have the same key.  False when there are too many.
 */
static bool
add_slots(bson_t *projection, const MtsContainer *container,
		  const int64_t *from, const int64_t *to)
{
	char path[MTS_MAX_PATH + 32];
	size_t len = 0;
	int slot = 0;

	for (int i = 0; i < container->nsteps; i++)
	{
		const MtsStep *step = &container->path->steps[i];
		const char *period = len > 0 ? "." : "";

		if (len >= MTS_MAX_PATH)
			return false;
		if (mts_path_step_is_addressable(step))
			len += snprintf(path + len, sizeof(path) - len, "%s%s", period,
							step->name);
		else if (step->kind != MTS_STEP_UNIT_KEY)
			break;
		else if (from[slot] == to[slot])
			len += snprintf(path + len, sizeof(path) - len, "%s%lld", period,
							(long long) from[slot++]);
		else
		{
			if (to[slot] - from[slot] >= MAX_SLOTS_PROJECTED)
				return false;
			for (int64_t key = from[slot]; key <= to[slot]; key++)
			{
				snprintf(path + len, sizeof(path) - len, "%s%lld", period,
						 (long long) key);
				add_path(projection, path);
			}
			return true;
		}
	}
	add_path(projection, path);
	return true;
}

/* Does a path that can be addressed lead to a container's unit keys? */
static bool
can_narrow(const MtsContainer *container)
{
	int n = mts_path_addressable_steps(container->path);

	return n > 0 && container->path->steps[n].kind == MTS_STEP_UNIT_KEY;
}

/* How much of a bucket lies in a range */
static int64_t
part(MtsTime start, MtsTime end, MtsRange range)
{
	return (range.to < end ? range.to : end) -
		   (range.from > start ? range.from : start);
}

/*
 * Add the slots of all containers that aligned buckets can have in a range.
 * False, with the projection in pieces, when they are not narrow enough.
 */
static bool
add_narrow(const MtsLayout *layout, MtsRange range, bson_t *projection)
{
	const MtsClock *clock = &layout->clock;
	MtsTime start, end;
	int nbuckets = 0;

	/* where clocks change, buckets may overlap or begin at no whole span */
	if (clock->to_local || layout->time_kind != MTS_TIME_SLOTS ||
		!is_regular(layout->span) || range.from == MTS_TIME_MIN ||
		range.to == MTS_TIME_MAX)
		return false;
	for (int i = 0; i < layout->ncontainers; i++)
		if (!can_narrow(&layout->containers[i]))
			return false;
	for (start = mts_clock_floor(clock, range.from, layout->span);
		 start < range.to; start = end)
	{
		int64_t from[MTS_MAX_SLOTS];
		int64_t to[MTS_MAX_SLOTS];
		MtsTime exact;

		if (++nbuckets > MAX_NARROW_BUCKETS ||
			!mts_layout_bucket_end(layout, start, &end) || end <= start ||
			part(start, end, range) * 2 >= end - start)
			return false;
		if (!mts_layout_slot_index(layout, start,
								   range.from > start ? range.from : start,
								   from, &exact) ||
			!mts_layout_slot_index(layout, start,
								   (range.to < end ? range.to : end) - 1, to,
								   &exact))
			return false;
		for (int i = 0; i < layout->ncontainers; i++)
			if (!add_slots(projection, &layout->containers[i], from, to))
				return false;
	}
	return true;
}

static bool
add_containers(const MtsLayout *layout, bson_t *projection)
{
	for (int i = 0; i < layout->ncontainers; i++)
		if (!add_field(projection, layout->containers[i].path))
			return false;
	return true;
}

static bool
add_bucket_fields(const MtsLayout *layout, const bool *needed,
				  const MtsRanges *ranges, bson_t *projection)
{
	const MtsField *fields[] = {&layout->bucket_time, NULL, NULL};

	if (layout->time_kind == MTS_TIME_POINT)
	{
		fields[1] = &layout->first;
		fields[2] = &layout->last;
	}
	for (int i = 0; i < 3; i++)
		if (fields[i] && fields[i]->is_set &&
			!add_field(projection, &fields[i]->path))
			return false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		bool decides = layout->time_kind == MTS_TIME_FLAT &&
					   i == layout->time_column &&
					   !mts_ranges_cover_all(ranges);

		if (column->container < 0 && column->role != MTS_ROLE_SLOT &&
			(needed[i] || decides) && !add_field(projection, &column->path))
			return false;
	}
	return true;
}

/*
 * mts_projection_build
 *		Write the projection for the needed columns to *projection.
 *
 * It is initialized and empty, and stays empty when the whole documents are
 * needed.  With narrow, only the slots that the ranges can touch are asked
 * for, where buckets are aligned to their span; true says so, and then a
 * bucket that is not aligned must be read again, whole.
 */
bool
mts_projection_build(const MtsLayout *layout, const bool *needed,
					 const MtsRanges *ranges, bool narrow, bson_t *projection)
{
	bool is_narrow = false;

	if (narrow && layout->ncontainers > 0 && ranges->n > 0)
	{
		MtsRange hull = {ranges->items[0].from,
						 ranges->items[ranges->n - 1].to};

		is_narrow = add_narrow(layout, hull, projection);
		if (!is_narrow)
			bson_reinit(projection);
	}
	if (!(is_narrow || add_containers(layout, projection)) ||
		!add_bucket_fields(layout, needed, ranges, projection))
	{
		bson_reinit(projection);
		return false;
	}
	if (bson_empty(projection))
		bson_append_int32(projection, "_id", -1, 1);
	return is_narrow;
}

/*
 * mts_projection_headers
 *		Write the projection of fields and of the bucket's needed columns.
 *
 * False, with the projection empty, when that takes whole documents.
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
	return ok;
}
