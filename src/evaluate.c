/*
 * evaluate.c
 *		Make conditions of tests whose right-hand sides have values now.
 *
 * A NULL on the right makes a comparison neither true nor false: no row.  The
 * conditions live in the current memory context.  Times are evaluated in
 * evaluate_time.c, fractions in evaluate_number.c.
 */
#include "pushdown.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "document.h"
#include "pushdown_private.h"

/* A condition on a field of the buckets: ops is {"$gte": value, ..} */
MtsCond *
mts_evaluate_field_cond(const MtsTable *table, int column, const bson_t *ops)
{
	MtsCond *cond = mts_evaluate_make(MTS_COND_FIELD);

	cond->column = &table->layout.columns[column];
	cond->ops = ops;
	return cond;
}

/* {$type: what the key holds}, beside operators that other types satisfy */
void
mts_evaluate_append_type(const MtsTable *table, int column, bson_t *ops)
{
	const char *type = mts_key_type_name(table->attributes[column].key_type);

	if (type)
		bson_append_utf8(ops, "$type", -1, type, -1);
	else
		bson_append_null(ops, "$ne", -1);
}

static void
append_integer(bson_t *doc, const char *key, int64 n)
{
	if (n >= PG_INT32_MIN && n <= PG_INT32_MAX)
		bson_append_int32(doc, key, -1, (int32) n);
	else
		bson_append_int64(doc, key, -1, n);
}

static void
append_text(bson_t *doc, const char *key, const text *value)
{
	char *utf8 = pg_server_to_any(text_to_cstring(value),
								  VARSIZE_ANY_EXHDR(value), PG_UTF8);

	bson_append_utf8(doc, key, -1, utf8, -1);
}

/* Is this how ObjectIds are written as text? */
static bool
is_oid_text(const char *hex)
{
	return strlen(hex) == 24 && strspn(hex, "0123456789abcdef") == 24;
}

/*
 * Append a value as BSON.  False when no stored value can be equal to it.
 */
static bool
append_value(const MtsTable *table, const MtsTest *test, Datum value,
			 const char *key, bson_t *doc)
{
	bson_oid_t oid;
	char *hex;

	switch (test->right_type)
	{
		case INT2OID:
			append_integer(doc, key, DatumGetInt16(value));
			return true;
		case INT4OID:
			append_integer(doc, key, DatumGetInt32(value));
			return true;
		case INT8OID:
			append_integer(doc, key, DatumGetInt64(value));
			return true;
		case BOOLOID:
			bson_append_bool(doc, key, -1, DatumGetBool(value));
			return true;
		default:
			if (table->attributes[test->column].key_type != MTS_KEY_IS_OID)
			{
				append_text(doc, key, DatumGetTextPP(value));
				return true;
			}
			hex = TextDatumGetCString(value);
			if (!is_oid_text(hex))
				return false;
			bson_oid_init_from_string(&oid, hex);
			bson_append_oid(doc, key, -1, &oid);
			return true;
	}
}

/* $in and $nin */
static MtsCond *
evaluate_list(const MtsTable *table, const MtsTest *test, Datum *values, int n)
{
	bool is_ne = test->strategy == ROWCOMPARE_NE;
	bson_t *ops = mts_document_new();
	bson_t *list = mts_document_new();
	int listed = 0;

	for (int i = 0; i < n; i++)
		if (append_value(table, test, values[i], psprintf("%d", listed), list))
			listed++;
	if (listed == 0 && !is_ne)
		return mts_evaluate_make(MTS_COND_FALSE);
	bson_append_array(ops, is_ne ? "$nin" : "$in", -1, list);
	if (is_ne)
		mts_evaluate_append_type(table, test->column, ops);
	return mts_evaluate_field_cond(table, test->column, ops);
}

static MtsCond *
evaluate_field(const MtsTable *table, const MtsTest *test,
			   ExprContext *econtext)
{
	static const char *const names[] = {NULL,   "$lt", "$lte", "$eq",
										"$gte", "$gt", "$ne"};
	Datum *values;
	bool has_null;
	int n = mts_evaluate_right(test, econtext, &values, &has_null);
	bson_t *ops;

	if (has_null && (!test->is_array || test->strategy == ROWCOMPARE_NE))
		return mts_evaluate_make(MTS_COND_FALSE);
	if (test->is_array && n == 0 && test->strategy == ROWCOMPARE_NE)
		return mts_evaluate_make(MTS_COND_TRUE); /* of a NULL key, too */
	if (mts_evaluate_is_fraction(test))
		return mts_evaluate_fractions(table, test, values, n);
	if (test->is_array)
		return evaluate_list(table, test, values, n);
	ops = mts_document_new();
	if (!append_value(table, test, values[0], names[test->strategy], ops) &&
		test->strategy != ROWCOMPARE_NE)
		return mts_evaluate_make(MTS_COND_FALSE);
	if (test->strategy == ROWCOMPARE_NE)
		mts_evaluate_append_type(table, test->column, ops);
	return mts_evaluate_field_cond(table, test->column, ops);
}

/*
 * The least text that is greater than all with a prefix: its last code point
 * is the next one.  NULL when there is none.
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

static MtsCond *
evaluate_prefix(const MtsTable *table, const MtsTest *test,
				ExprContext *econtext)
{
	bson_t *ops = mts_document_new();
	bool isnull;
	text *prefix =
		DatumGetTextPP(ExecEvalExpr(test->state, econtext, &isnull));
	char *utf8 = pg_server_to_any(text_to_cstring(prefix),
								  VARSIZE_ANY_EXHDR(prefix), PG_UTF8);
	char *end = prefix_end(utf8);

	bson_append_utf8(ops, "$gte", -1, utf8, -1);
	if (end)
		bson_append_utf8(ops, "$lt", -1, end, -1);
	return mts_evaluate_field_cond(table, test->column, ops);
}

static MtsCond *
evaluate_null(const MtsTable *table, int column)
{
	bson_t *ops = mts_document_new();

	bson_append_null(ops, "$eq", -1);
	return mts_evaluate_field_cond(table, column, ops);
}

/* A key holds what it should, and not null. */
MtsCond *
mts_evaluate_not_null(const MtsTable *table, int column)
{
	bson_t *ops = mts_document_new();

	mts_evaluate_append_type(table, column, ops);
	return mts_evaluate_field_cond(table, column, ops);
}

/* Time conditions alone combine into one set of ranges. */
static void
combine(MtsCond *cond, const MtsCond *arg, bool all)
{
	MtsRanges result = {0, palloc((cond->ranges.n + arg->ranges.n + 1) *
								  sizeof(MtsRange))};

	if (all)
		mts_ranges_intersect(&cond->ranges, &arg->ranges, &result);
	else
		mts_ranges_unite(&cond->ranges, &arg->ranges, &result);
	cond->ranges = result;
}

static MtsCond *
evaluate_group(const MtsTable *table, MtsTest *test, ExprContext *econtext)
{
	bool all = test->kind == MTS_TEST_AND;
	MtsCond *cond = mts_evaluate_make(all ? MTS_COND_AND : MTS_COND_OR);
	MtsCond *times = NULL;
	ListCell *lc;

	cond->args = palloc(list_length(test->args) * sizeof(MtsCond *));
	foreach (lc, test->args)
	{
		MtsCond *arg = mts_pushdown_evaluate(table, lfirst(lc), econtext);

		if (arg->kind == (all ? MTS_COND_FALSE : MTS_COND_TRUE))
			return arg;
		if (arg->kind == (all ? MTS_COND_TRUE : MTS_COND_FALSE))
			continue;
		if (arg->kind == MTS_COND_POINTS && times)
			combine(times, arg, all);
		else
		{
			if (arg->kind == MTS_COND_POINTS)
				times = arg;
			cond->args[cond->nargs++] = arg;
		}
	}
	if (cond->nargs == 0)
		return mts_evaluate_make(all ? MTS_COND_TRUE : MTS_COND_FALSE);
	return cond->nargs == 1 ? cond->args[0] : cond;
}

/*
 * mts_pushdown_evaluate
 *		The condition that a test is now.
 *
 * A test on time alone becomes one MTS_COND_POINTS, by whose ranges the
 * points are trimmed.
 */
MtsCond *
mts_pushdown_evaluate(const MtsTable *table, MtsTest *test,
					  ExprContext *econtext)
{
	switch (test->kind)
	{
		case MTS_TEST_AND:
		case MTS_TEST_OR:
			return evaluate_group(table, test, econtext);
		case MTS_TEST_POINTS:
		case MTS_TEST_TIMES:
			return mts_evaluate_times(table, test, econtext);
		case MTS_TEST_FIELD:
			return evaluate_field(table, test, econtext);
		case MTS_TEST_PREFIX:
			return evaluate_prefix(table, test, econtext);
		case MTS_TEST_NULL:
			return evaluate_null(table, test->column);
		default:
			return mts_evaluate_not_null(table, test->column);
	}
}
