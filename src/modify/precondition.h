/*
 * precondition.h
 *		Terms of a selector that match a bucket only as it was read.
 */
#ifndef MTS_PRECONDITION_H
#define MTS_PRECONDITION_H

#include "core/update/change.h"
#include "modify/bucket_reader.h"

extern void mts_precondition_point(const MtsBucketReader *reader,
								   const MtsChange *change, bson_t *selector);
extern void mts_precondition_free(const MtsLayout *layout,
								  const MtsChange *change, bson_t *selector);
extern void mts_precondition_bucket(const MtsLayout *layout,
									const bson_t *bucket, bson_t *selector);

#endif /* MTS_PRECONDITION_H */
