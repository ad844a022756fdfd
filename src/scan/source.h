/*
 * source.h
 *		The buckets of a query, one after the other.
 */
#ifndef MTS_SOURCE_H
#define MTS_SOURCE_H

#include "postgres.h"

#include "table/collections.h"
#include "scan/query.h"
#include "driver/cursor.h"

/* What EXPLAIN ANALYZE shows: integers, which parallel scans add up */
typedef struct MtsCounters
{
	int64 buckets;
	int64 points;  /* in the time range, before other conditions */
	int64 skipped; /* invalid points and buckets */
	int64 bytes;   /* of BSON received */
	int64 round_trips;

	/* of a partial aggregation */
	int64 removed;  /* points that local conditions left out */
	int64 answered; /* buckets that pre-aggregates stood for */
} MtsCounters;

typedef struct MtsBucketSource
{
	MtsTable *table;
	Oid userid;
	MtsCounters *counters;
	const MtsQuery *query;                             /* NULL: not begun */
	bool (*next_part)(struct MtsBucketSource *source); /* begins the next part,
									* or returns false; NULL: there is one part */
	struct MtsRolling *rolling; /* the collections of a set, or NULL */
	bool has_chosen;            /* have those of the query been chosen? */

	/* of a parallel scan */
	bson_t *parts;                /* of the leader: an array; see parallel.c */
	struct MtsParallel *parallel; /* NULL if this process reads all */
	uint32 part;                  /* the part that is read */
	int nparts;                   /* number of parts this process has begun */
	bool repeat_part;             /* read the same part again? */

	/* the part that is read */
	MemoryContext memory;
	bool has_begun; /* of a query that has one part */
	const MtsCollection *collection;
	const bson_t *filter;
	MtsCursor *cursor;        /* NULL: the first part is to be opened */
	bool is_at_end;           /* of all parts? */
	struct MtsWindow *window; /* NULL: all are asked for at once */
} MtsBucketSource;

extern MtsBucketSource *mts_source_new(MtsTable *table, Oid userid,
									   MtsCounters *counters);
extern void mts_source_begin(MtsBucketSource *source, const MtsQuery *query);
extern void mts_source_begin_part(MtsBucketSource *source,
								  const MtsCollection *collection,
								  const bson_t *terms);
extern void mts_source_begin_sample(MtsBucketSource *source, double size);
extern bool mts_source_bound(const MtsBucketSource *source, MtsTime *t);
extern const bson_t *mts_source_next(MtsBucketSource *source);
extern const bson_t *mts_source_first(MtsBucketSource *source,
									  const MtsFind *find);
extern const bson_t *mts_source_read_again(MtsBucketSource *source,
										   const bson_t *bucket);
extern void mts_source_append_id(const MtsBucketSource *source,
								 const bson_t *bucket, bson_t *doc,
								 const char *key);

#endif /* MTS_SOURCE_H */
