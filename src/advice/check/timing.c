/*
 * timing.c
 *		Judge whether the times of a table's points are probable.
 *
 * A wrong format has times in 1970 or in the far future.  A slot of the wrong
 * unit is wrong by a factor: units are at least 24 times the next smaller one,
 * except months, which have 28 days.  Then all slots lie at the start of their
 * buckets, or the buckets lie far apart.  Few buckets prove nothing.
 */
#include "advice/check/timing.h"

/* The unit is improbable if it is wrong by this factor in so many buckets. */
#define IMPROBABLE_FACTOR 20
#define MIN_BUCKETS 10

#define YEAR (365 * MTS_DAY)

/* mts_timing_init: begin without a point. */
void
mts_timing_init(MtsTiming *timing)
{
	*timing = (MtsTiming){.earliest = MTS_TIME_MAX,
						  .latest = MTS_TIME_MIN,
						  .length = MTS_TIME_MAX};
}

/* mts_timing_add_point: add the time of a point of the current bucket. */
void
mts_timing_add_point(MtsTiming *timing, const MtsUnfold *unfold, MtsTime t)
{
	if (t < timing->earliest)
		timing->earliest = t;
	if (t > timing->latest)
		timing->latest = t;
	if (unfold->start != MTS_TIME_MIN && t - unfold->start > timing->offset)
		timing->offset = t - unfold->start;
}

/* mts_timing_add_bucket: add the current bucket, which has points. */
void
mts_timing_add_bucket(MtsTiming *timing, const MtsUnfold *unfold)
{
	MtsTime start;
	int64_t distance;

	timing->documents++;
	if (unfold->start == MTS_TIME_MIN || unfold->end == MTS_TIME_MAX)
		return;
	start = mts_clock_local(&unfold->layout->clock, unfold->start);
	if (timing->length == MTS_TIME_MAX)
		timing->start = start;
	if (unfold->end - unfold->start < timing->length)
		timing->length = unfold->end - unfold->start;
	if (!__builtin_sub_overflow(start, timing->start, &distance))
		timing->spacing = mts_span_common_divisor(timing->spacing, distance);
}

/*
 * mts_timing_is_improbable
 *		Tell whether all times lie in 1970 or after 2199.
 */
bool
mts_timing_is_improbable(const MtsTiming *timing)
{
	return timing->documents > 0 &&
		   ((timing->earliest >= MTS_UNIX_EPOCH &&
			 timing->latest < MTS_UNIX_EPOCH + YEAR) ||
			timing->earliest > 200 * YEAR);
}

/*
 * mts_timing_judge_unit
 *		Tell whether a greater unit of the slots is probable, and why.
 */
MtsImprobable
mts_timing_judge_unit(const MtsTiming *timing, const MtsLayout *layout)
{
	if (timing->documents < MIN_BUCKETS || timing->length == MTS_TIME_MAX ||
		layout->time_kind != MTS_TIME_SLOTS ||
		!mts_layout_counts_units(layout))
		return MTS_PROBABLE;
	if (timing->spacing / IMPROBABLE_FACTOR >= timing->length)
		return MTS_BUCKETS_FAR_APART;
	return timing->offset > 0 &&
				   timing->offset < timing->length / IMPROBABLE_FACTOR
			   ? MTS_SLOTS_AT_START
			   : MTS_PROBABLE;
}
