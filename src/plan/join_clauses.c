/*
 * join_clauses.c
 *		Find the clauses by which rows of a relation are looked up, and the
 *		conditions that they imply.
 *
 * In a JOIN b ON a.t = b.t WHERE a.t >= '2024-05-01', earlier rows of b match
 * no row of a.  PostgreSQL derives conditions from constants that columns are
 * equal to, but not from ranges.  Here the condition is copied for b, if equal
 * values of the type are identical.
 *
 * A clause by which rows of b can be looked up for rows of a decides alone
 * which rows of b they are joined with.  So a row of b that satisfies it with
 * no row of a does not change the result.  This is so for inner and semi
 * joins, and for the side that an outer or anti join makes null, but not for
 * its other side.
 *
 * A condition that is implied need not be checked, since the join does that.
 */
#include "plan/join_clauses.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/typcache.h"

#include "pushdown/shippable.h"
#include "table/type.h"

/* ---- Clauses ------------------------------------------------------------ */

/* An ec_matches_callback that finds the members that are a column. */
static bool
is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class,
		  EquivalenceMember *member, void *attnum)
{
	Var *var = mts_shippable_var(member->em_expr, rel->relid);

	return var && var->varattno == *(AttrNumber *) attnum;
}

/*
 * mts_join_clauses_find
 *		The clauses by which rows of a relation are looked up for those of
 *		others: equalities of a column, and all that are not equalities.
 */
List *
mts_join_clauses_find(PlannerInfo *root, RelOptInfo *rel, AttrNumber attnum)
{
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rel->joininfo)
		if (join_clause_is_movable_to(lfirst(lc), rel))
			clauses = lappend(clauses, lfirst(lc));
	if (!rel->has_eclass_joins)
		return clauses;
	return list_concat(clauses, generate_implied_equalities_for_column(
									root, rel, is_column, &attnum,
									rel->lateral_referencers));
}

/* ---- Conditions --------------------------------------------------------- */

/* The conditions on a column of a table that are copied from others */
typedef struct Implied
{
	PlannerInfo *root;
	Var *column;
	List *seen;       /* the columns whose conditions have been copied */
	List *conditions; /* expressions */
} Implied;

/* Tell whether two expressions are the same column. */
static bool
are_same(const Var *a, const Var *b)
{
	return a->varno == b->varno && a->varattno == b->varattno;
}

/*
 * The other column of a clause that requires two to be identical; NULL if it
 * is not one on the first column.  Values of two types, such as timestamp and
 * timestamptz, are not identical.
 */
static Var *
find_identical(const RestrictInfo *rinfo, const Var *column)
{
	const OpExpr *op = (const OpExpr *) rinfo->clause;
	Var *left, *right;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	left = mts_shippable_column(linitial(op->args));
	right = mts_shippable_column(lsecond(op->args));
	if (!left || !right || left->vartype != right->vartype ||
		op->opno !=
			lookup_type_cache(left->vartype, TYPECACHE_EQ_OPR)->eq_opr ||
		!mts_type_has_identical_equals(left->vartype, op->inputcollid))
		return NULL;
	if (are_same(left, column))
		return right;
	return are_same(right, column) ? left : NULL;
}

/* Replace the first of two columns by the second one. */
static Node *
replace_column(Node *node, void *columns)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && are_same((Var *) node, linitial(columns)))
		return copyObject(lsecond((List *) columns));
	return expression_tree_mutator(node, replace_column, columns);
}

/*
 * Copy the conditions on a column of another relation, and those that are
 * implied for that.  One on further columns is not implied.
 */
static void
copy_conditions(Implied *implied, Var *from)
{
	RelOptInfo *rel = find_base_rel(implied->root, from->varno);
	ListCell *lc;

	implied->seen = lappend(implied->seen, from);
	foreach (lc, rel->baserestrictinfo)
	{
		Node *copy =
			replace_column((Node *) lfirst_node(RestrictInfo, lc)->clause,
						   list_make2(from, implied->column));
		Relids relids = pull_varnos(implied->root, copy);
		int relid;

		if (bms_get_singleton_member(relids, &relid) &&
			relid == implied->column->varno &&
			!contain_volatile_functions(copy) && !contain_subplans(copy))
			implied->conditions =
				list_append_unique(implied->conditions, copy);
	}
	foreach (lc, mts_join_clauses_find(implied->root, rel, from->varattno))
	{
		Var *other = find_identical(lfirst(lc), from);

		if (other && !list_member(implied->seen, other))
			copy_conditions(implied, other);
	}
}

/*
 * mts_join_clauses_imply
 *		The conditions on single columns of a relation that are implied by
 *		joins: a List of RestrictInfos, without the relation's own.
 */
List *
mts_join_clauses_imply(PlannerInfo *root, RelOptInfo *rel)
{
	List *own = extract_actual_clauses(rel->baserestrictinfo, false);
	List *rinfos = NIL;
	ListCell *of_column, *lc;

	if (rel->joininfo == NIL && !rel->has_eclass_joins)
		return NIL;
	foreach (of_column, rel->reltarget->exprs)
	{
		Implied implied = {.root = root, .column = lfirst(of_column)};

		if (!IsA(implied.column, Var))
			continue;
		copy_conditions(&implied, implied.column);
		foreach (lc, list_difference(implied.conditions, own))
			rinfos =
				lappend(rinfos, make_simple_restrictinfo(root, lfirst(lc)));
	}
	return rinfos;
}
