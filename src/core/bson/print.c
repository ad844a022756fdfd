/*
 * print.c
 *		Write BSON close to the syntax of MongoDB's shell, or as extended JSON.
 *
 * libbson writes extended JSON only, and doubles with twenty digits.  This
 * writes a decimal of at most 17 digits that reads back as the same number.
 */
#include "core/bson/print.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/bson/element.h"

#define UUID_BYTES 16

static void
put(const MtsSink *sink, const char *text)
{
	sink->write(sink->arg, text, strlen(text));
}

static void BSON_GNUC_PRINTF(2, 3)
	putf(const MtsSink *sink, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(sink, text);
}

static void
put_string(const MtsSink *sink, const char *text, size_t len)
{
	char *escaped = bson_utf8_escape_for_json(text, (ssize_t) len);

	put(sink, "\"");
	put(sink, escaped ? escaped : "");
	put(sink, "\"");
	bson_free(escaped);
}

static bool
is_identifier(const char *key)
{
	if (*key == '\0' || (*key >= '0' && *key <= '9'))
		return false;
	for (; *key; key++)
		if (!strchr("$_", *key) && !(*key >= '0' && *key <= '9') &&
			!(*key >= 'a' && *key <= 'z') && !(*key >= 'A' && *key <= 'Z'))
			return false;
	return true;
}

/*
 * mts_print_double
 *		Write a decimal of at most 17 digits that reads back as d.
 *
 * size is at least 32.
 */
void
mts_print_double(double d, char *text, size_t size)
{
	for (int digits = 15; digits <= 17; digits++)
	{
		snprintf(text, size, "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
}

static void
put_double(const MtsSink *sink, double d, MtsPrintStyle style)
{
	char text[32];

	if (isfinite(d))
		mts_print_double(d, text, sizeof(text));
	else
		strcpy(text, isnan(d) ? "NaN" : d > 0 ? "Infinity" : "-Infinity");
	if (style == MTS_PRINT_JSON && !isfinite(d))
		putf(sink, "{\"$numberDouble\": \"%s\"}", text);
	else
		put(sink, text);
}

static void
put_int64(const MtsSink *sink, int64_t n, MtsPrintStyle style)
{
	bool exact = n <= MTS_MAX_EXACT && n >= -MTS_MAX_EXACT;

	putf(sink,
		 style == MTS_PRINT_SHELL && !exact ? "NumberLong(\"%lld\")" : "%lld",
		 (long long) n);
}

/*
 * mts_print_date
 *		Write a date as ISO 8601 in UTC, with milliseconds unless they are 0.
 *
 * size is at least 32.  False for a year before 0 or after 9999.
 */
bool
mts_print_date(int64_t msecs, char *text, size_t size)
{
	time_t seconds = msecs / 1000 - (msecs % 1000 < 0);
	int fraction = (int) ((msecs % 1000 + 1000) % 1000);
	struct tm tm;
	int len;

	if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 ||
		tm.tm_year > 9999 - 1900)
		return false;
	len = snprintf(text, size, "%04d", tm.tm_year + 1900);
	len += strftime(text + len, size - len, "-%m-%dT%H:%M:%S", &tm);
	if (fraction != 0)
		len += snprintf(text + len, size - len, ".%03d", fraction);
	snprintf(text + len, size - len, "Z");
	return true;
}

static void
put_date(const MtsSink *sink, int64_t msecs, MtsPrintStyle style)
{
	char text[32];

	if (mts_print_date(msecs, text, sizeof(text)))
		putf(sink,
			 style == MTS_PRINT_SHELL ? "ISODate(\"%s\")"
									  : "{\"$date\": \"%s\"}",
			 text);
	else
		putf(sink,
			 style == MTS_PRINT_SHELL
				 ? "new Date(%lld)"
				 : "{\"$date\": {\"$numberLong\": \"%lld\"}}",
			 (long long) msecs);
}

/* The value as libbson's extended JSON; to be freed with bson_free. */
static char *
extended_json(const bson_iter_t *iter)
{
	bson_t doc = BSON_INITIALIZER;
	char *json;
	size_t len;

	bson_append_iter(&doc, "v", 1, iter);
	json = bson_as_relaxed_extended_json(&doc, &len);
	bson_destroy(&doc);
	if (!json || len < 10)
		return json;

	/* cut { "v" : value } down to the value */
	memmove(json, json + 8, len - 10);
	json[len - 10] = '\0';
	return json;
}

/* Write UUID("hexadecimal digits"). */
static void
put_uuid(const uint8_t *bytes, const MtsSink *sink)
{
	put(sink, "UUID(\"");
	for (int i = 0; i < UUID_BYTES; i++)
		putf(sink, i >= 4 && i <= 10 && i % 2 == 0 ? "-%02x" : "%02x",
			 bytes[i]);
	put(sink, "\")");
}

/* Write BinData(subtype, "base64"), with the base64 of the extended JSON. */
static void
put_binary(const bson_iter_t *iter, char *json, const MtsSink *sink)
{
	static const char mark[] = "\"base64\" : \"";
	char *text = json ? strstr(json, mark) : NULL;
	char *end = text ? strchr(text + strlen(mark), '"') : NULL;
	bson_subtype_t subtype;
	const uint8_t *bytes;
	uint32_t len;

	if (!end)
		return;
	bson_iter_binary(iter, &subtype, &len, &bytes);
	if (subtype == BSON_SUBTYPE_UUID && len == UUID_BYTES)
	{
		put_uuid(bytes, sink);
		return;
	}
	putf(sink, "BinData(%d, \"", (int) subtype);
	sink->write(sink->arg, text + strlen(mark), end - text - strlen(mark));
	put(sink, "\")");
}

/* Write a value of one of the rarer types. */
static void
put_other(const bson_iter_t *iter, MtsPrintStyle style, const MtsSink *sink)
{
	char *json = extended_json(iter);
	const char *options;
	uint32_t seconds, increment;

	if (style == MTS_PRINT_JSON)
	{
		put(sink, json ? json : "null");
		bson_free(json);
		return;
	}
	switch (bson_iter_type(iter))
	{
		case BSON_TYPE_REGEX:
			put(sink, "/");
			put(sink, bson_iter_regex(iter, &options));
			put(sink, "/");
			put(sink, options);
			break;
		case BSON_TYPE_TIMESTAMP:
			bson_iter_timestamp(iter, &seconds, &increment);
			putf(sink, "Timestamp(%u, %u)", seconds, increment);
			break;
		case BSON_TYPE_BINARY:
			put_binary(iter, json, sink);
			break;
		case BSON_TYPE_MINKEY:
			put(sink, "MinKey()");
			break;
		case BSON_TYPE_MAXKEY:
			put(sink, "MaxKey()");
			break;
		case BSON_TYPE_UNDEFINED:
			put(sink, "undefined");
			break;
		default:
			put(sink, json ? json : "null");
	}
	bson_free(json);
}

static void
put_nested(const bson_iter_t *iter, MtsPrintStyle style, const MtsSink *sink)
{
	const uint8_t *bytes;
	uint32_t len;
	bson_t doc;
	bool is_array = BSON_ITER_HOLDS_ARRAY(iter);

	if (is_array)
		bson_iter_array(iter, &len, &bytes);
	else
		bson_iter_document(iter, &len, &bytes);
	if (bson_init_static(&doc, bytes, len))
		mts_print_document(&doc, is_array, style, sink);
}

/*
 * mts_print_value
 *		Write the value at an iterator.
 */
void
mts_print_value(const bson_iter_t *iter, MtsPrintStyle style,
				const MtsSink *sink)
{
	bool shell = style == MTS_PRINT_SHELL;
	uint32_t len;
	const char *text;
	char buffer[BSON_DECIMAL128_STRING];
	bson_decimal128_t decimal;

	switch (bson_iter_type(iter))
	{
		case BSON_TYPE_DOUBLE:
			put_double(sink, bson_iter_double(iter), style);
			break;
		case BSON_TYPE_INT32:
			putf(sink, "%d", bson_iter_int32(iter));
			break;
		case BSON_TYPE_INT64:
			put_int64(sink, bson_iter_int64(iter), style);
			break;
		case BSON_TYPE_UTF8:
			text = bson_iter_utf8(iter, &len);
			put_string(sink, text, len);
			break;
		case BSON_TYPE_BOOL:
			put(sink, bson_iter_bool(iter) ? "true" : "false");
			break;
		case BSON_TYPE_NULL:
			put(sink, "null");
			break;
		case BSON_TYPE_DATE_TIME:
			put_date(sink, bson_iter_date_time(iter), style);
			break;
		case BSON_TYPE_OID:
			bson_oid_to_string(bson_iter_oid(iter), buffer);
			putf(sink, shell ? "ObjectId(\"%s\")" : "{\"$oid\": \"%s\"}",
				 buffer);
			break;
		case BSON_TYPE_DECIMAL128:
			bson_iter_decimal128(iter, &decimal);
			bson_decimal128_to_string(&decimal, buffer);
			putf(sink,
				 shell ? "NumberDecimal(\"%s\")"
					   : "{\"$numberDecimal\": \"%s\"}",
				 buffer);
			break;
		case BSON_TYPE_DOCUMENT:
		case BSON_TYPE_ARRAY:
			put_nested(iter, style, sink);
			break;
		default:
			put_other(iter, style, sink);
	}
}

/*
 * mts_print_document
 *		Write a document or an array.
 */
void
mts_print_document(const bson_t *doc, bool is_array, MtsPrintStyle style,
				   const MtsSink *sink)
{
	bson_iter_t iter;
	const char *separator = "";

	put(sink, is_array ? "[" : "{");
	if (bson_iter_init(&iter, doc))
		while (bson_iter_next(&iter))
		{
			const char *key = bson_iter_key(&iter);

			put(sink, separator);
			if (!is_array && style == MTS_PRINT_SHELL && is_identifier(key))
				put(sink, key);
			else if (!is_array)
				put_string(sink, key, bson_iter_key_len(&iter));
			if (!is_array)
				put(sink, ": ");
			mts_print_value(&iter, style, sink);
			separator = ", ";
		}
	put(sink, is_array ? "]" : "}");
}
