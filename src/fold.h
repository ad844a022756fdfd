/*
 * fold.h
 *		Aggregate points while buckets are read: one row a group, not a point.
 */
#ifndef MTS_FOLD_H
#define MTS_FOLD_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "scan.h"

typedef struct MtsFold MtsFold;

extern bool mts_enable_fold;
extern bool mts_enable_preaggregates;

/* fold_plan.c */
extern void mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *input_rel,
									RelOptInfo *output_rel, void *extra);
extern ForeignScan *mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel,
									  Oid relid, ForeignPath *path,
									  List *tlist, List *clauses,
									  Plan *outer_plan);

/* fold.c */
extern MtsFold *mts_fold_begin(ForeignScanState *node, MtsScan **scan);
extern TupleTableSlot *mts_fold_next(MtsFold *fold, TupleTableSlot *slot);
extern void mts_fold_reset(MtsFold *fold);

#endif /* MTS_FOLD_H */
