/*
 * source.c
 *		Read the buckets of a query, one after the other.
 *
 * They come in parts: a part is a collection and terms that its buckets satisfy
 * in addition.  A query has one part, or a part for each collection of a rolling
 * set (rolling.c), for each share of a worker (parallel.c), or for each series
 * of a skip scan (skip.c).
 *
 * Where few rows are wanted in the order of time, MongoDB is asked for the first
 * few buckets with a limit: it closes the cursor by itself then, and keeps no
 * more of them while it sorts if no index has their order.  Of 288,000 buckets
 * in 220 MB it gave the first ten in a fifth of the time.  If these do not
 * suffice, a larger window of buckets follows.  It begins with the time of the
 * last ones, which are held back until later ones have come: nothing tells the
 * buckets of one time apart, since documents of a view can have the same _id.
 */
#include "scan/source.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/document.h"

/* No window is larger; one cursor reads what is left then */
#define MAX_WINDOW 1000

/* Buckets that are held back, or released again, in memory of their own */
typedef struct MtsBuckets
{
	MemoryContext memory;
	List *items;
} MtsBuckets;

typedef struct MtsWindow
{
	int limit;           /* buckets that were asked for; 0: all */
	int n;               /* buckets that have come, of these */
	bool is_last;        /* have all come? */
	MtsBuckets released; /* in order; the first `given` have been given */
	int given;
	MtsBuckets held;      /* those of one time, after which more may come */
	MtsDecoded held_kind; /* of the first one of these */
	MtsTime held_time;
} MtsWindow;

/*
 * mts_source_new
 *		Prepare to read buckets of a table; nothing is sent.
 *
 * The source is allocated in the current memory context, and counts what it
 * reads in *counters.
 */
MtsBucketSource *
mts_source_new(MtsTable *table, Oid userid, MtsCounters *counters)
{
	MtsBucketSource *source = palloc0(sizeof(MtsBucketSource));

	source->table = table;
	source->userid = userid;
	source->counters = counters;
	if (!table->rolling_name)
		source->collection = mts_collections_named(table, table->collection);
	source->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw part",
							  ALLOCSET_DEFAULT_SIZES);
	return source;
}

/* Close the cursor; the next call opens the next part. */
static void
close_part(MtsBucketSource *source)
{
	if (source->cursor)
		mts_cursor_close(source->cursor);
	source->cursor = NULL;
	source->window = NULL;
	source->is_at_end = false;
	MemoryContextReset(source->memory);
}

/*
 * mts_source_begin
 *		Read the buckets of a query from the first one on; NULL: of none.
 */
void
mts_source_begin(MtsBucketSource *source, const MtsQuery *query)
{
	close_part(source);
	source->query = query;
	source->has_begun = false;
	source->nparts = 0;
	source->has_chosen = false;
}

/*
 * mts_source_first
 *		The first bucket of a query of its own, of the table's collection or of
 *		the part's; NULL when there is none.
 *
 * It lives as long as the current memory context.
 */
const bson_t *
mts_source_first(MtsBucketSource *source, const MtsFind *find)
{
	MtsFind counted = *find;

	counted.round_trips = &source->counters->round_trips;
	return mts_cursor_first(mts_connection_get(source->table->serverid,
											   source->userid),
							source->table->database, source->collection->name,
							&counted);
}

/* ---- A part --------------------------------------------------------------- */

/* Begin a part's first window; NULL where all is asked for at once. */
static MtsWindow *
begin_window(const MtsBucketSource *source)
{
	const MtsQuery *query = source->query;
	const MtsSortOrder *order = query->order;
	MtsWindow *window;

	if (!order || query->first_batch == 0 ||
		query->first_batch >= Min(source->table->fetch_size, MAX_WINDOW) ||
		!order->has_time || order->is_by_bound ||
		order->nsorted != order->nseries + 1)
		return NULL;
	window = palloc0(sizeof(MtsWindow));
	window->limit = query->first_batch;
	/* several series have buckets of the same time */
	if (!mts_query_fixes_keys(source->table, source->filter))
		window->limit *= MTS_BATCH_GROWTH;
	window->released.memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw released",
							  ALLOCSET_SMALL_SIZES);
	window->held.memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw held",
							  ALLOCSET_SMALL_SIZES);
	return window;
}

/* Ask for the buckets that match the part's filter. */
static void
open_cursor(MtsBucketSource *source)
{
	const MtsQuery *query = source->query;
	int fetch_size = source->table->fetch_size;
	int limit = source->window ? source->window->limit : 0;

	source->cursor =
		mts_cursor_find(mts_connection_get(source->table->serverid,
										   source->userid),
						source->table->database, source->collection->name,
						&(MtsFind){.filter = source->filter,
								   .projection = query->projection,
								   .sort = query->sort,
								   .first_batch = limit > 0 ? limit
												  : query->first_batch > 0
													  ? query->first_batch
													  : fetch_size,
								   .fetch_size = fetch_size,
								   .limit = limit,
								   .on_primary = query->on_primary,
								   .round_trips =
									   &source->counters->round_trips});
}

/*
 * mts_source_begin_part
 *		Read those buckets of a collection that satisfy an array of terms, too.
 *
 * terms may be NULL.  They are copied.
 */
void
mts_source_begin_part(MtsBucketSource *source, const MtsCollection *collection,
					  const bson_t *terms)
{
	MemoryContext old;

	close_part(source);
	old = MemoryContextSwitchTo(source->memory);
	source->has_begun = true;
	source->collection = collection;
	source->filter = terms ? mts_query_restrict(source->query->filter, terms)
						   : source->query->filter;
	source->window = begin_window(source);
	open_cursor(source);
	MemoryContextSwitchTo(old);
}

/*
 * mts_source_begin_sample
 *		Read so many buckets of the collection that are drawn at random.
 *
 * $sample comes first where it can: MongoDB then needs not look at all buckets.
 */
void
mts_source_begin_sample(MtsBucketSource *source, double size)
{
	const MtsQuery *query = source->query;
	MemoryContext old;
	bson_t *stages;

	close_part(source);
	old = MemoryContextSwitchTo(source->memory);
	source->has_begun = true;
	stages = mts_document_new();
	if (!bson_empty(query->filter))
		mts_template_push(stages, "{$match: %o}", query->filter);
	mts_template_push(stages, "{$sample: {size: %i}}", (int64) size);
	if (!bson_empty(query->projection))
		mts_template_push(stages, "{$project: %o}", query->projection);
	source->cursor =
		mts_cursor_aggregate(mts_connection_get(source->table->serverid,
												source->userid),
							 source->table->database, source->collection->name,
							 stages, source->table->fetch_size,
							 &source->counters->round_trips);
	MemoryContextSwitchTo(old);
}

/* ---- Windows --------------------------------------------------------------- */

/* Let the buckets that are held back be given. */
static void
release(MtsWindow *window)
{
	MtsBuckets released = window->held;

	MemoryContextReset(window->released.memory);
	window->held =
		(MtsBuckets){.memory = window->released.memory, .items = NIL};
	window->released = released;
	window->given = 0;
}

/* Hold a bucket back, and release those of an earlier time. */
static void
hold(MtsBucketSource *source, const bson_t *bucket)
{
	MtsWindow *window = source->window;
	MtsTime t = 0;
	MtsDecoded kind =
		mts_sort_order_read_time(&source->query->order->time,
								 &source->table->layout.clock, bucket, &t);
	MemoryContext old;
	bson_t *copy;

	/* a time that is invalid may be any */
	if (window->held.items && kind != MTS_DECODED_INVALID &&
		window->held_kind != MTS_DECODED_INVALID &&
		(kind != window->held_kind || t != window->held_time))
		release(window);
	if (!window->held.items)
	{
		window->held_kind = kind;
		window->held_time = t;
	}
	old = MemoryContextSwitchTo(window->held.memory);
	copy = bson_copy(bucket);
	mts_document_adopt(copy);
	window->held.items = lappend(window->held.items, copy);
	MemoryContextSwitchTo(old);
	window->n++;
}

/* Restrict the part's filter to what is not before the buckets held back. */
static void
restrict_filter(MtsBucketSource *source)
{
	const MtsWindow *window = source->window;
	const MtsSortOrder *order = source->query->order;
	const MtsSortKey *key = &order->keys[order->nseries];
	bson_t terms = BSON_INITIALIZER;
	bson_iter_t iter, value;

	if (window->held_kind == MTS_DECODED_NULL && key->descending)
		mts_template_push(&terms, "{%s: null}", key->field);
	else if (window->held_kind == MTS_DECODED &&
			 bson_iter_init(&iter, linitial(window->held.items)) &&
			 bson_iter_find_descendant(&iter, key->field, &value))
	{
		mts_filter_add_not(&terms, key->field, key->descending ? "$gt" : "$lt",
						   &value);
		/* nulls are first, and not less */
		if (!key->descending)
			mts_template_push(&terms, "{%s: {$ne: null}}", key->field);
	}
	source->filter = mts_query_restrict(source->filter, &terms);
	bson_destroy(&terms);
}

/* Ask for a larger window, from the buckets that are held back on. */
static void
widen(MtsBucketSource *source)
{
	MtsWindow *window = source->window;
	MemoryContext old = MemoryContextSwitchTo(source->memory);

	restrict_filter(source);
	window->held.items = NIL;
	MemoryContextReset(window->held.memory);
	window->n = 0;
	window->limit *= MTS_BATCH_GROWTH;
	if (window->limit >= Min(source->table->fetch_size, MAX_WINDOW))
		window->limit = 0;
	mts_cursor_close(source->cursor);
	open_cursor(source);
	MemoryContextSwitchTo(old);
}

/* Receive a bucket; NULL at the cursor's end. */
static const bson_t *
receive(MtsBucketSource *source)
{
	const bson_t *bucket = mts_cursor_next(source->cursor);

	if (bucket)
	{
		source->counters->buckets++;
		source->counters->bytes += bucket->len;
	}
	return bucket;
}

/* The next bucket of the part; NULL at its end */
static const bson_t *
next_of_part(MtsBucketSource *source)
{
	MtsWindow *window = source->window;

	while (window && window->limit > 0)
	{
		const bson_t *bucket;

		if (window->given < list_length(window->released.items))
			return list_nth(window->released.items, window->given++);
		if (window->is_last)
			return NULL;
		bucket = receive(source);
		if (bucket)
			hold(source, bucket);
		else if (window->n == window->limit)
			widen(source);
		else
		{
			release(window);
			window->is_last = true;
		}
	}
	return receive(source);
}

/*
 * mts_source_bound
 *		Find the time of the next bucket in the order of time, if it has come;
 *		no other one is before it.
 */
bool
mts_source_bound(const MtsBucketSource *source, MtsTime *t)
{
	const MtsWindow *window = source->window;

	if (!window || !window->held.items || window->held_kind != MTS_DECODED ||
		window->given < list_length(window->released.items))
		return false;
	*t = window->held_time;
	return true;
}

/* ---- Reading -------------------------------------------------------------- */

/* Open the next part; false when there is none. */
static bool
open_next(MtsBucketSource *source)
{
	if (source->next_part)
		return source->next_part(source);
	if (source->has_begun)
		return false;
	mts_source_begin_part(source, source->collection, NULL);
	return true;
}

/*
 * mts_source_next
 *		The next bucket, which lives until the next call; NULL at the end.
 */
const bson_t *
mts_source_next(MtsBucketSource *source)
{
	const bson_t *bucket = NULL;

	CHECK_FOR_INTERRUPTS();
	if (!source->cursor)
		source->is_at_end = !open_next(source);
	while (!bucket && !source->is_at_end)
	{
		bucket = next_of_part(source);
		if (!bucket)
			source->is_at_end = !open_next(source);
	}
	return bucket;
}

/*
 * mts_source_read_again
 *		Read the whole of a bucket of which slots were asked for; NULL when it
 *		has been removed meanwhile.
 *
 * It lives as long as the current memory context.
 */
const bson_t *
mts_source_read_again(MtsBucketSource *source, const bson_t *bucket)
{
	bson_t *filter = mts_document_new();
	const bson_t *doc;

	mts_source_append_id(source, bucket, filter, "_id");
	doc =
		mts_source_first(source,
						 &(MtsFind){.filter = filter,
									.projection = mts_query_whole_projection(
										source->query),
									.on_primary = source->query->on_primary});
	if (doc)
		source->counters->bytes += doc->len;
	return doc;
}

/* mts_source_append_id: append the _id of a bucket, as key. */
void
mts_source_append_id(const MtsBucketSource *source, const bson_t *bucket,
					 bson_t *doc, const char *key)
{
	bson_iter_t id;

	if (!bson_iter_init_find(&id, bucket, "_id"))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
				 errmsg("a document of MongoDB collection \"%s.%s\" "
						"has no _id",
						source->table->database, source->collection->name)));
	bson_append_iter(doc, key, -1, &id);
}
