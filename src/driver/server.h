/*
 * server.h
 *		Select a server, and have libmongoc connect to it and log in.
 */
#ifndef MTS_SERVER_H
#define MTS_SERVER_H

#include "driver/connection.h"

extern MtsServer
mts_server_describe(const MtsConnection *connection,
					const mongoc_server_description_t *description);
extern bool mts_server_connect(MtsConnection *connection, MtsServer *server,
							   bson_error_t *error);
extern bool mts_server_select(MtsConnection *connection, bool for_writes,
							  const mongoc_read_prefs_t *prefs,
							  MtsServer *server, bson_error_t *error);

#endif /* MTS_SERVER_H */
