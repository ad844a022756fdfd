/*
 * test_reply.c
 *		Proves that well-formed replies are accepted, and that malformed ones
 *		are refused where libmongoc does not check them.
 */
#include "core/bson/bson.h"
#include "tap.h"
#include "wire.h"

#include "driver/compress.h"

#define REQUEST 77

/* A message, without its length field */
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

/* Whether the client has offered to compress */
static bool may_compress;

static uint32_t request_opcode = OP_MSG;

static const char *
problem_of(const Message *message)
{
	return wire_problem(message->bytes, message->size, REQUEST, request_opcode,
						may_compress);
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

/* Build a reply from JSON. */
static void
is_json_valid(const char *json, bool is_valid)
{
	bson_t *doc = bson_new_from_json((const uint8_t *) json, -1, NULL);
	const char *problem;
	Message message;

	wrap(&message, doc);
	problem = problem_of(&message);
	is_text(problem ? problem : "no problem",
			is_valid ? "no problem" : "its document is malformed", json);
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

static const char malformed[] = "its document is malformed";
static const char flags[] = "it has flags or sections that were not asked for";
static const char opcode[] =
	"it has another opcode than the reply to its request";

static void
test_envelopes(const bson_t *doc)
{
	Message message;

	wrap(&message, doc);
	passes(&message, "an OP_MSG");
	message.size--;
	fails(&message, malformed);
	message.size += 2;
	fails(&message, malformed);
	wrap(&message, doc);
	message.bytes[12] = 2;
	fails(&message, flags);
	wrap(&message, doc);
	message.bytes[16] = 1;
	fails(&message, flags);
	wrap(&message, doc);
	message.bytes[4]++;
	fails(&message, "it answers another request");
	begin(&message, REQUEST, OP_MSG);
	fails(&message, flags);
	message.size--;
	fails(&message, "it was not read as a whole");
	begin(&message, REQUEST, 4711);
	fails(&message, opcode);
	wrap_old(&message, doc, 1);
	fails(&message, opcode);
	request_opcode = OP_QUERY;
	passes(&message, "an OP_REPLY");
	wrap_old(&message, doc, 0);
	fails(&message, flags);
	begin(&message, REQUEST, OP_REPLY);
	fails(&message, flags);
	wrap(&message, doc);
	fails(&message, opcode);
	request_opcode = OP_MSG;
}

/* Compress the message of a document. */
static void
wrap_compressed(Message *message, MtsCompressor compressor, const bson_t *doc)
{
	uint8_t body[1024] = {0};
	size_t size = 5 + doc->len;
	size_t at;

	memcpy(body + 5, bson_get_data(doc), doc->len);
	begin(message, REQUEST, OP_COMPRESSED);
	append_int32(message, OP_MSG);
	append_int32(message, (int32_t) size);
	append(message, &compressor, 1);
	at = message->size;
	message->size += mts_compress(compressor, body, size, message->bytes + at,
								  sizeof(message->bytes) - at);
}

static void
test_compression(const bson_t *doc)
{
	static const char *const names[] = {"snappy", "zlib", "zstd"};
	static const char broken[] = "it cannot be decompressed";
	Message message;

	begin(&message, REQUEST, OP_COMPRESSED);
	fails(&message, opcode);
	may_compress = true;
	fails(&message, broken);
	for (int i = 0; i < 3; i++)
	{
		MtsCompressor compressor = mts_compress_find(names[i]);

		if (compressor == 0)
			continue;
		wrap_compressed(&message, compressor, doc);
		passes(&message, names[i]);
		message.size--;
		fails(&message, broken);
		message.size++;
		/* the size of what is compressed */
		message.bytes[16]++;
		fails(&message, broken);
		message.bytes[16] -= 2;
		fails(&message, broken);
		message.bytes[16]++;
		message.bytes[20] = 77;
		fails(&message, broken);
		wrap_compressed(&message, compressor, &(bson_t) BSON_INITIALIZER);
		message.bytes[12]++;
		fails(&message, opcode);
	}
	may_compress = false;
}

static void
test_fields(void)
{
	is_json_valid("{\"cursor\": 1, \"ok\": 1}", false);
	is_json_valid("{\"cursor\": {}, \"ok\": 1}", false);
	is_json_valid("{\"cursor\": {\"id\": {\"$numberLong\": \"0\"}}}", false);
	is_json_valid("{\"cursor\": {\"firstBatch\": []}}", false);
	is_json_valid("{\"cursor\": {\"id\": \"0\", \"nextBatch\": []}}", false);
	is_json_valid("{\"cursor\": {\"id\": {\"$numberLong\": \"0\"}, "
				  "\"nextBatch\": [{}, {}]}}",
				  true);
	is_json_valid("{\"cursor\": {\"id\": {\"$numberLong\": \"1\"}, \"id\": "
				  "{\"$numberLong\": \"0\"}, \"nextBatch\": []}}",
				  false);
	is_json_valid("{\"cursor\": {\"id\": {\"$numberLong\": \"0\"}, "
				  "\"firstBatch\": [{}], \"firstBatch\": []}}",
				  false);
	is_json_valid("{\"cursor\": {\"firstBatch\": {}}}", false);
	is_json_valid("{\"cursor\": {\"nextBatch\": [{}, 1]}}", false);
	is_json_valid("{\"cursor\": {\"firstBatch\": [null]}}", false);
	is_json_valid("{\"cursor\": {\"ns\": \"db\"}}", false);
	is_json_valid("{\"cursor\": {\"ns\": \"db.\"}}", false);
	is_json_valid("{\"cursor\": {\"ns\": \"d\\u0000.c\"}}", false);
	is_json_valid("{\"cursor\": {\"ns\": 1}}", false);
	is_json_valid("{\"writeErrors\": 1}", false);
	is_json_valid("{\"writeErrors\": [1]}", false);
	is_json_valid("{\"writeConcernError\": 1}", false);
	is_json_valid("{\"writeErrors\": [{}], \"errorLabels\": [\"a\"], "
				  "\"writeConcernError\": {}, \"ok\": 0}",
				  true);
}

/* Make a reply with a number of members in each of two arrays. */
static bool
accepts_members(int nhosts, int npassives)
{
	bson_t *doc = bson_new(), list;
	const char *const names[] = {"hosts", "passives"};
	const int counts[] = {nhosts, npassives};
	Message message;

	for (int i = 0; i < 2; i++)
	{
		bson_append_array_begin(doc, names[i], -1, &list);
		for (int j = 0; j < counts[i]; j++)
			bson_append_utf8(&list, "", 0, "h:1", 3);
		bson_append_array_end(doc, &list);
	}
	wrap(&message, doc);
	bson_destroy(doc);
	return problem_of(&message) == NULL;
}

/* Make a reply with a payload, in the login of a hello if is_nested. */
static bool
accepts_payload(const char *payload, bool is_nested)
{
	bson_t *doc = bson_new(), login;
	Message message;

	if (is_nested)
		bson_append_document_begin(doc, "speculativeAuthenticate", -1, &login);
	bson_append_binary(is_nested ? &login : doc, "payload", -1,
					   BSON_SUBTYPE_BINARY, (const uint8_t *) payload,
					   (uint32_t) strlen(payload));
	if (is_nested)
		bson_append_document_end(doc, &login);
	wrap(&message, doc);
	bson_destroy(doc);
	return problem_of(&message) == NULL;
}

/* Replies that are well-formed, but would keep libmongoc busy for ever */
static void
test_demands(void)
{
	bool few = accepts_payload("r=a,s=b,i=15000", false) &&
			   accepts_payload("r=a,s=b,i=1000000", true) &&
			   accepts_payload("v=abc", false) && accepts_payload("", true) &&
			   accepts_payload(",i=", false);
	bool many = accepts_payload("r=a,s=b,i=1000001", false) ||
				accepts_payload("r=a,s=b,i=99999999999999999999", false) ||
				accepts_payload("r=a,s=b,i=2147483647", true);

	if (!few || many)
		tap_fault("few %d, many %d", few, many);
	tap_claim("a login may ask for a million iterations");
	if (!accepts_members(50, 0) || !accepts_members(30, 20) ||
		accepts_members(51, 0) || accepts_members(26, 25))
		tap_fault("the limit is another one");
	tap_claim("a set may have fifty members");
}

/*
 * Count the documents of a batch that libbson reads to its end.  Returns -1 if
 * it does not.
 */
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

/* libbson reads each accepted reply to its end, whichever byte is changed. */
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
	tap_claim("a reply that is accepted can be read to its end");
}

int
main(void)
{
	bson_t *doc = sound_reply();

	test_envelopes(doc);
	test_compression(doc);
	test_fields();
	test_demands();
	test_changes(doc);
	bson_destroy(doc);
	return tap_done();
}
