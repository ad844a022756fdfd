/*
 * fold_plan.c
 *		The plan of a scan that folds.
 *
 * What it needs is kept in fdw_private, with the Vars as the planner made
 * them: it gives no columns of its own table.
 */
#include "fold.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "plan.h"

/* The Params of clauses, so that the executor knows of them */
static bool
find_params(Node *node, List **params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		*params = list_append_unique(*params, node);
	return expression_tree_walker(node, find_params, params);
}

/* How PostgreSQL ranks a condition: before others that might leak, cheap */
static Index
security_level(PlannerInfo *root, RestrictInfo *rinfo, Cost *cost)
{
	QualCost of_qual;

	cost_qual_eval_node(&of_qual, (Node *) rinfo, root);
	*cost = of_qual.per_tuple;
	return rinfo->leakproof && *cost < 10 * cpu_operator_cost
			   ? 0
			   : rinfo->security_level;
}

/* Does PostgreSQL evaluate one condition before the other? */
static bool
goes_before(PlannerInfo *root, RestrictInfo *a, RestrictInfo *b)
{
	Cost cost_a, cost_b;
	Index level_a = security_level(root, a, &cost_a);
	Index level_b = security_level(root, b, &cost_b);

	return level_a != level_b ? level_a < level_b : cost_a < cost_b;
}

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

/* The attributes that expressions look at */
static List *
attributes_of(List *exprs, Index varno)
{
	Bitmapset *attrs = NULL;
	List *result = NIL;
	int i = -1;

	pull_varattnos((Node *) exprs, varno, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
		result = lappend_int(result, i + FirstLowInvalidHeapAttributeNumber);
	return result;
}

/*
 * mts_fold_plan
 *		The plan of a path that folds; tlist is what it gives.
 */
ForeignScan *
mts_fold_plan(PlannerInfo *root, ForeignPath *path, List *tlist)
{
	RelOptInfo *rel = find_base_rel(root, intVal(linitial(path->fdw_private)));
	const MtsEstimate *estimate = rel->fdw_private;
	List *pushed = order_clauses(root, estimate->pushed);
	List *local = order_clauses(root, estimate->local);
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
							list_make2(attributes_of(all, rel->relid),
									   list_make4(makeInteger(rel->relid),
												  pushed, local, output)),
							tlist, NIL, NULL);
}
