/*
 * fold_time.c
 *		Which expressions of time never go back?
 *
 * Where such an expression has the same value at two times, it has it at all
 * times between them, so a bucket is folded without a look at its points'
 * times.  Those that see local times do go back when clocks are set back:
 * their zones are noted, and a stretch of time with a change in it is not
 * taken for steady.
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

/* The zone of the session, in a list of names */
#define SESSION_ZONE ""

typedef struct Walk
{
	Index varno;
	AttrNumber time;
	List **zones;
} Walk;

static bool is_steady(const Walk *walk, Node *expr);

static void
note_zone(const Walk *walk, const char *name)
{
	*walk->zones = lappend(*walk->zones, makeString(pstrdup(name)));
}

/* A zone whose name can't be an abbreviation, which may mean another one */
static bool
note_named_zone(const Walk *walk, Node *expr)
{
	Const *name = (Const *) expr;
	char *zone;

	if (!IsA(expr, Const) || name->constisnull || name->consttype != TEXTOID)
		return false;
	zone = TextDatumGetCString(name->constvalue);
	if (strcmp(zone, "UTC") == 0)
		return true;
	if (strchr(zone, '/') == NULL || pg_tzset(zone) == NULL)
		return false;
	note_zone(walk, zone);
	return true;
}

static bool
is_epoch(Node *expr)
{
	Const *field = (Const *) expr;

	return IsA(expr, Const) && !field->constisnull &&
		   field->consttype == TEXTOID &&
		   pg_strcasecmp(TextDatumGetCString(field->constvalue), "epoch") == 0;
}

/* Is this a constant that is a number above zero? */
static bool
is_positive(Node *expr)
{
	Const *value = (Const *) expr;

	if (!IsA(expr, Const) || value->constisnull)
		return false;
	switch (value->consttype)
	{
		case INT4OID:
			return DatumGetInt32(value->constvalue) > 0;
		case INT8OID:
			return DatumGetInt64(value->constvalue) > 0;
		case FLOAT8OID:
			return DatumGetFloat8(value->constvalue) > 0 &&
				   !isinf(DatumGetFloat8(value->constvalue)) &&
				   !isnan(DatumGetFloat8(value->constvalue));
		case NUMERICOID:
			return DatumGetBool(DirectFunctionCall2(
					   numeric_gt, value->constvalue,
					   DirectFunctionCall1(int4_numeric, Int32GetDatum(0)))) &&
				   !numeric_is_nan(DatumGetNumeric(value->constvalue)) &&
				   !numeric_is_inf(DatumGetNumeric(value->constvalue));
		default:
			return false;
	}
}

static bool
is_constant(Node *expr)
{
	return IsA(expr, Const) && !((Const *) expr)->constisnull;
}

/*
 * Is this the time itself?  Only then are a zone's clocks looked at where they
 * count; of other instants they would have to be at these.
 */
static bool
is_time(const Walk *walk, Node *expr)
{
	Var *var = (Var *) expr;

	return IsA(expr, Var) && var->varno == walk->varno &&
		   var->varlevelsup == 0 && var->varattno == walk->time;
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
is_time_bucket(const Walk *walk, Oid function, List *args)
{
	Node *third = list_length(args) == 3 ? lthird(args) : NULL;

	return list_length(args) <= 3 && list_length(args) >= 2 &&
		   is_constant(linitial(args)) &&
		   exprType(linitial(args)) == INTERVALOID &&
		   (!third || (is_constant(third) && exprType(third) != TEXTOID)) &&
		   is_steady(walk, lsecond(args)) &&
		   is_of_timescale(function, "time_bucket");
}

/*
 * Functions of the time, and perhaps of constants.  None of them fails at a
 * time that no point has, as a cast to integer would.
 */
static bool
is_steady_call(const Walk *walk, Oid function, List *args)
{
	Node *first = args != NIL ? linitial(args) : NULL;
	Node *second = list_length(args) > 1 ? lsecond(args) : NULL;

	switch (function)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			note_zone(walk, SESSION_ZONE);
			return is_constant(first) && is_time(walk, second);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return is_constant(first) && is_steady(walk, second);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return is_constant(first) && is_time(walk, second) &&
				   note_named_zone(walk, lthird(args));
		case F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP:
		case F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ:
			return is_constant(first) && is_constant(lthird(args)) &&
				   is_steady(walk, second);
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
			return note_named_zone(walk, first) && is_time(walk, second);
		case F_DATE_TIMESTAMPTZ:
		case F_TIMESTAMP_TIMESTAMPTZ:
			note_zone(walk, SESSION_ZONE);
			return is_time(walk, first);
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
			return is_epoch(first) && is_steady(walk, second);
		default:
			return is_time_bucket(walk, function, args);
	}
}

/* x + c, x - c, x * c and x / c, where c is positive */
static bool
is_steady_operator(const Walk *walk, Oid function, List *args)
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
		default:
			return false;
	}
}

static bool
is_steady(const Walk *walk, Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_Var:
			return is_time(walk, expr);
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
 * time is the attribute of the time.  The names of zones by whose local times
 * it goes are added to *zones.
 */
bool
mts_fold_is_steady(Node *expr, Index varno, AttrNumber time, List **zones)
{
	Walk walk = {varno, time, zones};

	return is_steady(&walk, expr);
}

/* Add a zone to a list of MtsSteady. */
List *
mts_fold_add_zone(List *zones, const pg_tz *zone)
{
	MtsSteady *steady = palloc0(sizeof(MtsSteady));

	steady->zone = zone;
	return lappend(zones, steady);
}

/*
 * mts_fold_in_step
 *		Do local times go like instants from first to last?
 */
bool
mts_fold_in_step(List *zones, MtsTime first, MtsTime last)
{
	/* before 2000 seconds are rounded up */
	pg_time_t from = timestamptz_to_time_t(first) - 1;
	pg_time_t to = timestamptz_to_time_t(last);
	ListCell *lc;

	foreach (lc, zones)
	{
		MtsSteady *steady = lfirst(lc);
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
