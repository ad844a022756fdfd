/*
 * filter.c
 *		Build the filter of a find command from a condition on points.
 *
 * The filter matches every bucket that can hold a matching point, and few
 * others; the unfolding and the executor check the points.  It has only plain
 * match operators, no $expr.  The operators on a field are merged into one
 * document; $and joins the terms that cannot be merged.
 */
#include "core/query/filter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/bson/template.h"
#include "core/layout/slot_key.h"

/* The most keys of a slot that a filter asks for */
#define MAX_SLOT_KEYS 16

/* The most texts of times that a filter enumerates */
#define MAX_TEXTS 1000

/* The most bytes of a filter that is distributed over the members of an $or */
#define MAX_DISTRIBUTED (64 * 1024)

/* The times that the seconds of an ObjectId can tell from each other */
#define ID_PERIOD ((INT64_C(1) << 32) * MTS_SECOND)

#define UUID_BYTES 16

/* Which values of a field must be found besides those of a range */
typedef enum Wanted
{
	NO_OTHERS,
	OTHER_TYPES, /* all but null, and no field */
	ANYTHING_ELSE
} Wanted;

static bool append_cond(const MtsLayout *layout, const MtsFilter *cond,
						bson_t *terms);

/* ---- Terms of a conjunction, in an array ------------------------------- */

/*
 * mts_filter_add_not
 *		Append {field: {$not: {op: value}}} to an array of terms.
 */
void
mts_filter_add_not(bson_t *terms, const char *field, const char *op,
				   bson_iter_t *value)
{
	mts_template_push(terms, "{%s: {$not: {%s: %v}}}", field, op,
					  bson_iter_value(value));
}

/* Tell whether an element of a term is {field: {operators}}. */
static bool
has_operators(const bson_iter_t *element)
{
	bson_iter_t child;

	return BSON_ITER_HOLDS_DOCUMENT(element) &&
		   bson_iter_recurse(element, &child) && bson_iter_next(&child) &&
		   bson_iter_key(&child)[0] == '$';
}

static bool
is_null_in_both(const bson_iter_t *a, const bson_iter_t *b)
{
	return BSON_ITER_HOLDS_NULL(a) && BSON_ITER_HOLDS_NULL(b);
}

/* Tell whether two documents have an operator in common with other values. */
static bool
contradict(const bson_iter_t *a, const bson_iter_t *b)
{
	bson_iter_t child_a, child_b;

	if (!bson_iter_recurse(a, &child_a))
		return true;
	while (bson_iter_next(&child_a))
		if (bson_iter_recurse(b, &child_b) &&
			bson_iter_find(&child_b, bson_iter_key(&child_a)) &&
			!is_null_in_both(&child_a, &child_b))
			return true;
	return false;
}

/* Append those operators of an element that a document does not have yet. */
static void
copy_operators(const bson_iter_t *element, bson_t *ops)
{
	bson_iter_t child;

	if (bson_iter_recurse(element, &child))
		while (bson_iter_next(&child))
			if (!bson_has_field(ops, bson_iter_key(&child)))
				bson_append_iter(ops, bson_iter_key(&child), -1, &child);
}

/* Add the operators of an element to those of the same field in doc. */
static void
add_operators(bson_t *doc, const bson_iter_t *element)
{
	bson_t merged = BSON_INITIALIZER;
	bson_iter_t iter;

	bson_iter_init(&iter, doc);
	while (bson_iter_next(&iter))
	{
		const char *field = bson_iter_key(&iter);
		bson_t ops = BSON_INITIALIZER;

		if (strcmp(field, bson_iter_key(element)) == 0)
		{
			copy_operators(&iter, &ops);
			copy_operators(element, &ops);
			bson_append_document(&merged, field, -1, &ops);
		}
		else
			bson_append_iter(&merged, field, -1, &iter);
		bson_destroy(&ops);
	}
	bson_reinit(doc);
	bson_concat(doc, &merged);
	bson_destroy(&merged);
}

/*
 * Merge an element of a term into doc: as a new field, or with the operators
 * of the same field.  False if neither is possible.
 */
static bool
merge_element(bson_t *doc, const bson_iter_t *element)
{
	bson_iter_t existing;

	if (!bson_iter_init_find(&existing, doc, bson_iter_key(element)))
	{
		bson_append_iter(doc, NULL, 0, element);
		return true;
	}
	if (!has_operators(&existing) || !has_operators(element) ||
		contradict(&existing, element))
		return false;
	add_operators(doc, element);
	return true;
}

/* Append the members of an $and in a table's filter. */
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
 *		Join an array of terms to one document, with $and only if required.
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
		if (!bson_iter_recurse(&iter, &element))
			continue;
		while (bson_iter_next(&element))
		{
			if (strcmp(bson_iter_key(&element), "$and") == 0)
				append_members(&rest, &element);
			else if (!merge_element(doc, &element))
				mts_template_push(&rest, "{%s: %v}", bson_iter_key(&element),
								  bson_iter_value(&element));
		}
	}
	if (!bson_empty(&rest))
		bson_append_array(doc, "$and", -1, &rest);
	bson_destroy(&rest);
}

/*
 * mts_filter_distribute
 *		Rewrite {a: 1, $or: [{b: 2, c: 3}, ..]} as {$or: [{a: 1, b: 2, c: 3},
 *		..]}.
 *
 * Returns false for a filter of another form, and for one whose result would
 * be large.
 *
 * MongoDB plans each member of an $or at the root by itself.  Below other
 * conditions, it finds bounds of an index for members of one condition only.
 * doc is initialized and empty.
 */
bool
mts_filter_distribute(const bson_t *filter, bson_t *doc)
{
	bson_t others = BSON_INITIALIZER, members = BSON_INITIALIZER;
	bson_iter_t any, member;
	bool result = false;

	bson_copy_to_excluding_noinit(filter, &others, "$or", NULL);
	if (!bson_empty(&others) && bson_iter_init_find(&any, filter, "$or") &&
		bson_iter_recurse(&any, &member))
	{
		while (bson_iter_next(&member) && members.len < MAX_DISTRIBUTED)
		{
			bson_t terms = BSON_INITIALIZER, joined = BSON_INITIALIZER;

			mts_template_push(&terms, "%o", &others);
			mts_template_push(&terms, "%v", bson_iter_value(&member));
			mts_filter_join(&terms, &joined);
			mts_template_push(&members, "%o", &joined);
			bson_destroy(&terms);
			bson_destroy(&joined);
		}
		result = members.len < MAX_DISTRIBUTED;
	}
	if (result)
		bson_append_array(doc, "$or", -1, &members);
	bson_destroy(&others);
	bson_destroy(&members);
	return result;
}

/*
 * Append {field: ops} to a document; {field: {$eq: value}} is written as
 * {field: value}.
 */
static void
append_ops(bson_t *doc, const char *field, const bson_t *ops)
{
	bson_iter_t iter;

	if (bson_count_keys(ops) == 1 && bson_iter_init_find(&iter, ops, "$eq"))
		bson_append_iter(doc, field, -1, &iter);
	else
		bson_append_document(doc, field, -1, ops);
}

/* Append {field: ops} to an array of terms, unless ops is empty. */
static void
append_term(bson_t *terms, const MtsPath *path, const bson_t *ops)
{
	char field[MTS_MAX_PATH];
	char buffer[16];
	const char *key;
	size_t len;
	bson_t term;

	if (bson_empty(ops))
		return;
	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	len = bson_uint32_to_string(bson_count_keys(terms), &key, buffer,
								sizeof(buffer));
	bson_append_document_begin(terms, key, (int) len, &term);
	append_ops(&term, field, ops);
	bson_append_document_end(terms, &term);
}

/* Append {op: group} to an array of terms, or the only term of the group. */
static void
append_group(bson_t *terms, const char *op, const bson_t *group)
{
	if (bson_count_keys(group) == 1)
		mts_template_push(terms, "%b", group);
	else
		mts_template_push(terms, "{%s: %a}", op, group);
}

/* ---- Conditions -------------------------------------------------------- */

/* Tell whether a term on a path matches at least what has such a value. */
static bool
can_match(const MtsPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		if (!path->steps[i].may_be_index &&
			!mts_path_step_is_addressable(&path->steps[i]))
			return false;
	return path->nsteps > 0;
}

/*
 * The operators of the values that an operator excludes, NULL after the last
 * one; an empty list for an operator that is not one of order.
 */
static const char *const *
opposites_of(const char *op)
{
	static const struct
	{
		const char *op;
		const char *opposites[3];
	} operators[] = {{"$lt", {"$gte"}},
					 {"$lte", {"$gt"}},
					 {"$eq", {"$lt", "$gt"}},
					 {"$gte", {"$lt"}},
					 {"$gt", {"$lte"}}};
	static const char *const none[] = {NULL};

	for (int i = 0; i < (int) (sizeof(operators) / sizeof(operators[0])); i++)
		if (strcmp(operators[i].op, op) == 0)
			return operators[i].opposites;
	return none;
}

/* Append {$gte: value}: all values of a type but NaN satisfy it, no others. */
static void
append_least(bson_type_t type, bson_t *ops)
{
	const bson_oid_t oid = {{0}};

	switch (type)
	{
		case BSON_TYPE_UTF8:
			bson_append_utf8(ops, "$gte", -1, "", 0);
			break;
		case BSON_TYPE_DATE_TIME:
			bson_append_date_time(ops, "$gte", -1, INT64_MIN);
			break;
		case BSON_TYPE_TIMESTAMP:
			bson_append_timestamp(ops, "$gte", -1, 0, 0);
			break;
		case BSON_TYPE_BOOL:
			bson_append_bool(ops, "$gte", -1, false);
			break;
		case BSON_TYPE_OID:
			bson_append_oid(ops, "$gte", -1, &oid);
			break;
		case BSON_TYPE_BINARY:
			bson_append_binary(ops, "$gte", -1, BSON_SUBTYPE_BINARY, NULL, 0);
			break;
		default: /* numbers */
			bson_append_double(ops, "$gte", -1, -INFINITY);
	}
}

/*
 * Append to a disjunction the terms of the binary values that are not UUIDs.
 *
 * MongoDB sorts binary values by length, then by subtype, so those of other
 * lengths and subtypes are before or after all UUIDs.  An index finds them by
 * these terms, but not by {$not: {$gte: .., $lte: ..}}.
 */
static void
append_other_binaries(const char *field, bson_t *any)
{
	uint8_t bytes[UUID_BYTES] = {0};
	bson_value_t value = {.value_type = BSON_TYPE_BINARY};

	value.value.v_binary.data = bytes;
	value.value.v_binary.data_len = UUID_BYTES;
	value.value.v_binary.subtype = BSON_SUBTYPE_UUID;
	mts_template_push(any, "{%s: {$lt: %v}}", field, &value);
	memset(bytes, 0xff, UUID_BYTES);
	mts_template_push(any, "{%s: {$gt: %v}}", field, &value);
}

/*
 * Append to a disjunction the terms of the documents whose field has another
 * type.
 */
static void
append_other_types(const char *field, bson_type_t type, bool has_null,
				   bson_t *any)
{
	bson_t least = BSON_INITIALIZER;

	append_least(type, &least);
	mts_template_push(any,
					  has_null ? "{%s: {$not: %o}}"
							   : "{%s: {$ne: null, $not: %o}}",
					  field, &least);
	if (type == BSON_TYPE_BINARY)
		append_other_binaries(field, any);
	bson_destroy(&least);
}

/*
 * mts_filter_add_other_types
 *		Append the term of the documents whose field has another type: double
 *		stands for all numbers, and binary for UUIDs.
 *
 * With has_null, also of those with null, or without the field.
 */
void
mts_filter_add_other_types(bson_t *terms, const char *field, bson_type_t type,
						   bool has_null)
{
	bson_t any = BSON_INITIALIZER;

	append_other_types(field, type, has_null, &any);
	append_group(terms, "$or", &any);
	bson_destroy(&any);
}

/* Find the first of some operators; false if it is not one of order. */
static bool
find_order(const bson_t *ops, bson_iter_t *iter)
{
	return bson_iter_init(iter, ops) && bson_iter_next(iter) &&
		   *opposites_of(bson_iter_key(iter));
}

/* Append {field: {$not: {opposite: value}}} for each operator of order. */
static void
append_negations(const char *field, const bson_t *ops, bson_t *terms)
{
	const char *const *opposites;
	bson_iter_t iter;

	for (bson_iter_init(&iter, ops); bson_iter_next(&iter);)
		for (opposites = opposites_of(bson_iter_key(&iter)); *opposites;
			 opposites++)
			mts_filter_add_not(terms, field, *opposites, &iter);
}

/*
 * Append the terms of the documents whose field compares so, or has a value of
 * a type that the operators do not compare.
 *
 * MongoDB compares values of one class of types only, so a document whose
 * writer has changed the type would not be found.  It must be: reading it is
 * an error.  The terms are one scan of an index, over the range and over all
 * other types, also in the order of the field.  A disjunction of the range and
 * of the other types would be two scans, and MongoDB would remember each
 * document of both.
 *
 * An array is compared by its elements, so one with an element outside the
 * range is not found.  {$or: [.., {field: {$lt: value, $gte: value}}]} would
 * find those with elements on both sides at no cost in an index without
 * arrays, but MongoDB would remember each document here, too: 500,000 took
 * twice as long.
 */
static void
append_any_type(const char *field, const bson_t *ops, Wanted wanted,
				bson_t *terms)
{
	bool is_list = bson_has_field(ops, "$in");
	bson_t any = BSON_INITIALIZER;
	bson_iter_t iter;

	if (is_list || (find_order(ops, &iter) && BSON_ITER_HOLDS_BINARY(&iter)))
	{
		mts_template_push(&any, "{%s: %o}", field, ops);
		append_other_types(field, is_list ? BSON_TYPE_UTF8 : BSON_TYPE_BINARY,
						   wanted == ANYTHING_ELSE, &any);
		mts_template_push(terms, "{$or: %a}", &any);
	}
	else
	{
		append_negations(field, ops, terms);
		if (wanted == OTHER_TYPES)
			mts_template_push(terms, "{%s: {$ne: null}}", field);
	}
	bson_destroy(&any);
}

/*
 * Append the terms of the documents whose field compares so and is not null,
 * or has a value of another type.
 *
 * An equality is sent as it is: its list has the values of other types.  So is
 * a range of the field that documents are sorted by; another query finds the
 * other types.
 */
static void
append_comparison(const MtsFilter *cond, bson_t *terms)
{
	const MtsPath *path = &cond->column->path;
	const bson_t *ops = cond->ops;
	char field[MTS_MAX_PATH];
	bson_t others = BSON_INITIALIZER; /* that are not of order */
	bson_iter_t iter;

	if (bson_has_field(ops, "$eq") || bson_has_field(ops, "$in") ||
		(cond->sorted && find_order(ops, &iter)))
	{
		append_term(terms, path, ops);
		return;
	}
	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	bson_copy_to_excluding_noinit(ops, &others, "$lt", "$lte", "$gte", "$gt",
								  NULL);
	append_any_type(field, ops, OTHER_TYPES, terms);
	append_term(terms, path, &others);
	bson_destroy(&others);
}

/* Append the terms of a range of a field; none if that has no bounds. */
static void
append_field_range(const MtsLayout *layout, const MtsField *field,
				   MtsRange range, Wanted wanted, bson_t *terms)
{
	bson_t ops = BSON_INITIALIZER;
	char text[MTS_MAX_PATH];

	if (field->is_set && can_match(&field->path))
	{
		mts_format_bounds(&field->format, &layout->clock, range, &ops);
		if (bson_empty(&ops))
			mts_format_enumerate(&field->format, &layout->clock, range,
								 MAX_TEXTS, &ops);
		mts_path_dotted(field->path.steps, field->path.nsteps, text,
						sizeof(text));
		if (wanted == NO_OTHERS)
			append_term(terms, &field->path, &ops);
		else if (!bson_empty(&ops))
			append_any_type(text, &ops, wanted, terms);
	}
	bson_destroy(&ops);
}

/*
 * Tell which values besides those of a range must be found in a field of the
 * points' time.  There are none if documents are sorted by it, or if MongoDB
 * stores no other type.  A bucket without a time is read, too, which is an
 * error; a row without one satisfies no condition.
 */
static Wanted
wanted_of(const MtsLayout *layout, const MtsFilter *cond, const MtsPath *path)
{
	if (layout->time_is_date || cond->sorted == path)
		return NO_OTHERS;
	return layout->time_kind == MTS_TIME_FLAT ? OTHER_TYPES : ANYTHING_ELSE;
}

/* Append the range of a document's time, which is not null. */
static void
append_time_range(const MtsLayout *layout, const MtsFilter *cond,
				  MtsRange range, bson_t *terms)
{
	const MtsColumn *time = mts_layout_time_column(layout);
	MtsField field = {true, time->path, time->format};
	char text[MTS_MAX_PATH];

	append_field_range(layout, &field, range,
					   wanted_of(layout, cond, &time->path), terms);
	if (range.from != MTS_TIME_MIN || range.to != MTS_TIME_MAX ||
		mts_path_addressable_steps(&time->path) != time->path.nsteps)
		return;
	mts_path_dotted(time->path.steps, time->path.nsteps, text, sizeof(text));
	mts_template_push(terms, "{%s: {$ne: null}}", text);
}

/*
 * Append {array: {$elemMatch: ops}}, or {array: {$elemMatch: {time: ops}}} for
 * a time in the elements.
 */
static void
append_elements(const char *array, const char *time, const bson_t *ops,
				bson_t *any)
{
	if (*time)
		mts_template_push(any, "{%s: {$elemMatch: {%s: %o}}}", array, time,
						  ops);
	else
		mts_template_push(any, "{%s: {$elemMatch: %o}}", array, ops);
}

/*
 * Append the terms of the documents with an element in a range, or with one
 * whose time has another type, if the points are elements of one array and
 * have their own time.  It is the only bound if the bucket has no time.
 */
static void
append_element_range(const MtsLayout *layout, MtsRange range, bson_t *terms)
{
	const MtsColumn *time = mts_layout_time_column(layout);
	const MtsPath *path = &time->path;
	int array = mts_path_addressable_steps(path);
	MtsPath tail = {0}; /* the time in its elements */
	bson_t ops = BSON_INITIALIZER, other = BSON_INITIALIZER;
	bson_t least = BSON_INITIALIZER, any = BSON_INITIALIZER;
	char field[MTS_MAX_PATH];
	char in_element[MTS_MAX_PATH] = "";

	if (path->nslots != 1 || array == 0 || array == path->nsteps ||
		path->steps[array].kind != MTS_STEP_ELEMENT ||
		time->format.kind == MTS_FORMAT_MIXED)
		return;
	mts_path_dotted(path->steps, array, field, sizeof(field));
	tail.nsteps = path->nsteps - array - 1;
	memcpy(tail.steps, path->steps + array + 1, tail.nsteps * sizeof(MtsStep));
	if (tail.nsteps > 0)
		mts_path_dotted(tail.steps, tail.nsteps, in_element,
						sizeof(in_element));
	mts_format_bounds(&time->format, &layout->clock, range, &ops);
	if (!bson_empty(&ops) && (tail.nsteps == 0 || can_match(&tail)))
	{
		append_least(mts_format_type(&time->format), &least);
		mts_template_fields(&other, "{$not: %o}", &least);
		append_elements(field, in_element, &ops, &any);
		append_elements(field, in_element, &other, &any);
		mts_template_push(terms, "{$or: %a}", &any);
	}
	bson_destroy(&any);
	bson_destroy(&least);
	bson_destroy(&other);
	bson_destroy(&ops);
}

/* Append terms that all buckets with a point of the range satisfy. */
static void
append_points_range(const MtsLayout *layout, const MtsFilter *cond,
					MtsRange range, bson_t *terms)
{
	const MtsField *bucket_time = &layout->bucket_time;
	const MtsField *first = &layout->first;
	const MtsField *last = &layout->last;
	MtsRange reach;

	if (layout->time_kind == MTS_TIME_FLAT)
	{
		append_time_range(layout, cond, range, terms);
		return;
	}
	append_field_range(layout, bucket_time,
					   mts_layout_bucket_range(layout, range),
					   wanted_of(layout, cond, &bucket_time->path), terms);
	if (layout->time_kind != MTS_TIME_POINT)
		return;
	/* the first and the last time are at most twice the reach apart */
	reach = mts_layout_reach(layout, mts_layout_reach(layout, range));
	append_field_range(layout, first, (MtsRange){reach.from, range.to},
					   wanted_of(layout, cond, &first->path), terms);
	append_field_range(layout, last, (MtsRange){range.from, reach.to},
					   wanted_of(layout, cond, &last->path), terms);
	if (!mts_layout_has_bounds(layout))
		append_element_range(layout, range, terms);
}

/*
 * Move a range by whole ID_PERIODs, so that it begins in that of 1970.  False
 * if it does not end there.
 */
static bool
move_to_first_period(MtsRange *range)
{
	int64_t offset, length;

	if (__builtin_sub_overflow(range->from, MTS_UNIX_EPOCH, &offset) ||
		__builtin_sub_overflow(range->to, range->from, &length))
		return false;
	offset %= ID_PERIOD;
	if (offset < 0)
		offset += ID_PERIOD;
	range->from = MTS_UNIX_EPOCH + offset;
	if (length > ID_PERIOD - offset)
		return false;
	range->to = range->from + length;
	return true;
}

/*
 * Append the range of the _ids of native buckets that can hold a point of a
 * range, as they are clustered by _id.
 *
 * An _id has the low 32 bits of the seconds at which its bucket starts.  The
 * start is a time that is rounded towards 1970.  The _ids of a range shorter
 * than ID_PERIOD are known, whenever it is; they may wrap around.  Those of a
 * range with an open end are known only if no _id has wrapped around.  Those
 * of a range with an open begin are never known: an early date, which often
 * stands for none, can have the _id of a late one.
 */
static void
append_id_range(const MtsLayout *layout, MtsRange range, bson_t *terms)
{
	static const MtsField id = {true,
								{.nsteps = 1,
								 .steps = {{MTS_STEP_NAME, "_id", 3}}},
								{.kind = MTS_FORMAT_OID}};
	MtsRange starts = mts_layout_reach(layout, range);

	if (range.to > MTS_UNIX_EPOCH)
		starts.to = range.to;
	if (starts.from == MTS_TIME_MIN)
		return;
	if (starts.to == MTS_TIME_MAX ? !layout->ids_are_ordered
								  : !move_to_first_period(&starts))
		return;
	append_field_range(layout, &id, starts, NO_OTHERS, terms);
}

/* Append the terms of one range of a condition. */
static void
append_range(const MtsLayout *layout, const MtsFilter *cond, MtsRange range,
			 bson_t *terms)
{
	if (cond->kind == MTS_FILTER_TIME)
		append_points_range(layout, cond, range, terms);
	else
	{
		MtsField field = {true, cond->column->path, cond->column->format};

		append_field_range(layout, &field, range,
						   cond->sorted ? NO_OTHERS : OTHER_TYPES, terms);
	}
}

/*
 * Join ranges that can lie in the same bucket, and those that exceed the
 * MTS_MAX_RANGES items.  The unfolding trims the points by the exact ranges.
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

		if (joined.n > 0 &&
			(buckets.from <= reach || joined.n == MTS_MAX_RANGES))
			joined.items[joined.n - 1].to = range.to;
		else
			mts_ranges_add(&joined, range.from, range.to);
		reach = buckets.to;
	}
	return joined;
}

/* Append a disjunction of ranges; one without bounds admits every bucket. */
static void
append_any_range(const MtsLayout *layout, const MtsFilter *cond,
				 const MtsRanges *ranges, bson_t *terms)
{
	bson_t any = BSON_INITIALIZER;
	bool admits_all = false;

	for (int i = 0; i < ranges->n && !admits_all; i++)
	{
		bson_t all = BSON_INITIALIZER;

		append_range(layout, cond, ranges->items[i], &all);
		admits_all = bson_empty(&all);
		append_group(&any, "$and", &all);
		bson_destroy(&all);
	}
	if (!admits_all)
		append_group(terms, "$or", &any);
	bson_destroy(&any);
}

/*
 * Append the ranges of a condition.  False if there is none, so no bucket
 * matches.
 */
static bool
append_ranges(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	MtsRange items[MTS_MAX_RANGES];
	MtsRanges ranges = cond->ranges;

	if (ranges.n == 0)
		return false;
	if (cond->kind == MTS_FILTER_TIME)
		ranges = join_ranges(layout, &cond->ranges, items);
	if (ranges.n == 1)
		append_range(layout, cond, ranges.items[0], terms);
	else
		append_any_range(layout, cond, &ranges, terms);
	if (cond->kind == MTS_FILTER_TIME && !mts_span_is_zero(layout->reach))
		append_id_range(layout,
						(MtsRange){ranges.items[0].from,
								   ranges.items[ranges.n - 1].to},
						terms);
	return true;
}

static bool
append_or(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	bson_t any = BSON_INITIALIZER;
	bool admits_all = false;
	bool possible = false;

	for (int i = 0; i < cond->nargs && !admits_all; i++)
	{
		bson_t all = BSON_INITIALIZER;

		if (append_cond(layout, cond->args[i], &all))
		{
			possible = true;
			admits_all = bson_empty(&all);
			append_group(&any, "$and", &all);
		}
		bson_destroy(&all);
	}
	if (possible && !admits_all)
		append_group(terms, "$or", &any);
	bson_destroy(&any);
	return possible;
}

/*
 * Append the conditions that a bound of a column's values has a type, which is
 * named as for $type, and is neither NaN nor the missing value; and that it
 * compares so with a value, if op is not NULL.
 *
 * MongoDB compares an array by its elements, and looks for a field in each of
 * them, so no step may be an array.  None is in a native bucket.
 */
static void
append_bound(const MtsLayout *layout, const MtsColumn *column,
			 const char *type, const MtsField *bound, const char *op,
			 const bson_value_t *value, bson_t *term)
{
	const MtsMissing *missing = &column->missing;
	const MtsPath *path = &bound->path;
	bool is_number = strcmp(type, "number") == 0;
	bson_t ops = BSON_INITIALIZER;
	char field[MTS_MAX_PATH];
	bson_iter_t iter;

	for (int n = 1; n < path->nsteps && !layout->version.is_set; n++)
	{
		mts_path_dotted(path->steps, n, field, sizeof(field));
		if (!bson_iter_init_find(&iter, term, field))
			mts_template_append(term, field, "{$not: {$type: 'array'}}");
	}
	mts_path_dotted(path->steps, path->nsteps, field, sizeof(field));
	if (op)
		mts_template_append(&ops, op, "%v", value);
	else
		mts_template_append(&ops, "$type", "%s", type);
	if (is_number)
		mts_template_fields(&ops, "{$ne: NaN}");
	mts_template_fields(&ops, "{$not: {$type: 'array'}}");
	if (missing->kind == MTS_MISSING_NUMBER && is_number)
	{
		bson_value_t number = {.value_type = BSON_TYPE_DOUBLE,
							   .value.v_double = missing->number};

		mts_template_fields(&ops, "{$nin: [%v]}", &number);
	}
	else if (missing->kind == MTS_MISSING_TEXT)
		mts_template_fields(&ops, "{$nin: [%s]}", missing->text);
	bson_append_document(term, field, -1, &ops);
	bson_destroy(&ops);
}

/*
 * Append a filter of the buckets whose values are all on the wrong side of the
 * value that they are compared with: below it by "$lt" and "$lte", which the
 * maximum shows, or above it, which the minimum shows.
 *
 * Bounds can be in MongoDB's order of types: null, then numbers, then other
 * types.  MongoDB sorts NaN below the other numbers, PostgreSQL above them.
 * So the bound on the other side must have the type, too, if there is one: a
 * minimum of null hides NaN, and a bound of another type hides values.
 */
static void
append_side(const MtsLayout *layout, const MtsFilter *cond, const char *op,
			bson_t *none)
{
	const MtsColumn *column = cond->column;
	bool is_below = op[1] == 'l';
	const MtsField *bound = is_below ? &column->max : &column->min;
	const MtsField *other = is_below ? &column->min : &column->max;
	bson_t term = BSON_INITIALIZER;

	if (bound->is_set)
	{
		append_bound(layout, column, cond->type, bound, op,
					 is_below ? &cond->low : &cond->high, &term);
		if (other->is_set)
			append_bound(layout, column, cond->type, other, NULL, NULL, &term);
		mts_template_push(none, "%o", &term);
	}
	bson_destroy(&term);
}

/*
 * mts_filter_bounds
 *		Build the filter of the buckets whose declared bounds of a column's
 *		values have a type and are in PostgreSQL's order.
 *
 * *filter is initialized and empty.  See append_side().
 */
void
mts_filter_bounds(const MtsLayout *layout, const MtsColumn *column,
				  const char *type, bson_t *filter)
{
	const MtsField *bounds[] = {&column->min, &column->max};

	for (int i = 0; i < 2; i++)
		if (bounds[i]->is_set)
			append_bound(layout, column, type, bounds[i], NULL, NULL, filter);
}

/* Append a term that excludes the buckets without a value that compares so. */
static void
append_bounded(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	const char *const *opposites = opposites_of(cond->op);
	bson_t none = BSON_INITIALIZER;

	for (; *opposites; opposites++)
		append_side(layout, cond, *opposites, &none);
	if (!bson_empty(&none))
		mts_template_push(terms, "{$nor: %a}", &none);
	bson_destroy(&none);
}

/* Append terms for the keys below a field; false if it has no such path. */
static bool
append_keys(const char *field, const bson_t *texts, bson_t *any)
{
	char path[MTS_MAX_DOTTED];
	bson_iter_t iter;

	bson_iter_init(&iter, texts);
	while (bson_iter_next(&iter))
	{
		const char *text = bson_iter_utf8(&iter, NULL);
		int len = snprintf(path, sizeof(path), "%s.%s", field, text);

		if (!mts_slot_key_text_is_addressable(text, strlen(text)) ||
			len >= (int) sizeof(path))
			return false;
		mts_template_push(any, "{%s: {$exists: true}}", path);
	}
	return true;
}

/*
 * Append a term that excludes the buckets without a key of the outermost slot,
 * where all points are in one container; or those without the container, which
 * would be read again (see MTS_PROJECTED_KEYS).  It does not exclude invalid
 * buckets, whose container is not a subdocument, or is in an array.
 */
static void
append_slot(const MtsLayout *layout, const MtsFilter *cond, bson_t *terms)
{
	const MtsPath *path = layout->containers[0].path;
	int names = mts_path_addressable_steps(path);
	bson_t any = BSON_INITIALIZER;
	char field[MTS_MAX_PATH];
	bool has_keys;

	if (layout->ncontainers != 1 || names == 0 || mts_path_is_in_id(path))
		return;
	mts_path_dotted(path->steps, names, field, sizeof(field));
	has_keys = cond->column->slot == 0 &&
			   path->steps[names].kind == MTS_STEP_COLUMN_KEY &&
			   bson_count_keys(cond->texts) <= MAX_SLOT_KEYS &&
			   append_keys(field, cond->texts, &any);
	if (!has_keys)
		bson_reinit(&any);
	for (int n = 1; n <= names; n++)
	{
		/* $not and $ne compare an array by its elements */
		mts_path_dotted(path->steps, n, field, sizeof(field));
		mts_template_push(&any, "{%s: {$type: 'array'}}", field);
	}
	mts_template_push(
		&any,
		has_keys ? "{%s: {$exists: true, $not: {$type: ['object', 'null']}}}"
				 : "{%s: {$ne: null}}",
		field);
	mts_template_push(terms, "{$or: %a}", &any);
	bson_destroy(&any);
}

/*
 * Append the terms of a condition to an array, as a conjunction.  False if no
 * bucket can match; the array is not valid then.
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
			if (can_match(&cond->column->path) &&
				!mts_path_has_index(&cond->column->path))
				append_comparison(cond, terms);
			return true;
		case MTS_FILTER_BOUNDED:
			append_bounded(layout, cond, terms);
			return true;
		case MTS_FILTER_SLOT:
			append_slot(layout, cond, terms);
			return true;
		default:
			return append_ranges(layout, cond, terms);
	}
}

/*
 * mts_filter_build
 *		Build the filter of a condition and of the table's filter.
 *
 * table_filter may be NULL; *filter is initialized and empty.  False if no
 * bucket can match, whatever the collection holds.
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
