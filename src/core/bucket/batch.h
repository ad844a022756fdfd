/*
 * batch.h
 *		All points of a bucket at once, as an array for each column.
 */
#ifndef MTS_BATCH_H
#define MTS_BATCH_H

#include "core/bucket/compressed.h"
#include "core/bucket/unfold.h"

/* The most points of a batch */
#define MTS_BATCH_ROOM 4096

typedef enum MtsBatchMethod
{
	MTS_BATCH_SLOTS,   /* values in slots that count units */
	MTS_BATCH_COLUMNS, /* values beside dates, in elements of containers */
	MTS_BATCH_POINTS   /* any points, which are unfolded */
} MtsBatchMethod;

typedef struct MtsBatch
{
	MtsBatchMethod method;
	int column;           /* the first wanted one, or another */
	int n;                /* points, in the order in which they are stored */
	MtsTime *times;       /* of the points */
	MtsWords *words;      /* by column: the values of the points; without room
						   * if the column is not wanted */
	int64_t *keys;        /* of the elements that are read */
	MtsElement *elements; /* of a point */
} MtsBatch;

extern void mts_batch_init(MtsBatch *batch, const MtsLayout *layout,
						   const bool *wanted,
						   void *(*resize)(void *memory, size_t size));
extern void mts_batch_free(MtsBatch *batch, const MtsLayout *layout,
						   void (*release)(void *memory));
extern bool mts_batch_read(MtsBatch *batch, MtsUnfold *unfold);

#endif /* MTS_BATCH_H */
