/*
 * connection.c
 *		Cache one libmongoc client per foreign server and user.
 *
 * A client connects when it is first used.  It is dropped when its server or
 * user mapping changes, or at the end of the transaction without
 * keep_connections, as soon as no cursor uses it.
 */
#include "connection.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "document.h"
#include "error.h"
#include "option.h"

static HTAB *connections = NULL;

/* Takes libmongoc's log: a mongoc_log_func_t. */
void
mts_connection_log(mongoc_log_level_t level, const char *domain,
				   const char *message, void *arg)
{
	ErrorContextCallback *callbacks = error_context_stack;

	/* their errors would jump through libmongoc's frames */
	error_context_stack = NULL;
	elog(DEBUG1, "%s: %s", domain, message);
	error_context_stack = callbacks;
}

static void
count_command(const mongoc_apm_command_started_t *event)
{
	MtsConnection *connection = mongoc_apm_command_started_get_context(event);

	connection->round_trips++;
}

static void
close_connection(MtsConnection *connection)
{
	mongoc_client_destroy(connection->client);
	hash_search(connections, &connection->key, HASH_REMOVE, NULL);
}

/* Drop what is invalid, and at a transaction's end what is not to be kept. */
static void
close_unused(bool at_end)
{
	HASH_SEQ_STATUS scan;
	MtsConnection *connection;

	hash_seq_init(&scan, connections);
	while ((connection = hash_seq_search(&scan)) != NULL)
		if (connection->users == 0 &&
			(connection->invalid || (at_end && !connection->keep)))
			close_connection(connection);
}

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		close_unused(true);
}

/* A server or a user mapping has changed; which one matters too rarely. */
static void
invalidate(Datum arg, int cacheid, uint32 hashvalue)
{
	HASH_SEQ_STATUS scan;
	MtsConnection *connection;

	hash_seq_init(&scan, connections);
	while ((connection = hash_seq_search(&scan)) != NULL)
		connection->invalid = true;
}

/*
 * mts_connection_init
 *		Prepare the cache; called once, when the library is loaded.
 */
void
mts_connection_init(void)
{
	HASHCTL control = {.keysize = sizeof(((MtsConnection *) 0)->key),
					   .entrysize = sizeof(MtsConnection),
					   .hcxt = TopMemoryContext};

	mongoc_init();
	mongoc_log_set_handler(mts_connection_log, NULL);
	connections = hash_create("mongo_ts_fdw connections", 8, &control,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	RegisterXactCallback(at_transaction_end, NULL);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, invalidate, (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, invalidate, (Datum) 0);
}

/* The options of the user's mapping or of PUBLIC's; none is no error. */
static List *
mapping_options(Oid serverid, Oid userid)
{
	if (!SearchSysCacheExists2(USERMAPPINGUSERSERVER, ObjectIdGetDatum(userid),
							   ObjectIdGetDatum(serverid)) &&
		!SearchSysCacheExists2(USERMAPPINGUSERSERVER,
							   ObjectIdGetDatum(InvalidOid),
							   ObjectIdGetDatum(serverid)))
		return NIL;
	return GetUserMapping(userid, serverid)->options;
}

static mongoc_uri_t *
make_uri(ForeignServer *server, Oid userid)
{
	const char *text = mts_option_get(server->options, "uri");
	List *mapping = mapping_options(server->serverid, userid);
	const char *username = mts_option_get(mapping, "username");
	const char *password = mts_option_get(mapping, "password");
	bson_error_t error;
	mongoc_uri_t *uri =
		mongoc_uri_new_with_error(text ? text : MTS_DEFAULT_URI, &error);

	if (!uri)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("invalid option \"uri\" of foreign server \"%s\"",
						server->servername)));
	if (username)
		mongoc_uri_set_username(uri, mts_document_utf8(username));
	if (password)
		mongoc_uri_set_password(uri, mts_document_utf8(password));

	/* libmongoc would sleep between tries, deaf to interrupts */
	mongoc_uri_set_option_as_bool(uri, MONGOC_URI_SERVERSELECTIONTRYONCE,
								  true);
	return uri;
}

static mongoc_client_t *
make_client(ForeignServer *server, Oid userid, MtsConnection *connection)
{
	mongoc_uri_t *uri = make_uri(server, userid);
	bson_error_t error = {0};
	mongoc_client_t *client =
		mongoc_client_new_from_uri_with_error(uri, &error);
	mongoc_apm_callbacks_t *callbacks;

	mongoc_uri_destroy(uri);
	if (!client)
		mts_error_raise(
			psprintf("could not make a client for foreign server \"%s\"",
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

/*
 * mts_connection_get
 *		The client of a server for a user, whose mapping it uses.
 *
 * It belongs to the cache.  An error when the options are of no use; whether
 * the server answers shows when it is asked.
 */
MtsConnection *
mts_connection_get(Oid serverid, Oid userid)
{
	MtsConnection key = {.key = {serverid, userid}};
	MtsConnection *connection;
	ForeignServer *server;
	bool found;

	close_unused(false);
	connection = hash_search(connections, &key.key, HASH_FIND, NULL);
	if (connection)
		return connection;

	server = GetForeignServer(serverid);
	connection = hash_search(connections, &key.key, HASH_ENTER, &found);
	memset(&connection->client, 0,
		   sizeof(*connection) - offsetof(MtsConnection, client));
	PG_TRY();
	{
		connection->keep =
			mts_option_get_bool(server->options, "keep_connections", true);
		connection->client = make_client(server, userid, connection);
	}
	PG_CATCH();
	{
		hash_search(connections, &key.key, HASH_REMOVE, NULL);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return connection;
}

static void
let_go(void *arg)
{
	MtsConnection *connection = arg;

	connection->users--;
}

/*
 * mts_connection_hold
 *		Keep a connection open as long as the current memory context.
 */
void
mts_connection_hold(MtsConnection *connection)
{
	connection->users++;
	mts_release_with_context(let_go, connection);
}
