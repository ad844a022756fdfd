/*
 * explain_rollup.h
 *		Show the roll-ups of the points that a scan aggregates.
 */
#ifndef MTS_EXPLAIN_ROLLUP_H
#define MTS_EXPLAIN_ROLLUP_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "compat.h"

extern void mts_explain_rollup_show(ForeignScanState *node, ExplainState *es);

#endif /* MTS_EXPLAIN_ROLLUP_H */
