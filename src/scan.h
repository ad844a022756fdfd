/*
 * scan.h
 *		Read the buckets of a plan and give their points as rows.
 */
#ifndef MTS_SCAN_H
#define MTS_SCAN_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "collections.h"
#include "convert.h"
#include "core/unfold.h"
#include "core/filter.h"
#include "remote.h"
#include "target.h"

/* What EXPLAIN ANALYZE shows: integers, which parallel scans add up */
typedef struct MtsCounters
{
	int64 buckets;
	int64 points;  /* in the time range, before other conditions */
	int64 skipped; /* invalid points and buckets */
	int64 bytes;   /* of BSON received */
	int64 round_trips;

	/* of a scan that folds */
	int64 removed;  /* points that local conditions left out */
	int64 answered; /* buckets that pre-aggregates stood for */
} MtsCounters;

/* The buckets that have come of a query that is asked bit by bit; fetch.h */
typedef struct MtsWindow
{
	int limit;          /* so many are asked for; 0: all that are left */
	int n;              /* so many of these have come */
	int series;         /* the column of the order that they are sorted by */
	const bson_t *last; /* of the window before; NULL: this is the first */
	bson_t *ids;        /* array of the _ids of all that have come */
	uint32 nids;
} MtsWindow;

typedef struct MtsScan
{
	MtsTable *table;
	Oid userid;
	const MtsCollection *collection; /* that is read */
	struct MtsRolling *rolling;      /* goes through those of a set, or NULL */
	List *tests;                     /* MtsTest: the clauses that went down */
	bool *needed;                    /* by column */
	int *filled;                     /* the needed attributes, from 0 */
	int nfilled;
	MtsConverter **converters; /* by column; NULL where it isn't needed */
	List *order;            /* see order.h; NIL: rows come as the buckets do */
	struct MtsMerge *merge; /* makes the order, or NULL */
	int first_batch;        /* buckets to ask for at first; 0: fetch_size */
	const MtsField **headers; /* what is first read of buckets, in place of
								 * what holds their points; or NULL */
	int nheaders;
	MtsTargets *targets; /* numbers the rows, where they are to be
								 * changed; else NULL */
	bool on_primary;     /* do writes depend on what is read? */

	/* the query, made when the scan first needs it */
	MemoryContext query_context;
	bool is_ready;
	bool is_generic;  /* an EXPLAIN without parameters? */
	bool is_possible; /* can anything match? */
	bool is_narrow;   /* does it project single slots? */
	bool is_headers;  /* does it project scan->headers? */
	MtsCond *cond;
	bson_t *filter;
	bson_t *part; /* the filter of the part that is read; NULL: it is all */
	MemoryContext part_context; /* of it and its cursor */
	bson_t *projection;
	bson_t *sort;
	MtsRanges ranges; /* by which points are trimmed */
	MtsConnection *connection;
	MtsCursorState *cursor;
	MtsWindow window;
	bson_t *split;                /* for workers; see split.h */
	struct MtsParallel *parallel; /* NULL: this process reads all */
	uint32 part_number;           /* of the part that is read */
	int nparts;                   /* so many this process has taken */
	bool is_again;                /* is the same part to be read again? */

	/* the current bucket */
	MemoryContext bucket_context;
	bool in_bucket;
	const bson_t *bucket;
	Datum *values; /* of the bucket's columns, by column */
	bool *nulls;
	MtsUnfold unfold;
	MtsPoint point;
	MtsColumn const *converting; /* for the context of errors */
	bool has_point;
	struct MtsRowDoubles *doubles; /* its points, if they are doubles and no
									* more; NULL: never */

	bool has_warned;
	int64 skipped_before; /* counters.skipped when the bucket came */
	MtsCounters counters;
} MtsScan;

extern MtsScan *mts_scan_new(MtsTable *table, Oid userid, List *attnums);
extern void mts_scan_set_collection(MtsScan *scan, const char *name);
extern void mts_scan_set_filter(MtsScan *scan, const bson_t *filter);
extern void mts_scan_set_part(MtsScan *scan, const bson_t *terms);
extern void mts_scan_reset(MtsScan *scan);
extern MtsScan *mts_scan_of_node(ForeignScanState *node);
extern MtsScan *mts_scan_of_plan(ForeignScanState *node, Relation relation,
								 Index varno, List *clauses);
extern bool mts_scan_time_datum(MtsScan *scan, MtsTime t, Datum *datum);
extern void mts_scan_prepare(MtsScan *scan, ExprContext *econtext);
extern bool mts_scan_next(MtsScan *scan, ExprContext *econtext,
						  TupleTableSlot *slot);
extern bool mts_scan_next_in_bucket(MtsScan *scan, ExprContext *econtext,
									TupleTableSlot *slot);
extern bool mts_scan_next_bucket(MtsScan *scan, ExprContext *econtext);

/* The collection that is read, if it is one of a rolling set; else NULL */
static inline const char *
mts_scan_of_set(const MtsScan *scan)
{
	return scan->table->set ? scan->collection->name : NULL;
}

extern MtsScan *mts_scan_of_state(const ForeignScanState *node);
extern void mtsBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *mtsIterateForeignScan(ForeignScanState *node);
extern void mtsReScanForeignScan(ForeignScanState *node);
extern void mtsEndForeignScan(ForeignScanState *node);

#endif /* MTS_SCAN_H */
