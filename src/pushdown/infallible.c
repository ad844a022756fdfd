/*
 * infallible.c
 *		Determine which expressions fail for no row.
 *
 * Such an expression may be evaluated for rows that PostgreSQL would have
 * removed before.  PostgreSQL marks functions that reveal nothing of their
 * arguments, not even by an error, as leakproof.  Others are listed here.
 * Expressions that are monotonic in the time cannot fail within
 * MTS_SAFE_SECONDS of 1970; beyond that they may.
 *
 * Sums that overflow are not considered: they fail in an aggregate.
 */
#include "pushdown/infallible.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pushdown/monotonic.h"

/* The relation whose expressions are examined */
typedef struct Target
{
	Index varno;
	AttrNumber time; /* 0 without a time */
} Target;

/* Functions that cannot fail, though they are not leakproof */
static const Oid infallible[] = {
	F_NOW,          F_ABS_FLOAT4,   F_ABS_FLOAT8,     F_ABS_NUMERIC,
	F_FLOAT4UM,     F_FLOAT8UM,     F_NUMERIC_UMINUS, F_SIGN_FLOAT8,
	F_SIGN_NUMERIC, F_CEIL_FLOAT8,  F_CEILING_FLOAT8, F_FLOOR_FLOAT8,
	F_ROUND_FLOAT8, F_TRUNC_FLOAT8, F_NUMERIC_EQ,     F_NUMERIC_NE,
	F_NUMERIC_LT,   F_NUMERIC_LE,   F_NUMERIC_GT,     F_NUMERIC_GE,
	F_NUMERIC_CMP,
};

static bool can_fail(Node *node, const Target *target);

/* A checker of check_functions_in_node() */
static bool
function_can_fail(Oid function, void *context)
{
	for (size_t i = 0; i < lengthof(infallible); i++)
		if (infallible[i] == function)
			return false;
	return !get_func_leakproof(function);
}

/*
 * Tell whether an expression is a time truncated to a unit, plus an interval
 * times a field, as BI tools group by five minutes:
 * date_trunc('hour', ts) + interval '5 minutes' * floor(..).
 */
static bool
is_time_plus_multiple(const Target *target, const OpExpr *plus)
{
	const OpExpr *times;
	const Const *constant;
	const Interval *width;
	double time, factor;

	/* other operators may have one operand */
	if (get_opcode(plus->opno) != F_TIMESTAMPTZ_PL_INTERVAL &&
		get_opcode(plus->opno) != F_TIMESTAMP_PL_INTERVAL)
		return false;
	times = lsecond(plus->args);
	if (!IsA(times, OpExpr) || get_opcode(times->opno) != F_INTERVAL_MUL ||
		!mts_monotonic_is_constant(linitial(times->args)))
		return false;
	constant = linitial(times->args);
	width = DatumGetIntervalP(constant->constvalue);
	return mts_monotonic_is_bounded(linitial(plus->args), target->varno,
									target->time, &time) &&
		   mts_monotonic_is_bounded(lsecond(times->args), target->varno,
									target->time, &factor) &&
		   width->month == 0 &&
		   time + factor * (fabs((double) width->day) * SECS_PER_DAY +
							fabs((double) width->time) / USECS_PER_SEC) <=
			   2.0 * MTS_SAFE_SECONDS;
}

/* Tell whether the arguments of a node can fail. */
static bool
parts_can_fail(Node *node, const Target *target)
{
	return expression_tree_walker(node, can_fail, (void *) target);
}

static bool
can_fail(Node *node, const Target *target)
{
	if (node == NULL)
		return false;
	if (target->time > 0 &&
		mts_monotonic_is(node, target->varno, target->time))
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_CaseTestExpr:
		case T_SQLValueFunction:
			return false;
		case T_Param:
			/* a subquery could fail */
			return ((Param *) node)->paramkind != PARAM_EXTERN;
		case T_MinMaxExpr:
		{
			TypeCacheEntry *type =
				lookup_type_cache(((MinMaxExpr *) node)->minmaxtype,
								  TYPECACHE_CMP_PROC);

			return !OidIsValid(type->cmp_proc) ||
				   function_can_fail(type->cmp_proc, NULL) ||
				   parts_can_fail(node, target);
		}
		case T_OpExpr:
			if (target->time > 0 &&
				is_time_plus_multiple(target, (OpExpr *) node))
				return false;
			__attribute__((fallthrough));
		case T_FuncExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
			return check_functions_in_node(node, function_can_fail, NULL) ||
				   parts_can_fail(node, target);
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_List:
		case T_TargetEntry:
			return parts_can_fail(node, target);
		default:
			return true;
	}
}

/*
 * mts_infallible_is
 *		Tell whether an expression of the relation varno fails for no row; time
 *		is the attribute of the points' time, or 0.
 */
bool
mts_infallible_is(Node *expr, Index varno, AttrNumber time)
{
	Target target = {varno, time};

	return !can_fail(expr, &target);
}
