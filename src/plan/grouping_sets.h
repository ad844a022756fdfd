/*
 * grouping_sets.h
 *		GROUPING SETS, ROLLUP and CUBE over partial states.
 */
#ifndef MTS_GROUPING_SETS_H
#define MTS_GROUPING_SETS_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "optimizer/planner.h"

extern bool mts_grouping_sets_can_combine(PlannerInfo *root,
										  const GroupPathExtraData *extra);
extern PathTarget *mts_grouping_sets_input(PlannerInfo *root,
										   PathTarget *target);
extern Path *mts_grouping_sets_path(PlannerInfo *root, RelOptInfo *output,
									Path *path, const PathTarget *target,
									List **clause);
extern void mts_grouping_sets_init(void);

#endif /* MTS_GROUPING_SETS_H */
