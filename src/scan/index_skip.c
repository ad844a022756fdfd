/*
 * index_skip.c
 *		Add the term to a query's filter by which MongoDB skips in an index.
 *
 * The term is {field: {$gte: MinKey}} on the first field of an index that the
 * filter does not restrict (core/query/index_use.c).  It is true of every
 * document, so it decides nothing but the speed: an index that has been
 * dropped makes MongoDB scan the collection, as without the term.
 *
 * The term is added if that is cheaper by the statistics of ANALYZE, for the
 * values that the parameters have now: MongoDB uses the index then, and its
 * own estimate does not compare that with a scan of the collection.
 */
#include "scan/index_skip.h"

#include "driver/document.h"
#include "table/statistics.h"

/* The query whose use of an index is described */
typedef struct Search
{
	const MtsQuery *query;
	const bson_t *filter;
	bool finds_few; /* the filter is that of documents of another type */
	double documents;
} Search;

/* The share of the documents whose time the filter admits */
static double
time_share(const MtsQuery *query, const MtsFieldUse *use)
{
	const MtsRanges *ranges = &query->ranges;
	MtsRange hull;

	if (ranges->n == 0)
		return 0;
	if (use->has_low == use->has_high)
		return mts_statistics_time_share(query->table, ranges);
	/* only one bound of a bucket's times is in the index */
	hull.from = use->has_low ? ranges->items[0].from : MTS_TIME_MIN;
	hull.to = use->has_high ? ranges->items[ranges->n - 1].to : MTS_TIME_MAX;
	return mts_statistics_time_share(query->table, &(MtsRanges){1, &hull});
}

/* An MtsFieldUseFunction by the filter and the statistics of ANALYZE */
static MtsFieldUse
describe(void *arg, const char *field)
{
	const Search *search = arg;
	const MtsTable *table = search->query->table;
	int column = mts_statistics_column(table, field);
	MtsFieldUse use = mts_index_use_bounds(search->filter, field);

	if (column >= 0 && column == table->layout.time_column)
	{
		use.ndistinct = search->documents;
		if (search->finds_few)
		{
			use.share = 1 / Max(search->documents, 1);
			return use;
		}
		/* null is the only value that has no range */
		use.share = use.nvalues > 0 && search->query->accepts_null_time
						? mts_statistics_null_share(table, column)
						: time_share(search->query, &use);
		return use;
	}
	if (column >= 0)
		use.ndistinct = mts_statistics_distinct(table, column);
	if (use.nvalues > 0 && use.ndistinct > 0)
		use.share = Min(use.nvalues / use.ndistinct, 1);
	return use;
}

/* List the fields of an index that the filter does not restrict. */
static List *
list_skipped(const Search *search, bson_iter_t keys, int nfields)
{
	List *skipped = NIL;

	for (int i = 0; i < nfields && bson_iter_next(&keys); i++)
	{
		const char *field = bson_iter_key(&keys);
		MtsFieldUse use = describe((void *) search, field);

		if (!use.is_bounded)
			skipped = lappend(skipped, mts_document_text(field));
	}
	return skipped;
}

/*
 * Make the array of the term of the index that a filter uses, if it pays, and
 * set the number of the index's fields that are used; otherwise return NULL.
 */
static bson_t *
make_term(const Search *search, const bson_t *indexes, bson_iter_t *index,
		  int *nfields)
{
	MtsIndexUse use = mts_index_use_cheapest(indexes, search->documents,
											 describe, (void *) search, index);
	bson_iter_t key;
	bson_t *terms;

	if (!use.needs_term || !bson_iter_recurse(index, &key) ||
		!bson_iter_next(&key))
		return NULL;
	*nfields = use.nfields;
	terms = mts_document_new();
	mts_index_use_push_term(terms, bson_iter_key(&key));
	return terms;
}

/*
 * mts_index_skip_add
 *		Add the term to a query that has just been made, and to those of the
 *		documents before the ones that are sorted, and of the documents of
 *		another type, if it pays.
 *
 * indexes are those of MtsKnown.  documents is the number of those in the
 * collection; without it, no term is added.
 */
void
mts_index_skip_add(MtsQuery *query, const bson_t *indexes, double documents)
{
	Search search = {query, query->filter, false, documents};
	bson_iter_t index, keys;
	int nfields;
	bson_t *terms = make_term(&search, indexes, &index, &nfields);

	if (terms)
	{
		(void) bson_iter_recurse(&index, &keys);
		query->index = mts_document_text(bson_iter_key(&index));
		query->skipped = list_skipped(&search, keys, nfields);
		query->filter = mts_query_restrict(query->filter, terms);
	}
	else if (query->unsorted_come_first)
	{
		search.filter =
			mts_query_restrict(query->filter,
							   mts_query_sorted_terms(query, false));
		query->unsorted_terms = make_term(&search, indexes, &index, &nfields);
	}
	if (!query->misfits)
		return;
	search.filter = query->misfits;
	search.finds_few = true;
	terms = make_term(&search, indexes, &index, &nfields);
	if (terms)
		query->misfits = mts_query_restrict(query->misfits, terms);
}
