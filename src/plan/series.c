/*
 * series.c
 *		Plan skip scans, which read the first row of each series.
 *
 * A skip scan asks for one series after the other, or for the first buckets of
 * many series at once.  The second way requires an index in which MongoDB
 * skips from series to series; otherwise it would read all buckets.  So it is
 * planned only if MongoDB says that it has such a plan.
 */
#include "plan/series.h"

#include <math.h>

#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

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
	bson_t *terms = mts_document_new();
	const bson_t *reply = NULL;
	MtsFind find;
	int skips = -1;

	scan->spec.order = order;
	mts_scan_reset(scan);
	mts_scan_prepare(scan);
	if (!scan->query->is_possible)
		return false;
	/* an index serves other values of these keys as well as these */
	for (int i = 0; i < order->nseries - 1; i++)
		mts_template_push(terms, "{%s: 0}", order->keys[i].field);
	find = mts_first_buckets_find(scan->query, terms);
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

	if (!OidIsValid(userid))
		userid = GetUserId();
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

/*
 * The order of a skip scan over series, which n pathkeys identify; NIL if it
 * cannot be.
 */
static List *
make_series(RelOptInfo *rel, const MtsTable *table, List *pathkeys, int n,
			MtsSeriesOrder series_order)
{
	List *order = mts_pathkeys_to_order(rel, table, pathkeys, n, series_order);
	const MtsSortOrder *made = mts_sort_order_open(table, order);

	return made && made->nkeys == list_length(pathkeys) &&
				   mts_sort_order_is_of_keys(made, table, n)
			   ? order
			   : NIL;
}

/* Add the path of a skip scan of this cost, sorted here if need be. */
static void
add_skip_scan(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *output,
			  List *pathkeys, List *order, bool is_sorted, double series,
			  Cost run)
{
	Cost startup = STARTUP_COST + rel->reltarget->cost.startup;
	Path *path = (Path *) mts_create_scan_path(root, rel, series, startup,
											   startup + run,
											   is_sorted ? pathkeys : NIL,
											   rel->lateral_relids, order);

	if (!is_sorted)
		path = (Path *) create_sort_path(root, output, path, pathkeys, -1);
	add_path(output,
			 (Path *) create_upper_unique_path(root, output, path,
											   list_length(
												   root->distinct_pathkeys),
											   series));
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
 * at once, in any order, if that is cheaper than to read all buckets.
 */
static void
add_first_buckets(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *output,
				  List *pathkeys, List *order, double series, Cost buckets)
{
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	MtsSortOrder *made = mts_sort_order_open(table, order);
	double batches = ceil(series / table->fetch_size);
	double outer = 1;
	Cost run;

	if (!suffices(table, made))
		return;
	if (made->nseries > 1)
	{
		List *exprs = get_sortgrouplist_exprs(root->parse->distinctClause,
											  root->parse->targetList);

		outer =
			estimate_num_groups(root, list_truncate(exprs, made->nseries - 1),
								rel->rows, NULL, NULL);
	}
	/* two queries for each batch, and for the null */
	run = (outer * (made->nseries + 2) + 2 * batches) * STARTUP_COST + buckets;
	if (run > rel->cheapest_total_path->total_cost ||
		!set_series_direction(root, rel, made))
		return;
	order = lcons(list_make3_int(made->nsorted, made->nseries,
								 made->series_direction),
				  list_copy_tail(order, 1));
	add_skip_scan(root, rel, output, pathkeys, order, false, series, run);
}

/*
 * mts_series_add_paths
 *		Add the paths of a skip scan, which reads the first row of each series.
 *
 * They serve DISTINCT keys, and DISTINCT ON keys in the order of these and the
 * time.
 */
void
mts_series_add_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *output)
{
	const MtsRelInfo *info = rel->fdw_private;
	int n = list_length(root->distinct_pathkeys);
	List *pathkeys = n > list_length(root->sort_pathkeys)
						 ? root->distinct_pathkeys
						 : root->sort_pathkeys;
	List *order, *exprs;
	bool is_sorted;
	double series;
	Cost buckets;

	/* a skipped value may be the one by which the next series is found */
	if (!mts_enable_order_by || n == 0 || root->parse->hasTargetSRFs ||
		rel->reloptkind != RELOPT_BASEREL || info->table->rolling_name ||
		info->table->on_invalid == MTS_INVALID_SKIP || info->local != NIL)
		return;
	order = make_series(rel, info->table, pathkeys, n, MTS_SERIES_SORTED);
	is_sorted = order != NIL;
	if (!is_sorted)
		order =
			make_series(rel, info->table, pathkeys, n, MTS_SERIES_UNSORTED);
	if (!order)
		return;
	exprs = get_sortgrouplist_exprs(root->parse->distinctClause,
									root->parse->targetList);
	series = estimate_num_groups(root, exprs, rel->rows, NULL, NULL);
	buckets =
		series * (2 * BUCKET_COST + info->points_per_bucket * cpu_tuple_cost +
				  rel->reltarget->cost.per_tuple);
	/* a round trip for each key finds a series, and one reads its buckets */
	add_skip_scan(root, rel, output, pathkeys, order, is_sorted, series,
				  series * (n + 1) * STARTUP_COST + buckets);
	add_first_buckets(root, rel, output, pathkeys, order, series, buckets);
}
