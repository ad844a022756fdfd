/*
 * operators.h
 *		Evaluates those operators of MongoDB that depend on their arguments
 *		only.
 *
 * Knows only operators that core/ uses, and fails where the server would.
 */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "value.h"

static inline Value *
boolean(bool b)
{
	return value_number(b, BSON_TYPE_BOOL);
}

static inline Value *
op_and(Value **args, int n)
{
	for (int i = 0; i < n; i++)
		if (!value_is_true(args[i]))
			return boolean(false);
	return boolean(true);
}

static inline Value *
op_or(Value **args, int n)
{
	for (int i = 0; i < n; i++)
		if (value_is_true(args[i]))
			return boolean(true);
	return boolean(false);
}

static inline Value *
op_eq(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) == 0);
}

static inline Value *
op_ne(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) != 0);
}

static inline Value *
op_gt(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) > 0);
}

static inline Value *
op_gte(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) >= 0);
}

static inline Value *
op_lt(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) < 0);
}

static inline Value *
op_lte(Value **args, int n)
{
	return boolean(value_compare(args[0], args[1]) <= 0);
}

static inline Value *
op_not(Value **args, int n)
{
	return boolean(!value_is_true(args[0]));
}

static inline Value *
op_in(Value **args, int n)
{
	if (args[1]->type != BSON_TYPE_ARRAY)
		value_fail("$in of what is no array");
	for (int i = 0; i < args[1]->n; i++)
		if (value_compare(args[0], args[1]->items[i]) == 0)
			return boolean(true);
	return boolean(false);
}

static inline Value *
op_type(Value **args, int n)
{
	switch (args[0]->type)
	{
		case BSON_TYPE_EOD:
			return value_text("missing");
		case BSON_TYPE_NULL:
			return value_text("null");
		case BSON_TYPE_INT32:
			return value_text("int");
		case BSON_TYPE_INT64:
			return value_text("long");
		case BSON_TYPE_DOUBLE:
			return value_text("double");
		case BSON_TYPE_UTF8:
			return value_text("string");
		case BSON_TYPE_DATE_TIME:
			return value_text("date");
		case BSON_TYPE_OID:
			return value_text("objectId");
		case BSON_TYPE_DOCUMENT:
			return value_text("object");
		case BSON_TYPE_ARRAY:
			return value_text("array");
		default:
			return value_text("other");
	}
}

static inline Value *
op_if_null(Value **args, int n)
{
	return value_is_present(args[0]) ? args[0] : args[n - 1];
}

static inline Value *
op_add(Value **args, int n)
{
	Value *sum = value_number(0, BSON_TYPE_INT32);

	for (int i = 0; i < n; i++)
	{
		if (!value_is_present(args[i]))
			return value_new(BSON_TYPE_NULL);
		if (!value_is_number(args[i]))
			value_fail("$add of what is no number");
		sum->number += args[i]->number;
		if (args[i]->type == BSON_TYPE_DOUBLE)
			sum->type = BSON_TYPE_DOUBLE;
	}
	return sum;
}

/* Return a number computed from others, or null if one of these is. */
static inline Value *
arithmetic(Value **args, int n,
		   long double (*compute)(long double a, long double b))
{
	Value *result = value_number(0, BSON_TYPE_INT64);

	for (int i = 0; i < n; i++)
	{
		if (!value_is_present(args[i]))
			return value_new(BSON_TYPE_NULL);
		if (!value_is_number(args[i]))
			value_fail("arithmetic with what is no number");
		result->number = i == 0 ? args[i]->number
								: compute(result->number, args[i]->number);
		if (args[i]->type == BSON_TYPE_DOUBLE)
			result->type = BSON_TYPE_DOUBLE;
	}
	return result;
}

static inline long double
difference(long double a, long double b)
{
	return a - b;
}

static inline long double
product(long double a, long double b)
{
	return a * b;
}

static inline Value *
op_subtract(Value **args, int n)
{
	return arithmetic(args, n, difference);
}

static inline Value *
op_multiply(Value **args, int n)
{
	return arithmetic(args, n, product);
}

static inline Value *
op_abs(Value **args, int n)
{
	Value *result = arithmetic(args, n, difference);

	result->number = fabsl(result->number);
	return result;
}

static inline Value *
op_to_long(Value **args, int n)
{
	if (args[0]->type != BSON_TYPE_DATE_TIME)
		value_fail("$toLong of what is no date");
	return value_number(args[0]->number, BSON_TYPE_INT64);
}

static inline Value *
op_to_date(Value **args, int n)
{
	if (!value_is_present(args[0]))
		return value_new(BSON_TYPE_NULL);
	if (args[0]->type != BSON_TYPE_OID && args[0]->type != BSON_TYPE_DOUBLE &&
		args[0]->type != BSON_TYPE_INT64)
		value_fail("$toDate of what is no time");
	return value_number(args[0]->number, BSON_TYPE_DATE_TIME);
}

/* Return the arguments of an accumulator.  A single array is expanded. */
static inline void
accumulated(Value ***args, int *n)
{
	if (*n == 1 && (*args)[0]->type == BSON_TYPE_ARRAY)
	{
		*n = (*args)[0]->n;
		*args = (*args)[0]->items;
	}
}

static inline Value *
op_sum(Value **args, int n)
{
	Value *sum = value_number(0, BSON_TYPE_INT32);

	accumulated(&args, &n);
	for (int i = 0; i < n; i++)
		if (value_is_number(args[i]))
		{
			sum->number += args[i]->number;
			if (args[i]->type == BSON_TYPE_DOUBLE)
				sum->type = BSON_TYPE_DOUBLE;
		}
	return sum;
}

static inline Value *
extreme(Value **args, int n, int sign)
{
	Value *found = value_new(BSON_TYPE_NULL);

	accumulated(&args, &n);
	for (int i = 0; i < n; i++)
		if (value_is_present(args[i]) &&
			(!value_is_present(found) ||
			 sign * value_compare(args[i], found) > 0))
			found = args[i];
	return found;
}

static inline Value *
op_min(Value **args, int n)
{
	return extreme(args, n, -1);
}

static inline Value *
op_max(Value **args, int n)
{
	return extreme(args, n, 1);
}

static inline Value *
op_is_array(Value **args, int n)
{
	return boolean(args[0]->type == BSON_TYPE_ARRAY);
}

static inline Value *
op_size(Value **args, int n)
{
	if (n != 1 || args[0]->type != BSON_TYPE_ARRAY)
		value_fail("$size of what is no array");
	return value_number(args[0]->n, BSON_TYPE_INT32);
}

static inline Value *
op_range(Value **args, int n)
{
	Value *array = value_new(BSON_TYPE_ARRAY);

	if (!value_is_number(args[0]) || !value_is_number(args[1]))
		value_fail("$range of what is no number");
	for (int64_t i = (int64_t) args[0]->number; i < args[1]->number; i++)
		value_add(array, NULL, value_number(i, BSON_TYPE_INT32));
	return array;
}

static inline Value *
op_concat_arrays(Value **args, int n)
{
	Value *array = value_new(BSON_TYPE_ARRAY);

	for (int i = 0; i < n; i++)
	{
		if (!value_is_present(args[i]))
			return value_new(BSON_TYPE_NULL);
		if (args[i]->type != BSON_TYPE_ARRAY)
			value_fail("$concatArrays of what is no array");
		for (int j = 0; j < args[i]->n; j++)
			value_add(array, NULL, args[i]->items[j]);
	}
	return array;
}

static inline Value *
op_elem_at(Value **args, int n)
{
	if (!value_is_present(args[0]) || !value_is_present(args[1]))
		return value_new(BSON_TYPE_NULL);
	if (args[0]->type != BSON_TYPE_ARRAY || args[1]->number < 0)
		value_fail("$arrayElemAt of what is no array");
	return args[1]->number < args[0]->n ? args[0]->items[(int) args[1]->number]
										: value_new(BSON_TYPE_EOD);
}

/* {$slice: [array, from, n]} */
static inline Value *
op_slice(Value **args, int n)
{
	Value *array = value_new(BSON_TYPE_ARRAY);

	if (!value_is_present(args[0]))
		return value_new(BSON_TYPE_NULL);
	if (n != 3 || args[0]->type != BSON_TYPE_ARRAY || args[1]->number < 0 ||
		args[2]->number <= 0 || args[2]->number > INT32_MAX)
		value_fail("$slice of what is no array, or of no elements");
	for (int64_t i = (int64_t) args[1]->number;
		 i < args[0]->n && i < args[1]->number + args[2]->number; i++)
		value_add(array, NULL, args[0]->items[i]);
	return array;
}

static inline Value *
op_set_union(Value **args, int n)
{
	Value *set = value_new(BSON_TYPE_ARRAY);

	for (int i = 0; i < n; i++)
	{
		if (args[i]->type != BSON_TYPE_ARRAY)
			value_fail("$setUnion of what is no array");
		for (int j = 0; j < args[i]->n; j++)
			if (!op_in((Value *[]){args[i]->items[j], set}, 2)->number)
				value_add(set, NULL, args[i]->items[j]);
	}
	return set;
}

static inline Value *
op_merge_objects(Value **args, int n)
{
	Value *doc = value_new(BSON_TYPE_DOCUMENT);

	for (int i = 0; i < n; i++)
	{
		if (value_is_present(args[i]) && args[i]->type != BSON_TYPE_DOCUMENT)
			value_fail("$mergeObjects of what is no document");
		for (int j = 0; j < args[i]->n; j++)
			value_set(doc, args[i]->keys[j], args[i]->items[j]);
	}
	return doc;
}

static inline Value *
op_object_to_array(Value **args, int n)
{
	Value *array = value_new(BSON_TYPE_ARRAY);

	if (args[0]->type != BSON_TYPE_DOCUMENT)
		value_fail("$objectToArray of what is no document");
	for (int i = 0; i < args[0]->n; i++)
	{
		Value *entry = value_new(BSON_TYPE_DOCUMENT);

		value_add(entry, "k", value_text(args[0]->keys[i]));
		value_add(entry, "v", args[0]->items[i]);
		value_add(array, NULL, entry);
	}
	return array;
}

static inline Value *
op_to_string(Value **args, int n)
{
	char text[32];

	if (args[0]->type != BSON_TYPE_INT32)
		value_fail("$toString of what is no int");
	snprintf(text, sizeof(text), "%d", (int) args[0]->number);
	return value_text(text);
}

static inline Value *
op_concat(Value **args, int n)
{
	char text[256] = "";

	for (int i = 0; i < n; i++)
	{
		if (args[i]->type != BSON_TYPE_UTF8)
			value_fail("$concat of what is no text");
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
				 args[i]->text);
	}
	return value_text(text);
}

typedef struct Operator
{
	const char *name;
	Value *(*compute)(Value **args, int n);
} Operator;

static const Operator operators[] = {
	{"$and", op_and},
	{"$or", op_or},
	{"$eq", op_eq},
	{"$ne", op_ne},
	{"$gt", op_gt},
	{"$gte", op_gte},
	{"$lt", op_lt},
	{"$lte", op_lte},
	{"$not", op_not},
	{"$in", op_in},
	{"$type", op_type},
	{"$ifNull", op_if_null},
	{"$add", op_add},
	{"$subtract", op_subtract},
	{"$multiply", op_multiply},
	{"$abs", op_abs},
	{"$toLong", op_to_long},
	{"$toDate", op_to_date},
	{"$sum", op_sum},
	{"$min", op_min},
	{"$max", op_max},
	{"$isArray", op_is_array},
	{"$size", op_size},
	{"$range", op_range},
	{"$concatArrays", op_concat_arrays},
	{"$arrayElemAt", op_elem_at},
	{"$slice", op_slice},
	{"$setUnion", op_set_union},
	{"$mergeObjects", op_merge_objects},
	{"$objectToArray", op_object_to_array},
	{"$toString", op_to_string},
	{"$concat", op_concat},
};

#endif /* OPERATORS_H */
