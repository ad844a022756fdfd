/*
 * first_buckets.c
 *		Ask for the first buckets of many series at once.
 *
 * An aggregate command returns the first bucket of each value of a key, in the
 * order of the time.  MongoDB skips to it from value to value in an index.
 *
 * Other buckets of a series can hold the first row, too: those without a time,
 * if these come first, or those whose time is so near that their points can
 * overlap.  A second query finds out which series have any.  It reads only
 * keys and times, so an index answers it.  The first bucket of such a series
 * is not returned: the series must be asked for by itself.
 */
#include "scan/first_buckets.h"

#include "utils/memutils.h"

#include "driver/document.h"
#include "pushdown/sort_order.h"
#include "scan/bucket.h"

/* Buckets of the cursor's first batch, whose size is not known yet */
#define FIRST_SERIES 100

/* A batch ends with the bucket that exceeds this many bytes. */
#define MAX_BATCH_BYTES (8 * 1024 * 1024)

/* Other buckets that are read for each series, on average */
#define MAX_OTHERS 4

typedef struct Entry
{
	MtsFirstBucket first;
	bson_t *value;   /* {"": value} of the key */
	MtsRange starts; /* of the buckets that can overlap this one */
	bool is_unclear; /* there is no telling which buckets do */
	bool is_grouped; /* a term asks for those buckets */
	int found;       /* number of those buckets */
} Entry;

struct MtsFirstBuckets
{
	MtsBucketSource *source;
	const MtsSortKey *key; /* the last one of the series */
	bson_t *terms;         /* fix the keys before it */
	MtsCursor *cursor;
	bool is_complete;     /* the cursor has returned all there are */
	MemoryContext memory; /* of the batch */
	Entry *entries;
	int n;
	int next; /* the entry to be returned */
};

/*
 * mts_first_buckets_read_key
 *		Read the value of a key into a document {"": value}.
 */
void
mts_first_buckets_read_key(const MtsBucketSource *source, const char *field,
						   const bson_t *bucket, bson_t *value)
{
	bson_iter_t iter, key;

	if (!bson_iter_init(&iter, bucket) ||
		!bson_iter_find_descendant(&iter, field, &key))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("a document of MongoDB collection \"%s.%s\" has an "
						"array on the path \"%s\"",
						source->table->database, source->table->collection,
						field)));
	bson_reinit(value);
	bson_append_iter(value, "", -1, &key);
}

/*
 * mts_first_buckets_find
 *		Make the command for the first buckets of all values of the last key.
 *
 * The array of terms fixes the keys before it.
 */
MtsFind
mts_first_buckets_find(const MtsQuery *query, const bson_t *terms)
{
	const MtsSortOrder *order = query->order;
	const char *field = order->keys[order->nseries - 1].field;
	MtsFind find = mts_source_find(query);
	bson_t *all = mts_document_new();
	bson_t *sort =
		mts_document_make("{%s: %d}", field, order->series_direction);

	bson_concat(all, terms);
	/* without this, MongoDB does not use an index for a range of the time */
	mts_template_push(all, "{%s: {$ne: null}}", field);
	bson_concat(sort, query->sort);
	find.filter = mts_query_restrict(query->filter, all);
	find.sort = sort;
	find.first_of = field;
	find.first_batch = Min(FIRST_SERIES, find.fetch_size);
	return find;
}

/* ---- Other buckets ------------------------------------------------------ */

/* Tell whether other buckets can come before rows of the first one. */
static bool
can_overlap(const MtsQuery *query)
{
	return query->order->has_time && !query->order->is_by_bound &&
		   query->table->layout.time_kind != MTS_TIME_FLAT;
}

/* Find the times of the buckets that can overlap an entry's. */
static void
find_starts(const MtsQuery *query, Entry *entry)
{
	const MtsLayout *layout = &query->table->layout;
	const MtsSortOrder *order = query->order;
	bool descending = order->keys[order->nsorted - 1].descending;
	MtsTime start, last;

	if (mts_sort_order_read_time(&order->time, &layout->clock,
								 entry->first.bucket, &start) != MTS_DECODED)
		entry->is_unclear = true;
	if (entry->is_unclear)
		return;
	last = mts_bucket_last_time(layout, start);
	entry->starts =
		mts_layout_bucket_range(layout, (MtsRange){start, last == MTS_TIME_MAX
															  ? last
															  : last + 1});
	entry->first.next_time =
		descending ? entry->starts.from - 1 : entry->starts.to;
	entry->first.has_next_time = true;
	entry->is_unclear =
		entry->starts.from == MTS_TIME_MIN || entry->starts.to == MTS_TIME_MAX;
}

/* Append a term for the buckets that can overlap those of some entries. */
static void
append_overlapping(MtsFirstBuckets *buckets, Entry *entry, bson_t *terms)
{
	const MtsQuery *query = buckets->source->query;
	const Entry *end = buckets->entries + buckets->n;
	bson_t *values = mts_document_new();
	bson_t *ops = mts_document_new();
	MtsRange starts = entry->starts;

	for (; entry < end; entry++)
		if (!entry->is_unclear && entry->starts.from == starts.from &&
			entry->starts.to == starts.to)
		{
			entry->is_grouped = true;
			bson_concat(values, entry->value);
		}
	mts_format_bounds(query->order->time.format, &query->table->layout.clock,
					  starts, ops);
	mts_template_push(terms, "{%s: {$in: %a}, %s: %o}", buckets->key->field,
					  values, query->order->time.dotted, ops);
}

/* Append a term for the buckets without a time. */
static void
append_nulls(const MtsFirstBuckets *buckets, bson_t *terms)
{
	const MtsSortOrder *order = buckets->source->query->order;
	bson_t *values = mts_document_new();

	for (int i = 0; i < buckets->n; i++)
		bson_concat(values, buckets->entries[i].value);
	mts_template_push(terms, "{%s: {$in: %a}, %s: null}", buckets->key->field,
					  values, order->keys[order->nseries].field);
}

/* Make the terms for other buckets that can hold a first row. */
static bson_t *
make_terms(MtsFirstBuckets *buckets)
{
	const MtsQuery *query = buckets->source->query;
	bson_t *terms = mts_document_new();

	if (query->unsorted_come_first)
		append_nulls(buckets, terms);
	for (int i = 0; i < buckets->n && can_overlap(query); i++)
	{
		Entry *entry = &buckets->entries[i];

		if (!entry->is_unclear && !entry->is_grouped)
			append_overlapping(buckets, entry, terms);
	}
	return terms;
}

/*
 * Count the buckets of a cursor for their entries, which have the same order.
 * A bucket that belongs to none of them, such as one whose key is an equal
 * number of another type, makes all unclear.
 */
static void
count_found(MtsFirstBuckets *buckets, MtsCursor *cursor, int limit)
{
	bson_t *value = mts_document_new();
	const bson_t *bucket;
	int i = 0;
	int read = 0;

	while ((bucket = mts_cursor_next(cursor)))
	{
		buckets->source->counters->bytes += bucket->len;
		mts_first_buckets_read_key(buckets->source, buckets->key->field,
								   bucket, value);
		while (i < buckets->n && !bson_equal(value, buckets->entries[i].value))
			i++;
		if (i == buckets->n)
			break;
		buckets->entries[i].found++;
		read++;
	}
	if (i == buckets->n)
		i = 0;
	else if (read < limit)
		return;
	for (; i < buckets->n; i++)
		buckets->entries[i].is_unclear = true;
}

/* Ask for other buckets that can hold a first row of an entry. */
static void
find_others(MtsFirstBuckets *buckets)
{
	MtsBucketSource *source = buckets->source;
	MtsFind find = mts_source_find(source->query);
	bson_t *terms = make_terms(buckets);
	bson_t *all = mts_document_new();
	MtsCursor *cursor;

	if (bson_empty(terms))
		return;
	bson_concat(all, buckets->terms);
	if (bson_count_keys(terms) == 1)
		bson_concat(all, terms);
	else
		mts_template_push(all, "{$or: %a}", terms);
	find.filter = mts_query_restrict(source->query->filter, all);
	find.projection = mts_query_project_field(buckets->key->field);
	find.sort = mts_document_make("{%s: %d}", buckets->key->field,
								  source->query->order->series_direction);
	find.limit = MAX_OTHERS * buckets->n;
	find.first_batch = find.limit;
	cursor = mts_source_cursor(source, source->table->collection, &find);
	count_found(buckets, cursor, find.limit);
	mts_cursor_close(cursor);
}

/* ---- Reading ------------------------------------------------------------ */

/* Add an entry for a bucket that has been received. */
static void
add_entry(MtsFirstBuckets *buckets, const bson_t *bucket)
{
	Entry *entry = &buckets->entries[buckets->n++];

	*entry = (Entry){0};
	entry->first.bucket = bson_copy(bucket);
	mts_document_adopt(entry->first.bucket);
	entry->value = mts_document_new();
	mts_first_buckets_read_key(buckets->source, buckets->key->field, bucket,
							   entry->value);
	if (can_overlap(buckets->source->query))
		find_starts(buckets->source->query, entry);
}

/* Receive a batch of first buckets; false at the end. */
static bool
read_entries(MtsFirstBuckets *buckets)
{
	const bson_t *bucket = NULL;
	int limit = Min(buckets->source->table->fetch_size, MTS_FIRST_BATCH);
	Size size = 0;
	MemoryContext old;

	if (buckets->is_complete)
		return false;
	MemoryContextReset(buckets->memory);
	old = MemoryContextSwitchTo(buckets->memory);
	buckets->entries = palloc(limit * sizeof(Entry));
	buckets->n = buckets->next = 0;
	while (buckets->n < limit && size <= MAX_BATCH_BYTES &&
		   (bucket = mts_cursor_next(buckets->cursor)))
	{
		size += bucket->len;
		add_entry(buckets, bucket);
	}
	buckets->is_complete = bucket == NULL;
	if (buckets->n > 0)
		find_others(buckets);
	MemoryContextSwitchTo(old);
	return buckets->n > 0;
}

/*
 * mts_first_buckets_begin
 *		Ask for the first buckets of all values of the last key but null.
 *
 * The array of terms fixes the keys before it.  The result is allocated in the
 * current memory context, and its cursor closes with that.
 */
MtsFirstBuckets *
mts_first_buckets_begin(MtsBucketSource *source, const bson_t *terms)
{
	const MtsSortOrder *order = source->query->order;
	MtsFirstBuckets *buckets = palloc0(sizeof(MtsFirstBuckets));
	MtsFind find = mts_first_buckets_find(source->query, terms);

	buckets->source = source;
	buckets->key = &order->keys[order->nseries - 1];
	buckets->terms = mts_document_new();
	bson_concat(buckets->terms, terms);
	buckets->memory = AllocSetContextCreate(CurrentMemoryContext,
											"mongo_ts_fdw first buckets",
											ALLOCSET_DEFAULT_SIZES);
	buckets->cursor =
		mts_source_cursor(source, source->table->collection, &find);
	/* the server reads these before what is asked for next */
	(void) mts_cursor_must_wait(buckets->cursor);
	return buckets;
}

/*
 * mts_first_buckets_next
 *		Find the next value of the key; false if none.
 *
 * Sets *value to {"": value}, and *first to the first bucket that has it, or
 * to NULL if others can hold the first row, too.  It lives until the next
 * call.
 */
bool
mts_first_buckets_next(MtsFirstBuckets *buckets, bson_t *value,
					   const MtsFirstBucket **first)
{
	const Entry *entry;
	bool is_enough;

	if (buckets->next == buckets->n && !read_entries(buckets))
		return false;
	entry = &buckets->entries[buckets->next++];
	bson_reinit(value);
	bson_concat(value, entry->value);
	/* the query for overlapping buckets finds the first one, too */
	is_enough = !entry->is_unclear &&
				entry->found == (can_overlap(buckets->source->query) ? 1 : 0);
	*first = is_enough ? &entry->first : NULL;
	return true;
}
