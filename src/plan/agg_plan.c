/*
 * agg_plan.c
 *		Plan scans that aggregate the points of a table.
 *
 * Such a scan returns partial states of groups.  An Agg node combines and
 * finishes them: one above the scan or, with partitions or workers, one above
 * the Append or the Gather.  DISTINCT is an aggregation without aggregates.
 *
 * The scan belongs to no relation of the query (scanrelid is 0).  fdw_private
 * has the expressions that it evaluates, with the Vars of the planner, since
 * setrefs.c would replace those of fdw_exprs by columns of the result.
 */
#include "plan/agg_plan.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"

#include "compat.h"
#include "plan/agg_target.h"
#include "plan/groups.h"
#include "plan/plan.h"
#include "plan/series.h"
#include "scan/count.h"
#include "scan/fdw_private.h"
#include "table/native.h"

/* The costs of a point and of a group, in units of cpu_operator_cost */
#define POINT_COST 0.5
#define GROUP_COST 1.0

/* The share of the cost of reading a document if MongoDB only counts it */
#define COUNTED_SHARE 0.1

bool mts_enable_partial_aggregate = true;

/* An aggregation that the planner asks for */
typedef struct Aggregation
{
	PlannerInfo *root;
	RelOptInfo *input; /* the table */
	RelOptInfo *output;
	bool has_groups; /* if false, there is one group, even without points */
	List *clause;    /* SortGroupClauses of the Agg node */
	List *pathkeys;  /* order of its input if it groups by sorting */
} Aggregation;

/* Tell whether the scan can evaluate a target and all conditions. */
static bool
can_aggregate(const Aggregation *aggregation, const PathTarget *target)
{
	ListCell *lc;

	foreach (lc, target->exprs)
		if (!mts_agg_target_can_return(lfirst(lc), aggregation->input->relid))
			return false;
	return mts_agg_target_can_filter(aggregation->input);
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
can_count(const Aggregation *aggregation, const PathTarget *target)
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

/* The path of a scan that aggregates */
static Path *
make_scan(const Aggregation *aggregation, PathTarget *target)
{
	PlannerInfo *root = aggregation->root;
	RelOptInfo *input = aggregation->input;
	const MtsRelInfo *info = input->fdw_private;
	const Path *rows = mts_plan_path(root, input, NULL, NIL, NIL);
	Cost total = rows->total_cost;
	bool counts = can_count(aggregation, target);
	List *keys = NIL;
	double groups;
	Path *path;
	ListCell *lc;

	foreach (lc, target->exprs)
		if (!IsA(lfirst(lc), Aggref))
			keys = lappend(keys, lfirst(lc));
	groups = mts_groups_estimate(root, input, keys);
	/* a point is aggregated in place of making a row */
	total -= info->points * (cpu_tuple_cost - POINT_COST * cpu_operator_cost);
	if (counts)
		total =
			rows->startup_cost + (total - rows->startup_cost) * COUNTED_SHARE;
	path = (Path *) mts_create_upper_path(root, aggregation->output, target,
										  groups, total,
										  total + groups * GROUP_COST *
													  cpu_operator_cost,
										  list_make2(makeInteger(input->relid),
													 makeBoolean(counts)));
	path->parallel_safe &= info->workers_may_scan;
	return path;
}

/* Add a path of an Agg node, which returns the target, above another. */
static void
add_agg_path(const Aggregation *aggregation, Path *path, PathTarget *target,
			 AggStrategy strategy, AggSplit split, Node *having)
{
	AggClauseCosts costs;
	AggPath *agg;

	MemSet(&costs, 0, sizeof(costs));
	if (split != AGGSPLIT_SIMPLE)
		get_agg_clause_costs(aggregation->root, split, &costs);
	agg = create_agg_path(aggregation->root, aggregation->output, path, target,
						  strategy, split, aggregation->clause,
						  (List *) having, &costs, path->rows);
	/* create_agg_path() may cut them to the number of keys of GROUP BY */
	if (strategy == AGG_SORTED)
		agg->path.pathkeys = path->pathkeys;
	add_path(aggregation->output, (Path *) agg);
}

/* Add the paths of Agg nodes that finish what a scan returns. */
static void
add_final_paths(const Aggregation *aggregation, Path *scan, PathTarget *target,
				AggSplit split, Node *having)
{
	if (!aggregation->has_groups)
	{
		add_agg_path(aggregation, scan, target, AGG_PLAIN, split, having);
		return;
	}
	if (aggregation->clause != NIL)
		add_agg_path(aggregation, scan, target, AGG_HASHED, split, having);
	if (!grouping_is_sortable(aggregation->clause))
		return;
	/* few groups are cheap to sort, and queries often order by them */
	if (aggregation->pathkeys != NIL)
		scan =
			(Path *) create_sort_path(aggregation->root, aggregation->output,
									  scan, aggregation->pathkeys, -1);
	/* without a clause, all keys are constants: there is one group, or none */
	add_agg_path(aggregation, scan, target, AGG_SORTED, split, having);
}

static void
add_group_paths(Aggregation *aggregation, const GroupPathExtraData *extra)
{
	PathTarget *wanted = aggregation->output->reltarget;
	PathTarget *target;

	aggregation->has_groups = aggregation->root->parse->groupClause != NIL;
	aggregation->clause = mts_group_clause(aggregation->root);
	aggregation->pathkeys = aggregation->root->group_pathkeys;
	if (aggregation->root->parse->groupingSets ||
		!(extra->flags & GROUPING_CAN_PARTIAL_AGG) ||
		!grouping_is_hashable(aggregation->root->parse->groupClause))
		return;
	target = mts_agg_target_make(aggregation->root, wanted, extra->havingQual);
	if (can_aggregate(aggregation, target))
		add_final_paths(aggregation, make_scan(aggregation, target), wanted,
						AGGSPLIT_FINAL_DESERIAL, extra->havingQual);
}

/* Add the path of a scan that workers run in parallel. */
static void
add_parallel_path(const Aggregation *aggregation, PathTarget *target)
{
	RelOptInfo *input = aggregation->input;
	double groups;
	Path *path;

	if (!input->consider_parallel || !aggregation->output->consider_parallel ||
		!bms_is_empty(input->lateral_relids))
		return;
	path = make_scan(aggregation, target);
	groups = path->rows;
	path->startup_cost = 0;
	if (!mts_plan_divide(input, path))
		return;
	/* a process can return every group, and does so at the end of its scan */
	path->rows = groups;
	path->startup_cost = path->total_cost;
	add_partial_path(aggregation->output, path);
}

/* Add paths that return partial states, of a partition or of workers. */
static void
add_partial_paths(Aggregation *aggregation)
{
	PathTarget *target = aggregation->output->reltarget;

	if (!grouping_is_hashable(aggregation->root->parse->groupClause) ||
		!can_aggregate(aggregation, target))
		return;
	if (aggregation->input->reloptkind == RELOPT_OTHER_MEMBER_REL)
		add_path(aggregation->output, make_scan(aggregation, target));
	add_parallel_path(aggregation, target);
}

static void
add_distinct_paths(Aggregation *aggregation)
{
	Query *parse = aggregation->root->parse;
	PathTarget *target = aggregation->root->upper_targets[UPPERREL_DISTINCT];

	aggregation->has_groups = true;
	aggregation->clause = mts_distinct_clause(aggregation->root);
	aggregation->pathkeys = aggregation->root->distinct_pathkeys;
	if (!parse->hasDistinctOn && grouping_is_hashable(parse->distinctClause) &&
		can_aggregate(aggregation, target))
		add_final_paths(aggregation, make_scan(aggregation, target), target,
						AGGSPLIT_SIMPLE, NULL);
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
	Aggregation aggregation = {.root = root,
							   .input = input_rel,
							   .output = output_rel};

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

/* ---- Plan --------------------------------------------------------------- */

/* Collect the Params of expressions: fdw_exprs tells the executor of them. */
static bool
find_params(Node *node, List **params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		*params = list_append_unique(*params, node);
	return expression_tree_walker(node, find_params, params);
}

/* The rank of a condition, and its cost; as order_qual_clauses() has them */
static Index
rank_of(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost)
{
	QualCost of_qual;

	cost_qual_eval_node(&of_qual, (Node *) rinfo, root);
	*cost = of_qual.per_tuple;
	return rinfo->leakproof && *cost < 10 * cpu_operator_cost
			   ? 0
			   : rinfo->security_level;
}

/* Tell whether PostgreSQL evaluates condition a before b. */
static bool
goes_before(PlannerInfo *root, RestrictInfo *a, RestrictInfo *b)
{
	Cost cost_a, cost_b;
	Index level_a = rank_of(root, a, &cost_a);
	Index level_b = rank_of(root, b, &cost_b);

	return level_a != level_b ? level_a < level_b : cost_a < cost_b;
}

/* Sort conditions as PostgreSQL orders their evaluation. */
static List *
order_clauses(PlannerInfo *root, List *rinfos)
{
	List *ordered = NIL;
	ListCell *lc;

	foreach (lc, rinfos)
	{
		int i = list_length(ordered);

		while (i > 0 &&
			   goes_before(root, lfirst(lc), list_nth(ordered, i - 1)))
			i--;
		ordered = list_insert_nth(ordered, i, lfirst(lc));
	}
	return ordered;
}

/* Plan a scan that aggregates; tlist has its columns. */
static ForeignScan *
plan_aggregate(PlannerInfo *root, ForeignPath *path, List *tlist)
{
	RelOptInfo *rel = find_base_rel(root, intVal(linitial(path->fdw_private)));
	const MtsRelInfo *info = rel->fdw_private;
	List *pushed = order_clauses(root, info->pushed);
	List *local = order_clauses(root, info->local);
	List *output = NIL;
	List *params = NIL;
	List *all;
	ListCell *lc;

	pushed = extract_actual_clauses(pushed, false);
	local = extract_actual_clauses(local, false);
	foreach (lc, tlist)
		output = lappend(output, lfirst_node(TargetEntry, lc)->expr);
	output = copyObject(output);
	all = list_make3(pushed, local, output);
	fix_opfuncids((Node *) all);
	(void) find_params((Node *) all, &params);
	return make_foreignscan(tlist, NIL, 0, params,
							list_make3(mts_plan_attributes(all, rel->relid),
									   mts_native_to_plan(info->table),
									   list_make5(makeInteger(rel->relid),
												  pushed, local, output,
												  lsecond(path->fdw_private))),
							tlist, NIL, NULL);
}

/* mtsGetForeignPlan: plan a scan that returns rows, or one that aggregates. */
ForeignScan *
mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
				  ForeignPath *path, List *tlist, List *clauses,
				  Plan *outer_plan)
{
	if (IS_UPPER_REL(rel))
		return plan_aggregate(root, path, tlist);
	return mts_plan_scan(root, rel, path, tlist, clauses, outer_plan);
}
