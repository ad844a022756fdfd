/*
 * stretch.c
 *		Find stretches of time over which expressions keep their values.
 *
 * The monotonic parts of the expressions (monotonic.c) have the same values
 * at both ends of a stretch, and no zone that matters sets its clocks forward
 * or back in the stretch or near it.  Thus all the expressions keep their
 * values between the ends, and it is enough to evaluate the parts there.
 */
#include "pushdown/stretch.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/timestamp.h"

#include "pushdown/monotonic.h"

/*
 * mts_stretch_new
 *		Prepare to find the stretches over which expressions keep their values.
 *
 * Only the time decides where a stretch ends.  Expressions that have other
 * columns, too, keep their values only as long as these do.  zone is that of
 * the table, or NULL if its clocks are never set.
 */
MtsStretch *
mts_stretch_new(List *exprs, Index varno, int time, const pg_tz *zone,
				const MtsFromBson *converter, TupleDesc desc, EState *estate)
{
	MtsStretch *stretch = palloc0(sizeof(MtsStretch));
	MtsMonotonicParts parts = mts_monotonic_parts(exprs, varno, time + 1);
	TupleDesc types = ExecTypeFromExprList(parts.exprs);
	List *targets = NIL;
	ListCell *lc;

	stretch->zones = parts.zones;
	if (zone)
	{
		MtsZoneWindow *window = palloc(sizeof(MtsZoneWindow));

		*window = (MtsZoneWindow){zone, 0};
		stretch->zones = lappend(stretch->zones, window);
	}
	stretch->converter = converter;
	stretch->time = time;
	stretch->row = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	ExecStoreAllNullTuple(stretch->row);
	stretch->row->tts_isnull[time] = false;
	stretch->econtext = CreateExprContext(estate);
	stretch->econtext->ecxt_scantuple = stretch->row;
	foreach (lc, parts.exprs)
		targets =
			lappend(targets,
					makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1,
									NULL, false));
	stretch->parts =
		ExecBuildProjectionInfo(targets, stretch->econtext,
								MakeSingleTupleTableSlot(types,
														 &TTSOpsVirtual),
								NULL, NULL);
	stretch->values = MakeSingleTupleTableSlot(types, &TTSOpsMinimalTuple);
	mts_stretch_reset(stretch);
	return stretch;
}

/* mts_stretch_reset: make it empty, so that the next time begins another. */
void
mts_stretch_reset(MtsStretch *stretch)
{
	stretch->from = MTS_TIME_MAX;
	stretch->to = MTS_TIME_MIN;
}

/* Tell whether a clock of a zone is set between two times, or near them. */
static bool
has_clock_change(const MtsZoneWindow *window, MtsTime first, MtsTime last)
{
	/* times before the year 2000 are rounded up to seconds, hence the - 1 */
	pg_time_t from = timestamptz_to_time_t(first) - 1 - window->distance;
	pg_time_t to = timestamptz_to_time_t(last) + window->distance;
	long before_offset, after_offset;
	int before_dst, after_dst, result;
	pg_time_t change;

	result =
		pg_next_dst_boundary(&from, &before_offset, &before_dst, &change,
							 &after_offset, &after_dst,
							 window->zone ? window->zone : session_timezone);
	return result < 0 || (result > 0 && to >= change);
}

/* Evaluate the parts at a time; false where they may fail. */
static bool
evaluate(MtsStretch *stretch, MtsTime t)
{
	MtsError error;

	ResetExprContext(stretch->econtext);
	if (t < MTS_SAFE_FROM || t > MTS_SAFE_TO ||
		!mts_from_bson_time(stretch->converter, t,
							&stretch->row->tts_values[stretch->time], &error))
		return false;
	(void) ExecProject(stretch->parts);
	return true;
}

/* Tell whether the parts have the stretch's values at the time tried. */
static bool
has_same_values(const MtsStretch *stretch)
{
	const TupleTableSlot *a = stretch->values;
	const TupleTableSlot *b = stretch->parts->pi_state.resultslot;

	for (int i = 0; i < a->tts_tupleDescriptor->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(a->tts_tupleDescriptor, i);

		if (a->tts_isnull[i] != b->tts_isnull[i] ||
			(!a->tts_isnull[i] &&
			 !datum_image_eq(a->tts_values[i], b->tts_values[i], att->attbyval,
							 att->attlen)))
			return false;
	}
	return true;
}

/* Extend the stretch to the time tried, if that is possible. */
static bool
extend(MtsStretch *stretch, MtsTime t)
{
	MtsTime from = Min(t, stretch->from);
	MtsTime to = Max(t, stretch->to);
	ListCell *lc;

	if (stretch->from > stretch->to || !has_same_values(stretch))
		return false;
	foreach (lc, stretch->zones)
		if (has_clock_change(lfirst(lc), from, to))
			return false;
	stretch->from = from;
	stretch->to = to;
	return true;
}

/*
 * mts_stretch_extend
 *		Extend the stretch to a time before or after it; false if an
 *		expression can change its value on the way.
 */
bool
mts_stretch_extend(MtsStretch *stretch, MtsTime t)
{
	return (t >= stretch->from && t <= stretch->to) ||
		   (evaluate(stretch, t) && extend(stretch, t));
}

/*
 * mts_stretch_seek
 *		Extend the stretch to a time, or begin another one there.
 *
 * Returns false for another one.  It is empty where expressions may fail.
 */
bool
mts_stretch_seek(MtsStretch *stretch, MtsTime t)
{
	bool is_safe;

	if (t >= stretch->from && t <= stretch->to)
		return true;
	is_safe = evaluate(stretch, t);
	if (is_safe && extend(stretch, t))
		return true;
	if (stretch->from <= stretch->to)
		stretch->previous_length = stretch->to - stretch->from;
	mts_stretch_reset(stretch);
	if (!is_safe)
		return false;
	ExecCopySlot(stretch->values, stretch->parts->pi_state.resultslot);
	slot_getallattrs(stretch->values);
	stretch->from = stretch->to = t;
	return false;
}

/*
 * mts_stretch_look_ahead
 *		Extend the stretch by the length of the one before, but not beyond
 *		last.  An empty stretch stays empty.
 */
void
mts_stretch_look_ahead(MtsStretch *stretch, MtsTime last)
{
	if (stretch->previous_length > 0 && stretch->from <= stretch->to &&
		stretch->to < last)
		(void) mts_stretch_extend(stretch,
								  last - stretch->to > stretch->previous_length
									  ? stretch->to + stretch->previous_length
									  : last);
}
