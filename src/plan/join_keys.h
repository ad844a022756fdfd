/*
 * join_keys.h
 *		Keys that a joined relation selects, for the query of a scan.
 */
#ifndef MTS_JOIN_KEYS_H
#define MTS_JOIN_KEYS_H

#include "postgres.h"
#include "nodes/pathnodes.h"

typedef struct MtsJoinKeys
{
	List *plan;   /* for mts_join_keys_clause() */
	double share; /* of the table's points that have these keys */
	Cost cost;    /* to find the keys */
} MtsJoinKeys;

extern List *mts_join_keys_find(PlannerInfo *root, RelOptInfo *table,
								List *steps);
extern Expr *mts_join_keys_clause(PlannerInfo *root, List *plan);

#endif /* MTS_JOIN_KEYS_H */
