/*
 * bounds.h
 *		Makes buckets with the bounds of their values, for test_filter.c.
 *
 * Where a value compares as a condition says, the condition's filter must
 * match the bucket, whatever its bounds are.  Where its bounds are trusted and
 * show that no value does, the filter must not match.
 */
#ifndef BOUNDS_H
#define BOUNDS_H

#define MISSING (-1.0)

/* The bounds of values in MongoDB's order of types, and of NaN */
typedef enum BoundsKind
{
	BOUNDS_OF_EXTENSION, /* NaN is the greatest number */
	BOUNDS_OF_MONGODB,   /* NaN is the least number, and null is less */
	BOUNDS_INVALID,      /* one or both are not numbers */
	BOUNDS_KINDS
} BoundsKind;

typedef struct BoundedBucket
{
	BoundsKind kind;
	double values[4]; /* NaN, too; MISSING is not a value */
	bool has_null;
	bson_t doc;
} BoundedBucket;

/* Append a number as a double or, if it is whole, as an integer at times. */
static void
append_number(bson_t *doc, const char *key, double d)
{
	if (d == rint(d) && random_below(2))
		bson_append_int64(doc, key, -1, (int64_t) d);
	else
		bson_append_double(doc, key, -1, d);
}

/* Append what is not a bound, or nothing. */
static void
append_no_bound(bson_t *doc, const char *key)
{
	static const char *const templates[] = {"null", "NaN", "'0'", "[0]",
											"[]",   "{}",  "true"};
	int i = (int) random_below(9);

	if (i < 7)
		mts_template_append(doc, key, templates[i]);
	else if (i == 7)
		append_number(doc, key, MISSING);
}

static void
append_bounds(const BoundedBucket *bucket, double least, double greatest,
			  bool has_nan, bson_t *bounds)
{
	double low = has_nan && bucket->kind == BOUNDS_OF_MONGODB ? NAN : least;
	double high =
		has_nan && bucket->kind == BOUNDS_OF_EXTENSION ? NAN : greatest;
	bool is_bad = bucket->kind == BOUNDS_INVALID;
	int bad = 1 + (int) random_below(3);

	if (is_bad && (bad & 1))
		append_no_bound(bounds, "lo");
	else if (bucket->has_null && bucket->kind == BOUNDS_OF_MONGODB)
		bson_append_null(bounds, "lo", -1);
	else
		append_number(bounds, "lo", low);
	if (is_bad && (bad & 2))
		append_no_bound(bounds, "hi");
	else
		append_number(bounds, "hi", high);
}

/* Fill a bucket with values around 0. */
static void
fill_bounded(BoundedBucket *bucket)
{
	double least = INFINITY, greatest = -INFINITY;
	int64_t first = random_between(0, 4);
	bson_t bounds = BSON_INITIALIZER;
	bool has_nan = false;

	bucket->kind = (BoundsKind) random_below(BOUNDS_KINDS);
	bucket->has_null = random_below(4) == 0;
	for (int i = 0; i < 4; i++)
	{
		double d = (double) (first + random_below(5)) / 2;

		if (random_below(8) == 0)
		{
			d = NAN;
			has_nan = true;
		}
		bucket->values[i] = d;
		least = fmin(least, d);
		greatest = fmax(greatest, d);
	}
	if (least > greatest)
		least = greatest = NAN;
	append_bounds(bucket, least, greatest, has_nan, &bounds);
	bson_init(&bucket->doc);
	/* bounds in an array are none */
	if (bucket->kind == BOUNDS_INVALID && random_below(4) == 0)
		mts_template_fields(&bucket->doc,
							"{e: [%o, {lo: -9, hi: -9}, {lo: 9, hi: 9}]}",
							&bounds);
	else
		mts_template_fields(&bucket->doc, "{e: %o}", &bounds);
	bson_destroy(&bounds);
}

/* Compare as PostgreSQL does: NaN is the greatest number. */
static bool
compares_so(double d, const char *op, double value)
{
	int order = isnan(d) ? 1 : (d > value) - (d < value);

	return strcmp(op, "$lt") == 0    ? order < 0
		   : strcmp(op, "$lte") == 0 ? order <= 0
		   : strcmp(op, "$eq") == 0  ? order == 0
		   : strcmp(op, "$gte") == 0 ? order >= 0
									 : order > 0;
}

/* Declare the bounds of the last column; bit 1 is the least, 2 the greatest. */
static void
declare_bounds(TestTable *table, int declared, MtsFilter *cond)
{
	static char names[2][8];
	MtsColumn *column = &table->columns[table->layout.ncolumns - 1];
	MtsError error;

	column->missing =
		(MtsMissing){.kind = MTS_MISSING_NUMBER, .number = MISSING};
	column->min.is_set = (declared & 1) != 0;
	column->max.is_set = (declared & 2) != 0;
	mts_path_parse("e.lo", names[0], &column->min.path, &error);
	mts_path_parse("e.hi", names[1], &column->max.path, &error);
	*cond = (MtsFilter){.kind = MTS_FILTER_BOUNDED,
						.column = column,
						.type = "number",
						.low.value_type = BSON_TYPE_DOUBLE,
						.high.value_type = BSON_TYPE_DOUBLE};
}

static void
check_bounded(const TestTable *table, MtsFilter *cond, double value)
{
	static char text[SHELL_TEXT];
	static BoundedBucket bucket;
	bool wanted = false, has_nan = false;
	bool is_below = false, is_above = false; /* one of the values */

	fill_bounded(&bucket);
	for (int i = 0; i < 4; i++)
	{
		wanted |= compares_so(bucket.values[i], cond->op, value);
		has_nan |= isnan(bucket.values[i]);
		is_below |= bucket.values[i] < value;
		is_above |= bucket.values[i] > value;
	}
	if (matches(&table->layout, cond, &bucket.doc, NULL, text)
			? !wanted && !(is_below && is_above) && !has_nan &&
				  !bucket.has_null && bucket.kind != BOUNDS_INVALID &&
				  cond->low.value.v_double == cond->high.value.v_double
			: wanted)
	{
		char *json = bson_as_relaxed_extended_json(&bucket.doc, NULL);

		tap_fault("%s %s %g is %d, but not for %.800s", json, cond->op, value,
				  wanted, text);
		bson_free(json);
	}
	bson_destroy(&bucket.doc);
}

static void
test_bounds(void)
{
	static const char *const ops[] = {"$lt", "$lte", "$eq", "$gte", "$gt"};
	TestTable table;
	MtsFilter cond;

	table_open(1, &table);
	declare_bounds(&table, 3, &cond);
	for (int turn = 0; turn < 50000; turn++)
	{
		double value = (double) random_between(-1, 10) / 2;

		cond.op = ops[random_below(5)];
		cond.low.value.v_double = cond.high.value.v_double = value;
		if (random_below(4) == 0)
		{
			cond.low.value.v_double = nextafter(value, -INFINITY);
			cond.high.value.v_double = nextafter(value, INFINITY);
		}
		check_bounded(&table, &cond, value);
	}
	tap_claim("the filter covers the values by their bounds");
}

static void
test_shape_of_bounds(void)
{
	TestTable table;
	MtsFilter cond;

	table_open(1, &table);
	declare_bounds(&table, 3, &cond);
	cond.op = "$eq";
	cond.low.value.v_double = cond.high.value.v_double = 2.5;
	is_filter(
		&table, &cond, NULL,
		"{$nor: [{e: {$not: {$type: \"array\"}}, \"e.hi\": {$lt: 2.5, $ne: NaN, $not: {$type: \"array\"}, $nin: [-1]}, \"e.lo\": {$type: \"number\", $ne: NaN, $not: {$type: \"array\"}, $nin: [-1]}}, {e: {$not: {$type: \"array\"}}, \"e.lo\": {$gt: 2.5, $ne: NaN, $not: {$type: \"array\"}, $nin: [-1]}, \"e.hi\": {$type: \"number\", $ne: NaN, $not: {$type: \"array\"}, $nin: [-1]}}]}",
		"a value between its bounds");
	declare_bounds(&table, 2, &cond);
	cond.op = "$lt";
	is_filter(&table, &cond, NULL, "{}",
			  "the greatest value excludes no lesser one");
	cond.op = "$gt";
	cond.low.value.v_double = 2.5;
	cond.high.value.v_double = 3;
	is_filter(
		&table, &cond, NULL,
		"{$nor: [{e: {$not: {$type: \"array\"}}, \"e.hi\": {$lte: 2.5, $ne: NaN, $not: {$type: \"array\"}, $nin: [-1]}}]}",
		"a value greater than a number between two");
	table.layout.version.is_set = true;
	table.columns[table.layout.ncolumns - 1].missing.kind = MTS_MISSING_NONE;
	is_filter(
		&table, &cond, NULL,
		"{$nor: [{\"e.hi\": {$lte: 2.5, $ne: NaN, $not: {$type: \"array\"}}}]}",
		"the bounds of a native bucket");
	table.columns[table.layout.ncolumns - 1].min.is_set = true;
	table.columns[table.layout.ncolumns - 1].missing =
		(MtsMissing){.kind = MTS_MISSING_TEXT, .text = "none"};
	cond.op = "$lt";
	cond.type = "string";
	cond.low =
		(bson_value_t){.value_type = BSON_TYPE_UTF8, .value.v_utf8 = {"b", 1}};
	cond.high = cond.low;
	is_filter(
		&table, &cond, NULL,
		"{$nor: [{\"e.lo\": {$gte: \"b\", $not: {$type: \"array\"}, $nin: [\"none\"]}, \"e.hi\": {$type: \"string\", $not: {$type: \"array\"}, $nin: [\"none\"]}}]}",
		"the bounds of a text");
}

#endif /* BOUNDS_H */
