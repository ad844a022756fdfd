/*
 * bucket.h
 *		Convert a bucket, and its points, to rows.
 */
#ifndef MTS_BUCKET_H
#define MTS_BUCKET_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "convert/from_bson.h"
#include "core/bucket/batch.h"
#include "scan/condition.h"
#include "scan/row_id.h"
#include "scan/source.h"

/* Where the values of a column come from */
typedef enum MtsOutputKind
{
	MTS_OUTPUT_BUCKET, /* a field of the bucket, the same for all points */
	MTS_OUTPUT_TIME,
	MTS_OUTPUT_SLOT, /* the key of a slot */
	MTS_OUTPUT_POINT /* a field of the point */
} MtsOutputKind;

/* How the points of a bucket are read */
typedef enum MtsPointsState
{
	MTS_POINTS_UNREAD,   /* that is not decided yet */
	MTS_POINTS_IN_BATCH, /* all at once, by column */
	MTS_POINTS_UNFOLDED  /* one after the other */
} MtsPointsState;

/* Which point of a series is wanted of a bucket; others may be left out */
typedef enum MtsExtreme
{
	MTS_EXTREME_NONE, /* all are */
	MTS_EXTREME_ANY,
	MTS_EXTREME_FIRST,
	MTS_EXTREME_LAST
} MtsExtreme;

/* Lets all points of a bucket be read at once */
extern bool mts_enable_column_reader;

/* A column that is needed; the others are null in each row */
typedef struct MtsOutput
{
	MtsOutputKind kind;
	int column; /* of the layout */
	MtsFromBson *converter;
	bool was_found; /* a document had its field, or this is not looked for */
} MtsOutput;

typedef struct MtsBucket
{
	const MtsTable *table;
	MtsCounters *counters;
	int noutputs;
	MtsOutput *outputs;    /* by column */
	MtsArena arena;        /* of what is reused from bucket to bucket */
	MtsRowIds *row_ids;    /* identifies rows to be changed; or NULL */
	MemoryContext context; /* of the current bucket's own values */
	MemoryContext row_context;
	MtsBatch *row_batch;    /* reads the columns of rows; or NULL */
	MtsBatch *series_batch; /* those of an aggregation, by series; or NULL */
	MtsBatch *next_batch;   /* which of these reads the next buckets; NULL if
							 * points are unfolded */
	bool reads_documents;   /* series are of documents, which follow a row */
	List *conditions;       /* of points that are read by columns */
	MtsExtreme extreme;     /* which point of each series is wanted, if their
							 * keys are the bucket's or those of slots */
	bool has_warned;        /* of what is invalid */
	bool hides_values;      /* the user may not see what is invalid */

	/* is called for what is invalid, instead of an error or a warning; or
	 * NULL */
	void (*inspect)(struct MtsBucket *bucket, const MtsError *error);
	void *inspector; /* for inspect */

	/* the current bucket, until the next one is opened */
	const MtsCollection *collection; /* that has it */
	const bson_t *document;
	MtsBucketSource *source; /* that it is from */
	Datum *values; /* by column; null unless it is a field of the bucket */
	bool *nulls;
	int64 ninvalid; /* number of its points that were skipped */
	MtsRange only;  /* the time of mts_bucket_keep_extreme() */
	MtsRanges only_ranges;
	MtsUnfold unfold;
	MtsPoint point;              /* of the last row */
	const MtsColumn *converting; /* for the context of errors; or NULL */

	/* all of its points, if they are read at once; words are Datums */
	MtsPointsState points;
	MtsBatch *batch;
	int next_of_batch; /* the point of the next row */
	int current_series;
	Datum *keys; /* of the series, by series and output */
	bool *key_nulls;
	int failures; /* of successive buckets to be read at once */
} MtsBucket;

extern MtsBucket *mts_bucket_new(const MtsTable *table, const bool *needed,
								 MtsRowIds *row_ids, MtsCounters *counters,
								 MemoryContext row_context);
extern bool mts_bucket_open(MtsBucket *bucket, MtsBucketSource *source,
							const bson_t *document);
extern bool mts_bucket_take_batch(MtsBucket *bucket);
extern bool mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot);
extern bool mts_bucket_fill_row(const MtsBucket *bucket, MtsTime t,
								TupleTableSlot *slot);
extern void mts_bucket_keep_extreme(MtsBucket *bucket, bool is_last);
extern bool mts_bucket_takes_words(const MtsTable *table, int column);
extern bool mts_bucket_takes_key(const MtsTable *table, int column);
extern bool mts_bucket_read_series(MtsBucket *bucket, const bool *is_value,
								   const bool *is_key);
extern const MtsBatch *mts_bucket_series(MtsBucket *bucket);
extern void mts_bucket_enter_series(MtsBucket *bucket, int series);
extern const Datum *mts_bucket_batch_column(const MtsBucket *bucket,
											const MtsOutput *output,
											const bool **missing);
extern const MtsOutput *mts_bucket_output(const MtsBucket *bucket, int column);
extern MtsFromBson *mts_bucket_converter(const MtsBucket *bucket, int column);

extern MtsTime mts_bucket_last_time(const MtsLayout *layout, MtsTime start);

/* Tell whether a time is wanted rather than another one of a series. */
static inline bool
mts_bucket_comes_first(MtsExtreme extreme, MtsTime t, MtsTime other)
{
	switch (extreme)
	{
		case MTS_EXTREME_FIRST:
			return t < other;
		case MTS_EXTREME_LAST:
			return t > other;
		default:
			return false;
	}
}

/* The collection of a bucket of a rolling set; otherwise NULL */
static inline const char *
mts_bucket_of_set(const MtsBucket *bucket)
{
	return bucket->table->rolling_name ? bucket->collection->name : NULL;
}

#endif /* MTS_BUCKET_H */
