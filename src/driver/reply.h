/*
 * reply.h
 *		A stream that refuses malformed replies.
 */
#ifndef MTS_REPLY_H
#define MTS_REPLY_H

#include "mongoc/mongoc.h"

extern mongoc_stream_t *mts_reply_stream(mongoc_stream_t *inner,
										 const char **problem,
										 bool may_compress);

#endif /* MTS_REPLY_H */
