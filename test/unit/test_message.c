/*
 * test_message.c
 *		Do sound replies pass, and does none pass that libmongoc would trip on?
 */
#include <bson/bson.h>

#include "core/message.h"
#include "tap.h"

#define REQUEST 77
#define OP_REPLY 1
#define OP_COMPRESSED 2012
#define OP_MSG 2013

/* A message without its length, as it is checked */
typedef struct Message
{
	uint8_t bytes[2048];
	size_t size;
} Message;

static void
append(Message *message, const void *bytes, size_t size)
{
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

static void
append_int32(Message *message, int32_t n)
{
	n = (int32_t) BSON_UINT32_TO_LE((uint32_t) n);
	append(message, &n, sizeof(n));
}

static void
begin(Message *message, int32_t response_to, int32_t opcode)
{
	message->size = 0;
	append_int32(message, 1);
	append_int32(message, response_to);
	append_int32(message, opcode);
}

static void
wrap(Message *message, const bson_t *doc)
{
	begin(message, REQUEST, OP_MSG);
	append_int32(message, 0);
	append(message, "", 1);
	append(message, bson_get_data(doc), doc->len);
}

static void
wrap_old(Message *message, const bson_t *doc, int32_t n)
{
	begin(message, REQUEST, OP_REPLY);
	append_int32(message, 8);
	append_int32(message, 0);
	append_int32(message, 0);
	append_int32(message, 0);
	append_int32(message, n);
	append(message, bson_get_data(doc), doc->len);
}

/* Has the client offered to compress? */
static bool may_compress;

/* Bytes that end with the heap block, so that ASan sees a look behind them */
static const char *
problem_of(const Message *message)
{
	uint8_t *copy = malloc(message->size);
	const char *problem;

	memcpy(copy, message->bytes, message->size);
	problem = mts_message_problem(copy, message->size, REQUEST, may_compress);
	free(copy);
	return problem;
}

static void
passes(const Message *message, const char *name)
{
	const char *problem = problem_of(message);

	ok(problem == NULL, "%s%s%s", name, problem ? ": " : "",
	   problem ? problem : "");
}

static void
fails(const Message *message, const char *problem)
{
	const char *got = problem_of(message);

	is_text(got ? got : "no problem", problem, problem);
}

/* {"cursor": .., "ok": 1}, from JSON */
static void
fails_json(const char *json, const char *problem)
{
	bson_t *doc = bson_new_from_json((const uint8_t *) json, -1, NULL);
	Message message;

	wrap(&message, doc);
	is_text(problem_of(&message) ? problem_of(&message) : "no problem",
			problem, json);
	bson_destroy(doc);
}

static bson_t *
sound_reply(void)
{
	return BCON_NEW("cursor", "{", "id", BCON_INT64(5), "ns",
					BCON_UTF8("db.c"), "firstBatch", "[", "{", "_id",
					BCON_INT32(1), "v", "{", "0", BCON_DOUBLE(1.5), "}", "}",
					"{", "_id", BCON_INT32(2), "}", "]", "}", "ok",
					BCON_DOUBLE(1), "$clusterTime", "{", "x", BCON_INT32(1),
					"}");
}

static void
test_lengths(void)
{
	ok(!mts_message_length_problem(16) &&
		   !mts_message_length_problem(48000000),
	   "lengths of messages");
	ok(mts_message_length_problem(15) && mts_message_length_problem(-1) &&
		   mts_message_length_problem(0) &&
		   mts_message_length_problem(0x50545448),
	   "and others");
}

static void
test_envelopes(const bson_t *doc)
{
	Message message;

	wrap(&message, doc);
	passes(&message, "an OP_MSG");
	message.size--;
	fails(&message, "its document has another length than the message");
	message.size += 2;
	fails(&message, "its document has another length than the message");
	wrap(&message, doc);
	message.bytes[12] = 2;
	fails(&message, "it has flags or sections that were not asked for");
	wrap(&message, doc);
	message.bytes[16] = 1;
	fails(&message, "it has flags or sections that were not asked for");
	wrap(&message, doc);
	message.bytes[4]++;
	fails(&message, "it answers another request");
	begin(&message, REQUEST, OP_MSG);
	fails(&message, "it has flags or sections that were not asked for");
	begin(&message, REQUEST, 4711);
	fails(&message, "it is not a reply");
	begin(&message, REQUEST, OP_COMPRESSED);
	fails(&message, "it is compressed, which was not asked for");
	wrap_old(&message, doc, 1);
	passes(&message, "an OP_REPLY");
	wrap_old(&message, doc, 0);
	fails(&message, "it does not hold one document");
	begin(&message, REQUEST, OP_REPLY);
	fails(&message, "it does not hold one document");
}

/* A message in an envelope of compression, by a compressor */
static void
envelop(Message *message, const bson_t *doc, uint8_t compressor)
{
	begin(message, REQUEST, OP_COMPRESSED);
	append_int32(message, OP_MSG);
	append_int32(message, 5 + (int32_t) doc->len);
	append(message, &compressor, 1);
	append_int32(message, 0);
	append(message, (const uint8_t *) "", 1);
	append(message, bson_get_data(doc), doc->len);
}

static void
test_compression(const bson_t *doc)
{
	Message message;

	envelop(&message, doc, 0);
	fails(&message, "it is compressed, which was not asked for");
	may_compress = true;
	passes(&message, "what is compressed by nothing");
	message.size--;
	fails(&message, "its document has another length than the message");
	envelop(&message, doc, 2);
	passes(&message, "what is compressed");
	begin(&message, REQUEST, OP_COMPRESSED);
	fails(&message, "it is incomplete");
	may_compress = false;
}

static void
test_fields(void)
{
	const char *batch = "its batch is not an array of whole documents";
	const char *cursor = "its cursor has no number or no batch";
	const char *number = "its cursor has no number, or two";
	const char *ns = "its cursor does not name a collection";

	fails_json("{\"n\": 1}", "it does not say whether the command succeeded");
	fails_json("{\"cursor\": 1, \"ok\": 1}", "its cursor is not a document");
	fails_json("{\"cursor\": {}, \"ok\": 1}", cursor);
	fails_json("{\"cursor\": {\"id\": {\"$numberLong\": \"0\"}}, \"ok\": 1}",
			   cursor);
	fails_json("{\"cursor\": {\"firstBatch\": []}, \"ok\": 1}", cursor);
	fails_json("{\"cursor\": {\"id\": \"0\", \"nextBatch\": []}, \"ok\": 1}",
			   number);
	fails_json("{\"cursor\": {\"id\": {\"$numberLong\": \"1\"}, "
			   "\"id\": {\"$numberLong\": \"0\"}}, \"ok\": 1}",
			   number);
	fails_json("{\"cursor\": {\"firstBatch\": [{}], \"firstBatch\": []}, "
			   "\"ok\": 1}",
			   "its cursor has two batches");
	fails_json("{\"cursor\": {\"firstBatch\": {}}, \"ok\": 1}", batch);
	fails_json("{\"cursor\": {\"nextBatch\": [{}, 1]}, \"ok\": 1}", batch);
	fails_json("{\"cursor\": {\"firstBatch\": [null]}, \"ok\": 1}", batch);
	fails_json("{\"cursor\": {\"ns\": \"db\"}, \"ok\": 1}", ns);
	fails_json("{\"cursor\": {\"ns\": \"db.\"}, \"ok\": 1}", ns);
	fails_json("{\"cursor\": {\"ns\": \".c\"}, \"ok\": 1}", ns);
	fails_json("{\"cursor\": {\"ns\": \"d.c\\u0000\"}, \"ok\": 1}", ns);
	fails_json("{\"cursor\": {\"ns\": 1}, \"ok\": 1}", ns);
	fails_json("{\"writeErrors\": 1, \"ok\": 1}",
			   "its errors are not documents");
	fails_json("{\"writeErrors\": [1], \"ok\": 1}",
			   "its errors are not documents");
	fails_json("{\"writeConcernError\": 1, \"ok\": 1}",
			   "its error is not a document");
	fails_json("{\"errorLabels\": 1, \"ok\": 1}",
			   "its labels are not an array");
	fails_json("{\"writeErrors\": [{}], \"errorLabels\": [\"a\"], "
			   "\"writeConcernError\": {}, \"ok\": 0}",
			   "no problem");
}

/* Does libbson's iterator get to the end of a document's batch? */
static int
count_batch(const bson_t *doc)
{
	bson_iter_t iter, child, element;
	int n = 0;

	if (!bson_iter_init(&iter, doc) ||
		!bson_iter_find_descendant(&iter, "cursor.firstBatch", &child) ||
		!bson_iter_recurse(&child, &element))
		return -1;
	while (bson_iter_next(&element))
	{
		const uint8_t *data;
		uint32_t len;
		bson_t inner;

		if (!BSON_ITER_HOLDS_DOCUMENT(&element))
			return -1;
		bson_iter_document(&element, &len, &data);
		if (!bson_init_static(&inner, data, len))
			return -1;
		n++;
	}
	return element.err_off != 0 ? -1 : n;
}

/* What passes with any byte changed is read by libbson to its end. */
static void
test_changes(const bson_t *doc)
{
	Message message;

	tap_seed();
	for (int i = 0; i < 200000; i++)
	{
		size_t at;
		bson_t changed;

		wrap(&message, doc);
		at = 17 + random_below((int64_t) message.size - 17);
		message.bytes[at] = (uint8_t) random_below(256);
		if (random_below(2) == 0)
		{
			at = 17 + random_below((int64_t) message.size - 17);
			message.bytes[at] = (uint8_t) random_below(256);
		}
		if (problem_of(&message))
			continue;
		if (!bson_init_static(&changed, message.bytes + 17,
							  message.size - 17) ||
			(bson_has_field(&changed, "cursor.firstBatch") &&
			 count_batch(&changed) < 0))
			tap_fault("byte %zu is %d", at, message.bytes[at]);
	}
	tap_claim("what passes can be read to its end");
}

int
main(void)
{
	bson_t *doc = sound_reply();

	test_lengths();
	test_envelopes(doc);
	test_compression(doc);
	test_fields();
	test_changes(doc);
	bson_destroy(doc);
	return tap_done();
}
