/*
 * monotonic.h
 *		Expressions that are monotonic in the time of the points.
 */
#ifndef MTS_MONOTONIC_H
#define MTS_MONOTONIC_H

#include "postgres.h"
#include "nodes/primnodes.h"
#include "pgtime.h"

#include "core/time/clock.h"

/* Monotonic expressions may be evaluated at times this far from 1970 */
#define MTS_SAFE_SECONDS INT64_C(100000000000) /* 3168 years */
#define MTS_SAFE_FROM (MTS_UNIX_EPOCH - MTS_SAFE_SECONDS * MTS_SECOND)
#define MTS_SAFE_TO (MTS_UNIX_EPOCH + MTS_SAFE_SECONDS * MTS_SECOND)

/* A zone, and how near a change of its clocks matters */
typedef struct MtsZoneWindow
{
	const pg_tz *zone; /* NULL for the session's, whichever that is */
	int64 distance;    /* seconds before and after a time */
	Node *seen;        /* the instant that is converted to local time, or the
					   * local time that is converted to an instant; NULL if
					   * unknown */
	int32 days;        /* that are added to the local time of an instant */
} MtsZoneWindow;

/* Expressions whose values determine those of others */
typedef struct MtsMonotonicParts
{
	List *exprs; /* monotonic while no clock is set in the zones */
	List *zones; /* MtsZoneWindow */
} MtsMonotonicParts;

extern bool mts_monotonic_is_constant(Node *expr);
extern bool mts_monotonic_is(Node *expr, Index varno, AttrNumber time);
extern bool mts_monotonic_is_bounded(Node *expr, Index varno, AttrNumber time,
									 double *magnitude);
extern bool mts_monotonic_never_falls(Node *expr, Index varno, AttrNumber time,
									  List **zones);
extern Node *mts_monotonic_formatted(Node *expr);
extern bool mts_monotonic_is_step_function(Node *expr, Index varno,
										   AttrNumber time);
extern MtsMonotonicParts mts_monotonic_parts(List *exprs, Index varno,
											 AttrNumber time);

#endif /* MTS_MONOTONIC_H */
