/*
 * groups.c
 *		Estimate the number of groups that the points of a table make.
 *
 * PostgreSQL expects an expression to have as many values as its columns.
 * After ANALYZE, date_trunc('hour', t) would make a group of every second.
 * Here an expression of the time is evaluated at some times, to find how long
 * it keeps its value.  The statistics tell how long the table's
 * points go on.  Both give the number of its values.  A field that returns to
 * its values, such as the hour, has no more than those.  Other expressions are
 * left to PostgreSQL.
 */
#include "plan/groups.h"

#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

#include "plan/plan.h"
#include "pushdown/infallible.h"
#include "pushdown/monotonic.h"

/* An expression of the time, and the times of the table's points */
typedef struct TimeExpr
{
	PlannerInfo *root;
	Node *expr;
	Var *time;
	Timestamp first;
	Timestamp last;
} TimeExpr;

static Node *
replace_vars(Node *node, void *value)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject((Node *) value);
	return expression_tree_mutator(node, replace_vars, value);
}

/* The value at a time; NULL if it is null, or the planner does not know it */
static Const *
value_at(const TimeExpr *expr, Timestamp t)
{
	Const *time = makeConst(expr->time->vartype, -1, InvalidOid, sizeof(int64),
							TimestampGetDatum(t), false, FLOAT8PASSBYVAL);
	Node *value =
		estimate_expression_value(expr->root, replace_vars(expr->expr, time));

	return IsA(value, Const) && !((Const *) value)->constisnull
			   ? (Const *) value
			   : NULL;
}

/* Tell whether the value is the same at two times; true if not known. */
static bool
keeps_value(const TimeExpr *expr, Timestamp a, Timestamp b)
{
	Const *before = value_at(expr, a);
	Const *after = value_at(expr, b);

	return !before || !after ||
		   datumIsEqual(before->constvalue, after->constvalue,
						before->constbyval, before->constlen);
}

/*
 * How long the value stays the same, correct to a factor of two.  Two
 * intervals are tried, since the first can lie across the end of a longer
 * period.
 */
static double
period_of(const TimeExpr *expr)
{
	Timestamp first = expr->first;
	int64 extent = expr->last - first;

	for (int64 step = USECS_PER_SEC; step <= extent / 2; step *= 2)
		if (!keeps_value(expr, first, first + step) &&
			!keeps_value(expr, first + step, first + 2 * step))
			return step;
	return extent + 1;
}

/* Find the first and the last time of the table's points in its statistics. */
static bool
find_extent(TimeExpr *expr)
{
	VariableStatData stats;
	AttStatsSlot slot;
	bool found = false;

	examine_variable(expr->root, (Node *) expr->time, 0, &stats);
	if (HeapTupleIsValid(stats.statsTuple) && stats.acl_ok &&
		get_attstatsslot(&slot, stats.statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		expr->first = DatumGetTimestamp(slot.values[0]);
		expr->last = DatumGetTimestamp(slot.values[slot.nvalues - 1]);
		found = slot.valuetype == expr->time->vartype &&
				expr->first >= MTS_SAFE_FROM && expr->last <= MTS_SAFE_TO;
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(stats);
	return found;
}

/*
 * Tell whether an expression depends on the time alone, and can be evaluated
 * at times that no point has.
 */
static bool
is_of_time(Node *node, Index varno, AttrNumber time)
{
	List *attributes = mts_plan_attributes(list_make1(node), varno);

	return list_length(attributes) == 1 && linitial_int(attributes) == time &&
		   mts_infallible_is(node, varno, time);
}

/*
 * How many values an expression has over the table's points; 0 if PostgreSQL
 * must estimate it: it is a plain column, depends on more than the time, can
 * fail, is without statistics, or has no known value.
 *
 * Expressions raise no error within MTS_SAFE_SECONDS of 1970, so statistics
 * that go beyond that are not used.
 */
static double
count_values(PlannerInfo *root, RelOptInfo *rel, Node *node)
{
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	int column = table->layout.time_column;
	const MtsAttribute *attribute = &table->attributes[column];
	TimeExpr expr = {.root = root, .expr = node};

	if (column < 0 || IsA(node, Var) ||
		(attribute->typid != TIMESTAMPTZOID &&
		 attribute->typid != TIMESTAMPOID) ||
		!is_of_time(node, rel->relid, column + 1))
		return 0;
	expr.time = makeVar(rel->relid, column + 1, attribute->typid,
						attribute->typmod, InvalidOid, 0);
	if (!find_extent(&expr) || !value_at(&expr, expr.first))
		return 0;
	return (double) (expr.last - expr.first) *
			   mts_plan_time_share(root, rel, rel->baserestrictinfo) /
			   period_of(&expr) +
		   1;
}

/* Tell whether an expression is the time, which is 0 if there is none. */
static bool
is_time(const RelOptInfo *rel, AttrNumber time, Node *node)
{
	const Var *var = (Var *) node;

	return IsA(var, Var) && var->varno == rel->relid && time > 0 &&
		   var->varattno == time;
}

/* Fields of a time that return to their first value */
static const struct
{
	const char *name;
	int values;
} cycles[] = {
	{"second", 60}, {"minute", 60}, {"hour", 24}, {"day", 31},
	{"dow", 7},     {"isodow", 7},  {"doy", 366}, {"week", 53},
	{"month", 12},  {"quarter", 4},
};

/* Set *most to the number of values of a field in an expression of it. */
static bool
limit_by_field(Node *node, void *most)
{
	const FuncExpr *call = (FuncExpr *) node;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) &&
		(call->funcid == F_EXTRACT_TEXT_TIMESTAMP ||
		 call->funcid == F_EXTRACT_TEXT_TIMESTAMPTZ ||
		 call->funcid == F_DATE_PART_TEXT_TIMESTAMP ||
		 call->funcid == F_DATE_PART_TEXT_TIMESTAMPTZ) &&
		mts_monotonic_is_constant(linitial(call->args)))
	{
		Datum field = linitial_node(Const, call->args)->constvalue;

		for (int i = 0; i < lengthof(cycles); i++)
			if (pg_strcasecmp(TextDatumGetCString(field), cycles[i].name) == 0)
				*(double *) most = cycles[i].values;
	}
	return expression_tree_walker(node, limit_by_field, most);
}

/*
 * mts_groups_keep_value
 *		Tell whether an expression of the time of relation varno has the same
 *		value at two times; true if that is not known.
 *
 * Of root, the values of parameters are read.
 */
bool
mts_groups_keep_value(PlannerInfo *root, const MtsTable *table, Index varno,
					  Node *node, TimestampTz a, TimestampTz b)
{
	int column = table->layout.time_column;
	TimeExpr expr = {.root = root, .expr = node};

	if (!is_of_time(node, varno, column + 1))
		return true;
	expr.time = makeVar(varno, column + 1, table->attributes[column].typid, -1,
						InvalidOid, 0);
	return keeps_value(&expr, a, b);
}

/*
 * mts_groups_estimate
 *		Estimate the number of groups by expressions of a table's columns.
 */
double
mts_groups_estimate(PlannerInfo *root, RelOptInfo *rel, List *exprs)
{
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	AttrNumber time = table->layout.time_column + 1;
	double finest = 1;
	double combinations = 1;
	double by_others = 1;
	double times = 1;
	List *others = NIL;
	ListCell *lc;

	foreach (lc, exprs)
	{
		double n = count_values(root, rel, lfirst(lc));
		double most = n;

		/* each series has a point at most times */
		if (is_time(rel, time, lfirst(lc)))
			times = estimate_num_groups(root, list_make1(lfirst(lc)),
										rel->rows, NULL, NULL);
		else if (n > 0)
		{
			/* the finest determines the others: each hour lies in one day */
			finest = Max(finest, n);
			if (mts_monotonic_is(lfirst(lc), rel->relid, time))
				(void) limit_by_field(lfirst(lc), &most);
			combinations *= Min(most, n);
		}
		else
			others = lappend(others, lfirst(lc));
	}
	if (others)
		by_others = estimate_num_groups(root, others, rel->rows, NULL, NULL);
	return clamp_row_est(
		Min(Max(Min(finest, combinations), times) * by_others, rel->rows));
}
