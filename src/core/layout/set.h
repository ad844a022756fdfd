/*
 * set.h
 *		Which collection of a rolling set holds the buckets of this time?
 *
 *		name = (character | "%%" | "%Y" | "%m" | "%d" | "%H")*
 *
 * The placeholders are year, month, day and hour of a bucket's local time.  A
 * name stands for all times that it is made of: an hour, a day, a month or a
 * year, as its finest placeholder says.
 */
#ifndef MTS_SET_H
#define MTS_SET_H

#include "core/layout/path.h"
#include "core/time/range.h"

typedef struct MtsSet
{
	const char *pattern; /* the caller's */
	int nfields;         /* of year, month, day, hour; 0: it is one name */
} MtsSet;

/* The times that one collection holds */
typedef struct MtsPeriod
{
	MtsRange local;    /* in local time */
	MtsRange instants; /* none of them lies outside of these; in a zone there
						* may be others between them */
} MtsPeriod;

extern bool mts_set_parse(const char *pattern, MtsSet *set, MtsError *error);
extern size_t mts_set_room(const MtsSet *set);
extern bool mts_set_name(const MtsSet *set, const MtsClock *clock, MtsTime t,
						 char *name);
extern bool mts_set_period(const MtsSet *set, const MtsClock *clock,
						   const char *name, MtsPeriod *period);
extern void mts_set_regex(const MtsSet *set, char *regex);
extern bool mts_set_period_holds(const MtsPeriod *period,
								 const MtsClock *clock, MtsTime t);

#endif /* MTS_SET_H */
