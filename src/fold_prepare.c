/*
 * fold_prepare.c
 *		Make a fold from its plan.
 */
#include "fold_private.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "core/doubles.h"
#include "fold_judge.h"
#include "fold_label.h"
#include "fold_time.h"
#include "plan.h"

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
prepare_aggregate(MtsFold *fold, const Aggref *aggref)
{
	MtsAggregate *aggregate = &fold->aggregates[fold->naggregates++];
	ExprState *filter;
	ListCell *lc;

	mts_aggregate_init(aggregate, aggref);
	foreach (lc, aggref->args)
		prepare_argument(&aggregate->arguments[foreach_current_index(lc)],
						 lfirst_node(TargetEntry, lc)->expr);
	if (!aggref->aggfilter)
		return;
	filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
	if (mts_fold_is_of_bucket(fold->scan->table, (Node *) aggref->aggfilter))
		aggregate->bucket_filter = filter;
	else
		aggregate->filter = filter;
}

static void
prepare_grouping(MtsFold *fold, Node *expr, Index varno, AttrNumber time,
				 List **steps)
{
	MtsGrouping *grouping = &fold->groupings[fold->ngroupings++];
	List *vars = pull_var_clause(expr, 0);
	ListCell *lc;

	grouping->state = ExecInitExpr((Expr *) expr, NULL);
	foreach (lc, vars)
		grouping->is_of_time |= castNode(Var, lfirst(lc))->varattno == time;
	grouping->step = -1;
	if (!grouping->is_of_time)
		return;
	(void) mts_fold_steps(expr, varno, time, steps, &fold->zones);
	foreach (lc, *steps)
		if (equal(lfirst(lc), expr))
			grouping->step = foreach_current_index(lc);
}

static void
prepare_steps(MtsFold *fold, List *exprs)
{
	ListCell *lc;

	fold->steps = palloc0(list_length(exprs) * sizeof(MtsFoldStep));
	foreach (lc, exprs)
	{
		MtsFoldStep *step = &fold->steps[fold->nsteps++];

		step->state = ExecInitExpr(lfirst(lc), NULL);
		get_typlenbyval(exprType(lfirst(lc)), &step->len, &step->byval);
	}
}

static void
make_table(MtsFold *fold, List *exprs)
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

/* Is an aggregate of nothing, or of what the slots of a bucket hold? */
static bool
is_of_slots(const MtsTable *table, const MtsAggregate *aggregate)
{
	const MtsLayout *layout = &table->layout;
	int attribute, column;

	if (aggregate->narguments == 0)
		return true;
	attribute = aggregate->arguments[0].attribute;
	if (aggregate->narguments > 1 || attribute < 0)
		return false;
	column = table->columns[attribute];
	return layout->columns[column].container >= 0 &&
		   layout->columns[column].path.nsteps ==
			   layout->containers[0].nsteps &&
		   table->attributes[column].typid == FLOAT8OID;
}

/* May the buckets' values be read at once?  They are those of one column. */
static bool
are_doubles(const MtsFold *fold)
{
	const MtsTable *table = fold->scan->table;

	if (!mts_doubles_may_be(&table->layout) || fold->filter ||
		fold->naggregates == 0)
		return false;
	for (int i = 0; i < fold->naggregates; i++)
		if (fold->aggregates[i].filter ||
			!is_of_slots(table, &fold->aggregates[i]))
			return false;
	return true;
}

/*
 * mts_fold_begin
 *		Prepare a plan's fold; nothing is sent yet.
 */
MtsFold *
mts_fold_begin(ForeignScanState *node)
{
	MtsFold *fold = palloc0(sizeof(MtsFold));
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_FOLD);
	List *output = list_nth(private, MTS_FOLD_OUTPUT);
	Index varno = intVal(list_nth(private, MTS_FOLD_VARNO));
	List *exprs = NIL;
	List *steps = NIL;
	const MtsTable *table;
	Relation relation;
	AttrNumber time = InvalidAttrNumber;
	ListCell *lc;

	/* a worker has yet to lock it */
	relation =
		mts_open_relation(node, bms_next_member(mts_scan_relids(plan), -1));
	fold->scan = mts_scan_of_plan(node, relation, varno,
								  list_nth(private, MTS_FOLD_CLAUSES));
	table = fold->scan->table;
	fold->row = MakeSingleTupleTableSlot(CreateTupleDescCopy(
											 RelationGetDescr(relation)),
										 &TTSOpsVirtual);
	fold->econtext = CreateExprContext(node->ss.ps.state);
	fold->econtext->ecxt_scantuple = fold->row;
	if (table->layout.time_column >= 0)
		time = table->attributes[table->layout.time_column].attnum;
	fold->time = time - 1;
	fold->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw groups",
							  ALLOCSET_DEFAULT_SIZES);
	fold->steady_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw key",
							  ALLOCSET_SMALL_SIZES);
	fold->recent_memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw recent",
							  ALLOCSET_SMALL_SIZES);
	fold->ncolumns = list_length(output);
	fold->columns = palloc(fold->ncolumns * sizeof(int));
	fold->groupings = palloc0(fold->ncolumns * sizeof(MtsGrouping));
	fold->aggregates = palloc0(fold->ncolumns * sizeof(MtsAggregate));
	if (!table->is_utc)
		fold->zones = mts_near_add_zone(NIL, table->layout.clock.arg, 0);
	foreach (lc, output)
	{
		Node *expr = lfirst(lc);
		int i = foreach_current_index(lc);

		fold->columns[i] =
			IsA(expr, Aggref) ? -1 - fold->naggregates : fold->ngroupings;
		if (IsA(expr, Aggref))
		{
			prepare_aggregate(fold, (Aggref *) expr);
			continue;
		}
		prepare_grouping(fold, expr, varno, time, &steps);
		exprs = lappend(exprs, expr);
	}
	prepare_steps(fold, steps);
	if (fold->ngroupings > 0)
		make_table(fold, exprs);
	mts_fold_init_filters(fold, list_nth(private, MTS_FOLD_LOCAL));
	if (are_doubles(fold))
		fold->values = palloc(MTS_DOUBLES_ROOM * sizeof(double));
	mts_fold_init_headers(fold, RelationGetDescr(relation),
						  list_nth(plan->fdw_private, MTS_PRIVATE_NEEDED));
	mts_fold_begin_groups(fold);
	return fold;
}
