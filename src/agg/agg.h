/*
 * agg.h
 *		Aggregate points while buckets are read: one row a group, not a point.
 */
#ifndef MTS_AGG_H
#define MTS_AGG_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "scan/scan.h"

typedef struct MtsAgg MtsAgg;

extern bool mts_enable_partial_aggregate;
extern bool mts_enable_preaggregates;

/* agg_plan.c */
extern void mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *input_rel,
									RelOptInfo *output_rel, void *extra);
extern ForeignScan *mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel,
									  Oid relid, ForeignPath *path,
									  List *tlist, List *clauses,
									  Plan *outer_plan);

/* agg.c */
extern MtsAgg *mts_agg_begin(ForeignScanState *node, MtsScan **scan);
extern TupleTableSlot *mts_agg_next(MtsAgg *agg, TupleTableSlot *slot);
extern void mts_agg_reset(MtsAgg *agg);

#endif /* MTS_AGG_H */
