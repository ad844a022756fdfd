/*
 * agg_plan.h
 *		Plans of scans that aggregate, and the callback that plans any scan.
 */
#ifndef MTS_AGG_PLAN_H
#define MTS_AGG_PLAN_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

extern ForeignScan *mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel,
									  Oid relid, ForeignPath *path,
									  List *tlist, List *clauses,
									  Plan *outer_plan);

#endif /* MTS_AGG_PLAN_H */
