/*
 * query.c
 *		Make the query of a scan: filter, projection, sort and ranges of time.
 *
 * The filter matches every bucket that can have a wanted point, and the
 * projection has every field that such a point needs.  Both may fetch more;
 * the ranges then trim the points exactly.  A query is made when the values of
 * its parameters are known, and made anew when they change.
 *
 * A query is allocated in the current memory context.  This file sends
 * nothing.
 */
#include "scan/query.h"

#include "core/bson/template.h"
#include "core/bucket/unfold.h"
#include "driver/document.h"
#include "pushdown/qual.h"
#include "scan/count.h"
#include "table/type.h"

/* A query for all points of all buckets */
static MtsQuery *
new_query(const MtsTable *table, const MtsQuerySpec *spec)
{
	MtsQuery *query = palloc0(sizeof(MtsQuery));

	query->table = table;
	query->needed = spec->needed;
	query->content = MTS_CONTENT_WHOLE;
	query->filter = mts_document_new();
	query->projection = mts_document_new();
	query->sort = mts_document_new();
	query->ranges = (MtsRanges){1, palloc(sizeof(MtsRange))};
	query->ranges.items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	query->accepts_null_time = true;
	query->initial_batch_size = spec->initial_batch_size > 0
									? spec->initial_batch_size
									: table->fetch_size;
	query->on_primary = spec->on_primary;
	return query;
}

/* Intersect the ranges of wanted points with others. */
static void
intersect_ranges(MtsQuery *query, const MtsRanges *ranges)
{
	MtsRanges both = {0, palloc((query->ranges.n + ranges->n) *
								sizeof(MtsRange))};

	mts_ranges_intersect(&query->ranges, ranges, &both);
	query->ranges = both;
}

/* Join the conditions into one on points; set the ranges and the keys. */
static MtsFilter *
evaluate_quals(MtsQuery *query, const MtsQuerySpec *spec,
			   ExprContext *econtext)
{
	MtsFilter *all = palloc0(sizeof(MtsFilter));
	MtsFilter *times;
	ListCell *lc;

	all->kind = MTS_FILTER_AND;
	all->args = palloc((list_length(spec->quals) + 1) * sizeof(MtsFilter *));
	if (spec->times)
	{
		intersect_ranges(query, spec->times);
		query->accepts_null_time = false;
	}
	foreach (lc, spec->quals)
	{
		MtsFilter *one = mts_qual_evaluate(query->table, lfirst(lc), econtext);

		if (one->kind == MTS_FILTER_TIME)
		{
			intersect_ranges(query, &one->ranges);
			query->accepts_null_time = false;
			continue;
		}
		if (one->kind == MTS_FILTER_SLOT)
			query->texts.keys[one->column->slot] = one->texts;
		all->args[all->nargs++] = one;
	}
	if (!query->accepts_null_time)
	{
		times = palloc0(sizeof(MtsFilter));
		times->kind = MTS_FILTER_TIME;
		times->ranges = query->ranges;
		all->args[all->nargs++] = times;
	}
	return all;
}

/*
 * Build the projection of headers; false, with the reason, if the points are
 * read instead.
 */
static bool
makes_headers(MtsQuery *query, const MtsQuerySpec *spec)
{
	const MtsLayout *layout = &query->table->layout;

	query->headers_problem = spec->headers_problem;
	if (!spec->headers)
		return false;
	if (!mts_unfold_header_is_worthwhile(layout, &query->ranges,
										 mts_query_fixes_keys(query->table,
															  query->filter)))
		query->headers_problem = "the range of time has few buckets";
	else if (!mts_projection_headers(layout, query->needed, &query->ranges,
									 spec->headers, spec->nheaders,
									 query->projection))
		query->headers_problem = "the query needs whole documents";
	else
		return true;
	return false;
}

/* Build the projection of points; see mts_projection_build(). */
static MtsProjected
project_points(const MtsQuery *query, MtsProjectionScope scope,
			   bson_t *projection)
{
	MtsProjected projected =
		mts_projection_build(&query->table->layout, query->needed,
							 &query->ranges, &query->texts, scope, projection);

	if (query->order && query->order->extreme && !bson_empty(projection))
		mts_projection_add(projection, query->order->extreme);
	return projected;
}

/* Choose what is read of each bucket, and build the projection. */
static void
choose_content(MtsQuery *query, const MtsQuerySpec *spec)
{
	/* filters match exactly the wanted times, unless they join ranges */
	if (spec->counts_rows && query->ranges.n <= MTS_MAX_RANGES)
		query->group =
			mts_count_group(query->table, query->needed, spec->quals);
	if (query->group)
		query->content = MTS_CONTENT_COUNT;
	else if (makes_headers(query, spec))
		query->content = MTS_CONTENT_HEADERS;
	else
		switch (project_points(query, MTS_PROJECT_SLOTS, query->projection))
		{
			case MTS_PROJECTED_ALL:
				break;
			case MTS_PROJECTED_KEYS:
				query->content = MTS_CONTENT_KEYS;
				break;
			case MTS_PROJECTED_TIMES:
				query->content = MTS_CONTENT_SLOTS;
				break;
		}
}

/*
 * Tell whether some documents come before those that MongoDB sorts: those
 * without a time, if the others are sorted by it, descending; and those whose
 * extremes do not tell which values they have, if the others are sorted by
 * these.
 */
static bool
unsorted_come_first(const MtsQuery *query)
{
	const MtsSortOrder *order = query->order;
	const MtsLayout *layout = &query->table->layout;
	const MtsSortKey *key;

	if (order && order->extreme)
		return true;
	if (!order || layout->time_kind != MTS_TIME_FLAT ||
		!query->accepts_null_time || order->nsorted != order->nseries + 1)
		return false;
	key = &order->keys[order->nseries];
	return key->column == layout->time_column && key->descending &&
		   key->nulls_first && !query->table->attributes[key->column].not_null;
}

/*
 * Append the terms of the documents that have another type in a field that
 * MongoDB sorts by, unless it stores no other.
 *
 * An index finds the field behind others if each of those has a condition.
 */
static void
append_misfits(const MtsQuery *query, int key, bson_t *any)
{
	const bson_value_t least_of_all = {.value_type = BSON_TYPE_MINKEY};
	const MtsSortOrder *order = query->order;
	const MtsTable *table = query->table;
	const char *field = order->keys[key].field;
	bool is_time = order->has_time && key == order->nsorted - 1;
	bson_t *terms = mts_document_new();
	bson_t *joined = mts_document_new();

	if (is_time && table->layout.time_is_date)
		return;
	for (int i = 0; i < key; i++)
		mts_template_push(terms, "{%s: {$gte: %v}}", order->keys[i].field,
						  &least_of_all);
	if (is_time)
		mts_filter_add_other_types(terms, field,
								   mts_format_type(order->time.format),
								   table->layout.time_kind != MTS_TIME_FLAT);
	else
		mts_filter_add_other_types(
			terms, field,
			mts_type_key_bson(
				table->attributes[order->keys[key].column].key_type),
			false);
	mts_filter_join(terms, joined);
	mts_template_push(any, "%o", joined);
}

/*
 * Make the filter of the documents that match the condition, and have another
 * type in a field that MongoDB sorts by; NULL if there is no such field.
 *
 * They are before or after all others in MongoDB's order, where a scan that
 * ends early would not find them.
 */
static bson_t *
make_misfits(const MtsQuery *query, const bson_t *filter)
{
	const MtsSortOrder *order = query->order;
	bson_t *any = mts_document_new();
	bson_t *terms = mts_document_new();

	if (!order || order->extreme)
		return NULL;
	for (int i = 0; i < order->nsorted; i++)
		append_misfits(query, i, any);
	if (bson_empty(any))
		return NULL;
	if (bson_count_keys(any) > 1)
		mts_template_push(terms, "{$or: %a}", any);
	return mts_query_restrict(filter, bson_empty(terms) ? any : terms);
}

/* Build the filter of the condition; false if no bucket can match. */
static bool
build_filter(const MtsQuery *query, const MtsFilter *condition, bson_t *filter)
{
	return mts_filter_build(&query->table->layout, condition,
							query->table->filter, filter);
}

/*
 * Have the conditions on the fields that MongoDB sorts by admit only values of
 * the declared types.
 */
static void
leave_out_misfits(const MtsQuery *query, MtsFilter *condition)
{
	const MtsSortOrder *order = query->order;
	const MtsColumn *columns = query->table->layout.columns;

	for (int i = 0; i < condition->nargs; i++)
	{
		MtsFilter *one = condition->args[i];

		if (one->kind == MTS_FILTER_TIME && order->has_time)
			one->sorted = order->time.path;
		for (int k = 0; k < order->nsorted; k++)
			if (one->column == &columns[order->keys[k].column])
				one->sorted = &one->column->path;
	}
}

/*
 * Build the filter of the documents that have the declared types in the fields
 * that MongoDB sorts by, and the filter of the others.
 */
static void
build_filters(MtsQuery *query, MtsFilter *condition)
{
	bson_t *filter = mts_document_new();

	query->filter = mts_document_new();
	query->is_possible = build_filter(query, condition, filter);
	query->misfits = make_misfits(query, filter);
	if (query->misfits)
		leave_out_misfits(query, condition);
	(void) build_filter(query, condition, query->filter);
}

/* mts_query_make: make the query for the present values of parameters. */
MtsQuery *
mts_query_make(const MtsTable *table, const MtsQuerySpec *spec,
			   ExprContext *econtext)
{
	MtsQuery *query = new_query(table, spec);
	MtsFilter *condition = evaluate_quals(query, spec, econtext);

	query->order = spec->order;
	build_filters(query, condition);
	choose_content(query, spec);
	if (query->order)
		mts_sort_order_append_sort(query->order, query->sort);
	query->unsorted_come_first = unsorted_come_first(query);
	return query;
}

/*
 * mts_query_of_filter
 *		Make the query that reads whole buckets in order to change them.
 *
 * The filter, which the caller keeps alive, selects them.
 */
MtsQuery *
mts_query_of_filter(const MtsTable *table, const MtsQuerySpec *spec,
					const bson_t *filter)
{
	MtsQuery *query = new_query(table, spec);

	query->filter = (bson_t *) filter;
	query->is_possible = true;
	query->on_primary = true;
	return query;
}

/* mts_query_whole_projection: make the projection that leaves no slots out. */
bson_t *
mts_query_whole_projection(const MtsQuery *query)
{
	bson_t *projection = mts_document_new();

	(void) project_points(query, MTS_PROJECT_CONTAINERS, projection);
	return projection;
}

/*
 * mts_query_project_field
 *		Make the projection of a field.  An index on it answers a query without
 *		the rest of the _id.
 */
bson_t *
mts_query_project_field(const char *field)
{
	bool is_in_id =
		strncmp(field, "_id", 3) == 0 && (field[3] == '\0' || field[3] == '.');

	return mts_document_make(is_in_id ? "{%s: 1}" : "{%s: 1, _id: 0}", field);
}

/*
 * Make the operators of the _ids in an array.  MongoDB 6.0 reads all buckets
 * of a time-series collection for $in alone, so these have bounds.
 */
static bson_t *
match_ids(const MtsTable *table, const bson_t *ids)
{
	const bson_oid_t *least = NULL, *greatest = NULL;
	bson_t *ops = mts_document_make("{$in: %a}", ids);
	bson_iter_t iter;

	for (bson_iter_init(&iter, ids); table->native && bson_iter_next(&iter);)
	{
		const bson_oid_t *id;

		if (!BSON_ITER_HOLDS_OID(&iter))
			return ops;
		id = bson_iter_oid(&iter);
		if (!least || bson_oid_compare(id, least) < 0)
			least = id;
		if (!greatest || bson_oid_compare(id, greatest) > 0)
			greatest = id;
	}
	if (least)
	{
		bson_append_oid(ops, "$gte", -1, least);
		bson_append_oid(ops, "$lte", -1, greatest);
	}
	return ops;
}

/*
 * mts_query_of_ids
 *		Make the query that reads the columns of another one, from whole
 *		buckets whose _ids are in an array.
 */
MtsQuery *
mts_query_of_ids(const MtsQuery *query, const bson_t *ids)
{
	MtsQuery *copy = palloc(sizeof(MtsQuery));

	*copy = *query;
	copy->content = MTS_CONTENT_WHOLE;
	copy->filter =
		mts_document_make("{_id: %o}", match_ids(query->table, ids));
	copy->projection = mts_query_whole_projection(query);
	copy->sort = mts_document_new();
	copy->order = NULL;
	copy->misfits = NULL;
	copy->initial_batch_size = query->table->fetch_size;
	return copy;
}

/*
 * mts_query_restrict
 *		Make the filter of the documents that match another filter and all of
 *		these terms.
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

/*
 * mts_query_sent_filter
 *		Return the filter that is sent for one.
 *
 * The times of a bucket of a time-series collection have two bounds, so the
 * members of an $or of ranges are distributed.
 */
const bson_t *
mts_query_sent_filter(const MtsTable *table, const bson_t *filter)
{
	bson_t *distributed;

	if (!table->native)
		return filter;
	distributed = mts_document_new();
	return mts_filter_distribute(filter, distributed) ? distributed : filter;
}

/*
 * mts_query_sorted_terms
 *		Make the terms of the documents that MongoDB sorts, or of those that
 *		come before them, where there are some.
 */
bson_t *
mts_query_sorted_terms(const MtsQuery *query, bool are_sorted)
{
	const MtsSortOrder *order = query->order;
	const MtsSortKey *key = &order->keys[order->nseries];
	const MtsTable *table = query->table;
	bson_t *bounds, *terms;

	if (!order->extreme)
	{
		terms = mts_document_make(are_sorted ? "{0: {%s: {$ne: null}}}"
											 : "{0: {%s: null}}",
								  key->field);
		if (!are_sorted && query->unsorted_terms)
			bson_concat(terms, query->unsorted_terms);
		return terms;
	}
	bounds = mts_document_new();
	mts_filter_bounds(&table->layout, &table->layout.columns[key->column],
					  mts_type_key_name(
						  table->attributes[key->column].key_type),
					  bounds);
	return mts_document_make(are_sorted ? "{0: %o}" : "{0: {$nor: [%o]}}",
							 bounds);
}

/* Tell whether an array has one string, as that of the values of a text. */
static bool
has_one_string(const bson_iter_t *array)
{
	bson_iter_t value;
	int n = 0;

	if (bson_iter_recurse(array, &value))
		while (bson_iter_next(&value))
			n += BSON_ITER_HOLDS_UTF8(&value) ? 1 : 0;
	return n == 1;
}

/* Tell whether a filter requires one value of a field, of whatever type. */
static bool
is_fixed(const bson_t *filter, const MtsPath *path)
{
	char field[MTS_MAX_DOTTED + 1];
	bson_iter_t iter, op;

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	if (!bson_iter_init_find(&iter, filter, field))
		return false;
	if (!BSON_ITER_HOLDS_DOCUMENT(&iter) || !bson_iter_recurse(&iter, &op) ||
		!bson_iter_next(&op) || *bson_iter_key(&op) != '$')
		return true;
	return strcmp(bson_iter_key(&op), "$in") == 0 && has_one_string(&op);
}

/*
 * mts_query_fixes_keys
 *		Tell whether a filter requires one value of each key.
 *
 * If so, the index of mongo_ts_create_index() finds buckets by their time.
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
