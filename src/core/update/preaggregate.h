/*
 * preaggregate.h
 *		The stages that compute the pre-aggregates of a bucket.
 */
#ifndef MTS_PREAGGREGATE_H
#define MTS_PREAGGREGATE_H

#include "core/layout/layout.h"

extern bool mts_preaggregate_is_declared(const MtsLayout *layout);
extern void mts_preaggregate_stages(const MtsLayout *layout, bson_t *pipeline);

#endif /* MTS_PREAGGREGATE_H */
