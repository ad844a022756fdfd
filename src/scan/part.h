/*
 * part.h
 *		The parts in which a query is read.
 */
#ifndef MTS_PART_H
#define MTS_PART_H

#include "postgres.h"

#include "scan/query.h"
#include "table/collections.h"

/* The first bucket of a series, read before the others */
typedef struct MtsFirstBucket
{
	bson_t *bucket;
	bool has_next_time; /* next_time is known */
	MtsTime next_time;  /* the next bucket's time is this or comes after it */
} MtsFirstBucket;

/* Buckets of a collection that match a query.  A part is never changed. */
typedef struct MtsPart
{
	const MtsCollection *collection;
	const bson_t *terms;         /* an array: what they satisfy besides the
								  * query's filter; or NULL */
	const MtsFirstBucket *first; /* or NULL */
	const bson_t *misfits;       /* that of the query, if it is sent with this
								  * part; or NULL */
	int limit;                   /* so many may suffice; 0 to read all */
	bool is_unsorted; /* its documents come before those of sorted parts */
	const MtsRange *starts; /* of its buckets, if it is a window of time; or
							 * NULL */
} MtsPart;

extern List *mts_part_of_collections(const MtsCollections *collections);
extern bool mts_part_is_wanted(const MtsQuery *query,
							   const MtsCollection *collection);
extern List *mts_part_choose(List *parts, const MtsQuery *query);
extern bool mts_part_limit(const MtsQuery *query, const MtsPart *next,
						   MtsTime *limit);
extern MtsTime mts_part_last_time(const MtsLayout *layout, MtsTime start);
extern MtsPart *mts_part_restrict(const MtsPart *part, const bson_t *terms);
extern List *mts_part_of_series(List *parts, const bson_t *terms,
								const MtsFirstBucket *first);
extern List *mts_part_unsorted_first(List *parts, const MtsQuery *query);
extern List *mts_part_names(List *parts);

#endif /* MTS_PART_H */
