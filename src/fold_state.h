/*
 * fold_state.h
 *		The transition states of aggregates, as PostgreSQL's functions make
 *		them.
 */
#ifndef MTS_FOLD_STATE_H
#define MTS_FOLD_STATE_H

#include "postgres.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

/* What an aggregate is taken of */
typedef struct MtsArgument
{
	int attribute;    /* of the row, from 0; or -1 */
	ExprState *state; /* of what is no plain attribute */
} MtsArgument;

/* One aggregate of a fold */
typedef struct MtsAggregate
{
	Oid oid;
	FunctionCallInfo transition; /* (state, arguments) */
	FmgrInfo function;
	FunctionCallInfo combine; /* (state, another one) */
	FmgrInfo combiner;
	FunctionCallInfo serialize; /* NULL: the state is given as it is */
	FmgrInfo serializer;
	WindowAggState *context; /* lends functions the memory of a group */
	int narguments;
	MtsArgument *arguments;
	ExprState *bucket_filter; /* by columns of the bucket alone, or NULL */
	bool is_off;              /* does it leave out the points of this one? */
	ExprState *filter;        /* by columns of the point, or NULL */
	int16 typlen;             /* of the state */
	bool typbyval;
	bool is_null; /* is the initial state null? */
	Datum initial;
	Oid transition_oid;
} MtsAggregate;

/* What an aggregate has of a group */
typedef struct MtsState
{
	Datum value;
	bool is_null;
	bool is_empty; /* of a strict function: has it seen no value? */
} MtsState;

extern void mts_aggregate_init(MtsAggregate *aggregate, const Aggref *aggref);
extern void mts_aggregate_begin(const MtsAggregate *aggregate, MtsState *state,
								MemoryContext memory);
extern void mts_aggregate_advance(MtsAggregate *aggregate, MtsState *state,
								  MemoryContext memory);
extern void mts_aggregate_combine(MtsAggregate *aggregate, MtsState *state,
								  Datum value, MemoryContext memory);
extern void mts_aggregate_advance_doubles(MtsAggregate *aggregate,
										  MtsState *state,
										  const double *values, int n,
										  MemoryContext memory);
extern Datum mts_aggregate_give(MtsAggregate *aggregate, MtsState *state,
								MemoryContext memory, bool *isnull);

#endif /* MTS_FOLD_STATE_H */
