/*
 * monotonic.c
 *		Determine which expressions are monotonic in the time of the points.
 *
 * A monotonic expression that has the same value at two times has it at all
 * times between them.  Any other expression is a function of the monotonic
 * expressions in it, in the worst case of the time itself.  It keeps its
 * value as long as these, its parts, keep theirs.
 *
 * Some functions are monotonic only under conditions.  A field of a time does
 * not fall while the time truncated to a larger unit stays the same, so the
 * truncated time becomes another part.  Local times go back when clocks are
 * set back, so each zone is recorded with how far from a point's time its
 * clocks matter.  stretch.c evaluates the parts and looks at the clocks.
 *
 * Parts are evaluated at times that no point has.  Therefore an expression
 * counts as monotonic only if it cannot fail within MTS_SAFE_SECONDS of 1970,
 * which a bound of its absolute value tells.
 */
#include "pushdown/monotonic.h"

#include <math.h>

#include "catalog/dependency.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "table/type.h"

/* Two zones show an instant at most this far apart, with room to spare */
#define ZONE_DISTANCE (2 * SECS_PER_DAY)

/* Clocks are set by at most this */
#define LARGEST_CHANGE SECS_PER_DAY

/* No field of a time is larger, in microseconds or years */
#define LARGEST_FIELD 1e8

/* What is known of the values of a monotonic expression */
typedef struct Bounds
{
	double distance;       /* seconds from the point's time to the value, or to
					   * the instant of a local value in its zone; infinite
					   * if unknown or if the value is not a time */
	double magnitude;      /* largest absolute value; of times in seconds */
	bool is_step_function; /* the value stays the same for a while */
	bool is_derived;       /* the parts that were added determine it */
} Bounds;

typedef struct Analysis
{
	Index varno;
	AttrNumber time;
	MtsMonotonicParts parts;
	bool is_continuous; /* a part is not a step function */
	bool is_decreasing; /* an expression falls as the time rises */
} Analysis;

/* What a function does with its one argument that is not a constant */
typedef enum Kind
{
	KIND_TO_LOCAL,   /* converts a time to a local time, date or timestamp */
	KIND_TO_INSTANT, /* converts a local time to an instant */
	KIND_TRUNCATE,   /* truncates a time to a unit */
	KIND_BIN,        /* truncates a time to a multiple of an interval */
	KIND_SHIFT,      /* adds a constant to a time */
	KIND_FIELD,      /* extracts a field of a time */
	KIND_TEXT,       /* formats a time */
	KIND_CAST,       /* casts a number */
	KIND_ROUND,      /* rounds a number, perhaps by a cast */
	KIND_ADD,        /* adds a constant to a number */
	KIND_SUBTRACT,   /* a number minus a constant, or the reverse */
	KIND_MULTIPLY,
	KIND_DIVIDE
} Kind;

/*
 * The zone in which a function sees times.  Fields and texts of a timestamptz
 * depend on the session's zone; add_truncated records it.
 */
typedef enum ZoneKind
{
	ZONE_NONE,
	ZONE_SESSION,
	ZONE_NAMED /* by the last constant */
} ZoneKind;

/* Functions that are monotonic in one argument if the others are constants */
typedef struct Functions
{
	Kind kind;
	ZoneKind zone;
	Oid oids[12]; /* up to an InvalidOid */
} Functions;

/* clang-format off */
#define OIDS(...) {__VA_ARGS__}
/* clang-format on */

static const Functions functions[] = {
	{KIND_TO_LOCAL, ZONE_NONE, OIDS(F_DATE_TIMESTAMP, F_TIMESTAMP_DATE)},
	{KIND_TO_LOCAL, ZONE_SESSION,
	 OIDS(F_DATE_TIMESTAMPTZ, F_TIMESTAMP_TIMESTAMPTZ)},
	{KIND_TO_LOCAL, ZONE_NAMED, OIDS(F_TIMEZONE_TEXT_TIMESTAMPTZ)},
	{KIND_TO_INSTANT, ZONE_SESSION,
	 OIDS(F_TIMESTAMPTZ_DATE, F_TIMESTAMPTZ_TIMESTAMP)},
	{KIND_TO_INSTANT, ZONE_NAMED, OIDS(F_TIMEZONE_TEXT_TIMESTAMP)},
	{KIND_TRUNCATE, ZONE_NONE, OIDS(F_DATE_TRUNC_TEXT_TIMESTAMP)},
	{KIND_TRUNCATE, ZONE_SESSION, OIDS(F_DATE_TRUNC_TEXT_TIMESTAMPTZ)},
	{KIND_TRUNCATE, ZONE_NAMED, OIDS(F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT)},
	{KIND_BIN, ZONE_NONE,
	 OIDS(F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP,
		  F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ)},
	{KIND_SHIFT, ZONE_NONE,
	 OIDS(F_DATE_PLI, F_DATE_MII, F_DATE_PL_INTERVAL, F_DATE_MI_INTERVAL,
		  F_TIMESTAMP_PL_INTERVAL, F_TIMESTAMP_MI_INTERVAL,
		  F_TIMESTAMPTZ_PL_INTERVAL, F_TIMESTAMPTZ_MI_INTERVAL)},
	{KIND_FIELD, ZONE_NONE,
	 OIDS(F_EXTRACT_TEXT_TIMESTAMP, F_EXTRACT_TEXT_TIMESTAMPTZ,
		  F_DATE_PART_TEXT_TIMESTAMP, F_DATE_PART_TEXT_TIMESTAMPTZ)},
	{KIND_TEXT, ZONE_NONE,
	 OIDS(F_TO_CHAR_TIMESTAMP_TEXT, F_TO_CHAR_TIMESTAMPTZ_TEXT)},
	{KIND_CAST, ZONE_NONE,
	 OIDS(F_TO_TIMESTAMP_FLOAT8, F_FLOAT8_NUMERIC, F_FLOAT8_INT4,
		  F_FLOAT8_INT8, F_NUMERIC_FLOAT8, F_NUMERIC_INT4, F_NUMERIC_INT8,
		  F_INT4_INT8, F_INT8_INT4)},
	{KIND_ROUND, ZONE_NONE,
	 OIDS(F_FLOOR_NUMERIC, F_FLOOR_FLOAT8, F_TRUNC_NUMERIC, F_TRUNC_FLOAT8,
		  F_ROUND_FLOAT8, F_INT4_NUMERIC, F_INT4_FLOAT8, F_INT8_NUMERIC,
		  F_INT8_FLOAT8)},
	{KIND_ADD, ZONE_NONE,
	 OIDS(F_FLOAT8PL, F_NUMERIC_ADD, F_INT4PL, F_INT8PL, F_INT84PL)},
	{KIND_SUBTRACT, ZONE_NONE,
	 OIDS(F_FLOAT8MI, F_NUMERIC_SUB, F_INT4MI, F_INT8MI, F_INT84MI)},
	{KIND_MULTIPLY, ZONE_NONE,
	 OIDS(F_FLOAT8MUL, F_NUMERIC_MUL, F_INT4MUL, F_INT8MUL, F_INT84MUL)},
	{KIND_DIVIDE, ZONE_NONE,
	 OIDS(F_FLOAT8DIV, F_NUMERIC_DIV, F_INT4DIV, F_INT8DIV, F_INT84DIV)},
};

static bool is_monotonic(Analysis *analysis, Node *expr, Bounds *bounds);

bool
mts_monotonic_is_constant(Node *expr)
{
	return IsA(expr, Const) && !((Const *) expr)->constisnull;
}

/* ---- Zones ------------------------------------------------------------ */

/*
 * Record that clock changes of a zone matter up to this distance, in seconds,
 * from a point's time; false if it is infinite.  See MtsZoneWindow for the
 * other arguments.
 */
static bool
add_zone(Analysis *analysis, const pg_tz *zone, double distance, Node *seen,
		 int32 days)
{
	MtsZoneWindow *window;

	if (isinf(distance))
		return false;
	window = palloc(sizeof(MtsZoneWindow));
	*window = (MtsZoneWindow){zone, (int64) distance, seen, days};
	analysis->parts.zones = lappend(analysis->parts.zones, window);
	return true;
}

/*
 * Record the zone in which a function sees its argument.  A zone's name
 * without a slash may be an abbreviation, which can mean another zone.
 */
static bool
add_zone_of(Analysis *analysis, const Functions *function, Node *arg,
			const List *constants, double distance)
{
	const pg_tz *zone = NULL;

	if (function->zone == ZONE_NONE)
		return true;
	if (function->zone == ZONE_NAMED)
	{
		char *name =
			TextDatumGetCString(castNode(Const, llast(constants))->constvalue);

		if (strcmp(name, "UTC") == 0 || strchr(name, '/'))
			zone = pg_tzset(name);
		if (!zone)
			return false;
	}
	return add_zone(analysis, zone, distance, arg, 0);
}

/* ---- Units and fields ------------------------------------------------- */

/* A unit of times, or a field of them that is not a unit */
typedef struct Unit
{
	const char *name;
	int days;           /* its length rounded up; 0 if it is only a field */
	const char *within; /* in it the field never falls; NULL if unknown */
} Unit;

/* The field never falls at all */
#define ALWAYS ""

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
	{"year", 366, ALWAYS},
	{"decade", 3660, ALWAYS},
	{"century", 36600, ALWAYS},
	{"millennium", 366000, ALWAYS},
	{"dow", 0, "day"},
	{"isodow", 0, "week"},
	{"doy", 0, "year"},
	{"isoyear", 0, ALWAYS},
	{"julian", 0, ALWAYS},
};

static const Unit *
find_unit(const char *name)
{
	for (size_t i = 0; i < lengthof(units); i++)
		if (pg_strcasecmp(name, units[i].name) == 0)
			return &units[i];
	return NULL;
}

/*
 * Return the unit within which to_char gives the same text; NULL if the text
 * shows fractions of seconds.  Quoted text in the pattern counts as pattern,
 * which at worst makes the unit smaller.
 */
static const char *
unit_of_pattern(char *pattern)
{
	static const char *const parts[][2] = {
		{"ms", NULL},     {"us", NULL},    {"ff", NULL},   {"ss", "second"},
		{"mi", "minute"}, {"hh", "hour"},  {"am", "hour"}, {"pm", "hour"},
		{"a.m", "hour"},  {"p.m", "hour"}, {"", "day"},
	};
	size_t i = 0;

	for (char *c = pattern; *c; c++)
		*c = pg_ascii_tolower((unsigned char) *c);
	while (!strstr(pattern, parts[i][0]))
		i++;
	return parts[i][1];
}

/*
 * Tell whether texts in a pattern of to_char are ordered by their bytes as the
 * times: fields of fixed widths, each beside the next larger one.
 */
static bool
is_sortable_pattern(const char *pattern)
{
	static const char *const fields[] = {"YYYY", "MM", "DD", "HH24",
										 "MI",   "SS", "US"};
	size_t field = 0;
	bool is_quoted = false;

	for (const char *c = pattern; *c;)
	{
		const char *next = field < lengthof(fields) ? fields[field] : "";

		if (!is_quoted && *next != '\0' &&
			pg_strncasecmp(c, next, strlen(next)) == 0)
		{
			c += strlen(next);
			field++;
			continue;
		}
		if (field == 0 || *c == '\\' ||
			(!is_quoted && isalnum((unsigned char) *c)))
			return false;
		if (*c == '"')
			is_quoted = !is_quoted;
		c++;
	}
	return field > 0;
}

/*
 * mts_monotonic_formatted
 *		Return the time that an expression formats in a sortable pattern; NULL
 *		for another expression.
 *
 * The text begins with the year.
 */
Node *
mts_monotonic_formatted(Node *expr)
{
	const FuncExpr *call = (FuncExpr *) expr;

	return IsA(call, FuncExpr) &&
				   (call->funcid == F_TO_CHAR_TIMESTAMP_TEXT ||
					call->funcid == F_TO_CHAR_TIMESTAMPTZ_TEXT) &&
				   mts_monotonic_is_constant(lsecond(call->args)) &&
				   is_sortable_pattern(TextDatumGetCString(
					   lsecond_node(Const, call->args)->constvalue))
			   ? linitial(call->args)
			   : NULL;
}

/* Add the time truncated to a unit as a part. */
static bool
add_truncated(Analysis *analysis, const char *unit, Node *time)
{
	Oid type = exprType(time);
	Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							CStringGetTextDatum(unit), false, false);
	Node *part =
		(Node *) makeFuncExpr(type == TIMESTAMPTZOID
								  ? F_DATE_TRUNC_TEXT_TIMESTAMPTZ
								  : F_DATE_TRUNC_TEXT_TIMESTAMP,
							  type, list_make2(name, time), InvalidOid,
							  DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
	Bounds bounds;

	analysis->parts.exprs = list_append_unique(analysis->parts.exprs, part);
	return is_monotonic(analysis, part, &bounds);
}

/* A field of a time, or its text */
static bool
apply_field(Analysis *analysis, bool is_text, char *name, Node *time,
			Bounds *bounds)
{
	const Unit *field = is_text ? NULL : find_unit(name);
	const char *unit = is_text ? unit_of_pattern(name)
					   : field ? field->within
							   : NULL;
	double distance = bounds->distance;

	bounds->distance = HUGE_VAL;
	if (!is_text && pg_strcasecmp(name, "epoch") == 0)
		return true;
	bounds->magnitude = LARGEST_FIELD;
	bounds->is_step_function = is_text || pg_strcasecmp(name, "julian") != 0;
	bounds->is_derived = is_text;
	if (unit && strcmp(unit, ALWAYS) == 0)
		return exprType(time) != TIMESTAMPTZOID ||
			   add_zone(analysis, NULL, distance, time, 0);
	return unit && add_truncated(analysis, unit, time);
}

/* ---- Times ------------------------------------------------------------ */

static void
widen(Bounds *bounds, double seconds)
{
	bounds->distance += seconds;
	bounds->magnitude += seconds;
}

/*
 * A time plus or minus a constant of days or an interval.  The time is NULL if
 * it is only a part of what the function computes.
 *
 * An interval of months is refused: months differ in length, so the times of
 * several days would become those of one.  Days of a timestamptz end where
 * the session's clocks say.
 */
static bool
apply_shift(Analysis *analysis, const Const *shift, Node *time, Oid type,
			Bounds *bounds)
{
	const Interval *interval;

	if (shift->consttype == INT4OID)
	{
		widen(bounds,
			  fabs((double) DatumGetInt32(shift->constvalue)) * SECS_PER_DAY);
		return true;
	}
	interval = DatumGetIntervalP(shift->constvalue);
	if (interval->month != 0)
		return false;
	widen(bounds, fabs((double) interval->day) * SECS_PER_DAY +
					  fabs((double) interval->time) / USECS_PER_SEC + 1);
	if (interval->day == 0 || type != TIMESTAMPTZOID)
		return true;
	widen(bounds, LARGEST_CHANGE);
	return add_zone(analysis, NULL, bounds->distance, time, interval->day);
}

/* An origin from which the distance to any safe time can be computed */
static bool
is_safe_origin(const Const *origin)
{
	Datum value = origin->constvalue;

	if (origin->consttype == DATEOID)
		return fabs((double) DatumGetDateADT(value)) * SECS_PER_DAY <
			   MTS_SAFE_SECONDS;
	return DatumGetTimestamp(value) >= MTS_SAFE_FROM &&
		   DatumGetTimestamp(value) <= MTS_SAFE_TO;
}

/*
 * A time truncated to a multiple of an interval, the first constant.  Others
 * are its origin, or an offset that is subtracted before and added after.
 */
static bool
apply_bin(Analysis *analysis, const List *constants, Oid type, Bounds *bounds)
{
	const Interval *width =
		DatumGetIntervalP(castNode(Const, linitial(constants))->constvalue);
	ListCell *lc;

	if (width->month != 0 || width->day < 0 || width->time < 0 ||
		width->day + width->time == 0)
		return false;
	widen(bounds, width->day * (double) SECS_PER_DAY +
					  (double) width->time / USECS_PER_SEC);
	for_each_from (lc, constants, 1)
	{
		const Const *constant = lfirst(lc);

		if (constant->consttype == INTERVALOID
				? !apply_shift(analysis, constant, NULL, type, bounds)
				: !mts_type_is_time(constant->consttype) ||
					  !is_safe_origin(constant))
			return false;
	}
	bounds->distance = HUGE_VAL;
	bounds->is_step_function = true;
	return true;
}

/* ---- Numbers ---------------------------------------------------------- */

/* About the value of a constant; 0 if its absolute value is extreme */
static double
number_of(const Const *number)
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
	return fabs(n) >= 1e-12 && fabs(n) <= 1e12 ? n : 0;
}

/* Values of a type up to this magnitude are computed without an error. */
static double
largest_of(Oid type)
{
	if (type == INT4OID)
		return PG_INT32_MAX;
	if (type == INT8OID)
		return 9e18;
	return mts_type_is_time(type) ? 2.0 * MTS_SAFE_SECONDS : 1e100;
}

static bool
apply_arithmetic(Analysis *analysis, Kind kind, const Const *constant,
				 Bounds *bounds)
{
	double c = number_of(constant);

	if (kind == KIND_ADD || kind == KIND_SUBTRACT)
		bounds->magnitude += fabs(c);
	else
	{
		bounds->magnitude *= kind == KIND_MULTIPLY ? fabs(c) : 1 / fabs(c);
		analysis->is_decreasing |= c < 0;
	}
	return c != 0;
}

/* ---- Calls ------------------------------------------------------------ */

/*
 * Tell whether a function of a monotonic argument is monotonic, too.  Change
 * the argument's bounds to those of the result.
 */
static bool
apply_function(Analysis *analysis, const Functions *function, Node *arg,
			   const List *constants, Oid type, Bounds *bounds)
{
	const Const *constant = constants ? linitial(constants) : NULL;
	const Unit *unit;

	switch (function->kind)
	{
		case KIND_TO_INSTANT:
			widen(bounds, ZONE_DISTANCE);
			return add_zone_of(analysis, function, arg, constants,
							   bounds->distance + LARGEST_CHANGE);
		case KIND_TO_LOCAL:
			if (!add_zone_of(analysis, function, arg, constants,
							 bounds->distance))
				return false;
			if (type == DATEOID)
				widen(bounds, SECS_PER_DAY);
			bounds->is_step_function |= type == DATEOID;
			return true;
		case KIND_TRUNCATE:
			unit = find_unit(TextDatumGetCString(constant->constvalue));
			if (!unit || unit->days == 0 ||
				!add_zone_of(analysis, function, arg, constants,
							 bounds->distance))
				return false;
			widen(bounds, unit->days * (double) SECS_PER_DAY);
			bounds->is_step_function = true;
			return true;
		case KIND_BIN:
			return apply_bin(analysis, constants, exprType(arg), bounds);
		case KIND_SHIFT:
			return apply_shift(analysis, constant, arg, exprType(arg), bounds);
		case KIND_FIELD:
		case KIND_TEXT:
			return apply_field(analysis, function->kind == KIND_TEXT,
							   TextDatumGetCString(constant->constvalue), arg,
							   bounds);
		case KIND_CAST:
			return true;
		case KIND_ROUND:
			bounds->magnitude += 1;
			bounds->is_step_function = true;
			return true;
		default:
			return apply_arithmetic(analysis, function->kind, constant,
									bounds);
	}
}

/*
 * Tell whether a function is TimescaleDB's time_bucket(width, time), perhaps
 * with an offset or origin.  One with a zone sees local times; it is refused.
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
	static const Functions time_bucket = {KIND_BIN};

	for (size_t i = 0; i < lengthof(functions); i++)
		for (const Oid *known = functions[i].oids; OidIsValid(*known); known++)
			if (*known == oid)
				return &functions[i];
	return is_time_bucket(oid, args) ? &time_bucket : NULL;
}

static bool
is_monotonic_call(Analysis *analysis, Oid oid, List *args, Oid type,
				  Bounds *bounds)
{
	const Functions *function = find_functions(oid, args);
	List *constants = NIL;
	Node *arg = NULL;
	ListCell *lc;

	if (!function)
		return false;
	foreach (lc, args)
	{
		if (mts_monotonic_is_constant(lfirst(lc)))
			constants = lappend(constants, lfirst(lc));
		else if (arg)
			return false;
		else
			arg = lfirst(lc);
	}
	/* the argument must not be a text, an origin, a shift or a divisor */
	if (!arg || exprType(arg) == TEXTOID ||
		(function->kind == KIND_BIN && arg != lsecond(args)) ||
		((function->kind == KIND_SHIFT || function->kind == KIND_DIVIDE) &&
		 arg != linitial(args)))
		return false;
	if (function->kind == KIND_SUBTRACT && arg != linitial(args))
		analysis->is_decreasing = true;
	return is_monotonic(analysis, arg, bounds) &&
		   apply_function(analysis, function, arg, constants, type, bounds) &&
		   bounds->magnitude <= largest_of(type);
}

/*
 * Tell whether an expression is monotonic in the time, as long as the parts
 * that are added to the analysis keep their values and no clock is set in its
 * zones.
 */
static bool
is_monotonic(Analysis *analysis, Node *expr, Bounds *bounds)
{
	switch (nodeTag(expr))
	{
		case T_Var:
			*bounds = (Bounds){.magnitude = MTS_SAFE_SECONDS};
			return ((Var *) expr)->varno == analysis->varno &&
				   ((Var *) expr)->varlevelsup == 0 &&
				   ((Var *) expr)->varattno == analysis->time;
		case T_RelabelType:
			return is_monotonic(analysis, (Node *) ((RelabelType *) expr)->arg,
								bounds);
		case T_FuncExpr:
			return is_monotonic_call(analysis, ((FuncExpr *) expr)->funcid,
									 ((FuncExpr *) expr)->args, exprType(expr),
									 bounds);
		case T_OpExpr:
			return is_monotonic_call(analysis,
									 get_opcode(((OpExpr *) expr)->opno),
									 ((OpExpr *) expr)->args, exprType(expr),
									 bounds);
		default:
			return false;
	}
}

/*
 * mts_monotonic_is
 *		Tell whether an expression of the time cannot fail, and is monotonic
 *		while no clock is set.  A field or a text of the time counts, though
 *		it is monotonic only within a unit, such as an hour of a day.
 */
bool
mts_monotonic_is(Node *expr, Index varno, AttrNumber time)
{
	double magnitude;

	return mts_monotonic_is_bounded(expr, varno, time, &magnitude);
}

/*
 * mts_monotonic_is_bounded
 *		Tell whether mts_monotonic_is(), and set a bound of the expression's
 *		absolute value; times are in seconds.
 */
bool
mts_monotonic_is_bounded(Node *expr, Index varno, AttrNumber time,
						 double *magnitude)
{
	Analysis analysis = {varno, time};
	Bounds bounds;

	if (!is_monotonic(&analysis, expr, &bounds))
		return false;
	*magnitude = bounds.magnitude;
	return true;
}

/*
 * mts_monotonic_never_falls
 *		Tell whether an expression of the time never falls except where clocks
 *		of a zone are set back, and find these zones.
 *
 * A text in a pattern counts if it is sortable; it falls also before the year
 * 1 and where the year gets another digit.
 */
bool
mts_monotonic_never_falls(Node *expr, Index varno, AttrNumber time,
						  List **zones)
{
	Analysis analysis = {varno, time};
	Analysis inner = {varno, time};
	Node *text = mts_monotonic_formatted(expr);
	Bounds bounds;
	ListCell *lc;

	if (!is_monotonic(&analysis, expr, &bounds) ||
		(text && !is_monotonic(&inner, text, &bounds)) ||
		(text ? inner : analysis).parts.exprs != NIL || analysis.is_decreasing)
		return false;
	*zones = analysis.parts.zones;
	foreach (lc, *zones)
		if (!((MtsZoneWindow *) lfirst(lc))->seen)
			return false;
	return true;
}

/* Add the parts of an expression: the largest monotonic ones in it. */
static bool
find_parts(Node *expr, Analysis *analysis)
{
	int n = list_length(analysis->parts.exprs);
	Bounds bounds;

	if (expr == NULL)
		return false;
	if (is_monotonic(analysis, expr, &bounds))
	{
		if (!bounds.is_derived)
			analysis->parts.exprs =
				list_append_unique(analysis->parts.exprs, expr);
		analysis->is_continuous |= !bounds.is_step_function;
		return false;
	}
	analysis->parts.exprs = list_truncate(analysis->parts.exprs, n);
	return expression_tree_walker(expr, find_parts, analysis);
}

/*
 * mts_monotonic_is_step_function
 *		Tell whether an expression of the time keeps each value for a while.
 */
bool
mts_monotonic_is_step_function(Node *expr, Index varno, AttrNumber time)
{
	Analysis analysis = {varno, time};

	(void) find_parts(expr, &analysis);
	return !analysis.is_continuous;
}

/*
 * mts_monotonic_parts
 *		Find the monotonic parts of expressions, and the zones whose clocks
 *		matter to them.
 */
MtsMonotonicParts
mts_monotonic_parts(List *exprs, Index varno, AttrNumber time)
{
	Analysis analysis = {varno, time};

	(void) find_parts((Node *) exprs, &analysis);
	return analysis.parts;
}
