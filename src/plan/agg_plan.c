/*
 * agg_plan.c
 *		Plan the aggregation of a table's points while its buckets are read.
 *
 * The scan gives the states of groups, and an Agg node above it combines and
 * finishes them: its own, or, of a partition, the one above the Append.
 * DISTINCT is an aggregation without aggregates.
 *
 * What the scan needs is kept in fdw_private, with the Vars as the planner
 * made them: it gives no columns of its own table.
 */
#include "plan/agg_plan.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
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
#include "plan/groups.h"
#include "plan/plan.h"
#include "scan/fdw_private.h"

/*
 * The costs of aggregating a point, and of emitting a group, in the units of
 * cpu_operator_cost
 */
#define POINT_COST 0.5
#define GROUP_COST 1.0

bool mts_enable_partial_aggregate = true;

/* What the planner asks for */
typedef struct Question
{
	PlannerInfo *root;
	RelOptInfo *input; /* of the table */
	const MtsTable *table;
	RelOptInfo *output;
	List *clause;   /* SortGroupClauses of the Agg node */
	List *pathkeys; /* the order in which it finds groups without hashing */
	bool is_groups; /* or but one group, which is there without points */
} Question;

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
 * What the scan must give for a target: the expressions that are grouped by,
 * and the partial aggregates that it asks for.
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

		if (ref != 0 && get_sortgroupref_clause_noerr(ref, parse->groupClause))
			add_column_to_pathtarget(target, expr, ref);
		else
			others = lappend(others, expr);
	}
	if (having)
		others = lappend(others, having);
	add_new_columns_to_pathtarget(
		target,
		pull_var_clause((Node *) others, PVC_INCLUDE_AGGREGATES |
											 PVC_RECURSE_WINDOWFUNCS |
											 PVC_INCLUDE_PLACEHOLDERS));
	foreach (lc, target->exprs)
		if (IsA(lfirst(lc), Aggref))
			lfirst(lc) = make_partial(lfirst(lc));
	set_pathtarget_cost_width(question->root, target);
	return target;
}

/*
 * Can an expression be evaluated for a row of the relation varno?  There is
 * nothing around it: no subplans, and no expression that must be evaluated as
 * often as PostgreSQL would.
 */
static bool
is_of_row(Node *expr, Index varno)
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

/*
 * Can an aggregate be advanced?  It is one of PostgreSQL's own, in no order, and
 * its states can be combined.
 */
static bool
takes_aggregate(Aggref *aggref, Index varno)
{
	ListCell *lc;

	if (aggref->aggfnoid >= FirstGenbkiObjectId ||
		aggref->aggkind != AGGKIND_NORMAL || aggref->aggorder != NIL ||
		aggref->aggdistinct != NIL || aggref->aggdirectargs != NIL ||
		aggref->aggvariadic || aggref->agglevelsup != 0 ||
		!is_of_row((Node *) aggref->aggfilter, varno))
		return false;
	foreach (lc, aggref->args)
		if (!is_of_row((Node *) lfirst_node(TargetEntry, lc)->expr, varno))
			return false;
	return true;
}

/* Can the table's points be aggregated into these groups and aggregates? */
static bool
can_aggregate(Question *question, const PathTarget *target)
{
	RelOptInfo *rel = question->input;
	const MtsRelInfo *estimate = rel->fdw_private;
	const MtsTable *table = estimate->table;
	ListCell *lc;

	question->table = table;
	/* what is not decided exactly is evaluated for each point */
	foreach (lc, estimate->local)
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant ||
			!is_of_row((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   rel->relid))
			return false;
	foreach (lc, target->exprs)
		if (IsA(lfirst(lc), GroupingFunc) ||
			!(IsA(lfirst(lc), Aggref) ? takes_aggregate(lfirst(lc), rel->relid)
									  : is_of_row(lfirst(lc), rel->relid)))
			return false;
	return true;
}

/* How many groups the points of the table make */
static double
estimate_groups(const Question *question, const PathTarget *target)
{
	List *exprs = NIL;
	ListCell *lc;

	foreach (lc, target->exprs)
		if (!IsA(lfirst(lc), Aggref))
			exprs = lappend(exprs, lfirst(lc));
	return mts_groups_estimate(question->root, question->input, exprs);
}

/* The scan that aggregates; its points are those of the buckets that match. */
static Path *
make_scan(const Question *question, PathTarget *target)
{
	PlannerInfo *root = question->root;
	RelOptInfo *input = question->input;
	double groups = estimate_groups(question, target);
	Cost total = mts_plan_path(root, input, NULL, NIL, NIL)->total_cost;

	/* what a scan's rows cost is saved, what the aggregates cost is not */
	total -= ((MtsRelInfo *) input->fdw_private)->points *
			 (cpu_tuple_cost - POINT_COST * cpu_operator_cost);
	return (Path *)
		mts_create_upper_path(root, question->output, target, groups, total,
							  total + groups * GROUP_COST * cpu_operator_cost,
							  list_make1(makeInteger(input->relid)));
}

/* Add an Agg node above a path, which gives the target. */
static void
add_agg_path(const Question *question, Path *path, PathTarget *target,
			 AggStrategy strategy, AggSplit split, Node *having)
{
	AggClauseCosts costs;
	AggPath *agg;

	MemSet(&costs, 0, sizeof(costs));
	if (split != AGGSPLIT_SIMPLE)
		get_agg_clause_costs(question->root, split, &costs);
	agg = create_agg_path(question->root, question->output, path, target,
						  strategy, split, question->clause, (List *) having,
						  &costs, path->rows);
	/* some versions look for the order of DISTINCT in GROUP BY */
	if (strategy == AGG_SORTED)
		agg->path.pathkeys = path->pathkeys;
	add_path(question->output, (Path *) agg);
}

/* Add the ways to finish what a scan gives. */
static void
add_finished(const Question *question, Path *scan, PathTarget *target,
			 AggSplit split, Node *having)
{
	if (!question->is_groups)
	{
		add_agg_path(question, scan, target, AGG_PLAIN, split, having);
		return;
	}
	if (question->clause != NIL)
		add_agg_path(question, scan, target, AGG_HASHED, split, having);
	if (!grouping_is_sortable(question->clause))
		return;
	/* few groups are cheaper to sort, which is often asked for besides */
	if (question->pathkeys != NIL)
		scan = (Path *) create_sort_path(question->root, question->output,
										 scan, question->pathkeys, -1);
	/* of groups by nothing but constants there is one, or none */
	add_agg_path(question, scan, target, AGG_SORTED, split, having);
}

static void
add_group_paths(Question *question, const GroupPathExtraData *extra)
{
	PathTarget *wanted = question->output->reltarget;
	PathTarget *target;

	question->is_groups = question->root->parse->groupClause != NIL;
	question->clause = mts_group_clause(question->root);
	question->pathkeys = question->root->group_pathkeys;
	if (question->root->parse->groupingSets ||
		!(extra->flags & GROUPING_CAN_PARTIAL_AGG) ||
		!grouping_is_hashable(question->root->parse->groupClause))
		return;
	target = make_target(question, wanted, extra->havingQual);
	if (can_aggregate(question, target))
		add_finished(question, make_scan(question, target), wanted,
					 AGGSPLIT_FINAL_DESERIAL, extra->havingQual);
}

/* A scan that workers run side by side; each gives the states of its groups. */
static void
add_parallel_path(const Question *question, PathTarget *target)
{
	RelOptInfo *input = question->input;
	double groups;
	Path *path;

	if (!input->consider_parallel || !question->output->consider_parallel ||
		!bms_is_empty(input->lateral_relids))
		return;
	path = make_scan(question, target);
	groups = path->rows;
	path->startup_cost = 0;
	if (!mts_plan_divide(input, path))
		return;
	/* each may have points of all groups, and gives none before it is done */
	path->rows = groups;
	path->startup_cost = path->total_cost;
	add_partial_path(question->output, path);
}

/* The states of the groups of a partition or a worker, to be combined */
static void
add_partial_paths(Question *question)
{
	PathTarget *target = question->output->reltarget;

	if (!grouping_is_hashable(question->root->parse->groupClause) ||
		!can_aggregate(question, target))
		return;
	if (question->input->reloptkind == RELOPT_OTHER_MEMBER_REL)
		add_path(question->output, make_scan(question, target));
	add_parallel_path(question, target);
}

static void
add_distinct_paths(Question *question)
{
	Query *parse = question->root->parse;
	PathTarget *target = question->root->upper_targets[UPPERREL_DISTINCT];

	question->is_groups = true;
	question->clause = mts_distinct_clause(question->root);
	question->pathkeys = question->root->distinct_pathkeys;
	if (!parse->hasDistinctOn && grouping_is_hashable(parse->distinctClause) &&
		can_aggregate(question, target))
		add_finished(question, make_scan(question, target), target,
					 AGGSPLIT_SIMPLE, NULL);
}

/*
 * mtsGetForeignUpperPaths
 *		Add a path that aggregates in the scan, if that is possible.
 */
void
mtsGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage,
						RelOptInfo *input_rel, RelOptInfo *output_rel,
						void *extra)
{
	Question question = {.root = root,
						 .input = input_rel,
						 .output = output_rel};

	/* the rows of children are not this table's; one without an estimate is
	 * known to be empty */
	if (!IS_SIMPLE_REL(input_rel) || !input_rel->fdw_private ||
		planner_rt_fetch(input_rel->relid, root)->inh)
		return;
	if (stage == UPPERREL_DISTINCT)
		mts_plan_add_series(root, input_rel, output_rel);
	if (!mts_enable_partial_aggregate)
		return;
	if (stage == UPPERREL_GROUP_AGG)
		add_group_paths(&question, extra);
	else if (stage == UPPERREL_PARTIAL_GROUP_AGG)
		add_partial_paths(&question);
	else if (stage == UPPERREL_DISTINCT)
		add_distinct_paths(&question);
}

/* ---- The plan ------------------------------------------------------------- */

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

/* The plan of a path that aggregates; tlist is what it gives. */
static ForeignScan *
plan_aggregate(PlannerInfo *root, ForeignPath *path, List *tlist)
{
	RelOptInfo *rel = find_base_rel(root, intVal(linitial(path->fdw_private)));
	const MtsRelInfo *estimate = rel->fdw_private;
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
							list_make2(mts_plan_attributes(all, rel->relid),
									   list_make4(makeInteger(rel->relid),
												  pushed, local, output)),
							tlist, NIL, NULL);
}

/* mtsGetForeignPlan: plan a scan of a relation, or one that aggregates. */
ForeignScan *
mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
				  ForeignPath *path, List *tlist, List *clauses,
				  Plan *outer_plan)
{
	if (IS_UPPER_REL(rel))
		return plan_aggregate(root, path, tlist);
	return mts_plan_scan(root, rel, path, tlist, clauses, outer_plan);
}
