/*
 * inverse.c
 *		Find the times at which a monotonic expression has certain values.
 *
 * An expression such as ts::date or date_trunc('day', ts) never falls while no
 * clock is set (monotonic.c).  So bisection finds the time from which on it
 * has at least some value.  The expression is evaluated like any other, in the
 * session's zone and with the parameters of the execution.
 *
 * Where clocks are set, the expression may fall, but by a limited amount: at a
 * time that is CHANGE_REACH or more after another one, it is not less, for
 * each zone that it depends on.  So there is a first bisection over all times,
 * down to that distance.  Near the time that it finds, the clock changes
 * divide time into pieces without any, and a bisection in each piece ends at a
 * microsecond.  A piece may begin without need, but must not hold a change: a
 * change is found where the zone sees it, in the value of a subexpression, by
 * bisection as well.
 *
 * Texts of to_char are ordered like times in each year alone, since the number
 * of digits of years varies, and years before the year 1 look like later ones.
 * A text tells which years can have it.
 *
 * A time whose value PostgreSQL cannot compute counts as beyond all values,
 * even infinite ones.  So no error is raised for a point, and none for times
 * that no point has.
 */
#include "pushdown/inverse.h"

#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pushdown/monotonic.h"
#include "table/type.h"

/*
 * An expression does not fall between two times that are this far apart, for
 * each zone.  Offsets from UTC are below a day, and an expression uses two of
 * a zone at most; it truncates times to less than a day, or to units that are
 * longer than any change of a clock.
 */
#define CHANGE_REACH (7 * USECS_PER_DAY)

/* The digits of the last year that PostgreSQL has, 294276 */
#define LARGEST_YEAR_DIGITS 6

/* An expression, and a value that it passes at some times */
typedef struct Level
{
	Expr *expr; /* the column is a CaseTestExpr; NULL is the point's time */
	ExprState *state;
	FmgrInfo compare; /* with the value; not for clock changes */
	Datum value;
	bool includes_equal; /* equal values count as below */
} Level;

/* A zone whose clock changes matter */
typedef struct Zone
{
	const pg_tz *zone; /* NULL for the session's */
	int64 shift;       /* microseconds that are added to local times */
	Level seen; /* an instant or a local time, whose values tell where changes
				 * matter */
	Oid type;   /* of these */
} Zone;

struct MtsInverse
{
	const MtsTable *table;
	Oid right; /* the type of the values that the expression has */
	Level level;
	List *zones;           /* Zone, those of subexpressions first */
	MtsInverse *years;     /* of a text: the local year */
	ExprContext *econtext; /* NULL until it is initialized */
};

typedef struct Times
{
	int n;
	MtsTime *items;
} Times;

/* ---- What is evaluated -------------------------------------------------- */

/* Replace the time column by the value that ExprContext has for CASE. */
static Node *
replace_var(Node *node, void *value)
{
	if (node == NULL)
		return NULL;
	return IsA(node, Var) ? value
						  : expression_tree_mutator(node, replace_var, value);
}

static Expr *
replace_time(const MtsTable *table, Expr *expr)
{
	CaseTestExpr *value = makeNode(CaseTestExpr);

	value->typeId = table->attributes[table->layout.time_column].typid;
	value->typeMod = -1;
	return (Expr *) replace_var((Node *) expr, value);
}

/*
 * Find the function that compares two types in the B-tree family of the first
 * one; InvalidOid if there is none.
 */
static Oid
comparison_of(Oid left, Oid right)
{
	Oid family = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf;

	return OidIsValid(family)
			   ? get_opfamily_proc(family, left, right, BTORDER_PROC)
			   : InvalidOid;
}

static void
add_zone(MtsInverse *inverse, const pg_tz *tz, int32 days, Expr *seen)
{
	Zone *zone = palloc0(sizeof(Zone));

	zone->zone = tz;
	zone->shift = days * USECS_PER_DAY;
	zone->seen.expr = seen;
	zone->type = seen ? exprType((Node *) seen) : TIMESTAMPTZOID;
	inverse->zones = lappend(inverse->zones, zone);
}

/* The expression extract(year FROM time) */
static Expr *
make_year(Node *time)
{
	Const *name = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
							CStringGetTextDatum("year"), false, false);

	return (Expr *) makeFuncExpr(exprType(time) == TIMESTAMPTZOID
									 ? F_EXTRACT_TEXT_TIMESTAMPTZ
									 : F_EXTRACT_TEXT_TIMESTAMP,
								 NUMERICOID, list_make2(name, time),
								 InvalidOid, DEFAULT_COLLATION_OID,
								 COERCE_EXPLICIT_CALL);
}

/*
 * mts_inverse_new
 *		Prepare to find the times at which an expression of the points' time
 *		has values that are compared with those of a type; NULL if that is
 *		not known.
 *
 * Local times that are compared with instants are converted to these, in the
 * session's zone.
 */
MtsInverse *
mts_inverse_new(const MtsTable *table, Index varno, Expr *expr, Oid right)
{
	AttrNumber time = table->layout.time_column + 1;
	MtsInverse *inverse;
	Node *text;
	List *zones;
	ListCell *lc;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (right == TIMESTAMPTZOID && exprType((Node *) expr) != right)
		expr = (Expr *) makeFuncExpr(exprType((Node *) expr) == DATEOID
										 ? F_TIMESTAMPTZ_DATE
										 : F_TIMESTAMPTZ_TIMESTAMP,
									 right, list_make1(expr), InvalidOid,
									 InvalidOid, COERCE_IMPLICIT_CAST);
	if (!mts_monotonic_never_falls((Node *) expr, varno, time, &zones) ||
		!OidIsValid(comparison_of(exprType((Node *) expr), right)))
		return NULL;
	inverse = palloc0(sizeof(MtsInverse));
	inverse->table = table;
	inverse->level.expr = replace_time(table, expr);
	inverse->right = right;
	if (table->attributes[time - 1].typid != TIMESTAMPTZOID && !table->is_utc)
		add_zone(inverse, table->layout.clock.arg, 0, NULL);
	foreach (lc, zones)
	{
		const MtsZoneWindow *window = lfirst(lc);

		add_zone(inverse, window->zone, window->days,
				 replace_time(table, (Expr *) window->seen));
	}
	text = mts_monotonic_formatted((Node *) expr);
	if (text)
		inverse->years =
			mts_inverse_new(table, varno, make_year(text), NUMERICOID);
	return inverse;
}

/* mts_inverse_type: the type of the expression. */
Oid
mts_inverse_type(const MtsInverse *inverse)
{
	return exprType((Node *) inverse->level.expr);
}

/* mts_inverse_init: prepare the expressions for evaluation. */
void
mts_inverse_init(MtsInverse *inverse)
{
	ListCell *lc;

	inverse->econtext = CreateStandaloneExprContext();
	inverse->level.state = ExecInitExpr(inverse->level.expr, NULL);
	fmgr_info(comparison_of(mts_inverse_type(inverse), inverse->right),
			  &inverse->level.compare);
	foreach (lc, inverse->zones)
	{
		Level *seen = &((Zone *) lfirst(lc))->seen;

		if (seen->expr)
			seen->state = ExecInitExpr(seen->expr, NULL);
	}
	if (inverse->years)
		mts_inverse_init(inverse->years);
}

/* ---- Values ------------------------------------------------------------- */

/* The value of the time column for a point */
static Datum
time_of_point(const MtsTable *table, MtsTime t)
{
	Oid typid = table->attributes[table->layout.time_column].typid;

	if (typid == TIMESTAMPTZOID)
		return TimestampTzGetDatum(t);
	t = mts_clock_local(&table->layout.clock, t);
	if (typid == TIMESTAMPOID)
		return TimestampGetDatum(t);
	return DateADTGetDatum(
		(DateADT) (t / USECS_PER_DAY - (t % USECS_PER_DAY < 0)));
}

/*
 * Evaluate an expression at a time where it may fail; false if it does.
 *
 * PostgreSQL's functions of times and numbers only compute, so there is
 * nothing to undo.  Interrupts are held off, since they could raise other
 * errors.
 */
static bool
try_evaluate(ExprState *state, ExprContext *econtext, Datum *value)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool ok = true;
	bool isnull;

	HOLD_INTERRUPTS();
	PG_TRY();
	{
		*value = ExecEvalExprSwitchContext(state, econtext, &isnull);
		RESUME_INTERRUPTS();
	}
	PG_CATCH();
	{
		/* ereport has resumed interrupts */
		MemoryContextSwitchTo(context);
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		ok = false;
	}
	PG_END_TRY();
	return ok;
}

/*
 * Evaluate the expression of a level for a point; false if it is out of range.
 * The value lives until the next one.
 */
static bool
evaluate(const MtsInverse *inverse, const Level *level, MtsTime t,
		 Datum *value)
{
	ExprContext *econtext = inverse->econtext;
	bool isnull;

	CHECK_FOR_INTERRUPTS();
	*value = TimestampTzGetDatum(t);
	if (!level->state)
		return true;
	ResetExprContext(econtext);
	econtext->caseValue_datum = time_of_point(inverse->table, t);
	econtext->caseValue_isNull = false;
	if (t < MTS_SAFE_FROM || t > MTS_SAFE_TO)
		return try_evaluate(level->state, econtext, value);
	*value = ExecEvalExprSwitchContext(level->state, econtext, &isnull);
	return true;
}

/* Evaluate what a zone sees for a point. */
static MtsTime
evaluate_seen(const MtsInverse *inverse, const Zone *zone, MtsTime t)
{
	Datum value;

	if (!evaluate(inverse, &zone->seen, t, &value))
		return t < MTS_SAFE_FROM ? MIN_TIMESTAMP : END_TIMESTAMP;
	return zone->type == DATEOID ? DatumGetDateADT(value) * USECS_PER_DAY
								 : DatumGetTimestamp(value);
}

/* Tell whether the expression is below its level for a point. */
static bool
is_below(const MtsInverse *inverse, MtsTime t)
{
	const Level *level = &inverse->level;
	Datum value;
	int32 order;

	if (!evaluate(inverse, level, t, &value))
		return t < MTS_SAFE_FROM;
	order =
		DatumGetInt32(FunctionCall2Coll((FmgrInfo *) &level->compare,
										C_COLLATION_OID, value, level->value));
	return order < 0 || (order == 0 && level->includes_equal);
}

/*
 * Find the first time of [from, to) at which the expression is not below its
 * level, or if there is a zone, what it sees not before a time; to if none.
 */
static MtsTime
bisect(const MtsInverse *inverse, const Zone *zone, MtsTime at, MtsTime from,
	   MtsTime to)
{
	while (from < to)
	{
		MtsTime middle = from + (to - from) / 2;

		if (zone ? evaluate_seen(inverse, zone, middle) < at
				 : is_below(inverse, middle))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* ---- Clock changes ------------------------------------------------------ */

static void
add_time(Times *times, MtsTime t)
{
	times->items =
		times->items ? repalloc(times->items, (times->n + 1) * sizeof(MtsTime))
					 : palloc(sizeof(MtsTime));
	times->items[times->n++] = t;
}

static int
compare_times(const void *a, const void *b)
{
	MtsTime x = *(const MtsTime *) a;
	MtsTime y = *(const MtsTime *) b;

	return (x > y) - (x < y);
}

/* Sort times and remove duplicates. */
static void
sort_times(Times *times)
{
	int n = times->n;

	if (n == 0)
		return;
	qsort(times->items, n, sizeof(MtsTime), compare_times);
	times->n = 1;
	for (int i = 1; i < n; i++)
		if (times->items[i] > times->items[times->n - 1])
			times->items[times->n++] = times->items[i];
}

/*
 * Find the clock changes of a zone near what it sees in [from, to): their
 * instants, the offsets from UTC before and after them, and the local times at
 * which conversion to instants may fall.  These are a change in either offset,
 * and a day later, when PostgreSQL no longer looks at it.
 */
static void
find_changes(const MtsInverse *inverse, const Zone *zone, MtsTime from,
			 MtsTime to, Times *changes, Times *offsets, Times *locals)
{
	pg_time_t margin =
		(list_length(inverse->zones) * CHANGE_REACH + imaxabs(zone->shift)) /
		USECS_PER_SEC;
	pg_time_t t =
		timestamptz_to_time_t(evaluate_seen(inverse, zone, from)) - margin;
	pg_time_t last =
		timestamptz_to_time_t(evaluate_seen(inverse, zone, to - 1)) + margin;
	long before, after;
	int before_is_dst, after_is_dst, result;

	while ((result = pg_next_dst_boundary(&t, &before, &before_is_dst, &t,
										  &after, &after_is_dst,
										  zone->zone ? zone->zone
													 : session_timezone)) >
			   0 &&
		   t <= last)
	{
		MtsTime at = time_t_to_timestamptz(t);

		add_time(changes, at);
		add_time(offsets, before * USECS_PER_SEC);
		add_time(offsets, after * USECS_PER_SEC);
		add_time(locals, at + before * USECS_PER_SEC);
		add_time(locals, at + after * USECS_PER_SEC);
		add_time(locals, at + USECS_PER_DAY);
	}
	if (result < 0)
		elog(ERROR, "could not find the clock changes of a time zone");
	sort_times(offsets);
}

/*
 * Find the values that a zone sees at which the next value may fall.  Instants
 * to which days are added become local times and then instants again, each by
 * some offset of the zone.
 */
static Times
find_values(const MtsInverse *inverse, const Zone *zone, MtsTime from,
			MtsTime to)
{
	Times changes = {0}, offsets = {0}, locals = {0};

	find_changes(inverse, zone, from, to, &changes, &offsets, &locals);
	if (zone->type != TIMESTAMPTZOID)
		changes = locals;
	else if (zone->shift != 0)
		for (int i = 0; i < locals.n; i++)
			for (int k = 0; k < offsets.n; k++)
			{
				MtsTime instant = locals.items[i] - offsets.items[k];

				add_time(&changes, instant - zone->shift);
				add_time(&changes, instant + zone->shift);
			}
	sort_times(&changes);
	return changes;
}

/*
 * Add the times of [from, to) at which the local time of a point falls, since
 * beyond them it is out of range and stays an instant.
 */
static void
add_ends(const MtsInverse *inverse, MtsTime from, MtsTime to, Times *times)
{
	static const MtsTime ends[] = {MIN_TIMESTAMP, END_TIMESTAMP};

	for (int i = 0; i < lengthof(ends); i++)
	{
		MtsTime inside = ends[i] + (i == 0 ? 2 : -2) * USECS_PER_DAY;
		MtsTime end = ends[i] + inside -
					  mts_clock_local(&inverse->table->layout.clock, inside);

		if (end > from && end < to)
			add_time(times, end);
	}
}

/*
 * Add the times of [from, to) from which on a zone sees one of the values,
 * which are sorted.
 */
static void
add_cuts(const MtsInverse *inverse, const Zone *zone, const Times *values,
		 MtsTime from, MtsTime to, Times *cuts)
{
	for (int i = 0; from < to; i++)
	{
		MtsTime seen = evaluate_seen(inverse, zone, from);

		while (i < values->n && values->items[i] <= seen)
			i++;
		if (i == values->n)
			return;
		from = bisect(inverse, zone, values->items[i], from, to);
		add_time(cuts, from);
	}
}

/*
 * Divide [from, to) into pieces in which the expression never falls.  Returns
 * where they begin, and to.
 */
static Times
divide(const MtsInverse *inverse, MtsTime from, MtsTime to)
{
	Times pieces = {0};
	ListCell *lc;

	add_time(&pieces, from);
	add_ends(inverse, from, to, &pieces);
	add_time(&pieces, to);
	foreach (lc, from < to ? inverse->zones : NIL)
	{
		const Zone *zone = lfirst(lc);
		Times values = find_values(inverse, zone, from, to);
		int n = pieces.n;

		for (int i = 0; i + 1 < n; i++)
			add_cuts(inverse, zone, &values, pieces.items[i],
					 pieces.items[i + 1], &pieces);
		sort_times(&pieces);
	}
	return pieces;
}

/* ---- Ranges ------------------------------------------------------------- */

/* The distance between two times, which may not fit int64 */
static uint64
distance(MtsTime from, MtsTime to)
{
	return (uint64) to - (uint64) from;
}

/*
 * Append the ranges of [from, to) in which the expression is below its level.
 *
 * The first bisection moves low and high, so that the expression is below at
 * low - 1 and not below at high, or these are the ends.
 */
static void
add_below(MtsInverse *inverse, MtsTime from, MtsTime to, MtsRanges *below)
{
	int64 reach = list_length(inverse->zones) * CHANGE_REACH;
	MtsTime low = from, high = to;
	Times pieces;

	while (distance(low, high) > reach)
	{
		MtsTime middle = low + distance(low, high) / 2;

		if (is_below(inverse, middle))
			low = middle + 1;
		else
			high = middle;
	}
	low = distance(from, low) > reach ? low - reach : from;
	high = distance(high, to) > reach ? high + reach : to;
	pieces = divide(inverse, low, high);
	below->items =
		repalloc(below->items, (below->n + pieces.n + 1) * sizeof(MtsRange));
	mts_ranges_add(below, from, low);
	for (int i = 0; i + 1 < pieces.n; i++)
		mts_ranges_add(below, pieces.items[i],
					   bisect(inverse, NULL, 0, pieces.items[i],
							  pieces.items[i + 1]));
}

/* Find the times of some ranges at which the expression is below a bound. */
static MtsRanges
find_below(MtsInverse *inverse, const MtsRanges *within, Datum value,
		   bool includes_equal)
{
	MtsRanges below = {0, palloc(sizeof(MtsRange))};
	Level *level = &inverse->level;

	level->value = value;
	level->includes_equal = includes_equal;
	for (int i = 0; i < within->n; i++)
		add_below(inverse, within->items[i].from, within->items[i].to, &below);
	return below;
}

static MtsRanges
subtract(const MtsRanges *a, const MtsRanges *b)
{
	MtsRanges result = {0, palloc((a->n + b->n + 1) * sizeof(MtsRange))};

	mts_ranges_subtract(a, b, &result);
	return result;
}

static MtsRanges
find_between(MtsInverse *inverse, const MtsRanges *within,
			 const MtsBound *lower, const MtsBound *upper)
{
	MtsRanges result = *within;
	MtsRanges below;

	if (upper)
		result =
			find_below(inverse, within, upper->value, upper->is_inclusive);
	if (!lower)
		return result;
	below = find_below(inverse, within, lower->value, !lower->is_inclusive);
	return subtract(&result, &below);
}

/* ---- Texts -------------------------------------------------------------- */

/* Find the times at which the year of texts is this one. */
static MtsRanges
find_year(MtsInverse *inverse, const MtsRanges *within, int year)
{
	MtsBound bound = {NumericGetDatum(int64_to_numeric(year)), true};

	return find_between(inverse->years, within, &bound, &bound);
}

/*
 * Find the times at which a text may have a value.  The text begins with a
 * year Y, and years before the year 1 have no sign in it, so these are the
 * times of the years Y and -Y.  For each digit of a year after the fourth one,
 * the text is a character longer than that of the year 2000.
 */
static MtsRanges
find_years(MtsInverse *inverse, const MtsRanges *within, Datum value)
{
	char *wanted = TextDatumGetCString(value);
	Datum usual;
	int digits;
	int year = 0;
	MtsRanges after, before, both;

	(void) evaluate(inverse, &inverse->level, 0, &usual);
	digits =
		4 + (int) strlen(wanted) - (int) strlen(TextDatumGetCString(usual));
	if (digits < 4 || digits > LARGEST_YEAR_DIGITS)
		return (MtsRanges){0};
	for (int i = 0; i < digits && isdigit((unsigned char) wanted[i]); i++)
		year = year * 10 + wanted[i] - '0';
	after = find_year(inverse, within, year);
	before = find_year(inverse, within, -year);
	both = (MtsRanges){0, palloc((after.n + before.n + 1) * sizeof(MtsRange))};
	mts_ranges_unite(&before, &after, &both);
	return both;
}

/*
 * mts_inverse_between
 *		Find the times at which the expression lies between two bounds; a bound
 *		that is NULL is open.
 *
 * For a text both bounds are the same value.
 */
MtsRanges
mts_inverse_between(MtsInverse *inverse, const MtsBound *lower,
					const MtsBound *upper)
{
	MtsRanges within = {1, palloc(sizeof(MtsRange))};
	MtsRanges result;

	within.items[0] = (MtsRange){MIN_TIMESTAMP, END_TIMESTAMP};
	if (inverse->years)
		within = find_years(inverse, &within, lower->value);
	result = find_between(inverse, &within, lower, upper);
	/* no stored time is beyond */
	if (result.n > 0 && result.items[0].from == MIN_TIMESTAMP)
		result.items[0].from = MTS_TIME_MIN;
	if (result.n > 0 && result.items[result.n - 1].to == END_TIMESTAMP)
		result.items[result.n - 1].to = MTS_TIME_MAX;
	return result;
}
