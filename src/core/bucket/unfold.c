/*
 * unfold.c
 *		Give a bucket's points one by one: their times and their values.
 *
 * The bytes are not trusted: what doesn't fit the layout is reported as
 * invalid, point by point, and the next call goes on behind it.  Points come
 * in the order in which they are stored (walk.c); only when the columns lie
 * in several containers are they sorted by slot, to be zipped (walk.c).  What
 * the bucket's own fields say of its points, and the values of a bucket that
 * holds doubles and no more, are read without them.
 */
#include "core/bucket/unfold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bucket/walk.h"

/*
 * mts_unfold_init
 *		Prepare to unfold buckets of a layout.
 *
 * ranges may change between buckets.  resize is realloc or like it; what it
 * gave is never freed here.  All memory is first asked for here, so that a
 * function that allocates in a context of the moment keeps it there.
 */
void
mts_unfold_init(MtsUnfold *unfold, const MtsLayout *layout,
				const MtsRanges *ranges,
				void *(*resize)(void *memory, size_t size))
{
	int n = layout->ncontainers;

	memset(unfold, 0, sizeof(*unfold));
	unfold->layout = layout;
	unfold->ranges = ranges;
	unfold->resize = resize;
	unfold->accepts_null_time = true;
	if (n == 0)
		return;
	unfold->walks = resize(NULL, n * sizeof(MtsWalk));
	unfold->collected = resize(NULL, n * sizeof(struct MtsCells));
	memset(unfold->collected, 0, n * sizeof(struct MtsCells));
	for (int i = 0; i < n; i++)
	{
		mts_walk_init(&unfold->walks[i], &layout->containers[i]);
		if (n > 1)
			mts_walk_zip_init(unfold, i);
	}
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

		mts_walk_locate_step(unfold, step,
							 mts_path_step_is_slot(step) ? key++ : NULL);
	}
}

/* A bucket's field that holds a time; false when it is absent or invalid. */
static bool
decode_field(MtsUnfold *unfold, const MtsField *field, MtsTime *t)
{
	const MtsLayout *layout = unfold->layout;
	MtsElement element;

	mts_path_dotted(field->path.steps, field->path.nsteps, unfold->where,
					sizeof(unfold->where));
	switch (mts_path_find(&unfold->document, field->path.steps,
						  field->path.nsteps, &element))
	{
		case MTS_MALFORMED:
			mts_walk_refuse(
				unfold,
				"The path leads through something that is not a document.");
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
			mts_walk_refuse(unfold, "The bucket has no time there.");
			return false;
		default:
			return false;
	}
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
	MtsEntered entered;

	unfold->has_no_points = false;
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
			mts_walk_refuse(unfold, "The end of the bucket is out of range.");
			return false;
		}
	}
	if (layout->time_kind == MTS_TIME_POINT &&
		((layout->first.is_set &&
		  !decode_field(unfold, &layout->first, &unfold->first)) ||
		 (layout->last.is_set &&
		  !decode_field(unfold, &layout->last, &unfold->last))))
		return false;

	for (int i = 0; !unfold->headers_only && i < layout->ncontainers; i++)
	{
		unfold->walks[i].depth = -1;
		unfold->collected[i].n = unfold->collected[i].next = 0;
		entered =
			mts_walk_open(unfold, &unfold->walks[i], 0, &unfold->document);
		if (entered == MTS_REFUSED)
			return false;
		unfold->has_no_points |= entered == MTS_SKIPPED;
	}
	return true;
}

static MtsUnfolded
next_single(MtsUnfold *unfold, MtsPoint *point)
{
	int nslots = unfold->layout->nslots;
	MtsWalk *walk = &unfold->walks[0];
	MtsUnfolded result = mts_walk_next(unfold, walk, point->elements);

	if (result == MTS_POINT)
	{
		point->time = walk->levels[nslots - 1].at;
		mts_walk_slots(walk, nslots, point->slots);
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

/* Is this the value that means "no reading"?  NaN is equal to NaN. */
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
 *		What a column has at a point, or, of a bucket's column, in the bucket.
 *
 * point may be NULL for a bucket's column.  What means "no reading" is absent.
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
		mts_walk_refuse(
			unfold,
			"The path leads through something that is not a document.");
		unfold->error.hint = "If that is an array, write [] after its name.";
	}
	return found;
}

/* Decide a point that carries its own time. */
static MtsEntered
take_own_time(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	const MtsColumn *time = mts_layout_time(layout);
	MtsElement element;
	MtsDecoded decoded;
	MtsFound found = mts_unfold_value(unfold, point, time, &element);
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;

	if (found == MTS_MALFORMED)
		return MTS_REFUSED;
	decoded = found == MTS_ABSENT
				  ? MTS_DECODED_NULL
				  : mts_format_decode(&time->format, &layout->clock, &element,
									  unfold->start, layout->truncate,
									  &point->time, &unfold->error);
	point->time_is_null = decoded == MTS_DECODED_NULL;
	if (point->time_is_null && is_flat)
		return unfold->accepts_null_time ? MTS_ENTERED : MTS_SKIPPED;
	mts_unfold_locate(unfold, point, time);
	if (decoded == MTS_DECODED_INVALID)
		return MTS_REFUSED;
	if (decoded == MTS_DECODED_NULL)
		mts_walk_refuse(unfold, "The point has no time.");
	else if (point->time < unfold->start || point->time >= unfold->end ||
			 point->time < unfold->first || point->time > unfold->last)
		mts_walk_refuse(unfold, "The point's time is outside of its bucket.");
	else
		return mts_ranges_contain(unfold->ranges, point->time) ? MTS_ENTERED
															   : MTS_SKIPPED;
	return MTS_REFUSED;
}

/* Has any value column a reading here? */
static MtsEntered
has_reading(MtsUnfold *unfold, const MtsPoint *point)
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
				return MTS_ENTERED;
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
 *		Give the bucket's next point whose time is wanted.
 *
 * point->elements has room for the layout's containers.  After MTS_INVALID the
 * next call goes on behind what was invalid.
 */
MtsUnfolded
mts_unfold_next(MtsUnfold *unfold, MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	bool own_time =
		layout->time_kind == MTS_TIME_POINT ||
		(layout->time_kind == MTS_TIME_FLAT && layout->time_column >= 0);

	for (;;)
	{
		MtsEntered entered = MTS_ENTERED;
		MtsUnfolded result;

		if (layout->ncontainers == 0)
			result = unfold->walking++ == 0 ? MTS_POINT : MTS_DONE;
		else if (layout->ncontainers == 1)
			result = next_single(unfold, point);
		else
			result = mts_walk_zip_next(unfold, point);
		if (result != MTS_POINT)
			return result;
		point->time_is_null = layout->time_column < 0;
		if (layout->has_missing)
			entered = has_reading(unfold, point);
		if (entered == MTS_ENTERED && own_time)
			entered = take_own_time(unfold, point);
		if (entered == MTS_ENTERED)
			return MTS_POINT;
		if (entered == MTS_REFUSED)
			return MTS_INVALID;
	}
}

/* ---- What the bucket's own fields say -------------------------------------
 *
 * Its time and bounds say which times its points can have, its pre-aggregates
 * what they add up to.  What is not beyond doubt here is left to the points.
 */

/* Ranges that hold fewer whole buckets are not worth reading headers first */
#define WORTH 4

/* Can one of the ranges hold several whole buckets? */
bool
mts_unfold_header_is_worthwhile(const MtsLayout *layout,
								const MtsRanges *ranges)
{
	for (int i = 0; i < ranges->n; i++)
	{
		MtsTime t = ranges->items[i].from;
		int n = 0;

		if (t == MTS_TIME_MIN || ranges->items[i].to == MTS_TIME_MAX ||
			mts_span_is_zero(layout->span))
			return true;
		while (n < WORTH && mts_layout_bucket_end(layout, t, &t) &&
			   t <= ranges->items[i].to)
			n++;
		if (n == WORTH)
			return true;
	}
	return false;
}

/*
 * mts_unfold_header_coverage
 *		How many points of a bucket that has been started are wanted?
 *
 * The times that they can have are from *first to *last.
 */
MtsCoverage
mts_unfold_header_coverage(const MtsUnfold *unfold, MtsTime *first,
						   MtsTime *last)
{
	const MtsRanges *ranges = unfold->ranges;

	*first = unfold->start > unfold->first ? unfold->start : unfold->first;
	*last = unfold->end - 1 < unfold->last ? unfold->end - 1 : unfold->last;
	if (*last < *first)
		return MTS_COVERED_SOME;
	if (!mts_ranges_overlap(ranges, *first, *last + 1))
		return MTS_COVERED_NONE;
	return mts_ranges_cover(ranges, *first, *last + 1) ? MTS_COVERED_ALL
													   : MTS_COVERED_SOME;
}

/* Find a field of the bucket; false when it is absent. */
bool
mts_unfold_header_find(const MtsUnfold *unfold, const MtsField *field,
					   MtsElement *element)
{
	return mts_path_find(&unfold->document, field->path.steps,
						 field->path.nsteps, element) == MTS_FOUND;
}

/* A finite double that no conversion has changed; false when it is none. */
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

/* ---- Doubles and no more --------------------------------------------------
 *
 * That is the bucket that most series have, and what is summed up of it needs
 * no point: a key and eight bytes are read in 3 ns, a point in 40.
 */

/*
 * mts_unfold_doubles_supported
 *		Can the buckets of a layout be read so?
 */
bool
mts_unfold_doubles_supported(const MtsLayout *layout)
{
	return layout->ncontainers == 1 && layout->nslots == 1 &&
		   layout->slots[0]->kind == MTS_STEP_UNIT_KEY &&
		   layout->slots[0]->base == 0 && layout->slots[0]->unit.usecs > 0 &&
		   layout->containers[0].is_value && !layout->has_missing &&
		   layout->time_kind == MTS_TIME_SLOTS;
}

/*
 * Read a canonical number below a limit, up to its NUL; NULL if it is none.
 * The document's own NUL ends it at the latest.
 */
static inline const uint8_t *
read_key(const uint8_t *at, int64_t limit, int64_t *key)
{
	int64_t n = *at - '0';

	if (*at < '0' || *at > '9')
		return NULL;
	if (n == 0 && at[1] != '\0')
		return NULL;
	for (at++; *at != '\0'; at++)
	{
		if (*at < '0' || *at > '9')
			return NULL;
		n = n * 10 + (*at - '0');
		if (n >= limit)
			return NULL;
	}
	*key = n;
	return n < limit ? at : NULL;
}

/*
 * mts_unfold_doubles_read
 *		Read the values of a bucket that has been started, and, unless keys is
 *		NULL, those of its slots.
 *
 * Returns how many there are; -1 when the bucket has something else, or too
 * much, or is not wanted whole: then it is to be unfolded.
 */
int
mts_unfold_doubles_read(const MtsUnfold *unfold, double *values, int64_t *keys,
						int room)
{
	const MtsLayout *layout = unfold->layout;
	const MtsPath *path = layout->containers[0].path;
	int64_t unit = layout->slots[0]->unit.usecs;
	int64_t limit = (unfold->end - unfold->start + unit - 1) / unit;
	MtsElement holder;
	MtsElementCursor cursor;
	int n = 0;

	if (!mts_ranges_cover(unfold->ranges, unfold->start, unfold->end) ||
		mts_path_find(&unfold->document, path->steps,
					  mts_path_leading_names(path), &holder) != MTS_FOUND ||
		holder.type != BSON_TYPE_DOCUMENT ||
		!mts_element_open(&cursor, holder.value, holder.size))
		return -1;
	for (const uint8_t *at = cursor.at; at < cursor.end;)
	{
		int64_t key;

		if (*at != BSON_TYPE_DOUBLE || n == room)
			return -1;
		at = read_key(at + 1, limit, &key);
		if (!at || cursor.end - at < 9)
			return -1;
		if (keys)
			keys[n] = key;
		memcpy(&values[n++], at + 1, sizeof(double));
		at += 9;
	}
	return n;
}
