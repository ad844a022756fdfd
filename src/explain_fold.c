/*
 * explain_fold.c
 *		Show what a scan that folds evaluates itself.
 */
#include "explain.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "fold.h"
#include "plan.h"

/*
 * Make an expression one over a table alone, as ruleutils takes it: the table
 * has number 1, and a parameter, which has no plan around it, a number.
 */
static bool
detach(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		((Var *) node)->varno = 1;
		((Var *) node)->varnosyn = 0;
		((Var *) node)->varattnosyn = 0;
	}
	if (IsA(node, Param))
		((Param *) node)->paramkind = PARAM_EXTERN;
	return expression_tree_walker(node, detach, context);
}

static char *
clauses_text(const MtsTable *table, List *clauses, bool is_verbose)
{
	Node *all = (Node *) make_ands_explicit(copyObject(clauses));

	(void) detach(all, NULL);
	return deparse_expression(all,
							  deparse_context_for(get_rel_name(table->relid),
												  table->relid),
							  is_verbose, false);
}

static char *
relation_name(const MtsTable *table, bool is_verbose)
{
	const char *schema = NULL;

	if (is_verbose)
		schema = get_namespace_name(get_rel_namespace(table->relid));
	return quote_qualified_identifier(schema, get_rel_name(table->relid));
}

/* Show, under ANALYZE, how many buckets pre-aggregates have answered for. */
void
mts_explain_headers(const ForeignScanState *node, ExplainState *es)
{
	const MtsFold *fold = node->fdw_state;

	if (es->analyze && mts_fold_reads_headers(fold))
		ExplainPropertyInteger("Pre-aggregates", "buckets",
							   mts_fold_scan(fold)->counters->answered, es);
}

/* Show the table of a fold and the conditions that stay here. */
void
mts_explain_fold(const ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_FOLD);
	List *clauses = list_nth(private, MTS_FOLD_LOCAL);
	const MtsFold *fold = node->fdw_state;
	const MtsTable *table = mts_fold_scan(fold)->table;

	ExplainPropertyText("Folded Table", relation_name(table, es->verbose), es);
	if (clauses == NIL)
		return;
	ExplainPropertyText("Filter", clauses_text(table, clauses, es->verbose),
						es);
	if (es->analyze)
		ExplainPropertyInteger("Rows Removed by Filter", NULL,
							   mts_fold_scan(fold)->counters->removed, es);
}
