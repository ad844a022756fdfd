/*
 * test_read_ahead.c
 *		Proves that every request is answered as if batches were not read
 *		ahead, and that they are.
 *
 * A server in memory has cursors of a few batches.  It must never be asked
 * before its last answer has been read.
 */
#include "tap.h"

#include "driver/read_ahead.h"

#define CURSORS 3
#define OP_MSG 2013
#define HEADER 16
#define DOCUMENT_AT (HEADER + 5)

/* ---- The server --------------------------------------------------------- */

typedef struct Server
{
	mongoc_stream_t base; /* must be first */
	int sent[CURSORS];    /* batches */
	int batches[CURSORS]; /* in all; none after a cursor is closed */
	uint8_t answer[512];
	size_t size, given;
	int requests;
	bool was_hurried; /* it was asked before an answer was read */
} Server;

static void
put_int32(uint8_t *at, int32_t n)
{
	n = (int32_t) BSON_UINT32_TO_LE((uint32_t) n);
	memcpy(at, &n, sizeof(n));
}

static int32_t
get_int32(const uint8_t *at)
{
	int32_t n;

	memcpy(&n, at, sizeof(n));
	return (int32_t) BSON_UINT32_FROM_LE((uint32_t) n);
}

/* Make a message of a document; returns its size. */
static size_t
make_message(uint8_t *message, int32_t id, int32_t answers, const bson_t *doc)
{
	memset(message, 0, DOCUMENT_AT);
	put_int32(message, (int32_t) (DOCUMENT_AT + doc->len));
	put_int32(message + 4, id);
	put_int32(message + 8, answers);
	put_int32(message + 12, OP_MSG);
	memcpy(message + DOCUMENT_AT, bson_get_data(doc), doc->len);
	return DOCUMENT_AT + doc->len;
}

/* Answer a command: the next batch of a cursor, or its name. */
static bson_t *
execute(Server *server, const bson_t *command)
{
	bson_iter_t iter, child;
	int cursor;

	bson_iter_init(&iter, command);
	bson_iter_next(&iter);
	if (strcmp(bson_iter_key(&iter), "getMore") == 0)
	{
		cursor = (int) bson_iter_int64(&iter) - 1;
		if (server->sent[cursor] >= server->batches[cursor])
			return BCON_NEW("ok", BCON_DOUBLE(0), "code", BCON_INT32(43));
		server->sent[cursor]++;
		return BCON_NEW("cursor", "{", "id",
						BCON_INT64(server->sent[cursor] <
										   server->batches[cursor]
									   ? cursor + 1
									   : 0),
						"nextBatch", "[", "{", "n",
						BCON_INT32(server->sent[cursor]), "}", "]", "}", "ok",
						BCON_DOUBLE(1));
	}
	if (strcmp(bson_iter_key(&iter), "killCursors") == 0 &&
		bson_iter_find_descendant(&iter, "cursors.0", &child))
		server->batches[bson_iter_int64(&child) - 1] = 0;
	return BCON_NEW("ok", BCON_DOUBLE(1));
}

static ssize_t
server_writev(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			  int32_t timeout)
{
	Server *server = (Server *) base;
	uint8_t message[4096];
	size_t size = 0;
	bson_t command;
	bson_t *answer;

	for (size_t i = 0; i < iovcnt; i++)
	{
		memcpy(message + size, iov[i].iov_base, iov[i].iov_len);
		size += iov[i].iov_len;
	}
	server->was_hurried |= server->given < server->size;
	server->requests++;
	bson_init_static(&command, message + DOCUMENT_AT, size - DOCUMENT_AT);
	answer = execute(server, &command);
	server->size = make_message(server->answer, 1000 + server->requests,
								get_int32(message + 4), answer);
	server->given = 0;
	bson_destroy(answer);
	return (ssize_t) size;
}

static ssize_t
server_readv(mongoc_stream_t *base, mongoc_iovec_t *iov, size_t iovcnt,
			 size_t min_bytes, int32_t timeout)
{
	Server *server = (Server *) base;
	size_t n = BSON_MIN(iov->iov_len, server->size - server->given);

	memcpy(iov->iov_base, server->answer + server->given, n);
	server->given += n;
	return (ssize_t) n;
}

static void
server_destroy(mongoc_stream_t *base)
{
}

/* ---- The client --------------------------------------------------------- */

typedef struct Client
{
	Server server;
	mongoc_stream_t *stream;
	MtsReadAhead ahead;
	int32_t id; /* of the last request */
	uint8_t answer[512];
} Client;

static void
start(Client *client)
{
	memset(client, 0, sizeof(*client));
	client->server.base.readv = server_readv;
	client->server.base.writev = server_writev;
	client->server.base.destroy = server_destroy;
	client->ahead.is_wanted = true;
	client->stream =
		mts_read_ahead_stream(&client->server.base, &client->ahead);
}

/* Send a command, and return whether its answer can be read, in *answer. */
static bool
run(Client *client, bson_t *command, bson_t *answer)
{
	uint8_t message[4096];
	mongoc_iovec_t iov[2] = {{.iov_base = (void *) message}};
	size_t size = make_message(message, ++client->id, 0, command);
	size_t length;

	iov[0].iov_len = 7;
	iov[1] = (mongoc_iovec_t){(void *) (message + 7), size - 7};
	bson_destroy(command);
	if (mongoc_stream_writev(client->stream, iov, 2, 1000) != (ssize_t) size ||
		mongoc_stream_read(client->stream, client->answer, 4, 4, 1000) != 4)
		return false;
	length = get_int32(client->answer);
	return mongoc_stream_read(client->stream, client->answer + 4, length - 4,
							  length - 4, 1000) == (ssize_t) length - 4 &&
		   get_int32(client->answer + 8) == client->id &&
		   bson_init_static(answer, client->answer + DOCUMENT_AT,
							length - DOCUMENT_AT);
}

/* Ask for a cursor's next batch; returns its number, or 0. */
static int
get_more(Client *client, int cursor)
{
	bson_t answer;
	bson_iter_t iter, child;

	if (run(client, BCON_NEW("getMore", BCON_INT64(cursor + 1), "$db", "d"),
			&answer) &&
		bson_iter_init(&iter, &answer) &&
		bson_iter_find_descendant(&iter, "cursor.nextBatch.0.n", &child))
		return bson_iter_int32(&child);
	return 0;
}

static bool
kill_cursor(Client *client, int cursor)
{
	bson_t answer;

	return run(client,
			   BCON_NEW("killCursors", "c", "cursors", "[",
						BCON_INT64(cursor + 1), "]"),
			   &answer);
}

/* Send another command, which may be too long to be remembered. */
static bool
ping(Client *client, int length)
{
	char text[2048];
	bson_t answer;

	memset(text, 'x', length);
	text[length] = '\0';
	return run(client, BCON_NEW("ping", BCON_UTF8(text)), &answer);
}

/* ---- Tests -------------------------------------------------------------- */

static void
test_one_cursor(void)
{
	Client client;

	start(&client);
	client.server.batches[0] = 3;
	ok(get_more(&client, 0) == 1 && client.server.sent[0] == 2,
	   "a batch is read ahead");
	ok(get_more(&client, 0) == 2 && client.server.requests == 3,
	   "each batch is asked for once");
	ok(get_more(&client, 0) == 3 && client.server.requests == 3,
	   "nothing is read after the last batch");
	mongoc_stream_destroy(client.stream);

	start(&client);
	client.ahead.is_wanted = false;
	client.server.batches[0] = 3;
	ok(get_more(&client, 0) == 1 && client.server.sent[0] == 1,
	   "a batch is not read ahead if that is not wanted");
	mongoc_stream_destroy(client.stream);
}

/* What is read ahead can be lost, or malformed. */
static void
test_loss(void)
{
	Client client;

	start(&client);
	client.server.batches[0] = 3;
	get_more(&client, 0);
	mongoc_stream_destroy(client.stream);
	ok(client.ahead.lost == 1 && !client.ahead.coming,
	   "a stream that is closed before a batch is read loses it");

	start(&client);
	client.server.batches[0] = 2;
	ok(get_more(&client, 0) == 1 && get_more(&client, 0) == 2,
	   "the last batch is read");
	mongoc_stream_destroy(client.stream);
	ok(client.ahead.lost == 0, "a stream that is closed then loses nothing");

	start(&client);
	client.server.batches[0] = 3;
	get_more(&client, 0);
	mts_read_ahead_receive(&client.ahead);
	ok(client.server.given == client.server.size && get_more(&client, 0) == 2,
	   "a batch can be received before it is read");
	mongoc_stream_destroy(client.stream);

	for (int length = 0; length < HEADER; length++)
	{
		start(&client);
		client.server.batches[0] = 3;
		get_more(&client, 0);
		put_int32(client.server.answer, length);
		if (ping(&client, 1) || ping(&client, 1))
			tap_fault("an answer of %d bytes is kept", length);
		mongoc_stream_destroy(client.stream);
	}
	tap_claim("an answer shorter than its header breaks the stream");
}

/* Commands for several cursors in any order, also for cursors at their end */
static void
test_random(void)
{
	for (int i = 0; i < 2000; i++)
	{
		Client client;
		int read[CURSORS] = {0};

		start(&client);
		for (int j = 0; j < CURSORS; j++)
			client.server.batches[j] = 1 + (int) random_below(6);
		for (int j = 0; j < 40; j++)
		{
			int cursor = (int) random_below(CURSORS);
			int batches = client.server.batches[cursor];
			int n;

			client.ahead.is_wanted = random_below(5) > 0;
			switch (random_below(8))
			{
				case 0:
					if (!ping(&client, (int) random_below(1800)))
						tap_fault("%d: a ping failed", i);
					break;
				case 1:
					if (random_below(4) == 0 && !kill_cursor(&client, cursor))
						tap_fault("%d: killCursors failed", i);
					break;
				default:
					n = get_more(&client, cursor);
					if (n != (read[cursor] < batches ? read[cursor] + 1 : 0))
						tap_fault("%d: batch %d came after %d of %d", i, n,
								  read[cursor], batches);
					read[cursor] += n > 0;
			}
		}
		if (client.server.was_hurried)
			tap_fault("%d: the server was asked too early", i);
		mongoc_stream_destroy(client.stream);
	}
	tap_claim("2000 series of commands are answered as without reading ahead");
}

int
main(void)
{
	tap_seed();
	mongoc_init();
	test_one_cursor();
	test_loss();
	test_random();
	return tap_done();
}
