/*
 * arrays.h
 *		The expression of an array with points changed, or pushed to it.
 */
#ifndef MTS_ARRAYS_H
#define MTS_ARRAYS_H

#include "core/update/change.h"

extern void mts_arrays_expression(const MtsBucketChange *bucket, int container,
								  int level, const char *source,
								  const MtsChange *const *changes, int n,
								  bson_t *parent, const char *key);

#endif /* MTS_ARRAYS_H */
