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
	bool was_written;    /* by the statement */
} MtsBucketWrite;

/*
 * Which forms of a write are tried before the one that is right whatever is
 * stored; see learnt.c.  MTS_TRY_UNLESS_STORED changes what a duplicate key
 * means: the write is not needed.
 */
enum
{
	MTS_TRY_NEW = 1,       /* insert the bucket, unless it was written */
	MTS_TRY_ONCE = 2,      /* use operators, which assume empty slots */
	MTS_TRY_UNREFUSED = 4, /* so that these find nothing, and are not refused,
							* if some slots are not empty */
	MTS_TRY_FOUND = 8,     /* name the open bucket, even if others made it */
	MTS_TRY_UNLESS_STORED = 16
};

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
								const MtsBucketWrite *write, int tried,
								MtsOp *ops);
extern MtsOp mts_bucket_write_preallocate(const MtsTargeting *targeting,
										  MtsTime start,
										  const bson_value_t *values,
										  const char **texts);

#endif /* MTS_BUCKET_WRITE_H */
