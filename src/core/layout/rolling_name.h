/*
 * rolling_name.h
 *		The pattern of the names of a rolling set's collections.
 *
 *		name = (character | "%%" | "%Y" | "%m" | "%d" | "%H")*
 *
 * The placeholders are the year, month, day and hour of a bucket's time in the
 * table's zone.  The finest one decides whether a collection holds the buckets
 * of an hour, a day, a month or a year.
 */
#ifndef MTS_ROLLING_NAME_H
#define MTS_ROLLING_NAME_H

#include "core/layout/path.h"
#include "core/time/range.h"

typedef struct MtsRollingName
{
	const char *pattern; /* the caller's */
	int nfields;         /* 1 with a year, up to 4 with an hour; 0 without
						  * placeholders */
} MtsRollingName;

/* The times of the buckets of one collection */
typedef struct MtsPeriod
{
	MtsRange local;    /* exactly these, in local time */
	MtsRange instants; /* these at most; where clocks are set back, some of
						* them belong to another period */
} MtsPeriod;

extern bool mts_rolling_name_parse(const char *pattern,
								   MtsRollingName *rolling, MtsError *error);
extern size_t mts_rolling_name_size(const MtsRollingName *rolling);
extern bool mts_rolling_name_format(const MtsRollingName *rolling,
									const MtsClock *clock, MtsTime t,
									char *name);
extern bool mts_rolling_name_period(const MtsRollingName *rolling,
									const MtsClock *clock, const char *name,
									MtsPeriod *period);
extern void mts_rolling_name_regex(const MtsRollingName *rolling, char *regex);
extern bool mts_rolling_name_period_contains(const MtsPeriod *period,
											 const MtsClock *clock, MtsTime t);

#endif /* MTS_ROLLING_NAME_H */
