/*
 * update.h
 *		The update that stores, changes or removes points of a bucket.
 */
#ifndef MTS_UPDATE_H
#define MTS_UPDATE_H

#include "core/update/change.h"

extern bool mts_update_is_computed(const MtsLayout *layout);
extern bool mts_update_needs_pipeline(const MtsLayout *layout);
extern bool mts_update_must_agree(const MtsBucketChange *bucket,
								  const MtsFieldValue *attribute);
extern bool mts_update_is_pipeline(const MtsBucketChange *bucket);
extern void mts_update_plain(const MtsBucketChange *change, bson_t *update);
extern void mts_update_append_value(const MtsChange *change,
									const MtsColumn *column,
									const bson_value_t *value,
									const char *source, bson_t *parent,
									const char *key);
extern void mts_update_pipeline(const MtsBucketChange *change,
								bson_t *pipeline);

#endif /* MTS_UPDATE_H */
