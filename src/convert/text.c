/*
 * text.c
 *		Show BSON values as text, and find the values that a text shows.
 *
 * Each value has one text, whatever the settings of the session.  The values
 * of a text are found by reading it as each type.  Those with another text
 * are not among them: 7.0 shows only a Decimal128; the text of the double 7.0
 * is 7.
 */
#include "convert/text.h"

#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "convert/number.h"
#include "core/bson/template.h"
#include "core/time/format.h"
#include "driver/document.h"

/* The last year of PostgreSQL's timestamps */
#define LAST_YEAR 294276

/* ---- The text of a value ------------------------------------------------ */

/*
 * mts_text_from_utf8
 *		Return UTF-8 as a string in the server's encoding; NULL if that has no
 *		such text.
 */
char *
mts_text_from_utf8(const char *utf8, size_t len)
{
	int encoding = GetDatabaseEncoding();
	size_t room = len * MAX_CONVERSION_GROWTH + 1;
	Oid conversion;
	char *text;

	if (memchr(utf8, 0, len) ||
		pg_encoding_verifymbstr(PG_UTF8, utf8, len) != (int) len)
		return NULL;
	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
		return pnstrdup(utf8, len);
	conversion = FindDefaultConversionProc(PG_UTF8, encoding);
	if (!OidIsValid(conversion))
		return NULL;
	text = palloc(room);
	if (pg_do_encoding_conversion_buf(conversion, PG_UTF8, encoding,
									  (unsigned char *) utf8, len,
									  (unsigned char *) text, room,
									  true) != (int) len)
		return NULL;
	return text;
}

/* A BSON date as ISO 8601 in UTC; NULL for a year before 1 */
static char *
date_text(int64 msecs)
{
	MtsTime t;

	if (!mts_format_date(msecs, &t) || t < MTS_FIRST_YEAR)
		return NULL;
	return TextDatumGetCString(
		DirectFunctionCall2Coll(timestamp_to_char, C_COLLATION_OID,
								TimestampGetDatum(t),
								CStringGetTextDatum(
									"YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"")));
}

/* The text of 16 bytes of subtype 4; NULL for other binary values */
static char *
uuid_text(const MtsElement *element)
{
	pg_uuid_t uuid;

	if (element->size != 5 + UUID_LEN ||
		element->value[4] != BSON_SUBTYPE_UUID)
		return NULL;
	memcpy(uuid.data, element->value + 5, UUID_LEN);
	return DatumGetCString(
		DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
}

/*
 * mts_text_of
 *		Show any value as text in the server's encoding; NULL if that is
 *		impossible.
 *
 * What is not a scalar, or has no other text, is extended JSON.
 */
char *
mts_text_of(const MtsElement *element)
{
	char buffer[BSON_DECIMAL128_STRING];
	bson_oid_t oid;
	const char *text;
	char *uuid;
	size_t len;
	int64 n;

	switch (element->type)
	{
		case BSON_TYPE_UTF8:
		case BSON_TYPE_SYMBOL: /* MongoDB compares it as a string */
			text = mts_element_text(element, &len);
			return mts_text_from_utf8(text, len);
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			mts_number_as_int64(element, &n);
			return psprintf(INT64_FORMAT, n);
		case BSON_TYPE_DOUBLE:
			return mts_number_double_text(mts_element_double(element));
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, buffer);
			return pstrdup(buffer);
		case BSON_TYPE_BOOL:
			return pstrdup(element->value[0] ? "true" : "false");
		case BSON_TYPE_DATE_TIME:
			return date_text(mts_element_int64(element));
		case BSON_TYPE_OID:
			memcpy(oid.bytes, element->value, sizeof(oid.bytes));
			bson_oid_to_string(&oid, buffer);
			return pstrdup(buffer);
		case BSON_TYPE_BINARY:
			uuid = uuid_text(element);
			return uuid ? uuid : mts_document_value_json(element);
		default:
			return mts_document_value_json(element);
	}
}

/* ---- The values of a text ----------------------------------------------- */

/*
 * Append the numbers that have a text.  MongoDB compares numbers of all types,
 * so that an integer stands for all that are equal to it.  A fraction as a
 * double and the same digits as a Decimal128 are different numbers.
 */
static void
append_numbers(const char *text, bson_t *list, uint32 *n)
{
	bson_value_t value = {.value_type = BSON_TYPE_DOUBLE};
	char buffer[BSON_DECIMAL128_STRING]; /* longer than any integer */
	char *end;
	int64 integer;

	value.value.v_double = strtod(text, &end);
	if (end == text || *end != '\0')
		return;
	integer = strtoll(text, NULL, 10);
	snprintf(buffer, sizeof(buffer), INT64_FORMAT, integer);
	if (strcmp(buffer, text) == 0)
	{
		value.value_type = BSON_TYPE_INT64;
		value.value.v_int64 = integer;
		mts_document_append_item(list, n, &value);
		return;
	}
	if (strcmp(mts_number_double_text(value.value.v_double), text) == 0)
		mts_document_append_item(list, n, &value);
	value.value_type = BSON_TYPE_DECIMAL128;
	if (!bson_decimal128_from_string(text, &value.value.v_decimal128))
		return;
	bson_decimal128_to_string(&value.value.v_decimal128, buffer);
	if (strcmp(buffer, text) == 0)
		mts_document_append_item(list, n, &value);
}

/* Append the date that has a text. */
static void
append_date(const char *text, bson_t *list, uint32 *n)
{
	bson_value_t value = {.value_type = BSON_TYPE_DATE_TIME};
	int year, month, day, hour, minute, second, msecs;
	MtsTime midnight;
	char *shown;

	if (sscanf(text, "%d-%2d-%2dT%2d:%2d:%2d.%3dZ", &year, &month, &day, &hour,
			   &minute, &second, &msecs) != 7 ||
		year > LAST_YEAR || !mts_clock_midnight(year, month, day, &midnight))
		return;
	value.value.v_datetime =
		(midnight - MTS_UNIX_EPOCH) / 1000 +
		((hour * INT64CONST(60) + minute) * 60 + second) * 1000 + msecs;
	shown = date_text(value.value.v_datetime);
	if (shown && strcmp(shown, text) == 0)
		mts_document_append_item(list, n, &value);
}

/*
 * Read the lower-case hexadecimal digits of a text as bytes.  The pattern has
 * a dash where the text must have one, and another character for each digit.
 * False for any other text.
 */
static bool
read_bytes(const char *text, const char *pattern, uint8 *bytes)
{
	static const char digits[] = "0123456789abcdef";
	int ndigits = 0;

	for (; *text && *pattern; text++, pattern++)
	{
		const char *digit = strchr(digits, *text);

		if (*pattern == '-' ? *text != '-' : !digit)
			return false;
		if (*pattern == '-')
			continue;
		bytes[ndigits / 2] = bytes[ndigits / 2] << 4 | (digit - digits);
		ndigits++;
	}
	return *text == *pattern;
}

/* Append the ObjectId or the UUID that has a text. */
static void
append_bytes(const char *text, bson_t *list, uint32 *n)
{
	bson_value_t value = {.value_type = BSON_TYPE_OID};
	uint8 bytes[UUID_LEN] = {0};

	if (read_bytes(text, "xxxxxxxxxxxxxxxxxxxxxxxx", bytes))
		bson_oid_init_from_data(&value.value.v_oid, bytes);
	else if (read_bytes(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", bytes))
	{
		value.value_type = BSON_TYPE_BINARY;
		value.value.v_binary.subtype = BSON_SUBTYPE_UUID;
		value.value.v_binary.data = bytes;
		value.value.v_binary.data_len = UUID_LEN;
	}
	else
		return;
	mts_document_append_item(list, n, &value);
}

/*
 * mts_text_append_values
 *		Append to an array of *n values those that a text in UTF-8 shows: the
 *		string, then numbers, Booleans, dates, ObjectIds and UUIDs.
 *
 * To MongoDB, other values may be equal to these, but have another text, such
 * as the Decimal128 7.0.  Values that are shown as extended JSON are not
 * appended.
 */
void
mts_text_append_values(const char *utf8, bson_t *list, uint32 *n)
{
	bson_value_t value = {.value_type = BSON_TYPE_UTF8};

	value.value.v_utf8.str = (char *) utf8;
	value.value.v_utf8.len = strlen(utf8);
	mts_document_append_item(list, n, &value);
	append_numbers(utf8, list, n);
	append_date(utf8, list, n);
	append_bytes(utf8, list, n);
	value.value_type = BSON_TYPE_BOOL;
	value.value.v_bool = strcmp(utf8, "true") == 0;
	if (value.value.v_bool || strcmp(utf8, "false") == 0)
		mts_document_append_item(list, n, &value);
}
