/*
 * comparison.c
 *		Does comparing a column mean the same in MongoDB as in PostgreSQL?
 *
 * It knows operators, types and collations; pushdown.c knows expressions.
 */
#include "pushdown_private.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"

/*
 * How far the instant of a local time can be from the same time in UTC, and
 * a day's cast from the times that it holds, with room to spare.
 */
#define INEXACT_SLACK (2 * USECS_PER_DAY)

/* A test of a kind, with nothing else set */
MtsTest *
mts_comparison_make(MtsTestKind kind, bool exact)
{
	MtsTest *test = palloc0(sizeof(MtsTest));

	test->kind = kind;
	test->exact = exact;
	return test;
}

/* The strategy of an operator in one B-tree family, or 0. */
static int
strategy_in(Oid opno, Oid family)
{
	ListCell *lc;

	foreach (lc, mts_op_interpretation(opno))
	{
		MtsOpInterpretation *i = lfirst(lc);

		if (i->opfamily_id == family)
			return mts_op_strategy(i);
	}
	return 0;
}

static int
negated(int strategy)
{
	switch (strategy)
	{
		case BTLessStrategyNumber:
			return BTGreaterEqualStrategyNumber;
		case BTLessEqualStrategyNumber:
			return BTGreaterStrategyNumber;
		case BTEqualStrategyNumber:
			return ROWCOMPARE_NE;
		case BTGreaterEqualStrategyNumber:
			return BTLessStrategyNumber;
		case BTGreaterStrategyNumber:
			return BTLessEqualStrategyNumber;
		default:
			return BTEqualStrategyNumber;
	}
}

/* Do two text operators of this collation compare as MongoDB does? */
bool
mts_comparison_collation_fits(Oid collation, int strategy)
{
	if (strategy == BTEqualStrategyNumber || strategy == ROWCOMPARE_NE)
		return !OidIsValid(collation) ||
			   get_collation_isdeterministic(collation);
	/* MongoDB orders text by its bytes in UTF-8 */
	return OidIsValid(collation) && mts_collation_is_c(collation) &&
		   GetDatabaseEncoding() == PG_UTF8;
}

/*
 * Does comparing a time column of this table with a value of type `right` by
 * its instants mean what PostgreSQL's operator means?  Not where the order of
 * local times is not that of instants.
 */
static bool
times_compare_exactly(const MtsTable *table, const MtsAttribute *attribute,
					  Oid right)
{
	if (attribute->typid == TIMESTAMPTZOID)
		return true;
	return table->is_utc && right != TIMESTAMPTZOID;
}

/* A comparison with a time: of the points, or of another of the bucket's. */
static MtsTest *
time_test(const MtsTable *table, int column, int64 away, int strategy,
		  Oid left, Oid right)
{
	const MtsAttribute *attribute = &table->attributes[column];
	bool of_points = column == table->layout.time_column;
	bool exact =
		away == MTS_ITSELF && times_compare_exactly(table, attribute, right);
	MtsTest *test;

	if (strategy == ROWCOMPARE_NE && !exact)
		return NULL;
	if (!of_points)
	{
		if (attribute->key_type != MTS_KEY_IS_DATE &&
			attribute->key_type != MTS_KEY_IS_TIME)
			return NULL;
		/* numbers are bounded by whole units only */
		if (attribute->key_type != MTS_KEY_IS_DATE)
		{
			if (strategy == ROWCOMPARE_NE)
				return NULL;
			exact = false;
		}
	}
	test = mts_comparison_make(of_points ? MTS_TEST_POINTS : MTS_TEST_TIMES,
							   exact);
	test->left_type = left;
	if (!exact)
		test->slack = INEXACT_SLACK + Max(away, 0) * USECS_PER_SEC;
	return test;
}

static bool
is_number_type(Oid typid)
{
	return typid == INT2OID || typid == INT4OID || typid == INT8OID ||
		   typid == FLOAT4OID || typid == FLOAT8OID || typid == NUMERICOID;
}

/*
 * A comparison of a key with a value of its own type family.  NULL where
 * MongoDB's order or equality is not PostgreSQL's.
 */
static MtsTest *
key_test(const MtsAttribute *attribute, int strategy, Oid right, Oid collation)
{
	bool is_equality =
		strategy == BTEqualStrategyNumber || strategy == ROWCOMPARE_NE;
	bool is_text =
		(attribute->typid == TEXTOID || attribute->typid == VARCHAROID) &&
		(right == TEXTOID || right == VARCHAROID);
	bool is_bool = attribute->typid == BOOLOID;

	switch (attribute->key_type)
	{
		case MTS_KEY_IS_NUMBER:
			if (!is_number_type(attribute->typid))
				return NULL;
			/* which numerics MongoDB compares alike shows at run time */
			if (attribute->typid == NUMERICOID)
				return strategy == ROWCOMPARE_NE
						   ? NULL
						   : mts_comparison_make(MTS_TEST_FIELD, false);
			return mts_comparison_make(MTS_TEST_FIELD, true);
		case MTS_KEY_IS_STRING:
			return is_text &&
						   mts_comparison_collation_fits(collation, strategy)
					   ? mts_comparison_make(MTS_TEST_FIELD, true)
					   : NULL;
		case MTS_KEY_IS_OID:
			return is_text && is_equality &&
						   mts_comparison_collation_fits(collation, strategy)
					   ? mts_comparison_make(MTS_TEST_FIELD, true)
					   : NULL;
		case MTS_KEY_IS_BOOL:
			return is_bool && is_equality
					   ? mts_comparison_make(MTS_TEST_FIELD, true)
					   : NULL;
		default:
			return NULL;
	}
}

/* Is this column the bucket's, and may a condition on it go down? */
bool
mts_comparison_is_key(const MtsTable *table, int column)
{
	return column >= 0 && column != table->layout.time_column &&
		   table->layout.columns[column].container < 0 &&
		   table->layout.columns[column].role != MTS_ROLE_SLOT;
}

/*
 * mts_comparison_test
 *		The test of a column by an operator with something constant; it still
 *		lacks its right-hand side.
 *
 * What is compared may be up to `away` seconds from the column's time.  want
 * is false for the negation.  NULL when MongoDB can't decide it.
 */
MtsTest *
mts_comparison_test(const MtsTable *table, int column, int64 away,
					Oid left_type, Oid opno, Oid right_type, Oid collation,
					bool want)
{
	const MtsAttribute *attribute = &table->attributes[column];
	int strategy;
	MtsTest *test;

	if (column < 0 || (column != table->layout.time_column &&
					   !mts_comparison_is_key(table, column)))
		return NULL;
	strategy = strategy_in(opno, lookup_type_cache(attribute->typid,
												   TYPECACHE_BTREE_OPFAMILY)
									 ->btree_opf);
	if (strategy == 0)
		return NULL;
	if (!want)
		strategy = negated(strategy);
	if (mts_table_is_time_type(attribute->typid))
		test = time_test(table, column, away, strategy, left_type, right_type);
	else
		test = key_test(attribute, strategy, right_type, collation);
	if (test)
	{
		test->column = column;
		test->strategy = strategy;
		test->right_type = right_type;
	}
	return test;
}

/*
 * mts_comparison_epoch
 *		The test of extract(epoch FROM time) by an operator with a numeric, which
 *		has the microseconds, too; it still lacks its right-hand side.
 *
 * NULL when it is not the points' time, or local times are not instants.
 */
MtsTest *
mts_comparison_epoch(const MtsTable *table, int column, Oid opno, bool want)
{
	int strategy =
		strategy_in(opno,
					lookup_type_cache(NUMERICOID, TYPECACHE_BTREE_OPFAMILY)
						->btree_opf);
	MtsTest *test;

	if (strategy == 0 || column < 0 || column != table->layout.time_column ||
		(table->attributes[column].typid != TIMESTAMPTZOID && !table->is_utc))
		return NULL;
	test = mts_comparison_make(MTS_TEST_POINTS, true);
	test->column = column;
	test->strategy = want ? strategy : negated(strategy);
	test->right_type = NUMERICOID;
	test->is_epoch = true;
	return test;
}

/*
 * The text before the one "%" that ends a LIKE pattern, or, in one without
 * wildcards, all of it.  NULL for other patterns.
 */
static char *
like_prefix(const char *pattern, bool *is_whole)
{
	char *prefix = palloc(strlen(pattern) + 1);
	char *out = prefix;

	*is_whole = true;
	for (; *pattern; pattern++)
	{
		if (*pattern == '_')
			return NULL;
		if (*pattern == '%')
		{
			*is_whole = false;
			if (pattern[strspn(pattern, "%")] != '\0')
				return NULL;
			break;
		}
		if (*pattern == '\\' && *++pattern == '\0')
			return NULL;
		*out++ = *pattern;
	}
	*out = '\0';
	return *is_whole || out > prefix ? prefix : NULL;
}

/*
 * mts_comparison_like
 *		The test of key LIKE 'prefix%', of a column that may be -1; or NULL.
 */
MtsTest *
mts_comparison_like(const MtsTable *table, int column, const OpExpr *op)
{
	Const *pattern = lsecond(op->args);
	MtsTest *test;
	char *prefix;
	bool is_whole;

	if (!mts_comparison_is_key(table, column) ||
		table->attributes[column].key_type != MTS_KEY_IS_STRING ||
		!IsA(pattern, Const) || pattern->constisnull ||
		!mts_comparison_collation_fits(op->inputcollid, BTEqualStrategyNumber))
		return NULL;
	prefix = like_prefix(TextDatumGetCString(pattern->constvalue), &is_whole);
	if (!prefix)
		return NULL;
	test =
		mts_comparison_make(is_whole ? MTS_TEST_FIELD : MTS_TEST_PREFIX, true);
	test->column = column;
	test->strategy = BTEqualStrategyNumber;
	test->right_type = TEXTOID;
	test->right =
		(Expr *) makeConst(TEXTOID, -1, op->inputcollid, -1,
						   CStringGetTextDatum(prefix), false, false);
	return test;
}
