/*
 * source.h
 *		Read the buckets of a query, one after the other.
 */
#ifndef MTS_SOURCE_H
#define MTS_SOURCE_H

#include "postgres.h"
#include "port/atomics.h"

#include "driver/cursor.h"
#include "scan/part.h"

/* How an aggregation answers a bucket; see agg/agg_answer.c */
typedef enum MtsWay
{
	MTS_WAY_COUNT,
	MTS_WAY_ROLLUPS,
	MTS_WAY_PREAGGREGATES,
	MTS_WAY_COLUMNS,
	MTS_WAY_POINTS
} MtsWay;
#define MTS_NWAYS 5

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
	int64 answered[MTS_NWAYS]; /* buckets, by way; a count is one, and so
								* is the row of a roll-up */
} MtsCounters;

typedef struct MtsPartReader MtsPartReader;

typedef struct MtsBucketSource
{
	const MtsTable *table;
	Oid userid;
	MtsCounters *counters;
	MtsSnapshot *snapshot; /* what is read; NULL for the latest buckets */
	bool in_xact;     /* it reads what PostgreSQL's transaction has written */
	CommandId before; /* .. in commands before this one; InvalidCommandId for
					   * all */

	/* the parts of the table */
	bool has_collections;
	List *collections; /* of MtsPart, once they are listed */
	List *own_parts;   /* of MtsPart, read instead of these; or NIL */
	pg_atomic_uint32 *next_unclaimed; /* the number of the first part of the
									   * query that no process has claimed; in
									   * shared memory, or NULL */

	/* the parts of the query */
	const MtsQuery *query; /* or NULL */
	bool has_chosen;       /* they are known */
	List *parts;           /* of MtsPart */
	bool is_divided;       /* .. into windows of time, if that helps */
	List *claimed;         /* their numbers, as far as this process has begun
							* them */
	int nbegun;            /* so many of these have been begun since the last
							* restart */

	MtsPartReader *reader;           /* of the current part */
	const MtsCollection *collection; /* of the last bucket */
	bool is_unsorted;                /* the last bucket came before the sorted
									  * ones */
	const bson_t *pushed_back; /* the next bucket, read before; or NULL */
	List *misfits; /* of Misfits, whose answers have not been read */

	bool is_async;      /* its reader can do other work while it waits */
	MtsCursor *awaited; /* it must wait for this, so it has returned no
						 * bucket; or NULL */

	/* what is known of the collection, see mts_source_learn_indexes() */
	bool has_indexes;
	bson_t *indexes;  /* those of MtsKnown, once they are set */
	double documents; /* 0 if not known */

	List *collections_read; /* in any execution */
} MtsBucketSource;

extern MtsBucketSource *mts_source_new(const MtsTable *table, Oid userid,
									   MtsCounters *counters);
extern MtsBucketSource *mts_source_beside(const MtsBucketSource *source);
extern void mts_source_read_command(MtsBucketSource *source, CommandId before);
extern void mts_source_read_all_commands(MtsBucketSource *source);
extern void mts_source_read_snapshot(MtsBucketSource *source,
									 MtsSnapshot *snapshot);
extern void mts_source_read_xact(MtsBucketSource *source, bool in_xact);
extern void mts_source_read_parts(MtsBucketSource *source, List *parts,
								  pg_atomic_uint32 *next_unclaimed);
extern void mts_source_set_indexes(MtsBucketSource *source,
								   const bson_t *indexes, double documents);
extern void mts_source_learn_indexes(MtsBucketSource *source);
extern bool mts_source_list_parts(MtsBucketSource *source, bool may_fail);
extern List *mts_source_read_names(const MtsBucketSource *source);
extern void mts_source_stop(MtsBucketSource *source);
extern void mts_source_reset(MtsBucketSource *source);
extern void mts_source_begin(MtsBucketSource *source, const MtsQuery *query);
extern void mts_source_begin_series(MtsBucketSource *source,
									const bson_t *terms,
									const MtsFirstBucket *first);
extern void mts_source_begin_sample(MtsBucketSource *source, int64 size,
									bool draws_first);
extern const bson_t *mts_source_next(MtsBucketSource *source);
extern void mts_source_ask_misfits(MtsBucketSource *source,
								   const MtsPart *part, const bson_t *filter);
extern const bson_t *mts_source_next_misfit(MtsBucketSource *source);
extern void mts_source_push_back(MtsBucketSource *source,
								 const bson_t *bucket);
extern bool mts_source_next_time(const MtsBucketSource *source, MtsTime *t);
extern bool mts_source_next_limit(const MtsBucketSource *source,
								  MtsTime *limit);

extern MtsFind mts_source_find(const MtsQuery *query);
extern MtsCursor *mts_source_cursor(const MtsBucketSource *source,
									const char *collection, MtsFind *find);
extern MtsCursor *mts_source_aggregate(const MtsBucketSource *source,
									   const char *collection,
									   const bson_t *stages, int fetch_size);
extern bool mts_source_try_explain(const MtsBucketSource *source,
								   const MtsFind *find, const char *collection,
								   const bson_t **reply);
extern const bson_t *mts_source_first(const MtsBucketSource *source,
									  const char *collection,
									  const MtsFind *find);
extern const bson_t *mts_source_read_again(MtsBucketSource *source,
										   const bson_t *bucket);
extern void mts_source_append_id(const MtsBucketSource *source,
								 const bson_t *bucket, bson_t *doc,
								 const char *key);

#endif /* MTS_SOURCE_H */
