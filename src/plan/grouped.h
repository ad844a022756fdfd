/*
 * grouped.h
 *		A table whose points are aggregated below joins.
 */
#ifndef MTS_GROUPED_H
#define MTS_GROUPED_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "plan/agg_path.h"

extern bool mts_grouped_is_possible(PlannerInfo *root, RelOptInfo *rel);
extern AttrNumber mts_grouped_time(PlannerInfo *root, RelOptInfo *rel);
extern RelOptInfo *mts_grouped_new_rel(const MtsAggregation *aggregation,
									   Relids relids, PathTarget *target);
extern RelOptInfo *mts_grouped_make(const MtsAggregation *aggregation,
									List *keys, List *aggregates, List *steps);

#endif /* MTS_GROUPED_H */
