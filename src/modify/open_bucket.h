/*
 * open_bucket.h
 *		The bucket of a key that gets its next points.
 */
#ifndef MTS_OPEN_BUCKET_H
#define MTS_OPEN_BUCKET_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "driver/connection.h"
#include "modify/row_target.h"

/* The open bucket of a key, where buckets hold a limited number of points */
typedef struct MtsOpenBucket
{
	bool is_known; /* otherwise, any bucket of the key can have room */
	uint8 *id;     /* the BSON document of its _id, palloc'd; NULL if no bucket
					* has room */
	int64 n;       /* points that it has */
	bool is_new;   /* the statement has made it */
} MtsOpenBucket;

extern void mts_open_bucket_set(MtsOpenBucket *open, const bson_t *id,
								int64 n);
extern int64 mts_open_bucket_room(const MtsOpenBucket *open,
								  const MtsLayout *layout);
extern void mts_open_bucket_find(const MtsTargeting *targeting,
								 MtsConnection *connection, List *writes);

#endif /* MTS_OPEN_BUCKET_H */
