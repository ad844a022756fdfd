/*
 * fold_judge.h
 *		Which expressions and aggregates can a fold evaluate?
 */
#ifndef MTS_FOLD_JUDGE_H
#define MTS_FOLD_JUDGE_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "table.h"

extern bool mts_fold_is_of_row(Node *expr, Index varno);
extern bool mts_fold_is_of_bucket(const MtsTable *table, Node *expr);
extern bool mts_fold_takes_aggregate(Aggref *aggref, Index varno);

#endif /* MTS_FOLD_JUDGE_H */
