/*
 * plan.h
 *		What the planner knows of a relation, and its paths and plans.
 */
#ifndef MTS_PLAN_H
#define MTS_PLAN_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pushdown/shippable.h"

/* What the planner knows of a relation; its fdw_private */
typedef struct MtsRelInfo
{
	MtsTable *table;
	List *known;  /* RestrictInfo: clauses that have been classified */
	List *quals;  /* MtsQual: what they go down as; NULL: they don't */
	List *pushed; /* RestrictInfo: of the relation's own, those that do */
	List *exact;  /* those that need not be checked again */
	List *local;  /* those that must be */
	double points_per_bucket;
	double collections; /* that there are; 1 but for a rolling set */
	double points; /* of the buckets that a scan for no other relation's rows
					* reads */
} MtsRelInfo;

extern void mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
								 Oid relid);

extern void mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
							   Oid relid);
extern const MtsTable *mts_plan_table(PlannerInfo *root, Index varno,
									  Relation relation);
extern List *mts_plan_attributes(List *exprs, Index varno);
extern Path *mts_plan_path(PlannerInfo *root, RelOptInfo *rel,
						   ParamPathInfo *param, List *pathkeys, List *order);
extern double mts_plan_time_share(PlannerInfo *root, RelOptInfo *rel);
extern bool mts_plan_divide(RelOptInfo *rel, Path *path);
extern ForeignScan *mts_plan_scan(PlannerInfo *root, RelOptInfo *baserel,
								  ForeignPath *best_path, List *tlist,
								  List *scan_clauses, Plan *outer_plan);
extern void mts_plan_add_series(PlannerInfo *root, RelOptInfo *rel,
								RelOptInfo *output);

#endif /* MTS_PLAN_H */
