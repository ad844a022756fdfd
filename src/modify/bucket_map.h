/*
 * bucket_map.h
 *		The buckets of a batch, by what identifies them.
 */
#ifndef MTS_BUCKET_MAP_H
#define MTS_BUCKET_MAP_H

#include "postgres.h"
#include "executor/tuptable.h"
#include "utils/hsearch.h"

#include "modify/bucket_write.h"

typedef struct MtsBucketMap
{
	const MtsTargeting *targeting;
	MemoryContext memory;        /* of the entries */
	HTAB *entries;               /* MtsBucketEntry */
	struct MtsBucketEntry *last; /* of the last row, or NULL */

	struct MtsBucketColumn *columns; /* that buckets have */
	int nkeys; /* the first ones, which identify buckets; the others are
				   * attributes, which describe them */
	int ncolumns;

	/* the turns of buckets, in the statement */
	int64 nrows;
	int64 nfirst_turns;
	int64 nlater_turns;
	int64 between_turns; /* rows from a turn to the next one, in all */
} MtsBucketMap;

extern void mts_bucket_map_init(MtsBucketMap *map,
								const MtsTargeting *targeting);
extern void mts_bucket_map_reset(MtsBucketMap *map);
extern MtsBucketWrite *
mts_bucket_map_find(MtsBucketMap *map, TupleTableSlot *slot, MtsTime start);
extern void mts_bucket_map_begin(MtsBucketMap *map, MtsBucketWrite *write,
								 TupleTableSlot *slot);
extern int mts_bucket_map_mark_kept(MtsBucketMap *map);
extern List *mts_bucket_map_begin_batch(MtsBucketMap *map);

#endif /* MTS_BUCKET_MAP_H */
