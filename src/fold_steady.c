/*
 * fold_steady.c
 *		For how long do the expressions of time that are grouped by stay the
 *		same?
 *
 * Their steps never go back while no clock is set, so where these are the same
 * at two times, they are between them.  The stretch for which that is known grows
 * with the buckets that come, so that most of these need no evaluation.
 */
#include "fold_private.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "fold_time.h"

/* Know nothing: the session's zone may be another one. */
void
mts_fold_forget_steady(MtsFold *fold)
{
	fold->steady_from = MTS_TIME_MAX;
	fold->steady_to = MTS_TIME_MIN;
}

/* Keep what the steps, and what is told by them, are at the row's time. */
static void
evaluate(MtsFold *fold)
{
	MemoryContext old;

	MemoryContextReset(fold->steady_memory);
	fold->nrecent = 0;
	for (int i = 0; i < fold->nsteps; i++)
	{
		MtsFoldStep *step = &fold->steps[i];

		step->value = ExecEvalExprSwitchContext(step->state, fold->econtext,
												&step->is_null);
		old = MemoryContextSwitchTo(fold->steady_memory);
		if (!step->is_null)
			step->value = datumCopy(step->value, step->byval, step->len);
		MemoryContextSwitchTo(old);
	}
	for (int i = 0; i < fold->ngroupings; i++)
	{
		MtsGrouping *grouping = &fold->groupings[i];
		Form_pg_attribute att =
			TupleDescAttr(fold->key->tts_tupleDescriptor, i);

		if (!grouping->is_of_time)
			continue;
		if (grouping->step >= 0)
		{
			grouping->value = fold->steps[grouping->step].value;
			grouping->is_null = fold->steps[grouping->step].is_null;
			continue;
		}
		grouping->value =
			ExecEvalExprSwitchContext(grouping->state, fold->econtext,
									  &grouping->is_null);
		old = MemoryContextSwitchTo(fold->steady_memory);
		if (!grouping->is_null)
			grouping->value =
				datumCopy(grouping->value, att->attbyval, att->attlen);
		MemoryContextSwitchTo(old);
	}
}

/* Are the steps the same at another time than the row's? */
static bool
is_same_at(MtsFold *fold, MtsTime t)
{
	Datum kept = fold->row->tts_values[fold->time];
	bool same =
		mts_scan_time_datum(fold->scan, t, &fold->row->tts_values[fold->time]);

	for (int i = 0; same && i < fold->nsteps; i++)
	{
		const MtsFoldStep *step = &fold->steps[i];
		bool isnull;
		Datum value =
			ExecEvalExprSwitchContext(step->state, fold->econtext, &isnull);

		same = isnull == step->is_null &&
			   (isnull ||
				datum_image_eq(value, step->value, step->byval, step->len));
	}
	fold->row->tts_values[fold->time] = kept;
	return same;
}

/* Extend what is known to another time, if the expressions are the same. */
static bool
reach(MtsFold *fold, MtsTime t)
{
	MtsTime from = Min(t, fold->steady_from);
	MtsTime to = Max(t, fold->steady_to);

	if (from == fold->steady_from && to == fold->steady_to)
		return true;
	if (!mts_fold_in_step(fold->zones, from, to) || !is_same_at(fold, t))
		return false;
	fold->steady_from = from;
	fold->steady_to = to;
	return true;
}

/* Is it known what the expressions are at t?  Try to know it of a bucket. */
static bool
knows(MtsFold *fold, MtsTime t, MtsTime first, MtsTime last)
{
	if (fold->steady_from <= fold->steady_to)
	{
		(void) reach(fold, last);
		(void) reach(fold, first);
	}
	return fold->steady_from <= t && t <= fold->steady_to;
}

/*
 * mts_fold_find_steady
 *		Find what the expressions are at the row's time, t, and for how long.
 *
 * The times of the bucket's points are from first to last.
 */
void
mts_fold_find_steady(MtsFold *fold, MtsTime t, MtsTime first, MtsTime last)
{
	fold->from = fold->to = t;
	if (fold->row->tts_isnull[fold->time])
	{
		mts_fold_forget_steady(fold);
		evaluate(fold);
		return;
	}
	if (first == MTS_TIME_MIN || last >= MTS_TIME_MAX - 1)
		first = last = t;
	if (!knows(fold, t, first, last))
	{
		evaluate(fold);
		fold->steady_from = fold->steady_to = t;
		(void) knows(fold, t, first, last);
	}
	/* the last time that is the same, to the second */
	for (MtsTime low = fold->steady_to, high = last;
		 high - low > USECS_PER_SEC;)
	{
		MtsTime middle = low + (high - low) / 2;

		if (reach(fold, middle))
			low = middle;
		else
			high = middle;
	}
	fold->from = fold->steady_from;
	fold->to = fold->steady_to;
}
