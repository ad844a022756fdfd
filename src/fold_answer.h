/*
 * fold_answer.h
 *		What do a bucket's pre-aggregates say of an aggregate?
 */
#ifndef MTS_FOLD_ANSWER_H
#define MTS_FOLD_ANSWER_H

#include "postgres.h"
#include "access/tupdesc.h"

#include "bucket.h"
#include "fold_state.h"

/* The state of an aggregate, of the points of a bucket */
typedef enum MtsAnswerKind
{
	MTS_ANSWER_COUNT,         /* bigint: the count */
	MTS_ANSWER_SUM,           /* bigint: the sum */
	MTS_ANSWER_AVERAGE,       /* bigint[]: {count, sum} */
	MTS_ANSWER_FLOAT_SUM,     /* double precision: the sum */
	MTS_ANSWER_FLOAT_AVERAGE, /* double precision[]: {count, sum, NaN} */
	MTS_ANSWER_EXTREME,       /* the value of the column */
	MTS_ANSWER_WIDE_SUM,      /* none: one bigint stands for all */
	MTS_ANSWER_WIDE_AVERAGE   /* none: that, and zeros */
} MtsAnswerKind;

typedef struct MtsAnswer
{
	MtsAnswerKind kind;
	const MtsField *field; /* NULL: only the count of the points is needed */
	const MtsColumn *column;
	MtsConverter *converter;
	bool is_never_null;
	Datum value; /* of the current bucket: a bigint, double or extreme */
} MtsAnswer;

extern bool mts_answer_init(MtsAnswer *answer, const MtsAggregate *aggregate,
							const MtsBucket *bucket, TupleDesc desc);
extern bool mts_answer_read(MtsAnswer *answer, const MtsUnfold *unfold);
extern void mts_answer_take(const MtsAnswer *answer, MtsAggregate *aggregate,
							MtsState *state, int64 points,
							MemoryContext memory);

#endif /* MTS_FOLD_ANSWER_H */
