/*
 * number.c
 *		Exact conversions of BSON's numbers, their sums and their order.
 *
 * A number becomes a double, an integer or a numeric that holds it, or none.
 */
#include "convert/number.h"

#include <math.h>

#include "utils/fmgrprotos.h"

#include "core/bson/print.h"

/* The digits of the longest double, written exactly */
#define EXACT_DIGITS 767

/* A decimal as a numeric */
Numeric
mts_number_from_text(const char *text)
{
	return DatumGetNumeric(
		DirectFunctionCall3(numeric_in, CStringGetDatum(text),
							ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* Are two numerics the same number? */
bool
mts_number_equal(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(a),
											NumericGetDatum(b)));
}

/* A double as its shortest decimal, palloc'd, in PostgreSQL's spelling. */
char *
mts_number_double_text(double d)
{
	char *text = palloc(32);

	if (isnan(d))
		return strcpy(text, "NaN");
	if (isinf(d))
		return strcpy(text, d > 0 ? "Infinity" : "-Infinity");
	mts_print_double(d, text, 32);
	return text;
}

/*
 * mts_number_as_numeric
 *		A number as a numeric; false when it is no number.
 *
 * A double becomes the shortest decimal that reads back as it, which loses
 * nothing.
 */
bool
mts_number_as_numeric(const MtsElement *element, Numeric *n)
{
	char text[BSON_DECIMAL128_STRING];
	int64 integer;

	if (element->type == BSON_TYPE_DOUBLE)
		*n = mts_number_from_text(
			mts_number_double_text(mts_element_double(element)));
	else if (element->type == BSON_TYPE_DECIMAL128)
	{
		mts_element_decimal(element, text);
		*n = mts_number_from_text(text);
	}
	else if (mts_number_as_int64(element, &integer))
		*n = int64_to_numeric(integer);
	else
		return false;
	return true;
}

/*
 * mts_number_fits_double
 *		Does a double hold this decimal?
 *
 * Only when the two are equal; or, unless it is a key, which MongoDB compares,
 * when its shortest decimal is the same.
 */
bool
mts_number_fits_double(double d, const char *decimal, bool is_key)
{
	Numeric n = mts_number_from_text(decimal);
	char *exact;

	if ((!is_key || !isfinite(d)) &&
		mts_number_equal(mts_number_from_text(mts_number_double_text(d)), n))
		return true;
	if (!isfinite(d))
		return false;
	exact = palloc(EXACT_DIGITS + 32);
	snprintf(exact, EXACT_DIGITS + 32, "%.*e", EXACT_DIGITS, d);
	return mts_number_equal(mts_number_from_text(exact), n);
}

/* Does a float hold this decimal: is it its shortest one, or equal? */
bool
mts_number_fits_float(float f, const char *decimal)
{
	char shortest[32];
	int digits = 5;

	if (!isfinite(f))
		return mts_number_fits_double(f, decimal, false);
	do
		snprintf(shortest, sizeof(shortest), "%.*g", ++digits, f);
	while (digits < 9 && strtof(shortest, NULL) != f);
	return mts_number_equal(mts_number_from_text(shortest),
							mts_number_from_text(decimal)) ||
		   mts_number_fits_double(f, decimal, true);
}

/*
 * mts_number_as_double
 *		A number as a double that holds it; false when none does.
 */
bool
mts_number_as_double(const MtsElement *element, bool is_key, double *d)
{
	char text[BSON_DECIMAL128_STRING];

	switch (element->type)
	{
		case BSON_TYPE_BOOL:
			*d = element->value[0] != 0;
			return true;
		case BSON_TYPE_INT64:
			*d = (double) mts_element_int64(element);
			/* 2^63 itself is no int64 */
			return *d < 9223372036854775808.0 &&
				   (int64) *d == mts_element_int64(element);
		case BSON_TYPE_DECIMAL128:
			mts_element_decimal(element, text);
			*d = strtod(text, NULL);
			return mts_number_fits_double(*d, text, is_key);
		default:
			return mts_element_number(element, d);
	}
}

/* NaN and the infinities are not. */
static bool
is_between(Numeric n, int64 low, int64 high)
{
	return DatumGetBool(
			   DirectFunctionCall2(numeric_ge, NumericGetDatum(n),
								   NumericGetDatum(int64_to_numeric(low)))) &&
		   DatumGetBool(
			   DirectFunctionCall2(numeric_le, NumericGetDatum(n),
								   NumericGetDatum(int64_to_numeric(high))));
}

/*
 * mts_number_as_int64
 *		A number as an integer; false when it is none or too large.
 */
bool
mts_number_as_int64(const MtsElement *element, int64 *n)
{
	Numeric numeric;
	double d;

	switch (element->type)
	{
		case BSON_TYPE_BOOL:
			*n = element->value[0] != 0;
			return true;
		case BSON_TYPE_DOUBLE:
			d = mts_element_double(element);
			if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) ||
				d != rint(d))
				return false;
			*n = (int64) d;
			return true;
		case BSON_TYPE_DECIMAL128:
			if (!mts_number_as_numeric(element, &numeric) ||
				!is_between(numeric, PG_INT64_MIN, PG_INT64_MAX))
				return false;
			*n = DatumGetInt64(
				DirectFunctionCall1(numeric_int8, NumericGetDatum(numeric)));
			return mts_number_equal(numeric, int64_to_numeric(*n));
		default:
			return mts_element_integer(element, 0, n);
	}
}

/* ---- Sums and order ------------------------------------------------------- */

static bool
as_integer(const bson_value_t *value, int64 *n)
{
	if (value->value_type == BSON_TYPE_INT32)
		*n = value->value.v_int32;
	else if (value->value_type == BSON_TYPE_INT64)
		*n = value->value.v_int64;
	else
		return false;
	return true;
}

/* Is a value a number? */
bool
mts_number_is_value(const bson_value_t *value)
{
	return value->value_type == BSON_TYPE_INT32 ||
		   value->value_type == BSON_TYPE_INT64 ||
		   value->value_type == BSON_TYPE_DOUBLE ||
		   value->value_type == BSON_TYPE_DECIMAL128;
}

static Numeric
as_numeric(const bson_value_t *value)
{
	char text[BSON_DECIMAL128_STRING];
	int64 n;

	if (as_integer(value, &n))
		return int64_to_numeric(n);
	if (value->value_type == BSON_TYPE_DOUBLE)
		return mts_number_from_text(
			mts_number_double_text(value->value.v_double));
	bson_decimal128_to_string(&value->value.v_decimal128, text);
	return mts_number_from_text(text);
}

/*
 * mts_number_add
 *		The sum of two numbers; an error when no BSON number holds it.
 *
 * Integers stay integers as long as 64 bits hold them; doubles are added as
 * doubles; whatever else as PostgreSQL's numerics.
 */
bson_value_t
mts_number_add(const bson_value_t *a, const bson_value_t *b)
{
	bson_value_t sum = {.value_type = BSON_TYPE_DOUBLE};
	int64 m = 0, n = 0;
	bool a_is_integer = as_integer(a, &m);
	bool b_is_integer = as_integer(b, &n);
	Datum total;

	if (a_is_integer && b_is_integer)
	{
		sum.value_type = BSON_TYPE_INT64;
		if (!__builtin_add_overflow(m, n, &sum.value.v_int64))
			return sum;
	}
	else if (a->value_type != BSON_TYPE_DECIMAL128 &&
			 b->value_type != BSON_TYPE_DECIMAL128)
	{
		sum.value.v_double = (a_is_integer ? (double) m : a->value.v_double) +
							 (b_is_integer ? (double) n : b->value.v_double);
		return sum;
	}
	total = DirectFunctionCall2(numeric_add, NumericGetDatum(as_numeric(a)),
								NumericGetDatum(as_numeric(b)));
	sum.value_type = BSON_TYPE_DECIMAL128;
	if (!bson_decimal128_from_string(DatumGetCString(
										 DirectFunctionCall1(numeric_out,
															 total)),
									 &sum.value.v_decimal128))
		ereport(
			ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg(
				 "cannot represent the sum of the values as a Decimal128")));
	return sum;
}

/* Order two numbers as PostgreSQL does: negative, zero or positive. */
int
mts_number_compare(const bson_value_t *a, const bson_value_t *b)
{
	if (a->value_type == BSON_TYPE_DOUBLE &&
		b->value_type == BSON_TYPE_DOUBLE && !isnan(a->value.v_double) &&
		!isnan(b->value.v_double))
		return (a->value.v_double > b->value.v_double) -
			   (a->value.v_double < b->value.v_double);
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp,
											 NumericGetDatum(as_numeric(a)),
											 NumericGetDatum(as_numeric(b))));
}
