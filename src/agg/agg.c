/*
 * agg.c
 *		Aggregate the points of buckets in groups, and give the groups' states.
 *
 * Groups are kept until all points are read or memory is short; what is given
 * then is combined by the Agg node above, as often as a group comes.
 */
#include "agg/agg_private.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "pushdown/monotonic.h"
#include "scan/fdw_private.h"

/* ---- Preparing -------------------------------------------------------------- */

/* Is an expression of a row the same for all points of a bucket? */
static bool
is_of_bucket(const MtsTable *table, Node *expr)
{
	const MtsLayout *layout = &table->layout;
	ListCell *lc;

	foreach (lc, pull_var_clause(expr, 0))
	{
		int column = lfirst_node(Var, lc)->varattno - 1;

		if (column < 0 || column == layout->time_column ||
			layout->columns[column].container >= 0 ||
			layout->columns[column].role == MTS_ROLE_SLOT)
			return false;
	}
	return true;
}

static void
prepare_argument(MtsArgument *argument, Expr *expr)
{
	Var *var = (Var *) expr;

	argument->attribute = -1;
	if (IsA(expr, Var) && var->varattno > 0)
		argument->attribute = var->varattno - 1;
	else
		argument->state = ExecInitExpr(expr, NULL);
}

static void
prepare_aggregate(MtsAgg *agg, const Aggref *aggref)
{
	MtsTransition *aggregate = &agg->aggregates[agg->naggregates++];
	ExprState *filter;
	ListCell *lc;

	mts_transition_init(aggregate, aggref);
	foreach (lc, aggref->args)
		prepare_argument(&aggregate->arguments[foreach_current_index(lc)],
						 lfirst_node(TargetEntry, lc)->expr);
	if (!aggref->aggfilter)
		return;
	filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
	if (is_of_bucket(agg->scan->table, (Node *) aggref->aggfilter))
		aggregate->bucket_filter = filter;
	else
		aggregate->filter = filter;
}

/*
 * Prepare a grouping key.  Those that keep their values over stretches of time
 * in a bucket are added to *of_time.
 */
static void
prepare_key(MtsAgg *agg, Node *expr, Index varno, List **of_time)
{
	const MtsTable *table = agg->scan->table;
	MtsGroupKey *key = &agg->keys[agg->nkeys++];
	List *others = NIL;
	bool has_time = false;
	ListCell *lc;

	key->state = ExecInitExpr((Expr *) expr, NULL);
	foreach (lc, pull_var_clause(expr, 0))
	{
		if (lfirst_node(Var, lc)->varattno == agg->time + 1 && agg->time >= 0)
			has_time = true;
		else
			others = lappend(others, lfirst(lc));
	}
	if (!is_of_bucket(table, (Node *) others) ||
		(has_time &&
		 !mts_monotonic_is_step_function(expr, varno, agg->time + 1)))
		agg->has_point_keys = true;
	else if (has_time)
	{
		key->is_of_time = others == NIL;
		*of_time = lappend(*of_time, expr);
	}
}

static void
make_table(MtsAgg *agg, List *exprs)
{
	int n = list_length(exprs);
	TupleDesc desc = CreateTemplateTupleDesc(n);
	AttrNumber *numbers = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	Oid *equalities;
	FmgrInfo *hashes;
	ListCell *lc;
	int i = 0;

	foreach (lc, exprs)
	{
		Node *expr = lfirst(lc);
		TypeCacheEntry *type =
			lookup_type_cache(exprType(expr), TYPECACHE_EQ_OPR);

		TupleDescInitEntry(desc, i + 1, NULL, exprType(expr), exprTypmod(expr),
						   0);
		TupleDescInitEntryCollation(desc, i + 1, exprCollation(expr));
		numbers[i] = i + 1;
		operators[i] = type->eq_opr;
		collations[i++] = exprCollation(expr);
	}
	execTuplesHashPrepare(n, operators, &equalities, &hashes);
	agg->key = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	agg->given = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	agg->table =
		mts_build_hash_table(desc, n, numbers, equalities, hashes, collations,
							 1024, (agg->naggregates + 1) * sizeof(MtsState),
							 CurrentMemoryContext, agg->memory,
							 agg->econtext->ecxt_per_tuple_memory);
}

/* Prepare the conditions, which are in the order of their evaluation. */
static void
prepare_filters(MtsAgg *agg, List *clauses)
{
	List *of_bucket = NIL;
	List *of_point = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		if (of_point == NIL && is_of_bucket(agg->scan->table, lfirst(lc)))
			of_bucket = lappend(of_bucket, lfirst(lc));
		else
			of_point = lappend(of_point, lfirst(lc));
	}
	agg->bucket_filter = ExecInitQual(of_bucket, NULL);
	agg->filter = ExecInitQual(of_point, NULL);
}

/* Does an aggregate have no argument, or the doubles that slots hold? */
static bool
is_of_doubles(const MtsBucket *bucket, const MtsTransition *aggregate)
{
	int attribute, output;

	if (aggregate->filter)
		return false;
	if (aggregate->narguments == 0)
		return true;
	attribute = aggregate->arguments[0].attribute;
	if (aggregate->narguments > 1 || attribute < 0)
		return false;
	output = mts_bucket_output(bucket, attribute);
	return output >= 0 &&
		   mts_bucket_is_double(bucket, &bucket->outputs[output]);
}

/* May the values of buckets be read at once?  They are those of one column. */
static bool
reads_doubles(const MtsAgg *agg)
{
	if (agg->filter || agg->has_point_keys || agg->naggregates == 0)
		return false;
	for (int i = 0; i < agg->naggregates; i++)
		if (!is_of_doubles(agg->scan->bucket, &agg->aggregates[i]))
			return false;
	return true;
}

/*
 * mts_agg_begin
 *		Prepare a plan's agg, and the scan of its points; nothing is sent yet.
 */
MtsAgg *
mts_agg_begin(ForeignScanState *node, MtsScan **scan)
{
	MtsAgg *agg = palloc0(sizeof(MtsAgg));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	List *output = list_nth(private, MTS_AGG_OUTPUT);
	Index varno = intVal(list_nth(private, MTS_AGG_VARNO));
	List *exprs = NIL;
	List *of_time = NIL;
	const MtsTable *table;
	Relation relation;
	ListCell *lc;

	/* a worker has yet to lock it */
	relation =
		mts_open_relation(node, bms_next_member(mts_scan_relids(plan), -1));
	agg->econtext = CreateExprContext(node->ss.ps.state);
	agg->scan =
		mts_scan_of_plan(node, relation, varno,
						 list_nth(private, MTS_AGG_CLAUSES), agg->econtext);
	*scan = agg->scan;
	table = agg->scan->table;
	agg->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(
											RelationGetDescr(relation)),
										&TTSOpsVirtual);
	agg->econtext->ecxt_scantuple = agg->row;
	agg->time = table->layout.time_column;
	agg->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw groups",
							  ALLOCSET_DEFAULT_SIZES);
	agg->key_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw key",
							  ALLOCSET_SMALL_SIZES);
	agg->ncolumns = list_length(output);
	agg->columns = palloc(agg->ncolumns * sizeof(int));
	agg->keys = palloc0(agg->ncolumns * sizeof(MtsGroupKey));
	agg->aggregates = palloc0(agg->ncolumns * sizeof(MtsTransition));
	foreach (lc, output)
	{
		Node *expr = lfirst(lc);
		int i = foreach_current_index(lc);

		agg->columns[i] =
			IsA(expr, Aggref) ? -1 - agg->naggregates : agg->nkeys;
		if (IsA(expr, Aggref))
		{
			prepare_aggregate(agg, (Aggref *) expr);
			continue;
		}
		prepare_key(agg, expr, varno, &of_time);
		exprs = lappend(exprs, expr);
	}
	if (of_time != NIL)
		agg->stretch =
			mts_stretch_new(of_time, varno, agg->time, table->layout.clock.arg,
							mts_bucket_converter(agg->scan->bucket,
												 table->layout.time_column),
							agg->row->tts_tupleDescriptor, node->ss.ps.state);
	if (agg->nkeys > 0)
		make_table(agg, exprs);
	prepare_filters(agg, list_nth(private, MTS_AGG_LOCAL));
	agg->reads_doubles = reads_doubles(agg);
	mts_agg_init_headers(agg, RelationGetDescr(relation));
	mts_agg_begin_groups(agg);
	return agg;
}

/* ---- Aggregating ----------------------------------------------------------- */

/* Have what an aggregate is taken of, for the point in the row. */
static void
take_arguments(MtsAgg *agg, MtsTransition *aggregate)
{
	NullableDatum *values = &aggregate->transition->args[1];

	for (int i = 0; i < aggregate->narguments; i++)
	{
		const MtsArgument *argument = &aggregate->arguments[i];

		if (argument->state)
			values[i].value = ExecEvalExpr(argument->state, agg->econtext,
										   &values[i].isnull);
		else
		{
			values[i].value = agg->row->tts_values[argument->attribute];
			values[i].isnull = agg->row->tts_isnull[argument->attribute];
		}
	}
}

static void
aggregate_point(MtsAgg *agg)
{
	for (int i = 0; i < agg->naggregates; i++)
	{
		MtsTransition *aggregate = &agg->aggregates[i];

		if (aggregate->is_off || !ExecQual(aggregate->filter, agg->econtext))
			continue;
		take_arguments(agg, aggregate);
		mts_transition_advance(aggregate, &agg->current[i], agg->memory);
	}
}

/* Do all points of the bucket belong to groups that are there? */
static bool
is_settled(const MtsAgg *agg)
{
	return agg->naggregates == 0 && !agg->has_point_keys &&
		   agg->from <= agg->bucket->unfold.start &&
		   agg->to >= agg->bucket->unfold.end - 1;
}

/* Aggregate the points of the bucket, one by one. */
static void
aggregate_bucket(MtsAgg *agg)
{
	bool is_done = false;

	while (!is_done && mts_bucket_next_row(agg->bucket, agg->row))
	{
		MemoryContext old =
			MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);

		ExecStoreVirtualTuple(agg->row);
		if (mts_agg_wants_point(agg))
		{
			mts_agg_enter_point(agg);
			aggregate_point(agg);
			is_done = is_settled(agg);
		}
		ExecClearTuple(agg->row);
		MemoryContextSwitchTo(old);
	}
}

/* Take the n values of a bucket. */
static void
aggregate_values(MtsAgg *agg, int n)
{
	for (int i = 0; i < agg->naggregates; i++)
		if (!agg->aggregates[i].is_off)
			mts_transition_advance_doubles(&agg->aggregates[i],
										   &agg->current[i],
										   agg->bucket->doubles.values, n,
										   agg->memory);
}

/*
 * Aggregate a bucket that holds but doubles, all of which are in one group; false
 * when it is none.
 */
static bool
aggregate_at_once(MtsAgg *agg)
{
	MtsBucket *bucket = agg->bucket;
	MemoryContext old;
	MtsEntry entry;
	int n;

	if (!agg->reads_doubles)
		return false;
	n = mts_bucket_doubles(bucket, false);
	if (n <= 0)
		return n == 0;
	old = MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);
	entry = mts_agg_enter_bucket(agg, bucket->unfold.start,
								 bucket->unfold.end - 1);
	if (entry == MTS_ENTRY_GROUP)
		aggregate_values(agg, n);
	MemoryContextSwitchTo(old);
	if (entry == MTS_ENTRY_SEVERAL)
		return false;
	if (entry == MTS_ENTRY_REFUSED)
		bucket->counters->removed += n;
	bucket->counters->points += n;
	return true;
}

/* Aggregate points until there are no more, or too many groups. */
static void
read_points(MtsAgg *agg)
{
	Size limit = (Size) work_mem * 1024;
	MtsBucket *bucket;

	while (mts_agg_next_bucket(agg, &bucket))
	{
		if (bucket && !aggregate_at_once(agg))
			aggregate_bucket(agg);
		if (agg->table && MemoryContextMemAllocated(agg->memory, true) > limit)
			return;
	}
	agg->is_done = true;
}

/* ---- Giving -------------------------------------------------------------- */

static void
fill_row(MtsAgg *agg, MtsState *states, TupleTableSlot *slot)
{
	MemoryContext old;

	ResetExprContext(agg->econtext);
	old = MemoryContextSwitchTo(agg->econtext->ecxt_per_tuple_memory);
	if (agg->table)
		slot_getallattrs(agg->given);
	for (int i = 0; i < agg->ncolumns; i++)
	{
		int column = agg->columns[i];

		if (column >= 0)
		{
			slot->tts_values[i] = agg->given->tts_values[column];
			slot->tts_isnull[i] = agg->given->tts_isnull[column];
		}
		else
			slot->tts_values[i] =
				mts_transition_give(&agg->aggregates[-1 - column],
									&states[-1 - column], agg->memory,
									&slot->tts_isnull[i]);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/* Begin to give the groups. */
static void
begin_giving(MtsAgg *agg)
{
	agg->is_giving = agg->has_given = true;
	if (agg->table)
		InitTupleHashIterator(agg->table, &agg->next);
}

/* The next group's states, or NULL */
static MtsState *
next_group(MtsAgg *agg)
{
	TupleHashEntry entry;
	MtsState *only = agg->only;

	if (!agg->table)
	{
		agg->only = NULL;
		return only;
	}
	entry = ScanTupleHashTable(agg->table, &agg->next);
	if (!entry)
		return NULL;
	ExecStoreMinimalTuple(mts_hash_tuple(entry), agg->given, false);
	return mts_hash_additional(agg->table, entry);
}

/*
 * mts_agg_next
 *		Fill the slot with the states of the next group; empty at the end.
 */
TupleTableSlot *
mts_agg_next(MtsAgg *agg, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (;;)
	{
		MtsState *states;

		if (!agg->is_giving)
		{
			read_points(agg);
			begin_giving(agg);
		}
		states = next_group(agg);
		if (states)
		{
			fill_row(agg, states, slot);
			return slot;
		}
		if (agg->is_done)
			return slot;
		mts_agg_begin_groups(agg);
	}
}

/* Begin anew: parameters may have changed. */
void
mts_agg_reset(MtsAgg *agg)
{
	mts_agg_reset_headers(agg);
	mts_agg_begin_groups(agg);
	agg->is_done = agg->has_given = false;
}
