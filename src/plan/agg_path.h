/*
 * agg_path.h
 *		Paths of scans that aggregate.
 */
#ifndef MTS_AGG_PATH_H
#define MTS_AGG_PATH_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "plan/join_keys.h"

extern bool mts_enable_partial_aggregate;

/* An aggregation that the planner asks for */
typedef struct MtsAggregation
{
	PlannerInfo *root;
	RelOptInfo *input; /* the table */
	RelOptInfo *output;
	bool has_groups;    /* if false, there is one group, even without points */
	double groups;      /* of the table; 0 if they are to be estimated */
	double most_groups; /* of the result; infinite if unknown */
	List *clause;       /* SortGroupClauses of the Agg node */
	List *pathkeys;     /* order of its input if it groups by sorting */
} MtsAggregation;

extern MtsAggregation mts_agg_path_aggregation(PlannerInfo *root,
											   RelOptInfo *input,
											   RelOptInfo *output);
extern void mts_agg_path_add_scan(const MtsAggregation *aggregation,
								  RelOptInfo *rel, PathTarget *target,
								  ParamPathInfo *param,
								  const MtsJoinKeys *keys);
extern void mts_agg_path_add_partial_scan(const MtsAggregation *aggregation,
										  RelOptInfo *rel, PathTarget *target);
extern void mts_agg_path_add_combined(const MtsAggregation *aggregation,
									  Path *path, Node *having);
extern void mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
									RelOptInfo *input_rel,
									RelOptInfo *output_rel, void *extra);

#endif /* MTS_AGG_PATH_H */
