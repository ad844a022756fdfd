/*
 * rolling.h
 *		The collections of a rolling set that a scan reads.
 */
#ifndef MTS_ROLLING_H
#define MTS_ROLLING_H

#include "scan/source.h"

/* A scan's way through the collections of its table's set */
typedef struct MtsRolling
{
	MtsCollections *all; /* NULL: not known yet */
	bool *was_read;      /* by collection */
	int *chosen;         /* the numbers of those that may have what is wanted,
						  * in the order in which they are read */
	int nchosen;
	int next; /* of these */
} MtsRolling;

extern void mts_rolling_attach(MtsBucketSource *source);
extern bool mts_rolling_choose(MtsBucketSource *source, bool may_fail);
extern bool mts_rolling_next(MtsBucketSource *source);
extern bool mts_rolling_limit(const MtsBucketSource *source, MtsTime *limit);

/* for parallel.c */
extern bson_t *mts_rolling_split(MtsBucketSource *source);
extern bool mts_rolling_begin_part(MtsBucketSource *source,
								   const bson_t *split, int part);

#endif /* MTS_ROLLING_H */
