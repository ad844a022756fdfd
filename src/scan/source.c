/*
 * source.c
 *		Read the buckets of a query, one after the other.
 *
 * A query is read in parts, each a collection and terms that its buckets
 * satisfy besides the query's filter.  The parts of a table are its
 * collections, or the shares of a parallel scan (parallel.c).  The query reads
 * some of these (part.c), which it may restrict to a series (skip_scan.c).  A
 * process claims one part after the other, and reads it (part_reader.c).
 *
 * This file also makes the other commands that read a table's collections.  It
 * does not look into buckets.
 */
#include "scan/source.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "core/bson/template.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "scan/part_reader.h"
#include "scan/time_window.h"
#include "table/index.h"
#include "table/native.h"
#include "table/statistics.h"

/* The first batch has about as many bytes, and at least as many buckets. */
#define FIRST_BYTES (2.0 * 1024 * 1024)
#define LEAST_BUCKETS 16

/* The bytes of a value in a bucket, with its key */
#define VALUE_BYTES 16

/* The first batch of buckets whose size the layout does not tell */
#define BUCKETS_OF_ANY_SIZE 200

/* A query for documents of another type in a sorted field */
typedef struct Misfits
{
	MtsCursor *cursor;
	const MtsCollection *collection;
	const bson_t *ahead; /* the next one, read before; or NULL */
} Misfits;

/*
 * mts_source_new
 *		Prepare to read buckets of a table; nothing is sent yet.
 *
 * The source is allocated in the current memory context.  It reads all that
 * PostgreSQL's transaction has written, if that has written before.
 */
MtsBucketSource *
mts_source_new(const MtsTable *table, Oid userid, MtsCounters *counters)
{
	MtsBucketSource *source = palloc0(sizeof(MtsBucketSource));

	source->table = table;
	source->userid = userid;
	source->counters = counters;
	source->in_xact =
		mts_table_joins_xact(table) && mts_xact_is_active(table->serverid);
	source->before = InvalidCommandId;
	source->reader = mts_part_reader_new(source);
	return source;
}

/*
 * mts_source_read_command
 *		Of what PostgreSQL's transaction has written, read that of commands
 *		before the one of a statement.
 */
void
mts_source_read_command(MtsBucketSource *source, CommandId before)
{
	source->before = before;
	source->in_xact = mts_table_joins_xact(source->table) &&
					  mts_xact_has_written(source->table->serverid, before);
}

/*
 * mts_source_read_all_commands
 *		Read all that PostgreSQL's transaction has written, also in the current
 *		command.
 */
void
mts_source_read_all_commands(MtsBucketSource *source)
{
	source->before = InvalidCommandId;
}

/*
 * mts_source_beside
 *		Prepare to read other buckets of the table that another source reads,
 *		as they are for that source, and with its counters.
 */
MtsBucketSource *
mts_source_beside(const MtsBucketSource *other)
{
	MtsBucketSource *source =
		mts_source_new(other->table, other->userid, other->counters);

	source->snapshot = other->snapshot;
	source->in_xact = other->in_xact;
	source->before = other->before;
	return source;
}

/* mts_source_read_snapshot: read what a snapshot sees; NULL for the latest. */
void
mts_source_read_snapshot(MtsBucketSource *source, MtsSnapshot *snapshot)
{
	source->snapshot = snapshot;
}

/* mts_source_read_xact: set whether PostgreSQL's transaction is read. */
void
mts_source_read_xact(MtsBucketSource *source, bool in_xact)
{
	source->in_xact = in_xact;
}

static MtsConnection *
connection_of(const MtsBucketSource *source)
{
	return mts_connection_get(source->table->serverid, source->userid);
}

/* ---- Parts -------------------------------------------------------------- */

/*
 * mts_source_read_parts
 *		Read parts of the table in place of its collections; NIL to read these
 *		again.
 *
 * If next_unclaimed is not NULL, the processes that share it divide the parts
 * of a query among themselves.  The caller keeps all alive.
 */
void
mts_source_read_parts(MtsBucketSource *source, List *parts,
					  pg_atomic_uint32 *next_unclaimed)
{
	const MtsQuery *query = source->query;

	mts_source_reset(source);
	source->query = query;
	source->own_parts = parts;
	source->next_unclaimed = next_unclaimed;
}

/* List the table's collections; false if may_fail and the server is slow. */
static bool
list_all(MtsBucketSource *source, bool may_fail)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(source));
	bool asks = source->table->rolling_name != NULL;
	int64 before = asks ? connection_of(source)->round_trips : 0;
	const MtsCollections *collections =
		mts_collections_list(source->table, source->userid, may_fail);

	source->has_collections = collections != NULL;
	if (collections)
	{
		/* the connection may be another one, which counts from 0 */
		if (asks)
			source->counters->round_trips +=
				Max(connection_of(source)->round_trips - before, 0);
		source->collections = mts_part_of_collections(collections);
	}
	MemoryContextSwitchTo(old);
	return source->has_collections;
}

/* Choose the parts of the query or, with terms, of one of its series. */
static void
choose_parts(MtsBucketSource *source, const bson_t *terms,
			 const MtsFirstBucket *first)
{
	const MtsQuery *query = source->query;

	source->parts = mts_part_choose(source->own_parts ? source->own_parts
													  : source->collections,
									query);
	if (terms)
		source->parts = mts_part_of_series(source->parts, terms, first);
	if (query->unsorted_come_first)
		source->parts = mts_part_unsorted_first(source->parts, query);
	source->has_chosen = true;
	source->is_divided = false;
}

/*
 * mts_source_list_parts
 *		List the parts of the table and, if there is a query, those that it
 *		reads.
 *
 * The collections of a rolling set are listed once: a rescan does not see
 * newer ones, and finds dropped ones empty.  Returns false if may_fail is set
 * and the server does not answer soon.
 */
bool
mts_source_list_parts(MtsBucketSource *source, bool may_fail)
{
	MemoryContext old;

	if (!source->own_parts && !source->has_collections &&
		!list_all(source, may_fail))
		return false;
	if (source->query && !source->has_chosen)
	{
		old = MemoryContextSwitchTo(
			GetMemoryChunkContext((void *) source->query));
		choose_parts(source, NULL, NULL);
		MemoryContextSwitchTo(old);
	}
	return true;
}

/*
 * mts_source_read_names
 *		List the names of the table's collections that have been read in any
 *		execution.
 */
List *
mts_source_read_names(const MtsBucketSource *source)
{
	List *read = NIL;
	ListCell *lc;

	foreach (lc, source->collections)
		if (list_member_ptr(source->collections_read,
							((MtsPart *) lfirst(lc))->collection))
			read = lappend(read, lfirst(lc));
	return mts_part_names(read);
}

/* Close the first query for documents of another type. */
static void
forget_misfits(MtsBucketSource *source)
{
	mts_cursor_close(((Misfits *) linitial(source->misfits))->cursor);
	source->misfits = list_delete_first(source->misfits);
}

/*
 * mts_source_stop
 *		Stop reading.
 *
 * What this process has claimed in this execution remains its own: if it
 * begins again, it reads these parts first, as no other process does.
 */
void
mts_source_stop(MtsBucketSource *source)
{
	mts_part_reader_close(source->reader);
	while (source->misfits != NIL)
		forget_misfits(source);
	source->pushed_back = NULL;
	source->awaited = NULL;
	source->query = NULL;
	source->has_chosen = false;
	source->nbegun = 0;
}

/* mts_source_reset: stop reading.  Another execution may follow. */
void
mts_source_reset(MtsBucketSource *source)
{
	mts_source_stop(source);
	list_free(source->claimed);
	source->claimed = NIL;
}

/* mts_source_begin: begin to read the buckets of a query. */
void
mts_source_begin(MtsBucketSource *source, const MtsQuery *query)
{
	mts_source_stop(source);
	source->query = query;
}

/*
 * mts_source_begin_series
 *		Begin to read the buckets of the query that satisfy an array of terms.
 *
 * first is the first of them, or NULL.  The caller keeps both, and the current
 * memory context, until it looks for the next series.
 */
void
mts_source_begin_series(MtsBucketSource *source, const bson_t *terms,
						const MtsFirstBucket *first)
{
	const MtsQuery *query = source->query;
	List *misfits = source->misfits; /* of all series */

	(void) mts_source_list_parts(source, false);
	source->misfits = NIL;
	mts_source_reset(source);
	source->query = query;
	source->misfits = misfits;
	choose_parts(source, terms, first);
}

/* Claim a part of the query; false if none is left. */
static bool
claim(MtsBucketSource *source)
{
	uint32 n = list_length(source->parts);
	uint32 part = list_length(source->claimed);
	MemoryContext old;

	/* the first comparison keeps the number from wrapping around */
	if (source->next_unclaimed &&
		pg_atomic_read_u32(source->next_unclaimed) < n)
		part = pg_atomic_fetch_add_u32(source->next_unclaimed, 1);
	else if (source->next_unclaimed)
		part = n;
	if (part >= n)
		return false;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(source));
	source->claimed = lappend_int(source->claimed, part);
	MemoryContextSwitchTo(old);
	return true;
}

/* Divide the parts of the query into windows of time, if that helps. */
static void
divide_parts(MtsBucketSource *source)
{
	MemoryContext old =
		MemoryContextSwitchTo(GetMemoryChunkContext((void *) source->query));

	source->is_divided = true;
	source->parts = mts_time_window_divide(source, source->parts);
	MemoryContextSwitchTo(old);
}

/* Begin the next part; false if there is none. */
static bool
begin_next_part(MtsBucketSource *source)
{
	const MtsPart *part;
	MemoryContext old;

	(void) mts_source_list_parts(source, false);
	if (!source->is_divided)
		divide_parts(source);
	if (source->nbegun == list_length(source->claimed) && !claim(source))
		return false;
	part = list_nth(source->parts,
					list_nth_int(source->claimed, source->nbegun++));
	mts_part_reader_begin(source->reader, part);
	source->collection = part->collection;
	source->is_unsorted = part->is_unsorted;
	if (!source->own_parts)
	{
		old = MemoryContextSwitchTo(GetMemoryChunkContext(source));
		source->collections_read =
			list_append_unique_ptr(source->collections_read,
								   (void *) part->collection);
		MemoryContextSwitchTo(old);
	}
	return true;
}

/*
 * mts_source_begin_sample
 *		Read a random sample of the first part.
 *
 * So many buckets are drawn that the query's filter selects.  If draws_first,
 * they are drawn from the collection, and those that it selects are read.
 */
void
mts_source_begin_sample(MtsBucketSource *source, int64 size, bool draws_first)
{
	if (begin_next_part(source))
		mts_part_reader_sample(source->reader, size, draws_first);
}

/* ---- Buckets ------------------------------------------------------------ */

/*
 * mts_source_next
 *		Read the next bucket; NULL at the end.
 *
 * It lives until the next call.  If source->is_async, NULL is also returned
 * where the next bucket must be waited for, after the command that it requires
 * has been sent; see source->awaited.
 */
const bson_t *
mts_source_next(MtsBucketSource *source)
{
	const bson_t *bucket = source->pushed_back;

	CHECK_FOR_INTERRUPTS();
	source->pushed_back = NULL;
	source->awaited = NULL;
	while (!bucket)
	{
		if (source->is_async)
			source->awaited = mts_part_reader_awaited(source->reader);
		if (source->awaited)
			return NULL;
		bucket = mts_part_reader_next(source->reader);
		if (!bucket && !begin_next_part(source))
			return NULL;
	}
	return bucket;
}

/* mts_source_push_back: let the bucket that was read last be read again. */
void
mts_source_push_back(MtsBucketSource *source, const bson_t *bucket)
{
	source->pushed_back = bucket;
}

/*
 * mts_source_next_time
 *		Find the time of the next bucket, if that is known and comes after the
 *		time of the last one; otherwise return false.
 */
bool
mts_source_next_time(const MtsBucketSource *source, MtsTime *t)
{
	return mts_part_reader_next_time(source->reader, t);
}

/*
 * mts_source_next_limit
 *		Find the limit of the times in the parts that have not been begun; see
 *		mts_part_limit().
 *
 * The caller reads in order, so no other process has claimed parts.
 */
bool
mts_source_next_limit(const MtsBucketSource *source, MtsTime *limit)
{
	const MtsPart *next = NULL;

	if (source->nbegun < list_length(source->parts))
		next = list_nth(source->parts, source->nbegun);
	return mts_part_limit(source->query, next, limit);
}

/* ---- Documents of another type in a sorted field ------------------------ */

/*
 * mts_source_ask_misfits
 *		Ask for the documents of a part that match a filter, but have another
 *		type in a sorted field.
 *
 * The answer is read when the scan ends: the server looks for them while rows
 * are made of what it has sent before.
 */
void
mts_source_ask_misfits(MtsBucketSource *source, const MtsPart *part,
					   const bson_t *filter)
{
	MtsFind find = mts_source_find(source->query);
	MemoryContext old =
		MemoryContextSwitchTo(GetMemoryChunkContext((void *) source->query));
	Misfits *misfits = palloc0(sizeof(Misfits));

	find.filter = filter;
	find.sort = NULL;
	find.first_batch = 1;
	misfits->collection = part->collection;
	misfits->cursor = mts_source_cursor(source, part->collection->name, &find);
	/* a transaction would show what it writes later */
	if (!mts_cursor_must_wait(misfits->cursor))
		misfits->ahead = mts_cursor_next(misfits->cursor);
	source->misfits = lappend(source->misfits, misfits);
	MemoryContextSwitchTo(old);
}

/*
 * mts_source_next_misfit
 *		Read the next document that was asked for, and set source->collection
 *		to its collection; NULL if there is none.
 *
 * It lives until the next call.
 */
const bson_t *
mts_source_next_misfit(MtsBucketSource *source)
{
	while (source->misfits != NIL)
	{
		Misfits *misfits = linitial(source->misfits);
		const bson_t *result = misfits->ahead;

		misfits->ahead = NULL;
		if (!result)
			result = mts_cursor_next(misfits->cursor);
		source->collection = misfits->collection;
		if (result)
			return result;
		forget_misfits(source);
	}
	return NULL;
}

/* ---- Commands ----------------------------------------------------------- */

/*
 * Return the number of buckets in the first batch of a query.
 *
 * Large ones would take much memory at once, and MongoDB would do nothing
 * while they are read.  The cursor knows their size from the first batch on.
 */
static int
first_batch(const MtsQuery *query)
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

/* mts_source_find: make the find command of a query. */
MtsFind
mts_source_find(const MtsQuery *query)
{
	return (MtsFind){.filter = query->filter,
					 .projection = query->projection,
					 .sort = query->sort,
					 .group = query->group,
					 .first_batch = first_batch(query),
					 .fetch_size = query->table->fetch_size,
					 .on_primary = query->on_primary};
}

/* Set what all finds of a source have in common. */
static void
complete_find(const MtsBucketSource *source, MtsFind *find)
{
	if (find->filter)
		find->filter = mts_query_sent_filter(source->table, find->filter);
	find->round_trips = &source->counters->round_trips;
	find->snapshot = source->snapshot;
	find->in_xact = source->in_xact;
	find->raw_data = mts_native_is_raw(source->table);
	find->other_buckets = source->table->other_buckets;
	find->before = source->before;
	find->relid = source->table->relid;
}

/*
 * mts_source_cursor
 *		Make a cursor over buckets of a collection.
 *
 * What complete_find() sets in *find need not be set.
 */
MtsCursor *
mts_source_cursor(const MtsBucketSource *source, const char *collection,
				  MtsFind *find)
{
	complete_find(source, find);
	return mts_cursor_find(connection_of(source), source->table->database,
						   collection, find);
}

/*
 * mts_source_aggregate
 *		Make a cursor over the results of an array of stages, for the latest
 *		buckets.
 */
MtsCursor *
mts_source_aggregate(const MtsBucketSource *source, const char *collection,
					 const bson_t *stages, int fetch_size)
{
	MtsFind find = {.stages = stages, .fetch_size = fetch_size};

	complete_find(source, &find);
	find.snapshot = NULL;
	find.in_xact = false;
	return mts_cursor_find(connection_of(source), source->table->database,
						   collection, &find);
}

/*
 * mts_source_try_explain
 *		Ask MongoDB for its plan of a query on a collection.
 *
 * The result and *reply are those of mts_find_try_explain().
 */
bool
mts_source_try_explain(const MtsBucketSource *source, const MtsFind *find,
					   const char *collection, const bson_t **reply)
{
	MtsFind ours = *find;

	complete_find(source, &ours);
	return mts_find_try_explain(&ours, connection_of(source),
								source->table->database, collection, reply);
}

/* ---- Indexes ------------------------------------------------------------ */

/*
 * mts_source_set_indexes
 *		Set what is known of the indexes, in a copy, and of the number of
 *		documents.
 */
void
mts_source_set_indexes(MtsBucketSource *source, const bson_t *indexes,
					   double documents)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(source));

	source->has_indexes = true;
	source->indexes = mts_document_new();
	if (indexes)
		bson_concat(source->indexes, indexes);
	source->documents = documents;
	MemoryContextSwitchTo(old);
}

/*
 * mts_source_learn_indexes
 *		Find out about the indexes, unless that is done.
 *
 * The server may be asked; see mts_index_known().
 */
void
mts_source_learn_indexes(MtsBucketSource *source)
{
	const MtsKnown *known;
	double documents;

	if (source->has_indexes)
		return;
	documents = mts_statistics_documents(source->table);
	known = mts_index_known(source->table, source->userid);
	mts_source_set_indexes(source, known->is_mongodb ? known->indexes : NULL,
						   documents > 0 ? documents : known->documents);
}

/* ---- Single buckets ----------------------------------------------------- */

/*
 * mts_source_first
 *		Read the first bucket that a find command returns; NULL if none.
 *
 * It lives as long as the current memory context, and is not counted as a
 * bucket of the query.
 */
const bson_t *
mts_source_first(const MtsBucketSource *source, const char *collection,
				 const MtsFind *find)
{
	MtsFind counted = *find;

	complete_find(source, &counted);
	return mts_cursor_first(connection_of(source), source->table->database,
							collection, &counted);
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
	whole = mts_source_first(source, source->collection->name, &find);
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
