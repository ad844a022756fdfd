/*
 * edit.h
 *		Changes and removals of points that a scan has read.
 */
#ifndef MTS_EDIT_H
#define MTS_EDIT_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "modify/writer.h"
#include "scan/row_id.h"

typedef struct MtsEdits MtsEdits;

extern MtsEdits *mts_edits_new(Relation relation, MtsWriter *writer,
							   Oid userid, MtsRowIds *row_ids);
extern bool mts_edits_add(MtsEdits *edits, ItemPointer tid, Datum old_row,
						  TupleTableSlot *new_row);
extern void mts_edits_discard(MtsEdits *edits);
extern void mts_edits_finish(MtsEdits *edits);

#endif /* MTS_EDIT_H */
