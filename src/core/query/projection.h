/*
 * projection.h
 *		Which fields of the buckets must travel?
 */
#ifndef MTS_PROJECTION_H
#define MTS_PROJECTION_H

#include "core/layout/layout.h"

extern bool mts_projection_build(const MtsLayout *layout, const bool *needed,
								 const MtsRanges *ranges, bool narrow,
								 bson_t *projection);
extern bool mts_projection_headers(const MtsLayout *layout, const bool *needed,
								   const MtsRanges *ranges,
								   const MtsField *const *fields, int nfields,
								   bson_t *projection);

#endif /* MTS_PROJECTION_H */
