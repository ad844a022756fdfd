/*
 * range.c
 *		Intersect, unite, subtract, complement and search sets of instants.
 *
 * Allocates nothing; range.h gives the room that each result requires.
 */
#include "core/time/range.h"

#include <stdlib.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/*
 * mts_ranges_add
 *		Append a range that starts at or after the start of the last one.
 *
 * An empty one adds nothing; one that touches the last is joined to it.
 */
void
mts_ranges_add(MtsRanges *ranges, MtsTime from, MtsTime to)
{
	MtsRange *last = ranges->n > 0 ? &ranges->items[ranges->n - 1] : NULL;

	if (from >= to)
		return;
	if (last && from <= last->to)
		last->to = MAX(last->to, to);
	else
		ranges->items[ranges->n++] = (MtsRange){from, to};
}

void
mts_ranges_intersect(const MtsRanges *a, const MtsRanges *b, MtsRanges *out)
{
	int i = 0, j = 0;

	out->n = 0;
	while (i < a->n && j < b->n)
	{
		mts_ranges_add(out, MAX(a->items[i].from, b->items[j].from),
					   MIN(a->items[i].to, b->items[j].to));
		if (a->items[i].to < b->items[j].to)
			i++;
		else
			j++;
	}
}

void
mts_ranges_unite(const MtsRanges *a, const MtsRanges *b, MtsRanges *out)
{
	int i = 0, j = 0;

	out->n = 0;
	while (i < a->n || j < b->n)
	{
		bool a_is_next =
			j == b->n || (i < a->n && a->items[i].from <= b->items[j].from);
		const MtsRange *next = a_is_next ? &a->items[i++] : &b->items[j++];

		mts_ranges_add(out, next->from, next->to);
	}
}

void
mts_ranges_complement(const MtsRanges *a, MtsRanges *out)
{
	MtsTime from = MTS_TIME_MIN;

	out->n = 0;
	for (int i = 0; i < a->n; i++)
	{
		mts_ranges_add(out, from, a->items[i].from);
		from = a->items[i].to;
	}
	mts_ranges_add(out, from, MTS_TIME_MAX);
}

void
mts_ranges_subtract(const MtsRanges *a, const MtsRanges *b, MtsRanges *out)
{
	int j = 0;

	out->n = 0;
	for (int i = 0; i < a->n; i++)
	{
		MtsTime from = a->items[i].from;

		while (j < b->n && b->items[j].to <= from)
			j++;
		/* the last range of b can reach into the next one of a */
		for (int k = j; k < b->n && b->items[k].from < a->items[i].to; k++)
		{
			mts_ranges_add(out, from, b->items[k].from);
			from = b->items[k].to;
		}
		mts_ranges_add(out, from, a->items[i].to);
	}
}

static int
compare_starts(const void *a, const void *b)
{
	MtsTime x = ((const MtsRange *) a)->from;
	MtsTime y = ((const MtsRange *) b)->from;

	return (x > y) - (x < y);
}

/*
 * mts_ranges_normalize
 *		Make a set of any ranges, which may be unsorted, overlap or be empty.
 */
void
mts_ranges_normalize(MtsRanges *ranges)
{
	int n = ranges->n;

	if (n > 0)
		qsort(ranges->items, n, sizeof(MtsRange), compare_starts);
	ranges->n = 0;
	for (int i = 0; i < n; i++)
		mts_ranges_add(ranges, ranges->items[i].from, ranges->items[i].to);
}

/*
 * mts_ranges_join
 *		Join ranges with short gaps until there are not more than max, except
 *		that gaps that begin before a time stay.
 */
void
mts_ranges_join(MtsRanges *ranges, int max, MtsTime from)
{
	for (int shift = 20; ranges->n > max && shift < 64; shift++)
	{
		int n = ranges->n;

		ranges->n = 1;
		for (int i = 1; i < n; i++)
		{
			MtsRange *last = &ranges->items[ranges->n - 1];
			MtsRange next = ranges->items[i];

			if (last->to >= from &&
				((uint64_t) next.from - (uint64_t) last->to) >> shift == 0)
				last->to = next.to;
			else
				ranges->items[ranges->n++] = next;
		}
	}
}

/* Find the first range that ends after a time; the number of all if none. */
static int
first_after(const MtsRanges *ranges, MtsTime t)
{
	int low = 0, high = ranges->n;

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (ranges->items[middle].to <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * mts_ranges_overlap
 *		Tell whether some instant of [from, to) belongs to the set.
 */
bool
mts_ranges_overlap(const MtsRanges *ranges, MtsTime from, MtsTime to)
{
	int i = first_after(ranges, from);

	return i < ranges->n && ranges->items[i].from < to;
}

/*
 * mts_ranges_cover
 *		Tell whether all instants of [from, to), one at least, belong to the
 *		set.
 */
bool
mts_ranges_cover(const MtsRanges *ranges, MtsTime from, MtsTime to)
{
	int i = first_after(ranges, from);

	return i < ranges->n && ranges->items[i].from <= from &&
		   to <= ranges->items[i].to;
}

/*
 * mts_ranges_cover_all
 *		Tell whether the set holds every instant.
 */
bool
mts_ranges_cover_all(const MtsRanges *ranges)
{
	return ranges->n == 1 && ranges->items[0].from == MTS_TIME_MIN &&
		   ranges->items[0].to == MTS_TIME_MAX;
}
