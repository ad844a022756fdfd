/*
 * reply.h
 *		Refuse malformed replies before they are read.
 */
#ifndef MTS_REPLY_H
#define MTS_REPLY_H

#include "mongoc/mongoc.h"

/* The most bytes of a message; MongoDB allows 48 MB */
#define MTS_MAX_MESSAGE (64 * 1024 * 1024)

#define MTS_OP_REPLY 1
#define MTS_OP_QUERY 2004
#define MTS_OP_COMPRESSED 2012
#define MTS_OP_MSG 2013

/* The beginning of a message, little-endian */
typedef struct MtsHeader
{
	uint32_t length;  /* of the message, with the header */
	uint32_t id;      /* of the message */
	uint32_t answers; /* the id of the request */
	uint32_t opcode;
} MtsHeader;

/* What libmongoc reads from a stream, message by message */
typedef struct MtsReplyReader
{
	bool may_compress; /* the client has offered compression */
	MtsHeader request; /* of the last request */
	MtsHeader reply;   /* of its reply */
	size_t read;       /* bytes of the reply's length that were read */
} MtsReplyReader;

extern const char *mts_reply_problem(const MtsHeader *request,
									 const MtsHeader *reply,
									 const uint8_t *body, size_t size);
extern uint8_t *mts_reply_decompress(MtsHeader *reply, const uint8_t *body,
									 size_t *size);
extern void mts_reply_begin(MtsReplyReader *reader, const mongoc_iovec_t *iov,
							size_t iovcnt);
extern ssize_t mts_reply_readv(MtsReplyReader *reader, mongoc_stream_t *stream,
							   mongoc_iovec_t *iov, size_t iovcnt,
							   size_t min_bytes, int32_t timeout,
							   const char **problem);

#endif /* MTS_REPLY_H */
