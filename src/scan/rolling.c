/*
 * rolling.c
 *		Choose the collections of a rolling set that a scan reads.
 *
 * A scan reads those whose period overlaps the wanted range of time, one after
 * the other, by time or backwards.  Their list is read once a scan: a rescan
 * does not see collections made since, and finds a dropped one empty.
 */
#include "scan/rolling.h"

#include "nodes/value.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/document.h"
#include "pushdown/sort_order.h"

/* mts_rolling_attach: have a source read the collections of its table's set. */
void
mts_rolling_attach(MtsBucketSource *source)
{
	source->rolling = palloc0(sizeof(MtsRolling));
	source->next_part = mts_rolling_next;
}

/* ---- Choosing ------------------------------------------------------------ */

/* The ranges of the bucket times that a query wants */
static MtsRanges
wanted_times(const MtsQuery *query)
{
	MtsRanges times = {query->ranges.n,
					   palloc((query->ranges.n + 1) * sizeof(MtsRange))};

	for (int i = 0; i < times.n; i++)
		times.items[i] = mts_layout_bucket_range(&query->table->layout,
												 query->ranges.items[i]);
	return times;
}

static bool
is_wanted(const MtsRanges *times, const MtsCollection *collection)
{
	const MtsRange *held = &collection->period.instants;

	for (int i = 0; i < times->n; i++)
		if (times->items[i].from < held->to && held->from < times->items[i].to)
			return true;
	return false;
}

/* Do the latest collections come first? */
static bool
is_backward(const MtsQuery *query)
{
	return query->order && query->order->keys[0].descending;
}

/* Read the list, once; false when it is allowed to fail, and does. */
static bool
find_all(MtsBucketSource *source, bool may_fail)
{
	MtsRolling *rolling = source->rolling;
	MtsTable *table = source->table;
	MemoryContext old;
	MtsConnection *connection;
	int64 before;

	if (rolling->all)
		return true;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rolling));
	connection = mts_connection_get(table->serverid, source->userid);
	before = connection->round_trips;
	rolling->all = mts_collections_list(table, source->userid, may_fail);
	if (rolling->all)
	{
		/* otherwise the connection may be gone */
		source->counters->round_trips += connection->round_trips - before;
		rolling->was_read = palloc0(rolling->all->n + 1);
		rolling->chosen = palloc((rolling->all->n + 1) * sizeof(int));
	}
	MemoryContextSwitchTo(old);
	return rolling->all != NULL;
}

/*
 * mts_rolling_choose
 *		Choose the collections that a source reads for its query.
 *
 * False when it is allowed to fail, and the server doesn't answer soon.
 */
bool
mts_rolling_choose(MtsBucketSource *source, bool may_fail)
{
	MtsRolling *rolling = source->rolling;
	MtsRanges times;

	if (source->has_chosen)
		return true;
	if (!find_all(source, may_fail))
		return false;
	times = wanted_times(source->query);
	source->has_chosen = true;
	rolling->nchosen = rolling->next = 0;
	for (int i = 0; i < rolling->all->n; i++)
	{
		int number = is_backward(source->query) ? rolling->all->n - 1 - i : i;

		if (is_wanted(&times, &rolling->all->items[number]))
			rolling->chosen[rolling->nchosen++] = number;
	}
	pfree(times.items);
	return true;
}

/*
 * mts_rolling_next
 *		Have a source read the next collection; false when there is none left.
 */
bool
mts_rolling_next(MtsBucketSource *source)
{
	MtsRolling *rolling = source->rolling;
	int number;

	(void) mts_rolling_choose(source, false);
	if (rolling->next == rolling->nchosen)
		return false;
	number = rolling->chosen[rolling->next++];
	rolling->was_read[number] = true;
	mts_source_begin_part(source, &rolling->all->items[number], NULL);
	return true;
}

/* ---- Order --------------------------------------------------------------- */

/* The last time that a point of a collection can have */
static MtsTime
last_time(const MtsLayout *layout, const MtsCollection *collection)
{
	MtsTime start = collection->period.instants.to - 1;
	MtsTime end;

	if (layout->time_kind == MTS_TIME_FLAT)
		return start;
	return mts_layout_bucket_end(layout, start, &end)
			   ? mts_layout_last_time(layout, end)
			   : MTS_TIME_MAX;
}

/*
 * mts_rolling_limit
 *		Find how far the collections that are still to be read leave points in
 *		order: theirs are not before *limit or, backwards, not after it.
 *
 * False where the last bucket that was read says as much by itself.
 */
bool
mts_rolling_limit(const MtsBucketSource *source, MtsTime *limit)
{
	const MtsRolling *rolling = source->rolling;
	const MtsLayout *layout = &source->table->layout;
	bool backward, has_bound;
	const MtsCollection *next;

	if (!rolling || rolling->next == rolling->nchosen)
		return false;
	backward = is_backward(source->query);
	has_bound = layout->time_kind == MTS_TIME_POINT &&
				(backward ? layout->last : layout->first).is_set;
	if (!has_bound && !layout->clock.to_local)
		return false;
	next = &rolling->all->items[rolling->chosen[rolling->next]];
	*limit = backward ? last_time(layout, next) : next->period.instants.from;
	return true;
}

/* ---- Parts for workers --------------------------------------------------- */

/*
 * mts_rolling_split
 *		An array of the names of all collections: which of them are chosen
 *		depends on parameters, which may change.
 *
 * It lives in the current memory context.
 */
bson_t *
mts_rolling_split(MtsBucketSource *source)
{
	bson_t *split = mts_document_new();

	(void) find_all(source, false);
	for (int i = 0; i < source->rolling->all->n; i++)
		bson_append_utf8(split, "", -1, source->rolling->all->items[i].name,
						 -1);
	return split;
}

/*
 * mts_rolling_begin_part
 *		Have a source read a collection of a split, counted from 0; false when
 *		it has nothing that is wanted.
 *
 * The split's bytes must stay as long as the source.
 */
bool
mts_rolling_begin_part(MtsBucketSource *source, const bson_t *split, int part)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(source));
	MtsRanges times = wanted_times(source->query);
	const MtsCollection *collection = NULL;
	bson_iter_t iter;
	bool wanted;
	bool found = bson_iter_init(&iter, split);

	for (int i = 0; found && i <= part; i++)
		found = bson_iter_next(&iter);
	if (found)
		collection =
			mts_collections_named(source->table, bson_iter_utf8(&iter, NULL));
	MemoryContextSwitchTo(old);
	if (!collection)
		elog(ERROR, "the split of a parallel scan names no collection");
	wanted = is_wanted(&times, collection);
	if (wanted)
		mts_source_begin_part(source, collection, NULL);
	else
		pfree((void *) collection);
	pfree(times.items);
	return wanted;
}
