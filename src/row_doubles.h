/*
 * row_doubles.h
 *		Rows of buckets that hold doubles and no more.
 */
#ifndef MTS_ROW_DOUBLES_H
#define MTS_ROW_DOUBLES_H

#include "scan.h"

extern void mts_row_doubles_init(MtsScan *scan);
extern void mts_row_doubles_open(MtsScan *scan);
extern bool mts_row_doubles_has(const MtsScan *scan);
extern bool mts_row_doubles_next(MtsScan *scan, TupleTableSlot *slot);

#endif /* MTS_ROW_DOUBLES_H */
