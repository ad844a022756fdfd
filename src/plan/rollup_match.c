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
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/fmgroids.h"
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

/* Find a key that divides an interval; NULL if none does, or it is unknown. */
static Node *
find_divider(const MtsRollupQuery *query, MtsTime start, MtsTime end)
{
	ListCell *lc;

	foreach (lc, query->output)
		if (!IsA(lfirst(lc), Aggref) &&
			!mts_groups_keep_value(query->root, query->points, query->varno,
								   lfirst(lc), start, end - 1))
			return lfirst(lc);
	return NULL;
}

/* Say why none of the last intervals lies in one group. */
static const char *
problem_of_intervals(const MtsRollupQuery *query, const MtsRollup *rollup,
					 Node **of)
{
	MtsTime start, end = mts_rollup_floor(rollup, GetCurrentTimestamp());

	for (int i = 0; i < TRIED_INTERVALS; i++)
	{
		start = mts_rollup_floor(rollup, end - 1);
		*of = find_divider(query, start, end);
		if (!*of)
			return NULL;
		end = start;
	}
	return "its intervals do not lie in groups by %s";
}

/*
 * mts_rollup_match_problem
 *		Read what a listed roll-up declares, and say why it does not answer an
 *		aggregation of points; NULL if it does.
 *
 * %s in the result stands for *of; see mts_agg_rollup_problem().
 */
const char *
mts_rollup_match_problem(const MtsRollupQuery *query, Relation relation,
						 const MtsRollup **rollup, Node **of)
{
	const char *problem;

	*rollup = mts_rollup_try_open(relation, &problem);
	if (!*rollup)
		return problem;
	/* a roll-up has roll-ups, too, whose columns are those of the points */
	if ((*rollup)->points != query->points->relid)
		return "it has the totals of other points";
	problem = mts_agg_rollup_problem(query->points, *rollup, query->varno,
									 query->clauses, query->output, of);
	return problem ? problem : problem_of_intervals(query, *rollup, of);
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
	MtsRollupQuery query = {.root = root,
							.points = ((MtsRelInfo *) rel->fdw_private)->table,
							.varno = rel->relid,
							.output = target->exprs};
	List *oids = mts_enable_rollups ? mts_rollup_list(query.points->relid,
													  MTS_ROLLUPS_TO_READ)
									: NIL;
	List *result = NIL;
	double rows = 0;
	bool is_required = false;
	ListCell *lc;

	if (oids == NIL)
		return NIL;
	query.clauses =
		list_concat_copy(more,
						 extract_actual_clauses(rel->baserestrictinfo, false));
	foreach (lc, oids)
	{
		Relation relation = try_table_open(lfirst_oid(lc), AccessShareLock);
		const MtsRollup *rollup;
		Node *of;

		if (!relation)
			continue;
		if (!mts_rollup_match_problem(&query, relation, &rollup, &of))
		{
			result = lappend_oid(result, lfirst_oid(lc));
			rows += Max(relation->rd_rel->reltuples, 0);
			/* it may have totals of points that have been removed */
			is_required |= rollup->drops_points;
		}
		table_close(relation, NoLock);
	}
	*share = is_required                   ? 0
			 : rows > 0 && rel->tuples > 0 ? Min(rows / rel->tuples, 1)
										   : DEFAULT_SHARE;
	return result;
}

/* Tell whether an aggregate is the first or the last time. */
static bool
is_extreme_time(Oid aggregate)
{
	return aggregate == F_MIN_TIMESTAMPTZ || aggregate == F_MAX_TIMESTAMPTZ ||
		   aggregate == F_MIN_TIMESTAMP || aggregate == F_MAX_TIMESTAMP ||
		   aggregate == F_MIN_DATE || aggregate == F_MAX_DATE;
}

/*
 * Tell whether a query aggregates all points, or groups them without an
 * aggregate.  The first and the last time are asked of the points that there
 * are.
 */
static bool
aggregates_all(PlannerInfo *root)
{
	const Query *parse = root->parse;
	List *nodes =
		pull_var_clause((Node *) list_make2(root->processed_tlist,
											parse->havingQual),
						PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
							PVC_INCLUDE_PLACEHOLDERS);
	bool has_aggregate = false;
	ListCell *lc;

	foreach (lc, nodes)
	{
		if (!IsA(lfirst(lc), Aggref))
			continue;
		if (!is_extreme_time(lfirst_node(Aggref, lc)->aggfnoid))
			return true;
		has_aggregate = true;
	}
	return !has_aggregate &&
		   (parse->groupClause != NIL ||
			(parse->distinctClause != NIL && !parse->hasDistinctOn));
}

/*
 * mts_rollup_match_horizon
 *		Find whether a query warns that it reaches back to points of rel that
 *		may have been removed.
 *
 * A statement that changes points does not, nor does one that roll-ups shall
 * not answer.
 */
MtsHorizon
mts_rollup_match_horizon(PlannerInfo *root, const RelOptInfo *rel)
{
	const MtsTable *table = ((const MtsRelInfo *) rel->fdw_private)->table;

	if (!table->drops_points || !mts_enable_rollups ||
		bms_is_member(rel->relid, root->all_result_relids))
		return MTS_HORIZON_NONE;
	return aggregates_all(root) ? MTS_HORIZON_ANY : MTS_HORIZON_NAMED;
}
