/*
 * rollup_mark.h
 *		Mark as stale what writes change of roll-ups.
 */
#ifndef MTS_ROLLUP_MARK_H
#define MTS_ROLLUP_MARK_H

#include "postgres.h"

#include "core/time/range.h"
#include "driver/bulk.h"
#include "table/rollup.h"

/* The changed times of a table that has roll-ups */
typedef struct MtsRollupMarks MtsRollupMarks;

extern Oid mts_rollup_mark_exempt(Oid relid);
extern MtsRollupMarks *mts_rollup_mark_begin(const MtsTable *table,
											 Oid userid);
extern void mts_rollup_mark_add(MtsRollupMarks *marks, MtsTime first,
								MtsTime last);
extern void mts_rollup_mark_send(MtsRollupMarks *marks);
extern void mts_rollup_mark_late(const MtsRollup *rollup, Oid userid,
								 const MtsRanges *late);
extern MtsBulk mts_rollup_mark_bulk(const MtsRollup *rollup, Oid userid);

#endif /* MTS_ROLLUP_MARK_H */
