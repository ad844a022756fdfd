/*
 * window.c
 *		Read the first buckets in the order of time by limited queries.
 *
 * If a scan wants few rows, it asks MongoDB for few buckets, by a limit.
 * Without a fitting index, MongoDB then keeps no more buckets than that while
 * it sorts.  (The first 10 of 288,000 buckets, 220 MB, took a fifth of the
 * time.)  MongoDB also closes a limited cursor by itself.
 *
 * If these buckets do not suffice, a larger window follows.  It begins with
 * the time of the last bucket, because more buckets of that time may follow.
 * Therefore buckets of one time are held back until a later one arrives.
 * Nothing else tells which of them have been returned: documents of a view can
 * share their _id.
 */
#include "scan/window.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/document.h"

/* A window is smaller than this; afterwards one cursor reads all the rest */
#define MAX_LIMIT 1000

struct MtsWindow
{
	MtsBucketSource *source;
	int limit;        /* of the cursor; 0 once it has none */
	int n;            /* buckets that the cursor has returned */
	bool is_complete; /* the cursor has returned all there are */

	List *queue;     /* copies of buckets to be returned, in order */
	int nready;      /* the first of them; the others are held back */
	MtsDecoded kind; /* whether those held back have a valid time */
	MtsTime time;    /* of those held back */
	bson_t *bucket;  /* the last one returned, or NULL */
};

static void
free_buckets(void *arg)
{
	MtsWindow *window = arg;
	ListCell *lc;

	foreach (lc, window->queue)
		bson_destroy(lfirst(lc));
	window->queue = NIL;
	bson_destroy(window->bucket);
	window->bucket = NULL;
}

/* The limit of the window after one of this size; 0 for none */
static int
checked_limit(const MtsBucketSource *source, int limit)
{
	return limit < Min(source->table->fetch_size, MAX_LIMIT) ? limit : 0;
}

/*
 * mts_window_new
 *		Make the first window of a source's part; NULL if no limit is needed.
 *
 * It is allocated in the current memory context.
 */
MtsWindow *
mts_window_new(MtsBucketSource *source)
{
	const MtsQuery *query = source->query;
	const MtsSortOrder *order = query->order;
	MtsWindow *window;

	/* a later window would see what the transaction has written meanwhile */
	if (source->in_xact || !order ||
		checked_limit(source, query->initial_batch_size) == 0 ||
		!order->has_time || order->is_by_bound ||
		order->nsorted != order->nseries + 1)
		return NULL;
	window = palloc0(sizeof(MtsWindow));
	window->source = source;
	window->limit = query->initial_batch_size;
	/* several series have buckets of the same time */
	if (!mts_query_fixes_keys(source->table, source->filter))
		window->limit *= MTS_BATCH_GROWTH;
	mts_document_release_with(free_buckets, window);
	return window;
}

/* mts_window_limit: the limit of the cursor; 0 for none. */
int
mts_window_limit(const MtsWindow *window)
{
	return window ? window->limit : 0;
}

/* Copy a bucket to the queue.  Those of an earlier time become ready. */
static void
hold(MtsWindow *window, const bson_t *bucket)
{
	const MtsBucketSource *source = window->source;
	MtsTime t = 0;
	MtsDecoded kind =
		mts_sort_order_read_time(&source->query->order->time,
								 &source->table->layout.clock, bucket, &t);
	MemoryContext old = MemoryContextSwitchTo(source->memory);

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
restrict_filter(MtsWindow *window)
{
	MtsBucketSource *source = window->source;
	const MtsSortOrder *order = source->query->order;
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
	source->filter = mts_query_restrict(source->filter, terms);
}

/* Read a larger window, which begins with the buckets held back. */
static void
widen(MtsWindow *window)
{
	MtsBucketSource *source = window->source;
	MemoryContext old = MemoryContextSwitchTo(source->memory);

	restrict_filter(window);
	free_buckets(window);
	window->n = 0;
	window->limit = checked_limit(source, window->limit * MTS_BATCH_GROWTH);
	mts_cursor_close(source->cursor);
	mts_source_open_cursor(source, window->limit);
	MemoryContextSwitchTo(old);
}

/* Return the first bucket of the queue. */
static const bson_t *
return_first(MtsWindow *window)
{
	bson_destroy(window->bucket);
	window->bucket = linitial(window->queue);
	window->queue = list_delete_first(window->queue);
	window->nready--;
	return window->bucket;
}

/*
 * mts_window_next
 *		Read the next bucket of the part; NULL at its end.
 *
 * It lives until the next call.
 */
const bson_t *
mts_window_next(MtsWindow *window)
{
	while (window->limit > 0)
	{
		const bson_t *bucket;

		if (window->nready > 0)
			return return_first(window);
		if (window->is_complete)
			return NULL;
		bucket = mts_source_receive(window->source);
		if (bucket)
			hold(window, bucket);
		else if (window->n == window->limit)
			widen(window);
		else
		{
			window->nready = list_length(window->queue);
			window->is_complete = true;
		}
	}
	return mts_source_receive(window->source);
}

/*
 * mts_window_next_time
 *		Find the time of the next bucket; false if no later one is known.
 */
bool
mts_window_next_time(const MtsWindow *window, MtsTime *t)
{
	if (window->nready > 0 || !window->queue || window->kind != MTS_DECODED)
		return false;
	*t = window->time;
	return true;
}
