/*
 * agg_spec.c
 *		Prepare what a partial aggregation computes: keys, aggregates and
 *		conditions, as the plan has them.
 *
 * Here it is decided how each of these depends on a point: on its bucket, on
 * its series in the bucket, on the time by steps, or on its values.  That
 * decides in which ways a bucket can be answered (agg_answer.c).
 */
#include "agg/agg_spec.h"

#include "executor/executor.h"
#include "optimizer/optimizer.h"

#include "pushdown/monotonic.h"
#include "scan/bucket.h"
#include "scan/fdw_private.h"

/*
 * Tell whether an expression has one value for all points of a bucket or, if
 * its columns are the keys of series, of a series in the bucket.
 */
static bool
is_constant(const MtsTable *table, Node *expr, bool in_series)
{
	const MtsLayout *layout = &table->layout;
	ListCell *lc;

	foreach (lc, pull_var_clause(expr, 0))
	{
		int column = lfirst_node(Var, lc)->varattno - 1;

		if (column < 0 || column == layout->time_column)
			return false;
		if (layout->columns[column].role != MTS_ROLE_SLOT &&
			layout->columns[column].container < 0)
			continue;
		if (!in_series || (layout->columns[column].role != MTS_ROLE_SLOT &&
						   !mts_batch_reader_takes_key(table, column)))
			return false;
	}
	return true;
}

/*
 * mts_agg_spec_is_of_series
 *		Tell whether an expression has one value for all points with the same
 *		keys.
 */
bool
mts_agg_spec_is_of_series(const MtsAggSpec *spec, Node *expr)
{
	return is_constant(spec->table, expr, true);
}

static bool
is_of_bucket(const MtsTable *table, Node *expr)
{
	return is_constant(table, expr, false);
}

static void
init_argument(MtsArgument *argument, Expr *expr)
{
	Var *var = (Var *) expr;

	argument->attribute = -1;
	if (IsA(expr, Var) && var->varattno > 0)
		argument->attribute = var->varattno - 1;
	else
		argument->state = ExecInitExpr(expr, NULL);
}

static void
init_aggregate(MtsAggSpec *spec, const Aggref *aggref, MemoryContext groups)
{
	MtsAggregate *aggregate = &spec->aggregates[spec->naggregates++];
	ListCell *lc;

	mts_transition_init(&aggregate->transition, aggref, groups);
	aggregate->oid = aggref->aggfnoid;
	aggregate->narguments = list_length(aggref->args);
	aggregate->arguments =
		palloc0(aggregate->narguments * sizeof(MtsArgument));
	foreach (lc, aggref->args)
		init_argument(&aggregate->arguments[foreach_current_index(lc)],
					  lfirst_node(TargetEntry, lc)->expr);
	if (aggref->aggfilter)
	{
		ExprState *filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);

		if (is_of_bucket(spec->table, (Node *) aggref->aggfilter))
			aggregate->bucket_filter = filter;
		else
			aggregate->filter = filter;
	}
}

/*
 * Prepare a grouping key.
 *
 * A key of the time and of bucket columns has steps if the time changes its
 * value by steps.
 */
static void
init_key(MtsAggSpec *spec, Node *expr)
{
	MtsGroupKey *key = &spec->keys[spec->nkeys++];
	List *others = NIL;
	bool has_time = false;
	bool has_steps;
	ListCell *lc;

	key->state = ExecInitExpr((Expr *) expr, NULL);
	spec->key_exprs = lappend(spec->key_exprs, expr);
	foreach (lc, pull_var_clause(expr, 0))
	{
		if (spec->time >= 0 &&
			lfirst_node(Var, lc)->varattno == spec->time + 1)
			has_time = true;
		else
			others = lappend(others, lfirst(lc));
	}
	has_steps =
		has_time && is_of_bucket(spec->table, (Node *) others) &&
		mts_monotonic_is_step_function(expr, spec->varno, spec->time + 1);
	if (has_steps)
	{
		key->is_of_time = others == NIL;
		spec->step_exprs = lappend(spec->step_exprs, expr);
		return;
	}
	if (has_time || !is_of_bucket(spec->table, (Node *) others))
		spec->has_point_keys = true;
	if (has_time || !mts_agg_spec_is_of_series(spec, (Node *) others))
		spec->has_value_keys = true;
}

/* Prepare the columns of the result, which are keys and aggregates. */
static void
init_columns(MtsAggSpec *spec, List *output, MemoryContext groups)
{
	ListCell *lc;

	spec->ncolumns = list_length(output);
	spec->columns = palloc(spec->ncolumns * sizeof(int));
	spec->keys = palloc0(spec->ncolumns * sizeof(MtsGroupKey));
	spec->aggregates = palloc0(spec->ncolumns * sizeof(MtsAggregate));
	foreach (lc, output)
	{
		int *column = &spec->columns[foreach_current_index(lc)];

		if (IsA(lfirst(lc), Aggref))
		{
			*column = -1 - spec->naggregates;
			init_aggregate(spec, lfirst(lc), groups);
		}
		else
		{
			*column = spec->nkeys;
			init_key(spec, lfirst(lc));
		}
	}
}

/*
 * Prepare the conditions, which are in the order of their evaluation.  The
 * first ones are evaluated once for a bucket if they depend on nothing else.
 */
static void
init_filters(MtsAggSpec *spec, List *clauses)
{
	List *of_bucket = NIL;
	List *of_point = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		if (of_point == NIL && is_of_bucket(spec->table, lfirst(lc)))
			of_bucket = lappend(of_bucket, lfirst(lc));
		else
			of_point = lappend(of_point, lfirst(lc));
	}
	spec->point_clauses = of_point;
	spec->bucket_filter = ExecInitQual(of_bucket, NULL);
	spec->filter = ExecInitQual(of_point, NULL);
}

/*
 * mts_agg_spec_make
 *		Prepare what a plan computes of the rows of a table.
 *
 * private is the plan's: see MtsAggPrivate.  Transition values live in the
 * memory of the groups.
 */
MtsAggSpec *
mts_agg_spec_make(const MtsTable *table, List *private, MemoryContext groups)
{
	MtsAggSpec *spec = palloc0(sizeof(MtsAggSpec));

	spec->table = table;
	spec->varno = intVal(list_nth(private, MTS_AGG_VARNO));
	spec->time = table->layout.time_column;
	init_columns(spec, list_nth(private, MTS_AGG_OUTPUT), groups);
	init_filters(spec, list_nth(private, MTS_AGG_LOCAL));
	return spec;
}
