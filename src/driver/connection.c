/*
 * connection.c
 *		Cache libmongoc's clients: one per foreign server and user mapping.
 *
 * A client connects when it is first used.  It is dropped when its server or
 * user mapping has changed, or at the end of the transaction without
 * keep_connections, as soon as no cursor uses it; whoever asks in the meantime
 * gets a new one.
 */
#include "driver/connection.h"

#include "access/xact.h"
#include "catalog/pg_user_mapping.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "driver/document.h"
#include "driver/report.h"
#include "driver/uri.h"
#include "table/option.h"

char mts_connection_warning[256];

static List *connections = NIL; /* oldest first, in TopMemoryContext */

/* Takes libmongoc's log: a mongoc_log_func_t. */
static void
take_log(mongoc_log_level_t level, const char *domain, const char *message,
		 void *arg)
{
	ErrorContextCallback *callbacks = error_context_stack;

	strlcpy(mts_connection_warning, message, sizeof(mts_connection_warning));
	/* their errors, and interrupts, would jump through libmongoc's frames */
	error_context_stack = NULL;
	HOLD_INTERRUPTS();
	elog(DEBUG1, "%s: %s", domain, message);
	RESUME_INTERRUPTS();
	error_context_stack = callbacks;
}

static void
count_command(const mongoc_apm_command_started_t *event)
{
	MtsConnection *connection = mongoc_apm_command_started_get_context(event);

	connection->round_trips++;
}

/*
 * mts_connection_begin_close
 *		Begin to close a cursor, or the connection.
 *
 * Transactions end with interrupts held off, so there is a deadline.  Once it
 * has passed, libmongoc refuses to connect for what is still to be closed.
 */
void
mts_connection_begin_close(MtsConnection *connection)
{
	connection->wait.deadline = bson_get_monotonic_time() + MTS_CLOSE_TIME;
}

/*
 * mts_connection_end_close
 *		End to close a cursor: what comes next may be waited for again.
 */
void
mts_connection_end_close(MtsConnection *connection)
{
	if (mts_stream_wait_is_over(&connection->wait))
		connection->invalid = true;
	connection->wait.deadline = 0;
	mts_stream_wait_begin(&connection->wait);
}

static void
close_connection(MtsConnection *connection)
{
	connections = list_delete_ptr(connections, connection);
	mts_connection_begin_close(connection);
	if (connection->session)
		mongoc_client_session_destroy(connection->session);
	if (connection->client)
		mongoc_client_destroy(connection->client);
	pfree(connection);
}

static void
close_invalid(void)
{
	for (int i = list_length(connections) - 1; i >= 0; i--)
	{
		MtsConnection *connection = list_nth(connections, i);

		if (connection->invalid && connection->users == 0)
			close_connection(connection);
	}
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	ListCell *lc;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	foreach (lc, connections)
	{
		MtsConnection *connection = lfirst(lc);

		/* an aborted function's cursors go later, with its memory */
		if (!connection->keep)
			connection->invalid = true;
	}
	close_invalid();
}

/* A server or a user mapping has changed; hash 0 means all of them. */
static void
invalidate(Datum arg, int cacheid, uint32 hash)
{
	ListCell *lc;

	foreach (lc, connections)
	{
		MtsConnection *connection = lfirst(lc);

		if (hash == 0 ||
			hash == (cacheid == FOREIGNSERVEROID ? connection->server_hash
												 : connection->mapping_hash))
			connection->invalid = true;
	}
}

/*
 * mts_connection_init
 *		Prepare the cache; called once, when the library is loaded.
 */
void
mts_connection_init(void)
{
	mongoc_init();
	mongoc_log_set_handler(take_log, NULL);
	RegisterXactCallback(at_transaction_end, NULL);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, invalidate, (Datum) 0);
}

/* The user's mapping or PUBLIC's; InvalidOid when there is none */
static Oid
find_mapping(Oid serverid, Oid userid)
{
	Oid mappingid =
		GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
						ObjectIdGetDatum(userid), ObjectIdGetDatum(serverid));

	if (OidIsValid(mappingid))
		return mappingid;
	return GetSysCacheOid2(USERMAPPINGUSERSERVER, Anum_pg_user_mapping_oid,
						   ObjectIdGetDatum(InvalidOid),
						   ObjectIdGetDatum(serverid));
}

/* In UTF-8; NULL when there is none */
static const char *
credential(List *mapping, const char *name)
{
	const char *value = mts_option_get(mapping, name);

	return value ? mts_document_utf8(value) : NULL;
}

/* Half of the credentials is an error; libmongoc rests on both being there. */
static mongoc_uri_t *
make_uri(ForeignServer *server, List *mapping)
{
	const char *text = mts_option_get(server->options, "uri");
	const char *username = credential(mapping, "username");
	const char *password = credential(mapping, "password");
	mongoc_uri_t *uri = NULL;

	if (username || !password)
		uri = mts_uri_parse(text ? text : MTS_DEFAULT_URI, username, password);
	if (uri && username && !password && mts_uri_needs_password(uri))
	{
		mongoc_uri_destroy(uri);
		uri = NULL;
	}
	if (!uri)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
			 errmsg("cannot log in to foreign server \"%s\" with the user "
					"mapping",
					server->servername),
			 errdetail("The user mapping has %s user name and %s password, "
					   "which does not fit option \"uri\".",
					   username ? "a" : "no", password ? "a" : "no")));

	/* attempt.c tries again: libmongoc's sleep would be deaf to interrupts */
	mongoc_uri_set_option_as_bool(uri, MONGOC_URI_SERVERSELECTIONTRYONCE,
								  true);
	return uri;
}

/*
 * Have writes acknowledged by the majority of the members, from their journals,
 * unless the URI names a number of them or a tag: then they survive a crash and
 * an election.  (The majority alone stands for the journal only since MongoDB
 * 5.0.)  A write that nobody acknowledges could be lost without a word, so w=0
 * means 1.
 */
static void
set_write_concern(mongoc_client_t *client, const mongoc_uri_t *uri)
{
	const mongoc_write_concern_t *named = mongoc_uri_get_write_concern(uri);
	mongoc_write_concern_t *concern =
		named ? mongoc_write_concern_copy(named) : mongoc_write_concern_new();

	if (mongoc_write_concern_get_w(concern) == MONGOC_WRITE_CONCERN_W_DEFAULT)
	{
		mongoc_write_concern_set_w(concern, MONGOC_WRITE_CONCERN_W_MAJORITY);
		if (!mongoc_write_concern_journal_is_set(concern))
			mongoc_write_concern_set_journal(concern, true);
	}
	else if (!mongoc_write_concern_is_acknowledged(concern))
		mongoc_write_concern_set_w(concern, 1);
	mongoc_client_set_write_concern(client, concern);
	mongoc_write_concern_destroy(concern);
}

static mongoc_client_t *
make_client(ForeignServer *server, List *mapping, MtsConnection *connection)
{
	mongoc_uri_t *uri = make_uri(server, mapping);
	bson_error_t error = {0};
	mongoc_client_t *client =
		mongoc_client_new_from_uri_with_error(uri, &error);
	mongoc_apm_callbacks_t *callbacks;

	connection->superusers =
		!mts_uri_logs_in_by_password(uri) &&
		mts_option_get_bool(mapping, "password_required", true);
	if (client)
		set_write_concern(client, uri);
	mongoc_uri_destroy(uri);
	if (!client)
		mts_report_raise(
			psprintf("could not create a client for foreign server \"%s\"",
					 server->servername),
			&error);
	mongoc_client_set_error_api(client, MONGOC_ERROR_API_VERSION_2);
	mongoc_client_set_appname(client, "mongo_ts_fdw");
	mongoc_client_set_stream_initiator(client, mts_stream_open,
									   &connection->wait);
	callbacks = mongoc_apm_callbacks_new();
	mongoc_apm_set_command_started_cb(callbacks, count_command);
	mongoc_client_set_apm_callbacks(client, callbacks, connection);
	mongoc_apm_callbacks_destroy(callbacks);
	return client;
}

/* Read the options of a new connection. */
static void
set_up(MtsConnection *connection, Oid userid)
{
	ForeignServer *server = GetForeignServer(connection->serverid);
	List *mapping = OidIsValid(connection->mappingid)
						? GetUserMapping(userid, connection->serverid)->options
						: NIL;

	connection->keep =
		mts_option_get_bool(server->options, "keep_connections", true);
	connection->client = make_client(server, mapping, connection);
}

static MtsConnection *
find_connection(Oid serverid, Oid mappingid)
{
	ListCell *lc;

	foreach (lc, connections)
	{
		MtsConnection *connection = lfirst(lc);

		if (connection->serverid == serverid &&
			connection->mappingid == mappingid && !connection->invalid)
			return connection;
	}
	return NULL;
}

/*
 * Nobody gets in by what the server's host is trusted with, but a superuser or
 * whom one allows it.  A mapping's connection may serve both.
 */
static void
check_user(const MtsConnection *connection, Oid userid)
{
	if (connection->superusers && !superuser_arg(userid))
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required to use foreign server \"%s\"",
						GetForeignServer(connection->serverid)->servername),
				 errdetail(
					 "Non-superusers must log in to MongoDB with the user "
					 "name and password of a user mapping."),
				 errhint("Set these, or have a superuser set option "
						 "\"password_required\" of the user mapping to "
						 "\"false\".")));
}

static MtsConnection *
make_connection(Oid serverid, Oid mappingid, Oid userid)
{
	MtsConnection *connection =
		MemoryContextAllocZero(TopMemoryContext, sizeof(*connection));
	MemoryContext old;

	connection->serverid = serverid;
	connection->mappingid = mappingid;
	connection->server_hash =
		GetSysCacheHashValue1(FOREIGNSERVEROID, ObjectIdGetDatum(serverid));
	connection->mapping_hash =
		GetSysCacheHashValue1(USERMAPPINGOID, ObjectIdGetDatum(mappingid));
	mts_stream_wait_begin(&connection->wait);
	/* from here on changes of what is read are noticed */
	old = MemoryContextSwitchTo(TopMemoryContext);
	connections = lappend(connections, connection);
	MemoryContextSwitchTo(old);
	PG_TRY();
	{
		set_up(connection, userid);
	}
	PG_CATCH();
	{
		close_connection(connection);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return connection;
}

/*
 * mts_connection_get
 *		The client of a server for a user, whose mapping it uses.
 *
 * It belongs to the cache, which may drop it at the next call here or at the
 * end of the transaction, unless it is held.  An error when the options are of
 * no use, or the user may not go without a password; whether the server
 * answers shows when it is asked.
 */
MtsConnection *
mts_connection_get(Oid serverid, Oid userid)
{
	Oid mappingid = find_mapping(serverid, userid);
	MtsConnection *connection;

	close_invalid();
	connection = find_connection(serverid, mappingid);
	if (!connection)
		connection = make_connection(serverid, mappingid, userid);
	check_user(connection, userid);
	return connection;
}

/*
 * mts_connection_release
 *		Count one user of a connection less; the last one closes an invalid one.
 */
void
mts_connection_release(MtsConnection *connection)
{
	connection->users--;
	if (connection->invalid && connection->users == 0)
		close_connection(connection);
}

static void
let_go(void *connection)
{
	mts_connection_release(connection);
}

/*
 * mts_connection_hold
 *		Keep a connection open as long as the current memory context.
 */
void
mts_connection_hold(MtsConnection *connection)
{
	connection->users++;
	mts_document_release_with(let_go, connection);
}

/*
 * mts_connection_all
 *		The session's connections, oldest first: a palloc'd list.
 *
 * Invalid ones are among them only while they are used.
 */
List *
mts_connection_all(void)
{
	close_invalid();
	return list_copy(connections);
}

/*
 * mts_connection_close
 *		Close a connection; false, and nothing happens, while it is used.
 */
bool
mts_connection_close(MtsConnection *connection)
{
	if (connection->users > 0)
		return false;
	close_connection(connection);
	return true;
}
