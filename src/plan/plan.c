/*
 * plan.c
 *		Plan the scan of a table: its size, its paths and their costs.
 *
 * A path returns rows in the order of the buckets, or sorted, or for the rows
 * of another relation, whose values are parameters of its query.  A clause is
 * pushed down whole or in part (shippable.c).  PostgreSQL checks again what
 * that does not decide exactly.  Each clause is classified once.
 */
#include "plan/plan.h"

#include <math.h>
#include <unistd.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "driver/attempt.h"
#include "plan/estimate.h"
#include "plan/index_cost.h"
#include "plan/join_clauses.h"
#include "plan/pathkeys.h"
#include "plan/rollup_match.h"
#include "plan/valueless.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"
#include "table/native.h"

/* MongoDB takes longer to look for keys below other slots than to send all
 * points, unless these are as many for each wanted one */
#define POINTS_PER_KEY 16

/* Of the greatest or the least rows, those that come from the same bucket */
#define ROWS_PER_BUCKET 4

/* ---- Clauses ------------------------------------------------------------ */

/* mts_plan_qual: the qual that a clause is pushed down as; NULL if none. */
const MtsQual *
mts_plan_qual(RelOptInfo *rel, RestrictInfo *rinfo)
{
	MtsRelInfo *info = rel->fdw_private;
	MtsQual *qual;
	ListCell *lc;

	foreach (lc, info->known)
		if (lfirst(lc) == rinfo)
			return list_nth(info->quals, foreach_current_index(lc));
	qual = mts_shippable_clause(info->table, rel->relid, rinfo->clause);
	info->known = lappend(info->known, rinfo);
	info->quals = lappend(info->quals, qual);
	return qual;
}

/* Do not push down the clauses whose slots MongoDB should not look for. */
static void
drop_slots(PlannerInfo *root, RelOptInfo *rel, List *rinfos)
{
	MtsRelInfo *info = rel->fdw_private;
	ListCell *lc;

	foreach (lc, rinfos)
	{
		const MtsQual *qual = mts_plan_qual(rel, lfirst(lc));

		if (qual && qual->kind == MTS_QUAL_SLOT &&
			info->table->layout.columns[qual->column].slot > 0 &&
			clause_selectivity(root, lfirst(lc), rel->relid, JOIN_INNER,
							   NULL) > 1.0 / POINTS_PER_KEY)
			llast(info->quals) = NULL;
	}
}

/*
 * mts_plan_split_clauses
 *		Append clauses to the lists that MtsRelInfo describes.
 */
void
mts_plan_split_clauses(RelOptInfo *rel, List *rinfos, List **pushed,
					   List **exact, List **local)
{
	ListCell *lc;

	foreach (lc, rinfos)
	{
		const MtsQual *qual = mts_plan_qual(rel, lfirst(lc));

		if (qual)
			*pushed = lappend(*pushed, lfirst(lc));
		if (qual && qual->exact)
			*exact = lappend(*exact, lfirst(lc));
		else
			*local = lappend(*local, lfirst(lc));
	}
}

/* ---- Size --------------------------------------------------------------- */

/* A comparison of the time column, a timestamptz, with an instant */
static Node *
compare_time(const RelOptInfo *rel, const MtsTable *table, Oid operator,
			 TimestampTz t)
{
	const MtsAttribute *attribute =
		&table->attributes[table->layout.time_column];
	Var *var = makeVar(rel->relid, table->layout.time_column + 1,
					   TIMESTAMPTZOID, attribute->typmod, InvalidOid, 0);
	Const *value = makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(t),
							 TimestampTzGetDatum(t), false, FLOAT8PASSBYVAL);
	Expr *expr = make_opclause(operator, BOOLOID, false, (Expr *) var,
							   (Expr *) value, InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) expr);
	return (Node *) expr;
}

/*
 * Append clauses that compare the time itself, for a qual on an expression of
 * the time, such as a cast.  PostgreSQL has statistics of the time, but none
 * of the expression.
 *
 * False if the clause itself is to be estimated: its qual is on the time, or
 * not on a timestamptz, or its range is unknown until the plan runs.
 */
static bool
append_range(PlannerInfo *root, const RelOptInfo *rel, const MtsTable *table,
			 MtsQual qual, List **clauses)
{
	TypeCacheEntry *type =
		lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	ExprContext *econtext;
	MtsRanges *ranges;
	MtsRange hull;

	if (!qual.inverse ||
		table->attributes[qual.column].typid != TIMESTAMPTZOID)
		return false;
	qual.right = (Expr *) estimate_expression_value(root, (Node *) qual.right);
	if (!IsA(qual.right, Const))
		return false;
	mts_qual_init(&qual, NULL);
	econtext = CreateStandaloneExprContext();
	ranges = &mts_qual_evaluate(table, &qual, econtext)->ranges;
	FreeExprContext(econtext, true);
	if (ranges->n == 0)
		return false;
	hull.from = ranges->items[0].from;
	hull.to = ranges->items[ranges->n - 1].to;
	if (hull.from != MTS_TIME_MIN)
		*clauses = lappend(*clauses, compare_time(rel, table, type->gt_opr,
												  hull.from - 1));
	if (hull.to != MTS_TIME_MAX)
		*clauses =
			lappend(*clauses, compare_time(rel, table, type->lt_opr, hull.to));
	return true;
}

/*
 * Tell whether a qual compares a value by the bounds of its bucket, or selects
 * slots of the bucket.
 */
static bool
is_within_bucket(const MtsQual *qual)
{
	ListCell *lc;

	foreach (lc, qual->args)
		if (is_within_bucket(lfirst(lc)))
			return true;
	return qual->kind == MTS_QUAL_BOUNDED || qual->kind == MTS_QUAL_SLOT;
}

/*
 * The share of a table's points that match clauses or, if whole buckets count,
 * that are in the buckets which match them.
 */
static double
share_of(PlannerInfo *root, RelOptInfo *rel, List *rinfos, bool of_buckets)
{
	const MtsTable *table = ((MtsRelInfo *) rel->fdw_private)->table;
	List *clauses = NIL;
	ListCell *lc;

	foreach (lc, rinfos)
	{
		const MtsQual *qual = mts_plan_qual(rel, lfirst(lc));

		/* a bucket is fetched for one of its values */
		if (of_buckets && (!qual || is_within_bucket(qual)))
			continue;
		if (!qual || !append_range(root, rel, table, *qual, &clauses))
			clauses = lappend(clauses, lfirst(lc));
	}
	return clauselist_selectivity(root, clauses, rel->relid, JOIN_INNER, NULL);
}

/*
 * mts_plan_time_share
 *		Estimate the share of a table's points that are in the buckets which
 *		match those of some clauses that are on the time.
 */
double
mts_plan_time_share(PlannerInfo *root, RelOptInfo *rel, List *rinfos)
{
	List *on_time = NIL;
	ListCell *lc;

	foreach (lc, rinfos)
	{
		const MtsQual *qual = mts_plan_qual(rel, lfirst(lc));

		if (qual && qual->kind == MTS_QUAL_TIME)
			on_time = lappend(on_time, lfirst(lc));
	}
	return share_of(root, rel, on_time, true);
}

/* The number of points in the buckets that match clauses */
static double
fetched_points(PlannerInfo *root, RelOptInfo *rel, List *rinfos)
{
	return clamp_row_est(rel->tuples * share_of(root, rel, rinfos, true));
}

/*
 * Raise an error unless the user has some privilege on a relation, or on the
 * table that it is a partition of.
 *
 * Planning asks the server with the user's mapping.  The executor checks the
 * privileges that the statement requires, but later.
 */
static void
check_privileges(PlannerInfo *root, const RelOptInfo *rel)
{
	const AclMode any = ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE;
	const AclMode of_columns = ACL_SELECT | ACL_INSERT | ACL_UPDATE;
	Index index = rel->relid;
	Oid relid, userid;

	while (root->append_rel_array && root->append_rel_array[index])
	{
		Index parent = root->append_rel_array[index]->parent_relid;

		if (root->simple_rte_array[parent]->rtekind != RTE_RELATION)
			break;
		index = parent;
	}
	relid = root->simple_rte_array[index]->relid;
	userid = mts_plan_user(root, root->simple_rel_array[index]);
	if (pg_class_aclmask(relid, userid, any, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, userid, of_columns, ACLMASK_ANY) !=
			ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

/*
 * Tell whether a worker may scan the whole of a relation.
 *
 * Only the processes that divide a scan learn from the leader which snapshot
 * of MongoDB's data the statement reads.  So a worker may not if there can be
 * a snapshot.
 */
static bool
workers_may_scan(const RelOptInfo *rel, const MtsTable *table, Oid userid)
{
	/* there are no workers, so the connection is not needed */
	if (!rel->consider_parallel)
		return true;
	return !table->is_consistent ||
		   !mts_attempt_may_read_snapshots(mts_connection_get(table->serverid,
															  userid),
										   true);
}

/*
 * The conditions of the points that a scan fetches; param is NULL unless it
 * runs for the rows of other relations.
 */
static List *
conditions_of(const RelOptInfo *rel, const ParamPathInfo *param)
{
	const MtsRelInfo *info = rel->fdw_private;
	List *conditions = list_concat_copy(rel->baserestrictinfo, info->implied);

	return param ? list_concat(conditions, param->ppi_clauses) : conditions;
}

/* Classify the clauses of a relation, and those that joins imply. */
static void
classify_clauses(PlannerInfo *root, RelOptInfo *rel)
{
	MtsRelInfo *info = rel->fdw_private;
	List *implied = mts_join_clauses_imply(root, rel);
	List *exact = NIL;
	List *local = NIL;

	drop_slots(root, rel, list_concat_copy(rel->baserestrictinfo, implied));
	mts_plan_split_clauses(rel, rel->baserestrictinfo, &info->pushed,
						   &info->exact, &info->local);
	mts_plan_split_clauses(rel, implied, &info->implied, &exact, &local);
	info->pushed = list_concat(info->pushed, info->implied);
	/* a worker evaluates the values that columns are compared with */
	rel->consider_parallel &= is_parallel_safe(root, (Node *) info->implied);
}

/*
 * mtsGetForeignRelSize
 *		Classify the clauses and estimate the number of rows that match.
 */
void
mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	MtsRelInfo *info = palloc0(sizeof(MtsRelInfo));
	Relation relation = table_open(relid, NoLock);
	Oid userid = mts_plan_user(root, baserel);
	double points;

	check_privileges(root, baserel);
	baserel->fdw_private = info;
	/* rows to be changed are read as they are written */
	info->table = bms_is_member(baserel->relid, root->all_result_relids)
					  ? mts_table_open(relation)
					  : mts_native_try_open(relation, userid);
	table_close(relation, NoLock);
	info->points_per_bucket =
		mts_estimate_table(root, baserel, info->table, &info->collections);
	classify_clauses(root, baserel);
	mts_index_cost_learn(root, baserel);
	info->workers_may_scan = workers_may_scan(baserel, info->table, userid);
	info->is_async = info->table->async_capable &&
					 !bms_is_member(baserel->relid, root->all_result_relids);
	set_baserel_size_estimates(root, baserel);
	baserel->rows = clamp_row_est(
		baserel->tuples *
		share_of(root, baserel, baserel->baserestrictinfo, false));
	info->points = fetched_points(root, baserel, baserel->baserestrictinfo);
	info->rows = baserel->rows;
	if (info->implied == NIL)
		return;
	/* baserel->rows stays, since the joins' sizes depend on it */
	points = fetched_points(root, baserel, conditions_of(baserel, NULL));
	info->rows = clamp_row_est(info->rows * points / info->points);
	info->points = points;
}

/*
 * mts_plan_table
 *		The table of a query's relation, which is opened if it has not been
 *		planned.
 */
const MtsTable *
mts_plan_table(PlannerInfo *root, Index varno, Relation relation)
{
	RelOptInfo *rel = varno < root->simple_rel_array_size
						  ? root->simple_rel_array[varno]
						  : NULL;

	return rel && rel->fdw_private ? ((MtsRelInfo *) rel->fdw_private)->table
								   : mts_table_open(relation);
}

/* ---- Paths -------------------------------------------------------------- */

/*
 * mts_plan_points
 *		The number of points that a scan fetches; param is NULL unless it runs
 *		for the rows of other relations.
 */
double
mts_plan_points(PlannerInfo *root, RelOptInfo *rel, const ParamPathInfo *param)
{
	if (!param)
		return ((MtsRelInfo *) rel->fdw_private)->points;
	return fetched_points(root, rel, conditions_of(rel, param));
}

/*
 * The number of buckets from which the first rows come that a query wants,
 * where the buckets are sorted by the extremes of a value.  A bucket that is
 * read has at least one of them, unless conditions remove it.
 */
static double
first_buckets(const PlannerInfo *root, const RelOptInfo *rel, double buckets)
{
	const MtsRelInfo *info = rel->fdw_private;

	return Min(root->limit_tuples * info->points / Max(info->rows, 1) + 1,
			   buckets);
}

/*
 * Tell whether a query wants so few rows that the buckets which they come from
 * should fit into work_mem.  If they do not, a merge reads and sorts all.
 * Neighbors are alike, so most buckets have several of the rows.
 */
static bool
wants_few(const PlannerInfo *root, const RelOptInfo *rel)
{
	const MtsRelInfo *info = rel->fdw_private;
	double bytes = ROW_BYTES + MAXALIGN(rel->reltarget->width);

	return root->limit_tuples > 0 && first_buckets(root, rel, HUGE_VAL) *
											 info->points_per_bucket * bytes <
										 ROWS_PER_BUCKET * work_mem * 1024.0;
}

/*
 * mts_plan_path
 *		Make the path of a scan, and cost it.
 *
 * param is NULL unless the scan runs for the rows of other relations.  The
 * order is NIL unless the scan is sorted.
 */
Path *
mts_plan_path(PlannerInfo *root, RelOptInfo *rel, ParamPathInfo *param,
			  List *pathkeys, List *order)
{
	const MtsRelInfo *info = rel->fdw_private;
	const MtsSortOrder *made = mts_sort_order_open(info->table, order);
	List *conditions = conditions_of(rel, param);
	double points = mts_plan_points(root, rel, param);
	double collections = 1;
	double rows = param ? param->ppi_rows : info->rows;
	QualCost cost = rel->baserestrictcost;
	double buckets;
	Cost startup, run, sort;
	Path *path;

	if (info->collections > 1)
		collections = Min(info->collections,
						  1 + info->collections *
								  mts_plan_time_share(root, rel, conditions));
	buckets = Max(points / info->points_per_bucket, 1);
	startup = STARTUP_COST + cost.startup + rel->reltarget->cost.startup;
	run = mts_index_cost(root, rel, conditions) +
		  (collections - 1) * STARTUP_COST + buckets * BUCKET_COST +
		  points * (cpu_tuple_cost + cost.per_tuple) +
		  rows * rel->reltarget->cost.per_tuple;

	/* MongoDB sorts buckets, and merging compares rows */
	sort = (points + buckets * log2(buckets + 1)) * cpu_operator_cost;
	if (made && made->extreme)
	{
		double share =
			Min(first_buckets(root, rel, buckets) / Max(buckets, 1), 1);

		/* no index is known that sorts, and the first rows are in these */
		startup += sort + buckets * BUCKET_COST + run * share;
		run *= 1 - share;
	}
	else if (made)
		run += sort;
	path = (Path *) mts_create_scan_path(root, rel, rows, startup,
										 startup + run, pathkeys,
										 param ? param->ppi_req_outer
											   : rel->lateral_relids,
										 order);
	path->parallel_safe &= info->workers_may_scan;
	return path;
}

/* ---- Sorted ------------------------------------------------------------- */

/* Add paths in orders that the query can use. */
static void
add_sorted(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *useful;
	ListCell *lc;

	/* a merge would lose the ids of rows, by which they are changed */
	if (!mts_enable_order_by ||
		bms_is_member(rel->relid, root->all_result_relids))
		return;
	useful = mts_pathkeys_useful(root, rel, table);
	foreach (lc, useful)
	{
		List *pathkeys = lfirst(lc);
		List *order =
			mts_pathkeys_to_order(rel, table, pathkeys, 0, MTS_SERIES_SORTED);
		const MtsSortOrder *made = mts_sort_order_open(table, order);

		if (made && (!made->extreme || wants_few(root, rel)))
			add_path(rel, mts_plan_path(root, rel, NULL,
										list_truncate(list_copy(pathkeys),
													  made->nkeys),
										order));
	}
}

/* ---- Parallel ----------------------------------------------------------- */

int mts_processors = 0;

/*
 * The number of processes that a scan gains from.  While one of them decodes a
 * batch, MongoDB prepares the next one.  So beside a server on this host, each
 * process keeps two processors busy.
 */
static double
useful_processes(const MtsTable *table, double processes)
{
	long processors =
		mts_processors > 0 ? mts_processors : sysconf(_SC_NPROCESSORS_ONLN);

	if (processors <= 0 || !mts_connection_is_local(table->serverid))
		return processes;
	return Min(processes, Max(processors / 2.0, 1));
}

/*
 * mts_plan_divide
 *		Turn the path of a scan into one that workers run in parallel; false if
 *		its buckets are too few.
 */
bool
mts_plan_divide(RelOptInfo *rel, Path *path)
{
	const MtsRelInfo *info = rel->fdw_private;
	double buckets = info->points / info->points_per_bucket;
	int workers = compute_parallel_worker(rel, buckets, -1,
										  max_parallel_workers_per_gather);
	double processes = workers;

	if (workers <= 0)
		return false;
	/* the leader reads, too, unless it is busy with gathering */
	if (parallel_leader_participation)
		processes += Max(1.0 - 0.3 * workers, 0);
	path->rows = clamp_row_est(path->rows / processes);
	path->total_cost =
		path->startup_cost + (path->total_cost - path->startup_cost) /
								 useful_processes(info->table, processes);
	path->parallel_aware = path->parallel_safe = true;
	path->parallel_workers = workers;
	return true;
}

static void
add_parallel(PlannerInfo *root, RelOptInfo *rel)
{
	Path *path;

	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	path = mts_plan_path(root, rel, NULL, NIL, NIL);
	if (mts_plan_divide(rel, path))
		add_partial_path(rel, path);
}

/* ---- Parameterized ------------------------------------------------------ */

/* The clauses that compare columns of the relation with those of others */
static List *
join_clauses(PlannerInfo *root, RelOptInfo *rel, const MtsTable *table)
{
	List *clauses = NIL;

	for (int i = 0; i < table->layout.ncolumns; i++)
		clauses =
			list_concat_unique_ptr(clauses,
								   mts_join_clauses_find(root, rel, i + 1));
	return clauses;
}

/* Add the parameterization by outer relations to a list, if there are any. */
static List *
add_outer(PlannerInfo *root, RelOptInfo *rel, List *params, Relids outer)
{
	return bms_is_empty(outer)
			   ? params
			   : list_append_unique_ptr(params,
										get_baserel_parampathinfo(root, rel,
																  outer));
}

/* Add paths for the rows of each outer relation of a clause, and of all. */
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
		const MtsQual *qual = mts_plan_qual(rel, rinfo);
		Relids outer;

		/* the keys of a slot do not find buckets */
		if (!qual || qual->kind == MTS_QUAL_SLOT)
			continue;
		outer = bms_union(rinfo->clause_relids, rel->lateral_relids);
		outer = bms_del_member(outer, rel->relid);
		params = add_outer(root, rel, params, outer);
		all = bms_union(all, outer);
	}
	params = add_outer(root, rel, params, all);
	foreach (lc, params)
		add_path(rel, mts_plan_path(root, rel, lfirst(lc), NIL, NIL));
}

/* mtsGetForeignPaths: add the paths of a scan. */
void
mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	const MtsTable *table = ((MtsRelInfo *) baserel->fdw_private)->table;

	add_path(baserel, mts_plan_path(root, baserel, NULL, NIL, NIL));
	add_sorted(root, baserel, table);
	add_parameterized(root, baserel, table);
	add_parallel(root, baserel);
}

/* ---- Plan --------------------------------------------------------------- */

/*
 * mts_plan_attributes
 *		The attributes of the relation varno that expressions use.
 */
List *
mts_plan_attributes(List *exprs, Index varno)
{
	Bitmapset *attrs = NULL;
	List *result = NIL;
	int i = -1;

	pull_varattnos((Node *) exprs, varno, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
		result = lappend_int(result, i + FirstLowInvalidHeapAttributeNumber);
	return result;
}

/*
 * The number of buckets in the first batch; 0 for fetch_size.  It is small if
 * the query wants the first rows only.
 */
static int
initial_batch_size(PlannerInfo *root, const RelOptInfo *rel,
				   const MtsSortOrder *order)
{
	const MtsRelInfo *info = rel->fdw_private;
	bool is_skip_scan = order && order->nseries > 0;
	double buckets = 1;

	if ((root->tuple_fraction <= 0 && !is_skip_scan) ||
		(order && order->nfirst > 0))
		return 0;
	if (order && order->extreme)
		buckets = first_buckets(root, rel, HUGE_VAL);
	else if (root->limit_tuples > 0 && !is_skip_scan)
		buckets = ceil(root->limit_tuples / info->points_per_bucket);
	/* the time of one more shows that its rows come later */
	return (int) Min(buckets + 1, info->table->fetch_size);
}

/*
 * The attributes that a scan reads: for its columns, the clauses and the
 * order.  A key in a pushed condition is read as well, to check its type.
 *
 * The ctid identifies a row only within the statement that changes it, so a
 * query can neither show nor compare it.
 */
static List *
needed_attributes(PlannerInfo *root, RelOptInfo *baserel, List *clauses,
				  const MtsSortOrder *order)
{
	List *needed =
		mts_plan_attributes(list_make2(baserel->reltarget->exprs, clauses),
							baserel->relid);
	bool is_changed = bms_is_member(baserel->relid, root->all_result_relids);

	if (list_member_int(is_changed
							? mts_plan_attributes(clauses, baserel->relid)
							: needed,
						SelfItemPointerAttributeNumber))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(
				 "system column \"ctid\" is not supported for foreign tables of mongo_ts_fdw"),
			 errhint("Identify rows by their time and keys.")));
	for (int i = 0; order && i < order->nkeys; i++)
		needed = list_append_unique_int(needed, order->keys[i].column + 1);
	return needed;
}

/*
 * mts_plan_scan
 *		Plan the scan of a relation.
 */
ForeignScan *
mts_plan_scan(PlannerInfo *root, RelOptInfo *baserel, ForeignPath *best_path,
			  List *tlist, List *scan_clauses, Plan *outer_plan)
{
	MtsRelInfo *info = baserel->fdw_private;
	const MtsSortOrder *order =
		mts_sort_order_open(info->table, best_path->fdw_private);
	List *pushed = NIL;
	List *exact = NIL;
	List *local = NIL;
	List *needed;
	bool is_narrow;

	mts_plan_split_clauses(baserel, scan_clauses, &pushed, &exact, &local);
	pushed = list_concat(pushed, info->implied);
	pushed = extract_actual_clauses(pushed, false);
	exact = extract_actual_clauses(exact, false);
	local = extract_actual_clauses(local, false);
	needed = needed_attributes(root, baserel, list_concat_copy(local, pushed),
							   order);
	is_narrow =
		!mts_valueless_matter(info->table, baserel->relid, needed, local, NIL);
	return make_foreignscan(
		tlist, local, baserel->relid, pushed,
		lappend(list_make5(needed, makeBoolean(is_narrow),
						   mts_native_to_plan(info->table),
						   makeInteger(
							   mts_rollup_match_horizon(root, baserel)),
						   best_path->fdw_private),
				makeInteger(initial_batch_size(root, baserel, order))),
		NIL, exact, outer_plan);
}
