/*
 * fuzz_unfold.c
 *		Asserts that each way to read a bucket gives the same points.
 *
 * The input chooses a layout, ranges and a clock; the rest is a document.  It
 * is unfolded as a whole, by ranges, by its projection and as float8 arrays.
 */
#include "core/bucket/batch.h"
#include "fuzz.h"

#include "core/query/projection.h"
#include "mongo.h"
#include "points.h"

/* The layout, whether its clock has a zone, and numbers for the ranges */
#define HEAD 6
#define ZONE_BIT 0x80

const size_t fuzz_head = HEAD;

/* A document has fewer points than bytes */
#define ROOM FUZZ_MAX

typedef struct Seen
{
	MtsTime time;
	bool time_is_null;
	MtsSlotKey slots[MTS_MAX_SLOTS];
	MtsElement elements[TABLE_COLUMNS];
} Seen;

typedef struct All
{
	int n;
	int ninvalid;
	Seen items[ROOM];
} All;

/* Store a bucket's integers as doubles, which are read at once. */
static void
store_doubles(Bucket *bucket)
{
	for (int i = 0; i < bucket->nnodes; i++)
		if (bucket->nodes[i].type == BSON_TYPE_INT32)
			bucket->nodes[i].type = BSON_TYPE_DOUBLE;
	bson_reinit(&bucket->doc);
	node_write(&bucket->nodes[0], &bucket->doc);
}

size_t
fuzz_make(uint8_t *data)
{
	static Bucket bucket;
	static TestTable table;
	size_t len;

	data[0] = (uint8_t) random_below(table_nspecs);
	for (int i = 1; i < HEAD; i++)
		data[i] = (uint8_t) random_bits();
	table_open(data[0], &table);
	bucket_fill(&bucket, &table, bucket_random_start(&table),
				1 + (int) random_below(BUCKET_POINTS));
	if (random_below(2))
		store_doubles(&bucket);
	len = bucket.doc.len;
	fuzz_check(HEAD + len <= FUZZ_MAX, "a bucket of %zu bytes", len);
	memcpy(data + HEAD, bson_get_data(&bucket.doc), len);
	bson_destroy(&bucket.doc);
	return HEAD + len;
}

/* All values of a point must lie inside its document. */
static void
check_values(MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	const uint8_t *from = unfold->document.value;
	const uint8_t *to = from + unfold->document.size;
	MtsElement element;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (layout->columns[i].role == MTS_ROLE_SLOT ||
			mts_unfold_value(unfold, point, &layout->columns[i], &element) !=
				MTS_FOUND)
			continue;
		fuzz_check(element.value >= from && element.value <= to &&
					   element.size <= (size_t) (to - element.value),
				   "a value out of its document");
		mts_unfold_locate(unfold, point, &layout->columns[i]);
	}
}

static void
keep(All *all, const MtsUnfold *unfold, const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;
	Seen *seen = &all->items[all->n++];

	fuzz_check(all->n < ROOM, "more points than bytes");
	memset(seen, 0, sizeof(*seen));
	seen->time_is_null = point->time_is_null;
	seen->time = point->time_is_null ? 0 : point->time;
	memcpy(seen->slots, point->slots, layout->nslots * sizeof(MtsSlotKey));
	memcpy(seen->elements, point->elements,
		   layout->ncontainers * sizeof(MtsElement));
	fuzz_check(point->time_is_null ||
				   (point->time >= unfold->start && point->time < unfold->end),
			   "a point out of its bucket");
}

/* Returns false if the bucket itself is invalid. */
static bool
unfold_all(MtsUnfold *unfold, const uint8_t *doc, size_t size, All *all)
{
	MtsElement elements[TABLE_COLUMNS] = {0};
	MtsPoint point = {.elements = elements};
	MtsUnfolded result;

	all->n = all->ninvalid = 0;
	if (!mts_unfold_start(unfold, doc, size))
		return false;
	while ((result = mts_unfold_next(unfold, &point)) != MTS_DONE)
		if (result == MTS_POINT)
		{
			keep(all, unfold, &point);
			check_values(unfold, &point);
		}
		else
			fuzz_check(++all->ninvalid <= ROOM, "an endless loop");
	return true;
}

/*
 * Tell whether two points are equal.  In a copy, libbson has sorted the
 * options of regular expressions.
 */
static bool
is_same(const MtsLayout *layout, const Seen *a, const Seen *b)
{
	bool same = a->time == b->time && a->time_is_null == b->time_is_null;

	for (int i = 0; i < layout->nslots && same; i++)
		same = layout->slots[i]->kind == MTS_STEP_COLUMN_KEY
				   ? a->slots[i].len == b->slots[i].len &&
						 memcmp(a->slots[i].text, b->slots[i].text,
								a->slots[i].len) == 0
				   : a->slots[i].index == b->slots[i].index;
	for (int i = 0; i < layout->ncontainers && same; i++)
		same = a->elements[i].type == b->elements[i].type &&
			   (a->elements[i].type == 0 ||
				a->elements[i].type == BSON_TYPE_REGEX ||
				(a->elements[i].size == b->elements[i].size &&
				 memcmp(a->elements[i].value, b->elements[i].value,
						a->elements[i].size) == 0));
	return same;
}

/* The points within the ranges must be returned in the same order. */
static void
check_trimmed(const MtsLayout *layout, const All *all, const All *trimmed,
			  const MtsRanges *ranges, const char *what)
{
	int n = 0;

	for (int i = 0; i < all->n; i++)
	{
		const Seen *seen = &all->items[i];

		if (seen->time_is_null || !in_ranges(ranges, seen->time))
			continue;
		fuzz_check(n < trimmed->n && is_same(layout, seen, &trimmed->items[n]),
				   "%s: point %d is lost or another", what, i);
		n++;
	}
	fuzz_check(n == trimmed->n, "%s: %d points of %d", what, trimmed->n, n);
}

static bool
is_equal(const MtsElement *a, const MtsElement *b)
{
	return a->type == b->type && a->size == b->size &&
		   memcmp(a->value, b->value, a->size) == 0;
}

/* What is read at once must be the values of a point. */
static void
check_words(MtsUnfold *unfold, const MtsBatch *batch, int i,
			const MtsPoint *point)
{
	const MtsLayout *layout = unfold->layout;

	for (int c = 0; c < layout->ncolumns; c++)
	{
		const MtsWords *words = &batch->words[c];
		MtsElement element;
		bool is_null;

		if (words->room == 0)
			continue;
		is_null = mts_unfold_value(unfold, point, &layout->columns[c],
								   &element) == MTS_ABSENT ||
				  element.type == BSON_TYPE_NULL;
		fuzz_check(words->missing[i] == is_null &&
					   (is_null ||
						(words->takes_elements
							 ? is_equal(&words->elements[i], &element)
							 : element.type == words->type) ||
						words->type == BSON_TYPE_DOUBLE ||
						words->type == BSON_TYPE_INT64),
				   "value %d is another", i);
	}
}

/* What is read at once must be the points that are unfolded. */
static void
check_batch(MtsUnfold *unfold, const MtsArena *arena, const TestTable *table,
			const uint8_t *doc, size_t size, const All *all)
{
	const MtsLayout *layout = unfold->layout;
	bool wanted[TABLE_COLUMNS];
	const bool keys[TABLE_COLUMNS] = {0};
	MtsPoint point = {0};
	MtsBatch batch;

	if (layout->ncontainers == 0 || !mts_unfold_start(unfold, doc, size))
		return;
	table_point_columns(table, wanted);
	if (mts_batch_init(&batch, layout, wanted, keys, NULL, arena) &&
		mts_batch_read(&batch, unfold))
	{
		fuzz_check(batch.n == all->n && all->ninvalid == 0,
				   "%d points at once of %d", batch.n, all->n);
		for (int i = 0; i < batch.n; i++)
		{
			fuzz_check(all->items[i].time == batch.times[i],
					   "point %d is another", i);
			point.elements = (MtsElement *) all->items[i].elements;
			check_words(unfold, &batch, i, &point);
		}
	}
}

/* Conclusions from a bucket's header must be true for its points. */
static void
check_header(MtsUnfold *unfold, const uint8_t *doc, size_t size,
			 const All *all, const All *trimmed)
{
	MtsCoverage wanted;

	if (unfold->layout->ncontainers == 0)
		return;
	unfold->headers_only = true;
	fuzz_check(mts_unfold_start(unfold, doc, size), "no header");
	wanted = mts_unfold_header_coverage(unfold);
	unfold->headers_only = false;
	fuzz_check(wanted == MTS_COVERED_SOME ||
				   trimmed->n == (wanted == MTS_COVERED_ALL ? all->n : 0),
			   "a header says %d where %d points of %d are wanted",
			   (int) wanted, trimmed->n, all->n);
}

/* A projected bucket must have the wanted points. */
static void
check_projected(MtsUnfold *unfold, const TestTable *table, const uint8_t *doc,
				size_t size, const All *all)
{
	static All got;
	bool needed[TABLE_COLUMNS];
	bson_t projection = BSON_INITIALIZER;
	bson_t out = BSON_INITIALIZER;
	bson_t whole;
	bool is_narrow;

	if (!fuzz_libbson_reads(doc, size) || !bson_init_static(&whole, doc, size))
		return;
	for (int i = 0; i < TABLE_COLUMNS; i++)
		needed[i] =
			table->layout.time_kind == MTS_TIME_POINT || random_below(2);
	is_narrow = mts_projection_build(&table->layout, needed, unfold->ranges,
									 NULL, random_below(4) > 0, &projection);
	if (!is_narrow || mts_layout_is_aligned(&table->layout, unfold->start))
	{
		mongo_project(&whole, &projection, &out);
		fuzz_check(unfold_all(unfold, bson_get_data(&out), out.len, &got),
				   "what is projected is no bucket");
		check_trimmed(&table->layout, all, &got, unfold->ranges, "projected");
	}
	bson_destroy(&projection);
	bson_destroy(&out);
}

/*
 * Return a time of the bucket, around which ranges are chosen, if it has a
 * usable one.
 */
static MtsTime
middle(const MtsUnfold *unfold, const All *all)
{
	MtsTime t = all->n > 0 ? all->items[0].time : unfold->start;

	return t > -100000 * MTS_DAY && t < 100000 * MTS_DAY
			   ? t
			   : table_time(2013, 10, 10, 23, 6, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static All all, trimmed;
	static TestTable table;
	static TestZone summer;
	const uint8_t *doc = data + HEAD;
	MtsRange whole = {MTS_TIME_MIN, MTS_TIME_MAX};
	MtsRange items[8];
	MtsRanges ranges = {1, &whole};
	MtsArena *arena;
	MtsUnfold unfold;

	if (size < HEAD || size > FUZZ_MAX)
		return 0;
	size -= HEAD;
	table_open((data[0] & ~ZONE_BIT) % table_nspecs, &table);
	summer = (TestZone){table_time(2013, 3, 31, 1, 0, 0),
						table_time(2013, 10, 27, 1, 0, 0)};
	if (data[0] & ZONE_BIT)
	{
		table.layout.clock = table_clock(&summer);
		table.layout.slots_are_local = data[1] & 1;
	}
	tap_state = 0;
	memcpy(&tap_state, data + 1, HEAD - 1);
	arena = mts_arena_new(realloc, free);
	mts_unfold_init(&unfold, &table.layout, &ranges, arena);
	if (unfold_all(&unfold, doc, size, &all))
	{
		bool lacks_container = unfold.lacks_container;

		check_batch(&unfold, arena, &table, doc, size, &all);
		ranges.items = items;
		random_ranges(&table, middle(&unfold, &all), &ranges);
		unfold.accepts_null_time = false;
		unfold_all(&unfold, doc, size, &trimmed);
		check_trimmed(&table.layout, &all, &trimmed, &ranges, "trimmed");
		check_header(&unfold, doc, size, &all, &trimmed);
		/*
		 * a projected bucket with an empty container is read again as a whole
		 */
		if (table.layout.time_kind != MTS_TIME_FLAT && !lacks_container)
			check_projected(&unfold, &table, doc, size, &all);
	}
	mts_arena_free(arena);
	return 0;
}
