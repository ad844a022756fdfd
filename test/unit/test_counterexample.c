/*
 * test_counterexample.c
 *		Proves that the pipeline finds a document if and only if its fields
 *		contradict its points.
 *
 * Random buckets of all layouts have fields with the count, the sum, the
 * minimum, the maximum and the bounds of their points, as the unfolding sees
 * them.  Some fields are changed then.
 */
#include "apply.h"
#include "core/query/counterexample.h"
#include "points.h"
#include "shell.h"

#define BUCKETS 60
#define CLAIMS (3 * TABLE_COLUMNS + 3)

/* What the points of a bucket say */
typedef struct Truth
{
	int n;
	bool is_valid;
	int ntexts[TABLE_COLUMNS];
	int nnumbers[TABLE_COLUMNS];
	bool has_nan[TABLE_COLUMNS];
	bool has_infinity[TABLE_COLUMNS];
	double sum[TABLE_COLUMNS];
	double min[TABLE_COLUMNS]; /* without NaN */
	double max[TABLE_COLUMNS];
	MtsTime first;
	MtsTime last;
} Truth;

/* What is done to the field of a claim */
typedef enum Change
{
	IS_TRUE,
	IS_ABSENT,
	IS_NAN,
	IS_WRONG,
	NCHANGES
} Change;

static char names[CLAIMS][8];

/* Declare a field with a name of one step. */
static MtsField
declare(const char *kind, int column)
{
	static int n;
	MtsField field = {.is_set = true};
	char *name = names[n++ % CLAIMS];

	snprintf(name, sizeof(names[0]), "_%s%d", kind, column);
	field.path.nsteps = 1;
	field.path.steps[0] =
		(MtsStep){.kind = MTS_STEP_NAME, .name = name, .len = strlen(name)};
	return field;
}

/* Declare pre-aggregates of all values. */
static void
declare_claims(TestTable *table)
{
	MtsLayout *layout = &table->layout;

	layout->count = declare("n", 0);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsColumn *column = &table->columns[i];

		if (column->role != MTS_ROLE_VALUE)
			continue;
		column->may_be_nan = true;
		column->sum = declare("s", i);
		column->min = declare("l", i);
		column->max = declare("h", i);
	}
}

/* Replace some values of a bucket by others. */
static void
vary_values(Bucket *bucket, int odd)
{
	static const char *const doubles[] = {"nan", "inf", "-inf", "0.1"};

	for (int i = 0; i < bucket->nnodes; i++)
	{
		Node *node = &bucket->nodes[i];

		if (node->type != BSON_TYPE_INT32 || random_below(odd) > 0)
			continue;
		switch (random_below(5))
		{
			case 0:
				node->type = BSON_TYPE_DOUBLE;
				break;
			case 1:
				node->type = BSON_TYPE_DOUBLE;
				node->string = doubles[random_below(4)];
				break;
			case 2:
				node->type = BSON_TYPE_NULL;
				break;
			case 3:
				node->type = BSON_TYPE_UTF8;
				node->string = "x";
				break;
			default:
				node->number = -node->number;
		}
	}
	bson_reinit(&bucket->doc);
	node_write(&bucket->nodes[0], &bucket->doc);
}

static void
accumulate(Truth *truth, MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;

	if (truth->n == 0 || point->time < truth->first)
		truth->first = point->time;
	if (truth->n == 0 || point->time > truth->last)
		truth->last = point->time;
	truth->n++;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsElement element;
		double d;

		if (layout->columns[i].role != MTS_ROLE_VALUE ||
			mts_unfold_value(unfold, point, &layout->columns[i], &element) !=
				MTS_FOUND ||
			element.type == BSON_TYPE_NULL)
			continue;
		if (!mts_element_number(&element, &d))
		{
			truth->ntexts[i]++;
			continue;
		}
		truth->nnumbers[i]++;
		truth->sum[i] += d;
		truth->has_nan[i] |= isnan(d);
		truth->has_infinity[i] |= isinf(d);
		truth->min[i] = fmin(truth->nnumbers[i] == 1 ? d : truth->min[i], d);
		truth->max[i] = fmax(truth->nnumbers[i] == 1 ? d : truth->max[i], d);
	}
}

static Truth
find_truth(const MtsLayout *layout, const bson_t *doc)
{
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsElement elements[TABLE_COLUMNS];
	MtsPoint point = {.elements = elements};
	Truth truth = {0};
	MtsUnfolded result = MTS_INVALID;
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	mts_unfold_init(&unfold, layout, &ranges, arena);
	if (mts_unfold_start(&unfold, bson_get_data(doc), doc->len))
		while ((result = mts_unfold_next(&unfold, &point)) == MTS_POINT)
			accumulate(&truth, &unfold, &point);
	truth.is_valid = result == MTS_DONE;
	mts_arena_free(arena);
	return truth;
}

/* The true value of a field */
static double
true_value(const MtsLayout *layout, const MtsClaim *claim, const Truth *truth)
{
	int i = claim->column ? (int) (claim->column - layout->columns) : 0;

	switch (claim->kind)
	{
		case MTS_CLAIM_COUNT:
			return truth->n;
		case MTS_CLAIM_SUM:
			return truth->sum[i];
		case MTS_CLAIM_MINIMUM:
			return truth->nnumbers[i] > 0 ? truth->min[i] : NAN;
		default:
			return truth->has_nan[i]         ? NAN
				   : truth->nnumbers[i] == 0 ? NAN
											 : truth->max[i];
	}
}

/*
 * Append the field of a claim about values; return whether it contradicts the
 * points, if a scan trusts it.  *is_trusted tells whether it can be trusted.
 */
static bool
append_value(const MtsLayout *layout, const MtsClaim *claim,
			 const Truth *truth, Change change, bson_t *doc, bool *is_trusted)
{
	const char *name = claim->field->path.steps[0].name;
	int i = claim->column ? (int) (claim->column - layout->columns) : 0;
	bool is_extreme =
		claim->kind == MTS_CLAIM_MINIMUM || claim->kind == MTS_CLAIM_MAXIMUM;
	double d = true_value(layout, claim, truth);
	bool is_odd = claim->column && truth->ntexts[i] > 0;

	*is_trusted = false;
	if (change == IS_ABSENT || (is_extreme && isnan(d) && change == IS_TRUE))
		return false;
	if (change == IS_NAN)
		d = NAN;
	else if (change != IS_TRUE)
		d = isfinite(d) ? d + 1 : 1;
	if (d == rint(d) && fabs(d) < 1e9)
		bson_append_int32(doc, name, -1, (int) d);
	else
		bson_append_double(doc, name, -1, d);
	*is_trusted = !isnan(d);
	if (isnan(d))
		return false;
	if (is_extreme)
		return truth->n > 0 && (is_odd || change != IS_TRUE);
	return is_odd || change != IS_TRUE;
}

/* Change a bound that bucket_fill has written, in the tree. */
static bool
change_bound(Bucket *bucket, const MtsClaim *claim, const Truth *truth,
			 Change change)
{
	const MtsLayout *layout = &bucket->table->layout;
	Node *node = node_at(bucket, &claim->field->path, NULL);
	bool is_first = claim->kind == MTS_CLAIM_FIRST;

	if (change == IS_ABSENT || change == IS_NAN || truth->n == 0)
	{
		node->type = BSON_TYPE_NULL;
		return true;
	}
	if (change == IS_WRONG)
		node_set_time(node, &claim->field->format, &layout->clock, 0,
					  is_first ? truth->first + MTS_SECOND
							   : truth->last - MTS_SECOND);
	/* a bound may be wider */
	else if (random_below(2) > 0)
		node_set_time(node, &claim->field->format, &layout->clock, 0,
					  is_first ? truth->first - MTS_SECOND
							   : truth->last + MTS_SECOND);
	return change == IS_WRONG;
}

/* Run the stages for a document, and return the document of the last one. */
static Value *
run(Value *doc, const bson_t *pipeline)
{
	Value *stages = value_from_bson(pipeline, BSON_TYPE_ARRAY);

	for (int i = 0; i < stages->n; i++)
	{
		const Value *stage = stages->items[i]->items[0];
		Scope scope = {"ROOT", doc, NULL};
		Value *next = value_new(BSON_TYPE_DOCUMENT);

		for (int j = 0; j < stage->n; j++)
		{
			Value *item = stage->items[j];

			item = value_is_number(item) ? follow(doc, stage->keys[j])
										 : evaluate(item, &scope);
			if (item->type != BSON_TYPE_EOD)
				value_add(next, stage->keys[j], item);
		}
		doc = next;
	}
	return doc;
}

/* Compare what the pipeline finds in a document with what it should find. */
static void
compare(const TestTable *table, const bson_t *doc, const bson_t *pipeline,
		const MtsClaim *claims, int n, const bool *wrong)
{
	bson_t result = BSON_INITIALIZER;

	value_reset();
	if (setjmp(value_stop))
		tap_fault("%s: %s", table->spec->name, value_why);
	else
	{
		value_write(run(value_from_bson(doc, BSON_TYPE_DOCUMENT), pipeline),
					&result);
		for (int i = 0; i < n; i++)
		{
			MtsCounterexample found = mts_counterexample_read(&result, i);
			char *json;

			if (found.is_known !=
				mts_counterexample_exists_query(&table->layout, &claims[i]))
				tap_fault("%s: claim %d is%s known", table->spec->name, i,
						  found.is_known ? "" : " not");
			if (!found.is_known || (found.documents > 0) == wrong[i])
				continue;
			json = bson_as_relaxed_extended_json(doc, NULL);
			tap_fault("%s: field %s %s the points of %s", table->spec->name,
					  claims[i].field->path.steps[0].name,
					  wrong[i] ? "contradicts" : "does not contradict", json);
			bson_free(json);
		}
	}
	bson_destroy(&result);
}

/* Test random buckets of a layout; return how many fields were compared. */
static int
test_layout(const TestTable *table, int odd)
{
	static Bucket bucket;
	const MtsLayout *layout = &table->layout;
	MtsClaim claims[CLAIMS];
	int n = mts_counterexample_claims(layout, claims), ncompared = 0;
	bson_t pipeline = BSON_INITIALIZER;

	mts_counterexample_stages(layout, claims, n, &pipeline);
	for (int turn = 0; turn < BUCKETS; turn++)
	{
		bool wrong[CLAIMS], trusted[CLAIMS];
		bson_t doc;
		Truth truth;

		bucket_fill(&bucket, table, bucket_random_start(table),
					(int) random_below(BUCKET_POINTS));
		vary_values(&bucket, odd);
		truth = find_truth(layout, &bucket.doc);
		for (int i = 0; i < n; i++)
			if (!claims[i].column && claims[i].kind != MTS_CLAIM_COUNT)
				wrong[i] = change_bound(&bucket, &claims[i], &truth,
										random_below(NCHANGES));
		bson_init(&doc);
		node_write(&bucket.nodes[0], &doc);
		for (int i = 0; i < n; i++)
			if (claims[i].column || claims[i].kind == MTS_CLAIM_COUNT)
				wrong[i] =
					append_value(layout, &claims[i], &truth,
								 random_below(2) ? IS_TRUE
												 : random_below(NCHANGES),
								 &doc, &trusted[i]);
		/* a scan trusts both extremes of a column or none */
		for (int i = 1; i < n; i++)
			if (claims[i].kind == MTS_CLAIM_MAXIMUM &&
				claims[i - 1].kind == MTS_CLAIM_MINIMUM)
			{
				wrong[i] &= trusted[i - 1];
				wrong[i - 1] &= trusted[i];
			}
		if (truth.is_valid)
		{
			compare(table, &doc, &pipeline, claims, n, wrong);
			ncompared += n;
		}
		bson_destroy(&doc);
		bson_destroy(&bucket.doc);
	}
	bson_destroy(&pipeline);
	return ncompared;
}

/* Documents whose points are stored in an unusual way */
static const struct
{
	const char *name;
	TestSpec spec; /* without pre-aggregates, which declare_claims adds */
	const char *document;
	const char *want; /* the fields that contradict the points */
} cases[] = {
	{"elements of [] in a subdocument",
	 {.columns = {{"t", "p[].t", MTS_ROLE_TIME}, {"v", "p[].v", MTS_ROLE_KEY}},
	  .bucket_time_field = "d",
	  .span = "day"},
	 "{'p': {'0': {'t': 1, 'v': 5}, '3': {'t': 2, 'v': 6}}, '_n0': 2,"
	 " '_s1': 10, '_l1': 5, '_h1': 6}",
	 "_s1"},
	{"and side by side",
	 {.columns = {{"t", "t[]", MTS_ROLE_TIME}, {"v", "v[]", MTS_ROLE_KEY}},
	  .bucket_time_field = "d",
	  .span = "day"},
	 "{'t': {'0': 1, '2': 2}, 'v': {'0': 4, '2': null}, '_n0': 3,"
	 " '_s1': 4}",
	 "_n0"},
	{"tuples, some of them empty",
	 {.columns = {{"t", "k[].0", MTS_ROLE_TIME},
				  {"v", "k[].1", MTS_ROLE_KEY}}},
	 "{'k': [[1, 7], [2], [], null], '_n0': 2, '_s1': 7, '_l1': 1,"
	 " '_h1': 7}",
	 "_l1"},
	{"a count that is a Decimal128",
	 {.columns = {{"t", NULL, MTS_ROLE_TIME},
				  {"v", "v.{second}", MTS_ROLE_KEY}}},
	 "{'v': {'0': 3}, '_n0': {'$numberDecimal': '2'}, '_s1': 4}",
	 "_s1"},
	{"ObjectIds and their seconds",
	 {.columns = {{"t", "p[].t", MTS_ROLE_TIME, "oid"},
				  {"v", "p[].v", MTS_ROLE_KEY}},
	  .first_field = "a",
	  .last_field = "z"},
	 "{'p': [{'t': {'$oid': '5f00000a0000000000000002'}},"
	 " {'t': {'$oid': '5f00000b0000000000000002'}}],"
	 " 'a': {'$oid': '5f00000a0000000000000005'},"
	 " 'z': {'$oid': '5f00000a0000000000000009'}}",
	 "z"},
	{"values of other types than points are in",
	 {.columns = {{"t", NULL, MTS_ROLE_TIME},
				  {"v", "v.{second}", MTS_ROLE_KEY}}},
	 "{'v': [1, 2], '_n0': 2, '_s1': 0}",
	 "_n0"},
	{"values of other types than numbers",
	 {.columns = {{"t", NULL, MTS_ROLE_TIME},
				  {"v", "v.{second}", MTS_ROLE_KEY}}},
	 "{'v': {'0': [3], '1': 4}, '_n0': 2, '_s1': 4, '_l1': 'x', '_h1': 4}",
	 "_s1"},
	{"extremes that are text",
	 {.columns = {{"t", NULL, MTS_ROLE_TIME},
				  {"v", "v.{second}", MTS_ROLE_KEY}}},
	 "{'v': {'0': 'b', '1': 'c'}, '_l1': 'a', '_h1': 'c'}",
	 "_l1"},
};

/* Print the fields that contradict the points of a document. */
static void
print_wrong(const MtsLayout *layout, const bson_t *doc, char *text,
			size_t size)
{
	MtsClaim claims[CLAIMS];
	int n = mts_counterexample_claims(layout, claims);
	bson_t pipeline = BSON_INITIALIZER, result = BSON_INITIALIZER;
	size_t len = 0;

	text[0] = '\0';
	mts_counterexample_stages(layout, claims, n, &pipeline);
	value_reset();
	if (setjmp(value_stop))
		snprintf(text, size, "%s", value_why);
	else
		value_write(run(value_from_bson(doc, BSON_TYPE_DOCUMENT), &pipeline),
					&result);
	for (int i = 0; i < n; i++)
		if (mts_counterexample_read(&result, i).documents > 0)
			len += snprintf(text + len, size - len, "%s%s", len ? " " : "",
							claims[i].field->path.steps[0].name);
	bson_destroy(&pipeline);
	bson_destroy(&result);
}

static void
test_cases(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		static TestTable table;
		bson_t *doc = shell_parse(cases[i].document);
		char got[256];
		MtsError error;

		if (!table_declare(&cases[i].spec, &table, &error))
			abort();
		declare_claims(&table);
		print_wrong(&table.layout, doc, got, sizeof(got));
		is_text(got, cases[i].want, cases[i].name);
		bson_destroy(doc);
	}
}

/* What a server leaves out of the result is absent. */
static void
test_incomplete(void)
{
	static const char *const results[] = {"{}",
										  "{'n0': 1}",
										  "{'n0': 1, 'e0': null}",
										  "{'n0': 1, 'e0': {}}",
										  "{'n0': 1, 'e0': [7]}",
										  "{'e0': {'id': {}, 'says': []}}"};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
	{
		bson_t *result = shell_parse(results[i]);
		MtsCounterexample found = mts_counterexample_read(result, 0);
		bool is_known = i > 0 && i < 5;

		ok(found.is_known == is_known &&
			   mts_element_is_valid(&found.id, MTS_MAX_DEPTH) == (i == 5) &&
			   mts_element_is_valid(&found.says, MTS_MAX_DEPTH) == (i == 5) &&
			   !mts_element_is_valid(&found.points_say, MTS_MAX_DEPTH),
		   "the result %s", results[i]);
		bson_destroy(result);
	}
}

int
main(void)
{
	int ncompared = 0;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		TestTable table;

		table_open(i, &table);
		if (table.layout.nslots == 0)
			continue;
		declare_claims(&table);
		ncompared += test_layout(&table, 1000000);
		ncompared += test_layout(&table, 20);
		for (int j = 0; j < table.layout.ncolumns; j++)
			table.columns[j].min.is_set = false;
		ncompared += test_layout(&table, 20);
	}
	tap_claim("a document is found if and only if its fields are wrong");
	ok(ncompared > 1000, "%d fields were compared", ncompared);
	test_cases();
	test_incomplete();
	return tap_done();
}
