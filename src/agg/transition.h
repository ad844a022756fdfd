/*
 * transition.h
 *		The transition states of aggregates, as PostgreSQL's functions make
 *		them.
 */
#ifndef MTS_TRANSITION_H
#define MTS_TRANSITION_H

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

/* One aggregate of a scan */
typedef struct MtsTransition
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
} MtsTransition;

/* What an aggregate has of a group */
typedef struct MtsState
{
	Datum value;
	bool is_null;
	bool is_empty; /* of a strict function: has it seen no value? */
} MtsState;

extern void mts_transition_init(MtsTransition *aggregate,
								const Aggref *aggref);
extern void mts_transition_begin(const MtsTransition *aggregate,
								 MtsState *state, MemoryContext memory);
extern void mts_transition_advance(MtsTransition *aggregate, MtsState *state,
								   MemoryContext memory);
extern void mts_transition_combine(MtsTransition *aggregate, MtsState *state,
								   Datum value, MemoryContext memory);
extern void mts_transition_advance_doubles(MtsTransition *aggregate,
										   MtsState *state,
										   const double *values, int n,
										   MemoryContext memory);
extern Datum mts_transition_give(MtsTransition *aggregate, MtsState *state,
								 MemoryContext memory, bool *isnull);

#endif /* MTS_TRANSITION_H */
