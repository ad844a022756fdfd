/*
 * header.c
 *		What do a bucket's own fields say of its points?
 *
 * Its time and bounds say which times they can have, its pre-aggregates what
 * they add up to.  What is not beyond doubt here is left to the points.
 */
#include "core/header.h"

#include <math.h>

/* Ranges that hold fewer whole buckets are not worth reading headers first */
#define WORTH 4

/* Can one of the ranges hold several whole buckets? */
bool
mts_header_is_worth(const MtsLayout *layout, const MtsRanges *ranges)
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
 * mts_header_wanted
 *		How many points of a bucket that has been started are wanted?
 *
 * The times that they can have are from *first to *last.
 */
MtsWanted
mts_header_wanted(const MtsUnfold *unfold, MtsTime *first, MtsTime *last)
{
	const MtsRanges *ranges = unfold->ranges;

	*first = unfold->start > unfold->first ? unfold->start : unfold->first;
	*last = unfold->end - 1 < unfold->last ? unfold->end - 1 : unfold->last;
	if (*last < *first)
		return MTS_WANTED_SOME;
	if (!mts_ranges_overlap(ranges, *first, *last + 1))
		return MTS_WANTED_NONE;
	return mts_ranges_cover(ranges, *first, *last + 1) ? MTS_WANTED_ALL
													   : MTS_WANTED_SOME;
}

/* Find a field of the bucket; false when it is absent. */
bool
mts_header_find(const MtsUnfold *unfold, const MtsField *field,
				MtsElement *element)
{
	return mts_element_find(&unfold->document, field->path.steps,
							field->path.nsteps, element) == MTS_FOUND;
}

/* An integer that is exact; false when it is none. */
bool
mts_header_integer(const MtsElement *element, int64_t *n)
{
	return mts_element_integer(element, MTS_MAX_EXACT, n);
}

/* A finite double that no conversion has changed; false when it is none. */
bool
mts_header_double(const MtsElement *element, double *d)
{
	int64_t n;

	if (element->type == BSON_TYPE_DOUBLE)
	{
		*d = mts_element_double(element);
		return isfinite(*d);
	}
	if (!mts_header_integer(element, &n) || n > MTS_MAX_EXACT ||
		n < -MTS_MAX_EXACT)
		return false;
	*d = (double) n;
	return true;
}
