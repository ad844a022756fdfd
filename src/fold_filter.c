/*
 * fold_filter.c
 *		Which points do the conditions that stay here let through?
 *
 * They are evaluated in PostgreSQL's order, for a row that has a point.  Those
 * at the beginning that look at columns of the bucket alone are evaluated once
 * for all of its points.
 */
#include "fold_private.h"

#include "executor/executor.h"

#include "fold_judge.h"

/* Prepare the conditions, which are in the order of their evaluation. */
void
mts_fold_init_filters(MtsFold *fold, List *clauses)
{
	List *of_bucket = NIL;
	List *of_point = NIL;
	ListCell *lc;

	foreach (lc, clauses)
	{
		if (of_point == NIL &&
			mts_fold_is_of_bucket(fold->scan->table, lfirst(lc)))
			of_bucket = lappend(of_bucket, lfirst(lc));
		else
			of_point = lappend(of_point, lfirst(lc));
	}
	fold->bucket_filter = ExecInitQual(of_bucket, NULL);
	fold->filter = ExecInitQual(of_point, NULL);
}

/* May points of the bucket be wanted, of which one is in the row? */
bool
mts_fold_wants_bucket(MtsFold *fold)
{
	int64 bucket = fold->scan->counters.buckets;

	if (fold->bucket_filter && fold->judged != bucket)
	{
		fold->judged = bucket;
		fold->is_off = !ExecQual(fold->bucket_filter, fold->econtext);
	}
	return !fold->is_off;
}

/* Is the point in the row wanted? */
bool
mts_fold_wants_point(MtsFold *fold)
{
	if (mts_fold_wants_bucket(fold) && ExecQual(fold->filter, fold->econtext))
		return true;
	mts_fold_scan(fold)->counters.removed++;
	return false;
}
