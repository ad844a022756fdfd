/*
 * insert.h
 *		The rows that a statement writes into one relation.
 */
#ifndef MTS_INSERT_H
#define MTS_INSERT_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "utils/tuplestore.h"

#include "edit.h"
#include "precondition.h"

/* One relation that a statement writes; its ri_FdwState */
typedef struct MtsModify
{
	MtsWriter *writer;
	MtsEdits *edits;          /* of UPDATE and DELETE */
	MtsReader *reader;        /* of ON CONFLICT DO NOTHING */
	bool is_prompt;           /* must rows be stored before triggers look? */
	Tuplestorestate *waiting; /* rows that the statement must not read */
	TupleTableSlot *waiting_slot;
	AttrNumber place; /* junk attributes of the plan's rows */
	AttrNumber old_row;
} MtsModify;

extern void mts_insert_check_conflict(const MtsTable *table,
									  OnConflictAction action);
extern MtsModify *mts_insert_begin(ResultRelInfo *rinfo, EState *estate,
								   bool keeps, bool is_read);
extern void mts_insert_check_partition(ResultRelInfo *rinfo,
									   TupleTableSlot *row, EState *estate);
extern void mts_insert_end(EState *estate, ResultRelInfo *rinfo);

#endif /* MTS_INSERT_H */
