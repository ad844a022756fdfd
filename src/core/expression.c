/*
 * expression.c
 *		Pieces of aggregation expressions, appended to libbson documents.
 */
#include "core/expression.h"

#include <stdio.h>

/*
 * mts_op_begin
 *		Begin {key: {op: {..}}}; the fields go into operator->inner.
 */
void
mts_op_begin(bson_t *parent, const char *key, const char *op,
			 MtsOperator *operator)
{
	bson_append_document_begin(parent, key, -1, &operator->outer);
	bson_append_document_begin(&operator->outer, op, -1, &operator->inner);
}

void
mts_op_end(bson_t *parent, MtsOperator *operator)
{
	bson_append_document_end(&operator->outer, &operator->inner);
	bson_append_document_end(parent, &operator->outer);
}

/*
 * mts_list_begin
 *		Begin {key: {op: [..]}}; the arguments go into operator->inner.
 */
void
mts_list_begin(bson_t *parent, const char *key, const char *op,
			   MtsOperator *operator)
{
	bson_append_document_begin(parent, key, -1, &operator->outer);
	bson_append_array_begin(&operator->outer, op, -1, &operator->inner);
}

void
mts_list_end(bson_t *parent, MtsOperator *operator)
{
	bson_append_array_end(&operator->outer, &operator->inner);
	bson_append_document_end(parent, &operator->outer);
}

void
mts_append_text(bson_t *parent, const char *key, const char *text)
{
	bson_append_utf8(parent, key, -1, text, -1);
}

/* {key: {$literal: value}}: a text in it is no field, a document no operator */
void
mts_append_literal(bson_t *parent, const char *key, const bson_value_t *value)
{
	bson_t literal;

	bson_append_document_begin(parent, key, -1, &literal);
	bson_append_value(&literal, "$literal", -1, value);
	bson_append_document_end(parent, &literal);
}

/* {key: {$literal: {}}} */
void
mts_append_empty(bson_t *parent, const char *key)
{
	MtsOperator literal;

	mts_op_begin(parent, key, "$literal", &literal);
	mts_op_end(parent, &literal);
}

/* {key: {$ifNull: [source, {} or []]}} */
void
mts_append_default(bson_t *parent, const char *key, const char *source,
				   bool is_array)
{
	MtsOperator if_null;
	bson_t empty;

	mts_list_begin(parent, key, "$ifNull", &if_null);
	mts_append_text(&if_null.inner, "0", source);
	if (is_array)
	{
		bson_append_array_begin(&if_null.inner, "1", -1, &empty);
		bson_append_array_end(&if_null.inner, &empty);
	}
	else
		mts_append_empty(&if_null.inner, "1");
	mts_list_end(parent, &if_null);
}

/*
 * mts_next_key
 *		The key of the next element of an array under construction.
 *
 * key has room for 12 bytes; counting takes a walk, so arrays that may be
 * long keep count themselves.
 */
const char *
mts_next_key(const bson_t *array, char *key)
{
	snprintf(key, 12, "%u", bson_count_keys(array));
	return key;
}
