/*
 * jsonb.c
 *		Convert BSON values to jsonb without their text.
 *
 * The result has the bytes that jsonb_in() gives for the value's extended
 * JSON.  A container is a header, an entry for each child, and the children;
 * those of an object are its keys and then its values, ordered by key.  See
 * utils/jsonb.h.  PostgreSQL's pushJsonbValue() and JsonbValueToJsonb() take
 * 1.5 times as long, and leave a kilobyte of memory for each value.
 */
#include "convert/jsonb.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/jsonb.h"

#include "convert/number.h"
#include "core/bson/print.h"

/* ---- Bytes ------------------------------------------------------------ */

static void
append(StringInfo jsonb, const void *bytes, size_t len)
{
	if (jsonb->len + len >= jsonb->maxlen)
		enlargeStringInfo(jsonb, len);
	memcpy(jsonb->data + jsonb->len, bytes, len);
	jsonb->len += len;
}

/* Append bytes at a multiple of four, where numbers and containers begin. */
static void
append_aligned(StringInfo jsonb, const void *bytes, size_t len)
{
	static const char zeros[sizeof(JEntry)] = {0};

	append(jsonb, zeros, INTALIGN(jsonb->len) - jsonb->len);
	append(jsonb, bytes, len);
}

/* Tell whether a text is UTF-8 without a NUL; otherwise jsonb_in() decides. */
static bool
is_text(const char *text, size_t len)
{
	return pg_encoding_verifymbstr(PG_UTF8, text, len) == (int) len;
}

static bool
append_text(StringInfo jsonb, const char *text, size_t len)
{
	append(jsonb, text, len);
	return is_text(text, len);
}

/* ---- Children of containers ------------------------------------------- */

/*
 * Append a value that JSON has as a scalar, and set the type of its entry.
 * False for other values.
 */
static bool
append_scalar(StringInfo jsonb, const MtsElement *element, JEntry *type)
{
	const char *text;
	size_t len;
	Numeric n;

	switch (element->type)
	{
		case BSON_TYPE_NULL:
			*type = JENTRY_ISNULL;
			return true;
		case BSON_TYPE_BOOL:
			*type =
				element->value[0] ? JENTRY_ISBOOL_TRUE : JENTRY_ISBOOL_FALSE;
			return element->value[0] <= 1;
		case BSON_TYPE_DOUBLE:
		case BSON_TYPE_INT32:
		case BSON_TYPE_INT64:
			if (element->type == BSON_TYPE_DOUBLE &&
				!isfinite(mts_element_double(element)))
				return false;
			mts_number_as_numeric(element, &n);
			append_aligned(jsonb, n, VARSIZE(n));
			pfree(n);
			*type = JENTRY_ISNUMERIC;
			return true;
		case BSON_TYPE_UTF8:
			text = mts_element_text(element, &len);
			*type = JENTRY_ISSTRING;
			return append_text(jsonb, text, len);
		default:
			return false;
	}
}

/* Append {name: text}. */
static void
append_pair(StringInfo jsonb, const char *name, const char *text)
{
	uint32 head[] = {JB_FOBJECT | 1,
					 JENTRY_ISSTRING | JENTRY_HAS_OFF | strlen(name),
					 JENTRY_ISSTRING | strlen(text)};

	append_aligned(jsonb, head, sizeof(head));
	append(jsonb, name, strlen(name));
	append(jsonb, text, strlen(text));
}

/*
 * Append a value that extended JSON has as an object with one text: a date of
 * four digits, an ObjectId, a Decimal128, NaN or an infinity.
 */
static bool
append_special(StringInfo jsonb, const MtsElement *element)
{
	char text[BSON_DECIMAL128_STRING];
	bson_oid_t oid;

	switch (element->type)
	{
		case BSON_TYPE_DOUBLE:
			append_pair(jsonb, "$numberDouble",
						mts_number_double_text(mts_element_double(element)));
			return true;
		case BSON_TYPE_DATE_TIME:
			if (!mts_print_date(mts_element_int64(element), text,
								sizeof(text)))
				return false;
			append_pair(jsonb, "$date", text);
			return true;
		case BSON_TYPE_OID:
			memcpy(oid.bytes, element->value, sizeof(oid.bytes));
			bson_oid_to_string(&oid, text);
			append_pair(jsonb, "$oid", text);
			return true;
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, text);
			append_pair(jsonb, "$numberDecimal", text);
			return true;
		default:
			return false;
	}
}

static bool append_container(StringInfo jsonb, const MtsElement *container,
							 int depth);

/* Append a value that is an object or an array in extended JSON. */
static bool
append_nested(StringInfo jsonb, const MtsElement *element, int depth)
{
	return element->type == BSON_TYPE_DOCUMENT ||
				   element->type == BSON_TYPE_ARRAY
			   ? append_container(jsonb, element, depth)
			   : append_special(jsonb, element);
}

static bool
append_value(StringInfo jsonb, const MtsElement *element, int depth,
			 JEntry *type)
{
	if (append_scalar(jsonb, element, type))
		return true;
	*type = JENTRY_ISCONTAINER;
	return append_nested(jsonb, element, depth);
}

/*
 * Append the container of n elements.  The flag of its header tells whether it
 * is an array, or an object, which must have its keys in order.
 */
static bool
append_children(StringInfo jsonb, uint32 flag, const MtsElement *elements,
				uint32 n, int depth)
{
	uint32 header = flag | n;
	uint32 nkeys = flag == JB_FOBJECT ? n : 0;
	size_t entries;
	uint32 total = 0;

	append_aligned(jsonb, &header, sizeof(header));
	entries = jsonb->len;
	enlargeStringInfo(jsonb, (nkeys + n) * sizeof(JEntry));
	jsonb->len += (nkeys + n) * sizeof(JEntry);
	for (uint32 i = 0; i < nkeys + n; i++)
	{
		const MtsElement *element = &elements[i < nkeys ? i : i - nkeys];
		uint32 start = jsonb->len;
		JEntry entry = JENTRY_ISSTRING;

		if (i < nkeys ? !append_text(jsonb, element->key, element->key_len)
					  : !append_value(jsonb, element, depth, &entry))
			return false;
		total += jsonb->len - start;
		if (total > JENTRY_OFFLENMASK)
			return false; /* jsonb_in() raises the error */
		entry |= i % JB_OFFSET_STRIDE == 0 ? JENTRY_HAS_OFF | total
										   : jsonb->len - start;
		memcpy(jsonb->data + entries + i * sizeof(JEntry), &entry,
			   sizeof(JEntry));
	}
	return true;
}

/* ---- Elements --------------------------------------------------------- */

/* Order elements as jsonb does: by the length of the key, then its bytes. */
static int
compare_keys(const void *a, const void *b)
{
	const MtsElement *one = a, *other = b;

	return one->key_len != other->key_len
			   ? (one->key_len < other->key_len ? -1 : 1)
			   : memcmp(one->key, other->key, one->key_len);
}

/* Tell whether the keys of elements are in order, and differ. */
static bool
keys_ascend(const MtsElement *elements, uint32 n)
{
	for (uint32 i = 1; i < n; i++)
		if (compare_keys(&elements[i - 1], &elements[i]) >= 0)
			return false;
	return true;
}

/* Order the elements of a document; false if two have the same key. */
static bool
order_by_key(MtsElement *elements, uint32 n)
{
	if (keys_ascend(elements, n))
		return true;
	qsort(elements, n, sizeof(MtsElement), compare_keys);
	return keys_ascend(elements, n);
}

/* Append a document or an array of at most depth levels. */
static bool
append_container(StringInfo jsonb, const MtsElement *container, int depth)
{
	bool is_array = container->type == BSON_TYPE_ARRAY;
	MtsElement few[8], *elements = few;
	MtsElementCursor start, cursor;
	MtsElement element;
	MtsNext next;
	uint32 n = 0;
	bool ok;

	if (depth == 0 ||
		!mts_element_open(&start, container->value, container->size))
		return false;
	cursor = start;
	while ((next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
	{
		if (is_array && !is_text(element.key, element.key_len))
			return false;
		if (n < lengthof(few))
			few[n] = element;
		n++;
	}
	if (next == MTS_NEXT_CORRUPT)
		return false;
	if (n > lengthof(few))
	{
		elements = palloc(n * sizeof(MtsElement));
		for (uint32 i = 0; i < n; i++)
			(void) mts_element_next(&start, &elements[i]);
	}
	ok = (is_array || order_by_key(elements, n)) &&
		 append_children(jsonb, is_array ? JB_FARRAY : JB_FOBJECT, elements, n,
						 depth - 1);
	if (elements != few)
		pfree(elements);
	return ok;
}

/* Append a scalar as jsonb that is one: an array with a flag. */
static bool
append_bare(StringInfo jsonb, const MtsElement *element)
{
	uint32 head[] = {JB_FARRAY | JB_FSCALAR | 1, 0};
	size_t start = jsonb->len;

	append(jsonb, head, sizeof(head));
	if (!append_scalar(jsonb, element, &head[1]))
	{
		jsonb->len = start;
		return false;
	}
	head[1] |= JENTRY_HAS_OFF | (jsonb->len - start - sizeof(head));
	memcpy(jsonb->data + start, head, sizeof(head));
	return true;
}

/*
 * mts_jsonb_of
 *		Convert a value to jsonb; false if its extended JSON must be read,
 *		which may fail.
 *
 * This is so if the server's encoding is not UTF-8, for a malformed value, one
 * with a text that jsonb does not hold, with the same key twice, or of a rarer
 * type.  The jsonb is palloc'd.
 */
bool
mts_jsonb_of(const MtsElement *element, Datum *value)
{
	StringInfoData jsonb = {.len = VARHDRSZ};

	if (GetDatabaseEncoding() != PG_UTF8 || element->type == BSON_TYPE_EOD ||
		(element->key && !is_text(element->key, element->key_len)))
		return false;
	jsonb.maxlen = element->size * 2 + 64;
	jsonb.data = palloc(jsonb.maxlen);
	if (!append_bare(&jsonb, element) &&
		!append_nested(&jsonb, element, MTS_MAX_DEPTH))
	{
		pfree(jsonb.data);
		return false;
	}
	SET_VARSIZE(jsonb.data, jsonb.len);
	*value = PointerGetDatum(jsonb.data);
	return true;
}
