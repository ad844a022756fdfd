/*
 * rollup_match.h
 *		Roll-ups that answer an aggregation of points.
 */
#ifndef MTS_ROLLUP_MATCH_H
#define MTS_ROLLUP_MATCH_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "scan/horizon.h"
#include "table/rollup.h"

/* An aggregation of points that roll-ups may answer */
typedef struct MtsRollupQuery
{
	PlannerInfo *root;
	const MtsTable *points;
	Index varno;   /* of the points */
	List *clauses; /* all conditions on them */
	List *output;  /* the keys and the Aggrefs */
} MtsRollupQuery;

/* Lets aggregations be answered by roll-ups */
extern bool mts_enable_rollups;

extern List *mts_rollup_match_find(PlannerInfo *root, RelOptInfo *rel,
								   const PathTarget *target, List *more,
								   double *share);
extern const char *mts_rollup_match_problem(const MtsRollupQuery *query,
											Relation relation,
											const MtsRollup **rollup,
											Node **of);
extern MtsHorizon mts_rollup_match_horizon(PlannerInfo *root,
										   const RelOptInfo *rel);

#endif /* MTS_ROLLUP_MATCH_H */
