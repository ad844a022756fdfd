/*
 * wire.h
 *		One message of MongoDB's protocol.
 */
#ifndef MTS_WIRE_H
#define MTS_WIRE_H

#include "mongoc/mongoc.h"

#include "driver/compress.h"
#include "driver/reply.h"

/* The server does not answer a request with this flag. */
#define MTS_WIRE_NO_REPLY 2

/* A reply, in a buffer that can be used again; all zeros is an empty one */
typedef struct MtsReply
{
	uint8_t *bytes; /* behind the header; malloc'd */
	size_t capacity;
	size_t size; /* 0 if there is no reply */
} MtsReply;

/* A reply that comes in parts; all zeros before it begins */
typedef struct MtsIncoming
{
	MtsHeader header;
	size_t have;    /* bytes of the message, with the header */
	bool is_whole;  /* it has come, and was checked */
	MtsReply reply; /* gets the bytes behind the header */
} MtsIncoming;

/* How much of a reply has come */
typedef enum MtsArrival
{
	MTS_ARRIVAL_PART,
	MTS_ARRIVAL_WHOLE,
	MTS_ARRIVAL_FAILED /* the stream cannot be used any more */
} MtsArrival;

extern uint32_t mts_wire_send(mongoc_stream_t *stream, const bson_t *command,
							  const bson_t *fields, uint32_t flags,
							  MtsCompressor compressor, int32_t timeout);
extern MtsArrival mts_wire_receive(mongoc_stream_t *stream, uint32_t request,
								   MtsIncoming *incoming, bool may_compress,
								   int32_t timeout, const char **problem);
extern void mts_wire_view(const MtsReply *reply, bson_t *document);
extern void mts_wire_move(MtsReply *to, MtsReply *from);
extern void mts_wire_free(MtsReply *reply);

#endif /* MTS_WIRE_H */
