/*
 * test_doubles.c
 *		Proves that reading a bucket's float8 values at once gives the same
 *		points as unfolding it.
 */

#include "points.h"

#define ROOM 65

#define START 1381446360000 /* 2013-10-10 23:06 UTC, in milliseconds */

/*
 * Return how many slots a bucket of the table has, or 0 if it can't be read at
 * once.
 */
static int
count_slots(const TestTable *table)
{
	const MtsLayout *layout = &table->layout;
	MtsTime start = table_time(2013, 10, 10, 23, 6, 0), end;

	if (!mts_unfold_doubles_supported(layout) ||
		layout->bucket_time.format.kind != MTS_FORMAT_DATE ||
		!mts_layout_bucket_end(layout, start, &end))
		return 0;
	return (int) ((end - start) / layout->slots[0]->unit.usecs);
}

/* Print a key of a slot, at times out of range or in another notation. */
static const char *
random_key(char *buffer, size_t size, int slots)
{
	static const char *const odd[] = {"07", "60",
									  "-1", "-0",
									  "x",  "",
									  "1x", "600000000000000000000"};

	if (random_below(40) == 0)
		return odd[random_below(8)];
	snprintf(buffer, size, "%d",
			 (int) (random_below(40) == 0 ? slots : random_below(slots)));
	return buffer;
}

static void
random_bucket(const TestTable *table, int slots, bson_t *doc, bool is_plain)
{
	char path[MTS_MAX_PATH];
	char key[16];
	bson_t points;
	const MtsPath *values = table->layout.containers[0].path;
	const MtsPath *time = &table->layout.bucket_time.path;

	bson_init(doc);
	mts_path_dotted(time->steps, time->nsteps, path, sizeof(path));
	bson_append_date_time(doc, path, -1, START);
	mts_path_dotted(values->steps, mts_path_leading_names(values), path,
					sizeof(path));
	bson_append_document_begin(doc, path, -1, &points);
	for (int i = (int) random_below(70); i > 0; i--)
	{
		int kind = is_plain ? 0 : (int) random_below(60);

		snprintf(key, sizeof(key), "%d", (int) random_below(slots));
		if (kind == 1)
			bson_append_int32(&points, key, -1, i);
		else if (kind == 2)
			bson_append_null(&points, key, -1);
		else
			bson_append_double(&points,
							   is_plain ? key
										: random_key(key, sizeof(key), slots),
							   -1, i / 4.0);
	}
	bson_append_document_end(doc, &points);
}

/* Compare both readings. *n is the number of values read at once. */
static bool
is_same(MtsUnfold *unfold, const uint8_t *bytes, size_t size, int *n)
{
	double values[ROOM];
	int64_t keys[ROOM];
	MtsElement cell;
	MtsPoint point = {.elements = &cell};

	*n = -1;
	if (!mts_unfold_start(unfold, bytes, size))
		return true;
	*n = mts_unfold_doubles_read(unfold, values, keys, ROOM);
	for (int i = 0; i < *n; i++)
	{
		double value;

		if (mts_unfold_next(unfold, &point) != MTS_POINT ||
			cell.type != BSON_TYPE_DOUBLE)
			return false;
		value = mts_element_double(&cell);
		if (keys[i] != point.slots[0].index)
			return false;
		if (memcmp(&value, &values[i], sizeof(value)) != 0)
			return false;
	}
	return *n < 0 || mts_unfold_next(unfold, &point) == MTS_DONE;
}

/* Test random documents, as they are and with a byte changed. */
static void
test_buckets(const TestTable *table, int slots, MtsUnfold *unfold,
			 bool is_plain)
{
	int read = 0, n;

	for (int turn = 0; turn < 1000; turn++)
	{
		bson_t doc;
		uint8_t *bytes;

		random_bucket(table, slots, &doc, is_plain);
		if (!is_same(unfold, bson_get_data(&doc), doc.len, &n))
			tap_fault("a bucket of %d values is read differently", n);
		if (n < 0 && is_plain && doc.len < ROOM * 11)
			tap_fault("a bucket of doubles is not read at once");
		read += n >= 0;
		bytes = malloc(doc.len);
		memcpy(bytes, bson_get_data(&doc), doc.len);
		bytes[4 + random_below(doc.len - 4)] = (uint8_t) random_below(256);
		if (!is_same(unfold, bytes, doc.len, &n))
			tap_fault("a damaged bucket of %d values is read differently", n);
		free(bytes);
		bson_destroy(&doc);
	}
	tap_claim(is_plain ? "buckets of doubles are read at once"
					   : "a bucket with other types is left to be unfolded");
	ok(read > 20, "more than 20 buckets are read at once");
}

/* Test ranges that don't include the whole bucket. */
static void
test_whole(const TestTable *table, int slots, MtsUnfold *unfold,
		   MtsRanges *ranges)
{
	MtsRange *all = ranges->items;
	MtsRange part = {table_time(2013, 10, 10, 23, 6, 0) + 1, MTS_TIME_MAX};
	bson_t doc;
	int n;

	ranges->items = &part;
	random_bucket(table, slots, &doc, true);
	(void) is_same(unfold, bson_get_data(&doc), doc.len, &n);
	ok(n == -1,
	   "a bucket of which only a part is wanted is left to be unfolded");
	bson_destroy(&doc);
	ranges->items = all;
}

/*
 * Test random buckets of one table.  Returns false if they can't be read at
 * once.
 */
static bool
test_table(const TestTable *table)
{
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	MtsUnfold unfold;
	int slots = count_slots(table);

	if (slots == 0)
		return false;
	mts_unfold_init(&unfold, &table->layout, &ranges, realloc);
	test_buckets(table, slots, &unfold, true);
	test_buckets(table, slots, &unfold, false);
	test_whole(table, slots, &unfold, &ranges);
	mts_unfold_free(&unfold, free);
	return true;
}

int
main(void)
{
	static const TestSpec few = {.name = "slots that one digit numbers",
								 .columns = {{"ts", NULL, MTS_ROLE_TIME, NULL,
											  NULL},
											 {"v", "v.{15 minutes}",
											  MTS_ROLE_KEY, NULL, NULL}},
								 .span = "hour"};
	TestTable table;
	MtsError error;
	int tables = 0;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		table_open(i, &table);
		tables += test_table(&table);
	}
	ok(tables > 1, "several layouts are read at once");
	ok(table_declare(&few, &table, &error) && test_table(&table),
	   "a bucket of few slots is read at once");
	return tap_done();
}
