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
#include "stream.h"

#include <errno.h>
#include <poll.h>

#include "miscadmin.h"

#include "compat.h"

#define SLICE_MSECS		100

/* libmongoc leaves the numbers from 100 on to others */
#define STREAM_TYPE		1000

typedef struct Stream
{
	mongoc_stream_t base;		/* must be first */
	mongoc_stream_t *inner;
	MtsWait    *wait;
	bool		timed_out;
} Stream;

/* Does PostgreSQL want to do something that can't wait for MongoDB? */
static bool
is_interrupted(void)
{
	if (!InterruptPending || InterruptHoldoffCount > 0 ||
		CritSectionCount > 0)
		return false;
	if (ProcDiePending || ClientConnectionLost ||
		(QueryCancelPending && QueryCancelHoldoffCount == 0))
		return true;
	return CheckClientConnectionPending && !pq_check_connection();
}

static bool
must_give_up(MtsWait *wait)
{
	if (wait->deadline != 0)
		return bson_get_monotonic_time() >= wait->deadline;
	if (is_interrupted())
		wait->interrupted = true;
	return wait->interrupted;
}

/* When a timeout in milliseconds ends; negative ones never do. */
static int64
expiry(int32 timeout)
{
	return timeout < 0 ? PG_INT64_MAX :
		bson_get_monotonic_time() + timeout * INT64CONST(1000);
}

/* Milliseconds of the next slice; 0 when the time is over. */
static int32
next_slice(int64 expires)
{
	int64		left = expires - bson_get_monotonic_time();

	return left <= 0 ? 0 : (int32) Min(left / 1000 + 1, SLICE_MSECS);
}

/*
 * Wait until the inner stream is ready.  Returns false with errno set when
 * the time is over or the wait was given up.
 */
static bool
wait_ready(Stream *stream, int events, int64 expires)
{
	mongoc_stream_poll_t poller = {stream->inner, events, 0};

	for (;;)
	{
		int32		slice = next_slice(expires);

		if (must_give_up(stream->wait))
		{
			errno = ECANCELED;
			return false;
		}
		if (mongoc_stream_poll(&poller, 1, slice) > 0)
			return true;
		if (slice == 0)
		{
			stream->timed_out = true;
			errno = ETIMEDOUT;
			return false;
		}
	}
}

static ssize_t
stream_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Stream	   *stream = (Stream *) base;
	int64		expires = expiry(timeout);
	ssize_t		total = 0;

	stream->timed_out = false;
	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t		filled = 0;

		while (filled < iov[i].iov_len)
		{
			ssize_t		n;

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

static ssize_t
stream_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	Stream	   *stream = (Stream *) base;
	int64		expires = expiry(timeout);
	ssize_t		total = 0;

	stream->timed_out = false;
	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t		sent = 0;

		while (sent < iov[i].iov_len)
		{
			ssize_t		n;

			if (!wait_ready(stream, POLLOUT, expires))
				return -1;
			/* what the socket doesn't take at once is no failure */
			n = mongoc_stream_write(stream->inner,
									(char *) iov[i].iov_base + sent,
									iov[i].iov_len - sent, 1);
			if (n < 0 && !mongoc_stream_timed_out(stream->inner) &&
				!mongoc_stream_should_retry(stream->inner))
				return -1;
			if (n > 0)
			{
				sent += n;
				total += n;
			}
		}
	}
	return total;
}

/* All streams are ours: libmongoc polls those of one client together. */
static ssize_t
stream_poll(mongoc_stream_poll_t *streams, size_t nstreams, int32_t timeout)
{
	mongoc_stream_poll_t *inner = bson_malloc0(nstreams * sizeof(*inner));
	MtsWait    *wait = ((Stream *) streams[0].stream)->wait;
	int64		expires = expiry(timeout);
	bool		given_up;
	int32		slice;
	ssize_t		n;

	for (size_t i = 0; i < nstreams; i++)
	{
		inner[i].stream = ((Stream *) streams[i].stream)->inner;
		inner[i].events = streams[i].events;
	}
	do
	{
		slice = next_slice(expires);
		given_up = must_give_up(wait);
		n = given_up ? 0 : mongoc_stream_poll(inner, nstreams, slice);
	} while (n == 0 && slice > 0 && !given_up);

	for (size_t i = 0; i < nstreams; i++)
		streams[i].revents = given_up ? POLLERR : inner[i].revents;
	bson_free(inner);
	return given_up ? (ssize_t) nstreams : n;
}

static void
stream_destroy(mongoc_stream_t *base)
{
	mongoc_stream_destroy(((Stream *) base)->inner);
	bson_free(base);
}

static int
stream_close(mongoc_stream_t *base)
{
	return mongoc_stream_close(((Stream *) base)->inner);
}

static int
stream_flush(mongoc_stream_t *base)
{
	return mongoc_stream_flush(((Stream *) base)->inner);
}

static int
stream_setsockopt(mongoc_stream_t *base, int level, int name, void *value,
				  mongoc_socklen_t len)
{
	return mongoc_stream_setsockopt(((Stream *) base)->inner, level, name,
									value, len);
}

static bool
stream_check_closed(mongoc_stream_t *base)
{
	return mongoc_stream_check_closed(((Stream *) base)->inner);
}

static bool
stream_timed_out(mongoc_stream_t *base)
{
	return ((Stream *) base)->timed_out;
}

static bool
stream_should_retry(mongoc_stream_t *base)
{
	return false;
}

static mongoc_stream_t *
wrap_socket(mongoc_socket_t *socket, MtsWait *wait)
{
	Stream	   *stream = bson_malloc0(sizeof(Stream));

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
	stream->inner = mongoc_stream_socket_new(socket);
	stream->wait = wait;
	return &stream->base;
}

/* Wait for a connect that has begun; 0 or an errno. */
static int
finish_connect(mongoc_socket_t *socket, const struct sockaddr *address,
			   socklen_t len, MtsWait *wait, int64 expires)
{
	mongoc_socket_poll_t poller = {socket, POLLOUT, 0};
	int32		slice;

	do
	{
		if (must_give_up(wait))
			return ECANCELED;
		slice = next_slice(expires);
		if (mongoc_socket_poll(&poller, 1, slice) > 0)
		{
			/* a second connect tells how the first one ended */
			if (mongoc_socket_connect(socket, address, len, 0) == 0 ||
				mongoc_socket_errno(socket) == EISCONN)
				return 0;
			return mongoc_socket_errno(socket);
		}
	} while (slice > 0);
	return ETIMEDOUT;
}

/* Connect to one address; NULL with *problem set when that fails. */
static mongoc_socket_t *
connect_address(int family, const struct sockaddr *address, socklen_t len,
				MtsWait *wait, int64 expires, int *problem)
{
	mongoc_socket_t *socket = mongoc_socket_new(family, SOCK_STREAM, 0);
	int			result = 0;

	if (!socket)
	{
		*problem = errno;
		return NULL;
	}
	if (mongoc_socket_connect(socket, address, len, 0) != 0)
	{
		result = mongoc_socket_errno(socket);
		if (result == EINPROGRESS || result == EAGAIN ||
			result == EWOULDBLOCK)
			result = finish_connect(socket, address, len, wait, expires);
	}
	if (result == 0)
		return socket;
	*problem = result;
	mongoc_socket_destroy(socket);
	return NULL;
}

static mongoc_socket_t *
connect_unix(const char *path, MtsWait *wait, int64 expires, int *problem)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strlcpy(address.sun_path, path, sizeof(address.sun_path));
	return connect_address(AF_UNIX, (struct sockaddr *) &address,
						   sizeof(address), wait, expires, problem);
}

static mongoc_socket_t *
connect_tcp(const mongoc_host_list_t *host, MtsWait *wait, int64 expires,
			int *problem)
{
	struct addrinfo hints = {.ai_family = host->family,
	.ai_socktype = SOCK_STREAM};
	struct addrinfo *addresses;
	mongoc_socket_t *socket = NULL;
	char		port[8];

	snprintf(port, sizeof(port), "%hu", host->port);
	if (getaddrinfo(host->host, port, &hints, &addresses) != 0)
	{
		*problem = EHOSTUNREACH;
		return NULL;
	}
	for (struct addrinfo *a = addresses; a && !socket; a = a->ai_next)
		socket = connect_address(a->ai_family, a->ai_addr, a->ai_addrlen,
								 wait, expires, problem);
	freeaddrinfo(addresses);
	return socket;
}

/* Put TLS over a stream, as the URI's options say. */
static mongoc_stream_t *
start_tls(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
		  mongoc_stream_t *stream, int32 timeout, bson_error_t *error)
{
	bool		insecure =
		mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSINSECURE, false);
	mongoc_ssl_opt_t opt = {
		.pem_file = mongoc_uri_get_option_as_utf8(uri,
												  MONGOC_URI_TLSCERTIFICATEKEYFILE,
												  NULL),
		.ca_file = mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCAFILE,
												 NULL),
		.weak_cert_validation = insecure ||
		mongoc_uri_get_option_as_bool(uri,
									  MONGOC_URI_TLSALLOWINVALIDCERTIFICATES,
									  false),
		.allow_invalid_hostname = insecure ||
		mongoc_uri_get_option_as_bool(uri,
									  MONGOC_URI_TLSALLOWINVALIDHOSTNAMES,
									  false),
	};
	mongoc_stream_t *tls = mongoc_stream_tls_new_with_hostname(stream,
															   host->host,
															   &opt, 1);

	if (!tls)
	{
		mongoc_stream_destroy(stream);
		bson_set_error(error, MONGOC_ERROR_STREAM,
					   MONGOC_ERROR_STREAM_SOCKET,
					   "TLS can't be set up with the options of the URI");
		return NULL;
	}
	if (!mongoc_stream_tls_handshake_block(tls, host->host, timeout, error))
	{
		mongoc_stream_destroy(tls);
		return NULL;
	}
	return tls;
}

/*
 * mts_stream_open
 *		Connect to a host; a mongoc_stream_initiator_t.
 *
 * wait is the client's MtsWait and outlives the stream.  NULL with the reason
 * in *error when no connection can be made.
 */
mongoc_stream_t *
mts_stream_open(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
				void *wait, bson_error_t *error)
{
	int32		timeout =
		mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS,
									   10000);
	int64		expires = expiry(timeout);
	int			problem = 0;
	mongoc_socket_t *socket = host->family == AF_UNIX ?
		connect_unix(host->host, wait, expires, &problem) :
		connect_tcp(host, wait, expires, &problem);

	if (!socket)
	{
		bson_set_error(error, MONGOC_ERROR_STREAM,
					   MONGOC_ERROR_STREAM_CONNECT,
					   "could not connect to %s: %s", host->host_and_port,
					   strerror(problem));
		return NULL;
	}
	if (!mongoc_uri_get_tls(uri))
		return wrap_socket(socket, wait);
	return start_tls(uri, host, wrap_socket(socket, wait), timeout, error);
}
