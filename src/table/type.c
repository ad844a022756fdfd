/*
 * type.c
 *		Classify SQL types, and map them to the BSON types that hold them.
 *
 * A domain is not looked through: it is not a time, number or text, and its
 * BSON type is that of any other type, UTF8.  Callers that mean its base type
 * pass that.
 */
#include "table/type.h"

#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#define BIT(type) (UINT32_C(1) << (type))

bool
mts_type_is_time(Oid typid)
{
	return typid == TIMESTAMPTZOID || typid == TIMESTAMPOID ||
		   typid == DATEOID;
}

bool
mts_type_is_integer(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID;
}

/* mts_type_is_fraction: tell whether values can be fractions or NaN. */
bool
mts_type_is_fraction(Oid typid)
{
	return typid == FLOAT4OID || typid == FLOAT8OID || typid == NUMERICOID;
}

bool
mts_type_is_number(Oid typid)
{
	return mts_type_is_integer(typid) || mts_type_is_fraction(typid);
}

/* mts_type_is_text: tell whether a type holds any text as it is, unpadded. */
bool
mts_type_is_text(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID;
}

/*
 * mts_type_is_array: tell whether an array of BSON stores values as a whole.
 */
bool
mts_type_is_array(Oid typid)
{
	return OidIsValid(get_element_type(typid));
}

/*
 * mts_type_bson
 *		Return the BSON type that stores values of an SQL type by default; EOD
 *		if that depends on the value.
 */
bson_type_t
mts_type_bson(Oid typid)
{
	switch (typid)
	{
		case BOOLOID:
			return BSON_TYPE_BOOL;
		case INT2OID:
		case INT4OID:
			return BSON_TYPE_INT32;
		case INT8OID:
			return BSON_TYPE_INT64;
		case FLOAT4OID:
		case FLOAT8OID:
			return BSON_TYPE_DOUBLE;
		case NUMERICOID:
			return BSON_TYPE_DECIMAL128;
		case BYTEAOID:
		case UUIDOID:
			return BSON_TYPE_BINARY;
		case JSONOID:
		case JSONBOID:
			return BSON_TYPE_EOD;
		case TIMESTAMPTZOID:
		case TIMESTAMPOID:
		case DATEOID:
			return BSON_TYPE_DATE_TIME;
		default:
			return mts_type_is_array(typid) ? BSON_TYPE_ARRAY : BSON_TYPE_UTF8;
	}
}

/*
 * mts_type_bson_named
 *		Return the BSON type that option bson_type names; EOD for NULL.
 */
bson_type_t
mts_type_bson_named(const char *name)
{
	static const struct
	{
		const char *name;
		bson_type_t type;
	} types[] = {
		{"double", BSON_TYPE_DOUBLE}, {"int", BSON_TYPE_INT32},
		{"long", BSON_TYPE_INT64},    {"decimal", BSON_TYPE_DECIMAL128},
		{"string", BSON_TYPE_UTF8},   {"date", BSON_TYPE_DATE_TIME},
		{"bool", BSON_TYPE_BOOL},     {"objectId", BSON_TYPE_OID},
	};

	for (int i = 0; name && i < (int) lengthof(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].type;
	return BSON_TYPE_EOD;
}

/* By MtsKeyType: its name for MongoDB's $type, and a bit for each BSON type */
static const struct
{
	const char *name;
	uint32 types;
} key_types[] = {
	[MTS_KEY_ANY] = {NULL, ~0},
	[MTS_KEY_IS_NUMBER] = {"number", BIT(BSON_TYPE_DOUBLE) |
										 BIT(BSON_TYPE_INT32) |
										 BIT(BSON_TYPE_INT64) |
										 BIT(BSON_TYPE_DECIMAL128)},
	[MTS_KEY_IS_STRING] = {"string", BIT(BSON_TYPE_UTF8)},
	[MTS_KEY_IS_DATE] = {"date", BIT(BSON_TYPE_DATE_TIME)},
	[MTS_KEY_IS_BOOL] = {"bool", BIT(BSON_TYPE_BOOL)},
	[MTS_KEY_IS_OID] = {"objectId", BIT(BSON_TYPE_OID)},
	[MTS_KEY_IS_UUID] = {"binData", BIT(BSON_TYPE_BINARY)},
	[MTS_KEY_IS_TIME] = {NULL, ~0},
	[MTS_KEY_AS_TEXT] = {NULL, ~0},
};

/*
 * mts_type_key_name
 *		Return what $type calls the types of a key; NULL if any will do.
 */
const char *
mts_type_key_name(MtsKeyType type)
{
	return key_types[type].name;
}

/*
 * mts_type_key_bson
 *		Return the BSON type of a key that is sorted; double, the least type of
 *		a number, stands for all of them.
 */
bson_type_t
mts_type_key_bson(MtsKeyType type)
{
	Assert(key_types[type].name);
	return (bson_type_t) pg_rightmost_one_pos32(key_types[type].types);
}

bool
mts_type_key_holds(MtsKeyType type, uint8_t bson_type)
{
	/* MinKey and MaxKey, 255 and 127, have no bit */
	return key_types[type].types == ~UINT32_C(0) ||
		   (bson_type < 32 && (key_types[type].types & BIT(bson_type)));
}

/*
 * mts_type_append_uuids
 *		Append the bounds of all UUIDs to operators that have no bounds.
 *
 * MongoDB sorts binary values by length, then by subtype.  So the values
 * between the bounds are those of subtype 4, which $type cannot tell.
 */
void
mts_type_append_uuids(bson_t *ops)
{
	uint8_t bytes[UUID_LEN] = {0};

	if (!bson_has_field(ops, "$gte") && !bson_has_field(ops, "$gt"))
		bson_append_binary(ops, "$gte", -1, BSON_SUBTYPE_UUID, bytes,
						   UUID_LEN);
	memset(bytes, 0xff, UUID_LEN);
	if (!bson_has_field(ops, "$lte") && !bson_has_field(ops, "$lt"))
		bson_append_binary(ops, "$lte", -1, BSON_SUBTYPE_UUID, bytes,
						   UUID_LEN);
}

/*
 * mts_type_has_extremes
 *		Tell whether MongoDB finds the least and the greatest of the values of
 *		a column, which is stored in this way, as PostgreSQL does.
 *
 * Text is compared byte by byte.
 */
bool
mts_type_has_extremes(Oid typid, MtsKeyType type)
{
	return mts_type_is_number(getBaseType(typid)) ||
		   (mts_type_is_text(typid) && type == MTS_KEY_IS_STRING) ||
		   (mts_type_is_time(typid) && type == MTS_KEY_IS_DATE);
}

/*
 * mts_type_has_identical_equals
 *		Tell whether equal values of a type are identical.
 *
 * Text without a collation cannot be compared.  Values of character(n) can
 * have different lengths, though the operator class says otherwise.
 */
bool
mts_type_has_identical_equals(Oid typid, Oid collation)
{
	TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_BTREE_OPFAMILY);
	Oid function;

	if (!OidIsValid(type->btree_opf) || getBaseType(typid) == BPCHAROID ||
		(type_is_collatable(typid) && !OidIsValid(collation)))
		return false;
	function = get_opfamily_proc(type->btree_opf, type->btree_opintype,
								 type->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(function) &&
		   DatumGetBool(
			   OidFunctionCall1Coll(function, collation,
									ObjectIdGetDatum(type->btree_opintype)));
}
