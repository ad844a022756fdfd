/*
 * filter.c
 *		Build the filter of a find command.
 *
 * The filter matches every bucket that can hold a point of the condition and
 * as few others as its operators allow; it has plain match operators only.
 * Operators on one field stand together; $and is left for what can't.
 */
#include "core/query/filter.h"

#include <string.h>

#include "core/bson/template.h"

/* More ranges than this are replaced by the one that spans them */
#define MAX_RANGES 64
/* More texts than this are not enumerated */
#define MAX_TEXTS 1000

static bool append_cond(const MtsLayout *layout, const MtsFilter *cond,
						bson_t *terms);

/* ---- Terms of a conjunction, in an array ------------------------------- */

/* mts_filter_add_not: append {field: {$not: {op: value}}} to an array of terms. */
void
mts_filter_add_not(bson_t *terms, const char *field, const char *op,
				   bson_iter_t *value)
{
	mts_template_push(terms, "{%s: {$not: {%s: %v}}}", field, op,
					  bson_iter_value(value));
}

/* Is this term's one element {field: {operators}}? */
static bool
has_operators(const bson_iter_t *element)
{
	bson_iter_t child;

	return BSON_ITER_HOLDS_DOCUMENT(element) &&
		   bson_iter_recurse(element, &child) && bson_iter_next(&child) &&
		   bson_iter_key(&child)[0] == '$';
}

/* Do two documents of operators share one? */
static bool
share_operator(const bson_iter_t *a, const bson_iter_t *b)
{
	bson_iter_t child_a, child_b;

	if (!bson_iter_recurse(a, &child_a))
		return true;
	while (bson_iter_next(&child_a))
		if (bson_iter_recurse(b, &child_b) &&
			bson_iter_find(&child_b, bson_iter_key(&child_a)))
			return true;
	return false;
}

/* Append the operators of one element to a document of operators. */
static void
copy_operators(const bson_iter_t *element, bson_t *ops)
{
	bson_iter_t child;

	if (bson_iter_recurse(element, &child))
		while (bson_iter_next(&child))
			bson_append_iter(ops, bson_iter_key(&child), -1, &child);
}

/*
 * Merge one term into the document of those before it: as a field of its own,
 * or with the operators that its field has there.  False when neither goes.
 */
static bool
merge_term(bson_t *doc, const bson_iter_t *element)
{
	const char *field = bson_iter_key(element);
	bson_iter_t there;
	bson_t merged = BSON_INITIALIZER;
	bson_iter_t iter;

	if (!bson_iter_init_find(&there, doc, field))
	{
		bson_append_iter(doc, field, -1, element);
		bson_destroy(&merged);
		return true;
	}
	if (!has_operators(&there) || !has_operators(element) ||
		share_operator(&there, element))
	{
		bson_destroy(&merged);
		return false;
	}
	bson_iter_init(&iter, doc);
	while (bson_iter_next(&iter))
	{
		bson_t ops = BSON_INITIALIZER;

		if (strcmp(bson_iter_key(&iter), field) == 0)
		{
			copy_operators(&iter, &ops);
			copy_operators(element, &ops);
			bson_append_document(&merged, field, -1, &ops);
		}
		else
			bson_append_iter(&merged, bson_iter_key(&iter), -1, &iter);
		bson_destroy(&ops);
	}
	bson_reinit(doc);
	bson_concat(doc, &merged);
	bson_destroy(&merged);
	return true;
}

/* Append the members of an $and that a table's filter has. */
static void
append_members(bson_t *array, const bson_iter_t *and)
{
	bson_iter_t member;

	if (!bson_iter_recurse(and, &member))
		return;
	while (bson_iter_next(&member))
		mts_template_push(array, "%v", bson_iter_value(&member));
}

/*
 * mts_filter_join
 *		Write an array of terms as one document, $and only where it must be.
 *
 * doc is initialized and empty.
 */
void
mts_filter_join(const bson_t *terms, bson_t *doc)
{
	bson_t rest = BSON_INITIALIZER;
	bson_iter_t iter, element;

	bson_iter_init(&iter, terms);
	while (bson_iter_next(&iter))
	{
		bool whole = bson_iter_recurse(&iter, &element);

		while (whole && bson_iter_next(&element))
		{
			if (strcmp(bson_iter_key(&element), "$and") == 0)
				append_members(&rest, &element);
			else if (!merge_term(doc, &element))
				mts_template_push(&rest, "{%s: %v}", bson_iter_key(&element),
								  bson_iter_value(&element));
		}
	}
	if (!bson_empty(&rest))
		bson_append_array(doc, "$and", -1, &rest);
	bson_destroy(&rest);
}

/* Is this a document of one operator, $eq, whose value can stand alone? */
static bool
is_equality(const bson_t *ops)
{
	bson_iter_t iter;

	return bson_count_keys(ops) == 1 && bson_iter_init_find(&iter, ops, "$eq");
}

/* Append a term {field: ops} to an array of terms; no operators, no term. */
static void
append_term(bson_t *terms, const MtsPath *path, const bson_t *ops)
{
	char field[MTS_MAX_PATH];

	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	if (!bson_empty(ops))
		mts_template_push(terms, is_equality(ops) ? "{%s: %b}" : "{%s: %o}",
						  field, ops);
}

/* Append a term {op: terms}, or the one term that they are. */
static void
append_group(bson_t *terms, const char *op, const bson_t *group)
{
	if (bson_count_keys(group) == 1)
		mts_template_push(terms, "%b", group);
	else
		mts_template_push(terms, "{%s: %a}", op, group);
}

/* ---- Conditions -------------------------------------------------------- */

/* May a query address the whole path? */
static bool
is_addressable(const MtsPath *path)
{
	return path->nsteps > 0 &&
		   mts_path_addressable_steps(path) == path->nsteps;
}

static void
append_field_range(const MtsLayout *layout, const MtsField *field,
				   MtsRange range, bson_t *terms)
{
	bson_t ops = BSON_INITIALIZER;

	if (field->is_set && is_addressable(&field->path))
	{
		mts_format_bounds(&field->format, &layout->clock, range, &ops);
		if (bson_empty(&ops))
			mts_format_enumerate(&field->format, &layout->clock, range,
								 MAX_TEXTS, &ops);
		append_term(terms, &field->path, &ops);
	}
	bson_destroy(&ops);
}

/*
 * Append {array: {$elemMatch: bounds}} for points in one array that carry
 * their own time: the only bound where the bucket has no time.
 */
static void
append_element_range(const MtsLayout *layout, MtsRange range, bson_t *terms)
{
	const MtsColumn *time = mts_layout_time(layout);
	const MtsPath *path = &time->path;
	int array = mts_path_addressable_steps(path);
	MtsPath head = {.nsteps = array},
			tail = {.nsteps = path->nsteps - array - 1};
	bson_t ops = BSON_INITIALIZER;
	bson_t match = BSON_INITIALIZER;
	char field[MTS_MAX_PATH];

	if (path->nslots != 1 || array == 0 || array == path->nsteps ||
		path->steps[array].kind != MTS_STEP_ELEMENT)
		return;
	memcpy(head.steps, path->steps, array * sizeof(MtsStep));
	if (tail.nsteps > 0)
		memcpy(tail.steps, path->steps + array + 1,
			   tail.nsteps * sizeof(MtsStep));
	mts_format_bounds(&time->format, &layout->clock, range, &ops);
	if (!bson_empty(&ops) && tail.nsteps == 0)
		bson_append_document(&match, "$elemMatch", -1, &ops);
	else if (!bson_empty(&ops) && is_addressable(&tail))
	{
		mts_path_dotted(tail.steps, tail.nsteps, field, sizeof(field));
		mts_template_fields(&match,
							is_equality(&ops) ? "{$elemMatch: {%s: %b}}"
											  : "{$elemMatch: {%s: %o}}",
							field, &ops);
	}
	append_term(terms, &head, &match);
	bson_destroy(&match);
	bson_destroy(&ops);
}

/* Append the terms that all buckets with a point of the range satisfy. */
static void
append_points_range(const MtsLayout *layout, MtsRange range, bson_t *terms)
{
	const MtsColumn *time = mts_layout_time(layout);

	if (layout->time_kind == MTS_TIME_FLAT)
	{
		MtsField field = {true, time->path, time->format};

		append_field_range(layout, &field, range, terms);
		return;
	}
	append_field_range(layout, &layout->bucket_time,
					   mts_layout_bucket_range(layout, range), terms);
	if (layout->time_kind != MTS_TIME_POINT)
		return;
	append_field_range(layout, &layout->first,
					   (MtsRange){MTS_TIME_MIN, range.to}, terms);
	append_field_range(layout, &layout->last,
					   (MtsRange){range.from, MTS_TIME_MAX}, terms);
	if (!layout->bucket_time.is_set && !layout->first.is_set &&
		!layout->last.is_set)
		append_element_range(layout, range, terms);
}

/* One range of a condition's, as terms in an array */
static void
append_range(const MtsLayout *layout, const MtsFilter *cond, MtsRange range,
			 bson_t *terms)
{
	if (cond->kind == MTS_FILTER_TIME)
		append_points_range(layout, range, terms);
	else
	{
		MtsField field = {true, cond->column->path, cond->column->format};

		append_field_range(layout, &field, range, terms);
	}
}

/*
 * Join the ranges of points whose buckets are the same, and what is more than
 * items has room for.  They are trimmed later, so a wider one loses nothing.
 */
static MtsRanges
join_ranges(const MtsLayout *layout, const MtsRanges *ranges, MtsRange *items)
{
	MtsRanges joined = {0, items};
	MtsTime reach = MTS_TIME_MIN;

	for (int i = 0; i < ranges->n; i++)
	{
		MtsRange range = ranges->items[i];
		MtsRange buckets = mts_layout_bucket_range(layout, range);

		if (joined.n > 0 && (buckets.from <= reach || joined.n == MAX_RANGES))
			joined.items[joined.n - 1].to = range.to;
		else
			mts_ranges_add(&joined, range.from, range.to);
		reach = buckets.to;
	}
	return joined;
}

/*
 * Append a disjunction of ranges.  False when there is none, so nothing can
 * match.  A range that no operator bounds admits every bucket.
 */
static bool
append_ranges(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	MtsRange items[MAX_RANGES];
	MtsRanges ranges = cond->ranges;
	bson_t any = BSON_INITIALIZER;
	bool open = false;

	if (ranges.n == 0)
		return false;
	if (cond->kind == MTS_FILTER_TIME)
		ranges = join_ranges(layout, &cond->ranges, items);
	for (int i = 0; i < ranges.n && !open; i++)
	{
		bson_t all = BSON_INITIALIZER;

		append_range(layout, cond, ranges.items[i], &all);
		open = bson_empty(&all);
		append_group(&any, "$and", &all);
		bson_destroy(&all);
	}
	if (!open && ranges.n == 1)
		append_range(layout, cond, ranges.items[0], terms);
	else if (!open)
		append_group(terms, "$or", &any);
	bson_destroy(&any);
	return true;
}

static bool
append_or(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	bson_t any = BSON_INITIALIZER;
	bool open = false;
	bool possible = false;

	for (int i = 0; i < cond->nargs && !open; i++)
	{
		bson_t all = BSON_INITIALIZER;

		if (append_cond(layout, cond->args[i], &all))
		{
			possible = true;
			open = bson_empty(&all);
			append_group(&any, "$and", &all);
		}
		bson_destroy(&all);
	}
	if (possible && !open)
		append_group(terms, "$or", &any);
	bson_destroy(&any);
	return possible;
}

/*
 * Append a condition's terms to an array, which is their conjunction.  False
 * when no bucket can satisfy it; the array is of no use then.
 */
static bool
append_cond(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	switch (cond->kind)
	{
		case MTS_FILTER_TRUE:
			return true;
		case MTS_FILTER_FALSE:
			return false;
		case MTS_FILTER_AND:
			for (int i = 0; i < cond->nargs; i++)
				if (!append_cond(layout, cond->args[i], terms))
					return false;
			return true;
		case MTS_FILTER_OR:
			return append_or(layout, cond, terms);
		case MTS_FILTER_FIELD:
			if (is_addressable(&cond->column->path))
				append_term(terms, &cond->column->path, cond->ops);
			return true;
		default:
			return append_ranges(layout, cond, terms);
	}
}

/*
 * mts_filter_build
 *		Write the filter of a condition and the table's own to *filter.
 *
 * table_filter may be NULL; *filter is initialized and empty.  False when no
 * bucket can satisfy the condition, whatever the collection holds.
 */
bool
mts_filter_build(const MtsLayout *layout, const MtsFilter *cond,
				 const bson_t *table_filter, bson_t *filter)
{
	bson_t terms = BSON_INITIALIZER;
	bool possible;

	if (table_filter && !bson_empty(table_filter))
		mts_template_push(&terms, "%o", table_filter);
	possible = append_cond(layout, cond, &terms);
	if (possible)
		mts_filter_join(&terms, filter);
	bson_destroy(&terms);
	return possible;
}
