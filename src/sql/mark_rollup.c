/*
 * mark_rollup.c
 *		SQL function that marks intervals of roll-ups as stale:
 *		mongo_ts_mark_rollup.
 *
 * It marks what a write of points in a range would mark: the intervals of all
 * roll-ups of these points.  A coarser roll-up is computed from a finer one, so
 * to mark one of them alone would compute it from rows that are wrong, too.
 */
#include "postgres.h"

#include "access/table.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "modify/rollup_mark.h"
#include "table/option.h"
#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_mark_rollup);

/* Return the table whose points a table has, or is a roll-up of. */
static Oid
points_of(Relation relation)
{
	Oid relid = RelationGetRelid(relation);
	const MtsRollup *rollup;

	if (!mts_option_get(GetForeignTable(relid)->options, "rollup_of"))
		return relid;
	rollup = mts_rollup_open(relation);
	if (rollup->by_application)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot mark intervals of roll-up \"%s\"",
						RelationGetRelationName(relation)),
				 errdetail("An application maintains it.")));
	return rollup->points;
}

/*
 * SQL: mongo_ts_mark_rollup(relation regclass, start_time timestamptz,
 *		end_time timestamptz) returns void
 *
 * Mark the intervals between two times as stale, of all roll-ups of the points
 * of a table, or of a roll-up.
 */
Datum
mongo_ts_mark_rollup(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	TimestampTz start = PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz end = PG_GETARG_TIMESTAMPTZ(2);
	Relation relation, points;
	MtsRollupMarks *marks;

	PreventCommandIfReadOnly("mongo_ts_mark_rollup()");
	relation = mts_table_open_relation(relid, AccessShareLock);
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   RelationGetRelationName(relation));
	points = table_open(points_of(relation), AccessShareLock);
	marks = mts_rollup_mark_begin(mts_table_open(points), GetUserId());
	if (marks && start < end)
	{
		mts_rollup_mark_add(
			marks, TIMESTAMP_IS_NOBEGIN(start) ? MTS_TIME_MIN : start,
			TIMESTAMP_IS_NOEND(end) ? MTS_TIME_MAX : end - 1);
		mts_rollup_mark_send(marks);
	}
	table_close(points, NoLock);
	table_close(relation, NoLock);
	PG_RETURN_VOID();
}
