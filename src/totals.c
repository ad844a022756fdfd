/*
 * totals.c
 *		Add and compare BSON numbers of any type, as MongoDB would.
 *
 * Integers stay integers as long as 64 bits hold them; doubles are added as
 * doubles; whatever else as PostgreSQL's numerics.
 */
#include "totals.h"

#include <math.h>

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "number.h"

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

bool
mts_totals_is_number(const bson_value_t *value)
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
	if (value->value_type == BSON_TYPE_DECIMAL128)
		bson_decimal128_to_string(&value->value.v_decimal128, text);
	return DatumGetNumeric(DirectFunctionCall3(
		numeric_in,
		CStringGetDatum(value->value_type == BSON_TYPE_DECIMAL128
							? text
							: mts_number_double_text(value->value.v_double)),
		ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* The sum of two numbers; an error when no BSON number holds it. */
bson_value_t
mts_totals_add(const bson_value_t *a, const bson_value_t *b)
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
mts_totals_compare(const bson_value_t *a, const bson_value_t *b)
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
