/*
 * fold_label.c
 *		Which steps of time tell the value of an expression?
 *
 * A step is an expression that never goes back (fold_time.c).  Such a one is
 * its own step.  Labels go back: the hour of the day, the name of a weekday.
 * But as long as date_trunc('hour', t) stays the same, so does the hour of t:
 * truncated times are the steps of labels.  Labels are small numbers and texts
 * and what is made of them by functions that don't fail, for they are looked
 * at where a bucket begins, a time that perhaps no point has.
 */
#include "fold_label.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "fold_time.h"

/* Numbers that are added to labels are up to this, so that nothing overflows */
#define MAX_ADDED 1000

typedef struct LabelWalk
{
	Index varno;
	AttrNumber time;
	List **steps;
	List **zones;
} LabelWalk;

static bool is_number(const LabelWalk *walk, Node *expr);
static bool is_label(const LabelWalk *walk, Node *expr);

/* Within which unit does a field of a time stay the same?  NULL: unknown */
static const char *
unit_of_field(const char *field)
{
	static const char *const units[][2] = {
		{"minute", "minute"}, {"hour", "hour"},       {"dow", "day"},
		{"isodow", "day"},    {"day", "day"},         {"doy", "day"},
		{"week", "week"},     {"month", "month"},     {"quarter", "quarter"},
		{"isoyear", "week"},  {"year", "year"},       {"decade", "year"},
		{"century", "year"},  {"millennium", "year"},
	};

	for (size_t i = 0; i < lengthof(units); i++)
		if (pg_strcasecmp(field, units[i][0]) == 0)
			return units[i][1];
	return NULL;
}

/*
 * Within which unit does what to_char makes of a time stay the same?  NULL:
 * it shows parts of seconds.  Taking text between quotes for a pattern does no
 * harm.
 */
static const char *
unit_of_pattern(const char *pattern)
{
	static const char *const units[][2] = {
		{"ms", NULL},     {"us", NULL},    {"ff", NULL},   {"ss", "second"},
		{"mi", "minute"}, {"hh", "hour"},  {"am", "hour"}, {"pm", "hour"},
		{"a.m", "hour"},  {"p.m", "hour"},
	};
	char *lower = pstrdup(pattern);

	for (char *c = lower; *c; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	for (size_t i = 0; i < lengthof(units); i++)
		if (strstr(lower, units[i][0]))
			return units[i][1];
	return "day";
}

/* Add a step: the time truncated to a unit. */
static bool
add_step(const LabelWalk *walk, const char *unit, Node *time)
{
	Oid type = exprType(time);
	Oid function = type == TIMESTAMPTZOID ? F_DATE_TRUNC_TEXT_TIMESTAMPTZ
				   : type == TIMESTAMPOID ? F_DATE_TRUNC_TEXT_TIMESTAMP
										  : InvalidOid;
	Node *step = time;

	if (OidIsValid(function))
		step = (Node *) makeFuncExpr(
			function, type,
			list_make2(makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
								 CStringGetTextDatum(unit), false, false),
					   time),
			InvalidOid, DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
	*walk->steps = list_append_unique(*walk->steps, step);
	return mts_fold_is_steady(step, walk->varno, walk->time, walk->zones);
}

/* A field of a time, or what to_char makes of it */
static bool
is_part(const LabelWalk *walk, const FuncExpr *call)
{
	Node *field, *time;
	char *name;
	const char *unit;

	switch (call->funcid)
	{
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			field = linitial(call->args);
			time = lsecond(call->args);
			break;
		case F_TO_CHAR_TIMESTAMP_TEXT:
		case F_TO_CHAR_TIMESTAMPTZ_TEXT:
			time = linitial(call->args);
			field = lsecond(call->args);
			break;
		default:
			return false;
	}
	if (!mts_near_is_constant(field))
		return false;
	name = TextDatumGetCString(((Const *) field)->constvalue);
	unit = time == linitial(call->args) ? unit_of_pattern(name)
										: unit_of_field(name);
	/* a date has no time of day: the call fails */
	if (unit && call->funcid == F_EXTRACT_TEXT_DATE &&
		(strcmp(unit, "hour") == 0 || strcmp(unit, "minute") == 0))
		return false;
	return unit && add_step(walk, unit, time);
}

/* Functions of numbers and texts of which none fails on a label */
static bool
is_harmless_call(Oid function)
{
	switch (function)
	{
		case F_TRUNC_NUMERIC:
		case F_TRUNC_NUMERIC_INT4:
		case F_TRUNC_FLOAT8:
		case F_DTRUNC:
		case F_FLOOR_NUMERIC:
		case F_FLOOR_FLOAT8:
		case F_INT4_NUMERIC:
		case F_INT4_FLOAT8:
		case F_INT8_NUMERIC:
		case F_INT8_FLOAT8:
		case F_INT8_INT4:
		case F_FLOAT8_NUMERIC:
		case F_FLOAT8_INT4:
		case F_NUMERIC_FLOAT8:
		case F_NUMERIC_INT4:
			return true;
		default:
			return false;
	}
}

/* A small number; above zero, where it divides */
static bool
is_small(Node *expr, int least)
{
	Const *value = (Const *) expr;
	int n;

	if (!mts_near_is_constant(expr) || value->consttype != INT4OID)
		return false;
	n = DatumGetInt32(value->constvalue);
	return n >= least && n <= MAX_ADDED;
}

static bool
is_number_operator(const LabelWalk *walk, OpExpr *op)
{
	Node *first = linitial(op->args);
	Node *second = llast(op->args);

	set_opfuncid(op);
	switch (op->opfuncid)
	{
		case F_INT4PL:
		case F_INT4MI:
			return (is_small(second, -MAX_ADDED) && is_number(walk, first)) ||
				   (is_small(first, -MAX_ADDED) && is_number(walk, second));
		case F_INT4MOD:
			return is_small(second, 1) && is_number(walk, first);
		default:
			return false;
	}
}

/* A field of a time, a number made of one, or to_char's text */
static bool
is_number(const LabelWalk *walk, Node *expr)
{
	FuncExpr *call = (FuncExpr *) expr;

	if (IsA(expr, OpExpr))
		return is_number_operator(walk, (OpExpr *) expr);
	return IsA(expr, FuncExpr) &&
		   (is_part(walk, call) ||
			(is_harmless_call(call->funcid) &&
			 is_number(walk, linitial(call->args)) &&
			 (list_length(call->args) == 1 ||
			  mts_near_is_constant(llast(call->args)))));
}

/* label = constant */
static bool
is_label_equality(const LabelWalk *walk, OpExpr *op)
{
	set_opfuncid(op);
	return (op->opfuncid == F_INT4EQ || op->opfuncid == F_NUMERIC_EQ ||
			op->opfuncid == F_FLOAT8EQ || op->opfuncid == F_TEXTEQ) &&
		   mts_near_is_constant(llast(op->args)) &&
		   is_label(walk, linitial(op->args));
}

/* CASE WHEN label = constant THEN label ... */
static bool
is_label_case(const LabelWalk *walk, const CaseExpr *expr)
{
	ListCell *lc;

	if (expr->arg && !is_label(walk, (Node *) expr->arg))
		return false;
	foreach (lc, expr->args)
	{
		CaseWhen *when = lfirst_node(CaseWhen, lc);

		if (!IsA(when->expr, OpExpr) ||
			!is_label_equality(walk, (OpExpr *) when->expr) ||
			!is_label(walk, (Node *) when->result))
			return false;
	}
	return !expr->defresult || is_label(walk, (Node *) expr->defresult);
}

static bool
is_label(const LabelWalk *walk, Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_Const:
		case T_CaseTestExpr:
			return true;
		case T_CaseExpr:
			return is_label_case(walk, (CaseExpr *) expr);
		case T_CoerceViaIO:
			return exprType(expr) == TEXTOID &&
				   is_label(walk, (Node *) ((CoerceViaIO *) expr)->arg);
		default:
			return is_number(walk, expr);
	}
}

/*
 * mts_fold_steps
 *		Are there steps that tell the value of an expression of time?
 *
 * They are added to *steps, and the zones that they see to *zones, which have
 * no meaning when there are none.
 */
bool
mts_fold_steps(Node *expr, Index varno, AttrNumber time, List **steps,
			   List **zones)
{
	LabelWalk walk = {varno, time, steps, zones};

	if (!mts_fold_is_steady(expr, varno, time, zones))
		return is_label(&walk, expr);
	*steps = list_append_unique(*steps, expr);
	return true;
}
