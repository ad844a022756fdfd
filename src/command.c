/*
 * command.c
 *		SQL functions around the wrapper: run a database command.
 */
#include "postgres.h"

#include "fmgr.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "command.h"
#include "compat.h"
#include "document.h"
#include "option.h"
#include "remote.h"

PG_FUNCTION_INFO_V1(mongo_ts_command);

extern Datum mongo_ts_fdw_handler(PG_FUNCTION_ARGS);

/* Is our handler that of the server's wrapper, whatever its name? */
bool
mts_command_is_ours(const ForeignServer *server)
{
	Oid handler = GetForeignDataWrapper(server->fdwid)->fdwhandler;
	FmgrInfo info;

	if (!OidIsValid(handler))
		return false;
	fmgr_info(handler, &info);
	return info.fn_addr == mongo_ts_fdw_handler;
}

/*
 * mts_command_server
 *		The foreign server of that name; an error when it is none of ours.
 */
ForeignServer *
mts_command_server(const char *name)
{
	ForeignServer *server = GetForeignServerByName(name, false);

	if (!mts_command_is_ours(server))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign server of mongo_ts_fdw",
						name)));
	return server;
}

/*
 * SQL: mongo_ts_command(server name, command json) returns jsonb
 *
 * Run a command on the server's database with the caller's user mapping.  The
 * command is json, since jsonb loses the order of its keys: MongoDB takes the
 * first one as the command's name.
 */
Datum
mongo_ts_command(PG_FUNCTION_ARGS)
{
	const char *name = NameStr(*PG_GETARG_NAME(0));
	text *json = PG_GETARG_TEXT_PP(1);
	ForeignServer *server = mts_command_server(name);
	const char *database = mts_option_get(server->options, "database");
	char *problem;
	bson_t *command;
	const bson_t *reply;
	AclResult allowed = mts_server_aclcheck(server->serverid, GetUserId());

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FOREIGN_SERVER, name);
	if (!database)
		ereport(
			ERROR,
			(errcode(ERRCODE_FDW_OPTION_NAME_NOT_FOUND),
			 errmsg("foreign server \"%s\" has no option \"database\"", name),
			 errdetail("A command runs on the database of the server."),
			 errhint(
				 "Use ALTER SERVER %s OPTIONS (ADD database '...') to set it.",
				 quote_identifier(name))));
	command = mts_document_from_json(VARDATA_ANY(json),
									 VARSIZE_ANY_EXHDR(json), &problem);
	if (!command)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the command is not a document in extended JSON"),
				 errdetail("%s", problem)));
	reply =
		mts_remote_command(mts_connection_get(server->serverid, GetUserId()),
						   database,
						   psprintf("could not run a command on MongoDB "
									"database \"%s\"",
									database),
						   command, MTS_RUN_ONCE);
	PG_RETURN_DATUM(
		DirectFunctionCall1(jsonb_in,
							CStringGetDatum(mts_document_json(reply))));
}
