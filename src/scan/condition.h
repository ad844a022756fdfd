/*
 * condition.h
 *		Conditions on values that are evaluated for all points of a bucket at
 *		once.
 */
#ifndef MTS_CONDITION_H
#define MTS_CONDITION_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "table/table.h"

/* A comparison of a column with a constant, or with a parameter */
typedef struct MtsCondition
{
	int column;   /* of the layout */
	Node *clause; /* it is this one, of the plan */
	int strategy; /* of a B-tree; MTS_CONDITION_OTHER for another operator */
	FmgrInfo function;
	Oid collation;
	Oid typid; /* of the value */
	ExprState *value;
	ExprContext *econtext;
} MtsCondition;

/* Strategies that B-trees do not have */
#define MTS_CONDITION_OTHER 0
#define MTS_CONDITION_NE (-1)

extern List *mts_condition_find(const MtsTable *table, Index varno,
								List *clauses, ExprContext *econtext);
extern void mts_condition_select(MtsCondition *condition, Oid typid,
								 const Datum *values, const bool *missing,
								 int n, bool *wanted);
extern bool mts_condition_holds(MtsCondition *condition, Datum value,
								bool isnull);

#endif /* MTS_CONDITION_H */
