/*
 * parallel.h
 *		Divide the buckets of a query into parts for the processes of a
 *		parallel scan.
 */
#ifndef MTS_PARALLEL_H
#define MTS_PARALLEL_H

#include "scan/source.h"

typedef struct MtsParallel MtsParallel;

extern Size mts_parallel_estimate(MtsBucketSource *source, int nprocesses);
extern void mts_parallel_share(MtsBucketSource *source, MtsParallel *shared);
extern void mts_parallel_attach(MtsBucketSource *source, MtsParallel *shared);
extern void mts_parallel_restart(MtsParallel *shared);
extern void mts_parallel_detach(MtsBucketSource *source);

#endif /* MTS_PARALLEL_H */
