/*
 * plan.c
 *		Size a scan, cost it, and split its clauses.
 *
 * A clause goes down whole or in part (pushdown.c says which); what it
 * doesn't decide exactly is also checked by PostgreSQL.
 */
#include "plan.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "estimate.h"
#include "fold.h"
#include "pushdown.h"

/* Costs, in the units of seq_page_cost and cpu_tuple_cost */
#define STARTUP_COST 25.0 /* a round trip */
#define BUCKET_COST 0.05  /* to send and to open one */

typedef struct Estimate
{
	MtsTable *table;
	double points_per_bucket;
	double fetched; /* points of the buckets that are read */
} Estimate;

static MtsTable *
open_table(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	MtsTable *table = mts_table_open(relation);

	table_close(relation, NoLock);
	return table;
}

/*
 * mtsGetForeignRelSize
 *		Estimate rows; estimate.c says of how many.
 */
void
mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	Estimate *estimate = palloc0(sizeof(Estimate));
	List *pushed = NIL;
	ListCell *lc;

	estimate->table = open_table(relid);
	estimate->points_per_bucket =
		mts_estimate_table(root, baserel, estimate->table);
	baserel->fdw_private = estimate;
	set_baserel_size_estimates(root, baserel);

	foreach (lc, baserel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (mts_pushdown_clause(estimate->table, baserel->relid,
								rinfo->clause))
			pushed = lappend(pushed, rinfo);
	}
	estimate->fetched = clamp_row_est(
		baserel->tuples *
		clauselist_selectivity(root, pushed, 0, JOIN_INNER, NULL));
}

/*
 * mtsGetForeignPaths
 *		The one path: a scan of the buckets that match.
 */
void
mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid)
{
	Estimate *estimate = baserel->fdw_private;
	QualCost cost = baserel->baserestrictcost;
	double buckets = estimate->fetched / estimate->points_per_bucket;
	Cost startup =
		STARTUP_COST + cost.startup + baserel->reltarget->cost.startup;
	Cost total = startup + buckets * BUCKET_COST +
				 estimate->fetched * (cpu_tuple_cost + cost.per_tuple) +
				 baserel->rows * baserel->reltarget->cost.per_tuple;

	add_path(baserel,
			 (Path *) mts_create_scan_path(root, baserel, baserel->rows,
										   startup, total,
										   baserel->lateral_relids));
}

/* The attributes that a scan's target list and clauses look at */
static List *
needed_attributes(RelOptInfo *baserel, List *local, List *pushed)
{
	Bitmapset *attrs = NULL;
	List *result = NIL;
	int i = -1;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &attrs);
	pull_varattnos((Node *) local, baserel->relid, &attrs);

	/* a key that MongoDB judges is read to see that its type is right */
	pull_varattnos((Node *) pushed, baserel->relid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
		result = lappend_int(result, i + FirstLowInvalidHeapAttributeNumber);
	return result;
}

/*
 * A row's ctid tells it within the statement that changes it; there is none
 * to show or to compare.
 */
static void
check_ctid(PlannerInfo *root, RelOptInfo *baserel, List *clauses)
{
	int ctid =
		SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber;
	Bitmapset *attrs = NULL;

	pull_varattnos((Node *) clauses, baserel->relid, &attrs);
	if (!bms_is_member(baserel->relid, root->all_result_relids))
		pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid,
					   &attrs);
	if (bms_is_member(ctid, attrs))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a foreign table of mongo_ts_fdw has no ctid"),
						errdetail("MongoDB's documents have no such place."),
						errhint("Tell rows by their time and keys.")));
}

/*
 * mtsGetForeignPlan
 *		Split the clauses into what goes down and what is checked here.
 */
ForeignScan *
mtsGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid relid,
				  ForeignPath *best_path, List *tlist, List *scan_clauses,
				  Plan *outer_plan)
{
	Estimate *estimate = baserel->fdw_private;
	List *local = NIL;
	List *pushed = NIL;
	List *decided = NIL;
	List *needed;
	ListCell *lc;

	if (IS_UPPER_REL(baserel))
		return mts_fold_plan(root, best_path, tlist);
	foreach (lc, scan_clauses)
	{
		RestrictInfo *rinfo = lfirst(lc);
		MtsTest *test;

		if (rinfo->pseudoconstant)
			continue;
		test = mts_pushdown_clause(estimate->table, baserel->relid,
								   rinfo->clause);
		if (test)
			pushed = lappend(pushed, rinfo->clause);
		if (test && mts_pushdown_is_exact(test))
			decided = lappend(decided, rinfo->clause);
		else
			local = lappend(local, rinfo->clause);
	}
	check_ctid(root, baserel, list_concat_copy(local, pushed));
	needed = needed_attributes(baserel, local, pushed);
	return make_foreignscan(tlist, local, baserel->relid, pushed,
							list_make1(needed), NIL, decided, outer_plan);
}
