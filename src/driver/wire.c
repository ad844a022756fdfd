/*
 * wire.c
 *		Send a command as one message of MongoDB's protocol, and receive the
 *		reply.
 *
 * A message is an OP_MSG: a header, flags, and one section with a document.
 * A reply is read into a buffer of ours, and checked as a whole before
 * anything of it is used.  A message that is not what it should be is a
 * problem of the server's.  Then the stream cannot be used any more, because
 * it is not known where the next message begins.
 *
 * Buffers are malloc'd.  They are also filled within libmongoc's frames, where
 * no error may be raised.
 */
#include "driver/wire.h"

#include <stdlib.h>
#include <string.h>

#include "driver/reply.h"

/* The bytes of flags and of a section's kind, before its document */
#define PREFIX 5

/* The length that a document begins with, and the 0 that it ends with */
#define LENGTH 4
#define END 1

/* The least size of a buffer */
#define LEAST 4096

/*
 * libmongoc numbers its requests from 1 on.  It reads no reply to ours, but a
 * reader of the network's traffic tells them apart.
 */
#define FIRST_ID UINT32_C(0x40000000)
#define LAST_ID UINT32_C(0x7fffffff)

static uint32_t last_id = FIRST_ID - 1;

/*
 * mts_wire_send
 *		Send a command, to which the fields are appended; returns the id of the
 *		message, or 0 if it was not sent as a whole.
 *
 * Nothing is copied.  Ids are unique in the process until they begin again.
 */
uint32_t
mts_wire_send(mongoc_stream_t *stream, const bson_t *command,
			  const bson_t *fields, uint32_t flags, int32_t timeout)
{
	uint32_t size = command->len + fields->len - LENGTH - END;
	struct
	{
		MtsHeader header;
		uint32_t flags;
	} begin;
	uint8_t kind[1 + LENGTH] = {0};
	uint8_t end[END] = {0};
	uint32_t length = BSON_UINT32_TO_LE(size);
	mongoc_iovec_t iov[] = {
		{.iov_base = (void *) &begin, .iov_len = sizeof(begin)},
		{.iov_base = (void *) kind, .iov_len = sizeof(kind)},
		{.iov_base = (void *) (bson_get_data(command) + LENGTH),
		 .iov_len = command->len - LENGTH - END},
		{.iov_base = (void *) (bson_get_data(fields) + LENGTH),
		 .iov_len = fields->len - LENGTH - END},
		{.iov_base = (void *) end, .iov_len = sizeof(end)},
	};
	uint32_t total = (uint32_t) sizeof(MtsHeader) + PREFIX + size;

	last_id = last_id == LAST_ID ? FIRST_ID : last_id + 1;
	begin.header =
		(MtsHeader){BSON_UINT32_TO_LE(total), BSON_UINT32_TO_LE(last_id), 0,
					BSON_UINT32_TO_LE(MTS_OP_MSG)};
	begin.flags = BSON_UINT32_TO_LE(flags);
	memcpy(kind + 1, &length, LENGTH);
	return mongoc_stream_writev(stream, iov, sizeof(iov) / sizeof(*iov),
								timeout) == (ssize_t) total
			   ? last_id
			   : 0;
}

/* Make a buffer large enough; returns false when memory has run out. */
static bool
reserve(MtsReply *reply, size_t size)
{
	size_t capacity = BSON_MAX(size + size / 8, LEAST);

	if (size > reply->capacity)
	{
		mts_wire_free(reply);
		/* the next reply is about as large */
		reply->bytes = malloc(capacity);
		reply->capacity = reply->bytes ? capacity : 0;
	}
	reply->size = size;
	return reply->bytes != NULL;
}

/*
 * mts_wire_receive
 *		Receive the reply to a request.
 *
 * Returns false if it does not come as a whole, or is malformed; then *problem
 * says why.  The timeout, in milliseconds, is that of each of two reads.
 */
bool
mts_wire_receive(mongoc_stream_t *stream, uint32_t request, MtsReply *reply,
				 int32_t timeout, const char **problem)
{
	const MtsHeader asked = {.id = BSON_UINT32_TO_LE(request),
							 .opcode = BSON_UINT32_TO_LE(MTS_OP_MSG)};
	MtsHeader header;
	const char *reason;
	uint32_t length;

	if (mongoc_stream_read(stream, &header, sizeof(header), sizeof(header),
						   timeout) != sizeof(header))
		return false;
	length = BSON_UINT32_FROM_LE(header.length);
	if (length <= sizeof(header) || length > MTS_MAX_MESSAGE)
	{
		*problem = "it has a wrong length";
		return false;
	}
	if (!reserve(reply, length - sizeof(header)) ||
		mongoc_stream_read(stream, reply->bytes, reply->size, reply->size,
						   timeout) != (ssize_t) reply->size)
		return false;
	reason =
		mts_reply_problem(&asked, &header, reply->bytes, reply->size, false);
	if (reason)
		*problem = reason;
	return !reason;
}

/*
 * mts_wire_view
 *		View the document of a reply as long as its buffer is not used again.
 */
void
mts_wire_view(const MtsReply *reply, bson_t *document)
{
	/* it was checked */
	(void) bson_init_static(document, reply->bytes + PREFIX,
							reply->size - PREFIX);
}

/*
 * mts_wire_move
 *		Have a reply have what another one has, which is empty then.
 */
void
mts_wire_move(MtsReply *to, MtsReply *from)
{
	mts_wire_free(to);
	*to = *from;
	*from = (MtsReply){0};
}

/* mts_wire_free: free the buffer. */
void
mts_wire_free(MtsReply *reply)
{
	free(reply->bytes);
	*reply = (MtsReply){0};
}
