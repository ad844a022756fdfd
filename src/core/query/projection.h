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
	MTS_PROJECT_SLOTS       /* those that are wanted, if possible */
} MtsProjectionScope;

/* The points that a projection fetches of a bucket */
typedef enum MtsProjected
{
	MTS_PROJECTED_ALL,
	MTS_PROJECTED_KEYS, /* those with the wanted keys, unless the container is
						 * missing: it may not be a subdocument */
	MTS_PROJECTED_TIMES /* those of the wanted times and keys, unless the
						 * container is missing or the bucket is not aligned */
} MtsProjected;

/* The wanted keys of {column} slots, by slot: an array of texts, each once; or
 * NULL for any */
typedef struct MtsSlotTexts
{
	const bson_t *keys[MTS_MAX_SLOTS];
} MtsSlotTexts;

extern MtsProjected
mts_projection_build(const MtsLayout *layout, const bool *needed,
					 const MtsRanges *ranges, const MtsSlotTexts *texts,
					 MtsProjectionScope scope, bson_t *projection);
extern bool mts_projection_headers(const MtsLayout *layout, const bool *needed,
								   const MtsRanges *ranges,
								   const MtsField *const *fields, int nfields,
								   bson_t *projection);

extern void mts_projection_add(bson_t *projection, const MtsField *field);

#endif /* MTS_PROJECTION_H */
