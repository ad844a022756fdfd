/*
 * part_reader.c
 *		Read the buckets of one part of a query.
 *
 * The first bucket of a series may have been read before.  If it does not
 * suffice, all buckets of the part are read, including that one.
 *
 * If few buckets suffice, MongoDB is asked for few, by a limit.  Without a
 * fitting index, it then keeps no more buckets than that while it sorts.  (The
 * first 10 of 288,000 buckets, 220 MB, took a fifth of the time.)  MongoDB
 * also closes a limited cursor by itself.
 *
 * If these buckets do not suffice, a larger window follows.  It begins with
 * the time of the last bucket, because more buckets of that time may follow.
 * Therefore buckets of one time are held back until a later one arrives.
 * Nothing else tells which of them have been returned: documents of a view can
 * share their _id.
 */
#include "scan/part_reader.h"

#include "utils/memutils.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/document.h"

/* A window is smaller than this; afterwards one cursor reads all the rest */
#define MAX_LIMIT 1000

/* What has been read of the part */
typedef enum ReaderState
{
	NO_PART,
	AT_START,  /* nothing */
	AT_FIRST,  /* the first bucket, which was read before */
	IN_WINDOW, /* buckets of a limited cursor */
	IN_REST    /* buckets of a cursor without a limit */
} ReaderState;

/* The buckets of a limited cursor */
typedef struct Window
{
	int limit;        /* of the cursor */
	int n;            /* buckets that the cursor has returned */
	bool is_complete; /* the cursor has returned all there are */

	List *queue;     /* copies of buckets to be returned, in order */
	int nready;      /* the first of them; the others are held back */
	MtsDecoded kind; /* whether those held back have a valid time */
	MtsTime time;    /* of those held back */
	bson_t *bucket;  /* the last one returned, or NULL */
} Window;

struct MtsPartReader
{
	MtsBucketSource *source;
	ReaderState state;
	const MtsPart *part;
	int64 sample;         /* buckets to be drawn; 0 to read all */
	bool draws_first;     /* before the filter is applied */
	MemoryContext memory; /* of the part */
	const bson_t *filter; /* of the cursor */
	MtsCursor *cursor;    /* NULL before the part is asked for */
	Window window;
};

/* ---- Cursors ------------------------------------------------------------ */

/* Ask for the buckets that match the filter, as many as the window's limit. */
static void
send_query(MtsPartReader *reader)
{
	MtsFind find = mts_source_find(reader->source->query);

	find.filter = reader->filter;
	if (reader->part->is_unsorted)
		find.sort = NULL;
	find.limit = reader->window.limit;
	if (find.limit > 0)
		find.first_batch = find.limit;
	reader->state = find.limit > 0 ? IN_WINDOW : IN_REST;
	reader->cursor = mts_source_cursor(reader->source,
									   reader->part->collection->name, &find);
}

/*
 * Draw a random sample of the part.
 *
 * Only if $sample is the first stage can MongoDB draw buckets without reading
 * all of them.
 */
static void
open_sample(MtsPartReader *reader)
{
	const MtsQuery *query = reader->source->query;
	bson_t *stages = mts_document_new();

	if (reader->draws_first)
		mts_template_push(stages, "{$sample: {size: %i}}", reader->sample);
	if (!bson_empty(reader->filter))
		mts_template_push(stages, "{$match: %o}", reader->filter);
	if (!reader->draws_first)
		mts_template_push(stages, "{$sample: {size: %i}}", reader->sample);
	if (!bson_empty(query->projection))
		mts_template_push(stages, "{$project: %o}", query->projection);
	reader->state = IN_REST;
	reader->cursor =
		mts_source_aggregate(reader->source, reader->part->collection->name,
							 stages, query->table->fetch_size);
}

/* Count a bucket, which may be NULL, and return it. */
static const bson_t *
count_bucket(MtsPartReader *reader, const bson_t *bucket)
{
	MtsCounters *counters = reader->source->counters;

	if (bucket)
	{
		counters->buckets++;
		counters->bytes += bucket->len;
	}
	return bucket;
}

/* Read a bucket from the cursor; NULL at its end. */
static const bson_t *
receive_bucket(MtsPartReader *reader)
{
	return count_bucket(reader, mts_cursor_next(reader->cursor));
}

/* ---- Windows ------------------------------------------------------------ */

static void
free_buckets(void *arg)
{
	Window *window = arg;
	ListCell *lc;

	foreach (lc, window->queue)
		bson_destroy(lfirst(lc));
	window->queue = NIL;
	bson_destroy(window->bucket);
	window->bucket = NULL;
}

/* The limit of a window that should have so many buckets; 0 for none */
static int
checked_limit(const MtsPartReader *reader, int limit)
{
	int end = Min(reader->source->table->fetch_size, MAX_LIMIT);

	return limit < end ? limit : 0;
}

/* Find the limit of the first window; 0 if the part is read without. */
static int
first_limit(const MtsPartReader *reader)
{
	const MtsBucketSource *source = reader->source;
	const MtsSortOrder *order = source->query->order;
	int limit = checked_limit(reader, reader->part->limit);

	/* a later window would see what the transaction has written meanwhile */
	if (limit == 0 || source->in_xact || !order->has_time ||
		order->is_by_bound || order->nsorted != order->nseries + 1)
		return 0;
	/* several series have buckets of the same time */
	return mts_query_fixes_keys(source->table, reader->filter)
			   ? limit
			   : checked_limit(reader, limit * MTS_BATCH_GROWTH);
}

/* Copy a bucket to the queue.  Those of an earlier time become ready. */
static void
hold(MtsPartReader *reader, const bson_t *bucket)
{
	const MtsBucketSource *source = reader->source;
	Window *window = &reader->window;
	MtsTime t = 0;
	MtsDecoded kind =
		mts_sort_order_read_time(&source->query->order->time,
								 &source->table->layout.clock, bucket, &t);
	MemoryContext old = MemoryContextSwitchTo(reader->memory);

	/* an invalid time may be any time */
	if (window->queue && kind != MTS_DECODED_INVALID &&
		window->kind != MTS_DECODED_INVALID &&
		(kind != window->kind || t != window->time))
		window->nready = list_length(window->queue);
	if (window->nready == list_length(window->queue))
	{
		window->kind = kind;
		window->time = t;
	}
	/* a place first, so that the copy cannot be lost */
	window->queue = lappend(window->queue, NULL);
	llast(window->queue) = bson_copy(bucket);
	window->n++;
	MemoryContextSwitchTo(old);
}

/* Restrict the part's filter to buckets at or after those held back. */
static void
restrict_filter(MtsPartReader *reader)
{
	const Window *window = &reader->window;
	const MtsSortOrder *order = reader->source->query->order;
	const MtsSortKey *key = &order->keys[order->nseries];
	bson_t *terms = mts_document_new();
	bson_iter_t iter, value;

	if (window->kind == MTS_DECODED_NULL && key->descending)
		mts_template_push(terms, "{%s: null}", key->field);
	else if (window->kind == MTS_DECODED &&
			 bson_iter_init(&iter, linitial(window->queue)) &&
			 bson_iter_find_descendant(&iter, key->field, &value))
	{
		mts_filter_add_not(terms, key->field, key->descending ? "$gt" : "$lt",
						   &value);
		/* nulls are not less, but MongoDB sorts them first */
		if (!key->descending)
			mts_template_push(terms, "{%s: {$ne: null}}", key->field);
	}
	reader->filter = mts_query_restrict(reader->filter, terms);
}

/* Read a larger window, which begins with the buckets held back. */
static void
widen_window(MtsPartReader *reader)
{
	Window *window = &reader->window;
	MemoryContext old = MemoryContextSwitchTo(reader->memory);

	restrict_filter(reader);
	free_buckets(window);
	window->n = 0;
	window->limit = checked_limit(reader, window->limit * MTS_BATCH_GROWTH);
	mts_cursor_close(reader->cursor);
	send_query(reader);
	MemoryContextSwitchTo(old);
}

/* Return the first bucket of the queue. */
static const bson_t *
return_first(Window *window)
{
	bson_destroy(window->bucket);
	window->bucket = linitial(window->queue);
	window->queue = list_delete_first(window->queue);
	window->nready--;
	return window->bucket;
}

/* Read the next bucket of the windows, and of the rest after them. */
static const bson_t *
next_of_window(MtsPartReader *reader)
{
	Window *window = &reader->window;

	while (reader->state == IN_WINDOW)
	{
		const bson_t *bucket;

		if (window->nready > 0)
			return return_first(window);
		if (window->is_complete)
			return NULL;
		bucket = receive_bucket(reader);
		if (bucket)
			hold(reader, bucket);
		else if (window->n == window->limit)
			widen_window(reader);
		else
		{
			window->nready = list_length(window->queue);
			window->is_complete = true;
		}
	}
	return receive_bucket(reader);
}

/* ---- Parts -------------------------------------------------------------- */

/* Ask for the buckets of the part. */
static void
open_part(MtsPartReader *reader)
{
	const bson_t *terms = reader->part->terms;
	const bson_t *filter = reader->source->query->filter;
	MemoryContext old = MemoryContextSwitchTo(reader->memory);

	reader->filter = terms ? mts_query_restrict(filter, terms) : filter;
	reader->window = (Window){0};
	if (reader->sample > 0)
		open_sample(reader);
	else
	{
		reader->window.limit = first_limit(reader);
		mts_document_release_with(free_buckets, &reader->window);
		send_query(reader);
		if (reader->part->misfits)
		{
			/* the server reads the part first */
			(void) mts_cursor_must_wait(reader->cursor);
			mts_source_ask_misfits(reader->source, reader->part,
								   reader->part->misfits);
		}
	}
	MemoryContextSwitchTo(old);
}

/* mts_part_reader_close: close the cursor, and forget the part. */
void
mts_part_reader_close(MtsPartReader *reader)
{
	if (reader->cursor)
		mts_cursor_close(reader->cursor);
	reader->cursor = NULL;
	reader->state = NO_PART;
	MemoryContextReset(reader->memory);
}

/*
 * mts_part_reader_begin
 *		Begin with a part, which the caller keeps alive; nothing is sent yet.
 */
void
mts_part_reader_begin(MtsPartReader *reader, const MtsPart *part)
{
	mts_part_reader_close(reader);
	reader->part = part;
	reader->sample = 0;
	reader->state = AT_START;
}

/*
 * mts_part_reader_sample
 *		Draw so many buckets of the part at random, before or after its filter
 *		is applied, instead of reading all of them.
 */
void
mts_part_reader_sample(MtsPartReader *reader, int64 size, bool draws_first)
{
	reader->sample = size;
	reader->draws_first = draws_first;
}

/*
 * mts_part_reader_next
 *		Read the next bucket of the part; NULL without a part, or at its end,
 *		which closes the cursor.
 *
 * It lives until the next call.
 */
const bson_t *
mts_part_reader_next(MtsPartReader *reader)
{
	const bson_t *bucket;

	switch (reader->state)
	{
		case NO_PART:
			return NULL;
		case AT_START:
			if (reader->part->first)
			{
				reader->state = AT_FIRST;
				return count_bucket(reader, reader->part->first->bucket);
			}
			__attribute__((fallthrough));
		case AT_FIRST:
			open_part(reader);
			break;
		case IN_WINDOW:
		case IN_REST:
			break;
	}
	bucket = next_of_window(reader);
	if (!bucket)
		mts_part_reader_close(reader);
	return bucket;
}

/*
 * mts_part_reader_awaited
 *		Return the cursor whose next document must be waited for, before the
 *		next bucket can be read; NULL if none.
 *
 * The command that fetches the document has been sent.
 */
MtsCursor *
mts_part_reader_awaited(MtsPartReader *reader)
{
	const Window *window = &reader->window;

	if (reader->state == AT_START && !reader->part->first)
		open_part(reader);
	if (!reader->cursor || (reader->state == IN_WINDOW &&
							(window->nready > 0 || window->is_complete)))
		return NULL;
	return mts_cursor_must_wait(reader->cursor) ? reader->cursor : NULL;
}

/*
 * mts_part_reader_next_time
 *		Find the time of the next bucket; false if no later one is known.
 */
bool
mts_part_reader_next_time(const MtsPartReader *reader, MtsTime *t)
{
	const Window *window = &reader->window;

	if (reader->state == AT_FIRST)
	{
		*t = reader->part->first->next_time;
		return reader->part->first->has_next_time;
	}
	*t = window->time;
	return reader->state == IN_WINDOW && window->nready == 0 &&
		   window->queue != NIL && window->kind == MTS_DECODED;
}

/*
 * mts_part_reader_new
 *		Prepare to read parts of a source's queries.
 *
 * It is allocated in the current memory context.
 */
MtsPartReader *
mts_part_reader_new(MtsBucketSource *source)
{
	MtsPartReader *reader = palloc0(sizeof(MtsPartReader));

	reader->source = source;
	reader->memory =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw part",
							  ALLOCSET_DEFAULT_SIZES);
	return reader;
}
