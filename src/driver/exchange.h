/*
 * exchange.h
 *		The requests of a connection, in order, and their replies.
 *
 * A request is sent at once, and its reply is received when it is needed: by
 * its ticket, in any order.  libmongoc has opened the streams, and logged in
 * on them.  It sends hello, logins and pings on them, too, so all replies are
 * received before that ("settle").
 */
#ifndef MTS_EXCHANGE_H
#define MTS_EXCHANGE_H

#include "postgres.h"
#include "lib/ilist.h"

#include "driver/wait.h"
#include "driver/wire.h"

/* The requests of a stream without a reply, at most */
#define MTS_MOST_UNDER_WAY 8

/*
 * A request whose reply has not been asked for; 0 stands for none.  No two
 * requests of a backend have the same.
 */
typedef int32 MtsTicket;

/*
 * A session of MongoDB's, which counts retryable writes and transactions.  All
 * zeros until it is used.
 */
typedef struct MtsSession
{
	uint8 id[16];     /* a random UUID */
	int64 txn_number; /* the last one that was used */
} MtsSession;

/* The streams of a client, and what is under way; its connection owns this. */
typedef struct MtsExchange
{
	MtsWait *wait;
	MemoryContext context; /* of the replies */
	dlist_head streams;    /* Stream, the last one opened first */
	dlist_head kept;       /* Kept: replies that were received, not asked for */
	bson_t *cluster_time;  /* the latest $clusterTime, or NULL */
	int32 timeout;         /* socketTimeoutMS of the URI */
	bool may_compress;     /* libmongoc compresses some of its commands */
} MtsExchange;

/* A stream, as long as libmongoc has not destroyed it; 0 stands for none */
typedef uint32 MtsStreamNumber;

/* making and ending */
extern void mts_exchange_init(MtsExchange *exchange, MtsWait *wait,
							  MemoryContext context);
extern void mts_exchange_end(MtsExchange *exchange);
extern mongoc_stream_t *mts_exchange_open(const mongoc_uri_t *uri,
										  const mongoc_host_list_t *host,
										  void *exchange, bson_error_t *error);

/*
 * Send a command, to which the fields are appended, and never wait for a
 * reply.  Returns 0 if the stream is lost, and nothing else is known: the
 * command may have been sent.
 */
extern MtsTicket mts_exchange_send(MtsExchange *exchange,
								   MtsStreamNumber stream,
								   const bson_t *command,
								   const bson_t *fields);

/* Send a command that the server does not answer. */
extern bool mts_exchange_send_only(MtsExchange *exchange,
								   MtsStreamNumber stream,
								   const bson_t *command,
								   const bson_t *fields);

/*
 * Receive the reply to a request; false if it is lost.  Ends for interrupts
 * and at the deadline of the wait, which loses the stream with all that is
 * under way on it.  The reply's buffer is used again, or replaced.
 */
extern bool mts_exchange_receive(MtsExchange *exchange, MtsTicket ticket,
								 MtsReply *reply);

/* Nobody will ask for this reply. */
extern void mts_exchange_forget(MtsExchange *exchange, MtsTicket ticket);

/* Receive all replies, and keep them, because libmongoc may use a stream. */
extern void mts_exchange_settle(MtsExchange *exchange);

/* Whether a reply is still to be received; false if it is kept, or lost */
extern bool mts_exchange_is_under_way(const MtsExchange *exchange,
									  MtsTicket ticket);

/* the streams, for server.c */
extern MtsStreamNumber mts_exchange_find(const MtsExchange *exchange,
										 const char *host);
extern bool mts_exchange_is_usable(const MtsExchange *exchange,
								   MtsStreamNumber stream);
extern void mts_exchange_retire(MtsExchange *exchange, MtsStreamNumber stream);

/* sessions and times */
extern void mts_exchange_append_session(MtsSession *session, bson_t *fields);
extern int64 mts_exchange_next_number(MtsSession *session);
extern void mts_exchange_advance_time(MtsExchange *exchange,
									  const bson_t *cluster_time);

#endif /* MTS_EXCHANGE_H */
