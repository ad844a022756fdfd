/*
 * reply.c
 *		A stream that refuses malformed replies before libmongoc reads them.
 *
 * libmongoc does not check enough itself; test/t/fake.pl has the cases.  Its
 * versions 1.23 to 2.5 accept the reply to another request, and so give other
 * rows; end a batch without an error at an element that is not a document; and
 * abort the process where the length of a document in a batch is wrong, a
 * cursor does not name its collection, or an error has code 0.  1.23 also
 * reads and writes outside a message whose length, flags, opcode or document
 * is wrong.
 *
 * libmongoc reads a message's length and then the rest of it, so the rest is
 * checked in libmongoc's memory.  A malformed reply fails the connection.  The
 * unfolding checks what the documents of a batch hold.  Nothing checks what a
 * compressed reply holds.
 */
#include "driver/reply.h"

#include <errno.h>
#include <string.h>

#include "core/bson/element.h"

#define MAX_LENGTH (64 * 1024 * 1024) /* a message of MongoDB has 48 MB */
#define REST_MSECS 10000 /* for the rest of a message where libmongoc polls */

#define OP_REPLY 1
#define OP_QUERY 2004
#define OP_COMPRESSED 2012
#define OP_MSG 2013

/* A message begins with its length, its id, the id of the request that it
 * answers, and its opcode, all little-endian. */
#define LENGTH sizeof(uint32_t)
#define HEADER (4 * LENGTH)

/* What libmongoc relies on in each */
typedef enum Part
{
	REPLY,  /* {cursor: CURSOR, writeErrors: BATCH, ..} */
	CURSOR, /* {id: .., ns: .., firstBatch: BATCH} */
	BATCH   /* [{..}, ..] */
} Part;

typedef struct Stream
{
	mongoc_stream_t base; /* must be first */
	mongoc_stream_t *inner;
	const char **problem; /* why a reply was refused */
	bool may_compress;    /* the client has offered compression */
	uint32_t request[4];  /* the header of the last request */
	uint32_t reply[4];    /* the header of its reply */
	size_t read;          /* bytes of the reply's length */
} Stream;

/* "database.collection" */
static bool
is_namespace(const MtsElement *field)
{
	size_t len;
	const char *dot = strchr(mts_element_text(field, &len), '.');

	return dot && dot[1] != '\0';
}

/* Of two ids, and of two batches, libmongoc would only read the last one. */
static bool
is_valid(const MtsElement *element, Part part)
{
	MtsElementCursor cursor, inner;
	MtsElement field;
	MtsNext next = MTS_NEXT_END;
	int ids = 0, batches = 0;
	bool needs_name = false; /* of a cursor that goes on */
	bool has_name = false;
	bool ok = element->type ==
				  (part == BATCH ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT) &&
			  mts_element_open(&cursor, element->value, element->size);

	while (ok && (next = mts_element_next(&cursor, &field)) == MTS_NEXT_OK)
	{
		if (part == BATCH)
			ok = field.type == BSON_TYPE_DOCUMENT &&
				 mts_element_open(&inner, field.value, field.size);
		else if (part == REPLY && strcmp(field.key, "cursor") == 0)
			ok = is_valid(&field, CURSOR);
		else if (part == CURSOR && (strcmp(field.key, "firstBatch") == 0 ||
									strcmp(field.key, "nextBatch") == 0))
			ok = is_valid(&field, BATCH) && ++batches == 1;
		else if (part == CURSOR && strcmp(field.key, "id") == 0)
		{
			ok = field.type == BSON_TYPE_INT64 && ++ids == 1;
			needs_name = ok && memcmp(field.value, "\0\0\0\0\0\0\0", 8) != 0;
		}
		else if (part == CURSOR && strcmp(field.key, "ns") == 0)
			ok = has_name =
				field.type == BSON_TYPE_UTF8 && is_namespace(&field);
		else
			ok = mts_element_is_well_formed(&field, MTS_MAX_DEPTH) &&
				 (part != REPLY || strcmp(field.key, "code") != 0 ||
				  field.type != BSON_TYPE_INT32 ||
				  memcmp(field.value, "\0\0\0", 4) != 0) &&
				 (strcmp(field.key, "writeErrors") != 0 ||
				  is_valid(&field, BATCH)) &&
				 (strcmp(field.key, "writeConcernError") != 0 ||
				  field.type == BSON_TYPE_DOCUMENT);
	}
	return ok && next == MTS_NEXT_END &&
		   (part != CURSOR ||
			((has_name || !needs_name) && ids + batches == 2));
}

/* Say why a reply with this body is malformed; NULL: it is not. */
static const char *
find_problem(const Stream *stream, const uint8_t *body, size_t size)
{
	bool is_query = stream->request[3] == BSON_UINT32_TO_LE(OP_QUERY);
	size_t fields = is_query ? 20 : 5;
	MtsElement document;

	if (stream->reply[2] != stream->request[1])
		return "it answers another request";
	if (stream->may_compress &&
		stream->reply[3] == BSON_UINT32_TO_LE(OP_COMPRESSED))
		return NULL;
	if (stream->reply[3] != BSON_UINT32_TO_LE(is_query ? OP_REPLY : OP_MSG))
		return "it has another opcode than the reply to its request";
	/* one document; or no flags, and a section that is a document */
	if (size < fields || (is_query ? memcmp(body + 16, "\1\0\0\0", 4)
								   : memcmp(body, "\0\0\0\0\0", 5)) != 0)
		return "it has flags or sections that were not asked for";
	document = mts_element_document(body + fields, size - fields);
	return is_valid(&document, REPLY) ? NULL : "its document is malformed";
}

static ssize_t
refuse(Stream *stream, const char *problem)
{
	*stream->problem = problem;
	errno = EBADMSG;
	return -1;
}

static ssize_t
reply_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			size_t min_bytes, int32_t timeout)
{
	Stream *stream = (Stream *) base;
	uint8_t *into = iov[0].iov_base;
	size_t size = iov[0].iov_len;
	bool is_rest = stream->read == LENGTH;
	size_t left = is_rest ? BSON_UINT32_FROM_LE(stream->reply[0]) - LENGTH
						  : LENGTH - stream->read;
	const char *problem;
	ssize_t n;

	if (iovcnt != 1 ||
		(is_rest ? size != left || size < HEADER - LENGTH : size > left))
		return refuse(stream, "it was not read as a whole");
	/* 0 where libmongoc polls: TLS would take 1 for a time that is over */
	n = mongoc_stream_read(stream->inner, into, size,
						   is_rest ? size : min_bytes,
						   is_rest && timeout == 0 ? REST_MSECS : timeout);
	if (n > 0 && !is_rest)
	{
		memcpy((uint8_t *) stream->reply + stream->read, into, n);
		stream->read += n;
		if (stream->read == LENGTH &&
			BSON_UINT32_FROM_LE(stream->reply[0]) > MAX_LENGTH)
			return refuse(stream, "it is too long");
	}
	if (n <= 0 || !is_rest)
		return n;
	if ((size_t) n < size)
		return 0; /* the connection was lost */
	stream->read = 0;
	memcpy(stream->reply + 1, into, HEADER - LENGTH);
	problem =
		find_problem(stream, into + HEADER - LENGTH, size + LENGTH - HEADER);
	return problem ? refuse(stream, problem) : n;
}

/* Keep the header of a request, if the data written begin with one. */
static ssize_t
reply_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 int32_t timeout)
{
	Stream *stream = (Stream *) base;
	uint32_t header[4];
	size_t have = 0;
	size_t total = 0;

	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t n = BSON_MIN(iov[i].iov_len, HEADER - have);

		memcpy((uint8_t *) header + have, iov[i].iov_base, n);
		have += n;
		total += iov[i].iov_len;
	}
	if (have == HEADER && BSON_UINT32_FROM_LE(header[0]) == total)
		memcpy(stream->request, header, HEADER);
	return mongoc_stream_writev(stream->inner, iov, iovcnt, timeout);
}

static void
reply_destroy(mongoc_stream_t *base)
{
	mongoc_stream_destroy(((Stream *) base)->inner);
	bson_free(base);
}

static mongoc_stream_t *
reply_get_base_stream(mongoc_stream_t *base)
{
	return ((Stream *) base)->inner;
}

static bool
reply_check_closed(mongoc_stream_t *base)
{
	return mongoc_stream_check_closed(((Stream *) base)->inner);
}

static bool
reply_timed_out(mongoc_stream_t *base)
{
	return mongoc_stream_timed_out(((Stream *) base)->inner);
}

static bool
reply_should_retry(mongoc_stream_t *base)
{
	return mongoc_stream_should_retry(((Stream *) base)->inner);
}

/*
 * mts_reply_stream
 *		Make a stream over another one, which it owns; libmongoc destroys it.
 *
 * *problem is set when a reply is refused; it must outlive the stream.
 */
mongoc_stream_t *
mts_reply_stream(mongoc_stream_t *inner, const char **problem,
				 bool may_compress)
{
	Stream *stream = bson_malloc0(sizeof(Stream));

	stream->base.type = 1001; /* those from 100 on are not libmongoc's */
	stream->base.destroy = reply_destroy;
	stream->base.readv = reply_readv;
	stream->base.writev = reply_writev;
	stream->base.get_base_stream = reply_get_base_stream;
	stream->base.check_closed = reply_check_closed;
	stream->base.timed_out = reply_timed_out;
	stream->base.should_retry = reply_should_retry;
	stream->inner = inner;
	stream->problem = problem;
	stream->may_compress = may_compress;
	return &stream->base;
}
