/*
 * new_bucket.h
 *		The document of a bucket that does not exist yet.
 */
#ifndef MTS_NEW_BUCKET_H
#define MTS_NEW_BUCKET_H

#include "core/update/change.h"

extern bool mts_new_bucket_is_possible(const MtsLayout *layout);
extern bool mts_new_bucket_insert(const MtsBucketChange *bucket,
								  MtsFields identity, MtsFieldValue *fields,
								  bson_t *doc);
extern void mts_new_bucket_preallocate(const MtsLayout *layout, MtsTime start,
									   const char *const *texts,
									   void (*check)(void),
									   bson_value_t *values, bson_t *set);

#endif /* MTS_NEW_BUCKET_H */
