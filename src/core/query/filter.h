/*
 * filter.h
 *		Which filter fetches at least these points?
 */
#ifndef MTS_FILTER_H
#define MTS_FILTER_H

#include "core/layout/layout.h"

typedef enum MtsCondKind
{
	MTS_COND_TRUE,
	MTS_COND_FALSE,
	MTS_COND_AND,
	MTS_COND_OR,
	MTS_COND_FIELD, /* operators on a bucket's field */
	MTS_COND_TIMES, /* a bucket's field that holds a time */
	MTS_COND_POINTS /* the time of the points */
} MtsCondKind;

/* A condition on buckets; a tree of the caller's */
typedef struct MtsCond
{
	MtsCondKind kind;
	int nargs; /* of AND and OR */
	struct MtsCond **args;
	const MtsColumn *column; /* of FIELD and TIMES */
	const bson_t *ops;       /* of FIELD: {"$gte": value, ..} */
	MtsRanges ranges;        /* of TIMES and POINTS */
} MtsCond;

extern bool mts_filter_build(const MtsLayout *layout, const MtsCond *cond,
							 const bson_t *table_filter, bson_t *filter);
extern void mts_filter_add_not(bson_t *terms, const char *field,
							   const char *op, bson_iter_t *value);
extern void mts_filter_join(const bson_t *terms, bson_t *doc);

#endif /* MTS_FILTER_H */
