/*
 * wire.h
 *		One message of MongoDB's protocol.
 */
#ifndef MTS_WIRE_H
#define MTS_WIRE_H

#include "postgres.h"

#include "mongoc/mongoc.h"

/* The server does not answer the request. */
#define MTS_WIRE_MORE_TO_COME 2

/* A message that was received, in a buffer that can be used again */
typedef struct MtsReply
{
	MemoryContext context; /* of the buffer */
	uint8 *bytes;          /* the buffer, or NULL */
	size_t capacity;       /* of the buffer */
	int32 answers;         /* the id of the request */
	bson_t document;       /* a view of the buffer */
} MtsReply;

extern int32 mts_wire_send(mongoc_stream_t *stream, const bson_t *command,
						   const bson_t *fields, uint32 flags, int32 timeout);
extern bool mts_wire_receive(mongoc_stream_t *stream, MtsReply *reply,
							 int32 timeout, const char **problem);
extern void mts_wire_move(MtsReply *to, MtsReply *from);
extern void mts_wire_free(MtsReply *reply);

#endif /* MTS_WIRE_H */
