/*
 * stream.c
 *		Wait for MongoDB in slices, between which interrupts are looked for.
 *
 * libmongoc blocks in poll() for as long as its timeouts say.  This stream
 * passes everything on to libmongoc's own socket stream, but cuts each wait
 * into slices, and gives up with ECANCELED when PostgreSQL wants the backend
 * back.  No error is raised here, since that would jump through libmongoc's
 * frames: remote.c looks at MtsWait.interrupted when libmongoc has returned.
 */
#include "driver/stream.h"

#include <errno.h>
#include <poll.h>

#include "miscadmin.h"
#include "storage/procsignal.h"

#include "compat.h"

#define SLICE_MSECS 100

/* libmongoc leaves the numbers from 100 on to others */
#define STREAM_TYPE 1000

typedef struct Stream
{
	mongoc_stream_t base; /* must be first */
	mongoc_stream_t *inner;
	MtsWait *wait;
	bool timed_out;
	bool polls; /* does the call not wait, as TLS and the handshake ask? */
	bool again; /* so it may be made again */
} Stream;

/*
 * Let other backends go on that wait for this one, such as DROP DATABASE.
 * False when that raised an error, which must not leave from here; it is
 * raised again when the interrupt is dealt with.
 */
static bool
absorb_barrier(void)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool ok = true;

	PG_TRY();
	{
		ProcessProcSignalBarrier();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		ok = false;
	}
	PG_END_TRY();
	return ok;
}

/* Does PostgreSQL want to do something that can't wait for MongoDB? */
static bool
is_interrupted(void)
{
	if (!InterruptPending || InterruptHoldoffCount > 0 || CritSectionCount > 0)
		return false;
	if (ProcSignalBarrierPending && !absorb_barrier())
		return true;
	if (ProcDiePending || ClientConnectionLost || mts_transaction_timed_out ||
		(QueryCancelPending && QueryCancelHoldoffCount == 0))
		return true;
	return CheckClientConnectionPending && !pq_check_connection();
}

/*
 * mts_stream_wait_begin
 *		Forget how the last call of libmongoc's ended, before the next one.
 */
void
mts_stream_wait_begin(MtsWait *wait)
{
	wait->interrupted = false;
	wait->problem = NULL;
	wait->answered = 0;
	wait->patience = MTS_PATIENCE;
	wait->was_hasty = false;
	wait->refusals[0] = '\0';
}

/*
 * mts_stream_wait_is_over
 *		Must a wait end, for an interrupt or the deadline?
 */
bool
mts_stream_wait_is_over(MtsWait *wait)
{
	if (wait->deadline != 0)
		return bson_get_monotonic_time() >= wait->deadline;
	if (is_interrupted())
		wait->interrupted = true;
	return wait->interrupted;
}

/* When a timeout in milliseconds ends; negative ones never do. */
int64
mts_stream_wait_expiry(int32 timeout)
{
	return timeout < 0
			   ? PG_INT64_MAX
			   : bson_get_monotonic_time() + timeout * INT64CONST(1000);
}

/* Milliseconds of the next slice; 0 when the time is over. */
int32
mts_stream_wait_slice(int64 expires)
{
	int64 left = expires - bson_get_monotonic_time();

	return left <= 0 ? 0 : (int32) Min(left / 1000 + 1, SLICE_MSECS);
}

static void
begin(Stream *stream, int32 timeout)
{
	stream->timed_out = stream->again = false;
	stream->polls = timeout == 0;
}

/*
 * Wait until the inner stream is ready.  Returns false with errno set when
 * the time is over or the wait was given up.
 */
static bool
wait_ready(Stream *stream, int events, int64 expires)
{
	mongoc_stream_poll_t poller = {stream->inner, events, 0};

	if (!stream->inner)
	{
		errno = ENOTCONN;
		return false;
	}
	for (;;)
	{
		int32 slice = mts_stream_wait_slice(expires);

		if (mts_stream_wait_is_over(stream->wait))
		{
			errno = ECANCELED;
			return false;
		}
		if (mongoc_stream_poll(&poller, 1, slice) > 0)
			return true;
		if (slice == 0)
		{
			stream->again = stream->polls;
			stream->timed_out = !stream->polls;
			errno = stream->polls ? EAGAIN : ETIMEDOUT;
			return false;
		}
	}
}

static ssize_t
stream_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Stream *stream = (Stream *) base;
	int64 expires = mts_stream_wait_expiry(timeout);
	ssize_t total = 0;

	begin(stream, timeout);
	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t filled = 0;

		while (filled < iov[i].iov_len)
		{
			ssize_t n;

			if (total > 0 && (size_t) total >= min_bytes)
				return total;
			if (!wait_ready(stream, POLLIN, expires))
				return -1;
			n = mongoc_stream_read(stream->inner,
								   (char *) iov[i].iov_base + filled,
								   iov[i].iov_len - filled, 1, SLICE_MSECS);
			if (n <= 0)
				return total > 0 && (size_t) total >= min_bytes ? total : n;
			filled += n;
			total += n;
		}
	}
	return total;
}

/* Leave out of the buffers what has been sent; returns the first that is left. */
static size_t
skip_sent(mongoc_iovec_t *iov, size_t iovcnt, size_t first, size_t sent)
{
	while (first < iovcnt && sent >= iov[first].iov_len)
		sent -= iov[first++].iov_len;
	if (first < iovcnt)
	{
		iov[first].iov_base = (char *) iov[first].iov_base + sent;
		iov[first].iov_len -= sent;
	}
	return first;
}

/* All buffers at once: each by itself would be a packet of its own. */
static ssize_t
stream_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	Stream *stream = (Stream *) base;
	int64 expires = mts_stream_wait_expiry(timeout);
	mongoc_iovec_t *rest = bson_malloc(iovcnt * sizeof(*rest));
	ssize_t total = 0;
	size_t first;
	int error;

	begin(stream, timeout);
	memcpy(rest, iov, iovcnt * sizeof(*rest));
	first = skip_sent(rest, iovcnt, 0, 0);
	while (first < iovcnt && total >= 0)
	{
		ssize_t n = -1;

		if (wait_ready(stream, POLLOUT, expires))
		{
			n = mongoc_stream_writev(stream->inner, rest + first,
									 iovcnt - first, 1);
			/* what the socket doesn't take at once is no failure */
			if (n < 0 && (mongoc_stream_timed_out(stream->inner) ||
						  mongoc_stream_should_retry(stream->inner)))
				n = 0;
		}
		/* what has been sent is not to be sent again */
		if (n < 0 && total > 0 && stream->again)
			break;
		total = n < 0 ? n : total + n;
		if (n > 0)
			first = skip_sent(rest, iovcnt, first, n);
	}
	/* free() may set errno, which libmongoc looks at */
	error = errno;
	bson_free(rest);
	errno = error;
	return total;
}

/* Has a member that is still silent had its time? */
static bool
is_out_of_patience(const MtsWait *wait)
{
	return wait->answered != 0 &&
		   bson_get_monotonic_time() >= wait->answered + wait->patience;
}

/* Report the streams without a connection, and count them. */
static ssize_t
note_failed(mongoc_stream_poll_t *streams, size_t nstreams)
{
	ssize_t n = 0;

	for (size_t i = 0; i < nstreams; i++)
	{
		bool failed = ((Stream *) streams[i].stream)->inner == NULL;

		streams[i].revents = failed ? POLLHUP : 0;
		n += failed;
	}
	return n;
}

/*
 * Wait for any of the streams, which are all ours.  libmongoc polls only to ask
 * all members of a deployment who they are, and goes on when each has answered
 * or failed.  So a member that stays silent fails soon after another answered.
 */
static ssize_t
stream_poll(mongoc_stream_poll_t *streams, size_t nstreams, int32_t timeout)
{
	mongoc_stream_poll_t *inner;
	MtsWait *wait = ((Stream *) streams[0].stream)->wait;
	int64 expires = mts_stream_wait_expiry(timeout);
	bool given_up;
	int32 slice;
	ssize_t n = note_failed(streams, nstreams);

	if (n > 0)
		return n;
	inner = bson_malloc0(nstreams * sizeof(*inner));
	for (size_t i = 0; i < nstreams; i++)
	{
		inner[i].stream = ((Stream *) streams[i].stream)->inner;
		inner[i].events = streams[i].events;
	}
	do
	{
		slice = mts_stream_wait_slice(expires);
		given_up = mts_stream_wait_is_over(wait);
		n = given_up ? 0 : mongoc_stream_poll(inner, nstreams, slice);
		given_up |= n == 0 && is_out_of_patience(wait);
	} while (n == 0 && slice > 0 && !given_up);

	for (size_t i = 0; i < nstreams; i++)
	{
		streams[i].revents = given_up ? POLLERR : inner[i].revents;
		if ((streams[i].revents & POLLIN) && wait->answered == 0)
			wait->answered = bson_get_monotonic_time();
	}
	bson_free(inner);
	return given_up ? (ssize_t) nstreams : n;
}

static void
stream_destroy(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	if (stream->inner)
		mongoc_stream_destroy(stream->inner);
	bson_free(stream);
}

static int
stream_close(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	return stream->inner ? mongoc_stream_close(stream->inner) : 0;
}

static int
stream_flush(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	return stream->inner ? mongoc_stream_flush(stream->inner) : -1;
}

static int
stream_setsockopt(mongoc_stream_t *base, int level, int name, void *value,
				  mongoc_socklen_t len)
{
	Stream *stream = (Stream *) base;

	return stream->inner ? mongoc_stream_setsockopt(stream->inner, level, name,
													value, len)
						 : -1;
}

static bool
stream_check_closed(mongoc_stream_t *base)
{
	Stream *stream = (Stream *) base;

	return !stream->inner || mongoc_stream_check_closed(stream->inner);
}

static bool
stream_timed_out(mongoc_stream_t *base)
{
	return ((Stream *) base)->timed_out;
}

static bool
stream_should_retry(mongoc_stream_t *base)
{
	return ((Stream *) base)->again;
}

/*
 * mts_stream_wrap
 *		Make a stream over a connected socket, which it owns; libmongoc destroys
 *		the stream.
 *
 * NULL stands for a connection that could not be made: the stream fails when
 * libmongoc first polls it.
 */
mongoc_stream_t *
mts_stream_wrap(mongoc_socket_t *socket, MtsWait *wait)
{
	Stream *stream = bson_malloc0(sizeof(Stream));

	stream->base.type = STREAM_TYPE;
	stream->base.destroy = stream_destroy;
	stream->base.failed = stream_destroy;
	stream->base.close = stream_close;
	stream->base.flush = stream_flush;
	stream->base.readv = stream_readv;
	stream->base.writev = stream_writev;
	stream->base.setsockopt = stream_setsockopt;
	stream->base.check_closed = stream_check_closed;
	stream->base.poll = stream_poll;
	stream->base.timed_out = stream_timed_out;
	stream->base.should_retry = stream_should_retry;
	stream->inner = socket ? mongoc_stream_socket_new(socket) : NULL;
	stream->wait = wait;
	return &stream->base;
}
