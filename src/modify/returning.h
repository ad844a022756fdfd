/*
 * returning.h
 *		The columns that RETURNING shows of rows that are written.
 */
#ifndef MTS_RETURNING_H
#define MTS_RETURNING_H

#include "postgres.h"
#include "nodes/nodes.h"
#include "utils/relcache.h"

#include "modify/row_target.h"

/* A column that shows the _id of a new document */
typedef struct MtsReturnedId
{
	int column;
	MtsFromBson *reader;
} MtsReturnedId;

/* What RETURNING shows of the rows of a relation */
typedef struct MtsReturning
{
	const MtsTargeting *targeting;
	List *columns;     /* their numbers, from 0 */
	List *ids;         /* of MtsReturnedId */
	MemoryContext row; /* of the shown _ids */
} MtsReturning;

extern List *mts_returning_columns(List *list, Index varno, TupleDesc desc);
extern void mts_returning_check(const MtsTable *table, CmdType operation,
								List *columns);
extern MtsReturning *mts_returning_new(const MtsTargeting *targeting,
									   List *columns);
extern void mts_returning_check_new(const MtsReturning *returning,
									TupleTableSlot *slot);
extern void mts_returning_check_move(const MtsReturning *returning);
extern void mts_returning_add_id(MtsReturning *returning, TupleTableSlot *slot,
								 bson_value_t *values);

#endif /* MTS_RETURNING_H */
