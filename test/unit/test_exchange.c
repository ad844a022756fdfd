/*
 * test_exchange.c
 *		Proves that each request gets its own reply, in whatever order replies
 *		are asked for, and that libmongoc gets none of ours.
 *
 * A server in memory answers requests by a document that has their number.  It
 * can lie: answer twice, out of order, with another id, or in part.  It can be
 * overloaded, and refuse requests.
 */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/bson/bson.h"
#include "driver/exchange.h"
#include "driver/reply.h"
#include "driver/stream.h"

#define HEADER sizeof(MtsHeader)
#define HOST "host:27017"

/* ---- The server --------------------------------------------------------- */

typedef struct Server
{
	mongoc_stream_t base; /* must be first */
	uint8_t bytes[65536]; /* of answers */
	size_t have, given;
	size_t withheld;  /* bytes at the end that have not come yet */
	uint32_t ids[64]; /* of the requests */
	int nrequests, nanswers;
	int nunanswered; /* requests that expect no reply */
	int nrefused;    /* requests that it refuses at once */
	bool is_prompt;  /* it answers the others at once */
	bool is_shut;
	bool would_block;
} Server;

static MtsExchange exchange;
static const char *problem;

/* The number in the answer to a request that is refused */
#define REFUSED 99

/* Append the answer with this number to the request with this id. */
static void
answer(Server *server, uint32_t id, int number)
{
	bson_t *doc = BCON_NEW("n", BCON_INT32(number), "ok", BCON_INT32(1));
	MtsHeader header = {BSON_UINT32_TO_LE(HEADER + 5 + doc->len), 0,
						BSON_UINT32_TO_LE(id), BSON_UINT32_TO_LE(MTS_OP_MSG)};

	memcpy(server->bytes + server->have, &header, HEADER);
	memset(server->bytes + server->have + HEADER, 0, 5);
	memcpy(server->bytes + server->have + HEADER + 5, bson_get_data(doc),
		   doc->len);
	server->have += HEADER + 5 + doc->len;
	server->nanswers++;
	bson_destroy(doc);
}

/* Answer the requests that have no answer, in order. */
static void
answer_all(Server *server)
{
	while (server->nanswers < server->nrequests)
		answer(server, server->ids[server->nanswers], server->nanswers);
}

static ssize_t
server_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	Server *server = (Server *) base;
	uint8_t message[512];
	uint32_t flags;
	MtsHeader header;
	size_t size = 0;
	bson_t doc;

	if (server->is_shut)
		return -1;
	for (size_t i = 0; i < iovcnt; i++)
	{
		memcpy(message + size, iov[i].iov_base, iov[i].iov_len);
		size += iov[i].iov_len;
	}
	memcpy(&header, message, HEADER);
	memcpy(&flags, message + HEADER, sizeof(flags));
	if (BSON_UINT32_FROM_LE(header.length) != size ||
		!bson_init_static(&doc, message + HEADER + 5, size - HEADER - 5) ||
		!bson_validate(&doc, BSON_VALIDATE_NONE, NULL))
		tap_fault("a request is not a message");
	if (BSON_UINT32_FROM_LE(flags) & MTS_WIRE_NO_REPLY)
		server->nunanswered++;
	else
		server->ids[server->nrequests++] = BSON_UINT32_FROM_LE(header.id);
	if (server->nrefused > 0 && server->nrefused--)
		answer(server, BSON_UINT32_FROM_LE(header.id), REFUSED);
	else if (server->is_prompt)
		answer_all(server);
	return (ssize_t) size;
}

static ssize_t
server_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Server *server = (Server *) base;
	size_t n = BSON_MIN(iov[0].iov_len,
						server->have - server->withheld - server->given);

	server->would_block = !server->is_shut && timeout == 0 && n == 0;
	if (server->is_shut || server->would_block)
		return -1;
	memcpy(iov[0].iov_base, server->bytes + server->given, n);
	server->given += n;
	return (ssize_t) n;
}

static void
server_destroy(mongoc_stream_t *base)
{
	free(base);
}

static bool
server_check_closed(mongoc_stream_t *base)
{
	return ((Server *) base)->is_shut;
}

static bool
server_should_retry(mongoc_stream_t *base)
{
	return ((Server *) base)->would_block;
}

/* That of stream.c closes the socket. */
void
mts_stream_shut(mongoc_stream_t *root)
{
	((Server *) root)->is_shut = true;
}

/* Send a request again twice at most if it was refused. */
static bool
may_send_again(const MtsExchange *exchange, const bson_t *reply, int tries)
{
	bson_iter_t n;

	return tries <= 2 && bson_iter_init_find(&n, reply, "n") &&
		   bson_iter_as_int64(&n) == REFUSED;
}

/* Begin an exchange with a server; returns what libmongoc has. */
static mongoc_stream_t *
begin(Server **server, uint32_t *channel)
{
	mongoc_stream_t *stream;

	problem = NULL;
	exchange = (MtsExchange){.may_send_again = may_send_again,
							 .problem = &problem,
							 .timeout = 1000};
	*server = calloc(1, sizeof(Server));
	(*server)->base.writev = server_writev;
	(*server)->base.readv = server_readv;
	(*server)->base.destroy = server_destroy;
	(*server)->base.check_closed = server_check_closed;
	(*server)->base.should_retry = server_should_retry;
	stream = mts_exchange_wrap(&exchange, &(*server)->base, &(*server)->base,
							   HOST, false);
	*channel = mts_exchange_find(&exchange, HOST, 7, 0, true);
	return stream;
}

static void
end(mongoc_stream_t *stream)
{
	mts_exchange_end(&exchange);
	mongoc_stream_destroy(stream);
	if (exchange.channels || exchange.kept)
		tap_fault("something is left");
}

/* ---- The client --------------------------------------------------------- */

static MtsTicket
ask(uint32_t channel)
{
	bson_t *command = BCON_NEW("find", BCON_UTF8("c"));
	bson_t *fields = BCON_NEW("$db", BCON_UTF8("d"));
	MtsTicket ticket =
		mts_exchange_send(&exchange, channel, command, fields, false);

	bson_destroy(command);
	bson_destroy(fields);
	return ticket;
}

/* Receive a reply; returns its number, or -1 if it is lost. */
static int
receive(MtsTicket ticket)
{
	MtsReply reply = {0};
	bson_t document;
	bson_iter_t n;
	int number = -1;

	if (mts_exchange_receive(&exchange, ticket, &reply))
	{
		mts_wire_view(&reply, &document);
		number = bson_iter_init_find(&n, &document, "n")
					 ? (int) bson_iter_as_int64(&n)
					 : -2;
	}
	else if (reply.size != 0)
		tap_fault("a lost reply has a size");
	mts_wire_free(&reply);
	return number;
}

/* Have libmongoc send a ping, and read the answer; false if it cannot. */
static bool
ping(mongoc_stream_t *stream, Server *server)
{
	bson_t *command = BCON_NEW("ping", BCON_INT32(1));
	struct
	{
		MtsHeader header;
		uint32_t flags;
	} head = {{BSON_UINT32_TO_LE(HEADER + 5 + command->len),
			   BSON_UINT32_TO_LE(3), 0, BSON_UINT32_TO_LE(MTS_OP_MSG)},
			  0};
	uint8_t kind = 0;
	mongoc_iovec_t iov[] = {{.iov_base = (void *) &head,
							 .iov_len = sizeof(head)},
							{.iov_base = (void *) &kind, .iov_len = 1},
							{.iov_base = (void *) bson_get_data(command),
							 .iov_len = command->len}};
	uint32_t length = 0;
	uint8_t rest[512];
	bool ok;

	ok = mongoc_stream_writev(stream, iov, 3, 1000) ==
		 (ssize_t) (HEADER + 5 + command->len);
	bson_destroy(command);
	if (!ok)
		return false;
	answer_all(server);
	return mongoc_stream_read(stream, &length, 4, 4, 1000) == 4 &&
		   mongoc_stream_read(stream, rest, BSON_UINT32_FROM_LE(length) - 4,
							  BSON_UINT32_FROM_LE(length) - 4, 1000) > 0;
}

/* Replies are asked for in any order, before or after libmongoc has pinged. */
static void
test_order(void)
{
	Server *server;
	uint32_t channel;

	tap_seed();
	for (int round = 0; round < 1000; round++)
	{
		mongoc_stream_t *stream = begin(&server, &channel);
		MtsTicket tickets[5];
		int order[5];

		for (int i = 0; i < 5; i++)
		{
			int j = (int) random_below(i + 1);

			tickets[i] = ask(channel);
			order[i] = order[j];
			order[j] = i;
		}
		answer_all(server);
		for (int i = 0; i < 5; i++)
		{
			if (random_below(4) == 0 && !ping(stream, server))
				tap_fault("libmongoc's ping fails");
			if (random_below(8) == 0)
				mts_exchange_settle(&exchange);
			if (receive(tickets[order[i]]) != order[i])
				tap_fault("request %d gets another reply", order[i]);
			if (receive(tickets[order[i]]) != -1)
				tap_fault("request %d gets a second reply", order[i]);
		}
		if (exchange.kept)
			tap_fault("a reply is left");
		end(stream);
	}
	tap_claim("each request gets its reply, in any order");
}

/* Nothing is asked for that nobody wants. */
static void
test_forget(void)
{
	Server *server;
	uint32_t channel;
	mongoc_stream_t *stream = begin(&server, &channel);
	MtsTicket first = ask(channel), second = ask(channel), third;
	bson_t *command = BCON_NEW("killCursors", BCON_UTF8("c"));
	bson_t none = BSON_INITIALIZER;

	answer_all(server);
	mts_exchange_forget(&exchange, first);
	ok(mts_exchange_send_only(&exchange, channel, command, &none) &&
		   server->nunanswered == 1,
	   "a command is sent that expects no reply");
	ok(receive(second) == 1 && receive(first) == -1,
	   "a reply that was forgotten is dropped");
	first = ask(channel);
	third = ask(channel);
	answer_all(server);
	ok(receive(third) == 3, "a reply before it is kept");
	mts_exchange_forget(&exchange, first);
	ok(!exchange.kept, "and dropped when it is forgotten");
	bson_destroy(command);
	end(stream);
}

/* A server that lies breaks the stream, and libmongoc learns of it. */
static void
lie(const char *name, const char *expected, void (*tell)(Server *server))
{
	Server *server;
	uint32_t channel, id = 0;
	mongoc_stream_t *stream = begin(&server, &channel);
	MtsTicket tickets[3];
	bool is_lost = false;

	for (int i = 0; i < 3; i++)
		tickets[i] = ask(channel);
	tell(server);
	for (int i = 2; i >= 0; i--)
	{
		int number = receive(tickets[i]);

		if (number >= 0 && number != i)
			tap_fault("%s: request %d gets another reply", name, i);
		is_lost |= number < 0;
	}
	/* what comes behind the last reply is seen by the next one */
	is_lost |= receive(ask(channel)) < 0;
	ok(is_lost && server->is_shut, "%s: the stream is closed", name);
	is_text(problem ? problem : "none", expected, name);
	ok(!mts_exchange_is_usable(&exchange, channel) &&
		   mts_exchange_find(&exchange, HOST, 7, 0, true) == 0 &&
		   ask(channel) == 0,
	   "%s: nothing more is sent", name);
	ok(mts_exchange_break_retired(&exchange, &id) && id == 7 &&
		   !mts_exchange_break_retired(&exchange, &id),
	   "%s: libmongoc is told once", name);
	ok(!ping(stream, server) && mongoc_stream_check_closed(stream),
	   "%s: libmongoc finds it closed", name);
	end(stream);
}

static void
tell_twice(Server *server)
{
	answer(server, server->ids[0], 0);
	answer(server, server->ids[0], 0);
	answer(server, server->ids[1], 1);
}

static void
tell_last_twice(Server *server)
{
	for (int i = 0; i < 4; i++)
		answer(server, server->ids[i == 3 ? 2 : i], i);
}

static void
tell_backwards(Server *server)
{
	for (int i = 2; i >= 0; i--)
		answer(server, server->ids[i], i);
}

static void
tell_unknown(Server *server)
{
	for (int i = 0; i < 3; i++)
		answer(server, server->ids[i] + 1000, i);
}

static void
tell_half(Server *server)
{
	for (int i = 0; i < 3; i++)
		answer(server, server->ids[i], i);
	server->have -= 3;
}

static void
tell_long(Server *server)
{
	for (int i = 0; i < 3; i++)
		answer(server, server->ids[i], i);
	server->bytes[3] = 127;
}

static void
tell_short(Server *server)
{
	for (int i = 0; i < 3; i++)
		answer(server, server->ids[i], i);
	memset(server->bytes, 0, 4);
}

static void
tell_flags(Server *server)
{
	for (int i = 0; i < 3; i++)
		answer(server, server->ids[i], i);
	server->bytes[HEADER] = 2;
}

/* There is room for some requests, or for one. */
static void
test_room(void)
{
	Server *server;
	uint32_t channel;
	mongoc_stream_t *stream = begin(&server, &channel);

	ok(mts_exchange_has_room(&exchange, channel, 100 * 1024 * 1024),
	   "the first request can be large");
	for (int i = 0; i < MTS_MAX_SENT; i++)
		(void) ask(channel);
	ok(!mts_exchange_has_room(&exchange, channel, 1),
	   "a stream has a few requests");
	answer_all(server);
	mts_exchange_make_room(&exchange, channel, 1);
	ok(mts_exchange_has_room(&exchange, channel, 1) &&
		   !mts_exchange_has_room(&exchange, channel, 1024 * 1024) &&
		   exchange.nkept == 1,
	   "a reply makes room for a small one");
	mts_exchange_forget_all(&exchange);
	ok(exchange.nkept == 0, "all are forgotten");
	mts_exchange_settle(&exchange);
	ok(exchange.nkept == 0 && server->given == server->have,
	   "and dropped when they come");
	end(stream);
}

/* A reply is awaited without being received; those before it are kept. */
static void
test_await(void)
{
	Server *server;
	uint32_t channel;
	mongoc_stream_t *stream = begin(&server, &channel);
	MtsTicket first = ask(channel), second = ask(channel);

	ok(mts_exchange_await(&exchange, second) == &server->base,
	   "a reply is waited for");
	answer(server, server->ids[0], 0);
	ok(mts_exchange_await(&exchange, second) == &server->base &&
		   exchange.nkept == 1,
	   "one before it is kept");
	answer_all(server);
	for (server->withheld = server->have - server->given; server->withheld > 0;
		 server->withheld--)
		if (mts_exchange_await(&exchange, second) != &server->base)
			break;
	ok(server->withheld == 0, "a part of it is not enough");
	ok(!mts_exchange_await(&exchange, second) && exchange.nkept == 1,
	   "then it is there");
	ok(receive(second) == 1 && receive(first) == 0 &&
		   !mts_exchange_await(&exchange, first),
	   "each request gets its own, and is not waited for any more");
	end(stream);
}

/* A server that is retired keeps its replies. */
static void
test_retire(void)
{
	Server *server;
	uint32_t channel, id;
	mongoc_stream_t *stream = begin(&server, &channel);
	MtsTicket ticket = ask(channel);

	mts_exchange_retire(&exchange, channel);
	answer_all(server);
	ok(ask(channel) == 0 && receive(ticket) == 0,
	   "a reply of a server that is retired can be received");
	ok(mts_exchange_break_retired(&exchange, &id) && server->is_shut,
	   "then it is closed");
	end(stream);
}

/* A request that is refused is sent again, whatever is under way beside it. */
static void
test_overload(void)
{
	Server *server;
	uint32_t channel;
	mongoc_stream_t *stream = begin(&server, &channel);
	MtsTicket first, second;

	server->is_prompt = true;
	server->nrefused = 2;
	first = ask(channel);
	ok(receive(first) == 2 && server->nrequests == 3,
	   "a request that is refused twice is answered");
	server->nrefused = 3;
	first = ask(channel);
	ok(receive(first) == REFUSED && server->nrequests == 6,
	   "the third refusal is the answer");
	server->nrefused = 1;
	first = ask(channel);
	second = ask(channel);
	ok(receive(second) == 7 && receive(first) == 8,
	   "one before another one that was answered");
	server->nrefused = 1;
	first = ask(channel);
	second = ask(channel);
	ok(receive(first) == 11 && receive(second) == 10,
	   "one whose reply is asked for first");
	server->nrefused = 1;
	mts_exchange_forget(&exchange, ask(channel));
	first = ask(channel);
	ok(receive(first) == 13 && server->nrequests == 14,
	   "one that was forgotten is not sent again");
	server->nrefused = 1;
	first = ask(channel);
	mts_exchange_retire(&exchange, channel);
	ok(receive(first) == REFUSED, "nor one of a server that is retired");
	end(stream);
}

int
main(void)
{
	test_order();
	test_forget();
	test_room();
	test_await();
	test_retire();
	test_overload();
	lie("an answer twice", "it answers another request", tell_twice);
	lie("the last answer twice", "it answers another request",
		tell_last_twice);
	lie("answers in another order", "it answers another request",
		tell_backwards);
	lie("answers to other requests", "it answers another request",
		tell_unknown);
	lie("half of an answer", "none", tell_half);
	lie("a long answer", "it has a wrong length", tell_long);
	lie("a short answer", "it has a wrong length", tell_short);
	lie("an answer with flags",
		"it has flags or sections that were not asked for", tell_flags);
	return tap_done();
}
