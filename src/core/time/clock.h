/*
 * clock.h
 *		What time is it so many units after that time?
 *
 * A time is an instant in microseconds since 2000-01-01 00:00 UTC, the same
 * number as PostgreSQL's TimestampTz.  Days and months are calendar steps in
 * the zone of the clock; without one the zone is UTC.
 */
#ifndef MTS_CLOCK_H
#define MTS_CLOCK_H

#include "core/time/span.h"

typedef int64_t MtsTime;

/* Open ends of a range; no point ever has such a time. */
#define MTS_TIME_MIN INT64_MIN
#define MTS_TIME_MAX INT64_MAX

/*
 * How far local time and instant may disagree about their order: zones have
 * skipped or repeated up to a whole day.
 */
#define MTS_ZONE_SLACK (25 * MTS_HOUR)

/* 1970-01-01 00:00 UTC as an MtsTime */
#define MTS_UNIX_EPOCH INT64_C(-946684800000000)

/*
 * The zone and the text formats of a table.  The functions are the caller's,
 * since PostgreSQL knows zones and patterns and core does not; each may be
 * NULL.  parse and format return false when the text or the time is not one
 * that the pattern can hold.
 */
typedef struct MtsClock
{
	void *arg;
	MtsTime (*to_local)(void *arg, MtsTime instant);
	MtsTime (*to_instant)(void *arg, MtsTime local);
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
/* The same for a unit of microseconds, which needs no calendar */
static inline bool
mts_clock_add(MtsTime t, int64_t usecs, int64_t n, MtsTime *result)
{
	int64_t offset;

	return !__builtin_mul_overflow(usecs, n, &offset) &&
		   !__builtin_add_overflow(t, offset, result);
}

extern MtsTime mts_clock_step_back(const MtsClock *clock, MtsTime t,
								   MtsSpan span);
extern MtsTime mts_clock_floor(const MtsClock *clock, MtsTime t, MtsSpan unit);
extern bool mts_clock_steps_between(const MtsClock *clock, MtsTime from,
									MtsTime t, MtsSpan unit, int64_t *n);

#endif /* MTS_CLOCK_H */
