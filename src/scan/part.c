/*
 * part.c
 *		Choose the parts in which a query is read.
 *
 * A part is a value, and a query is read in a List of parts.  A table has a
 * part for each of its collections or, in a parallel scan, one for each share
 * of a process (parallel.c).  A query reads those whose period overlaps a
 * wanted range of time, one after the other, in ascending or descending order
 * of time.  A table without a rolling set has one collection, which is read
 * whatever the wanted times are.
 *
 * The chosen parts can be replaced by parts with more conditions: those of a
 * series, or those that have nulls first.
 */
#include "scan/part.h"

#include "driver/document.h"
#include "scan/bucket.h"

/* ---- Parts of a table --------------------------------------------------- */

/* mts_part_of_collections: make a part of each collection, in their order. */
List *
mts_part_of_collections(const MtsCollections *collections)
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

/* mts_part_is_wanted: tell whether a collection can have wanted points. */
bool
mts_part_is_wanted(const MtsQuery *query, const MtsCollection *collection)
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
 * mts_part_choose
 *		Choose those parts of a table that a query reads, in the order of
 *		reading.
 */
List *
mts_part_choose(List *parts, const MtsQuery *query)
{
	List *chosen = NIL;
	ListCell *lc;

	foreach (lc, parts)
	{
		MtsPart *part = palloc(sizeof(MtsPart));

		*part = *(const MtsPart *) lfirst(lc);
		if (query->order)
			part->limit = query->initial_batch_size;
		part->misfits = query->misfits;
		if (mts_part_is_wanted(query, part->collection))
			chosen = is_backward(query) ? lcons(part, chosen)
										: lappend(chosen, part);
	}
	return chosen;
}

/*
 * mts_part_last_time
 *		Return the last time that a point of a bucket with this time can have.
 */
MtsTime
mts_part_last_time(const MtsLayout *layout, MtsTime start)
{
	MtsTime end;

	if (mts_span_is_zero(layout->reach))
		return mts_bucket_last_time(layout, start);
	/* the least time of a native bucket, and its last one, lie less than a
	 * reach from its start */
	end = mts_layout_reach(layout, (MtsRange){start, start}).to;
	return mts_layout_reach(layout, (MtsRange){end, end}).to;
}

/*
 * mts_part_limit
 *		Find the limit of the times in unread parts: they have no points before
 *		it or, in descending order, after it.
 *
 * next is the part that is read next; NULL for none.
 *
 * Returns false where the time of the last bucket read is the limit: all
 * chosen collections have been read, or the unread ones can only continue
 * after it.  They can hold earlier points (later ones in descending order) if
 * buckets are sorted by another bound, or if the clocks of their zone go back.
 */
bool
mts_part_limit(const MtsQuery *query, const MtsPart *next, MtsTime *limit)
{
	const MtsLayout *layout = &query->table->layout;
	bool backward = is_backward(query);
	bool has_bound = layout->time_kind == MTS_TIME_POINT &&
					 (backward ? layout->last : layout->first).is_set;

	if (next && next->starts)
	{
		*limit = backward ? mts_part_last_time(layout, next->starts->to - 1)
						  : next->starts->from;
		return true;
	}
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

/* ---- Parts with more conditions ----------------------------------------- */

/* mts_part_restrict: copy a part, with an array of terms in addition. */
MtsPart *
mts_part_restrict(const MtsPart *part, const bson_t *terms)
{
	MtsPart *result = palloc(sizeof(MtsPart));
	bson_t *all = mts_document_new();

	*result = *part;
	if (part->terms)
		bson_concat(all, part->terms);
	bson_concat(all, terms);
	result->terms = all;
	return result;
}

/*
 * mts_part_of_series
 *		Restrict parts to the buckets of a series.
 *
 * first is the first bucket of them all; or NULL.  A skip scan asks once for
 * the misfits of all series.
 */
List *
mts_part_of_series(List *parts, const bson_t *terms,
				   const MtsFirstBucket *first)
{
	List *result = NIL;
	ListCell *lc;

	foreach (lc, parts)
	{
		MtsPart *part = mts_part_restrict(lfirst(lc), terms);

		part->first = lc == list_head(parts) ? first : NULL;
		part->misfits = NULL;
		result = lappend(result, part);
	}
	return result;
}

/*
 * mts_part_unsorted_first
 *		Divide parts so that documents without a time, or without extremes,
 *		come before all others.
 *
 * The first bucket of a series comes before all.  These documents are read
 * without a limit: windows end where the time changes.
 */
List *
mts_part_unsorted_first(List *parts, const MtsQuery *query)
{
	List *unsorted = NIL;
	List *others = NIL;
	ListCell *lc;

	foreach (lc, parts)
	{
		MtsPart *first =
			mts_part_restrict(lfirst(lc),
							  mts_query_sorted_terms(query, false));
		MtsPart *other =
			mts_part_restrict(lfirst(lc), mts_query_sorted_terms(query, true));

		first->limit = 0;
		first->is_unsorted = true;
		other->first = NULL;
		other->misfits = NULL;
		unsorted = lappend(unsorted, first);
		others = lappend(others, other);
	}
	return list_concat(unsorted, others);
}

/* mts_part_names: list the names of the parts' collections, each once. */
List *
mts_part_names(List *parts)
{
	List *names = NIL;
	ListCell *lc;

	foreach (lc, parts)
		names = list_append_unique_ptr(names, (void *) ((MtsPart *) lfirst(lc))
												  ->collection->name);
	return names;
}
