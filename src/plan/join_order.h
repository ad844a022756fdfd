/*
 * join_order.h
 *		The relations that a table is joined with.
 */
#ifndef MTS_JOIN_ORDER_H
#define MTS_JOIN_ORDER_H

#include "postgres.h"
#include "nodes/pathnodes.h"

/* A relation, perhaps a join of some, that the table is joined with */
typedef struct MtsJoinStep
{
	RelOptInfo *rel;
	SpecialJoinInfo *join; /* NULL for an inner join */
} MtsJoinStep;

extern List *mts_join_order_steps(PlannerInfo *root, RelOptInfo *table);
extern MtsJoinStep *mts_join_order_next(PlannerInfo *root, RelOptInfo *joined,
										List *steps);

#endif /* MTS_JOIN_ORDER_H */
