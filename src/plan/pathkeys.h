/*
 * pathkeys.h
 *		The orders in which a scan can return its rows.
 */
#ifndef MTS_PATHKEYS_H
#define MTS_PATHKEYS_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "table/table.h"

extern bool mts_enable_order_by;

/* The order of the series of a skip scan */
typedef enum MtsSeriesOrder
{
	MTS_SERIES_SORTED,
	MTS_SERIES_UNSORTED
} MtsSeriesOrder;

extern List *mts_pathkeys_make(RelOptInfo *rel, const MtsTable *table,
							   List *pathkeys, int nseries,
							   MtsSeriesOrder series_order);
extern List *mts_pathkeys_useful(PlannerInfo *root, RelOptInfo *rel,
								 const MtsTable *table);

#endif /* MTS_PATHKEYS_H */
