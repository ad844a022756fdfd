/*
 * projection.h
 *		Projections that fetch at least the fields that a query requires.
 */
#ifndef MTS_PROJECTION_H
#define MTS_PROJECTION_H

#include "core/layout/layout.h"

typedef enum MtsProjectionScope
{
	MTS_PROJECT_CONTAINERS, /* all points of a bucket */
	MTS_PROJECT_SLOTS       /* those that the ranges can touch, if possible */
} MtsProjectionScope;

extern bool mts_projection_build(const MtsLayout *layout, const bool *needed,
								 const MtsRanges *ranges,
								 MtsProjectionScope scope, bson_t *projection);
extern bool mts_projection_headers(const MtsLayout *layout, const bool *needed,
								   const MtsRanges *ranges,
								   const MtsField *const *fields, int nfields,
								   bson_t *projection);

extern void mts_projection_add(bson_t *projection, const MtsField *field);

#endif /* MTS_PROJECTION_H */
