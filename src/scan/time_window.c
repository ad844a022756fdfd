/*
 * time_window.c
 *		Divide a query for the first rows of all series into windows of time.
 *
 * An index that has keys before the time does not sort the buckets of all
 * series by time.  MongoDB would read all buckets to find the first ones.  But
 * it finds those of a range of time by such an index, as it skips from series
 * to series.  So the query becomes parts (part.h), each a window of bucket
 * times: the first buckets, then windows that grow, and then the rest.  Rows
 * are returned before the next window is read, if it cannot have earlier ones.
 *
 * A search finds where the first buckets are.  It reads times from the index,
 * but no document.  It asks for some buckets of any series.  If these are not
 * all, it asks whether others come before them by more than the span of a
 * bucket.  Mostly none do.
 *
 * The search decides nothing but the speed, and so does what is known of
 * indexes: a bucket is in the first window whose end it comes before, or in
 * the rest, whatever its time is.
 */
#include "scan/time_window.h"

#include "common/int.h"

#include "core/bson/template.h"
#include "core/query/index_use.h"
#include "driver/document.h"
#include "scan/bucket.h"

/* The windows before the rest, which is read like a query without windows.
 * It is faster to read it at once if it has most of the buckets. */
#define MAX_WINDOWS 6

/* The factor by which windows grow */
#define GROWTH 4

/* Times that the search reads at once */
#define MAX_TIMES 16

/* The shortest window */
#define LEAST_UNIT MTS_SECOND

/* The search for the first buckets */
typedef struct Search
{
	const MtsBucketSource *source;
	const MtsOrderField *field; /* of the buckets' times */
	bool descending;
	bson_t *sort;       /* that of an index, up to the time */
	bson_t *conditions; /* of the query, on fields of the index */
	bson_t *terms;      /* by which MongoDB skips in the index */

	int64 unit;    /* the span of a bucket, or more if they are sparse */
	MtsTime found; /* a bucket has this time */
	bool has_end;  /* .. and none comes before it by more than the end does */
	MtsTime end;
} Search;

/* ---- The index ---------------------------------------------------------- */

/* Find the field of the buckets' times; false if there is none. */
static bool
find_field(const MtsLayout *layout, MtsOrderField *field)
{
	return mts_sort_order_time_field(layout, field) ||
		   (!mts_span_is_zero(layout->reach) &&
			mts_sort_order_bound_field(layout, false, field));
}

/* Tell whether the first rows of a query can be found in windows of time. */
static bool
is_applicable(const MtsBucketSource *source)
{
	const MtsQuery *query = source->query;
	const MtsTable *table = source->table;
	const MtsLayout *layout = &table->layout;
	const MtsSortOrder *order = query ? query->order : NULL;

	/* a later window would see what the transaction has written meanwhile */
	if (!order || !order->has_time || order->nsorted != 1 ||
		order->nseries > 0 || source->in_xact || source->own_parts ||
		table->rolling_name || query->initial_batch_size >= table->fetch_size)
		return false;
	/* documents without a time are in the rest */
	if (query->accepts_null_time && layout->time_kind == MTS_TIME_FLAT &&
		order->keys[0].nulls_first && !query->unsorted_come_first &&
		!table->attributes[layout->time_column].not_null)
		return false;
	return layout->time_kind == MTS_TIME_FLAT ||
		   !mts_span_is_zero(layout->span) || !mts_span_is_zero(layout->reach);
}

/*
 * Tell whether an index has the time after a field whose value the filter does
 * not require, and set the number of its fields up to the time.  *sorts tells
 * whether it sorts the buckets as the query does.
 */
static bool
is_fitting(const bson_t *keys, const MtsQuery *query, const char *time, int *n,
		   bool *sorts)
{
	bool is_fixed = true;
	bson_iter_t key;

	*n = 0;
	*sorts = false;
	bson_iter_init(&key, keys);
	while (bson_iter_next(&key))
	{
		const char *field = bson_iter_key(&key);

		++*n;
		/* a native query in descending order sorts by another bound */
		*sorts |= is_fixed && strcmp(field, query->order->time.dotted) == 0;
		if (strcmp(field, time) == 0)
			return !is_fixed;
		is_fixed &= mts_index_use_bounds(query->filter, field).nvalues > 0;
	}
	return false;
}

/* Make the sort of an index up to the time, in the direction of the time. */
static bson_t *
make_sort(const bson_t *keys, int n, const char *time, bool descending)
{
	bson_t *sort = mts_document_new();
	bson_iter_t key;
	bool is_backward;

	(void) bson_iter_init_find(&key, keys, time);
	is_backward = (bson_iter_as_int64(&key) < 0) != descending;
	bson_iter_init(&key, keys);
	for (int i = 0; i < n && bson_iter_next(&key); i++)
		bson_append_int32(sort, bson_iter_key(&key), -1,
						  (bson_iter_as_int64(&key) < 0) != is_backward ? -1
																		: 1);
	return sort;
}

/*
 * mts_time_window_index
 *		Find the sort of an index in which MongoDB skips to the first buckets
 *		of a source's query; NULL if the query is not read in windows.
 *
 * The last field is the time.  It may ask the server, like planning.
 */
bson_t *
mts_time_window_index(MtsBucketSource *source)
{
	const MtsQuery *query = source->query;
	MtsOrderField field;
	bson_t *sort = NULL;
	bson_iter_t index;
	int least = INT_MAX;

	if (!is_applicable(source) || !find_field(&source->table->layout, &field))
		return NULL;
	mts_source_learn_indexes(source);
	bson_iter_init(&index, source->indexes);
	while (bson_iter_next(&index))
	{
		bson_t keys;
		bool sorts;
		int n;

		if (!mts_document_view(&index, &keys))
			continue;
		if (is_fitting(&keys, query, field.dotted, &n, &sorts) && n < least)
		{
			least = n;
			sort = make_sort(&keys, n, field.dotted,
							 query->order->keys[0].descending);
		}
		if (sorts)
			return NULL;
	}
	return sort;
}

/* ---- The search --------------------------------------------------------- */

/* Make the operators of the times of a field that are in a range. */
static bson_t *
make_bounds(const Search *search, const MtsOrderField *field, MtsRange range)
{
	bson_t *bounds = mts_document_new();

	mts_format_bounds(field->format, &search->source->table->layout.clock,
					  range, bounds);
	return bounds;
}

/* Make the operators of the times that come before an end in the order. */
static bson_t *
make_bounds_before(const Search *search, MtsTime end)
{
	return make_bounds(search, search->field,
					   search->descending ? (MtsRange){end, MTS_TIME_MAX}
										  : (MtsRange){MTS_TIME_MIN, end});
}

/*
 * Append the terms of the buckets whose times come before an end in the order.
 *
 * A native bucket has a least and a last time.  An index that has the last one
 * first finds the buckets by its bounds, which follow from those of the other.
 */
static void
push_bounds(const Search *search, MtsTime end, bson_t *terms)
{
	const MtsLayout *layout = &search->source->table->layout;
	MtsOrderField last;
	bson_iter_t field;
	MtsRange range = {end, MTS_TIME_MAX};
	const bson_t *bounds;

	mts_template_push(terms, "{%s: %o}", search->field->dotted,
					  make_bounds_before(search, end));
	if (mts_span_is_zero(layout->reach) ||
		!mts_sort_order_bound_field(layout, true, &last) ||
		!bson_iter_init_find(&field, search->sort, last.dotted) ||
		strcmp(last.dotted, search->field->dotted) == 0)
		return;
	if (!search->descending)
		range = (MtsRange){MTS_TIME_MIN, mts_part_last_time(layout, end)};
	bounds = make_bounds(search, &last, range);
	if (!bson_empty(bounds))
		mts_template_push(terms, "{%s: %o}", last.dotted, bounds);
}

/* Move a time towards the beginning of the order; false if it has no end. */
static bool
step(const Search *search, MtsTime *t, int64 distance)
{
	return !(search->descending ? pg_add_s64_overflow(*t, distance, t)
								: pg_sub_s64_overflow(*t, distance, t)) &&
		   *t != MTS_TIME_MIN && *t != MTS_TIME_MAX;
}

/* The distance of a time from another one that comes after it in the order */
static int64
distance_of(const Search *search, MtsTime t, MtsTime after)
{
	int64 distance;

	if (search->descending ? pg_sub_s64_overflow(t, after, &distance)
						   : pg_sub_s64_overflow(after, t, &distance))
		return PG_INT64_MAX;
	return distance;
}

/*
 * Read some times from the index, of buckets that satisfy the terms.  Sets
 * search->found to the first time in the order, and *last to the last one.
 * Returns the number of times; if it is 0, neither is set.
 */
static int
read_times(Search *search, const bson_t *terms, MtsTime *last)
{
	const MtsBucketSource *source = search->source;
	const MtsQuery *query = source->query;
	MtsFind find = mts_source_find(query);
	const bson_t *document;
	MtsCursor *cursor;
	MtsTime t;
	int n = 0;

	find.filter = mts_query_restrict(search->conditions, terms);
	find.projection = mts_query_project_field(search->field->dotted);
	find.sort = search->sort;
	find.limit = find.first_batch = MAX_TIMES;
	cursor = mts_source_cursor(source, source->table->collection, &find);
	while ((document = mts_cursor_next(cursor)))
	{
		source->counters->bytes += document->len;
		if (mts_sort_order_read_time(search->field,
									 &source->table->layout.clock, document,
									 &t) != MTS_DECODED)
			continue;
		if (n == 0 || distance_of(search, t, search->found) > 0)
			search->found = t;
		if (n == 0 || distance_of(search, *last, t) > 0)
			*last = t;
		n++;
	}
	mts_cursor_close(cursor);
	return n;
}

/* Begin with times of any series.  Returns their number, up to a maximum. */
static int
begin_search(Search *search)
{
	const MtsLayout *layout = &search->source->table->layout;
	MtsTime last = 0;
	int n = read_times(search, search->terms, &last);

	search->unit = Max(LEAST_UNIT, layout->reach.usecs);
	if (n > 0 && mts_span_is_zero(layout->reach))
		search->unit =
			Max(search->unit,
				mts_part_last_time(layout, search->found) - search->found);
	if (n > 1)
		search->unit = Max(search->unit,
						   distance_of(search, search->found, last) / (n - 1));
	return n;
}

/* Look for buckets before a time in the order; return how many are found. */
static int
search_before(Search *search, MtsTime end)
{
	bson_t *terms = mts_document_new();
	MtsTime last;
	int n;

	bson_concat(terms, search->terms);
	push_bounds(search, end, terms);
	n = read_times(search, terms, &last);
	if (n == 0)
	{
		search->has_end = true;
		search->end = end;
	}
	return n;
}

/*
 * Find the time of the first buckets, perhaps except others that begin within
 * a unit before it.  False if there are so few that windows are of no use.
 */
static bool
find_first(Search *search)
{
	int64 distance;
	MtsTime end;
	int n = begin_search(search);

	distance = search->unit;
	if (n < MAX_TIMES)
		return false;
	while (n == 0 || n == MAX_TIMES)
	{
		end = search->found;
		if (search->has_end)
			distance = distance_of(search, search->end, search->found) / 2;
		if ((search->has_end && distance < search->unit) ||
			!step(search, &end, distance))
			break;
		n = search_before(search, end);
		if (!search->has_end &&
			pg_mul_s64_overflow(distance, GROWTH, &distance))
			break;
	}
	return true;
}

/* ---- Windows ------------------------------------------------------------ */

/*
 * Copy a part, for times of a range that come before *end in the order, if end
 * is not NULL, and do not fulfil the operators of earlier windows.  The first
 * window asks for the misfits of the part.
 */
static MtsPart *
make_window(const Search *search, const MtsPart *part, const bson_t *before,
			const MtsTime *end, MtsRange starts)
{
	bson_t *terms = mts_document_new();
	MtsPart *window;

	if (end)
	{
		bson_concat(terms, search->terms);
		push_bounds(search, *end, terms);
	}
	if (before)
		mts_template_push(terms, "{%s: {$not: %o}}", search->field->dotted,
						  before);
	window = mts_part_restrict(part, terms);
	window->starts = memcpy(palloc(sizeof(MtsRange)), &starts, sizeof(starts));
	if (end)
		window->limit = 0;
	if (before)
		window->misfits = NULL;
	return window;
}

/* Make the windows of a part, and the rest, from the first time found. */
static List *
make_windows(Search *search, const MtsPart *part)
{
	MtsRange starts = {MTS_TIME_MIN, MTS_TIME_MAX};
	const bson_t *before = NULL;
	int64 width = search->unit;
	MtsTime end = search->found;
	List *windows = NIL;

	if (!search->descending && !step(search, &end, -width))
		return list_make1((void *) part);
	for (int i = 0; i < MAX_WINDOWS; i++)
	{
		const bson_t *bounds = make_bounds_before(search, end);

		if (bson_empty(bounds))
			break;
		*(search->descending ? &starts.from : &starts.to) = end;
		windows =
			lappend(windows, make_window(search, part, before, &end, starts));
		starts = search->descending ? (MtsRange){MTS_TIME_MIN, end}
									: (MtsRange){end, MTS_TIME_MAX};
		before = bounds;
		if (!step(search, &end, -width) ||
			pg_mul_s64_overflow(width, GROWTH, &width))
			break;
	}
	return lappend(windows, make_window(search, part, before, NULL, starts));
}

/* Divide the query into conditions on an index, and terms to skip in it. */
static void
use_index(Search *search)
{
	const MtsQuery *query = search->source->query;
	bson_iter_t term, field;

	search->conditions = mts_document_new();
	search->terms = mts_document_new();
	bson_iter_init(&term, query->filter);
	while (bson_iter_next(&term))
		if (bson_iter_init_find(&field, search->sort, bson_iter_key(&term)))
			bson_append_iter(search->conditions, NULL, 0, &term);
	if (bson_iter_init(&field, search->sort) && bson_iter_next(&field) &&
		!bson_iter_init_find(&term, search->conditions, bson_iter_key(&field)))
		mts_index_use_push_term(search->terms, bson_iter_key(&field));
}

/*
 * mts_time_window_divide
 *		Replace the part of a query that is sorted by windows of it, if an
 *		index serves that.
 *
 * It sends commands, and allocates in the current memory context.
 */
List *
mts_time_window_divide(MtsBucketSource *source, List *parts)
{
	MtsOrderField field;
	Search search = {.source = source, .field = &field};

	search.sort = mts_time_window_index(source);
	if (!search.sort)
		return parts;
	(void) find_field(&source->table->layout, &field);
	search.descending = source->query->order->keys[0].descending;
	use_index(&search);
	if (!find_first(&search))
		return parts;
	return list_concat(list_truncate(list_copy(parts), list_length(parts) - 1),
					   make_windows(&search, llast(parts)));
}
