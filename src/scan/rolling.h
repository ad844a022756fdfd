/*
 * rolling.h
 *		The collections of a rolling set that a scan reads.
 */
#ifndef MTS_ROLLING_H
#define MTS_ROLLING_H

#include "scan/source.h"

/* The collections of a set, as a source reads them */
typedef struct MtsRolling
{
	MtsCollections *all; /* NULL until it is listed */
	bool *was_read;      /* by collection of all, in any execution */

	/* those that may hold wanted points, in the order of reading */
	const MtsCollection **chosen;
	int nchosen;
	int next; /* the next one to read */
} MtsRolling;

extern void mts_rolling_attach(MtsBucketSource *source);
extern bool mts_rolling_choose(MtsBucketSource *source, bool may_fail);
extern bool mts_rolling_next(MtsBucketSource *source);
extern List *mts_rolling_chosen_names(const MtsRolling *rolling);
extern List *mts_rolling_read_names(const MtsRolling *rolling);
extern bool mts_rolling_limit(const MtsBucketSource *source, MtsTime *limit);
extern bson_t *mts_rolling_parts(MtsBucketSource *source);
extern bool mts_rolling_begin_part(MtsBucketSource *source, const char *name);

#endif /* MTS_ROLLING_H */
