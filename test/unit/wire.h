/*
 * wire.h
 *		Reads a reply in memory as libmongoc reads one from a server.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdlib.h>
#include <string.h>

#include "driver/reply.h"

#define OP_REPLY 1
#define OP_QUERY 2004
#define OP_COMPRESSED 2012
#define OP_MSG 2013

typedef struct Memory
{
	mongoc_stream_t base; /* must be first */
	const uint8_t *at;
	size_t left;
} Memory;

static ssize_t
memory_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Memory *memory = (Memory *) base;
	size_t n = BSON_MIN(iov[0].iov_len, memory->left);

	memcpy(iov[0].iov_base, memory->at, n);
	memory->at += n;
	memory->left -= n;
	return (ssize_t) n;
}

static ssize_t
memory_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	return (ssize_t) iov[0].iov_len;
}

static void
memory_destroy(mongoc_stream_t *base)
{
}

/*
 * Return why the reply to a request is refused, or NULL.  The message is given
 * without its length.  It is read into an allocation of its size, so that ASan
 * sees reads past the end.
 */
static const char *
wire_problem(const uint8_t *message, size_t size, uint32_t request,
			 uint32_t opcode, bool may_compress)
{
	Memory length = {{0}};
	MtsReplies replies = {0};
	const char *problem;
	mongoc_stream_t *stream =
		mts_reply_stream(&length.base, &replies, may_compress);
	uint32_t total = BSON_UINT32_TO_LE((uint32_t) (size + 4));
	uint32_t header[] = {BSON_UINT32_TO_LE(16), BSON_UINT32_TO_LE(request), 0,
						 BSON_UINT32_TO_LE(opcode)};
	mongoc_iovec_t iov = {.iov_base = (void *) header,
						  .iov_len = sizeof(header)};
	uint8_t *copy = malloc(size);
	bool ok;

	length.base.readv = memory_readv;
	length.base.writev = memory_writev;
	length.base.destroy = memory_destroy;
	length.at = (const uint8_t *) &total;
	length.left = sizeof(total);
	ok = mongoc_stream_writev(stream, &iov, 1, 0) == sizeof(header) &&
		 mongoc_stream_read(stream, header, 4, 4, 0) == 4;
	length.at = message;
	length.left = size;
	ok = ok &&
		 mongoc_stream_read(stream, copy, size, size, 0) == (ssize_t) size;
	problem = replies.problem;
	if (ok != (problem == NULL))
		problem = "the stream fails without a problem";
	mongoc_stream_destroy(stream);
	free(copy);
	return problem;
}

#endif /* WIRE_H */
