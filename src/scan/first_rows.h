/*
 * first_rows.h
 *		The first row of each series, found by reading all buckets.
 */
#ifndef MTS_FIRST_ROWS_H
#define MTS_FIRST_ROWS_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "scan/scan.h"

typedef struct MtsFirstRows MtsFirstRows;

extern MtsFirstRows *mts_first_rows_new(MtsScan *scan, ForeignScanState *node);
extern bool mts_first_rows_next(MtsFirstRows *rows, TupleTableSlot *slot);
extern void mts_first_rows_reset(MtsFirstRows *rows);

#endif /* MTS_FIRST_ROWS_H */
