/*
 * series.h
 *		Plan skip scans, which read the first row of each series.
 */
#ifndef MTS_SERIES_H
#define MTS_SERIES_H

#include "postgres.h"
#include "nodes/pathnodes.h"

extern void mts_series_add_distinct_paths(PlannerInfo *root, RelOptInfo *rel,
										  RelOptInfo *output);
extern void mts_series_add_group_paths(PlannerInfo *root, RelOptInfo *rel,
									   RelOptInfo *output, Node *having);

#endif /* MTS_SERIES_H */
