/*
 * batch.h
 *		All points of a bucket at once, as an array for each container.
 */
#ifndef MTS_BATCH_H
#define MTS_BATCH_H

#include "core/bucket/compressed.h"
#include "core/bucket/unfold.h"

/* The most points of a batch */
#define MTS_BATCH_ROOM 4096

typedef struct MtsBatch
{
	int n;           /* points, in the order in which they are stored */
	MtsTime *times;  /* of the points */
	MtsWords *words; /* by container: the values of the points; without room
					  * if the container is not wanted */
	int64_t *keys;   /* of the elements that are read */
} MtsBatch;

extern bool mts_batch_supported(const MtsLayout *layout);
extern bool mts_batch_has_column(const MtsLayout *layout,
								 const MtsColumn *column);
extern void mts_batch_init(MtsBatch *batch, const MtsLayout *layout,
						   const bool *wanted,
						   void *(*resize)(void *memory, size_t size));
extern void mts_batch_free(MtsBatch *batch, const MtsLayout *layout,
						   void (*release)(void *memory));
extern bool mts_batch_read(MtsBatch *batch, const MtsUnfold *unfold);

#endif /* MTS_BATCH_H */
