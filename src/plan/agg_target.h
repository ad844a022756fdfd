/*
 * agg_target.h
 *		What a scan that aggregates returns, and what it can evaluate.
 */
#ifndef MTS_AGG_TARGET_H
#define MTS_AGG_TARGET_H

#include "postgres.h"
#include "nodes/pathnodes.h"

extern PathTarget *mts_agg_target_make(PlannerInfo *root,
									   const PathTarget *wanted, Node *having);
extern PathTarget *mts_agg_target_different(PlannerInfo *root,
											const PathTarget *wanted,
											Node *having, Index varno,
											AttrNumber time);
extern bool mts_agg_target_can_filter(const RelOptInfo *rel);
extern bool mts_agg_target_can_return(Node *expr, Index varno);

#endif /* MTS_AGG_TARGET_H */
