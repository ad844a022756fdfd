/*
 * plan.h
 *		What the planner decides and the executor finds in fdw_private.
 */
#ifndef MTS_PLAN_H
#define MTS_PLAN_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "table.h"

/*
 * ForeignScan.fdw_private.  The clauses that go down are in fdw_exprs, those
 * with right-hand sides that only the executor knows among them.
 */
enum MtsPrivate
{
	MTS_PRIVATE_NEEDED, /* integer list: attribute numbers whose
								 * values the query looks at */
	MTS_PRIVATE_ORDER,  /* list: see order.h; NIL: as they come */
	MTS_PRIVATE_FOLD = MTS_PRIVATE_ORDER, /* list, of a scan that folds: see
										   * fold.h */
	MTS_PRIVATE_FIRST_BATCH, /* integer: buckets of the first batch; 0: as of
							  * the others */
	MTS_PRIVATE_SET_TAG      /* boolean, of a direct modify: does it count
							  * for the command's tag? */
};

/* What the planner knows of a relation; its fdw_private */
typedef struct MtsEstimate
{
	MtsTable *table;
	double points_per_bucket;
	double collections; /* that there are; 1 but for a rolling set */
	double points; /* of the buckets that a scan for no other relation's rows
					* reads */
} MtsEstimate;

extern void mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
								 Oid relid);

extern ForeignScan *mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel,
									  Oid relid, ForeignPath *best_path,
									  List *tlist, List *scan_clauses,
									  Plan *outer_plan);

/* path.c */
extern void mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
							   Oid relid);
extern void mts_path_cost(PlannerInfo *root, RelOptInfo *rel, Cost *startup,
						  Cost *total);
extern double mts_path_buckets(const RelOptInfo *rel);
extern bool mts_path_divide(RelOptInfo *rel, Path *path, double buckets);
extern void mts_path_add_series(PlannerInfo *root, RelOptInfo *rel,
								RelOptInfo *output);

#endif /* MTS_PLAN_H */
