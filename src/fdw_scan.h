/*
 * fdw_scan.h
 *		The callbacks that run a scan.
 */
#ifndef MTS_FDW_SCAN_H
#define MTS_FDW_SCAN_H

#include "postgres.h"
#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "agg/agg.h"
#include "scan/first_rows.h"
#include "scan/late_scan.h"
#include "scan/merge.h"
#include "scan/scan.h"

/* The fdw_state of a ForeignScanState that does not modify directly */
typedef struct MtsScanNode
{
	MtsScan *scan;
	MtsMerge *merge;     /* puts its rows into order; NULL if unordered */
	bool checks_first;   /* reads the answer about other types before it
						  * returns a row */
	MtsFirstRows *first; /* keeps the first rows of series; or NULL */
	MtsAgg *agg;         /* aggregates its points; NULL for a scan of rows */
	MtsLateScan *late;   /* has its rows if the transaction wrote before it
						  * began; NULL if it does not read the transaction */
} MtsScanNode;

extern void mtsBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *mtsIterateForeignScan(ForeignScanState *node);
extern void mtsReScanForeignScan(ForeignScanState *node);
extern void mtsEndForeignScan(ForeignScanState *node);

extern bool mtsIsForeignPathAsyncCapable(ForeignPath *path);
extern void mtsForeignAsyncRequest(AsyncRequest *request);
extern void mtsForeignAsyncConfigureWait(AsyncRequest *request);

extern bool mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
										 RangeTblEntry *rte);
extern Size mtsEstimateDSMForeignScan(ForeignScanState *node,
									  ParallelContext *pcxt);
extern void mtsInitializeDSMForeignScan(ForeignScanState *node,
										ParallelContext *pcxt,
										void *coordinate);
extern void mtsReInitializeDSMForeignScan(ForeignScanState *node,
										  ParallelContext *pcxt,
										  void *coordinate);
extern void mtsInitializeWorkerForeignScan(ForeignScanState *node,
										   shm_toc *toc, void *coordinate);
extern void mtsShutdownForeignScan(ForeignScanState *node);

#endif /* MTS_FDW_SCAN_H */
