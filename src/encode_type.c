/*
 * encode_type.c
 *		Write a value as the BSON type that is asked for, if it has that form.
 */
#include "encode.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/numeric.h"
#include "utils/uuid.h"

#include "document.h"
#include "number.h"

/* A text in the server's encoding as UTF-8, palloc'd */
void
mts_encode_text(bson_value_t *value, const char *text)
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
 * mts_encode_begin
 *		Have values written in a form that reads the same in every session,
 *		whatever its settings; for mts_encode_end.
 *
 * As in postgres_fdw, only what differs is set; an error restores it, too.
 */
int
mts_encode_begin(void)
{
	int level = NewGUCNestLevel();

	if (DateStyle != USE_ISO_DATES)
		set_setting("datestyle", "ISO");
	if (IntervalStyle != INTSTYLE_POSTGRES)
		set_setting("intervalstyle", "postgres");
	/* the shortest text that is exact, whatever the number is */
	if (extra_float_digits <= 0)
		set_setting("extra_float_digits", "1");
	return level;
}

void
mts_encode_end(int level)
{
	AtEOXact_GUC(true, level);
}

/* A number as a numeric; false when the type is none of numbers */
static bool
as_numeric(const MtsEncoder *encoder, Datum datum, Numeric *n)
{
	PGFunction function;

	switch (encoder->typid)
	{
		case BOOLOID:
			*n = int64_to_numeric(DatumGetBool(datum));
			return true;
		case INT2OID:
			function = int2_numeric;
			break;
		case INT4OID:
			function = int4_numeric;
			break;
		case INT8OID:
			function = int8_numeric;
			break;
		case FLOAT4OID:
			datum = Float8GetDatum(DatumGetFloat4(datum));
			/* fall through */
		case FLOAT8OID:
			*n = DatumGetNumeric(
				DirectFunctionCall3(numeric_in,
									CStringGetDatum(mts_number_double_text(
										DatumGetFloat8(datum))),
									ObjectIdGetDatum(InvalidOid),
									Int32GetDatum(-1)));
			return true;
		case NUMERICOID:
			*n = DatumGetNumeric(datum);
			return true;
		default:
			return false;
	}
	*n = DatumGetNumeric(DirectFunctionCall1(function, datum));
	return true;
}

/* Write a number as another type than its own; the caller looks at the loss */
static bool
set_number(MtsEncoder *encoder, Datum datum, bson_value_t *value)
{
	Numeric n;
	char *text;
	double d;

	if (!as_numeric(encoder, datum, &n))
		return false;
	text =
		DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(n)));
	value->value_type = encoder->type;
	if (encoder->type == BSON_TYPE_DECIMAL128)
		return bson_decimal128_from_string(text, &value->value.v_decimal128);
	d = strtod(text, NULL);
	if (encoder->type == BSON_TYPE_DOUBLE)
	{
		value->value.v_double = d;
		return true;
	}
	if (!(d >= -9.3e18 && d <= 9.3e18))
		return false;
	if (encoder->type == BSON_TYPE_INT64)
	{
		char *end;

		errno = 0;
		value->value.v_int64 = strtoll(text, &end, 10);
		return errno == 0;
	}
	if (!(d >= PG_INT32_MIN && d <= PG_INT32_MAX))
		return false;
	if (encoder->type == BSON_TYPE_INT32)
		value->value.v_int32 = (int32) d;
	else
		value->value.v_bool = d != 0;
	return true;
}

static bool
set_oid(MtsEncoder *encoder, Datum datum, bson_value_t *value)
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

static void
set_binary(const MtsEncoder *encoder, Datum datum, bson_value_t *value)
{
	value->value_type = BSON_TYPE_BINARY;
	if (encoder->typid == UUIDOID)
	{
		value->value.v_binary.subtype = BSON_SUBTYPE_UUID;
		value->value.v_binary.data = DatumGetUUIDP(datum)->data;
		value->value.v_binary.data_len = UUID_LEN;
		return;
	}
	value->value.v_binary.subtype = BSON_SUBTYPE_BINARY;
	value->value.v_binary.data =
		(uint8_t *) VARDATA_ANY(DatumGetByteaPP(datum));
	value->value.v_binary.data_len = VARSIZE_ANY_EXHDR(DatumGetByteaPP(datum));
}

/* The value of a document's only field, which lives as long as the document */
static bool
take_value(const bson_t *doc, bson_value_t *value)
{
	bson_iter_t iter;

	if (!bson_iter_init(&iter, doc) || !bson_iter_next(&iter))
		return false;
	*value = *bson_iter_value(&iter);
	return true;
}

/* JSON, read as extended JSON: it may be a scalar, so a document holds it */
static bool
set_json(MtsEncoder *encoder, Datum datum, bson_value_t *value)
{
	char *json =
		psprintf("{\"v\": %s}", OutputFunctionCall(&encoder->output, datum));
	char *problem;
	bson_t *doc = mts_document_from_json(json, strlen(json), &problem);

	return doc && take_value(doc, value);
}

/* A time that the column stores in its format */
static bool
set_time(MtsEncoder *encoder, Datum datum, bson_value_t *value,
		 MtsError *error)
{
	const MtsLayout *layout = &encoder->table->layout;
	MtsTime t = mts_encode_instant(encoder->table, encoder->column->name,
								   encoder->typid, datum);
	char *text = palloc(MTS_MAX_TIME_TEXT);
	MtsTime stored;

	if (!mts_format_encode(&encoder->column->format, &layout->clock, t, 0,
						   value, text, &stored, error))
		return false;
	if (stored == t)
		return true;
	*error = (MtsError){
		.detail = "The time is finer than its format can store.",
		.hint = "MongoDB's dates hold milliseconds; set option \"format\" "
				"to store the time in another way."};
	return false;
}

/*
 * mts_encode_type
 *		Write a value as the type that the option or the SQL type names.
 *
 * False when it has no such form; *error may say more.  What it has lost on
 * the way is the caller's to find.
 */
bool
mts_encode_type(MtsEncoder *encoder, Datum datum, bson_value_t *value,
				MtsError *error)
{
	if (encoder->type == BSON_TYPE_DATE_TIME)
	{
		if (mts_table_is_time_type(encoder->typid))
			return set_time(encoder, datum, value, error);
		return false;
	}
	switch (encoder->type)
	{
		case BSON_TYPE_UTF8:
			mts_encode_text(value,
							OutputFunctionCall(&encoder->output, datum));
			return true;
		case BSON_TYPE_BINARY:
			set_binary(encoder, datum, value);
			return true;
		case BSON_TYPE_EOD:
			return set_json(encoder, datum, value);
		case BSON_TYPE_OID:
			return set_oid(encoder, datum, value);
		default:
			return set_number(encoder, datum, value);
	}
}
