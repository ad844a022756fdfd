/*
 * arrays.h
 *		The expression of an array whose points change.
 */
#ifndef MTS_ARRAYS_H
#define MTS_ARRAYS_H

#include "core/update/change.h"

extern int64_t mts_arrays_empty_length(const MtsLayout *layout, MtsTime start,
									   int level);
extern void mts_arrays_expression(const MtsBucketChange *bucket, int container,
								  int level, const char *source,
								  bson_t *parent, const char *key);

#endif /* MTS_ARRAYS_H */
