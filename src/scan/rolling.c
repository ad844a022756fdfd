/*
 * rolling.c
 *		Choose the collections of a rolling set that a scan reads.
 *
 * A scan reads the collections whose period overlaps a wanted range of time,
 * one after the other, in ascending or descending order of time.  It lists the
 * collections once: a rescan does not see newer ones, and finds dropped ones
 * empty.
 */
#include "scan/rolling.h"

#include "utils/memutils.h"

#include "driver/document.h"
#include "scan/bucket.h"

/* mts_rolling_attach: have a source read a rolling set. */
void
mts_rolling_attach(MtsBucketSource *source)
{
	source->rolling = palloc0(sizeof(MtsRolling));
	source->next_part = mts_rolling_next;
}

/* ---- Choosing ----------------------------------------------------------- */

/* Tell whether a collection can have wanted points. */
static bool
is_wanted(const MtsQuery *query, const MtsCollection *collection)
{
	const MtsRange *held = &collection->period.instants;

	for (int i = 0; i < query->ranges.n; i++)
	{
		MtsRange wanted = mts_layout_bucket_range(&query->table->layout,
												  query->ranges.items[i]);

		if (wanted.from < held->to && held->from < wanted.to)
			return true;
	}
	return false;
}

/* Tell whether the latest collections are read first. */
static bool
is_backward(const MtsQuery *query)
{
	return query->order && query->order->keys[0].descending;
}

/* List the collections once; false if may_fail and the server is slow. */
static bool
list_all(MtsBucketSource *source, bool may_fail)
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
		rolling->chosen =
			palloc((rolling->all->n + 1) * sizeof(MtsCollection *));
	}
	MemoryContextSwitchTo(old);
	return rolling->all != NULL;
}

/*
 * mts_rolling_choose
 *		Choose the collections that a source reads for its query.
 *
 * Returns false if may_fail is set and the server does not answer soon.
 */
bool
mts_rolling_choose(MtsBucketSource *source, bool may_fail)
{
	MtsRolling *rolling = source->rolling;

	if (source->has_chosen)
		return true;
	if (!list_all(source, may_fail))
		return false;
	source->has_chosen = true;
	rolling->nchosen = rolling->next = 0;
	for (int i = 0; i < rolling->all->n; i++)
	{
		int number = is_backward(source->query) ? rolling->all->n - 1 - i : i;
		const MtsCollection *collection = &rolling->all->items[number];

		if (is_wanted(source->query, collection))
			rolling->chosen[rolling->nchosen++] = collection;
	}
	return true;
}

/*
 * mts_rolling_next
 *		Have a source read the next collection; false if none is left.
 */
bool
mts_rolling_next(MtsBucketSource *source)
{
	MtsRolling *rolling = source->rolling;
	const MtsCollection *collection;

	(void) mts_rolling_choose(source, false);
	if (rolling->next == rolling->nchosen)
		return false;
	collection = rolling->chosen[rolling->next++];
	rolling->was_read[collection - rolling->all->items] = true;
	mts_source_begin_part(source, collection, NULL);
	return true;
}

/* mts_rolling_chosen_names: list the collections chosen for the query. */
List *
mts_rolling_chosen_names(const MtsRolling *rolling)
{
	List *names = NIL;

	for (int i = 0; i < rolling->nchosen; i++)
		names = lappend(names, (char *) rolling->chosen[i]->name);
	return names;
}

/* mts_rolling_read_names: list the collections read in any execution. */
List *
mts_rolling_read_names(const MtsRolling *rolling)
{
	List *names = NIL;

	for (int i = 0; i < rolling->all->n; i++)
		if (rolling->was_read[i])
			names = lappend(names, (char *) rolling->all->items[i].name);
	return names;
}

/* ---- Order -------------------------------------------------------------- */

/*
 * mts_rolling_limit
 *		Find the limit of the times in unread collections: they have no points
 *		before it or, in descending order, after it.
 *
 * Returns false where the time of the last bucket read is the limit: all
 * chosen collections have been read, or the unread ones can only continue
 * after it.  They can hold earlier points (later ones in descending order) if
 * buckets are sorted by another bound, or if the clocks of their zone go back.
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
	next = rolling->chosen[rolling->next];
	*limit = backward
				 ? mts_bucket_last_time(layout, next->period.instants.to - 1)
				 : next->period.instants.from;
	return true;
}

/* ---- Parts of a parallel scan ------------------------------------------- */

/*
 * mts_rolling_parts
 *		Make an array of the names of all collections.
 *
 * Whether a collection is read depends on parameters, which may change while
 * the parts stay.
 */
bson_t *
mts_rolling_parts(MtsBucketSource *source)
{
	bson_t *names = mts_document_new();

	(void) list_all(source, false);
	for (int i = 0; i < source->rolling->all->n; i++)
		bson_append_utf8(names, "", -1, source->rolling->all->items[i].name,
						 -1);
	return names;
}

/*
 * mts_rolling_begin_part
 *		Have a source read the collection of this name; false if it cannot hold
 *		wanted points.
 *
 * The name must live as long as the source.
 */
bool
mts_rolling_begin_part(MtsBucketSource *source, const char *name)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(source));
	const MtsCollection *collection =
		mts_collections_named(source->table, name);

	MemoryContextSwitchTo(old);
	if (!collection)
		elog(ERROR, "a part of a parallel scan names no collection");
	if (!is_wanted(source->query, collection))
	{
		pfree((void *) collection);
		return false;
	}
	mts_source_begin_part(source, collection, NULL);
	return true;
}
