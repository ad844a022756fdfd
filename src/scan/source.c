/*
 * source.c
 *		Read the buckets of a query, one after the other.
 *
 * A query is read in parts.  A part is a collection, and terms that its
 * buckets must satisfy besides the query's filter.  A plain query is one part.
 * Otherwise next_part begins them: each collection of a rolling set
 * (rolling.c) or each share of a parallel scan (parallel.c) is a part.  A skip
 * scan (skip_scan.c) begins a part for each series.  Documents without a time
 * can be the first ones of a part.
 *
 * This file does not look into buckets.
 */
#include "scan/source.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "scan/window.h"

/* The first batch has about as many bytes, and at least as many buckets. */
#define FIRST_BYTES (2.0 * 1024 * 1024)
#define LEAST_BUCKETS 16

/* The bytes of a value in a bucket, with its key */
#define VALUE_BYTES 16

/* The first batch of buckets whose size the layout does not tell */
#define BUCKETS_OF_ANY_SIZE 200

/*
 * mts_source_new
 *		Prepare to read buckets of a table; nothing is sent yet.
 *
 * The source is allocated in the current memory context.  Whether it reads
 * what PostgreSQL's transaction has written is decided here, before its
 * statement writes anything.
 */
MtsBucketSource *
mts_source_new(MtsTable *table, Oid userid, MtsCounters *counters)
{
	MtsBucketSource *source = palloc0(sizeof(MtsBucketSource));

	source->table = table;
	source->userid = userid;
	source->counters = counters;
	source->in_xact =
		mts_table_joins_xact(table) && mts_xact_is_active(table->serverid);
	if (!table->rolling_name)
		source->collection = mts_collections_named(table, table->collection);
	source->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw part",
							  ALLOCSET_DEFAULT_SIZES);
	return source;
}

static MtsConnection *
connection_of(const MtsBucketSource *source)
{
	return mts_connection_get(source->table->serverid, source->userid);
}

/* ---- Parts -------------------------------------------------------------- */

/* Close the cursor, and free what belongs to the part. */
static void
close_part(MtsBucketSource *source)
{
	if (source->cursor)
		mts_cursor_close(source->cursor);
	source->cursor = NULL;
	source->window = NULL;
	source->rest = NULL;
	source->first = NULL;
	source->returned = NULL;
	source->is_at_end = false;
	MemoryContextReset(source->memory);
}

/*
 * mts_source_begin
 *		Begin to read the buckets of a query; with NULL, stop reading.
 */
void
mts_source_begin(MtsBucketSource *source, const MtsQuery *query)
{
	close_part(source);
	source->query = query;
	source->has_begun = false;
	source->has_chosen = false;
	source->nparts = 0;
}

/*
 * mts_source_first_batch
 *		Return the number of buckets in the first batch of a query.
 *
 * Large ones would take much memory at once, and MongoDB would do nothing
 * while they are read.  The cursor knows their size from the first batch on.
 */
int
mts_source_first_batch(const MtsQuery *query)
{
	const MtsLayout *layout = &query->table->layout;
	double points = mts_layout_capacity(layout);
	double bytes = 0;
	double buckets = BUCKETS_OF_ANY_SIZE;

	if (query->content != MTS_CONTENT_WHOLE || layout->nslots == 0)
		return Min(query->initial_batch_size, MTS_FIRST_BATCH);
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].path.nslots > 0)
			bytes += points * VALUE_BYTES;
	/* any number of series can share the slots of a time */
	for (int i = 0; i < layout->nslots; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			bytes = 0;
	if (bytes > 0)
		buckets = Max(FIRST_BYTES / bytes, LEAST_BUCKETS);
	buckets = Min(buckets, MTS_FIRST_BATCH);
	return (int) Min(query->initial_batch_size, buckets);
}

/* mts_source_find: the find command of a query. */
MtsFind
mts_source_find(const MtsQuery *query)
{
	return (MtsFind){.filter = query->filter,
					 .projection = query->projection,
					 .sort = query->sort,
					 .group = query->group,
					 .first_batch = mts_source_first_batch(query),
					 .fetch_size = query->table->fetch_size,
					 .on_primary = query->on_primary};
}

/* Set what all finds of a source have in common. */
static void
complete_find(const MtsBucketSource *source, MtsFind *find)
{
	find->round_trips = &source->counters->round_trips;
	find->snapshot = source->snapshot;
	find->in_xact = source->in_xact;
	find->relid = source->table->relid;
}

/*
 * mts_source_cursor
 *		Make a cursor over buckets of the part's collection, or of the table's.
 *
 * What complete_find() sets in *find need not be set.
 */
MtsCursor *
mts_source_cursor(const MtsBucketSource *source, MtsFind *find)
{
	complete_find(source, find);
	return mts_cursor_find(connection_of(source), source->table->database,
						   source->collection->name, find);
}

/*
 * mts_source_open_cursor
 *		Ask for the part's buckets, as many as a limit allows; 0 means all.
 */
void
mts_source_open_cursor(MtsBucketSource *source, int limit)
{
	MtsFind find = mts_source_find(source->query);

	find.filter = source->filter;
	find.limit = limit;
	if (limit > 0)
		find.first_batch = limit;
	source->cursor = mts_source_cursor(source, &find);
}

/* Ask for the buckets that match the filter. */
static void
ask(MtsBucketSource *source)
{
	source->window = mts_window_new(source);
	mts_source_open_cursor(source, mts_window_limit(source->window));
}

/* Ask for documents without a time first, and leave the rest. */
static void
begin_with_nulls(MtsBucketSource *source)
{
	const bson_t *filter = source->filter;

	source->filter = mts_query_restrict_time(source->query, filter, true);
	source->rest = mts_query_restrict_time(source->query, filter, false);
	mts_source_open_cursor(source, 0);
}

/* Begin with the rest of the part; false if there is none. */
static bool
begin_rest(MtsBucketSource *source)
{
	MemoryContext old;

	if (!source->rest)
		return false;
	old = MemoryContextSwitchTo(source->memory);
	mts_cursor_close(source->cursor);
	source->filter = source->rest;
	source->rest = NULL;
	ask(source);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * mts_source_begin_part
 *		Begin to read the buckets of a collection that match the query's filter
 *		and an array of terms.
 *
 * The terms, which may be NULL, are copied.
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
	if (source->query->nulls_come_first)
		begin_with_nulls(source);
	else
		ask(source);
	MemoryContextSwitchTo(old);
}

/*
 * mts_source_begin_first
 *		Begin with a bucket that has been read.
 *
 * The next part follows, if the reader wants more buckets.  The caller keeps
 * *first alive.
 */
void
mts_source_begin_first(MtsBucketSource *source, const MtsFirstBucket *first)
{
	close_part(source);
	source->has_begun = true;
	source->first = first;
	source->has_returned_first = false;
}

/*
 * mts_source_begin_sample
 *		Begin to read a random sample of the collection, of this many buckets.
 *
 * Without a filter $sample is the first stage: only then can MongoDB draw
 * buckets without reading all of them.
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
		mts_cursor_aggregate(connection_of(source), source->table->database,
							 source->collection->name, stages,
							 source->table->fetch_size,
							 &source->counters->round_trips,
							 source->table->relid);
	MemoryContextSwitchTo(old);
}

/* Begin the next part; false if there is none. */
static bool
begin_next_part(MtsBucketSource *source)
{
	if (source->next_part)
		return source->next_part(source);
	if (source->has_begun)
		return false;
	mts_source_begin_part(source, source->collection, NULL);
	return true;
}

/* ---- Reading ------------------------------------------------------------ */

/* Count a bucket, which may be NULL, and return it. */
static const bson_t *
count_bucket(MtsBucketSource *source, const bson_t *bucket)
{
	if (bucket)
	{
		source->counters->buckets++;
		source->counters->bytes += bucket->len;
	}
	return bucket;
}

/* mts_source_receive: read a bucket from the cursor; NULL at its end. */
const bson_t *
mts_source_receive(MtsBucketSource *source)
{
	return count_bucket(source, mts_cursor_next(source->cursor));
}

/*
 * mts_source_next
 *		Read the next bucket; NULL at the end.
 *
 * It lives until the next call.
 */
const bson_t *
mts_source_next(MtsBucketSource *source)
{
	const bson_t *bucket = source->returned;

	CHECK_FOR_INTERRUPTS();
	source->returned = NULL;
	if (bucket)
		return bucket;
	if (source->first && !source->has_returned_first)
	{
		source->has_returned_first = true;
		return count_bucket(source, source->first->bucket);
	}
	if (!source->cursor)
		source->is_at_end = !begin_next_part(source);
	while (!source->is_at_end)
	{
		bucket = source->window ? mts_window_next(source->window)
								: mts_source_receive(source);
		if (bucket)
			break;
		source->is_at_end = !begin_rest(source) && !begin_next_part(source);
	}
	return bucket;
}

/* mts_source_return: let the next bucket be the last one again. */
void
mts_source_return(MtsBucketSource *source, const bson_t *bucket)
{
	source->returned = bucket;
}

/*
 * mts_source_next_time
 *		Find the time of the next bucket, if that is known and comes after the
 *		time of the last one; otherwise return false.
 */
bool
mts_source_next_time(const MtsBucketSource *source, MtsTime *t)
{
	if (source->first)
	{
		*t = source->first->next;
		return source->first->has_next;
	}
	return source->window && mts_window_next_time(source->window, t);
}

/*
 * mts_source_try_explain
 *		Ask MongoDB for its plan of a query on a collection.
 *
 * The result and *reply are those of mts_cursor_try_explain().
 */
bool
mts_source_try_explain(const MtsBucketSource *source, const MtsFind *find,
					   const char *collection, const bson_t **reply)
{
	MtsFind ours = *find;

	ours.relid = source->table->relid;
	return mts_cursor_try_explain(connection_of(source),
								  source->table->database, collection, &ours,
								  reply);
}

/* ---- Single buckets ----------------------------------------------------- */

/*
 * mts_source_first
 *		Read the first bucket that a find command returns; NULL if none.
 *
 * It is of the part's collection, or of the table's, and lives as long as the
 * current memory context.  It is not counted as a bucket of the query.
 */
const bson_t *
mts_source_first(MtsBucketSource *source, const MtsFind *find)
{
	MtsFind counted = *find;

	complete_find(source, &counted);
	return mts_cursor_first(connection_of(source), source->table->database,
							source->collection->name, &counted);
}

/*
 * mts_source_read_again
 *		Read the whole of a bucket that was read without some of its slots;
 *		NULL if it has been removed in the meantime.
 *
 * It lives as long as the current memory context.
 */
const bson_t *
mts_source_read_again(MtsBucketSource *source, const bson_t *bucket)
{
	MtsFind find = {.filter = mts_document_new(),
					.projection = mts_query_whole_projection(source->query),
					.on_primary = source->query->on_primary};
	const bson_t *whole;

	mts_source_append_id(source, bucket, (bson_t *) find.filter, "_id");
	whole = mts_source_first(source, &find);
	if (whole)
		source->counters->bytes += whole->len;
	return whole;
}

/* mts_source_append_id: append the _id of a bucket to a document, as key. */
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
