/*
 * fold_time.h
 *		Expressions of a point's time that stay the same for a while.
 */
#ifndef MTS_FOLD_TIME_H
#define MTS_FOLD_TIME_H

#include "postgres.h"
#include "nodes/primnodes.h"
#include "pgtime.h"

#include "core/clock.h"

/* A zone by which times are seen, and for how long its clocks are not set */
typedef struct MtsSteady
{
	const pg_tz *zone;  /* NULL: the session's, whichever that is */
	const pg_tz *known; /* of which it is known that */
	pg_time_t from;     /* nothing happens in from <= t < to */
	pg_time_t to;
} MtsSteady;

extern bool mts_fold_is_steady(Node *expr, Index varno, AttrNumber time,
							   List **zones);
extern List *mts_fold_add_zone(List *zones, const pg_tz *zone);
extern bool mts_fold_in_step(List *zones, MtsTime first, MtsTime last);

#endif /* MTS_FOLD_TIME_H */
