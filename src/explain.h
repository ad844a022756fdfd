/*
 * explain.h
 *		Show the query of a scan, and what the scan has cost.
 */
#ifndef MTS_EXPLAIN_H
#define MTS_EXPLAIN_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "scan/scan.h"

extern char *mts_explain_collection(const char *name);
extern bool mts_explain_is_known(const ForeignScanState *node, MtsScan *scan);
extern const char *mts_explain_first_collection(const MtsScan *scan);
extern char *mts_explain_expression(const MtsTable *table, const Node *expr,
									bool is_verbose);
extern void mts_explain_query(const MtsScan *scan, const char *label,
							  ExplainState *es);
extern void mts_explain_scan(MtsScan *scan, ExplainState *es);

extern void mtsExplainForeignScan(ForeignScanState *node, ExplainState *es);

#endif /* MTS_EXPLAIN_H */
