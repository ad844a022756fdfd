/*
 * to_bson.c
 *		Convert Datums to BSON values that convert back to the same Datums.
 *
 * A value that the BSON type cannot hold is an error.  What a BSON value
 * points to is part of the Datum, or lives as long as the current context.
 */
#include "convert/to_bson.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "convert/number.h"
#include "driver/document.h"

/* Make an encoder of values of a type, which the decoder reads. */
static MtsToBson *
prepare(const MtsTable *table, int column, Oid typid, MtsFromBson *decoder)
{
	MtsToBson *encoder = palloc0(sizeof(MtsToBson));
	const MtsAttribute *attribute = &table->attributes[column];
	TypeCacheEntry *type;
	Oid output;
	bool is_varlena;

	encoder->table = table;
	encoder->column = &table->layout.columns[column];
	encoder->typid = getBaseType(typid);
	encoder->type = mts_type_bson(encoder->typid);
	if (attribute->bson_type != BSON_TYPE_EOD && !decoder->items)
		encoder->type = attribute->bson_type;
	getTypeOutputInfo(encoder->typid, &output, &is_varlena);
	fmgr_info(output, &encoder->output);
	type = lookup_type_cache(encoder->typid, TYPECACHE_EQ_OPR_FINFO);
	if (OidIsValid(type->eq_opr_finfo.fn_oid))
		fmgr_info_copy(&encoder->equal, &type->eq_opr_finfo,
					   CurrentMemoryContext);
	encoder->decoder = decoder;
	encoder->is_plain =
		(encoder->typid == FLOAT8OID && encoder->type == BSON_TYPE_DOUBLE) ||
		(encoder->typid == INT4OID && encoder->type == BSON_TYPE_INT32) ||
		(encoder->typid == INT8OID && encoder->type == BSON_TYPE_INT64) ||
		(encoder->typid == TEXTOID && encoder->type == BSON_TYPE_UTF8);
	if (decoder->items)
		encoder->items =
			prepare(table, column, decoder->items->typid, decoder->items);
	return encoder;
}

/*
 * mts_to_bson_prepare
 *		Make the encoder of a column, in the current context.
 */
MtsToBson *
mts_to_bson_prepare(const MtsTable *table, int column)
{
	return prepare(table, column, table->attributes[column].typid,
				   mts_from_bson_prepare(table, column,
										 !mts_table_shows_values(table)));
}

/* ---- One value as a type ---------------------------------------------- */

/* Return the text of a value for a message, clipped. */
static char *
value_text(MtsToBson *encoder, Datum datum)
{
	char *text = OutputFunctionCall(&encoder->output, datum);

	text[pg_mbcliplen(text, strlen(text), 80)] = '\0';
	return text;
}

/* Set a value to a text of the server's encoding. */
static void
set_text(bson_value_t *value, const char *text)
{
	value->value_type = BSON_TYPE_UTF8;
	value->value.v_utf8.str = mts_document_utf8(text);
	value->value.v_utf8.len = strlen(value->value.v_utf8.str);
}

static void
set_setting(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/*
 * mts_to_bson_push_settings
 *		Fix the settings that change the output of types, so that every session
 *		reads the same value.
 *
 * Returns the level for mts_to_bson_pop_settings; an error pops it, too.  As
 * in postgres_fdw, only settings that differ are set.
 */
int
mts_to_bson_push_settings(void)
{
	int level = NewGUCNestLevel();

	if (DateStyle != USE_ISO_DATES)
		set_setting("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_setting("intervalstyle", "postgres");
	/* floats as the shortest text that reads back exactly */
	if (extra_float_digits <= 0)
		set_setting("extra_float_digits", "1");
	return level;
}

void
mts_to_bson_pop_settings(int level)
{
	AtEOXact_GUC(true, level);
}

/* Convert a value of a plain encoder. */
static void
set_plain(const MtsToBson *encoder, Datum datum, bson_value_t *value)
{
	value->value_type = encoder->type;
	switch (encoder->type)
	{
		case BSON_TYPE_DOUBLE:
			value->value.v_double = DatumGetFloat8(datum);
			break;
		case BSON_TYPE_INT32:
			value->value.v_int32 = DatumGetInt32(datum);
			break;
		case BSON_TYPE_INT64:
			value->value.v_int64 = DatumGetInt64(datum);
			break;
		default:
			set_text(value, TextDatumGetCString(datum));
	}
}

/* A number or Boolean as digits without an exponent; NULL for other types */
static char *
number_text(MtsToBson *encoder, Datum datum)
{
	switch (encoder->typid)
	{
		case BOOLOID:
			return DatumGetBool(datum) ? "1" : "0";
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			return OutputFunctionCall(&encoder->output, datum);
		case FLOAT4OID:
			datum = Float8GetDatum(DatumGetFloat4(datum));
			__attribute__((fallthrough));
		case FLOAT8OID:
			return DatumGetCString(
				DirectFunctionCall1(numeric_out,
									NumericGetDatum(mts_number_from_text(
										mts_number_double_text(
											DatumGetFloat8(datum))))));
		default:
			return NULL;
	}
}

/*
 * Convert a number to a type of BSON number or Boolean.  False if that is
 * impossible; the caller checks for loss, such as that of a fraction.
 */
static bool
set_number(MtsToBson *encoder, Datum datum, bson_value_t *value)
{
	char *text = number_text(encoder, datum);
	double d;

	if (!text)
		return false;
	value->value_type = encoder->type;
	d = strtod(text, NULL);
	switch (encoder->type)
	{
		case BSON_TYPE_DECIMAL128:
			return bson_decimal128_from_string(text,
											   &value->value.v_decimal128);
		case BSON_TYPE_DOUBLE:
			value->value.v_double = d;
			return true;
		case BSON_TYPE_INT64:
			/* a double would round it */
			errno = 0;
			value->value.v_int64 = strtoll(text, NULL, 10);
			return errno == 0;
		case BSON_TYPE_INT32:
			if (!(d >= PG_INT32_MIN && d <= PG_INT32_MAX))
				return false;
			value->value.v_int32 = (int32) d;
			return true;
		case BSON_TYPE_BOOL:
			value->value.v_bool = d != 0;
			return true;
		default:
			return false;
	}
}

static bool
set_oid(MtsToBson *encoder, Datum datum, bson_value_t *value)
{
	char *text;

	if (encoder->typid == BYTEAOID)
	{
		bytea *bytes = DatumGetByteaPP(datum);

		if (VARSIZE_ANY_EXHDR(bytes) != 12)
			return false;
		memcpy(value->value.v_oid.bytes, VARDATA_ANY(bytes), 12);
	}
	else
	{
		text = OutputFunctionCall(&encoder->output, datum);
		if (!bson_oid_is_valid(text, strlen(text)) || strlen(text) != 24)
			return false;
		bson_oid_init_from_string(&value->value.v_oid, text);
	}
	value->value_type = BSON_TYPE_OID;
	return true;
}

/* The bytes are copied: a batch outlives the row that the datum is in. */
static void
set_binary(const MtsToBson *encoder, Datum datum, bson_value_t *value)
{
	bool is_uuid = encoder->typid == UUIDOID;
	bytea *bytes = is_uuid ? NULL : DatumGetByteaPP(datum);
	const void *data =
		is_uuid ? (void *) DatumGetUUIDP(datum)->data : VARDATA_ANY(bytes);
	uint32 len = is_uuid ? UUID_LEN : VARSIZE_ANY_EXHDR(bytes);

	value->value_type = BSON_TYPE_BINARY;
	value->value.v_binary.subtype =
		is_uuid ? BSON_SUBTYPE_UUID : BSON_SUBTYPE_BINARY;
	value->value.v_binary.data = memcpy(palloc(len), data, len);
	value->value.v_binary.data_len = len;
}

/* The value of a document's only field, which lives as long as the document */
static bool
find_value(const bson_t *doc, bson_value_t *value)
{
	bson_iter_t iter;

	if (!bson_iter_init(&iter, doc) || !bson_iter_next(&iter))
		return false;
	*value = *bson_iter_value(&iter);
	return true;
}

/* Convert extended JSON; a document holds it, because it may be a scalar. */
static bool
set_json(MtsToBson *encoder, Datum datum, bson_value_t *value, MtsError *error)
{
	char *json =
		psprintf("{\"v\": %s}", OutputFunctionCall(&encoder->output, datum));
	char *problem;
	bson_t *doc;

	CHECK_FOR_INTERRUPTS();
	doc = mts_document_from_json(json, strlen(json), &problem);
	if (!doc)
		return mts_error_set(error, NULL,
							 "The value %s is not extended JSON: %s",
							 value_text(encoder, datum), problem);
	return find_value(doc, value);
}

/*
 * Convert a date or timestamp to microseconds; false if it is infinite, or a
 * date beyond the range of timestamps.
 */
static bool
get_time(Oid typid, Datum datum, MtsTime *t)
{
	if (typid != DATEOID)
	{
		*t = DatumGetTimestamp(datum);
		return !TIMESTAMP_NOT_FINITE(*t);
	}
	return !DATE_NOT_FINITE(DatumGetDateADT(datum)) &&
		   !__builtin_mul_overflow(DatumGetDateADT(datum), USECS_PER_DAY, t) &&
		   IS_VALID_TIMESTAMP(*t);
}

/*
 * mts_to_bson_instant
 *		Convert a time to an instant.
 *
 * An error if it is infinite, a date beyond the range of timestamps, or a
 * local time that clocks skip.
 */
MtsTime
mts_to_bson_instant(const MtsTable *table, const char *column, Oid typid,
					Datum datum)
{
	const MtsClock *clock = &table->layout.clock;
	MtsTime t, instant;

	if (!get_time(typid, datum, &t))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("the time in column \"%s\" is out of range", column),
			 errdetail(
				 "The time must be finite and in the range of type timestamp.")));
	if (typid == TIMESTAMPTZOID || !clock->to_instant)
		return t;
	instant = clock->to_instant(clock->arg, t);
	if (clock->to_local(clock->arg, instant) != t)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("the time in column \"%s\" does not exist in the "
					"foreign table's time zone",
					column),
			 errdetail("The local time falls into a daylight-saving gap."),
			 errhint(
				 "Give another local time, or declare the column as timestamptz.")));
	return instant;
}

/* Convert a time to the column's format. */
static bool
set_time(MtsToBson *encoder, Datum datum, bson_value_t *value, MtsError *error)
{
	const MtsLayout *layout = &encoder->table->layout;
	MtsTime t = mts_to_bson_instant(encoder->table, encoder->column->name,
									encoder->typid, datum);
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsTime stored;

	if (!mts_format_encode(&encoder->column->format, &layout->clock, t, 0,
						   value, text, &stored, error))
		return false;
	if (stored == t)
		return true;
	*error = (MtsError){
		.detail = "The time is more precise than its format can store.",
		.hint =
			encoder->column->format.kind == MTS_FORMAT_DATE
				? "MongoDB's dates store milliseconds. Use date_trunc('milliseconds', ...), or set option \"format\" to a format that stores microseconds."
				: "Round the time, or set option \"format\" to a more precise format."};
	return false;
}

/* Append one dimension of an array's elements; *next is the first one's. */
static void
append_dimension(MtsToBson *items, const ArrayType *array, int dim,
				 const Datum *values, const bool *nulls, int *next,
				 bson_t *parent)
{
	bool is_last = dim == ARR_NDIM(array) - 1;

	for (int i = 0; i < ARR_DIMS(array)[dim]; i++)
	{
		char buffer[16];
		const char *key;
		size_t len = bson_uint32_to_string(i, &key, buffer, sizeof(buffer));
		bson_value_t value;
		bson_t inner;

		if (is_last)
		{
			mts_to_bson_value(items, values[*next], nulls[*next], &value);
			bson_append_value(parent, key, len, &value);
			(*next)++;
			continue;
		}
		bson_append_array_begin(parent, key, len, &inner);
		append_dimension(items, array, dim + 1, values, nulls, next, &inner);
		bson_append_array_end(parent, &inner);
	}
}

/* Convert an array; a dimension is an array of arrays. */
static bool
set_array(MtsToBson *encoder, Datum datum, bson_value_t *value,
		  MtsError *error)
{
	const MtsFromBson *decoder = encoder->decoder;
	ArrayType *array = DatumGetArrayTypeP(datum);
	bson_t *doc = mts_document_new();
	Datum *values;
	bool *nulls;
	int n, next = 0;

	for (int i = 0; i < ARR_NDIM(array); i++)
		if (ARR_LBOUND(array)[i] != 1)
			return mts_error_set(error, NULL,
								 "The array has a lower bound other than 1.");
	deconstruct_array(array, decoder->items->typid, decoder->item_length,
					  decoder->item_byval, decoder->item_align, &values,
					  &nulls, &n);
	if (n > 0)
		append_dimension(encoder->items, array, 0, values, nulls, &next, doc);
	value->value_type = BSON_TYPE_ARRAY;
	value->value.v_doc.data = (uint8_t *) bson_get_data(doc);
	value->value.v_doc.data_len = doc->len;
	return true;
}

/*
 * Convert a value to the column's BSON type.
 *
 * False if that is impossible; *error may tell why.  The caller checks that
 * nothing was lost.
 */
static bool
encode(MtsToBson *encoder, Datum datum, bson_value_t *value, MtsError *error)
{
	switch (encoder->type)
	{
		case BSON_TYPE_DATE_TIME:
			return mts_type_is_time(encoder->typid) &&
				   set_time(encoder, datum, value, error);
		case BSON_TYPE_UTF8:
			set_text(value, OutputFunctionCall(&encoder->output, datum));
			return true;
		case BSON_TYPE_BINARY:
			set_binary(encoder, datum, value);
			return true;
		case BSON_TYPE_EOD:
			return set_json(encoder, datum, value, error);
		case BSON_TYPE_OID:
			return set_oid(encoder, datum, value);
		case BSON_TYPE_ARRAY:
			return set_array(encoder, datum, value, error);
		default:
			return set_number(encoder, datum, value);
	}
}

/* ---- Exactly ---------------------------------------------------------- */

/* Return a detail: the column's BSON type cannot hold a value. */
static char *
describe_loss(MtsToBson *encoder, Datum datum)
{
	return psprintf("The value %s cannot be written as %s without loss.",
					value_text(encoder, datum),
					encoder->type == BSON_TYPE_EOD
						? "BSON"
						: mts_element_type_name(encoder->type));
}

/*
 * Raise an error: a value cannot be stored.  Without a reason in *error,
 * another BSON type may hold it, unless the column is extended JSON.
 */
static _Noreturn void
refuse(MtsToBson *encoder, Datum datum, const MtsError *error)
{
	const char *detail = error->detail;
	const char *hint = error->hint;
	int sqlstate = TypeCategory(encoder->typid) == TYPCATEGORY_NUMERIC
					   ? ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
				   : mts_type_is_time(encoder->typid)
					   ? ERRCODE_DATETIME_FIELD_OVERFLOW
					   : ERRCODE_FDW_INVALID_DATA_TYPE;

	if (!detail[0])
	{
		detail = describe_loss(encoder, datum);
		if (encoder->type != BSON_TYPE_EOD && !encoder->items)
			hint =
				"Set option \"bson_type\" of the column to a type that can hold the value.";
	}
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("cannot store the value of column \"%s\" in MongoDB "
					"collection \"%s.%s\"",
					encoder->column->name, encoder->table->database,
					encoder->table->collection),
			 errdetail("%s", detail), hint ? errhint("%s", hint) : 0));
}

/* Tell whether a BSON value converts back to the Datum. */
static bool
reads_back(MtsToBson *encoder, Datum datum, const bson_value_t *value)
{
	bson_t *doc = mts_document_new();
	MtsElementCursor cursor;
	MtsElement element;
	MtsError error;
	Datum read;
	bool isnull;
	bool ok;

	bson_append_value(doc, "v", 1, value);
	CHECK_FOR_INTERRUPTS();
	ok = mts_element_open(&cursor, bson_get_data(doc), doc->len) &&
		 mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
		 mts_from_bson_element(encoder->decoder, &element, &read, &isnull,
							   &error) &&
		 !isnull;
	CHECK_FOR_INTERRUPTS();
	if (ok && encoder->typid == JSONOID)
		ok = DatumGetBool(DirectFunctionCall2(
			jsonb_eq,
			DirectFunctionCall1(jsonb_in, CStringGetDatum(OutputFunctionCall(
											  &encoder->output, datum))),
			DirectFunctionCall1(jsonb_in, CStringGetDatum(OutputFunctionCall(
											  &encoder->output, read)))));
	else if (ok && OidIsValid(encoder->equal.fn_oid))
		ok = DatumGetBool(
			FunctionCall2Coll(&encoder->equal, C_COLLATION_OID, datum, read));
	return ok;
}

/*
 * mts_to_bson_value
 *		Convert one value; an error if it would not convert back to the same.
 *
 * A large value takes a while, so interrupts are raised between the steps.
 * Settings that change the output of types must have been pushed, unless the
 * encoder is plain.
 */
void
mts_to_bson_value(MtsToBson *encoder, Datum datum, bool isnull,
				  bson_value_t *value)
{
	MtsError error = {.detail = "", .hint = NULL};

	if (isnull)
	{
		value->value_type = BSON_TYPE_NULL;
		return;
	}
	if (encoder->is_plain)
		set_plain(encoder, datum, value);
	else if (!encode(encoder, datum, value, &error) ||
			 !reads_back(encoder, datum, value))
		refuse(encoder, datum, &error);
}
