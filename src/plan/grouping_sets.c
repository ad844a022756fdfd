/*
 * grouping_sets.c
 *		Combine partial states by GROUPING SETS, ROLLUP and CUBE.
 *
 * PostgreSQL's Agg node does not combine partial states for several grouping
 * sets.  So the scan groups by all keys, and a node of this file returns each
 * of its groups once for each set: the keys that are not in the set are null,
 * and a number tells the sets apart.  The Agg node above combines the states
 * by the keys and this number.
 *
 *		Finalize Agg -> Grouping Sets -> groups by all keys
 *
 * The empty set has a row even without groups.  Then its states are null, as
 * those of a worker without rows are.
 */
#include "plan/grouping_sets.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "catalog/pg_type.h"
#include "utils/typcache.h"

#include "compat.h"

/* ---- Paths -------------------------------------------------------------- */

/*
 * mts_grouping_sets_can_combine
 *		Tell whether the aggregates of a query can be combined from partial
 *		states, perhaps by grouping sets.
 */
bool
mts_grouping_sets_can_combine(PlannerInfo *root,
							  const GroupPathExtraData *extra)
{
	return (extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 ||
		   (root->parse->groupingSets && !root->hasNonPartialAggs &&
			!root->hasNonSerialAggs);
}

/*
 * mts_grouping_sets_input
 *		The groups to be returned for each set of a target; the target itself
 *		without grouping sets.  NULL if they cannot be.
 *
 * Columns that are equal cannot be told apart, and the planner takes a
 * constant for one in each set.
 */
PathTarget *
mts_grouping_sets_input(PlannerInfo *root, PathTarget *target)
{
	PathTarget *input;
	ListCell *lc;

	if (!root->parse->groupingSets)
		return target;
	input = create_empty_pathtarget();
	foreach (lc, target->exprs)
	{
		Node *expr = mts_before_grouping(root, lfirst(lc));

		if (IsA(expr, GroupingFunc))
			continue;
		if (list_member(input->exprs, expr) ||
			(!IsA(expr, Aggref) && !contain_var_clause(expr)))
			return NULL;
		add_column_to_pathtarget(
			input, (Expr *) expr,
			get_pathtarget_sortgroupref(target, foreach_current_index(lc)));
	}
	set_pathtarget_cost_width(root, input);
	return input;
}

/* The value of GROUPING() in a set: a bit for each argument not in it */
static int
grouping_value(const GroupingFunc *function, List *set)
{
	int value = 0;
	ListCell *lc;

	foreach (lc, function->refs)
		value = value << 1 | !list_member_int(set, lfirst_int(lc));
	return value;
}

/*
 * Describe a set: 1 if it is empty, the columns that are null in it, and the
 * values of the columns after the groups' own.
 */
static List *
describe_set(List *set, const PathTarget *input, List *functions, int number)
{
	List *nulls = NIL;
	List *values = NIL;
	ListCell *lc;

	foreach (lc, input->exprs)
	{
		int i = foreach_current_index(lc);
		Index ref = get_pathtarget_sortgroupref(input, i);

		if (ref != 0 && !list_member_int(set, ref))
			nulls = lappend_int(nulls, i);
	}
	foreach (lc, functions)
		values = lappend_int(values, grouping_value(lfirst(lc), set));
	return list_make3(list_make1_int(set == NIL), nulls,
					  lappend_int(values, number));
}

/* The clause that groups by the number of a set */
static SortGroupClause *
make_number_clause(List *clause)
{
	SortGroupClause *number = makeNode(SortGroupClause);
	TypeCacheEntry *type =
		lookup_type_cache(INT4OID, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	ListCell *lc;

	foreach (lc, clause)
		number->tleSortGroupRef =
			Max(number->tleSortGroupRef,
				lfirst_node(SortGroupClause, lc)->tleSortGroupRef);
	number->tleSortGroupRef++;
	number->eqop = type->eq_opr;
	number->sortop = type->lt_opr;
	number->hashable = true;
	return number;
}

static Plan *plan_sets(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *tlist, List *clauses, List *plans);

static const CustomPathMethods path_methods = {.CustomName = "Grouping Sets",
											   .PlanCustomPath = plan_sets};

/*
 * mts_grouping_sets_path
 *		Make the path that returns the groups of another one for each set, and
 *		add the number of the set to the clause of the Agg node above.
 *
 * The path has the columns of mts_grouping_sets_input(); target is that of
 * which these were made.
 */
Path *
mts_grouping_sets_path(PlannerInfo *root, RelOptInfo *output, Path *path,
					   const PathTarget *target, List **clause)
{
	CustomPath *sets = makeNode(CustomPath);
	PathTarget *input = path->pathtarget;
	PathTarget *labels = create_empty_pathtarget();
	SortGroupClause *number = make_number_clause(*clause);
	List *functions = NIL;
	ListCell *lc;

	/* what is above knows the columns as they are after grouping */
	foreach (lc, target->exprs)
	{
		Expr *expr = lfirst(lc);

		if (IsA(expr, GroupingFunc))
			functions = lappend(functions, expr);
		else
			add_column_to_pathtarget(labels, expr,
									 get_pathtarget_sortgroupref(
										 target, foreach_current_index(lc)));
	}
	foreach (lc, functions)
		add_column_to_pathtarget(labels, lfirst(lc), 0);
	/* no query has GROUPING() without arguments */
	add_column_to_pathtarget(labels, (Expr *) makeNode(GroupingFunc),
							 number->tleSortGroupRef);
	set_pathtarget_cost_width(root, labels);
	foreach (lc, root->parse->groupingSets)
		sets->custom_private =
			lappend(sets->custom_private,
					describe_set(lfirst(lc), input, functions,
								 foreach_current_index(lc)));
	*clause = lappend(list_copy(*clause), number);
	sets->path.pathtype = T_CustomScan;
	sets->path.parent = output;
	sets->path.pathtarget = labels;
	sets->path.parallel_safe = path->parallel_safe;
	sets->path.rows = path->rows * list_length(root->parse->groupingSets);
	sets->path.startup_cost = path->startup_cost;
	sets->path.total_cost =
		path->total_cost + sets->path.rows * cpu_operator_cost;
	mts_copy_disabled_nodes(&sets->path, path);
	sets->custom_paths = list_make1(path);
	sets->methods = &path_methods;
	return (Path *) sets;
}

/* ---- Plans -------------------------------------------------------------- */

static Node *create_state(CustomScan *plan);

static const CustomScanMethods plan_methods = {.CustomName = "Grouping Sets",
											   .CreateCustomScanState =
												   create_state};

static Plan *
plan_sets(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
		  List *clauses, List *plans)
{
	CustomScan *plan = makeNode(CustomScan);

	plan->scan.plan.targetlist = tlist;
	plan->custom_scan_tlist = copyObject(tlist);
	plan->custom_plans = plans;
	plan->custom_private = path->custom_private;
	plan->methods = &plan_methods;
	return (Plan *) plan;
}

/* mts_grouping_sets_init: let workers find the methods of a plan. */
void
mts_grouping_sets_init(void)
{
	RegisterCustomScanMethods(&plan_methods);
}

/* ---- Execution ---------------------------------------------------------- */

typedef struct State
{
	CustomScanState css;
	TupleTableSlot *group; /* NULL if it is that of no rows */
	int next;              /* the set of its next row */
	bool has_group;        /* there has been one */
	bool at_end;           /* of the groups */
} State;

static List *
sets_of(const State *state)
{
	return ((CustomScan *) state->css.ss.ps.plan)->custom_private;
}

static void
begin(CustomScanState *node, EState *estate, int flags)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	State *state = (State *) node;

	node->custom_ps =
		list_make1(ExecInitNode(linitial(plan->custom_plans), estate, flags));
	state->next = list_length(sets_of(state));
}

/* The row of the group in a set */
static TupleTableSlot *
make_row(State *state, List *set)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	List *values = lthird(set);
	int n = slot->tts_tupleDescriptor->natts - list_length(values);
	ListCell *lc;

	ExecClearTuple(slot);
	if (state->group)
		slot_getallattrs(state->group);
	for (int i = 0; i < n; i++)
	{
		slot->tts_isnull[i] = !state->group || state->group->tts_isnull[i];
		slot->tts_values[i] =
			slot->tts_isnull[i] ? (Datum) 0 : state->group->tts_values[i];
	}
	foreach (lc, lsecond(set))
		slot->tts_isnull[lfirst_int(lc)] = true;
	foreach (lc, values)
	{
		int i = n + foreach_current_index(lc);

		slot->tts_isnull[i] = false;
		slot->tts_values[i] = Int32GetDatum(lfirst_int(lc));
	}
	return ExecStoreVirtualTuple(slot);
}

/* The next row of the group; NULL if all sets have had theirs */
static TupleTableSlot *
next_of_group(State *state)
{
	while (state->next < list_length(sets_of(state)))
	{
		List *set = list_nth(sets_of(state), state->next++);

		if (state->group || linitial_int(linitial(set)))
			return make_row(state, set);
	}
	return NULL;
}

/* Get the next group; without any, that of no rows.  False at the end. */
static bool
get_group(State *state)
{
	if (state->at_end)
		return false;
	state->group = ExecProcNode(linitial(state->css.custom_ps));
	state->next = 0;
	if (!TupIsNull(state->group))
		return state->has_group = true;
	state->group = NULL;
	state->at_end = true;
	if (state->has_group)
		state->next = list_length(sets_of(state));
	return !state->has_group;
}

static TupleTableSlot *
next_row(CustomScanState *node)
{
	State *state = (State *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot;

	while (!(slot = next_of_group(state)))
		if (!get_group(state))
			return NULL;
	if (!node->ss.ps.ps_ProjInfo)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

static void
end(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

static void
rescan(CustomScanState *node)
{
	State *state = (State *) node;
	PlanState *groups = linitial(node->custom_ps);

	state->group = NULL;
	state->next = list_length(sets_of(state));
	state->has_group = state->at_end = false;
	if (node->ss.ps.chgParam)
		UpdateChangedParamSet(groups, node->ss.ps.chgParam);
	if (!groups->chgParam)
		ExecReScan(groups);
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ExplainPropertyInteger("Sets", NULL, list_length(sets_of((State *) node)),
						   es);
}

static const CustomExecMethods exec_methods = {.CustomName = "Grouping Sets",
											   .BeginCustomScan = begin,
											   .ExecCustomScan = next_row,
											   .EndCustomScan = end,
											   .ReScanCustomScan = rescan,
											   .ExplainCustomScan = explain};

static Node *
create_state(CustomScan *plan)
{
	State *state = palloc0(sizeof(State));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}
