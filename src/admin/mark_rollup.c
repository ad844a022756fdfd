/*
 * mark_rollup.c
 *		SQL functions that mark intervals of roll-ups as stale:
 *		mongo_ts_mark_rollup and _mongo_ts_mark_late.
 *
 * mongo_ts_mark_rollup marks what a write of points would mark: the intervals
 * of all roll-ups of these points.  A coarser roll-up is computed from a finer
 * one.  If it were marked alone, it would be computed from wrong rows.
 *
 * _mongo_ts_mark_late marks a roll-up and the coarser ones computed from it.
 * Each other roll-up looks for the documents that are new since its own last
 * refresh.
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/bson/template.h"
#include "driver/document.h"
#include "modify/rollup_mark.h"
#include "scan/scan.h"
#include "table/collections.h"
#include "table/option.h"
#include "table/rollup.h"

PG_FUNCTION_INFO_V1(mongo_ts_mark_rollup);
PG_FUNCTION_INFO_V1(mongo_ts_mark_late);

/* The most ranges that late documents are marked by; more are joined */
#define MAX_LATE 64

/* How many times are kept before they are made to ranges */
#define TIMES_AT_ONCE 4096

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
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
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
 * of a table, or of a roll-up.  A time that is NULL does not bound them.
 */
Datum
mongo_ts_mark_rollup(PG_FUNCTION_ARGS)
{
	Oid relid = PG_GETARG_OID(0);
	TimestampTz start =
		PG_ARGISNULL(1) ? DT_NOBEGIN : PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz end = PG_ARGISNULL(2) ? DT_NOEND : PG_GETARG_TIMESTAMPTZ(2);
	Relation relation, points;
	MtsRollupMarks *marks;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (start > end)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("the start time must not be after the end "
							   "time")));
	PreventCommandIfReadOnly("mongo_ts_mark_rollup()");
	relation = mts_table_open_relation(relid, AccessShareLock);
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   RelationGetRelationName(relation));
	points = table_open(points_of(relation), AccessShareLock);
	marks = mts_rollup_mark_begin(mts_table_open(points), GetUserId());
	if (marks && start < end)
	{
		mts_rollup_mark_add(marks,
							TIMESTAMP_IS_NOBEGIN(start) ? MTS_TIME_MIN : start,
							TIMESTAMP_IS_NOEND(end) ? MTS_TIME_MAX : end - 1);
		mts_rollup_mark_send(marks);
	}
	table_close(points, NoLock);
	table_close(relation, NoLock);
	PG_RETURN_VOID();
}

/* ---- Late documents ----------------------------------------------------- */

/*
 * A refresh finds documents that are new.  It does not read a change stream to
 * find what else has changed.  The figures are those of MongoDB 6.0.5 and
 * documents with 60 values, in CPU time of the server.  An update itself takes
 * 100 us.
 *
 * Updates alone would be bearable.  They name documents by _id only.  A stream
 * of _ids costs 11 us an update, or 5 us if the server discards ObjectIds that
 * are younger than the lag: at 20,000 updates a second, 21 or 11 % of a core.
 * The times of 1,000 documents are found by their _ids in 10 ms.  With
 * fullDocument 'updateLookup', that is 88 us an update.
 *
 * Removals have only the _id, too, also those of a TTL index, and nothing is
 * left that has the time.  The document before the change has it, for 27 us an
 * update.  But MongoDB keeps that only since 6.0 and if the collection is
 * altered, and then each update stores the whole document once more.
 *
 * The oplog has 200 to 340 bytes an update.  So the least one by default, 990
 * MB, holds the last three or four minutes.  After a longer pause it is not
 * known what was missed, and all intervals would be stale.  Standalone servers
 * and native time-series collections have no stream.
 *
 * So a stream would be one more way to be told of changes, and replace none.
 */

/* Return the first ObjectId of a time. */
static bson_value_t
first_id(TimestampTz t)
{
	bson_value_t id = {.value_type = BSON_TYPE_OID};
	uint32 seconds =
		pg_hton32((uint32) ((t - MTS_UNIX_EPOCH) / USECS_PER_SEC));

	memcpy(id.value.v_oid.bytes, &seconds, sizeof(seconds));
	return id;
}

/*
 * Return the filter of the documents that were made at or after a time, and
 * can have points before another time.
 */
static bson_t *
late_filter(const MtsScan *scan, TimestampTz since, MtsTime until)
{
	MtsRange range = {MTS_TIME_MIN, until};
	MtsRanges times = {1, &range};
	MtsQuerySpec spec = scan->spec;
	bson_value_t id = first_id(since);
	bson_t *terms = mts_document_new();

	spec.times = &times;
	mts_template_push(terms, "{_id: {$gte: %v}}", &id);
	return mts_query_restrict(
		mts_query_make(scan->table, &spec, scan->econtext)->filter, terms);
}

/* Add the intervals of the points that a scan reads before a time. */
static void
read_late(MtsScan *scan, const MtsRollup *rollup, MtsTime until,
		  TupleTableSlot *slot, MtsRanges *late)
{
	while (mts_scan_next_bucket(scan))
		while (mts_bucket_next_row(scan->bucket, slot))
		{
			MtsTime t = DatumGetTimestampTz(
				slot->tts_values[scan->table->layout.time_column]);

			if (slot->tts_isnull[scan->table->layout.time_column] ||
				t >= until)
				continue;
			if (late->n >= TIMES_AT_ONCE)
			{
				mts_ranges_normalize(late);
				mts_ranges_join(late, MAX_LATE, MTS_TIME_MIN);
			}
			late->items[late->n++] =
				(MtsRange){mts_rollup_floor(rollup, t),
						   mts_rollup_ceil(rollup, t + 1)};
		}
	mts_ranges_normalize(late);
	mts_ranges_join(late, MAX_LATE, MTS_TIME_MIN);
}

/*
 * Find the intervals of points before a time, in documents that were made
 * since another time.
 */
static void
find_late(const MtsRollup *rollup, const MtsTable *points, TupleDesc desc,
		  TimestampTz since, MtsTime until, MtsRanges *late)
{
	ExprContext *econtext = CreateStandaloneExprContext();
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	MtsScan *scan =
		mts_scan_new(points, GetUserId(),
					 list_make1_int(points->layout.time_column + 1), econtext);
	const bson_t *filter = late_filter(scan, since, until);
	MtsCollections *all = mts_collections_list(points, GetUserId(), false);

	for (int i = 0; i < all->n; i++)
	{
		mts_scan_set_collection(scan, all->items[i].name);
		mts_scan_set_filter(scan, filter);
		read_late(scan, rollup, until, slot, late);
		mts_scan_reset(scan);
	}
	ExecDropSingleTupleTableSlot(slot);
	FreeExprContext(econtext, true);
}

/*
 * SQL: _mongo_ts_mark_late(relation regclass, since timestamptz,
 *		until timestamptz) returns bigint
 *
 * Mark the intervals of points that are before until, but whose documents were
 * made at or after since, by the time in their ObjectIds, in a roll-up and in
 * the coarser ones computed from it.  Returns the number of ranges.  The _ids
 * of a native time-series collection tell no time.
 */
Datum
mongo_ts_mark_late(PG_FUNCTION_ARGS)
{
	Relation relation =
		mts_table_open_relation(PG_GETARG_OID(0), AccessShareLock);
	MtsRange items[TIMES_AT_ONCE + 1];
	MtsRanges late = {0, items};
	const MtsRollup *rollup;
	const MtsTable *table;
	Relation points;

	mts_rollup_check_owner(relation);
	rollup = mts_rollup_open(relation);
	points = table_open(rollup->points, AccessShareLock);
	table = mts_table_open(points);
	if (!table->native)
		find_late(rollup, table, RelationGetDescr(points),
				  PG_GETARG_TIMESTAMPTZ(1), PG_GETARG_TIMESTAMPTZ(2), &late);
	mts_rollup_mark_late(rollup, GetUserId(), &late);
	table_close(points, NoLock);
	table_close(relation, NoLock);
	PG_RETURN_INT64(late.n);
}
