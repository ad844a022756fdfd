/*
 * estimate.h
 *		Estimate the number of points in a table and in a bucket.
 */
#ifndef MTS_ESTIMATE_H
#define MTS_ESTIMATE_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "table/table.h"

extern double mts_estimate_capacity(const MtsLayout *layout);
extern BlockNumber mts_estimate_pages(double documents);
extern double mts_estimate_table(PlannerInfo *root, RelOptInfo *baserel,
								 const MtsTable *table, double *collections);

#endif /* MTS_ESTIMATE_H */
