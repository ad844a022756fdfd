/*
 * slot_clock.c
 *		Convert between instants and the times that a bucket's slots count.
 *
 * Slots that count local time have one key for each local time.  Clocks that
 * are set forward skip some keys.  Clocks that are set back show some local
 * times again; a key means the first time, so the repeated times have no key.
 * More precisely, a key means the instant at which the clock, since the start
 * of the bucket, first shows its local time or a later one.  So instants sort
 * as their keys do, whatever the clocks do.
 *
 * Most buckets contain no change of the clocks.  There, both clocks agree, and
 * slots are counted in instants.  Allocates nothing.
 */
#include "core/time/slot_clock.h"

/*
 * The first instant of [from, to) at which a clock shows a local time or a
 * later one; `to` if there is none.
 */
static MtsTime
reach(const MtsClock *clock, MtsTime from, MtsTime to, MtsTime local)
{
	MtsTime next;

	for (MtsTime t = from; t < to; t = next)
	{
		MtsTime at = local - (mts_clock_local(clock, t) - t);

		if (at <= t)
			return t;
		next = clock->next_change(clock->arg, t);
		if (at < next)
			return at < to ? at : to;
	}
	return to;
}

/*
 * mts_slot_clock_open
 *		Determine the clock of the slots of a bucket with this start and span.
 *
 * False if its end is out of range.  Slots whose clock is local begin at a
 * whole span of local time even if clocks skip that.
 */
bool
mts_slot_clock_open(MtsSlotClock *slots, const MtsClock *clock, MtsSpan span,
					bool is_local, MtsTime start)
{
	MtsTime end, local, floored;

	if (!mts_clock_step(clock, start, span, 1, &end))
		return false;
	*slots = (MtsSlotClock){{start, end}, {start, end}, clock, NULL};
	if (!is_local)
		return true;
	local = mts_clock_local(clock, start);
	floored = mts_clock_floor(NULL, local, span);
	if (mts_clock_instant(clock, floored) != start)
		floored = local;
	if (!mts_clock_step(NULL, floored, span, 1, &slots->slots.to))
		return false;
	if (floored == local && slots->slots.to - floored == end - start &&
		clock->next_change(clock->arg, start) >= end)
	{
		slots->slots.to = end;
		return true;
	}
	slots->slots.from = floored;
	slots->steps = NULL;
	slots->zone = clock;
	return true;
}

/*
 * mts_slot_clock_reach
 *		The instant at which the bucket reaches a time of its slots.
 *
 * It is the first whose time is not earlier, and at most the bucket's end.
 */
MtsTime
mts_slot_clock_reach(const MtsSlotClock *slots, MtsTime time)
{
	return slots->zone
			   ? reach(slots->zone, slots->bucket.from, slots->bucket.to, time)
			   : time;
}

/*
 * mts_slot_clock_instant
 *		Convert a time of the slots to the instant that its key means.
 *
 * False if the clocks skip it, or if it lies outside of the bucket.
 */
bool
mts_slot_clock_instant(const MtsSlotClock *slots, MtsTime time, MtsTime *t)
{
	*t = mts_slot_clock_reach(slots, time);
	return !slots->zone ||
		   (time >= slots->slots.from && *t < slots->bucket.to &&
			mts_clock_local(slots->zone, *t) == time);
}

/*
 * mts_slot_clock_time
 *		Convert an instant of the bucket to a time of its slots, the inverse of
 *		mts_slot_clock_instant.
 *
 * False if no key means it, because its local time is an earlier one's, too.
 */
bool
mts_slot_clock_time(const MtsSlotClock *slots, MtsTime t, MtsTime *time)
{
	*time = slots->zone ? mts_clock_local(slots->zone, t) : t;
	return !slots->zone || (*time < slots->slots.to &&
							mts_slot_clock_reach(slots, *time) == t);
}

/*
 * mts_slot_clock_first
 *		The first instant with the same local time as t.
 */
MtsTime
mts_slot_clock_first(const MtsClock *clock, MtsTime t)
{
	MtsTime from = t - MTS_ZONE_SLACK;
	MtsTime local = mts_clock_local(clock, t);
	MtsTime first = reach(clock, from, t, local);

	return mts_clock_local(clock, first) == local ? first : t;
}
