/*
 * writer.h
 *		Rows that are stored as points, one batch after the other.
 */
#ifndef MTS_WRITER_H
#define MTS_WRITER_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "modify/bucket_map.h"
#include "modify/learnt.h"
#include "modify/returning.h"
#include "modify/rollup_mark.h"

/* The writes that were sent last, until they are stored */
typedef struct MtsSent
{
	MemoryContext batch; /* of their rows */
	MemoryContext slice; /* of the operations */
	MemoryContext next_slice;
	MtsOp *ops;
	int nops;
	MtsGuess guess;
} MtsSent;

typedef struct MtsWriter
{
	const MtsTable *table;
	Oid userid;
	MtsTargeting *targeting;
	MtsBulk bulk;
	MtsRollupMarks *marks;   /* NULL without roll-ups */
	MtsReturning *returning; /* NULL if no row is shown */
	bool moves_points;       /* from other buckets or slots; not new ones */
	int64 nrows;             /* of the statement */
	List *refusals; /* on_conflict.c: collections that refused a row */
	MtsLearnt learnt;
	MtsBucketMap buckets; /* of the batch and the last one */

	/* the rows that have not been sent */
	MemoryContext batch; /* of all that follows */
	List *writes;        /* MtsBucketWrite */
	int npoints;
	int batch_size; /* the table's, or more; points */
	int next_check; /* points at which the batch may be full */

	MtsSent sent;
} MtsWriter;

extern MtsWriter *mts_writer_new(const MtsTable *table, Oid userid);
extern MtsBucketWrite *mts_writer_add(MtsWriter *writer, TupleTableSlot *slot);
extern bool mts_writer_is_full(MtsWriter *writer);
extern void mts_writer_discard(MtsWriter *writer);
extern void mts_writer_send(MtsWriter *writer);
extern void mts_writer_flush(MtsWriter *writer);

#endif /* MTS_WRITER_H */
