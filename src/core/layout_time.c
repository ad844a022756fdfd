/*
 * layout_time.c
 *		The arithmetic of a layout's time: which bucket and slot is this time,
 *		and back.
 *
 * Nothing is allocated, and nothing fails but for times out of range.
 */
#include "core/layout.h"

/*
 * mts_layout_bucket_end
 *		The instant at which a bucket that starts at `start` ends.
 */
bool
mts_layout_bucket_end(const MtsLayout *layout, MtsTime start, MtsTime *end)
{
	return mts_clock_step(&layout->clock, start, layout->span, 1, end);
}

/*
 * mts_layout_is_aligned
 *		Does a bucket that starts at `start` start a whole span?
 */
bool
mts_layout_is_aligned(const MtsLayout *layout, MtsTime start)
{
	return mts_clock_floor(&layout->clock, start, layout->span) == start;
}

/*
 * How far before the end of its bucket the last point lies: a whole slot,
 * where the innermost slots divide the bucket evenly; else a microsecond.
 */
static int64_t
last_slot_length(const MtsLayout *layout)
{
	MtsSpan inner = {0};

	if (layout->time_kind == MTS_TIME_SLOTS)
		for (int i = 0; i < layout->nslots; i++)
			if (mts_step_is_unit(layout->slots[i]))
				inner = layout->slots[i]->unit;
	if (inner.usecs == 0 || mts_span_is_calendar(layout->span) ||
		layout->span.usecs % inner.usecs != 0)
		return 1;
	for (int i = 0; i < layout->nslots; i++)
		if (mts_step_is_unit(layout->slots[i]) &&
			(mts_span_is_calendar(layout->slots[i]->unit) ||
			 layout->slots[i]->unit.usecs % inner.usecs != 0))
			return 1;
	return inner.usecs;
}

/*
 * mts_layout_last_slot
 *		The time of the last point that a bucket with this end can hold.
 */
MtsTime
mts_layout_last_slot(const MtsLayout *layout, MtsTime end)
{
	return end == MTS_TIME_MAX ? end : end - last_slot_length(layout);
}

/*
 * mts_layout_bucket_range
 *		The bucket times of the buckets that can hold a point of a range.
 *
 * It always covers the range: a bucket outside of it holds no such point.
 */
MtsRange
mts_layout_bucket_range(const MtsLayout *layout, MtsRange range)
{
	MtsTime from;

	if (layout->time_kind == MTS_TIME_FLAT || mts_span_is_zero(layout->span) ||
		range.from == MTS_TIME_MIN)
		return range;
	from = mts_clock_back(&layout->clock, range.from, layout->span);
	if (from != MTS_TIME_MIN)
		from += last_slot_length(layout);
	return (MtsRange){from, range.to};
}

/*
 * mts_layout_slot_time
 *		The time of the slot with these keys, in a bucket that starts at start.
 *
 * index has one number per slot (ignored where the slot counts no unit).
 * False when a key lies outside of its slot's range.
 */
bool
mts_layout_slot_time(const MtsLayout *layout, MtsTime start,
					 const int64_t *index, MtsTime *t)
{
	MtsTime end, next;

	if (!mts_layout_bucket_end(layout, start, &end))
		return false;
	*t = start;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];
		int64_t n = index[i] - slot->base;
		MtsTime from = *t;

		if (!mts_step_is_unit(slot))
			continue;
		if (n < 0 || !mts_clock_step(&layout->clock, from, slot->unit, n, t) ||
			*t >= end ||
			!mts_clock_step(&layout->clock, from, slot->unit, n + 1, &next))
			return false;
		if (next < end)
			end = next;
	}
	return true;
}

/*
 * mts_layout_slot_index
 *		The keys of the slot that holds a time, the inverse of slot_time.
 *
 * *exact is the slot's own time, which is t or, where t is finer than the
 * slot, before it.  False when t lies outside of the bucket.
 */
bool
mts_layout_slot_index(const MtsLayout *layout, MtsTime start, MtsTime t,
					  int64_t *index, MtsTime *exact)
{
	MtsTime end;

	if (t < start || !mts_layout_bucket_end(layout, start, &end) ||
		(t >= end && t != start))
		return false;
	*exact = start;
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *slot = layout->slots[i];
		int64_t n;

		index[i] = 0;
		if (!mts_step_is_unit(slot))
			continue;
		if (!mts_clock_steps_between(&layout->clock, *exact, t, slot->unit,
									 &n) ||
			!mts_clock_step(&layout->clock, *exact, slot->unit, n, exact))
			return false;
		index[i] = n + slot->base;
	}
	return true;
}
