/*
 * writer.h
 *		Rows that are stored as points, one batch after the other.
 */
#ifndef MTS_WRITER_H
#define MTS_WRITER_H

#include "postgres.h"
#include "executor/tuptable.h"
#include "utils/hsearch.h"

#include "modify/bucket_write.h"
#include "modify/returning.h"
#include "modify/rollup_mark.h"

/* What the statement has learnt from writes that assume what is stored */
typedef struct MtsTrial
{
	bool is_proven; /* most of the last ones were not refused */
	int refused;    /* trials since then */
	int waiting;    /* batches before the next trial */
} MtsTrial;

typedef struct MtsWriter
{
	const MtsTable *table;
	Oid userid;
	MtsTargeting *targeting;
	MtsBulk bulk;
	MtsRollupMarks *marks;   /* NULL without roll-ups */
	MtsReturning *returning; /* NULL if no row is shown */
	bool has_begun;          /* some row was added */
	bool moves_points;       /* from other buckets or slots; not new ones */
	List *indexed;   /* collections, by whether a unique index refuses a */
	List *unindexed; /* second bucket with the same key */
	MtsTrial new_buckets; /* the buckets do not exist */
	MtsTrial once;        /* otherwise, the slots are empty */
	int64 nrows;          /* of the statement */
	List *refusals;       /* on_conflict.c: collections that refused a row */

	/* the buckets of the batch and the last one */
	MemoryContext buckets;      /* of the entries */
	HTAB *entries;              /* MtsBatchEntry */
	struct MtsBatchEntry *last; /* of the last row, or NULL */
	int64 nfirst_turns;         /* of buckets, in the statement */
	int64 nlater_turns;
	int64 between_turns; /* rows from a turn to the next one, in all */

	/* the columns that buckets have: those that identify them, and behind
	 * them those that describe them */
	int nkeys;
	int nattributes;
	struct MtsBucketColumn *columns;

	/* the rows that have not been sent */
	MemoryContext batch; /* of all that follows */
	List *writes;        /* MtsBucketWrite */
	int npoints;
	int batch_size; /* the table's, or more; points */
	int next_check; /* points at which the batch may be full */

	/* the rows that were sent last, until they are stored */
	MemoryContext sent; /* of the batch */

	/* the slice of a batch that was sent last, until it is stored */
	MemoryContext slice; /* of its operations */
	MemoryContext next_slice;
	MtsOp *ops;
	int nops;
	MtsTrial *trial; /* what they assume, or NULL */
	int ntried;      /* writes that assume it */
} MtsWriter;

extern MtsWriter *mts_writer_new(const MtsTable *table, Oid userid);
extern MtsBucketWrite *mts_writer_add(MtsWriter *writer, TupleTableSlot *slot);
extern bool mts_writer_is_full(MtsWriter *writer);
extern void mts_writer_discard(MtsWriter *writer);
extern void mts_writer_send(MtsWriter *writer);
extern void mts_writer_flush(MtsWriter *writer);

#endif /* MTS_WRITER_H */
