/*
 * agg_above.c
 *		Find the aggregation of the rows that a scan returns, in a finished
 *		plan.
 *
 * The planner forgets the paths that it did not choose.  So EXPLAIN looks at
 * what is above a scan of rows, to say why it does not aggregate.  A node of a
 * finished plan refers to the columns of the node below by OUTER_VAR, and a
 * scan that aggregates to the columns that it returns by INDEX_VAR.
 */
#include "plan/agg_above.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

/* A node of a plan, and the nodes from the scan to below it */
typedef struct Place
{
	const List *path;
	int at;
	List *columns; /* of a scan that aggregates */
} Place;

/* ---- The nodes above a scan --------------------------------------------- */

static List *
children_of(const Plan *plan)
{
	List *children = list_make2(outerPlan(plan), innerPlan(plan));

	switch (nodeTag(plan))
	{
		case T_Append:
			return list_concat(children, ((const Append *) plan)->appendplans);
		case T_MergeAppend:
			return list_concat(children,
							   ((const MergeAppend *) plan)->mergeplans);
		case T_SubqueryScan:
			return lappend(children, ((const SubqueryScan *) plan)->subplan);
		default:
			return children;
	}
}

/* List the nodes from a scan up to a plan; NIL if it is not in that. */
static List *
find_path(Plan *plan, const Plan *scan)
{
	List *path = NIL;
	ListCell *lc;

	if (!plan)
		return NIL;
	if (plan == scan)
		return list_make1(plan);
	check_stack_depth();
	foreach (lc, children_of(plan))
		if (path == NIL)
			path = find_path(lfirst(lc), scan);
	return path == NIL ? NIL : lappend(path, plan);
}

static List *
find_path_in_statement(const PlannedStmt *statement, const Plan *scan)
{
	List *path = find_path(statement->planTree, scan);
	ListCell *lc;

	foreach (lc, statement->subplans)
		if (path == NIL)
			path = find_path(lfirst(lc), scan);
	return path;
}

/* ---- What an Agg node computes ------------------------------------------ */

/* The expression of a column of a node, with the Vars of the scan */
static Node *of_scan(Node *node, Place *place);

static Node *
column_of(const Place *place, AttrNumber number)
{
	const Plan *plan = list_nth(place->path, place->at);
	Place below = {place->path, place->at - 1, place->columns};

	return of_scan((Node *) get_tle_by_resno(plan->targetlist, number)->expr,
				   &below);
}

static Node *
of_scan(Node *node, Place *place)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
		return column_of(place, ((Var *) node)->varattno);
	if (IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
		return list_nth(place->columns, ((Var *) node)->varattno - 1);
	return expression_tree_mutator(node, of_scan, place);
}

/* List the grouping keys and the Aggrefs of an Agg node. */
static List *
output_of(const Agg *agg, Place *below)
{
	List *exprs = list_concat_copy(agg->plan.targetlist, agg->plan.qual);
	List *phases = list_concat(list_make1((void *) agg), agg->chain);
	List *output = NIL;
	ListCell *lc;

	foreach (lc, phases)
	{
		const Agg *phase = lfirst(lc);

		for (int i = 0; i < phase->numCols; i++)
			output = list_append_unique(output,
										column_of(below, phase->grpColIdx[i]));
	}
	foreach (lc, pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES))
		if (IsA(lfirst(lc), Aggref))
			output = list_append_unique(output, of_scan(lfirst(lc), below));
	return output;
}

/*
 * mts_agg_above_find
 *		Find the aggregation of the rows that a scan returns; false if they are
 *		not aggregated.
 *
 * columns are those of a scan that aggregates itself; the node can compute
 * other aggregates from them.  *problem says why no scan could aggregate the
 * rows, or is NULL.  Then *output is the grouping keys and the Aggrefs, with
 * the Vars of the scan's table.
 */
bool
mts_agg_above_find(const PlannedStmt *statement, const Plan *scan,
				   List *columns, List **output, const char **problem)
{
	List *path = find_path_in_statement(statement, scan);

	*problem = NULL;
	for (int i = 1; i < list_length(path); i++)
	{
		const Plan *plan = list_nth(path, i);
		Place below = {path, i - 1, columns};

		switch (nodeTag(plan))
		{
			case T_Agg:
				if (!*problem)
					*output = output_of((const Agg *) plan, &below);
				return true;
			case T_Append:
			case T_MergeAppend:
				*problem = "the points are aggregated together with those of "
						   "other tables";
				break;
			case T_NestLoop:
			case T_MergeJoin:
			case T_HashJoin:
				*problem = "the points are joined before they are aggregated";
				break;
			case T_Gather:
			case T_GatherMerge:
			case T_Hash:
			case T_IncrementalSort:
			case T_Material:
			case T_Memoize:
			case T_Result:
			case T_Sort:
				break;
			default:
				return false;
		}
	}
	return false;
}
