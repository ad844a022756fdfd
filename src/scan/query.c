/*
 * query.c
 *		Make the query of a scan: filter, projection, sort and ranges.
 *
 * The filter matches every bucket that can hold a wanted point, and the
 * projection has every field that such a point needs; the unfolding trims the
 * points by the ranges.  A query is made when the values of its parameters are
 * known, and anew when they change.
 *
 * A query is allocated in the memory context that is current when it is made.
 */
#include "scan/query.h"

#include "core/bson/template.h"
#include "core/bucket/unfold.h"
#include "core/query/projection.h"
#include "driver/document.h"
#include "pushdown/qual.h"

/* All instants */
static MtsRanges
all_times(void)
{
	MtsRanges ranges = {1, palloc(sizeof(MtsRange))};

	ranges.items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	return ranges;
}

static MtsQuery *
new_query(const MtsQuerySpec *spec)
{
	MtsQuery *query = palloc0(sizeof(MtsQuery));

	query->table = spec->table;
	query->userid = spec->userid;
	query->needed = spec->needed;
	query->on_primary = spec->on_primary;
	query->ranges = all_times();
	query->accepts_null_time = true;
	query->filter = mts_document_new();
	query->projection = mts_document_new();
	query->sort = mts_document_new();
	return query;
}

/* Evaluate the quals into one condition, and the ranges by which to trim. */
static MtsFilter *
evaluate_quals(MtsQuery *query, List *quals, ExprContext *econtext)
{
	MtsFilter *all = palloc0(sizeof(MtsFilter));
	MtsFilter *times = NULL;
	ListCell *lc;

	all->kind = MTS_FILTER_AND;
	all->args = palloc((list_length(quals) + 1) * sizeof(MtsFilter *));
	foreach (lc, quals)
	{
		MtsFilter *cond =
			mts_qual_evaluate(query->table, lfirst(lc), econtext);
		MtsRanges both;

		if (cond->kind != MTS_FILTER_TIME)
		{
			all->args[all->nargs++] = cond;
			continue;
		}
		both.items =
			palloc((query->ranges.n + cond->ranges.n) * sizeof(MtsRange));
		mts_ranges_intersect(&query->ranges, &cond->ranges, &both);
		query->ranges = both;
		times = cond;
	}
	query->accepts_null_time = times == NULL;
	if (times)
	{
		times->ranges = query->ranges;
		all->args[all->nargs++] = times;
	}
	return all;
}

/* Choose the content and build its projection. */
static void
project(MtsQuery *query, const MtsQuerySpec *spec)
{
	const MtsLayout *layout = &query->table->layout;

	if (spec->headers &&
		mts_unfold_header_is_worthwhile(layout, &query->ranges) &&
		mts_projection_headers(layout, query->needed, &query->ranges,
							   spec->headers, spec->nheaders,
							   query->projection))
		query->content = MTS_CONTENT_HEADERS;
	else if (mts_projection_build(layout, query->needed, &query->ranges, true,
								  query->projection))
		query->content = MTS_CONTENT_SLOTS;
}

/* mts_query_make: make the query of the conditions as they are now. */
MtsQuery *
mts_query_make(const MtsQuerySpec *spec, ExprContext *econtext)
{
	MtsQuery *query = new_query(spec);
	MtsFilter *cond = evaluate_quals(query, spec->quals, econtext);

	query->is_possible = mts_filter_build(&spec->table->layout, cond,
										  spec->table->filter, query->filter);
	project(query, spec);
	query->order = spec->order;
	query->first_batch = spec->first_batch;
	if (query->order)
		mts_sort_order_append_sort(query->order, query->sort);
	return query;
}

/*
 * mts_query_of_filter
 *		Make the query that reads all points of the whole buckets that match a
 *		filter, to change them.
 *
 * The filter remains the caller's.
 */
MtsQuery *
mts_query_of_filter(const MtsQuerySpec *spec, const bson_t *filter)
{
	MtsQuery *query = new_query(spec);

	query->filter = (bson_t *) filter;
	query->is_possible = query->on_primary = true;
	return query;
}

/* The projection of what a query needs of whole buckets */
bson_t *
mts_query_whole_projection(const MtsQuery *query)
{
	bson_t *projection = mts_document_new();

	mts_projection_build(&query->table->layout, query->needed, &query->ranges,
						 false, projection);
	return projection;
}

/*
 * mts_query_of_ids
 *		Make the query that reads what another one needs of the whole buckets
 *		that have one of these _ids, which are an array.
 */
MtsQuery *
mts_query_of_ids(const MtsQuery *query, const bson_t *ids)
{
	MtsQuery *copy = palloc(sizeof(MtsQuery));

	*copy = *query;
	copy->content = MTS_CONTENT_WHOLE;
	copy->filter = mts_document_make("{_id: {$in: %a}}", ids);
	copy->projection = mts_query_whole_projection(query);
	copy->sort = mts_document_new();
	copy->order = NULL;
	copy->first_batch = 0;
	return copy;
}

/*
 * mts_query_restrict
 *		Make the filter of those buckets of another one that satisfy an array of
 *		terms, too.
 */
bson_t *
mts_query_restrict(const bson_t *filter, const bson_t *terms)
{
	bson_t *restricted = mts_document_new();
	bson_t all = BSON_INITIALIZER;

	mts_template_push(&all, "%o", filter);
	bson_concat(&all, terms);
	mts_filter_join(&all, restricted);
	bson_destroy(&all);
	return restricted;
}

/* Does a filter fix a field to one value? */
static bool
is_fixed(const bson_t *filter, const MtsPath *path)
{
	char field[MTS_MAX_DOTTED + 1];
	bson_iter_t iter, op;

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	return bson_iter_init_find(&iter, filter, field) &&
		   !(BSON_ITER_HOLDS_DOCUMENT(&iter) &&
			 bson_iter_recurse(&iter, &op) && bson_iter_next(&op) &&
			 *bson_iter_key(&op) == '$');
}

/*
 * mts_query_fixes_keys
 *		Tell whether a filter fixes all keys, so that the index of
 *		mongo_ts_create_index() leads to the times of the buckets.
 */
bool
mts_query_fixes_keys(const MtsTable *table, const bson_t *filter)
{
	const MtsLayout *layout = &table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (column->role == MTS_ROLE_KEY && column->path.nsteps > 0 &&
			(layout->nslots > 0 || table->attributes[i].has_role) &&
			!is_fixed(filter, &column->path))
			return false;
	}
	return true;
}
