/*
 * clock.h
 *		Instants, and the calendar arithmetic of a zone.
 *
 * An instant is in microseconds since 2000-01-01 00:00 UTC, as PostgreSQL's
 * TimestampTz.  Without a clock the zone is UTC.
 */
#ifndef MTS_CLOCK_H
#define MTS_CLOCK_H

#include "core/time/span.h"

typedef int64_t MtsTime;

/* Open ends of a range; no point has such a time. */
#define MTS_TIME_MIN INT64_MIN
#define MTS_TIME_MAX INT64_MAX

/* The range of the years 1 to 9999, whose numbers fit four digits */
#define MTS_FIRST_YEAR (-730119 * MTS_DAY)
#define MTS_END_YEAR (2921940 * MTS_DAY)

/*
 * More than clocks are ever set forward or back: a zone may skip or repeat a
 * whole day.
 */
#define MTS_ZONE_SLACK (25 * MTS_HOUR)

/* 1970-01-01 00:00 UTC as an MtsTime */
#define MTS_UNIX_EPOCH INT64_C(-946684800000000)

/*
 * The zone and the text formats of a table.  The caller provides the
 * functions, since PostgreSQL knows zones and patterns.  Each may be NULL.
 * next_change returns a later instant, before which the zone's difference from
 * UTC stays the same; MTS_TIME_MAX if it does forever.
 * parse and format return false if the pattern does not match the text or
 * cannot express the time.
 */
typedef struct MtsClock
{
	void *arg;
	MtsTime (*to_local)(void *arg, MtsTime instant);
	MtsTime (*to_instant)(void *arg, MtsTime local);
	MtsTime (*next_change)(void *arg, MtsTime instant);
	bool (*parse)(void *arg, const char *pattern, const char *text, size_t len,
				  MtsTime *instant);
	bool (*format)(void *arg, const char *pattern, MtsTime instant, char *text,
				   size_t size);
} MtsClock;

extern MtsTime mts_clock_local(const MtsClock *clock, MtsTime t);
extern MtsTime mts_clock_instant(const MtsClock *clock, MtsTime local);
extern void mts_clock_date(MtsTime local, int64_t *year, int *month, int *day);
extern bool mts_clock_midnight(int64_t year, int month, int day,
							   MtsTime *local);
extern bool mts_clock_step(const MtsClock *clock, MtsTime t, MtsSpan unit,
						   int64_t n, MtsTime *result);
extern MtsTime mts_clock_step_back(const MtsClock *clock, MtsTime t,
								   MtsSpan span);
extern MtsTime mts_clock_floor(const MtsClock *clock, MtsTime t, MtsSpan unit);
extern bool mts_clock_steps_between(const MtsClock *clock, MtsTime from,
									MtsTime t, MtsSpan unit, int64_t *n);

/* mts_clock_step for a unit of microseconds, which requires no calendar */
static inline bool
mts_clock_add(MtsTime t, int64_t usecs, int64_t n, MtsTime *result)
{
	int64_t offset;

	return !__builtin_mul_overflow(usecs, n, &offset) &&
		   !__builtin_add_overflow(t, offset, result);
}

#endif /* MTS_CLOCK_H */
