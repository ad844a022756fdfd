/*
 * pushdown.h
 *		Which conditions are exact in MongoDB or in the unfolding?
 */
#ifndef MTS_PUSHDOWN_H
#define MTS_PUSHDOWN_H

#include "postgres.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "core/filter.h"
#include "table.h"

/* A clause that goes down; its right-hand sides have values at run time */
typedef struct MtsTest MtsTest;

extern MtsTest *mts_pushdown_clause(const MtsTable *table, Index varno,
									Expr *clause);
extern bool mts_pushdown_is_exact(const MtsTest *test);
extern void mts_pushdown_init(MtsTest *test, PlanState *parent);
extern MtsCond *mts_pushdown_evaluate(const MtsTable *table, MtsTest *test,
									  ExprContext *econtext);

#endif /* MTS_PUSHDOWN_H */
