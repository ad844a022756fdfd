/*
 * expression.h
 *		Build the expressions of an aggregation pipeline.
 */
#ifndef MTS_EXPRESSION_H
#define MTS_EXPRESSION_H

#include "core/bson.h"

/* Begin a document, or an array, that is an operator's only argument */
typedef struct MtsOperator
{
	bson_t outer; /* {op: ..} */
	bson_t inner;
} MtsOperator;

extern void mts_op_begin(bson_t *parent, const char *key, const char *op,
						 MtsOperator *operator);
extern void mts_op_end(bson_t *parent, MtsOperator *operator);
extern void mts_list_begin(bson_t *parent, const char *key, const char *op,
						   MtsOperator *operator);
extern void mts_list_end(bson_t *parent, MtsOperator *operator);
extern void mts_append_text(bson_t *parent, const char *key, const char *text);
extern void mts_append_literal(bson_t *parent, const char *key,
							   const bson_value_t *value);
extern void mts_append_empty(bson_t *parent, const char *key);
extern void mts_append_default(bson_t *parent, const char *key,
							   const char *source, bool is_array);
extern const char *mts_next_key(const bson_t *array, char *key);

#endif /* MTS_EXPRESSION_H */
