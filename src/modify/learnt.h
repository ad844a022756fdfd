/*
 * learnt.h
 *		What a statement has learnt of the buckets that it writes.
 */
#ifndef MTS_LEARNT_H
#define MTS_LEARNT_H

#include "postgres.h"

#include "modify/bucket_write.h"

/* What became of writes that assumed something */
typedef struct MtsTrial
{
	bool is_due;    /* for this batch */
	bool is_proven; /* most of the last ones were not refused */
	int refused;    /* trials since then */
	int waiting;    /* batches before the next trial */
} MtsTrial;

typedef struct MtsLearnt
{
	const MtsTargeting *targeting;
	MtsBulk *bulk;
	bson_t *indexed; /* {collection: whether a unique index refuses a second
					  * bucket with the same key} */
	MtsTrial new_buckets; /* the buckets do not exist */
	MtsTrial once;        /* otherwise, the slots are empty */
} MtsLearnt;

/* What the next writes of a batch try */
typedef struct MtsGuess
{
	int tried;       /* MTS_TRY_.. */
	int most;        /* writes whose outcome is awaited; 0 for any number */
	MtsTrial *trial; /* to which it belongs, or NULL */
} MtsGuess;

extern void mts_learnt_init(MtsLearnt *learnt, const MtsTargeting *targeting,
							MtsBulk *bulk);
extern void mts_learnt_begin_batch(MtsLearnt *learnt, List *writes,
								   int npoints);
extern MtsGuess mts_learnt_guess(MtsLearnt *learnt, int nwrites);
extern void mts_learnt_record(const MtsGuess *guess, const MtsOp *ops,
							  int nops);

#endif /* MTS_LEARNT_H */
