/*
 * rollup_mark.c
 *		Mark as stale what writes change of roll-ups.
 *
 * A write of points below the watermark of a roll-up makes its rows of their
 * intervals stale, and so does a write of its rows except by its refresh.
 * This is recorded in the roll-up's state before the points are written, and
 * stays recorded if the write fails: then the intervals are computed again in
 * vain.  The record is not part of a transaction, in which it would conflict
 * with those of other sessions.
 *
 * The server compares with the watermark, since this session may know an old
 * one.  Points that are newer than now minus the lag are above it, so nothing
 * is sent for them.  A refresh that moves the watermark says so first, and
 * then waits for the transactions that may not have seen it, in
 * mongo_ts_refresh_rollup().
 */
#include "modify/rollup_mark.h"

#include "access/table.h"
#include "foreign/foreign.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "core/bson/template.h"
#include "driver/document.h"
#include "table/option.h"

/* The most ranges of a batch; more are joined */
#define MAX_RANGES 8

/*
 * How many ranges a state may have.  If it has more, a mark is widened, so
 * that it covers later ones.
 */
#define MANY_RANGES "stale.256"
#define WIDE_RANGE (30 * MTS_DAY)

/* How much the clocks of two PostgreSQL servers may differ */
#define CLOCK_SLACK (10 * MTS_SECOND)

typedef struct MarkedRollup
{
	const MtsRollup *rollup;
	MtsTime limit; /* it is not complete up to here */
	MtsRanges ranges;
	MtsRange items[MAX_RANGES + 1];
} MarkedRollup;

struct MtsRollupMarks
{
	Oid relid; /* the table that is written */
	Oid userid;
	bool is_written; /* by this session, whose writes can be executed late */
	int n;
	MarkedRollup *items;
};

/* The roll-up whose rows its refresh writes; InvalidOid for none */
static Oid exempt = InvalidOid;

/*
 * mts_rollup_mark_exempt
 *		Have writes into a roll-up not mark its own rows as stale.  Returns
 *		the roll-up that was exempt before.
 */
Oid
mts_rollup_mark_exempt(Oid relid)
{
	Oid before = exempt;

	exempt = relid;
	return before;
}

/* Tell whether a table is a roll-up that its refresh does not write now. */
static bool
is_rollup(Oid relid)
{
	return relid != exempt &&
		   mts_option_get(GetForeignTable(relid)->options, "rollup_of");
}

/*
 * mts_rollup_mark_begin
 *		Prepare to write into a table with the rights of a user's mapping.
 *		NULL if it has no roll-ups that are refreshed, and is none.
 */
MtsRollupMarks *
mts_rollup_mark_begin(const MtsTable *table, Oid userid)
{
	List *rollups = mts_rollup_list(table->relid, MTS_ROLLUPS_TO_MARK);
	MtsRollupMarks *marks;
	ListCell *lc;

	if (is_rollup(table->relid))
		rollups = lappend_oid(rollups, table->relid);
	if (rollups == NIL)
		return NULL;
	marks = palloc0(sizeof(MtsRollupMarks));
	marks->relid = table->relid;
	marks->userid = userid;
	/* a refresh that fails leaves its own range */
	marks->is_written = !OidIsValid(exempt);
	marks->items = palloc0(list_length(rollups) * sizeof(MarkedRollup));
	foreach (lc, rollups)
	{
		Relation relation = try_table_open(lfirst_oid(lc), AccessShareLock);
		const MtsRollup *rollup;

		if (!relation)
			continue;
		rollup = mts_rollup_open_to_mark(relation, table);
		table_close(relation, AccessShareLock);
		if (rollup && !rollup->by_application)
			marks->items[marks->n++].rollup = rollup;
	}
	for (int i = 0; i < marks->n; i++)
		marks->items[i].ranges.items = marks->items[i].items;
	return marks->n > 0 ? marks : NULL;
}

/*
 * Add a range; where there are too many, join them to one.  Intervals whose
 * points may have been removed keep their totals.
 */
static void
add_range(MarkedRollup *item, MtsRange range)
{
	MtsRange united[MAX_RANGES + 1];
	MtsRanges one = {1, &range}, both = {0, united};

	range.from = Max(range.from, mts_rollup_first_kept(item->rollup));
	if (range.from >= range.to ||
		mts_ranges_cover(&item->ranges, range.from, range.to))
		return;
	mts_ranges_unite(&item->ranges, &one, &both);
	if (both.n > MAX_RANGES)
	{
		united[0].to = united[both.n - 1].to;
		both.n = 1;
	}
	memcpy(item->items, united, both.n * sizeof(MtsRange));
	item->ranges.n = both.n;
}

/*
 * mts_rollup_mark_add
 *		Record that points from one time to another one are written.
 */
void
mts_rollup_mark_add(MtsRollupMarks *marks, MtsTime first, MtsTime last)
{
	for (int i = 0; i < marks->n; i++)
	{
		MarkedRollup *item = &marks->items[i];

		if (item->limit == 0)
			item->limit =
				mts_rollup_limit(item->rollup, GetCurrentTimestamp()) +
				CLOCK_SLACK;
		if (first < item->limit)
			add_range(item, (MtsRange){mts_rollup_floor(item->rollup, first),
									   mts_rollup_ceil(item->rollup,
													   last == MTS_TIME_MAX
														   ? last
														   : last + 1)});
	}
}

/*
 * mts_rollup_mark_bulk
 *		Return the destination of writes to the state of a roll-up.
 */
MtsBulk
mts_rollup_mark_bulk(const MtsRollup *rollup, Oid userid)
{
	const MtsTable *table = rollup->table;
	MtsConnection *connection = mts_connection_get(table->serverid, userid);

	mts_connection_pin(connection);
	return (MtsBulk){.connection = connection,
					 .relid = table->relid,
					 .database = table->database,
					 .collection = MTS_ROLLUP_STATES,
					 .message = psprintf("could not write the state of "
										 "roll-up \"%s\" to MongoDB "
										 "collection \"%s.%s\"",
										 get_rel_name(table->relid),
										 table->database, MTS_ROLLUP_STATES)};
}

/* Return a time as a date, or $minKey or $maxKey for an open end. */
static bson_value_t
time_value(MtsTime t)
{
	bson_value_t value = {.value_type = t == MTS_TIME_MIN ? BSON_TYPE_MINKEY
										: t == MTS_TIME_MAX
											? BSON_TYPE_MAXKEY
											: BSON_TYPE_DATE_TIME};

	if (value.value_type == BSON_TYPE_DATE_TIME)
		value.value.v_datetime = (t - MTS_UNIX_EPOCH) / 1000;
	return value;
}

/*
 * Return a unique value for a stale range.  Its time is 1970 if nothing more
 * is written in the range.
 */
static bson_value_t
unique_id(bool is_written)
{
	bson_value_t id = {.value_type = BSON_TYPE_OID};

	bson_oid_init(&id.value.v_oid, NULL);
	if (!is_written)
		memset(id.value.v_oid.bytes, 0, sizeof(uint32));
	return id;
}

/* Extend a range, so that few such ranges have all points. */
static MtsRange
widen(MtsRange range)
{
	MtsSpan span = {.usecs = WIDE_RANGE};
	MtsClock clock = {0};

	if (range.from != MTS_TIME_MIN)
		range.from = mts_clock_floor(&clock, range.from, span);
	if (range.to != MTS_TIME_MAX &&
		!mts_clock_step(&clock, mts_clock_floor(&clock, range.to - 1, span),
						span, 1, &range.to))
		range.to = MTS_TIME_MAX;
	return range;
}

/*
 * Make the write that adds a stale range, if the roll-up has passed its begin,
 * to a state that has many ranges, or that has not.  Nothing is added if a
 * range that no refresh works on, or has computed, covers it.  A range in
 * which nothing more is written does not cover one that is written: a refresh
 * removes it, and its points may be read before this write.
 */
static MtsOp
make_op(const MtsRollupMarks *marks, const MtsRollup *rollup, MtsRange range,
		bool has_many)
{
	bson_value_t from = time_value(range.from), to = time_value(range.to);
	bson_value_t least = {.value_type = BSON_TYPE_OID};
	bson_value_t n = unique_id(marks->is_written);
	bson_t *selector;

	/* the ids of such ranges begin with zeros */
	if (marks->is_written)
		least.value.v_oid.bytes[sizeof(uint32) - 1] = 1;
	selector = mts_document_make(
		"{_id: %s, stale: {$not: {$elemMatch: {from: {$lte: %v}, "
		"to: {$gte: %v}, n: {$gte: %v}, refreshing: {$exists: false}, "
		"computed: {$exists: false}}}}}",
		mts_document_utf8(rollup->table->collection), &from, &to, &least);

	mts_template_fields(selector, has_many
									  ? "{" MANY_RANGES ": {$exists: true}}"
									  : "{" MANY_RANGES ": {$exists: false}}");
	if (range.from == MTS_TIME_MIN)
		mts_template_fields(selector, "{until: {$exists: true}}");
	else
		mts_template_fields(selector, "{until: {$gt: %v}}", &from);
	if (has_many)
		range = widen(range);
	from = time_value(range.from);
	to = time_value(range.to);
	return mts_op(
		MTS_OP_UPDATE, selector,
		mts_document_make("{$push: {stale: {from: %v, to: %v, n: %v}}}", &from,
						  &to, &n));
}

/*
 * mts_rollup_mark_send
 *		Mark what has been recorded, before it is written.
 *
 * The roll-ups of one database are marked by one command.
 */
void
mts_rollup_mark_send(MtsRollupMarks *marks)
{
	MtsOp *ops = palloc(2 * marks->n * MAX_RANGES * sizeof(MtsOp));

	for (int i = 0; i < marks->n; i++)
	{
		MtsBulk bulk;
		int nops = 0;

		marks->items[i].limit = 0;
		if (marks->items[i].ranges.n == 0)
			continue;
		bulk = mts_rollup_mark_bulk(marks->items[i].rollup, marks->userid);
		bulk.message = psprintf("could not mark intervals of \"%s\" as stale "
								"in MongoDB collection \"%s.%s\"",
								get_rel_name(marks->relid), bulk.database,
								bulk.collection);
		for (int j = i; j < marks->n; j++)
		{
			MarkedRollup *item = &marks->items[j];

			if (strcmp(item->rollup->table->database, bulk.database) != 0)
				continue;
			for (int k = 0; k < item->ranges.n; k++)
			{
				ops[nops++] =
					make_op(marks, item->rollup, item->items[k], true);
				ops[nops++] =
					make_op(marks, item->rollup, item->items[k], false);
			}
			item->ranges.n = 0;
		}
		mts_bulk_execute(&bulk, ops, nops);
	}
}

/*
 * mts_rollup_mark_late
 *		Mark ranges of a roll-up, and of the coarser ones computed from it.
 *		Other clients have written points in these ranges, and are done.
 */
void
mts_rollup_mark_late(const MtsRollup *rollup, Oid userid,
					 const MtsRanges *late)
{
	MtsRollupMarks *marks =
		late->n > 0 ? mts_rollup_mark_begin(rollup->table, userid) : NULL;

	if (!marks)
		return;
	marks->is_written = false;
	for (int i = 0; i < late->n; i++)
	{
		mts_rollup_mark_add(marks, late->items[i].from, late->items[i].to - 1);
		mts_rollup_mark_send(marks);
	}
}
