/*
 * agg.c
 *		Fold the points of buckets into groups, and give the groups' states.
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
		int column = mts_table_column(table, lfirst_node(Var, lc)->varattno);

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
prepare_aggregate(MtsAgg *fold, const Aggref *aggref)
{
	MtsTransition *aggregate = &fold->aggregates[fold->naggregates++];
	ExprState *filter;
	ListCell *lc;

	mts_transition_init(aggregate, aggref);
	foreach (lc, aggref->args)
		prepare_argument(&aggregate->arguments[foreach_current_index(lc)],
						 lfirst_node(TargetEntry, lc)->expr);
	if (!aggref->aggfilter)
		return;
	filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
	if (is_of_bucket(fold->scan->table, (Node *) aggref->aggfilter))
		aggregate->bucket_filter = filter;
	else
		aggregate->filter = filter;
}

/*
 * Prepare a grouping key.  Those that keep their values over stretches of time
 * in a bucket are added to *of_time.
 */
static void
prepare_key(MtsAgg *fold, Node *expr, Index varno, List **of_time)
{
	const MtsTable *table = fold->scan->table;
	MtsGroupKey *key = &fold->keys[fold->nkeys++];
	List *others = NIL;
	bool has_time = false;
	ListCell *lc;

	key->state = ExecInitExpr((Expr *) expr, NULL);
	foreach (lc, pull_var_clause(expr, 0))
	{
		if (lfirst_node(Var, lc)->varattno == fold->time + 1 &&
			fold->time >= 0)
			has_time = true;
		else
			others = lappend(others, lfirst(lc));
	}
	if (!is_of_bucket(table, (Node *) others) ||
		(has_time && !mts_monotonic_is_stepped(expr, varno, fold->time + 1)))
		fold->has_point_keys = true;
	else if (has_time)
	{
		key->is_of_time = others == NIL;
		*of_time = lappend(*of_time, expr);
	}
}

static void
make_table(MtsAgg *fold, List *exprs)
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
	fold->key = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	fold->given = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	fold->table =
		mts_build_hash_table(desc, n, numbers, equalities, hashes, collations,
							 1024, (fold->naggregates + 1) * sizeof(MtsState),
							 CurrentMemoryContext, fold->memory,
							 fold->econtext->ecxt_per_tuple_memory);
}

/* Prepare the conditions, which are in the order of their evaluation. */
static void
prepare_filters(MtsAgg *fold, List *clauses)
{
	List *of_bucket = NIL;
	List *of_point = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		if (of_point == NIL && is_of_bucket(fold->scan->table, lfirst(lc)))
			of_bucket = lappend(of_bucket, lfirst(lc));
		else
			of_point = lappend(of_point, lfirst(lc));
	}
	fold->bucket_filter = ExecInitQual(of_bucket, NULL);
	fold->filter = ExecInitQual(of_point, NULL);
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
	output = mts_bucket_output(bucket, bucket->table->columns[attribute]);
	return output >= 0 &&
		   mts_bucket_is_double(bucket, &bucket->outputs[output]);
}

/* May the values of buckets be read at once?  They are those of one column. */
static bool
reads_doubles(const MtsAgg *fold)
{
	if (fold->filter || fold->has_point_keys || fold->naggregates == 0)
		return false;
	for (int i = 0; i < fold->naggregates; i++)
		if (!is_of_doubles(fold->scan->bucket, &fold->aggregates[i]))
			return false;
	return true;
}

/*
 * mts_agg_begin
 *		Prepare a plan's fold, and the scan of its points; nothing is sent yet.
 */
MtsAgg *
mts_agg_begin(ForeignScanState *node, MtsScan **scan)
{
	MtsAgg *fold = palloc0(sizeof(MtsAgg));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	List *output = list_nth(private, MTS_FOLD_OUTPUT);
	Index varno = intVal(list_nth(private, MTS_FOLD_VARNO));
	List *exprs = NIL;
	List *of_time = NIL;
	const MtsTable *table;
	Relation relation;
	ListCell *lc;

	/* a worker has yet to lock it */
	relation =
		mts_open_relation(node, bms_next_member(mts_scan_relids(plan), -1));
	fold->econtext = CreateExprContext(node->ss.ps.state);
	fold->scan =
		mts_scan_of_plan(node, relation, varno,
						 list_nth(private, MTS_FOLD_CLAUSES), fold->econtext);
	*scan = fold->scan;
	table = fold->scan->table;
	fold->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(
											 RelationGetDescr(relation)),
										 &TTSOpsVirtual);
	fold->econtext->ecxt_scantuple = fold->row;
	fold->time = -1;
	if (table->layout.time_column >= 0)
		fold->time = table->attributes[table->layout.time_column].attnum - 1;
	fold->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw groups",
							  ALLOCSET_DEFAULT_SIZES);
	fold->key_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw key",
							  ALLOCSET_SMALL_SIZES);
	fold->ncolumns = list_length(output);
	fold->columns = palloc(fold->ncolumns * sizeof(int));
	fold->keys = palloc0(fold->ncolumns * sizeof(MtsGroupKey));
	fold->aggregates = palloc0(fold->ncolumns * sizeof(MtsTransition));
	foreach (lc, output)
	{
		Node *expr = lfirst(lc);
		int i = foreach_current_index(lc);

		fold->columns[i] =
			IsA(expr, Aggref) ? -1 - fold->naggregates : fold->nkeys;
		if (IsA(expr, Aggref))
		{
			prepare_aggregate(fold, (Aggref *) expr);
			continue;
		}
		prepare_key(fold, expr, varno, &of_time);
		exprs = lappend(exprs, expr);
	}
	if (of_time != NIL)
		fold->stretch = mts_monotonic_begin(
			of_time, varno, fold->time + 1, table->layout.clock.arg,
			mts_bucket_converter(fold->scan->bucket,
								 table->layout.time_column),
			fold->row->tts_tupleDescriptor, node->ss.ps.state);
	if (fold->nkeys > 0)
		make_table(fold, exprs);
	prepare_filters(fold, list_nth(private, MTS_FOLD_LOCAL));
	fold->reads_doubles = reads_doubles(fold);
	mts_agg_init_headers(fold, RelationGetDescr(relation));
	mts_agg_begin_groups(fold);
	return fold;
}

/* ---- Folding --------------------------------------------------------------- */

/* Have what an aggregate is taken of, for the point in the row. */
static void
take_arguments(MtsAgg *fold, MtsTransition *aggregate)
{
	NullableDatum *values = &aggregate->transition->args[1];

	for (int i = 0; i < aggregate->narguments; i++)
	{
		const MtsArgument *argument = &aggregate->arguments[i];

		if (argument->state)
			values[i].value = ExecEvalExpr(argument->state, fold->econtext,
										   &values[i].isnull);
		else
		{
			values[i].value = fold->row->tts_values[argument->attribute];
			values[i].isnull = fold->row->tts_isnull[argument->attribute];
		}
	}
}

static void
fold_point(MtsAgg *fold)
{
	for (int i = 0; i < fold->naggregates; i++)
	{
		MtsTransition *aggregate = &fold->aggregates[i];

		if (aggregate->is_off || !ExecQual(aggregate->filter, fold->econtext))
			continue;
		take_arguments(fold, aggregate);
		mts_transition_advance(aggregate, &fold->current[i], fold->memory);
	}
}

/* Do all points of the bucket belong to groups that are there? */
static bool
is_settled(const MtsAgg *fold)
{
	return fold->naggregates == 0 && !fold->has_point_keys &&
		   fold->from <= fold->bucket->unfold.start &&
		   fold->to >= fold->bucket->unfold.end - 1;
}

/* Fold the points of the bucket, one by one. */
static void
fold_bucket(MtsAgg *fold)
{
	bool is_done = false;

	while (!is_done && mts_bucket_next_row(fold->bucket, fold->row))
	{
		MemoryContext old =
			MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);

		ExecStoreVirtualTuple(fold->row);
		if (mts_agg_wants_point(fold))
		{
			mts_agg_enter_point(fold);
			fold_point(fold);
			is_done = is_settled(fold);
		}
		ExecClearTuple(fold->row);
		MemoryContextSwitchTo(old);
	}
}

/* Take the n values of a bucket. */
static void
fold_values(MtsAgg *fold, int n)
{
	for (int i = 0; i < fold->naggregates; i++)
		if (!fold->aggregates[i].is_off)
			mts_transition_advance_doubles(&fold->aggregates[i],
										   &fold->current[i],
										   fold->bucket->doubles.values, n,
										   fold->memory);
}

/*
 * Fold a bucket that holds but doubles, all of which are in one group; false
 * when it is none.
 */
static bool
fold_at_once(MtsAgg *fold)
{
	MtsBucket *bucket = fold->bucket;
	MemoryContext old;
	MtsEntry entry;
	int n;

	if (!fold->reads_doubles)
		return false;
	n = mts_bucket_doubles(bucket, false);
	if (n <= 0)
		return n == 0;
	old = MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);
	entry = mts_agg_enter_bucket(fold, bucket->unfold.start,
								 bucket->unfold.end - 1);
	if (entry == MTS_ENTRY_GROUP)
		fold_values(fold, n);
	MemoryContextSwitchTo(old);
	if (entry == MTS_ENTRY_SEVERAL)
		return false;
	if (entry == MTS_ENTRY_REFUSED)
		bucket->counters->removed += n;
	bucket->counters->points += n;
	return true;
}

/* Fold points until there are no more, or too many groups. */
static void
read_points(MtsAgg *fold)
{
	Size limit = (Size) work_mem * 1024;
	MtsBucket *bucket;

	while (mts_agg_next_bucket(fold, &bucket))
	{
		if (bucket && !fold_at_once(fold))
			fold_bucket(fold);
		if (fold->table &&
			MemoryContextMemAllocated(fold->memory, true) > limit)
			return;
	}
	fold->is_done = true;
}

/* ---- Giving -------------------------------------------------------------- */

static void
fill_row(MtsAgg *fold, MtsState *states, TupleTableSlot *slot)
{
	MemoryContext old;

	ResetExprContext(fold->econtext);
	old = MemoryContextSwitchTo(fold->econtext->ecxt_per_tuple_memory);
	if (fold->table)
		slot_getallattrs(fold->given);
	for (int i = 0; i < fold->ncolumns; i++)
	{
		int column = fold->columns[i];

		if (column >= 0)
		{
			slot->tts_values[i] = fold->given->tts_values[column];
			slot->tts_isnull[i] = fold->given->tts_isnull[column];
		}
		else
			slot->tts_values[i] =
				mts_transition_give(&fold->aggregates[-1 - column],
									&states[-1 - column], fold->memory,
									&slot->tts_isnull[i]);
	}
	MemoryContextSwitchTo(old);
	ExecStoreVirtualTuple(slot);
}

/* Begin to give the groups. */
static void
begin_giving(MtsAgg *fold)
{
	fold->is_giving = fold->has_given = true;
	if (fold->table)
		InitTupleHashIterator(fold->table, &fold->next);
}

/* The next group's states, or NULL */
static MtsState *
next_group(MtsAgg *fold)
{
	TupleHashEntry entry;
	MtsState *only = fold->only;

	if (!fold->table)
	{
		fold->only = NULL;
		return only;
	}
	entry = ScanTupleHashTable(fold->table, &fold->next);
	if (!entry)
		return NULL;
	ExecStoreMinimalTuple(mts_hash_tuple(entry), fold->given, false);
	return mts_hash_additional(fold->table, entry);
}

/*
 * mts_agg_next
 *		Fill the slot with the states of the next group; empty at the end.
 */
TupleTableSlot *
mts_agg_next(MtsAgg *fold, TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	for (;;)
	{
		MtsState *states;

		if (!fold->is_giving)
		{
			read_points(fold);
			begin_giving(fold);
		}
		states = next_group(fold);
		if (states)
		{
			fill_row(fold, states, slot);
			return slot;
		}
		if (fold->is_done)
			return slot;
		mts_agg_begin_groups(fold);
	}
}

/* Begin anew: parameters may have changed. */
void
mts_agg_reset(MtsAgg *fold)
{
	mts_agg_reset_headers(fold);
	mts_agg_begin_groups(fold);
	fold->is_done = fold->has_given = false;
}
