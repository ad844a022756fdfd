/*
 * jsonb.c
 *		Convert BSON values to jsonb without their text.
 *
 * The result has the bytes that jsonb_in() gives for the value's extended
 * JSON.  A container is a header, an entry for each child, and the children;
 * those of an object are its keys and then its values, ordered by key.  See
 * utils/jsonb.h.  JsonbValueToJsonb() of a tree of values takes twice as long.
 */
#include "convert/jsonb.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"

#include "convert/number.h"
#include "driver/document.h"

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

/*
 * Append a value that extended JSON has as an object, if the object has no
 * text of the document.
 */
static bool
append_special(StringInfo jsonb, const MtsElement *element)
{
	Datum object;
	char *json;

	if (element->type != BSON_TYPE_DOUBLE &&
		element->type != BSON_TYPE_DATE_TIME &&
		element->type != BSON_TYPE_OID &&
		element->type != BSON_TYPE_DECIMAL128 &&
		element->type != BSON_TYPE_BINARY)
		return false;
	json = mts_document_value_json(element);
	if (!json)
		return false;
	object = DirectFunctionCall1(jsonb_in, CStringGetDatum(json));
	append_aligned(jsonb, VARDATA(DatumGetPointer(object)),
				   VARSIZE(DatumGetPointer(object)) - VARHDRSZ);
	return true;
}

static bool append_container(StringInfo jsonb, const MtsElement *container,
							 int depth);

static bool
append_value(StringInfo jsonb, const MtsElement *element, int depth,
			 JEntry *type)
{
	if (append_scalar(jsonb, element, type))
		return true;
	*type = JENTRY_ISCONTAINER;
	return element->type == BSON_TYPE_DOCUMENT ||
				   element->type == BSON_TYPE_ARRAY
			   ? append_container(jsonb, element, depth)
			   : append_special(jsonb, element);
}

/*
 * Append the container of n elements.  The flags of its header tell what it
 * is: an object, which must have its keys in order, an array, or a scalar.
 */
static bool
append_children(StringInfo jsonb, uint32 flags, const MtsElement *elements,
				uint32 n, int depth)
{
	uint32 header = flags | n;
	uint32 nkeys = flags & JB_FOBJECT ? n : 0;
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
			: flags & JB_FSCALAR
				? !append_scalar(jsonb, element, &entry)
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
	int room = element->size * 2 + 64;
	StringInfoData jsonb = {.len = VARHDRSZ, .maxlen = room};

	if (GetDatabaseEncoding() != PG_UTF8 ||
		(element->key && !is_text(element->key, element->key_len)))
		return false;
	jsonb.data = palloc(room);
	if (element->type == BSON_TYPE_DOCUMENT || element->type == BSON_TYPE_ARRAY
			? !append_container(&jsonb, element, MTS_MAX_DEPTH)
			: !append_children(&jsonb, JB_FARRAY | JB_FSCALAR, element, 1, 0))
		return false;
	SET_VARSIZE(jsonb.data, jsonb.len);
	*value = PointerGetDatum(jsonb.data);
	return true;
}
