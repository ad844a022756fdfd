/*
 * read_ahead.c
 *		A stream that asks for a cursor's next batch before it is wanted.
 *
 * libmongoc asks for a batch when the one before it has been read, so the
 * server would wait while a batch is decoded, and we would wait while the
 * server reads.  This stream sends the request for a batch, which is always
 * the same, once more as soon as it is answered.  When libmongoc makes that
 * request, it is not sent, and libmongoc reads the answer to ours.
 *
 * A connection answers one request after the other.  So before any other
 * request is sent, the answer is read and kept until its cursor needs it or
 * is closed.  It is kept for one cursor of the connection at a time.
 *
 * Closing a cursor can take as long as the server takes for a batch.  So only
 * a batch that came soon lets us ask for the next one.
 *
 * A batch that was asked for has left its cursor.  If its connection is lost,
 * libmongoc could ask for the one after it by another connection.  So cursors
 * fail that were open when an answer was lost (cursor.c).
 */
#include "driver/read_ahead.h"

#include <errno.h>
#include <string.h>

/* The longest wait for a batch that lets us ask for the next one */
#define SOON_USECS INT64_C(100000)

/* How long an answer may take if libmongoc polls, with a timeout of 0 */
#define POLL_MSECS 10000

/* libmongoc leaves the numbers from 100 on to others. */
#define STREAM_TYPE 1002

/*
 * A message begins with its length, its id, the id of the request that it
 * answers, and its opcode.  The flags, the kind of the first section, and its
 * document follow.
 */
#define LENGTH sizeof(int32_t)
#define HEADER (4 * LENGTH)
#define ANSWERS_AT (2 * LENGTH)
#define OPCODE_AT (3 * LENGTH)
#define DOCUMENT_AT (5 * LENGTH + 1)
#define OP_MSG 2013

typedef struct Stream
{
	mongoc_stream_t base; /* must be first */
	mongoc_stream_t *inner;
	MtsReadAhead *ahead;
	uint8_t request[1024]; /* the last one of libmongoc's */
	size_t size;           /* 0 if it was longer */
	int64_t cursor;        /* whose next batch was asked for, or 0 */
	bool is_coming;        /* the answer has not been read from the server */
	bool is_taken;         /* libmongoc reads that answer */
	bool is_broken;        /* a request was sent, or an answer read, in part */
	uint8_t *kept;         /* the answer, or NULL */
	size_t given;          /* bytes of it that libmongoc has read */
	int64_t began;         /* when libmongoc began to read an answer */
	int32_t timeout;       /* of the request of the answer that is coming */
} Stream;

static int32_t
read_int32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return (int32_t) BSON_UINT32_FROM_LE(n);
}

/*
 * Tell whether the last request is a command, and find a path in it, as
 * "cursors.0".
 */
static bool
find_in_request(const Stream *stream, const char *name, const char *path,
				bson_iter_t *found)
{
	bson_t command;
	bson_iter_t iter;

	return stream->size > DOCUMENT_AT &&
		   read_int32(stream->request + OPCODE_AT) == OP_MSG &&
		   bson_init_static(&command, stream->request + DOCUMENT_AT,
							stream->size - DOCUMENT_AT) &&
		   bson_iter_init(&iter, &command) && bson_iter_next(&iter) &&
		   strcmp(bson_iter_key(&iter), name) == 0 &&
		   bson_iter_init(&iter, &command) &&
		   bson_iter_find_descendant(&iter, path, found);
}

/* Return the cursor whose next batch the last request asks for, or 0. */
static int64_t
requested_cursor(const Stream *stream)
{
	bson_iter_t id;

	return find_in_request(stream, "getMore", "getMore", &id)
			   ? bson_iter_as_int64(&id)
			   : 0;
}

/* Tell whether the last request closes the cursor that was read ahead. */
static bool
closes_cursor(const Stream *stream)
{
	bson_iter_t id;

	return find_in_request(stream, "killCursors", "cursors.0", &id) &&
		   bson_iter_as_int64(&id) == stream->cursor;
}

/* Tell whether an answer, without its length, leaves its cursor open. */
static bool
leaves_cursor_open(const uint8_t *rest, size_t size)
{
	size_t at = DOCUMENT_AT - LENGTH;
	bson_t answer;
	bson_iter_t iter, id;

	return read_int32(rest + OPCODE_AT - LENGTH) == OP_MSG &&
		   bson_init_static(&answer, rest + at, size - at) &&
		   bson_iter_init(&iter, &answer) &&
		   bson_iter_find_descendant(&iter, "cursor.id", &id) &&
		   bson_iter_as_int64(&id) != 0;
}

/* ---- The answer to a request of ours ------------------------------------ */

static void
forget(Stream *stream)
{
	bson_free(stream->kept);
	stream->kept = NULL;
	stream->cursor = 0;
	stream->is_coming = stream->is_taken = false;
	stream->given = 0;
}

/* Read the answer that is coming, and keep it. */
static bool
keep(Stream *stream, int32_t timeout)
{
	uint8_t length[LENGTH];
	int32_t size;

	if (timeout == 0)
		timeout = POLL_MSECS;
	stream->is_coming = false;
	stream->is_broken = true;
	if (mongoc_stream_read(stream->inner, length, LENGTH, LENGTH, timeout) !=
		LENGTH)
		return false;
	size = read_int32(length);
	if (size < (int32_t) HEADER)
		return false;
	stream->kept = bson_malloc(size);
	memcpy(stream->kept, length, LENGTH);
	stream->is_broken =
		mongoc_stream_read(stream->inner, stream->kept + LENGTH, size - LENGTH,
						   size - LENGTH, timeout) != size - (int32_t) LENGTH;
	return !stream->is_broken;
}

/*
 * mts_read_ahead_receive
 *		Read the answer that is coming, if any, with the timeout of its
 *		request.
 */
void
mts_read_ahead_receive(MtsReadAhead *ahead)
{
	Stream *stream = (Stream *) ahead->coming;

	if (stream && stream->is_coming)
		(void) keep(stream, stream->timeout);
	ahead->coming = NULL;
}

/* Send the last request again, for the batch after the one just read. */
static void
ask(Stream *stream, int32_t timeout)
{
	mongoc_iovec_t iov = {.iov_base = (void *) stream->request,
						  .iov_len = stream->size};

	stream->cursor = requested_cursor(stream);
	stream->is_coming = true;
	stream->timeout = timeout;
	stream->ahead->coming = &stream->base;
	stream->is_broken =
		mongoc_stream_writev(stream->inner, &iov, 1, timeout) !=
		(ssize_t) stream->size;
}

/* ---- The stream --------------------------------------------------------- */

/* Remember a request of libmongoc's, which it writes as a whole. */
static size_t
remember(Stream *stream, const mongoc_iovec_t *iov, size_t iovcnt)
{
	size_t total = 0;

	for (size_t i = 0; i < iovcnt; i++)
	{
		if (total + iov[i].iov_len <= sizeof(stream->request))
			memcpy(stream->request + total, iov[i].iov_base, iov[i].iov_len);
		total += iov[i].iov_len;
	}
	stream->size = total <= sizeof(stream->request) ? total : 0;
	return total;
}

static ssize_t
read_ahead_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
				  int32_t timeout)
{
	Stream *stream = (Stream *) base;
	size_t total = remember(stream, iov, iovcnt);

	if (stream->is_broken)
	{
		errno = ENOTCONN;
		return -1;
	}
	if (stream->cursor != 0 && requested_cursor(stream) == stream->cursor)
	{
		stream->is_taken = true;
		return total;
	}
	if (stream->is_coming && !keep(stream, timeout))
		return -1;
	if (stream->cursor != 0 && closes_cursor(stream))
		forget(stream);
	return mongoc_stream_writev(stream->inner, iov, iovcnt, timeout);
}

/* Read from the kept answer, or from the server. */
static ssize_t
read_answer(Stream *stream, mongoc_iovec_t *iov, size_t min_bytes,
			int32_t timeout)
{
	if (!stream->is_taken || !stream->kept)
		return mongoc_stream_readv(stream->inner, iov, 1, min_bytes, timeout);
	memcpy(iov->iov_base, stream->kept + stream->given, iov->iov_len);
	stream->given += iov->iov_len;
	return iov->iov_len;
}

/* libmongoc reads the length of an answer, and then the rest of it. */
static ssize_t
read_ahead_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
				 size_t min_bytes, int32_t timeout)
{
	Stream *stream = (Stream *) base;
	bool is_rest = iov->iov_len > LENGTH;
	uint8_t *rest = iov->iov_base;
	ssize_t n;

	if (!is_rest)
		stream->began = bson_get_monotonic_time();
	n = read_answer(stream, iov, min_bytes, timeout);
	if (!is_rest || n != (ssize_t) iov->iov_len)
		return n;
	if (stream->is_taken)
	{
		memcpy(rest + ANSWERS_AT - LENGTH, stream->request + LENGTH, LENGTH);
		forget(stream);
	}
	if (stream->ahead->is_wanted && stream->cursor == 0 &&
		requested_cursor(stream) != 0 && leaves_cursor_open(rest, n) &&
		bson_get_monotonic_time() - stream->began <= SOON_USECS)
		ask(stream, timeout);
	return n;
}

static void
read_ahead_destroy(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	if (stream->cursor != 0)
		stream->ahead->lost++;
	if (stream->ahead->coming == base)
		stream->ahead->coming = NULL;
	mongoc_stream_destroy(stream->inner);
	bson_free(stream->kept);
	bson_free(stream);
}

static mongoc_stream_t *
read_ahead_get_base_stream(mongoc_stream_t *base)
{
	return ((Stream *) base)->inner;
}

static bool
read_ahead_check_closed(mongoc_stream_t *base)
{
	return mongoc_stream_check_closed(((Stream *) base)->inner);
}

static bool
read_ahead_timed_out(mongoc_stream_t *base)
{
	return mongoc_stream_timed_out(((Stream *) base)->inner);
}

static bool
read_ahead_should_retry(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	return !stream->is_broken && mongoc_stream_should_retry(stream->inner);
}

/*
 * mts_read_ahead_stream
 *		Make a stream over another one, which it owns; libmongoc destroys it.
 *
 * The other one refuses malformed replies.  *ahead outlives the stream.
 */
mongoc_stream_t *
mts_read_ahead_stream(mongoc_stream_t *inner, MtsReadAhead *ahead)
{
	Stream *stream = bson_malloc0(sizeof(Stream));

	stream->base.type = STREAM_TYPE;
	stream->base.destroy = read_ahead_destroy;
	stream->base.readv = read_ahead_readv;
	stream->base.writev = read_ahead_writev;
	stream->base.get_base_stream = read_ahead_get_base_stream;
	stream->base.check_closed = read_ahead_check_closed;
	stream->base.timed_out = read_ahead_timed_out;
	stream->base.should_retry = read_ahead_should_retry;
	stream->inner = inner;
	stream->ahead = ahead;
	return &stream->base;
}
