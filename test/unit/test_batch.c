/*
 * test_batch.c
 *		Proves that reading all points of a bucket at once gives the same
 *		points as unfolding it.
 */
#include "core/bucket/batch.h"

#include "bucket.h"
#include "points.h"

#define START 1381446360000 /* 2013-10-10 23:06 UTC, in milliseconds */
#define SERIES 6

/*
 * Return how many slots a bucket of the table has, 1 if they are elements, or
 * 0 if it can't be read at once.
 */
static int
count_slots(const TestTable *table, const MtsBatch *batch)
{
	const MtsLayout *layout = &table->layout;
	MtsTime start = table_time(2013, 10, 10, 23, 6, 0), end;

	if (layout->ncontainers == 0 || batch->method == MTS_BATCH_POINTS)
		return 0;
	if (layout->time_kind == MTS_TIME_POINT)
		return 1;
	if (layout->slots[0]->kind == MTS_STEP_COLUMN_KEY)
		return SERIES;
	if (layout->bucket_time.format.kind != MTS_FORMAT_DATE ||
		!mts_layout_bucket_end(layout, start, &end))
		return 0;
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_UNIT_KEY &&
			layout->slots[i]->unit.usecs == 0)
			return 0;
	/* the buckets of the test begin an hour before the day ends */
	if (!mts_span_is_zero(layout->slots[0]->of))
		end = table_time(2013, 10, 11, 0, 0, 0);
	return (int) ((end - start + layout->slots[0]->unit.usecs - 1) /
				  layout->slots[0]->unit.usecs);
}

/* Return the key of a level's slot with a number, in a slot with this start. */
static const char *
slot_key(const TestTable *table, int level, MtsTime start, int64_t n,
		 char *buffer)
{
	const MtsLayout *layout = &table->layout;
	MtsTime end = MTS_TIME_MAX;
	const char *text;
	int64_t first;

	if (layout->slots[level]->kind == MTS_STEP_COLUMN_KEY)
	{
		snprintf(buffer, MTS_MAX_KEY, "s%d", (int) n);
		return buffer;
	}
	mts_layout_first_key(&layout->clock, layout->slots[level], start, &end,
						 &first);
	mts_slot_key_text(layout->slots[level], first + n, buffer, &text);
	return text;
}

/* Print a key of a slot, at times out of range or in another notation. */
static const char *
random_key(const TestTable *table, int level, MtsTime start, char *buffer,
		   int64_t n, int slots)
{
	static const char *const odd[] = {"07", "60",
									  "-1", "-0",
									  "x",  "",
									  "1x", "600000000000000000000"};

	if (random_below(60) == 0)
		return odd[random_below(8)];
	return slot_key(table, level, start,
					random_below(60) == 0 ? 2 * slots - 1 : n, buffer);
}

/* Append a value that is most often a double, or with is_plain always. */
static void
append_value(bson_t *points, const char *key, int i, bool is_plain)
{
	switch (is_plain ? 0 : (int) random_below(60))
	{
		case 1:
			bson_append_int32(points, key, -1, i);
			break;
		case 2:
			bson_append_null(points, key, -1);
			break;
		case 3:
			bson_append_int64(points, key, -1, i);
			break;
		case 4:
			bson_append_utf8(points, key, -1, "off", -1);
			break;
		case 5:
			bson_append_document(points, key, -1, &(bson_t) BSON_INITIALIZER);
			break;
		default:
			bson_append_double(points, key, -1, i / 4.0);
	}
}

/* Append a point, whose values can be in a subdocument. */
static void
append_point(const MtsContainer *container, bson_t *points, const char *key,
			 int i, bool is_plain)
{
	bson_t point;

	if (container->is_value || (!is_plain && random_below(60) == 0))
	{
		append_value(points, key, i, is_plain);
		return;
	}
	bson_append_document_begin(points, key, -1, &point);
	append_value(&point, "a", i, is_plain);
	if (is_plain || random_below(20) > 0)
		append_value(&point, "b", i + 1, is_plain);
	bson_append_document_end(points, &point);
}

/* Return how many slots of a level a slot of the level above has. */
static int
slots_below(const MtsStep *above, const MtsStep *step)
{
	/* the bucket's end may cut off half of the last slot */
	return step->kind == MTS_STEP_COLUMN_KEY
			   ? SERIES
			   : (int) (above->unit.usecs / step->unit.usecs / 2);
}

/* Return the slot that follows one; most do so without a gap. */
static int64_t
random_next(const TestTable *table, int64_t n, int slots)
{
	if (random_below(5) > 0)
		return (n + 1) % slots;
	/* those of several containers are read at once if they ascend */
	return table->layout.ncontainers > 1 ? n + 1 + random_below(3)
										 : random_below(slots);
}

/*
 * Append some of the slots that a container has in a level; most follow each
 * other.  Most subdocuments of series have the same keys.
 */
static void
random_level(const TestTable *table, const MtsContainer *container, int level,
			 MtsTime start, int slots, bson_t *doc, const char *field,
			 bool is_plain)
{
	const MtsStep *const *steps = table->layout.slots;
	bool is_last = level == table->layout.nslots - 1;
	bool is_alike =
		steps[level]->kind == MTS_STEP_COLUMN_KEY && random_below(5) > 0;
	char buffer[MTS_MAX_KEY];
	int64_t n = is_alike ? 0 : random_below(slots);
	int i = is_alike ? slots
					 : (int) random_below(is_last ? 70 : 12) /
						   table->layout.ncontainers;
	bson_t points;

	bson_append_document_begin(doc, field, -1, &points);
	for (; i > 0 && n < slots; i--)
	{
		const char *key =
			is_plain ? slot_key(table, level, start, n, buffer)
					 : random_key(table, level, start, buffer, n, slots);

		if (is_last)
			append_point(container, &points, key, i, is_plain);
		else if (!is_plain && random_below(30) == 0)
			bson_append_null(&points, key, -1);
		else
			random_level(table, container, level + 1,
						 start + n * steps[level]->unit.usecs,
						 slots_below(steps[level], steps[level + 1]), &points,
						 key, is_plain);
		if (n + 1 == slots && table->layout.ncontainers > 1)
			break;
		n = is_alike ? (n + 1) % slots : random_next(table, n, slots);
	}
	bson_append_document_end(doc, &points);
}

static void
random_slots(const TestTable *table, int slots, bson_t *doc, bool is_plain)
{
	char path[MTS_MAX_PATH];
	const MtsPath *time = &table->layout.bucket_time.path;

	mts_path_dotted(time->steps, time->nsteps, path, sizeof(path));
	bson_append_date_time(doc, path, -1, START);
	for (int i = 0; i < table->layout.ncontainers; i++)
	{
		const MtsContainer *container = &table->layout.containers[i];
		const MtsPath *values = container->path;

		mts_path_dotted(values->steps, mts_path_leading_names(values), path,
						sizeof(path));
		random_level(table, container, 0, table_time(2013, 10, 10, 23, 6, 0),
					 slots, doc, path, is_plain);
	}
}

/* Append the elements of a container, as an array or a subdocument. */
static void
append_container(bson_t *doc, const char *path, bool is_array, int n,
				 bool is_time, bool is_plain)
{
	int skipped = 0;
	char key[16];
	bson_t points;

	if (is_array)
		bson_append_array_begin(doc, path, -1, &points);
	else
		bson_append_document_begin(doc, path, -1, &points);
	/* that of values may be shorter, and a subdocument may have gaps */
	for (int i = 0; i < n && (is_time || random_below(40) > 0); i++)
	{
		/* an array may have odd keys, which are not its indexes */
		if (!is_plain && random_below(100) == 0)
			skipped++;
		snprintf(key, sizeof(key), "%d", i + skipped);
		if (is_time)
			bson_append_date_time(&points, key, -1,
								  START + (int64_t) random_below(60000));
		else if (random_below(8) > 0)
			append_value(&points, key, i, is_plain);
		else if (is_array)
			bson_append_null(&points, key, -1);
	}
	if (is_array)
		bson_append_array_end(doc, &points);
	else
		bson_append_document_end(doc, &points);
}

/*
 * Make an array of subdocuments, whose fields come in random order.  Some have
 * other fields, or a value of another type, at times instead of the time.
 */
static void
random_array(const TestTable *table, bson_t *doc, bool is_plain)
{
	static const bson_type_t types[] = {BSON_TYPE_NULL, BSON_TYPE_DOUBLE,
										BSON_TYPE_INT64, BSON_TYPE_UTF8};
	static Bucket bucket;
	int n;

	bucket_fill(&bucket, table,
				mts_clock_floor(NULL, table_time(2013, 10, 10, 23, 6, 0),
								table->grain),
				1 + (int) random_below(BUCKET_POINTS));
	n = bucket.nnodes;
	for (int i = 1; i < n && !is_plain; i++)
	{
		Node *node = &bucket.nodes[i];

		if (random_below(100) == 0)
			node->type = types[random_below(4)];
		if (node->type == BSON_TYPE_UTF8 && !node->string)
			node->string = "text";
		if (node->type == BSON_TYPE_DOCUMENT && random_below(30) == 0)
			node_new(&bucket, node, "other");
	}
	bson_reinit(&bucket.doc);
	node_write(&bucket.nodes[0], &bucket.doc);
	bson_copy_to(&bucket.doc, doc);
	bson_destroy(&bucket.doc);
}

static void
random_bucket(const TestTable *table, int slots, bson_t *doc, bool is_plain)
{
	const MtsLayout *layout = &table->layout;
	int n = (int) random_below(70);

	if (layout->time_kind == MTS_TIME_POINT && layout->ncontainers == 1 &&
		!layout->containers[0].is_value)
	{
		random_array(table, doc, is_plain);
		return;
	}
	bson_init(doc);
	if (layout->first.is_set)
		bson_append_date_time(doc, "first", -1, START);
	if (layout->time_kind == MTS_TIME_SLOTS)
		random_slots(table, slots, doc, is_plain);
	for (int i = 0;
		 layout->time_kind == MTS_TIME_POINT && i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		char text[MTS_MAX_PATH];

		mts_path_dotted(path->steps, mts_path_leading_names(path), text,
						sizeof(text));
		append_container(doc, text,
						 !mts_layout_has_bounds(layout) || random_below(2), n,
						 mts_layout_time_column(layout)->container == i,
						 is_plain);
	}
}

/* Tell whether a point has the value that the batch has. */
static bool
is_same_value(const MtsWords *words, int i, const MtsElement *element)
{
	int64_t word;
	double d;

	if (words->missing[i])
		return element->type == 0 || element->type == BSON_TYPE_NULL;
	if (words->takes_elements)
		return words->elements[i].type == element->type &&
			   words->elements[i].size == element->size &&
			   memcmp(words->elements[i].value, element->value,
					  element->size) == 0;
	if (words->type != BSON_TYPE_DOUBLE)
		return words->words[i] == (element->type == BSON_TYPE_INT32
									   ? mts_element_int32(element)
									   : mts_element_int64(element)) &&
			   (element->type == words->type ||
				(element->type == BSON_TYPE_INT32 &&
				 words->type == BSON_TYPE_INT64));
	/* numbers of several types are doubles */
	if (!mts_element_number(element, &d))
		return false;
	memcpy(&word, &d, sizeof(word));
	return words->words[i] == word;
}

/* Tell whether a point has the time and the values of the batch. */
static bool
is_same_point(MtsUnfold *unfold, const MtsBatch *batch, int i,
			  const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;

	if (point->time != batch->times[i])
		return false;
	for (int c = 0; c < layout->ncolumns; c++)
	{
		MtsElement element;

		if (batch->words[c].room == 0 || batch->words[c].numbers_only)
			continue;
		if (mts_unfold_value(unfold, point, &layout->columns[c], &element) ==
			MTS_ABSENT)
			element.type = BSON_TYPE_NULL;
		if (!is_same_value(&batch->words[c], i, &element))
			return false;
	}
	return true;
}

/* Tell whether a point has the keys of a series. */
static bool
is_of_series(MtsUnfold *unfold, const MtsBatch *batch, int series,
			 const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];
		const MtsElement *key = mts_batch_key(batch, series, i);
		MtsElement value;

		if (!key)
			continue;
		if (column->role == MTS_ROLE_SLOT)
			value = (MtsElement){
				.value = (const uint8_t *) point->slots[column->slot].text,
				.size = point->slots[column->slot].len};
		else if (mts_unfold_value(unfold, point, column, &value) == MTS_ABSENT)
			value = (MtsElement){.type = BSON_TYPE_NULL};
		if (key->type != value.type || key->size != value.size ||
			memcmp(key->value, value.value ? (const char *) value.value : "",
				   value.size) != 0)
			return false;
	}
	return true;
}

/* Compare both readings. *n is the number of points read at once, or -1. */
static bool
is_same(MtsUnfold *unfold, MtsBatch *batch, const uint8_t *bytes, size_t size,
		int *n)
{
	MtsElement cells[TABLE_COLUMNS];
	MtsPoint point = {.elements = cells};

	*n = -1;
	if (!mts_unfold_start(unfold, bytes, size) ||
		!mts_batch_read(batch, unfold) ||
		!mts_unfold_start(unfold, bytes, size))
		return true;
	*n = batch->n;
	for (int i = 0; i < *n; i++)
		if (mts_unfold_next(unfold, &point) != MTS_POINT ||
			!is_same_point(unfold, batch, i, &point) ||
			(batch->series.nkeys > 0 &&
			 !is_of_series(unfold, batch, batch->series.of[i], &point)))
			return false;
	return mts_unfold_next(unfold, &point) == MTS_DONE;
}

/* Test random documents, as they are and with a byte changed. */
static void
test_buckets(const TestTable *table, int slots, MtsUnfold *unfold,
			 MtsBatch *batch, bool is_plain)
{
	int read = 0, n;

	for (int turn = 0; turn < 1000; turn++)
	{
		bson_t doc;
		uint8_t *bytes;

		random_bucket(table, slots, &doc, is_plain);
		if (!is_same(unfold, batch, bson_get_data(&doc), doc.len, &n))
			tap_fault("a bucket of %d points is read differently", n);
		if (n < 0 && is_plain)
			tap_fault("a bucket of doubles is not read at once");
		read += n >= 0;
		bytes = malloc(doc.len);
		memcpy(bytes, bson_get_data(&doc), doc.len);
		bytes[4 + random_below(doc.len - 4)] = (uint8_t) random_below(256);
		if (!is_same(unfold, batch, bytes, doc.len, &n))
			tap_fault("a damaged bucket of %d points is read differently", n);
		free(bytes);
		bson_destroy(&doc);
	}
	tap_claim(is_plain ? "buckets of doubles are read at once"
					   : "other values are read as elements, or are unfolded");
	ok(read > 20, "more than 20 buckets are read at once");
}

/* Test ranges that don't include the whole bucket. */
static void
test_part(const TestTable *table, int slots, MtsUnfold *unfold,
		  MtsBatch *batch, MtsRanges *ranges)
{
	MtsTime start = table_time(2013, 10, 10, 23, 6, 0);
	MtsRange *all = ranges->items;
	MtsRange parts[] = {{start + 3, start + 20 * MTS_SECOND},
						{start + 30 * MTS_SECOND, MTS_TIME_MAX}};
	int n;

	*ranges = (MtsRanges){2, parts};
	for (int turn = 0; turn < 100; turn++)
	{
		bson_t doc;

		random_bucket(table, slots, &doc, true);
		if (!is_same(unfold, batch, bson_get_data(&doc), doc.len, &n) || n < 0)
			tap_fault("a part of a bucket is read differently");
		bson_destroy(&doc);
	}
	tap_claim("parts of buckets are read at once");
	*ranges = (MtsRanges){1, all};
}

/* Compare the points of each series with the unfolded ones. */
static bool
is_sorted_same(MtsUnfold *unfold, const MtsBatch *batch, const bson_t *doc)
{
	MtsElement cells[TABLE_COLUMNS];
	MtsPoint point = {.elements = cells};
	MtsUnfolded result;
	int n = 0;

	for (int i = 0; i < batch->series.n; i++)
	{
		int end = n + batch->series.items[i].n;

		(void) mts_unfold_start(unfold, bson_get_data(doc), doc->len);
		while ((result = mts_unfold_next(unfold, &point)) == MTS_POINT)
			if (is_of_series(unfold, batch, i, &point) &&
				(n == end || !is_same_point(unfold, batch, n++, &point)))
				return false;
		if (result != MTS_DONE || n != end)
			return false;
	}
	return n == batch->n;
}

/* Test batches that are sorted by the keys of a table's {column} slots. */
static bool
test_series(const TestTable *table)
{
	static Bucket bucket;
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	bool wanted[TABLE_COLUMNS];
	bool keys[TABLE_COLUMNS] = {0};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	MtsBatch batch;
	int read = 0;

	table_point_columns(table, wanted);
	for (int i = 0; i < table->layout.ncolumns; i++)
		keys[i] = table->layout.columns[i].role == MTS_ROLE_SLOT &&
				  i != table->layout.time_column;
	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	mts_batch_init(&batch, &table->layout, wanted, keys, NULL, arena);
	for (int turn = 0; turn < 300 && batch.series.nkeys > 0; turn++)
	{
		bucket_fill(&bucket, table, bucket_random_start(table),
					1 + (int) random_below(BUCKET_POINTS));
		if (mts_unfold_start(&unfold, bson_get_data(&bucket.doc),
							 bucket.doc.len) &&
			mts_batch_read(&batch, &unfold))
		{
			mts_batch_sort(&batch);
			read++;
			if (!is_sorted_same(&unfold, &batch, &bucket.doc))
				tap_fault("series are read differently");
		}
		bson_destroy(&bucket.doc);
	}
	if (batch.series.nkeys > 0)
		tap_claim("points are sorted by series");
	mts_arena_free(arena);
	return read > 100;
}

/* Which columns are read, beside the values of points */
typedef enum Also
{
	NOTHING,
	SLOT_KEYS,  /* the keys of {column} slots tell series apart */
	VALUE_KEYS, /* so do all values */
	TIMES_ONLY  /* no column is read, as slots are times */
} Also;

/*
 * Test random buckets of one table.  Returns false if they can't be read at
 * once.
 */
static bool
test_columns(const TestTable *table, Also also)
{
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	bool wanted[TABLE_COLUMNS];
	bool keys[TABLE_COLUMNS] = {0};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	MtsBatch batch;
	int slots;

	table_point_columns(table, wanted);
	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		bool is_slot = table->layout.columns[i].role == MTS_ROLE_SLOT;

		keys[i] = also == SLOT_KEYS ? is_slot && i != table->layout.time_column
				  : also == VALUE_KEYS ? wanted[i]
									   : false;
		wanted[i] &= also != TIMES_ONLY;
	}
	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	mts_batch_init(&batch, &table->layout, wanted, keys, NULL, arena);
	slots = count_slots(table, &batch);
	if (slots > 0)
	{
		test_buckets(table, slots, &unfold, &batch, true);
		test_buckets(table, slots, &unfold, &batch, false);
		test_part(table, slots, &unfold, &batch, &ranges);
		batch.method = MTS_BATCH_POINTS;
		test_buckets(table, slots, &unfold, &batch, true);
	}
	mts_arena_free(arena);
	return slots > 0;
}

static bool
test_table(const TestTable *table)
{
	return test_columns(table, NOTHING) && test_columns(table, SLOT_KEYS) &&
		   (table->layout.time_kind == MTS_TIME_POINT ||
			test_columns(table, TIMES_ONLY));
}

/* ---- Many series --------------------------------------------------------- */

#define MAX_MANY 3000

/*
 * Append the series of a second: most follow each other from any on, some are
 * left out, and some change places with others.
 */
static void
append_many(bson_t *doc, const char *key, int n)
{
	int first = random_below(3) > 0 ? 0 : (int) random_below(n);
	bson_t second;

	bson_append_document_begin(doc, key, -1, &second);
	for (int i = 0; i < n; i++)
	{
		int series = (first + i) % n;
		char name[16];
		bson_t point;

		if (random_below(50) == 0)
			continue;
		if (random_below(50) == 0)
			series = (int) random_below(n);
		snprintf(name, sizeof(name), "s%d", series);
		bson_append_document_begin(&second, name, -1, &point);
		append_value(&point, "a", i, true);
		bson_append_document_end(&second, &point);
	}
	bson_append_document_end(doc, &second);
}

/*
 * Test buckets of thousands of series, and with more points than there is room
 * for at first.  Returns how many buckets have these.
 */
static int
test_many_series(const TestTable *table)
{
	MtsRange all = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRanges ranges = {1, &all};
	bool wanted[TABLE_COLUMNS];
	bool keys[TABLE_COLUMNS] = {0};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	MtsBatch batch;
	int large = 0;

	table_point_columns(table, wanted);
	for (int i = 0; i < table->layout.ncolumns; i++)
		keys[i] = table->layout.columns[i].role == MTS_ROLE_SLOT;
	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	mts_batch_init(&batch, &table->layout, wanted, keys, NULL, arena);
	for (int turn = 0; turn < 40; turn++)
	{
		int n = 1 + (int) random_below(MAX_MANY);
		int read;
		bson_t doc, minutes, seconds;

		bson_init(&doc);
		bson_append_date_time(&doc, "ts", -1, START);
		bson_append_document_begin(&doc, "v", -1, &minutes);
		bson_append_document_begin(&minutes, "3", -1, &seconds);
		for (uint32_t second = random_below(4); second < 4; second++)
			append_many(&seconds, (const char *[]){"0", "1", "2", "3"}[second],
						n);
		bson_append_document_end(&minutes, &seconds);
		bson_append_document_end(&doc, &minutes);
		if (mts_batch_forget_series(&batch))
			tap_fault("%d series are forgotten", batch.series.known.n);
		if (!is_same(&unfold, &batch, bson_get_data(&doc), doc.len, &read) ||
			read < 0)
			tap_fault("a bucket of %d series is read differently", n);
		large += read > MTS_BATCH_ROOM;
		bson_destroy(&doc);
	}
	if (batch.series.known.n > MAX_MANY)
		tap_fault("%d series are known", batch.series.known.n);
	tap_claim("buckets of many series are read at once");
	mts_arena_free(arena);
	return large;
}

/* ---- Documents that are points ------------------------------------------ */

#define DOCUMENTS 300
#define MAX_DOCUMENT 256

/* A document of the batch */
typedef struct Row
{
	uint8_t bytes[MAX_DOCUMENT];
	size_t size;
} Row;

/* Make a document; most are like others except for their values. */
static void
random_document(bson_t *doc)
{
	static const char *const hosts[] = {"a", "b", "c", "long", "lang"};
	bool is_odd = random_below(20) == 0;
	bson_t inner;

	bson_init(doc);
	bson_append_oid(doc, "_id", -1,
					&(bson_oid_t){{(uint8_t) random_below(9)}});
	if (!is_odd || random_below(2))
		bson_append_date_time(doc, "t", -1,
							  START + (int64_t) random_below(60000));
	bson_append_document_begin(doc, "tags", -1, &inner);
	if (is_odd && random_below(2))
		bson_append_code(&inner, "host", -1, hosts[random_below(3)]);
	else
		bson_append_utf8(&inner, "host", -1, hosts[random_below(5)], -1);
	bson_append_document_end(doc, &inner);
	if (!is_odd || random_below(2))
		append_value(doc, "a", (int) random_below(100), !is_odd);
	append_value(doc, "b", (int) random_below(100), random_below(100) > 0);
	if (random_below(4) == 0)
		bson_append_utf8(doc, "note", -1, "other", (int) random_below(5));
}

/* Tell whether a series has the key of a document, which can be absent. */
static bool
has_key(MtsUnfold *unfold, const MtsBatch *batch, int series)
{
	const MtsElement *of_series = mts_batch_key(batch, series, 1);
	MtsElement key;

	switch (mts_unfold_value(unfold, NULL, &unfold->layout->columns[1], &key))
	{
		case MTS_FOUND:
			return of_series->type == key.type &&
				   of_series->size == key.size &&
				   memcmp(of_series->value, key.value, key.size) == 0;
		case MTS_ABSENT:
			return of_series->type == BSON_TYPE_NULL && of_series->size == 0;
		default:
			return false;
	}
}

/* Compare the points of the batch with the documents, in their order. */
static bool
is_same_documents(MtsUnfold *unfold, const MtsBatch *batch, const Row *rows)
{
	MtsPoint point = {0};

	for (int i = 0; i < batch->n; i++)
	{
		if (!mts_unfold_start(unfold, rows[i].bytes, rows[i].size) ||
			mts_unfold_next(unfold, &point) != MTS_POINT ||
			point.time_is_null || !is_same_point(unfold, batch, i, &point) ||
			!has_key(unfold, batch, batch->series.of[i]))
			return false;
	}
	return true;
}

/* Append a document to the batch, at times with a byte changed. */
static bool
append_random(MtsBatch *batch, MtsUnfold *unfold, Row *row)
{
	bson_t doc;

	random_document(&doc);
	row->size = doc.len;
	memcpy(row->bytes, bson_get_data(&doc), doc.len);
	bson_destroy(&doc);
	if (random_below(20) == 0)
		row->bytes[4 + random_below(row->size - 4)] =
			(uint8_t) random_below(256);
	return mts_batch_append(batch, unfold, row->bytes, row->size);
}

/* Test batches of documents; returns how many these have. */
static int
test_documents(const TestTable *table)
{
	static Row rows[DOCUMENTS];
	const uint32_t types[] = {0, 0, 1u << BSON_TYPE_DOUBLE,
							  1u << BSON_TYPE_DOUBLE | 1u << BSON_TYPE_INT32};
	const bool wanted[] = {false, false, true, true};
	const bool keys[] = {false, true, false, false};
	MtsRange range = {table_time(2013, 10, 10, 23, 6, 2), MTS_TIME_MAX};
	MtsRanges ranges = {1, &range};
	MtsArena *arena = mts_arena_new(realloc, free);
	MtsUnfold unfold;
	MtsBatch batch;
	int read = 0;

	mts_unfold_init(&unfold, &table->layout, &ranges, arena);
	unfold.accepts_null_time = false;
	if (!mts_batch_init(&batch, &table->layout, wanted, keys, types, arena))
	{
		mts_arena_free(arena);
		return 0;
	}
	batch.needs_time = true;
	for (int turn = 0; turn < 200; turn++)
	{
		int n = 0;

		mts_batch_clear(&batch);
		for (int i = 0; i < DOCUMENTS; i++)
		{
			static Row row;

			/* its bytes do not stay */
			if (!append_random(&batch, &unfold, &row))
				continue;
			rows[n++] = row;
			if (random_below(20) == 0)
			{
				mts_batch_remove_last(&batch);
				n--;
			}
		}
		if (batch.n != n || !is_same_documents(&unfold, &batch, rows))
			tap_fault("documents are read differently");
		read += n;
	}
	tap_claim("documents are read at once");
	mts_arena_free(arena);
	return read;
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
	static const TestSpec uneven = {.name = "slots that end with the bucket",
									.columns = {{"ts", NULL, MTS_ROLE_TIME,
												 NULL, NULL},
												{"v", "v.{7 minutes}.{second}",
												 MTS_ROLE_KEY, NULL, NULL}},
									.span = "hour"};
	static const TestSpec several =
		{.name = "slots in several subdocuments",
		 .columns = {{"ts", NULL, MTS_ROLE_TIME, NULL, NULL},
					 {"u", "u.{minute}", MTS_ROLE_VALUE, NULL, NULL},
					 {"v", "v.{minute}", MTS_ROLE_VALUE, NULL, NULL},
					 {"w", "w.{minute}", MTS_ROLE_VALUE, NULL, NULL}},
		 .span = "hour"};
	static const TestSpec deeper =
		{.name = "nested slots in several subdocuments",
		 .columns = {{"ts", NULL, MTS_ROLE_TIME, NULL, NULL},
					 {"u", "u.{minute}.{second}", MTS_ROLE_VALUE, NULL, NULL},
					 {"v", "v.{minute}.{second}", MTS_ROLE_VALUE, NULL, NULL}},
		 .span = "hour"};
	static const TestSpec sparse =
		{.name = "points that lack values",
		 .columns = {{"ts", "s[].t", MTS_ROLE_TIME, NULL, NULL},
					 {"a", "s[].a", MTS_ROLE_KEY, NULL, NULL},
					 {"b", "s[].m.b", MTS_ROLE_KEY, NULL, NULL},
					 {"c", "s[].m.c", MTS_ROLE_KEY, NULL, NULL}},
		 .bucket_time_field = "d",
		 .span = "hour",
		 .grain = "hour"};
	static const TestSpec of_series =
		{.name = "points by series",
		 .columns = {{"ts", NULL, MTS_ROLE_TIME, NULL, NULL},
					 {"host", NULL, MTS_ROLE_SLOT, NULL, NULL},
					 {"a", "v.{minute}.{second}.{host}.a", MTS_ROLE_KEY, NULL,
					  NULL},
					 {"b", "v.{minute}.{second}.{host}.b", MTS_ROLE_KEY, NULL,
					  NULL}},
		 .span = "hour"};
	static const TestSpec only_series =
		{.name = "a bucket of series alone",
		 .columns = {{"ts", NULL, MTS_ROLE_TIME, NULL, NULL},
					 {"host", NULL, MTS_ROLE_SLOT, NULL, NULL},
					 {"v", "v.{host}", MTS_ROLE_KEY, NULL, NULL}},
		 .span = "minute"};
	static const TestSpec documents =
		{.name = "documents that are points",
		 .columns = {{"ts", "t", MTS_ROLE_TIME, NULL, NULL},
					 {"host", "tags.host", MTS_ROLE_KEY, NULL, NULL},
					 {"a", "a", MTS_ROLE_VALUE, NULL, NULL},
					 {"b", "b", MTS_ROLE_VALUE, NULL, NULL}}};
	TestTable table;
	MtsError error;
	int tables = 0;
	int with_series = 0;

	tap_seed();
	for (int i = 0; i < table_nspecs; i++)
	{
		table_open(i, &table);
		tables += test_table(&table);
		with_series += test_series(&table);
	}
	ok(tables > 1, "several layouts are read at once");
	ok(with_series > 1, "several layouts are read by series");
	ok(table_declare(&few, &table, &error) && test_table(&table),
	   "a bucket of few slots is read at once");
	ok(table_declare(&uneven, &table, &error) && test_table(&table),
	   "a bucket of uneven slots is read at once");
	ok(table_declare(&several, &table, &error) && test_table(&table),
	   "slots in several subdocuments are read at once");
	ok(table_declare(&deeper, &table, &error) && test_table(&table),
	   "nested slots in several subdocuments are read at once");
	ok(table_declare(&sparse, &table, &error) && test_table(&table) &&
		   test_columns(&table, VALUE_KEYS),
	   "a bucket of points that lack values is read at once");
	ok(table_declare(&of_series, &table, &error) && test_table(&table) &&
		   test_columns(&table, VALUE_KEYS),
	   "points by series are read at once");
	ok(test_many_series(&table) > 3,
	   "some of them have more points than there is room for at first");
	ok(table_declare(&only_series, &table, &error) && test_table(&table),
	   "a bucket of series alone is read at once");
	ok(table_declare(&documents, &table, &error) &&
		   table.layout.time_kind == MTS_TIME_FLAT &&
		   test_documents(&table) > 40000,
	   "most documents that are points are read at once");
	return tap_done();
}
