/*
 * horizon.c
 *		Warn of queries that reach back to points that may have been removed.
 *
 * By option rollup_retention, a table has no points before a time, the
 * horizon.  Roll-ups keep their totals, which answer some queries.  Another
 * one gets the points that are left, so that two counts of a table differ.
 *
 * An aggregate of all times reaches back.  Rows without a condition on the
 * time do not: such a query asks for the points that there are.
 */
#include "scan/horizon.h"

#include "access/xact.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "table/rollup.h"

/* MongoDB looks for expired documents each minute, and clocks differ. */
#define SLACK MTS_MINUTE

/* Tell whether a time is before the horizon, and not the begin of all times */
static bool
is_named(MtsTime t, MtsTime horizon)
{
	return t != MTS_TIME_MIN && t < horizon;
}

/* Tell whether a query reaches back to times before the horizon. */
static bool
reaches_back(const MtsQuery *query, MtsHorizon which, MtsTime horizon)
{
	const MtsRange *first = query->ranges.items;

	if (!query->is_possible || query->ranges.n == 0 || first->from >= horizon)
		return false;
	return which == MTS_HORIZON_ANY || is_named(first->from, horizon) ||
		   is_named(first->to, horizon);
}

/* Record a warning; false if the statement has given it. */
static bool
record_warning(Oid relid)
{
	static Oid warned = InvalidOid;
	static TimestampTz at = 0;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	bool is_new = relid != warned || now != at;

	warned = relid;
	at = now;
	return is_new;
}

/*
 * mts_horizon_report
 *		Warn once in a statement if a query reaches back to points that may
 *		have been removed; true if it does.
 *
 * As now() does, the horizon stays during a transaction: so a query of just
 * the time of the option does not reach back.
 */
bool
mts_horizon_report(const MtsQuery *query, MtsHorizon which)
{
	const MtsTable *table = query->table;
	MtsTime horizon =
		mts_rollup_horizon(table, GetCurrentTransactionStartTimestamp());

	if (which == MTS_HORIZON_NONE ||
		!reaches_back(query, which, horizon - SLACK))
		return false;
	if (record_warning(table->relid))
		ereport(WARNING,
				(errmsg("the query reaches back to points of foreign table "
						"\"%s\" that may have been removed",
						get_rel_name(table->relid)),
				 errdetail("By option \"rollup_retention\", there are points "
						   "since %s.  Roll-ups do not answer the query for "
						   "the time before.",
						   timestamptz_to_str(horizon - horizon % MTS_SECOND)),
				 errhint("EXPLAIN shows which roll-ups are used.")));
	return true;
}
