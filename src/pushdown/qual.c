/*
 * qual.c
 *		Evaluate quals to filters once their right-hand sides have values.
 *
 * A NULL on the right makes a comparison neither true nor false, so it matches
 * no row.  Infinite times compare as PostgreSQL's do; MongoDB stores none.
 * Filters are allocated in the current memory context.
 */
#include "pushdown/qual.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rangetypes.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "convert/number.h"
#include "convert/text.h"
#include "driver/document.h"
#include "driver/write_command.h"

/* A longer list of fractions is left to PostgreSQL */
#define MAX_FRACTIONS 100

/* The bytes of a list of values, at most: the rest of the command has room */
#define MAX_LIST (MTS_MAX_DOCUMENT - 64 * 1024)

/* The digits of an ObjectId */
#define OID_DIGITS 24

/* Setting mongo_ts_fdw.enable_preaggregates */
bool mts_enable_preaggregates = true;

/* MongoDB's operators by strategy number */
static const char *const operators[] = {NULL,   "$lt", "$lte", "$eq",
										"$gte", "$gt", "$ne"};

/* A filter with room for so many arguments */
static MtsFilter *
make_filter(MtsFilterKind kind, int room)
{
	MtsFilter *filter = palloc0(sizeof(MtsFilter));

	filter->kind = kind;
	filter->args = palloc(room * sizeof(MtsFilter *));
	return filter;
}

/*
 * A filter on a field of the buckets that is not null; ops is {"$gte": value,
 * ..}, empty for any value, or {"$eq": null}.
 */
static MtsFilter *
make_field(const MtsTable *table, int column, const bson_t *ops)
{
	MtsFilter *filter = make_filter(MTS_FILTER_FIELD, 0);

	filter->column = &table->layout.columns[column];
	filter->ops = ops;
	return filter;
}

/*
 * The filter that a field is equal to any values of an array.
 *
 * They are the wanted values in each type of BSON that shows them as the same
 * text.  So a document whose writer has changed the type is not left out,
 * while those of other series are not looked for.
 */
static MtsFilter *
make_equality(const MtsTable *table, int column, const bson_t *values)
{
	bson_t *ops = mts_document_new();
	bson_iter_t first;

	if (!bson_iter_init(&first, values) || !bson_iter_next(&first))
		return make_filter(MTS_FILTER_FALSE, 0);
	if (bson_has_field(values, "1"))
		bson_append_array(ops, "$in", -1, values);
	else
		bson_append_iter(ops, "$eq", -1, &first);
	return make_field(table, column, ops);
}

/* The filter that a key is null, or that it is not */
static MtsFilter *
evaluate_null(const MtsTable *table, int column, bool is_null)
{
	bson_t *ops = mts_document_new();

	if (is_null)
		bson_append_null(ops, "$eq", -1);
	return make_field(table, column, ops);
}

/* The filter that the time of points is any, but not null */
static MtsFilter *
evaluate_any_time(const MtsTable *table)
{
	MtsFilter *filter = make_filter(MTS_FILTER_TIME, 0);

	filter->column = mts_layout_time_column(&table->layout);
	filter->ranges = (MtsRanges){1, palloc(sizeof(MtsRange))};
	filter->ranges.items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	return filter;
}

/*
 * Evaluate a right-hand side to the values of its array, or to its one value.
 * NULLs are left out.  Returns the number of values.
 */
static int
evaluate_right(const MtsQual *qual, ExprContext *econtext, Datum **values,
			   bool *has_null)
{
	Datum value = ExecEvalExpr(qual->state, econtext, has_null);
	ArrayType *array;
	int16 len;
	bool byval;
	char align;
	bool *nulls;
	int n, kept = 0;

	*values = palloc(sizeof(Datum));
	(*values)[0] = value;
	if (*has_null || qual->form == MTS_RIGHT_VALUE ||
		qual->form == MTS_RIGHT_RANGE)
		return *has_null ? 0 : 1;
	array = DatumGetArrayTypeP(value);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align, values,
					  &nulls, &n);
	for (int i = 0; i < n; i++)
		if (nulls[i])
			*has_null = true;
		else
			(*values)[kept++] = (*values)[i];
	return kept;
}

/*
 * Let the making of a long list be cancelled, and refuse a list that does not
 * fit a command.  It cannot be left to PostgreSQL, since its qual is exact.
 */
static void
check_list(const MtsTable *table, const MtsQual *qual, const bson_t *list)
{
	CHECK_FOR_INTERRUPTS();
	if (list->len <= MAX_LIST)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		 errmsg("the values that column \"%s\" is compared with are too many "
				"for MongoDB",
				table->layout.columns[qual->column].name),
		 errdetail("A command of MongoDB holds at most 16 MB."),
		 errhint("Join a table of the values, or compare fewer of them.")));
}

/* ---- Times ------------------------------------------------------------ */

/*
 * The instant to which the operator converts a value.
 *
 * A date beyond the range of timestamps becomes a time just outside of it, not
 * an infinite one: an expression of the time may lie outside as well.
 */
static MtsTime
instant_of(const MtsQual *qual, Datum value)
{
	MtsTime t;

	if (qual->right_type == DATEOID)
	{
		DateADT date = DatumGetDateADT(value);

		if (DATE_IS_NOBEGIN(date))
			return MTS_TIME_MIN;
		if (DATE_IS_NOEND(date))
			return MTS_TIME_MAX;
		t = qual->left_type == TIMESTAMPTZOID
				? mts_convert_time(date2timestamptz, date)
				: mts_convert_time(date2timestamp, date);
	}
	else
	{
		t = DatumGetTimestamp(value);
		if (qual->right_type != TIMESTAMPOID ||
			qual->left_type != TIMESTAMPTZOID || TIMESTAMP_NOT_FINITE(t))
			return t;
		t = mts_convert_time(timestamp2timestamptz, t);
	}
	if (TIMESTAMP_IS_NOBEGIN(t))
		return MIN_TIMESTAMP - 1;
	if (TIMESTAMP_IS_NOEND(t))
		return END_TIMESTAMP;
	return t;
}

static MtsTime
shift(MtsTime t, int64 by)
{
	MtsTime result;

	if (pg_add_s64_overflow(t, by, &result))
		return by < 0 ? MTS_TIME_MIN : MTS_TIME_MAX;
	return result;
}

static bool
is_less(int strategy)
{
	return strategy == BTLessStrategyNumber ||
		   strategy == BTLessEqualStrategyNumber;
}

static bool
is_greater(int strategy)
{
	return strategy == BTGreaterStrategyNumber ||
		   strategy == BTGreaterEqualStrategyNumber;
}

/*
 * The range of instants t with "t <strategy> at", widened by the tolerance.
 * The range of <> is that of =, for its caller to complement.
 */
static MtsRange
range_of(int strategy, MtsTime at, int64 tolerance)
{
	bool has_lower = !is_less(strategy);
	bool has_upper = !is_greater(strategy);

	/* no stored time is infinite */
	if ((at == MTS_TIME_MIN && has_upper) || (at == MTS_TIME_MAX && has_lower))
		return (MtsRange){0, 0};
	if (at == MTS_TIME_MIN || at == MTS_TIME_MAX)
		return (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	return (
		MtsRange){has_lower ? shift(at, (strategy == BTGreaterStrategyNumber) -
											tolerance)
							: MTS_TIME_MIN,
				  has_upper ? shift(at, (strategy != BTLessStrategyNumber) +
											tolerance)
							: MTS_TIME_MAX};
}

static Datum
numeric_of(int64 n)
{
	return NumericGetDatum(int64_to_numeric(n));
}

/* The times at which an expression compares like this with a value */
static MtsRanges
ranges_of_value(const MtsQual *qual, Datum value)
{
	bool is_inclusive = qual->strategy != BTLessStrategyNumber &&
						qual->strategy != BTGreaterStrategyNumber;
	MtsBound bound = {value, is_inclusive};

	return mts_inverse_between(qual->inverse,
							   is_less(qual->strategy) ? NULL : &bound,
							   is_greater(qual->strategy) ? NULL : &bound);
}

/* The times at which an expression is in a range */
static MtsRanges
ranges_of_range(const MtsQual *qual, Datum value)
{
	RangeType *range = DatumGetRangeTypeP(value);
	RangeBound lower, upper;
	bool is_empty;
	MtsBound from, to;

	range_deserialize(lookup_type_cache(RangeTypeGetOid(range),
										TYPECACHE_RANGE_INFO),
					  range, &lower, &upper, &is_empty);
	if (is_empty)
		return (MtsRanges){0};
	from = (MtsBound){lower.val, lower.inclusive};
	to = (MtsBound){upper.val, upper.inclusive};
	return mts_inverse_between(qual->inverse, lower.infinite ? NULL : &from,
							   upper.infinite ? NULL : &to);
}

/*
 * The times at which (t, t) OVERLAPS a period: from its beginning on, and
 * before its end, unless that is its beginning.
 */
static MtsRanges
ranges_of_period(const MtsQual *qual, Datum a, Datum b)
{
	bool is_reversed = DatumGetTimestamp(a) > DatumGetTimestamp(b);
	MtsBound from = {is_reversed ? b : a, true};
	MtsBound to = {is_reversed ? a : b,
				   DatumGetTimestamp(a) == DatumGetTimestamp(b)};

	return mts_inverse_between(qual->inverse, &from, &to);
}

/*
 * The ranges of instants that compare like this with any of n values, which
 * are not sorted.  For <> they are those of =.
 */
static MtsRanges
ranges_of_values(const MtsQual *qual, const Datum *values, int n)
{
	MtsRanges all = {0, palloc((n + 1) * sizeof(MtsRange))};
	int room = n + 1;

	for (int i = 0; i < n; i++)
	{
		MtsRanges ranges;

		CHECK_FOR_INTERRUPTS();
		if (!qual->inverse)
		{
			all.items[all.n++] =
				range_of(qual->strategy, instant_of(qual, values[i]),
						 qual->tolerance);
			continue;
		}
		ranges = qual->form == MTS_RIGHT_RANGE
					 ? ranges_of_range(qual, values[i])
					 : ranges_of_value(qual, values[i]);
		if (all.n + ranges.n > room)
		{
			room = 2 * (all.n + ranges.n);
			all.items = repalloc_huge(all.items, room * sizeof(MtsRange));
		}
		for (int k = 0; k < ranges.n; k++)
			all.items[all.n++] = ranges.items[k];
	}
	return all;
}

/* The filter of a comparison with times, by ranges */
static MtsFilter *
evaluate_times(const MtsTable *table, const MtsQual *qual,
			   ExprContext *econtext)
{
	MtsFilter *filter =
		make_filter(qual->kind == MTS_QUAL_TIME ? MTS_FILTER_TIME
												: MTS_FILTER_TIME_FIELD,
					0);
	Datum *values;
	bool has_null;
	int n = evaluate_right(qual, econtext, &values, &has_null);
	bool is_ne = qual->strategy == ROWCOMPARE_NE;
	bool is_period = qual->form == MTS_RIGHT_PERIOD;

	filter->column = &table->layout.columns[qual->column];
	if (has_null && (is_ne || is_period))
		return filter;
	if (is_ne && n == 0)
		return make_filter(MTS_FILTER_TRUE, 0); /* for a NULL time, too */
	filter->ranges = is_period ? ranges_of_period(qual, values[0], values[1])
							   : ranges_of_values(qual, values, n);
	mts_ranges_normalize(&filter->ranges);
	if (is_ne)
	{
		MtsRanges others = {0,
							palloc((filter->ranges.n + 1) * sizeof(MtsRange))};

		mts_ranges_complement(&filter->ranges, &others);
		filter->ranges = others;
	}
	if (filter->kind == MTS_FILTER_TIME_FIELD &&
		mts_ranges_cover_all(&filter->ranges))
		return evaluate_null(table, qual->column, false);
	return filter;
}

/* ---- Fractions -------------------------------------------------------- */

/*
 * The filter {field: {op: d}}, with NaN where PostgreSQL has it.  It sorts NaN
 * above all numbers: >= NaN means = NaN, and < NaN means <> NaN.  A filter
 * with $gt or $gte finds NaN, as it is sent as {$not: {$lte: d}} (filter.c).
 */
static MtsFilter *
evaluate_double(const MtsTable *table, const MtsQual *qual, double d)
{
	int strategy = qual->strategy;
	bson_t *ops = mts_document_new();
	MtsFilter *filter = make_field(table, qual->column, ops);
	uint32 n = 0;

	if (isnan(d) && strategy == BTGreaterStrategyNumber)
		return make_filter(MTS_FILTER_FALSE, 0);
	if (isnan(d) && strategy == BTLessEqualStrategyNumber)
		return filter;
	if (isnan(d))
		strategy = strategy == BTLessStrategyNumber ? ROWCOMPARE_NE
				   : strategy == BTGreaterEqualStrategyNumber
					   ? BTEqualStrategyNumber
					   : strategy;
	if (strategy == BTEqualStrategyNumber && (isnan(d) || d == rint(d)))
	{
		mts_text_append_values(mts_number_double_text(d), ops, &n);
		return make_equality(table, qual->column, ops);
	}
	if (strategy == BTEqualStrategyNumber)
	{
		/*
		 * Servers combine several $eq into $in, and in a list some do not
		 * find fractions that are stored as another type.
		 */
		bson_append_double(ops, "$gte", -1, d);
		bson_append_double(ops, "$lte", -1, d);
	}
	else
		bson_append_double(ops, operators[strategy], -1, d);
	if (is_less(strategy) || strategy == BTEqualStrategyNumber)
		bson_append_double(ops, "$ne", -1, NAN);
	return filter;
}

/* A value as a double; false if MongoDB would compare it differently. */
static bool
value_as_double(Oid typid, Datum value, double *d)
{
	if (typid == FLOAT4OID)
		*d = DatumGetFloat4(value);
	else if (typid == FLOAT8OID)
		*d = DatumGetFloat8(value);
	else
	{
		/* only small integers compare alike as numerics and doubles */
		*d = DatumGetFloat8(
			DirectFunctionCall1(numeric_float8_no_overflow, value));
		return *d > -MTS_MAX_EXACT && *d < MTS_MAX_EXACT && *d == rint(*d) &&
			   mts_number_compare_numerics(value, numeric_of((int64) *d)) == 0;
	}
	return true;
}

/* The filter that a key equals any of n fractions, or differs from all */
static MtsFilter *
evaluate_fractions(const MtsTable *table, const MtsQual *qual, Datum *values,
				   int n)
{
	MtsFilter *filter =
		make_filter(qual->strategy == ROWCOMPARE_NE ? MTS_FILTER_AND
													: MTS_FILTER_OR,
					n);
	double d;

	if (n > MAX_FRACTIONS)
		return make_filter(MTS_FILTER_TRUE, 0);
	for (int i = 0; i < n; i++)
	{
		if (!value_as_double(qual->right_type, values[i], &d))
			return make_filter(MTS_FILTER_TRUE, 0);
		filter->args[filter->nargs++] = evaluate_double(table, qual, d);
	}
	if (n == 0)
		return make_filter(MTS_FILTER_FALSE, 0);
	return n == 1 ? filter->args[0] : filter;
}

/* ---- Other keys ------------------------------------------------------- */

/* The number of lower-case hexadecimal digits that a text begins with */
static int
count_digits(const char *text)
{
	return (int) strspn(text, "0123456789abcdef");
}

/*
 * The digits of the least ObjectId whose text is not less than a text, by
 * bytes; NULL if all are less.
 */
static char *
least_digits(const char *text)
{
	int n = Min(count_digits(text), OID_DIGITS);
	char *digits = psprintf("%.*s%0*d", n, text, OID_DIGITS, 0);
	unsigned char next = text[n];
	/* those that begin with these n digits */
	bool all_are_less = n == OID_DIGITS ? next != '\0' : next > 'f';

	digits[OID_DIGITS] = '\0';
	if (!all_are_less)
	{
		if (next > '9')
			digits[n] = 'a';
		return digits;
	}
	while (n > 0 && digits[n - 1] == 'f')
		digits[--n] = '0';
	if (n == 0)
		return NULL;
	digits[n - 1] = digits[n - 1] == '9' ? 'a' : digits[n - 1] + 1;
	return digits;
}

/* The filter that the text of an ObjectId is less than another, or greater */
static MtsFilter *
evaluate_oid_order(const MtsTable *table, const MtsQual *qual, Datum datum)
{
	const char *string = mts_document_utf8(TextDatumGetCString(datum));
	const char *digits = least_digits(string);
	int strategy = qual->strategy;
	bson_t *ops = mts_document_new();
	bson_oid_t oid;

	if (!digits)
		return is_greater(strategy)
				   ? make_filter(MTS_FILTER_FALSE, 0)
				   : evaluate_null(table, qual->column, false);
	/* no ObjectId is equal to another text */
	if (strcmp(digits, string) != 0)
		strategy = is_less(strategy) ? BTLessStrategyNumber
									 : BTGreaterEqualStrategyNumber;
	bson_oid_init_from_string(&oid, digits);
	bson_append_oid(ops, operators[strategy], -1, &oid);
	return make_field(table, qual->column, ops);
}

/* A value as BSON; false if no stored value can be equal to it */
static bool
value_of(const MtsTable *table, const MtsQual *qual, Datum datum,
		 bson_value_t *value)
{
	const char *string;
	int64 n;

	switch (qual->right_type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			n = qual->right_type == INT2OID   ? DatumGetInt16(datum)
				: qual->right_type == INT4OID ? DatumGetInt32(datum)
											  : DatumGetInt64(datum);
			value->value_type =
				n == (int32) n ? BSON_TYPE_INT32 : BSON_TYPE_INT64;
			if (value->value_type == BSON_TYPE_INT32)
				value->value.v_int32 = (int32) n;
			else
				value->value.v_int64 = n;
			return true;
		case BOOLOID:
			value->value_type = BSON_TYPE_BOOL;
			value->value.v_bool = DatumGetBool(datum);
			return true;
		case UUIDOID:
			value->value_type = BSON_TYPE_BINARY;
			value->value.v_binary.subtype = BSON_SUBTYPE_UUID;
			value->value.v_binary.data = DatumGetUUIDP(datum)->data;
			value->value.v_binary.data_len = UUID_LEN;
			return true;
		default:
			string = mts_document_utf8(TextDatumGetCString(datum));
			if (table->attributes[qual->column].key_type != MTS_KEY_IS_OID)
			{
				value->value_type = BSON_TYPE_UTF8;
				value->value.v_utf8.str = (char *) string;
				value->value.v_utf8.len = strlen(string);
				return true;
			}
			/* the text of an ObjectId */
			if (strlen(string) != OID_DIGITS ||
				count_digits(string) != OID_DIGITS)
				return false;
			value->value_type = BSON_TYPE_OID;
			bson_oid_init_from_string(&value->value.v_oid, string);
			return true;
	}
}

/* The text of a value in UTF-8, which is that of the equal value in BSON */
static const char *
text_of(Oid typid, Datum value)
{
	Oid output;
	bool is_varlena;

	if (typid == BOOLOID)
		return DatumGetBool(value) ? "true" : "false";
	getTypeOutputInfo(typid, &output, &is_varlena);
	return mts_document_utf8(OidOutputFunctionCall(output, value));
}

/* The values of n that a key can have, as an array of BSON */
static bson_t *
list_values(const MtsTable *table, const MtsQual *qual, Datum *values, int n)
{
	bson_t *list = mts_document_new();
	bson_value_t value;
	uint32 listed = 0;

	for (int i = 0; i < n; i++)
		if (value_of(table, qual, values[i], &value))
		{
			mts_document_append_item(list, &listed, &value);
			check_list(table, qual, list);
		}
	return list;
}

/* The filter that a key is equal to any of n values */
static MtsFilter *
evaluate_equality(const MtsTable *table, const MtsQual *qual, Datum *values,
				  int n)
{
	bool as_text = table->attributes[qual->column].key_type == MTS_KEY_AS_TEXT;
	bson_t *list = mts_document_new();
	uint32 listed = 0;

	for (int i = 0; i < n; i++)
	{
		const char *text = text_of(qual->right_type, values[i]);

		/* subdocuments of one text can differ, by the types of numbers */
		if (as_text && (*text == '{' || *text == '['))
			return make_filter(MTS_FILTER_TRUE, 0);
		mts_text_append_values(text, list, &listed);
		/* a condition such as ok <> false is an equality, too */
		if (qual->right_type == BOOLOID)
			mts_text_append_values(DatumGetBool(values[i]) ? "1" : "0", list,
								   &listed);
		check_list(table, qual, list);
	}
	return make_equality(table, qual->column, list);
}

/* The filter of a comparison of a key that is not a time */
static MtsFilter *
evaluate_field(const MtsTable *table, const MtsQual *qual,
			   ExprContext *econtext)
{
	bool is_ne = qual->strategy == ROWCOMPARE_NE;
	bool is_array = qual->form == MTS_RIGHT_ARRAY;
	Datum *values;
	bool has_null;
	int n = evaluate_right(qual, econtext, &values, &has_null);
	bson_t *ops = mts_document_new();
	bson_value_t value;

	if (has_null && (!is_array || is_ne))
		return make_filter(MTS_FILTER_FALSE, 0);
	if (is_array && n == 0 && is_ne)
		return make_filter(MTS_FILTER_TRUE, 0); /* for a NULL key, too */
	if (mts_type_is_fraction(qual->right_type))
		return evaluate_fractions(table, qual, values, n);
	if (qual->strategy == BTEqualStrategyNumber)
		return evaluate_equality(table, qual, values, n);
	if (is_array)
		return make_field(table, qual->column,
						  mts_document_make("{$nin: %a}",
											list_values(table, qual, values,
														n)));
	if (table->attributes[qual->column].key_type == MTS_KEY_IS_OID && !is_ne)
		return evaluate_oid_order(table, qual, values[0]);
	if (value_of(table, qual, values[0], &value))
		bson_append_value(ops, operators[qual->strategy], -1, &value);
	return make_field(table, qual->column, ops);
}

/* ---- Keys of slots ------------------------------------------------------ */

/* The filter that a {column} slot has any of some keys */
static MtsFilter *
evaluate_slot(const MtsTable *table, const MtsQual *qual,
			  ExprContext *econtext)
{
	MtsFilter *filter = make_filter(MTS_FILTER_SLOT, 0);
	bson_t *texts = mts_document_new();
	Datum *values;
	bool has_null;
	int n = evaluate_right(qual, econtext, &values, &has_null);

	if (n == 0)
		return make_filter(MTS_FILTER_FALSE, 0);
	for (int i = 0; i < n; i++)
	{
		bson_append_utf8(texts, psprintf("%d", i), -1,
						 text_of(qual->right_type, values[i]), -1);
		CHECK_FOR_INTERRUPTS();
		if (texts->len > MAX_LIST)
			return make_filter(MTS_FILTER_TRUE, 0);
	}
	filter->column = &table->layout.columns[qual->column];
	filter->texts = texts;
	return filter;
}

/* ---- Bounds of values ------------------------------------------------- */

/*
 * Find the stored dates that a time lies between; false if it is infinite.
 * The dates have milliseconds.
 */
static bool
find_dates(const MtsTable *table, const MtsQual *qual, Datum value,
		   bson_value_t *low, bson_value_t *high)
{
	const MtsColumn *column = &table->layout.columns[qual->column];
	MtsTime at = instant_of(qual, value);
	MtsTime from = shift(at, -qual->tolerance);
	MtsTime to = shift(at, qual->tolerance);
	MtsTime stored;
	MtsError error;

	if (from == MTS_TIME_MIN || to == MTS_TIME_MAX ||
		!mts_format_encode(&column->format, &table->layout.clock, from, 0, low,
						   NULL, &stored, &error) ||
		!mts_format_encode(&column->format, &table->layout.clock, to, 0, high,
						   NULL, &stored, &error))
		return false;
	high->value.v_datetime += stored < to;
	return true;
}

/*
 * Find the doubles that a number lies between; false if it is not finite.
 *
 * A stored double is compared as such in MongoDB, and as its shortest decimal
 * in a numeric column; a stored decimal as such in MongoDB, and as the double
 * that it is the shortest decimal of in a column of doubles.  All of these
 * compare alike with a number that is a double and the shortest decimal of
 * this.  Another number may lie between the two, but not beyond the next
 * doubles, since rounding keeps the order.
 */
static bool
find_doubles(Oid typid, Datum value, bson_value_t *low, bson_value_t *high)
{
	Oid output;
	bool is_varlena;
	char *text;
	double d;

	getTypeOutputInfo(typid, &output, &is_varlena);
	/* the text of a float depends on extra_float_digits */
	text = typid == FLOAT4OID   ? mts_number_double_text(DatumGetFloat4(value))
		   : typid == FLOAT8OID ? mts_number_double_text(DatumGetFloat8(value))
								: OidOutputFunctionCall(output, value);
	d = strtod(text, NULL);
	low->value_type = high->value_type = BSON_TYPE_DOUBLE;
	low->value.v_double = high->value.v_double = d;
	if (!isfinite(d))
		return false;
	if (!mts_number_fits_double(d, text, true) ||
		!mts_number_fits_double(d, mts_number_double_text(d), true))
	{
		low->value.v_double = nextafter(d, -INFINITY);
		high->value.v_double = nextafter(d, INFINITY);
	}
	return true;
}

/*
 * Find the values that MongoDB compares as a right-hand side, or the ones that
 * it lies between; false if there are none.
 */
static bool
find_neighbours(const MtsTable *table, const MtsQual *qual, Datum value,
				MtsFilter *filter)
{
	switch (table->attributes[qual->column].key_type)
	{
		case MTS_KEY_IS_DATE:
			return find_dates(table, qual, value, &filter->low, &filter->high);
		case MTS_KEY_IS_STRING:
			(void) value_of(table, qual, value, &filter->low);
			filter->high = filter->low;
			return true;
		default:
			return find_doubles(qual->right_type, value, &filter->low,
								&filter->high);
	}
}

/* The filter of a comparison by the bounds of the values in a bucket */
static MtsFilter *
evaluate_bounded(const MtsTable *table, const MtsQual *qual,
				 ExprContext *econtext)
{
	Datum *values;
	bool has_null;
	int n = evaluate_right(qual, econtext, &values, &has_null);
	MtsFilter *any = make_filter(MTS_FILTER_OR, n);

	if (!mts_enable_preaggregates || n > MAX_FRACTIONS)
		return make_filter(MTS_FILTER_TRUE, 0);
	for (int i = 0; i < n; i++)
	{
		MtsFilter *filter = make_filter(MTS_FILTER_BOUNDED, 0);

		if (!find_neighbours(table, qual, values[i], filter))
			return make_filter(MTS_FILTER_TRUE, 0);
		filter->type =
			mts_type_key_name(table->attributes[qual->column].key_type);
		filter->column = &table->layout.columns[qual->column];
		filter->op = operators[qual->strategy];
		any->args[any->nargs++] = filter;
	}
	if (n == 0)
		return make_filter(MTS_FILTER_FALSE, 0);
	return n == 1 ? any->args[0] : any;
}

/*
 * The least text that is greater than all texts with a prefix: the prefix with
 * its last code point incremented.  NULL if there is none.
 */
static char *
prefix_end(const char *prefix)
{
	unsigned char *end = (unsigned char *) pstrdup(prefix);
	size_t len = strlen(prefix);

	while (len > 0)
	{
		size_t start = len - 1;
		pg_wchar c;

		while (start > 0 && (end[start] & 0xc0) == 0x80)
			start--;
		c = utf8_to_unicode(end + start) + 1;
		if (c == 0xd800)
			c = 0xe000; /* no surrogates in UTF-8 */
		if (c <= 0x10ffff)
		{
			char *result = palloc0(start + 5);

			memcpy(result, end, start);
			unicode_to_utf8(c, (unsigned char *) result + start);
			return result;
		}
		len = start;
	}
	return NULL;
}

static MtsFilter *
evaluate_prefix(const MtsTable *table, const MtsQual *qual)
{
	const char *prefix = mts_document_utf8(
		TextDatumGetCString(castNode(Const, qual->right)->constvalue));
	char *end = prefix_end(prefix);

	return make_field(table, qual->column,
					  end ? mts_document_make("{$gte: %s, $lt: %s}", prefix,
											  end)
						  : mts_document_make("{$gte: %s}", prefix));
}

/* ---- Values ------------------------------------------------------------- */

static MtsFilter *
evaluate_value(const MtsQual *qual, ExprContext *econtext)
{
	bool is_null;
	Datum value = ExecEvalExpr(qual->state, econtext, &is_null);

	return make_filter(!is_null && DatumGetBool(value) ? MTS_FILTER_TRUE
													   : MTS_FILTER_FALSE,
					   0);
}

/* ---- AND and OR ------------------------------------------------------- */

/* Combine two filters on the time into one set of ranges. */
static void
combine(MtsFilter *filter, const MtsFilter *arg, bool all)
{
	MtsRanges result = {0, palloc((filter->ranges.n + arg->ranges.n + 1) *
								  sizeof(MtsRange))};

	if (all)
		mts_ranges_intersect(&filter->ranges, &arg->ranges, &result);
	else
		mts_ranges_unite(&filter->ranges, &arg->ranges, &result);
	filter->ranges = result;
}

static MtsFilter *
evaluate_list(const MtsTable *table, const MtsQual *qual,
			  ExprContext *econtext)
{
	bool all = qual->kind == MTS_QUAL_AND;
	MtsFilter *filter = make_filter(all ? MTS_FILTER_AND : MTS_FILTER_OR,
									list_length(qual->args));
	MtsFilter *times = NULL;
	ListCell *lc;

	foreach (lc, qual->args)
	{
		MtsFilter *arg = mts_qual_evaluate(table, lfirst(lc), econtext);

		if (arg->kind == (all ? MTS_FILTER_FALSE : MTS_FILTER_TRUE))
			return arg;
		if (arg->kind == (all ? MTS_FILTER_TRUE : MTS_FILTER_FALSE))
			continue;
		if (arg->kind == MTS_FILTER_TIME && times)
			combine(times, arg, all);
		else
		{
			if (arg->kind == MTS_FILTER_TIME)
				times = arg;
			filter->args[filter->nargs++] = arg;
		}
	}
	if (filter->nargs == 0)
		return make_filter(all ? MTS_FILTER_TRUE : MTS_FILTER_FALSE, 0);
	return filter->nargs == 1 ? filter->args[0] : filter;
}

/*
 * mts_qual_init
 *		Prepare the right-hand sides of a qual for evaluation.
 */
void
mts_qual_init(MtsQual *qual, PlanState *parent)
{
	ListCell *lc;

	foreach (lc, qual->args)
		mts_qual_init(lfirst(lc), parent);
	if (qual->right)
		qual->state = ExecInitExpr(qual->right, parent);
	if (qual->inverse)
		mts_inverse_init(qual->inverse);
}

/*
 * mts_qual_evaluate
 *		Evaluate a qual to a filter.
 *
 * A qual on the time alone becomes one MTS_FILTER_TIME, by whose ranges the
 * unfolding trims the points.
 */
MtsFilter *
mts_qual_evaluate(const MtsTable *table, const MtsQual *qual,
				  ExprContext *econtext)
{
	switch (qual->kind)
	{
		case MTS_QUAL_AND:
		case MTS_QUAL_OR:
			return evaluate_list(table, qual, econtext);
		case MTS_QUAL_TIME:
		case MTS_QUAL_KEY_TIME:
			return evaluate_times(table, qual, econtext);
		case MTS_QUAL_KEY:
			return evaluate_field(table, qual, econtext);
		case MTS_QUAL_PREFIX:
			return evaluate_prefix(table, qual);
		case MTS_QUAL_SLOT:
			return evaluate_slot(table, qual, econtext);
		case MTS_QUAL_BOUNDED:
			return evaluate_bounded(table, qual, econtext);
		case MTS_QUAL_VALUE:
			return evaluate_value(qual, econtext);
		default:
			return qual->time_only
					   ? evaluate_any_time(table)
					   : evaluate_null(table, qual->column,
									   qual->kind == MTS_QUAL_NULL);
	}
}
