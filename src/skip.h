/*
 * skip.h
 *		Go from series to series, without reading what lies between.
 */
#ifndef MTS_SKIP_H
#define MTS_SKIP_H

#include "postgres.h"

#include "source.h"

typedef struct MtsSkip MtsSkip;

extern MtsSkip *mts_skip_new(MtsBucketSource *source,
							 const MtsSortOrder *order);
extern bool mts_skip_next(MtsSkip *skip);
extern void mts_skip_reset(MtsSkip *skip);

#endif /* MTS_SKIP_H */
