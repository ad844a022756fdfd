/*
 * slot.c
 *		Number the slots of a bucket, and count those of one level.
 *
 * Numbers order the points of a bucket by slot: they tell two points of one
 * bucket apart, but for the texts of {column} slots.
 */
#include "core/slot.h"

/* A length in microseconds that no such span exceeds, or falls short of */
static int64_t
longest(MtsSpan span)
{
	return span.usecs + span.days * (MTS_DAY + MTS_HOUR) +
		   span.months * (31 * MTS_DAY + MTS_HOUR);
}

static int64_t
shortest(MtsSpan span)
{
	return span.usecs + span.days * (MTS_DAY - MTS_HOUR) +
		   span.months * (28 * MTS_DAY - MTS_HOUR);
}

/* A number that no key of a slot reaches, counted from its base */
static int64_t
radix(const MtsLayout *layout, int slot)
{
	const MtsStep *step = layout->slots[slot];
	MtsSpan enclosing = layout->span;

	if (step->kind == MTS_STEP_ELEMENT)
		return MTS_MAX_ELEMENTS;
	if (step->kind == MTS_STEP_COLUMN_KEY)
		return 1;
	for (int i = 0; i < slot; i++)
		if (!mts_span_is_zero(layout->slots[i]->unit))
			enclosing = layout->slots[i]->unit;
	return longest(enclosing) / shortest(step->unit) + 1;
}

/*
 * mts_slot_is_numbered
 *		Have the slots of a bucket numbers that 62 bits hold?
 */
bool
mts_slot_is_numbered(const MtsLayout *layout)
{
	int64_t n = 1;

	for (int i = 0; i < layout->nslots; i++)
		if (__builtin_mul_overflow(n, radix(layout, i), &n) ||
			n > INT64_MAX / 2)
			return false;
	return true;
}

/*
 * mts_slot_number
 *		The number of the slot with these keys, one per slot of the path.
 */
int64_t
mts_slot_number(const MtsLayout *layout, const int64_t *index)
{
	int64_t n = 0;

	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsStep *step = layout->slots[i];

		if (step->kind != MTS_STEP_COLUMN_KEY)
			n = n * radix(layout, i) + index[i] - step->base;
	}
	return n;
}

/*
 * mts_slot_end
 *		The key after the last slot of a level, within those that enclose it.
 *
 * index has the keys of the enclosing ones.  False when they don't lie in the
 * bucket, or when the level counts no unit.
 */
bool
mts_slot_end(const MtsLayout *layout, MtsTime start, const int64_t *index,
			 int level, int64_t *end_key)
{
	const MtsStep *slot = layout->slots[level];
	MtsTime end, next;
	int64_t n;

	if (mts_span_is_zero(slot->unit) ||
		!mts_layout_bucket_end(layout, start, &end))
		return false;
	for (int i = 0; i < level; i++)
	{
		const MtsStep *step = layout->slots[i];
		int64_t k = index[i] - step->base;

		if (mts_span_is_zero(step->unit))
			continue;
		if (!mts_clock_step(&layout->clock, start, step->unit, k + 1, &next) ||
			!mts_clock_step(&layout->clock, start, step->unit, k, &start))
			return false;
		if (next < end)
			end = next;
	}
	if (!mts_clock_steps_between(&layout->clock, start, end - 1, slot->unit,
								 &n))
		return false;
	*end_key = n + 1 + slot->base;
	return true;
}
