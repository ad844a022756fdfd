/*
 * bucket.h
 *		A bucket that has been read: its own columns, and its points as rows.
 */
#ifndef MTS_BUCKET_H
#define MTS_BUCKET_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "convert/from_bson.h"
#include "core/bucket/unfold.h"
#include "scan/source.h"
#include "scan/row_id.h"

/* Where the value of an output comes from */
typedef enum MtsOutputKind
{
	MTS_OUTPUT_TIME,
	MTS_OUTPUT_SLOT,   /* what the key of a slot says */
	MTS_OUTPUT_BUCKET, /* a field of the bucket, the same for all its points */
	MTS_OUTPUT_POINT
} MtsOutputKind;

/* A column of the rows that has a value; the others are null */
typedef struct MtsOutput
{
	MtsOutputKind kind;
	int column;
	MtsFromBson *converter;
} MtsOutput;

/* A bucket of doubles alone, read at once; see core/unfold.h */
typedef struct MtsDoubles
{
	int n;    /* -1: the bucket must be unfolded */
	int next; /* to be given; -1: they have not been looked for */
	double *values;
	int64_t *keys;
} MtsDoubles;

typedef struct MtsBucket
{
	MtsTable *table;
	MtsCounters *counters;
	int noutputs;
	MtsOutput *outputs;    /* by column */
	MtsRowIds *row_ids;    /* numbers the rows, where they are to be changed;
							* otherwise NULL */
	MemoryContext context; /* of the values of the bucket's own columns */
	MemoryContext row_context;
	bool fills_from_doubles; /* are rows filled from doubles where they can? */
	bool has_warned;         /* of what is invalid */

	/* of the current bucket, until the next one is opened */
	const MtsCollection *collection; /* that has it */
	const bson_t *document;          /* NULL: there is none */
	Datum *values; /* by output, of those that are of the bucket */
	bool *nulls;
	int64 ninvalid; /* points of it that were skipped */
	MtsUnfold unfold;
	MtsPoint point;              /* the last one that was given */
	const MtsColumn *converting; /* for the context of errors */
	bool has_point;
	MtsDoubles doubles;
} MtsBucket;

extern MtsBucket *mts_bucket_new(MtsTable *table, const bool *needed,
								 MtsRowIds *row_ids, MtsCounters *counters,
								 MemoryContext row_context);
extern bool mts_bucket_open(MtsBucket *bucket, MtsBucketSource *source,
							const bson_t *document);
extern bool mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot);
extern bool mts_bucket_fill_row(MtsBucket *bucket, MtsTime t,
								TupleTableSlot *slot);
extern int mts_bucket_doubles(MtsBucket *bucket, bool with_keys);
extern bool mts_bucket_is_double(const MtsBucket *bucket,
								 const MtsOutput *output);
extern int mts_bucket_output(const MtsBucket *bucket, int column);
extern MtsFromBson *mts_bucket_converter(const MtsBucket *bucket, int column);

/* The collection of a bucket, if it is one of a rolling set; otherwise NULL */
static inline const char *
mts_bucket_of_set(const MtsBucket *bucket)
{
	return bucket->table->rolling_name ? bucket->collection->name : NULL;
}

#endif /* MTS_BUCKET_H */
