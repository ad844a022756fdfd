/*
 * estimate_range.c
 *		How much of a table does a scan with these conditions fetch?
 *
 * What goes down whole fetches what it lets through.  A condition on the time
 * under a cast goes down as a wider range, of which statistics know more than
 * of the cast.
 */
#include "estimate.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pushdown_private.h"

/* The time column compared with an instant, by an operator of its type */
static Node *
compare_time(const RelOptInfo *rel, const MtsTable *table, Oid operator,
			 TimestampTz t)
{
	const MtsAttribute *attribute =
		&table->attributes[table->layout.time_column];
	Var *var = makeVar(rel->relid, attribute->attnum, TIMESTAMPTZOID,
					   attribute->typmod, InvalidOid, 0);
	Const *value = makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(t),
							 TimestampTzGetDatum(t), false, FLOAT8PASSBYVAL);
	Expr *expr = make_opclause(operator, BOOLOID, false, (Expr *) var,
							   (Expr *) value, InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) expr);
	return (Node *) expr;
}

/*
 * Append the range that a test fetches, as clauses on the time; false where it
 * isn't known now.
 */
static bool
append_range(PlannerInfo *root, const RelOptInfo *rel, const MtsTable *table,
			 MtsTest *test, List **clauses)
{
	TypeCacheEntry *type =
		lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	ExprContext *econtext;
	MtsRanges *ranges;
	MtsRange hull;

	if (test->kind != MTS_TEST_POINTS || test->exact ||
		table->attributes[test->column].typid != TIMESTAMPTZOID)
		return false;
	test->right =
		(Expr *) estimate_expression_value(root, (Node *) test->right);
	if (!IsA(test->right, Const))
		return false;
	mts_pushdown_init(test, NULL);
	econtext = CreateStandaloneExprContext();
	ranges = &mts_pushdown_evaluate(table, test, econtext)->ranges;
	FreeExprContext(econtext, true);
	if (ranges->n == 0)
		return false;
	hull.from = ranges->items[0].from;
	hull.to = ranges->items[ranges->n - 1].to;
	if (hull.from != MTS_TIME_MIN)
		*clauses = lappend(*clauses, compare_time(rel, table, type->gt_opr,
												  hull.from - 1));
	if (hull.to != MTS_TIME_MAX)
		*clauses =
			lappend(*clauses, compare_time(rel, table, type->lt_opr, hull.to));
	return true;
}

/* The share of all points that the conditions fetch, or those on time alone */
static double
fetched_share(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table,
			  List *rinfos, bool only_times)
{
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rinfos)
	{
		RestrictInfo *rinfo = lfirst(lc);
		MtsTest *test = mts_pushdown_clause(table, rel->relid, rinfo->clause);

		if (test && (!only_times || test->kind == MTS_TEST_POINTS) &&
			!append_range(root, rel, table, test, &clauses))
			clauses = lappend(clauses, rinfo);
	}
	return clauselist_selectivity(root, clauses, rel->relid, JOIN_INNER, NULL);
}

/*
 * mts_estimate_fetched
 *		How many points the buckets hold that a scan with these RestrictInfos
 *		fetches.
 */
double
mts_estimate_fetched(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table,
					 List *rinfos)
{
	return clamp_row_est(rel->tuples *
						 fetched_share(root, rel, table, rinfos, false));
}

/*
 * mts_estimate_read
 *		How many of the collections of a table such a scan reads.
 */
double
mts_estimate_read(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table,
				  List *rinfos, double collections)
{
	if (collections <= 1)
		return 1;
	return Min(collections, 1 + collections * fetched_share(root, rel, table,
															rinfos, true));
}
