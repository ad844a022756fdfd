/*
 * stretch.h
 *		Stretches of time over which expressions keep their values.
 */
#ifndef MTS_STRETCH_H
#define MTS_STRETCH_H

#include "postgres.h"
#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "pgtime.h"

#include "convert/from_bson.h"
#include "core/time/clock.h"

/* A stretch, from <= t <= to; empty if from > to */
typedef struct MtsStretch
{
	MtsTime from;
	MtsTime to;
	MtsTime previous_length;
	List *zones;                  /* MtsZoneWindow */
	ProjectionInfo *parts;        /* their values at the last time tried */
	TupleTableSlot *values;       /* those over the stretch */
	const MtsFromBson *converter; /* of the time */
	TupleTableSlot *row;          /* has the time alone */
	int time;                     /* its column */
	ExprContext *econtext;
} MtsStretch;

extern MtsStretch *mts_stretch_new(List *exprs, Index varno, int time,
								   const pg_tz *zone,
								   const MtsFromBson *converter,
								   TupleDesc desc, EState *estate);
extern void mts_stretch_reset(MtsStretch *stretch);
extern bool mts_stretch_seek(MtsStretch *stretch, MtsTime t);
extern bool mts_stretch_extend(MtsStretch *stretch, MtsTime t);
extern void mts_stretch_look_ahead(MtsStretch *stretch, MtsTime last);

#endif /* MTS_STRETCH_H */
