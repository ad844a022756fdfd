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

/* Tell whether a command has a password; drivers do not compress it. */
static bool
has_password(const bson_t *command)
{
	static const char *const names[] = {"createUser",   "updateUser",
										"saslStart",    "saslContinue",
										"authenticate", "copydb"};
	bson_iter_t iter;
	bool found = false;

	if (bson_iter_init(&iter, command) && bson_iter_next(&iter))
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			found |= strcmp(bson_iter_key(&iter), names[i]) == 0;
	return found;
}

/* Write the parts of a message with its header; false if that fails. */
static bool
write_plain(mongoc_stream_t *stream, MtsHeader *header, mongoc_iovec_t *parts,
			size_t nparts, size_t size, int32_t timeout)
{
	size_t total = sizeof(*header) + size;

	header->length = BSON_UINT32_TO_LE((uint32_t) total);
	header->opcode = BSON_UINT32_TO_LE(MTS_OP_MSG);
	return mongoc_stream_writev(stream, parts, nparts, timeout) ==
		   (ssize_t) total;
}

/*
 * Write the same message compressed: an OP_COMPRESSED with the opcode and the
 * size of what is compressed, and the compressor.
 */
static bool
write_compressed(mongoc_stream_t *stream, MtsHeader *header,
				 const mongoc_iovec_t *parts, size_t nparts, size_t size,
				 MtsCompressor compressor, int32_t timeout)
{
	uint32_t original[2] = {BSON_UINT32_TO_LE(MTS_OP_MSG),
							BSON_UINT32_TO_LE((uint32_t) size)};
	size_t bound = mts_compress_bound(compressor, size);
	uint8_t *body = malloc(size);
	uint8_t *compressed = malloc(bound);
	mongoc_iovec_t iov[] = {{.iov_base = (void *) header,
							 .iov_len = sizeof(*header)},
							{.iov_base = (void *) original,
							 .iov_len = sizeof(original)},
							{.iov_base = (void *) &compressor, .iov_len = 1},
							{.iov_base = (void *) compressed}};
	size_t have = 0, total;
	bool ok = false;

	for (size_t i = 1; body && i < nparts; i++)
	{
		memcpy(body + have, parts[i].iov_base, parts[i].iov_len);
		have += parts[i].iov_len;
	}
	if (body && compressed)
		iov[3].iov_len =
			mts_compress(compressor, body, size, compressed, bound);
	total = sizeof(*header) + sizeof(original) + 1 + iov[3].iov_len;
	header->length = BSON_UINT32_TO_LE((uint32_t) total);
	header->opcode = BSON_UINT32_TO_LE(MTS_OP_COMPRESSED);
	if (iov[3].iov_len > 0)
		ok = mongoc_stream_writev(stream, iov, 4, timeout) == (ssize_t) total;
	free(body);
	free(compressed);
	return ok;
}

/*
 * mts_wire_send
 *		Send a command, to which the fields are appended; returns the id of the
 *		message, or 0 if it was not sent as a whole.
 *
 * Nothing is copied, unless it is compressed.  Ids are unique in the process
 * until they begin again.
 */
uint32_t
mts_wire_send(mongoc_stream_t *stream, const bson_t *command,
			  const bson_t *fields, uint32_t flags, MtsCompressor compressor,
			  int32_t timeout)
{
	uint32_t length = command->len + fields->len - LENGTH - END;
	uint32_t length_le = BSON_UINT32_TO_LE(length);
	size_t size = PREFIX + length;
	MtsHeader header = {0};
	uint8_t begin[PREFIX + LENGTH] = {0};
	uint8_t end[END] = {0};
	mongoc_iovec_t parts[] = {
		{.iov_base = (void *) &header, .iov_len = sizeof(header)},
		{.iov_base = (void *) begin, .iov_len = sizeof(begin)},
		{.iov_base = (void *) (bson_get_data(command) + LENGTH),
		 .iov_len = command->len - LENGTH - END},
		{.iov_base = (void *) (bson_get_data(fields) + LENGTH),
		 .iov_len = fields->len - LENGTH - END},
		{.iov_base = (void *) end, .iov_len = sizeof(end)},
	};
	size_t nparts = sizeof(parts) / sizeof(*parts);
	bool ok;

	last_id = last_id == LAST_ID ? FIRST_ID : last_id + 1;
	header.id = BSON_UINT32_TO_LE(last_id);
	flags = BSON_UINT32_TO_LE(flags);
	memcpy(begin, &flags, sizeof(flags));
	memcpy(begin + PREFIX, &length_le, LENGTH);
	if (compressor == 0 || has_password(command))
		ok = write_plain(stream, &header, parts, nparts, size, timeout);
	else
		ok = write_compressed(stream, &header, parts, nparts, size, compressor,
							  timeout);
	return ok ? last_id : 0;
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

/* Replace a compressed reply by what it becomes. */
static bool
decompress(MtsHeader *header, MtsReply *reply)
{
	size_t size = reply->size;
	uint8_t *bytes = mts_reply_decompress(header, reply->bytes, &size);

	mts_wire_free(reply);
	*reply = (MtsReply){bytes, bytes ? size : 0, size};
	return bytes != NULL;
}

/*
 * Read bytes until there are so many in all; *have of them have come.  Without
 * a timeout, this reads those that are there.
 */
static bool
read_bytes(mongoc_stream_t *stream, void *bytes, size_t size, size_t *have,
		   int32_t timeout)
{
	while (*have < size)
	{
		ssize_t n =
			mongoc_stream_read(stream, (char *) bytes + *have, size - *have,
							   timeout == 0 ? 1 : size - *have, timeout);

		if (n <= 0)
			return false;
		*have += n;
	}
	return true;
}

/* Tell why a reading has ended. */
static MtsArrival
explain_end(mongoc_stream_t *stream, int32_t timeout)
{
	return timeout == 0 && mongoc_stream_should_retry(stream)
			   ? MTS_ARRIVAL_PART
			   : MTS_ARRIVAL_FAILED;
}

/*
 * mts_wire_receive
 *		Receive the reply to a request, or what has come of it.
 *
 * If it is malformed, *problem says why.  The timeout, in milliseconds, is
 * that of each of two reads.  If it is 0, nothing is waited for, and the next
 * call continues.
 */
MtsArrival
mts_wire_receive(mongoc_stream_t *stream, uint32_t request,
				 MtsIncoming *incoming, bool may_compress, int32_t timeout,
				 const char **problem)
{
	const MtsHeader asked = {.id = BSON_UINT32_TO_LE(request),
							 .opcode = BSON_UINT32_TO_LE(MTS_OP_MSG)};
	MtsHeader *header = &incoming->header;
	MtsReply *reply = &incoming->reply;
	const char *found;
	uint32_t length;
	size_t body;

	if (incoming->is_whole)
		return MTS_ARRIVAL_WHOLE;
	if (incoming->have < sizeof(*header))
	{
		if (!read_bytes(stream, header, sizeof(*header), &incoming->have,
						timeout))
			return explain_end(stream, timeout);
		length = BSON_UINT32_FROM_LE(header->length);
		if (length <= sizeof(*header) || length > MTS_MAX_MESSAGE)
		{
			*problem = "it has a wrong length";
			return MTS_ARRIVAL_FAILED;
		}
		if (!reserve(reply, length - sizeof(*header)))
			return MTS_ARRIVAL_FAILED;
	}
	body = incoming->have - sizeof(*header);
	if (!read_bytes(stream, reply->bytes, reply->size, &body, timeout))
	{
		incoming->have = sizeof(*header) + body;
		return explain_end(stream, timeout);
	}
	/* the request was compressed, otherwise the opcode is refused below */
	if (may_compress &&
		header->opcode == BSON_UINT32_TO_LE(MTS_OP_COMPRESSED) &&
		!decompress(header, reply))
		found = "it cannot be decompressed";
	else
		found = mts_reply_problem(&asked, header, reply->bytes, reply->size);
	/* that of another channel stays */
	if (found)
		*problem = found;
	incoming->is_whole = !found;
	return found ? MTS_ARRIVAL_FAILED : MTS_ARRIVAL_WHOLE;
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
