/*
 * groups.h
 *		Estimate the number of groups that the points of a table make.
 */
#ifndef MTS_GROUPS_H
#define MTS_GROUPS_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "utils/timestamp.h"

#include "table/table.h"

extern bool mts_groups_keep_value(PlannerInfo *root, const MtsTable *table,
								  Index varno, Node *node, TimestampTz a,
								  TimestampTz b);
extern double mts_groups_estimate(PlannerInfo *root, RelOptInfo *rel,
								  List *exprs);

#endif /* MTS_GROUPS_H */
