/*
 * explain.h
 *		Show a scan's query, and what it cost.
 */
#ifndef MTS_EXPLAIN_H
#define MTS_EXPLAIN_H

#include "postgres.h"
#include "commands/explain.h"
#include "nodes/execnodes.h"

extern void mtsExplainForeignScan(ForeignScanState *node, ExplainState *es);

#endif /* MTS_EXPLAIN_H */
