/*
 * test_element.c
 *		Proves that elements are read as by libbson, and never past the end of
 *		a document.
 */
#include <bson/bson.h>

#include "core/bson/element.h"
#include "core/layout/probe.h"
#include "core/time/format.h"
#include "tap.h"

/* A document with a value of every type */
static void
every_type(bson_t *doc)
{
	bson_t child;
	bson_oid_t oid;
	bson_decimal128_t decimal;

	bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
	bson_decimal128_from_string("1.50", &decimal);
	bson_append_double(doc, "double", -1, 1.5);
	bson_append_utf8(doc, "string", -1, "te\0xt", 5);
	bson_append_document_begin(doc, "object", -1, &child);
	bson_append_int32(&child, "x", -1, 7);
	bson_append_document_end(doc, &child);
	bson_append_array_begin(doc, "array", -1, &child);
	bson_append_int32(&child, "0", -1, 8);
	bson_append_array_end(doc, &child);
	bson_append_binary(doc, "binData", -1, BSON_SUBTYPE_BINARY,
					   (const uint8_t *) "\1\2\3", 3);
	bson_append_undefined(doc, "undefined", -1);
	bson_append_oid(doc, "objectId", -1, &oid);
	bson_append_bool(doc, "bool", -1, true);
	bson_append_date_time(doc, "date", -1, -1);
	bson_append_null(doc, "null", -1);
	bson_append_regex(doc, "regex", -1, "^a", "i");
	bson_append_dbpointer(doc, "dbPointer", -1, "c", &oid);
	bson_append_code(doc, "javascript", -1, "f()");
	bson_append_symbol(doc, "symbol", -1, "s", -1);
	bson_init(&child);
	bson_append_code_with_scope(doc, "javascriptWithScope", -1, "g()", &child);
	bson_destroy(&child);
	bson_append_int32(doc, "int", -1, -5);
	bson_append_timestamp(doc, "timestamp", -1, 1, 2);
	bson_append_int64(doc, "long", -1, INT64_MIN);
	bson_append_decimal128(doc, "decimal", -1, &decimal);
	bson_append_minkey(doc, "minKey", -1);
	bson_append_maxkey(doc, "maxKey", -1);
}

static void
test_types(const bson_t *doc)
{
	MtsElementCursor cursor;
	MtsElement element;
	bson_iter_t iter;
	bool opened = mts_element_open(&cursor, bson_get_data(doc), doc->len);
	MtsNext next = MTS_NEXT_CORRUPT;
	int n = 0;

	bson_iter_init(&iter, doc);
	while (opened &&
		   (next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
	{
		/*
		 * the value ends where the next element of libbson's iterator begins
		 */
		if (!bson_iter_next(&iter) ||
			strcmp(bson_iter_key(&iter), element.key) != 0 ||
			element.key_len != strlen(element.key) ||
			bson_iter_type(&iter) != (bson_type_t) element.type ||
			element.value + element.size != bson_get_data(doc) + iter.next_off)
			tap_fault("the element \"%s\"", element.key);
		/* the keys are the types' names */
		if (strcmp(mts_element_type_name(element.type), element.key) != 0)
			tap_fault("%s is named %s", element.key,
					  mts_element_type_name(element.type));
		n++;
	}
	if (next != MTS_NEXT_END || bson_iter_next(&iter))
		tap_fault("the end");
	tap_claim("every type is read as libbson reads it");
	is_int(n, 21, "all 21 types are read");
	is_text(mts_element_type_name(0), "unknown", "type 0 is unknown");
	is_text(mts_element_type_name(200), "unknown", "type 200 is unknown");
}

static MtsFound
find(const bson_t *doc, const char *path, MtsElement *element)
{
	char buffer[64];
	MtsPath steps;
	MtsError error;
	MtsElement whole = mts_element_document(bson_get_data(doc), doc->len);

	if (!mts_path_parse(path, buffer, &steps, &error))
		abort();
	return mts_path_find(&whole, steps.steps, steps.nsteps, element);
}

/* Nothing is read from an absent element, and no key is required of a value. */
static void
test_absent(void)
{
	static const char *const formats[] = {"date", "epoch", "iso8601",
										  "text:YYYY-MM-DD"};
	MtsElement absent = {.type = BSON_TYPE_EOD};
	MtsElement keyless = {.type = BSON_TYPE_BOOL,
						  .value = (const uint8_t *) "\1",
						  .size = 1};
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "a", .len = 1};
	MtsElement found;
	MtsProbe probe;
	MtsError error;
	MtsPath path;
	char buffer[64];
	MtsTime t;
	int64_t n;
	double d;

	ok(!mts_element_is_valid(&absent, MTS_MAX_DEPTH), "absent is not valid");
	ok(!mts_element_is_well_formed(&absent, MTS_MAX_DEPTH),
	   "absent is not well formed");
	ok(mts_element_is_valid(&keyless, MTS_MAX_DEPTH),
	   "a value without a key is valid");
	ok(!mts_element_integer(&absent, 1, &n) &&
		   !mts_element_number(&absent, &d) &&
		   !mts_element_amount(&absent, &d),
	   "absent is not a number");
	ok(!mts_element_is_empty_document(&absent) &&
		   !mts_element_is_empty_array(&absent),
	   "absent is not empty");
	ok(mts_path_find(&absent, &step, 1, &found) != MTS_FOUND,
	   "an absent document has no fields");
	if (!mts_path_parse("a.{minute}.b", buffer, &path, &error))
		abort();
	mts_probe_init(&probe, &path);
	mts_probe_document(&probe, &absent);
	ok(probe.nkeys == 0, "an absent document has no keys");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
	{
		MtsFormat format;

		if (!mts_format_parse(formats[i], &format, &error))
			abort();
		ok(mts_format_decode(&format, &(MtsClock){NULL}, &absent, 0, false, &t,
							 &error) == MTS_DECODED_INVALID,
		   "absent is not a time of format %s", formats[i]);
	}
}

/* A document begins with its length and ends with a NUL. */
static void
test_open(void)
{
	MtsElementCursor cursor;
	uint8_t doc[8] = {5, 0, 0, 0, 0, 0, 0, 0};

	ok(mts_element_open(&cursor, doc, 5), "an empty document");
	ok(!mts_element_open(&cursor, doc, 4), "refused: too short for a length");
	ok(!mts_element_open(&cursor, doc, 6), "refused: longer than it says");
	doc[0] = 6;
	ok(!mts_element_open(&cursor, doc, 5), "refused: shorter than it says");
	doc[5] = 1;
	ok(!mts_element_open(&cursor, doc, 6), "refused: no NUL at the end");
	memset(doc, 0xff, 4);
	ok(!mts_element_open(&cursor, doc, 5), "refused: a negative length");
}

static void
test_find(void)
{
	bson_error_t error;
	bson_t *doc = bson_new_from_json(
		(const uint8_t
			 *) "{\"a\": {\"b\": {\"c\": 5}, \"bc\": 6}, \"n\": null, \"x\": [{\"y\": 1}], \"e\": {}, \"s\": \"te\\u0000xt\", \"d\": -2.5, \"l\": {\"$numberLong\": \"-9223372036854775808\"}}",
		-1, &error);
	MtsElement element;
	size_t len = 0;

	ok(find(doc, "a.b.c", &element) == MTS_FOUND &&
		   mts_element_int32(&element) == 5,
	   "a path of three names");
	ok(find(doc, "a.bc", &element) == MTS_FOUND &&
		   mts_element_int32(&element) == 6,
	   "the prefix of a key does not match");
	ok(find(doc, "*", &element) == MTS_FOUND && element.size == doc->len,
	   "a path without names is the document");
	ok(find(doc, "z", &element) == MTS_ABSENT, "an absent key");
	ok(find(doc, "a.z.c", &element) == MTS_ABSENT, "an absent key on the way");
	ok(find(doc, "n.z", &element) == MTS_ABSENT, "a null on the way");
	ok(find(doc, "n", &element) == MTS_FOUND && element.type == BSON_TYPE_NULL,
	   "a null at the end");
	ok(find(doc, "x.y", &element) == MTS_MALFORMED, "an array on the way");
	ok(find(doc, "d.y", &element) == MTS_MALFORMED, "a number on the way");
	ok(find(doc, "e", &element) == MTS_FOUND &&
		   mts_element_is_empty_document(&element),
	   "an empty document");
	ok(find(doc, "a", &element) == MTS_FOUND &&
		   !mts_element_is_empty_document(&element),
	   "a document that is not empty");
	ok(find(doc, "d", &element) == MTS_FOUND &&
		   mts_element_double(&element) == -2.5,
	   "a double");
	ok(find(doc, "l", &element) == MTS_FOUND &&
		   mts_element_int64(&element) == INT64_MIN,
	   "the least long");
	ok(find(doc, "s", &element) == MTS_FOUND &&
		   memcmp(mts_element_text(&element, &len), "te\0xt", 5) == 0 &&
		   len == 5,
	   "text with a NUL");
	bson_destroy(doc);
}

static void
test_numbers(void)
{
	static const struct
	{
		const char *key;
		MtsKeyText kind;
		int64_t n;
	} keys[] = {
		{"0", MTS_KEYTEXT_NUMBER, 0},
		{"7", MTS_KEYTEXT_NUMBER, 7},
		{"59", MTS_KEYTEXT_NUMBER, 59},
		{"-3", MTS_KEYTEXT_NUMBER, -3},
		{"999999999999999999", MTS_KEYTEXT_NUMBER, 999999999999999999},
		{"1000000000000000000", MTS_KEYTEXT_BAD_NUMBER, 0},
		{"07", MTS_KEYTEXT_BAD_NUMBER, 0},
		{"00", MTS_KEYTEXT_BAD_NUMBER, 0},
		{"-0", MTS_KEYTEXT_BAD_NUMBER, 0},
		{"-07", MTS_KEYTEXT_BAD_NUMBER, 0},
		{"", MTS_KEYTEXT_OTHER, 0},
		{"-", MTS_KEYTEXT_OTHER, 0},
		{"1x", MTS_KEYTEXT_OTHER, 0},
		{"+1", MTS_KEYTEXT_OTHER, 0},
		{" 1", MTS_KEYTEXT_OTHER, 0},
		{"1.5", MTS_KEYTEXT_OTHER, 0},
		{"--1", MTS_KEYTEXT_OTHER, 0},
		{"99999999999999999999x", MTS_KEYTEXT_OTHER, 0},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
	{
		int64_t n = -99;
		MtsKeyText kind =
			mts_element_key_number(keys[i].key, strlen(keys[i].key), &n);

		ok(kind == keys[i].kind &&
			   (kind != MTS_KEYTEXT_NUMBER || n == keys[i].n),
		   "the key \"%s\"", keys[i].key);
	}
}

/*
 * Read untrusted bytes and all nested documents.  Returns false for an endless
 * loop.
 */
static bool
walk(const uint8_t *data, size_t size, int depth)
{
	MtsElementCursor cursor;
	MtsElement element;
	size_t turns = 0;

	if (!mts_element_open(&cursor, data, size))
		return true;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK)
	{
		if (turns++ > size || element.value < data ||
			element.value + element.size >= data + size)
			return false;
		if ((element.type == BSON_TYPE_DOCUMENT ||
			 element.type == BSON_TYPE_ARRAY) &&
			depth < 50 && !walk(element.value, element.size, depth + 1))
			return false;
	}
	return true;
}

static void
walk_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	if (!walk(copy, size, 0))
		tap_fault("%d bytes", (int) size);
	free(copy);
}

static void
test_untrusted(const bson_t *doc)
{
	uint8_t *data = malloc(doc->len);

	for (uint32_t n = 0; n < doc->len; n++)
	{
		memcpy(data, bson_get_data(doc), doc->len);
		walk_copy(data, n);
		for (int i = 0; i < 4 && n >= 5; i++)
			data[i] = (uint8_t) (n >> (8 * i));
		walk_copy(data, n);
		if (n > 0)
			data[n - 1] = 0;
		walk_copy(data, n);
	}
	tap_claim("no read passes the end of a truncated document");
	for (int turn = 0; turn < 50000; turn++)
	{
		memcpy(data, bson_get_data(doc), doc->len);
		for (int n = (int) random_between(1, 4); n > 0; n--)
			data[random_below(doc->len)] =
				random_below(2) ? 0xff : (uint8_t) random_bits();
		walk_copy(data, doc->len);
	}
	tap_claim("no read passes the end of a document with bytes changed");
	free(data);
}

/* Tell whether text is read as a short decimal, with these digits and scale. */
static bool
is_short(const char *text, int64_t *digits, int *scale)
{
	bson_decimal128_t decimal;
	uint64_t parts[2];

	bson_decimal128_from_string(text, &decimal);
	parts[0] = BSON_UINT64_TO_LE(decimal.low);
	parts[1] = BSON_UINT64_TO_LE(decimal.high);
	return mts_element_short_decimal(&(MtsElement){.type =
													   BSON_TYPE_DECIMAL128,
												   .value =
													   (const uint8_t *) parts,
												   .size = sizeof(parts)},
									 digits, scale);
}

static void
test_short_decimals(void)
{
	static const char *const others[] =
		{"NaN", "Infinity", "-Infinity",           "1E+1",
		 "0E1", "1E-17",    "9223372036854775808", "1E-6176"};
	char text[64];
	int64_t digits;
	int scale;

	for (int i = 0; i < 100000; i++)
	{
		int64_t n = (int64_t) (random_bits() >> (1 + random_below(62)));
		int of = (int) random_below(17);

		n = random_below(2) ? -n : n;
		snprintf(text, sizeof(text), "%lldE-%d", (long long) n, of);
		if (!is_short(text, &digits, &scale) || digits != n || scale != of)
			tap_fault("%s is read as %lld / 10^%d", text, (long long) digits,
					  scale);
	}
	tap_claim("decimals are digits and a scale");
	ok(is_short("1.50", &digits, &scale) && digits == 150 && scale == 2,
	   "trailing zeros count");
	ok(is_short("-0.0", &digits, &scale) && digits == 0 && scale == 1,
	   "zero has no sign");
	for (int i = 0; i < 8; i++)
		ok(!is_short(others[i], &digits, &scale), "%s is not short",
		   others[i]);
}

int
main(void)
{
	bson_t doc = BSON_INITIALIZER;

	tap_seed();
	every_type(&doc);
	test_types(&doc);
	test_open();
	test_find();
	test_absent();
	test_numbers();
	test_untrusted(&doc);
	test_short_decimals();
	bson_destroy(&doc);
	return tap_done();
}
