/*
 * agg_answer.h
 *		Aggregate what is read of buckets, in the cheapest of five ways.
 */
#ifndef MTS_AGG_ANSWER_H
#define MTS_AGG_ANSWER_H

#include "agg/agg_group.h"
#include "agg/agg_input.h"

typedef struct MtsAnswers MtsAnswers;

extern MtsAnswers *mts_agg_answer_new(const MtsAggSpec *spec, List *private,
									  MtsAggInput *input, MtsGroups *groups,
									  ExprContext *econtext);
extern bool mts_agg_answer_next(MtsAnswers *answers, bool can_begin_again);
extern void mts_agg_answer_reset(MtsAnswers *answers);

#endif /* MTS_AGG_ANSWER_H */
