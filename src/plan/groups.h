/*
 * groups.h
 *		Estimate the number of groups that the points of a table make.
 */
#ifndef MTS_GROUPS_H
#define MTS_GROUPS_H

#include "postgres.h"
#include "nodes/pathnodes.h"

extern double mts_groups_estimate(PlannerInfo *root, RelOptInfo *rel,
								  List *exprs);

#endif /* MTS_GROUPS_H */
