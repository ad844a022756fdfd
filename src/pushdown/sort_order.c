/*
 * sort_order.c
 *		Read the order of a scan's rows from a plan, and make MongoDB's sort.
 *
 * A plan holds an order as a list of integer lists: {nsorted, nseries,
 * series_direction}, then {attno, operator, collation, descending,
 * nulls_first} for each key.  If nsorted is 0, nfirst is in place of nseries.
 *
 * This file does not decide which orders a scan can serve; pathkeys.c does.
 */
#include "pushdown/sort_order.h"

#include "core/bson/template.h"
#include "driver/document.h"

/* Tell whether the stored values of times sort as the times. */
static bool
sorts_as_times(const MtsFormat *format, const MtsClock *clock)
{
	return mts_format_is_sorted(format) &&
		   !(format->kind == MTS_FORMAT_TEXT && clock->to_local);
}

/* The name by which MongoDB's queries address a field, palloc'd */
static const char *
dotted_name(const MtsPath *path)
{
	char text[MTS_MAX_PATH];

	mts_path_dotted(path->steps, path->nsteps, text, sizeof(text));
	return pstrdup(text);
}

/* Fill in a field; false if its values do not sort as times. */
static bool
complete_field(const MtsLayout *layout, const MtsPath *path,
			   const MtsFormat *format, MtsOrderField *field)
{
	if (mts_path_addressable_steps(path) != path->nsteps ||
		!sorts_as_times(format, &layout->clock))
		return false;
	field->path = path;
	field->format = format;
	field->dotted = dotted_name(path);
	return true;
}

/*
 * mts_sort_order_time_field
 *		Find the field of a bucket's time; false if there is none, or if its
 *		values do not sort as times.
 */
bool
mts_sort_order_time_field(const MtsLayout *layout, MtsOrderField *field)
{
	const MtsColumn *time = mts_layout_time_column(layout);

	if (layout->bucket_time.is_set)
		return complete_field(layout, &layout->bucket_time.path,
							  &layout->bucket_time.format, field);
	return layout->time_kind == MTS_TIME_FLAT && time &&
		   complete_field(layout, &time->path, &time->format, field);
}

/*
 * mts_sort_order_bound_field
 *		Find the field that bounds the times of a bucket's points, from below
 *		or, descending, from above; false as above.
 */
bool
mts_sort_order_bound_field(const MtsLayout *layout, bool descending,
						   MtsOrderField *field)
{
	const MtsField *bound = descending ? &layout->last : &layout->first;

	if (layout->time_kind == MTS_TIME_POINT && bound->is_set)
		return complete_field(layout, &bound->path, &bound->format, field);
	return mts_sort_order_time_field(layout, field);
}

/*
 * mts_sort_order_read_time
 *		Read the time in a field of a bucket.
 */
MtsDecoded
mts_sort_order_read_time(const MtsOrderField *field, const MtsClock *clock,
						 const bson_t *bucket, MtsTime *t)
{
	MtsElement doc = mts_element_document(bson_get_data(bucket), bucket->len);
	MtsElement element;
	MtsError error;

	switch (
		mts_path_find(&doc, field->path->steps, field->path->nsteps, &element))
	{
		case MTS_MALFORMED:
			return MTS_DECODED_INVALID;
		case MTS_ABSENT:
			return MTS_DECODED_NULL;
		default:
			return mts_format_decode(field->format, clock, &element, 0, true,
									 t, &error);
	}
}

/*
 * mts_sort_order_open
 *		Read an order from a plan, into the current memory context; NULL if the
 *		plan has none.
 */
MtsSortOrder *
mts_sort_order_open(const MtsTable *table, List *plan)
{
	const MtsLayout *layout = &table->layout;
	MtsSortOrder *order;
	ListCell *lc;

	if (plan == NIL)
		return NULL;
	order = palloc0(sizeof(MtsSortOrder));
	order->nsorted = linitial_int(linitial(plan));
	*(order->nsorted > 0 ? &order->nseries : &order->nfirst) =
		lsecond_int(linitial(plan));
	order->series_direction = lthird_int(linitial(plan));
	order->keys = palloc0((list_length(plan) - 1) * sizeof(MtsSortKey));
	for_each_from (lc, plan, 1)
	{
		MtsSortKey *key = &order->keys[order->nkeys++];
		List *items = lfirst(lc);
		const MtsPath *path;

		key->column = linitial_int(items) - 1;
		key->opno = (Oid) lsecond_int(items);
		key->collation = (Oid) lthird_int(items);
		key->descending = lfourth_int(items);
		key->nulls_first = list_nth_int(items, 4);
		if (order->nkeys > order->nsorted)
			continue;
		path = &layout->columns[key->column].path;
		if (key->column == layout->time_column)
		{
			order->has_time =
				mts_sort_order_bound_field(layout, key->descending,
										   &order->time);
			if (order->has_time)
				path = order->time.path;
			order->is_by_bound =
				layout->time_kind == MTS_TIME_POINT &&
				(key->descending ? layout->last : layout->first).is_set;
		}
		else if (layout->columns[key->column].role == MTS_ROLE_VALUE)
		{
			const MtsColumn *value = &layout->columns[key->column];

			order->extreme = key->descending ? &value->max : &value->min;
			order->is_by_bound = true;
			path = &order->extreme->path;
		}
		key->field = dotted_name(path);
	}
	return order;
}

/*
 * mts_sort_order_is_of_keys
 *		Tell whether the first n keys of an order are not the time, and MongoDB
 *		sorts by the next key, too, if there is one.
 */
bool
mts_sort_order_is_of_keys(const MtsSortOrder *order, const MtsTable *table,
						  int n)
{
	for (int i = 0; i < n && i < order->nsorted; i++)
		if (order->keys[i].column == table->layout.time_column)
			return false;
	return order->nsorted > n || (order->nsorted == n && order->nkeys == n);
}

/*
 * mts_sort_order_series_terms
 *		Make terms that fix the first keys of a series, to ask MongoDB how it
 *		plans such a query: an index serves any values of them.
 */
bson_t *
mts_sort_order_series_terms(const MtsSortOrder *order, int nkeys)
{
	bson_t *terms = mts_document_new();

	for (int i = 0; i < nkeys; i++)
		mts_template_push(terms, "{%s: 0}", order->keys[i].field);
	return terms;
}

/*
 * mts_sort_order_append_sort
 *		Append the sort of the buckets, or of those of one series:
 *		{field: 1 or -1, ..}.
 */
void
mts_sort_order_append_sort(const MtsSortOrder *order, bson_t *sort)
{
	for (int i = order->nseries; i < order->nsorted; i++)
	{
		const MtsSortKey *key = &order->keys[i];
		bson_iter_t iter;

		if (!bson_iter_init_find(&iter, sort, key->field))
			bson_append_int32(sort, key->field, -1, key->descending ? -1 : 1);
	}
}
