/*
 * path.c
 *		In which ways can a table be scanned, and what does each cost?
 *
 * As the buckets come; sorted; and for the rows of another relation, whose
 * values then stand in the query.
 */
#include "plan.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "estimate.h"
#include "order.h"
#include "pushdown.h"

/* Costs, in the units of seq_page_cost and cpu_tuple_cost */
#define STARTUP_COST 25.0 /* a round trip */
#define BUCKET_COST 0.05  /* to send and to open one */

/* A scan: for which rows of others, sorted how */
typedef struct Way
{
	ParamPathInfo *param; /* NULL: for none */
	List *pathkeys;
	List *order;
} Way;

/* How many points the buckets hold that a scan reads, and its collections */
static double
estimate_points(PlannerInfo *root, RelOptInfo *rel, const ParamPathInfo *param,
				double *collections)
{
	const MtsEstimate *estimate = rel->fdw_private;
	List *clauses = rel->baserestrictinfo;

	if (param)
		clauses = list_concat_copy(clauses, param->ppi_clauses);
	*collections = mts_estimate_read(root, rel, estimate->table, clauses,
									 estimate->collections);
	return param ? mts_estimate_fetched(root, rel, estimate->table, clauses)
				 : estimate->points;
}

/* How many buckets a scan of a relation reads */
double
mts_path_buckets(const RelOptInfo *rel)
{
	const MtsEstimate *estimate = rel->fdw_private;

	return estimate->points / estimate->points_per_bucket;
}

/* What a scan costs */
static void
cost_way(PlannerInfo *root, RelOptInfo *rel, Way way, Cost *startup, Cost *run)
{
	const MtsEstimate *estimate = rel->fdw_private;
	double collections;
	double points = estimate_points(root, rel, way.param, &collections);
	double rows = way.param ? way.param->ppi_rows : rel->rows;
	double buckets = Max(points / estimate->points_per_bucket, 1);
	QualCost cost = rel->baserestrictcost;

	*startup = STARTUP_COST + cost.startup + rel->reltarget->cost.startup;
	*run = (collections - 1) * STARTUP_COST + buckets * BUCKET_COST +
		   points * (cpu_tuple_cost + cost.per_tuple) +
		   rows * rel->reltarget->cost.per_tuple;

	/* MongoDB sorts the buckets, a merge compares the rows */
	if (way.order)
		*run += (points + buckets * log2(buckets + 1)) * cpu_operator_cost;
}

/* mts_path_cost: what it costs to scan a relation as the buckets come. */
void
mts_path_cost(PlannerInfo *root, RelOptInfo *rel, Cost *startup, Cost *total)
{
	Cost run;

	cost_way(root, rel, (Way){NULL, NIL, NIL}, startup, &run);
	*total = *startup + run;
}

static void
add_way(PlannerInfo *root, RelOptInfo *rel, Way way)
{
	double rows = way.param ? way.param->ppi_rows : rel->rows;
	Cost startup, run;

	cost_way(root, rel, way, &startup, &run);
	add_path(rel,
			 (Path *) mts_create_scan_path(root, rel, rows, startup,
										   startup + run, way.pathkeys,
										   way.param ? way.param->ppi_req_outer
													 : rel->lateral_relids,
										   way.order));
}

/* ---- Sorted -------------------------------------------------------------- */

static void
add_sorted(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *useful;
	ListCell *lc;

	/* what finds the rows to change again is lost in a sort */
	if (!mts_enable_sort || bms_is_member(rel->relid, root->all_result_relids))
		return;
	useful = mts_order_useful(root, rel, table);
	foreach (lc, useful)
	{
		Way way = {NULL, lfirst(lc), NIL};

		way.order = mts_order_make(rel, table, way.pathkeys, 0, false);
		if (!way.order)
			continue;
		way.pathkeys = list_truncate(list_copy(way.pathkeys),
									 list_length(linitial(way.order)));
		add_way(root, rel, way);
	}
}

/* ---- Parallel ------------------------------------------------------------ */

/*
 * mts_path_divide
 *		Make a path that workers run side by side, of one that reads so many
 *		buckets; false when they are too few for that.
 */
bool
mts_path_divide(RelOptInfo *rel, Path *path, double buckets)
{
	int workers = compute_parallel_worker(rel, buckets, -1,
										  max_parallel_workers_per_gather);
	double processes = workers;

	if (workers <= 0)
		return false;
	/* the leader works as long as it has not too much to gather */
	if (parallel_leader_participation)
		processes += Max(1.0 - 0.3 * workers, 0);
	path->rows = clamp_row_est(path->rows / processes);
	path->total_cost = path->startup_cost +
					   (path->total_cost - path->startup_cost) / processes;
	path->parallel_aware = true;
	path->parallel_workers = workers;
	return true;
}

static void
add_parallel(PlannerInfo *root, RelOptInfo *rel)
{
	double buckets = mts_path_buckets(rel);
	Cost startup, total;
	Path *path;

	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	mts_path_cost(root, rel, &startup, &total);
	path = (Path *) mts_create_scan_path(root, rel, rel->rows, startup, total,
										 NIL, NULL, NIL);
	if (mts_path_divide(rel, path, buckets))
		add_partial_path(rel, path);
}

/* ---- For the rows of other relations ------------------------------------- */

/* Is a member of an equivalence class this column? */
static bool
is_column(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *class,
		  EquivalenceMember *member, void *attnum)
{
	Expr *expr = member->em_expr;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((Var *) expr)->varno == rel->relid &&
		   ((Var *) expr)->varattno == *(AttrNumber *) attnum;
}

/* The clauses that compare columns of the relation with those of others */
static List *
join_clauses(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rel->joininfo)
		if (join_clause_is_movable_to(lfirst(lc), rel))
			clauses = lappend(clauses, lfirst(lc));
	for (int i = 0; rel->has_eclass_joins && i < table->layout.ncolumns; i++)
	{
		AttrNumber attnum = table->attributes[i].attnum;

		clauses = list_concat(clauses, generate_implied_equalities_for_column(
										   root, rel, is_column, &attnum,
										   rel->lateral_referencers));
	}
	return clauses;
}

static List *
add_outer(PlannerInfo *root, RelOptInfo *rel, List *params, Relids outer)
{
	return bms_is_empty(outer)
			   ? params
			   : list_append_unique_ptr(params,
										get_baserel_parampathinfo(root, rel,
																  outer));
}

static void
add_parameterized(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *clauses = join_clauses(root, rel, table);
	List *params = NIL;
	Relids all = NULL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		RestrictInfo *rinfo = lfirst(lc);
		Relids outer;

		if (!mts_pushdown_clause(table, rel->relid, rinfo->clause))
			continue;
		outer = bms_union(rinfo->clause_relids, rel->lateral_relids);
		outer = bms_del_member(outer, rel->relid);
		params = add_outer(root, rel, params, outer);
		all = bms_union(all, outer);
	}
	params = add_outer(root, rel, params, all);
	foreach (lc, params)
		add_way(root, rel, (Way){lfirst(lc), NIL, NIL});
}

/* mtsGetForeignPaths: the ways to scan a table. */
void
mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	const MtsTable *table = ((MtsEstimate *) baserel->fdw_private)->table;

	add_way(root, baserel, (Way){NULL, NIL, NIL});
	add_sorted(root, baserel, table);
	add_parameterized(root, baserel, table);
	add_parallel(root, baserel);
}

/* ---- The first rows of series -------------------------------------------- */

/* Is every clause decided in MongoDB or by the unfolding? */
static bool
is_decided(const RelOptInfo *rel, const MtsTable *table)
{
	ListCell *lc;

	foreach (lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);
		MtsTest *test = mts_pushdown_clause(table, rel->relid, rinfo->clause);

		if (!test || !mts_pushdown_is_exact(test) || rinfo->pseudoconstant)
			return false;
	}
	return true;
}

/* The order in which a scan goes through series that n pathkeys tell apart */
static List *
make_series(RelOptInfo *rel, const MtsTable *table, List *pathkeys, int n,
			bool is_loose)
{
	List *order = mts_order_make(rel, table, pathkeys, n, is_loose);

	return order && list_length(linitial(order)) == list_length(pathkeys) &&
				   mts_order_is_of_keys(table, order, n)
			   ? order
			   : NIL;
}

/*
 * mts_path_add_series
 *		Add a path for DISTINCT keys, and for DISTINCT ON keys in the order of
 *		these and the time: it goes from series to series.  The relation's size
 *		has been estimated.
 */
void
mts_path_add_series(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *output)
{
	const MtsEstimate *estimate = rel->fdw_private;
	int n = list_length(root->distinct_pathkeys);
	List *pathkeys = n > list_length(root->sort_pathkeys)
						 ? root->distinct_pathkeys
						 : root->sort_pathkeys;
	List *order, *exprs;
	bool is_sorted;
	double series;
	Cost startup, run;
	Path *path;

	/* what is skipped may be what the next series was to be found by */
	if (!mts_enable_sort || n == 0 || root->parse->hasTargetSRFs ||
		rel->reloptkind != RELOPT_BASEREL || estimate->table->set ||
		estimate->table->on_invalid == MTS_INVALID_SKIP ||
		!is_decided(rel, estimate->table))
		return;
	order = make_series(rel, estimate->table, pathkeys, n, false);
	is_sorted = order != NIL;
	if (!is_sorted)
		order = make_series(rel, estimate->table, pathkeys, n, true);
	if (!order)
		return;
	exprs = get_sortgrouplist_exprs(root->parse->distinctClause,
									root->parse->targetList);
	series = estimate_num_groups(root, exprs, rel->rows, NULL, NULL);

	/* to find each, by each of its keys, and to read a bucket or two */
	startup = STARTUP_COST + rel->reltarget->cost.startup;
	run = series * ((n + 1) * STARTUP_COST + 2 * BUCKET_COST +
					estimate->points_per_bucket * cpu_tuple_cost +
					rel->reltarget->cost.per_tuple);
	path = (Path *) mts_create_scan_path(root, rel, series, startup,
										 startup + run,
										 is_sorted ? pathkeys : NIL,
										 rel->lateral_relids, order);
	if (!is_sorted)
		path = (Path *) create_sort_path(root, output, path, pathkeys, -1);
	add_path(output,
			 (Path *) create_upper_unique_path(root, output, path, n, series));
}
