/*
 * bucket_write.h
 *		The operations that write one bucket.
 */
#ifndef MTS_BUCKET_WRITE_H
#define MTS_BUCKET_WRITE_H

#include "postgres.h"

#include "driver/bulk.h"
#include "modify/open_bucket.h"
#include "modify/row_target.h"

typedef enum MtsBucketWriteKind
{
	MTS_BUCKET_UPSERT, /* new points; makes the bucket unless it exists */
	MTS_BUCKET_UPDATE, /* new points in a bucket that exists */
	MTS_BUCKET_EDIT,   /* stored points are changed or removed */
	MTS_BUCKET_REMOVE  /* all points are removed, and the bucket with them */
} MtsBucketWriteKind;

/* The writes of a statement to one bucket, or to one flat document */
typedef struct MtsBucketWrite
{
	MtsBucketWriteKind kind;
	const char *collection;
	MtsTime start;        /* of the bucket; the time of a document */
	bson_value_t *values; /* for new points: the values of the bucket's
						   * columns, by column */
	MtsChange **changes;
	int n;
	int room;            /* for changes */
	bool is_unsorted;    /* see mts_bucket_write_sort */
	bson_t *required;    /* extra conditions on the stored bucket, or NULL; for
						  * new points, added to the identifying fields */
	bool is_move;        /* the points were stored elsewhere before */
	int nkept;           /* of the last points, which wait for others */
	MtsOpenBucket *open; /* that gets the first points; NULL where it does not
						  * matter, or cannot be known */
	bool names_found;    /* the update may name it if others have made it */
	bool is_known;       /* the statement has written the bucket before */
	bool is_assumed_new; /* the bucket is inserted whole, if possible */
	bool is_assumed_once; /* otherwise, its slots are empty */
	bool may_be_refused;  /* if these two are wrong; or the transaction is
						   * aborted */
} MtsBucketWrite;

extern void mts_bucket_write_add(const MtsLayout *layout,
								 MtsBucketWrite *write, MtsChange *change);
extern void mts_bucket_write_sort(const MtsLayout *layout,
								  MtsBucketWrite *write);
extern void mts_bucket_write_array_path(const MtsLayout *layout,
										char path[MTS_MAX_PATH]);
extern void mts_bucket_write_require_room(const MtsLayout *layout, int n,
										  bson_t *selector);
extern int mts_bucket_write_most_ops(const MtsLayout *layout,
									 const MtsBucketWrite *write);
extern int mts_bucket_write_ops(const MtsTargeting *targeting,
								const MtsBucketWrite *write, MtsOp *ops);
extern MtsOp mts_bucket_write_preallocate(const MtsTargeting *targeting,
										  MtsTime start,
										  const bson_value_t *values,
										  const char **texts);

#endif /* MTS_BUCKET_WRITE_H */
