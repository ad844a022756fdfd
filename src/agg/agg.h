/*
 * agg.h
 *		Partial aggregation of buckets: a scan that returns a row for each
 *		group, with the transition values of its aggregates.
 */
#ifndef MTS_AGG_H
#define MTS_AGG_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "scan/scan.h"

typedef struct MtsAgg MtsAgg;

extern MtsAgg *mts_agg_begin(ForeignScanState *node, MtsScan **scan);
extern TupleTableSlot *mts_agg_next(MtsAgg *agg, TupleTableSlot *slot);
extern List *mts_agg_rollups(MtsAgg *agg, bool is_possible);
extern void mts_agg_reset(MtsAgg *agg);

#endif /* MTS_AGG_H */
