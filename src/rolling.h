/*
 * rolling.h
 *		Which collections of a rolling set does a scan read, and when?
 */
#ifndef MTS_ROLLING_H
#define MTS_ROLLING_H

#include "scan.h"

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
extern bool mts_rolling_choose(MtsScan *scan, bool may_fail);
extern bool mts_rolling_next(MtsScan *scan);
extern bool mts_rolling_limit(const MtsScan *scan, MtsTime *limit);
extern bool mts_rolling_check_bucket(MtsScan *scan, MtsError *error);
extern bool mts_rolling_check_row(MtsScan *scan, MtsError *error);

/* for parallel.c */
extern bson_t *mts_rolling_split(MtsScan *scan);
extern bool mts_rolling_take(MtsScan *scan, const bson_t *split, int part);

#endif /* MTS_ROLLING_H */
