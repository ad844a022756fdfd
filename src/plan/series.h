/*
 * series.h
 *		Plan skip scans, which read the first row of each series.
 */
#ifndef MTS_SERIES_H
#define MTS_SERIES_H

#include "postgres.h"
#include "nodes/pathnodes.h"

extern void mts_series_add_paths(PlannerInfo *root, RelOptInfo *rel,
								 RelOptInfo *output);

#endif /* MTS_SERIES_H */
