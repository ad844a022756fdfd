/*
 * rollup_match.h
 *		Roll-ups that answer an aggregation of points.
 */
#ifndef MTS_ROLLUP_MATCH_H
#define MTS_ROLLUP_MATCH_H

#include "postgres.h"
#include "nodes/pathnodes.h"

/* Lets aggregations be answered by roll-ups */
extern bool mts_enable_rollups;

extern List *mts_rollup_match_find(PlannerInfo *root, RelOptInfo *rel,
								   const PathTarget *target, List *more,
								   double *share);

#endif /* MTS_ROLLUP_MATCH_H */
