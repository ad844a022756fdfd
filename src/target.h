/*
 * target.h
 *		Number the rows of a scan for a statement that changes them.
 */
#ifndef MTS_TARGET_H
#define MTS_TARGET_H

#include "postgres.h"
#include "nodes/bitmapset.h"
#include "storage/itemptr.h"

#include "core/unfold.h"

/* A bucket that rows were read from */
typedef struct MtsTargetBucket
{
	bson_value_t id;
	const char *collection; /* of a rolling set's buckets; else NULL */
	MtsTime start;
	int64 ordinal; /* in the order in which they were read */
} MtsTargetBucket;

/* Some of its slots: those whose numbers begin alike, of the same texts */
typedef struct MtsTarget
{
	MtsTargetBucket *bucket;
	Bitmapset *changed;     /* by the lower bits: the statement's */
	Bitmapset *moved;       /* those of them that go elsewhere */
	Bitmapset *overwritten; /* those of them that another point took */
} MtsTarget;

typedef struct MtsTargets MtsTargets;

extern MtsTargets *mts_targets_new(const MtsLayout *layout);
extern void mts_targets_add(MtsTargets *targets, const char *collection,
							const MtsUnfold *unfold, const MtsPoint *point,
							ItemPointer tid);
extern void mts_targets_complete(MtsTargets *targets);
extern MtsTarget *mts_targets_find(const MtsTargets *targets, ItemPointer tid,
								   int *low);
extern bool mts_targets_mark(MtsTargets *targets, Bitmapset **set, int low);

#endif /* MTS_TARGET_H */
