/*
 * topology.h
 *		Select a server, and have libmongoc connect to it and log in.
 */
#ifndef MTS_TOPOLOGY_H
#define MTS_TOPOLOGY_H

#include "driver/connection.h"

extern MtsServer
mts_topology_describe(const MtsConnection *connection,
					  const mongoc_server_description_t *description);
extern bool mts_topology_connect(MtsConnection *connection, MtsServer *server,
								 bson_error_t *error);
extern bool mts_topology_select(MtsConnection *connection, bool for_writes,
								const mongoc_read_prefs_t *prefs,
								MtsServer *server, bson_error_t *error);

#endif /* MTS_TOPOLOGY_H */
