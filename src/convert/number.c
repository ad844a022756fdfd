/*
 * number.c
 *		Convert, add and compare BSON numbers.
 *
 * A number becomes a double, an integer or a numeric of the same value, or the
 * conversion fails.  As a numeric, a double counts as its shortest decimal.  A
 * Boolean that is converted counts as 0 or 1.  Only a sum of doubles, or of a
 * double and an integer, is rounded.
 */
#include "convert/number.h"

#include <math.h>

#include "utils/fmgrprotos.h"

#include "core/bson/print.h"

/* The decimal digits of the longest double */
#define EXACT_DIGITS 767

/* mts_number_from_text: read decimal text as a numeric. */
Numeric
mts_number_from_text(const char *text)
{
	return DatumGetNumeric(
		DirectFunctionCall3(numeric_in, CStringGetDatum(text),
							ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/*
 * mts_number_compare_numerics
 *		Order two numerics as PostgreSQL does: negative, zero or positive.
 *
 * NaN is equal to itself and greater than all numbers.
 */
int
mts_number_compare_numerics(Datum a, Datum b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b));
}

static bool
is_equal(Numeric a, Numeric b)
{
	return mts_number_compare_numerics(NumericGetDatum(a),
									   NumericGetDatum(b)) == 0;
}

/*
 * mts_number_double_text
 *		Return the shortest decimal of a double, palloc'd.
 *
 * PostgreSQL reads it as the same value, NaN and infinities too, but may spell
 * it in another way.
 */
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

/* Powers of ten that divide a short decimal to the nearest double */
static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};

/*
 * Convert a double to a numeric.  A decimal of at most 15 digits that reads
 * back as the double is the shortest one.  Its digits are an exact double, and
 * so is the power of ten, so that their quotient is rounded as it is read.
 */
static Numeric
double_as_numeric(double d)
{
	for (int scale = 0; scale < lengthof(powers); scale++)
	{
		double digits = rint(d * powers[scale]);

		if (!(fabs(digits) < 1e15))
			break;
		if (digits / powers[scale] == d)
			return int64_div_fast_to_numeric((int64) digits, scale);
	}
	return mts_number_from_text(mts_number_double_text(d));
}

/* Read a Decimal128 as a numeric. */
static Numeric
decimal_as_numeric(const MtsElement *element)
{
	char text[BSON_DECIMAL128_STRING];
	int64 digits;
	int scale;

	if (mts_element_short_decimal(element, &digits, &scale))
		return int64_div_fast_to_numeric(digits, scale);
	mts_element_decimal(element, text);
	return mts_number_from_text(text);
}

/*
 * mts_number_as_numeric
 *		Convert a number or a Boolean to a numeric; false for other elements.
 *
 * A double becomes the shortest decimal that reads back as that double.
 */
bool
mts_number_as_numeric(const MtsElement *element, Numeric *n)
{
	int64 integer;

	if (element->type == BSON_TYPE_DOUBLE)
		*n = double_as_numeric(mts_element_double(element));
	else if (element->type == BSON_TYPE_DECIMAL128)
		*n = decimal_as_numeric(element);
	else if (mts_number_as_int64(element, &integer))
		*n = int64_to_numeric(integer);
	else
		return false;
	return true;
}

/*
 * mts_number_fits_double
 *		Tell whether a double holds the number in decimal text without loss.
 *
 * It does if the two are equal, or if the text is the double's shortest
 * decimal.  The latter is not enough for a key, because MongoDB compares keys
 * by their exact values.
 */
bool
mts_number_fits_double(double d, const char *decimal, bool is_key)
{
	Numeric n = mts_number_from_text(decimal);
	char *exact;

	if ((!is_key || !isfinite(d)) &&
		is_equal(mts_number_from_text(mts_number_double_text(d)), n))
		return true;
	if (!isfinite(d))
		return false;
	exact = palloc(EXACT_DIGITS + 32);
	snprintf(exact, EXACT_DIGITS + 32, "%.*e", EXACT_DIGITS, d);
	return is_equal(mts_number_from_text(exact), n);
}

/*
 * mts_number_fits_float
 *		Tell whether the number in decimal text equals a float, or is the
 *		float's shortest decimal.
 */
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
	return is_equal(mts_number_from_text(shortest),
					mts_number_from_text(decimal)) ||
		   mts_number_fits_double(f, decimal, true);
}

/*
 * mts_number_as_double
 *		Convert a number or a Boolean to a double; false if no double holds
 *		it.
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
			/* a double of 2^63 is out of range for the cast back */
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

/* Tell whether a numeric is in the range of int64; NaN is not. */
static bool
is_in_range(Numeric n)
{
	Datum least = NumericGetDatum(int64_to_numeric(PG_INT64_MIN));
	Datum most = NumericGetDatum(int64_to_numeric(PG_INT64_MAX));

	return mts_number_compare_numerics(NumericGetDatum(n), least) >= 0 &&
		   mts_number_compare_numerics(NumericGetDatum(n), most) <= 0;
}

/*
 * mts_number_as_int64
 *		Convert a number or a Boolean to an int64; false if that loses
 *		anything.
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
			numeric = decimal_as_numeric(element);
			if (!is_in_range(numeric))
				return false;
			*n = DatumGetInt64(
				DirectFunctionCall1(numeric_int8, NumericGetDatum(numeric)));
			return is_equal(numeric, int64_to_numeric(*n));
		default:
			return mts_element_integer(element, 0, n);
	}
}

/* ---- Values ----------------------------------------------------------- */

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

/* mts_number_is_number: tell whether a value is a number. */
bool
mts_number_is_number(const bson_value_t *value)
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
 *		Add two numbers; an error if no BSON number holds the sum.
 *
 * Integers give an integer if the sum fits 64 bits.  A double is added to a
 * double or an integer as doubles are, with rounding.  All others are added as
 * numerics, and give a Decimal128.
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

/*
 * mts_number_compare_values
 *		Order two BSON numbers as PostgreSQL does.
 */
int
mts_number_compare_values(const bson_value_t *a, const bson_value_t *b)
{
	if (a->value_type == BSON_TYPE_DOUBLE &&
		b->value_type == BSON_TYPE_DOUBLE && !isnan(a->value.v_double) &&
		!isnan(b->value.v_double))
		return (a->value.v_double > b->value.v_double) -
			   (a->value.v_double < b->value.v_double);
	return mts_number_compare_numerics(NumericGetDatum(as_numeric(a)),
									   NumericGetDatum(as_numeric(b)));
}
