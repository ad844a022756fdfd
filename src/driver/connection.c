/*
 * connection.c
 *		Cache libmongoc's clients: one per foreign server and user mapping.
 *
 * A client connects when it is first used.  It becomes invalid when its server
 * or user mapping changes, when it fails, and, without option
 * keep_connections, at the end of the transaction.  An invalid one is closed
 * as soon as nothing pins it.  Until then, callers get another client.
 */
#include "driver/connection.h"

#include "access/xact.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "driver/command_log.h"
#include "driver/comment.h"
#include "driver/document.h"
#include "driver/overload.h"
#include "driver/report.h"
#include "driver/stream.h"
#include "driver/uri.h"

#define DEFAULT_URI "mongodb://localhost:27017"

/* The default of socketTimeoutMS, as in libmongoc */
#define DEFAULT_SOCKET_MSECS 300000

/* The default of serverSelectionTimeoutMS, as in MongoDB's drivers */
#define DEFAULT_SELECTION_MSECS 30000

/* The options of a server and a user mapping that a connection needs */
typedef struct Options
{
	const char *uri;
	const char *username; /* NULL without one; in UTF-8, as is password */
	const char *password;
	bool password_required;
	bool keep_connections;
	const char *comment;
} Options;

char mts_connection_warning[256];

static List *connections = NIL; /* oldest first, in TopMemoryContext */

static bool ends_at_exit = false; /* at_exit() is registered in this process */

/* Log what libmongoc logs; a mongoc_log_func_t. */
static void
log_message(mongoc_log_level_t level, const char *domain, const char *message,
			void *arg)
{
	char text[sizeof(mts_connection_warning) + 64];

	strlcpy(mts_connection_warning, message, sizeof(mts_connection_warning));
	snprintf(text, sizeof(text), "%s: %s", domain, mts_connection_warning);
	(void) mts_command_log_emit(DEBUG1, text, NULL);
}

/* Have the next call select its server anew, and ask what servers can do. */
static void
server_changed(const mongoc_apm_server_changed_t *event)
{
	MtsConnection *connection = mongoc_apm_server_changed_get_context(event);

	connection->primary_expiry = 0;
	connection->snapshots = MTS_SNAPSHOTS_UNKNOWN;
}

/*
 * mts_connection_set_deadline
 *		Have waits for the server end after some microseconds.
 *
 * An interrupt that ends them stays pending.  Once the deadline has passed,
 * nothing connects any more.  What closes cursors at the end of a transaction
 * needs one, because interrupts are held off there.  A write that was sent
 * early has no deadline, nor has a batch that was asked for if other cursors
 * are open, which would lose their connection with it.
 * mts_wait_unlimit() removes the deadline.
 */
void
mts_connection_set_deadline(MtsConnection *connection, int64 usecs)
{
	if (INTERRUPTS_CAN_BE_PROCESSED())
		mts_exchange_settle(&connection->exchange);
	mts_wait_limit(&connection->wait, usecs);
}

/*
 * mts_connection_is_lost
 *		Tell whether a call failed because its connection did.
 *
 * If it failed while connecting, it sent nothing.  Otherwise the effect that
 * it had on the server is unknown.
 */
bool
mts_connection_is_lost(const MtsConnection *connection,
					   const bson_error_t *error)
{
	return connection->wait.interrupted || connection->wait.problem ||
		   error->domain == MONGOC_ERROR_STREAM ||
		   error->domain == MONGOC_ERROR_PROTOCOL ||
		   error->domain == MONGOC_ERROR_SERVER_SELECTION ||
		   (error->domain == MONGOC_ERROR_CLIENT &&
			error->code <= MONGOC_ERROR_STREAM_NOT_ESTABLISHED);
}

/* ---- Closing ------------------------------------------------------------ */

/*
 * mts_connection_append_lsid
 *		Append the id of a session, which is made by its first use.
 */
void
mts_connection_append_lsid(MtsLsid *lsid, const char *key, bson_t *fields)
{
	bson_t document;

	if (!lsid->is_used && !pg_strong_random(lsid->uuid, sizeof(lsid->uuid)))
		return;
	lsid->is_used = true;
	/* a random UUID, of version 4 */
	lsid->uuid[6] = (lsid->uuid[6] & 0x0f) | 0x40;
	lsid->uuid[8] = (lsid->uuid[8] & 0x3f) | 0x80;
	bson_append_document_begin(fields, key, -1, &document);
	bson_append_binary(&document, "id", -1, BSON_SUBTYPE_UUID, lsid->uuid,
					   sizeof(lsid->uuid));
	bson_append_document_end(fields, &document);
}

/* Append the id of a session to a list, if it is used. */
static void
append_used(MtsLsid *lsid, bson_t *list, int *n)
{
	char key[16];

	if (!lsid->is_used)
		return;
	snprintf(key, sizeof(key), "%d", (*n)++);
	mts_connection_append_lsid(lsid, key, list);
}

/* Have the server forget the sessions of a connection; do not wait for it. */
static void
end_sessions(MtsConnection *connection)
{
	bson_t command = BSON_INITIALIZER, fields = BSON_INITIALIZER, list;
	int n = 0;

	bson_append_array_begin(&command, "endSessions", -1, &list);
	append_used(&connection->reads, &list, &n);
	append_used(&connection->xact, &list, &n);
	for (int i = 0; i < lengthof(connection->writes); i++)
		for (int j = 0; j < MTS_WRITE_SESSIONS; j++)
			append_used(&connection->writes[i][j], &list, &n);
	bson_append_array_end(&command, &list);
	bson_append_utf8(&command, "$db", -1, "admin", -1);
	if (n > 0)
		(void) mts_exchange_send_only(&connection->exchange,
									  connection->primary.channel, &command,
									  &fields);
	bson_destroy(&fields);
	bson_destroy(&command);
}

static void
close_connection(MtsConnection *connection)
{
	connections = list_delete_ptr(connections, connection);
	/* nobody waits for the replies that are still expected */
	mts_wait_limit(&connection->wait, MTS_CLOSE_TIME);
	end_sessions(connection);
	mts_exchange_end(&connection->exchange);
	if (connection->client)
		mongoc_client_destroy(connection->client);
	(void) mts_wait_unlimit(&connection->wait);
	if (connection->comment)
		pfree(connection->comment);
	pfree(connection);
}

static void
close_invalid(void)
{
	for (int i = list_length(connections) - 1; i >= 0; i--)
	{
		MtsConnection *connection = list_nth(connections, i);

		if (connection->invalid && connection->pins == 0)
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

		/* not closed here: cursors of an aborted function may still pin it */
		if (!connection->keep_connections)
			connection->invalid = true;
	}
	close_invalid();
}

/* Handle a change of servers or user mappings; hash 0 means all of them. */
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
	mongoc_log_set_handler(log_message, NULL);
	RegisterXactCallback(at_transaction_end, NULL);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, invalidate, (Datum) 0);
}

/*
 * Have the servers forget the sessions of a process that ends, which they
 * would keep for half an hour.
 *
 * PostgreSQL's transaction has ended before, and those of MongoDB with it.
 * Nothing is waited for: what cannot be sent is not sent.
 */
static void
at_exit(int code, Datum arg)
{
	ListCell *lc;

	foreach (lc, connections)
	{
		MtsConnection *connection = lfirst(lc);

		mts_wait_limit(&connection->wait, 0);
		end_sessions(connection);
		(void) mts_wait_unlimit(&connection->wait);
	}
}

/* ---- Opening ------------------------------------------------------------ */

/* Read those options of a server or a user mapping that are needed here. */
static void
read_options(List *list, Options *options)
{
	ListCell *lc;

	foreach (lc, list)
	{
		DefElem *def = lfirst(lc);
		const char *value = defGetString(def);

		if (strcmp(def->defname, "uri") == 0)
			options->uri = value;
		else if (strcmp(def->defname, "username") == 0)
			options->username = mts_document_utf8(value);
		else if (strcmp(def->defname, "password") == 0)
			options->password = mts_document_utf8(value);
		else if (strcmp(def->defname, "password_required") == 0)
			(void) parse_bool(value, &options->password_required);
		else if (strcmp(def->defname, "keep_connections") == 0)
			(void) parse_bool(value, &options->keep_connections);
		else if (strcmp(def->defname, "comment") == 0)
			options->comment = value;
	}
}

/* Add to an error that a user has no mapping, and how to create one. */
static int
report_no_mapping(Oid userid, const char *servername)
{
	const char *user = GetUserNameFromId(userid, false);

	errdetail("There is no user mapping for user \"%s\", nor for PUBLIC.",
			  user);
	return errhint("Use CREATE USER MAPPING FOR %s SERVER %s OPTIONS "
				   "(username '...', password '...').",
				   quote_identifier(user), quote_identifier(servername));
}

/*
 * Make the URI that libmongoc logs in by.  A password without a user name is
 * an error.  So is a user name without a password, unless the mechanism needs
 * none.  libmongoc does not check that.
 */
static mongoc_uri_t *
make_uri(const Options *options, const MtsConnection *connection, Oid userid,
		 const char *servername)
{
	const char *username = options->username;
	const char *password = options->password;
	mongoc_uri_t *uri = NULL;

	if (username || !password)
		uri = mts_uri_parse(options->uri, username, password);
	if (uri && username && !password && mts_uri_needs_password(uri))
	{
		mongoc_uri_destroy(uri);
		uri = NULL;
	}
	if (!uri)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
			 errmsg("cannot log in to foreign server \"%s\" %s user mapping",
					servername,
					OidIsValid(connection->mappingid) ? "with the"
													  : "without a"),
			 OidIsValid(connection->mappingid)
				 ? errdetail("The user mapping has %s user name and %s "
							 "password, which does not fit option \"uri\".",
							 username ? "a" : "no", password ? "a" : "no")
				 : report_no_mapping(userid, servername)));

	/* libmongoc looks for a server once; attempt.c repeats that, because
	 * interrupts do not end libmongoc's sleep between its own tries */
	mongoc_uri_set_option_as_bool(uri, MONGOC_URI_SERVERSELECTIONTRYONCE,
								  true);
	return uri;
}

/*
 * Have the majority of the members acknowledge writes from their journals,
 * unless the URI has another write concern.  Such writes survive a crash and
 * an election.  The majority implies the journal only since MongoDB 5.0.  A
 * write that nobody acknowledges could be lost silently, so w=0 becomes 1.
 */
static void
set_write_concern(mongoc_client_t *client, const mongoc_uri_t *uri)
{
	const mongoc_write_concern_t *given = mongoc_uri_get_write_concern(uri);
	mongoc_write_concern_t *concern =
		given ? mongoc_write_concern_copy(given) : mongoc_write_concern_new();

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

/*
 * Take read concern "snapshot" of the URI from the client, because commands
 * such as count do not support it.  cursor.c has it in those that do.
 */
static void
set_read_concern(MtsConnection *connection)
{
	const char *level = mongoc_read_concern_get_level(
		mongoc_client_get_read_concern(connection->client));
	mongoc_read_concern_t *none;

	if (!level || strcmp(level, MONGOC_READ_CONCERN_LEVEL_SNAPSHOT) != 0)
		return;
	connection->wants_snapshots = true;
	none = mongoc_read_concern_new();
	mongoc_client_set_read_concern(connection->client, none);
	mongoc_read_concern_destroy(none);
}

/* Make the client of a new connection from the options of its server. */
static void
make_client(MtsConnection *connection, Oid userid)
{
	Options options = {.uri = DEFAULT_URI,
					   .password_required = true,
					   .keep_connections = true,
					   .comment = MTS_COMMENT_DEFAULT};
	ForeignServer *server = GetForeignServer(connection->serverid);
	mongoc_apm_callbacks_t *callbacks;
	mongoc_uri_t *uri;
	bson_error_t error = {0};

	read_options(server->options, &options);
	if (OidIsValid(connection->mappingid))
		read_options(GetUserMapping(userid, connection->serverid)->options,
					 &options);
	uri = make_uri(&options, connection, userid, server->servername);
	connection->keep_connections = options.keep_connections;
	connection->comment =
		MemoryContextStrdup(TopMemoryContext, options.comment);
	connection->is_local = mts_uri_is_local(options.uri);
	connection->requires_superuser =
		options.password_required && !mts_uri_logs_in_by_password(uri);
	connection->client = mongoc_client_new_from_uri_with_error(uri, &error);
	if (connection->client)
	{
		set_write_concern(connection->client, uri);
		set_read_concern(connection);
	}
	connection->exchange.timeout =
		mongoc_uri_get_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS,
									   DEFAULT_SOCKET_MSECS);
	connection->selection_timeout =
		mongoc_uri_get_option_as_int32(uri,
									   MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
									   DEFAULT_SELECTION_MSECS);
	mongoc_uri_destroy(uri);
	if (!connection->client)
		mts_report_failure(
			connection,
			psprintf("could not create a client for foreign server \"%s\"",
					 server->servername),
			&error);
	mongoc_client_set_error_api(connection->client,
								MONGOC_ERROR_API_VERSION_2);
	mongoc_client_set_appname(connection->client, "mongo_ts_fdw");
	mongoc_client_set_stream_initiator(connection->client, mts_stream_open,
									   &connection->exchange);
	callbacks = mongoc_apm_callbacks_new();
	mongoc_apm_set_server_changed_cb(callbacks, server_changed);
	mongoc_client_set_apm_callbacks(connection->client, callbacks, connection);
	mongoc_apm_callbacks_destroy(callbacks);
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
	mts_wait_reset(&connection->wait);
	connection->exchange.may_send_again = mts_overload_may_send_again;
	connection->exchange.wait = &connection->wait;
	connection->exchange.problem = &connection->wait.problem;
	/*
	 * in the list before the options are read, so that changes invalidate it
	 */
	old = MemoryContextSwitchTo(TopMemoryContext);
	connections = lappend(connections, connection);
	MemoryContextSwitchTo(old);
	if (!ends_at_exit)
		on_proc_exit(at_exit, (Datum) 0);
	ends_at_exit = true;
	PG_TRY();
	{
		make_client(connection, userid);
	}
	PG_CATCH();
	{
		close_connection(connection);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return connection;
}

/* Find the user's mapping or PUBLIC's; InvalidOid when there is none. */
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
 * Without a password only superusers may connect, and users of mappings with
 * password_required 'false'.  Several users can share PUBLIC's mapping, so
 * each use is checked.
 */
static void
check_user(const MtsConnection *connection, Oid userid)
{
	const char *servername;

	if (!connection->requires_superuser || superuser_arg(userid))
		return;
	servername = GetForeignServer(connection->serverid)->servername;
	if (!OidIsValid(connection->mappingid))
		ereport(ERROR,
				(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
				 errmsg("password is required to use foreign server \"%s\"",
						servername),
				 report_no_mapping(userid, servername)));
	ereport(
		ERROR,
		(errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
		 errmsg("password is required to use foreign server \"%s\"",
				servername),
		 errdetail("Non-superusers must log in to MongoDB with the user "
				   "name and password of a user mapping."),
		 errhint(
			 "Set \"username\" and \"password\" of the user mapping, or have a superuser set its option \"password_required\" to \"false\".")));
}

/*
 * mts_connection_get
 *		Return the connection of a server with the mapping of a user.
 *
 * It belongs to the cache.  Unless it is pinned, the next call may close it,
 * and so may the end of the transaction.  Options that cannot be used are an
 * error, and so is a missing password.  The server is not contacted yet.
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
 * mts_connection_is_local
 *		Tell whether a foreign server shares the processors of PostgreSQL.
 */
bool
mts_connection_is_local(Oid serverid)
{
	Options options = {.uri = DEFAULT_URI};

	read_options(GetForeignServer(serverid)->options, &options);
	return mts_uri_is_local(options.uri);
}

/* ---- Pins --------------------------------------------------------------- */

/*
 * mts_connection_unpin
 *		Remove a pin.
 *
 * The last pin of an invalid connection closes it.  In a transaction, the next
 * mts_connection_get() or the end of the transaction does, because callers may
 * still use the connection.
 */
void
mts_connection_unpin(MtsConnection *connection)
{
	connection->pins--;
	if (connection->pins == 0)
		mts_exchange_forget_all(&connection->exchange);
	if (connection->invalid && connection->pins == 0 && !IsTransactionState())
		close_connection(connection);
}

static void
unpin_with_context(void *connection)
{
	mts_connection_unpin(connection);
}

/*
 * mts_connection_pin
 *		Keep a connection open until the current memory context is reset.
 */
void
mts_connection_pin(MtsConnection *connection)
{
	connection->pins++;
	mts_document_release_with(unpin_with_context, connection);
}

/*
 * mts_connection_list
 *		List the session's connections, oldest first; palloc'd.
 *
 * Invalid ones are among them only while they are pinned.
 */
List *
mts_connection_list(void)
{
	close_invalid();
	return list_copy(connections);
}

/*
 * mts_connection_close
 *		Close a connection; does nothing and returns false while it is pinned.
 */
bool
mts_connection_close(MtsConnection *connection)
{
	if (connection->pins > 0)
		return false;
	close_connection(connection);
	return true;
}
