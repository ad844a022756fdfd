/*
 * exchange.h
 *		The requests of a client, in order, and their replies.
 *
 * A request is sent at once, and its reply is received when it is needed: by
 * its ticket, in any order.  libmongoc opens the streams, logs in on them, and
 * sends hello and ping on them, too.  Before that, all replies are received
 * and kept, so that libmongoc reads none of them.
 */
#ifndef MTS_EXCHANGE_H
#define MTS_EXCHANGE_H

#include "mongoc/mongoc.h"

#include "driver/wire.h"

/* The requests of a stream without a reply, at most */
#define MTS_MAX_SENT 8

/*
 * A request whose reply has not been asked for; 0 stands for none.  No two
 * requests of a backend have the same.
 */
typedef uint32_t MtsTicket;

struct MtsChannel;
struct MtsKept;

/* The streams of a client, and what is under way; its connection owns this. */
typedef struct MtsExchange
{
	/* waits until a request may be sent again whose reply this is, after so
	 * many tries; false if it may not; or NULL */
	bool (*may_send_again)(const struct MtsExchange *exchange,
						   const bson_t *reply, int tries);
	struct MtsWait *wait;        /* when the waits of the streams end */
	const char **problem;        /* gets why a reply was refused */
	int32_t timeout;             /* of a read or write, in milliseconds */
	struct MtsChannel *channels; /* the last one opened first */
	uint32_t last_channel;       /* the number that was given last */
	struct MtsKept *kept;        /* replies that were not asked for yet */
	int nkept;
	uint64_t time;        /* of the latest $clusterTime, or 0 */
	bson_t *cluster_time; /* it, or NULL */
} MtsExchange;

/* for stream.c */
extern mongoc_stream_t *mts_exchange_wrap(MtsExchange *exchange,
										  mongoc_stream_t *stream,
										  mongoc_stream_t *root,
										  const char *host, bool may_compress);

/* for topology.c */
extern uint32_t mts_exchange_find(MtsExchange *exchange, const char *host,
								  uint32_t server, MtsCompressor compressor,
								  bool sheds_load);
extern bool mts_exchange_is_usable(const MtsExchange *exchange,
								   uint32_t channel);
extern void mts_exchange_retire(MtsExchange *exchange, uint32_t channel);
extern bool mts_exchange_break_retired(MtsExchange *exchange,
									   uint32_t *server);
extern void mts_exchange_settle(MtsExchange *exchange);
extern void mts_exchange_end(MtsExchange *exchange);

/* requests and replies */
extern bool mts_exchange_has_room(const MtsExchange *exchange,
								  uint32_t channel, size_t size);
extern void mts_exchange_make_room(MtsExchange *exchange, uint32_t channel,
								   size_t size);
extern bool mts_exchange_may_read_ahead(const MtsExchange *exchange);
extern MtsTicket mts_exchange_send(MtsExchange *exchange, uint32_t channel,
								   const bson_t *command, const bson_t *fields,
								   bool is_read);
extern MtsTicket mts_exchange_send_only(MtsExchange *exchange,
										uint32_t channel,
										const bson_t *command,
										const bson_t *fields);
extern bool mts_exchange_receive(MtsExchange *exchange, MtsTicket ticket,
								 MtsReply *reply);
extern mongoc_stream_t *mts_exchange_await(MtsExchange *exchange,
										   MtsTicket ticket);
extern void mts_exchange_forget(MtsExchange *exchange, MtsTicket ticket);
extern void mts_exchange_forget_all(MtsExchange *exchange);

/* the time of the cluster */
extern void mts_exchange_append_time(const MtsExchange *exchange,
									 bson_t *fields);
extern void mts_exchange_advance_time(MtsExchange *exchange,
									  const bson_t *cluster_time);

#endif /* MTS_EXCHANGE_H */
