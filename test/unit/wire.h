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

/*
 * Return why the reply to a request is refused, or NULL.  The message is given
 * without its length.  It is read into an allocation of its size, so that ASan
 * sees reads past the end.
 */
static const char *
wire_problem(const uint8_t *message, size_t size, uint32_t request,
			 uint32_t opcode, bool may_compress)
{
	Memory memory = {{0}};
	MtsReplyReader reader = {.may_compress = may_compress};
	const char *problem = NULL;
	uint32_t total = BSON_UINT32_TO_LE((uint32_t) (size + 4));
	MtsHeader header = {BSON_UINT32_TO_LE(16), BSON_UINT32_TO_LE(request), 0,
						BSON_UINT32_TO_LE(opcode)};
	mongoc_iovec_t iov = {.iov_base = (void *) &header,
						  .iov_len = sizeof(header)};
	uint8_t *copy = malloc(size);
	bool ok;

	memory.base.readv = memory_readv;
	memory.at = (const uint8_t *) &total;
	memory.left = sizeof(total);
	mts_reply_begin(&reader, &iov, 1);
	iov.iov_len = sizeof(total);
	ok = mts_reply_readv(&reader, &memory.base, &iov, 1, 4, 0, &problem) == 4;
	memory.at = message;
	memory.left = size;
	iov = (mongoc_iovec_t){.iov_base = (void *) copy, .iov_len = size};
	ok = ok && mts_reply_readv(&reader, &memory.base, &iov, 1, size, 0,
							   &problem) == (ssize_t) size;
	if (ok != (problem == NULL))
		problem = "the stream fails without a problem";
	free(copy);
	return problem;
}

#endif /* WIRE_H */
