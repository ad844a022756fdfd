/*
 * test_header.c
 *		Proves that conclusions from a bucket's header are true for its points.
 */

#include <math.h>

#include "core/query/projection.h"
#include "mongo.h"
#include "points.h"

static int said[3]; /* how often each MtsCoverage was */

/* Without its points, a bucket must not claim more than is true. */
static void
check_bucket(MtsUnfold *unfold, const Bucket *bucket, const MtsRanges *ranges)
{
	static Points wanted, all;
	const MtsLayout *layout = &bucket->table->layout;
	MtsRange item = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges everything = {1, &item};
	bool needed[TABLE_COLUMNS] = {false};
	bson_t projection = BSON_INITIALIZER;
	bson_t doc = BSON_INITIALIZER;
	MtsCoverage answer;

	if (mts_projection_headers(layout, needed, ranges, NULL, 0, &projection))
		mongo_project(&bucket->doc, &projection, &doc);
	else
		bson_concat(&doc, &bucket->doc);
	unfold->headers_only = true;
	points_expect(bucket, ranges, &wanted);
	points_expect(bucket, &everything, &all);
	if (!mts_unfold_start(unfold, bson_get_data(&doc), doc.len))
		tap_fault("%s: no header", bucket->table->spec->name);
	else
	{
		answer = mts_unfold_header_coverage(unfold);
		said[answer]++;
		if ((answer == MTS_COVERED_ALL && wanted.n != all.n) ||
			(answer == MTS_COVERED_NONE && wanted.n != 0))
			tap_fault("%s: %d, where %d of %d are wanted",
					  bucket->table->spec->name, (int) answer, wanted.n,
					  all.n);
		for (int i = 0; i < bucket->npoints; i++)
			if (bucket->points[i].time < unfold->earliest ||
				bucket->points[i].time > unfold->latest)
				tap_fault("%s: a point is out of bounds",
						  bucket->table->spec->name);
	}
	bson_destroy(&projection);
	bson_destroy(&doc);
}

static void
test_table(const TestTable *table)
{
	static Bucket bucket;
	char name[128];
	MtsRange items[8];
	MtsRanges ranges = {0, items};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;

	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	for (int turn = 0; turn < 200; turn++)
	{
		bucket_fill(&bucket, table, bucket_random_start(table),
					1 + (int) random_below(BUCKET_POINTS));
		for (int i = 0; i < 3; i++)
		{
			random_ranges(table, bucket.start, &ranges);
			check_bucket(&unfold, &bucket, &ranges);
		}
		bson_destroy(&bucket.doc);
	}
	mts_arena_free(arena);
	snprintf(name, sizeof(name), "headers say no more than is true: %s",
			 table->spec->name);
	tap_claim(name);
}

/* Append a number as a field, and read it. */
static bool
read_double(double value, bool as_integer, double *d, int64_t *n)
{
	bson_t doc = BSON_INITIALIZER;
	MtsElement element, document;
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "x", .len = 1};
	bool ok;

	bson_append_double(&doc, "x", -1, value);
	document = mts_element_document(bson_get_data(&doc), doc.len);
	ok = mts_path_find(&document, &step, 1, &element) == MTS_FOUND &&
		 (as_integer ? mts_element_integer(&element, MTS_MAX_EXACT, n)
					 : mts_unfold_header_double(&element, d));
	bson_destroy(&doc);
	return ok;
}

static bool
read_integer(int64_t value, double *d)
{
	bson_t doc = BSON_INITIALIZER;
	MtsElement element, document;
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "x", .len = 1};
	bool ok;

	bson_append_int64(&doc, "x", -1, value);
	document = mts_element_document(bson_get_data(&doc), doc.len);
	ok = mts_path_find(&document, &step, 1, &element) == MTS_FOUND &&
		 mts_unfold_header_double(&element, d);
	bson_destroy(&doc);
	return ok;
}

static void
test_numbers(void)
{
	double d = 0;
	int64_t n = 0;

	ok(read_double(2.5, false, &d, &n) && d == 2.5,
	   "a double is read as a double");
	ok(!read_double(NAN, false, &d, &n), "NaN is not read as a sum");
	ok(!read_double(INFINITY, false, &d, &n), "infinity is not read as a sum");
	ok(read_double(-60, true, &d, &n) && n == -60,
	   "a whole double is an integer");
	ok(!read_double(2.5, true, &d, &n),
	   "a fraction is not read as an integer");
	ok(read_double(9007199254740991.0, true, &d, &n) && n == 9007199254740991,
	   "an integer is read up to 2^53");
	ok(!read_double(9007199254740992.0, true, &d, &n),
	   "an integer beyond 2^53 is not read from a double");
	ok(!read_double(NAN, true, &d, &n), "NaN is not read as an integer");
	ok(read_integer(9007199254740992, &d) && d == 9007199254740992.0,
	   "an integer is read as a double");
	ok(!read_integer(9007199254740993, &d),
	   "an integer that would be rounded is not read as a double");
}

static bool
is_worth(const TestTable *table, MtsTime from, int64_t usecs,
		 bool is_one_series)
{
	MtsRange item = {from, from + usecs};
	MtsRanges ranges = {1, &item};

	return mts_unfold_header_is_worthwhile(&table->layout, &ranges,
										   is_one_series);
}

static void
test_worth(const TestTable *minutes)
{
	MtsTime from = table_time(2013, 10, 10, 23, 6, 30);
	MtsRange ends[] = {{MTS_TIME_MIN, from}, {from, MTS_TIME_MAX}};
	MtsRanges ranges = {1, ends};

	ok(is_worth(minutes, from, 4 * MTS_MINUTE, false),
	   "a range of four buckets is worth reading headers");
	ok(!is_worth(minutes, from, 4 * MTS_MINUTE - 1, false),
	   "a shorter range is not worth reading headers");
	ok(!is_worth(minutes, from, 160 * MTS_MINUTE, true),
	   "buckets at the edges cost more than few headers of one series save");
	ok(is_worth(minutes, from, 170 * MTS_MINUTE, true),
	   "many headers of one series save more");
	ok(is_worth(minutes, from + MTS_MINUTE / 2, 4 * MTS_MINUTE, true),
	   "headers cost nothing where no bucket is at an edge");
	ok(mts_unfold_header_is_worthwhile(&minutes->layout, &ranges, true),
	   "a range without an end is worth reading headers");
	ranges.items++;
	ok(mts_unfold_header_is_worthwhile(&minutes->layout, &ranges, true),
	   "a range without a start is worth reading headers");
	ranges.n = 0;
	ok(!mts_unfold_header_is_worthwhile(&minutes->layout, &ranges, true),
	   "an empty range is not worth reading headers");
}

int
main(void)
{
	static TestTable table;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		table_open(i, &table);
		if (table.layout.ncontainers > 0)
			test_table(&table);
		if (strcmp(table.spec->name, "minute, subdocument") == 0)
			test_worth(&table);
	}
	ok(said[MTS_COVERED_ALL] > 100 && said[MTS_COVERED_NONE] > 100,
	   "%d times all points are wanted, %d times none", said[MTS_COVERED_ALL],
	   said[MTS_COVERED_NONE]);
	test_numbers();
	return tap_done();
}
