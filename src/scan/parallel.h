/*
 * parallel.h
 *		Divide the buckets of a query into shares for the processes of a
 *		parallel scan.
 */
#ifndef MTS_PARALLEL_H
#define MTS_PARALLEL_H

#include "scan/source.h"

/* In shared memory: the shares of all processes */
typedef struct MtsShares MtsShares;

extern bson_t *mts_parallel_divide(MtsBucketSource *source, int nprocesses);
extern Size mts_parallel_size(const bson_t *shares);
extern void mts_parallel_share(MtsBucketSource *source, const bson_t *shares,
							   MtsShares *shared);
extern void mts_parallel_attach(MtsBucketSource *source, MtsShares *shared);
extern void mts_parallel_restart(MtsShares *shared);
extern void mts_parallel_detach(MtsBucketSource *source);

#endif /* MTS_PARALLEL_H */
