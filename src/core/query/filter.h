/*
 * filter.h
 *		Filters that fetch at least the points of a condition.
 */
#ifndef MTS_FILTER_H
#define MTS_FILTER_H

#include "core/layout/layout.h"

/* The most ranges of a filter; the last one spans any others */
#define MTS_MAX_RANGES 64

typedef enum MtsFilterKind
{
	MTS_FILTER_TRUE,
	MTS_FILTER_FALSE,
	MTS_FILTER_AND,
	MTS_FILTER_OR,
	MTS_FILTER_FIELD,      /* operators on a field of the bucket */
	MTS_FILTER_BOUNDED,    /* a comparison of a value, whose bounds are fields
							* of the bucket */
	MTS_FILTER_SLOT,       /* the keys of a {column} slot */
	MTS_FILTER_TIME_FIELD, /* ranges of a field of the bucket */
	MTS_FILTER_TIME        /* ranges of the time of the points */
} MtsFilterKind;

/* A condition on points, as a tree; all of it is the caller's */
typedef struct MtsFilter
{
	MtsFilterKind kind;
	int nargs; /* of AND and OR */
	struct MtsFilter **args;
	const MtsColumn *column; /* of FIELD, BOUNDED, SLOT and TIME_FIELD */
	const bson_t *ops;       /* of FIELD: {"$gte": value, ..} */
	const bson_t *texts;     /* of SLOT: an array of the keys */
	const char *op;          /* of BOUNDED: "$lt", "$lte", "$eq", .. */
	const char *type;      /* of BOUNDED: what $type calls the bounds' type */
	bson_value_t low;      /* The column is compared with a value from low */
	bson_value_t high;     /* to high; if these differ, between them. */
	MtsRanges ranges;      /* of TIME_FIELD and TIME */
	const MtsPath *sorted; /* the field that MongoDB sorts by, which must have
							* the declared type; or NULL */
} MtsFilter;

extern bool mts_filter_build(const MtsLayout *layout, const MtsFilter *cond,
							 const bson_t *table_filter, bson_t *filter);
extern void mts_filter_add_not(bson_t *terms, const char *field,
							   const char *op, bson_iter_t *value);
extern void mts_filter_add_other_types(bson_t *terms, const char *field,
									   bson_type_t type, bool has_null);
extern void mts_filter_bounds(const MtsLayout *layout, const MtsColumn *column,
							  const char *type, bson_t *filter);
extern void mts_filter_join(const bson_t *terms, bson_t *doc);
extern bool mts_filter_distribute(const bson_t *filter, bson_t *doc);

#endif /* MTS_FILTER_H */
