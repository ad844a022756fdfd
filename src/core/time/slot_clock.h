/*
 * slot_clock.h
 *		The clock that the slots of a bucket count: elapsed time, or the local
 *		time of a zone.
 */
#ifndef MTS_SLOT_CLOCK_H
#define MTS_SLOT_CLOCK_H

#include "core/time/range.h"

typedef struct MtsSlotClock
{
	MtsRange bucket;       /* the instants of the bucket */
	MtsRange slots;        /* of bucket, on the clock that the slots count */
	const MtsClock *steps; /* the calendar of the units from slot to slot */
	const MtsClock *zone;  /* NULL if the times of slots are instants */
} MtsSlotClock;

extern bool mts_slot_clock_open(MtsSlotClock *slots, const MtsClock *clock,
								MtsSpan span, bool is_local, MtsTime start);
extern MtsTime mts_slot_clock_reach(const MtsSlotClock *slots, MtsTime time);
extern bool mts_slot_clock_instant(const MtsSlotClock *slots, MtsTime time,
								   MtsTime *t);
extern bool mts_slot_clock_time(const MtsSlotClock *slots, MtsTime t,
								MtsTime *time);
extern MtsTime mts_slot_clock_first(const MtsClock *clock, MtsTime t);

#endif /* MTS_SLOT_CLOCK_H */
