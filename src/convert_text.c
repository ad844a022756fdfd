/*
 * convert_text.c
 *		BSON values as text, and text through a type's input function.
 */
#include "convert_text.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "document.h"
#include "error.h"
#include "number.h"

/* "The value 5000000000 (long) cannot be converted to type integer without loss." */
bool
mts_convert_refuse_value(const MtsConverter *converter,
						 const MtsElement *element, MtsError *error)
{
	char *value = mts_element_shell(element);
	Oid typid = converter->attribute->typid;
	bool is_whole = element->type == BSON_TYPE_DOCUMENT ||
					element->type == BSON_TYPE_ARRAY;

	value[pg_mbcliplen(value, strlen(value), 80)] = '\0';

	snprintf(error->detail, sizeof(error->detail),
			 "The value %.80s (%s) cannot be converted to type %s%s.", value,
			 mts_type_name(element->type),
			 format_type_with_typemod(typid, converter->attribute->typmod),
			 is_whole ? "" : " without loss");
	error->hint = is_whole && typid != JSONOID && typid != JSONBOID
					  ? "A path can go on into what the value holds; type "
						"\"jsonb\" holds all of it."
					  : NULL;
	return false;
}

/*
 * Call a type's input function, and catch its error.  A subtransaction undoes
 * whatever it had begun.  Where the leader of a parallel plan can't have one, the
 * caller sees to it that the function only reads the text.
 *
 * In parallel mode interrupts are held off: the error of a worker would be raised
 * here, and taken for one of the value.
 */
static bool
catch_input(MtsConverter *converter, FmgrInfo *input, char *text, int32 typmod,
			Datum *value, MtsError *error)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool in_subtransaction = mts_may_begin_subtransaction();
	bool is_parallel = IsInParallelMode();
	volatile bool ok = true;

	if (is_parallel)
		HOLD_INTERRUPTS();
	if (in_subtransaction)
		BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		*value = InputFunctionCall(input, text, converter->ioparam, typmod);
		if (in_subtransaction)
			ReleaseCurrentSubTransaction();
		if (is_parallel)
			RESUME_INTERRUPTS();
	}
	PG_CATCH();
	{
		ErrorData *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		/* raising the error has resumed interrupts */
		if (in_subtransaction)
			RollbackAndReleaseCurrentSubTransaction();
		if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
			ERRCODE_TO_CATEGORY(edata->sqlerrcode) !=
				ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
			ReThrowError(edata);
		mts_error_refuse(error, edata->message, NULL);
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return ok;
}

/*
 * Call a type's input function.  Its error goes to the user, with the scan's
 * context, unless invalid values are skipped.  PostgreSQL's own base types report
 * errors softly, in versions that have soft errors, and only read the text; of
 * others neither is known.
 */
bool
mts_convert_input(MtsConverter *converter, FmgrInfo *input, char *text,
				  int32 typmod, Datum *value, MtsError *error)
{
	bool is_own = converter->attribute->typid < FirstGenbkiObjectId;
	char *problem;

	if (converter->table->on_invalid == MTS_INVALID_ERROR ||
		(!is_own && !mts_may_begin_subtransaction()))
		*value = InputFunctionCall(input, text, converter->ioparam, typmod);
	else if (!is_own || !MTS_HAS_SOFT_INPUT)
		return catch_input(converter, input, text, typmod, value, error);
	else if (!mts_input_softly(input, text, converter->ioparam, typmod, value,
							   &problem))
		return mts_error_refuse(error, problem, NULL);
	return true;
}

/* A BSON date in ISO 8601, in UTC; NULL when that can't write it. */
static char *
date_text(const MtsElement *element)
{
	MtsFormat format = {.kind = MTS_FORMAT_DATE};
	MtsError error;
	MtsTime t;

	/* ISO 8601 as it is commonly read has no years before 1 */
	if (mts_format_decode(&format, NULL, element, 0, false, &t, &error) !=
			MTS_DECODED ||
		t < MTS_FIRST_YEAR)
		return NULL;
	return TextDatumGetCString(
		DirectFunctionCall2Coll(timestamp_to_char, C_COLLATION_OID,
								TimestampGetDatum(t),
								CStringGetTextDatum(
									"YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"")));
}

/*
 * mts_convert_server_text
 *		UTF-8 as a string in the server's encoding; NULL when it can't be.
 */
char *
mts_convert_server_text(const char *utf8, size_t len)
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

/* Any value as text in the server's encoding; NULL when it can't be. */
char *
mts_convert_value_text(const MtsElement *element)
{
	char buffer[BSON_DECIMAL128_STRING];
	bson_oid_t oid;
	const char *text;
	size_t len;
	int64 n;

	switch (element->type)
	{
		case BSON_TYPE_UTF8:
			text = mts_element_text(element, &len);
			return mts_convert_server_text(text, len);
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
			return date_text(element);
		case BSON_TYPE_OID:
			memcpy(oid.bytes, element->value, sizeof(oid.bytes));
			bson_oid_to_string(&oid, buffer);
			return pstrdup(buffer);
		default:
			return mts_element_json(element);
	}
}

/* Does a value read as the text that it was made of, or as without typmod? */
static bool
survives(MtsConverter *converter, char *text, Datum value)
{
	Oid typid = converter->attribute->typid;
	Oid output;
	bool is_varlena;
	Datum whole;

	if (converter->attribute->typmod < 0 && typid != NAMEOID &&
		typid != CHAROID)
		return true;
	getTypeOutputInfo(typid, &output, &is_varlena);
	if (converter->attribute->typmod >= 0)
	{
		whole =
			InputFunctionCall(&converter->input, text, converter->ioparam, -1);
		text = OidOutputFunctionCall(output, whole);
	}
	return strcmp(OidOutputFunctionCall(output, value), text) == 0;
}

/* Does a float hold the number that a text writes? */
static bool
float_holds(Oid typid, const char *text, Datum value)
{
	/* numeric knows no hexadecimal digits */
	if (strpbrk(text, "xX"))
		return false;
	return typid == FLOAT8OID
			   ? mts_number_fits_double(DatumGetFloat8(value), text, false)
			   : mts_number_fits_float(DatumGetFloat4(value), text);
}

/* Any value through its text and the type's input function. */
bool
mts_convert_by_text(MtsConverter *converter, const MtsElement *element,
					Datum *value, MtsError *error)
{
	Oid typid = converter->attribute->typid;
	char *text = mts_convert_value_text(element);
	bool is_float = typid == FLOAT4OID || typid == FLOAT8OID;

	if (text && !mts_convert_input(converter, &converter->input, text,
								   converter->attribute->typmod, value, error))
		return false;
	return (text && (is_float ? float_holds(typid, text, *value)
							  : survives(converter, text, *value))) ||
		   mts_convert_refuse_value(converter, element, error);
}
