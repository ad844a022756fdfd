/*
 * fold_time.c
 *		Which expressions of time never go back?
 *
 * Where such an expression has the same value at two times, it has it at all
 * times between them, so a bucket is folded without a look at its points'
 * times.  Those that see local times do go back when clocks are set back:
 * their zones are noted (near.c), and a stretch of time with a change in
 * or near it is not taken for steady.
 */
#include "fold_time.h"

#include <math.h>

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

static bool is_steady(const MtsTimeWalk *walk, Node *expr);

/* Is this the name of a field of times, or of a unit? */
static bool
is_named(Node *expr, const char *name)
{
	Const *field = (Const *) expr;

	return IsA(expr, Const) && !field->constisnull &&
		   field->consttype == TEXTOID &&
		   pg_strcasecmp(TextDatumGetCString(field->constvalue), name) == 0;
}

/* A constant that is a number, about; 0 for others */
static double
number_of(Node *expr)
{
	Datum value;

	if (!mts_near_is_constant(expr))
		return 0;
	value = ((Const *) expr)->constvalue;
	switch (exprType(expr))
	{
		case INT4OID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		case FLOAT8OID:
			return DatumGetFloat8(value);
		case NUMERICOID:
			return strtod(DatumGetCString(
							  DirectFunctionCall1(numeric_out, value)),
						  NULL);
		default:
			return 0;
	}
}

/* Is this a constant that is a number above zero? */
static bool
is_positive(Node *expr)
{
	double n = number_of(expr);

	return n > 0 && !isinf(n);
}

/* Is a function of this name TimescaleDB's? */
static bool
is_of_timescale(Oid function, const char *name)
{
	Oid extension = getExtensionOfObject(ProcedureRelationId, function);
	const char *extension_name =
		OidIsValid(extension) ? get_extension_name(extension) : NULL;

	return extension_name && strcmp(extension_name, "timescaledb") == 0 &&
		   strcmp(get_func_name(function), name) == 0;
}

/*
 * time_bucket(width, time), perhaps with a constant offset or origin.  Those
 * with a zone see local times.
 */
static bool
is_time_bucket(const MtsTimeWalk *walk, Oid function, List *args)
{
	Node *third = list_length(args) == 3 ? lthird(args) : NULL;

	return list_length(args) <= 3 && list_length(args) >= 2 &&
		   mts_near_is_constant(linitial(args)) &&
		   exprType(linitial(args)) == INTERVALOID &&
		   (!third ||
			(mts_near_is_constant(third) && exprType(third) != TEXTOID)) &&
		   is_steady(walk, lsecond(args)) &&
		   is_of_timescale(function, "time_bucket");
}

/*
 * Functions of the time, and perhaps of constants.  None of them fails at a
 * time that no point has, as a cast to integer would.
 */
static bool
is_steady_call(const MtsTimeWalk *walk, Oid function, List *args)
{
	Node *first = args != NIL ? linitial(args) : NULL;
	Node *second = list_length(args) > 1 ? lsecond(args) : NULL;

	switch (function)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return mts_near_is_constant(first) && is_steady(walk, second);
		case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
		case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
			return mts_near_is_constant(first) &&
				   mts_near_is_constant(lthird(args)) &&
				   is_steady(walk, second);
		case F_DATE_TIMESTAMP:
		case F_TIMESTAMP_DATE:
		case F_TO_TIMESTAMP_FLOAT8:
		case F_FLOOR_NUMERIC:
		case F_FLOOR_FLOAT8:
		case F_FLOAT8_NUMERIC:
		case F_FLOAT8_INT8:
		case F_NUMERIC_FLOAT8:
		case F_NUMERIC_INT8:
		case F_INT8_NUMERIC:
		case F_INT8_FLOAT8:
			return is_steady(walk, first);
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMP:
			return is_named(first, "epoch") && is_steady(walk, second);
		default:
			return is_time_bucket(walk, function, args);
	}
}

/* An instant or a local time that is shifted, not by days that may be shorter */
static bool
is_steady_shift(const MtsTimeWalk *walk, List *args)
{
	bool has_days;
	int64 seconds;

	return is_steady(walk, linitial(args)) &&
		   mts_near_shift(lsecond(args), &has_days, &seconds) &&
		   !(has_days && exprType(linitial(args)) == TIMESTAMPTZOID);
}

/* The arguments of a call of one of these functions, or operators; else NIL */
static List *
args_of(Node *expr, const Oid functions[4])
{
	Oid function = InvalidOid;
	List *args = NIL;

	if (expr && IsA(expr, FuncExpr))
	{
		function = ((FuncExpr *) expr)->funcid;
		args = ((FuncExpr *) expr)->args;
	}
	else if (expr && IsA(expr, OpExpr))
	{
		set_opfuncid((OpExpr *) expr);
		function = ((OpExpr *) expr)->opfuncid;
		args = ((OpExpr *) expr)->args;
	}
	for (int i = 0; i < 4 && OidIsValid(function); i++)
		if (functions[i] == function)
			return args;
	return NIL;
}

/* The argument of floor(), which may be cast to float8; NULL for others */
static Node *
floored(Node *expr)
{
	static const Oid cast[4] = {F_FLOAT8_NUMERIC};
	static const Oid floors[4] = {F_FLOOR_NUMERIC, F_FLOOR_FLOAT8};
	List *args = args_of(expr, cast);

	args = args_of(args != NIL ? linitial(args) : expr, floors);
	return args != NIL ? linitial(args) : NULL;
}

/*
 * date_trunc('hour', t) + interval * floor(extract(minute from t) / number), and
 * the same of seconds in a minute: what is added is less than the unit, so the
 * next one begins no earlier.
 */
static bool
is_steady_part(const MtsTimeWalk *walk, List *args)
{
	static const Oid truncate[4] = {F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
									F_DATE_TRUNC_TEXT_TIMESTAMP};
	static const Oid times[4] = {F_INTERVAL_MUL};
	static const Oid divide[4] = {F_NUMERIC_DIV, F_FLOAT8DIV};
	static const Oid extract[4] = {F_EXTRACT_TEXT_TIMESTAMPTZ,
								   F_EXTRACT_TEXT_TIMESTAMP,
								   F_DATE_PART_TEXT_TIMESTAMPTZ,
								   F_DATE_PART_TEXT_TIMESTAMP};
	List *begin = args_of(linitial(args), truncate);
	List *product = args_of(lsecond(args), times);
	List *ratio =
		product != NIL ? args_of(floored(lsecond(product)), divide) : NIL;
	List *field = ratio != NIL ? args_of(linitial(ratio), extract) : NIL;
	bool is_hour;
	bool has_days;
	int64 seconds;
	Interval *interval;

	if (begin == NIL || field == NIL || !is_positive(lsecond(ratio)) ||
		!mts_near_shift(linitial(product), &has_days, &seconds) || has_days)
		return false;
	interval = DatumGetIntervalP(((Const *) linitial(product))->constvalue);
	is_hour = is_named(linitial(begin), "hour");
	return (is_hour || is_named(linitial(begin), "minute")) &&
		   is_named(linitial(field), is_hour ? "minute" : "second") &&
		   equal(lsecond(begin), lsecond(field)) &&
		   is_steady(walk, linitial(args)) && interval->time > 0 &&
		   interval->time * 60.0 / number_of(lsecond(ratio)) <=
			   (is_hour ? USECS_PER_HOUR : USECS_PER_MINUTE);
}

/* What a steady number doesn't exceed at any time that PostgreSQL knows */
static double
bound_of(Node *expr)
{
	Node *first = IsA(expr, FuncExpr) ? linitial(((FuncExpr *) expr)->args)
				  : IsA(expr, OpExpr) ? linitial(((OpExpr *) expr)->args)
									  : NULL;
	double c;

	if (first && is_named(first, "epoch"))
		return 1e13;
	if (IsA(expr, FuncExpr))
		return bound_of(first) + 1;
	if (!first)
		return HUGE_VAL;
	c = number_of(lsecond(((OpExpr *) expr)->args));
	switch (((OpExpr *) expr)->opfuncid)
	{
		case F_FLOAT8DIV:
		case F_NUMERIC_DIV:
		case F_INT8DIV:
		case F_INT84DIV:
			return bound_of(first) / c;
		case F_FLOAT8MUL:
		case F_NUMERIC_MUL:
		case F_INT8MUL:
		case F_INT84MUL:
			return bound_of(first) * c;
		default:
			return bound_of(first) + c;
	}
}

/* x + c, x - c, x * c and x / c, where c is positive */
static bool
is_steady_operator(const MtsTimeWalk *walk, Oid function, List *args)
{
	switch (function)
	{
		case F_FLOAT8PL:
		case F_FLOAT8MI:
		case F_FLOAT8MUL:
		case F_FLOAT8DIV:
		case F_NUMERIC_ADD:
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_DIV:
		case F_INT8DIV:
		case F_INT84DIV:
			return is_steady(walk, linitial(args)) &&
				   is_positive(lsecond(args));
		case F_INT8MUL:
		case F_INT84MUL:
			/* it doesn't overflow, either */
			return is_steady(walk, linitial(args)) &&
				   is_positive(lsecond(args)) &&
				   bound_of(linitial(args)) * number_of(lsecond(args)) <
					   (double) PG_INT64_MAX;
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
			return is_steady_shift(walk, args) || is_steady_part(walk, args);
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			return is_steady_shift(walk, args);
		default:
			return false;
	}
}

static bool
is_steady(const MtsTimeWalk *walk, Node *expr)
{
	int64 away;

	if (mts_near_is_near(walk, expr, &away))
		return true;
	switch (nodeTag(expr))
	{
		case T_RelabelType:
			return is_steady(walk, (Node *) ((RelabelType *) expr)->arg);
		case T_FuncExpr:
			return is_steady_call(walk, ((FuncExpr *) expr)->funcid,
								  ((FuncExpr *) expr)->args);
		case T_OpExpr:
			set_opfuncid((OpExpr *) expr);
			return is_steady_operator(walk, ((OpExpr *) expr)->opfuncid,
									  ((OpExpr *) expr)->args);
		default:
			return false;
	}
}

/*
 * mts_fold_is_steady
 *		Is an expression a function of time that never goes back?
 *
 * time is the attribute of the time.  The zones by whose local times it goes
 * are added to *zones, a list of MtsSteady.
 */
bool
mts_fold_is_steady(Node *expr, Index varno, AttrNumber time, List **zones)
{
	MtsTimeWalk walk = {varno, time, zones};

	return is_steady(&walk, expr);
}

/*
 * mts_fold_in_step
 *		Do local times go like instants from first to last?
 */
bool
mts_fold_in_step(List *zones, MtsTime first, MtsTime last)
{
	ListCell *lc;

	foreach (lc, zones)
	{
		MtsSteady *steady = lfirst(lc);
		/* before 2000 seconds are rounded up */
		pg_time_t from = timestamptz_to_time_t(first) - 1 - steady->away;
		pg_time_t to = timestamptz_to_time_t(last) + steady->away;
		long before_offset, after_offset;
		const pg_tz *zone = steady->zone ? steady->zone : session_timezone;
		int before_dst, after_dst, result;

		if (steady->known == zone && steady->from <= from && to < steady->to)
			continue;
		steady->known = zone;
		steady->from = from;
		steady->to = from;
		result =
			pg_next_dst_boundary(&from, &before_offset, &before_dst,
								 &steady->to, &after_offset, &after_dst, zone);
		if (result < 0)
		{
			steady->to = from;
			return false;
		}
		if (result == 0)
			steady->to = PG_INT64_MAX;
		if (to >= steady->to)
			return false;
	}
	return true;
}
