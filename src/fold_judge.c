/*
 * fold_judge.c
 *		Which expressions and aggregates can a fold evaluate?
 *
 * A fold has the row of a point, and nothing around it: no subplans, and no
 * expression that must be evaluated as often as PostgreSQL would.
 */
#include "fold_judge.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "fold_state.h"

/* Is an expression to be had of a row of the relation varno? */
bool
mts_fold_is_of_row(Node *expr, Index varno)
{
	ListCell *lc;

	if (contain_volatile_functions(expr) || contain_subplans(expr) ||
		expression_returns_set(expr))
		return false;
	foreach (lc, pull_var_clause(expr, PVC_INCLUDE_PLACEHOLDERS))
	{
		Var *var = lfirst(lc);

		/* rows have no system columns */
		if (!IsA(var, Var) || var->varno != varno || var->varlevelsup != 0 ||
			var->varattno < 0)
			return false;
	}
	return true;
}

/* Is an expression of a row the same for all points of a bucket? */
bool
mts_fold_is_of_bucket(const MtsTable *table, Node *expr)
{
	const MtsLayout *layout = &table->layout;
	ListCell *lc;

	foreach (lc, pull_var_clause(expr, 0))
	{
		int column = mts_table_column(table, lfirst_node(Var, lc)->varattno);

		if (column < 0 || column == layout->time_column ||
			layout->columns[column].container >= 0 ||
			layout->columns[column].role == MTS_ROLE_SLOT)
			return false;
	}
	return true;
}

/* Can an aggregate be advanced, and its arguments and filter be evaluated? */
bool
mts_fold_takes_aggregate(Aggref *aggref, Index varno)
{
	ListCell *lc;

	if (!mts_aggregate_is_known(aggref) ||
		(aggref->aggfilter &&
		 !mts_fold_is_of_row((Node *) aggref->aggfilter, varno)))
		return false;
	foreach (lc, aggref->args)
		if (!mts_fold_is_of_row((Node *) lfirst_node(TargetEntry, lc)->expr,
								varno))
			return false;
	return true;
}
