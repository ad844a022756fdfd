/*
 * monotonic.h
 *		Expressions that are monotonic in the time.
 */
#ifndef MTS_MONOTONIC_H
#define MTS_MONOTONIC_H

#include "postgres.h"
#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "pgtime.h"

#include "convert/from_bson.h"
#include "core/time/clock.h"

/*
 * A stretch of time, from <= t <= to, over which expressions keep their values;
 * there is none if from > to
 */
typedef struct MtsStretch
{
	MtsTime from;
	MtsTime to;
	MtsTime length; /* of the stretch before */
	int nsteps;
	struct MtsMonotonicStep *steps;
	List *zones;                  /* of which clocks are looked at */
	const MtsFromBson *converter; /* of the time */
	TupleTableSlot *row;          /* has the time alone */
	int time;                     /* its place there */
	ExprContext *econtext;
	MemoryContext memory; /* of the steps' values */
} MtsStretch;

extern bool mts_monotonic_is_constant(Node *expr);
extern bool mts_monotonic_is(Node *expr, Index varno, AttrNumber time);
extern bool mts_monotonic_is_near(Node *expr, Index varno, AttrNumber time,
								  int64 *away);
extern bool mts_monotonic_is_stepped(Node *expr, Index varno, AttrNumber time);
extern MtsStretch *mts_monotonic_begin(List *exprs, Index varno,
									   AttrNumber time, const pg_tz *zone,
									   const MtsFromBson *converter,
									   TupleDesc desc, EState *estate);
extern void mts_monotonic_forget(MtsStretch *stretch);
extern bool mts_monotonic_enter(MtsStretch *stretch, MtsTime t);
extern bool mts_monotonic_extend(MtsStretch *stretch, MtsTime t);
extern void mts_monotonic_look_ahead(MtsStretch *stretch, MtsTime last);

#endif /* MTS_MONOTONIC_H */
