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

/*
 * A scan that folds has, in place of MTS_PRIVATE_ORDER, a list of what it
 * needs of the table's relation, whose Vars are as the planner made them.
 */
enum MtsFoldPrivate
{
	MTS_FOLD_VARNO,   /* integer: of the relation's Vars */
	MTS_FOLD_CLAUSES, /* the conditions that go down */
	MTS_FOLD_LOCAL,   /* those that are evaluated for each point, in order */
	MTS_FOLD_OUTPUT   /* the scan's columns: what is grouped by, and Aggrefs */
};

typedef struct MtsFold MtsFold;

extern bool mts_enable_fold;
extern bool mts_enable_preaggregates;

/* fold_plan.c */
extern void mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *input_rel,
									RelOptInfo *output_rel, void *extra);
extern ForeignScan *mts_fold_plan(PlannerInfo *root, ForeignPath *path,
								  List *tlist);

/* fold.c */
extern MtsFold *mts_fold_begin(ForeignScanState *node);
extern TupleTableSlot *mts_fold_next(MtsFold *fold, TupleTableSlot *slot);
extern void mts_fold_reset(MtsFold *fold);
extern MtsScan *mts_fold_scan(const MtsFold *fold);

#endif /* MTS_FOLD_H */
