/*
 * fdw_scan.h
 *		The callbacks of a scan's node.
 */
#ifndef MTS_FDW_SCAN_H
#define MTS_FDW_SCAN_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "agg/agg.h"
#include "scan/merge.h"
#include "scan/scan.h"

/* The state of a node, which is its fdw_state unless it modifies directly */
typedef struct MtsScanNode
{
	MtsScan *scan;
	MtsMerge *merge; /* makes the order of its rows, or NULL */
	MtsAgg *agg;     /* aggregates its points, or NULL */
} MtsScanNode;

extern void mtsBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *mtsIterateForeignScan(ForeignScanState *node);
extern void mtsReScanForeignScan(ForeignScanState *node);
extern void mtsEndForeignScan(ForeignScanState *node);

#endif /* MTS_FDW_SCAN_H */
