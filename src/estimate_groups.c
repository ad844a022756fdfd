/*
 * estimate_groups.c
 *		How many groups do the points of a table make?
 *
 * PostgreSQL takes an expression to be as manifold as its column, so that
 * after ANALYZE date_trunc('hour', t) would make a group of every second.
 * Here such an expression, which never goes back, is tried at some times: how
 * long it stays the same, and how long the table's points go on, give the
 * number of its values.
 */
#include "estimate.h"

#include "access/sysattr.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

/* An expression whose only column is the time, and where it is tried */
typedef struct Trial
{
	PlannerInfo *root;
	Node *expr;
	Var *time;
	Timestamp first; /* of the table's points, about */
	Timestamp last;
} Trial;

/* Make the time in an expression a constant. */
static Node *
replace_time(Node *node, void *value)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject((Node *) value);
	return expression_tree_mutator(node, replace_time, value);
}

/* The expression's value at a time; NULL when the planner can't tell it */
static Const *
value_at(const Trial *trial, Timestamp t)
{
	Const *time =
		makeConst(trial->time->vartype, -1, InvalidOid, sizeof(int64),
				  TimestampGetDatum(t), false, FLOAT8PASSBYVAL);
	Node *value = estimate_expression_value(trial->root,
											replace_time(trial->expr, time));

	return IsA(value, Const) && !((Const *) value)->constisnull
			   ? (Const *) value
			   : NULL;
}

static bool
is_same(const Const *a, const Const *b)
{
	return datumIsEqual(a->constvalue, b->constvalue, a->constbyval,
						a->constlen);
}

/*
 * A time after t at which the expression has another value, less than twice as
 * far away as the first such time.  false when there is none up to the last
 * point, or the planner can't tell.
 */
static bool
find_change(const Trial *trial, Timestamp *t)
{
	Const *before = value_at(trial, *t);

	for (int64 step = USECS_PER_SEC; before && step <= trial->last - *t;
		 step *= 2)
	{
		Const *after = value_at(trial, *t + step);

		if (!after)
			return false;
		if (!is_same(before, after))
		{
			*t += step;
			return true;
		}
	}
	return false;
}

/*
 * How long the expression stays the same, by a factor of two: a start may lie
 * at the end of a period, but then the next one lies near its beginning.
 */
static double
period_of(const Trial *trial)
{
	Timestamp first = trial->first;
	Timestamp second = first;
	Timestamp third;

	if (!find_change(trial, &second))
		return trial->last - first + 1;
	third = second;
	if (!find_change(trial, &third))
		third = trial->last;
	return Max(second - first, third - second);
}

/* Take from the statistics between which times the points lie. */
static bool
find_extent(Trial *trial)
{
	VariableStatData stats;
	AttStatsSlot slot;
	bool found = false;

	examine_variable(trial->root, (Node *) trial->time, 0, &stats);
	if (HeapTupleIsValid(stats.statsTuple) && stats.acl_ok &&
		get_attstatsslot(&slot, stats.statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		trial->first = DatumGetTimestamp(slot.values[0]);
		trial->last = DatumGetTimestamp(slot.values[slot.nvalues - 1]);
		found = slot.valuetype == trial->time->vartype &&
				!TIMESTAMP_NOT_FINITE(trial->first) &&
				!TIMESTAMP_NOT_FINITE(trial->last);
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(stats);
	return found;
}

/* Does an expression look at the time, and at no other column? */
static bool
is_of_time(Node *expr, const Var *time)
{
	Bitmapset *attrs = NULL;

	pull_varattnos(expr, time->varno, &attrs);
	return bms_membership(attrs) == BMS_SINGLETON &&
		   bms_is_member(time->varattno - FirstLowInvalidHeapAttributeNumber,
						 attrs);
}

/* Which share of the table's time do the conditions leave? */
static double
share_of_time(PlannerInfo *root, RelOptInfo *rel, const Var *time)
{
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (is_of_time((Node *) rinfo->clause, time))
			clauses = lappend(clauses, rinfo);
	}
	return clauselist_selectivity(root, clauses, 0, JOIN_INNER, NULL);
}

/* How many values an expression of time has in a table; 0: unknown */
static double
count_values(PlannerInfo *root, RelOptInfo *rel, Var *time, Node *expr)
{
	Trial trial = {root, expr, time};
	double length;

	if ((time->vartype != TIMESTAMPTZOID && time->vartype != TIMESTAMPOID) ||
		!is_of_time(expr, time) || !find_extent(&trial) ||
		!value_at(&trial, trial.first))
		return 0;
	length = (double) trial.last - trial.first;
	return length * share_of_time(root, rel, time) / period_of(&trial) + 1;
}

/*
 * mts_estimate_groups
 *		How many groups the relation's points make, by expressions of keys and
 *		expressions of time that never go back.
 */
double
mts_estimate_groups(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table,
					List *exprs)
{
	double times = 1;
	double others = 1;
	List *rest = NIL;
	ListCell *lc;
	int column = table->layout.time_column;
	const MtsAttribute *attribute =
		column < 0 ? NULL : &table->attributes[column];

	foreach (lc, exprs)
	{
		Node *expr = lfirst(lc);
		double n = 0;

		if (attribute && !IsA(expr, Var))
			n = count_values(root, rel,
							 makeVar(rel->relid, attribute->attnum,
									 attribute->typid, attribute->typmod,
									 InvalidOid, 0),
							 expr);
		if (n > 0)
			times = Max(times, n); /* an hour tells the day */
		else
			rest = lappend(rest, expr);
	}
	if (rest)
		others = estimate_num_groups(root, rest, rel->rows, NULL, NULL);
	return clamp_row_est(Min(times * others, rel->rows));
}
