/*
 * condition.c
 *		Evaluate conditions on values for all points of a bucket at once,
 *		before there are rows of them.
 *
 * A condition compares a column with a constant, or with a parameter of a
 * prepared statement, by an operator that neither fails nor tells what it has
 * seen.  So it can be evaluated before the other conditions of the query.
 * The executor evaluates it again, for the points that are left.
 */
#include "scan/condition.h"

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/lsyscache.h"

/*
 * Find the family of B-tree operators that compare words of a column's type
 * with values of a type.
 */
static Oid
family_of(Oid column, Oid value)
{
	bool is_integer = value == INT2OID || value == INT4OID || value == INT8OID;
	bool is_comparable;

	switch (column)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			is_comparable = is_integer;
			break;
		case FLOAT8OID:
		case TIMESTAMPTZOID:
			is_comparable = value == column;
			break;
		default:
			is_comparable = false;
	}
	return is_comparable
			   ? get_opclass_family(GetDefaultOpClass(column, BTREE_AM_OID))
			   : InvalidOid;
}

/* The strategy of an operator in a family; MTS_CONDITION_OTHER without one */
static int
strategy_of(Oid opno, Oid family)
{
	Oid negator = get_negator(opno);
	int strategy;

	if (!OidIsValid(family))
		return MTS_CONDITION_OTHER;
	strategy = get_op_opfamily_strategy(opno, family);
	if (strategy == 0 && OidIsValid(negator) &&
		get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber)
		return MTS_CONDITION_NE;
	return strategy;
}

/* Tell whether an expression has a value that is known, and cannot fail. */
static bool
is_known(const Node *node)
{
	return IsA(node, Const) ||
		   (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN);
}

/* Make the condition of a clause; NULL for others. */
static MtsCondition *
make(const MtsTable *table, Index varno, Node *clause, ExprContext *econtext)
{
	OpExpr *op = (OpExpr *) clause;
	MtsCondition *condition;
	Node *left, *right;
	Oid opno, function;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	opno = op->opno;
	if (IsA(right, Var))
	{
		left = lsecond(op->args);
		right = linitial(op->args);
		opno = get_commutator(opno);
	}
	if (!OidIsValid(opno) || !IsA(left, Var) ||
		((Var *) left)->varno != varno || ((Var *) left)->varattno <= 0 ||
		!is_known(right))
		return NULL;
	function = get_opcode(opno);
	if (!OidIsValid(function) || !func_strict(function) ||
		!get_func_leakproof(function) ||
		func_volatile(function) != PROVOLATILE_IMMUTABLE)
		return NULL;
	condition = palloc0(sizeof(MtsCondition));
	condition->column = ((Var *) left)->varattno - 1;
	condition->clause = clause;
	condition->strategy =
		strategy_of(opno, family_of(table->attributes[condition->column].typid,
									exprType(right)));
	fmgr_info(function, &condition->function);
	condition->collation = op->inputcollid;
	condition->typid = exprType(right);
	condition->value = ExecInitExpr((Expr *) right, NULL);
	condition->econtext = econtext;
	return condition;
}

/*
 * mts_condition_find
 *		Find the conditions among the clauses of a plan, as a List.
 *
 * There are none beside a volatile function, which expects certain rows.
 */
List *
mts_condition_find(const MtsTable *table, Index varno, List *clauses,
				   ExprContext *econtext)
{
	List *conditions = NIL;
	ListCell *lc;

	if (contain_volatile_functions((Node *) clauses))
		return NIL;
	foreach (lc, clauses)
	{
		MtsCondition *condition = make(table, varno, lfirst(lc), econtext);

		if (condition)
			conditions = lappend(conditions, condition);
	}
	return conditions;
}

/* Evaluate the comparison of each word with a constant. */
#define SELECT(comparison) \
	do \
		for (int i = 0; i < n; i++) \
			wanted[i] &= comparison; \
	while (0)

static void
select_doubles(int strategy, const Datum *values, int n, float8 d,
			   bool *wanted)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			SELECT(float8_lt(DatumGetFloat8(values[i]), d));
			break;
		case BTLessEqualStrategyNumber:
			SELECT(float8_le(DatumGetFloat8(values[i]), d));
			break;
		case BTEqualStrategyNumber:
			SELECT(float8_eq(DatumGetFloat8(values[i]), d));
			break;
		case BTGreaterEqualStrategyNumber:
			SELECT(float8_ge(DatumGetFloat8(values[i]), d));
			break;
		case BTGreaterStrategyNumber:
			SELECT(float8_gt(DatumGetFloat8(values[i]), d));
			break;
		case MTS_CONDITION_NE:
			SELECT(float8_ne(DatumGetFloat8(values[i]), d));
			break;
	}
}

static void
select_integers(int strategy, const Datum *values, int n, int64 word,
				bool *wanted)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			SELECT((int64) values[i] < word);
			break;
		case BTLessEqualStrategyNumber:
			SELECT((int64) values[i] <= word);
			break;
		case BTEqualStrategyNumber:
			SELECT((int64) values[i] == word);
			break;
		case BTGreaterEqualStrategyNumber:
			SELECT((int64) values[i] >= word);
			break;
		case BTGreaterStrategyNumber:
			SELECT((int64) values[i] > word);
			break;
		case MTS_CONDITION_NE:
			SELECT((int64) values[i] != word);
			break;
	}
}

/* Call the operator for each value that is not null. */
static void
select_others(MtsCondition *condition, const Datum *values,
			  const bool *missing, int n, Datum value, bool *wanted)
{
	for (int i = 0; i < n; i++)
		wanted[i] = wanted[i] && !(missing && missing[i]) &&
					DatumGetBool(FunctionCall2Coll(&condition->function,
												   condition->collation,
												   values[i], value));
}

/* An integer of a type, or a time */
static int64
integer_of(Oid typid, Datum value)
{
	switch (typid)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/*
 * mts_condition_select
 *		Clear wanted for the points whose value does not fulfil a condition.
 *
 * Integers are values of 64 bits.  missing tells which values are null; it is
 * NULL if none is.
 */
void
mts_condition_select(MtsCondition *condition, Oid typid, const Datum *values,
					 const bool *missing, int n, bool *wanted)
{
	bool isnull;
	Datum value = ExecEvalExpr(condition->value, condition->econtext, &isnull);

	if (isnull)
	{
		memset(wanted, false, n * sizeof(bool));
		return;
	}
	if (condition->strategy == MTS_CONDITION_OTHER)
		select_others(condition, values, missing, n, value, wanted);
	else if (typid == FLOAT8OID)
		select_doubles(condition->strategy, values, n, DatumGetFloat8(value),
					   wanted);
	else
		select_integers(condition->strategy, values, n,
						integer_of(condition->typid, value), wanted);
	for (int i = 0; i < n && missing; i++)
		wanted[i] &= !missing[i];
}

/* mts_condition_holds: tell whether a value fulfils a condition. */
bool
mts_condition_holds(MtsCondition *condition, Datum value, bool isnull)
{
	bool other_isnull;
	Datum other =
		ExecEvalExpr(condition->value, condition->econtext, &other_isnull);

	return !isnull && !other_isnull &&
		   DatumGetBool(FunctionCall2Coll(&condition->function,
										  condition->collation, value, other));
}
