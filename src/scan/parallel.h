/*
 * parallel.h
 *		The parts of a query's buckets that workers read.
 */
#ifndef MTS_PARALLEL_H
#define MTS_PARALLEL_H

#include "postgres.h"
#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "scan/scan.h"

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

#endif /* MTS_PARALLEL_H */
