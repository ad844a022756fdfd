/*
 * near.c
 *		Which expressions are times that are never far from a point's time?
 *
 * Dates, local times and instants that are made of it by truncating it,
 * shifting it and seeing it in zones.  How far they can be from it bounds the
 * times for which a condition on them holds.  And they don't go back while no
 * clock is set between the time and them: how far around the time that is is
 * noted for each zone that is looked at.
 *
 * Nothing is allocated but what is noted, in the current memory context.
 */
#include "near.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

/* How far apart two zones can show an instant, with room to spare: seconds */
#define ZONES_APART (2 * (int64) SECS_PER_DAY)

/* By how much clocks are set, at most */
#define LARGEST_CHANGE ((int64) SECS_PER_DAY)

/* Days of a unit of which it isn't known how long it is: of a millennium */
#define LONGEST_UNIT (366 * 1000)

/* Where else than in an argument a zone, or a unit, is found */
#define NOWHERE (-1)
#define OF_SESSION (-2)
#define A_DAY (-2)

/* What a function makes of a time; arguments by their places */
static const struct
{
	Oid function;
	int time;
	int zone;
	bool makes_instant; /* of a local time: clocks count where that is */
	int unit;           /* to which it truncates */
} functions[] = {
	{F_DATE_TRUNC_TEXT_TIMESTAMP, 1, NOWHERE, false, 0},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ, 1, OF_SESSION, false, 0},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, 1, 2, false, 0},
	{F_DATE_TIMESTAMP, 0, NOWHERE, false, A_DAY},
	{F_DATE_TIMESTAMPTZ, 0, OF_SESSION, false, A_DAY},
	{F_TIMESTAMP_DATE, 0, NOWHERE, false, NOWHERE},
	{F_TIMESTAMP_TIMESTAMPTZ, 0, OF_SESSION, false, NOWHERE},
	{F_TIMEZONE_TEXT_TIMESTAMPTZ, 1, 0, false, NOWHERE},
	{F_TIMESTAMPTZ_DATE, 0, OF_SESSION, true, NOWHERE},
	{F_TIMESTAMPTZ_TIMESTAMP, 0, OF_SESSION, true, NOWHERE},
	{F_TIMEZONE_TEXT_TIMESTAMP, 1, 0, true, NOWHERE},
};

bool
mts_near_is_constant(Node *expr)
{
	return IsA(expr, Const) && !((Const *) expr)->constisnull;
}

/*
 * mts_near_add_zone
 *		Add a zone to a list of MtsSteady.
 *
 * away is how many seconds before and after a time its clocks are looked at.
 */
List *
mts_near_add_zone(List *zones, const pg_tz *zone, int64 away)
{
	MtsSteady *steady = palloc0(sizeof(MtsSteady));

	steady->zone = zone;
	steady->away = away;
	return lappend(zones, steady);
}

static void
note_zone(const MtsTimeWalk *walk, const pg_tz *zone, int64 away)
{
	if (walk->zones)
		*walk->zones = mts_near_add_zone(*walk->zones, zone, away);
}

/* A zone whose name can't be an abbreviation, which may mean another one */
static bool
note_named_zone(const MtsTimeWalk *walk, Node *expr, int64 away)
{
	char *name;
	const pg_tz *zone;

	if (!mts_near_is_constant(expr) || exprType(expr) != TEXTOID)
		return false;
	name = TextDatumGetCString(((Const *) expr)->constvalue);
	if (strcmp(name, "UTC") == 0)
		return true;
	zone = strchr(name, '/') ? pg_tzset(name) : NULL;
	if (zone)
		note_zone(walk, zone, away);
	return zone != NULL;
}

/* How long a unit is at most, in days */
static int
days_of_unit(const Const *expr)
{
	static const struct
	{
		const char *name;
		int days;
	} units[] = {{"microseconds", 1}, {"milliseconds", 1}, {"second", 1},
				 {"minute", 1},       {"hour", 1},         {"day", 1},
				 {"week", 7},         {"month", 31},       {"quarter", 92},
				 {"year", 366}};
	char *name = TextDatumGetCString(expr->constvalue);

	for (size_t i = 0; i < lengthof(units); i++)
		if (pg_strcasecmp(name, units[i].name) == 0)
			return units[i].days;
	return LONGEST_UNIT;
}

static bool
is_near_call(const MtsTimeWalk *walk, const FuncExpr *call, int64 *away)
{
	size_t i = 0;
	int zone;
	int64 clocks; /* how far from the time they are looked at */
	Node *unit;

	while (i < lengthof(functions) && functions[i].function != call->funcid)
		i++;
	if (i == lengthof(functions) ||
		!mts_near_is_near(walk, list_nth(call->args, functions[i].time), away))
		return false;
	if (functions[i].makes_instant)
		*away += ZONES_APART;
	clocks = *away + (functions[i].makes_instant ? LARGEST_CHANGE : 0);
	zone = functions[i].zone;
	if (zone == OF_SESSION)
		note_zone(walk, NULL, clocks);
	else if (zone >= 0 &&
			 !note_named_zone(walk, list_nth(call->args, zone), clocks))
		return false;
	if (functions[i].unit == A_DAY)
		*away += SECS_PER_DAY;
	if (functions[i].unit < 0)
		return true;
	unit = list_nth(call->args, functions[i].unit);
	if (!mts_near_is_constant(unit))
		return false;
	*away += days_of_unit((Const *) unit) * (int64) SECS_PER_DAY;
	return true;
}

/*
 * mts_near_shift
 *		How many seconds a constant shifts a time, at most.
 *
 * False for months, of which some have fewer days than others: the times of
 * two days would become the same.  *has_days tells of days, which are shorter
 * when clocks are set.
 */
bool
mts_near_shift(Node *expr, bool *has_days, int64 *seconds)
{
	Interval *interval;

	if (!mts_near_is_constant(expr))
		return false;
	if (exprType(expr) == INT4OID)
	{
		*has_days = true;
		*seconds = llabs((int64) DatumGetInt32(((Const *) expr)->constvalue)) *
				   SECS_PER_DAY;
		return true;
	}
	if (exprType(expr) != INTERVALOID)
		return false;
	interval = DatumGetIntervalP(((Const *) expr)->constvalue);
	*has_days = interval->day != 0;
	*seconds = llabs((int64) interval->day) * SECS_PER_DAY +
			   llabs(interval->time / USECS_PER_SEC) + 1;
	return interval->month == 0;
}

static bool
is_near_shift(const MtsTimeWalk *walk, OpExpr *op, int64 *away)
{
	bool has_days;
	int64 seconds;

	set_opfuncid(op);
	switch (op->opfuncid)
	{
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
			break;
		default:
			return false;
	}
	if (!mts_near_is_near(walk, linitial(op->args), away) ||
		!mts_near_shift(lsecond(op->args), &has_days, &seconds))
		return false;
	*away += seconds;
	if (has_days && exprType(linitial(op->args)) == TIMESTAMPTZOID)
	{
		*away += LARGEST_CHANGE;
		note_zone(walk, NULL, *away);
	}
	return true;
}

/*
 * mts_near_is_near
 *		Is an expression a time that never goes back, unless clocks are set
 *		around it, and never more than *away seconds from the points'?
 *
 * A local time counts as the instant that it is in its zone.
 */
bool
mts_near_is_near(const MtsTimeWalk *walk, Node *expr, int64 *away)
{
	Var *var = (Var *) expr;

	switch (nodeTag(expr))
	{
		case T_Var:
			*away = 0;
			return var->varno == walk->varno && var->varlevelsup == 0 &&
				   var->varattno == walk->time;
		case T_RelabelType:
			return mts_near_is_near(walk, (Node *) ((RelabelType *) expr)->arg,
									away);
		case T_FuncExpr:
			return is_near_call(walk, (FuncExpr *) expr, away);
		case T_OpExpr:
			return is_near_shift(walk, (OpExpr *) expr, away);
		default:
			return false;
	}
}
