/*
 * connection.h
 *		Which client serves this server and user?
 */
#ifndef MTS_CONNECTION_H
#define MTS_CONNECTION_H

#include "postgres.h"
#include "foreign/foreign.h"

#include "driver/stream.h"

/*
 * How long it may take to close cursors and the connection when the server is
 * silent, in microseconds: it holds up the end of a transaction
 */
#define MTS_CLOSE_TIME 500000

/* A client and its users; cached until it is invalid and nobody uses it */
typedef struct MtsConnection
{
	Oid serverid;
	Oid mappingid; /* InvalidOid: the user has none */
	uint32 server_hash;
	uint32 mapping_hash; /* by which changes of them are told */
	mongoc_client_t *client;
	MtsWait wait;
	mongoc_client_session_t *session; /* of retryable writes; NULL: none yet */
	int64 txn_number;                 /* of the last one of these */
	bool lacks_collation;             /* does the server refuse the option? */
	int64 round_trips;                /* commands sent since it was opened */
	int users;                        /* open cursors, writers and calls */
	bool superusers; /* is it for superusers only, lacking a password? */
	bool keep;       /* beyond the transaction? */
	bool invalid;    /* its server or mapping has changed, or it failed */
} MtsConnection;

/* What libmongoc has logged last, in UTF-8, perhaps cut */
extern char mts_connection_warning[256];

extern void mts_connection_init(void);
extern MtsConnection *mts_connection_get(Oid serverid, Oid userid);
extern void mts_connection_hold(MtsConnection *connection);
extern void mts_connection_release(MtsConnection *connection);
extern void mts_connection_begin_close(MtsConnection *connection);
extern void mts_connection_end_close(MtsConnection *connection);
extern List *mts_connection_all(void);
extern bool mts_connection_close(MtsConnection *connection);

#endif /* MTS_CONNECTION_H */
