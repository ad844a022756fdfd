/*
 * writer.h
 *		Store rows as points: group them by bucket, send them in bulk.
 */
#ifndef MTS_WRITER_H
#define MTS_WRITER_H

#include "postgres.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/hsearch.h"

#include "driver/bulk.h"
#include "modify/row_target.h"

/* A column by which buckets are told apart */
typedef struct MtsKeyColumn
{
	int column;
	int16 typlen;
	bool typbyval;
	bool by_operator; /* are equal values of several forms? */
	FmgrInfo hash;
	FmgrInfo equal;
} MtsKeyColumn;

/* What tells one pending bucket from another */
typedef struct MtsBucketKey
{
	struct MtsWriter *writer;
	MtsTime start;
	Datum *values;
	bool *nulls;
} MtsBucketKey;

/* What is written into one bucket, or of a flat table into one document */
typedef struct MtsPending
{
	MtsBucketKey key;     /* must be first; of a document: its time */
	bson_value_t *values; /* of its columns */
	MtsChange **writes;
	int n;
	int room;
	bson_t *selector;     /* of stored points that change: finds their bucket
						   * as it was read; NULL: the points are new */
	bson_t *precondition; /* of new ones: what else is required, or NULL */
	bool exists;          /* of new ones: was the bucket there? */
} MtsPending;

/* What is known of whether a statement's buckets are new */
typedef enum MtsNewBuckets
{
	MTS_NEW_UNKNOWN,
	MTS_NEW_TRIED, /* with a few of the batch that is sent */
	MTS_NEW_YES,
	MTS_NEW_NO /* or it can't be relied on that there is but one of each */
} MtsNewBuckets;

typedef struct MtsWriter
{
	MtsTable *table;
	MtsTargeting *placer;
	MtsBulk bulk;

	/* the points that wait to be sent */
	MemoryContext batch; /* holds them and all that follows */
	HTAB *buckets;
	List *pending;    /* the same, in the order in which they came */
	MtsPending *last; /* the bucket of the last row */
	int npoints;
	int keys; /* how many columns the buckets' keys are */
	MtsKeyColumn *key_columns;
	bool is_move; /* do the points come from other places? */

	/* are buckets taken for new? */
	MtsNewBuckets fresh;
	int fresh_left;  /* how many of the next ones */
	int fresh_tried; /* how many have been, of this batch */
} MtsWriter;

extern MtsWriter *mts_writer_new(MtsTable *table, Oid userid);
extern MtsPending *mts_writer_add(MtsWriter *writer, TupleTableSlot *slot);
extern void mts_writer_flush(MtsWriter *writer);
extern void mts_writer_discard(MtsWriter *writer);
extern bool mts_writer_is_full(const MtsWriter *writer);
extern _Noreturn void mts_writer_refuse(const MtsWriter *writer,
										const char *detail);
extern void mts_writer_settle(const MtsWriter *writer, MtsPending *pending);
extern void mts_writer_build(MtsWriter *writer, const MtsPending *pending,
							 int first, int n, MtsOp *op);

#endif /* MTS_WRITER_H */
