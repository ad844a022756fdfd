/*
 * horizon.h
 *		The time from which points exist.
 */
#ifndef MTS_HORIZON_H
#define MTS_HORIZON_H

#include "postgres.h"

#include "scan/query.h"

/* Whether a query warns that points may have been removed */
typedef enum MtsHorizon
{
	MTS_HORIZON_NONE,
	MTS_HORIZON_NAMED, /* if its condition names a time before the horizon */
	MTS_HORIZON_ANY    /* if it wants points of a time before the horizon */
} MtsHorizon;

extern bool mts_horizon_report(const MtsQuery *query, MtsHorizon horizon);

#endif /* MTS_HORIZON_H */
