/*
 * reply.h
 *		A stream that refuses malformed replies.
 */
#ifndef MTS_REPLY_H
#define MTS_REPLY_H

#include "mongoc/mongoc.h"

/* The replies of one client; its connection owns this. */
typedef struct MtsReplies
{
	const char *problem;      /* why a reply was refused, or NULL */
	const char *early;        /* the name of the command that seems to be done
							   * when it is sent, or NULL */
	mongoc_stream_t *pending; /* whose reply is still to be read, or NULL */
	bool is_awaited;          /* somebody will ask for that reply */
	uint8_t *late;            /* it, behind its header; malloc'd, or NULL */
	size_t late_size;
} MtsReplies;

extern mongoc_stream_t *mts_reply_stream(mongoc_stream_t *inner,
										 MtsReplies *replies,
										 bool may_compress);
extern bool mts_reply_receive(MtsReplies *replies);
extern void mts_reply_forget(MtsReplies *replies);

#endif /* MTS_REPLY_H */
