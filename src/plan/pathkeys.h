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
	MTS_SERIES_SORTED,  /* as PostgreSQL sorts the keys */
	MTS_SERIES_UNSORTED /* any; MongoDB must only tell the same keys apart */
} MtsSeriesOrder;

extern List *mts_pathkeys_to_order(RelOptInfo *rel, const MtsTable *table,
								   List *pathkeys, int nserieskeys,
								   MtsSeriesOrder series_order);
extern List *mts_pathkeys_to_first(RelOptInfo *rel, const MtsTable *table,
								   List *pathkeys, int nkeys);
extern List *mts_pathkeys_useful(PlannerInfo *root, RelOptInfo *rel,
								 const MtsTable *table);

#endif /* MTS_PATHKEYS_H */
