/*
 * agg_above.h
 *		The aggregation of the rows that a scan returns, in a finished plan.
 */
#ifndef MTS_AGG_ABOVE_H
#define MTS_AGG_ABOVE_H

#include "postgres.h"
#include "nodes/plannodes.h"

extern bool mts_agg_above_find(const PlannedStmt *statement, const Plan *scan,
							   List *columns, List **output,
							   const char **problem);

#endif /* MTS_AGG_ABOVE_H */
