/*
 * transition.h
 *		Transition values of aggregates, which PostgreSQL's functions advance.
 */
#ifndef MTS_TRANSITION_H
#define MTS_TRANSITION_H

#include "postgres.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

/*
 * The functions of an aggregate; a group's transition value is a NullableDatum
 */
typedef struct MtsTransition
{
	Oid transfn_oid;
	FunctionCallInfo transfn;   /* (transition value, arguments) */
	FunctionCallInfo combinefn; /* (transition value, transition value) */
	FunctionCallInfo serialfn;  /* NULL unless the value's type is internal */
	WindowAggState *context;    /* has the memory of transition values */
	int16 typlen;               /* of the transition value */
	bool typbyval;
	NullableDatum initial;
} MtsTransition;

extern void mts_transition_init(MtsTransition *transition,
								const Aggref *aggref, MemoryContext memory);
extern void mts_transition_start(const MtsTransition *transition,
								 NullableDatum *state);
extern void mts_transition_advance(const MtsTransition *transition,
								   NullableDatum *state);
extern void mts_transition_advance_many(const MtsTransition *transition,
										NullableDatum *state,
										const Datum *values,
										const bool *missing, int n);
extern void mts_transition_combine(const MtsTransition *transition,
								   NullableDatum *state, Datum other);
extern NullableDatum mts_transition_serialize(const MtsTransition *transition,
											  const NullableDatum *state);

#endif /* MTS_TRANSITION_H */
