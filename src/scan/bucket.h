/*
 * bucket.h
 *		Convert a bucket, and its points, to rows.
 */
#ifndef MTS_BUCKET_H
#define MTS_BUCKET_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "convert/from_bson.h"
#include "scan/batch_reader.h"
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
	const MtsKeys *keys;     /* of these series */
	int row_series;          /* of the last row; or -1 */
	bool is_sorted;          /* by series, for an aggregation */
	bool is_checked;         /* all fulfil the conditions */
	bool is_last;            /* the bucket has no points after these */
} MtsPoints;

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

struct MtsBucket;

/* What is asked of buckets; set before the first one */
typedef struct MtsBucketSpec
{
	MtsRowIds *row_ids; /* identifies rows to be changed; or NULL */
	bool is_stepwise;   /* the last point that was read is that of the row */
	List *conditions;   /* of points that are read at once */
	MtsExtreme extreme; /* which point of each series is wanted, if their
						 * keys are the bucket's or those of slots */

	/* is called for what is invalid, instead of an error or a warning; or
	 * NULL */
	void (*inspect)(struct MtsBucket *bucket, const MtsError *error);
	void *inspector; /* for inspect */
} MtsBucketSpec;

typedef struct MtsBucket
{
	const MtsTable *table;
	MtsCounters *counters;
	int noutputs;
	MtsOutput *outputs;           /* by column */
	MtsArena arena;               /* of what is reused from bucket to bucket */
	MemoryContext context;        /* of the current bucket's own values */
	MemoryContext points_context; /* of the values of points */
	MtsBucketSpec spec;
	bool hides_values; /* the user may not see what is invalid */
	bool has_warned;   /* of what is invalid */

	MtsBatchReader by_series; /* for an aggregation */
	MtsBatchReader at_once;   /* for rows */
	MtsCarefulReader one_by_one;

	/* the current bucket, until the next one is opened */
	const MtsCollection *collection; /* that has it */
	const bson_t *document;
	MtsBucketSource *source; /* that it is from */
	Datum *values; /* by column; null unless it is a field of the bucket, or a
					* key of the series of a row */
	bool *nulls;
	int64 ninvalid; /* number of its points that were skipped */
	MtsUnfold unfold;
	bool is_begun; /* some of its points have been read */
	MtsPoints points;
	const MtsColumn *converting; /* for the context of errors; or NULL */
	int converting_point;        /* of those that are read at once; or -1 */
} MtsBucket;

extern MtsBucket *mts_bucket_new(const MtsTable *table, const bool *needed,
								 MtsRowIds *row_ids, MtsCounters *counters);
extern bool mts_bucket_open(MtsBucket *bucket, MtsBucketSource *source,
							const bson_t *document);
extern bool mts_bucket_start(MtsBucket *bucket, const bson_t *document);
extern bool mts_bucket_read_more(MtsBucket *bucket);
extern bool mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot);
extern bool mts_bucket_fill_row(const MtsBucket *bucket, MtsTime t,
								TupleTableSlot *slot);
extern void mts_bucket_keep_extreme(MtsBucket *bucket, MtsExtreme extreme);
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

/* Set the document that is read next, as one before it was. */
static inline void
mts_bucket_set_document(MtsBucket *bucket, const bson_t *document)
{
	bucket->document = document;
}

/*
 * Let errors name an output that is converted, or NULL; and the number of a
 * point that was read at once, or -1.
 */
static inline void
mts_bucket_set_converting(MtsBucket *bucket, const MtsOutput *output,
						  int point)
{
	bucket->converting =
		output ? &bucket->table->layout.columns[output->column] : NULL;
	bucket->converting_point = point;
}

/* The collection of a bucket of a rolling set; otherwise NULL */
static inline const char *
mts_bucket_of_set(const MtsBucket *bucket)
{
	return bucket->table->rolling_name ? bucket->collection->name : NULL;
}

#endif /* MTS_BUCKET_H */
