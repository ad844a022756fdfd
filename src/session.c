/*
 * session.c
 *		SQL functions on this session's connections, and on versions.
 *
 * They show and close only what the session itself has opened, so anyone may
 * call them.  No option of a server or a user mapping is shown.
 */
#include "postgres.h"

#include "fmgr.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "command.h"
#include "connection.h"

PG_FUNCTION_INFO_V1(mongo_ts_connections);
PG_FUNCTION_INFO_V1(mongo_ts_disconnect);
PG_FUNCTION_INFO_V1(mongo_ts_disconnect_all);
PG_FUNCTION_INFO_V1(mongo_ts_version);

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

/* Whose mapping it is, palloc'd; NULL when there is none, or none any more */
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
 * The connections that this session has open.
 */
Datum
mongo_ts_connections(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach (lc, mts_connection_all())
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
		values[IN_USE] = BoolGetDatum(connection->users > 0);
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

/* Close a server's connections, or all of them; true if there was one. */
static bool
disconnect(Oid serverid)
{
	bool closed = false;
	ListCell *lc;

	foreach (lc, mts_connection_all())
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
 * Close this session's connections to a server, but not those in use.
 */
Datum
mongo_ts_disconnect(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(
		disconnect(mts_command_server(NameStr(*PG_GETARG_NAME(0)))->serverid));
}

/* SQL: mongo_ts_disconnect_all() returns boolean */
Datum
mongo_ts_disconnect_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(disconnect(InvalidOid));
}

/* SQL: mongo_ts_version() returns text: what a report of a fault should say */
Datum
mongo_ts_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(
		psprintf("mongo_ts_fdw %s, libmongoc %s, libbson %s, PostgreSQL %s",
				 MTS_VERSION, mongoc_get_version(), bson_get_version(),
				 GetConfigOptionByName("server_version", NULL, false))));
}
