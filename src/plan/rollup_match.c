/*
 * rollup_match.c
 *		Find the roll-ups that answer an aggregation of points.
 *
 * A roll-up is found by the table of its points, which a query names.  It is
 * used if its columns suffice for conditions, keys and aggregates, and some
 * interval can lie in a group.  Which intervals it answers is known when the
 * plan runs (agg/agg_rollup.c).
 *
 * A roll-up answers queries of users who may read the points, and who need not
 * know of it.  No privilege is checked, since a roll-up that is listed belongs
 * to the owner of the points' table.
 */
#include "plan/rollup_match.h"

#include "access/table.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "agg/agg_rollup.h"
#include "plan/groups.h"
#include "plan/plan.h"

/* The share of points that roll-ups leave, if it is not known */
#define DEFAULT_SHARE 0.05

/* The number of intervals that decide whether a roll-up can be of use */
#define TRIED_INTERVALS 3

bool mts_enable_rollups = true;

/* Tell whether some of the last intervals can each lie in one group. */
static bool
is_of_use(PlannerInfo *root, RelOptInfo *rel, const MtsRollup *rollup,
		  List *output)
{
	MtsTime start, end = mts_rollup_floor(rollup, GetCurrentTimestamp());

	for (int i = 0; i < TRIED_INTERVALS; i++)
	{
		bool keeps_all = true;
		ListCell *lc;

		start = mts_rollup_floor(rollup, end - 1);
		foreach (lc, output)
			keeps_all &=
				IsA(lfirst(lc), Aggref) ||
				mts_groups_keep_value(root, rel, lfirst(lc), start, end - 1);
		if (keeps_all)
			return true;
		end = start;
	}
	return false;
}

/*
 * Tell whether a roll-up answers an aggregation.  *is_required is set if it
 * has totals of points that may have been removed.
 */
static bool
answers(PlannerInfo *root, RelOptInfo *rel, Relation relation, List *clauses,
		List *output, bool *is_required)
{
	const MtsTable *points = ((MtsRelInfo *) rel->fdw_private)->table;
	const char *problem;
	const MtsRollup *rollup;

	rollup = mts_rollup_try_open(relation, &problem);
	/* a roll-up has roll-ups, too, whose columns are those of the points */
	if (!rollup || rollup->points != points->relid ||
		!mts_agg_rollup_fits(points, rollup, rel->relid, clauses, output) ||
		!is_of_use(root, rel, rollup, output))
		return false;
	*is_required |= rollup->drops_points;
	return true;
}

/*
 * mts_rollup_match_find
 *		Find the roll-ups that answer an aggregation of the points of rel: a
 *		list of OIDs, the coarsest first.
 *
 * more are clauses besides those of rel.  *share is the rows that are read of
 * roll-ups in proportion to the points; 0 if points may have been removed, so
 * that roll-ups are read whatever that costs.
 */
List *
mts_rollup_match_find(PlannerInfo *root, RelOptInfo *rel,
					  const PathTarget *target, List *more, double *share)
{
	const MtsRelInfo *info = rel->fdw_private;
	List *oids =
		mts_enable_rollups ? mts_rollup_list(info->table->relid, false) : NIL;
	List *clauses;
	List *result = NIL;
	double rows = 0;
	bool is_required = false;
	ListCell *lc;

	if (oids == NIL)
		return NIL;
	clauses =
		list_concat_copy(more,
						 extract_actual_clauses(rel->baserestrictinfo, false));
	foreach (lc, oids)
	{
		Relation relation = try_table_open(lfirst_oid(lc), AccessShareLock);

		if (!relation)
			continue;
		if (answers(root, rel, relation, clauses, target->exprs, &is_required))
		{
			result = lappend_oid(result, lfirst_oid(lc));
			rows += Max(relation->rd_rel->reltuples, 0);
		}
		table_close(relation, NoLock);
	}
	*share = is_required                   ? 0
			 : rows > 0 && rel->tuples > 0 ? Min(rows / rel->tuples, 1)
										   : DEFAULT_SHARE;
	return result;
}
