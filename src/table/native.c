/*
 * native.c
 *		Read native time-series collections by their buckets.
 *
 * A native collection NAME is a view, which has a document for each point.
 * Its buckets are the documents of system.buckets.NAME.  A table declares the
 * points as the view shows them, with a document for each.  To read them, it
 * is rewritten to the layout of the buckets, unless something about it or the
 * rights of the user require the view.  Rows are always written to the view.
 *
 * The server is asked whether a collection is native, and how long its buckets
 * may be, for each plan and for each execution of a plan, since collections
 * are dropped, and their buckets can be made longer.  A plan holds the answer
 * from which it was made, which serves its first execution in the same
 * statement, too.  An ordinary collection is remembered for the session: to
 * read it as it is declared is always right.
 */
#include "table/native.h"

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

/*
 * The seconds of 2000 and of 2038.  Where all _ids lie between them, no _id is
 * taken to have wrapped around, which dates before 1970 and after 2106 do.
 */
#define FIRST_SECOND "386d4380"
#define END_SECOND "80000000"

/* The version of the wire protocol of MongoDB 7.0, which changes points */
#define WIRE_VERSION_7_0 21

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
 * Ask what a collection is; NULL unless it is a native one with buckets of its
 * own.  *is_ordinary tells whether the collection exists and is not native.
 */
static MtsNative *
ask_collection(const Question *question, bool *is_ordinary)
{
	const char *name = mts_document_utf8(question->table->collection);
	const char *buckets = psprintf(BUCKETS "%s", name);
	bson_iter_t iter, batch, member;
	MtsNative *native = NULL;
	bool has_buckets = false;
	const bson_t *reply;
	uint32 code;

	reply = ask(question,
				mts_document_make("{listCollections: 1, "
								  "filter: {name: {$in: [%s, %s]}}}",
								  name, buckets),
				MTS_FROM_PRIMARY, &code);
	*is_ordinary = false;
	if (!reply || !bson_iter_init(&iter, reply) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) ||
		!bson_iter_recurse(&batch, &member))
		return NULL;
	while (bson_iter_next(&member))
	{
		bson_t doc, options;
		bson_iter_t series;
		const char *found;

		if (!mts_document_view(&member, &doc))
			continue;
		found = mts_document_string(&doc, "name");
		if (found && strcmp(found, buckets) == 0)
			has_buckets = true;
		else if (bson_iter_init(&iter, &doc) &&
				 bson_iter_find_descendant(&iter, "options.timeseries",
										   &series) &&
				 mts_document_view(&series, &options))
		{
			native = describe(&options);
			native->has_collation =
				bson_iter_init(&iter, &doc) &&
				bson_iter_find_descendant(&iter, "options.collation", &series);
		}
		else
			*is_ordinary = true;
	}
	return has_buckets ? native : NULL;
}

/*
 * Look for a bucket whose _id may have wrapped around, which sets
 * ids_are_ordered.  Returns why the buckets cannot be read, or NULL.
 */
static const char *
probe_buckets(const Question *question, MtsNative *native)
{
	char *buckets =
		psprintf(BUCKETS "%s", mts_document_utf8(question->table->collection));
	bson_t *command = mts_document_new();
	bson_value_t first = {.value_type = BSON_TYPE_OID};
	bson_value_t end = first;
	bson_iter_t iter, batch, member;
	const bson_t *reply;
	uint32 code;

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
	reply = ask(question, command, MTS_FROM_PREFERRED, &code);
	if (!reply)
		return code == MTS_CODE_UNAUTHORIZED
				   ? psprintf("no privilege to read \"%s\"", buckets)
			   : code != 0
				   ? psprintf("MongoDB refuses to read \"%s\"", buckets)
				   : "MongoDB did not answer";
	native->ids_are_ordered =
		bson_iter_init(&iter, reply) &&
		bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) &&
		bson_iter_recurse(&batch, &member) && !bson_iter_next(&member);
	return NULL;
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

/* Return why a table cannot be rewritten to buckets, or NULL. */
static const char *
find_problem(const MtsTable *table, const MtsNative *native)
{
	const MtsColumn *time = mts_layout_time_column(&table->layout);

	if (table->filter)
		return "option \"filter\" is set";
	if (!time || time->path.nsteps != 1 ||
		!is_named(&time->path.steps[0], native->time) ||
		time->format.kind != MTS_FORMAT_DATE)
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
	MtsColumn *columns = palloc(layout->ncolumns * sizeof(MtsColumn));
	MtsError error;

	memcpy(columns, layout->columns, layout->ncolumns * sizeof(MtsColumn));
	layout->columns = columns;
	layout->containers = palloc(layout->ncolumns * sizeof(MtsContainer));

	table->native = native;
	table->collection = psprintf(BUCKETS "%s", table->collection);
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
 * buckets cannot be read, with the reason in *problem if it is native.
 */
static MtsNative *
find_native(const MtsTable *table, Oid userid, bool is_optional,
			const char **problem)
{
	Question question = {table, userid, is_optional};
	MtsKnown *known;
	MtsNative *native;
	bool is_silent;

	*problem = NULL;
	if (!table->native_buckets)
		return NULL;
	known = find_known(table, userid, &is_silent);
	if (!known || (is_optional && is_silent))
		return NULL;
	native = ask_collection(&question, &known->is_ordinary);
	if (!native)
		return NULL;
	*problem = find_problem(table, native);
	if (!*problem)
		*problem = probe_buckets(&question, native);
	return *problem ? NULL : native;
}

static const MtsTable *
open_table(Relation relation, Oid userid, bool is_optional)
{
	const MtsTable *table = mts_table_open(relation);
	const char *problem;
	MtsNative *native = find_native(table, userid, is_optional, &problem);
	MtsTable *by_view;

	if (native)
		return rewrite(table, native);
	if (!problem)
		return table;
	by_view = mts_table_copy(table);
	by_view->native_problem = problem;
	return by_view;
}

/*
 * mts_native_open
 *		Open a table to read it, by the buckets of its collection if that is
 *		native.
 *
 * Otherwise the table is as it is declared, and has the reason in
 * native_problem if the collection is native.
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

	return known ? ask_collection(&question, &known->is_ordinary) : NULL;
}

/* ---- Plans -------------------------------------------------------------- */

/*
 * mts_native_to_plan
 *		Return what a plan must know of the buckets that it reads; NIL if it
 *		reads documents as the table declares them.
 *
 * It is a list of the members of MtsNative.
 */
List *
mts_native_to_plan(const MtsTable *table)
{
	const MtsNative *native = table->native;
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (!native)
		return NIL;
	if (planning_statement != statement)
		memset(planned, 0, sizeof(planned));
	planning_statement = statement;
	last_serial = last_serial % PG_INT32_MAX + 1;
	planned[last_serial % lengthof(planned)] = last_serial;
	return list_make5(makeInteger(last_serial),
					  makeString(pstrdup(native->time)),
					  makeString(pstrdup(native->meta)),
					  makeInteger((int) native->reach),
					  list_make2(makeBoolean(native->ids_are_ordered),
								 makeBoolean(native->has_collation)));
}

static MtsNative *
from_plan(List *plan)
{
	MtsNative *native = palloc(sizeof(MtsNative));

	native->serial = intVal(linitial(plan));
	native->time = strVal(lsecond(plan));
	native->meta = strVal(lthird(plan));
	native->reach = intVal(lfourth(plan));
	native->ids_are_ordered = boolVal(linitial(list_nth(plan, 4)));
	native->has_collation = boolVal(lsecond(list_nth(plan, 4)));
	return native;
}

/* Tell whether a plan was made for this execution. */
static bool
is_first_execution(const MtsNative *native)
{
	int *entry = &planned[native->serial % lengthof(planned)];

	if (*entry != native->serial ||
		planning_statement != GetCurrentStatementStartTimestamp())
		return false;
	*entry = 0;
	return true;
}

/*
 * mts_native_open_planned
 *		Open a table to execute a plan, or only to explain it.
 *
 * An error if buckets cannot be read any more that the plan is to read.
 */
const MtsTable *
mts_native_open_planned(Relation relation, Oid userid, List *plan,
						bool is_executed)
{
	const MtsTable *table = mts_table_open(relation);
	const char *problem;
	MtsNative *native;

	if (plan == NIL)
		return table;
	native = from_plan(plan);
	if (!is_first_execution(native))
	{
		MtsNative *now = find_native(table, userid, !is_executed, &problem);
		bool is_same = now && strcmp(now->time, native->time) == 0 &&
					   strcmp(now->meta, native->meta) == 0 &&
					   now->has_collation == native->has_collation;

		if (is_same)
			native = now;
		else if (is_executed)
		{
			/* those of other sessions find out by themselves */
			ResetPlanCache();
			ereport(
				ERROR,
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
		}
	}
	return rewrite(table, native);
}

/* ---- Changes ------------------------------------------------------------ */

/*
 * mts_native_check_change
 *		Raise an error if UPDATE or DELETE would change a native collection of
 *		a server that cannot change single points.
 */
void
mts_native_check_change(const MtsTable *table, Oid userid)
{
	Question question = {table, userid, false};
	const bson_t *hello;
	uint32 code;

	if (!mts_native_describe(table, userid))
		return;
	hello = ask(&question, mts_document_make("{hello: 1}"), MTS_FROM_PRIMARY,
				&code);
	if (!hello ||
		mts_document_number(hello, "maxWireVersion") >= WIRE_VERSION_7_0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change points of MongoDB collection \"%s.%s\"",
					table->database, table->collection),
			 errdetail("It is a time-series collection, whose points MongoDB "
					   "changes only since version 7.0."),
			 errhint("Remove whole series by their metaField in MongoDB, or "
					 "let expireAfterSeconds remove old points.")));
}
