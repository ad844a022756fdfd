/*
 * pushdown.c
 *		Walk a clause and tell what of it MongoDB can decide.
 *
 * The only walker of expressions.  The planner calls it to learn whether a
 * clause goes down and whether that decides it exactly; the executor calls it
 * again, on the same clause, to have the test whose right-hand sides it then
 * evaluates (evaluate.c).  A test that is not exact matches all that the
 * clause does and more: PostgreSQL checks the clause again.
 */
#include "pushdown.h"

#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "near.h"
#include "pushdown_private.h"

/* How many seconds a time may be from another of which it is made */
#define MAX_AWAY ((int64) 1000 * 366 * SECS_PER_DAY)

typedef struct Walk
{
	const MtsTable *table;
	Index varno;
} Walk;

static MtsTest *walk(const Walk *context, Expr *expr, bool want);

/* The layout's column that an expression is, perhaps relabelled; or -1. */
static int
column_of(const Walk *context, Expr *expr)
{
	Var *var;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	var = (Var *) expr;
	if (!IsA(expr, Var) || var->varno != context->varno ||
		var->varlevelsup != 0)
		return -1;
	return mts_table_column(context->table, var->varattno);
}

/* Has this expression the same value for all rows of the scan? */
static bool
is_constant_in_scan(const Walk *context, Expr *expr)
{
	return !bms_is_member(context->varno, pull_varnos(NULL, (Node *) expr)) &&
		   !contain_volatile_functions((Node *) expr) &&
		   !contain_subplans((Node *) expr);
}

/* The table's time; InvalidAttrNumber if there is none */
static AttrNumber
time_of(const MtsTable *table)
{
	int column = table->layout.time_column;

	return column < 0 ? InvalidAttrNumber : table->attributes[column].attnum;
}

/*
 * The time column, of which an expression is made, or -1, and how many seconds
 * it can be away from it: a cast, date_trunc, AT TIME ZONE, a shift.  Zones
 * and their clocks count there, so it is never exact.
 */
static int
column_near(const Walk *context, Expr *expr, int64 *away)
{
	MtsTimeWalk walk = {context->varno, time_of(context->table), NULL};

	return walk.time != InvalidAttrNumber &&
				   mts_near_is_near(&walk, (Node *) expr, away) &&
				   *away <= MAX_AWAY
			   ? context->table->layout.time_column
			   : -1;
}

/* What extract(epoch FROM ..), a numeric, is of; NULL: it is something else */
static Expr *
argument_of_epoch(const FuncExpr *call)
{
	const Const *field;

	if (!IsA(call, FuncExpr) || (call->funcid != F_EXTRACT_TEXT_TIMESTAMP &&
								 call->funcid != F_EXTRACT_TEXT_TIMESTAMPTZ))
		return NULL;
	field = linitial(call->args);
	return mts_near_is_constant((Node *) field) &&
				   pg_strcasecmp(TextDatumGetCString(field->constvalue),
								 "epoch") == 0
			   ? lsecond(call->args)
			   : NULL;
}

/* The test of a column, or what is made of the time, by an operator */
static MtsTest *
compare(const Walk *context, Expr *left, Oid opno, Oid right_type,
		Oid collation, bool want)
{
	Expr *time = argument_of_epoch((FuncExpr *) left);
	int column = column_of(context, time ? time : left);
	int64 away = MTS_ITSELF;

	if (time)
		return mts_comparison_epoch(context->table, column, opno, want);
	if (column < 0)
		column = column_near(context, left, &away);
	return column < 0 ? NULL
					  : mts_comparison_test(context->table, column, away,
											exprType((Node *) left), opno,
											right_type, collation, want);
}

static MtsTest *
walk_comparison(const Walk *context, OpExpr *op, bool want)
{
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	Oid opno = op->opno;
	MtsTest *test;

	if (opno == OID_TEXT_LIKE_OP)
		return want ? mts_comparison_like(context->table,
										  column_of(context, left), op)
					: NULL;
	if (is_constant_in_scan(context, left))
	{
		Expr *swap = left;

		left = right;
		right = swap;
		opno = get_commutator(opno);
		if (!OidIsValid(opno))
			return NULL;
	}
	if (!is_constant_in_scan(context, right))
		return NULL;
	test = compare(context, left, opno, exprType((Node *) right),
				   op->inputcollid, want);
	if (test)
		test->right = right;
	return test;
}

/* column = ANY (array), and column <> ALL (array) */
static MtsTest *
walk_array(const Walk *context, ScalarArrayOpExpr *op, bool want)
{
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	Oid element = get_base_element_type(exprType((Node *) right));
	MtsTest *test;

	if (!OidIsValid(element) || !is_constant_in_scan(context, right))
		return NULL;
	test = compare(context, left, op->opno, element, op->inputcollid, want);
	if (!test)
		return NULL;

	/* negated, "= ANY" is "<> ALL" */
	if (test->strategy !=
		(op->useOr == want ? BTEqualStrategyNumber : ROWCOMPARE_NE))
		return NULL;
	/* of a long list of fractions MongoDB is not asked about any */
	if (mts_evaluate_is_fraction(test))
		test->exact = false;
	test->is_array = true;
	test->right = right;
	return test;
}

/*
 * (a, b) < (x, y): at least a <= x, and a >= x if it is greater; its negation
 * the other way round.
 */
static MtsTest *
walk_row(const Walk *context, RowCompareExpr *row, bool want)
{
	Expr *left = linitial(row->largs);
	Expr *right = linitial(row->rargs);
	bool is_less = mts_row_is_less(row) == want;
	Oid opno =
		get_opfamily_member(linitial_oid(row->opfamilies),
							exprType((Node *) left), exprType((Node *) right),
							is_less ? BTLessEqualStrategyNumber
									: BTGreaterEqualStrategyNumber);
	MtsTest *test;

	if (!OidIsValid(opno) || !is_constant_in_scan(context, right))
		return NULL;
	test = compare(context, left, opno, exprType((Node *) right),
				   linitial_oid(row->inputcollids), true);
	if (!test)
		return NULL;
	test->right = right;
	test->exact = false;
	return test;
}

/* Is the test on nothing but the time of the points? */
static bool
is_time(const MtsTest *test)
{
	ListCell *lc;

	if (test->kind != MTS_TEST_AND && test->kind != MTS_TEST_OR)
		return test->kind == MTS_TEST_POINTS;
	foreach (lc, test->args)
		if (!is_time(lfirst(lc)))
			return false;
	return true;
}

static MtsTest *
walk_list(const Walk *context, BoolExpr *expr, bool want)
{
	bool all = (expr->boolop == AND_EXPR) == want;
	MtsTest *test =
		mts_comparison_make(all ? MTS_TEST_AND : MTS_TEST_OR, true);
	bool has_times = false;
	bool has_others = false;
	ListCell *lc;

	foreach (lc, expr->args)
	{
		MtsTest *arg = walk(context, lfirst(lc), want);

		if (arg)
		{
			test->args = lappend(test->args, arg);
			test->exact = test->exact && arg->exact;
			if (is_time(arg))
				has_times = true;
			else
				has_others = true;
		}
		else if (all)
			test->exact = false;
		else
			return NULL;
	}

	/* the bucket's time is only a bound of the points': no exact mixture */
	if (has_times && has_others)
		test->exact = false;
	return test->args == NIL ? NULL : test;
}

/* A boolean key by itself, or "key IS TRUE" and the like */
static MtsTest *
walk_bool(const Walk *context, Expr *expr, bool value)
{
	int column = column_of(context, expr);
	MtsTest *test;

	if (!mts_comparison_is_key(context->table, column) ||
		context->table->attributes[column].typid != BOOLOID ||
		context->table->attributes[column].key_type != MTS_KEY_IS_BOOL)
		return NULL;
	test = mts_comparison_make(MTS_TEST_FIELD, true);
	test->column = column;
	test->strategy = BTEqualStrategyNumber;
	test->right_type = BOOLOID;
	test->right = (Expr *) makeBoolConst(value, false);
	return test;
}

static MtsTest *
walk_null(const Walk *context, NullTest *expr, bool want)
{
	int column = column_of(context, expr->arg);
	bool is_null = (expr->nulltesttype == IS_NULL) == want;
	bool is_any;
	MtsTest *test;

	/* points in buckets have a time: true, or false, without conditions */
	if (!expr->argisrow && column >= 0 &&
		column == context->table->layout.time_column &&
		context->table->layout.time_kind != MTS_TIME_FLAT)
		return mts_comparison_make(is_null ? MTS_TEST_OR : MTS_TEST_AND, true);
	if (expr->argisrow || !mts_comparison_is_key(context->table, column))
		return NULL;
	/* MongoDB takes an array that holds a null for one, jsonb doesn't */
	is_any = context->table->attributes[column].key_type == MTS_KEY_ANY;
	if (is_any && !is_null)
		return NULL;
	test = mts_comparison_make(is_null ? MTS_TEST_NULL : MTS_TEST_NOT_NULL,
							   !is_any);
	test->column = column;
	return test;
}

static MtsTest *
walk(const Walk *context, Expr *expr, bool want)
{
	switch (nodeTag(expr))
	{
		case T_OpExpr:
			if (list_length(((OpExpr *) expr)->args) != 2)
				return NULL;
			return walk_comparison(context, (OpExpr *) expr, want);
		case T_ScalarArrayOpExpr:
			return walk_array(context, (ScalarArrayOpExpr *) expr, want);
		case T_RowCompareExpr:
			return walk_row(context, (RowCompareExpr *) expr, want);
		case T_NullTest:
			return walk_null(context, (NullTest *) expr, want);
		case T_BoolExpr:
			if (((BoolExpr *) expr)->boolop == NOT_EXPR)
				return walk(context, linitial(((BoolExpr *) expr)->args),
							!want);
			return walk_list(context, (BoolExpr *) expr, want);
		case T_BooleanTest:
			/* IS TRUE and IS FALSE are never null: only wanted as they are */
			if (want && ((BooleanTest *) expr)->booltesttype == IS_TRUE)
				return walk(context, ((BooleanTest *) expr)->arg, true);
			if (want && ((BooleanTest *) expr)->booltesttype == IS_FALSE)
				return walk(context, ((BooleanTest *) expr)->arg, false);
			return NULL;
		case T_Var:
		case T_RelabelType:
			return walk_bool(context, expr, want);
		default:
			return NULL;
	}
}

/* Can a query address the fields of all the keys in a test? */
static bool
is_addressable(const MtsTable *table, const MtsTest *test)
{
	const MtsPath *path;
	ListCell *lc;

	if (test->kind == MTS_TEST_AND || test->kind == MTS_TEST_OR)
	{
		foreach (lc, test->args)
			if (!is_addressable(table, lfirst(lc)))
				return false;
		return true;
	}
	path = &table->layout.columns[test->column].path;
	return test->kind == MTS_TEST_POINTS ||
		   (path->nsteps > 0 && mts_path_addressable(path) == path->nsteps);
}

/*
 * mts_pushdown_clause
 *		The test that a clause on the relation varno goes down as, or NULL.
 */
MtsTest *
mts_pushdown_clause(const MtsTable *table, Index varno, Expr *clause)
{
	Walk context = {table, varno};
	MtsTest *test = walk(&context, clause, true);

	return test && is_addressable(table, test) ? test : NULL;
}

/* Is the clause decided by its test, so that nothing checks it again? */
bool
mts_pushdown_is_exact(const MtsTest *test)
{
	return test->exact;
}

/*
 * mts_pushdown_init
 *		Prepare a test's right-hand sides for evaluation.
 */
void
mts_pushdown_init(MtsTest *test, PlanState *parent)
{
	ListCell *lc;

	foreach (lc, test->args)
		mts_pushdown_init(lfirst(lc), parent);
	if (test->right)
		test->state = ExecInitExpr(test->right, parent);
}
