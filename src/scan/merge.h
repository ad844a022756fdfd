/*
 * merge.h
 *		Return the points of sorted buckets in order.
 */
#ifndef MTS_MERGE_H
#define MTS_MERGE_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "scan/scan.h"

typedef struct MtsMerge MtsMerge;

extern MtsMerge *mts_merge_new(MtsScan *scan, ForeignScanState *node);
extern bool mts_merge_next(MtsMerge *merge, TupleTableSlot *slot);
extern void mts_merge_reset(MtsMerge *merge);

#endif /* MTS_MERGE_H */
