/*
 * first_buckets.h
 *		The first buckets of many series, asked for at once.
 */
#ifndef MTS_FIRST_BUCKETS_H
#define MTS_FIRST_BUCKETS_H

#include "postgres.h"

#include "scan/source.h"

/* The first buckets of the series that have values of one key */
typedef struct MtsFirstBuckets MtsFirstBuckets;

extern void mts_first_buckets_read_key(const MtsBucketSource *source,
									   const char *field, const bson_t *bucket,
									   bson_t *value);
extern MtsFind mts_first_buckets_find(const MtsQuery *query,
									  const bson_t *terms);
extern MtsFirstBuckets *mts_first_buckets_begin(MtsBucketSource *source,
												const bson_t *terms);
extern bool mts_first_buckets_next(MtsFirstBuckets *buckets, bson_t *value,
								   const MtsFirstBucket **first);

#endif /* MTS_FIRST_BUCKETS_H */
