/*
 * exchange.c
 *		Send requests, and receive their replies when they are needed.
 *
 * libmongoc opens a stream to a server and logs in on it.  What it gets from
 * stream.c is wrapped here in a channel, through which libmongoc reads and
 * writes.  Our own requests go past the channel, to the stream within.
 *
 * A server answers the requests of a stream one after the other.  So the
 * replies to earlier requests are received first, and kept until they are
 * asked for.  libmongoc must not read a reply of ours.  Before it writes, all
 * replies are received.  topology.c does that before it calls libmongoc, and
 * the channel does it if libmongoc writes nevertheless.
 *
 * An overloaded server refuses requests, which are sent again.  So those to a
 * server that may do that are copied.
 *
 * A stream is broken by a lost connection, a malformed reply, or a wait that
 * has ended before the reply was there.  It is closed at once, and the replies
 * that were under way are lost.  libmongoc owns the channel, and destroys it
 * when it uses it next.
 */
#include "driver/exchange.h"

#include <errno.h>
#include <string.h>

#include "driver/reply.h"
#include "driver/stream.h"

/* libmongoc leaves the numbers from 100 on to others. */
#define STREAM_TYPE 1001

/*
 * The bytes of requests without a reply, at most: behind one whose reply can
 * be large, and otherwise.  While a server waits until its reply is read, it
 * reads no request, so that must fit into the buffers of the network.
 */
#define MAX_UNREAD (16 * 1024)
#define MAX_UNANSWERED (1024 * 1024)

/* The replies that are expected or kept, at most, to read a batch ahead */
#define MAX_AHEAD 4

/* A request without a reply */
typedef struct Sent
{
	MtsTicket ticket;
	uint32_t channel;
	size_t size;
	bson_t *copy; /* of the whole request, owned; or NULL */
	bool is_read; /* the reply can be large */
	bool is_forgotten;
} Sent;

/* What libmongoc uses as the stream to a server */
typedef struct MtsChannel
{
	mongoc_stream_t base;   /* must be first */
	mongoc_stream_t *inner; /* with TLS, if the URI says so */
	mongoc_stream_t *root;  /* below TLS */
	MtsExchange *exchange;
	struct MtsChannel *next;
	uint32_t number;
	uint32_t server; /* libmongoc's id, if the channel was used, otherwise 0 */
	char host[BSON_HOST_NAME_MAX + 7];
	MtsCompressor compressor; /* of our requests and their replies, or 0 */
	bool sheds_load;          /* the server may refuse requests for a while */
	MtsReplyReader reader;    /* of what libmongoc reads */
	MtsIncoming incoming;     /* the reply to the oldest request */
	Sent sent[MTS_MAX_SENT];
	int nsent;
	bool is_retired; /* nothing more is sent, and libmongoc must learn of it */
	bool is_broken;  /* closed, too */
} MtsChannel;

/* A reply that was received before it was asked for */
typedef struct MtsKept
{
	struct MtsKept *next;
	Sent sent;
	MtsReply reply;
} MtsKept;

/* ---- Channels ----------------------------------------------------------- */

static MtsChannel *
channel_of(const MtsExchange *exchange, uint32_t number)
{
	MtsChannel *channel = exchange->channels;

	while (channel && channel->number != number)
		channel = channel->next;
	return channel;
}

/* Free the copy of a request, which is not sent again. */
static void
free_copy(Sent *sent)
{
	bson_destroy(sent->copy);
	sent->copy = NULL;
}

/* Close a channel; all that is under way is lost. */
static void
break_channel(MtsChannel *channel)
{
	channel->is_broken = channel->is_retired = true;
	for (int i = 0; i < channel->nsent; i++)
		free_copy(&channel->sent[i]);
	channel->nsent = 0;
	mts_wire_free(&channel->incoming.reply);
	channel->incoming = (MtsIncoming){.have = 0};
	mts_stream_shut(channel->root);
}

/*
 * mts_exchange_find
 *		Find the channel of a host, which libmongoc has logged in on, and
 *		return its number; 0 if there is none that can be used.
 *
 * server is libmongoc's id of the server.  The compressor, or 0, is one that
 * the server has.  sheds_load says that it may refuse requests for a while.
 */
uint32_t
mts_exchange_find(MtsExchange *exchange, const char *host, uint32_t server,
				  MtsCompressor compressor, bool sheds_load)
{
	MtsChannel *channel = exchange->channels;

	while (channel &&
		   (channel->is_retired || strcmp(channel->host, host) != 0))
		channel = channel->next;
	if (!channel)
		return 0;
	channel->server = server;
	channel->compressor = compressor;
	channel->sheds_load = sheds_load;
	return channel->number;
}

/*
 * mts_exchange_is_usable
 *		Tell whether a channel exists, and requests can be sent on it.
 */
bool
mts_exchange_is_usable(const MtsExchange *exchange, uint32_t channel)
{
	const MtsChannel *found = channel_of(exchange, channel);

	return found && !found->is_retired;
}

/*
 * mts_exchange_retire
 *		Send nothing more on a channel, because its server is not the one that
 *		libmongoc believes it to be.
 */
void
mts_exchange_retire(MtsExchange *exchange, uint32_t channel)
{
	MtsChannel *found = channel_of(exchange, channel);

	if (found)
		found->is_retired = true;
}

/*
 * mts_exchange_break_retired
 *		Close a channel that was retired or is broken, and get libmongoc's id
 *		of its server; returns false if there is none.
 *
 * The next write of libmongoc's fails, and so it learns that the server has
 * changed.
 */
bool
mts_exchange_break_retired(MtsExchange *exchange, uint32_t *server)
{
	MtsChannel *channel = exchange->channels;

	while (channel && (!channel->is_retired || channel->server == 0))
		channel = channel->next;
	if (!channel)
		return false;
	if (!channel->is_broken)
		break_channel(channel);
	*server = channel->server;
	channel->server = 0;
	return true;
}

/* ---- Replies ------------------------------------------------------------ */

/* Get a timestamp of the document {clusterTime: .., signature: ..}, or 0. */
static uint64_t
time_of(const bson_t *cluster_time)
{
	bson_iter_t iter;
	uint32_t seconds, counter;

	if (!bson_iter_init_find(&iter, cluster_time, "clusterTime") ||
		!BSON_ITER_HOLDS_TIMESTAMP(&iter))
		return 0;
	bson_iter_timestamp(&iter, &seconds, &counter);
	return (uint64_t) seconds << 32 | counter;
}

/*
 * mts_exchange_advance_time
 *		Have commands tell the servers a time of their cluster, if it is the
 *		latest.
 */
void
mts_exchange_advance_time(MtsExchange *exchange, const bson_t *cluster_time)
{
	uint64_t time = time_of(cluster_time);

	if (time <= exchange->time)
		return;
	bson_destroy(exchange->cluster_time);
	exchange->cluster_time = bson_copy(cluster_time);
	exchange->time = time;
}

/* mts_exchange_append_time: append the latest time that was told. */
void
mts_exchange_append_time(const MtsExchange *exchange, bson_t *fields)
{
	if (exchange->cluster_time)
		bson_append_document(fields, "$clusterTime", -1,
							 exchange->cluster_time);
}

/* Learn the time that a reply tells. */
static void
learn_time(MtsExchange *exchange, const MtsReply *reply)
{
	bson_iter_t iter;
	const uint8_t *data;
	uint32_t len;
	bson_t document, time;

	mts_wire_view(reply, &document);
	if (!bson_iter_init_find(&iter, &document, "$clusterTime") ||
		!BSON_ITER_HOLDS_DOCUMENT(&iter))
		return;
	bson_iter_document(&iter, &len, &data);
	if (bson_init_static(&time, data, len))
		mts_exchange_advance_time(exchange, &time);
}

/*
 * Receive what comes within the timeout of the reply to the oldest request of
 * a channel.  Unless that is a part, the channel is lost with a failure.
 */
static MtsArrival
receive_some(MtsChannel *channel, int32_t timeout)
{
	MtsExchange *exchange = channel->exchange;
	MtsArrival arrival =
		mts_wire_receive(channel->inner, channel->sent[0].ticket,
						 &channel->incoming, channel->compressor != 0, timeout,
						 exchange->problem);

	if (arrival == MTS_ARRIVAL_FAILED)
		break_channel(channel);
	return arrival;
}

/*
 * Receive the reply to the oldest request of a channel, and take the request
 * from it; false if the reply is lost, and the channel with it.
 */
static bool
receive_oldest(MtsChannel *channel, MtsReply *reply, Sent *sent)
{
	MtsExchange *exchange = channel->exchange;

	/* use its buffer, unless the reply has begun to come */
	if (channel->incoming.have == 0)
		mts_wire_move(&channel->incoming.reply, reply);
	if (receive_some(channel, exchange->timeout) != MTS_ARRIVAL_WHOLE)
	{
		reply->size = 0;
		return false;
	}
	mts_wire_move(reply, &channel->incoming.reply);
	channel->incoming = (MtsIncoming){.have = 0};
	*sent = channel->sent[0];
	channel->nsent--;
	memmove(channel->sent, channel->sent + 1,
			channel->nsent * sizeof(*channel->sent));
	learn_time(exchange, reply);
	return true;
}

/* Receive the reply to the oldest request of a channel, and keep it. */
static bool
keep_oldest(MtsChannel *channel)
{
	MtsExchange *exchange = channel->exchange;
	MtsKept *kept = bson_malloc0(sizeof(MtsKept));

	if (!receive_oldest(channel, &kept->reply, &kept->sent) ||
		kept->sent.is_forgotten)
	{
		free_copy(&kept->sent);
		mts_wire_free(&kept->reply);
		bson_free(kept);
		return !channel->is_broken;
	}
	kept->next = exchange->kept;
	exchange->kept = kept;
	exchange->nkept++;
	return true;
}

/* Receive all replies of a channel, and keep them; false if it is broken. */
static bool
settle(MtsChannel *channel)
{
	while (channel->nsent > 0)
		(void) keep_oldest(channel);
	return !channel->is_broken;
}

/*
 * mts_exchange_settle
 *		Receive all replies, and keep them, because libmongoc may use any of
 *		the channels, or because the next wait can end early.
 */
void
mts_exchange_settle(MtsExchange *exchange)
{
	for (MtsChannel *channel = exchange->channels; channel;
		 channel = channel->next)
		(void) settle(channel);
}

/* Find what points to the reply that is kept for a ticket, or to NULL. */
static MtsKept **
find_kept(MtsExchange *exchange, MtsTicket ticket)
{
	MtsKept **kept = &exchange->kept;

	while (*kept && (*kept)->sent.ticket != ticket)
		kept = &(*kept)->next;
	return kept;
}

/* Free a reply that was kept. */
static void
drop(MtsExchange *exchange, MtsKept **kept)
{
	MtsKept *old = *kept;

	*kept = old->next;
	exchange->nkept--;
	free_copy(&old->sent);
	mts_wire_free(&old->reply);
	bson_free(old);
}

/* Find a request without a reply; NULL if there is no such request. */
static Sent *
find_sent(const MtsExchange *exchange, MtsTicket ticket, MtsChannel **channel)
{
	for (*channel = exchange->channels; *channel; *channel = (*channel)->next)
		for (int i = 0; i < (*channel)->nsent; i++)
			if ((*channel)->sent[i].ticket == ticket)
				return &(*channel)->sent[i];
	return NULL;
}

/*
 * Receive the reply to a request, and take the request; false if the reply is
 * lost.
 */
static bool
receive(MtsExchange *exchange, MtsTicket ticket, MtsReply *reply, Sent *sent)
{
	MtsKept **kept = find_kept(exchange, ticket);
	MtsChannel *channel;

	reply->size = 0;
	if (*kept)
	{
		mts_wire_move(reply, &(*kept)->reply);
		*sent = (*kept)->sent;
		(*kept)->sent.copy = NULL;
		drop(exchange, kept);
		return true;
	}
	if (!find_sent(exchange, ticket, &channel))
		return false;
	while (channel->sent[0].ticket != ticket)
		if (!keep_oldest(channel))
			return false;
	return receive_oldest(channel, reply, sent);
}

/*
 * Tell whether a request is to be sent again whose reply this is, after so
 * many tries.
 */
static bool
should_send_again(const MtsExchange *exchange, const Sent *sent,
				  const MtsReply *reply, int tries)
{
	bson_t document;

	if (!sent->copy || !mts_exchange_is_usable(exchange, sent->channel))
		return false;
	mts_wire_view(reply, &document);
	return exchange->may_send_again(exchange, &document, tries);
}

/*
 * mts_exchange_receive
 *		Receive the reply to a request; returns false if it is lost, and its
 *		size is 0 then.
 *
 * A request that an overloaded server refuses is sent again.  Waits end for
 * interrupts and at deadlines; see wait.c.  Such an end loses the channel, and
 * the replies to all of its requests.
 */
bool
mts_exchange_receive(MtsExchange *exchange, MtsTicket ticket, MtsReply *reply)
{
	static const bson_t no_fields = BSON_INITIALIZER;
	Sent sent = {0};
	bool ok = receive(exchange, ticket, reply, &sent);

	for (int tries = 1; ok && should_send_again(exchange, &sent, reply, tries);
		 tries++)
	{
		Sent again;

		/* there is room then */
		(void) settle(channel_of(exchange, sent.channel));
		ticket = mts_exchange_send(exchange, sent.channel, sent.copy,
								   &no_fields, sent.is_read);
		ok = receive(exchange, ticket, reply, &again);
		if (ok)
			free_copy(&again);
	}
	free_copy(&sent);
	return ok;
}

/*
 * mts_exchange_await
 *		Return the stream that must be readable, below TLS, before a reply can
 *		be received; NULL if it has come as a whole, or is lost.
 *
 * The part of the reply that has come is read and kept.  So are the replies to
 * earlier requests.
 */
mongoc_stream_t *
mts_exchange_await(MtsExchange *exchange, MtsTicket ticket)
{
	MtsChannel *channel;
	Sent *sent;

	while ((sent = find_sent(exchange, ticket, &channel)) != NULL)
	{
		MtsArrival arrival = receive_some(channel, 0);

		if (arrival == MTS_ARRIVAL_PART)
			return channel->root;
		if (arrival == MTS_ARRIVAL_FAILED || sent == channel->sent)
			return NULL;
		(void) keep_oldest(channel);
	}
	return NULL;
}

/* Have the reply to a request dropped when it is received. */
static void
forget(Sent *sent)
{
	sent->is_forgotten = true;
	free_copy(sent);
}

/*
 * mts_exchange_forget
 *		Drop the reply to a request, now or when it is received.
 */
void
mts_exchange_forget(MtsExchange *exchange, MtsTicket ticket)
{
	MtsKept **kept = find_kept(exchange, ticket);
	MtsChannel *channel;
	Sent *sent = find_sent(exchange, ticket, &channel);

	if (*kept)
		drop(exchange, kept);
	if (sent)
		forget(sent);
}

/* mts_exchange_forget_all: drop all replies, now or when they are received. */
void
mts_exchange_forget_all(MtsExchange *exchange)
{
	while (exchange->kept)
		drop(exchange, &exchange->kept);
	for (MtsChannel *channel = exchange->channels; channel;
		 channel = channel->next)
		for (int i = 0; i < channel->nsent; i++)
			forget(&channel->sent[i]);
}

/* ---- Requests ----------------------------------------------------------- */

/*
 * mts_exchange_has_room
 *		Tell whether a request of so many bytes can be sent on a channel before
 *		a reply is received.
 */
bool
mts_exchange_has_room(const MtsExchange *exchange, uint32_t channel,
					  size_t size)
{
	const MtsChannel *found = channel_of(exchange, channel);
	size_t most = MAX_UNANSWERED;

	for (int i = 0; found && i < found->nsent; i++)
	{
		size += found->sent[i].size;
		if (found->sent[i].is_read)
			most = MAX_UNREAD;
	}
	return !found || found->nsent == 0 ||
		   (found->nsent < MTS_MAX_SENT && size <= most);
}

/*
 * mts_exchange_make_room
 *		Receive replies, and keep them, until a request of so many bytes can be
 *		sent.
 */
void
mts_exchange_make_room(MtsExchange *exchange, uint32_t channel, size_t size)
{
	while (!mts_exchange_has_room(exchange, channel, size))
		(void) keep_oldest(channel_of(exchange, channel));
}

/*
 * mts_exchange_may_read_ahead
 *		Tell whether another batch can be asked for before it is wanted.
 *
 * Those that are not wanted yet may have to be kept.
 */
bool
mts_exchange_may_read_ahead(const MtsExchange *exchange)
{
	int n = exchange->nkept;

	for (const MtsChannel *channel = exchange->channels; channel;
		 channel = channel->next)
		n += channel->nsent;
	return n < MAX_AHEAD;
}

/* Send a command on a channel; returns its id, or 0 if the channel is lost. */
static uint32_t
write_request(MtsExchange *exchange, MtsChannel *channel,
			  const bson_t *command, const bson_t *fields, uint32_t flags)
{
	uint32_t id;

	if (!channel || channel->is_retired)
		return 0;
	id = mts_wire_send(channel->inner, command, fields, flags,
					   channel->compressor, exchange->timeout);
	if (id == 0)
		break_channel(channel);
	return id;
}

/* Copy a request. */
static bson_t *
copy_of(const bson_t *command, const bson_t *fields)
{
	bson_t *copy = bson_copy(command);

	bson_concat(copy, fields);
	return copy;
}

/*
 * mts_exchange_send
 *		Send a command, to which the fields are appended, and wait for no
 *		reply.
 *
 * There must be room.  Returns 0 if the channel is lost; the server may have
 * got the command nevertheless.  is_read says that the reply can be large.
 */
MtsTicket
mts_exchange_send(MtsExchange *exchange, uint32_t channel,
				  const bson_t *command, const bson_t *fields, bool is_read)
{
	MtsChannel *found = channel_of(exchange, channel);
	MtsTicket ticket = write_request(exchange, found, command, fields, 0);

	if (ticket != 0)
		found->sent[found->nsent++] =
			(Sent){.ticket = ticket,
				   .channel = channel,
				   .size = command->len + fields->len,
				   .copy = found->sheds_load ? copy_of(command, fields) : NULL,
				   .is_read = is_read};
	return ticket;
}

/*
 * mts_exchange_send_only
 *		Send a command that the server does not answer; returns 0 if the
 *		channel is lost.
 */
MtsTicket
mts_exchange_send_only(MtsExchange *exchange, uint32_t channel,
					   const bson_t *command, const bson_t *fields)
{
	return write_request(exchange, channel_of(exchange, channel), command,
						 fields, MTS_WIRE_NO_REPLY);
}

/*
 * mts_exchange_end
 *		End an exchange, before its client is destroyed.
 *
 * Nobody waits for the replies that are still expected.
 */
void
mts_exchange_end(MtsExchange *exchange)
{
	for (MtsChannel *channel = exchange->channels; channel;
		 channel = channel->next)
		if (channel->nsent > 0)
			break_channel(channel);
	mts_exchange_forget_all(exchange);
	bson_destroy(exchange->cluster_time);
	exchange->cluster_time = NULL;
}

/* ---- What libmongoc calls ----------------------------------------------- */

static ssize_t
channel_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  size_t min_bytes, int32_t timeout)
{
	MtsChannel *channel = (MtsChannel *) base;

	if (channel->is_broken)
	{
		errno = EPIPE;
		return -1;
	}
	return mts_reply_readv(&channel->reader, channel->inner, iov, iovcnt,
						   min_bytes, timeout, channel->exchange->problem);
}

static ssize_t
channel_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			   int32_t timeout)
{
	MtsChannel *channel = (MtsChannel *) base;

	if (channel->is_broken || !settle(channel))
	{
		errno = EPIPE;
		return -1;
	}
	mts_reply_begin(&channel->reader, iov, iovcnt);
	return mongoc_stream_writev(channel->inner, iov, iovcnt, timeout);
}

static void
channel_destroy(mongoc_stream_t *base)
{
	MtsChannel *channel = (MtsChannel *) base;
	MtsChannel **link = &channel->exchange->channels;

	for (int i = 0; i < channel->nsent; i++)
		free_copy(&channel->sent[i]);
	while (*link != channel)
		link = &(*link)->next;
	*link = channel->next;
	mongoc_stream_destroy(channel->inner);
	mts_wire_free(&channel->incoming.reply);
	bson_free(channel);
}

static mongoc_stream_t *
channel_get_base_stream(mongoc_stream_t *base)
{
	return ((MtsChannel *) base)->inner;
}

static bool
channel_check_closed(mongoc_stream_t *base)
{
	MtsChannel *channel = (MtsChannel *) base;

	return channel->is_broken || mongoc_stream_check_closed(channel->inner);
}

static bool
channel_timed_out(mongoc_stream_t *base)
{
	return mongoc_stream_timed_out(((MtsChannel *) base)->inner);
}

static bool
channel_should_retry(mongoc_stream_t *base)
{
	MtsChannel *channel = (MtsChannel *) base;

	return !channel->is_broken && mongoc_stream_should_retry(channel->inner);
}

/*
 * mts_exchange_wrap
 *		Make the channel of a stream to a host, which owns the stream.
 *
 * root is the stream below TLS.  libmongoc destroys the channel; the exchange
 * outlives it.
 */
mongoc_stream_t *
mts_exchange_wrap(MtsExchange *exchange, mongoc_stream_t *stream,
				  mongoc_stream_t *root, const char *host, bool may_compress)
{
	MtsChannel *channel = bson_malloc0(sizeof(MtsChannel));

	channel->base.type = STREAM_TYPE;
	channel->base.destroy = channel_destroy;
	channel->base.readv = channel_readv;
	channel->base.writev = channel_writev;
	channel->base.get_base_stream = channel_get_base_stream;
	channel->base.check_closed = channel_check_closed;
	channel->base.timed_out = channel_timed_out;
	channel->base.should_retry = channel_should_retry;
	channel->inner = stream;
	channel->root = root;
	channel->exchange = exchange;
	channel->reader.may_compress = may_compress;
	bson_strncpy(channel->host, host, sizeof(channel->host));
	channel->number = ++exchange->last_channel;
	channel->next = exchange->channels;
	exchange->channels = channel;
	return &channel->base;
}
