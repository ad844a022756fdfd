/*
 * scan.h
 *		Read the points of a table as rows.
 */
#ifndef MTS_SCAN_H
#define MTS_SCAN_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "scan/bucket.h"
#include "scan/horizon.h"
#include "scan/parallel.h"
#include "scan/query.h"
#include "scan/source.h"

typedef struct MtsScan
{
	const MtsTable *table;
	MtsQuerySpec spec;
	ExprContext *econtext; /* of the conditions, and of the rows */
	MtsCounters *counters;
	bool is_generic; /* this is EXPLAIN (GENERIC_PLAN) */

	MemoryContext query_context;
	MtsQuery *query; /* NULL until it is made */
	MtsBucketSource *source;
	MtsBucket *bucket;
	bool in_bucket;      /* the bucket may have more rows */
	bool warns_of_typos; /* at its end */
	bool reads_a_part;   /* of the documents: roll-ups answer for others */
	MtsHorizon horizon;  /* whether it warns of removed points */
	bson_t *shares;      /* of the processes of a parallel scan; or NULL */
	MtsPart only;        /* the only part that is read, if one is set */
	List *named;         /* of MtsCollection: those that were set by name */
	MtsCounters counters_before; /* this execution began */
} MtsScan;

extern MtsScan *mts_scan_new(const MtsTable *table, Oid userid, List *attnums,
							 ExprContext *econtext);
extern MtsScan *mts_scan_beside(const MtsScan *scan);
extern MtsScan *mts_scan_for_plan(ForeignScanState *node,
								  const MtsTable *table, Oid userid,
								  List *attnums, Index varno, List *clauses,
								  ExprContext *econtext);
extern MtsScan *mts_scan_of_plan(ForeignScanState *node, Relation relation,
								 Index varno, List *clauses,
								 ExprContext *econtext);
extern MtsScan *mts_scan_of_node(ForeignScanState *node);
extern void mts_scan_set_collection(MtsScan *scan, const char *name);
extern void mts_scan_set_filter(MtsScan *scan, const bson_t *filter);
extern void mts_scan_set_ids(MtsScan *scan, const MtsQuery *query,
							 const MtsCollection *collection,
							 const bson_t *ids);
extern Size mts_scan_divide(MtsScan *scan, int nprocesses);
extern void mts_scan_prepare(MtsScan *scan);
extern void mts_scan_reset(MtsScan *scan);
extern void mts_scan_restart(MtsScan *scan);
extern void mts_scan_end(MtsScan *scan);
extern void mts_scan_check_types(MtsScan *scan, TupleTableSlot *slot);
extern MtsBucket *mts_scan_next_bucket(MtsScan *scan);
extern bool mts_scan_next(MtsScan *scan, TupleTableSlot *slot);

#endif /* MTS_SCAN_H */
