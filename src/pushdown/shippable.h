/*
 * shippable.h
 *		Which clauses MongoDB or the unfolding can decide.
 */
#ifndef MTS_SHIPPABLE_H
#define MTS_SHIPPABLE_H

#include "pushdown/qual.h"

extern MtsQual *mts_shippable_clause(const MtsTable *table, Index varno,
									 Expr *clause);
extern Var *mts_shippable_column(Expr *expr);
extern Var *mts_shippable_var(Expr *expr, Index varno);
extern bool mts_shippable_is_key(const MtsTable *table, int column);
extern bool mts_shippable_is_bounded(const MtsTable *table, int column);
extern bool mts_shippable_collation_fits(Oid collation, int strategy);

#endif /* MTS_SHIPPABLE_H */
