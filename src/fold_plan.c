/*
 * fold_plan.c
 *		Which aggregates can be folded while the buckets are read?
 *
 * The scan gives the states of groups, and an Agg node above it combines and
 * finishes them.  Here all clauses must go down whole, and what is grouped by
 * must be the same for a whole bucket, or for a stretch of time.
 */
#include "fold.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "estimate.h"
#include "fold_state.h"
#include "fold_time.h"
#include "plan.h"
#include "pushdown.h"

/* The costs of folding a point, and of giving a group, which no longer needs
 * to be unfolded, in the units of cpu_operator_cost */
#define POINT_COST 0.5
#define GROUP_COST 1.0

bool mts_enable_fold = true;

/* What the planner asks of a relation */
typedef struct Question
{
	PlannerInfo *root;
	RelOptInfo *rel;
	MtsTable *table;
} Question;

/* The layout's column that a Var of the relation is, or -1 */
static int
column_of(const Question *question, Node *node)
{
	Var *var = (Var *) node;

	if (!IsA(node, Var) || var->varno != question->rel->relid ||
		var->varlevelsup != 0)
		return -1;
	return mts_table_column(question->table, var->varattno);
}

/* Is a column the same for all points of a bucket? */
static bool
is_of_bucket(const Question *question, int column)
{
	const MtsLayout *layout = &question->table->layout;

	return column >= 0 && column != layout->time_column &&
		   layout->columns[column].container < 0 &&
		   layout->columns[column].role != MTS_ROLE_SLOT;
}

/* The only columns of an expression are a bucket's. */
static bool
is_key_expression(const Question *question, Node *expr)
{
	List *vars = pull_var_clause(expr, PVC_INCLUDE_PLACEHOLDERS);
	ListCell *lc;

	if (contain_volatile_functions(expr) || contain_subplans(expr) ||
		expression_returns_set(expr))
		return false;
	foreach (lc, vars)
		if (!is_of_bucket(question, column_of(question, lfirst(lc))))
			return false;
	return true;
}

static bool
is_group_expression(const Question *question, Node *expr)
{
	const MtsTable *table = question->table;
	List *zones = NIL;

	if (is_key_expression(question, expr))
		return true;
	return table->layout.time_column >= 0 &&
		   mts_fold_is_steady(expr, question->rel->relid,
							  table->attributes[table->layout.time_column]
								  .attnum,
							  &zones);
}

static bool
is_foldable_aggregate(const Question *question, const Aggref *aggref)
{
	int column;

	if (!mts_aggregate_is_known(aggref) ||
		(aggref->aggfilter &&
		 !is_key_expression(question, (Node *) aggref->aggfilter)))
		return false;
	if (aggref->aggstar)
		return true;
	column =
		column_of(question,
				  (Node *) linitial_node(TargetEntry, aggref->args)->expr);
	return column >= 0;
}

/* Do all clauses go down whole? */
static bool
decides_all(const Question *question)
{
	ListCell *lc;

	foreach (lc, question->rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);
		MtsTest *test;

		if (rinfo->pseudoconstant)
			return false;
		test = mts_pushdown_clause(question->table, question->rel->relid,
								   rinfo->clause);
		if (!test || !mts_pushdown_is_exact(test))
			return false;
	}
	return true;
}

/* An aggregate whose state is given, not its result */
static Expr *
make_partial(const Aggref *aggref)
{
	Aggref *partial = makeNode(Aggref);

	memcpy(partial, aggref, sizeof(Aggref));
	mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
	return (Expr *) partial;
}

/*
 * What the scan gives: the expressions that are grouped by, and the partial
 * aggregates that the query asks for.  NULL when it can't.
 */
static PathTarget *
make_target(const Question *question, const PathTarget *wanted, Node *having)
{
	Query *parse = question->root->parse;
	PathTarget *target = create_empty_pathtarget();
	List *others = NIL;
	ListCell *lc;
	int i = 0;

	foreach (lc, wanted->exprs)
	{
		Expr *expr = lfirst(lc);
		Index ref = get_pathtarget_sortgroupref(wanted, i++);

		if (ref == 0 ||
			!get_sortgroupref_clause_noerr(ref, parse->groupClause))
			others = lappend(others, expr);
		else if (is_group_expression(question, (Node *) expr))
			add_column_to_pathtarget(target, expr, ref);
		else
			return NULL;
	}
	if (having)
		others = lappend(others, having);
	add_new_columns_to_pathtarget(
		target,
		pull_var_clause((Node *) others, PVC_INCLUDE_AGGREGATES |
											 PVC_RECURSE_WINDOWFUNCS |
											 PVC_INCLUDE_PLACEHOLDERS));
	i = 0;
	foreach (lc, target->exprs)
	{
		Node *expr = lfirst(lc);

		if (get_pathtarget_sortgroupref(target, i++) != 0)
			continue;
		if (!IsA(expr, Aggref) ||
			!is_foldable_aggregate(question, (Aggref *) expr))
			return NULL;
		lfirst(lc) = make_partial((Aggref *) expr);
	}
	set_pathtarget_cost_width(question->root, target);
	return target;
}

/* How many groups the points of the relation make */
static double
estimate_groups(const Question *question, const PathTarget *target)
{
	List *exprs = NIL;
	ListCell *lc;
	int i = 0;

	foreach (lc, target->exprs)
		if (get_pathtarget_sortgroupref(target, i++) != 0)
			exprs = lappend(exprs, lfirst(lc));
	return mts_estimate_groups(question->root, question->rel, question->table,
							   exprs);
}

/* The scan that folds, and the Agg node that finishes */
static void
add_paths(const Question *question, RelOptInfo *output, PathTarget *target,
		  Node *having)
{
	PlannerInfo *root = question->root;
	Query *parse = root->parse;
	Path *scan = question->rel->cheapest_total_path;
	double groups = estimate_groups(question, target);
	AggClauseCosts costs;
	Cost total;
	Path *path;

	/* what the scan's rows cost is saved, what the aggregates cost is not */
	total = scan->total_cost -
			question->rel->rows *
				(cpu_tuple_cost - POINT_COST * cpu_operator_cost);
	path = (Path *)
		mts_create_upper_path(root, output, target, groups, total,
							  total + groups * GROUP_COST * cpu_operator_cost,
							  list_make1(makeInteger(question->rel->relid)));
	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(output,
			 (Path *) create_agg_path(root, output, path, output->reltarget,
									  parse->groupClause ? AGG_HASHED
														 : AGG_PLAIN,
									  AGGSPLIT_FINAL_DESERIAL,
									  mts_group_clause(root), (List *) having,
									  &costs, groups));
}

/*
 * mtsGetForeignUpperPaths
 *		Add a path that folds, if the aggregation can be.
 */
void
mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input_rel, RelOptInfo *output_rel,
						void *extra)
{
	GroupPathExtraData *grouping = extra;
	Question question = {root, input_rel, NULL};
	RangeTblEntry *rte;
	Relation relation;
	PathTarget *target;

	if (stage == UPPERREL_DISTINCT)
		mts_path_add_series(root, input_rel, output_rel);
	if (stage != UPPERREL_GROUP_AGG || !mts_enable_fold ||
		input_rel->reloptkind != RELOPT_BASEREL || root->parse->groupingSets ||
		!(grouping->flags & GROUPING_CAN_PARTIAL_AGG) ||
		(root->parse->groupClause &&
		 !grouping_is_hashable(root->parse->groupClause)))
		return;
	rte = planner_rt_fetch(input_rel->relid, root);
	/* the rows of children are not this table's */
	if (rte->inh)
		return;
	relation = table_open(rte->relid, NoLock);
	question.table = mts_table_open(relation);
	table_close(relation, NoLock);
	if (!decides_all(&question))
		return;
	target =
		make_target(&question, output_rel->reltarget, grouping->havingQual);
	if (target)
		add_paths(&question, output_rel, target, grouping->havingQual);
}

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

/*
 * mts_fold_plan
 *		The plan of a path that folds; tlist is what it gives.
 */
ForeignScan *
mts_fold_plan(PlannerInfo *root, ForeignPath *path, List *tlist)
{
	RelOptInfo *rel = find_base_rel(root, intVal(linitial(path->fdw_private)));
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	List *output = NIL;
	List *params = NIL;
	List *needed = NIL;
	Bitmapset *attrs = NULL;
	int i = -1;
	ListCell *lc;

	foreach (lc, tlist)
		output = lappend(output, lfirst_node(TargetEntry, lc)->expr);
	output = copyObject(output);
	fix_opfuncids((Node *) output);
	fix_opfuncids((Node *) clauses);
	(void) find_params((Node *) clauses, &params);
	(void) find_params((Node *) output, &params);
	pull_varattnos((Node *) output, rel->relid, &attrs);
	pull_varattnos((Node *) clauses, rel->relid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
		needed = lappend_int(needed, i + FirstLowInvalidHeapAttributeNumber);
	return make_foreignscan(
		tlist, NIL, 0, params,
		list_make2(needed,
				   list_make4(makeInteger(
								  planner_rt_fetch(rel->relid, root)->relid),
							  makeInteger(rel->relid), clauses, output)),
		tlist, NIL, NULL);
}
