/*
 * fuzz_reply.c
 *		Asserts that libmongoc can read each accepted reply.
 *
 * libmongoc takes an early end of libbson's iterator for the end of the reply,
 * and trusts the types of some fields.  Of the documents in a batch only the
 * lengths are checked.
 */
#include "fuzz.h"

#include "points.h"
#include "wire.h"

/* A choice, the header without its length, flags and a section's kind */
#define HEAD 18
#define REQUEST 7

/* Bits of the choice */
#define MAY_COMPRESS 1
#define IS_QUERY 2

const size_t fuzz_head = HEAD;

static void
append_batch(bson_t *cursor, const char *name)
{
	static Bucket bucket;
	static TestTable table;
	bson_t batch;

	bson_append_array_begin(cursor, name, -1, &batch);
	for (int i = (int) random_below(4); i > 0; i--)
	{
		char key[16];

		snprintf(key, sizeof(key), "%d", i);
		table_open((int) random_below(table_nspecs), &table);
		bucket_fill(&bucket, &table, bucket_random_start(&table), 2);
		bson_append_document(&batch, key, -1, &bucket.doc);
		bson_destroy(&bucket.doc);
	}
	bson_append_array_end(cursor, &batch);
}

static void
append_reply(bson_t *reply)
{
	bson_t child = BSON_INITIALIZER;
	bson_t error = BSON_INITIALIZER;

	switch (random_below(3))
	{
		case 0:
			bson_append_document_begin(reply, "cursor", -1, &child);
			bson_append_int64(&child, "id", -1, random_below(2));
			bson_append_utf8(&child, "ns", -1, "db.metrics", -1);
			append_batch(&child, random_below(2) ? "firstBatch" : "nextBatch");
			bson_append_document_end(reply, &child);
			break;
		case 1:
			BCON_APPEND(&error, "index", BCON_INT32(0), "code",
						BCON_INT32(11000), "errmsg", BCON_UTF8("E11000"));
			bson_append_int32(reply, "n", -1, 1);
			bson_append_array_begin(reply, "writeErrors", -1, &child);
			bson_append_document(&child, "0", -1, &error);
			bson_append_array_end(reply, &child);
			bson_append_document(reply, "writeConcernError", -1, &error);
			break;
		default:
			BCON_APPEND(reply, "errmsg", BCON_UTF8("no"), "code",
						BCON_INT32(50), "errorLabels", "[",
						BCON_UTF8("RetryableWriteError"), "]");
	}
	bson_append_double(reply, "ok", -1, 1);
	bson_destroy(&error);
}

size_t
fuzz_make(uint8_t *data)
{
	bson_t reply = BSON_INITIALIZER;
	int32_t words[] = {1, REQUEST, OP_MSG, 0};
	size_t len;

	append_reply(&reply);
	len = reply.len;
	data[0] = 0;
	memcpy(data + 1, words, sizeof(words));
	data[HEAD - 1] = 0;
	fuzz_check(HEAD + len <= FUZZ_MAX, "a reply of %zu bytes", len);
	memcpy(data + HEAD, bson_get_data(&reply), len);
	bson_destroy(&reply);
	return HEAD + len;
}

/* Check the lengths of the documents of an array. */
static void
check_batch(bson_iter_t *array)
{
	bson_iter_t iter;

	fuzz_check(BSON_ITER_HOLDS_ARRAY(array) && bson_iter_recurse(array, &iter),
			   "a batch is no array");
	while (bson_iter_next(&iter))
	{
		const uint8_t *bytes;
		uint32_t len;
		bson_t doc;

		fuzz_check(BSON_ITER_HOLDS_DOCUMENT(&iter), "no document in a batch");
		bson_iter_document(&iter, &len, &bytes);
		fuzz_check(bson_init_static(&doc, bytes, len), "a length lies");
	}
	fuzz_check(iter.err_off == 0, "a batch breaks off");
}

/* Read a document like libmongoc.  Returns false if it ends early. */
static bool
read_whole(bson_iter_t *iter, bool is_cursor)
{
	while (bson_iter_next(iter))
	{
		const char *key = bson_iter_key(iter);
		bson_iter_t child;

		if (is_cursor &&
			(strcmp(key, "firstBatch") == 0 || strcmp(key, "nextBatch") == 0))
			check_batch(iter);
		else if (bson_iter_recurse(iter, &child))
			if (!read_whole(&child, strcmp(key, "cursor") == 0))
				return false;
	}
	return iter->err_off == 0;
}

/* Check the types that libmongoc trusts. */
static void
check_types(bson_t *doc)
{
	bson_iter_t iter, child;

	if (bson_iter_init_find(&iter, doc, "writeErrors"))
		check_batch(&iter);
	if (bson_iter_init_find(&iter, doc, "writeConcernError"))
		fuzz_check(BSON_ITER_HOLDS_DOCUMENT(&iter), "an error is no document");
	if (!bson_iter_init_find(&iter, doc, "cursor"))
		return;
	fuzz_check(BSON_ITER_HOLDS_DOCUMENT(&iter), "the cursor is no document");
	fuzz_check(bson_iter_recurse(&iter, &child) &&
				   bson_iter_find(&child, "id") &&
				   BSON_ITER_HOLDS_INT64(&child),
			   "the cursor has no number");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *message = data + 1;
	bool is_query, may_compress;
	bson_iter_t iter;
	bson_t doc;
	size_t head;

	if (size < 1 + 12 || size > FUZZ_MAX)
		return 0;
	may_compress = data[0] & MAY_COMPRESS;
	is_query = data[0] & IS_QUERY;
	if (wire_problem(message, size - 1, REQUEST, is_query ? OP_QUERY : OP_MSG,
					 may_compress))
		return 0;
	if (may_compress && message[8] == (OP_COMPRESSED & 255))
		return 0;
	head = 12 + (is_query ? 20 : 5);
	fuzz_check(bson_init_static(&doc, message + head, size - 1 - head) &&
				   bson_iter_init(&iter, &doc),
			   "the document's length lies");
	fuzz_check(read_whole(&iter, false), "libbson reads less");
	check_types(&doc);
	return 0;
}
