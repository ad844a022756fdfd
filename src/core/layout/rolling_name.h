/*
 * rolling_name.h
 *		Which collection of a rolling set holds the buckets of this time?
 *
 *		name = (character | "%%" | "%Y" | "%m" | "%d" | "%H")*
 *
 * The placeholders are year, month, day and hour of a bucket's local time.  A
 * name stands for all times that it is made of: an hour, a day, a month or a
 * year, as its finest placeholder says.
 */
#ifndef MTS_ROLLING_NAME_H
#define MTS_ROLLING_NAME_H

#include "core/layout/path.h"
#include "core/time/range.h"

typedef struct MtsRollingName
{
	const char *pattern; /* the caller's */
	int nfields;         /* of year, month, day, hour; 0: it is one name */
} MtsRollingName;

/* The times that one collection holds */
typedef struct MtsPeriod
{
	MtsRange local;    /* in local time */
	MtsRange instants; /* none of them lies outside of these; in a zone there
						* may be others between them */
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
