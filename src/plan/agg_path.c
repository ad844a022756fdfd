/*
 * agg_path.c
 *		Add paths of scans that aggregate the points of a table.
 *
 * Such a scan returns partial states of groups.  An Agg node combines and
 * finishes them: one above the scan or, with partitions, workers or joins
 * (join_agg.c), one above the Append, the Gather or the joins.  DISTINCT is an
 * aggregation without aggregates.
 */
#include "plan/agg_path.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"

#include "compat.h"
#include "plan/agg_target.h"
#include "plan/groups.h"
#include "plan/index_cost.h"
#include "plan/plan.h"
#include "plan/rollup_match.h"
#include "plan/series.h"
#include "scan/count.h"

/* The costs of a point and of a group, in units of cpu_operator_cost */
#define POINT_COST 0.5
#define GROUP_COST 1.0

/* The share of the cost of reading a document if MongoDB only counts it */
#define COUNTED_SHARE 0.1

bool mts_enable_partial_aggregate = true;

/* Tell whether the scan can evaluate a target and all conditions. */
static bool
can_aggregate(const MtsAggregation *aggregation, const PathTarget *target)
{
	ListCell *lc;

	foreach (lc, target->exprs)
		if (!mts_agg_target_can_return(lfirst(lc), aggregation->input->relid))
			return false;
	return mts_agg_target_can_filter(aggregation->input);
}

/*
 * mts_agg_path_aggregation
 *		The aggregation of a table's points by the GROUP BY clause.
 */
MtsAggregation
mts_agg_path_aggregation(PlannerInfo *root, RelOptInfo *input,
						 RelOptInfo *output)
{
	return (MtsAggregation){.root = root,
							.input = input,
							.output = output,
							.has_groups = root->parse->groupClause != NIL,
							.most_groups = HUGE_VAL,
							.clause = mts_group_clause(root),
							.pathkeys = root->group_pathkeys};
}

/*
 * Tell whether an expression is the number of all rows: count(*), or count()
 * of a column that is not null.
 */
static bool
is_number_of_rows(const MtsTable *table, Index varno, const Aggref *aggref)
{
	Var *var;

	if (!IsA(aggref, Aggref) || aggref->aggfilter)
		return false;
	if (aggref->aggfnoid != F_COUNT_ANY)
		return aggref->aggfnoid == F_COUNT_;
	var = mts_shippable_var(linitial_node(TargetEntry, aggref->args)->expr,
							varno);
	return var && var->varattno > 0 &&
		   table->attributes[var->varattno - 1].not_null;
}

/* Tell whether the scan need not read rows, as MongoDB can count them. */
static bool
can_count(const MtsAggregation *aggregation, const PathTarget *target)
{
	RelOptInfo *rel = aggregation->input;
	const MtsRelInfo *info = rel->fdw_private;
	List *clauses = extract_actual_clauses(info->pushed, false);
	List *quals = NIL;
	ListCell *lc;

	if (info->local != NIL || target->exprs == NIL)
		return false;
	foreach (lc, target->exprs)
		if (!is_number_of_rows(info->table, rel->relid, lfirst(lc)))
			return false;
	foreach (lc, clauses)
		quals = lappend(quals, mts_shippable_clause(info->table, rel->relid,
													lfirst(lc)));
	return mts_count_is_possible(info->table,
								 mts_plan_attributes(list_make2(target->exprs,
																clauses),
													 rel->relid),
								 quals);
}

/* The number of groups by the keys of a target */
static double
estimate_groups(const MtsAggregation *aggregation, const PathTarget *target)
{
	List *keys = NIL;
	ListCell *lc;

	if (aggregation->groups > 0)
		return aggregation->groups;
	foreach (lc, target->exprs)
		if (!IsA(lfirst(lc), Aggref))
			keys = lappend(keys, lfirst(lc));
	return mts_groups_estimate(aggregation->root, aggregation->input, keys);
}

/*
 * Find the roll-ups that a scan reads, and reduce its cost to that of reading
 * these and the points that they leave; to nothing if they must be read, and
 * the scan runs once.
 */
static List *
find_rollups(const MtsAggregation *aggregation, const PathTarget *target,
			 const ParamPathInfo *param, const MtsJoinKeys *wanted,
			 Cost startup, Cost *total)
{
	List *more = param ? param->ppi_clauses : NIL;
	List *clauses = extract_actual_clauses(more, false);
	List *rollups;
	Cost examined;
	double share;

	if (wanted)
		clauses =
			list_make1(linitial(((OpExpr *) linitial(wanted->plan))->args));
	rollups = mts_rollup_match_find(aggregation->root, aggregation->input,
									target, clauses, &share);
	if (rollups == NIL)
		return NIL;
	/* MongoDB may examine all documents for the points that are left */
	examined =
		mts_index_cost(aggregation->root, aggregation->input,
					   list_concat_copy(aggregation->input->baserestrictinfo,
										more));
	*total = share == 0 && !param
				 ? 0
				 : startup + list_length(rollups) * STARTUP_COST + examined +
					   Max(*total - startup - examined, 0) * share;
	return rollups;
}

/*
 * Make the path of a scan that aggregates, for rel.  param is NULL unless the
 * scan runs for the rows of other relations, and wanted unless these select
 * its keys.  A scan that workers divide does not read roll-ups, which are
 * small.
 */
static Path *
make_scan(const MtsAggregation *aggregation, RelOptInfo *rel,
		  PathTarget *target, ParamPathInfo *param, const MtsJoinKeys *wanted,
		  bool is_divided)
{
	PlannerInfo *root = aggregation->root;
	RelOptInfo *input = aggregation->input;
	const MtsRelInfo *info = input->fdw_private;
	const Path *rows = mts_plan_path(root, input, param, NIL, NIL);
	Cost total = rows->total_cost;
	bool counts;
	ForeignPath *path = makeNode(ForeignPath);
	double groups = estimate_groups(aggregation, target);
	List *rollups = NIL;

	groups = clamp_row_est(groups * rows->rows / Max(input->rows, 1));
	/* a point is aggregated in place of making a row */
	total -= mts_plan_points(root, input, param) *
			 (cpu_tuple_cost - POINT_COST * cpu_operator_cost);
	if (!is_divided)
		rollups = find_rollups(aggregation, target, param, wanted,
							   rows->startup_cost, &total);
	counts = rollups == NIL && can_count(aggregation, target);
	if (counts)
		total =
			rows->startup_cost + (total - rows->startup_cost) * COUNTED_SHARE;
	/* MongoDB prepares the only batch of a lookup while the scan waits */
	if (param)
		total += total - rows->startup_cost;
	if (wanted)
	{
		groups = clamp_row_est(groups * wanted->share);
		total = rows->startup_cost + wanted->cost +
				(total - rows->startup_cost) * wanted->share;
	}
	path->path.pathtype = T_ForeignScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.param_info = param;
	/* a worker does not run the InitPlan that finds the keys */
	path->path.parallel_safe = rel->consider_parallel &&
							   info->workers_may_scan && !wanted &&
							   rollups == NIL;
	path->path.rows = groups;
	path->path.startup_cost = total;
	path->path.total_cost = total + groups * GROUP_COST * cpu_operator_cost;
	path->fdw_private =
		list_make5(makeInteger(input->relid), makeBoolean(counts),
				   wanted ? wanted->plan : NIL,
				   makeBoolean(info->is_async && rollups == NIL), rollups);
	return (Path *) path;
}

/*
 * mts_agg_path_add_scan
 *		Add the path of a scan that aggregates to rel.
 *
 * param is NULL unless the scan runs for the rows of other relations, and keys
 * unless these select the keys that it reads.
 */
void
mts_agg_path_add_scan(const MtsAggregation *aggregation, RelOptInfo *rel,
					  PathTarget *target, ParamPathInfo *param,
					  const MtsJoinKeys *keys)
{
	add_path(rel, make_scan(aggregation, rel, target, param, keys, false));
}

/*
 * mts_agg_path_add_partial_scan
 *		Add the path of a scan that workers run in parallel to rel.
 */
void
mts_agg_path_add_partial_scan(const MtsAggregation *aggregation,
							  RelOptInfo *rel, PathTarget *target)
{
	RelOptInfo *input = aggregation->input;
	double groups;
	Path *path;

	if (!input->consider_parallel || !rel->consider_parallel ||
		!bms_is_empty(input->lateral_relids))
		return;
	path = make_scan(aggregation, rel, target, NULL, NULL, true);
	groups = path->rows;
	path->startup_cost = 0;
	if (!mts_plan_divide(input, path))
		return;
	/* a process can return every group, and does so at the end of its scan */
	path->rows = groups;
	path->startup_cost = path->total_cost;
	add_partial_path(rel, path);
}

/* Add a path of an Agg node, which returns the target, above another. */
static void
add_agg_path(const MtsAggregation *aggregation, Path *path, PathTarget *target,
			 AggStrategy strategy, AggSplit split, Node *having)
{
	AggClauseCosts costs;
	AggPath *agg;

	MemSet(&costs, 0, sizeof(costs));
	if (split != AGGSPLIT_SIMPLE)
		get_agg_clause_costs(aggregation->root, split, &costs);
	agg =
		create_agg_path(aggregation->root, aggregation->output, path, target,
						strategy, split, aggregation->clause, (List *) having,
						&costs, Min(path->rows, aggregation->most_groups));
	/* create_agg_path() may cut them to the number of keys of GROUP BY */
	if (strategy == AGG_SORTED)
		agg->path.pathkeys = path->pathkeys;
	add_path(aggregation->output, (Path *) agg);
}

/*
 * Add the paths of Agg nodes that return the target, and finish what a path
 * returns.
 */
static void
add_final(const MtsAggregation *aggregation, Path *path, PathTarget *target,
		  AggSplit split, Node *having)
{
	if (!aggregation->has_groups)
	{
		add_agg_path(aggregation, path, target, AGG_PLAIN, split, having);
		return;
	}
	if (aggregation->clause != NIL)
		add_agg_path(aggregation, path, target, AGG_HASHED, split, having);
	if (!grouping_is_sortable(aggregation->clause))
		return;
	/* few groups are cheap to sort, and queries often order by them */
	if (aggregation->pathkeys != NIL)
		path =
			(Path *) create_sort_path(aggregation->root, aggregation->output,
									  path, aggregation->pathkeys, -1);
	/* without a clause, all keys are constants: there is one group, or none */
	add_agg_path(aggregation, path, target, AGG_SORTED, split, having);
}

/*
 * mts_agg_path_add_combined
 *		Add the paths of Agg nodes that combine the partial states of a path.
 */
void
mts_agg_path_add_combined(const MtsAggregation *aggregation, Path *path,
						  Node *having)
{
	add_final(aggregation, path, aggregation->output->reltarget,
			  AGGSPLIT_FINAL_DESERIAL, having);
}

/*
 * Add the path of an Agg node above a scan that returns each combination of
 * keys and arguments once, for count(DISTINCT ..) and the like.
 */
static void
add_different_path(const MtsAggregation *aggregation, Node *having)
{
	PlannerInfo *root = aggregation->root;
	RelOptInfo *input = aggregation->input;
	RelOptInfo *output = aggregation->output;
	const MtsTable *table = ((const MtsRelInfo *) input->fdw_private)->table;
	PathTarget *target =
		mts_agg_target_different(root, output->reltarget, having, input->relid,
								 table->layout.time_column + 1);
	AggClauseCosts costs;
	Path *path;

	if (!target || !can_aggregate(aggregation, target) ||
		!grouping_is_sortable(aggregation->clause))
		return;
	path = make_scan(aggregation, output, target, NULL, NULL, false);
	/* an Agg node may expect the arguments to be sorted, too */
	if (aggregation->pathkeys != NIL)
		path = (Path *) create_sort_path(root, output, path,
										 aggregation->pathkeys, -1);
	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	add_path(output,
			 (Path *) create_agg_path(root, output, path, output->reltarget,
									  aggregation->has_groups ? AGG_SORTED
															  : AGG_PLAIN,
									  AGGSPLIT_SIMPLE, aggregation->clause,
									  (List *) having, &costs, path->rows));
}

static void
add_group_paths(const MtsAggregation *aggregation,
				const GroupPathExtraData *extra)
{
	PlannerInfo *root = aggregation->root;
	PathTarget *wanted = aggregation->output->reltarget;
	PathTarget *groups;

	if (root->parse->groupingSets ||
		!grouping_is_hashable(root->parse->groupClause))
		return;
	if (root->parse->hasAggs)
		add_different_path(aggregation, extra->havingQual);
	if ((extra->flags & GROUPING_CAN_PARTIAL_AGG) == 0)
		return;
	groups = mts_agg_target_make(root, wanted, extra->havingQual);
	if (can_aggregate(aggregation, groups))
		mts_agg_path_add_combined(aggregation,
								  make_scan(aggregation, aggregation->output,
											groups, NULL, NULL, false),
								  extra->havingQual);
}

/* Add paths that return partial states, of a partition or of workers. */
static void
add_partial_paths(const MtsAggregation *aggregation)
{
	PathTarget *target = aggregation->output->reltarget;

	if (!grouping_is_hashable(aggregation->root->parse->groupClause) ||
		!can_aggregate(aggregation, target))
		return;
	if (aggregation->input->reloptkind == RELOPT_OTHER_MEMBER_REL)
		mts_agg_path_add_scan(aggregation, aggregation->output, target, NULL,
							  NULL);
	mts_agg_path_add_partial_scan(aggregation, aggregation->output, target);
}

static void
add_distinct_paths(MtsAggregation *aggregation)
{
	Query *parse = aggregation->root->parse;
	PathTarget *target = aggregation->root->upper_targets[UPPERREL_DISTINCT];

	aggregation->has_groups = true;
	aggregation->clause = mts_distinct_clause(aggregation->root);
	aggregation->pathkeys = aggregation->root->distinct_pathkeys;
	if (!parse->hasDistinctOn && grouping_is_hashable(parse->distinctClause) &&
		can_aggregate(aggregation, target))
		add_final(aggregation,
				  make_scan(aggregation, aggregation->output, target, NULL,
							NULL, false),
				  target, AGGSPLIT_SIMPLE, NULL);
}

/*
 * mtsGetForeignUpperPaths
 *		Add paths that aggregate in the scan, if it can, and the paths of a
 *		skip scan.
 */
void
mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input_rel, RelOptInfo *output_rel,
						void *extra)
{
	MtsAggregation aggregation =
		mts_agg_path_aggregation(root, input_rel, output_rel);

	/*
	 * A parent has the rows of its children, too.  A relation that is known to
	 * be empty has no fdw_private.
	 */
	if (!IS_SIMPLE_REL(input_rel) || !input_rel->fdw_private ||
		planner_rt_fetch(input_rel->relid, root)->inh)
		return;
	if (stage == UPPERREL_DISTINCT)
		mts_series_add_distinct_paths(root, input_rel, output_rel);
	else if (stage == UPPERREL_GROUP_AGG)
		mts_series_add_group_paths(root, input_rel, output_rel,
								   ((GroupPathExtraData *) extra)->havingQual);
	if (!mts_enable_partial_aggregate)
		return;
	if (stage == UPPERREL_GROUP_AGG)
		add_group_paths(&aggregation, extra);
	else if (stage == UPPERREL_PARTIAL_GROUP_AGG)
		add_partial_paths(&aggregation);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_paths(&aggregation);
}
