/*
 * topology.c
 *		Select a server, and have libmongoc connect to it and log in.
 *
 * libmongoc knows the members of a deployment, asks them who they are, and
 * logs in.  Our commands are sent on the stream that it has then.  It does not
 * see how they end.  So a stream that is broken, or whose server is not the
 * primary any more, fails when libmongoc sends a ping on it, before a byte is
 * sent.  Then libmongoc scans the members.
 */
#include "driver/topology.h"

#include "driver/document.h"

/* That of MongoDB 5.0, the first to read snapshots outside of transactions */
#define SNAPSHOT_WIRE_VERSION 13

/* Tell whether option "uri" has a readConcernLevel. */
static bool
has_read_level(const MtsConnection *connection, const char *level)
{
	const char *set = mongoc_read_concern_get_level(
		mongoc_client_get_read_concern(connection->client));

	return set && strcmp(set, level) == 0;
}

/*
 * mts_topology_describe
 *		Read what a server has said of itself.
 */
MtsServer
mts_topology_describe(const MtsConnection *connection,
					  const mongoc_server_description_t *description)
{
	const bson_t *hello =
		mongoc_server_description_hello_response(description);
	const mongoc_uri_t *uri = mongoc_client_get_uri(connection->client);
	const char *msg = mts_document_string(hello, "msg");
	MtsServer server = {.id = mongoc_server_description_id(description)};

	/* MongoDB has it since 4.4, in members and mongos */
	server.is_mongodb = bson_has_field(hello, "topologyVersion");
	server.wire_version = (int) mts_document_number(hello, "maxWireVersion");
	server.has_sessions =
		bson_has_field(hello, "logicalSessionTimeoutMinutes");
	server.is_secondary = mts_document_number(hello, "secondary") != 0;
	server.is_replicated = bson_has_field(hello, "setName") ||
						   (msg && strcmp(msg, "isdbgrid") == 0);
	server.retries_writes =
		server.is_replicated && server.has_sessions &&
		mongoc_uri_get_option_as_bool(uri, MONGOC_URI_RETRYWRITES, true);
	server.reads_snapshots =
		server.is_mongodb && server.is_replicated &&
		server.wire_version >= SNAPSHOT_WIRE_VERSION &&
		!has_read_level(connection, MONGOC_READ_CONCERN_LEVEL_LINEARIZABLE);
	/* a mongos would need its routing data in the commit */
	server.has_transactions = server.is_mongodb && server.has_sessions &&
							  bson_has_field(hello, "setName");
	return server;
}

/* Tell libmongoc of the servers whose streams cannot be used any more. */
static void
tell_of_broken(MtsConnection *connection)
{
	uint32 id;

	while (mts_exchange_break_retired(&connection->exchange, &id))
	{
		bson_t ping = BSON_INITIALIZER;
		bson_error_t error;

		bson_append_int32(&ping, "ping", -1, 1);
		(void) mongoc_client_command_simple_with_server_id(connection->client,
														   "admin", &ping,
														   NULL, id, NULL,
														   &error);
		bson_destroy(&ping);
	}
}

/*
 * Find the compressor of a connection, by what the server has said; 0 for
 * none.  The server names those of option "uri" that it has.
 */
static MtsCompressor
compressor_of(const mongoc_server_description_t *description)
{
	bson_iter_t list, item;
	MtsCompressor found = 0;

	if (bson_iter_init_find(&list,
							mongoc_server_description_hello_response(
								description),
							"compression") &&
		BSON_ITER_HOLDS_ARRAY(&list) && bson_iter_recurse(&list, &item))
		while (found == 0 && bson_iter_next(&item))
			if (BSON_ITER_HOLDS_UTF8(&item))
				found = mts_compress_find(bson_iter_utf8(&item, NULL));
	return found;
}

/*
 * mts_topology_connect
 *		Have libmongoc connect to a server and log in, unless it has done so.
 *
 * Returns false with the reason in *error if that fails.
 */
bool
mts_topology_connect(MtsConnection *connection, MtsServer *server,
					 bson_error_t *error)
{
	mongoc_server_description_t *connected;

	mts_exchange_settle(&connection->exchange);
	tell_of_broken(connection);
	/* sends nothing if libmongoc has logged in */
	connected =
		mongoc_client_get_handshake_description(connection->client, server->id,
												NULL, error);
	if (!connected)
		return false;
	server->channel = mts_exchange_find(
		&connection->exchange,
		mongoc_server_description_host(connected)->host_and_port, server->id,
		compressor_of(connected), mts_connection_sheds_load(server));
	if (server->channel == 0)
		bson_set_error(error, MONGOC_ERROR_STREAM,
					   MONGOC_ERROR_STREAM_NOT_ESTABLISHED,
					   "The connection was lost before a command was sent.");
	mongoc_server_description_destroy(connected);
	return server->channel != 0;
}

/*
 * mts_topology_select
 *		Select a server once, and connect to it.
 *
 * Returns false with the reason in *error if that fails.  libmongoc may scan
 * the members; see stream.c.
 */
bool
mts_topology_select(MtsConnection *connection, bool for_writes,
					const mongoc_read_prefs_t *prefs, MtsServer *server,
					bson_error_t *error)
{
	mongoc_server_description_t *selected;

	mts_exchange_settle(&connection->exchange);
	tell_of_broken(connection);
	selected = mongoc_client_select_server(connection->client, for_writes,
										   prefs, error);
	if (!selected)
		return false;
	*server = mts_topology_describe(connection, selected);
	mongoc_server_description_destroy(selected);
	return mts_topology_connect(connection, server, error);
}
