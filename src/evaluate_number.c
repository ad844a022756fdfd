/*
 * evaluate_number.c
 *		Compare keys with fractions and numerics as PostgreSQL does.
 *
 * PostgreSQL's NaN is equal to itself and greater than all numbers; MongoDB's
 * is less than they are, where it compares at all.
 */
#include "pushdown_private.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "document.h"

/* More fractions than this are left to PostgreSQL */
#define MAX_FRACTIONS 100

/* Doubles, by which numerics are compared, hold every integer up to this */
#define MAX_EXACT_INTEGER INT64CONST(9007199254740992)

/* A numeric that compares in MongoDB as in PostgreSQL: a small integer */
static bool
numeric_as_int64(Numeric numeric, int64 *n)
{
	Datum value = NumericGetDatum(numeric);
	double d;

	if (numeric_is_nan(numeric) || numeric_is_inf(numeric))
		return false;
	d = strtod(DatumGetCString(DirectFunctionCall1(numeric_out, value)), NULL);
	if (!(d > -MAX_EXACT_INTEGER && d < MAX_EXACT_INTEGER) || d != rint(d))
		return false;
	*n = (int64) d;
	return DatumGetBool(
		DirectFunctionCall2(numeric_eq, value,
							NumericGetDatum(int64_to_numeric(*n))));
}

static MtsCond *
group(MtsCondKind kind, int room)
{
	MtsCond *cond = mts_evaluate_make(kind);

	cond->args = palloc(room * sizeof(MtsCond *));
	return cond;
}

static MtsCond *
either(MtsCond *a, MtsCond *b)
{
	MtsCond *cond = group(MTS_COND_OR, 2);

	cond->args[cond->nargs++] = a;
	cond->args[cond->nargs++] = b;
	return cond;
}

/* {field: {op: d}} and, where a NaN can be stored, what becomes of it */
static MtsCond *
evaluate_double(const MtsTable *table, const MtsTest *test, double d)
{
	static const char *const names[] = {NULL,  "$lt",  "$lte",
										"$eq", "$gte", "$gt"};
	int strategy = test->strategy;
	bson_t *ops = mts_document_new();
	bson_t *nan = mts_document_new();
	MtsCond *cond = mts_evaluate_field_cond(table, test->column, ops);

	bson_append_double(nan, "$eq", -1, NAN);
	if (!isnan(d) && (strategy == BTGreaterStrategyNumber ||
					  strategy == BTGreaterEqualStrategyNumber))
	{
		/* PostgreSQL's NaN is greater than all numbers */
		bson_append_double(ops, names[strategy], -1, d);
		return either(cond, mts_evaluate_field_cond(table, test->column, nan));
	}
	if (!isnan(d) && (strategy == BTLessStrategyNumber ||
					  strategy == BTLessEqualStrategyNumber))
	{
		/* MongoDB's is less; that < leaves it out is said nowhere */
		bson_append_double(ops, names[strategy], -1, d);
		bson_append_double(ops, "$gte", -1, -INFINITY);
		return cond;
	}
	if (strategy == BTEqualStrategyNumber && !isnan(d) && d != rint(d))
	{
		/*
		 * The same as $eq, but no server makes $in of it, within which not
		 * every one finds fractions that are stored as another type.
		 */
		bson_append_double(ops, "$gte", -1, d);
		bson_append_double(ops, "$lte", -1, d);
		return cond;
	}
	switch (strategy)
	{
		case BTGreaterStrategyNumber:
			return mts_evaluate_make(MTS_COND_FALSE);
		case BTLessStrategyNumber: /* than NaN: all other numbers */
		case ROWCOMPARE_NE:
			bson_append_double(ops, "$ne", -1, d);
			mts_evaluate_append_type(table, test->column, ops);
			return cond;
		case BTLessEqualStrategyNumber:
			mts_evaluate_append_type(table, test->column, ops);
			return cond;
		default:
			bson_append_double(ops, "$eq", -1, d);
			return cond;
	}
}

/* Is the value of this test one that can be a fraction? */
bool
mts_evaluate_is_fraction(const MtsTest *test)
{
	return test->right_type == FLOAT4OID || test->right_type == FLOAT8OID ||
		   test->right_type == NUMERICOID;
}

/* A value as a double; false when MongoDB would compare it differently. */
static bool
value_as_double(const MtsTest *test, Datum value, double *d)
{
	int64 n;

	switch (test->right_type)
	{
		case FLOAT4OID:
			*d = DatumGetFloat4(value);
			return true;
		case FLOAT8OID:
			*d = DatumGetFloat8(value);
			return true;
		default:
			if (!numeric_as_int64(DatumGetNumeric(value), &n))
				return false;
			*d = (double) n;
			return true;
	}
}

/*
 * mts_evaluate_fractions
 *		The condition of a test on n values, any of them or, for <>, all.
 *
 * Each is a term of its own; see evaluate_double.
 */
MtsCond *
mts_evaluate_fractions(const MtsTable *table, const MtsTest *test,
					   Datum *values, int n)
{
	MtsCond *cond =
		group(test->strategy == ROWCOMPARE_NE ? MTS_COND_AND : MTS_COND_OR, n);
	double d;

	if (n > MAX_FRACTIONS)
		return mts_evaluate_make(MTS_COND_TRUE);
	for (int i = 0; i < n; i++)
	{
		if (!value_as_double(test, values[i], &d))
			return mts_evaluate_make(MTS_COND_TRUE);
		cond->args[cond->nargs++] = evaluate_double(table, test, d);
	}
	if (n == 0)
		return mts_evaluate_make(MTS_COND_FALSE);
	return n == 1 ? cond->args[0] : cond;
}
