/*
 * plan.c
 *		Size a scan, cost it, and split its clauses.
 *
 * A clause goes down whole or in part (pushdown.c says which); what it
 * doesn't decide exactly is also checked by PostgreSQL.
 */
#include "plan.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "estimate.h"
#include "fold.h"
#include "order.h"
#include "pushdown.h"

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
	MtsEstimate *estimate = palloc0(sizeof(MtsEstimate));

	estimate->table = open_table(relid);
	estimate->points_per_bucket =
		mts_estimate_table(root, baserel, estimate->table,
						   &estimate->collections);
	baserel->fdw_private = estimate;
	set_baserel_size_estimates(root, baserel);
	estimate->points = mts_estimate_fetched(root, baserel, estimate->table,
											baserel->baserestrictinfo);
}

/* The attributes that a scan's target list, clauses and order look at */
static List *
needed_attributes(RelOptInfo *baserel, List *local, List *pushed, List *order)
{
	Bitmapset *attrs = NULL;
	List *result = NIL;
	int i = -1;
	ListCell *lc;

	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &attrs);
	pull_varattnos((Node *) local, baserel->relid, &attrs);

	/* a key that MongoDB judges is read to see that its type is right */
	pull_varattnos((Node *) pushed, baserel->relid, &attrs);
	while ((i = bms_next_member(attrs, i)) >= 0)
		result = lappend_int(result, i + FirstLowInvalidHeapAttributeNumber);
	foreach (lc, order ? list_nth(order, MTS_ORDER_ATTRIBUTES) : NIL)
		result = list_append_unique_int(result, lfirst_int(lc));
	return result;
}

/*
 * How many buckets to ask for at first: where few rows are wanted, few, so
 * that no more are read than that takes.  0 where all are.
 */
static int
first_batch(PlannerInfo *root, const MtsEstimate *estimate, List *order)
{
	bool is_of_series = order && intVal(list_nth(order, MTS_ORDER_SERIES)) > 0;
	double buckets = 1;

	if (root->tuple_fraction <= 0 && !is_of_series)
		return 0;
	if (root->limit_tuples > 0 && !is_of_series)
		buckets = ceil(root->limit_tuples / estimate->points_per_bucket);
	/* one more shows that nothing else belongs before its rows */
	return (int) Min(buckets + 1, estimate->table->fetch_size);
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
	MtsEstimate *estimate = baserel->fdw_private;
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
	needed = needed_attributes(baserel, local, pushed, best_path->fdw_private);
	return make_foreignscan(
		tlist, local, baserel->relid, pushed,
		list_make3(needed, best_path->fdw_private,
				   makeInteger(
					   first_batch(root, estimate, best_path->fdw_private))),
		NIL, decided, outer_plan);
}
