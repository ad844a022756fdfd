/*
 * edit.h
 *		Change and remove points that a scan has read.
 */
#ifndef MTS_EDIT_H
#define MTS_EDIT_H

#include "postgres.h"
#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "scan.h"
#include "writer.h"

/* The changes of one statement, which wait for its end */
typedef struct MtsEdits
{
	MtsWriter *writer; /* has the table and the connection */
	Oid userid;
	TupleDesc rows;      /* of the relation */
	MtsTargets *targets; /* of the statement's scan */
	TupleDesc sorted_desc;
	TupleTableSlot *sorted_slot;
	Tuplesortstate *sorted;    /* changes in place and removals, by bucket */
	List *moved;               /* MinimalTuple: points that go elsewhere */
	MemoryContext row_context; /* for what one row needs */
	int64 n;                   /* how many are in sorted */
} MtsEdits;

extern MtsEdits *mts_edits_new(Relation relation, MtsWriter *writer,
							   Oid userid, MtsTargets *targets);
extern bool mts_edits_remove(MtsEdits *edits, ItemPointer tid,
							 HeapTuple old_row);
extern bool mts_edits_change(MtsEdits *edits, ItemPointer tid,
							 HeapTuple old_row, TupleTableSlot *new_row);
extern void mts_edits_finish(MtsEdits *edits);
extern bool mts_edits_differ(const MtsEdits *edits, int column,
							 const Datum *values, const bool *nulls,
							 TupleTableSlot *row);

/* edit_send.c */
extern void mts_edits_send(MtsEdits *edits, bool only_check);

/* edit_move.c */
extern void mts_edits_move(MtsEdits *edits);

/* How a change is sorted: attributes of sorted_desc, from 1 */
enum MtsSorted
{
	MTS_SORTED_BUCKET = 1, /* int8: the bucket's ordinal */
	MTS_SORTED_BLOCK,      /* int8: the target's, from its ctid */
	MTS_SORTED_LOW,        /* int4: the slot's lower bits */
	MTS_SORTED_OLD,        /* bytea: the row as it was read, a MinimalTuple */
	MTS_SORTED_NEW,        /* bytea: as it is to be; NULL: it is removed */
	MTS_SORTED_ATTRIBUTES = MTS_SORTED_NEW
};

#endif /* MTS_EDIT_H */
