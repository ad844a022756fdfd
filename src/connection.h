/*
 * connection.h
 *		Which client serves this server and user?
 */
#ifndef MTS_CONNECTION_H
#define MTS_CONNECTION_H

#include "postgres.h"
#include "foreign/foreign.h"

#include "stream.h"

/* A client and its users; cached until it is invalid and nobody uses it */
typedef struct MtsConnection
{
	struct
	{
		Oid serverid;
		Oid userid;
	} key; /* must be first */
	mongoc_client_t *client;
	MtsWait wait;
	int64 round_trips; /* commands sent since it was opened */
	int users;         /* open cursors, writers and calls */
	bool keep;         /* beyond the transaction? */
	bool invalid;      /* its server or mapping has changed */
} MtsConnection;

extern void mts_connection_init(void);
extern void mts_connection_log(mongoc_log_level_t level, const char *domain,
							   const char *message, void *arg);
extern MtsConnection *mts_connection_get(Oid serverid, Oid userid);
extern void mts_connection_hold(MtsConnection *connection);

#endif /* MTS_CONNECTION_H */
