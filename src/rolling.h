/*
 * rolling.h
 *		The collections of a rolling set that a scan reads.
 */
#ifndef MTS_ROLLING_H
#define MTS_ROLLING_H

#include "bucket.h"

/* A scan's way through the collections of its table's set */
typedef struct MtsRolling
{
	MtsCollections *all; /* NULL: not known yet */
	bool *was_read;      /* by collection */
	int *chosen;         /* the numbers of those that may have what is wanted,
						  * in the order in which they are read */
	int nchosen;         /* -1: not chosen yet */
	int next;            /* of these */
} MtsRolling;

extern MtsRolling *mts_rolling_new(void);
extern void mts_rolling_reset(MtsRolling *rolling);
extern bool mts_rolling_choose(MtsBucketSource *source, bool may_fail);
extern bool mts_rolling_next(MtsBucketSource *source);
extern bool mts_rolling_limit(const MtsBucketSource *source, MtsTime *limit);
extern bool mts_rolling_check_bucket(MtsBucket *bucket, MtsError *error);
extern bool mts_rolling_check_row(MtsBucket *bucket, MtsError *error);

/* for parallel.c */
extern bson_t *mts_rolling_split(MtsBucketSource *source);
extern bool mts_rolling_begin_part(MtsBucketSource *source,
								   const bson_t *split, int part);

#endif /* MTS_ROLLING_H */
