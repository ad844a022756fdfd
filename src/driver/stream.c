/*
 * stream.c
 *		Connect to a host by a stream whose waits end for interrupts and
 *		deadlines.
 *
 * The stream passes everything on to libmongoc's own socket stream.  It cuts
 * each wait into slices, between which wait.c decides whether the wait is
 * over, and then fails with ECANCELED.  TLS is put over this stream, so it is
 * as interruptible as a plain one.  Each address of a host is tried in turn.
 *
 * A member of a replica set can fall silent and keep its connections: its
 * machine is stalled, or a firewall drops packets.  The other members soon
 * elect another primary.  While a reply is awaited for long, a second client
 * asks all members.  If this one is silent and another one is the primary, the
 * stream fails, and the call is repeated or ends as after a lost connection.
 * A slow query is not cut, because its server answers others.
 */
#include "postgres.h"

#include "driver/stream.h"

#include <errno.h>
#include <poll.h>

#include "driver/exchange.h"
#include "driver/wait.h"

/* The milliseconds that a read may wait for data that poll() has announced */
#define READ_MSECS 100

/* libmongoc leaves the numbers from 100 on to others. */
#define STREAM_TYPE 1000

/* The default of connectTimeoutMS, as in libmongoc */
#define DEFAULT_CONNECT_MSECS 10000

/*
 * How long a reply is awaited until the members are asked, and again, in
 * microseconds, and how often in turn the server must be silent
 */
#define SILENT_TIME INT64CONST(3000000)
#define SILENT_ANSWERS 2

/* How long the members have to answer, in milliseconds */
#define ASK_MSECS 2000

/* The most connections of one scan: some more than a set has members */
#define MAX_CONNECTIONS 100

typedef struct Stream
{
	mongoc_stream_t base;   /* must be first */
	mongoc_stream_t *inner; /* NULL without a connection */
	MtsWait *wait;
	const mongoc_uri_t *uri; /* the client's */
	char host[BSON_HOST_NAME_MAX + 7];
	bool must_not_block; /* the last call was made with a timeout of 0, as
						  * TLS and the handshake do */
	bool would_block;    /* so it failed, and may be made again */
	bool timed_out;
} Stream;

/* ---- Reading and writing ------------------------------------------------ */

/* Begin a call, and return when its timeout ends. */
static int64
begin_call(Stream *stream, int32 timeout)
{
	stream->timed_out = stream->would_block = false;
	stream->must_not_block = timeout == 0;
	return mts_wait_expiry(timeout);
}

/* Tell whether a server is a member of a set that can have another primary. */
static bool
is_member(const Stream *stream)
{
	return mongoc_uri_get_replica_set(stream->uri) &&
		   !mongoc_uri_get_option_as_bool(stream->uri,
										  MONGOC_URI_DIRECTCONNECTION, false);
}

/* Make a URI by which all members can be asked, but not logged in to. */
static mongoc_uri_t *
make_asking_uri(const mongoc_uri_t *uri)
{
	static const char *const texts[] = {MONGOC_URI_TLSCAFILE,
										MONGOC_URI_TLSCERTIFICATEKEYFILE};
	static const char *const flags[] = {MONGOC_URI_TLSINSECURE,
										MONGOC_URI_TLSALLOWINVALIDCERTIFICATES,
										MONGOC_URI_TLSALLOWINVALIDHOSTNAMES};
	const mongoc_host_list_t *host = mongoc_uri_get_hosts(uri);
	char *text = bson_strdup("mongodb://");
	mongoc_uri_t *asking;

	for (; host; host = host->next)
	{
		char *longer = bson_strdup_printf("%s%s%s", text, host->host_and_port,
										  host->next ? "," : "/");

		bson_free(text);
		text = longer;
	}
	asking = mongoc_uri_new(text);
	bson_free(text);
	if (!asking)
		return NULL;
	mongoc_uri_set_option_as_utf8(asking, MONGOC_URI_REPLICASET,
								  mongoc_uri_get_replica_set(uri));
	mongoc_uri_set_option_as_int32(asking, MONGOC_URI_CONNECTTIMEOUTMS,
								   ASK_MSECS);
	mongoc_uri_set_option_as_int32(asking, MONGOC_URI_SERVERSELECTIONTIMEOUTMS,
								   ASK_MSECS);
	mongoc_uri_set_option_as_bool(asking, MONGOC_URI_TLS,
								  mongoc_uri_get_tls(uri));
	for (int i = 0; i < lengthof(texts); i++)
		if (mongoc_uri_has_option(uri, texts[i]))
			mongoc_uri_set_option_as_utf8(
				asking, texts[i],
				mongoc_uri_get_option_as_utf8(uri, texts[i], NULL));
	for (int i = 0; i < lengthof(flags); i++)
		if (mongoc_uri_has_option(uri, flags[i]))
			mongoc_uri_set_option_as_bool(
				asking, flags[i],
				mongoc_uri_get_option_as_bool(uri, flags[i], false));
	return asking;
}

/* Tell whether a client has heard nothing of a host. */
static bool
is_unheard(mongoc_client_t *client, const char *host)
{
	bool is_heard = false;
	size_t n;
	mongoc_server_description_t **all =
		mongoc_client_get_server_descriptions(client, &n);

	for (size_t i = 0; i < n; i++)
		is_heard |=
			strcmp(mongoc_server_description_host(all[i])->host_and_port,
				   host) == 0 &&
			strcmp(mongoc_server_description_type(all[i]), "Unknown") != 0;
	mongoc_server_descriptions_destroy_all(all, n);
	return !is_heard;
}

/*
 * Ask the members.  Returns whether the server of a stream is silent, and
 * another member is the primary.
 */
static bool
is_abandoned(const Stream *stream)
{
	mongoc_uri_t *uri = make_asking_uri(stream->uri);
	mongoc_client_t *client = uri ? mongoc_client_new_from_uri(uri) : NULL;
	mongoc_server_description_t *primary = NULL;
	MtsWait wait = {0};
	MtsExchange exchange = {.wait = &wait, .problem = &wait.problem};
	bson_error_t error;
	bool result;

	mts_wait_reset(&wait);
	if (client)
	{
		mongoc_client_set_stream_initiator(client, mts_stream_open, &exchange);
		primary = mongoc_client_select_server(client, true, NULL, &error);
	}
	result = primary && is_unheard(client, stream->host);
	if (primary)
		mongoc_server_description_destroy(primary);
	if (client)
		mongoc_client_destroy(client);
	if (uri)
		mongoc_uri_destroy(uri);
	return result;
}

/*
 * Wait until the inner stream is ready.  Returns false with errno set when the
 * time has expired, the wait is over, or the server is silent while another
 * member is the primary.
 */
static bool
wait_ready(Stream *stream, int events, int64 expiry)
{
	mongoc_stream_poll_t poller = {stream->inner, events, 0};
	int64 asked = bson_get_monotonic_time();
	int nsilent = 0;

	if (!stream->inner)
	{
		errno = ENOTCONN;
		return false;
	}
	for (;;)
	{
		int32 slice = mts_wait_slice(expiry);

		/* a call that does not wait gets what has come */
		bool is_over =
			!stream->must_not_block && mts_wait_is_over(stream->wait);

		/* what needs no wait is still sent at the deadline */
		if (!(is_over && (events == POLLIN || stream->wait->deadline == 0)) &&
			mongoc_stream_poll(&poller, 1, is_over ? 0 : slice) > 0)
			return true;
		if (is_over)
		{
			errno = ECANCELED;
			return false;
		}
		if (stream->wait->deadline == 0 && is_member(stream) &&
			bson_get_monotonic_time() > asked + SILENT_TIME)
		{
			nsilent = is_abandoned(stream) ? nsilent + 1 : 0;
			if (nsilent == SILENT_ANSWERS)
			{
				errno = ENETUNREACH;
				return false;
			}
			asked = bson_get_monotonic_time();
		}
		if (slice == 0)
		{
			stream->would_block = stream->must_not_block;
			stream->timed_out = !stream->must_not_block;
			errno = stream->must_not_block ? EAGAIN : ETIMEDOUT;
			return false;
		}
	}
}

static ssize_t
stream_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Stream *stream = (Stream *) base;
	int64 expiry = begin_call(stream, timeout);
	ssize_t total = 0;

	for (size_t i = 0; i < iovcnt; i++)
	{
		size_t filled = 0;

		while (filled < iov[i].iov_len)
		{
			ssize_t n;

			if (total > 0 && (size_t) total >= min_bytes)
				return total;
			if (!wait_ready(stream, POLLIN, expiry))
				return -1;
			n = mongoc_stream_read(stream->inner,
								   (char *) iov[i].iov_base + filled,
								   iov[i].iov_len - filled, 1, READ_MSECS);
			if (n <= 0)
				return total > 0 && (size_t) total >= min_bytes ? total : n;
			filled += n;
			total += n;
		}
	}
	return total;
}

/*
 * Remove the bytes that have been sent from the buffers.  Returns the first
 * buffer that is not empty.
 */
static size_t
remove_sent(mongoc_iovec_t *iov, size_t iovcnt, size_t first, size_t sent)
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

/* Write all buffers by one call, since each call would make a packet. */
static ssize_t
stream_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	Stream *stream = (Stream *) base;
	int64 expiry = begin_call(stream, timeout);
	mongoc_iovec_t *rest = bson_malloc(iovcnt * sizeof(*rest));
	ssize_t total = 0;
	size_t first;
	int error;

	memcpy(rest, iov, iovcnt * sizeof(*rest));
	first = remove_sent(rest, iovcnt, 0, 0);
	while (first < iovcnt && total >= 0)
	{
		ssize_t n = -1;

		if (wait_ready(stream, POLLOUT, expiry))
		{
			n = mongoc_stream_writev(stream->inner, rest + first,
									 iovcnt - first, 1);
			/* a full send buffer is not a failure */
			if (n < 0 && (mongoc_stream_timed_out(stream->inner) ||
						  mongoc_stream_should_retry(stream->inner)))
				n = 0;
		}
		/* return the bytes sent, so that they are not sent again */
		if (n < 0 && total > 0 && stream->would_block)
			break;
		total = n < 0 ? n : total + n;
		if (n > 0)
			first = remove_sent(rest, iovcnt, first, n);
	}
	/* free() may set errno, which libmongoc reads */
	error = errno;
	bson_free(rest);
	errno = error;
	return total;
}

/* Tell whether the members that are still silent have had their time. */
static bool
patience_is_over(const MtsWait *wait)
{
	return wait->first_answer != 0 &&
		   bson_get_monotonic_time() >= wait->first_answer + wait->patience;
}

/* Set the events of the streams without a connection, and count them. */
static ssize_t
report_unconnected(mongoc_stream_poll_t *streams, size_t nstreams)
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
 * Wait for any of the streams, which are all of this type.
 *
 * libmongoc polls while it scans the members of a deployment, until each has
 * answered or failed, and in the TLS handshake with one of them.  A silent
 * member would delay the others, so it fails soon after the first one has
 * answered.
 */
static ssize_t
stream_poll(mongoc_stream_poll_t *streams, size_t nstreams, int32_t timeout)
{
	mongoc_stream_poll_t *inner;
	MtsWait *wait = ((Stream *) streams[0].stream)->wait;
	int64 expiry = mts_wait_expiry(timeout);
	bool given_up;
	int32 slice;
	ssize_t n = report_unconnected(streams, nstreams);

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
		slice = mts_wait_slice(expiry);
		given_up = mts_wait_is_over(wait);
		n = given_up ? 0 : mongoc_stream_poll(inner, nstreams, slice);
		given_up |= n == 0 && patience_is_over(wait);
	} while (n == 0 && slice > 0 && !given_up);

	for (size_t i = 0; i < nstreams; i++)
	{
		streams[i].revents = given_up ? POLLERR : inner[i].revents;
		if ((streams[i].revents & POLLIN) && wait->first_answer == 0)
			wait->first_answer = bson_get_monotonic_time();
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

/*
 * mts_stream_shut
 *		Close the connection of a stream that has no TLS.
 *
 * The stream fails from then on, as one does whose connection could not be
 * made.
 */
void
mts_stream_shut(mongoc_stream_t *root)
{
	Stream *stream = (Stream *) root;

	if (stream->inner)
		mongoc_stream_destroy(stream->inner);
	stream->inner = NULL;
}

/*
 * mts_stream_wait
 *		Wait until any of several streams below TLS can be read, for a slice of
 *		the time until the expiry.
 *
 * One that is closed can be read: that fails at once.
 */
void
mts_stream_wait(mongoc_stream_t *const *roots, size_t n, int64 expiry)
{
	mongoc_stream_poll_t *pollers = bson_malloc0((n + 1) * sizeof(*pollers));
	size_t n_open = 0;

	for (size_t i = 0; i < n; i++)
	{
		pollers[n_open].stream = ((const Stream *) roots[i])->inner;
		pollers[n_open].events = POLLIN;
		if (pollers[n_open].stream)
			n_open++;
	}
	if (n_open == n)
		(void) mongoc_stream_poll(pollers, n_open, mts_wait_slice(expiry));
	bson_free(pollers);
}

/*
 * mts_stream_is_abandoned
 *		Tell whether the server of a stream is a member that is silent while
 *		another one is the primary; it takes as long as the members take.
 */
bool
mts_stream_is_abandoned(const mongoc_stream_t *root)
{
	const Stream *stream = (const Stream *) root;

	return is_member(stream) && is_abandoned(stream);
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
	return ((Stream *) base)->would_block;
}

/*
 * Make a stream over a connected socket, which it owns.  libmongoc destroys
 * the stream.  NULL stands for a connection that could not be made: the stream
 * fails when libmongoc first polls it.
 */
static mongoc_stream_t *
wrap_socket(mongoc_socket_t *socket, const mongoc_uri_t *uri,
			const mongoc_host_list_t *host, MtsWait *wait)
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
	stream->uri = uri;
	strlcpy(stream->host, host->host_and_port, sizeof(stream->host));
	return &stream->base;
}

/* ---- Connecting --------------------------------------------------------- */

/* Wait until a connection is established.  Returns 0 or an errno. */
static int
finish_connect(mongoc_socket_t *socket, const struct sockaddr *address,
			   socklen_t len, MtsWait *wait, int64 expiry)
{
	mongoc_socket_poll_t poller = {socket, POLLOUT, 0};
	int32 slice;

	do
	{
		if (mts_wait_is_over(wait))
			return ECANCELED;
		slice = mts_wait_slice(expiry);
		if (mongoc_socket_poll(&poller, 1, slice) > 0)
		{
			/* a second call tells how the first one ended */
			if (mongoc_socket_connect(socket, address, len, 0) == 0 ||
				mongoc_socket_errno(socket) == EISCONN)
				return 0;
			return mongoc_socket_errno(socket);
		}
	} while (slice > 0);
	return ETIMEDOUT;
}

/*
 * Connect to an address.  Returns NULL with an errno in *problem on failure.
 */
static mongoc_socket_t *
connect_address(int family, const struct sockaddr *address, socklen_t len,
				MtsWait *wait, int64 expiry, int *problem)
{
	mongoc_socket_t *socket = mongoc_socket_new(family, SOCK_STREAM, 0);
	int result = 0;

	if (!socket)
	{
		*problem = errno;
		return NULL;
	}
	if (mongoc_socket_connect(socket, address, len, 0) != 0)
	{
		result = mongoc_socket_errno(socket);
		if (result == EINPROGRESS || result == EAGAIN || result == EWOULDBLOCK)
			result = finish_connect(socket, address, len, wait, expiry);
	}
	if (result == 0)
		return socket;
	*problem = result;
	mongoc_socket_destroy(socket);
	return NULL;
}

static mongoc_socket_t *
connect_unix(const char *path, MtsWait *wait, int64 expiry, int *problem)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlcpy(address.sun_path, path, sizeof(address.sun_path)) >=
		sizeof(address.sun_path))
	{
		*problem = ENAMETOOLONG;
		return NULL;
	}
	return connect_address(AF_UNIX, (struct sockaddr *) &address,
						   sizeof(address), wait, expiry, problem);
}

static mongoc_socket_t *
connect_tcp(const mongoc_host_list_t *host, MtsWait *wait, int64 expiry,
			bson_error_t *error, int *problem)
{
	int result;
	struct addrinfo hints = {.ai_family = host->family,
							 .ai_socktype = SOCK_STREAM};
	struct addrinfo *addresses;
	mongoc_socket_t *socket = NULL;
	char port[8];

	snprintf(port, sizeof(port), "%hu", host->port);
	result = getaddrinfo(host->host, port, &hints, &addresses);
	if (result != 0)
	{
		bson_set_error(error, MONGOC_ERROR_STREAM,
					   MONGOC_ERROR_STREAM_NAME_RESOLUTION,
					   "could not resolve %s: %s", host->host,
					   gai_strerror(result));
		return NULL;
	}
	for (struct addrinfo *a = addresses; a && !socket; a = a->ai_next)
		socket = connect_address(a->ai_family, a->ai_addr, a->ai_addrlen, wait,
								 expiry, problem);
	freeaddrinfo(addresses);
	return socket;
}

/* Name the file of the options that cannot be read, if that is the reason. */
static void
explain_tls(const mongoc_ssl_opt_t *opt, bson_error_t *error)
{
	const char *files[] = {opt->ca_file, opt->pem_file};

	bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
				   "could not set up TLS with the options of the URI");
	for (int i = 0; i < lengthof(files); i++)
		if (files[i] && access(files[i], R_OK) != 0)
			bson_set_error(error, MONGOC_ERROR_STREAM,
						   MONGOC_ERROR_STREAM_SOCKET,
						   "could not read the file \"%s\" of the URI: %s",
						   files[i], strerror(errno));
}

/* Put TLS over a stream by the options of the URI. */
static mongoc_stream_t *
start_tls(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
		  mongoc_stream_t *stream, int32 timeout, bson_error_t *error)
{
	bool insecure =
		mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSINSECURE, false);
	mongoc_ssl_opt_t opt = {
		.pem_file =
			mongoc_uri_get_option_as_utf8(uri,
										  MONGOC_URI_TLSCERTIFICATEKEYFILE,
										  NULL),
		/* without one, OpenSSL would ask for it on a terminal */
		.pem_pwd = "",
		.ca_file =
			mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCAFILE, NULL),
		.weak_cert_validation =
			insecure ||
			mongoc_uri_get_option_as_bool(
				uri, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES, false),
		.allow_invalid_hostname =
			insecure ||
			mongoc_uri_get_option_as_bool(uri,
										  MONGOC_URI_TLSALLOWINVALIDHOSTNAMES,
										  false),
	};
	mongoc_stream_t *tls =
		mongoc_stream_tls_new_with_hostname(stream, host->host, &opt, 1);

	if (!tls)
	{
		mongoc_stream_destroy(stream);
		explain_tls(&opt, error);
		return NULL;
	}
	if (!mongoc_stream_tls_handshake_block(tls, host->host, timeout, error))
	{
		mongoc_stream_destroy(tls);
		return NULL;
	}
	return tls;
}

/* Tell whether the URI names only this host. */
static bool
is_only_host(const mongoc_uri_t *uri, const mongoc_host_list_t *host)
{
	const mongoc_host_list_t *seeds = mongoc_uri_get_hosts(uri);

	return seeds && !seeds->next &&
		   strcmp(seeds->host_and_port, host->host_and_port) == 0;
}

/*
 * Connect to a host, over TLS where the URI says so.  Returns NULL with the
 * reason in *error when no connection can be made.  *root is the stream below
 * TLS.
 *
 * libmongoc connects to one member after another.  A silent one would delay
 * the scan, so each of several gets only the time of wait->patience.
 */
static mongoc_stream_t *
connect_host(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
			 MtsWait *wait, mongoc_stream_t **root, bson_error_t *error)
{
	int32 timeout =
		mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS,
									   DEFAULT_CONNECT_MSECS);
	bool is_shortened =
		!is_only_host(uri, host) && timeout > wait->patience / 1000;
	int64 expiry;
	int problem = 0;
	mongoc_socket_t *socket;
	mongoc_stream_t *stream = NULL;

	if (is_shortened)
		timeout = (int32) (wait->patience / 1000);
	expiry = mts_wait_expiry(timeout);
	socket = host->family == AF_UNIX
				 ? connect_unix(host->host, wait, expiry, &problem)
				 : connect_tcp(host, wait, expiry, error, &problem);
	if (socket)
	{
		stream = *root = wrap_socket(socket, uri, host, wait);
		expiry = mts_wait_expiry(timeout);
		if (mongoc_uri_get_tls(uri))
			stream = start_tls(uri, host, stream, timeout, error);
	}
	else if (problem != 0)
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT,
					   "could not connect to %s: %s", host->host_and_port,
					   strerror(problem));
	if (!stream && is_shortened && mts_wait_slice(expiry) == 0)
		wait->patience_ended = true;
	return stream;
}

/*
 * mts_stream_open
 *		Connect to a host; a mongoc_stream_initiator_t.
 *
 * arg is the client's MtsExchange, which outlives the stream.  When no
 * connection can be made, the reason is appended to the refusals of its wait,
 * and the stream fails as soon as it is used.  The result is never NULL,
 * because libmongoc up to 1.24 then locks a mutex twice and hangs for ever
 * (CDRIVER-4666).
 */
mongoc_stream_t *
mts_stream_open(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
				void *arg, bson_error_t *error)
{
	MtsExchange *exchange = arg;
	MtsWait *wait = exchange->wait;
	size_t len = strlen(wait->refusals);
	mongoc_stream_t *stream = NULL;
	mongoc_stream_t *root = NULL;

	if (++wait->nconnections > MAX_CONNECTIONS)
	{
		wait->problem = "the members of the set name ever more others";
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT,
					   "too many members");
	}
	else
		stream = connect_host(uri, host, wait, &root, error);

	/* the other members could not be heard meanwhile */
	if (wait->first_answer != 0)
		wait->first_answer = bson_get_monotonic_time();
	if (!stream)
	{
		snprintf(wait->refusals + len, sizeof(wait->refusals) - len, "%s[%s]",
				 len > 0 ? " " : "", error->message);
		return wrap_socket(NULL, uri, host, wait);
	}
	return mts_exchange_wrap(exchange, stream, root, host->host_and_port,
							 !bson_empty0(mongoc_uri_get_compressors(uri)));
}
