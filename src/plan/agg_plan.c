/*
 * agg_plan.c
 *		Plan scans that aggregate the points of a table.
 *
 * The scan belongs to no relation of the query (scanrelid is 0).  fdw_private
 * has the expressions that it evaluates, with the Vars of the planner, since
 * setrefs.c would replace those of fdw_exprs by columns of the result.
 */
#include "plan/agg_plan.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paramassign.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "plan/join_keys.h"
#include "plan/plan.h"
#include "plan/rollup_match.h"
#include "plan/valueless.h"
#include "table/native.h"

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

/*
 * Replace the Vars of relations for whose rows the scan runs by Params.  The
 * planner does so only in fdw_exprs.
 */
static Node *
replace_outer_vars(Node *node, void *root)
{
	Relids outer = ((PlannerInfo *) root)->curOuterRels;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return bms_is_member(((Var *) node)->varno, outer)
				   ? (Node *) replace_nestloop_param_var(root, (Var *) node)
				   : copyObject(node);
	return expression_tree_mutator(node, replace_outer_vars, root);
}

/* The expressions of conditions, in the order of their evaluation */
static List *
make_exprs(PlannerInfo *root, List *rinfos)
{
	List *exprs = extract_actual_clauses(order_clauses(root, rinfos), false);

	return (List *) replace_outer_vars((Node *) exprs, root);
}

/* Plan a scan that aggregates; tlist has its columns. */
static ForeignScan *
plan_aggregate(PlannerInfo *root, ForeignPath *path, List *tlist)
{
	RelOptInfo *rel = find_base_rel(root, intVal(linitial(path->fdw_private)));
	const MtsRelInfo *info = rel->fdw_private;
	List *rollups = list_nth(path->fdw_private, 4);
	List *pushed = list_copy(info->pushed);
	List *exact = NIL;
	List *local = list_copy(info->local);
	List *output = NIL;
	List *params = NIL;
	List *all, *needed;
	bool is_narrow;
	ListCell *lc;

	if (path->path.param_info)
		mts_plan_split_clauses(rel, path->path.param_info->ppi_clauses,
							   &pushed, &exact, &local);
	pushed = make_exprs(root, pushed);
	if (lthird(path->fdw_private))
		pushed =
			lappend(pushed,
					mts_join_keys_clause(root, lthird(path->fdw_private)));
	local = make_exprs(root, local);
	foreach (lc, tlist)
		output = lappend(output, lfirst_node(TargetEntry, lc)->expr);
	output = copyObject(output);
	all = list_make3(pushed, local, output);
	fix_opfuncids((Node *) all);
	(void) find_params((Node *) all, &params);
	needed = mts_plan_attributes(all, rel->relid);
	is_narrow =
		!mts_valueless_matter(info->table, rel->relid, needed, local, output);
	/* a change of a roll-up invalidates the plan */
	root->glob->relationOids = list_concat(root->glob->relationOids, rollups);
	return make_foreignscan(
		tlist, NIL, 0, params,
		list_make5(needed, makeBoolean(is_narrow),
				   mts_native_to_plan(info->table),
				   makeInteger(mts_rollup_match_horizon(root, rel)),
				   list_concat(list_make5(makeInteger(rel->relid), pushed,
										  local, output,
										  lsecond(path->fdw_private)),
							   list_make1(rollups))),
		list_copy(tlist), NIL, NULL);
}

/* mtsGetForeignPlan: plan a scan that returns rows, or one that aggregates. */
ForeignScan *
mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
				  ForeignPath *path, List *tlist, List *clauses,
				  Plan *outer_plan)
{
	if (rel->relid == 0)
		return plan_aggregate(root, path, tlist);
	return mts_plan_scan(root, rel, path, tlist, clauses, outer_plan);
}
