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

extern List *mts_pathkeys_make(RelOptInfo *rel, const MtsTable *table,
							   List *pathkeys, int nseries, bool any_order);
extern List *mts_pathkeys_useful(PlannerInfo *root, RelOptInfo *rel,
								 const MtsTable *table);

#endif /* MTS_PATHKEYS_H */
