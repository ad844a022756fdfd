/*
 * refresh.c
 *		SQL function that computes roll-ups: mongo_ts_refresh_rollup.
 *
 * A roll-up is computed from the next finer one, which is refreshed first, or
 * from the points.  That is done by SQL statements over the two tables, chunk
 * by chunk.  The roll-up is right for readers at any moment, however the
 * refresh ends, because of the order of its steps:
 *
 * 1. The state says that what will be computed is stale, and moves the
 *	  watermark to its end.  From now on, readers take these intervals from the
 *	  points, and sessions that write points mark their range.
 * 2. The transactions end that may not have seen that.
 * 3. The rows are removed, computed and written.  On a replica set, a chunk is
 *	  a transaction.
 * 4. The state says that these intervals are no longer stale.  Marks that
 *	  others have made in the meantime stay.
 *
 * A write whose outcome is unknown may be executed later, though its session
 * has ended.  So a range that a write has marked stays stale when it has been
 * computed, and the first refresh after SETTLED_AGE computes it again.  The
 * age of the mark would not do: the transaction may have been sent long after
 * it.  Coarser roll-ups are computed meanwhile, since they have marks of their
 * own.
 *
 * The state has a fingerprint of the declarations by which the rows are
 * computed.  If these have changed, all rows are computed again.
 *
 * A refresh that is killed leaves a stale range, which the next one computes.
 * A lock keeps the sessions of one PostgreSQL server from refreshing a roll-up
 * at once.  Those of several servers recognise each other by a token.  The one
 * that began last goes on.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "core/bson/template.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "modify/rollup_mark.h"
#include "table/rollup.h"

/*
 * How long the next chunk should take, in microseconds.  MongoDB aborts a
 * transaction after a minute.
 */
#define CHUNK_TIME INT64CONST(2000000)
#define LONG_CHUNK_TIME INT64CONST(15000000)

/* How many ranges are computed one by one; more are joined */
#define MAX_RANGES 64

/*
 * How long after its session has ended a write may be executed: MongoDB aborts
 * a transaction after a minute, and clocks differ.
 */
#define SETTLED_AGE (2 * MTS_MINUTE)

/* The most buckets of a series in a chunk */
#define MAX_CHUNK 4096

PG_FUNCTION_INFO_V1(mongo_ts_refresh_rollup);

typedef struct Refresh
{
	Oid relid;
	const MtsRollup *rollup;
	const MtsRollup *finer; /* that it is computed from; NULL for the points */
	MtsBulk bulk;           /* writes states */
	bson_value_t name;      /* the _id of its state */
	MtsRollupState state;   /* when the refresh began */
	bool is_altered;        /* the rows are of other declarations */
	MtsRanges todo;         /* what is to be computed */
	bson_value_t n;         /* of todo in the state */
	bson_value_t token;     /* of this refresh */
	char *insert;           /* the statements */
	char *delete;
	char *first;
} Refresh;

/* ---- The statements ----------------------------------------------------- */

static char *
column_name(Oid relid, AttrNumber attnum)
{
	return pstrdup(quote_identifier(get_attname(relid, attnum, false)));
}

/* Return the name of a table, quoted and with its schema. */
static char *
full_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(
										  get_rel_namespace(relid)),
									  get_rel_name(relid));
}

static _Noreturn void
refuse_source(const Refresh *refresh, int i)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
			 errmsg("cannot compute roll-up \"%s\" from roll-up \"%s\"",
					get_rel_name(refresh->relid),
					get_rel_name(refresh->rollup->source)),
			 errdetail("The finer roll-up lacks a column that is computed of "
					   "column \"%s\" of the points.",
					   get_attname(refresh->rollup->points, i + 1, false))));
	pg_unreachable();
}

/* Return the begin of the interval that holds a time, in SQL. */
static char *
interval_begin(const MtsRollup *rollup, const char *time)
{
	if (!mts_span_is_calendar(rollup->interval))
		return psprintf("pg_catalog.date_bin('" INT64_FORMAT " seconds', %s, "
						"'2000-01-01 00:00:00+00')",
						rollup->interval.usecs / MTS_SECOND, time);
	return psprintf("pg_catalog.date_trunc('%s', %s, %s)",
					rollup->interval.months ? "month" : "day", time,
					quote_literal_cstr(rollup->zone));
}

/* Append a column and what it is computed of. */
static void
append_column(const Refresh *refresh, AttrNumber attnum, const char *value,
			  StringInfo columns, StringInfo values)
{
	const MtsAttribute *attribute =
		&refresh->rollup->table->attributes[attnum - 1];

	appendStringInfo(columns, "%s%s", columns->len > 0 ? ", " : "",
					 column_name(refresh->relid, attnum));
	appendStringInfo(values, "%s(%s)::%s", values->len > 0 ? ", " : "", value,
					 format_type_extended(attribute->typid, attribute->typmod,
										  FORMAT_TYPE_TYPEMOD_GIVEN |
											  FORMAT_TYPE_FORCE_QUALIFY));
}

/* Return a total of a column of the points, in SQL; i is -1 for the points. */
static char *
total_value(const Refresh *refresh, int i, MtsRollupKind kind)
{
	const MtsRollup *rollup = refresh->rollup, *finer = refresh->finer;
	AttrNumber source;
	char *name;

	if (finer)
	{
		source = i < 0 ? finer->npoints : finer->totals[i].of[kind];
		if (source == 0)
			refuse_source(refresh, Max(i, 0));
		return psprintf(
			"pg_catalog.%s(%s)",
			mts_rollup_kinds[kind == MTS_ROLLUP_COUNT ? MTS_ROLLUP_SUM : kind],
			column_name(rollup->source, source));
	}
	if (i < 0)
		return "pg_catalog.count(*)";
	name = column_name(rollup->source, i + 1);
	/* PostgreSQL adds single precision with single precision */
	if (kind == MTS_ROLLUP_SUM &&
		get_atttype(rollup->source, i + 1) == FLOAT4OID)
		name = psprintf("%s::float8", name);
	return psprintf("pg_catalog.%s(%s)", mts_rollup_kinds[kind], name);
}

/* Make the statements; the parameters are the begin and the end of a range. */
static void
make_statements(Refresh *refresh)
{
	const MtsRollup *rollup = refresh->rollup, *finer = refresh->finer;
	AttrNumber own_time = rollup->table->layout.time_column + 1;
	const char *range = "%1$s OPERATOR(pg_catalog.>=) $1 AND "
						"%1$s OPERATOR(pg_catalog.<) $2";
	StringInfoData columns, values, groups;
	char *time = NULL, *where;

	initStringInfo(&columns);
	initStringInfo(&values);
	initStringInfo(&groups);
	for (int i = 0, n = 0; i < rollup->ncolumns; i++)
	{
		char *name;

		if (rollup->keys[i] == 0)
			continue;
		if (finer && finer->keys[i] == 0)
			refuse_source(refresh, i);
		name = column_name(rollup->source, finer ? finer->keys[i] : i + 1);
		if (rollup->keys[i] == own_time)
			time = name;
		append_column(refresh, rollup->keys[i],
					  rollup->keys[i] == own_time
						  ? interval_begin(rollup, name)
						  : name,
					  &columns, &values);
		appendStringInfo(&groups, "%s%d", n > 0 ? ", " : "", n + 1);
		n++;
	}
	if (rollup->npoints)
		append_column(refresh, rollup->npoints,
					  total_value(refresh, -1, MTS_ROLLUP_COUNT), &columns,
					  &values);
	for (int i = 0; i < rollup->ncolumns; i++)
		for (MtsRollupKind kind = 0; kind < MTS_ROLLUP_NKINDS; kind++)
			if (rollup->totals[i].of[kind])
				append_column(refresh, rollup->totals[i].of[kind],
							  total_value(refresh, i, kind), &columns,
							  &values);
	where = psprintf(range, time);
	refresh->insert =
		psprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s GROUP BY %s",
				 full_name(refresh->relid), columns.data, values.data,
				 full_name(rollup->source), where, groups.data);
	refresh->first = psprintf("SELECT pg_catalog.min(%s) FROM %s WHERE %s",
							  time, full_name(rollup->source), where);
	refresh->delete =
		psprintf("DELETE FROM %s WHERE %s", full_name(refresh->relid),
				 psprintf(range, column_name(refresh->relid, own_time)));
}

/* Convert a time to a parameter of a statement. */
static Datum
time_datum(MtsTime t)
{
	return TimestampTzGetDatum(t == MTS_TIME_MIN   ? DT_NOBEGIN
							   : t == MTS_TIME_MAX ? DT_NOEND
												   : t);
}

/*
 * Execute a statement for a range; the caller has connected to SPI.  It reads
 * its source, not other roll-ups of the points, which can be older, and makes
 * no rows of its roll-up stale.  Settings that the owner's code changes are
 * restored.
 */
static void
execute(const Refresh *refresh, const char *sql, MtsRange range)
{
	Oid types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID};
	Datum values[] = {time_datum(range.from), time_datum(range.to)};
	Oid before = mts_rollup_mark_exempt(refresh->relid);
	int level = NewGUCNestLevel();
	int result = 0;

	(void) set_config_option("mongo_ts_fdw.enable_rollups", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	PG_TRY();
	{
		result = SPI_execute_with_args(sql, 2, types, values, NULL, false, 0);
	}
	PG_FINALLY();
	{
		(void) mts_rollup_mark_exempt(before);
	}
	PG_END_TRY();
	AtEOXact_GUC(false, level);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
}

/* ---- The state ---------------------------------------------------------- */

/* Append stale ranges to the update of a state, with a number. */
static void
append_stale(const MtsRanges *ranges, const bson_value_t *n, bool refreshing,
			 bson_t *list)
{
	for (int i = 0; i < ranges->n; i++)
	{
		bson_t *range = mts_rollup_mark_range(ranges->items[i], n);

		if (refreshing)
			mts_template_fields(range, "{refreshing: true}");
		mts_template_push(list, "%o", range);
	}
}

/* Return how a state gets more stale ranges. */
static bson_t *
push_stale(const bson_t *list)
{
	return mts_document_make(
		"{$inc: {generation: 1}, $push: {stale: {$each: %a}}}", list);
}

/* Return the document that the refreshes of a roll-up have their token in. */
static bson_t *
select_token(const Refresh *refresh)
{
	return mts_document_make("{_id: {refresh: %v}}", &refresh->name);
}

/*
 * Tell whether nothing more is written in a stale range: it is a refresh's, or
 * has been computed long enough ago.
 */
static bool
is_settled(const bson_t *range)
{
	bson_iter_t at;

	if (bson_has_field(range, "refreshing") ||
		(bson_iter_init_find(&at, range, "n") && BSON_ITER_HOLDS_OID(&at) &&
		 bson_oid_get_time_t(bson_iter_oid(&at)) == 0))
		return true;
	return bson_iter_init_find(&at, range, "computed") &&
		   BSON_ITER_HOLDS_DATE_TIME(&at) &&
		   bson_iter_date_time(&at) * 1000 + MTS_UNIX_EPOCH + SETTLED_AGE <
			   GetCurrentTimestamp();
}

/*
 * Raise an error: a session of another PostgreSQL server has begun to refresh
 * the roll-up, so what this one has written last may be out of date.
 */
static _Noreturn void
yield_to_other(Refresh *refresh, MtsRange range)
{
	MtsRanges ranges = {1, &range};
	bson_value_t n = mts_rollup_mark_id(false);
	bson_t *list = mts_document_new();
	MtsOp op = {.kind = MTS_OP_UPSERT,
				.selector = mts_document_make("{_id: %v}", &refresh->name)};

	append_stale(&ranges, &n, false, list);
	op.document = push_stale(list);
	mts_bulk_execute(&refresh->bulk, &op, 1);
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("another PostgreSQL server refreshes roll-up "
						   "\"%s\" at the same time",
						   get_rel_name(refresh->relid)),
					errhint("Run the statement again.")));
}

/*
 * Replace the ranges of this refresh in the state: what is left to be
 * computed, and what others will have to.  done is what was written last.
 */
static void
replace_stale(Refresh *refresh, const MtsRanges *todo, const MtsRanges *others,
			  MtsRange done)
{
	bson_value_t old = refresh->n;
	bson_value_t n = mts_rollup_mark_id(false);
	bson_t *list = mts_document_new();
	MtsOp op = {.kind = MTS_OP_UPDATE};

	refresh->n = mts_rollup_mark_id(true);
	append_stale(todo, &refresh->n, true, list);
	append_stale(others, &n, false, list);
	op.selector = mts_document_make("{_id: %v}", &refresh->name);
	if (!bson_empty(list))
	{
		op.document = push_stale(list);
		mts_bulk_execute(&refresh->bulk, &op, 1);
	}
	mts_template_fields((bson_t *) op.selector, "{stale.n: %v}", &old);
	op.document =
		mts_document_make("{$inc: {generation: 1}, $pull: {stale: {n: %v}}}",
						  &old);
	mts_bulk_execute(&refresh->bulk, &op, 1);
	if (refresh->bulk.affected == 0)
		yield_to_other(refresh, done);
}

static const bson_t *
read_document(const Refresh *refresh)
{
	MtsFind find = {.filter = mts_document_make("{_id: %v}", &refresh->name),
					.on_primary = true,
					.relid = refresh->relid};

	return mts_cursor_first(refresh->bulk.connection, refresh->bulk.database,
							MTS_ROLLUP_STATES, &find);
}

/*
 * Read the stale ranges of a state.  Append those that this refresh computes,
 * as they are, to computed, if it is not NULL.
 */
static void
read_stale(const Refresh *refresh, const bson_t *doc, MtsRanges *stale,
		   List **computed)
{
	const MtsRanges *todo = &refresh->todo;
	MtsTime until = refresh->state.until;
	bson_iter_t array, item;
	bson_t view;

	if (computed && todo->n > 0)
		until = Max(until, todo->items[todo->n - 1].to);
	if (!doc || !bson_iter_init_find(&array, doc, "stale") ||
		!bson_iter_recurse(&array, &item))
		return;
	*stale = mts_rollup_make_ranges(&array);
	while (bson_iter_next(&item))
	{
		MtsRange *range = &stale->items[stale->n];

		if (!mts_document_view(&item, &view) ||
			!mts_rollup_parse_range(refresh->rollup, &view, range))
			continue;
		/* nothing is complete above the watermark */
		range->to = Min(range->to, until);
		stale->n++;
		if (computed && (range->from >= range->to ||
						 mts_ranges_cover(todo, range->from, range->to)))
		{
			bson_t *copy = mts_document_new();

			bson_concat(copy, &view);
			*computed = lappend(*computed, copy);
		}
	}
	mts_ranges_normalize(stale);
}

/*
 * Say that what is to be computed is stale, and what else is not complete, and
 * move the watermark.
 */
static void
announce(Refresh *refresh)
{
	const MtsRollup *rollup = refresh->rollup;
	const MtsRanges *todo = &refresh->todo;
	MtsTime end = Max(todo->items[todo->n - 1].to, refresh->state.until);
	MtsRange open = {refresh->is_altered ? mts_rollup_first_kept(rollup)
										 : refresh->state.until,
					 end};
	MtsRanges one = {open.from < open.to, &open};
	MtsRanges gaps = {0, palloc((todo->n + 1) * sizeof(MtsRange))};
	bson_value_t until = {.value_type = BSON_TYPE_DATE_TIME};
	bson_value_t fingerprint = {.value_type = BSON_TYPE_INT64};
	bson_value_t n = mts_rollup_mark_id(false);
	bson_t *list = mts_document_new();
	MtsOp ops[2] = {{.kind = MTS_OP_UPSERT}, {.kind = MTS_OP_UPSERT}};

	mts_ranges_subtract(&one, todo, &gaps);
	refresh->n = mts_rollup_mark_id(true);
	refresh->token = mts_rollup_mark_id(true);
	until.value.v_datetime = (end - MTS_UNIX_EPOCH) / 1000;
	fingerprint.value.v_int64 = mts_rollup_fingerprint(rollup);
	append_stale(todo, &refresh->n, true, list);
	append_stale(&gaps, &n, true, list);
	ops[0].selector = mts_document_make("{_id: %v}", &refresh->name);
	ops[0].document = push_stale(list);
	mts_template_fields((bson_t *) ops[0].document,
						"{$set: {version: 1, fingerprint: %v}, "
						"$max: {until: %v}}",
						&fingerprint, &until);
	ops[1].selector = select_token(refresh);
	ops[1].document = mts_document_make("{$set: {by: %v}}", &refresh->token);
	mts_bulk_execute(&refresh->bulk, ops, 2);
}

/*
 * Remove from the state the stale ranges that this refresh computes.  Those
 * that may still be written stay stale, as computed ones.  The sessions that
 * have marked them have ended.
 */
static void
take_stale(Refresh *refresh, const bson_t *doc)
{
	MtsRanges ignored = {0};
	List *computed = NIL;
	bson_t *taken = mts_document_new(), *kept = mts_document_new();
	bson_value_t now = {.value_type = BSON_TYPE_DATE_TIME};
	MtsOp op = {.kind = MTS_OP_UPDATE,
				.selector = mts_document_make("{_id: %v}", &refresh->name)};
	ListCell *lc;

	now.value.v_datetime = (GetCurrentTimestamp() - MTS_UNIX_EPOCH) / 1000;
	read_stale(refresh, doc, &ignored, &computed);
	foreach (lc, computed)
	{
		bson_t *range = lfirst(lc);
		bool is_kept = !is_settled(range);

		if (is_kept && bson_has_field(range, "computed"))
			continue;
		mts_template_push(taken, "%o", range);
		if (!is_kept)
			continue;
		mts_template_fields(range, "{computed: %v}", &now);
		mts_template_push(kept, "%o", range);
	}
	if (bson_empty(taken))
		return;
	if (!bson_empty(kept))
	{
		op.document = push_stale(kept);
		mts_bulk_execute(&refresh->bulk, &op, 1);
	}
	op.document = mts_document_make("{$pull: {stale: {$in: %a}}}", taken);
	mts_bulk_execute(&refresh->bulk, &op, 1);
}

/*
 * Check that no other refresh has begun.  In a transaction of a replica set,
 * none begins before it ends.
 */
static void
check_token(Refresh *refresh, MtsRange range, bool in_xact)
{
	MtsBulk bulk = refresh->bulk;
	MtsOp op = {.kind = MTS_OP_UPDATE,
				.selector = select_token(refresh),
				.document = mts_document_make("{$inc: {chunks: 1}}")};

	mts_template_fields((bson_t *) op.selector, "{by: %v}", &refresh->token);
	bulk.joins_xact = bulk.is_atomic = in_xact;
	mts_bulk_execute(&bulk, &op, 1);
	if (bulk.affected == 0)
		yield_to_other(refresh, range);
}

/* ---- Chunks ------------------------------------------------------------- */

/* Compute the rows of a range, in a transaction if the server has them. */
static void
compute(Refresh *refresh, MtsRange range)
{
	MtsConnection *connection = refresh->bulk.connection;
	bool is_own = mts_table_joins_xact(refresh->rollup->table) &&
				  mts_xact_begin_own(connection);

	if (refresh->finer &&
		!mts_rollup_is_made_of(refresh->rollup, refresh->finer, range))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("cannot compute roll-up \"%s\" from roll-up \"%s\"",
						get_rel_name(refresh->relid),
						get_rel_name(refresh->rollup->source)),
				 errdetail(
					 "Its intervals do not consist of whole intervals of "
					 "the finer roll-up.")));
	/* the transaction begins here, so it reads what it will write */
	check_token(refresh, range, is_own);
	SPI_connect();
	/* nothing has been written at or after the former watermark */
	if (range.from < refresh->state.until ||
		refresh->state.until == MTS_TIME_MIN)
		execute(refresh, refresh->delete, range);
	execute(refresh, refresh->insert, range);
	if (is_own)
		mts_xact_commit(connection);
	SPI_finish();
}

/* Find the time of the first row of the source before some time. */
static MtsTime
find_first(const Refresh *refresh, MtsTime end)
{
	bool is_null;
	MtsTime first;

	SPI_connect();
	execute(refresh, refresh->first, (MtsRange){MTS_TIME_MIN, end});
	first =
		DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0],
										  SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	return is_null ? end - 1 : first;
}

/*
 * Compute a range, chunk by chunk of whole buckets.  first is a time before
 * which there is nothing to compute.
 */
static void
compute_chunks(Refresh *refresh, MtsRange range, MtsTime first,
			   const MtsRanges *later)
{
	const MtsLayout *layout = &refresh->rollup->table->layout;
	MtsRanges none = {0};
	int64 n = 1;

	while (range.from < range.to)
	{
		MtsRange chunk = range;
		MtsRanges left = {0, palloc((later->n + 1) * sizeof(MtsRange))};
		TimestampTz begin = GetCurrentTimestamp();
		int64 time;

		CHECK_FOR_INTERRUPTS();
		if (!mts_span_is_zero(layout->span) &&
			mts_clock_step(&layout->clock,
						   mts_clock_floor(&layout->clock, first,
										   layout->span),
						   layout->span, n, &chunk.to))
			chunk.to =
				Min(mts_rollup_ceil(refresh->rollup, chunk.to), range.to);
		compute(refresh, chunk);
		range.from = first = chunk.to;
		mts_ranges_add(&left, range.from, range.to);
		for (int i = 0; i < later->n; i++)
			mts_ranges_add(&left, later->items[i].from, later->items[i].to);
		replace_stale(refresh, &left, &none, chunk);
		time = GetCurrentTimestamp() - begin;
		if (time < CHUNK_TIME)
			n = Min(n * 2, MAX_CHUNK);
		else if (time > LONG_CHUNK_TIME)
			n = Max(n / 2, 1);
	}
}

/* Compute all that is to be done. */
static void
compute_all(Refresh *refresh)
{
	for (int i = 0; i < refresh->todo.n; i++)
	{
		MtsRange range = refresh->todo.items[i];
		MtsRanges later = {refresh->todo.n - i - 1,
						   refresh->todo.items + i + 1};

		compute_chunks(refresh, range,
					   range.from == MTS_TIME_MIN
						   ? find_first(refresh, range.to)
						   : range.from,
					   &later);
	}
}

/* ---- What is to be done ------------------------------------------------- */

/* Return what of a remains without the intervals that overlap b. */
static MtsRanges
subtract(const MtsRollup *rollup, const MtsRanges *a, const MtsRanges *b)
{
	MtsRanges whole = {0, palloc((b->n + 1) * sizeof(MtsRange))};
	MtsRanges result = {0, palloc((a->n + b->n + 1) * sizeof(MtsRange))};

	for (int i = 0; i < b->n; i++)
		mts_ranges_add(&whole, mts_rollup_floor(rollup, b->items[i].from),
					   mts_rollup_ceil(rollup, b->items[i].to));
	mts_ranges_subtract(a, &whole, &result);
	return result;
}

/*
 * Set what is to be computed: wanted, or what is stale or new up to limit.
 * Intervals whose points may have been removed keep their totals.
 */
static void
choose(Refresh *refresh, const bson_t *doc, const MtsRange *wanted,
	   MtsTime limit)
{
	const MtsRollup *rollup = refresh->rollup;
	const MtsRollupState *state = &refresh->state;
	MtsRange below = {MTS_TIME_MIN, limit};
	MtsRange new = {state->until, Max(limit, state->until)};
	MtsRanges within = {limit > MTS_TIME_MIN, &below};
	MtsRanges one = {new.from < new.to, &new};
	MtsRanges stale = {0}, all;

	if (wanted)
	{
		new = (MtsRange){mts_rollup_floor(rollup, wanted->from),
						 mts_rollup_ceil(rollup, wanted->to)};
		if (state->until != MTS_TIME_MIN)
			new.from = Max(new.from, mts_rollup_first_kept(rollup));
		all = (MtsRanges){new.from < new.to, &new};
	}
	else
	{
		read_stale(refresh, doc, &stale, NULL);
		all = (MtsRanges){0, palloc((stale.n + 1) * sizeof(MtsRange))};
		mts_ranges_unite(&stale, &one, &all);
	}
	refresh->todo.items = palloc((all.n + 1) * sizeof(MtsRange));
	mts_ranges_intersect(&all, &within, &refresh->todo);
	mts_ranges_join(&refresh->todo, MAX_RANGES, mts_rollup_first_kept(rollup));
}

/*
 * Leave out what the finer roll-up does not have yet, because points have been
 * written meanwhile.
 */
static void
leave_out_unready(Refresh *refresh)
{
	MtsRollupState finer;
	MtsRanges unready, ready, rest;
	MtsRange after;
	MtsRanges one = {1, &after};

	mts_rollup_read_state(refresh->finer, GetUserId(), NULL, &finer);
	after = (MtsRange){finer.until, MTS_TIME_MAX};
	unready = (MtsRanges){0, palloc((finer.open.n + 1) * sizeof(MtsRange))};
	mts_ranges_unite(&finer.open, &one, &unready);
	ready = subtract(refresh->rollup, &refresh->todo, &unready);
	rest = subtract(refresh->rollup, &refresh->todo, &ready);
	if (rest.n == 0)
		return;
	replace_stale(refresh, &ready, &rest,
				  (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX});
	refresh->todo = ready;
}

/* Wait for the transactions that write to a table, without being in the way
 * of later ones. */
static void
wait_for_writers(Oid relid)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	WaitForLockers(tag, ShareLock, false);
}

static void
check_owner(Oid relid)
{
	if (!mts_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE,
					   get_rel_name(relid));
}

/*
 * Check that the user may refresh a roll-up, and lock it.  Then become its
 * owner, since the statements run what the owner has declared, such as
 * defaults and the constraints of domains, which must not run as a superuser.
 * The owner's user mapping is used, too.
 */
static void
become_owner(Oid relid, int context)
{
	Relation relation;

	/* others cannot lock the table, or read its options in errors */
	check_owner(relid);
	relation = mts_table_open_relation(relid, ShareUpdateExclusiveLock);
	check_owner(relid);
	SetUserIdAndSecContext(relation->rd_rel->relowner,
						   context | SECURITY_RESTRICTED_OPERATION);
	table_close(relation, NoLock);
}

/*
 * Lock and open a roll-up.  Its points are locked, too, so that nobody alters
 * them before it is computed.
 *
 * A trigger is refused: whoever has the privilege TRIGGER can make one, and it
 * would run as the owner.
 */
static const MtsRollup *
open_rollup(Oid relid)
{
	Relation relation =
		mts_table_open_relation(relid, ShareUpdateExclusiveLock);
	const MtsRollup *rollup;

	if (relation->trigdesc)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot refresh roll-up \"%s\" because it has "
						"triggers",
						RelationGetRelationName(relation)),
				 errdetail("They would run as the owner of the roll-up."),
				 errhint("Drop the triggers.")));
	LockRelationOid(mts_rollup_open(relation)->points, AccessShareLock);
	rollup = mts_rollup_open(relation);
	table_close(relation, NoLock);
	if (mts_xact_is_active(rollup->table->serverid))
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot refresh a roll-up in a transaction that has "
						"written to its server")));
	return rollup;
}

/*
 * Read the state of a roll-up.  If its rows are of other declarations, all is
 * to be computed again: wanted, if that is not NULL, and the rest is stale.
 *
 * Totals of points that may have been removed cannot be computed again.  They
 * are kept if the user refreshes all, who can tell whether they are still
 * right.
 */
static const bson_t *
read_state(Refresh *refresh, const MtsRange **wanted)
{
	static const MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	const MtsRollup *rollup = refresh->rollup;
	const bson_t *doc = read_document(refresh);
	MtsRollupState *state = &refresh->state;

	mts_rollup_parse_state(rollup, doc, state);
	refresh->is_altered = state->problem == mts_rollup_is_altered;
	if (state->problem && !refresh->is_altered)
		ereport(
			ERROR,
			(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
			 errmsg("invalid state of roll-up \"%s\" in MongoDB collection "
					"\"%s.%s\"",
					rollup->table->collection, rollup->table->database,
					MTS_ROLLUP_STATES),
			 errhint("To begin again, remove the document.")));
	if (!refresh->is_altered)
		return doc;
	if (rollup->drops_points && (!*wanted || (*wanted)->from != MTS_TIME_MIN))
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("roll-up \"%s\" or its points have been altered since it "
					"was refreshed",
					get_rel_name(refresh->relid)),
			 errdetail("Its totals of points that are older than option "
					   "\"rollup_retention\" cannot be computed again."),
			 errhint("If they are still right, refresh the roll-up from "
					 "'-infinity', which keeps them.  Otherwise remove their "
					 "rows before, or undo the change.")));
	if (!*wanted)
		*wanted = &all;
	(void) mts_rollup_read_until(doc, &state->until);
	state->until = mts_rollup_ceil(rollup, state->until);
	return doc;
}

/* Refresh a roll-up, after those that it is computed from. */
static MtsTime
refresh_rollup(Oid relid, const MtsRange *wanted)
{
	Refresh refresh = {.relid = relid, .rollup = open_rollup(relid)};
	const MtsRollup *rollup = refresh.rollup;
	MtsTime limit = mts_rollup_limit(rollup, GetCurrentTimestamp());
	const bson_t *doc;

	if (rollup->by_application)
		return limit;
	refresh.bulk = mts_rollup_mark_bulk(rollup, GetUserId());
	refresh.name.value_type = BSON_TYPE_UTF8;
	refresh.name.value.v_utf8.str =
		mts_document_utf8(rollup->table->collection);
	refresh.name.value.v_utf8.len = strlen(refresh.name.value.v_utf8.str);
	if (rollup->source != rollup->points)
	{
		MtsTime until = refresh_rollup(rollup->source, wanted);
		Relation source = table_open(rollup->source, NoLock);

		refresh.finer = mts_rollup_open(source);
		table_close(source, NoLock);
		limit = Min(limit, mts_rollup_floor(rollup, until));
	}
	make_statements(&refresh);
	doc = read_state(&refresh, &wanted);
	choose(&refresh, doc, wanted, limit);
	if (refresh.todo.n == 0)
	{
		take_stale(&refresh, doc);
		return refresh.is_altered ? MTS_TIME_MIN : refresh.state.until;
	}
	announce(&refresh);
	wait_for_writers(rollup->points);
	if (rollup->source != rollup->points)
		wait_for_writers(rollup->source);
	take_stale(&refresh, doc);
	/* a read sees all that was there at the session's last write */
	check_token(&refresh,
				(MtsRange){refresh.todo.items[0].from,
						   refresh.todo.items[refresh.todo.n - 1].to},
				false);
	if (refresh.finer)
		leave_out_unready(&refresh);
	compute_all(&refresh);
	mts_rollup_parse_state(rollup, read_document(&refresh), &refresh.state);
	return refresh.state.until;
}

/*
 * SQL: mongo_ts_refresh_rollup(relation regclass, start_time timestamptz,
 *		end_time timestamptz) returns timestamptz
 *
 * Compute what is new or stale of a roll-up or, if one of the times is given,
 * what lies between them.  Returns the watermark; NULL if nothing is complete.
 */
Datum
mongo_ts_refresh_rollup(PG_FUNCTION_ARGS)
{
	MtsRange wanted = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsTime until;
	Oid user;
	int context, level;

	PreventCommandIfReadOnly("mongo_ts_refresh_rollup()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a roll-up can only be refreshed under isolation "
						"level READ COMMITTED")));
	if (!PG_ARGISNULL(1) && !TIMESTAMP_IS_NOBEGIN(PG_GETARG_TIMESTAMPTZ(1)))
		wanted.from = PG_GETARG_TIMESTAMPTZ(1);
	if (!PG_ARGISNULL(2) && !TIMESTAMP_IS_NOEND(PG_GETARG_TIMESTAMPTZ(2)))
		wanted.to = PG_GETARG_TIMESTAMPTZ(2);
	GetUserIdAndSecContext(&user, &context);
	become_owner(PG_GETARG_OID(0), context);
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	until =
		refresh_rollup(PG_GETARG_OID(0),
					   PG_ARGISNULL(1) && PG_ARGISNULL(2) ? NULL : &wanted);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	if (until == MTS_TIME_MIN)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(until);
}
