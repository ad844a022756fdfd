/*
 * agg_group.h
 *		The group of a point, or of all points of a bucket.
 */
#ifndef MTS_AGG_GROUP_H
#define MTS_AGG_GROUP_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "agg/group_table.h"
#include "pushdown/stretch.h"
#include "scan/source.h"

typedef struct MtsGroups
{
	const MtsAggSpec *spec;
	MtsGroupTable *table;
	ExprContext *econtext; /* evaluates expressions of the row */
	MtsCounters *counters;

	/* the bucket */
	MtsTime earliest; /* of the times of its points */
	MtsTime latest;
	bool is_checked; /* the next field is valid */
	bool is_filtered_out;
	bool *excludes; /* by aggregate: its bucket_filter fails */

	int version; /* changes when the groups are removed */

	/* the current group */
	NullableDatum *group; /* NULL before the first */
	bool is_of_bucket;    /* it is one of this bucket */
	MtsTime from;         /* if so, for times from <= t <= to of it */
	MtsTime to;
	MtsStretch *stretch;      /* times over which the keys with steps keep
							   * their values; NULL without such keys */
	bool stretch_has_changed; /* since the keys of time were evaluated */
	TupleTableSlot *keys;     /* of the current group */
	MemoryContext key_memory; /* of the values of keys of time */
} MtsGroups;

/* Which group all points of a bucket belong to */
typedef enum MtsBucketGroup
{
	MTS_BUCKET_IN_GROUP,     /* the current group */
	MTS_BUCKET_FILTERED_OUT, /* none, by a condition */
	MTS_BUCKET_UNDECIDED     /* perhaps several */
} MtsBucketGroup;

extern MtsGroups *mts_agg_group_new(const MtsAggSpec *spec,
									MtsGroupTable *table,
									ExprContext *econtext,
									const MtsFromBson *time_converter,
									MtsCounters *counters);
extern void mts_agg_group_clear(MtsGroups *groups);
extern void mts_agg_group_begin_bucket(MtsGroups *groups, MtsTime earliest,
									   MtsTime latest);
extern bool mts_agg_group_run_passes(MtsGroups *groups, ExprState *filter,
									 int64 npoints);
extern void mts_agg_group_enter_point(MtsGroups *groups, MtsTime t);
extern int mts_agg_group_end_of_run(MtsGroups *groups, const MtsTime *times,
									int from, int n);
extern bool mts_agg_group_has_whole_bucket(const MtsGroups *groups);
extern MtsBucketGroup mts_agg_group_enter_bucket(MtsGroups *groups,
												 int64 npoints);

#endif /* MTS_AGG_GROUP_H */
