/*
 * index_cost.h
 *		The cost of the documents and keys that MongoDB examines.
 */
#ifndef MTS_INDEX_COST_H
#define MTS_INDEX_COST_H

#include "plan/plan.h"

extern void mts_index_cost_learn(PlannerInfo *root, RelOptInfo *rel);
extern Cost mts_index_cost(PlannerInfo *root, RelOptInfo *rel, List *rinfos);

#endif /* MTS_INDEX_COST_H */
