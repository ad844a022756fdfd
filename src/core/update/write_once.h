/*
 * write_once.h
 *		The conditions under which operators store points as a pipeline does.
 */
#ifndef MTS_WRITE_ONCE_H
#define MTS_WRITE_ONCE_H

#include "core/update/change.h"

extern bool mts_write_once_suits(const MtsLayout *layout);
extern bool mts_write_once_may_repeat(const MtsLayout *layout);
extern bool mts_write_once_is_possible(const MtsBucketChange *bucket);
extern void mts_write_once_require(const MtsBucketChange *bucket,
								   bool may_fail, bson_t *selector);

#endif /* MTS_WRITE_ONCE_H */
