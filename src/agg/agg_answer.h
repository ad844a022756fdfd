/*
 * agg_answer.h
 *		Aggregate what is read of buckets, in the cheapest of four ways.
 */
#ifndef MTS_AGG_ANSWER_H
#define MTS_AGG_ANSWER_H

#include "agg/agg_group.h"
#include "agg/agg_input.h"
#include "agg/agg_preaggregate.h"

typedef struct MtsAnswers
{
	const MtsAggSpec *spec;
	MtsAggInput *input;
	MtsGroups *groups;
	ExprContext *econtext; /* its scan tuple is the row */
	TupleTableSlot *row;
	bool is_possible[MTS_NWAYS];     /* a way, for this aggregation */
	MtsPreaggregates *preaggregates; /* NULL if that way is not possible */

	bool can_begin_again; /* no group has been emitted */
	int nheaders;         /* that have been read, at most a sample */
	int nopen;            /* of these, buckets that were left open */
} MtsAnswers;

extern MtsAnswers *mts_agg_answer_new(const MtsAggSpec *spec, List *private,
									  MtsAggInput *input, MtsGroups *groups,
									  ExprContext *econtext);
extern bool mts_agg_answer_next(MtsAnswers *answers, bool can_begin_again);
extern void mts_agg_answer_reset(MtsAnswers *answers);

#endif /* MTS_AGG_ANSWER_H */
