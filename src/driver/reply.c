/*
 * reply.c
 *		Refuse malformed replies before they are read.
 *
 * The replies to our commands are checked where they are received (wire.c).
 * Those to libmongoc's own, which are hello, logins and pings, are checked
 * because libmongoc trusts replies too much.  Its versions 1.23 to 2.5 accept
 * the reply to another request.  They abort the backend if an error has code
 * 0, and 1.23 also reads and writes outside a message whose length, flags,
 * opcode or document is wrong.  test/t/fake.pl has these cases.
 *
 * libmongoc reads the length of a message and then the rest of it, so the rest
 * is checked in libmongoc's memory.  A malformed reply fails the connection.
 * The documents of a batch are checked when they are unfolded.
 *
 * libmongoc also does what a server asks for, for as long as that takes, and
 * deaf to interrupts: it hashes a password a billion times, or copies what it
 * knows of a thousand members for each of them.  Such replies are refused.
 */
#include "driver/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/bson/element.h"
#include "driver/compress.h"

#define REST_MSECS 10000 /* for the rest of a message, if libmongoc polls */

/* The most members of a replica set; MongoDB allows 50 */
#define MAX_MEMBERS 50

/* The most iterations of SCRAM; MongoDB's default is 15,000 */
#define MAX_ITERATIONS 1000000

#define LENGTH sizeof(uint32_t)
#define HEADER sizeof(MtsHeader)

/* Tell whether a text is "database.collection". */
static bool
is_namespace(const MtsElement *field)
{
	size_t len;
	const char *dot = strchr(mts_element_text(field, &len), '.');

	return dot && dot[1] != '\0';
}

/* Tell whether an element is a document, or an array, with a valid length. */
static bool
open_element(const MtsElement *element, bson_type_t type,
			 MtsElementCursor *fields)
{
	return element->type == type &&
		   mts_element_open(fields, element->value, element->size);
}

/* Tell whether an element is an array of documents. */
static bool
is_batch(const MtsElement *element)
{
	MtsElementCursor items, fields;
	MtsElement item;
	MtsNext next;

	if (!open_element(element, BSON_TYPE_ARRAY, &items))
		return false;
	while ((next = mts_element_next(&items, &item)) == MTS_NEXT_OK)
		if (!open_element(&item, BSON_TYPE_DOCUMENT, &fields))
			return false;
	return next == MTS_NEXT_END;
}

/*
 * Tell whether an element is {id: .., ns: .., firstBatch: [{..}, ..]}, or has
 * nextBatch instead.  There must be one id and one batch, because libmongoc
 * would read only the last of several.  A cursor that has more batches must
 * name its collection.
 */
static bool
is_cursor(const MtsElement *element)
{
	MtsElementCursor fields;
	MtsElement field;
	MtsNext next;
	int ids = 0, batches = 0;
	bool has_more = false, has_name = false;
	bool ok = true;

	if (!open_element(element, BSON_TYPE_DOCUMENT, &fields))
		return false;
	while (ok && (next = mts_element_next(&fields, &field)) == MTS_NEXT_OK)
	{
		if (strcmp(field.key, "firstBatch") == 0 ||
			strcmp(field.key, "nextBatch") == 0)
			ok = is_batch(&field) && ++batches == 1;
		else if (strcmp(field.key, "id") == 0)
		{
			ok = field.type == BSON_TYPE_INT64 && ++ids == 1;
			has_more = ok && mts_element_int64(&field) != 0;
		}
		else if (strcmp(field.key, "ns") == 0)
			ok = has_name =
				field.type == BSON_TYPE_UTF8 && is_namespace(&field);
		else
			ok = mts_element_is_well_formed(&field, MTS_MAX_DEPTH);
	}
	return ok && next == MTS_NEXT_END && ids == 1 && batches == 1 &&
		   (has_name || !has_more);
}

/*
 * Tell whether the number of iterations in a payload of SCRAM, such as
 * "r=..,s=..,i=15000", is one that servers have.  Other data has none.
 */
static bool
has_few_iterations(const MtsElement *payload)
{
	const char *bytes = (const char *) payload->value;
	const char *end = bytes + payload->size;
	int64_t iterations = 0;

	if (payload->type != BSON_TYPE_BINARY)
		return true;
	while (bytes + 3 <= end && memcmp(bytes, ",i=", 3) != 0)
		bytes++;
	for (bytes += 3; bytes < end && *bytes >= '0' && *bytes <= '9'; bytes++)
	{
		iterations = iterations * 10 + (*bytes - '0');
		if (iterations > MAX_ITERATIONS)
			return false;
	}
	return true;
}

/* Tell whether the login in the reply to a hello can be answered. */
static bool
is_login(const MtsElement *element)
{
	MtsElementCursor fields;
	MtsElement field;
	MtsNext next;
	bool ok = true;

	if (!open_element(element, BSON_TYPE_DOCUMENT, &fields))
		return true;
	while (ok && (next = mts_element_next(&fields, &field)) == MTS_NEXT_OK)
		ok = strcmp(field.key, "payload") != 0 || has_few_iterations(&field);
	return ok;
}

/* Count the elements of an array; 0 if it is not an array. */
static int
count_elements(const MtsElement *element)
{
	MtsElementCursor items;
	MtsElement item;
	int n = 0;

	if (!open_element(element, BSON_TYPE_ARRAY, &items))
		return 0;
	while (mts_element_next(&items, &item) == MTS_NEXT_OK)
		n++;
	return n;
}

/* Tell whether an element is a reply whose parts libmongoc can read. */
static bool
is_reply(const MtsElement *element)
{
	MtsElementCursor fields;
	MtsElement field;
	MtsNext next;
	int nmembers = 0;
	bool ok = true;

	if (!open_element(element, BSON_TYPE_DOCUMENT, &fields))
		return false;
	while (ok && (next = mts_element_next(&fields, &field)) == MTS_NEXT_OK)
	{
		if (strcmp(field.key, "cursor") == 0)
			ok = is_cursor(&field);
		else if (!mts_element_is_well_formed(&field, MTS_MAX_DEPTH))
			ok = false;
		else if (strcmp(field.key, "code") == 0)
			ok = field.type != BSON_TYPE_INT32 ||
				 mts_element_int32(&field) != 0;
		else if (strcmp(field.key, "writeErrors") == 0)
			ok = is_batch(&field);
		else if (strcmp(field.key, "writeConcernError") == 0)
			ok = field.type == BSON_TYPE_DOCUMENT;
		else if (strcmp(field.key, "payload") == 0)
			ok = has_few_iterations(&field);
		else if (strcmp(field.key, "speculativeAuthenticate") == 0)
			ok = is_login(&field);
		else if (strcmp(field.key, "hosts") == 0 ||
				 strcmp(field.key, "passives") == 0 ||
				 strcmp(field.key, "arbiters") == 0)
			ok = (nmembers += count_elements(&field)) <= MAX_MEMBERS;
	}
	return ok && next == MTS_NEXT_END;
}

/*
 * mts_reply_problem
 *		Return why a reply to a request is malformed, or NULL.
 *
 * The body follows the header.
 */
const char *
mts_reply_problem(const MtsHeader *request, const MtsHeader *reply,
				  const uint8_t *body, size_t size)
{
	bool is_query = request->opcode == BSON_UINT32_TO_LE(MTS_OP_QUERY);
	size_t fields = is_query ? 20 : 5;
	MtsElement document;

	if (reply->answers != request->id)
		return "it answers another request";
	if (reply->opcode !=
		BSON_UINT32_TO_LE(is_query ? MTS_OP_REPLY : MTS_OP_MSG))
		return "it has another opcode than the reply to its request";
	/* an OP_REPLY has one document; an OP_MSG no flags and one section */
	if (size < fields || (is_query ? memcmp(body + 16, "\1\0\0\0", 4)
								   : memcmp(body, "\0\0\0\0\0", 5)) != 0)
		return "it has flags or sections that were not asked for";
	document = mts_element_document(body + fields, size - fields);
	return is_reply(&document) ? NULL : "its document is malformed";
}

/*
 * mts_reply_decompress
 *		Decompress a reply whose header and body these are.
 *
 * Returns the body, which the caller frees, and replaces its size and the
 * opcode of the header.  Returns NULL if that is not possible.
 */
uint8_t *
mts_reply_decompress(MtsHeader *reply, const uint8_t *body, size_t *size)
{
	uint32_t original[2]; /* the opcode, and the size of the body */
	size_t length;
	uint8_t *bytes;

	if (*size <= sizeof(original))
		return NULL;
	memcpy(original, body, sizeof(original));
	length = BSON_UINT32_FROM_LE(original[1]);
	if (length == 0 || length > MTS_MAX_MESSAGE)
		return NULL;
	bytes = malloc(length);
	if (bytes &&
		!mts_compress_undo(body[sizeof(original)], body + sizeof(original) + 1,
						   *size - sizeof(original) - 1, bytes, length))
	{
		free(bytes);
		return NULL;
	}
	*size = length;
	reply->opcode = original[0];
	return bytes;
}

/* ---- What libmongoc reads ----------------------------------------------- */

/*
 * mts_reply_begin
 *		Record the header of a request of libmongoc's, if the data that it
 *		writes begin with one.
 */
void
mts_reply_begin(MtsReplyReader *reader, const mongoc_iovec_t *iov,
				size_t iovcnt)
{
	MtsHeader request;
	size_t have = 0;
	size_t total = 0;

	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t n = BSON_MIN(iov[i].iov_len, HEADER - have);

		memcpy((uint8_t *) &request + have, iov[i].iov_base, n);
		have += n;
		total += iov[i].iov_len;
	}
	if (have == HEADER && BSON_UINT32_FROM_LE(request.length) == total)
		reader->request = request;
}

/* Return why a reply, which may be compressed, is malformed, or NULL. */
static const char *
find_problem(const MtsReplyReader *reader, const uint8_t *body, size_t size)
{
	MtsHeader reply = reader->reply;
	uint8_t *bytes;
	const char *problem;

	if (!reader->may_compress ||
		reply.opcode != BSON_UINT32_TO_LE(MTS_OP_COMPRESSED))
		return mts_reply_problem(&reader->request, &reply, body, size);
	bytes = mts_reply_decompress(&reply, body, &size);
	if (!bytes)
		return "it cannot be decompressed";
	/* a request that was compressed is an OP_MSG, too */
	problem = mts_reply_problem(&(MtsHeader){.id = reader->request.id,
											 .opcode = BSON_UINT32_TO_LE(
												 MTS_OP_MSG)},
								&reply, bytes, size);
	free(bytes);
	return problem;
}

static ssize_t
refuse(const char **problem, const char *reason)
{
	*problem = reason;
	errno = EBADMSG;
	return -1;
}

/*
 * mts_reply_readv
 *		Read from a stream for libmongoc, and check each message.
 *
 * When a reply is refused, the reason is in *problem, and the read fails.
 */
ssize_t
mts_reply_readv(MtsReplyReader *reader, mongoc_stream_t *stream,
				mongoc_iovec_t *iov, size_t iovcnt, size_t min_bytes,
				int32_t timeout, const char **problem)
{
	uint8_t *into = iov[0].iov_base;
	size_t size = iov[0].iov_len;
	MtsHeader *reply = &reader->reply;
	bool is_rest = reader->read == LENGTH;
	size_t left = is_rest ? BSON_UINT32_FROM_LE(reply->length) - LENGTH
						  : LENGTH - reader->read;
	const char *reason;
	ssize_t n;

	if (iovcnt != 1 ||
		(is_rest ? size != left || size < HEADER - LENGTH : size > left))
		return refuse(problem, "it was not read as a whole");
	/*
	 * Where libmongoc polls, it reads with a timeout of 0.  That stays for the
	 * length, because TLS would take 1 ms for an elapsed timeout.
	 */
	n = mongoc_stream_read(stream, into, size, is_rest ? size : min_bytes,
						   is_rest && timeout == 0 ? REST_MSECS : timeout);
	if (n > 0 && !is_rest)
	{
		memcpy((uint8_t *) reply + reader->read, into, n);
		reader->read += n;
		if (reader->read == LENGTH &&
			BSON_UINT32_FROM_LE(reply->length) > MTS_MAX_MESSAGE)
			return refuse(problem, "it is too long");
	}
	if (n <= 0 || !is_rest)
		return n;
	if ((size_t) n < size)
		return 0; /* the connection was lost */
	reader->read = 0;
	memcpy(&reply->id, into, HEADER - LENGTH);
	reason =
		find_problem(reader, into + HEADER - LENGTH, size + LENGTH - HEADER);
	return reason ? refuse(problem, reason) : n;
}
