/*
 * series.c
 *		Plan skip scans, which read the first row of each series.
 *
 * A skip scan asks for one series after the other, or for the first buckets of
 * many series at once.  Without an index, the first way would read all buckets
 * for each series.  The second way requires that MongoDB skips from series to
 * series in the index; otherwise it would read all buckets.  So a skip scan is
 * planned if the session knows an index with the fields of a series before the
 * one that sorts its buckets.  The second way is planned if MongoDB says that
 * it skips, too.
 *
 * An index can have more fields before that than the query has keys.  Then the
 * scan returns a row for each series of the index, and PostgreSQL chooses the
 * first row of the query's series from these.
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
#include "utils/lsyscache.h"
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
#include "table/index.h"
#include "table/known.h"
#include "table/statistics.h"

/* The cost of a point that is compared with the first of its series, in units
 * of cpu_operator_cost */
#define FIRST_ROW_COST 0.4

/* The cost of a round trip of a scan that has begun; about the time in which
 * 100 buckets are read */
#define TRIP_COST 5.0

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
 * Tell whether MongoDB finds the first buckets of many series by skipping;
 * false if the query is not known yet.
 */
static bool
can_skip(PlannerInfo *root, RelOptInfo *rel, const MtsSortOrder *order)
{
	const MtsRelInfo *info = rel->fdw_private;
	Oid userid = mts_plan_user(root, rel);
	ExprContext *econtext;
	MtsScan *scan;
	List *quals;
	bool result;

	if (mts_known_server_is_silent(info->table->serverid, userid) ||
		!fix_quals(root, rel, &quals))
		return false;
	econtext = CreateStandaloneExprContext();
	scan = mts_scan_new(info->table, userid, NIL, econtext);
	scan->spec.quals = quals;
	result = skips_in_index(scan, order);
	mts_scan_reset(scan);
	FreeExprContext(econtext, true);
	return result;
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

/* The pathkeys of a column; NIL if it has only one value */
static List *
make_column_pathkeys(PlannerInfo *root, Var *var, bool descending)
{
	TypeCacheEntry *type =
		lookup_type_cache(var->vartype, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR |
											TYPECACHE_EQ_OPR);
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry =
		makeTargetEntry((Expr *) copyObject(var), 1, NULL, false);

	clause->tleSortGroupRef = entry->ressortgroupref = 1;
	clause->eqop = type->eq_opr;
	clause->sortop = descending ? type->gt_opr : type->lt_opr;
	mts_set_descending(clause, descending);
	return make_pathkeys_for_sortclauses(root, list_make1(clause),
										 list_make1(entry));
}

/* ---- Series of an index ------------------------------------------------- */

/* Make the column at a field of buckets; NULL if the table has none. */
static Var *
make_var_of_field(const RelOptInfo *rel, const char *field)
{
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	Oid type, collation;
	int32 typmod;

	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		const MtsColumn *column = &table->layout.columns[i];

		if (table->attributes[i].dropped || column->role != MTS_ROLE_KEY ||
			!mts_path_is_at(&column->path, field))
			continue;
		get_atttypetypmodcoll(table->relid, i + 1, &type, &typmod, &collation);
		return makeVar(rel->relid, i + 1, type, typmod, collation, 0);
	}
	return NULL;
}

/*
 * Append the key of an index's field to those of finer series, with the
 * direction that the query wants.  False if it is not a key of buckets.
 */
static bool
append_indexed_key(const Series *series, const char *field, Series *fine)
{
	Var *var = make_var_of_field(series->rel, field);
	List *made;
	PathKey *key;
	ListCell *lc;

	if (!var)
		return false;
	made = make_column_pathkeys(series->root, var, false);
	/* the conditions of the query leave one value of the key */
	if (made == NIL)
		return true;
	key = linitial(made);
	foreach (lc, series->pathkeys)
		if (((PathKey *) lfirst(lc))->pk_eclass == key->pk_eclass)
			key = lfirst(lc);
	fine->pathkeys = lappend(fine->pathkeys, key);
	fine->exprs = lappend(fine->exprs, var);
	return true;
}

/* Find what MongoDB sorts the buckets of a series by; NULL if nothing. */
static const MtsSortKey *
find_first_sorted(const Series *series)
{
	RelOptInfo *rel = series->rel;
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	List *rest = list_copy_tail(series->pathkeys, series->nkeys);
	const MtsSortOrder *made =
		mts_sort_order_open(table, mts_pathkeys_to_order(rel, table, rest, 0,
														 MTS_SERIES_SORTED));

	return made ? &made->keys[0] : NULL;
}

/*
 * Find the series of an index whose first rows are enough: those that have the
 * same values of its fields before the one that sorts the buckets of a series
 * or, without an order, up to the last key of the query.  The query's series
 * consist of these.
 *
 * *direction is that of the last key, if the index is read in the order of the
 * buckets.  False if the index does not have these fields.
 */
static bool
find_indexed_series(const Series *series, const bson_t *index, Series *fine,
					int *direction)
{
	List *keys = list_truncate(list_copy(series->pathkeys), series->nkeys);
	List *rest = list_copy_tail(series->pathkeys, series->nkeys);
	const MtsSortKey *sorted = find_first_sorted(series);
	bson_iter_t field;

	*fine = *series;
	fine->pathkeys = fine->exprs = NIL;
	*direction = 1;
	if (!sorted && rest != NIL)
		return false;
	bson_iter_init(&field, index);
	while (sorted || list_difference_ptr(keys, fine->pathkeys) != NIL)
	{
		if (!bson_iter_next(&field))
			return false;
		if (sorted && strcmp(bson_iter_key(&field), sorted->field) == 0)
			break;
		if (!append_indexed_key(series, bson_iter_key(&field), fine))
			return false;
		*direction = bson_iter_as_int64(&field) < 0 ? -1 : 1;
	}
	if (fine->pathkeys == NIL ||
		list_difference_ptr(keys, fine->pathkeys) != NIL)
		return false;
	if (sorted && (bson_iter_as_int64(&field) < 0) != sorted->descending)
		*direction = -*direction;
	fine->nkeys = list_length(fine->pathkeys);
	fine->pathkeys = list_concat(fine->pathkeys, rest);
	fine->n = estimate_num_groups(series->root, fine->exprs, series->rel->rows,
								  NULL, NULL);
	return true;
}

/* ---- Skip scans --------------------------------------------------------- */

/*
 * Add the path of a skip scan of this cost that returns n rows, sorted here if
 * need be.
 */
static void
add_skip_scan(const Series *series, List *order, double n, bool is_sorted,
			  Cost run)
{
	PlannerInfo *root = series->root;
	RelOptInfo *rel = series->rel;
	RelOptInfo *output = series->output;
	Cost startup = STARTUP_COST + rel->reltarget->cost.startup;
	Path *path =
		(Path *) mts_create_scan_path(root, rel, n, startup, startup + run,
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

/* The cost of the first buckets of series, and of their rows */
static Cost
cost_of_buckets(const Series *series)
{
	const MtsRelInfo *info = series->rel->fdw_private;

	return series->n *
		   (2 * BUCKET_COST + info->points_per_bucket * cpu_tuple_cost +
			series->rel->reltarget->cost.per_tuple);
}

/*
 * The cost of the first buckets of many series, which are asked for at once.
 *
 * Without ANALYZE, nobody knows which share of the buckets the conditions
 * select, but an index finds the first ones however many there are.  So the
 * scan is as cheap, compared with others, as if they selected all.
 */
static Cost
cost_of_first_buckets(const Series *series, const MtsSortOrder *order)
{
	const RelOptInfo *rel = series->rel;
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	double batches = ceil(series->n / Min(table->fetch_size, MTS_FIRST_BATCH));
	double outer = 1;
	Cost cost;

	if (order->nseries > 1)
		outer = estimate_num_groups(series->root,
									list_truncate(list_copy(series->exprs),
												  order->nseries - 1),
									rel->rows, NULL, NULL);
	/* two queries for each batch, one for nulls, and one for each level */
	cost = (outer * order->nseries + 2 * Max(outer, batches)) * TRIP_COST +
		   cost_of_buckets(series);
	return mts_statistics_documents(table) > 0
			   ? cost
			   : cost * Min(rel->rows / Max(rel->tuples, 1), 1);
}

/*
 * Add the path of a skip scan that asks for the first buckets of the series of
 * an index at once, in any order, if that is cheaper than to read all buckets
 * and if MongoDB skips in the index.  Returns whether the index finds the
 * query's own series, one after the other.
 */
static bool
add_first_buckets(const Series *series, const bson_t *index)
{
	RelOptInfo *rel = series->rel;
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	MtsSortOrder *made;
	List *order;
	Series fine;
	int direction;
	Cost run;

	if (!find_indexed_series(series, index, &fine, &direction))
		return false;
	order = make_series(&fine, MTS_SERIES_UNSORTED);
	made = mts_sort_order_open(table, order);
	if (made && suffices(table, made))
	{
		run = cost_of_first_buckets(&fine, made);
		made->series_direction = direction;
		if (run <= rel->cheapest_total_path->total_cost &&
			can_skip(series->root, rel, made))
			add_skip_scan(series,
						  lcons(list_make3_int(made->nsorted, made->nseries,
											   direction),
								list_copy_tail(order, 1)),
						  fine.n, false, run);
	}
	return fine.nkeys == series->nkeys &&
		   equal(fine.pathkeys, series->pathkeys);
}

/*
 * Add the paths of skip scans in the indexes that the session knows.  Returns
 * whether one finds a series after the other.
 */
static bool
add_indexed(const Series *series)
{
	const MtsRelInfo *info = series->rel->fdw_private;
	const MtsKnown *known =
		mts_index_known(info->table, mts_plan_user(series->root, series->rel));
	bool found = false;
	bson_iter_t iter;
	bson_t *indexes, index;

	if (!known->indexes)
		return false;
	/* what is known can be forgotten meanwhile */
	indexes = mts_document_new();
	bson_concat(indexes, known->indexes);
	bson_iter_init(&iter, indexes);
	while (bson_iter_next(&iter))
		found |= mts_document_view(&iter, &index) &&
				 add_first_buckets(series, &index);
	return found;
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
		add_skip_scan(series, order, series->n, false,
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
	has_index = add_indexed(series);
	order = make_series(series, MTS_SERIES_SORTED);
	is_sorted = order != NIL;
	if (!is_sorted)
		order = make_series(series, MTS_SERIES_UNSORTED);
	if (!order)
		return;
	/* a round trip for each key finds a series, and one reads its buckets */
	if (has_index)
		add_skip_scan(series, order, series->n, is_sorted,
					  series->n * (series->nkeys + 1) * TRIP_COST +
						  cost_of_buckets(series));
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
							 make_column_pathkeys(root, time, is_max));
	add_paths(&series);
}
