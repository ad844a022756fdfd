/*
 * fetch.c
 *		Which bucket comes next?
 *
 * Where few rows are wanted in order, MongoDB is asked for the first few
 * buckets only, since to sort all of them for that may take it long.  What
 * follows, if it is wanted, is asked for in larger windows: those that have
 * not come yet, from the last one on.
 */
#include "fetch.h"

#include "core/terms.h"
#include "core/write.h"
#include "document.h"
#include "order.h"
#include "parallel.h"
#include "rolling.h"

/* No window is larger; what is left then comes by one cursor. */
#define MAX_WINDOW 1000

/* Append that the field a query is sorted by is not before the last one's. */
static void
append_bound(const MtsScan *scan, bson_t *terms)
{
	char field[MTS_MAX_DOTTED + 1];
	bson_iter_t iter, value;
	bool descending;

	mts_order_field(scan->table, scan->order, scan->window.series, field,
					&descending);
	if (bson_iter_init(&iter, scan->window.last) &&
		bson_iter_find_descendant(&iter, field, &value) &&
		!BSON_ITER_HOLDS_NULL(&value))
		mts_terms_add_not(terms, field, descending ? "$gt" : "$lt", &value);
}

/* The filter of the buckets that have not come yet */
static const bson_t *
rest_filter(const MtsScan *scan, const bson_t *filter)
{
	bson_t *rest = mts_document_new();
	bson_t terms = BSON_INITIALIZER;
	bson_t term = BSON_INITIALIZER;
	bson_t ops;

	bson_append_document(&terms, "", -1, filter);
	append_bound(scan, &terms);
	bson_append_document_begin(&term, "_id", -1, &ops);
	bson_append_array(&ops, "$nin", -1, scan->window.ids);
	bson_append_document_end(&term, &ops);
	bson_append_document(&terms, "", -1, &term);
	mts_terms_join(&terms, rest);
	bson_destroy(&term);
	bson_destroy(&terms);
	return rest;
}

static void
open_cursor(MtsScan *scan)
{
	const bson_t *filter = scan->part ? scan->part : scan->filter;
	int fetch_size = scan->table->fetch_size;
	MtsFind find = {.filter = filter,
					.projection = scan->projection,
					.sort = scan->sort,
					.first_batch = fetch_size,
					.fetch_size = fetch_size,
					.limit = scan->window.limit,
					.on_primary = scan->on_primary};

	if (scan->window.limit > 0)
		find.first_batch = scan->window.limit;
	else if (scan->first_batch > 0 && !scan->window.last)
		find.first_batch = scan->first_batch;
	if (scan->window.last)
		find.filter = rest_filter(scan, filter);
	scan->connection = mts_connection_get(scan->table->serverid, scan->userid);
	scan->cursor = mts_remote_find(scan->connection, scan->table->database,
								   scan->collection->name, &find);
}

/*
 * Are buckets sorted by one field of theirs, which stays as it is, and few of
 * them wanted?  Documents that are rows may come from a view or a time-series
 * collection, where _id tells nothing.
 */
static bool
has_windows(const MtsScan *scan)
{
	return scan->order && scan->first_batch > 0 &&
		   scan->first_batch < Min(scan->table->fetch_size, MAX_WINDOW) &&
		   scan->table->layout.nslots > 0 &&
		   !mts_order_is_by_bound(scan->table, scan->order) &&
		   intVal(list_nth(scan->order, MTS_ORDER_SORTED)) ==
			   scan->window.series + 1;
}

static MemoryContext
query_memory(const MtsScan *scan)
{
	return scan->part ? scan->part_context : scan->query_context;
}

/*
 * Have the scan read the next part that is this process's, or the next
 * collection of a set; false when there is none.
 */
static bool
next_source(MtsScan *scan)
{
	if (scan->parallel)
		return mts_parallel_next(scan);
	return !scan->rolling || mts_rolling_next(scan);
}

/*
 * mts_fetch_open
 *		Ask for the first buckets of a scan's query, or of the next part of it
 *		that is to be read; false when there is none.
 */
bool
mts_fetch_open(MtsScan *scan)
{
	MemoryContext old;

	if (!next_source(scan))
		return false;
	old = MemoryContextSwitchTo(query_memory(scan));
	scan->window = (MtsWindow){0};
	if (scan->order)
		scan->window.series = intVal(list_nth(scan->order, MTS_ORDER_SERIES));
	if (has_windows(scan))
	{
		scan->window.limit = scan->first_batch;
		scan->window.ids = mts_document_new();
	}
	open_cursor(scan);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * mts_fetch_append_id
 *		Append the _id of a bucket, by which it is told from others, as key.
 */
void
mts_fetch_append_id(const MtsScan *scan, const bson_t *bucket, bson_t *doc,
					const char *key)
{
	bson_iter_t id;

	if (!bson_iter_init_find(&id, bucket, "_id"))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("a document of MongoDB collection \"%s.%s\" "
						"has no _id",
						scan->table->database, scan->collection->name)));
	bson_append_iter(doc, key, -1, &id);
}

/* Note that a bucket has come. */
static void
note(MtsScan *scan, const bson_t *bucket)
{
	char digits[16];
	const char *key;

	bson_uint32_to_string(scan->window.nids++, &key, digits, sizeof(digits));
	mts_fetch_append_id(scan, bucket, scan->window.ids, key);
	if (++scan->window.n < scan->window.limit)
		return;
	scan->window.last = bson_copy(bucket);
	mts_document_adopt((bson_t *) scan->window.last);
}

/* Ask for those behind the last one, more than the last time. */
static void
widen(MtsScan *scan)
{
	mts_remote_close(scan->cursor);
	scan->window.n = 0;
	scan->window.limit *= MTS_BATCH_GROWTH;
	if (scan->window.limit >= Min(scan->table->fetch_size, MAX_WINDOW))
		scan->window.limit = 0;
	open_cursor(scan);
}

static const bson_t *
next_bucket(MtsScan *scan)
{
	const bson_t *bucket = mts_remote_next(scan->cursor);
	bool has_more =
		scan->window.limit > 0 && scan->window.n == scan->window.limit;
	MemoryContext old = MemoryContextSwitchTo(query_memory(scan));

	if (!bucket && has_more)
	{
		widen(scan);
		bucket = mts_remote_next(scan->cursor);
	}
	if (bucket && scan->window.limit > 0)
		note(scan, bucket);
	MemoryContextSwitchTo(old);
	return bucket;
}

/* mts_fetch_next: the next bucket, until the next call; NULL at the end. */
const bson_t *
mts_fetch_next(MtsScan *scan)
{
	const bson_t *bucket = next_bucket(scan);

	while (!bucket && (scan->parallel || scan->rolling) &&
		   mts_fetch_open(scan))
		bucket = next_bucket(scan);
	return bucket;
}
