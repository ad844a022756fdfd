/*
 * join_order.c
 *		Find the relations that a table is joined with, and in which order.
 *
 * Each relation that the table does not connect with others is one step.
 * Relations that are joined with each other, too, are one step: the planner
 * has made the join of them.  So the steps are few, and the first to be joined
 * are small relations with a join clause.
 *
 * The table's rows must stay as they are, except that a join multiplies or
 * removes them: the table may be on the left side of an outer, semi or anti
 * join, not on the side that is nullable.  The right side of such a join is a
 * step of its own, and steps of outer joins keep the order of the query.
 */
#include "plan/join_order.h"

#include "optimizer/joininfo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "compat.h"

/* Add a step; false if the planner has no usable path of its relation. */
static bool
add_step(List **steps, RelOptInfo *rel, SpecialJoinInfo *join)
{
	MtsJoinStep *step;

	if (!rel || !rel->cheapest_total_path || is_dummy_rel(rel) ||
		rel->lateral_relids || rel->cheapest_total_path->param_info)
		return false;
	step = palloc(sizeof(MtsJoinStep));
	*step = (MtsJoinStep){rel, join};
	*steps = lappend(*steps, step);
	return true;
}

/* The relation of base relations, and of outer joins among them */
static RelOptInfo *
find_rel(PlannerInfo *root, Relids relids)
{
	return bms_membership(relids) == BMS_SINGLETON
			   ? find_base_rel(root, bms_singleton_member(relids))
			   : find_join_rel(root, relids);
}

/* ---- Outer, semi and anti joins ----------------------------------------- */

/*
 * Add the steps of the outer, semi and anti joins that depend on the table,
 * and remove their right sides from *rest.  False if such a join could change
 * the table's rows.  Joins come before those that they are a side of.
 */
static bool
add_outer_steps(PlannerInfo *root, RelOptInfo *table, List **steps,
				Relids *rest)
{
	Relids left = bms_copy(table->relids);
	ListCell *lc;

	foreach (lc, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst(lc);

		if (bms_overlap(left, join->syn_righthand))
			return false;
		/* it is within a step, or joins two others */
		if (!bms_overlap(left, join->min_lefthand))
			continue;
		if ((join->jointype != JOIN_LEFT && join->jointype != JOIN_SEMI &&
			 join->jointype != JOIN_ANTI) ||
			!add_step(steps, find_rel(root, join->syn_righthand), join))
			return false;
		left = bms_add_members(left, join->syn_righthand);
		*rest = bms_del_members(*rest, join->syn_righthand);
	}
	return true;
}

/* ---- Inner joins -------------------------------------------------------- */

/* Tell whether two relations are sides of one outer join. */
static bool
are_in_outer_join(PlannerInfo *root, int a, int b)
{
	ListCell *lc;

	foreach (lc, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(lc);
		Relids both = bms_union(join->min_lefthand, join->min_righthand);

		if (bms_is_member(a, both) && bms_is_member(b, both))
			return true;
	}
	return false;
}

/* Tell whether a relation must be, or can be, joined with some of others. */
static bool
is_connected(PlannerInfo *root, int relid, Relids others)
{
	int i = -1;

	while ((i = bms_next_member(others, i)) >= 0)
		if (are_in_outer_join(root, relid, i) ||
			have_relevant_joinclause(root, find_base_rel(root, relid),
									 find_base_rel(root, i)))
			return true;
	return false;
}

/* Remove a relation and those that it is connected with from *rest. */
static Relids
remove_connected(PlannerInfo *root, Relids *rest)
{
	Relids part = NULL;
	int i = bms_next_member(*rest, -1);

	while (i >= 0)
	{
		part = bms_add_member(part, i);
		*rest = bms_del_member(*rest, i);
		i = -1;
		while ((i = bms_next_member(*rest, i)) >= 0)
			if (is_connected(root, i, part))
				break;
	}
	return part;
}

/* Add the outer joins among base relations. */
static Relids
add_outer_joins(PlannerInfo *root, Relids relids)
{
	Relids all = bms_copy(relids);
	ListCell *lc;

	foreach (lc, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(lc);
		int relid = mts_outer_join_relid(join);

		if (relid > 0 && bms_overlap(join->min_righthand, relids))
			all = bms_add_member(all, relid);
	}
	return all;
}

/*
 * Add the steps of inner joins.  Where the planner has not tried to join
 * connected relations (GEQO), each of them is a step.
 */
static bool
add_inner_steps(PlannerInfo *root, List **steps, Relids rest)
{
	while (!bms_is_empty(rest))
	{
		Relids part = remove_connected(root, &rest);
		RelOptInfo *rel = find_rel(root, add_outer_joins(root, part));
		int i = -1;

		if (rel || root->join_info_list != NIL)
		{
			if (!add_step(steps, rel, NULL))
				return false;
			continue;
		}
		while ((i = bms_next_member(part, i)) >= 0)
			if (!add_step(steps, find_base_rel(root, i), NULL))
				return false;
	}
	return true;
}

/* ---- Steps -------------------------------------------------------------- */

/*
 * mts_join_order_steps
 *		The relations that a table is joined with; NIL if it cannot be joined
 *		with each of them by itself.
 */
List *
mts_join_order_steps(PlannerInfo *root, RelOptInfo *table)
{
	Relids rest = bms_difference(root->all_baserels, table->relids);
	List *steps = NIL;

	if (!add_outer_steps(root, table, &steps, &rest) ||
		!add_inner_steps(root, &steps, rest))
		return NIL;
	return steps;
}

/* Tell whether a step goes before another one that is possible, too. */
static bool
goes_before(PlannerInfo *root, RelOptInfo *joined, const MtsJoinStep *a,
			const MtsJoinStep *b)
{
	bool a_is_connected = have_relevant_joinclause(root, joined, a->rel);
	bool b_is_connected = have_relevant_joinclause(root, joined, b->rel);

	if (!a->join != !b->join)
		return !a->join;
	if (a->join)
		return false;
	return a_is_connected != b_is_connected ? a_is_connected
											: a->rel->rows < b->rel->rows;
}

/*
 * mts_join_order_next
 *		The next of the steps for a relation that has joined others; NULL if
 *		none is possible.
 */
MtsJoinStep *
mts_join_order_next(PlannerInfo *root, RelOptInfo *joined, List *steps)
{
	MtsJoinStep *best = NULL;
	ListCell *lc;

	foreach (lc, steps)
	{
		MtsJoinStep *step = lfirst(lc);

		if (step->join &&
			!bms_is_subset(step->join->min_lefthand, joined->relids))
			continue;
		if (!best || goes_before(root, joined, step, best))
			best = step;
	}
	return best;
}
