/*
 * skip_scan.h
 *		Read the buckets of one series after the other, in their order.
 */
#ifndef MTS_SKIP_SCAN_H
#define MTS_SKIP_SCAN_H

#include "postgres.h"

#include "scan/source.h"

typedef struct MtsSkipScan MtsSkipScan;

extern MtsSkipScan *mts_skip_scan_new(MtsBucketSource *source,
									  const MtsSortOrder *order);
extern bool mts_skip_scan_next(MtsSkipScan *skip);
extern void mts_skip_scan_reset(MtsSkipScan *skip);

#endif /* MTS_SKIP_SCAN_H */
