/*
 * agg_target.c
 *		Determine what a scan that aggregates returns, and whether it can.
 *
 * It returns the values of grouping expressions, and partial states of
 * aggregates.  An expression above the scan is computed from these.
 */
#include "plan/agg_target.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "plan/plan.h"
#include "pushdown/infallible.h"

/*
 * Add the columns and aggregates that an expression requires beside the
 * expressions of the target.  A column within one of those is not required.
 */
static bool
add_required(Node *node, PathTarget *target)
{
	if (node == NULL || list_member(target->exprs, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, Aggref) ||
		IsA(node, GroupingFunc))
	{
		add_column_to_pathtarget(target, (Expr *) node, 0);
		return false;
	}
	return expression_tree_walker(node, add_required, target);
}

/*
 * mts_agg_target_make
 *		The columns of a scan: the grouping expressions of a target, and the
 *		columns and partial aggregates that it and the HAVING clause require.
 */
PathTarget *
mts_agg_target_make(PlannerInfo *root, const PathTarget *wanted, Node *having)
{
	PathTarget *target = create_empty_pathtarget();
	List *others = NIL;
	ListCell *lc;

	foreach (lc, wanted->exprs)
	{
		Expr *expr = lfirst(lc);
		Index ref =
			get_pathtarget_sortgroupref(wanted, foreach_current_index(lc));

		if (ref != 0 &&
			get_sortgroupref_clause_noerr(ref, root->parse->groupClause))
			add_column_to_pathtarget(target, expr, ref);
		else
			others = lappend(others, expr);
	}
	(void) add_required((Node *) others, target);
	(void) add_required(having, target);
	foreach (lc, target->exprs)
		if (IsA(lfirst(lc), Aggref))
		{
			Aggref *partial = makeNode(Aggref);

			memcpy(partial, lfirst(lc), sizeof(Aggref));
			mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
			lfirst(lc) = partial;
		}
	set_pathtarget_cost_width(root, target);
	return target;
}

/*
 * Tell whether an aggregate ignores rows that repeat its arguments: one of
 * their different values, or the least or greatest one.
 */
static bool
ignores_repeated(const Aggref *aggref)
{
	HeapTuple tuple;
	bool is_extreme;

	if (aggref->aggkind != AGGKIND_NORMAL || aggref->agglevelsup != 0)
		return false;
	if (aggref->aggdistinct != NIL)
		return true;
	tuple = SearchSysCache1(AGGFNOID, aggref->aggfnoid);
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	is_extreme = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	ReleaseSysCache(tuple);
	return is_extreme && aggref->aggfnoid < FirstGenbkiObjectId;
}

/* Add an expression that distinguishes rows; false if it cannot. */
static bool
add_different(PathTarget *target, Expr *expr)
{
	Oid type = exprType((Node *) expr);

	if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc) ||
		(type_is_collatable(type) &&
		 !OidIsValid(exprCollation((Node *) expr))))
		return false;
	if (!list_member(target->exprs, expr))
		add_column_to_pathtarget(target, expr, 0);
	return true;
}

/*
 * mts_agg_target_different
 *		The columns of a scan that returns each combination of the grouping
 *		expressions and of the aggregates' arguments once; NULL if a result
 *		depends on how often it occurs.
 *
 * An argument that could fail is not evaluated for a row that FILTER removes.
 */
PathTarget *
mts_agg_target_different(PlannerInfo *root, const PathTarget *wanted,
						 Node *having, Index varno, AttrNumber time)
{
	PathTarget *all = mts_agg_target_make(root, wanted, having);
	PathTarget *target = create_empty_pathtarget();
	ListCell *lc, *of_args;

	foreach (lc, all->exprs)
	{
		Aggref *aggref = lfirst(lc);

		if (!IsA(aggref, Aggref))
		{
			add_column_to_pathtarget(
				target, (Expr *) aggref,
				get_pathtarget_sortgroupref(all, foreach_current_index(lc)));
			continue;
		}
		if (!ignores_repeated(aggref) ||
			(aggref->aggfilter &&
			 (!mts_infallible_is((Node *) aggref->args, varno, time) ||
			  !add_different(target, aggref->aggfilter))))
			return NULL;
		foreach (of_args, aggref->args)
			if (!add_different(target,
							   lfirst_node(TargetEntry, of_args)->expr))
				return NULL;
	}
	set_pathtarget_cost_width(root, target);
	return target;
}

/*
 * Tell whether a scan can evaluate an expression for a row of the relation
 * varno.
 *
 * The row has no system columns, and the scan has no subplans.  A volatile
 * expression must be evaluated as often as PostgreSQL would.
 */
static bool
can_evaluate(Node *expr, Index varno)
{
	ListCell *lc;

	if (contain_volatile_functions(expr) || contain_subplans(expr) ||
		expression_returns_set(expr))
		return false;
	foreach (lc, pull_var_clause(expr, PVC_INCLUDE_PLACEHOLDERS))
	{
		Var *var = lfirst(lc);

		if (!IsA(var, Var) || var->varno != varno || var->varlevelsup != 0 ||
			var->varattno < 0)
			return false;
	}
	return true;
}

/*
 * Tell whether the scan can advance an aggregate: one of PostgreSQL's own,
 * without an order.  The planner has made sure that partial states can be
 * combined.
 */
static bool
can_advance(Aggref *aggref, Index varno)
{
	ListCell *lc;

	if (aggref->aggfnoid >= FirstGenbkiObjectId ||
		aggref->aggkind != AGGKIND_NORMAL || aggref->aggorder != NIL ||
		aggref->aggdistinct != NIL || aggref->aggdirectargs != NIL ||
		aggref->aggvariadic || aggref->agglevelsup != 0 ||
		!can_evaluate((Node *) aggref->aggfilter, varno))
		return false;
	foreach (lc, aggref->args)
		if (!can_evaluate(lfirst(lc), varno))
			return false;
	return true;
}

/*
 * mts_agg_target_can_filter
 *		Tell whether a scan can evaluate the conditions of its table.
 */
bool
mts_agg_target_can_filter(const RelOptInfo *rel)
{
	const MtsRelInfo *info = rel->fdw_private;
	ListCell *lc;

	foreach (lc, info->local)
	{
		const RestrictInfo *rinfo = lfirst(lc);

		if (rinfo->pseudoconstant ||
			!can_evaluate((Node *) rinfo->clause, rel->relid))
			return false;
	}
	return true;
}

/*
 * mts_agg_target_can_return
 *		Tell whether a scan can return a column of a target.
 */
bool
mts_agg_target_can_return(Node *expr, Index varno)
{
	if (IsA(expr, Aggref))
		return can_advance((Aggref *) expr, varno);
	return !IsA(expr, GroupingFunc) && can_evaluate(expr, varno);
}
