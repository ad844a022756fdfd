/*
 * part.c
 *		Derive the parts in which a query is read from others.
 *
 * A part is a value, and a query is read in a List of parts.  rolling.c makes
 * one for each collection, and parallel.c one for each share of a process.
 * The functions of this file replace them by parts with more conditions.
 */
#include "scan/part.h"

#include "driver/document.h"

/* Copy a part, with an array of terms in addition. */
static MtsPart *
restrict_part(const MtsPart *part, const bson_t *terms)
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
 * first is the first bucket of them all; or NULL.
 */
List *
mts_part_of_series(List *parts, const bson_t *terms,
				   const MtsFirstBucket *first)
{
	List *result = NIL;
	ListCell *lc;

	foreach (lc, parts)
	{
		result = lappend(result, restrict_part(lfirst(lc), terms));
		((MtsPart *) llast(result))->first =
			lc == list_head(parts) ? first : NULL;
	}
	return result;
}

/*
 * mts_part_unsorted_first
 *		Divide parts so that documents without a time, or without extremes,
 *		come before all others.
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
			restrict_part(lfirst(lc), mts_query_sorted_terms(query, false));
		MtsPart *other =
			restrict_part(lfirst(lc), mts_query_sorted_terms(query, true));

		first->limit = 0;
		first->is_unsorted = true;
		other->first = NULL;
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
