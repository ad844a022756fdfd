/*
 * evaluate_time.c
 *		Compute right-hand sides, and make ranges of those that are times.
 *
 * Infinite times compare as PostgreSQL's do; no stored time is infinite.
 */
#include "pushdown_private.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

/* Seconds from 1970 to 2000, from which times are counted */
#define EPOCH \
	(((int64) POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* A condition without anything in it */
MtsCond *
mts_evaluate_make(MtsCondKind kind)
{
	MtsCond *cond = palloc0(sizeof(MtsCond));

	cond->kind = kind;
	return cond;
}

/*
 * mts_evaluate_right
 *		A right-hand side's values; a scalar is one.
 *
 * *has_null tells of NULLs, which are left out.  Returns how many there are.
 */
int
mts_evaluate_right(const MtsTest *test, ExprContext *econtext, Datum **values,
				   bool *has_null)
{
	bool isnull;
	Datum value = ExecEvalExpr(test->state, econtext, &isnull);
	ArrayType *array;
	int16 len;
	bool byval;
	char align;
	bool *nulls;
	int n, kept = 0;

	*has_null = isnull;
	if (isnull)
		return 0;
	if (!test->is_array)
	{
		*values = palloc(sizeof(Datum));
		(*values)[0] = value;
		return 1;
	}
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
 * The instant that a compared value is: what the operators make of it.  One
 * that no timestamp holds lies behind all of them, but not at infinity: what
 * is near a point's time, such as a date, may lie behind them, too.
 */
static MtsTime
instant_of(const MtsTest *test, Datum value)
{
	int overflow = 0;
	MtsTime t;

	if (test->right_type == DATEOID)
	{
		DateADT date = DatumGetDateADT(value);

		if (DATE_IS_NOBEGIN(date))
			return MTS_TIME_MIN;
		if (DATE_IS_NOEND(date))
			return MTS_TIME_MAX;
		t = test->left_type == TIMESTAMPTZOID
				? date2timestamptz_opt_overflow(date, &overflow)
				: date2timestamp_opt_overflow(date, &overflow);
	}
	else if (test->right_type == TIMESTAMPOID &&
			 test->left_type == TIMESTAMPTZOID)
		t = timestamp2timestamptz_opt_overflow(DatumGetTimestamp(value),
											   &overflow);
	else
		t = DatumGetTimestamp(value);
	if (overflow != 0)
		return overflow < 0 ? MIN_TIMESTAMP - 1 : END_TIMESTAMP;
	return t;
}

static MtsTime
shift(MtsTime t, int64 by)
{
	MtsTime result;

	if (t == MTS_TIME_MIN || t == MTS_TIME_MAX)
		return t;
	if (pg_add_s64_overflow(t, by, &result))
		return by < 0 ? MTS_TIME_MIN : MTS_TIME_MAX;
	return result;
}

/*
 * The range of instants t with "t <strategy> at"; data has no infinite times.
 */
static MtsRange
range_of(int strategy, MtsTime at, int64 slack)
{
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRange none = {0, 0};

	if (at == MTS_TIME_MIN || at == MTS_TIME_MAX)
	{
		bool is_less = strategy == BTLessStrategyNumber ||
					   strategy == BTLessEqualStrategyNumber;

		if (strategy == BTEqualStrategyNumber || strategy == ROWCOMPARE_NE)
			return none;
		return is_less == (at == MTS_TIME_MAX) ? all : none;
	}
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return (MtsRange){MTS_TIME_MIN, shift(at, slack)};
		case BTLessEqualStrategyNumber:
			return (MtsRange){MTS_TIME_MIN, shift(at, slack + 1)};
		case BTGreaterEqualStrategyNumber:
			return (MtsRange){shift(at, -slack), MTS_TIME_MAX};
		case BTGreaterStrategyNumber:
			return (MtsRange){shift(at, 1 - slack), MTS_TIME_MAX};
		default:
			/* also of <>, whose range is the complement */
			return (MtsRange){shift(at, -slack), shift(at, slack + 1)};
	}
}

static Datum
numeric_of(int64 n)
{
	return NumericGetDatum(int64_to_numeric(n));
}

static bool
is_so(PGFunction compare, Datum a, Datum b)
{
	return DatumGetBool(DirectFunctionCall2(compare, a, b));
}

/*
 * The range of instants that are so many seconds from 1970, or more or less.
 * Between two microseconds there is no time.
 */
static MtsRange
range_of_epoch(int strategy, Datum seconds)
{
	bool is_less = strategy == BTLessStrategyNumber ||
				   strategy == BTLessEqualStrategyNumber;
	Datum exact, floor;

	exact = DirectFunctionCall2(numeric_mul,
								DirectFunctionCall2(numeric_sub, seconds,
													numeric_of(EPOCH)),
								numeric_of(USECS_PER_SEC));
	/* NaN is greater than all numbers */
	if (is_so(numeric_ge, exact, numeric_of(MTS_TIME_MAX)))
		return range_of(strategy, MTS_TIME_MAX, 0);
	if (is_so(numeric_le, exact, numeric_of(MTS_TIME_MIN)))
		return range_of(strategy, MTS_TIME_MIN, 0);
	floor = DirectFunctionCall1(numeric_floor, exact);
	if (!is_so(numeric_eq, exact, floor))
	{
		if (strategy == BTEqualStrategyNumber || strategy == ROWCOMPARE_NE)
			return (MtsRange){0, 0};
		strategy =
			is_less ? BTLessEqualStrategyNumber : BTGreaterStrategyNumber;
	}
	return range_of(strategy,
					DatumGetInt64(DirectFunctionCall1(numeric_int8, floor)),
					0);
}

static int
compare_ranges(const void *a, const void *b)
{
	const MtsRange *x = a;
	const MtsRange *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/*
 * mts_evaluate_times
 *		The condition of a test on a time: the ranges that it admits.
 */
MtsCond *
mts_evaluate_times(const MtsTable *table, const MtsTest *test,
				   ExprContext *econtext)
{
	MtsCond *cond = mts_evaluate_make(
		test->kind == MTS_TEST_POINTS ? MTS_COND_POINTS : MTS_COND_TIMES);
	Datum *values;
	bool has_null;
	int n = mts_evaluate_right(test, econtext, &values, &has_null);
	bool is_ne = test->strategy == ROWCOMPARE_NE;
	MtsRange *sorted = palloc((n + 1) * sizeof(MtsRange));

	cond->column = &table->layout.columns[test->column];
	cond->ranges.items = palloc((n + 1) * sizeof(MtsRange));
	if (is_ne && has_null)
		return cond;
	if (is_ne && n == 0)
		return mts_evaluate_make(MTS_COND_TRUE); /* of a NULL time, too */
	for (int i = 0; i < n; i++)
		sorted[i] = test->is_epoch
						? range_of_epoch(test->strategy, values[i])
						: range_of(test->strategy, instant_of(test, values[i]),
								   test->slack);
	qsort(sorted, n, sizeof(MtsRange), compare_ranges);
	for (int i = 0; i < n; i++)
		mts_ranges_add(&cond->ranges, sorted[i].from, sorted[i].to);
	if (is_ne)
	{
		MtsRanges others = {0, palloc((n + 2) * sizeof(MtsRange))};

		mts_ranges_complement(&cond->ranges, &others);
		cond->ranges = others;
	}
	if (cond->kind == MTS_COND_TIMES && mts_ranges_are_all(&cond->ranges))
		return mts_evaluate_not_null(table, test->column);
	return cond;
}
