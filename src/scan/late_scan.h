/*
 * late_scan.h
 *		Scans that begin after later commands of their transaction.
 */
#ifndef MTS_LATE_SCAN_H
#define MTS_LATE_SCAN_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "utils/portal.h"

#include "driver/cursor.h"
#include "driver/spool.h"

/* Returns the next row of a scan, or an empty slot at its end. */
typedef TupleTableSlot *(*MtsNextRow)(ForeignScanState *state);

typedef enum MtsLateState
{
	MTS_LATE_NOT,     /* the scan has begun, or nothing is expected */
	MTS_LATE_WAITING, /* it has not begun, and a write would have it read */
	MTS_LATE_FAILED,  /* a write has had it read, in vain */
	MTS_LATE_READ     /* its rows are in the spool */
} MtsLateState;

/* A scan that reads what PostgreSQL's transaction has written */
typedef struct MtsLateScan
{
	MtsLateReader reader;
	ForeignScanState *state; /* has the plan; borrowed */
	MtsNextRow next;
	Portal portal; /* that was active when the scan was made; or NULL */
	MtsLateState late;
	MtsSpool spool; /* the rows, with their ctids */
	int64 nrows;    /* of the spool */
	int64 nleft;    /* of these, not returned yet */
} MtsLateScan;

extern MtsLateScan *mts_late_scan_new(ForeignScanState *state, Oid serverid,
									  MtsNextRow next);
extern bool mts_late_scan_begin(MtsLateScan *scan);
extern void mts_late_scan_next(MtsLateScan *scan, TupleTableSlot *slot);
extern bool mts_late_scan_reset(MtsLateScan *scan);
extern void mts_late_scan_end(MtsLateScan *scan);

#endif /* MTS_LATE_SCAN_H */
