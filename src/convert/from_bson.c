/*
 * from_bson.c
 *		Convert BSON values to Datums, without loss or not at all.
 *
 * A value that the column's type cannot hold never becomes NULL or another
 * value.  The conversion returns false, and the caller raises an error or
 * skips the value, as option on_invalid says.  A conversion that fails without
 * a reason in *error gets one that shows the value.
 *
 * Datums are palloc'd in the current context.
 */
#include "convert/from_bson.h"

#include <math.h>

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "convert/jsonb.h"
#include "convert/number.h"
#include "convert/text.h"
#include "driver/document.h"
#include "driver/report.h"

static MtsFromBson *
prepare(const MtsTable *table, int column, bool catches, Oid typid,
		int32 typmod)
{
	const TypeCacheEntry *type =
		lookup_type_cache(typid, TYPECACHE_DOMAIN_BASE_INFO);
	MtsFromBson *converter = palloc0(sizeof(MtsFromBson));

	converter->table = table;
	converter->catches = catches;
	converter->column = &table->layout.columns[column];
	converter->attribute = &table->attributes[column];
	converter->typid = typid;
	converter->typmod = typmod;
	converter->is_key = converter->column->role == MTS_ROLE_KEY ||
						converter->column->role == MTS_ROLE_ATTRIBUTE;
	if (type->typtype == TYPTYPE_DOMAIN)
		converter->base = prepare(table, column, catches, type->domainBaseType,
								  type->domainBaseTypmod);
	else if (OidIsValid(type->typelem) && mts_type_is_array(typid))
	{
		typid = get_element_type(typid);
		converter->items = prepare(table, column, catches, typid, typmod);
		converter->items->is_key = false;
		get_typlenbyvalalign(typid, &converter->item_length,
							 &converter->item_byval, &converter->item_align);
	}
	return converter;
}

/*
 * mts_from_bson_prepare
 *		Make the converter to a column, in the current context.
 *
 * hides_values says that messages may not show stored values; see
 * mts_table_shows_values().
 */
MtsFromBson *
mts_from_bson_prepare(const MtsTable *table, int column, bool hides_values)
{
	const MtsAttribute *attribute = &table->attributes[column];

	return prepare(table, column,
				   table->on_invalid != MTS_INVALID_ERROR || hides_values,
				   attribute->typid, attribute->typmod);
}

/* Set the error of a value that the type cannot hold; return false. */
static bool
refuse_value(const MtsFromBson *converter, const MtsElement *element,
			 MtsError *error)
{
	char *value = mts_document_value_shell(element);
	Oid typid = converter->typid;
	bool is_whole = element->type == BSON_TYPE_DOCUMENT ||
					element->type == BSON_TYPE_ARRAY;

	value[pg_mbcliplen(value, strlen(value), 80)] = '\0';
	return mts_error_set(
		error,
		!is_whole
			? "Declare the column with a type that holds all values of the field."
		: typid != JSONOID && typid != JSONBOID
			? "Extend the path to a field of the value, or declare the column as jsonb."
			: NULL,
		"The value %s (%s) cannot be converted to type %s%s.", value,
		mts_element_type_name(element->type),
		format_type_with_typemod(typid, converter->typmod),
		is_whole ? "" : " without loss");
}

/* ---- Through text ----------------------------------------------------- */

/*
 * Call a type's input function, and catch its error.
 *
 * A subtransaction undoes what the function has begun.  In parallel mode there
 * may be none, so the caller must know that the function only reads the text.
 * Interrupts are held off then: they would raise the errors of workers here.
 */
static bool
catch_input(MtsInput *input, char *text, int32 typmod, Datum *value,
			MtsError *error)
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
		*value =
			InputFunctionCall(&input->function, text, input->ioparam, typmod);
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
		/* ereport has resumed interrupts */
		if (in_subtransaction)
			RollbackAndReleaseCurrentSubTransaction();
		if (ERRCODE_TO_CATEGORY(edata->sqlerrcode) != ERRCODE_DATA_EXCEPTION &&
			ERRCODE_TO_CATEGORY(edata->sqlerrcode) !=
				ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION)
			ReThrowError(edata);
		mts_report_refuse(error, edata->message, NULL);
		ok = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return ok;
}

/*
 * Find the input function of a type: that of the converter, of timestamptz, or
 * of timestamp.
 */
static MtsInput *
input_of(MtsFromBson *converter, Oid typid)
{
	MtsInput *input = typid == converter->typid ? &converter->input
					  : typid == TIMESTAMPTZOID ? &converter->instant_input
												: &converter->local_input;
	Oid function;

	if (!OidIsValid(input->function.fn_oid))
	{
		getTypeInputInfo(typid, &function, &input->ioparam);
		fmgr_info_cxt(function, &input->function,
					  GetMemoryChunkContext(converter));
	}
	return input;
}

/*
 * Call the input function of a type: the converter's or, for a time, that of
 * timestamptz or timestamp.
 *
 * Its error is raised, with the scan's context, unless invalid values are
 * skipped, or the user may not see the value in it.  The input functions of
 * PostgreSQL's own base types only read the text, and report errors softly in
 * versions that have soft errors.  Nothing is known of other types' functions.
 */
static bool
call_input(MtsFromBson *converter, Oid typid, char *text, int32 typmod,
		   Datum *value, MtsError *error)
{
	MtsInput *input = input_of(converter, typid);
	bool is_own = converter->typid < FirstGenbkiObjectId;
	char *problem;

	if (!converter->catches ||
		(!is_own && !mts_may_begin_subtransaction() &&
		 converter->table->on_invalid != MTS_INVALID_ERROR))
		*value =
			InputFunctionCall(&input->function, text, input->ioparam, typmod);
	else if (!is_own || !MTS_HAS_SOFT_INPUT)
		return catch_input(input, text, typmod, value, error);
	else if (!mts_input_softly(&input->function, text, input->ioparam, typmod,
							   value, &problem))
		return mts_report_refuse(error, problem, NULL);
	return true;
}

/*
 * Tell whether the conversion of a text to a value has lost nothing.
 *
 * A number must be equal to the text.  Other values, if a typmod or a short
 * type may have cut them, must have the output that they have without it.
 */
static bool
survives(MtsFromBson *converter, char *text, Datum value)
{
	Oid typid = converter->typid;
	Oid output;
	bool is_varlena;
	MtsInput *input;

	/* numeric does not read hexadecimal digits, which float8 may */
	if (typid == FLOAT8OID)
		return !strpbrk(text, "xX") &&
			   mts_number_fits_double(DatumGetFloat8(value), text, false);
	if (typid == FLOAT4OID)
		return !strpbrk(text, "xX") &&
			   mts_number_fits_float(DatumGetFloat4(value), text);
	if (converter->typmod < 0 && typid != NAMEOID && typid != CHAROID)
		return true;
	getTypeOutputInfo(typid, &output, &is_varlena);
	if (converter->typmod >= 0)
	{
		input = input_of(converter, typid);
		text = OidOutputFunctionCall(output,
									 InputFunctionCall(&input->function, text,
													   input->ioparam, -1));
	}
	return strcmp(OidOutputFunctionCall(output, value), text) == 0;
}

/* Convert any value by its text and the type's input function. */
static bool
by_text(MtsFromBson *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	char *text = mts_text_of(element);

	return text &&
		   call_input(converter, converter->typid, text, converter->typmod,
					  value, error) &&
		   survives(converter, text, *value);
}

/* Tell whether a text fits a column of type text or varchar(n). */
static bool
has_room(const MtsFromBson *converter, const char *text)
{
	int32 typmod = converter->typmod;

	return typmod < (int32) VARHDRSZ ||
		   pg_mbstrlen(text) <= typmod - (int32) VARHDRSZ;
}

static bool
to_text(MtsFromBson *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	char *text = mts_text_of(element);

	if (!text || !has_room(converter, text))
		return false;
	if (converter->typid == BPCHAROID)
		return call_input(converter, converter->typid, text, converter->typmod,
						  value, error);
	*value = CStringGetTextDatum(text);
	return true;
}

/* ---- Times ------------------------------------------------------------ */

/*
 * mts_from_bson_time
 *		Convert an instant to the type of a time column.
 */
bool
mts_from_bson_time(const MtsFromBson *converter, MtsTime t, Datum *value,
				   MtsError *error)
{
	const MtsClock *clock = &converter->table->layout.clock;
	Oid typid = converter->typid;
	int32 typmod = converter->typmod;
	Timestamp rounded;

	if (typid != TIMESTAMPTZOID && clock->to_local)
		t = clock->to_local(clock->arg, t);
	if (typid == DATEOID)
	{
		if (t % USECS_PER_DAY != 0)
			return mts_report_refuse(
				error,
				"The time of day is not midnight, so type date cannot hold the time.",
				NULL);
		*value = DateADTGetDatum((DateADT) (t / USECS_PER_DAY));
		return true;
	}
	rounded = t;
	if (typmod >= 0)
		rounded = DatumGetTimestamp(
			DirectFunctionCall2(timestamp_scale, TimestampGetDatum(t),
								Int32GetDatum(typmod)));
	if (rounded != t)
		return mts_report_refuse(
			error, "The time is more precise than the column's type.", NULL);
	*value = TimestampGetDatum(t);
	return true;
}

/* Tell whether the text of a time has a zone after the hour: Z, CET, +02. */
static bool
names_zone(const char *text)
{
	text = strchr(text, ':');
	for (; text && *text; text++)
		if (*text == '+' || *text == '-' || isalpha((unsigned char) *text))
			return true;
	return false;
}

/*
 * Convert the text of a time.
 *
 * With a zone it is an instant.  Without one it is a local time: in the
 * table's zone, or, for a column of type timestamptz, in the session's.
 */
static bool
text_to_time(MtsFromBson *converter, const MtsElement *element, Datum *value,
			 MtsError *error)
{
	const MtsClock *clock = &converter->table->layout.clock;
	char *text = mts_text_of(element);
	bool is_zoned =
		converter->typid == TIMESTAMPTZOID || (text && names_zone(text));
	MtsTime t;

	if (!text ||
		!call_input(converter, is_zoned ? TIMESTAMPTZOID : TIMESTAMPOID, text,
					-1, value, error))
		return false;
	t = DatumGetTimestamp(*value);
	if (TIMESTAMP_NOT_FINITE(t))
		return by_text(converter, element, value, error);
	if (!is_zoned && clock->to_instant)
		t = clock->to_instant(clock->arg, t);
	return mts_from_bson_time(converter, t, value, error);
}

/* Convert a time in the column's format, or one that is text. */
static bool
to_time(MtsFromBson *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	const MtsColumn *column = converter->column;
	const MtsLayout *layout = &converter->table->layout;
	MtsTime t;

	if (element->type == BSON_TYPE_UTF8 && !converter->is_key &&
		column->format.kind == MTS_FORMAT_DATE)
		return text_to_time(converter, element, value, error);
	return mts_format_decode(&column->format, &layout->clock, element, 0,
							 layout->truncate, &t, error) == MTS_DECODED &&
		   mts_from_bson_time(converter, t, value, error);
}

/* ---- Numbers ---------------------------------------------------------- */

static bool
to_numeric(MtsFromBson *converter, const MtsElement *element, Datum *value,
		   MtsError *error)
{
	int32 typmod = converter->typmod;
	Numeric numeric;
	char *text;

	if (element->type == BSON_TYPE_UTF8)
	{
		text = mts_text_of(element);
		if (!text ||
			!call_input(converter, converter->typid, text, -1, value, error))
			return false;
		numeric = DatumGetNumeric(*value);
	}
	else if (!mts_number_as_numeric(element, &numeric))
		return false;
	*value = NumericGetDatum(numeric);
	if (typmod < 0)
		return true;

	/* the precision and scale must not remove digits */
	text = DatumGetCString(DirectFunctionCall1(numeric_out, *value));
	return call_input(converter, converter->typid, text, typmod, value,
					  error) &&
		   mts_number_compare_numerics(NumericGetDatum(numeric), *value) == 0;
}

static bool
to_number(const MtsFromBson *converter, const MtsElement *element,
		  Datum *value)
{
	Oid typid = converter->typid;
	int64 n, most;
	double d;

	if (typid == FLOAT8OID || typid == FLOAT4OID)
	{
		if (!mts_number_as_double(element, converter->is_key, &d) ||
			(typid == FLOAT4OID && !isnan(d) && (double) (float) d != d))
			return false;
		*value =
			typid == FLOAT8OID ? Float8GetDatum(d) : Float4GetDatum((float) d);
		return true;
	}
	most = typid == INT8OID   ? PG_INT64_MAX
		   : typid == INT4OID ? PG_INT32_MAX
							  : PG_INT16_MAX;
	if (!mts_number_as_int64(element, &n) || n > most || n < -most - 1)
		return false;
	*value = typid == INT8OID   ? Int64GetDatum(n)
			 : typid == INT4OID ? Int32GetDatum((int32) n)
								: Int16GetDatum((int16) n);
	return true;
}

static bool
to_bool(const MtsElement *element, Datum *value)
{
	int64 n;

	if (!mts_number_as_int64(element, &n) || n < 0 || n > 1)
		return false;
	*value = BoolGetDatum(n == 1);
	return true;
}

/* ---- Bytes ------------------------------------------------------------ */

/* The bytes of a binary value; those of subtype 2 begin with their size */
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
to_bytea(const MtsElement *element, Datum *value)
{
	const uint8_t *bytes = element->value;
	uint32_t len = element->size;

	if (element->type == BSON_TYPE_BINARY)
		bytes = binary_bytes(element, &len);
	else if (element->type != BSON_TYPE_OID)
		return false;
	*value =
		PointerGetDatum(cstring_to_text_with_len((const char *) bytes, len));
	return true;
}

static bool
to_uuid(const MtsElement *element, Datum *value)
{
	pg_uuid_t *uuid;
	const uint8_t *bytes;
	uint32_t len;

	if (element->type != BSON_TYPE_BINARY ||
		element->value[4] != BSON_SUBTYPE_UUID ||
		!(bytes = binary_bytes(element, &len)) || len != UUID_LEN)
		return false;
	uuid = palloc(sizeof(pg_uuid_t));
	memcpy(uuid->data, bytes, UUID_LEN);
	*value = UUIDPGetDatum(uuid);
	return true;
}

/* ---- Arrays ----------------------------------------------------------- */

/* The elements of an array that is being read */
typedef struct Items
{
	int ndims;
	int dims[MAXDIM];
	int n; /* so many are read */
	Datum *values;
	bool *nulls;
} Items;

/*
 * Count the elements of an array, and find the first one, of type 0 if there
 * is none; -1 if it is malformed.
 */
static int
count_items(const MtsElement *array, MtsElement *first)
{
	MtsElementCursor cursor;
	MtsElement element;
	MtsNext next;
	int n = 0;

	first->type = 0;
	if (!mts_element_open(&cursor, array->value, array->size))
		return -1;
	while ((next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
		if (n++ == 0)
			*first = element;
	return next == MTS_NEXT_END ? n : -1;
}

/* Tell whether an array in an array is another dimension, not an element. */
static bool
is_dimension(const MtsFromBson *items, const MtsElement *element)
{
	return element->type == BSON_TYPE_ARRAY && items->typid != JSONOID &&
		   items->typid != JSONBOID;
}

/* Read the elements of an array, which must have the given dimensions. */
static bool
read_items(MtsFromBson *converter, const MtsElement *array, int dim,
		   Items *items, MtsError *error)
{
	bool is_last = dim == items->ndims - 1;
	MtsElementCursor cursor;
	MtsElement element;
	MtsNext next;
	int n = 0;

	if (!mts_element_open(&cursor, array->value, array->size))
		return false;
	while ((next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
	{
		if (n++ == items->dims[dim] ||
			is_dimension(converter->items, &element) == is_last)
			return false;
		if (!is_last &&
			!read_items(converter, &element, dim + 1, items, error))
			return false;
		if (!is_last)
			continue;
		if (!mts_from_bson_element(converter->items, &element,
								   &items->values[items->n],
								   &items->nulls[items->n], error))
			return false;
		items->n++;
	}
	return next == MTS_NEXT_END && n == items->dims[dim];
}

/*
 * Convert an array.  Its first elements tell the dimensions, which all others
 * must have.  An array of empty arrays has no equal in PostgreSQL.
 */
static bool
to_array(MtsFromBson *converter, const MtsElement *array, Datum *value,
		 MtsError *error)
{
	Items items = {0};
	int lower_bounds[MAXDIM];
	MtsElement first = *array;
	int64 n = 1;

	do
	{
		MtsElement outer = first;

		if (items.ndims == MAXDIM)
			return false;
		lower_bounds[items.ndims] = 1;
		items.dims[items.ndims] = count_items(&outer, &first);
		n *= items.dims[items.ndims++];
		if (n < 0 || (n == 0 && items.ndims > 1) || n > MTS_MAX_ELEMENTS)
			return false;
	} while (n > 0 && is_dimension(converter->items, &first));
	if (n == 0)
	{
		*value =
			PointerGetDatum(construct_empty_array(converter->items->typid));
		return true;
	}
	items.values = palloc(n * sizeof(Datum));
	items.nulls = palloc(n * sizeof(bool));
	if (!read_items(converter, array, 0, &items, error))
		return false;
	*value = PointerGetDatum(
		construct_md_array(items.values, items.nulls, items.ndims, items.dims,
						   lower_bounds, converter->items->typid,
						   converter->item_length, converter->item_byval,
						   converter->item_align));
	return true;
}

/* ---- Any value -------------------------------------------------------- */

/* What to do if the documents have several types */
#define HINT_MIXED \
	"If they have several types, declare it as text with option \"bson_type\" 'any', or as jsonb."

/* Check that a key has one of the BSON types that conditions rely on. */
static bool
check_key(const MtsFromBson *converter, const MtsElement *element,
		  MtsError *error)
{
	MtsKeyType type = converter->attribute->key_type;

	if (!converter->is_key || mts_type_key_holds(type, element->type))
		return true;
	return mts_error_set(
		error,
		element->type == BSON_TYPE_DOCUMENT || element->type == BSON_TYPE_ARRAY
			? "To read a row for each point in the field, add a slot to the path, such as values.{second} or values[{second}]. To read it as a whole, declare the column as jsonb."
		: element->type == BSON_TYPE_UTF8
			? "If the documents have text, declare the column as text, or set its option \"bson_type\" to 'string'. " HINT_MIXED
			: "Change the column's type, or its option \"bson_type\", to the type that the documents have. " HINT_MIXED,
		"The field holds BSON type %s, but the column is a key of BSON type %s.",
		mts_element_type_name(element->type), mts_type_key_name(type));
}

/* Convert a value that is not null. */
static bool
convert(MtsFromBson *converter, const MtsElement *element, Datum *value,
		MtsError *error)
{
	bool is_text = element->type == BSON_TYPE_UTF8;
	char *text;
	bool isnull;

	/* the base type checks for loss, the input function the constraints */
	if (converter->base)
		return mts_from_bson_element(converter->base, element, value, &isnull,
									 error) &&
			   by_text(converter, element, value, error);
	if (converter->items && !is_text)
		return element->type == BSON_TYPE_ARRAY &&
			   to_array(converter, element, value, error);
	switch (converter->typid)
	{
		case NUMERICOID:
			return to_numeric(converter, element, value, error);
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return to_text(converter, element, value, error);
		case TIMESTAMPTZOID:
		case TIMESTAMPOID:
		case DATEOID:
			return to_time(converter, element, value, error);
		case BYTEAOID:
			return to_bytea(element, value);
		case JSONBOID:
		case JSONOID:
			if (converter->typid == JSONBOID && mts_jsonb_of(element, value))
				return true;
			text = mts_document_value_json(element);
			return text && call_input(converter, converter->typid, text, -1,
									  value, error);
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
			if (!is_text)
				return to_number(converter, element, value);
			break;
		case BOOLOID:
			if (!is_text)
				return to_bool(element, value);
			break;
		case UUIDOID:
			if (!is_text)
				return to_uuid(element, value);
			break;
	}
	return by_text(converter, element, value, error);
}

/*
 * mts_from_bson_element
 *		Convert one value; false with a reason if the type cannot hold it.
 */
bool
mts_from_bson_element(MtsFromBson *converter, const MtsElement *element,
					  Datum *value, bool *isnull, MtsError *error)
{
	/* the most common case */
	if (element->type == BSON_TYPE_DOUBLE && converter->typid == FLOAT8OID &&
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
	error->detail[0] = '\0';
	return check_key(converter, element, error) &&
		   (convert(converter, element, value, error) ||
			(!error->detail[0] && refuse_value(converter, element, error)));
}

/*
 * Read a key as an integer of a type.  Other texts of the same number, such
 * as "007", are false: each integer has one key.
 */
static bool
read_integer(const char *text, Oid typid, Datum *value)
{
	int64 most = typid == INT2OID   ? PG_INT16_MAX
				 : typid == INT4OID ? PG_INT32_MAX
									: PG_INT64_MAX;
	int64 n = strtoll(text, NULL, 10);
	char canonical[MAXINT8LEN + 1];

	pg_lltoa(n, canonical);
	if (strcmp(text, canonical) != 0 || n > most || n < -most - 1)
		return false;
	*value = typid == INT2OID   ? Int16GetDatum((int16) n)
			 : typid == INT4OID ? Int32GetDatum((int32) n)
								: Int64GetDatum(n);
	return true;
}

/*
 * mts_from_bson_slot
 *		Convert the key of a slot to its column's type: text or an integer.
 */
bool
mts_from_bson_slot(MtsFromBson *converter, const MtsSlotKey *key, Datum *value,
				   MtsError *error)
{
	char *text = mts_text_from_utf8(key->text, key->len);

	if (!text)
		return mts_report_refuse(
			error, "The key is not valid text in the database encoding.",
			NULL);
	if (mts_type_is_integer(converter->typid))
		return read_integer(text, converter->typid, value) ||
			   mts_error_set(
				   error, "To read such keys, declare the column as text.",
				   "The key \"%.*s\" is not an integer as type %s writes it.",
				   pg_mbcliplen(text, strlen(text), 40), text,
				   format_type_be(converter->typid));
	if (!has_room(converter, text))
		return mts_report_refuse(error,
								 "The key is too long for the column's type.",
								 NULL);
	*value = CStringGetTextDatum(text);
	return true;
}
