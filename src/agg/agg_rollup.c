/*
 * agg_rollup.c
 *		Read the rows of a roll-up as the totals of points.
 *
 * A row of a roll-up has the totals of the points of one series in an
 * interval.  An interval is answered by its rows if
 *
 *		the query wants all times of the interval,
 *		it ends at or before the time up to which the roll-up is complete,
 *		it overlaps no stale range,
 *		its rows have the totals that the query requires, and
 *		all grouping keys of the time keep their values over the interval.
 *
 * All of these depend on the time alone.  So the points of an interval are
 * either answered by rows for all series, or left open for all: they are read
 * by a query of ranges of time.  An interval without any row has no points.
 *
 * The last condition is checked for the intervals that have rows, since only
 * their number is limited.  The other conditions are ranges, by which the
 * roll-up is read.
 */
#include "agg/agg_rollup.h"

#include "access/attmap.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "driver/attempt.h"
#include "pushdown/monotonic.h"
#include "pushdown/shippable.h"
#include "scan/fdw_private.h"
#include "table/rollup_field.h"

/* An interval of a roll-up */
typedef struct MtsInterval
{
	MtsTime start;
	MtsTime end;
	bool is_open;             /* its points are read */
	struct MtsInterval *next; /* that one begins at the end; or NULL */
} MtsInterval;

/* ---- What a roll-up answers --------------------------------------------- */

/* Tell whether a column of the roll-up has all values of one of the points. */
static bool
keeps_type(const MtsAttribute *of_points, const MtsAttribute *of_rollup)
{
	return of_rollup->typid == of_points->typid &&
		   (of_rollup->typmod == -1 || of_rollup->typmod == of_points->typmod);
}

/* The roll-up's column with a key of the points, both from 0; -1 if none */
static int
key_of(const MtsTable *points, const MtsRollup *rollup, int column)
{
	int key = column < rollup->ncolumns ? rollup->keys[column] - 1 : -1;

	return key >= 0 && column != points->layout.time_column &&
				   keeps_type(&points->attributes[column],
							  &rollup->table->attributes[key])
			   ? key
			   : -1;
}

/*
 * Say why an expression cannot be computed from the keys of a roll-up, by the
 * text for a key that it lacks; NULL if it can be.  Points of keys that are
 * equal but differ, such as 1.0 and 1.00, are in one row.  Columns of other
 * tables are those for whose rows the scan runs.
 */
static const char *
problem_of_keys(const MtsTable *points, const MtsRollup *rollup, Index varno,
				Node *expr, const char *lacks)
{
	ListCell *lc;

	foreach (lc, pull_var_clause(expr, 0))
	{
		const Var *var = lfirst_node(Var, lc);

		if (var->varno != varno)
			continue;
		if (var->varattno <= 0 ||
			key_of(points, rollup, var->varattno - 1) < 0)
			return lacks;
		if (!mts_type_has_identical_equals(var->vartype, var->varcollid))
			return "one row can have different keys that are equal, such as "
				   "1.0 and 1.00, in %s";
	}
	return NULL;
}

/* Tell whether an expression depends on the time of the points. */
static bool
has_time(const MtsTable *points, Index varno, Node *expr)
{
	Bitmapset *attnums = NULL;

	pull_varattnos(expr, varno, &attnums);
	return bms_is_member(points->layout.time_column + 1 -
							 FirstLowInvalidHeapAttributeNumber,
						 attnums);
}

/*
 * Say why a condition is neither one of the keys, nor decided by ranges of the
 * time.  *is_strict is set if it is false without a time.
 */
static const char *
problem_of_clause(const MtsTable *points, const MtsRollup *rollup, Index varno,
				  Expr *clause, bool *is_strict)
{
	const MtsQual *qual;

	if (!has_time(points, varno, (Node *) clause))
		return problem_of_keys(points, rollup, varno, (Node *) clause,
							   "it lacks a key for condition %s");
	qual = mts_shippable_clause(points, varno, clause);
	if (!qual || !qual->exact || !qual->time_only)
		return "ranges of the time do not decide condition %s";
	*is_strict |=
		qual->kind == MTS_QUAL_TIME || qual->kind == MTS_QUAL_NOT_NULL;
	return NULL;
}

/*
 * Say why a grouping key is neither one of the roll-up, nor one with steps of
 * the time alone.
 */
static const char *
problem_of_key(const MtsTable *points, const MtsRollup *rollup, Index varno,
			   Node *expr)
{
	int time = points->layout.time_column;
	bool is_of_time = true;
	ListCell *lc;

	if (!has_time(points, varno, expr))
		return problem_of_keys(points, rollup, varno, expr,
							   "it lacks a key to group by %s");
	foreach (lc, pull_var_clause(expr, 0))
		is_of_time &= lfirst_node(Var, lc)->varattno == time + 1;
	return is_of_time && mts_monotonic_is_step_function(expr, varno, time + 1)
			   ? NULL
			   : "its intervals cannot be grouped by %s";
}

/* The type of the sum of values of a type, in a roll-up */
static Oid
sum_type(Oid typid)
{
	return typid == FLOAT8OID || typid == NUMERICOID ? typid : INT8OID;
}

/* The roll-up's column with a total of a column, both from 0; -1 if none */
static int
total_of(const MtsTable *points, const MtsRollup *rollup, int column,
		 MtsRollupKind kind)
{
	const MtsAttribute *attribute = &points->attributes[column];
	AttrNumber attnum =
		column < rollup->ncolumns ? rollup->totals[column].of[kind] : 0;
	const MtsAttribute *total;
	bool fits;

	if (attnum == 0 && kind == MTS_ROLLUP_COUNT &&
		(attribute->not_null || column == points->layout.time_column))
		attnum = rollup->npoints;
	if (attnum == 0)
		return -1;
	total = &rollup->table->attributes[attnum - 1];
	switch (kind)
	{
		case MTS_ROLLUP_COUNT:
			fits = total->typid == INT8OID;
			break;
		case MTS_ROLLUP_SUM:
			fits = total->typid == sum_type(attribute->typid) &&
				   total->typmod == -1;
			break;
		default:
			fits = keeps_type(attribute, total);
	}
	return fits ? attnum - 1 : -1;
}

/* Say why an aggregate cannot be computed from the rows of a roll-up. */
static const char *
problem_of_aggregate(const MtsTable *points, const MtsRollup *rollup,
					 Index varno, const Aggref *aggref)
{
	const char *problem =
		problem_of_keys(points, rollup, varno, (Node *) aggref->aggfilter,
						"it lacks a key for the filter of %s");
	const Var *var;
	int totals;

	if (problem || aggref->aggfnoid == F_COUNT_)
		return problem;
	if (list_length(aggref->args) != 1 || aggref->aggdistinct != NIL ||
		!mts_agg_totals_find(aggref->aggfnoid, &totals))
		return "totals do not give %s";
	var = (const Var *) linitial_node(TargetEntry, aggref->args)->expr;
	if (!IsA(var, Var) || var->varattno <= 0 ||
		(var->varattno - 1 == points->layout.time_column &&
		 totals != MTS_TOTAL_COUNT))
		return "totals do not give %s";
	for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
		if ((totals & 1 << kind) &&
			total_of(points, rollup, var->varattno - 1, kind) < 0)
			return "it lacks the totals for %s";
	return NULL;
}

/*
 * Tell whether the times of the points are instants, as PostgreSQL sees them:
 * not rounded, and not local.
 */
static bool
times_are_instants(const MtsTable *table)
{
	const MtsAttribute *time;

	if (table->layout.time_column < 0)
		return false;
	time = &table->attributes[table->layout.time_column];
	return time->typmod == -1 &&
		   (time->typid == TIMESTAMPTZOID ||
			(time->typid == TIMESTAMPOID && table->is_utc));
}

/*
 * mts_agg_rollup_problem
 *		Say why a roll-up cannot answer an aggregation of the points; NULL if
 *		it can.
 *
 * The clauses are all conditions on the points, and the output is the keys and
 * the Aggrefs, of the relation varno.  %s in the result stands for *of, one of
 * these, which is not written unless somebody asks.
 */
const char *
mts_agg_rollup_problem(const MtsTable *points, const MtsRollup *rollup,
					   Index varno, List *clauses, List *output, Node **of)
{
	int time = points->layout.time_column;
	const char *problem = NULL;
	bool has_all_times;
	ListCell *lc;

	if (rollup->npoints == 0 ||
		rollup->table->attributes[rollup->npoints - 1].typid != INT8OID)
		return "it lacks a column of type bigint with the number of points";
	if (!times_are_instants(points))
		return "the times of the points are rounded or local";
	if (!times_are_instants(rollup->table))
		return "its times are rounded or local";
	/* a point without a time is in no interval, but could be wanted */
	has_all_times = points->layout.time_kind != MTS_TIME_FLAT ||
					points->attributes[time].not_null;
	foreach (lc, clauses)
	{
		*of = lfirst(lc);
		problem = problem_of_clause(points, rollup, varno, lfirst(lc),
									&has_all_times);
		if (problem)
			return problem;
	}
	foreach (lc, output)
	{
		*of = lfirst(lc);
		problem =
			IsA(*of, Aggref)
				? problem_of_aggregate(points, rollup, varno, (Aggref *) *of)
				: problem_of_key(points, rollup, varno, *of);
		if (problem)
			return problem;
	}
	return has_all_times ? NULL
						 : "points can lack a time, and no condition "
						   "excludes these";
}

/* ---- Opening ------------------------------------------------------------ */

/* Add the roll-up's columns that aggregates require to its attributes. */
static List *
require_totals(MtsRollupScan *rollup, List *attnums)
{
	const MtsAggSpec *spec = rollup->spec;
	const MtsTable *points = spec->table;

	rollup->required = palloc0((spec->naggregates + 1) * sizeof(MtsRequired));
	rollup->totals_of = palloc0(points->layout.ncolumns * sizeof(int));
	rollup->has_warned = palloc0(points->layout.ncolumns * sizeof(bool));
	rollup->totals.columns =
		palloc0(points->layout.ncolumns * sizeof(MtsColumnTotals));
	for (int i = 0; i < spec->naggregates; i++)
	{
		MtsRequired *required = &rollup->required[i];

		if (!mts_agg_totals_require(spec, &spec->aggregates[i], required))
			elog(ERROR, "a roll-up does not have the totals of an aggregate");
		rollup->totals_of[required->column] |= required->totals;
		for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			if (required->totals & 1 << kind)
				attnums =
					list_append_unique_int(attnums,
										   total_of(points, rollup->rollup,
													required->column, kind) +
											   1);
	}
	return attnums;
}

/* List the attributes of the roll-up that an aggregation needs. */
static List *
find_needed(MtsRollupScan *rollup, List *clauses, List *output)
{
	const MtsAggSpec *spec = rollup->spec;
	const MtsTable *table = rollup->rollup->table;
	List *attnums =
		list_make2_int(rollup->rollup->npoints, table->layout.time_column + 1);
	Bitmapset *used = NULL;
	int i = -1;

	rollup->has_bucket_keys = true;
	pull_varattnos((Node *) clauses, spec->varno, &used);
	pull_varattnos((Node *) output, spec->varno, &used);
	while ((i = bms_next_member(used, i)) >= 0)
	{
		int column = i + FirstLowInvalidHeapAttributeNumber - 1;
		int key = key_of(spec->table, rollup->rollup, column);

		if (key < 0)
			continue;
		attnums = list_append_unique_int(attnums, key + 1);
		rollup->has_bucket_keys &=
			table->layout.columns[key].role != MTS_ROLE_SLOT &&
			table->layout.columns[key].container < 0;
	}
	return require_totals(rollup, attnums);
}

/* Let a clause on the points be one on the roll-up. */
static Expr *
translate_clause(const MtsRollupScan *rollup, Expr *clause)
{
	const MtsTable *points = rollup->spec->table;
	AttrMap *map = make_attrmap(points->layout.ncolumns);
	bool has_row;

	for (int i = 0; i < points->layout.ncolumns; i++)
		map->attnums[i] = key_of(points, rollup->rollup, i) + 1;
	return (Expr *) map_variable_attnos((Node *) clause, rollup->spec->varno,
										0, map, InvalidOid, &has_row);
}

/*
 * Divide the conditions on keys into those by which the roll-up is read, and
 * those that are checked for its rows.
 */
static void
divide_clauses(MtsRollupScan *rollup, List *clauses, List **pushed,
			   List **checked)
{
	const MtsAggSpec *spec = rollup->spec;
	ListCell *lc;

	foreach (lc, clauses)
	{
		Expr *clause;
		const MtsQual *qual;

		if (has_time(spec->table, spec->varno, lfirst(lc)))
			continue;
		clause = translate_clause(rollup, lfirst(lc));
		qual =
			mts_shippable_clause(rollup->rollup->table, spec->varno, clause);
		if (qual)
			*pushed = lappend(*pushed, clause);
		if (!qual || !qual->exact)
			*checked = lappend(*checked, lfirst(lc));
	}
}

/*
 * mts_agg_rollup_open
 *		Prepare to read a roll-up for an aggregation of points; NULL if it has
 *		changed since planning, and does not fit any more.
 *
 * points is the scan of these, private the plan's, and desc that of the
 * points' rows.
 */
MtsRollupScan *
mts_agg_rollup_open(ForeignScanState *node, Oid relid, const MtsAggSpec *spec,
					const MtsScan *points, List *private, TupleDesc desc)
{
	MtsRollupScan *rollup = palloc0(sizeof(MtsRollupScan));
	List *clauses = list_nth(private, MTS_AGG_CLAUSES);
	List *local = list_nth(private, MTS_AGG_LOCAL);
	List *output = list_nth(private, MTS_AGG_OUTPUT);
	Relation relation = try_table_open(relid, AccessShareLock);
	EState *estate = node->ss.ps.state;
	List *pushed = NIL;
	List *checked = NIL;
	const char *problem;
	Node *of;

	if (!relation)
		return NULL;
	rollup->spec = spec;
	rollup->nbuckets = -1;
	rollup->rollup = mts_rollup_try_open(relation, &problem);
	if (!rollup->rollup || rollup->rollup->points != spec->table->relid ||
		mts_agg_rollup_problem(spec->table, rollup->rollup, spec->varno,
							   list_concat_copy(clauses, local), output, &of))
	{
		table_close(relation, NoLock);
		return NULL;
	}
	rollup->slot = MakeSingleTupleTableSlot(CreateTupleDescCopy(
												RelationGetDescr(relation)),
											&TTSOpsVirtual);
	table_close(relation, NoLock);
	divide_clauses(rollup, clauses, &pushed, &checked);
	rollup->filter = ExecInitQual(checked, NULL);
	rollup->scan =
		mts_scan_for_plan(node, rollup->rollup->table, points->source->userid,
						  find_needed(rollup, list_concat_copy(clauses, local),
									  output),
						  spec->varno, pushed, CreateExprContext(estate));
	rollup->time_converter = mts_bucket_converter(points->bucket, spec->time);
	if (spec->step_exprs != NIL)
		rollup->stretch =
			mts_stretch_new(spec->step_exprs, spec->varno, spec->time,
							spec->table->layout.clock.arg,
							rollup->time_converter, desc, estate);
	rollup->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw roll-up",
							  ALLOCSET_SMALL_SIZES);
	return rollup;
}

/* ---- Intervals ---------------------------------------------------------- */

/* Tell whether all grouping keys of the time keep their values. */
static bool
keys_keep_values(MtsRollupScan *rollup, const MtsInterval *interval)
{
	if (!rollup->stretch)
		return true;
	/* what was tried before must not matter */
	mts_stretch_reset(rollup->stretch);
	(void) mts_stretch_seek(rollup->stretch, interval->start);
	return mts_stretch_extend(rollup->stretch, interval->end - 1);
}

/* Find an interval, or add it; NULL if none starts there. */
static MtsInterval *
look_up_interval(MtsRollupScan *rollup, MtsTime start)
{
	const MtsRollup *of = rollup->rollup;
	MtsInterval *interval =
		hash_search(rollup->intervals, &start, HASH_FIND, NULL);
	MtsTime end;

	if (interval)
		return interval;
	end = mts_rollup_ceil(of, start + 1);
	if (mts_rollup_floor(of, start) != start || end == MTS_TIME_MAX)
		return NULL;
	interval = hash_search(rollup->intervals, &start, HASH_ENTER, NULL);
	interval->end = end;
	interval->is_open = !keys_keep_values(rollup, interval);
	interval->next = NULL;
	return interval;
}

/*
 * Find an interval by its start; NULL if none starts there.  Most rows follow
 * that of the interval before.
 */
static const MtsInterval *
find_interval(MtsRollupScan *rollup, MtsTime start)
{
	MtsInterval *last = rollup->interval;

	if (last && last->end == start && last->next)
		rollup->interval = last->next;
	else
	{
		rollup->interval = look_up_interval(rollup, start);
		if (last && last->end == start)
			last->next = rollup->interval;
	}
	return rollup->interval;
}

/*
 * Remove the intervals before and after the start of one that clocks repeat,
 * by being set back over it.  The points of either one can be in the row of
 * the other.
 */
static void
remove_repeated(const MtsRollup *of, MtsRanges *ranges)
{
	const MtsClock *clock = &of->clock;
	MtsTime t, end;

	if (ranges->n == 0)
		return;
	end = ranges->items[ranges->n - 1].to + MTS_ZONE_SLACK;
	t = Max(ranges->items[0].from, MTS_UNIX_EPOCH) - MTS_ZONE_SLACK;
	while (ranges->n > 0 && (t = clock->next_change(clock->arg, t)) < end)
	{
		MtsTime start =
			mts_clock_floor(NULL, mts_clock_local(clock, t - 1), of->interval);
		MtsRange around = {mts_rollup_floor(of, t - MTS_ZONE_SLACK),
						   mts_rollup_ceil(of, t + MTS_ZONE_SLACK)};
		MtsRanges removed = {1, &around};
		MtsRanges left = {0, palloc((ranges->n + 1) * sizeof(MtsRange))};

		if (start < mts_clock_local(clock, t))
			continue;
		mts_ranges_subtract(ranges, &removed, &left);
		*ranges = left;
	}
}

/* Find from when on the rows have the required totals of a column. */
static bool
find_since(MtsRollupScan *rollup, int column, MtsTime kept)
{
	const MtsTable *points = rollup->spec->table;
	bool has_all = true;

	rollup->since[column] = MTS_TIME_MIN;
	for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
	{
		MtsTime since;

		if (!(rollup->totals_of[column] & 1 << kind))
			continue;
		if (!mts_rollup_field_find(rollup->rollup, &rollup->state,
								   total_of(points, rollup->rollup, column,
											kind) +
									   1,
								   &since))
		{
			since = kept;
			has_all = false;
		}
		rollup->since[column] = Max(rollup->since[column], since);
	}
	return has_all;
}

/*
 * Find the times whose points are read because the rows lack totals that are
 * required, of all points or of a column.
 *
 * Where points may have been removed, rows without a total that was added
 * since are the only answer.  Its values count as null then.
 */
static MtsRange
find_lacking(MtsRollupScan *rollup)
{
	const MtsRollup *of = rollup->rollup;
	const MtsLayout *layout = &rollup->spec->table->layout;
	MtsTime kept = mts_rollup_first_kept(of);
	MtsRange lacking = {kept, kept};
	const char *problem = NULL;
	MtsTime since;

	rollup->since = palloc((layout->ncolumns + 1) * sizeof(MtsTime));
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!find_since(rollup, i, kept))
			problem = psprintf("it has no totals of column \"%s\" before a "
							   "refresh",
							   layout->columns[i].name);
		else if (!of->drops_points)
			lacking.to = Max(lacking.to, rollup->since[i]);
	}
	if (!mts_rollup_field_find(of, &rollup->state, of->npoints, &since))
		problem = mts_rollup_is_altered;
	if (problem)
		lacking.to = MTS_TIME_MAX;
	if (since == MTS_TIME_MAX)
		lacking.from = MTS_TIME_MIN;
	if (lacking.from == MTS_TIME_MIN && !rollup->state.problem)
		rollup->state.problem = problem;
	return lacking;
}

/*
 * Find the whole intervals in the wanted times that are complete.
 *
 * Times near the ends of the calendar are left to the points, and so are those
 * before 1970 by the days of a zone, whose rules were odd.
 */
static void
find_complete(MtsRollupScan *rollup)
{
	const MtsRollupState *state = &rollup->state;
	const MtsRollup *of = rollup->rollup;
	bool is_zoned = of->clock.to_local != NULL;
	MtsRange until = {is_zoned ? MTS_UNIX_EPOCH : MTS_TIME_MIN, state->until};
	MtsRanges finished = {1, &until};
	MtsRange range = find_lacking(rollup);
	MtsRanges lacking = {range.from < range.to, &range};
	int room = rollup->wanted.n + state->stale.n + 3;
	MtsRanges others = {0, palloc(room * sizeof(MtsRange))};
	MtsRanges current = {0, palloc(room * sizeof(MtsRange))};
	MtsRanges wanted = {0, palloc(room * sizeof(MtsRange))};

	mts_ranges_unite(&state->stale, &lacking, &others);
	mts_ranges_subtract(&finished, &others, &current);
	mts_ranges_intersect(&rollup->wanted, &current, &wanted);
	rollup->complete = (MtsRanges){0, palloc(room * sizeof(MtsRange))};
	for (int i = 0; i < wanted.n; i++)
	{
		range = wanted.items[i];
		if ((range.from != MTS_TIME_MIN && range.from < MTS_SAFE_FROM) ||
			range.to < MTS_SAFE_FROM || range.to > MTS_SAFE_TO)
			continue;
		mts_ranges_add(&rollup->complete, mts_rollup_ceil(of, range.from),
					   mts_rollup_floor(of, range.to));
	}
	if (is_zoned)
		remove_repeated(of, &rollup->complete);
}

/* ---- Reading ------------------------------------------------------------ */

/* Read the state at the moment of a snapshot; the latest, if that is NULL. */
static void
read_state(MtsRollupScan *rollup, MtsSnapshot *snapshot, MtsRollupState *state)
{
	const MtsBucketSource *source = rollup->scan->source;

	mts_rollup_read_state(rollup->rollup, source->userid, snapshot, state);
	if (!rollup->rollup->by_application)
		source->counters->round_trips++;
}

/*
 * Read the state, and decide from where the rows are read: at the moment that
 * the statement sees or, if the server has no snapshots, from the primary.  A
 * secondary could lack rows that the state promises.  What a transaction has
 * written itself is stale outside of it alone, so that it reads no rows.
 */
static void
choose_moment(MtsRollupScan *rollup)
{
	const MtsBucketSource *source = rollup->scan->source;
	MtsSnapshot *snapshot = source->snapshot;

	rollup->has_state = true;
	rollup->is_at_moment = source->in_xact;
	if (source->in_xact)
		return;
	if (snapshot &&
		!mts_attempt_may_read_snapshots(
			mts_connection_get(source->table->serverid, source->userid), true))
		snapshot = NULL;
	read_state(rollup, snapshot, &rollup->state);
	rollup->is_at_moment = snapshot && mts_snapshot_time(snapshot) != 0;
	if (snapshot && !rollup->is_at_moment)
		read_state(rollup, NULL, &rollup->state);
	rollup->scan->spec.on_primary = !rollup->is_at_moment;
}

/*
 * mts_agg_rollup_begin
 *		Begin to read the rows of intervals in the wanted times.
 *
 * wanted must live as long as the execution.  If may_fail, a server that does
 * not answer soon leaves the state unknown, so that nothing is complete.
 */
void
mts_agg_rollup_begin(MtsRollupScan *rollup, const MtsRanges *wanted,
					 bool may_fail)
{
	HASHCTL control = {.keysize = sizeof(MtsTime),
					   .entrysize = sizeof(MtsInterval),
					   .hcxt = rollup->memory};
	MemoryContext old = MemoryContextSwitchTo(rollup->memory);

	rollup->intervals = hash_create("mongo_ts_fdw intervals", 256, &control,
									HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	rollup->wanted = *wanted;
	mts_rollup_parse_state(rollup->rollup, NULL, &rollup->state);
	if (may_fail && !rollup->scan->source->in_xact)
		rollup->has_state =
			mts_rollup_try_read_state(rollup->rollup,
									  rollup->scan->source->userid,
									  &rollup->state);
	else
		choose_moment(rollup);
	if (rollup->state.until != MTS_TIME_MIN)
		find_complete(rollup);
	else
		rollup->complete.n = 0;
	rollup->scan->spec.times = &rollup->complete;
	MemoryContextSwitchTo(old);
}

static void
refuse_row(const MtsRollupScan *rollup, MtsTime start, const char *problem)
{
	ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
					errmsg("invalid row of roll-up \"%s\"",
						   mts_table_name(rollup->rollup->table->relid)),
					errdetail("The row of %s %s.", timestamptz_to_str(start),
							  problem),
					errhint("mongo_ts_refresh_rollup() computes it again.")));
}

/* Read a count, which must not be null. */
static int64
read_count(const MtsRollupScan *rollup, MtsTime start, int column)
{
	const TupleTableSlot *slot = rollup->slot;
	int64 count = DatumGetInt64(slot->tts_values[column]);

	if (slot->tts_isnull[column] || count < 0 || count >> MTS_TOTALS_BITS != 0)
		refuse_row(rollup, start, "lacks a valid count");
	return count;
}

/* Warn once of rows that lack the totals of a column. */
static void
warn_of_lack(MtsRollupScan *rollup, int column)
{
	if (rollup->has_warned[column])
		return;
	rollup->has_warned[column] = true;
	ereport(
		WARNING,
		(errmsg("values of column \"%s\" count as null in old intervals of "
				"roll-up \"%s\"",
				rollup->spec->table->layout.columns[column].name,
				get_rel_name(rollup->rollup->table->relid)),
		 errdetail("Its rows have totals of the column since %s.  The "
				   "points of the time before may have been removed.",
				   timestamptz_to_str(rollup->since[column]))));
}

/* Read the required totals of a column. */
static void
read_totals(MtsRollupScan *rollup, MtsTime start, int column)
{
	const TupleTableSlot *slot = rollup->slot;
	MtsColumnTotals *totals = &rollup->totals.columns[column];
	Datum *values[] = {[MTS_ROLLUP_SUM] = &totals->sum,
					   [MTS_ROLLUP_MIN] = &totals->min,
					   [MTS_ROLLUP_MAX] = &totals->max};
	int nempty = 0;
	int n = 0;

	if (start < rollup->since[column])
	{
		warn_of_lack(rollup, column);
		totals->is_empty = true;
		totals->count = 0;
		return;
	}
	for (int kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
	{
		int total;

		if (!(rollup->totals_of[column] & 1 << kind))
			continue;
		total = total_of(rollup->spec->table, rollup->rollup, column, kind);
		n++;
		if (kind == MTS_ROLLUP_COUNT)
		{
			totals->count = read_count(rollup, start, total);
			nempty += totals->count == 0;
			continue;
		}
		nempty += slot->tts_isnull[total];
		*values[kind] = slot->tts_values[total];
	}
	totals->is_empty = nempty > 0;
	if (nempty > 0 && nempty < n)
		refuse_row(rollup, start,
				   "has some totals of a column, but not all of them");
}

/* Fill the points' row with what the points of the roll-up's row share. */
static void
fill_row(const MtsRollupScan *rollup, TupleTableSlot *row)
{
	const MtsTable *points = rollup->spec->table;
	const TupleTableSlot *slot = rollup->slot;
	int time = rollup->spec->time;
	MtsError error;

	ExecStoreAllNullTuple(row);
	for (int i = 0; i < points->layout.ncolumns; i++)
	{
		int key = key_of(points, rollup->rollup, i);

		if (key < 0)
			continue;
		row->tts_values[i] = slot->tts_values[key];
		row->tts_isnull[i] = slot->tts_isnull[key];
	}
	if (rollup->time_converter)
		row->tts_isnull[time] =
			!mts_from_bson_time(rollup->time_converter,
								rollup->totals.earliest,
								&row->tts_values[time], &error);
}

/*
 * mts_agg_rollup_next
 *		Read the totals of the next row, and fill the points' row with what
 *		these have in common; false at the end.
 *
 * The times of points are not known more precisely than their interval.  Rows
 * without points, and of intervals that are left open, are skipped.
 */
bool
mts_agg_rollup_next(MtsRollupScan *rollup, TupleTableSlot *row)
{
	MtsTotals *totals = &rollup->totals;
	const MtsInterval *interval;
	MtsTime start;

	do
	{
		if (!mts_scan_next(rollup->scan, rollup->slot))
			return false;
		start = mts_bucket_time(rollup->scan->bucket);
		interval = find_interval(rollup, start);
		if (!interval)
			refuse_row(rollup, start, "is not of the start of an interval");
		totals->npoints =
			read_count(rollup, start, rollup->rollup->npoints - 1);
	} while (interval->is_open || totals->npoints == 0);
	totals->earliest = start;
	totals->latest = interval->end - 1;
	rollup->is_next_in_bucket =
		rollup->has_bucket_keys &&
		rollup->nbuckets == rollup->scan->counters->buckets;
	rollup->nbuckets = rollup->scan->counters->buckets;
	for (int i = 0; i < rollup->spec->table->layout.ncolumns; i++)
		if (rollup->totals_of[i] != 0)
			read_totals(rollup, start, i);
	fill_row(rollup, row);
	return true;
}

/*
 * mts_agg_rollup_has_changed
 *		Tell whether a refresh may have changed rows while they were read.
 *
 * It cannot have changed what a snapshot or a transaction sees.
 */
bool
mts_agg_rollup_has_changed(MtsRollupScan *rollup)
{
	MemoryContext old;
	MtsRollupState state;

	if (rollup->rollup->by_application || rollup->is_at_moment)
		return false;
	old = MemoryContextSwitchTo(rollup->memory);
	read_state(rollup, NULL, &state);
	MemoryContextSwitchTo(old);
	return state.generation != rollup->state.generation;
}

/*
 * mts_agg_rollup_open_times
 *		Find the wanted times whose points no row has answered, after all rows
 *		have been read.
 *
 * They live in the current memory context.
 */
void
mts_agg_rollup_open_times(const MtsRollupScan *rollup, MtsRanges *open)
{
	HASH_SEQ_STATUS status;
	const MtsInterval *interval;
	int room = rollup->wanted.n + rollup->complete.n +
			   hash_get_num_entries(rollup->intervals) + 1;
	MtsRanges others = {0, palloc(room * sizeof(MtsRange))};
	MtsRanges skipped = {0, palloc(room * sizeof(MtsRange))};

	hash_seq_init(&status, rollup->intervals);
	while ((interval = hash_seq_search(&status)) != NULL)
		if (interval->is_open)
			skipped.items[skipped.n++] =
				(MtsRange){interval->start, interval->end};
	mts_ranges_normalize(&skipped);
	mts_ranges_subtract(&rollup->wanted, &rollup->complete, &others);
	*open = (MtsRanges){0, palloc((others.n + skipped.n) * sizeof(MtsRange))};
	mts_ranges_unite(&others, &skipped, open);
}

/* mts_agg_rollup_reset: begin another execution. */
void
mts_agg_rollup_reset(MtsRollupScan *rollup)
{
	mts_scan_reset(rollup->scan);
	rollup->scan->spec.times = NULL;
	MemoryContextReset(rollup->memory);
	rollup->intervals = NULL;
	rollup->interval = NULL;
	rollup->nbuckets = -1;
}
