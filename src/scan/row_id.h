/*
 * row_id.h
 *		Number the rows of a scan for a statement that changes them.
 */
#ifndef MTS_ROW_ID_H
#define MTS_ROW_ID_H

#include "postgres.h"
#include "nodes/bitmapset.h"
#include "storage/itemptr.h"

#include "core/bucket/unfold.h"

/* A bucket that rows were read from */
typedef struct MtsRowIdBucket
{
	bson_value_t id;
	const char *collection; /* of a rolling set's buckets; else NULL */
	MtsTime start;
	int64 ordinal; /* in the order in which they were read */
} MtsRowIdBucket;

/* Some of its slots: those whose numbers begin alike, of the same texts */
typedef struct MtsRowIdRange
{
	MtsRowIdBucket *bucket;
	Bitmapset *changed;     /* by the lower bits: the statement's */
	Bitmapset *moved;       /* those of them that go elsewhere */
	Bitmapset *overwritten; /* those of them that another point took */
} MtsRowIdRange;

typedef struct MtsRowIds MtsRowIds;

extern MtsRowIds *mts_row_ids_new(const MtsLayout *layout);
extern void mts_row_ids_add(MtsRowIds *row_ids, const char *collection,
							const MtsUnfold *unfold, const MtsPoint *point,
							ItemPointer tid);
extern void mts_row_ids_complete(MtsRowIds *row_ids);
extern MtsRowIdRange *mts_row_ids_find(const MtsRowIds *row_ids,
									   ItemPointer tid, int *low);
extern bool mts_row_ids_mark(MtsRowIds *row_ids, Bitmapset **set, int low);

#endif /* MTS_ROW_ID_H */
