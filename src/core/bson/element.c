/*
 * element.c
 *		Iterate over the elements of a BSON document, read their values, and
 *		validate whole documents.
 *
 * Every length is checked against the remaining bytes before it is used.  The
 * iteration does not check that text is UTF-8; the conversion of a value does.
 */
#include "core/bson/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The digits in the upper half of a Decimal128, the exponent that stands for
 * 0, and the scale up to which decimals count as short */
#define DECIMAL_DIGITS ((UINT64_C(1) << 49) - 1)
#define DECIMAL_BIAS 6176
#define DECIMAL_MAX_SCALE 16

static int32_t
read_int32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return (int32_t) BSON_UINT32_FROM_LE(n);
}

/*
 * mts_element_open
 *		Place a cursor before the first element of a document or array.
 *
 * False if its length is not size or it does not end with a NUL.
 */
bool
mts_element_open(MtsElementCursor *cursor, const uint8_t *doc, size_t size)
{
	if (size < 5 || read_int32(doc) < 0 || (size_t) read_int32(doc) != size ||
		doc[size - 1] != 0)
		return false;
	cursor->at = doc + 4;
	cursor->end = doc + size - 1;
	return true;
}

/*
 * Return the length at `at` plus `extra`.  -1 if the length is below `least`
 * or the sum exceeds the bytes left.
 */
static int64_t
sized_value(const uint8_t *at, int64_t left, int64_t least, int64_t extra)
{
	int32_t len;

	if (left < 4)
		return -1;
	len = read_int32(at);
	if (len < least || len + extra > left)
		return -1;
	return len + extra;
}

/* The size of n NUL-terminated strings; -1 if a NUL is missing */
static int64_t
cstrings(const uint8_t *at, int64_t left, int n)
{
	const uint8_t *start = at;

	while (n-- > 0)
	{
		const uint8_t *nul = memchr(at, 0, left);

		if (!nul)
			return -1;
		left -= nul + 1 - at;
		at = nul + 1;
	}
	return at - start;
}

/* The sizes of values that all have the same; 0 for other types, and null */
static const uint8_t fixed_sizes[256] =
	{[BSON_TYPE_DOUBLE] = 8, [BSON_TYPE_DATE_TIME] = 8,
	 [BSON_TYPE_INT64] = 8,  [BSON_TYPE_TIMESTAMP] = 8,
	 [BSON_TYPE_INT32] = 4,  [BSON_TYPE_BOOL] = 1,
	 [BSON_TYPE_OID] = 12,   [BSON_TYPE_DECIMAL128] = 16};

/* The size of a value, which may exceed the bytes left; -1 if it is invalid */
static inline int64_t
value_size(uint8_t type, const uint8_t *at, int64_t left)
{
	int64_t size = fixed_sizes[type];

	if (size > 0)
		return size;
	switch (type)
	{
		case BSON_TYPE_NULL:
		case BSON_TYPE_UNDEFINED:
		case BSON_TYPE_MINKEY:
		case BSON_TYPE_MAXKEY:
			return 0;
		case BSON_TYPE_DOCUMENT:
		case BSON_TYPE_ARRAY:
			return sized_value(at, left, 5, 0);
		case BSON_TYPE_CODEWSCOPE:
			return sized_value(at, left, 14, 0);
		case BSON_TYPE_BINARY:
			return sized_value(at, left, 0, 5);
		case BSON_TYPE_REGEX:
			return cstrings(at, left, 2);
		case BSON_TYPE_UTF8:
		case BSON_TYPE_CODE:
		case BSON_TYPE_SYMBOL:
		case BSON_TYPE_DBPOINTER:
			size = sized_value(at, left, 1, 4);
			if (size < 0 || at[size - 1] != 0)
				return -1;
			return type == BSON_TYPE_DBPOINTER ? size + 12 : size;
		default:
			return -1;
	}
}

/* Find the NUL of a key before `end`, eight bytes at a time; or return end. */
static inline const uint8_t *
find_nul(const uint8_t *at, const uint8_t *end)
{
	const uint64_t ones = ~UINT64_C(0) / 255;

	for (; end - at >= 8; at += 8)
	{
		uint64_t bytes, nuls;

		memcpy(&bytes, at, sizeof(bytes));
		bytes = BSON_UINT64_FROM_LE(bytes);
		/* the lowest bit that is set is in the first NUL */
		nuls = (bytes - ones) & ~bytes & (ones << 7);
		if (nuls != 0)
			return at + __builtin_ctzll(nuls) / 8;
	}
	while (at < end && *at)
		at++;
	return at;
}

/*
 * mts_element_next
 *		Move a cursor to the next element and describe it.
 */
MtsNext
mts_element_next(MtsElementCursor *cursor, MtsElement *element)
{
	const uint8_t *at = cursor->at;
	const uint8_t *end = cursor->end;
	int64_t size;

	if (at >= end)
		return at == end ? MTS_NEXT_END : MTS_NEXT_CORRUPT;
	element->type = *at++;
	element->key = (const char *) at;
	at = find_nul(at, end);
	if (at >= end)
		return MTS_NEXT_CORRUPT;
	element->key_len = (uint32_t) ((const char *) at - element->key);
	element->value = ++at;
	size = value_size(element->type, at, end - at);
	if (size < 0 || size > end - at)
		return MTS_NEXT_CORRUPT;
	element->size = (uint32_t) size;
	cursor->at = at + size;
	return MTS_NEXT_OK;
}

/*
 * mts_element_key_number
 *		Parse a key as a number in canonical form.
 *
 * A number in another form ("07") gets its own result: a query for the
 * canonical key would miss it.
 */
MtsKeyText
mts_element_key_number(const char *key, size_t len, int64_t *n)
{
	bool negative = len > 0 && key[0] == '-';
	size_t first = negative;
	int64_t value = 0;

	if (len == first)
		return MTS_KEYTEXT_OTHER;
	for (size_t i = first; i < len; i++)
	{
		if (key[i] < '0' || key[i] > '9')
			return MTS_KEYTEXT_OTHER;
		if (i - first < 18)
			value = value * 10 + (key[i] - '0');
	}
	*n = negative ? -value : value;
	if (len - first > 18 || (key[first] == '0' && len > 1))
		return MTS_KEYTEXT_BAD_NUMBER;
	return MTS_KEYTEXT_NUMBER;
}

/* A whole document as an element without a key */
MtsElement
mts_element_document(const uint8_t *doc, size_t size)
{
	return (MtsElement){.key = "",
						.value = doc,
						.size = (uint32_t) size,
						.type = BSON_TYPE_DOCUMENT};
}

bool
mts_element_is_empty_document(const MtsElement *element)
{
	return element->type == BSON_TYPE_DOCUMENT && element->size == 5;
}

bool
mts_element_is_empty_array(const MtsElement *element)
{
	return element->type == BSON_TYPE_ARRAY && element->size == 5;
}

int32_t
mts_element_int32(const MtsElement *element)
{
	return read_int32(element->value);
}

int64_t
mts_element_int64(const MtsElement *element)
{
	uint64_t n;

	memcpy(&n, element->value, sizeof(n));
	return (int64_t) BSON_UINT64_FROM_LE(n);
}

double
mts_element_double(const MtsElement *element)
{
	int64_t bits = mts_element_int64(element);
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

/*
 * mts_element_integer
 *		Read an integer, or a double that is a whole number with a magnitude
 *		below a limit; false for other values.
 */
bool
mts_element_integer(const MtsElement *element, double limit, int64_t *n)
{
	double d;

	switch (element->type)
	{
		case BSON_TYPE_INT32:
			*n = mts_element_int32(element);
			return true;
		case BSON_TYPE_INT64:
			*n = mts_element_int64(element);
			return true;
		case BSON_TYPE_DOUBLE:
			d = mts_element_double(element);
			if (!(fabs(d) < limit) || d != rint(d))
				return false;
			*n = (int64_t) d;
			return true;
		default:
			return false;
	}
}

/* Read a number as a double; false for a Decimal128 and other values. */
bool
mts_element_number(const MtsElement *element, double *d)
{
	int64_t n;

	if (element->type == BSON_TYPE_DOUBLE)
		*d = mts_element_double(element);
	else if (mts_element_integer(element, 0, &n))
		*d = (double) n;
	else
		return false;
	return true;
}

static bson_decimal128_t
read_decimal(const MtsElement *element)
{
	bson_decimal128_t decimal;
	uint64_t parts[2];

	memcpy(parts, element->value, sizeof(parts));
	decimal.low = BSON_UINT64_FROM_LE(parts[0]);
	decimal.high = BSON_UINT64_FROM_LE(parts[1]);
	return decimal;
}

/* Write a Decimal128 to text, which has BSON_DECIMAL128_STRING bytes. */
void
mts_element_decimal(const MtsElement *element, char *text)
{
	bson_decimal128_t decimal = read_decimal(element);

	bson_decimal128_to_string(&decimal, text);
}

/*
 * mts_element_short_decimal
 *		Read a Decimal128 as digits / 10^scale, with scale >= 0; false for
 *		those with more digits, another scale, or without a value.
 */
bool
mts_element_short_decimal(const MtsElement *element, int64_t *digits,
						  int *scale)
{
	bson_decimal128_t decimal = read_decimal(element);
	uint64_t low = decimal.low, high = decimal.high;

	/* a sign, 14 bits of the exponent, and digits; in the other form, which
	 * infinity and NaN have, too, the exponent begins with two ones */
	if (low > INT64_MAX || (high & DECIMAL_DIGITS) != 0 ||
		(high >> 61 & 3) == 3)
		return false;
	*digits = high >> 63 ? -(int64_t) low : (int64_t) low;
	*scale = DECIMAL_BIAS - (int) (high >> 49 & 0x3FFF);
	return *scale >= 0 && *scale <= DECIMAL_MAX_SCALE;
}

/* Read a number of any type as the nearest double; false for other values. */
bool
mts_element_amount(const MtsElement *element, double *d)
{
	char text[BSON_DECIMAL128_STRING];

	if (element->type != BSON_TYPE_DECIMAL128)
		return mts_element_number(element, d);
	mts_element_decimal(element, text);
	*d = strtod(text, NULL);
	return true;
}

/* The text of a string, code or symbol, and its length without the NUL */
const char *
mts_element_text(const MtsElement *element, size_t *len)
{
	*len = (size_t) read_int32(element->value) - 1;
	return (const char *) element->value + 4;
}

/*
 * mts_element_type_name
 *		The name of a BSON type, as in MongoDB's $type.
 */
const char *
mts_element_type_name(int type)
{
	static const char *const names[] =
		{NULL,        "double",     "string",    "object",
		 "array",     "binData",    "undefined", "objectId",
		 "bool",      "date",       "null",      "regex",
		 "dbPointer", "javascript", "symbol",    "javascriptWithScope",
		 "int",       "timestamp",  "long",      "decimal"};

	if (type == BSON_TYPE_MAXKEY)
		return "maxKey";
	if (type == BSON_TYPE_MINKEY)
		return "minKey";
	if (type > 0 && type < (int) (sizeof(names) / sizeof(names[0])))
		return names[type];
	return "unknown";
}

/* ---- Validation -----------------------------------------------------------
 *
 * libbson's iterator ends silently at a malformed element, and its JSON
 * functions return NULL.  So a document is validated here before libbson reads
 * it.  Unfolding needs no validation: mts_element_next reports malformed
 * elements.
 */

static bool value_is_well_formed(const MtsElement *element, int depth,
								 bool utf8_only);

/* The size of a length in BSON */
#define LENGTH_SIZE 4

/* Code with scope is a length, a string and a document. */
static bool
code_is_well_formed(const MtsElement *element, int depth, bool utf8_only)
{
	MtsElement code = {.key = "",
					   .type = BSON_TYPE_CODE,
					   .value = element->value + LENGTH_SIZE};
	int64_t left = element->size - LENGTH_SIZE;
	int64_t size = value_size(code.type, code.value, left);
	MtsElement scope;

	if (size < 0)
		return false;
	code.size = (uint32_t) size;
	scope = mts_element_document(code.value + size, left - size);
	return value_is_well_formed(&code, depth, utf8_only) &&
		   value_is_well_formed(&scope, depth, utf8_only);
}

/* Tell whether the text of a value is UTF-8. */
static bool
is_utf8(const MtsElement *element)
{
	const char *text = (const char *) element->value;
	size_t len;

	switch (element->type)
	{
		case BSON_TYPE_UTF8:
		case BSON_TYPE_CODE:
		case BSON_TYPE_SYMBOL:
		case BSON_TYPE_DBPOINTER:
			text = mts_element_text(element, &len);
			return bson_utf8_validate(text, len, true);
		case BSON_TYPE_REGEX:
			/* the pattern and the options, each with a NUL */
			len = strlen(text);
			return bson_utf8_validate(text, len, false) &&
				   bson_utf8_validate(text + len + 1, element->size - len - 2,
									  false);
		default:
			return true;
	}
}

/*
 * Binary data is a length, a subtype and bytes.  Those of the oldest subtype
 * begin with another length.
 */
static bool
binary_is_well_formed(const MtsElement *element)
{
	const uint8_t *bytes = element->value + LENGTH_SIZE + 1;
	size_t len = element->size - (LENGTH_SIZE + 1);

	return bytes[-1] != BSON_SUBTYPE_BINARY_DEPRECATED ||
		   (len >= LENGTH_SIZE &&
			(size_t) read_int32(bytes) == len - LENGTH_SIZE);
}

static bool
children_are_well_formed(const MtsElement *element, int depth, bool utf8_only)
{
	MtsElementCursor cursor;
	MtsElement child;
	MtsNext next;

	if (depth == 0 ||
		!mts_element_open(&cursor, element->value, element->size))
		return false;
	while ((next = mts_element_next(&cursor, &child)) == MTS_NEXT_OK)
		if (!value_is_well_formed(&child, depth - 1, utf8_only))
			return false;
	return next == MTS_NEXT_END;
}

static bool
value_is_well_formed(const MtsElement *element, int depth, bool utf8_only)
{
	if (element->type == BSON_TYPE_EOD)
		return false;
	if (utf8_only &&
		((element->key &&
		  !bson_utf8_validate(element->key, element->key_len, false)) ||
		 !is_utf8(element)))
		return false;
	switch (element->type)
	{
		case BSON_TYPE_DOCUMENT:
		case BSON_TYPE_ARRAY:
			return children_are_well_formed(element, depth, utf8_only);
		case BSON_TYPE_CODEWSCOPE:
			return code_is_well_formed(element, depth, utf8_only);
		case BSON_TYPE_BOOL:
			return element->value[0] <= 1;
		case BSON_TYPE_BINARY:
			return binary_is_well_formed(element);
		default:
			return true;
	}
}

/*
 * mts_element_is_well_formed
 *		Tell whether libbson's iterator can read a value, which has at most
 *		depth levels; false for an absent element.
 */
bool
mts_element_is_well_formed(const MtsElement *element, int depth)
{
	return value_is_well_formed(element, depth, false);
}

/*
 * mts_element_is_valid
 *		Tell whether a value is well formed and all its text is UTF-8.
 *
 * Printing and converting a whole document require this.  False for an absent
 * element.
 */
bool
mts_element_is_valid(const MtsElement *element, int depth)
{
	return value_is_well_formed(element, depth, true);
}
