/*
 * range.h
 *		A set of instants, as sorted ranges that neither overlap nor touch.
 *
 * A condition on a time column admits such a set.  The caller allocates the
 * items; a result must not share them with its operands.
 */
#ifndef MTS_RANGE_H
#define MTS_RANGE_H

#include "core/time/clock.h"

/* The instants t with from <= t < to; MTS_TIME_MIN and _MAX are open ends */
typedef struct MtsRange
{
	MtsTime from;
	MtsTime to;
} MtsRange;

typedef struct MtsRanges
{
	int n;
	MtsRange *items;
} MtsRanges;

/* out has room for a->n + b->n items, or a->n + 1 for the complement */
extern void mts_ranges_intersect(const MtsRanges *a, const MtsRanges *b,
								 MtsRanges *out);
extern void mts_ranges_unite(const MtsRanges *a, const MtsRanges *b,
							 MtsRanges *out);
extern void mts_ranges_subtract(const MtsRanges *a, const MtsRanges *b,
								MtsRanges *out);
extern void mts_ranges_complement(const MtsRanges *a, MtsRanges *out);
extern void mts_ranges_normalize(MtsRanges *ranges);
extern void mts_ranges_join(MtsRanges *ranges, int max, MtsTime from);
extern bool mts_ranges_overlap(const MtsRanges *ranges, MtsTime from,
							   MtsTime to);
extern bool mts_ranges_cover(const MtsRanges *ranges, MtsTime from,
							 MtsTime to);
extern bool mts_ranges_cover_all(const MtsRanges *ranges);
extern void mts_ranges_add(MtsRanges *ranges, MtsTime from, MtsTime to);

/* Tell whether an instant belongs to the set. */
static inline bool
mts_ranges_contain(const MtsRanges *ranges, MtsTime t)
{
	if (ranges->n == 1)
		return ranges->items[0].from <= t && t < ranges->items[0].to;
	return mts_ranges_overlap(ranges, t, t + 1);
}

#endif /* MTS_RANGE_H */
