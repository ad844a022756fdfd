/*
 * connection.h
 *		The session's cache of libmongoc's clients.
 */
#ifndef MTS_CONNECTION_H
#define MTS_CONNECTION_H

#include "postgres.h"
#include "foreign/foreign.h"

#include "mongoc/mongoc.h"

#include "driver/exchange.h"
#include "driver/wait.h"

/*
 * How long it may take to close a cursor or a connection whose server is
 * silent, in microseconds.  It delays the end of the transaction.
 */
#define MTS_CLOSE_TIME 500000

/*
 * How long it may take to abort a transaction, which has buckets locked, while
 * that of PostgreSQL goes on.
 */
#define MTS_ABORT_TIME 2000000

/* The server that a call goes to */
typedef struct MtsServer
{
	uint32 id;            /* libmongoc's */
	uint32 channel;       /* our number of the stream to it; see exchange.c */
	bool is_mongodb;      /* not another server that speaks its protocol */
	bool is_secondary;    /* of a replica set, when it was last asked */
	bool is_replicated;   /* a member of a replica set, or a mongos */
	bool retries_writes;  /* it recognises a write that it has done */
	bool reads_snapshots; /* at a time of its cluster, in several reads */
	bool has_transactions;
	bool has_sessions;
	int wire_version; /* the newest that it speaks */
} MtsServer;

/* The id of a session of MongoDB's; all zeros until it is used */
typedef struct MtsLsid
{
	bool is_used;
	uint8 uuid[16];
} MtsLsid;

/* A transaction of MongoDB; see transaction.c */
typedef struct MtsTransaction
{
	struct MtsConnection *connection;
	MtsLsid *lsid; /* the session that it is in */
	int64 number;  /* there */
	bool reads_snapshot;
	int ncommands;   /* that have been made, besides commits */
	MtsTicket abort; /* that was sent, or 0 */
	bool is_open;    /* on the server, perhaps */
} MtsTransaction;

/* The sessions of a bulk write that is under way: one for each plain write
 * that is sent, or the first one for a unit */
#define MTS_WRITE_SESSIONS 4

/* Whether any server of a connection reads snapshots */
typedef enum MtsSnapshots
{
	MTS_SNAPSHOTS_UNKNOWN, /* until the descriptions of servers are read */
	MTS_SNAPSHOTS_UNASKED, /* no server has described itself */
	MTS_SNAPSHOTS_READ,
	MTS_SNAPSHOTS_REFUSED
} MtsSnapshots;

/*
 * A client of one foreign server and user mapping.  It is closed once it is
 * invalid and nothing pins it.
 */
typedef struct MtsConnection
{
	Oid serverid;
	Oid mappingid; /* InvalidOid when the user has no mapping */
	uint32 server_hash;
	uint32 mapping_hash; /* values that invalidation messages have */
	mongoc_client_t *client;
	MtsWait wait;
	int selection_timeout; /* of the URI, in milliseconds */
	MtsServer primary;     /* the one selected last */
	int64 primary_expiry;  /* when it must be selected again, in monotonic
						   * microseconds */
	int wire_version;      /* of the server selected last; 0 before that */
	bool is_mongodb;       /* that server is MongoDB */
	MtsSnapshots snapshots;
	MtsExchange exchange;
	MtsLsid reads; /* the session of commands without another one */
	MtsLsid writes
		[2][MTS_WRITE_SESSIONS]; /* of the bulk write that is under way; and of
								 * others that are done meanwhile */
	MtsLsid xact;                /* the session of xact.c */
	int64 txn_number;            /* the last one in any of these sessions */
	bool lacks_collation;        /* the server refuses the option */
	bool is_local;               /* the servers are on this host */
	bool wants_snapshots;        /* the URI wants it, of each find by itself */
	int64 round_trips;           /* commands sent since it was opened */
	int pins;                    /* cursors, writers and calls that use it */
	bool requires_superuser; /* nobody else may use it without a password */
	bool keep_connections;   /* the option: it outlives the transaction */
	char *comment;           /* the option: a pattern, which may be empty */
	/* its server or mapping has changed, it has failed, or its transaction
	 * has ended without keep_connections */
	bool invalid;
} MtsConnection;

/* That of MongoDB 8.2, which refuses commands while it is overloaded */
#define MTS_SHEDDING_WIRE_VERSION 27

/* Tell whether a server may refuse any command while it is overloaded. */
static inline bool
mts_connection_sheds_load(const MtsServer *server)
{
	return server->wire_version >= MTS_SHEDDING_WIRE_VERSION;
}

/* libmongoc's last log message, in UTF-8; it may be cut */
extern char mts_connection_warning[256];

extern void mts_connection_init(void);
extern MtsConnection *mts_connection_get(Oid serverid, Oid userid);
extern bool mts_connection_is_local(Oid serverid);
extern void mts_connection_pin(MtsConnection *connection);
extern void mts_connection_unpin(MtsConnection *connection);
extern List *mts_connection_list(void);
extern void mts_connection_append_lsid(MtsLsid *lsid, const char *key,
									   bson_t *fields);
extern bool mts_connection_close(MtsConnection *connection);
extern bool mts_connection_is_lost(const MtsConnection *connection,
								   const bson_error_t *error);
extern void mts_connection_set_deadline(MtsConnection *connection,
										int64 usecs);

#endif /* MTS_CONNECTION_H */
