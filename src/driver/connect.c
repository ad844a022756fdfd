/*
 * connect.c
 *		Connect a client of libmongoc's to a host, with interrupts.
 *
 * Each address of the host is tried in turn; TLS is put over the stream that
 * waits in slices, so that it is as interruptible as a plain one.
 */
#include "driver/stream.h"

#include <errno.h>
#include <poll.h>

#include "driver/reply.h"

/* Wait for a connect that has begun; 0 or an errno. */
static int
finish_connect(mongoc_socket_t *socket, const struct sockaddr *address,
			   socklen_t len, MtsWait *wait, int64 expires)
{
	mongoc_socket_poll_t poller = {socket, POLLOUT, 0};
	int32 slice;

	do
	{
		if (mts_stream_wait_is_over(wait))
			return ECANCELED;
		slice = mts_stream_wait_slice(expires);
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

	if (strlcpy(address.sun_path, path, sizeof(address.sun_path)) >=
		sizeof(address.sun_path))
	{
		*problem = ENAMETOOLONG;
		return NULL;
	}
	return connect_address(AF_UNIX, (struct sockaddr *) &address,
						   sizeof(address), wait, expires, problem);
}

static mongoc_socket_t *
connect_tcp(const mongoc_host_list_t *host, MtsWait *wait, int64 expires,
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
								 expires, problem);
	freeaddrinfo(addresses);
	return socket;
}

/* Put TLS over a stream, as the URI's options say. */
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
		/* or OpenSSL would ask for it on a terminal */
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
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
					   "could not set up TLS with the options of the URI");
		return NULL;
	}
	if (!mongoc_stream_tls_handshake_block(tls, host->host, timeout, error))
	{
		mongoc_stream_destroy(tls);
		return NULL;
	}
	return tls;
}

/* Tell whether the URI names this host only, so that no other one can answer. */
static bool
is_only_host(const mongoc_uri_t *uri, const mongoc_host_list_t *host)
{
	const mongoc_host_list_t *seeds = mongoc_uri_get_hosts(uri);

	return seeds && !seeds->next &&
		   strcmp(seeds->host_and_port, host->host_and_port) == 0;
}

/*
 * Connect a socket, and put TLS over it where the URI says so.  One of several
 * members gets less time than connectTimeoutMS, so that the others need not wait
 * for it.  NULL with the reason in *error when no connection can be made.
 */
static mongoc_stream_t *
connect_host(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
			 MtsWait *wait, bson_error_t *error)
{
	int32 timeout =
		mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS,
									   10000);
	bool is_hasty =
		!is_only_host(uri, host) && timeout > wait->patience / 1000;
	int64 expires;
	int problem = 0;
	mongoc_socket_t *socket;
	mongoc_stream_t *stream = NULL;

	if (is_hasty)
		timeout = (int32) (wait->patience / 1000);
	expires = mts_stream_wait_expiry(timeout);
	socket = host->family == AF_UNIX
				 ? connect_unix(host->host, wait, expires, &problem)
				 : connect_tcp(host, wait, expires, error, &problem);
	if (socket)
	{
		stream = mts_stream_wrap(socket, wait);
		expires = mts_stream_wait_expiry(timeout);
		if (mongoc_uri_get_tls(uri))
			stream = start_tls(uri, host, stream, timeout, error);
	}
	else if (problem != 0)
		bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT,
					   "could not connect to %s: %s", host->host_and_port,
					   strerror(problem));
	if (!stream && is_hasty && mts_stream_wait_slice(expires) == 0)
		wait->was_hasty = true;
	return stream;
}

/*
 * mts_stream_open
 *		Connect to a host; a mongoc_stream_initiator_t.
 *
 * arg is the client's MtsWait, which outlives the stream.  When no connection
 * can be made, the reason is appended to its refusals, and the stream fails as
 * soon as it is used.  It is never NULL, because libmongoc up to 1.24 then locks
 * a mutex twice and hangs for ever (CDRIVER-4666).
 */
mongoc_stream_t *
mts_stream_open(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
				void *arg, bson_error_t *error)
{
	MtsWait *wait = arg;
	size_t len = strlen(wait->refusals);
	mongoc_stream_t *stream = connect_host(uri, host, wait, error);

	/* the other members had no chance to answer meanwhile */
	if (wait->answered != 0)
		wait->answered = bson_get_monotonic_time();
	if (!stream)
	{
		snprintf(wait->refusals + len, sizeof(wait->refusals) - len, "%s[%s]",
				 len > 0 ? " " : "", error->message);
		return mts_stream_wrap(NULL, wait);
	}
	return mts_reply_stream(stream, &wait->problem,
							!bson_empty0(mongoc_uri_get_compressors(uri)));
}
