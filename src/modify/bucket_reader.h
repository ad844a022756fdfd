/*
 * bucket_reader.h
 *		Buckets that a statement reads again before it writes them.
 */
#ifndef MTS_BUCKET_READER_H
#define MTS_BUCKET_READER_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "modify/bucket_write.h"
#include "scan/scan.h"
#include "table/identity.h"

/* Reads all columns of buckets, from the primary */
typedef struct MtsBucketReader
{
	MtsScan *scan;
	MtsBucket *bucket;   /* that was read last */
	TupleTableSlot *row; /* the point that was read last */
} MtsBucketReader;

extern MtsBucketReader *mts_bucket_reader_new(const MtsTable *table,
											  Oid userid, TupleDesc rows,
											  MtsRowIds *row_ids);
extern void mts_bucket_reader_open(MtsBucketReader *reader,
								   const char *collection,
								   const bson_t *filter);
extern bool mts_bucket_reader_next_bucket(MtsBucketReader *reader);
extern bool mts_bucket_reader_next_point(MtsBucketReader *reader);
extern int mts_bucket_reader_find_change(const MtsBucketReader *reader,
										 const MtsBucketWrite *write);
extern void mts_bucket_reader_require_point(const MtsBucketReader *reader,
											const MtsChange *change,
											bson_t *selector);
extern bool mts_bucket_reader_can_require_free(const MtsLayout *layout);
extern void mts_bucket_reader_require_free(const MtsLayout *layout,
										   const MtsChange *change,
										   bson_t *selector);
extern void mts_bucket_reader_require_bucket(const MtsLayout *layout,
											 const bson_t *bucket,
											 bson_t *selector);
extern void mts_bucket_reader_require_identity(const MtsBucketReader *reader,
											   const MtsIdentity *identity,
											   bson_t *selector);

#endif /* MTS_BUCKET_READER_H */
