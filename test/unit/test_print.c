/*
 * test_print.c
 *		Proves that every type is printed in the shell's syntax and as JSON.
 */
#include <math.h>

#include "shell.h"

/* Compare both syntaxes of a document, and destroy it. */
static void
is_printed(bson_t *doc, const char *shell, const char *json, const char *name)
{
	char label[64];

	snprintf(label, sizeof(label), "%s, shell", name);
	is_text(shell_print_quoted(doc, MTS_PRINT_SHELL), shell, label);
	snprintf(label, sizeof(label), "%s, JSON", name);
	is_text(shell_print_quoted(doc, MTS_PRINT_JSON), json, label);
	bson_reinit(doc);
}

static void
test_numbers(bson_t *doc)
{
	bson_append_int32(doc, "n", -1, INT32_MIN);
	is_printed(doc, "{n: -2147483648}", "{\"n\": -2147483648}", "int");
	bson_append_int64(doc, "n", -1, INT64_C(9007199254740992));
	is_printed(doc, "{n: 9007199254740992}", "{\"n\": 9007199254740992}",
			   "a long that a double holds");
	bson_append_int64(doc, "n", -1, INT64_MIN);
	is_printed(doc, "{n: NumberLong(\"-9223372036854775808\")}",
			   "{\"n\": -9223372036854775808}", "long");
	bson_append_double(doc, "n", -1, 0.1);
	is_printed(doc, "{n: 0.1}", "{\"n\": 0.1}", "double");
	bson_append_double(doc, "n", -1, NAN);
	is_printed(doc, "{n: NaN}", "{\"n\": {\"$numberDouble\": \"NaN\"}}",
			   "NaN");
	bson_append_double(doc, "n", -1, -INFINITY);
	is_printed(doc, "{n: -Infinity}",
			   "{\"n\": {\"$numberDouble\": \"-Infinity\"}}", "infinity");
}

static void
test_dates(bson_t *doc)
{
	static const struct
	{
		int64_t msecs;
		const char *text;
	} dates[] = {
		{0, "1970-01-01T00:00:00Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
		{INT64_C(1381446360050), "2013-10-10T23:06:00.050Z"},
		{INT64_C(-62167219200000), "0000-01-01T00:00:00Z"},
		{INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
	};
	static const int64_t far[] = {INT64_C(253402300800000),
								  INT64_C(-62167219200001), INT64_MAX,
								  INT64_MIN};
	char shell[128];
	char json[128];

	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++)
	{
		bson_append_date_time(doc, "d", -1, dates[i].msecs);
		snprintf(shell, sizeof(shell), "{d: ISODate(\"%s\")}", dates[i].text);
		snprintf(json, sizeof(json), "{\"d\": {\"$date\": \"%s\"}}",
				 dates[i].text);
		is_printed(doc, shell, json, dates[i].text);
	}
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
	{
		bson_append_date_time(doc, "d", -1, far[i]);
		snprintf(shell, sizeof(shell), "{d: new Date(%lld)}",
				 (long long) far[i]);
		snprintf(json, sizeof(json),
				 "{\"d\": {\"$date\": {\"$numberLong\": \"%lld\"}}}",
				 (long long) far[i]);
		is_printed(doc, shell, json, "a date beyond the years of four digits");
	}
}

static void
test_text(bson_t *doc)
{
	bson_append_utf8(doc, "s", -1, "a\"b\\c\n\t\001\303\274", -1);
	is_printed(doc, "{s: \"a\\\"b\\\\c\\n\\t\\u0001\303\274\"}",
			   "{\"s\": \"a\\\"b\\\\c\\n\\t\\u0001\303\274\"}", "text");
	bson_append_utf8(doc, "", 0, "", 0);
	is_printed(doc, "{\"\": \"\"}", "{\"\": \"\"}", "empty text");
	bson_append_int32(doc, "$gte", -1, 1);
	bson_append_int32(doc, "a.b", -1, 2);
	bson_append_int32(doc, "7a", -1, 3);
	bson_append_int32(doc, "_a7", -1, 4);
	bson_append_int32(doc, "a\"", -1, 5);
	is_printed(
		doc, "{$gte: 1, \"a.b\": 2, \"7a\": 3, _a7: 4, \"a\\\"\": 5}",
		"{\"$gte\": 1, \"a.b\": 2, \"7a\": 3, \"_a7\": 4, \"a\\\"\": 5}",
		"keys");
}

static void
test_others(bson_t *doc)
{
	bson_oid_t oid;
	bson_decimal128_t decimal;

	bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
	bson_decimal128_from_string("-1.50E+7", &decimal);
	bson_append_oid(doc, "v", -1, &oid);
	is_printed(doc, "{v: ObjectId(\"0123456789abcdef01234567\")}",
			   "{\"v\": {\"$oid\": \"0123456789abcdef01234567\"}}",
			   "objectId");
	bson_append_decimal128(doc, "v", -1, &decimal);
	is_printed(doc, "{v: NumberDecimal(\"-1.50E+7\")}",
			   "{\"v\": {\"$numberDecimal\": \"-1.50E+7\"}}", "decimal");
	bson_append_bool(doc, "v", -1, true);
	bson_append_bool(doc, "w", -1, false);
	bson_append_null(doc, "x", -1);
	is_printed(doc, "{v: true, w: false, x: null}",
			   "{\"v\": true, \"w\": false, \"x\": null}", "bool and null");
	bson_append_regex(doc, "v", -1, "^a", "i");
	is_printed(
		doc, "{v: /^a/i}",
		"{\"v\": { \"$regularExpression\" : { \"pattern\" : \"^a\", \"options\" : \"i\" } }}",
		"regex");
	bson_append_timestamp(doc, "v", -1, 7, 2);
	is_printed(doc, "{v: Timestamp(7, 2)}",
			   "{\"v\": { \"$timestamp\" : { \"t\" : 7, \"i\" : 2 } }}",
			   "timestamp");
	bson_append_minkey(doc, "v", -1);
	bson_append_maxkey(doc, "w", -1);
	is_printed(doc, "{v: MinKey(), w: MaxKey()}",
			   "{\"v\": { \"$minKey\" : 1 }, \"w\": { \"$maxKey\" : 1 }}",
			   "minKey and maxKey");
	bson_append_binary(doc, "v", -1, BSON_SUBTYPE_BINARY,
					   (const uint8_t *) "abc", 3);
	is_printed(
		doc, "{v: BinData(0, \"YWJj\")}",
		"{\"v\": { \"$binary\" : { \"base64\" : \"YWJj\", \"subType\" : \"00\" } }}",
		"binData");
	bson_append_binary(doc, "v", -1, BSON_SUBTYPE_UUID,
					   (const uint8_t *) "0123456789abcdef", 16);
	bson_append_binary(doc, "w", -1, BSON_SUBTYPE_UUID,
					   (const uint8_t *) "abc", 3);
	is_printed(
		doc,
		"{v: UUID(\"30313233-3435-3637-3839-616263646566\"), w: BinData(4, \"YWJj\")}",
		"{\"v\": { \"$binary\" : { \"base64\" : \"MDEyMzQ1Njc4OWFiY2RlZg==\", \"subType\" : \"04\" } }, \"w\": { \"$binary\" : { \"base64\" : \"YWJj\", \"subType\" : \"04\" } }}",
		"UUID");
	bson_append_undefined(doc, "v", -1);
	is_printed(doc, "{v: undefined}", "{\"v\": { \"$undefined\" : true }}",
			   "undefined");
}

static void
test_nested(bson_t *doc)
{
	bson_t array, child;

	is_printed(doc, "{}", "{}", "an empty document");
	bson_append_array_begin(doc, "a", -1, &array);
	bson_append_int32(&array, "0", -1, 1);
	bson_append_document_begin(&array, "1", -1, &child);
	bson_append_int32(&child, "b", -1, 2);
	bson_append_document_end(&array, &child);
	bson_append_array_end(doc, &array);
	bson_append_array_begin(doc, "c", -1, &array);
	bson_append_array_end(doc, &array);
	is_printed(doc, "{a: [1, {b: 2}], c: []}",
			   "{\"a\": [1, {\"b\": 2}], \"c\": []}", "arrays and documents");
}

/* The digits read back as the same number, and one digit fewer would not. */
static void
test_digits(void)
{
	for (int turn = 0; turn < 50000; turn++)
	{
		uint64_t bits = random_bits();
		double d;
		char text[32];
		char shorter[32];
		size_t digits = 0;

		memcpy(&d, &bits, sizeof(d));
		if (!isfinite(d))
			continue;
		if (turn % 2)
			d = (double) random_between(-100000, 100000) / 1000;
		mts_print_double(d, text, sizeof(text));
		for (const char *at = text; *at && *at != 'e'; at++)
			digits += *at >= '0' && *at <= '9';
		snprintf(shorter, sizeof(shorter), "%.15g", d);
		if (strtod(text, NULL) != d ||
			(strtod(shorter, NULL) == d && digits > 15 && fabs(d) >= 1))
			tap_fault("%.17g is written %s", d, text);
	}
	tap_claim("a double is written with the fewest digits that identify it");
}

/* libbson reads the printed JSON as the original document. */
static void
test_round_trip(void)
{
	for (int turn = 0; turn < 2000; turn++)
	{
		bson_t doc = BSON_INITIALIZER;
		bson_t *again;
		char text[12] = "";

		for (int i = 0; i < 8; i++)
			text[i] = (char) random_between(1, 128);
		bson_append_utf8(&doc, text, -1, text + 2, -1);
		bson_append_date_time(&doc, "d", -1,
							  random_between(0, INT64_C(253402300800000)));
		bson_append_double(&doc, "f", -1,
						   (double) random_between(1, 1000000) / 1024 + 0.1);
		again =
			bson_new_from_json((const uint8_t *)
								   shell_print_quoted(&doc, MTS_PRINT_JSON),
							   -1, NULL);
		if (!again || !bson_equal(&doc, again))
			tap_fault("%s", shell_print_quoted(&doc, MTS_PRINT_JSON));
		if (again)
			bson_destroy(again);
		bson_destroy(&doc);
	}
	tap_claim("libbson reads the JSON back");
}

int
main(void)
{
	bson_t doc = BSON_INITIALIZER;

	tap_seed();
	test_numbers(&doc);
	test_dates(&doc);
	test_text(&doc);
	test_others(&doc);
	test_nested(&doc);
	test_digits();
	test_round_trip();
	bson_destroy(&doc);
	return tap_done();
}
