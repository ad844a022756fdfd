/*
 * unfold.c
 *		Unfold a bucket into points with their times and values.
 *
 * The bytes are not trusted.  An element that does not fit the layout is
 * reported as invalid, and the next call continues after it.  Points come in
 * the order in which they are stored (walk.c).  If the columns lie in several
 * containers, the points are sorted by slot and zipped (zip.c).  The fields of
 * the bucket can be read without unfolding it.
 */
#include "core/bucket/unfold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last known version of the format of native buckets */
#define MAX_VERSION 3

/*
 * mts_unfold_init
 *		Prepare to unfold buckets of a layout.
 *
 * ranges may change between buckets.
 */
void
mts_unfold_init(MtsUnfold *unfold, const MtsLayout *layout,
				const MtsRanges *ranges, const MtsArena *arena)
{
	int n = layout->ncontainers;

	memset(unfold, 0, sizeof(*unfold));
	unfold->layout = layout;
	unfold->ranges = ranges;
	unfold->accepts_null_time = true;
	if (n == 0)
		return;
	unfold->walks = mts_arena_allocate(arena, n * sizeof(MtsWalk));
	for (int i = 0; i < n; i++)
		mts_walk_init(&unfold->walks[i], layout, &layout->containers[i],
					  &unfold->invalid, arena);
	if (n > 1)
		mts_zip_init(&unfold->zip, unfold->walks, n, arena);
}

/*
 * mts_unfold_locate
 *		Set unfold->invalid.where to the path of a column's value in a point.
 */
void
mts_unfold_locate(MtsUnfold *unfold, const MtsPoint *point,
				  const MtsColumn *column)
{
	const MtsSlotKey *key = point ? point->slots : NULL;

	unfold->invalid.where[0] = '\0';
	for (int i = 0; i < column->path.nsteps; i++)
	{
		const MtsStep *step = &column->path.steps[i];

		mts_walk_append_step(&unfold->invalid, step,
							 mts_path_step_is_slot(step) ? key++ : NULL);
	}
}

static void
refuse(MtsUnfold *unfold, const char *detail)
{
	(void) mts_error_set(&unfold->invalid.error, NULL, "%s", detail);
}

/* Set unfold->invalid.where to the path of a field of the bucket. */
static void
locate_field(MtsUnfold *unfold, const MtsField *field)
{
	mts_path_dotted(field->path.steps, field->path.nsteps,
					unfold->invalid.where, sizeof(unfold->invalid.where));
}

/* Decode a time of the bucket; false if it is absent or invalid. */
static bool
decode_field(MtsUnfold *unfold, const MtsField *field, MtsTime *t)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement element;

	switch (mts_path_find(&unfold->document, field->path.steps,
						  field->path.nsteps, &element))
	{
		case MTS_MALFORMED:
			locate_field(unfold, field);
			refuse(unfold, "A value on the path is not a subdocument.");
			return false;
		case MTS_ABSENT:
			element.type = BSON_TYPE_NULL;
			break;
		case MTS_FOUND:
			break;
	}
	switch (mts_format_decode(&field->format, &layout->clock, &element, 0,
							  layout->truncate, t, &unfold->invalid.error))
	{
		case MTS_DECODED:
			return true;
		case MTS_DECODED_NULL:
			locate_field(unfold, field);
			return mts_error_set(
				&unfold->invalid.error,
				"Check the time column's field and option \"bucket_time_field\": names are case-sensitive. Exclude other documents by option \"filter\", such as {\"ts\": {\"$ne\": null}}.",
				"The bucket has no time in field \"%.100s\".",
				unfold->invalid.where);
		default:
			locate_field(unfold, field);
			return false;
	}
}

/* Check that a native bucket has a format that is known. */
static bool
check_version(MtsUnfold *unfold)
{
	const MtsField *field = &unfold->layout->version;
	MtsElement element;
	int64_t version;

	if (mts_path_find(&unfold->document, field->path.steps, field->path.nsteps,
					  &element) == MTS_FOUND &&
		mts_element_integer(&element, MTS_MAX_EXACT, &version) &&
		version >= 1 && version <= MAX_VERSION)
		return true;
	locate_field(unfold, field);
	refuse(unfold, "The version of the bucket's format is unknown.");
	unfold->invalid.error.hint = "Set table option \"native_buckets\" to "
								 "\"off\" to read the collection's view.";
	return false;
}

/*
 * mts_unfold_start
 *		Begin with a bucket, whose bytes must stay until its last point.
 *
 * False if its time or bounds are invalid; then none of its points is read.
 */
bool
mts_unfold_start(MtsUnfold *unfold, const uint8_t *bucket, size_t size)
{
	const MtsLayout *layout = unfold->layout;
	MtsVerdict verdict;

	unfold->lacks_container = false;
	unfold->invalid.where[0] = '\0';
	unfold->document = mts_element_document(bucket, size);
	unfold->start = unfold->first = unfold->earliest = MTS_TIME_MIN;
	unfold->end = unfold->last = MTS_TIME_MAX;
	unfold->latest = MTS_TIME_MAX - 1;
	unfold->slots = (MtsSlotClock){{MTS_TIME_MIN, MTS_TIME_MAX},
								   {MTS_TIME_MIN, MTS_TIME_MAX},
								   &layout->clock,
								   NULL};
	unfold->is_read = false;
	if (layout->time_kind == MTS_TIME_FLAT)
		return true;
	if (layout->version.is_set && !check_version(unfold))
		return false;
	if (layout->bucket_time.is_set)
	{
		if (!decode_field(unfold, &layout->bucket_time, &unfold->start))
			return false;
		if (!mts_layout_slot_clock(layout, unfold->start, &unfold->slots))
		{
			locate_field(unfold, &layout->bucket_time);
			refuse(unfold, "The end of the bucket is out of range.");
			return false;
		}
		unfold->end = unfold->slots.bucket.to;
	}
	if (layout->time_kind == MTS_TIME_POINT &&
		((layout->first.is_set &&
		  !decode_field(unfold, &layout->first, &unfold->first)) ||
		 (layout->last.is_set &&
		  !decode_field(unfold, &layout->last, &unfold->last))))
		return false;
	unfold->earliest = BSON_MAX(unfold->start, unfold->first);
	unfold->latest = BSON_MIN(unfold->end - 1, unfold->last);

	for (int i = 0; !unfold->headers_only && i < layout->ncontainers; i++)
	{
		verdict = mts_walk_start(&unfold->walks[i], &unfold->document,
								 &unfold->slots, unfold->ranges);
		if (verdict == MTS_REFUSED)
			return false;
		unfold->lacks_container |= verdict == MTS_SKIPPED;
	}
	if (layout->ncontainers > 1)
		mts_zip_start(&unfold->zip);
	return true;
}

/* Find the next point in the only container. */
static MtsUnfolded
next_single(MtsUnfold *unfold, MtsPoint *point)
{
	MtsWalk *walk = &unfold->walks[0];
	MtsUnfolded result = mts_walk_next(walk, point->elements);

	if (result == MTS_POINT)
	{
		point->time = mts_walk_time(walk);
		mts_walk_slots(walk, point->slots);
	}
	return result;
}

static bool
number_of(const MtsElement *element, double *d)
{
	char text[BSON_DECIMAL128_STRING];

	if (element->type != BSON_TYPE_DECIMAL128)
		return mts_element_number(element, d);
	mts_element_decimal(element, text);
	*d = strtod(text, NULL);
	return true;
}

/*
 * mts_unfold_is_missing
 *		Tell whether a value means "no reading"; NaN is equal to NaN.
 */
bool
mts_unfold_is_missing(const MtsMissing *missing, const MtsElement *element)
{
	double d;
	size_t len;
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
 *		Find the value of a column in a point or, for a field of the bucket, in
 *		the bucket.
 *
 * point may be NULL for a field of the bucket.  A value that means "no
 * reading" is absent.
 */
MtsFound
mts_unfold_value(MtsUnfold *unfold, const MtsPoint *point,
				 const MtsColumn *column, MtsElement *element)
{
	const MtsStep *steps = column->path.steps;
	int n = column->path.nsteps;
	const MtsElement *from = &unfold->document;
	MtsFound found;

	if (column->container >= 0)
	{
		int skip = unfold->layout->containers[column->container].nsteps;

		from = &point->elements[column->container];
		if (from->type == 0)
			return MTS_ABSENT;
		steps += skip;
		n -= skip;
	}
	if (n == 0)
	{
		/* the most frequent case of the hot loop, without a call */
		*element = *from;
		found = MTS_FOUND;
	}
	else
		found = mts_path_find(from, steps, n, element);
	if (found == MTS_FOUND && mts_unfold_is_missing(&column->missing, element))
		return MTS_ABSENT;
	if (found == MTS_MALFORMED)
	{
		mts_unfold_locate(unfold, point, column);
		refuse(unfold, "A value on the path is not a subdocument.");
		unfold->invalid.error.hint =
			"If the value is an array, write [] after its name.";
	}
	return found;
}

/* Return a column that has a value below the slots of a point. */
static const MtsColumn *
column_of_point(const MtsLayout *layout, const MtsPoint *point)
{
	const MtsColumn *column = layout->columns;

	while (column->container < 0 ||
		   point->elements[column->container].type == 0)
		column++;
	return column;
}

/* Decode the key that is a point's time. */
static MtsDecoded
decode_key(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	const MtsSlotKey *key =
		&point->slots[mts_layout_time_column(layout)->slot];

	return mts_format_decode_key(&layout->key_format, &layout->clock,
								 key->text, key->len, &point->time,
								 &unfold->invalid.error)
			   ? MTS_DECODED
			   : MTS_DECODED_INVALID;
}

/* Decode a point's own time, and decide whether it is valid and wanted. */
static MtsVerdict
judge_own_time(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	MtsElement element;
	bool is_key = time->role == MTS_ROLE_SLOT;
	MtsDecoded decoded;
	MtsFound found =
		is_key ? MTS_FOUND : mts_unfold_value(unfold, point, time, &element);
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;

	if (found == MTS_MALFORMED)
		return MTS_REFUSED;
	decoded = is_key ? decode_key(unfold, point)
			  : found == MTS_ABSENT
				  ? MTS_DECODED_NULL
				  : mts_format_decode(&time->format, &layout->clock, &element,
									  unfold->start, layout->truncate,
									  &point->time, &unfold->invalid.error);
	point->time_is_null = decoded == MTS_DECODED_NULL;
	if (point->time_is_null && is_flat)
		return unfold->accepts_null_time ? MTS_ACCEPTED : MTS_SKIPPED;
	if (decoded == MTS_DECODED && point->time >= unfold->earliest &&
		point->time <= unfold->latest)
		return mts_ranges_contain(unfold->ranges, point->time) ? MTS_ACCEPTED
															   : MTS_SKIPPED;
	mts_unfold_locate(unfold, point,
					  is_key ? column_of_point(layout, point) : time);
	if (decoded != MTS_DECODED_INVALID)
		refuse(unfold, decoded == MTS_DECODED_NULL
						   ? "The point has no time."
						   : "The point's time is outside of its bucket.");
	return MTS_REFUSED;
}

/* Tell whether a point is nothing but null elements of arrays. */
static bool
is_padding(const MtsLayout *layout, const MtsPoint *point)
{
	if (layout->slots[layout->nslots - 1]->kind != MTS_STEP_UNIT_INDEX)
		return false;
	for (int i = 0; i < layout->ncontainers; i++)
		if (point->elements[i].type != 0 &&
			point->elements[i].type != BSON_TYPE_NULL)
			return false;
	return true;
}

/*
 * Refuse a point in a slot whose local time clocks skip.  Arrays have elements
 * there, too, which are null.
 */
static MtsVerdict
judge_slot(MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	int64_t keys[MTS_MAX_SLOTS];
	MtsTime t;
	int i = 0;

	for (int level = 0; level < layout->nslots; level++)
		keys[level] = point->slots[level].index;
	if (mts_layout_instant(layout, &unfold->slots, keys, &t))
		return MTS_ACCEPTED;
	if (is_padding(layout, point))
		return MTS_SKIPPED;
	while (layout->columns[i].container < 0)
		i++;
	mts_unfold_locate(unfold, point, &layout->columns[i]);
	refuse(
		unfold,
		"The slot's local time does not exist in the bucket, because clocks are set forward or back.");
	unfold->invalid.error.hint =
		"Check table options \"bucket_time_zone\" and \"slot_clock\".";
	return MTS_REFUSED;
}

/* Skip a point without a reading in any value column. */
static MtsVerdict
judge_readings(MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement element;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].role != MTS_ROLE_VALUE)
			continue;
		switch (mts_unfold_value(unfold, point, &layout->columns[i], &element))
		{
			case MTS_FOUND:
				return MTS_ACCEPTED;
			case MTS_MALFORMED:
				return MTS_REFUSED;
			case MTS_ABSENT:
				break;
		}
	}
	return MTS_SKIPPED;
}

/*
 * mts_unfold_next
 *		Find the next point of the bucket whose time is wanted.
 *
 * point->elements has room for the layout's containers.  After MTS_INVALID the
 * next call continues after the invalid element.
 */
MtsUnfolded
mts_unfold_next(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	bool has_own_time =
		layout->time_kind == MTS_TIME_POINT ||
		(layout->time_kind == MTS_TIME_FLAT && layout->time_column >= 0);

	for (;;)
	{
		MtsVerdict verdict = MTS_ACCEPTED;
		MtsUnfolded result;

		if (layout->ncontainers == 0)
		{
			result = unfold->is_read ? MTS_DONE : MTS_POINT;
			unfold->is_read = true;
		}
		else if (layout->ncontainers == 1)
			result = next_single(unfold, point);
		else
			result = mts_zip_next(&unfold->zip, point);
		if (result != MTS_POINT)
			return result;
		point->time_is_null = layout->time_column < 0;
		if (layout->has_missing)
			verdict = judge_readings(unfold, point);
		if (verdict == MTS_ACCEPTED && unfold->slots.zone &&
			layout->time_kind == MTS_TIME_SLOTS)
			verdict = judge_slot(unfold, point);
		if (verdict == MTS_ACCEPTED && has_own_time)
			verdict = judge_own_time(unfold, point);
		if (verdict == MTS_ACCEPTED)
			return MTS_POINT;
		if (verdict == MTS_REFUSED)
			return MTS_INVALID;
	}
}

/* ---- Headers ---------------------------------------------------------------
 *
 * The fields of a bucket bound the times of its points and hold their
 * pre-aggregates.  If they leave anything in doubt, the points are read.
 */

/* Reading headers first pays if a range holds at least so many buckets. */
#define MIN_HEADERS 4

/*
 * The buckets at the edges of a range are read in a second round trip, which
 * takes as long as it takes to receive and aggregate about so many points.
 */
#define ROUND_TRIP_POINTS 10000.0

/*
 * mts_unfold_header_is_worthwhile
 *		Tell whether one of the ranges holds several whole buckets, and of one
 *		series so many that it pays to read those at the edges later.
 */
bool
mts_unfold_header_is_worthwhile(const MtsLayout *layout,
								const MtsRanges *ranges, bool is_one_series)
{
	double capacity = mts_layout_capacity(layout);

	for (int i = 0; i < ranges->n; i++)
	{
		MtsTime t = ranges->items[i].from, to = ranges->items[i].to;
		double needed = MIN_HEADERS;
		int n = 0;

		if (t == MTS_TIME_MIN || to == MTS_TIME_MAX ||
			mts_span_is_zero(layout->span))
			return true;
		if (is_one_series && capacity > 0 &&
			!(mts_layout_is_aligned(layout, t) &&
			  mts_layout_is_aligned(layout, to)))
			needed = BSON_MAX(needed, ROUND_TRIP_POINTS / capacity);
		while (n < needed && mts_layout_bucket_end(layout, t, &t) && t <= to)
			n++;
		if (n >= needed)
			return true;
	}
	return false;
}

/*
 * mts_unfold_header_coverage
 *		Determine which points of the current bucket lie in the wanted ranges.
 */
MtsCoverage
mts_unfold_header_coverage(const MtsUnfold *unfold)
{
	MtsTime from = unfold->earliest;
	MtsTime to = unfold->latest + 1;

	if (to <= from)
		return MTS_COVERED_SOME;
	if (!mts_ranges_overlap(unfold->ranges, from, to))
		return MTS_COVERED_NONE;
	return mts_ranges_cover(unfold->ranges, from, to) ? MTS_COVERED_ALL
													  : MTS_COVERED_SOME;
}

/* Find a field of the bucket; false if it is absent. */
bool
mts_unfold_header_find(const MtsUnfold *unfold, const MtsField *field,
					   MtsElement *element)
{
	return mts_path_find(&unfold->document, field->path.steps,
						 field->path.nsteps, element) == MTS_FOUND;
}

/* Read a number that a finite double holds exactly; false for others. */
bool
mts_unfold_header_double(const MtsElement *element, double *d)
{
	int64_t n;

	if (element->type == BSON_TYPE_DOUBLE)
	{
		*d = mts_element_double(element);
		return isfinite(*d);
	}
	if (!mts_element_integer(element, MTS_MAX_EXACT, &n) ||
		n > MTS_MAX_EXACT || n < -MTS_MAX_EXACT)
		return false;
	*d = (double) n;
	return true;
}
