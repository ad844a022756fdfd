/*
 * join_clauses.h
 *		The clauses by which rows are looked up, and what they imply.
 */
#ifndef MTS_JOIN_CLAUSES_H
#define MTS_JOIN_CLAUSES_H

#include "postgres.h"
#include "nodes/pathnodes.h"

extern List *mts_join_clauses_find(PlannerInfo *root, RelOptInfo *rel,
								   AttrNumber attnum);
extern List *mts_join_clauses_imply(PlannerInfo *root, RelOptInfo *rel);

#endif /* MTS_JOIN_CLAUSES_H */
