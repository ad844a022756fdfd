/*
 * encode.c
 *		Turn Datums into BSON values: what reads as the same Datum, or none.
 *
 * A value that the BSON type can't hold is an error.  What a value points to
 * is palloc'd in the current context.
 */
#include "encode.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "document.h"

/*
 * mts_encode_prepare
 *		Look up what writing a column needs.
 */
MtsEncoder *
mts_encode_prepare(const MtsTable *table, int column)
{
	MtsEncoder *encoder = palloc0(sizeof(MtsEncoder));
	const MtsAttribute *attribute = &table->attributes[column];
	TypeCacheEntry *type;
	Oid output;
	bool is_varlena;

	encoder->table = table;
	encoder->column = &table->layout.columns[column];
	encoder->attribute = attribute;
	encoder->typid = getBaseType(attribute->typid);
	encoder->type = attribute->bson_type != BSON_TYPE_EOD
						? attribute->bson_type
						: mts_table_bson_type(encoder->typid);
	getTypeOutputInfo(encoder->typid, &output, &is_varlena);
	fmgr_info(output, &encoder->output);
	type = lookup_type_cache(encoder->typid, TYPECACHE_EQ_OPR_FINFO);
	encoder->has_equal = OidIsValid(type->eq_opr_finfo.fn_oid);
	if (encoder->has_equal)
		fmgr_info_copy(&encoder->equal, &type->eq_opr_finfo,
					   CurrentMemoryContext);
	encoder->converter = mts_convert_prepare(table, column);
	return encoder;
}

/* "The value 1e400 can't be written as decimal without loss." */
static char *
describe_loss(MtsEncoder *encoder, Datum datum)
{
	char *text = OutputFunctionCall(&encoder->output, datum);
	const char *type =
		encoder->type == BSON_TYPE_EOD ? "BSON" : mts_type_name(encoder->type);

	text[pg_mbcliplen(text, strlen(text), 80)] = '\0';
	return psprintf("The value %s cannot be written as %s without loss.", text,
					type);
}

static _Noreturn void refuse(MtsEncoder *encoder, Datum datum,
							 const MtsError *error);

static void
refuse(MtsEncoder *encoder, Datum datum, const MtsError *error)
{
	int sqlstate = TypeCategory(encoder->typid) == TYPCATEGORY_NUMERIC
					   ? ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
				   : mts_table_is_time_type(encoder->typid)
					   ? ERRCODE_DATETIME_FIELD_OVERFLOW
					   : ERRCODE_FDW_INVALID_DATA_TYPE;

	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("cannot store the value of column \"%s\" in MongoDB "
					"collection \"%s.%s\"",
					encoder->column->name, encoder->table->database,
					encoder->table->collection),
			 errdetail("%s", error->detail[0] ? error->detail
											  : describe_loss(encoder, datum)),
			 errhint("%s", error->hint
							   ? error->hint
							   : "Option \"bson_type\" of the "
								 "column says which type is written.")));
	pg_unreachable();
}

/* Does what was written read as the value? */
static bool
reads_back(MtsEncoder *encoder, Datum datum, const bson_value_t *value)
{
	bson_t *doc = mts_document_new();
	MtsCursor cursor;
	MtsElement element;
	MtsError error;
	Datum read;
	bool isnull;
	bool ok;

	bson_append_value(doc, "v", 1, value);
	ok = mts_cursor_open(&cursor, bson_get_data(doc), doc->len) &&
		 mts_cursor_next(&cursor, &element) == MTS_NEXT_OK &&
		 mts_convert_element(encoder->converter, &element, &read, &isnull,
							 &error) &&
		 !isnull;
	if (ok && encoder->typid == JSONOID)
		ok = DatumGetBool(DirectFunctionCall2(
			jsonb_eq,
			DirectFunctionCall1(jsonb_in, CStringGetDatum(OutputFunctionCall(
											  &encoder->output, datum))),
			DirectFunctionCall1(jsonb_in, CStringGetDatum(OutputFunctionCall(
											  &encoder->output, read)))));
	else if (ok && encoder->has_equal)
		ok = DatumGetBool(
			FunctionCall2Coll(&encoder->equal, C_COLLATION_OID, datum, read));
	return ok;
}

/*
 * mts_encode_value
 *		Write one value.
 *
 * An error when what is written would not read as the same value.
 */
void
mts_encode_value(MtsEncoder *encoder, Datum datum, bool isnull,
				 bson_value_t *value)
{
	MtsError error = {.detail = "", .hint = NULL};

	if (isnull)
	{
		value->value_type = BSON_TYPE_NULL;
		return;
	}
	/* what loses nothing, and by far the most values */
	if (encoder->typid == FLOAT8OID && encoder->type == BSON_TYPE_DOUBLE)
	{
		value->value_type = BSON_TYPE_DOUBLE;
		value->value.v_double = DatumGetFloat8(datum);
		return;
	}
	if (encoder->typid == INT4OID && encoder->type == BSON_TYPE_INT32)
	{
		value->value_type = BSON_TYPE_INT32;
		value->value.v_int32 = DatumGetInt32(datum);
		return;
	}
	if (encoder->typid == INT8OID && encoder->type == BSON_TYPE_INT64)
	{
		value->value_type = BSON_TYPE_INT64;
		value->value.v_int64 = DatumGetInt64(datum);
		return;
	}
	if (encoder->typid == TEXTOID && encoder->type == BSON_TYPE_UTF8)
	{
		mts_encode_text(value, TextDatumGetCString(datum));
		return;
	}
	if (!mts_encode_type(encoder, datum, value, &error) ||
		!reads_back(encoder, datum, value))
		refuse(encoder, datum, &error);
}

/*
 * mts_encode_instant
 *		The instant that a value of a time's type is.
 *
 * An error when it is none: infinite, or a local time that clocks skip.
 */
MtsTime
mts_encode_instant(const MtsTable *table, const char *column, Oid typid,
				   Datum datum)
{
	const MtsClock *clock = &table->layout.clock;
	MtsTime t = typid == DATEOID ? 0 : DatumGetTimestamp(datum);
	MtsTime instant;

	if (typid == DATEOID ? DATE_NOT_FINITE(DatumGetDateADT(datum)) ||
							   __builtin_mul_overflow(DatumGetDateADT(datum),
													  USECS_PER_DAY, &t) ||
							   !IS_VALID_TIMESTAMP(t)
						 : TIMESTAMP_NOT_FINITE(t))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("the time in column \"%s\" is out of range", column),
				 errdetail("MongoDB cannot store infinite times.")));
	if (typid == TIMESTAMPTZOID || !clock->to_instant)
		return t;
	instant = clock->to_instant(clock->arg, t);
	if (clock->to_local(clock->arg, instant) != t)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("the time in column \"%s\" does not exist in the "
						"foreign table's time zone",
						column),
				 errdetail("Clocks are set forward over it."),
				 errhint("A column of type timestamptz holds the instant "
						 "itself.")));
	return instant;
}
