/*
 * series.c
 *		Plan skip scans, which read the first row of each series.
 *
 * A skip scan asks for one series after the other, or for the first buckets of
 * many series at once.  The second way requires an index in which MongoDB
 * skips from series to series; otherwise it would read all buckets.  So it is
 * planned only if MongoDB says that it has such a plan.  Without an index, the
 * first way would read all buckets for each series.  It is planned if MongoDB
 * has said so, or if mongo_ts_create_index() makes such an index.
 */
#include "plan/series.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "compat.h"
#include "core/query/winning_plan.h"
#include "driver/document.h"
#include "plan/estimate.h"
#include "plan/pathkeys.h"
#include "plan/plan.h"
#include "pushdown/sort_order.h"
#include "scan/first_buckets.h"
#include "scan/scan.h"
#include "table/known.h"

/* The cost of a point that is compared with the first of its series, in units
 * of cpu_operator_cost */
#define FIRST_ROW_COST 0.4

/* ---- The first buckets of many series ----------------------------------- */

/* Copy a qual with a constant for its value; NULL if that is not known. */
static MtsQual *
fix_qual(PlannerInfo *root, const MtsQual *qual)
{
	MtsQual *copy = palloc(sizeof(MtsQual));
	ListCell *lc;

	*copy = *qual;
	copy->args = NIL;
	if (qual->right)
	{
		copy->right =
			(Expr *) estimate_expression_value(root, (Node *) qual->right);
		if (!IsA(copy->right, Const))
			return NULL;
	}
	foreach (lc, qual->args)
	{
		MtsQual *arg = fix_qual(root, lfirst(lc));

		if (!arg)
			return NULL;
		copy->args = lappend(copy->args, arg);
	}
	return copy;
}

/* The quals of a relation with constants; false if some are not known. */
static bool
fix_quals(PlannerInfo *root, RelOptInfo *rel, List **quals)
{
	const MtsRelInfo *info = rel->fdw_private;
	ListCell *lc;

	*quals = NIL;
	foreach (lc, info->pushed)
	{
		MtsQual *qual = fix_qual(root, mts_plan_qual(rel, lfirst(lc)));

		if (!qual)
			return false;
		mts_qual_init(qual, NULL);
		*quals = lappend(*quals, qual);
	}
	return true;
}

/* Remember whether all stages skip from value to value in an index. */
static void
check_stage(void *arg, const char *stage, const char *index)
{
	int *skips = arg;

	if (strcmp(stage, "DISTINCT_SCAN") != 0)
		*skips = 0;
	else if (*skips < 0)
		*skips = 1;
}

/* Tell whether MongoDB finds the first buckets of many series by an index. */
static bool
skips_in_index(MtsScan *scan, const MtsSortOrder *order)
{
	const bson_t *reply = NULL;
	MtsFind find;
	int skips = -1;

	scan->spec.order = order;
	mts_scan_reset(scan);
	mts_scan_prepare(scan);
	if (!scan->query->is_possible)
		return false;
	find = mts_first_buckets_find(scan->query,
								  mts_sort_order_series_terms(order,
															  order->nseries -
																  1));
	if (!mts_source_try_explain(scan->source, &find, scan->table->collection,
								&reply))
		mts_known_record_silence(scan->table->serverid, scan->source->userid);
	if (reply)
		mts_winning_plan_walk(reply, check_stage, &skips);
	return skips > 0;
}

/*
 * Set the direction in which MongoDB finds the first buckets of many series by
 * an index; false if there is none, or if the query is not known yet.
 */
static bool
set_series_direction(PlannerInfo *root, RelOptInfo *rel, MtsSortOrder *order)
{
	const MtsRelInfo *info = rel->fdw_private;
	Oid userid = mts_plan_user(root, rel);
	const MtsSortKey *last = &order->keys[order->nsorted - 1];
	int direction = last->descending ? -1 : 1;
	ExprContext *econtext;
	MtsScan *scan;
	List *quals;
	bool found = false;

	if (mts_known_server_is_silent(info->table->serverid, userid) ||
		!fix_quals(root, rel, &quals))
		return false;
	econtext = CreateStandaloneExprContext();
	scan = mts_scan_new(info->table, userid, NIL, econtext);
	scan->spec.quals = quals;
	for (int i = 0; i < 2 && !found; i++)
	{
		order->series_direction = i == 0 ? direction : -direction;
		found = skips_in_index(scan, order);
	}
	mts_scan_reset(scan);
	FreeExprContext(econtext, true);
	return found;
}

/* ---- Paths -------------------------------------------------------------- */

/* The series whose first rows a query wants, or aggregates of these */
typedef struct Series
{
	PlannerInfo *root;
	RelOptInfo *rel;
	RelOptInfo *output;
	List *pathkeys; /* the keys, and then the time if the query names it */
	int nkeys;
	List *exprs;   /* the keys */
	List *clause;  /* of GROUP BY; NIL for DISTINCT */
	bool is_plain; /* one group of all series */
	Node *having;
	double n; /* number of series, estimated */
} Series;

/*
 * The order of a skip scan over series; NIL if it cannot be.
 */
static List *
make_series(const Series *series, MtsSeriesOrder series_order)
{
	const MtsTable *table = ((MtsRelInfo *) series->rel->fdw_private)->table;
	List *order = mts_pathkeys_to_order(series->rel, table, series->pathkeys,
										series->nkeys, series_order);
	const MtsSortOrder *made = mts_sort_order_open(table, order);

	return made && made->nkeys == list_length(series->pathkeys) &&
				   mts_sort_order_is_of_keys(made, table, series->nkeys)
			   ? order
			   : NIL;
}

/* Add the path of a skip scan of this cost, sorted here if need be. */
static void
add_skip_scan(const Series *series, List *order, bool is_sorted, Cost run)
{
	PlannerInfo *root = series->root;
	RelOptInfo *rel = series->rel;
	RelOptInfo *output = series->output;
	Cost startup = STARTUP_COST + rel->reltarget->cost.startup;
	Path *path =
		(Path *) mts_create_scan_path(root, rel, series->n, startup,
									  startup + run,
									  is_sorted ? series->pathkeys : NIL,
									  rel->lateral_relids, order);
	AggClauseCosts costs;

	path->parallel_safe &= ((MtsRelInfo *) rel->fdw_private)->workers_may_scan;
	if (!is_sorted)
		path = (Path *) create_sort_path(root, output, path, series->pathkeys,
										 -1);
	if (series->clause == NIL && !series->is_plain)
		path = (Path *) create_unique_path(root, output, path, series->nkeys,
										   series->n);
	else
	{
		MemSet(&costs, 0, sizeof(costs));
		get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
		path =
			(Path *) create_agg_path(root, output, path, output->reltarget,
									 series->is_plain ? AGG_PLAIN : AGG_SORTED,
									 AGGSPLIT_SIMPLE, series->clause,
									 (List *) series->having, &costs,
									 series->n);
	}
	add_path(output, path);
}

/*
 * Tell whether the first bucket of a series mostly shows that its first row is
 * in it.  Others can hold equal times, begin at the same time, or have a bound
 * of the times that is rounded.
 */
static bool
suffices(const MtsTable *table, const MtsSortOrder *order)
{
	if (!order->has_time)
		return true;
	if (table->layout.time_kind != MTS_TIME_FLAT && !order->is_by_bound)
		return table->layout.max_points == 0;
	return order->nkeys == order->nsorted &&
		   (!table->native || order->keys[order->nsorted - 1].descending);
}

/*
 * Add the path of a skip scan that asks for the first buckets of many series
 * at once, in any order, if that is cheaper than to read all buckets.  Returns
 * whether MongoDB has an index for that.
 */
static bool
add_first_buckets(const Series *series, List *order, Cost buckets)
{
	RelOptInfo *rel = series->rel;
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	MtsSortOrder *made = mts_sort_order_open(table, order);
	double batches = ceil(series->n / Min(table->fetch_size, MTS_FIRST_BATCH));
	double outer = 1;
	Cost run;

	if (!suffices(table, made))
		return false;
	if (made->nseries > 1)
		outer = estimate_num_groups(series->root,
									list_truncate(list_copy(series->exprs),
												  made->nseries - 1),
									rel->rows, NULL, NULL);
	/* two queries for each batch, and for the null */
	run = (outer * (made->nseries + 2) + 2 * batches) * STARTUP_COST + buckets;
	if (run > rel->cheapest_total_path->total_cost ||
		!set_series_direction(series->root, rel, made))
		return false;
	order = lcons(list_make3_int(made->nsorted, made->nseries,
								 made->series_direction),
				  list_copy_tail(order, 1));
	add_skip_scan(series, order, false, run);
	return true;
}

/*
 * Tell whether the index of mongo_ts_create_index() finds the series of an
 * order.  In a flat table, where all columns are keys, it is on declared keys.
 */
static bool
has_declared_keys(const MtsTable *table, const MtsSortOrder *order)
{
	for (int i = 0; i < order->nseries; i++)
		if (table->layout.nslots == 0 &&
			!table->attributes[order->keys[i].column].has_role)
			return false;
	return true;
}

/*
 * Add the path of a scan that reads all buckets and keeps the first row of
 * each series, if the rows are estimated to fit into memory.
 */
static void
add_first_rows(const Series *series)
{
	RelOptInfo *rel = series->rel;
	const MtsRelInfo *info = rel->fdw_private;
	List *order = mts_pathkeys_to_first(rel, info->table, series->pathkeys,
										series->nkeys);
	Size size = MAXALIGN(rel->reltarget->width) + ROW_BYTES;

	if (order &&
		!contain_volatile_functions(
			(Node *) extract_actual_clauses(info->local, false)) &&
		series->n * size <= get_hash_memory_limit())
		add_skip_scan(series, order, false,
					  rel->cheapest_total_path->total_cost - STARTUP_COST -
						  info->points * (cpu_tuple_cost -
										  FIRST_ROW_COST * cpu_operator_cost));
}

/* Add the paths of a skip scan, if there can be one. */
static void
add_paths(Series *series)
{
	RelOptInfo *rel = series->rel;
	const MtsRelInfo *info = rel->fdw_private;
	List *order;
	bool is_sorted, has_index;
	Cost buckets;

	/* a skipped value may be the one by which the next series is found */
	if (!mts_enable_order_by || series->nkeys == 0 ||
		series->root->parse->hasTargetSRFs ||
		rel->reloptkind != RELOPT_BASEREL || info->table->rolling_name ||
		info->table->on_invalid == MTS_INVALID_SKIP)
		return;
	series->n = estimate_num_groups(series->root, series->exprs, rel->rows,
									NULL, NULL);
	add_first_rows(series);
	/* the first bucket of a series may have no row that is wanted */
	if (info->local != NIL)
		return;
	order = make_series(series, MTS_SERIES_SORTED);
	is_sorted = order != NIL;
	if (!is_sorted)
		order = make_series(series, MTS_SERIES_UNSORTED);
	if (!order)
		return;
	buckets = series->n *
			  (2 * BUCKET_COST + info->points_per_bucket * cpu_tuple_cost +
			   rel->reltarget->cost.per_tuple);
	has_index = add_first_buckets(series, order, buckets);
	/* a round trip for each key finds a series, and one reads its buckets */
	if (has_index ||
		has_declared_keys(info->table,
						  mts_sort_order_open(info->table, order)))
		add_skip_scan(series, order, is_sorted,
					  series->n * (series->nkeys + 1) * STARTUP_COST +
						  buckets);
}

/*
 * mts_series_add_distinct_paths
 *		Add the paths of a skip scan, which reads the first row of each series,
 *		for DISTINCT keys, and for DISTINCT ON keys in the order of these and
 *		the time.
 */
void
mts_series_add_distinct_paths(PlannerInfo *root, RelOptInfo *rel,
							  RelOptInfo *output)
{
	Series series = {.root = root, .rel = rel, .output = output};

	series.nkeys = list_length(root->distinct_pathkeys);
	series.pathkeys = series.nkeys > list_length(root->sort_pathkeys)
						  ? root->distinct_pathkeys
						  : root->sort_pathkeys;
	series.exprs = get_sortgrouplist_exprs(root->parse->distinctClause,
										   root->parse->targetList);
	add_paths(&series);
}

/* ---- Groups ------------------------------------------------------------- */

/* List the aggregates that a query of groups wants. */
static List *
list_aggregates(const Series *series)
{
	List *exprs = list_make2(series->output->reltarget->exprs, series->having);
	List *aggregates = NIL;
	ListCell *lc;

	foreach (lc, pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES |
													 PVC_RECURSE_WINDOWFUNCS |
													 PVC_INCLUDE_PLACEHOLDERS))
		if (IsA(lfirst(lc), Aggref))
			aggregates = lappend(aggregates, lfirst(lc));
	return aggregates;
}

/* Tell whether an aggregate is the least or the greatest value of a time. */
static bool
is_extreme_time(Oid function, bool *is_max)
{
	*is_max = function == F_MAX_TIMESTAMPTZ || function == F_MAX_TIMESTAMP ||
			  function == F_MAX_DATE;
	return *is_max || function == F_MIN_TIMESTAMPTZ ||
		   function == F_MIN_TIMESTAMP || function == F_MIN_DATE;
}

/*
 * Find the time column whose greatest value is all that aggregates want, or
 * whose least one, and in *is_max which.  False if they want anything else.
 * *time is NULL without aggregates.
 */
static bool
find_extreme(const Series *series, Var **time, bool *is_max)
{
	const MtsTable *table = ((MtsRelInfo *) series->rel->fdw_private)->table;
	ListCell *lc;

	*time = NULL;
	foreach (lc, list_aggregates(series))
	{
		Aggref *aggref = lfirst(lc);
		bool is_first = *time == NULL, is_other_max;

		if (aggref->aggfilter || aggref->aggdistinct || aggref->aggorder ||
			!is_extreme_time(aggref->aggfnoid, &is_other_max) ||
			(!is_first && is_other_max != *is_max))
			return false;
		*is_max = is_other_max;
		*time =
			mts_shippable_var(linitial_node(TargetEntry, aggref->args)->expr,
							  series->rel->relid);
		if (!*time || (*time)->varattno != table->layout.time_column + 1)
			return false;
	}
	return true;
}

/* The pathkeys of a time whose greatest or least value comes first */
static List *
make_time_pathkeys(PlannerInfo *root, Var *time, bool is_max)
{
	TypeCacheEntry *type =
		lookup_type_cache(time->vartype, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR |
											 TYPECACHE_EQ_OPR);
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry =
		makeTargetEntry((Expr *) copyObject(time), 1, NULL, false);

	clause->tleSortGroupRef = entry->ressortgroupref = 1;
	clause->eqop = type->eq_opr;
	clause->sortop = is_max ? type->gt_opr : type->lt_opr;
	mts_set_descending(clause, is_max);
	return make_pathkeys_for_sortclauses(root, list_make1(clause),
										 list_make1(entry));
}

/*
 * Find the aggregate of a column's different values that is all that a query
 * wants, perhaps several times; NULL if it wants anything else.
 */
static Aggref *
find_distinct(const Series *series)
{
	Aggref *found = NULL;
	ListCell *lc;

	foreach (lc, list_aggregates(series))
	{
		Aggref *aggref = lfirst(lc);

		if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggfilter ||
			list_length(aggref->aggdistinct) != 1 ||
			list_length(aggref->args) != 1 ||
			(found && !equal(found->args, aggref->args)))
			return NULL;
		found = aggref;
	}
	return found;
}

/*
 * Add the paths of a skip scan for count(DISTINCT key) and the like, perhaps
 * of groups by other keys: a row of each series is enough.
 */
static void
add_distinct_key_paths(Series *series)
{
	PlannerInfo *root = series->root;
	const Aggref *aggref = find_distinct(series);
	ListCell *lc;

	if (!aggref)
		return;
	series->is_plain = root->parse->groupClause == NIL;
	series->pathkeys = make_pathkeys_for_sortclauses(root, series->clause,
													 root->processed_tlist);
	foreach (lc, make_pathkeys_for_sortclauses(root, aggref->aggdistinct,
											   aggref->args))
		series->pathkeys =
			list_append_unique_ptr(series->pathkeys, lfirst(lc));
	series->nkeys = list_length(series->pathkeys);
	series->exprs = lappend(get_sortgrouplist_exprs(root->parse->groupClause,
													root->parse->targetList),
							linitial_node(TargetEntry, aggref->args)->expr);
	add_paths(series);
}

/*
 * mts_series_add_group_paths
 *		Add the paths of a skip scan for GROUP BY keys without aggregates, or
 *		with max() of the time or min() of it, which is that of the first row,
 *		or with aggregates of the different values of a key.
 */
void
mts_series_add_group_paths(PlannerInfo *root, RelOptInfo *rel,
						   RelOptInfo *output, Node *having)
{
	Series series = {.root = root,
					 .rel = rel,
					 .output = output,
					 .clause = mts_group_clause(root),
					 .having = having};
	Var *time;
	bool is_max = false;

	if (root->parse->groupingSets)
		return;
	if (!find_extreme(&series, &time, &is_max))
	{
		add_distinct_key_paths(&series);
		return;
	}
	if (series.clause == NIL)
		return;
	series.pathkeys = root->group_pathkeys;
	series.nkeys = list_length(series.pathkeys);
	series.exprs = get_sortgrouplist_exprs(root->parse->groupClause,
										   root->parse->targetList);
	if (time)
		series.pathkeys =
			list_concat_copy(series.pathkeys,
							 make_time_pathkeys(root, time, is_max));
	add_paths(&series);
}
