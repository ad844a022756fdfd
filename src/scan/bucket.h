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

/* Which point of a series is wanted of a bucket; others may be left out */
typedef enum MtsExtreme
{
	MTS_EXTREME_NONE, /* all are */
	MTS_EXTREME_ANY,
	MTS_EXTREME_FIRST,
	MTS_EXTREME_LAST
} MtsExtreme;

/* Lets all points of a bucket be read at once; otherwise one by one */
extern bool mts_enable_column_reader;

/* A column that is needed; the others are null in each row */
typedef struct MtsOutput
{
	MtsOutputKind kind;
	int column; /* of the layout */
	MtsFromBson *converter;
	bool was_found; /* a document had its field, or this is not looked for */
} MtsOutput;

/* The values that an output has in points */
typedef struct MtsPointValues
{
	const Datum *values; /* by point; NULL: they are the bucket's own, or keys
						  * of series */
	const bool *missing; /* which are null; NULL: none is */
} MtsPointValues;

/* Points of the open bucket, which are read at a time */
typedef struct MtsPoints
{
	int n;
	int next;             /* that has not been returned as a row */
	TupleTableSlot *slot; /* of the last row: other columns are null there */
	const MtsTime *times;
	MtsPointValues *columns; /* by output */
	const MtsBatch *series;  /* tells the series of points; or NULL */
	bool is_sorted;          /* by series, for an aggregation */
	bool is_checked;         /* all fulfil the conditions */
	bool is_last;            /* the bucket has no points after these */
} MtsPoints;

/* Reads all points of a bucket at once */
typedef struct MtsFastReader
{
	MtsBatch *batch;   /* NULL if points cannot be read so */
	bool takes_memory; /* some values of points are not words */
	int failures;      /* of successive attempts */
	int pause;         /* buckets until the next attempt */
} MtsFastReader;

/* Reads points one after the other, and hears of those that are invalid */
typedef struct MtsCarefulReader
{
	MtsPoint point; /* that was read last */
	int room;       /* for points */
	MtsTime *times;
	Datum **values; /* by output and point; NULL for the bucket's own */
	bool **missing;
	ItemPointerData *row_ids; /* by point, if rows have ids */
} MtsCarefulReader;

/* The keys of the series that a batch knows, as Datums */
typedef struct MtsKeys
{
	const MtsBatch *of;
	MemoryContext context;
	int version;   /* changes when the series are numbered anew */
	int room;      /* for series */
	Datum *values; /* by known series and output */
	bool *nulls;
	bool *are_set; /* by known series: these have been converted */
} MtsKeys;

typedef struct MtsBucket
{
	const MtsTable *table;
	MtsCounters *counters;
	int noutputs;
	MtsOutput *outputs;           /* by column */
	MtsArena arena;               /* of what is reused from bucket to bucket */
	MemoryContext context;        /* of the current bucket's own values */
	MemoryContext points_context; /* of the values of points */

	/* what is asked of buckets; set before the first one */
	MtsRowIds *row_ids;   /* identifies rows to be changed; or NULL */
	bool is_stepwise;     /* the last point that was read is that of the row */
	List *conditions;     /* of points that are read at once */
	MtsExtreme extreme;   /* which point of each series is wanted, if their
							* keys are the bucket's or those of slots */
	bool reads_documents; /* series are of documents, which follow a row */
	bool remembers_series; /* only new series take the aggregation long */
	bool hides_values;     /* the user may not see what is invalid */
	bool has_warned;       /* of what is invalid */

	/* is called for what is invalid, instead of an error or a warning; or
	 * NULL */
	void (*inspect)(struct MtsBucket *bucket, const MtsError *error);
	void *inspector; /* for inspect */

	MtsFastReader by_series; /* for an aggregation */
	MtsFastReader at_once;   /* for rows */
	bool texts_are_keys;     /* of series, when rows are read at once */
	MtsCarefulReader one_by_one;
	MtsKeys keys;

	/* the current bucket, until the next one is opened */
	const MtsCollection *collection; /* that has it */
	const bson_t *document;
	MtsBucketSource *source; /* that it is from */
	Datum *values; /* by column; null unless it is a field of the bucket, or a
					* key of the series of a row */
	bool *nulls;
	int64 ninvalid; /* number of its points that were skipped */
	MtsRange only;  /* the time of mts_bucket_keep_extreme() */
	MtsRanges only_ranges;
	MtsUnfold unfold;
	bool is_begun; /* some of its points have been read */
	MtsPoints points;
	int series;                  /* of the row; or -1 */
	const MtsColumn *converting; /* for the context of errors; or NULL */
	int converting_point;        /* of those that are read at once; or -1 */
} MtsBucket;

extern MtsBucket *mts_bucket_new(const MtsTable *table, const bool *needed,
								 MtsRowIds *row_ids, MtsCounters *counters);
extern bool mts_bucket_open(MtsBucket *bucket, MtsBucketSource *source,
							const bson_t *document);
extern bool mts_bucket_read_more(MtsBucket *bucket);
extern bool mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot);
extern bool mts_bucket_fill_row(const MtsBucket *bucket, MtsTime t,
								TupleTableSlot *slot);
extern void mts_bucket_keep_extreme(MtsBucket *bucket, bool is_last);
extern bool mts_bucket_takes_words(const MtsTable *table, int column);
extern bool mts_bucket_takes_key(const MtsTable *table, int column);
extern bool mts_bucket_read_series(MtsBucket *bucket, const bool *is_value,
								   const bool *is_key, bool remembers_series);
extern void mts_bucket_enter_series(MtsBucket *bucket, int series);
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

/*
 * mts_bucket_points
 *		The points at hand, if some have not been returned as rows; otherwise
 *		more of them, or NULL if the bucket has no more points.
 *
 * They live until the next call that finds no more of them.
 */
static inline MtsPoints *
mts_bucket_points(MtsBucket *bucket)
{
	MtsPoints *points = &bucket->points;

	return points->next < points->n || mts_bucket_read_more(bucket) ? points
																	: NULL;
}

/* Let n points at hand be returned, which are read without their rows. */
static inline void
mts_bucket_take(MtsBucket *bucket, int n)
{
	bucket->points.next += n;
	bucket->counters->points += n;
}

/* The time of the row; unspecified if it is null */
static inline MtsTime
mts_bucket_time(const MtsBucket *bucket)
{
	return bucket->points.times[bucket->points.next - 1];
}

/* The values that a column of an output has in the points at hand */
static inline const MtsPointValues *
mts_bucket_values(const MtsBucket *bucket, const MtsOutput *output)
{
	return &bucket->points.columns[output - bucket->outputs];
}

/* The collection of a bucket of a rolling set; otherwise NULL */
static inline const char *
mts_bucket_of_set(const MtsBucket *bucket)
{
	return bucket->table->rolling_name ? bucket->collection->name : NULL;
}

#endif /* MTS_BUCKET_H */
