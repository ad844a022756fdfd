/*
 * native.c
 *		Read native time-series collections by their buckets.
 *
 * A native collection NAME is a view, which has a document for each point.
 * Its buckets are read in one of two ways: since MongoDB 8.2, by commands on
 * NAME with rawData; otherwise as the documents of system.buckets.NAME, which
 * MongoDB 9.0 refuses.  A table declares the points as the view shows them,
 * with a document for each.  To read them, it is rewritten to the layout of
 * the buckets, unless something about it or the rights of the user require the
 * view.  Rows are always written to the view.
 *
 * The server is asked whether a collection is native, and how long its buckets
 * may be, for each plan and for each execution of a plan, since collections
 * are dropped, and their buckets can be made longer.  The question is a read
 * of the buckets, too, so it also finds the way to read them, whatever the
 * server has become meanwhile.  If a cursor is refused nevertheless, it opens
 * in the other way.  A plan holds the answer from which it was
 * made, which serves its first execution in the same statement, too.  An
 * ordinary collection is remembered for the session: to read it as it is
 * declared is always right.
 */
#include "table/native.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/report.h"
#include "driver/server_error.h"
#include "table/known.h"

#define BUCKETS "system.buckets."

#define NO_ANSWER "MongoDB did not answer"

/*
 * The seconds of 2000 and of 2038.  Where all _ids lie between them, no _id is
 * taken to have wrapped around, which dates before 1970 and after 2106 do.
 */
#define FIRST_SECOND "386d4380"
#define END_SECOND "80000000"

/* The version of the wire protocol of MongoDB 7.0, which removes points */
#define WIRE_VERSION_7_0 21

/* That of MongoDB 8.2, which reads buckets by rawData */
#define WIRE_VERSION_8_2 27

/* The plans of the statement that have not been executed, by serial */
static int planned[64];
static TimestampTz planning_statement;
static int last_serial = 0;

/* ---- Questions to the server -------------------------------------------- */

/* A question about a collection, and how it is asked */
typedef struct Question
{
	const MtsTable *table;
	Oid userid;
	bool is_optional; /* for planning: do not wait for long */
} Question;

/*
 * Run a command; NULL if the server refuses it, with its code in *code, or if
 * it does not answer an optional question, with 0.
 */
static const bson_t *
ask(const Question *question, const bson_t *command, MtsReadFrom from,
	uint32 *code)
{
	const MtsTable *table = question->table;
	MtsConnection *connection =
		mts_connection_get(table->serverid, question->userid);
	const bson_t *reply;

	/* giving up an answer would break open cursors */
	if (!question->is_optional || connection->pins > 0)
		return mts_command_ask(connection, table->database,
							   mts_report_reading(table->database,
												  table->collection),
							   command, from, code);
	reply =
		mts_command_ask_soon(connection, table->database, command, from, code);
	if (!reply && *code == 0)
	{
		mts_known_record_silence(table->serverid, question->userid);
		CHECK_FOR_INTERRUPTS();
	}
	return reply;
}

/* The greatest distance of a bucket's start from its first time, in seconds */
static int64
rounding_of(const bson_t *options, int64 span)
{
	int64 seconds = mts_document_number(options, "bucketRoundingSeconds");
	const char *granularity = mts_document_string(options, "granularity");

	if (seconds > 0)
		return seconds;
	if (granularity && strcmp(granularity, "seconds") == 0)
		return 60;
	if (granularity && strcmp(granularity, "minutes") == 0)
		return 3600;
	return span;
}

/* Describe a collection from its options. */
static MtsNative *
describe(const bson_t *options)
{
	MtsNative *native = palloc0(sizeof(MtsNative));
	const char *time = mts_document_string(options, "timeField");
	const char *meta = mts_document_string(options, "metaField");
	int64 span = mts_document_number(options, "bucketMaxSpanSeconds");

	native->time = pstrdup(time ? time : "");
	native->meta = pstrdup(meta ? meta : "");
	if (span > 0 && span <= PG_INT32_MAX / 2)
		native->reach = span + Min(rounding_of(options, span), span);
	return native;
}

/*
 * Ask what a collection is; NULL unless it is a native one.  *is_ordinary
 * tells whether the collection exists and is not native.  *problem is the
 * reason if the server does not tell.
 */
static MtsNative *
ask_collection(const Question *question, bool *is_ordinary,
			   const char **problem)
{
	const char *name = question->table->collection;
	MtsNative *native = NULL;
	bson_iter_t iter, batch, series;
	const bson_t *reply;
	bson_t doc, options;
	uint32 code;

	reply = ask(question,
				mts_document_make("{listCollections: 1, filter: {name: %s}}",
								  mts_document_utf8(name)),
				MTS_FROM_PRIMARY, &code);
	*problem = reply ? NULL
			   : code == 0
				   ? NO_ANSWER
				   : psprintf("MongoDB refuses to describe \"%s\"", name);
	*is_ordinary = false;
	if (!reply || !bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &batch) ||
		!mts_document_view(&batch, &doc))
		return NULL;
	if (!bson_iter_init(&iter, &doc) ||
		!bson_iter_find_descendant(&iter, "options.timeseries", &series) ||
		!mts_document_view(&series, &options))
		*is_ordinary = true;
	else
	{
		native = describe(&options);
		native->has_collation =
			mts_document_has_collation(&doc, "options.collation");
	}
	return native;
}

/* Return the collection that commands name to read buckets. */
static char *
buckets_of(const MtsTable *table, bool is_raw)
{
	return psprintf("%s%s", is_raw ? "" : BUCKETS, table->collection);
}

/*
 * Look for a bucket whose _id may have wrapped around, which sets
 * ids_are_ordered.  Returns why the buckets cannot be read in this way, or
 * NULL; *code is that of a refusal, otherwise 0.
 */
static const char *
try_buckets(const Question *question, MtsNative *native, uint32 *code)
{
	char *name = buckets_of(question->table, native->is_raw);
	const char *buckets = mts_document_utf8(name);
	bson_t *command = mts_document_new();
	bson_value_t first = {.value_type = BSON_TYPE_OID};
	bson_value_t end = first;
	bson_iter_t iter, batch, member;
	const bson_t *reply;

	bson_oid_init_from_string(&first.value.v_oid,
							  FIRST_SECOND "0000000000000000");
	bson_oid_init_from_string(&end.value.v_oid, END_SECOND "0000000000000000");
	/* each of the two finds reads one bucket of the clustered collection */
	mts_template_fields(
		command,
		"{aggregate: %s, pipeline: ["
		"{$match: {_id: {$gte: %v}}}, {$limit: 1}, {$project: {_id: 1}}, "
		"{$unionWith: {coll: %s, pipeline: [{$match: {_id: {$lt: %v}}}, "
		"{$limit: 1}, {$project: {_id: 1}}]}}], cursor: {}}",
		buckets, &end, buckets, &first);
	if (native->is_raw)
		bson_append_bool(command, "rawData", -1, true);
	reply = ask(question, command, MTS_FROM_PREFERRED, code);
	if (!reply)
		return *code == 0
				   ? NO_ANSWER
				   : psprintf(*code == MTS_CODE_UNAUTHORIZED
								  ? "no privilege to read \"%s\"%s"
								  : "MongoDB refuses to read \"%s\"%s",
							  name, native->is_raw ? " by rawData" : "");
	native->ids_are_ordered =
		bson_iter_init(&iter, reply) &&
		bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) &&
		bson_iter_recurse(&batch, &member) && !bson_iter_next(&member);
	return NULL;
}

/*
 * Find the way to read the buckets.  Returns why they cannot be read, or NULL.
 *
 * Members of a replica set can have different versions while it is upgraded,
 * and a user can have the privilege of one way only.
 */
static const char *
probe_buckets(const Question *question, MtsNative *native)
{
	uint32 code, other;
	const char *problem, *also;

	native->is_raw =
		mts_connection_get(question->table->serverid, question->userid)
			->wire_version >= WIRE_VERSION_8_2;
	problem = try_buckets(question, native, &code);
	if (code != MTS_CODE_NO_BUCKETS_COLLECTION &&
		!(native->is_raw &&
		  (code == MTS_CODE_UNAUTHORIZED || code == MTS_CODE_UNKNOWN_FIELD)))
		return problem;
	native->is_raw = !native->is_raw;
	also = try_buckets(question, native, &other);
	/* the server may not have the first way at all */
	return !also || (code == MTS_CODE_UNKNOWN_FIELD &&
					 other != MTS_CODE_NO_BUCKETS_COLLECTION)
			   ? also
			   : problem;
}

/* ---- The layout of the buckets ------------------------------------------ */

static bool
is_named(const MtsStep *step, const char *name)
{
	return step->len == strlen(name) &&
		   memcmp(step->name, name, step->len) == 0;
}

static MtsStep
name_step(const char *name)
{
	return (MtsStep){.kind = MTS_STEP_NAME, .name = name, .len = strlen(name)};
}

/* A field of the buckets' control */
static MtsField
control_field(const char *part, const MtsStep *name)
{
	MtsField field = {.is_set = true};

	field.path.steps[field.path.nsteps++] = name_step("control");
	field.path.steps[field.path.nsteps++] = name_step(part);
	if (name)
		field.path.steps[field.path.nsteps++] = *name;
	return field;
}

/* Return why a column cannot be read from the buckets, or NULL. */
static const char *
find_column_problem(const MtsColumn *column)
{
	char dotted[MTS_MAX_PATH];
	const MtsPath *path = &column->path;

	if (path->nsteps == 0)
		return psprintf("column \"%s\" shows the whole document",
						column->name);
	/* two steps are added, and "control.min." */
	if (path->nsteps + 2 > MTS_MAX_STEPS ||
		mts_path_dotted(path->steps, path->nsteps, dotted, sizeof(dotted)) +
				sizeof("control.min.") >=
			sizeof(dotted))
		return psprintf("column \"%s\" has a long path", column->name);
	return NULL;
}

/* Tell whether the time of a table is the date in the timeField. */
static bool
has_its_time(const MtsTable *table, const MtsNative *native)
{
	const MtsColumn *time = mts_layout_time_column(&table->layout);

	return time && time->path.nsteps == 1 &&
		   is_named(&time->path.steps[0], native->time) &&
		   time->format.kind == MTS_FORMAT_DATE;
}

/* Return why a table cannot be rewritten to buckets, or NULL. */
static const char *
find_problem(const MtsTable *table, const MtsNative *native)
{
	if (!table->native_buckets)
		return "option \"native_buckets\" is \"off\"";
	if (table->filter)
		return "option \"filter\" is set";
	if (!has_its_time(table, native))
		return psprintf("the time is not the date in field \"%s\"",
						mts_document_text(native->time));
	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		const char *problem =
			table->attributes[i].dropped
				? NULL
				: find_column_problem(&table->layout.columns[i]);

		if (problem)
			return problem;
	}
	return NULL;
}

/* Tell whether control.min and control.max are in PostgreSQL's order. */
static bool
has_extremes(const MtsAttribute *attribute, const MtsNative *native)
{
	return mts_type_has_extremes(attribute->typid, attribute->key_type) &&
		   (!native->has_collation || !mts_type_is_text(attribute->typid));
}

/* Turn a column of the points into one of the buckets. */
static void
rewrite_column(MtsColumn *column, bool has_extremes, const MtsNative *native)
{
	MtsPath *path = &column->path;
	MtsStep name = path->steps[0];

	if (*native->meta && is_named(&name, native->meta))
	{
		path->steps[0] = name_step("meta");
		return;
	}
	if (has_extremes && path->nsteps == 1)
	{
		column->min = control_field("min", &name);
		column->max = control_field("max", &name);
	}
	memmove(path->steps + 3, path->steps + 1,
			(path->nsteps - 1) * sizeof(MtsStep));
	path->steps[0] = name_step("data");
	path->steps[1] = name;
	path->steps[2] = (MtsStep){.kind = MTS_STEP_ELEMENT};
	path->nsteps += 2;
	path->nslots = 1;
	if (column->role == MTS_ROLE_ATTRIBUTE)
		column->role = MTS_ROLE_VALUE;
}

/* Make the table of the buckets of a table of the points. */
static const MtsTable *
rewrite(const MtsTable *points, const MtsNative *native)
{
	MtsTable *table = mts_table_copy(points);
	MtsLayout *layout = &table->layout;
	MtsStep time = mts_layout_time_column(layout)->path.steps[0];
	MtsError error;

	table->native = native;
	table->collection = buckets_of(points, native->is_raw);
	table->other_buckets = buckets_of(points, !native->is_raw);
	for (int i = 0; i < layout->ncolumns; i++)
		if (!table->attributes[i].dropped)
			rewrite_column(&layout->columns[i],
						   i != layout->time_column &&
							   has_extremes(&table->attributes[i], native),
						   native);
	layout->span = (MtsSpan){0};
	layout->first = control_field("min", &time);
	layout->last = control_field("max", &time);
	layout->count = control_field("count", NULL);
	layout->version = control_field("version", NULL);
	layout->reach = (MtsSpan){.usecs = native->reach * MTS_SECOND};
	layout->ids_are_ordered = native->ids_are_ordered;
	layout->time_is_date = true;
	if (!mts_layout_build(layout, &error))
		elog(ERROR, "native buckets have no layout: %s", error.detail);
	return table;
}

/* ---- Tables ------------------------------------------------------------- */

/*
 * Return what the session knows of a table's collection; NULL if it is not a
 * native one.  *is_silent tells whether the server should not be asked now.
 */
static MtsKnown *
find_known(const MtsTable *table, Oid userid, bool *is_silent)
{
	MtsKnown *known;

	if (table->layout.nslots > 0 || table->rolling_name)
		return NULL;
	*is_silent = mts_known_server_is_silent(table->serverid, userid);
	known = mts_known_collection(table->serverid, userid, table->database,
								 table->collection);
	return known->is_ordinary ? NULL : known;
}

/*
 * Ask the server about the collection of a declared table.  NULL if its
 * buckets are not read, with the reason in *problem if it may be native, and
 * whether it is, and the table's time is its own, in *time_is_date.
 */
static MtsNative *
find_native(const MtsTable *table, Oid userid, bool is_optional,
			const char **problem, bool *time_is_date)
{
	Question question = {table, userid, is_optional};
	bool is_silent;
	MtsKnown *known = find_known(table, userid, &is_silent);
	MtsNative *native;

	*problem = NULL;
	*time_is_date = false;
	if (!known)
		return NULL;
	if (is_optional && is_silent)
	{
		*problem = NO_ANSWER;
		return NULL;
	}
	native = ask_collection(&question, &known->is_ordinary, problem);
	if (!native)
		return NULL;
	*time_is_date = has_its_time(table, native);
	*problem = find_problem(table, native);
	if (!*problem)
		*problem = probe_buckets(&question, native);
	return *problem ? NULL : native;
}

/* Return a table as it is declared, and why its buckets are not read. */
static const MtsTable *
by_view(const MtsTable *table, const char *problem, bool time_is_date)
{
	MtsTable *copy;

	if (!problem)
		return table;
	copy = mts_table_copy(table);
	copy->native_problem = problem;
	copy->layout.time_is_date = time_is_date;
	return copy;
}

static const MtsTable *
open_table(Relation relation, Oid userid, bool is_optional)
{
	const MtsTable *table = mts_table_open(relation);
	const char *problem;
	bool time_is_date;
	MtsNative *native =
		find_native(table, userid, is_optional, &problem, &time_is_date);

	return native ? rewrite(table, native)
				  : by_view(table, problem, time_is_date);
}

/*
 * mts_native_open
 *		Open a table to read it, by the buckets of its collection if that is
 *		native.
 *
 * Otherwise the table is as it is declared, and has the reason in
 * native_problem if the collection is native, or may be.
 */
const MtsTable *
mts_native_open(Relation relation, Oid userid)
{
	return open_table(relation, userid, false);
}

/*
 * mts_native_try_open
 *		Open a table as mts_native_open() does, without waiting for long.
 *
 * If the server does not answer soon, the table is as it is declared.
 */
const MtsTable *
mts_native_try_open(Relation relation, Oid userid)
{
	return open_table(relation, userid, true);
}

/*
 * mts_native_describe
 *		Return the description of a table's collection if that is native, even
 *		if the table does not read its buckets; otherwise NULL.
 */
MtsNative *
mts_native_describe(const MtsTable *table, Oid userid)
{
	Question question = {table, userid, false};
	bool is_silent;
	MtsKnown *known = find_known(table, userid, &is_silent);
	const char *problem;

	return known ? ask_collection(&question, &known->is_ordinary, &problem)
				 : NULL;
}

/*
 * mts_native_known
 *		Return what the session knows of the collection that a table reads.
 *
 * The result is that of mts_known_collection().
 */
MtsKnown *
mts_native_known(const MtsTable *table, Oid userid)
{
	/* the buckets, unlike the points, are at a name with a $, which no
	 * collection has */
	return mts_known_collection(table->serverid, userid, table->database,
								mts_native_is_raw(table)
									? psprintf("%s$", table->collection)
									: table->collection);
}

/* ---- Plans -------------------------------------------------------------- */

/*
 * mts_native_to_plan
 *		Return what a plan must know of a collection that is or may be native;
 *		NIL for others.
 *
 * It is a list of a serial number, and of the members of MtsNative or, if the
 * buckets are not read, of the reason and of the layout's time_is_date.
 */
List *
mts_native_to_plan(const MtsTable *table)
{
	const MtsNative *native = table->native;
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (!native && !table->native_problem)
		return NIL;
	if (planning_statement != statement)
		memset(planned, 0, sizeof(planned));
	planning_statement = statement;
	last_serial = last_serial % PG_INT32_MAX + 1;
	planned[last_serial % lengthof(planned)] = last_serial;
	if (!native)
		return list_make3(makeInteger(last_serial),
						  makeString(pstrdup(table->native_problem)),
						  makeBoolean(table->layout.time_is_date));
	return list_make5(makeInteger(last_serial),
					  makeString(pstrdup(native->time)),
					  makeString(pstrdup(native->meta)),
					  makeInteger((int) native->reach),
					  list_make3(makeBoolean(native->ids_are_ordered),
								 makeBoolean(native->has_collation),
								 makeBoolean(native->is_raw)));
}

/* Read the members from a plan; NULL if it reads no buckets. */
static MtsNative *
from_plan(List *plan)
{
	MtsNative *native;
	List *flags;

	if (list_length(plan) == 3)
		return NULL;
	native = palloc(sizeof(MtsNative));
	native->time = strVal(lsecond(plan));
	native->meta = strVal(lthird(plan));
	native->reach = intVal(lfourth(plan));
	flags = list_nth(plan, 4);
	native->ids_are_ordered = boolVal(linitial(flags));
	native->has_collation = boolVal(lsecond(flags));
	native->is_raw = boolVal(lthird(flags));
	return native;
}

/* Tell whether a plan was made for this execution. */
static bool
is_first_execution(List *plan)
{
	int serial = intVal(linitial(plan));
	int *entry = &planned[serial % lengthof(planned)];

	if (*entry != serial ||
		planning_statement != GetCurrentStatementStartTimestamp())
		return false;
	*entry = 0;
	return true;
}

/*
 * Describe the collection whose buckets a plan reads anew.
 *
 * An error if they cannot be read any more, unless the plan is only explained.
 */
static MtsNative *
describe_again(const MtsTable *table, Oid userid, MtsNative *native,
			   bool is_executed)
{
	const char *problem;
	bool time_is_date;
	MtsNative *now =
		find_native(table, userid, !is_executed, &problem, &time_is_date);

	if (now && strcmp(now->time, native->time) == 0 &&
		strcmp(now->meta, native->meta) == 0 &&
		now->has_collation == native->has_collation)
		return now;
	if (!is_executed)
		return native;
	/* those of other sessions find out by themselves */
	ResetPlanCache();
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("the plan reads buckets of MongoDB collection "
					"\"%s.%s\", which has changed",
					table->database, table->collection),
			 errdetail(
				 "%s",
				 problem
					 ? psprintf("Now the view is read: %s.", problem)
					 : "It is not the same time-series collection any more."),
			 errhint("Run the statement again.")));
	return NULL;
}

/*
 * mts_native_open_planned
 *		Open a table to execute a plan, or only to explain it.
 *
 * An error if buckets cannot be read any more that the plan is to read.  If
 * they can be read now, and could not when the plan was made, the next
 * execution has another plan.
 */
const MtsTable *
mts_native_open_planned(Relation relation, Oid userid, List *plan,
						bool is_executed)
{
	const MtsTable *table = mts_table_open(relation);
	MtsNative *native;
	bool is_first, was_date, is_date;
	const char *problem;

	if (plan == NIL)
		return table;
	is_first = is_first_execution(plan);
	native = from_plan(plan);
	if (native)
		return rewrite(table, is_first ? native
									   : describe_again(table, userid, native,
														is_executed));
	was_date = is_date = boolVal(lthird(plan));
	if (!is_first && is_executed && !IsParallelWorker() &&
		find_native(table, userid, true, &problem, &is_date))
		ResetPlanCache();
	return by_view(table, strVal(lsecond(plan)), was_date && is_date);
}

/* ---- Changes ------------------------------------------------------------ */

/*
 * mts_native_check_change
 *		Raise an error if UPDATE or DELETE would change a native collection:
 *		MongoDB updates no points, and removes single ones only since 7.0.
 */
void
mts_native_check_change(const MtsTable *table, Oid userid, bool is_update)
{
	bool removes_points;

	if (!mts_native_describe(table, userid))
		return;
	removes_points =
		mts_connection_get(table->serverid, userid)->wire_version >=
		WIRE_VERSION_7_0;
	if (removes_points && !is_update)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot change points of MongoDB collection \"%s.%s\"",
				table->database, table->collection),
		 errdetail("It is a time-series collection. MongoDB updates only the "
				   "metaField of its points%s.",
				   removes_points ? ""
								  : ", and removes single points only since "
									"version 7.0"),
		 removes_points
			 ? errhint("Delete the points, and insert them anew.")
			 : errhint("Remove whole series by their metaField in MongoDB, or "
					   "let expireAfterSeconds remove old points.")));
}
