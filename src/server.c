/*
 * server.c
 *		SQL functions on servers: run a command, find documents, suggest a
 *		table, show and close connections.
 *
 * A command, a find and a suggestion require the privilege USAGE on the
 * server.  A command
 * can write, so EXECUTE is revoked from PUBLIC.  Everyone may call the others.
 * They show and close only the session's own connections, and show no option
 * of a server or a user mapping.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_user_mapping.h"
#include "fmgr.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "advice/import/import.h"
#include "compat.h"
#include "driver/command.h"
#include "driver/connection.h"
#include "driver/cursor.h"
#include "driver/document.h"
#include "table/known.h"
#include "table/option.h"
#include "table/table.h"

/* Documents that mongo_ts_find asks for first, when it returns all */
#define FIRST_BATCH 100

PG_FUNCTION_INFO_V1(mongo_ts_command);
PG_FUNCTION_INFO_V1(mongo_ts_find);
PG_FUNCTION_INFO_V1(mongo_ts_suggest);
PG_FUNCTION_INFO_V1(mongo_ts_connections);
PG_FUNCTION_INFO_V1(mongo_ts_disconnect);
PG_FUNCTION_INFO_V1(mongo_ts_disconnect_all);
PG_FUNCTION_INFO_V1(mongo_ts_version);

/* Find a foreign server by name; an error if it is not of this wrapper. */
static ForeignServer *
find_server(const char *name)
{
	ForeignServer *server = GetForeignServerByName(name, false);

	if (!mts_table_server_is_ours(server))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign server of mongo_ts_fdw",
						name)));
	return server;
}

/*
 * Find a foreign server whose database the current user may use, and its
 * database.
 */
static ForeignServer *
find_usable_server(const char *name, const char **database)
{
	ForeignServer *server = find_server(name);
	AclResult allowed = mts_server_aclcheck(server->serverid, GetUserId());

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_SERVER, name);
	*database = mts_option_database(server->options);
	if (!*database)
		ereport(
			ERROR,
			(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
			 errmsg("no database for foreign server \"%s\"", name),
			 errdetail(
				 "It has no option \"database\", and option \"uri\" names "
				 "no database in its path."),
			 errhint(
				 "Use ALTER SERVER %s OPTIONS (ADD database '...') to set it.",
				 quote_identifier(name))));
	return server;
}

/* Read an argument of type json; what says what it is. */
static const bson_t *
read_document(text *json, const char *what)
{
	char *problem;
	const bson_t *doc =
		mts_document_from_json(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json),
							   &problem);

	if (!doc)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the %s is not a document in extended JSON", what),
				 errdetail("%s", problem)));
	return doc;
}

static Datum
jsonb_datum(const bson_t *doc)
{
	return DirectFunctionCall1(jsonb_in,
							   CStringGetDatum(mts_document_json(doc)));
}

/* Commands that change nothing; aggregate does by its stages only. */
static const char *const reading_commands[] = {
	"aggregate",
	"buildInfo",
	"collStats",
	"connPoolStats",
	"connectionStatus",
	"count",
	"currentOp",
	"dataSize",
	"dbHash",
	"dbStats",
	"distinct",
	"explain",
	"features",
	"find",
	"getCmdLineOpts",
	"getLog",
	"getMore",
	"getParameter",
	"hello",
	"hostInfo",
	"isMaster",
	"killCursors",
	"listCollections",
	"listCommands",
	"listDatabases",
	"listIndexes",
	"ping",
	"replSetGetStatus",
	"rolesInfo",
	"serverStatus",
	"top",
	"usersInfo",
	"whatsmyuri",
};

/* Tell whether an array of stages has one that writes a collection. */
static bool
has_writing_stage(const bson_t *command)
{
	bson_iter_t iter, stages, stage;

	if (!bson_iter_init_find(&iter, command, "pipeline") ||
		!bson_iter_recurse(&iter, &stages))
		return false;
	while (bson_iter_next(&stages))
		if (bson_iter_recurse(&stages, &stage))
			while (bson_iter_next(&stage))
				if (strcmp(bson_iter_key(&stage), "$out") == 0 ||
					strcmp(bson_iter_key(&stage), "$merge") == 0)
					return true;
	return false;
}

/* Return the name of a command. */
static const char *
name_of(const bson_t *command)
{
	bson_iter_t iter;

	return bson_iter_init(&iter, command) && bson_iter_next(&iter)
			   ? bson_iter_key(&iter)
			   : "";
}

/* Tell whether a command changes nothing. */
static bool
only_reads(const bson_t *command)
{
	const char *name = name_of(command);

	for (int i = 0; i < (int) lengthof(reading_commands); i++)
		if (strcmp(name, reading_commands[i]) == 0)
			return !has_writing_stage(command);
	return false;
}

/*
 * SQL: mongo_ts_command(server name, command json) returns jsonb
 *
 * Run a command on the server's database with the caller's user mapping.  The
 * command is json, because jsonb loses the order of its keys.  MongoDB reads
 * the first key as the command's name.
 */
Datum
mongo_ts_command(PG_FUNCTION_ARGS)
{
	const char *database;
	ForeignServer *server =
		find_usable_server(NameStr(*PG_GETARG_NAME(0)), &database);
	const bson_t *command = read_document(PG_GETARG_TEXT_PP(1), "command");
	bool may_write = !only_reads(command);

	if (may_write)
	{
		PreventCommandIfReadOnly(
			psprintf("MongoDB command \"%s\"",
					 mts_document_text(name_of(command))));
		mts_known_forget_indexes(server->serverid);
	}
	PG_RETURN_DATUM(jsonb_datum(
		mts_command_run(mts_connection_get(server->serverid, GetUserId()),
						database,
						psprintf("could not run a command on MongoDB "
								 "database \"%s\"",
								 database),
						command, may_write)));
}

/* ---- Documents ---------------------------------------------------------- */

/* A call of mongo_ts_find, in the memory context of the call */
typedef struct Documents
{
	const char *database;
	const char *collection;
	MtsCursor *cursor;
	const bson_t *current;
} Documents;

/* Begin a call; returns NULL if an argument is null that may not be. */
static Documents *
begin_documents(FunctionCallInfo fcinfo)
{
	bool has_limit = !PG_ARGISNULL(3);
	int limit = has_limit ? PG_GETARG_INT32(3) : 0;
	ForeignServer *server;
	Documents *documents;
	int fetch_size;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return NULL;
	if (has_limit && limit <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("max_documents must be greater than zero"),
						errhint("Use NULL to get all documents.")));
	documents = palloc0(sizeof(Documents));
	server =
		find_usable_server(NameStr(*PG_GETARG_NAME(0)), &documents->database);
	documents->collection = text_to_cstring(PG_GETARG_TEXT_PP(1));
	fetch_size = mts_option_get_int(server->options, "fetch_size",
									MTS_DEFAULT_FETCH_SIZE);
	documents->cursor = mts_cursor_find(
		mts_connection_get(server->serverid, GetUserId()), documents->database,
		documents->collection,
		&(MtsFind){.filter = read_document(PG_GETARG_TEXT_PP(2), "filter"),
				   .first_batch =
					   Min(has_limit ? limit : FIRST_BATCH, fetch_size),
				   .fetch_size = fetch_size,
				   .limit = limit});
	return documents;
}

/* Error context: the document that is converted */
static void
describe_document(void *arg)
{
	const Documents *documents = arg;

	errcontext("MongoDB collection \"%s.%s\", _id %s", documents->database,
			   documents->collection,
			   mts_document_id_shell(documents->current));
}

static Datum
convert_document(Documents *documents)
{
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_document,
									 .arg = documents};
	Datum result;

	error_context_stack = &callback;
	result = jsonb_datum(documents->current);
	error_context_stack = callback.previous;
	return result;
}

/*
 * SQL: mongo_ts_find(server name, collection text, filter json,
 *					  max_documents integer) returns setof jsonb
 *
 * Return the documents of a collection of the server's database that match a
 * filter, or only the first ones.  A find command writes nothing, so everyone
 * may call this who may declare tables on the server.
 */
Datum
mongo_ts_find(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	Documents *documents;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		call->user_fctx = begin_documents(fcinfo);
		MemoryContextSwitchTo(old);
	}
	call = SRF_PERCALL_SETUP();
	documents = call->user_fctx;
	if (!documents ||
		!(documents->current = mts_cursor_next(documents->cursor)))
		SRF_RETURN_DONE(call); /* which closes the cursor */
	SRF_RETURN_NEXT(call, convert_document(documents));
}

/* ---- Tables ------------------------------------------------------------- */

/*
 * SQL: mongo_ts_suggest(server name, collection text) returns text
 *
 * Return the statements by which IMPORT FOREIGN SCHEMA would create the tables
 * of a collection of the server's database.
 */
Datum
mongo_ts_suggest(PG_FUNCTION_ARGS)
{
	const char *database;
	ForeignServer *server =
		find_usable_server(NameStr(*PG_GETARG_NAME(0)), &database);
	char *collection = text_to_cstring(PG_GETARG_TEXT_PP(1));

	PG_RETURN_TEXT_P(
		cstring_to_text(mts_import_suggest(server, database, collection)));
}

/* ---- Connections -------------------------------------------------------- */

/* The columns of mongo_ts_connections() */
enum
{
	SERVER_NAME,
	USER_NAME,
	VALID,
	IN_USE,
	ROUND_TRIPS,
	NCOLUMNS
};

/* Return the user of a mapping, palloc'd, or NULL if it does not exist. */
static char *
mapping_user(Oid mappingid)
{
	HeapTuple tuple =
		SearchSysCache1(USERMAPPINGOID, ObjectIdGetDatum(mappingid));
	Oid userid;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	userid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umuser;
	ReleaseSysCache(tuple);
	return OidIsValid(userid) ? GetUserNameFromId(userid, true)
							  : pstrdup("public");
}

static Datum
name_datum(const char *name, bool *isnull)
{
	*isnull = name == NULL;
	return *isnull ? (Datum) 0
				   : DirectFunctionCall1(namein, CStringGetDatum(name));
}

/*
 * SQL: mongo_ts_connections() returns setof record
 *
 * Show the connections that this session has open.
 */
Datum
mongo_ts_connections(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach (lc, mts_connection_list())
	{
		const MtsConnection *connection = lfirst(lc);
		const ForeignServer *server =
			GetForeignServerExtended(connection->serverid, FSV_MISSING_OK);
		Datum values[NCOLUMNS];
		bool nulls[NCOLUMNS] = {false};

		values[SERVER_NAME] = name_datum(server ? server->servername : NULL,
										 &nulls[SERVER_NAME]);
		values[USER_NAME] =
			name_datum(mapping_user(connection->mappingid), &nulls[USER_NAME]);
		values[VALID] = BoolGetDatum(!connection->invalid);
		values[IN_USE] = BoolGetDatum(connection->pins > 0);
		values[ROUND_TRIPS] = Int64GetDatum(connection->round_trips);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	PG_RETURN_VOID();
}

static void
warn_in_use(const MtsConnection *connection)
{
	const ForeignServer *server =
		GetForeignServerExtended(connection->serverid, FSV_MISSING_OK);

	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 server ? errmsg("cannot close a connection to foreign server "
							 "\"%s\" because it is in use",
							 server->servername)
					: errmsg("cannot close a connection to a dropped foreign "
							 "server because it is in use")));
}

/*
 * Close a server's connections, or all of them if serverid is InvalidOid.
 * Returns true if one was closed.
 */
static bool
disconnect(Oid serverid)
{
	bool closed = false;
	ListCell *lc;

	foreach (lc, mts_connection_list())
	{
		MtsConnection *connection = lfirst(lc);

		if (OidIsValid(serverid) && connection->serverid != serverid)
			continue;
		if (mts_connection_close(connection))
			closed = true;
		else
			warn_in_use(connection);
	}
	return closed;
}

/*
 * SQL: mongo_ts_disconnect(server name) returns boolean
 *
 * Close this session's connections to a server, except those in use.
 */
Datum
mongo_ts_disconnect(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(
		disconnect(find_server(NameStr(*PG_GETARG_NAME(0)))->serverid));
}

/* SQL: mongo_ts_disconnect_all() returns boolean */
Datum
mongo_ts_disconnect_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(disconnect(InvalidOid));
}

/* SQL: mongo_ts_version() returns text, for bug reports */
Datum
mongo_ts_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(
		psprintf("mongo_ts_fdw %s, libmongoc %s, libbson %s, PostgreSQL %s",
				 MTS_VERSION, mongoc_get_version(), bson_get_version(),
				 GetConfigOptionByName("server_version", NULL, false))));
}
