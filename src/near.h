/*
 * near.h
 *		Times near a point's time.
 */
#ifndef MTS_NEAR_H
#define MTS_NEAR_H

#include "postgres.h"
#include "nodes/primnodes.h"
#include "pgtime.h"

/* A zone by which times are seen, and for how long its clocks are not set */
typedef struct MtsSteady
{
	const pg_tz *zone;  /* NULL: the session's, whichever that is */
	int64 away;         /* seconds before and after a time that count, too */
	const pg_tz *known; /* of which it is known that */
	pg_time_t from;     /* nothing happens in from <= t < to */
	pg_time_t to;
} MtsSteady;

/* What expressions of time are looked for in */
typedef struct MtsTimeWalk
{
	Index varno;
	AttrNumber time;
	List **zones; /* MtsSteady: those whose clocks are looked at; or NULL */
} MtsTimeWalk;

extern List *mts_near_add_zone(List *zones, const pg_tz *zone, int64 away);
extern bool mts_near_is_constant(Node *expr);
extern bool mts_near_shift(Node *expr, bool *has_days, int64 *seconds);
extern bool mts_near_is_near(const MtsTimeWalk *walk, Node *expr, int64 *away);

#endif /* MTS_NEAR_H */
