/*
 * timing.h
 *		Whether the times of a table's points are probable.
 */
#ifndef MTS_TIMING_H
#define MTS_TIMING_H

#include "core/bucket/unfold.h"

/* The times of the points of some documents */
typedef struct MtsTiming
{
	int64_t documents; /* that have points */
	MtsTime earliest;
	MtsTime latest;
	MtsTime offset;  /* the greatest one from the start of a bucket */
	MtsTime length;  /* the least one of a bucket */
	MtsTime start;   /* of the first bucket with points, by its clock */
	MtsTime spacing; /* divides the distances of starts */
} MtsTiming;

typedef enum MtsImprobable
{
	MTS_PROBABLE,
	MTS_BUCKETS_FAR_APART, /* compared with their length */
	MTS_SLOTS_AT_START     /* compared with the length of a bucket */
} MtsImprobable;

extern void mts_timing_init(MtsTiming *timing);
extern void mts_timing_add_point(MtsTiming *timing, const MtsUnfold *unfold,
								 MtsTime t);
extern void mts_timing_add_bucket(MtsTiming *timing, const MtsUnfold *unfold);
extern bool mts_timing_is_improbable(const MtsTiming *timing);
extern MtsImprobable mts_timing_judge_unit(const MtsTiming *timing,
										   const MtsLayout *layout);

#endif /* MTS_TIMING_H */
