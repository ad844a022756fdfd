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

#include "convert.h"
#include "core/clock.h"

/* A stretch of time over which expressions keep their values */
typedef struct MtsStretch MtsStretch;

extern bool mts_monotonic_is_constant(Node *expr);
extern bool mts_monotonic_is_near(Node *expr, Index varno, AttrNumber time,
								  int64 *away);
extern bool mts_monotonic_is_stepped(Node *expr, Index varno, AttrNumber time);
extern MtsStretch *mts_monotonic_begin(List *exprs, Index varno,
									   AttrNumber time, const pg_tz *zone,
									   const MtsConverter *converter,
									   TupleDesc desc, EState *estate);
extern void mts_monotonic_forget(MtsStretch *stretch);
extern bool mts_monotonic_enter(MtsStretch *stretch, MtsTime t);
extern bool mts_monotonic_extend(MtsStretch *stretch, MtsTime t);
extern void mts_monotonic_look_ahead(MtsStretch *stretch, MtsTime last);
extern void mts_monotonic_bounds(const MtsStretch *stretch, MtsTime *from,
								 MtsTime *to);

#endif /* MTS_MONOTONIC_H */
