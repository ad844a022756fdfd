/*
 * rollup_match.c
 *		Find the roll-ups that answer an aggregation of points.
 *
 * A roll-up is found by the table of its points, which a query names.  It is
 * used if its columns suffice for all conditions, keys and aggregates.  Which
 * intervals it answers is known when the plan runs (agg/agg_rollup.c).
 *
 * A roll-up answers queries of users who may read the points, and who need not
 * know of it.  So it must belong to the owner of the points' table; otherwise
 * anybody could declare one with false totals.  No other privilege is checked.
 */
#include "plan/rollup_match.h"

#include "access/table.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "agg/agg_rollup.h"
#include "plan/plan.h"

/* The share of points that roll-ups leave, if it is not known */
#define DEFAULT_SHARE 0.05

bool mts_enable_rollups = true;

/*
 * Tell whether a roll-up answers an aggregation; if so, add its rows, as far
 * as they are known, to *rows.
 *
 * Each row is of one group.  So it is of no use if there are more groups, such
 * as minutes, than rows.
 */
static bool
answers(const MtsTable *points, Oid owner, Relation relation, Index varno,
		List *clauses, List *output, double groups, double *rows)
{
	const char *problem;
	const MtsRollup *rollup;

	if (relation->rd_rel->relowner != owner ||
		(relation->rd_rel->reltuples > 0 &&
		 groups > relation->rd_rel->reltuples))
		return false;
	rollup = mts_rollup_try_open(relation, &problem);
	if (!rollup ||
		!mts_agg_rollup_fits(points, rollup, varno, clauses, output))
		return false;
	*rows += Max(relation->rd_rel->reltuples, 0);
	return true;
}

/*
 * mts_rollup_match_find
 *		Find the roll-ups that answer an aggregation of the points of rel: a
 *		list of OIDs, the coarsest first.
 *
 * more are clauses besides those of rel, and groups the number of groups.
 * *share is the rows that are read of roll-ups in proportion to the points.
 */
List *
mts_rollup_match_find(RelOptInfo *rel, const PathTarget *target, List *more,
					  double groups, double *share)
{
	const MtsRelInfo *info = rel->fdw_private;
	List *oids =
		mts_enable_rollups ? mts_rollup_list(info->table->relid) : NIL;
	List *clauses;
	List *result = NIL;
	Relation relation;
	double rows = 0;
	Oid owner;
	ListCell *lc;

	if (oids == NIL)
		return NIL;
	clauses =
		list_concat_copy(more,
						 extract_actual_clauses(rel->baserestrictinfo, false));
	relation = table_open(info->table->relid, NoLock);
	owner = relation->rd_rel->relowner;
	table_close(relation, NoLock);
	foreach (lc, oids)
	{
		relation = try_table_open(lfirst_oid(lc), AccessShareLock);
		if (!relation)
			continue;
		if (answers(info->table, owner, relation, rel->relid, clauses,
					target->exprs, groups, &rows))
			result = lappend_oid(result, lfirst_oid(lc));
		table_close(relation, NoLock);
	}
	*share = rows > 0 && rel->tuples > 0 ? Min(rows / rel->tuples, 1)
										 : DEFAULT_SHARE;
	return result;
}
