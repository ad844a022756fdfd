/*
 * stream.h
 *		A stream that lets an interrupt through while libmongoc waits.
 */
#ifndef MTS_STREAM_H
#define MTS_STREAM_H

#include "postgres.h"

#include "mongoc/mongoc.h"

/*
 * How long a member of a deployment may be silent once another member has
 * answered, in microseconds
 */
#define MTS_PATIENCE INT64CONST(900000)

/* How the waits of one client end early; owned by its connection */
typedef struct MtsWait
{
	bool interrupted;    /* a wait gave up for an interrupt */
	const char *problem; /* what was wrong with a reply, or NULL */
	int64 deadline;      /* monotonic microseconds; 0: none.  While it
						  * is set, interrupts are left pending */
	int64 answered;      /* when the first member answered a scan of all
						  * members, monotonic microseconds; 0: none did */
	int64 patience;      /* microseconds that the other members have */
	bool was_hasty;      /* a member was given up that might have had more
						  * time */
	char refusals[512];  /* "[why no connection to a member was made] .." */
} MtsWait;

extern void mts_stream_wait_begin(MtsWait *wait);
extern bool mts_stream_wait_is_over(MtsWait *wait);
extern int64 mts_stream_wait_expiry(int32 timeout);
extern int32 mts_stream_wait_slice(int64 expires);
extern mongoc_stream_t *mts_stream_wrap(mongoc_socket_t *socket,
										MtsWait *wait);

/* connect.c */
extern mongoc_stream_t *mts_stream_open(const mongoc_uri_t *uri,
										const mongoc_host_list_t *host,
										void *wait, bson_error_t *error);

#endif /* MTS_STREAM_H */
