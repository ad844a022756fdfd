/*
 * grouped.c
 *		Group a table below joins: the scan returns partial states.
 *
 * A table with children, such as partitions, is the Append of its children
 * that are grouped: foreign tables in their scans, others by an Agg node above
 * their rows.  So old points can be in MongoDB, and recent ones in PostgreSQL.
 */
#include "plan/grouped.h"

#include "foreign/fdwapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "compat.h"
#include "plan/agg_plan.h"
#include "plan/agg_target.h"
#include "plan/groups.h"
#include "plan/join_keys.h"
#include "plan/plan.h"

/* Points are aggregated below joins if groups have this many on average. */
#define LEAST_POINTS 2.0

/* ---- Members ------------------------------------------------------------ */

/* A table, or a child of one, and the expressions of its groups */
typedef struct Member
{
	RelOptInfo *rel;
	List *keys;
	List *aggregates;
	double groups; /* 0 until estimated */
} Member;

/* Tell whether a relation is a foreign table of ours. */
static bool
is_ours(const RelOptInfo *rel)
{
	return rel->fdwroutine && rel->fdw_private &&
		   rel->fdwroutine->GetForeignPlan == mtsGetForeignPlan;
}

/*
 * Add the members of a relation that may have rows.  exprs has the keys and
 * the aggregates.
 */
static void
add_members(PlannerInfo *root, RelOptInfo *rel, List *exprs, List **members)
{
	Member *member;
	ListCell *lc;

	if (!planner_rt_fetch(rel->relid, root)->inh)
	{
		member = palloc(sizeof(Member));
		*member = (Member){rel, linitial(exprs), lsecond(exprs), 0};
		*members = lappend(*members, member);
		return;
	}
	foreach (lc, root->append_rel_list)
	{
		AppendRelInfo *child = lfirst(lc);
		RelOptInfo *child_rel = root->simple_rel_array[child->child_relid];

		if (child->parent_relid == rel->relid && child_rel &&
			!is_dummy_rel(child_rel))
			add_members(root, child_rel,
						(List *) adjust_appendrel_attrs(root, (Node *) exprs,
														1, &child),
						members);
	}
}

static List *
find_members(PlannerInfo *root, RelOptInfo *rel, List *keys, List *aggregates)
{
	List *members = NIL;

	add_members(root, rel, list_make2(keys, aggregates), &members);
	return members;
}

/*
 * mts_grouped_is_possible
 *		Tell whether a base relation is a foreign table of ours, or has one as
 *		a child.
 */
bool
mts_grouped_is_possible(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *lc;

	if (!rel || rel->reloptkind != RELOPT_BASEREL || is_dummy_rel(rel))
		return false;
	if (!planner_rt_fetch(rel->relid, root)->inh)
		return is_ours(rel) && mts_agg_target_can_filter(rel);
	foreach (lc, find_members(root, rel, NIL, NIL))
		if (is_ours(((Member *) lfirst(lc))->rel))
			return true;
	return false;
}

/*
 * mts_grouped_time
 *		The attribute of a relation that is the time of the points; 0 without.
 *
 * The times of a local table may be any, so all children must be ours.
 */
AttrNumber
mts_grouped_time(PlannerInfo *root, RelOptInfo *rel)
{
	AttrNumber found = 0;
	ListCell *lc, *of_child;

	if (!planner_rt_fetch(rel->relid, root)->inh)
		return is_ours(rel) ? ((const MtsRelInfo *) rel->fdw_private)
									  ->table->layout.time_column +
								  1
							: 0;
	foreach (of_child, root->append_rel_list)
	{
		const AppendRelInfo *child = lfirst(of_child);
		RelOptInfo *child_rel = root->simple_rel_array[child->child_relid];
		AttrNumber time, of_parent = 0;

		if (child->parent_relid != rel->relid || !child_rel ||
			is_dummy_rel(child_rel))
			continue;
		time = mts_grouped_time(root, child_rel);
		foreach (lc, child->translated_vars)
		{
			const Var *var = lfirst(lc);

			if (time > 0 && var && IsA(var, Var) && var->varattno == time)
				of_parent = foreach_current_index(lc) + 1;
		}
		if (of_parent == 0 || (found > 0 && found != of_parent))
			return 0;
		found = of_parent;
	}
	return found;
}

/* ---- Paths -------------------------------------------------------------- */

/*
 * mts_grouped_new_rel
 *		Make a relation that belongs to the paths of an aggregation.
 *
 * PostgreSQL makes it as it makes a relation above the joins, so that it has
 * all that a version of PostgreSQL sets in new relations.  A copy of root
 * without such relations keeps it apart from those of the query.
 */
RelOptInfo *
mts_grouped_new_rel(const MtsAggregation *aggregation, Relids relids,
					PathTarget *target)
{
	PlannerInfo root = *aggregation->root;
	RelOptInfo *rel;

	MemSet(root.upper_rels, 0, sizeof(root.upper_rels));
	rel = fetch_upper_rel(&root, UPPERREL_PARTIAL_GROUP_AGG, relids);
	rel->reloptkind = RELOPT_JOINREL;
	rel->rtekind = RTE_JOIN;
	rel->consider_parallel = aggregation->output->consider_parallel;
	rel->baserestrict_min_security = UINT_MAX;
	rel->rel_parallel_workers = -1;
	rel->reltarget = target;
	return rel;
}

/*
 * Make the relation of grouped rows.  It has the properties of the table that
 * the planner of joins and foreign scans reads.
 */
static RelOptInfo *
new_grouped(const MtsAggregation *aggregation, const RelOptInfo *table,
			List *keys, List *aggregates)
{
	PathTarget *target = create_empty_pathtarget();
	RelOptInfo *grouped;

	add_new_columns_to_pathtarget(target, keys);
	add_new_columns_to_pathtarget(target, aggregates);
	set_pathtarget_cost_width(aggregation->root, target);
	grouped =
		mts_grouped_new_rel(aggregation, bms_copy(table->relids), target);
	grouped->serverid = table->serverid;
	grouped->userid = table->userid;
	grouped->useridiscurrent = table->useridiscurrent;
	grouped->fdwroutine = table->fdwroutine;
	grouped->joininfo = table->joininfo;
	grouped->has_eclass_joins = table->has_eclass_joins;
	grouped->consider_param_startup = table->consider_param_startup;
	return grouped;
}

/*
 * Add the paths of the scan that groups a foreign table.
 *
 * Keys that joined tables select are sent at once.  Only where that is not
 * possible are they looked up one by one, since the planner could expect few
 * lookups and be wrong.
 */
static void
add_scans(const MtsAggregation *aggregation, RelOptInfo *grouped, List *steps)
{
	RelOptInfo *table = aggregation->input;
	PathTarget *target = grouped->reltarget;
	List *selected = mts_join_keys_find(aggregation->root, table, steps);
	List *lookups = selected == NIL ? table->ppilist : NIL;
	ListCell *lc;

	mts_agg_path_add_scan(aggregation, grouped, target, NULL, NULL);
	foreach (lc, selected)
		mts_agg_path_add_scan(aggregation, grouped, target, NULL, lfirst(lc));
	/* children are appended, not looked up or divided */
	if (table->reloptkind == RELOPT_OTHER_MEMBER_REL)
		return;
	mts_agg_path_add_partial_scan(aggregation, grouped, target);
	foreach (lc, lookups)
	{
		ParamPathInfo *param = lfirst(lc);
		Node *clauses =
			(Node *) extract_actual_clauses(param->ppi_clauses, false);

		if (!contain_volatile_functions(clauses) && !contain_subplans(clauses))
			mts_agg_path_add_scan(aggregation, grouped, target, param, NULL);
	}
}

/* Tell whether the scan of a member can group it. */
static bool
can_scan(const Member *member)
{
	ListCell *lc;

	if (!is_ours(member->rel) || !mts_agg_target_can_filter(member->rel))
		return false;
	foreach (lc, list_concat_copy(member->keys, member->aggregates))
		if (!mts_agg_target_can_return(lfirst(lc), member->rel->relid))
			return false;
	return true;
}

/* Add the path of an Agg node that groups the rows of a member. */
static void
add_agg(PlannerInfo *root, RelOptInfo *grouped, const Member *member)
{
	PathTarget *rows = create_empty_pathtarget();
	PathTarget *target = copy_pathtarget(grouped->reltarget);
	List *clause = NIL;
	AggClauseCosts costs;
	ListCell *lc;
	Path *path;

	target->sortgrouprefs =
		palloc0(list_length(target->exprs) * sizeof(Index));
	foreach (lc, member->keys)
	{
		int i = foreach_current_index(lc);
		SortGroupClause *key = makeNode(SortGroupClause);
		TypeCacheEntry *type =
			lookup_type_cache(exprType(lfirst(lc)),
							  TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);

		key->tleSortGroupRef = target->sortgrouprefs[i] = i + 1;
		key->eqop = type->eq_opr;
		key->sortop = type->lt_opr;
		key->hashable = true;
		clause = lappend(clause, key);
		add_column_to_pathtarget(rows, lfirst(lc), i + 1);
	}
	foreach (lc, member->aggregates)
		add_new_columns_to_pathtarget(
			rows,
			pull_var_clause((Node *)
								list_make2(lfirst_node(Aggref, lc)->args,
										   lfirst_node(Aggref, lc)->aggfilter),
							0));
	set_pathtarget_cost_width(root, rows);
	path = (Path *) create_projection_path(root, member->rel,
										   member->rel->cheapest_total_path,
										   rows);
	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_INITIAL_SERIAL, &costs);
	add_path(grouped,
			 (Path *) create_agg_path(root, grouped, path, target, AGG_HASHED,
									  AGGSPLIT_INITIAL_SERIAL, clause, NIL,
									  &costs, grouped->rows));
}

/* The number of groups of a member */
static double
count_groups(PlannerInfo *root, const Member *member)
{
	return is_ours(member->rel)
			   ? mts_groups_estimate(root, member->rel, member->keys)
			   : estimate_num_groups(root, member->keys, member->rel->rows,
									 NULL, NULL);
}

/* Group a member. */
static RelOptInfo *
make_member(const MtsAggregation *aggregation, const Member *member,
			List *steps)
{
	MtsAggregation of_member = *aggregation;
	RelOptInfo *grouped = new_grouped(aggregation, member->rel, member->keys,
									  member->aggregates);

	of_member.input = member->rel;
	of_member.groups = grouped->rows = member->groups;
	if (can_scan(member))
		add_scans(&of_member, grouped, steps);
	else
		add_agg(aggregation->root, grouped, member);
	set_cheapest(grouped);
	return grouped;
}

/* Append the members that are grouped. */
static RelOptInfo *
append_members(const MtsAggregation *aggregation, List *members, List *keys,
			   List *aggregates, List *steps)
{
	RelOptInfo *grouped =
		new_grouped(aggregation, aggregation->input, keys, aggregates);
	List *paths = NIL;
	ListCell *lc;

	foreach (lc, members)
	{
		RelOptInfo *child = make_member(aggregation, lfirst(lc), steps);

		grouped->rows += child->rows;
		paths = lappend(paths, child->cheapest_total_path);
	}
	add_path(grouped, (Path *) mts_create_append_path(aggregation->root,
													  grouped, paths));
	set_cheapest(grouped);
	return grouped;
}

/*
 * Tell whether the expressions of a member are as many as those of its parent,
 * and are grouped as these.
 */
static bool
is_like_parent(const Member *member, List *keys, List *aggregates)
{
	ListCell *of_parent, *of_member;

	if (list_length(list_union(NIL, member->keys)) != list_length(keys) ||
		list_length(list_union(NIL, member->aggregates)) !=
			list_length(aggregates))
		return false;
	forboth(of_parent, keys, of_member, member->keys)
	{
		Node *a = lfirst(of_parent);
		Node *b = lfirst(of_member);

		if (exprType(a) != exprType(b) || exprCollation(a) != exprCollation(b))
			return false;
	}
	return true;
}

/*
 * mts_grouped_make
 *		Group a table by keys; NULL if that hardly makes fewer rows.
 *
 * aggregates are the partial ones to compute, and steps the joins with other
 * relations.
 */
RelOptInfo *
mts_grouped_make(const MtsAggregation *aggregation, List *keys,
				 List *aggregates, List *steps)
{
	PlannerInfo *root = aggregation->root;
	RelOptInfo *table = aggregation->input;
	List *members = find_members(root, table, keys, aggregates);
	double groups = 0;
	ListCell *lc;

	foreach (lc, members)
	{
		Member *member = lfirst(lc);

		if (!is_like_parent(member, keys, aggregates))
			return NULL;
		member->groups = count_groups(root, member);
		groups += member->groups;
	}
	if (groups * LEAST_POINTS > table->rows)
		return NULL;
	return planner_rt_fetch(table->relid, root)->inh
			   ? append_members(aggregation, members, keys, aggregates, steps)
			   : make_member(aggregation, linitial(members), steps);
}
