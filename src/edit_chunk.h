/*
 * edit_chunk.h
 *		The changes of some buckets, while their buckets are read again.
 */
#ifndef MTS_EDIT_CHUNK_H
#define MTS_EDIT_CHUNK_H

#include "edit.h"

/* A change, as it is read from the sort */
typedef struct MtsEdit
{
	MtsTarget *target;
	int low;
	MinimalTuple old_row;
	MinimalTuple new_row; /* NULL: the point is removed */
	bool found;
} MtsEdit;

/* The changes of some buckets, sorted by bucket and slot */
typedef struct MtsChunk
{
	MtsEdits *edits;
	bool only_check;       /* are the points as they were read? */
	MemoryContext context; /* of this chunk */
	MemoryContext bucket_context;
	MtsEdit *items;
	int n;
	int room;
	MtsScan *reader;
	ExprContext *econtext;
	TupleTableSlot *row; /* as it is stored now */
	TupleTableSlot *old_row;
	TupleTableSlot *new_row;

	/* the bucket that is being read */
	MtsTargetBucket *bucket;
	bson_t *document;
	bson_t *selector;
	MtsWrite **writes;
	int nwrites;
	int nkept;     /* points that are not removed */
	int64 skipped; /* what the reader had skipped before it */
	MtsOp *ops;
	int nops;
	Size bytes;
} MtsChunk;

extern _Noreturn void mts_chunk_refuse(const MtsChunk *chunk,
									   const char *detail);
extern void mts_chunk_begin_bucket(MtsChunk *chunk, MtsTargetBucket *bucket);
extern void mts_chunk_take_point(MtsChunk *chunk);
extern void mts_chunk_end_bucket(MtsChunk *chunk);
extern void mts_chunk_send(MtsChunk *chunk);

#endif /* MTS_EDIT_CHUNK_H */
