/*
 * value.h
 *		Represents BSON values as trees, for the evaluation of expressions.
 *
 * Values are not freed one by one: value_reset() frees all of them.
 */
#ifndef VALUE_H
#define VALUE_H

#include <bson/bson.h>
#include <math.h>
#include <setjmp.h>

#include "tap.h"

#define VALUE_ARENA (64 << 20)

typedef struct Value
{
	bson_type_t type;   /* EOD if missing */
	long double number; /* of numbers, dates and booleans; of an ObjectId, the
						 * milliseconds of its time */
	const char *text;
	int n; /* of fields of a document or elements of an array */
	int room;
	struct Value **items;
	const char **keys; /* of a document */
} Value;

static char value_arena[VALUE_ARENA];
static size_t value_used;
static jmp_buf value_stop; /* the target of value_fail() */
static char value_why[256];

/* Abort the evaluation, where MongoDB would raise an error. */
static inline void __attribute__((format(printf, 1, 2), noreturn))
value_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(value_why, sizeof(value_why), format, args);
	va_end(args);
	longjmp(value_stop, 1);
}

static inline void *
value_alloc(size_t size)
{
	void *memory = value_arena + value_used;

	value_used += (size + 15) / 16 * 16;
	if (value_used > VALUE_ARENA)
		abort();
	memset(memory, 0, size);
	return memory;
}

static inline void
value_reset(void)
{
	value_used = 0;
}

static inline Value *
value_new(bson_type_t type)
{
	Value *value = value_alloc(sizeof(Value));

	value->type = type;
	return value;
}

static inline Value *
value_number(long double n, bson_type_t type)
{
	Value *value = value_new(type);

	value->number = n;
	return value;
}

static inline Value *
value_text(const char *text)
{
	Value *value = value_new(BSON_TYPE_UTF8);
	char *copy = value_alloc(strlen(text) + 1);

	strcpy(copy, text);
	value->text = copy;
	return value;
}

static inline void
value_add(Value *to, const char *key, Value *item)
{
	if (to->n == to->room)
	{
		Value **items = value_alloc((2 * to->room + 8) * sizeof(Value *));
		const char **keys = value_alloc((2 * to->room + 8) * sizeof(char *));

		for (int i = 0; i < to->n; i++)
		{
			items[i] = to->items[i];
			keys[i] = to->keys[i];
		}
		to->items = items;
		to->keys = keys;
		to->room = 2 * to->room + 8;
	}
	to->keys[to->n] = key;
	to->items[to->n++] = item;
}

/* Tell whether a value is present and not null. */
static inline bool
value_is_present(const Value *value)
{
	return value->type != BSON_TYPE_EOD && value->type != BSON_TYPE_NULL;
}

static inline bool
value_is_number(const Value *value)
{
	return value->type == BSON_TYPE_INT32 || value->type == BSON_TYPE_INT64 ||
		   value->type == BSON_TYPE_DOUBLE;
}

static inline bool
value_is_true(const Value *value)
{
	return value_is_present(value) &&
		   !((value_is_number(value) || value->type == BSON_TYPE_BOOL) &&
			 value->number == 0);
}

/* Return the index of a field in a document, or -1. */
static inline int
value_find(const Value *doc, const char *key)
{
	for (int i = 0; i < doc->n; i++)
		if (strcmp(doc->keys[i], key) == 0)
			return i;
	return -1;
}

/* Set a field, or remove it when the item is missing. */
static inline void
value_set(Value *doc, const char *key, Value *item)
{
	int i = value_find(doc, key);

	if (i < 0 && item->type != BSON_TYPE_EOD)
		value_add(doc, key, item);
	else if (i >= 0 && item->type != BSON_TYPE_EOD)
		doc->items[i] = item;
	else if (i >= 0)
		for (doc->n--; i < doc->n; i++)
		{
			doc->items[i] = doc->items[i + 1];
			doc->keys[i] = doc->keys[i + 1];
		}
}

/* Compare in MongoDB's order: by class, and NaN before all numbers. */
static inline int
value_compare(const Value *a, const Value *b)
{
	bool numbers = value_is_number(a) && value_is_number(b);

	if (numbers && (isnan(a->number) || isnan(b->number)))
		return isnan(b->number) - isnan(a->number);
	if (!numbers && a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->text && b->text)
		return strcmp(a->text, b->text);
	for (int i = 0; i < a->n && i < b->n; i++)
	{
		int order =
			a->type == BSON_TYPE_DOCUMENT ? strcmp(a->keys[i], b->keys[i]) : 0;

		order = order ? order : value_compare(a->items[i], b->items[i]);
		if (order != 0)
			return order;
	}
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static inline Value *
value_from_iter(const bson_iter_t *iter)
{
	Value *value = value_new(bson_iter_type(iter));
	bson_iter_t child;

	if (BSON_ITER_HOLDS_UTF8(iter))
		return value_text(bson_iter_utf8(iter, NULL));
	if (BSON_ITER_HOLDS_DOUBLE(iter))
		value->number = bson_iter_double(iter);
	else if (BSON_ITER_HOLDS_DATE_TIME(iter))
		value->number = bson_iter_date_time(iter);
	else if (BSON_ITER_HOLDS_OID(iter))
		value->number = 1000.0L * bson_oid_get_time_t(bson_iter_oid(iter));
	else if (!BSON_ITER_HOLDS_NULL(iter) && !bson_iter_recurse(iter, &child))
		value->number = bson_iter_as_int64(iter);
	if (BSON_ITER_HOLDS_DOCUMENT(iter) || BSON_ITER_HOLDS_ARRAY(iter))
		while (bson_iter_next(&child))
			value_add(value, value_text(bson_iter_key(&child))->text,
					  value_from_iter(&child));
	return value;
}

static inline Value *
value_from_bson(const bson_t *doc, bson_type_t type)
{
	Value *value = value_new(type);
	bson_iter_t iter;

	for (bson_iter_init(&iter, doc); bson_iter_next(&iter);)
		value_add(value, value_text(bson_iter_key(&iter))->text,
				  value_from_iter(&iter));
	return value;
}

/* Append the fields or elements of a value to a document or an array. */
static inline void
value_write(const Value *value, bson_t *doc)
{
	for (int i = 0; i < value->n; i++)
	{
		const Value *item = value->items[i];
		char digits[16];
		const char *key = value->keys[i];
		bson_t child = BSON_INITIALIZER;

		snprintf(digits, sizeof(digits), "%d", i);
		if (value->type == BSON_TYPE_ARRAY)
			key = digits;
		if (item->n > 0)
			value_write(item, &child);
		if (item->type == BSON_TYPE_DOCUMENT)
			bson_append_document(doc, key, -1, &child);
		else if (item->type == BSON_TYPE_ARRAY)
			bson_append_array(doc, key, -1, &child);
		else if (item->type == BSON_TYPE_UTF8)
			bson_append_utf8(doc, key, -1, item->text, -1);
		else if (item->type == BSON_TYPE_INT32)
			bson_append_int32(doc, key, -1, (int32_t) item->number);
		else if (item->type == BSON_TYPE_INT64)
			bson_append_int64(doc, key, -1, (int64_t) item->number);
		else if (item->type == BSON_TYPE_DOUBLE)
			bson_append_double(doc, key, -1, (double) item->number);
		else if (item->type == BSON_TYPE_DATE_TIME)
			bson_append_date_time(doc, key, -1, (int64_t) item->number);
		else if (item->type == BSON_TYPE_BOOL)
			bson_append_bool(doc, key, -1, item->number != 0);
		else
			bson_append_null(doc, key, -1);
		bson_destroy(&child);
	}
}

#endif /* VALUE_H */
