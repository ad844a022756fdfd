/*
 * explain_rollup.c
 *		Show the roll-ups of the points that a scan aggregates: those that it
 *		reads, and why it does not read the others.
 *
 * A plan has no reasons.  They are found here, by the functions that the
 * planner decides with, so that planning pays nothing for them.  If PostgreSQL
 * aggregates the rows of a scan, the reasons are those of its Agg node.
 */
#include "explain_rollup.h"

#include "access/table.h"
#include "nodes/pathnodes.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "agg/agg_rollup.h"
#include "explain.h"
#include "fdw_scan.h"
#include "plan/agg_above.h"
#include "plan/agg_path.h"
#include "plan/rollup_match.h"
#include "scan/fdw_private.h"

/* The aggregation of points that is explained */
typedef struct Explained
{
	MtsRollupQuery query;
	const ForeignScanState *node;
	bool is_above;       /* the scan, by an Agg node */
	List *scans;         /* of the roll-ups that are read: MtsRollupScan */
	const char *problem; /* why no roll-up could be read; or NULL */
} Explained;

/* ---- Reasons ------------------------------------------------------------ */

/*
 * Write a reason: with the expression that %s stands for, and not as a
 * sentence, which the reason of an invalid roll-up is.
 */
static const char *
complete(const MtsTable *table, const char *problem, Node *of,
		 const ExplainState *es)
{
	const char *place = of ? strstr(problem, "%s") : NULL;
	size_t len = strlen(problem);

	if (place)
		return psprintf("%.*s%s%s", (int) (place - problem), problem,
						mts_explain_expression(table, of, es->verbose),
						place + strlen("%s"));
	return problem[len - 1] == '.'
			   ? psprintf("%c%.*s", pg_tolower((unsigned char) problem[0]),
						  (int) len - 2, problem + 1)
			   : problem;
}

/* Say why the plan does not read a roll-up that fits. */
static const char *
problem_of_plan(const Explained *explained)
{
	if (explained->problem)
		return explained->problem;
	if (explained->node->ss.ps.plan->parallel_aware)
		return "workers divide the scan";
	return explained->is_above
			   ? "a plan that reads it was estimated to cost more"
			   : "the plan was made without it";
}

/* Say why a roll-up that names the points is not read. */
static const char *
find_reason(const Explained *explained, Oid relid, const ExplainState *es)
{
	const MtsTable *points = explained->query.points;
	const char *problem = mts_rollup_owner_problem(relid, points->relid);
	Node *of = NULL;
	const MtsRollup *rollup;
	Relation relation;

	if (problem)
		return problem;
	relation = try_table_open(relid, AccessShareLock);
	if (!relation)
		return "it has been dropped";
	problem =
		mts_rollup_match_problem(&explained->query, relation, &rollup, &of);
	table_close(relation, AccessShareLock);
	if (problem)
		return complete(points, problem, of, es);
	return problem_of_plan(explained);
}

/* Say why a roll-up that is read answers nothing; NULL if it may answer. */
static const char *
problem_of_state(const MtsRollupScan *rollup)
{
	if (rollup->state.problem)
		return rollup->state.problem;
	return rollup->has_state && rollup->state.until == MTS_TIME_MIN
			   ? "it has not been refreshed"
			   : NULL;
}

/* ---- Output ------------------------------------------------------------- */

/* Show a roll-up in a line; rollup is NULL if it is not read. */
static void
show_line(const char *name, const MtsRollupScan *rollup, const char *reason,
		  ExplainState *es)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, name);
	if (reason)
		appendStringInfo(&text, ", not used: %s", reason);
	else if (rollup->has_state)
		appendStringInfo(&text, " until %s",
						 timestamptz_to_str(rollup->state.until));
	if (!reason && rollup->state.stale.n > 0)
		appendStringInfo(&text, ", stale ranges: %d", rollup->state.stale.n);
	ExplainPropertyText("Roll-up", text.data, es);
}

/* Show a roll-up in properties; rollup is NULL if it is not read. */
static void
show_properties(const char *name, const MtsRollupScan *rollup,
				const char *reason, ExplainState *es)
{
	ExplainPropertyText("Name", name, es);
	ExplainPropertyBool("Used", !reason, es);
	if (reason)
		ExplainPropertyText("Reason", reason, es);
	else if (rollup->has_state)
	{
		ExplainPropertyText("Until", timestamptz_to_str(rollup->state.until),
							es);
		ExplainPropertyInteger("Stale Ranges", NULL, rollup->state.stale.n,
							   es);
	}
}

/* Show a roll-up: up to when it answers, and its query; or why it does not. */
static void
show_rollup(const char *name, const MtsRollupScan *rollup, const char *reason,
			ExplainState *es)
{
	ExplainOpenGroup("Roll-up", NULL, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		show_line(name, rollup, reason, es);
	else
		show_properties(name, rollup, reason, es);
	if (!reason && rollup->has_state)
		mts_explain_query(rollup->scan, "Roll-up Query", es);
	if (!reason && es->analyze)
		ExplainPropertyInteger("Roll-up Rows", NULL,
							   rollup->scan->counters->points, es);
	ExplainCloseGroup("Roll-up", NULL, true, es);
}

/* ---- The aggregation ---------------------------------------------------- */

static bool
has_aggregates(List *output)
{
	ListCell *lc;

	foreach (lc, output)
		if (IsA(lfirst(lc), Aggref))
			return true;
	return false;
}

/*
 * Describe what a scan aggregates.  If it returns different keys only, such as
 * the arguments of count(DISTINCT ..), the node above says what they are for.
 */
static void
describe_scan(Explained *explained, const ExplainState *es)
{
	const MtsScanNode *node = explained->node->fdw_state;
	const ForeignScan *plan = (ForeignScan *) explained->node->ss.ps.plan;
	List *private = list_nth(plan->fdw_private, MTS_PRIVATE_AGG);
	MtsRollupQuery *query = &explained->query;
	const char *problem;
	List *output;

	query->varno = intVal(list_nth(private, MTS_AGG_VARNO));
	query->clauses = list_concat_copy(list_nth(private, MTS_AGG_CLAUSES),
									  list_nth(private, MTS_AGG_LOCAL));
	query->output = list_nth(private, MTS_AGG_OUTPUT);
	if (!has_aggregates(query->output) &&
		mts_agg_above_find(es->pstmt, &plan->scan.plan, query->output, &output,
						   &problem) &&
		!problem)
	{
		query->output = output;
		explained->is_above = true;
	}
	explained->scans =
		mts_agg_rollups(node->agg,
						mts_explain_is_known(explained->node, node->scan));
}

/* Describe the aggregation of the rows of a scan; false if there is none. */
static bool
describe_above(Explained *explained, const ExplainState *es)
{
	const ForeignScan *plan = (ForeignScan *) explained->node->ss.ps.plan;
	MtsRollupQuery *query = &explained->query;

	if (!mts_agg_above_find(es->pstmt, &plan->scan.plan, NIL, &query->output,
							&explained->problem))
		return false;
	explained->is_above = true;
	query->varno = plan->scan.scanrelid;
	/* those of joins do not matter */
	if (!explained->problem)
		query->clauses =
			list_concat_copy(plan->fdw_exprs, plan->scan.plan.qual);
	if (!mts_enable_partial_aggregate)
		explained->problem =
			"setting mongo_ts_fdw.enable_partial_aggregate is off";
	return true;
}

/* List the roll-ups that name the points, or may have named them. */
static List *
list_rollups(const MtsTable *points)
{
	List *named = mts_rollup_list(points->relid, MTS_ROLLUPS_NAMED);
	ListCell *lc;

	foreach (lc, mts_rollup_list(points->relid, MTS_ROLLUPS_TO_MARK))
		if (!list_member_oid(named, lfirst_oid(lc)) &&
			mts_rollup_could_be_of(lfirst_oid(lc), points))
			named = lappend_oid(named, lfirst_oid(lc));
	return named;
}

static const MtsRollupScan *
find_scan(const Explained *explained, Oid relid)
{
	ListCell *lc;

	foreach (lc, explained->scans)
	{
		const MtsRollupScan *rollup = lfirst(lc);

		if (rollup->rollup->table->relid == relid)
			return rollup;
	}
	return NULL;
}

/*
 * mts_explain_rollup_show
 *		Show the roll-ups of the points that a scan aggregates, or whose rows
 *		are aggregated above it, the coarsest first.
 *
 * Nothing is shown if the points have none.
 */
void
mts_explain_rollup_show(ForeignScanState *node, ExplainState *es)
{
	/* all that the functions of the planner read */
	PlannerGlobal global = {.type = T_PlannerGlobal,
							.boundParams =
								node->ss.ps.state->es_param_list_info};
	PlannerInfo root = {.type = T_PlannerInfo, .glob = &global};
	const MtsScanNode *scan = node->fdw_state;
	const MtsTable *points = scan->scan->table;
	Explained explained = {.query = {.root = &root, .points = points},
						   .node = node};
	List *oids = list_rollups(points);
	ListCell *lc;

	/* the roll-ups of a roll-up are those of its points */
	if (oids == NIL ||
		mts_option_get(GetForeignTable(points->relid)->options, "rollup_of"))
		return;
	if (scan->agg)
		describe_scan(&explained, es);
	else if (!describe_above(&explained, es))
		return;
	if (!mts_enable_rollups)
		explained.problem = "setting mongo_ts_fdw.enable_rollups is off";
	ExplainOpenGroup("Roll-ups", "Roll-ups", false, es);
	foreach (lc, oids)
	{
		Oid relid = lfirst_oid(lc);
		const char *name = get_rel_name(relid);
		const MtsRollupScan *rollup = find_scan(&explained, relid);

		/* another session may have dropped it */
		if (name)
			show_rollup(name, rollup,
						rollup ? problem_of_state(rollup)
							   : find_reason(&explained, relid, es),
						es);
	}
	ExplainCloseGroup("Roll-ups", "Roll-ups", false, es);
}
