/*
 * source.h
 *		Read the buckets of a query, one after the other.
 */
#ifndef MTS_SOURCE_H
#define MTS_SOURCE_H

#include "postgres.h"

#include "driver/cursor.h"
#include "scan/query.h"
#include "table/collections.h"

/* How an aggregation answers a bucket; see agg/agg_answer.c */
typedef enum MtsWay
{
	MTS_WAY_COUNT,
	MTS_WAY_PREAGGREGATES,
	MTS_WAY_COLUMNS,
	MTS_WAY_POINTS
} MtsWay;
#define MTS_NWAYS 4

/* What EXPLAIN ANALYZE shows; only int64, which parallel.c adds up */
typedef struct MtsCounters
{
	int64 buckets;
	int64 points;  /* in the wanted ranges, before other conditions */
	int64 skipped; /* invalid points and buckets */
	int64 bytes;   /* of BSON received */
	int64 round_trips;
	int64 lacking;    /* buckets without the fields that hold the points */
	int64 by_columns; /* buckets whose points were read at once, by column */
	int64 by_points;  /* buckets whose points were read one by one */

	/* of a partial aggregate */
	int64 removed;             /* points that local conditions removed */
	int64 answered[MTS_NWAYS]; /* buckets, by way; a count is one */
} MtsCounters;

/* The first bucket of a series, read before its part begins */
typedef struct MtsFirstBucket
{
	bson_t *bucket;
	bool has_next; /* next is known */
	MtsTime next;  /* the time of the next bucket is this or comes after it */
} MtsFirstBucket;

typedef struct MtsBucketSource
{
	MtsTable *table;
	Oid userid;
	MtsCounters *counters;
	MtsSnapshot *snapshot; /* what is read; NULL for the latest buckets */
	bool in_xact; /* it reads what PostgreSQL's transaction has written */
	const MtsQuery *query; /* or NULL */

	/* begins the next part, or returns false; NULL if there is one part */
	bool (*next_part)(struct MtsBucketSource *source);

	struct MtsSkipScan *skip_scan; /* or NULL */

	struct MtsRolling *rolling; /* the collections of a rolling set; or NULL */
	bool has_chosen;            /* those of the query have been chosen */

	/* of a parallel scan; see parallel.c */
	bson_t *parts;                /* of the leader: an array; or NULL */
	struct MtsParallel *parallel; /* NULL if this process reads all parts */
	uint32 part;                  /* the current part, from 0 */
	int nparts;                   /* number of parts this process has begun */
	bool repeat_part;             /* the current part is to be read again */

	/* the current part */
	MemoryContext memory;
	bool has_begun; /* the query has begun a part */
	const MtsCollection *collection;
	const bson_t *filter;
	const bson_t *rest; /* the filter of the rest of the part; or NULL */
	const MtsFirstBucket *first; /* is all that has been read; or NULL */
	bool has_returned_first;
	const bson_t *returned;   /* the next bucket, read before; or NULL */
	MtsCursor *cursor;        /* NULL until a part is asked for */
	struct MtsWindow *window; /* NULL if one cursor reads the whole part */
	bool is_at_end;           /* of all parts */
} MtsBucketSource;

extern MtsBucketSource *mts_source_new(MtsTable *table, Oid userid,
									   MtsCounters *counters);
extern void mts_source_begin(MtsBucketSource *source, const MtsQuery *query);
extern void mts_source_begin_part(MtsBucketSource *source,
								  const MtsCollection *collection,
								  const bson_t *terms);
extern void mts_source_begin_first(MtsBucketSource *source,
								   const MtsFirstBucket *first);
extern void mts_source_begin_sample(MtsBucketSource *source, double size);
extern const bson_t *mts_source_next(MtsBucketSource *source);
extern void mts_source_return(MtsBucketSource *source, const bson_t *bucket);
extern bool mts_source_next_time(const MtsBucketSource *source, MtsTime *t);

extern int mts_source_first_batch(const MtsQuery *query);
extern MtsFind mts_source_find(const MtsQuery *query);
extern MtsCursor *mts_source_cursor(const MtsBucketSource *source,
									MtsFind *find);
extern bool mts_source_try_explain(const MtsBucketSource *source,
								   const MtsFind *find, const char *collection,
								   const bson_t **reply);
extern const bson_t *mts_source_first(MtsBucketSource *source,
									  const MtsFind *find);
extern const bson_t *mts_source_read_again(MtsBucketSource *source,
										   const bson_t *bucket);
extern void mts_source_append_id(const MtsBucketSource *source,
								 const bson_t *bucket, bson_t *doc,
								 const char *key);

/* for window.c */
extern void mts_source_open_cursor(MtsBucketSource *source, int limit);
extern const bson_t *mts_source_receive(MtsBucketSource *source);

#endif /* MTS_SOURCE_H */
