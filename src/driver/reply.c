/*
 * reply.c
 *		A stream that refuses malformed replies before libmongoc reads them.
 *
 * This file exists because libmongoc trusts replies too much.  Its versions
 * 1.23 to 2.5 accept the reply to another request, and so return other rows.
 * They end a batch without an error at an element that is not a document.
 * They abort the backend if the length of a document in a batch is wrong, if a
 * cursor does not name its collection, or if an error has code 0.  1.23 also
 * reads and writes outside a message whose length, flags, opcode or document
 * is wrong.
 *
 * test/t/fake.pl has these cases.  The checks can go when all supported
 * versions of libmongoc make them.
 *
 * libmongoc reads the length of a message and then the rest of it, so the rest
 * is checked in libmongoc's memory.  A malformed reply fails the connection.
 * The documents of a batch are checked when they are unfolded.  Compressed
 * replies are not checked.
 *
 * libmongoc also does what a server asks for, for as long as that takes, and
 * deaf to interrupts: it hashes a password a billion times, or copies what it
 * knows of a thousand members for each of them.  Such replies are refused.
 *
 * libmongoc waits for the reply to each command.  So that the backend can work
 * while the server writes, libmongoc gets {ok: 1} as soon as a certain
 * command is sent.  The true reply is read when it is asked for, or before the
 * next request is sent, unless that is such a command, too.
 */
#include "driver/reply.h"

#include <errno.h>
#include <string.h>

#include "core/bson/element.h"

#define MAX_LENGTH (64 * 1024 * 1024) /* a message of MongoDB has 48 MB */
#define REST_MSECS 10000 /* for the rest of a message, if libmongoc polls */

/* The most members of a replica set; MongoDB allows 50 */
#define MAX_MEMBERS 50

/* The most iterations of SCRAM; MongoDB's default is 15,000 */
#define MAX_ITERATIONS 1000000

/* libmongoc leaves the numbers from 100 on to others. */
#define STREAM_TYPE 1001

#define OP_REPLY 1
#define OP_QUERY 2004
#define OP_COMPRESSED 2012
#define OP_MSG 2013

/*
 * A message begins with its length, its id, the id of the request that it
 * answers, and its opcode, all little-endian.
 */
#define LENGTH sizeof(uint32_t)
#define HEADER (4 * LENGTH)

/* The beginning of an OP_MSG whose first section has a command */
typedef struct Request
{
	uint32_t header[4];
	uint8_t between[10]; /* flags, section, length, and type of the element */
	char command[38];    /* the name of the element, perhaps cut */
} Request;

typedef struct Stream
{
	mongoc_stream_t base; /* must be first */
	mongoc_stream_t *inner;
	MtsReplies *replies;
	bool may_compress;   /* the client has offered compression */
	uint32_t request[4]; /* the header of the last request */
	uint32_t reply[4];   /* the header of its reply */
	size_t read;         /* bytes of the reply's length that were read */
	uint32_t early[MTS_MAX_EARLY][4]; /* of requests without a reply yet */
	int nearly;
	int32_t timeout; /* of reading a late reply */
	bool is_broken;  /* a late reply could not be read */
} Stream;

/* What libmongoc gets: no flags, one section, {ok: 1} */
static const uint8_t done[] = {0,  0,   0,   0, 0, 13, 0, 0, 0,
							   16, 'o', 'k', 0, 1, 0,  0, 0, 0};

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

/* Return why a reply with this body is malformed, or NULL. */
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
	/* an OP_REPLY has one document; an OP_MSG no flags and one section */
	if (size < fields || (is_query ? memcmp(body + 16, "\1\0\0\0", 4)
								   : memcmp(body, "\0\0\0\0\0", 5)) != 0)
		return "it has flags or sections that were not asked for";
	document = mts_element_document(body + fields, size - fields);
	return is_reply(&document) ? NULL : "its document is malformed";
}

static ssize_t
refuse(Stream *stream, const char *problem)
{
	stream->replies->problem = problem;
	errno = EBADMSG;
	return -1;
}

/* ---- Late replies ------------------------------------------------------- */

/* Tell libmongoc that the last request is done; it reads the length first. */
static ssize_t
read_done(Stream *stream, uint8_t *into, size_t size, int32_t timeout)
{
	uint32_t header[4] = {BSON_UINT32_TO_LE(HEADER + sizeof(done)), 0,
						  stream->request[1], BSON_UINT32_TO_LE(OP_MSG)};
	uint8_t message[HEADER + sizeof(done)];

	memcpy(message, header, HEADER);
	memcpy(message + HEADER, done, sizeof(done));
	if (size > sizeof(message) - stream->read)
		return refuse(stream, "it was not read as a whole");
	memcpy(into, message + stream->read, size);
	stream->read = (stream->read + size) % sizeof(message);
	stream->timeout = timeout;
	return size;
}

/* Read a reply that libmongoc believes it has. */
static bool
receive_one(Stream *stream)
{
	MtsReplies *replies = stream->replies;
	MtsLateReply *late = &replies->late[replies->nlate];
	const char *problem = NULL;
	uint32_t size = 0;

	if (mongoc_stream_read(stream->inner, stream->reply, HEADER, HEADER,
						   stream->timeout) != HEADER)
		return false;
	size = BSON_UINT32_FROM_LE(stream->reply[0]);
	if (size <= HEADER || size > MAX_LENGTH)
		return refuse(stream, "it has a wrong length") > 0;
	late->size = size - HEADER;
	late->body = bson_malloc(late->size);
	if (mongoc_stream_read(stream->inner, late->body, late->size, late->size,
						   stream->timeout) == (ssize_t) late->size)
	{
		problem = find_problem(stream, late->body, late->size);
		if (!problem && replies->nlate < replies->nawaited)
		{
			replies->nlate++;
			return true;
		}
	}
	else
		problem = "";
	bson_free(late->body);
	if (problem && *problem)
		(void) refuse(stream, problem);
	return !problem;
}

/* Read the replies that libmongoc believes it has. */
static void
receive(Stream *stream)
{
	stream->replies->pending = NULL;
	for (int i = 0; i < stream->nearly && !stream->is_broken; i++)
	{
		memcpy(stream->request, stream->early[i], HEADER);
		stream->is_broken = !receive_one(stream);
	}
	stream->nearly = 0;
}

/*
 * mts_reply_receive
 *		Read the replies to early commands, unless they have been read already.
 *
 * Returns false when the next one is lost; a reason may be in
 * replies->problem.
 */
bool
mts_reply_receive(MtsReplies *replies)
{
	if (replies->pending)
		receive((Stream *) replies->pending);
	return replies->nlate > 0;
}

/*
 * mts_reply_next
 *		Return the next reply that was received; the caller frees it.
 */
MtsLateReply
mts_reply_next(MtsReplies *replies)
{
	MtsLateReply late = replies->late[0];

	replies->nlate--;
	replies->nawaited--;
	memmove(replies->late, replies->late + 1,
			replies->nlate * sizeof(MtsLateReply));
	return late;
}

/*
 * mts_reply_forget
 *		Free the replies to early commands, which nobody asks for any more.
 */
void
mts_reply_forget(MtsReplies *replies)
{
	while (replies->nlate > 0)
		bson_free(replies->late[--replies->nlate].body);
	replies->nawaited = 0;
}

/* ---- The stream --------------------------------------------------------- */

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

	if (stream->replies->pending == base && iovcnt == 1)
		return read_done(stream, into, size, timeout);
	if (iovcnt != 1 ||
		(is_rest ? size != left || size < HEADER - LENGTH : size > left))
		return refuse(stream, "it was not read as a whole");
	/*
	 * Where libmongoc polls, it reads with a timeout of 0.  That stays for the
	 * length, because TLS would take 1 ms for an elapsed timeout.
	 */
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

/*
 * Record the header of a request, if the data written begin with one.  The
 * reply to the early command is not waited for.
 */
static ssize_t
reply_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 int32_t timeout)
{
	Stream *stream = (Stream *) base;
	MtsReplies *replies = stream->replies;
	Request request = {{0}};
	size_t have = 0;
	size_t total = 0;
	bool is_early;
	ssize_t sent;

	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t n = BSON_MIN(iov[i].iov_len, sizeof(request) - 1 - have);

		memcpy((uint8_t *) &request + have, iov[i].iov_base, n);
		have += n;
		total += iov[i].iov_len;
	}
	is_early = replies->early && !stream->may_compress &&
			   request.header[3] == BSON_UINT32_TO_LE(OP_MSG) &&
			   strcmp(request.command, replies->early) == 0 &&
			   /* one before it has its reply, or is on its way in here */
			   replies->nawaited == replies->nlate + stream->nearly;
	if (replies->pending == base && !is_early)
		receive(stream);
	if (stream->is_broken)
	{
		errno = EPIPE;
		return -1;
	}
	if (have >= HEADER && BSON_UINT32_FROM_LE(request.header[0]) == total)
		memcpy(stream->request, request.header, HEADER);
	sent = mongoc_stream_writev(stream->inner, iov, iovcnt, timeout);
	if (is_early && sent == (ssize_t) total)
	{
		replies->pending = base;
		replies->nawaited++;
		memcpy(stream->early[stream->nearly++], request.header, HEADER);
		replies->early = NULL;
	}
	return sent;
}

static void
reply_destroy(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	if (stream->replies->pending == base)
		stream->replies->pending = NULL;
	mongoc_stream_destroy(stream->inner);
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
 * replies->problem is set when a reply is refused.  replies must outlive the
 * stream.
 */
mongoc_stream_t *
mts_reply_stream(mongoc_stream_t *inner, MtsReplies *replies,
				 bool may_compress)
{
	Stream *stream = bson_malloc0(sizeof(Stream));

	stream->base.type = STREAM_TYPE;
	stream->base.destroy = reply_destroy;
	stream->base.readv = reply_readv;
	stream->base.writev = reply_writev;
	stream->base.get_base_stream = reply_get_base_stream;
	stream->base.check_closed = reply_check_closed;
	stream->base.timed_out = reply_timed_out;
	stream->base.should_retry = reply_should_retry;
	stream->inner = inner;
	stream->replies = replies;
	stream->may_compress = may_compress;
	return &stream->base;
}
