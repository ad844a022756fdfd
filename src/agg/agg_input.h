/*
 * agg_input.h
 *		What an aggregation reads: counts, rows of roll-ups, headers of
 *		buckets, or buckets.
 */
#ifndef MTS_AGG_INPUT_H
#define MTS_AGG_INPUT_H

#include "agg/agg_rollup.h"
#include "scan/scan.h"

/* What is read of the points of a bucket, or of a part of the query */
typedef enum MtsAggItem
{
	MTS_AGG_END,
	MTS_AGG_COUNT,  /* their number, by MongoDB */
	MTS_AGG_TOTALS, /* the row of a roll-up */
	MTS_AGG_CHANGE, /* nothing: a roll-up has changed while it was read */
	MTS_AGG_HEADER, /* a bucket without them */
	MTS_AGG_BUCKET  /* a bucket with them */
} MtsAggItem;

typedef struct MtsAggInput
{
	MtsScan *scan;

	/* the current item */
	MtsBucket *bucket;     /* of MTS_AGG_HEADER and MTS_AGG_BUCKET */
	const bson_t *counted; /* of MTS_AGG_COUNT: see mts_count_read() */
	MtsRollupScan *rollup; /* of MTS_AGG_TOTALS; its row is filled */

	/* roll-ups, which are read before the points that they leave open */
	List *rollups;       /* of MtsRollupScan, the coarsest first */
	int nread;           /* of these */
	TupleTableSlot *row; /* of the points */
	MemoryContext times; /* of unanswered; reset by each execution */
	MtsRanges
		unanswered; /* the wanted times that no roll-up has answered yet */

	/* the fields of headers, which can replace points; or NULL */
	const MtsField **fields;

	MtsScan *deferred_scan;   /* reads deferred buckets, with their points */
	bool is_reading_deferred; /* it reads a batch now */

	/* the next batch of deferred buckets */
	MemoryContext memory;
	bson_t *ids; /* an array; NULL while there are none */
	int nids;
	const MtsCollection *collection; /* of all of them */
} MtsAggInput;

extern MtsAggInput *mts_agg_input_new(MtsScan *scan);
extern void mts_agg_input_add_counts(MtsAggInput *input);
extern void mts_agg_input_add_rollups(MtsAggInput *input, List *rollups,
									  TupleTableSlot *row);
extern void mts_agg_input_add_headers(MtsAggInput *input,
									  const MtsField **fields, int nfields);
extern void mts_agg_input_refuse_headers(MtsAggInput *input,
										 const char *problem);
extern void mts_agg_input_make_queries(MtsAggInput *input);
extern MtsAggItem mts_agg_input_next(MtsAggInput *input);
extern void mts_agg_input_defer(MtsAggInput *input);
extern void mts_agg_input_begin_again(MtsAggInput *input, MtsAggItem without);
extern void mts_agg_input_reset(MtsAggInput *input);

#endif /* MTS_AGG_INPUT_H */
