/*
 * checked.c
 *		A stream through which only sound replies come to libmongoc.
 *
 * It lies over the stream that waits in slices, and over TLS where that is
 * used.  libmongoc reads a message's length first and then the rest of it, so
 * the rest is checked where libmongoc has it, without a copy.  What is unsound
 * is a failure of the connection, which remote.c raises as what it is.
 */
#include "stream.h"

#include <errno.h>

#include "core/message.h"

/* libmongoc leaves the numbers from 100 on to others */
#define STREAM_TYPE 1001

/* How long the rest of a message may take where libmongoc polls, in ms */
#define REST_MSECS 10000

typedef struct Checked
{
	mongoc_stream_t base; /* must be first */
	mongoc_stream_t *inner;
	MtsWait *wait;
	bool may_compress; /* has the client offered that? */
	int32 request;     /* the number of the last one */
	int read;          /* bytes of the reply's length */
	uint8_t length[MTS_MESSAGE_LENGTH];
} Checked;

/* Note what is wrong, for the error that libmongoc's leads to. */
static ssize_t
refuse(Checked *checked, const char *problem)
{
	checked->wait->problem = problem;
	errno = EBADMSG;
	return -1;
}

static ssize_t
read_length(Checked *checked, uint8_t *into, size_t size, size_t min_bytes,
			int32 timeout)
{
	size_t left = MTS_MESSAGE_LENGTH - checked->read;
	ssize_t n;

	/* 0 where libmongoc polls: TLS would take 1 for a time that is over */
	n = mongoc_stream_read(checked->inner, into, Min(size, left),
						   Min(min_bytes, left), timeout);
	if (n <= 0)
		return n;
	memcpy(checked->length + checked->read, into, n);
	checked->read += n;
	if (checked->read == MTS_MESSAGE_LENGTH)
	{
		const char *problem =
			mts_message_length_problem(mts_message_int32(checked->length));

		if (problem)
			return refuse(checked, problem);
	}
	return n;
}

static ssize_t
read_rest(Checked *checked, uint8_t *into, size_t size, int32 timeout)
{
	size_t left = mts_message_int32(checked->length) - MTS_MESSAGE_LENGTH;
	const char *problem;
	ssize_t n;

	if (size != left)
		return refuse(checked, "it was not read as a whole");
	n = mongoc_stream_read(checked->inner, into, left, left,
						   timeout == 0 ? REST_MSECS : timeout);
	if (n < 0 || (size_t) n < left)
		return n < 0 ? n : 0;
	problem = mts_message_problem(into, left, checked->request,
								  checked->may_compress);
	if (problem)
		return refuse(checked, problem);
	checked->read = 0;
	return n;
}

static ssize_t
checked_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  size_t min_bytes, int32_t timeout)
{
	Checked *checked = (Checked *) base;
	uint8_t *into = (uint8_t *) iov[0].iov_base;

	if (iovcnt != 1)
		return refuse(checked, "it was not read as a whole");
	if (checked->read < MTS_MESSAGE_LENGTH)
		return read_length(checked, into, iov[0].iov_len, min_bytes, timeout);
	return read_rest(checked, into, iov[0].iov_len, timeout);
}

/* The number of the request, where a write is one */
static void
note_request(Checked *checked, const mongoc_iovec_t *iov, size_t iovcnt)
{
	uint8_t header[MTS_MESSAGE_LENGTH + 4];
	size_t have = 0;
	size_t total = 0;

	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t n = Min(iov[i].iov_len, sizeof(header) - have);

		memcpy(header + have, iov[i].iov_base, n);
		have += n;
		total += iov[i].iov_len;
	}
	if (have == sizeof(header) && (size_t) mts_message_int32(header) == total)
		checked->request = mts_message_int32(header + MTS_MESSAGE_LENGTH);
}

static ssize_t
checked_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			   int32_t timeout)
{
	Checked *checked = (Checked *) base;

	note_request(checked, iov, iovcnt);
	return mongoc_stream_writev(checked->inner, iov, iovcnt, timeout);
}

static void
checked_destroy(mongoc_stream_t *base)
{
	mongoc_stream_destroy(((Checked *) base)->inner);
	bson_free(base);
}

static void
checked_failed(mongoc_stream_t *base)
{
	mongoc_stream_failed(((Checked *) base)->inner);
	bson_free(base);
}

static int
checked_close(mongoc_stream_t *base)
{
	return mongoc_stream_close(((Checked *) base)->inner);
}

static int
checked_flush(mongoc_stream_t *base)
{
	return mongoc_stream_flush(((Checked *) base)->inner);
}

static int
checked_setsockopt(mongoc_stream_t *base, int level, int name, void *value,
				   mongoc_socklen_t len)
{
	return mongoc_stream_setsockopt(((Checked *) base)->inner, level, name,
									value, len);
}

static mongoc_stream_t *
checked_get_base_stream(mongoc_stream_t *base)
{
	return ((Checked *) base)->inner;
}

static bool
checked_check_closed(mongoc_stream_t *base)
{
	return mongoc_stream_check_closed(((Checked *) base)->inner);
}

static bool
checked_timed_out(mongoc_stream_t *base)
{
	return mongoc_stream_timed_out(((Checked *) base)->inner);
}

static bool
checked_should_retry(mongoc_stream_t *base)
{
	return mongoc_stream_should_retry(((Checked *) base)->inner);
}

/*
 * mts_checked_wrap
 *		A stream over another one, which it owns; libmongoc destroys it.
 */
mongoc_stream_t *
mts_checked_wrap(mongoc_stream_t *inner, MtsWait *wait, bool may_compress)
{
	Checked *checked = bson_malloc0(sizeof(Checked));

	checked->base.type = STREAM_TYPE;
	checked->base.destroy = checked_destroy;
	checked->base.failed = checked_failed;
	checked->base.close = checked_close;
	checked->base.flush = checked_flush;
	checked->base.readv = checked_readv;
	checked->base.writev = checked_writev;
	checked->base.setsockopt = checked_setsockopt;
	checked->base.get_base_stream = checked_get_base_stream;
	checked->base.check_closed = checked_check_closed;
	checked->base.timed_out = checked_timed_out;
	checked->base.should_retry = checked_should_retry;
	checked->inner = inner;
	checked->may_compress = may_compress;
	checked->wait = wait;
	return &checked->base;
}
