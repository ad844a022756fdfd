/*
 * convert.c
 *		Turn BSON values into Datums: without loss, or not at all.
 *
 * A value that the column's type can't hold is reported to the caller, who
 * knows what on_invalid says; it never becomes NULL or another value.  Datums
 * are palloc'd in the current context.
 */
#include "convert.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "convert_text.h"
#include "document.h"
#include "error.h"
#include "number.h"

static MtsConverter *
prepare(const MtsTable *table, int column, const MtsAttribute *attribute)
{
	MtsAttribute base = *attribute;
	MtsConverter *converter = palloc0(sizeof(MtsConverter));
	Oid input;

	converter->table = table;
	converter->column = &table->layout.columns[column];
	converter->attribute = attribute;
	converter->is_key = converter->column->role == MTS_ROLE_KEY ||
						converter->column->role == MTS_ROLE_ATTRIBUTE;
	getTypeInputInfo(converter->attribute->typid, &input, &converter->ioparam);
	fmgr_info(input, &converter->input);
	fmgr_info(F_TIMESTAMPTZ_IN, &converter->instant_input);
	fmgr_info(F_TIMESTAMP_IN, &converter->local_input);
	base.typid = getBaseTypeAndTypmod(base.typid, &base.typmod);
	if (base.typid != attribute->typid)
	{
		MtsAttribute *copy = palloc(sizeof(MtsAttribute));

		*copy = base;
		converter->base = prepare(table, column, copy);
	}
	return converter;
}

/*
 * mts_convert_prepare
 *		Look up what converting to a column needs.
 */
MtsConverter *
mts_convert_prepare(const MtsTable *table, int column)
{
	return prepare(table, column, &table->attributes[column]);
}

/* Is an SQL type one of binary numbers? */
static bool
is_number_type(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID ||
		   typid == FLOAT4OID || typid == FLOAT8OID;
}

static bool
to_numeric(MtsConverter *converter, const MtsElement *element, Datum *value,
		   MtsError *error)
{
	int32 typmod = converter->attribute->typmod;
	Numeric numeric;
	char *text;

	if (element->type == BSON_TYPE_UTF8)
	{
		text = mts_convert_value_text(element);
		if (!text)
			return mts_convert_refuse_value(converter, element, error);
		if (!mts_convert_input(converter, &converter->input, text, -1, value,
							   error))
			return false;
		numeric = DatumGetNumeric(*value);
	}
	else if (!mts_number_as_numeric(element, &numeric))
		return mts_convert_refuse_value(converter, element, error);
	*value = NumericGetDatum(numeric);
	if (typmod < 0)
		return true;

	/* its precision and scale must not take digits away */
	text = DatumGetCString(DirectFunctionCall1(numeric_out, *value));
	if (!mts_convert_input(converter, &converter->input, text, typmod, value,
						   error))
		return false;
	return mts_number_equal(numeric, DatumGetNumeric(*value)) ||
		   mts_convert_refuse_value(converter, element, error);
}

static bool
to_number(const MtsConverter *converter, const MtsElement *element,
		  Datum *value)
{
	int64 n;
	double d;

	switch (converter->attribute->typid)
	{
		case FLOAT8OID:
			if (!mts_number_as_double(element, converter->is_key, &d))
				return false;
			*value = Float8GetDatum(d);
			return true;
		case FLOAT4OID:
			if (!mts_number_as_double(element, converter->is_key, &d) ||
				(!isnan(d) && (double) (float) d != d))
				return false;
			*value = Float4GetDatum((float) d);
			return true;
		case INT8OID:
			if (!mts_number_as_int64(element, &n))
				return false;
			*value = Int64GetDatum(n);
			return true;
		case INT4OID:
			if (!mts_number_as_int64(element, &n) || n < PG_INT32_MIN ||
				n > PG_INT32_MAX)
				return false;
			*value = Int32GetDatum((int32) n);
			return true;
		default:
			if (!mts_number_as_int64(element, &n) || n < PG_INT16_MIN ||
				n > PG_INT16_MAX)
				return false;
			*value = Int16GetDatum((int16) n);
			return true;
	}
}

static bool
to_text(MtsConverter *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	int32 typmod = converter->attribute->typmod;
	char *text = mts_convert_value_text(element);

	if (!text || (typmod >= (int32) VARHDRSZ &&
				  pg_mbstrlen(text) > typmod - (int32) VARHDRSZ))
		return mts_convert_refuse_value(converter, element, error);
	if (converter->attribute->typid == BPCHAROID)
		return mts_convert_input(converter, &converter->input, text, typmod,
								 value, error);
	*value = CStringGetTextDatum(text);
	return true;
}

static bool
to_bool(MtsConverter *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	int64 n;

	if (element->type == BSON_TYPE_UTF8)
		return mts_convert_by_text(converter, element, value, error);
	if (!mts_number_as_int64(element, &n) || n < 0 || n > 1)
		return mts_convert_refuse_value(converter, element, error);
	*value = BoolGetDatum(n == 1);
	return true;
}

/* The bytes of a binary value; the first four of subtype 2 repeat its size */
static const uint8_t *
binary_bytes(const MtsElement *element, uint32_t *len)
{
	uint32_t skip = 5;

	if (element->value[4] == BSON_SUBTYPE_BINARY_DEPRECATED &&
		element->size >= 9)
		skip += 4;
	*len = element->size - skip;
	return element->value + skip;
}

static bool
to_bytea(const MtsConverter *converter, const MtsElement *element,
		 Datum *value, MtsError *error)
{
	const uint8_t *bytes = element->value;
	uint32_t len = element->size;

	if (element->type == BSON_TYPE_BINARY)
		bytes = binary_bytes(element, &len);
	else if (element->type != BSON_TYPE_OID)
		return mts_convert_refuse_value(converter, element, error);
	*value =
		PointerGetDatum(cstring_to_text_with_len((const char *) bytes, len));
	return true;
}

static bool
to_uuid(MtsConverter *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	pg_uuid_t *uuid;
	const uint8_t *bytes;
	uint32_t len;

	if (element->type == BSON_TYPE_UTF8)
		return mts_convert_by_text(converter, element, value, error);
	if (element->type != BSON_TYPE_BINARY ||
		element->value[4] != BSON_SUBTYPE_UUID ||
		!(bytes = binary_bytes(element, &len)) || len != UUID_LEN)
		return mts_convert_refuse_value(converter, element, error);
	uuid = palloc(sizeof(pg_uuid_t));
	memcpy(uuid->data, bytes, UUID_LEN);
	*value = UUIDPGetDatum(uuid);
	return true;
}

/* Is this the BSON type that a key holds? */
static bool
is_key_type(MtsKeyType key_type, uint8_t type)
{
	switch (key_type)
	{
		case MTS_KEY_IS_NUMBER:
			return type == BSON_TYPE_DOUBLE || type == BSON_TYPE_INT32 ||
				   type == BSON_TYPE_INT64 || type == BSON_TYPE_DECIMAL128;
		case MTS_KEY_IS_STRING:
			return type == BSON_TYPE_UTF8;
		case MTS_KEY_IS_DATE:
			return type == BSON_TYPE_DATE_TIME;
		case MTS_KEY_IS_BOOL:
			return type == BSON_TYPE_BOOL;
		case MTS_KEY_IS_OID:
			return type == BSON_TYPE_OID;
		default:
			return true;
	}
}

static bool
check_key(const MtsConverter *converter, const MtsElement *element,
		  MtsError *error)
{
	MtsKeyType type = converter->attribute->key_type;

	if (!converter->is_key || is_key_type(type, element->type))
		return true;
	snprintf(error->detail, sizeof(error->detail),
			 "The key holds BSON type %s, not %s.",
			 mts_type_name(element->type), mts_key_type_name(type));
	error->hint = converter->attribute->bson_type
					  ? "Option \"bson_type\" says what the keys hold."
					  : "The column's type says what its keys hold.";
	return false;
}

/* A domain takes what its base type holds without loss. */
static bool
to_domain(MtsConverter *converter, const MtsElement *element, Datum *value,
		  bool *isnull, MtsError *error)
{
	return mts_convert_element(converter->base, element, value, isnull,
							   error) &&
		   mts_convert_by_text(converter, element, value, error);
}

/*
 * mts_convert_element
 *		Convert one value.
 *
 * False with the reason in *error when the type can't hold it.
 */
bool
mts_convert_element(MtsConverter *converter, const MtsElement *element,
					Datum *value, bool *isnull, MtsError *error)
{
	Oid typid = converter->attribute->typid;
	char *text;

	/* by far the most values */
	if (element->type == BSON_TYPE_DOUBLE && typid == FLOAT8OID &&
		!converter->is_key)
	{
		*value = Float8GetDatum(mts_element_double(element));
		*isnull = false;
		return true;
	}
	*isnull = element->type == BSON_TYPE_NULL;
	if (*isnull)
	{
		*value = (Datum) 0;
		return true;
	}
	if (!check_key(converter, element, error))
		return false;
	if (converter->base)
		return to_domain(converter, element, value, isnull, error);
	if (is_number_type(typid) && element->type != BSON_TYPE_UTF8)
		return to_number(converter, element, value) ||
			   mts_convert_refuse_value(converter, element, error);
	switch (typid)
	{
		case NUMERICOID:
			return to_numeric(converter, element, value, error);
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return to_text(converter, element, value, error);
		case BOOLOID:
			return to_bool(converter, element, value, error);
		case TIMESTAMPTZOID:
		case TIMESTAMPOID:
		case DATEOID:
			return mts_convert_to_time(converter, element, value, error);
		case BYTEAOID:
			return to_bytea(converter, element, value, error);
		case UUIDOID:
			return to_uuid(converter, element, value, error);
		case JSONOID:
		case JSONBOID:
			text = mts_element_json(element);
			return text ? mts_convert_input(converter, &converter->input, text,
											-1, value, error)
						: mts_convert_refuse_value(converter, element, error);
		default:
			return mts_convert_by_text(converter, element, value, error);
	}
}

/*
 * mts_convert_slot
 *		The text of a slot's key, as its column's type.
 */
bool
mts_convert_slot(MtsConverter *converter, const MtsSlotKey *key, Datum *value,
				 MtsError *error)
{
	int32 typmod = converter->attribute->typmod;
	char *text = mts_convert_server_text(key->text, key->len);

	if (!text)
		return mts_error_refuse(error, "The slot's key is not text.", NULL);
	if (typmod >= (int32) VARHDRSZ &&
		pg_mbstrlen(text) > typmod - (int32) VARHDRSZ)
		return mts_error_refuse(
			error, "The slot's key is too long for its column's type.", NULL);
	*value = CStringGetTextDatum(text);
	return true;
}
