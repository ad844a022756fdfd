/*
 * plan.h
 *		What the planner decides and the executor finds in fdw_private.
 */
#ifndef MTS_PLAN_H
#define MTS_PLAN_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/*
 * ForeignScan.fdw_private.  The clauses that go down are in fdw_exprs, those
 * with right-hand sides that only the executor knows among them.
 */
enum MtsPrivate
{
	MTS_PRIVATE_NEEDED,  /* integer list: attribute numbers whose
								 * values the query looks at */
	MTS_PRIVATE_SET_TAG, /* boolean, of a direct modify: does it count
								 * for the command's tag? */
	MTS_PRIVATE_FOLD = MTS_PRIVATE_SET_TAG /* list, of a scan that folds: see
											* fold.h */
};

extern void mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
								 Oid relid);
extern void mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
							   Oid relid);
extern ForeignScan *mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel,
									  Oid relid, ForeignPath *best_path,
									  List *tlist, List *scan_clauses,
									  Plan *outer_plan);

#endif /* MTS_PLAN_H */
