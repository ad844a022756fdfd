/*
 * monotonic.c
 *		Determine which expressions are monotonic in the time, and over which
 *		stretch of time expressions keep their values.
 *
 * A monotonic expression that has the same value at two times has it at all
 * times between them.  Any other expression is a function of the monotonic
 * ones in it (at worst of the time itself) and keeps its value as long as
 * these, its steps, do.
 *
 * Some functions are monotonic under conditions only.  A field of a time grows
 * while the time truncated to a larger unit stays the same, so that is one
 * more step.  Local times go back when clocks are set back: the zones that are
 * looked at are noted, and a stretch has no change of their clocks in or near
 * it.
 *
 * Steps are evaluated at times that no point has, so an expression counts as
 * monotonic only if it can't fail.  That is known from a bound of its value
 * at all times within SAFE_SECONDS of 1970.
 */
#include "pushdown/monotonic.h"

#include <math.h>

#include "catalog/dependency.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Expressions are evaluated at times up to so far from 1970: 3168 years */
#define SAFE_SECONDS INT64_C(100000000000)
#define SAFE_FROM (MTS_UNIX_EPOCH - SAFE_SECONDS * MTS_SECOND)
#define SAFE_TO (MTS_UNIX_EPOCH + SAFE_SECONDS * MTS_SECOND)

/* How far apart two zones can show an instant, with room to spare: seconds */
#define ZONES_APART (2 * SECS_PER_DAY)

/* By how much clocks are set, at most */
#define LARGEST_CHANGE SECS_PER_DAY

/* What a field of a time doesn't exceed, in microseconds or years */
#define LARGEST_FIELD 1e8

/* A zone by which times are seen, and where its clocks are known */
typedef struct Zone
{
	const pg_tz *zone;  /* NULL: the session's, whichever that is */
	int64 away;         /* seconds before and after a time that count, too */
	const pg_tz *known; /* the zone of which the following is known: */
	pg_time_t from;     /* no clock is set in from <= t < to */
	pg_time_t to;
} Zone;

/* How far the value of an expression can be */
typedef struct Reach
{
	double away;  /* seconds from the point's time; infinite: it is no time */
	double bound; /* the largest absolute value, of times in seconds */
	bool is_stepped; /* does it keep its value for a while? */
	bool is_told;    /* do the steps that were added tell its value? */
} Reach;

typedef struct Walk
{
	Index varno;
	AttrNumber time;
	List *steps;
	List *zones;  /* Zone */
	bool is_fine; /* has it come upon a step that keeps no value? */
} Walk;

/* What a function does with its argument */
typedef enum Kind
{
	KIND_SEEN,    /* sees a time as an instant, local time or date */
	KIND_INSTANT, /* sees a local time as an instant */
	KIND_UNIT,    /* truncates a time to a unit */
	KIND_WIDTH,   /* truncates a time to a multiple of an interval */
	KIND_SHIFTED, /* adds a constant to a time */
	KIND_FIELD,   /* a field of a time, or a text of some fields */
	KIND_CAST,    /* casts a number */
	KIND_ROUNDED, /* casts it to an integer, or rounds it */
	KIND_ADDED,   /* adds a constant to a number, or subtracts either */
	KIND_SCALED,  /* multiplies it by one */
	KIND_DIVIDED  /* divides it by one */
} Kind;

/* By which zone a function sees a time */
typedef enum ZoneKind
{
	ZONE_NONE,
	ZONE_OF_SESSION,
	ZONE_FIRST, /* the first argument */
	ZONE_LAST   /* the last one */
} ZoneKind;

#define EITHER (-1)

/* Functions that are monotonic in one argument if the others are constants */
typedef struct Functions
{
	Kind kind;
	int argument; /* its place, or EITHER of two */
	ZoneKind zone;
	const Oid *oids; /* up to an InvalidOid */
} Functions;

static const Oid views[] = {F_DATE_TIMESTAMP, F_TIMESTAMP_DATE, InvalidOid};
static const Oid session_views[] = {F_DATE_TIMESTAMPTZ,
									F_TIMESTAMP_TIMESTAMPTZ, InvalidOid};
static const Oid session_instants[] = {F_TIMESTAMPTZ_DATE,
									   F_TIMESTAMPTZ_TIMESTAMP, InvalidOid};
static const Oid zone_views[] = {F_TIMEZONE_TEXT_TIMESTAMPTZ, InvalidOid};
static const Oid zone_instants[] = {F_TIMEZONE_TEXT_TIMESTAMP, InvalidOid};
static const Oid local_units[] = {F_DATE_TRUNC_TEXT_TIMESTAMP, InvalidOid};
static const Oid session_units[] = {F_DATE_TRUNC_TEXT_TIMESTAMPTZ, InvalidOid};
static const Oid zone_units[] = {F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT,
								 InvalidOid};
static const Oid widths[] = {F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP,
							 F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ,
							 InvalidOid};
static const Oid shifts[] = {F_DATE_PLI,
							 F_DATE_MII,
							 F_DATE_PL_INTERVAL,
							 F_DATE_MI_INTERVAL,
							 F_TIMESTAMP_PL_INTERVAL,
							 F_TIMESTAMP_MI_INTERVAL,
							 F_TIMESTAMPTZ_PL_INTERVAL,
							 F_TIMESTAMPTZ_MI_INTERVAL,
							 InvalidOid};
static const Oid fields[] = {F_EXTRACT_TEXT_TIMESTAMP,
							 F_EXTRACT_TEXT_TIMESTAMPTZ,
							 F_DATE_PART_TEXT_TIMESTAMP,
							 F_DATE_PART_TEXT_TIMESTAMPTZ, InvalidOid};
static const Oid texts[] = {F_TO_CHAR_TIMESTAMP_TEXT,
							F_TO_CHAR_TIMESTAMPTZ_TEXT, InvalidOid};
static const Oid casts[] = {F_TO_TIMESTAMP_FLOAT8, F_FLOAT8_NUMERIC,
							F_FLOAT8_INT4,         F_FLOAT8_INT8,
							F_NUMERIC_FLOAT8,      F_NUMERIC_INT4,
							F_NUMERIC_INT8,        F_INT4_INT8,
							F_INT8_INT4,           InvalidOid};
static const Oid roundings[] = {F_FLOOR_NUMERIC, F_FLOOR_FLOAT8,
								F_TRUNC_NUMERIC, F_TRUNC_FLOAT8,
								F_ROUND_FLOAT8,  F_INT4_NUMERIC,
								F_INT4_FLOAT8,   F_INT8_NUMERIC,
								F_INT8_FLOAT8,   InvalidOid};
static const Oid sums[] = {F_FLOAT8PL,    F_FLOAT8MI, F_NUMERIC_ADD,
						   F_NUMERIC_SUB, F_INT4PL,   F_INT4MI,
						   F_INT8PL,      F_INT8MI,   F_INT84PL,
						   F_INT84MI,     InvalidOid};
static const Oid products[] = {F_FLOAT8MUL, F_NUMERIC_MUL, F_INT4MUL,
							   F_INT8MUL,   F_INT84MUL,    InvalidOid};
static const Oid quotients[] = {F_FLOAT8DIV, F_NUMERIC_DIV, F_INT4DIV,
								F_INT8DIV,   F_INT84DIV,    InvalidOid};

static const Functions functions[] = {
	{KIND_SEEN, 0, ZONE_NONE, views},
	{KIND_SEEN, 0, ZONE_OF_SESSION, session_views},
	{KIND_SEEN, 1, ZONE_FIRST, zone_views},
	{KIND_INSTANT, 0, ZONE_OF_SESSION, session_instants},
	{KIND_INSTANT, 1, ZONE_FIRST, zone_instants},
	{KIND_UNIT, 1, ZONE_NONE, local_units},
	{KIND_UNIT, 1, ZONE_OF_SESSION, session_units},
	{KIND_UNIT, 1, ZONE_LAST, zone_units},
	{KIND_WIDTH, 1, ZONE_NONE, widths},
	{KIND_SHIFTED, 0, ZONE_NONE, shifts},
	{KIND_FIELD, 1, ZONE_NONE, fields},
	{KIND_FIELD, 0, ZONE_NONE, texts},
	{KIND_CAST, 0, ZONE_NONE, casts},
	{KIND_ROUNDED, 0, ZONE_NONE, roundings},
	{KIND_ADDED, EITHER, ZONE_NONE, sums},
	{KIND_SCALED, EITHER, ZONE_NONE, products},
	{KIND_DIVIDED, 0, ZONE_NONE, quotients},
};

static bool is_monotonic(Walk *walk, Node *expr, Reach *reach);

bool
mts_monotonic_is_constant(Node *expr)
{
	return IsA(expr, Const) && !((Const *) expr)->constisnull;
}

/* Widen the bounds of a time by so many seconds. */
static void
widen(Reach *reach, double seconds)
{
	reach->away += seconds;
	reach->bound += seconds;
}

/* ---- Zones ---------------------------------------------------------------- */

/*
 * Note a zone whose clocks are looked at so many seconds around a time; false
 * if that is anywhere.
 */
static bool
note_zone(Walk *walk, const pg_tz *zone, double away)
{
	Zone *noted = NULL;
	ListCell *lc;

	if (isinf(away))
		return false;
	foreach (lc, walk->zones)
		if (((Zone *) lfirst(lc))->zone == zone)
			noted = lfirst(lc);
	if (!noted)
	{
		noted = palloc0(sizeof(Zone));
		noted->zone = zone;
		walk->zones = lappend(walk->zones, noted);
	}
	noted->away = Max(noted->away, (int64) away);
	return true;
}

/*
 * Note the zone by which a function sees a time.  A name without a slash may
 * be an abbreviation, which can mean another zone.
 */
static bool
note_zone_of(Walk *walk, const Functions *functions, List *args, Reach *reach)
{
	bool is_instant = functions->kind == KIND_INSTANT;
	const Const *arg =
		functions->zone == ZONE_FIRST ? linitial(args) : llast(args);
	const pg_tz *zone = NULL;

	if (functions->zone == ZONE_NONE)
		return true;
	if (functions->zone != ZONE_OF_SESSION)
	{
		char *name = TextDatumGetCString(arg->constvalue);

		zone = strcmp(name, "UTC") == 0 || strchr(name, '/') ? pg_tzset(name)
															 : NULL;
		if (!zone)
			return false;
	}
	if (is_instant)
		widen(reach, ZONES_APART);
	return note_zone(walk, zone,
					 reach->away + (is_instant ? LARGEST_CHANGE : 0));
}

/*
 * Do local times go as instants do from first to last, with all zones?  Then
 * no clock is set in that stretch, or as near to it as expressions look.
 */
static bool
are_clocks_steady(List *zones, MtsTime first, MtsTime last)
{
	ListCell *lc;

	foreach (lc, zones)
	{
		Zone *z = lfirst(lc);
		/* before 2000 seconds are rounded up */
		pg_time_t from = timestamptz_to_time_t(first) - 1 - z->away;
		pg_time_t to = timestamptz_to_time_t(last) + z->away;
		const pg_tz *zone = z->zone ? z->zone : session_timezone;
		long before_offset, after_offset;
		int before_dst, after_dst, result;

		if (z->known == zone && z->from <= from && to < z->to)
			continue;
		z->known = zone;
		z->from = from;
		result = pg_next_dst_boundary(&from, &before_offset, &before_dst,
									  &z->to, &after_offset, &after_dst, zone);
		if (result <= 0)
			z->to = result < 0 ? from : PG_INT64_MAX;
		if (to >= z->to)
			return false;
	}
	return true;
}

/* ---- Functions ------------------------------------------------------------ */

/* Units of times, and fields */
typedef struct Unit
{
	const char *name;
	int days;           /* how long the unit is, at most; 0: it is a field */
	const char *within; /* the unit within which the field grows */
} Unit;

static const Unit units[] = {
	{"microseconds", 1},
	{"milliseconds", 1},
	{"second", 1, "minute"},
	{"minute", 1, "hour"},
	{"hour", 1, "day"},
	{"day", 1, "month"},
	{"week", 7, "week"},
	{"month", 31, "year"},
	{"quarter", 92, "year"},
	{"year", 366, "year"},
	{"decade", 3660, "decade"},
	{"century", 36600, "century"},
	{"millennium", 366000, "millennium"},
	{"dow", 0, "day"},
	{"isodow", 0, "week"},
	{"doy", 0, "year"},
	{"isoyear", 0, "week"},
};

static const Unit *
find_unit(const Const *wanted)
{
	char *name = TextDatumGetCString(wanted->constvalue);

	for (size_t i = 0; i < lengthof(units); i++)
		if (pg_strcasecmp(name, units[i].name) == 0)
			return &units[i];
	return NULL;
}

/*
 * The unit within which to_char gives the same text; NULL when that depends on
 * fractions of seconds.  Text between quotes is taken for a part of the pattern,
 * which does no harm.
 */
static const char *
unit_of_pattern(const Const *pattern)
{
	static const char *const parts[][2] = {
		{"ms", NULL},     {"us", NULL},    {"ff", NULL},   {"ss", "second"},
		{"mi", "minute"}, {"hh", "hour"},  {"am", "hour"}, {"pm", "hour"},
		{"a.m", "hour"},  {"p.m", "hour"}, {"", "day"},
	};
	char *lower = TextDatumGetCString(pattern->constvalue);
	size_t i = 0;

	for (char *c = lower; *c; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	while (!strstr(lower, parts[i][0]))
		i++;
	return parts[i][1];
}

/* Add the time truncated to a unit as a step. */
static bool
add_condition(Walk *walk, const char *unit, Node *time)
{
	Oid type = exprType(time);
	Reach reach;
	Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							CStringGetTextDatum(unit), false, false);
	Node *step =
		(Node *) makeFuncExpr(type == TIMESTAMPTZOID
								  ? F_DATE_TRUNC_TEXT_TIMESTAMPTZ
								  : F_DATE_TRUNC_TEXT_TIMESTAMP,
							  type, list_make2(name, time), InvalidOid,
							  DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);

	walk->steps = list_append_unique(walk->steps, step);
	return is_monotonic(walk, step, &reach);
}

/* A field of a time, or a text of fields */
static bool
is_monotonic_field(Walk *walk, const Const *name, Node *time, bool is_text,
				   Reach *reach)
{
	const Unit *field;
	const char *unit;

	reach->away = HUGE_VAL;
	if (!is_text &&
		pg_strcasecmp(TextDatumGetCString(name->constvalue), "epoch") == 0)
		return true;
	reach->bound = LARGEST_FIELD;
	reach->is_stepped = true;
	reach->is_told = is_text;
	field = is_text ? NULL : find_unit(name);
	unit = is_text ? unit_of_pattern(name) : field ? field->within : NULL;
	return unit && add_condition(walk, unit, time);
}

/*
 * How many seconds a constant shifts a time, at most.  Not by months, of which
 * some have fewer days than others: the times of two days would become the
 * same.  Days are shorter when clocks are set.
 */
static bool
is_monotonic_shift(Walk *walk, const Const *shift, Oid type, Reach *reach)
{
	Interval *interval;

	if (shift->consttype == INT4OID)
	{
		widen(reach,
			  fabs((double) DatumGetInt32(shift->constvalue)) * SECS_PER_DAY);
		return true;
	}
	interval = DatumGetIntervalP(shift->constvalue);
	if (interval->month != 0)
		return false;
	widen(reach, fabs((double) interval->day) * SECS_PER_DAY +
					 fabs((double) interval->time) / USECS_PER_SEC + 1);
	if (interval->day == 0 || type != TIMESTAMPTZOID)
		return true;
	widen(reach, LARGEST_CHANGE);
	return note_zone(walk, NULL, reach->away);
}

/* The absolute value of a constant, about; 0 for others than fair numbers */
static double
magnitude(const Const *number)
{
	Datum value = number->constvalue;
	double n = 0;

	if (number->consttype == INT4OID)
		n = DatumGetInt32(value);
	else if (number->consttype == INT8OID)
		n = DatumGetInt64(value);
	else if (number->consttype == FLOAT8OID)
		n = DatumGetFloat8(value);
	else if (number->consttype == NUMERICOID)
		n = DatumGetFloat8(
			DirectFunctionCall1(numeric_float8_no_overflow, value));
	n = fabs(n);
	return n >= 1e-12 && n <= 1e12 ? n : 0;
}

/* Values of a type up to this are computed without an error. */
static double
largest_of(Oid type)
{
	switch (type)
	{
		case INT4OID:
			return PG_INT32_MAX;
		case INT8OID:
			return 9e18;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return 2.0 * SAFE_SECONDS;
		default:
			return 1e100;
	}
}

/*
 * Is a function monotonic in its argument, which is, and whose bounds are in
 * *reach?  They become those of the result.
 */
static bool
is_monotonic_in(Walk *walk, const Functions *functions, List *args, Node *arg,
				const Const *constant, Oid type, Reach *reach)
{
	const Unit *unit;
	const Interval *width;
	double c;

	if (!note_zone_of(walk, functions, args, reach))
		return false;
	switch (functions->kind)
	{
		case KIND_SEEN:
		case KIND_INSTANT:
			if (type == DATEOID)
			{
				widen(reach, SECS_PER_DAY);
				reach->is_stepped = true;
			}
			break;
		case KIND_UNIT:
			unit = find_unit(constant);
			if (!unit || unit->days == 0)
				return false;
			widen(reach, unit->days * (double) SECS_PER_DAY);
			reach->is_stepped = true;
			break;
		case KIND_WIDTH:
			width = DatumGetIntervalP(constant->constvalue);
			if (width->month != 0 || width->day < 0 || width->time < 0 ||
				width->day + width->time == 0)
				return false;
			reach->away = HUGE_VAL;
			reach->is_stepped = true;
			reach->bound += width->day * (double) SECS_PER_DAY +
							(double) width->time / USECS_PER_SEC;
			break;
		case KIND_SHIFTED:
			if (!is_monotonic_shift(walk, constant, exprType(arg), reach))
				return false;
			break;
		case KIND_FIELD:
			if (!is_monotonic_field(walk, constant, arg, type == TEXTOID,
									reach))
				return false;
			break;
		case KIND_CAST:
			break;
		case KIND_ROUNDED:
			reach->bound += 1;
			reach->is_stepped = true;
			break;
		case KIND_ADDED:
		case KIND_SCALED:
		case KIND_DIVIDED:
			c = magnitude(constant);
			if (c == 0)
				return false;
			reach->bound = functions->kind == KIND_ADDED    ? reach->bound + c
						   : functions->kind == KIND_SCALED ? reach->bound * c
															: reach->bound / c;
			break;
	}
	return reach->bound <= largest_of(type);
}

/*
 * Is a function TimescaleDB's time_bucket(width, time), perhaps with an offset
 * or origin?  One with a zone sees local times.
 */
static bool
is_time_bucket(Oid function, List *args)
{
	Oid extension = InvalidOid;
	char *name = NULL;

	if ((list_length(args) == 2 || list_length(args) == 3) &&
		exprType(linitial(args)) == INTERVALOID &&
		exprType(llast(args)) != TEXTOID &&
		strcmp(get_func_name(function), "time_bucket") == 0)
		extension = getExtensionOfObject(ProcedureRelationId, function);
	if (OidIsValid(extension))
		name = get_extension_name(extension);
	return name && strcmp(name, "timescaledb") == 0;
}

static const Functions *
find_functions(Oid oid, List *args)
{
	static const Functions time_bucket = {KIND_WIDTH, 1, ZONE_NONE};

	for (size_t i = 0; i < lengthof(functions); i++)
		for (const Oid *known = functions[i].oids; OidIsValid(*known); known++)
			if (*known == oid)
				return &functions[i];
	return is_time_bucket(oid, args) ? &time_bucket : NULL;
}

/*
 * A call of a function, or an operator.  The first constant is the unit, width,
 * shift, field or number.
 */
static bool
is_monotonic_call(Walk *walk, Oid oid, List *args, Oid type, Reach *reach)
{
	const Functions *functions = find_functions(oid, args);
	const Const *constant = NULL;
	int place;
	Node *arg;
	ListCell *lc;

	if (!functions)
		return false;
	place = functions->argument;
	if (place == EITHER)
		place = mts_monotonic_is_constant(linitial(args)) ? 1 : 0;
	arg = list_nth(args, place);
	foreach (lc, args)
	{
		if (foreach_current_index(lc) == place)
			continue;
		if (!mts_monotonic_is_constant(lfirst(lc)))
			return false;
		if (!constant)
			constant = lfirst(lc);
	}
	return is_monotonic(walk, arg, reach) &&
		   is_monotonic_in(walk, functions, args, arg, constant, type, reach);
}

/*
 * Is an expression monotonic in the time, while the steps that are added to
 * walk->steps keep their values, and no clock of walk->zones is set?
 */
static bool
is_monotonic(Walk *walk, Node *expr, Reach *reach)
{
	switch (nodeTag(expr))
	{
		case T_Var:
			reach->away = 0;
			reach->bound = SAFE_SECONDS;
			reach->is_stepped = reach->is_told = false;
			return ((Var *) expr)->varno == walk->varno &&
				   ((Var *) expr)->varlevelsup == 0 &&
				   ((Var *) expr)->varattno == walk->time;
		case T_RelabelType:
			return is_monotonic(walk, (Node *) ((RelabelType *) expr)->arg,
								reach);
		case T_FuncExpr:
			return is_monotonic_call(walk, ((FuncExpr *) expr)->funcid,
									 ((FuncExpr *) expr)->args, exprType(expr),
									 reach);
		case T_OpExpr:
			set_opfuncid((OpExpr *) expr);
			return is_monotonic_call(walk, ((OpExpr *) expr)->opfuncid,
									 ((OpExpr *) expr)->args, exprType(expr),
									 reach);
		default:
			return false;
	}
}

/*
 * mts_monotonic_is_near
 *		Is an expression a time that is never more than *away seconds from the
 *		column time?
 *
 * A local time counts as the instant that it is in its zone.  That bounds the
 * times for which a condition on the expression holds.
 */
bool
mts_monotonic_is_near(Node *expr, Index varno, AttrNumber time, int64 *away)
{
	Walk walk = {varno, time};
	Reach reach;

	if (!is_monotonic(&walk, expr, &reach) || isinf(reach.away))
		return false;
	*away = (int64) reach.away;
	return true;
}

/* Add the steps of an expression: the largest monotonic ones in it. */
static bool
find_steps(Node *expr, Walk *walk)
{
	int n = list_length(walk->steps);
	Reach reach;

	if (expr == NULL)
		return false;
	if (is_monotonic(walk, expr, &reach))
	{
		if (!reach.is_told)
			walk->steps = list_append_unique(walk->steps, expr);
		walk->is_fine |= !reach.is_stepped;
		return false;
	}
	walk->steps = list_truncate(walk->steps, n);
	return expression_tree_walker(expr, find_steps, walk);
}

/*
 * mts_monotonic_is
 *		Is an expression of the time monotonic over some stretches, and can it not
 *		fail?
 */
bool
mts_monotonic_is(Node *expr, Index varno, AttrNumber time)
{
	Walk walk = {varno, time};
	Reach reach;

	return is_monotonic(&walk, expr, &reach);
}

/*
 * mts_monotonic_is_stepped
 *		Does an expression, which looks at the time, keep its value for a
 *		while?
 */
bool
mts_monotonic_is_stepped(Node *expr, Index varno, AttrNumber time)
{
	Walk walk = {varno, time};

	(void) find_steps(expr, &walk);
	return !walk.is_fine;
}

/* ---- Stretches ------------------------------------------------------------ */

typedef struct MtsMonotonicStep
{
	ExprState *state;
	bool byval; /* of its type */
	int16 len;
	NullableDatum value; /* over the stretch */
	NullableDatum tried; /* at a time that may be in it */
} MtsMonotonicStep;

/*
 * mts_monotonic_begin
 *		Prepare to find the stretches over which expressions keep their values.
 *
 * They look at no columns but the time and such as are the same over the
 * stretches that are asked for.  zone is that of the table, if it has clocks
 * that are set, else NULL.
 */
MtsStretch *
mts_monotonic_begin(List *exprs, Index varno, AttrNumber time,
					const pg_tz *zone, const MtsFromBson *converter,
					TupleDesc desc, EState *estate)
{
	MtsStretch *stretch = palloc0(sizeof(MtsStretch));
	Walk walk = {varno, time};
	ListCell *lc;

	if (zone)
		note_zone(&walk, zone, 0);
	(void) find_steps((Node *) exprs, &walk);
	stretch->steps =
		palloc0(list_length(walk.steps) * sizeof(MtsMonotonicStep));
	foreach (lc, walk.steps)
	{
		MtsMonotonicStep *step = &stretch->steps[stretch->nsteps++];

		step->state = ExecInitExpr(lfirst(lc), NULL);
		get_typlenbyval(exprType(lfirst(lc)), &step->len, &step->byval);
	}
	stretch->zones = walk.zones;
	stretch->converter = converter;
	stretch->time = time - 1;
	stretch->row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	ExecStoreAllNullTuple(stretch->row);
	stretch->row->tts_isnull[stretch->time] = false;
	stretch->econtext = CreateExprContext(estate);
	stretch->econtext->ecxt_scantuple = stretch->row;
	stretch->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw stretch",
							  ALLOCSET_SMALL_SIZES);
	mts_monotonic_forget(stretch);
	return stretch;
}

/* Know nothing, as the session's zone may be another one. */
void
mts_monotonic_forget(MtsStretch *stretch)
{
	stretch->from = MTS_TIME_MAX;
	stretch->to = MTS_TIME_MIN;
}

/* Evaluate the steps at a time; false where they may fail. */
static bool
evaluate(MtsStretch *stretch, MtsTime t)
{
	MtsError error;

	ResetExprContext(stretch->econtext);
	if (t < SAFE_FROM || t > SAFE_TO ||
		!mts_from_bson_time(stretch->converter, t,
							&stretch->row->tts_values[stretch->time], &error))
		return false;
	for (int i = 0; i < stretch->nsteps; i++)
	{
		MtsMonotonicStep *step = &stretch->steps[i];

		step->tried.value =
			ExecEvalExprSwitchContext(step->state, stretch->econtext,
									  &step->tried.isnull);
	}
	return true;
}

/* Have the steps the stretch's values where they were evaluated? */
static bool
are_same(const MtsStretch *stretch)
{
	for (int i = 0; i < stretch->nsteps; i++)
	{
		const MtsMonotonicStep *step = &stretch->steps[i];

		if (step->tried.isnull != step->value.isnull ||
			(!step->value.isnull &&
			 !datum_image_eq(step->tried.value, step->value.value, step->byval,
							 step->len)))
			return false;
	}
	return true;
}

/* Extend the stretch to a time for which the steps were evaluated. */
static bool
extend(MtsStretch *stretch, MtsTime t)
{
	MtsTime from = Min(t, stretch->from);
	MtsTime to = Max(t, stretch->to);

	if (stretch->from > stretch->to || !are_same(stretch) ||
		!are_clocks_steady(stretch->zones, from, to))
		return false;
	stretch->from = from;
	stretch->to = to;
	return true;
}

/*
 * mts_monotonic_extend
 *		Extend the stretch to a time, if the expressions have the same values
 *		until then.
 */
bool
mts_monotonic_extend(MtsStretch *stretch, MtsTime t)
{
	return (t >= stretch->from && t <= stretch->to) ||
		   (evaluate(stretch, t) && extend(stretch, t));
}

/*
 * mts_monotonic_enter
 *		Enter the stretch of a time; false if it is another one.
 */
bool
mts_monotonic_enter(MtsStretch *stretch, MtsTime t)
{
	MemoryContext old;
	bool is_safe;

	if (t >= stretch->from && t <= stretch->to)
		return true;
	is_safe = evaluate(stretch, t);
	if (is_safe && extend(stretch, t))
		return true;
	if (stretch->from <= stretch->to)
		stretch->length = stretch->to - stretch->from;
	mts_monotonic_forget(stretch);
	if (!is_safe)
		return false;
	MemoryContextReset(stretch->memory);
	old = MemoryContextSwitchTo(stretch->memory);
	for (int i = 0; i < stretch->nsteps; i++)
	{
		MtsMonotonicStep *step = &stretch->steps[i];

		step->value = step->tried;
		if (!step->value.isnull)
			step->value.value =
				datumCopy(step->value.value, step->byval, step->len);
	}
	MemoryContextSwitchTo(old);
	stretch->from = stretch->to = t;
	return false;
}

/*
 * mts_monotonic_look_ahead
 *		Extend the stretch, which begins at its only time, by the length of the
 *		one before, but not beyond last.
 */
void
mts_monotonic_look_ahead(MtsStretch *stretch, MtsTime last)
{
	if (stretch->length > 0 && stretch->to < last)
		(void) mts_monotonic_extend(stretch,
									last - stretch->to > stretch->length
										? stretch->to + stretch->length
										: last);
}
