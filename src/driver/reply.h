/*
 * reply.h
 *		A stream that refuses malformed replies.
 */
#ifndef MTS_REPLY_H
#define MTS_REPLY_H

#include "mongoc/mongoc.h"

/* The most commands that seem to be done while they are not */
#define MTS_MAX_EARLY 2

/* A reply behind its header; malloc'd */
typedef struct MtsLateReply
{
	uint8_t *body;
	size_t size;
} MtsLateReply;

/* The replies of one client; its connection owns this. */
typedef struct MtsReplies
{
	const char *problem;      /* why a reply was refused, or NULL */
	const char *early;        /* the name of the command that seems to be done
							   * when it is sent, or NULL */
	mongoc_stream_t *pending; /* with replies that are still to be read, or
							   * NULL */
	int nawaited;             /* replies that somebody will ask for */
	int nlate;                /* of these, how many have been read */
	MtsLateReply late[MTS_MAX_EARLY]; /* they, oldest first */
} MtsReplies;

extern mongoc_stream_t *mts_reply_stream(mongoc_stream_t *inner,
										 MtsReplies *replies,
										 bool may_compress);
extern bool mts_reply_receive(MtsReplies *replies);
extern MtsLateReply mts_reply_next(MtsReplies *replies);
extern void mts_reply_forget(MtsReplies *replies);

#endif /* MTS_REPLY_H */
