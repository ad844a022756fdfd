/*
 * join_agg.c
 *		Add paths that aggregate the points of a table below joins.
 *
 * In SELECT d.site, avg(f.v) FROM f JOIN d ON f.device = d.id GROUP BY 1, the
 * scan of f returns a partial state for each device.  A join multiplies or
 * removes the points of a device alike, so the states are joined in place of
 * the points, and an Agg node above the joins combines them.
 *
 * This holds if all that the joins and the query above them require of the
 * table is determined by the keys that the scan groups by.  The keys are the
 * table's expressions in join clauses, and the grouping expressions.  One that
 * is evaluated again above the scan must be of a type whose equal values are
 * identical, since the scan returns one value of each group.
 *
 * The scan evaluates expressions for points that the joins remove.  So these
 * must not fail (infallible.c).
 *
 * The planner knows of no such relations.  The scan and the joins are
 * relations that only these paths refer to; those that the table is joined
 * with are the planner's own.
 */
#include "plan/join_agg.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parse_coerce.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/agg_path.h"
#include "plan/agg_target.h"
#include "plan/grouped.h"
#include "plan/join_order.h"
#include "pushdown/infallible.h"
#include "table/type.h"

bool mts_enable_join_aggregate = true;

static create_upper_paths_hook_type previous_hook = NULL;

/* ---- Keys --------------------------------------------------------------- */

typedef struct Keys
{
	PlannerInfo *root;
	RelOptInfo *table;
	AttrNumber time; /* of the table's points, or 0 */
	List *all;       /* what the scan groups by */
	List *above;     /* those that are evaluated above the scan, too */
} Keys;

/* Tell whether an expression fails for no point. */
static bool
is_infallible(const Keys *keys, Node *expr)
{
	return mts_infallible_is(expr, keys->table->relid, keys->time);
}

/* Tell whether the scan can evaluate an expression for any point. */
static bool
is_harmless(const Keys *keys, Node *expr)
{
	return mts_agg_target_can_return(expr, keys->table->relid) &&
		   is_infallible(keys, expr);
}

/* Tell whether an expression is one of the table's alone. */
static bool
is_of_table(const Keys *keys, Node *expr)
{
	return bms_equal(pull_varnos(keys->root, expr), keys->table->relids);
}

/*
 * Add the largest expressions of the table alone that the scan can evaluate.
 * Columns are added in any case, so that the caller finds unusable ones.
 */
static bool
add_above(Node *node, Keys *keys)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		return add_above((Node *) ((RestrictInfo *) node)->clause, keys);
	if (!IsA(node, List) && is_of_table(keys, node) &&
		(IsA(node, Var) || is_harmless(keys, node)))
	{
		keys->above = list_append_unique(keys->above, node);
		return false;
	}
	return expression_tree_walker(node, add_above, keys);
}

/* Add what the clauses of joins require. */
static void
add_keys_of_joins(Keys *keys)
{
	ListCell *lc, *of_class;

	(void) add_above((Node *) keys->table->joininfo, keys);
	foreach (lc, keys->root->eq_classes)
	{
		EquivalenceClass *class = lfirst(lc);

		if (class->ec_merged || class->ec_has_const ||
			!bms_is_member(keys->table->relid, class->ec_relids) ||
			bms_membership(class->ec_relids) != BMS_MULTIPLE)
			continue;
		foreach (of_class, class->ec_members)
		{
			EquivalenceMember *member = lfirst(of_class);

			if (!member->em_is_const && !member->em_is_child)
				(void) add_above((Node *) member->em_expr, keys);
		}
		(void) add_above((Node *) class->ec_sources, keys);
	}
}

/* Add what the result requires. */
static void
add_keys_of_target(Keys *keys, const PathTarget *target)
{
	ListCell *lc;

	foreach (lc, target->exprs)
	{
		Node *expr = lfirst(lc);
		Index ref =
			get_pathtarget_sortgroupref(target, foreach_current_index(lc));

		if (IsA(expr, Aggref))
			continue;
		if (ref != 0 && is_of_table(keys, expr) && is_harmless(keys, expr))
			keys->all = list_append_unique(keys->all, expr);
		else
			(void) add_above(expr, keys);
	}
}

/*
 * Tell whether the scan can group by a key.  Equal values of character(n) can
 * have lengths that differ.
 */
static bool
is_usable(const Keys *keys, Node *key)
{
	TypeCacheEntry *type =
		lookup_type_cache(exprType(key), TYPECACHE_HASH_PROC);

	return OidIsValid(type->hash_proc) &&
		   getBaseType(exprType(key)) != BPCHAROID &&
		   mts_agg_target_can_return(key, keys->table->relid);
}

/* Find the keys of a table; false if it cannot be grouped by them. */
static bool
find_keys(Keys *keys, const PathTarget *target)
{
	ListCell *lc;

	add_keys_of_joins(keys);
	add_keys_of_target(keys, target);
	keys->all = list_concat_unique(keys->all, keys->above);
	foreach (lc, keys->above)
		if (!mts_type_has_identical_equals(exprType(lfirst(lc)),
										   exprCollation(lfirst(lc))))
			return false;
	foreach (lc, keys->all)
		if (!is_usable(keys, lfirst(lc)))
			return false;
	/* without keys, the scan would return a group even without points */
	if (keys->all == NIL)
		keys->all =
			list_make1(makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								 Int32GetDatum(1), false, true));
	return true;
}

/* ---- Joins -------------------------------------------------------------- */

/* A column of the right side of an outer join as it is above the join */
static Node *
make_nullable(Node *node, void *join)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var *var = copyObject((Var *) node);

		mts_add_nulling_join(var, (SpecialJoinInfo *) join);
		return (Node *) var;
	}
	return expression_tree_mutator(node, make_nullable, join);
}

/*
 * The columns of both sides.  A later join can require those of the right side
 * of a semi join, too: the planner compares any of the expressions that
 * equalities make equal.
 */
static PathTarget *
make_join_target(const RelOptInfo *left, const MtsJoinStep *step)
{
	PathTarget *target = create_empty_pathtarget();
	List *right = step->rel->reltarget->exprs;

	add_new_columns_to_pathtarget(target, left->reltarget->exprs);
	target->width = left->reltarget->width;
	if (step->join)
		right = (List *) make_nullable((Node *) right, step->join);
	add_new_columns_to_pathtarget(target, right);
	target->width += step->rel->reltarget->width;
	return target;
}

/*
 * The clauses of a join of relations.  Those for later joins are added to its
 * joininfo.  False in *is_possible if one is for another order of outer joins.
 */
static List *
find_clauses(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *left,
			 RelOptInfo *right, SpecialJoinInfo *join)
{
	Relids inputs = bms_union(left->relids, right->relids);
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, list_concat_copy(left->joininfo, right->joininfo))
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (!bms_is_subset(rinfo->required_relids, rel->relids))
			rel->joininfo = list_append_unique_ptr(rel->joininfo, rinfo);
		else if (!mts_is_clone_of_other(rinfo, inputs))
			clauses = list_append_unique_ptr(clauses, rinfo);
	}
	return list_concat(clauses,
					   mts_join_implied_equalities(root, rel->relids,
												   left->relids, right, join));
}

/* The paths that do not look up rows for those of the table */
static List *
without_lookups(List *paths, Relids table)
{
	List *others = NIL;
	ListCell *lc;

	foreach (lc, paths)
		if (!bms_overlap(PATH_REQ_OUTER((Path *) lfirst(lc)), table))
			others = lappend(others, lfirst(lc));
	return others;
}

/* An inner join of two relations */
static SpecialJoinInfo *
make_inner_join(const RelOptInfo *left, const RelOptInfo *right)
{
	SpecialJoinInfo *join = makeNode(SpecialJoinInfo);

	join->min_lefthand = join->syn_lefthand = left->relids;
	join->min_righthand = join->syn_righthand = right->relids;
	join->jointype = JOIN_INNER;
	return join;
}

/*
 * Join the grouped table with the relation of a step; NULL if that is not
 * possible.  The result has the columns of the target or, if it is NULL, all.
 *
 * The planner looks up rows by columns of the table.  Unless has_columns is
 * set, the grouped table has expressions in place of some.
 */
static RelOptInfo *
join(const MtsAggregation *aggregation, RelOptInfo *left,
	 const MtsJoinStep *step, bool has_columns, PathTarget *target)
{
	PlannerInfo *root = aggregation->root;
	RelOptInfo *right = step->rel;
	List *lookups = right->cheapest_parameterized_paths;
	bool is_last = target != NULL;
	Relids relids = bms_union(left->relids, right->relids);
	SpecialJoinInfo *join = step->join;
	JoinType type = join ? join->jointype : JOIN_INNER;
	RelOptInfo *rel;
	List *clauses;

	if (join && !mts_add_outer_join(&relids, join))
		return NULL;
	if (!is_last)
		target = make_join_target(left, step);
	rel = mts_grouped_new_rel(aggregation, relids, target);
	clauses = find_clauses(root, rel, left, right, join);
	rel->has_eclass_joins = has_relevant_eclass_joinclause(root, rel);
	if (!join)
		join = make_inner_join(left, right);
	set_joinrel_size_estimates(root, rel, left, right, join, clauses);
	if (!has_columns)
		right->cheapest_parameterized_paths =
			without_lookups(lookups, aggregation->input->relids);
	add_paths_to_joinrel(root, rel, left, right, type, join, clauses);
	if (type == JOIN_INNER || type == JOIN_LEFT)
		add_paths_to_joinrel(root, rel, right, left,
							 type == JOIN_LEFT ? JOIN_RIGHT : type, join,
							 clauses);
	right->cheapest_parameterized_paths = lookups;
	if (rel->pathlist == NIL)
		return NULL;
	if (is_last)
		generate_gather_paths(root, rel, false);
	set_cheapest(rel);
	return rel;
}

/* Tell whether all keys are columns. */
static bool
are_columns(List *keys)
{
	ListCell *lc;

	foreach (lc, keys)
		if (!IsA(lfirst(lc), Var))
			return false;
	return true;
}

/*
 * Join the grouped table with the relations of all steps; NULL if that is not
 * possible.
 */
static RelOptInfo *
join_all(const MtsAggregation *aggregation, const Keys *keys,
		 RelOptInfo *grouped, List *steps, PathTarget *target)
{
	RelOptInfo *joined = grouped;
	bool has_columns = are_columns(keys->above);

	steps = list_copy(steps);
	while (joined && steps != NIL)
	{
		MtsJoinStep *step =
			mts_join_order_next(aggregation->root, joined, steps);

		if (!step)
			return NULL;
		steps = list_delete_ptr(steps, step);
		joined = join(aggregation, joined, step, has_columns,
					  steps == NIL ? target : NULL);
	}
	return joined;
}

/* ---- Aggregation -------------------------------------------------------- */

/*
 * Tell whether expressions must be evaluated for each joined row.  A subquery
 * may have volatile functions.
 */
static bool
is_of_each_row(List *exprs)
{
	ListCell *lc;

	foreach (lc, exprs)
	{
		Node *expr = lfirst(lc);

		if (IsA(expr, RestrictInfo))
			expr = (Node *) ((RestrictInfo *) expr)->clause;
		if (contain_volatile_functions(expr) || contain_subplans(expr))
			return true;
	}
	return false;
}

/* Tell whether a query has expressions to be evaluated for each joined row. */
static bool
has_exprs_of_each_row(PlannerInfo *root, const RelOptInfo *table,
					  const PathTarget *target)
{
	ListCell *lc;
	int i = -1;

	while ((i = bms_next_member(root->all_baserels, i)) >= 0)
		if (is_of_each_row(find_base_rel(root, i)->joininfo))
			return true;
	foreach (lc, root->eq_classes)
		if (is_of_each_row(((EquivalenceClass *) lfirst(lc))->ec_sources))
			return true;
	return is_of_each_row(table->baserestrictinfo) ||
		   is_of_each_row(target->exprs);
}

/*
 * Tell whether an aggregate is a statistic of the squares of values, which
 * overflow sooner than a sum.  An average computes them, too, without need.
 */
static bool
has_squares(const Aggref *aggref)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, aggref->aggfnoid);
	Oid function;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	function = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn;
	ReleaseSysCache(tuple);
	return function == F_FLOAT8_REGR_ACCUM ||
		   ((function == F_FLOAT8_ACCUM || function == F_FLOAT4_ACCUM) &&
			aggref->aggfnoid != F_AVG_FLOAT8 &&
			aggref->aggfnoid != F_AVG_FLOAT4);
}

/*
 * Tell whether an aggregate fails for no values, except by an overflow of a
 * sum of numbers.  Amounts of money and time overflow sooner, and an array may
 * have another dimension than the one before.
 */
static bool
is_harmless_aggregate(const Keys *keys, Aggref *aggref)
{
	ListCell *lc;

	if (has_squares(aggref))
		return false;
	foreach (lc, aggref->args)
	{
		Oid type = exprType((Node *) lfirst_node(TargetEntry, lc)->expr);

		if (type == MONEYOID || TypeCategory(type) == TYPCATEGORY_TIMESPAN ||
			type_is_array(type))
			return false;
	}
	return mts_agg_target_can_return((Node *) aggref, keys->table->relid) &&
		   is_infallible(keys, (Node *) aggref->args) &&
		   is_infallible(keys, (Node *) aggref->aggfilter);
}

/*
 * Find the aggregates of a target; false if the scan of the table cannot
 * advance one of them.
 */
static bool
find_aggregates(const Keys *keys, const PathTarget *target, List **aggregates)
{
	ListCell *lc;

	foreach (lc, target->exprs)
	{
		if (!IsA(lfirst(lc), Aggref))
			continue;
		if (!is_harmless_aggregate(keys, lfirst(lc)))
			return false;
		*aggregates = lappend(*aggregates, lfirst(lc));
	}
	return true;
}

/* Add the paths that aggregate a table below the joins with all others. */
static void
add_paths_of_table(PlannerInfo *root, RelOptInfo *table, RelOptInfo *output,
				   Node *having)
{
	MtsAggregation aggregation = mts_agg_path_aggregation(root, table, output);
	PathTarget *target = mts_agg_target_make(root, output->reltarget, having);
	Keys keys = {root, table, mts_grouped_time(root, table)};
	List *aggregates = NIL;
	RelOptInfo *rel;
	List *steps;

	if (has_exprs_of_each_row(root, table, target) ||
		!find_aggregates(&keys, target, &aggregates) ||
		!find_keys(&keys, target))
		return;
	steps = mts_join_order_steps(root, table);
	if (steps == NIL)
		return;
	rel = mts_grouped_make(&aggregation, keys.all, aggregates, steps);
	rel = rel ? join_all(&aggregation, &keys, rel, steps, target) : NULL;
	if (!rel)
		return;
	if (output->pathlist != NIL)
		aggregation.most_groups = ((Path *) linitial(output->pathlist))->rows;
	mts_agg_path_add_combined(&aggregation, rel->cheapest_total_path, having);
}

/* Tell whether a query is one whose aggregation can be moved below joins. */
static bool
is_suitable(PlannerInfo *root, const RelOptInfo *input,
			const GroupPathExtraData *extra)
{
	return mts_enable_join_aggregate && mts_enable_partial_aggregate &&
		   input->reloptkind == RELOPT_JOINREL &&
		   !is_dummy_rel((RelOptInfo *) input) &&
		   (extra->flags & GROUPING_CAN_PARTIAL_AGG) != 0 &&
		   !root->parse->hasTargetSRFs && root->placeholder_list == NIL &&
		   !root->hasLateralRTEs && root->qual_security_level == 0 &&
		   grouping_is_hashable(root->parse->groupClause);
}

/* Add paths that aggregate one of the joined tables below the joins. */
static void
add_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
				RelOptInfo *output, void *extra)
{
	int i = -1;

	if (previous_hook)
		previous_hook(root, stage, input, output, extra);
	if (stage != UPPERREL_GROUP_AGG || !is_suitable(root, input, extra))
		return;
	while ((i = bms_next_member(root->all_baserels, i)) >= 0)
		if (mts_grouped_is_possible(root, root->simple_rel_array[i]))
			add_paths_of_table(root, root->simple_rel_array[i], output,
							   ((GroupPathExtraData *) extra)->havingQual);
}

/* mts_join_agg_init: let the planner of aggregates ask for these paths. */
void
mts_join_agg_init(void)
{
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = add_upper_paths;
}
