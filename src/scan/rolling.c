/*
 * rolling.c
 *		Choose the collections that a scan reads.
 *
 * A scan of a rolling set reads the collections whose period overlaps a wanted
 * range of time, one after the other, in ascending or descending order of
 * time.  Any other table is a set of one collection, which is read whatever
 * the wanted times are.
 */
#include "scan/rolling.h"

#include "scan/bucket.h"

/* mts_rolling_parts: make a part of each collection, in their order. */
List *
mts_rolling_parts(const MtsCollections *collections)
{
	List *parts = NIL;

	for (int i = 0; i < collections->n; i++)
	{
		MtsPart *part = palloc0(sizeof(MtsPart));

		part->collection = &collections->items[i];
		parts = lappend(parts, part);
	}
	return parts;
}

/* mts_rolling_is_wanted: tell whether a collection can have wanted points. */
bool
mts_rolling_is_wanted(const MtsQuery *query, const MtsCollection *collection)
{
	const MtsRange *held = &collection->period.instants;

	if (!query->table->rolling_name)
		return true;
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

/*
 * mts_rolling_choose
 *		Choose those parts of a table that a query reads, in the order of
 *		reading.
 */
List *
mts_rolling_choose(List *parts, const MtsQuery *query)
{
	List *chosen = NIL;
	ListCell *lc;

	foreach (lc, parts)
	{
		MtsPart *part = palloc(sizeof(MtsPart));

		*part = *(const MtsPart *) lfirst(lc);
		if (query->order)
			part->limit = query->initial_batch_size;
		if (mts_rolling_is_wanted(query, part->collection))
			chosen = is_backward(query) ? lcons(part, chosen)
										: lappend(chosen, part);
	}
	return chosen;
}

/*
 * mts_rolling_limit
 *		Find the limit of the times in unread collections: they have no points
 *		before it or, in descending order, after it.
 *
 * next is the part that is read next; NULL for none.
 *
 * Returns false where the time of the last bucket read is the limit: all
 * chosen collections have been read, or the unread ones can only continue
 * after it.  They can hold earlier points (later ones in descending order) if
 * buckets are sorted by another bound, or if the clocks of their zone go back.
 */
bool
mts_rolling_limit(const MtsQuery *query, const MtsPart *next, MtsTime *limit)
{
	const MtsLayout *layout = &query->table->layout;
	bool backward = is_backward(query);
	bool has_bound = layout->time_kind == MTS_TIME_POINT &&
					 (backward ? layout->last : layout->first).is_set;

	if (!next || !query->table->rolling_name ||
		(!has_bound && !layout->clock.to_local))
		return false;
	*limit =
		backward
			? mts_bucket_last_time(layout,
								   next->collection->period.instants.to - 1)
			: next->collection->period.instants.from;
	return true;
}
