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

/* What an aggregate takes of a bucket whose points are one group's */
typedef enum MtsAnswerKind
{
	MTS_ANSWER_COUNT,       /* a bigint */
	MTS_ANSWER_SUM,         /* a bigint */
	MTS_ANSWER_AVERAGE,     /* bigint[]: {count, sum} */
	MTS_ANSWER_WIDE_SUM,    /* a state that only its function knows */
	MTS_ANSWER_FLOAT_SUM,   /* a double */
	MTS_ANSWER_FLOAT_STATE, /* double precision[]: {count, sum, ..} */
	MTS_ANSWER_EXTREME      /* a value of the column */
} MtsAnswerKind;

typedef struct MtsAnswer
{
	MtsAnswerKind kind;
	const MtsField *field; /* NULL: only the count of the points is needed */
	const MtsColumn *column;
	MtsConverter *converter;
	bool is_never_null;

	/* of the current bucket */
	int64 n;
	double d;
	Datum value;
} MtsAnswer;

extern bool mts_answer_init(MtsAnswer *answer, const MtsAggregate *aggregate,
							const MtsBucket *bucket, TupleDesc desc);
extern bool mts_answer_read(MtsAnswer *answer, const MtsUnfold *unfold);
extern void mts_answer_take(const MtsAnswer *answer, MtsAggregate *aggregate,
							MtsState *state, int64 points,
							MemoryContext memory);

#endif /* MTS_FOLD_ANSWER_H */
