/*
 * row_id.h
 *		Identify the rows of a scan for a statement that changes them.
 */
#ifndef MTS_ROW_ID_H
#define MTS_ROW_ID_H

#include "postgres.h"
#include "nodes/bitmapset.h"
#include "storage/itemptr.h"

#include "core/bucket/unfold.h"

/* A bucket with rows that have ids */
typedef struct MtsRowIdBucket
{
	bson_value_t id;
	const char *collection; /* of a rolling set; otherwise NULL */
	MtsTime start;
	int64 ordinal; /* in the order of reading, from 0 */
} MtsRowIdBucket;

/*
 * The slots of a bucket whose numbers differ only in their lower bits, and
 * whose texts are equal.  The sets have the lower bits.
 */
typedef struct MtsRowIdRange
{
	MtsRowIdBucket *bucket;
	Bitmapset *changed;     /* slots whose points the statement changes */
	Bitmapset *moved;       /* those of them whose points leave the slot */
	Bitmapset *overwritten; /* those of them that another point enters */
} MtsRowIdRange;

typedef struct MtsRowIds MtsRowIds;

extern MtsRowIds *mts_row_ids_new(const MtsLayout *layout);
extern void mts_row_ids_add(MtsRowIds *ids, const char *collection,
							const MtsUnfold *unfold, const MtsPoint *point,
							ItemPointer tid);
extern void mts_row_ids_complete(MtsRowIds *ids);
extern MtsRowIdRange *mts_row_ids_find(const MtsRowIds *ids, ItemPointer tid,
									   int *low);
extern bool mts_row_ids_mark(MtsRowIds *ids, Bitmapset **set, int low);

#endif /* MTS_ROW_ID_H */
