/*
 * valueless.c
 *		Determine whether rows without values of a point matter to a scan.
 *
 * A point exists if any container has an element in its slot.  So a scan also
 * reads the containers without a needed column: the points that exist only
 * there are rows, in which all needed values are null.  Such a row does not
 * matter if a condition is false or null for it.  Nor does it matter if the
 * scan aggregates without groups, and each aggregate ignores it.  Then the
 * containers without a needed column are neither fetched nor unfolded: see
 * mts_table_narrow().
 *
 * With groups, a row matters that all aggregates ignore: it makes its group.
 */
#include "plan/valueless.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The relation whose rows are examined */
typedef struct Target
{
	const MtsTable *table;
	Index varno;
} Target;

/* Tell whether a Var is a value of a point. */
static bool
is_value(const Target *target, const Var *var)
{
	return var->varno == target->varno && var->varlevelsup == 0 &&
		   var->varattno > 0 &&
		   target->table->layout.columns[var->varattno - 1].role ==
			   MTS_ROLE_VALUE;
}

/*
 * Copy an expression, but with Vars of an outer query in place of those that
 * are not values.
 */
static Node *
keep_values(Node *node, void *target)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var *var = copyObject((Var *) node);

		if (!is_value(target, var))
			var->varlevelsup = 1;
		return (Node *) var;
	}
	if (IsA(node, PlaceHolderVar))
		return keep_values((Node *) ((PlaceHolderVar *) node)->phexpr, target);
	return expression_tree_mutator(node, keep_values, target);
}

/*
 * Tell whether a condition is false or null if all values are null.  A List is
 * the conjunction of its members.  PostgreSQL examines the conditions above an
 * outer join in the same way.
 */
static bool
rejects(const Target *target, Node *condition)
{
	return !bms_is_empty(
		find_nonnullable_rels(keep_values(condition, (void *) target)));
}

/* Tell whether an expression is null if all values are null. */
static bool
is_null_without(const Target *target, Expr *expr)
{
	NullTest *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return rejects(target, (Node *) test);
}

/* Tell whether an aggregate keeps its transition value at a null argument. */
static bool
skips_nulls(Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Oid function;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	function = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn;
	ReleaseSysCache(tuple);
	switch (function)
	{
		case F_INT2_SUM:
		case F_INT4_SUM:
		case F_INT2_ACCUM:
		case F_INT4_ACCUM:
		case F_INT8_ACCUM:
		case F_INT8_AVG_ACCUM:
		case F_NUMERIC_ACCUM:
		case F_NUMERIC_AVG_ACCUM:
			/* not strict, since they make or finish a value of their own */
			return true;
		default:
			return func_strict(function);
	}
}

/* Tell whether an aggregate ignores rows without values. */
static bool
ignores(const Target *target, const Aggref *aggref)
{
	ListCell *lc;

	if (rejects(target, (Node *) aggref->aggfilter))
		return true;
	if (!skips_nulls(aggref->aggfnoid))
		return false;
	foreach (lc, aggref->args)
		if (is_null_without(target, lfirst_node(TargetEntry, lc)->expr))
			return true;
	return false;
}

/* Tell whether a scan aggregates without groups, and ignores such rows. */
static bool
all_ignore(const Target *target, List *output)
{
	ListCell *lc;

	foreach (lc, output)
		if (!IsA(lfirst(lc), Aggref) || !ignores(target, lfirst(lc)))
			return false;
	return output != NIL;
}

/*
 * mts_valueless_matter
 *		Tell whether a scan that needs these attributes of the relation varno
 *		must read the points without a value in them.
 *
 * The clauses are those that are evaluated for its rows.  The output is that
 * of a scan that aggregates: grouping keys and Aggrefs; NIL for rows.
 */
bool
mts_valueless_matter(const MtsTable *table, Index varno, List *attnums,
					 List *clauses, List *output)
{
	Target target = {table, varno};

	/* which points are skipped as invalid must not depend on a query */
	return table->layout.ncontainers < 2 ||
		   table->on_invalid == MTS_INVALID_SKIP ||
		   list_member_int(attnums, 0) ||
		   !(rejects(&target, (Node *) clauses) ||
			 all_ignore(&target, output));
}
