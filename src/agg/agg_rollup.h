/*
 * agg_rollup.h
 *		The rows of a roll-up, as the totals of points.
 */
#ifndef MTS_AGG_ROLLUP_H
#define MTS_AGG_ROLLUP_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "utils/hsearch.h"

#include "agg/agg_totals.h"
#include "pushdown/stretch.h"
#include "scan/scan.h"
#include "table/rollup.h"

/* The scan of a roll-up, which answers an aggregation of points in part */
typedef struct MtsRollupScan
{
	const MtsAggSpec *spec; /* of the aggregation */
	const MtsRollup *rollup;
	MtsScan *scan;
	TupleTableSlot *slot;  /* the roll-up's row */
	MtsRequired *required; /* by aggregate */
	int *totals_of;        /* bits of MtsTotal, by column of the points */
	bool *has_warned;      /* that rows lack totals, by such a column */
	ExprState *filter;     /* conditions that the scan may not decide */
	bool has_bucket_keys;  /* the rows of a bucket have the same keys */
	MtsStretch *stretch;   /* of the keys with steps; NULL without these */
	const MtsFromBson *time_converter; /* of the points; or NULL */
	MtsTotals totals;                  /* of the last row */
	bool is_next_in_bucket;            /* that follows another one of it */

	/* an execution */
	MemoryContext memory; /* of all that follows */
	bool has_state;       /* the next field is known */
	MtsRollupState state;
	bool is_at_moment;  /* reads see one, so a refresh changes nothing */
	MtsTime *since;     /* the first interval whose rows have the totals, by
						 * column of the points */
	MtsRanges wanted;   /* the times that the points' query wants */
	MtsRanges complete; /* of these, whole intervals with all their points */
	HTAB *intervals;    /* that have been looked at, by their starts */
	struct MtsInterval *interval; /* the last one; or NULL */
	int64 nbuckets;               /* of the scan before the last row */
} MtsRollupScan;

extern const char *mts_agg_rollup_problem(const MtsTable *points,
										  const MtsRollup *rollup, Index varno,
										  List *clauses, List *output,
										  Node **of);
extern MtsRollupScan *mts_agg_rollup_open(ForeignScanState *node, Oid relid,
										  const MtsAggSpec *spec,
										  const MtsScan *points, List *private,
										  TupleDesc desc);
extern void mts_agg_rollup_begin(MtsRollupScan *rollup,
								 const MtsRanges *wanted, bool may_fail);
extern bool mts_agg_rollup_next(MtsRollupScan *rollup, TupleTableSlot *row);
extern bool mts_agg_rollup_has_changed(MtsRollupScan *rollup);
extern void mts_agg_rollup_open_times(const MtsRollupScan *rollup,
									  MtsRanges *open);
extern void mts_agg_rollup_reset(MtsRollupScan *rollup);

#endif /* MTS_AGG_ROLLUP_H */
