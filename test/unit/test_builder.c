/*
 * test_builder.c
 *		Proves that elements are built with the bytes that libbson gives them.
 */
#include "core/bson/builder.h"
#include "tap.h"

/* Build the elements of a document, and those inside of it, one by one. */
static void
copy_elements(bson_iter_t *iter, MtsBuilder *builder)
{
	while (bson_iter_next(iter))
	{
		const char *key = bson_iter_key(iter);
		size_t len = strlen(key), begin;
		bson_iter_t inner;

		if (!BSON_ITER_HOLDS_DOCUMENT(iter) && !BSON_ITER_HOLDS_ARRAY(iter))
		{
			mts_builder_append(builder, key, len, bson_iter_value(iter));
			continue;
		}
		begin = mts_builder_begin(builder, bson_iter_type(iter), key, len);
		if (!bson_iter_recurse(iter, &inner))
			abort();
		copy_elements(&inner, builder);
		mts_builder_end(builder, begin);
	}
}

static void
test_copy(const char *name, const bson_t *doc)
{
	bson_t copy = BSON_INITIALIZER;
	MtsBuilder builder = {0};
	bson_iter_t iter;

	if (!bson_iter_init(&iter, doc))
		abort();
	copy_elements(&iter, &builder);
	ok(mts_builder_finish(&builder, &copy) && bson_equal(&copy, doc), "%s",
	   name);
	bson_destroy(&copy);
}

static void
test_types(void)
{
	static const char *documents[] = {
		"{}",
		"{\"\": 1.5}",
		"{\"a\": 1.5, \"b\": {\"$numberLong\": \"-2\"}, \"c\": {\"$date\": 3}}",
		"{\"a\": 7, \"b\": true, \"c\": null, \"d\": \"text\", \"e\": \"\"}",
		"{\"a\": {\"$numberDecimal\": \"1.10\"}, \"b\": {\"$oid\": \"000102030405060708090a0b\"}}",
		"{\"a\": {\"$binary\": {\"base64\": \"AAEC\", \"subType\": \"04\"}}}",
		"{\"a\": {\"$numberDouble\": \"NaN\"}, \"b\": {\"$numberDouble\": \"-0.0\"}}",
		"{\"a\": {}, \"b\": [], \"c\": [{\"x\": [1, [2.5]]}, \"y\"], \"d\": 1}",
	};

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
	{
		bson_t *doc =
			bson_new_from_json((const uint8_t *) documents[i], -1, NULL);

		if (!doc)
			abort();
		test_copy(documents[i], doc);
		bson_destroy(doc);
	}
}

static void
test_growth(void)
{
	bson_t doc = BSON_INITIALIZER, inner;

	bson_append_array_begin(&doc, "a", -1, &inner);
	for (uint32_t i = 0; i < 100000; i++)
	{
		char buffer[16];
		const char *key;

		bson_uint32_to_string(i, &key, buffer, sizeof(buffer));
		if (i % 3 == 0)
			bson_append_double(&inner, key, -1, i);
		else
			bson_append_utf8(&inner, key, -1, "some text", (int) (i % 10));
	}
	bson_append_array_end(&doc, &inner);
	test_copy("a large array", &doc);
	bson_destroy(&doc);
}

static void
test_append(void)
{
	bson_value_t value = {.value_type = BSON_TYPE_DOUBLE,
						  .value = {.v_double = 2}};
	bson_t doc = BSON_INITIALIZER, want = BSON_INITIALIZER, elements;
	MtsBuilder builder = {0};

	bson_append_int32(&doc, "a", -1, 1);
	bson_append_int32(&want, "a", -1, 1);
	ok(mts_builder_finish(&builder, &doc) && bson_equal(&doc, &want),
	   "no elements add nothing to a document");
	bson_init(&elements);
	bson_append_bool(&elements, "b", -1, true);
	mts_builder_append_elements(&builder, &elements);
	mts_builder_append(&builder, "cut here", 3, &value);
	bson_append_bool(&want, "b", -1, true);
	bson_append_double(&want, "cut", -1, 2);
	ok(mts_builder_finish(&builder, &doc) && bson_equal(&doc, &want),
	   "elements follow those of a document");
	bson_destroy(&elements);
	bson_destroy(&doc);
	bson_destroy(&want);
}

int
main(void)
{
	test_types();
	test_growth();
	test_append();
	return tap_done();
}
