/*
 * late_scan.h
 *		Scans that begin after later commands of their transaction.
 */
#ifndef MTS_LATE_SCAN_H
#define MTS_LATE_SCAN_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "utils/portal.h"

#include "driver/xact_reader.h"
#include "table/table.h"

/* Returns the next row of a scan, or an empty slot at its end. */
typedef TupleTableSlot *(*MtsNextRow)(ForeignScanState *state);

/* A scan that reads what PostgreSQL's transaction has written */
typedef struct MtsLateScan
{
	MtsXactReader reader;    /* spools the ctid of each row, and the row */
	ForeignScanState *state; /* has the plan; borrowed */
	MtsNextRow next;
	Portal portal; /* that was active when the scan was made; or NULL */
} MtsLateScan;

extern MtsLateScan *mts_late_scan_new(ForeignScanState *state,
									  const MtsTable *table, MtsNextRow next);
extern void mts_late_scan_next(MtsLateScan *scan, TupleTableSlot *slot);
extern bool mts_late_scan_reset(MtsLateScan *scan);

#endif /* MTS_LATE_SCAN_H */
