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
extern void mts_new_bucket_preallocate(const MtsBucketChange *bucket,
									   const char **texts, bson_t *update);

#endif /* MTS_NEW_BUCKET_H */
