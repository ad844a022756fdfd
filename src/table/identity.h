/*
 * identity.h
 *		The fields that identify the buckets of a table.
 */
#ifndef MTS_IDENTITY_H
#define MTS_IDENTITY_H

#include "postgres.h"

#include "core/update/change.h"
#include "table/table.h"

/* One of the fields that identify a bucket */
typedef struct MtsIdentityPart
{
	const MtsPath *path;
	int column;         /* the key that gives its value; -1: none does */
	bool is_time;       /* is it the bucket's time? */
	bson_value_t fixed; /* the filter's equality; type 0 (EOD): none.  A
								 * column on its field must be equal to it */
} MtsIdentityPart;

typedef struct MtsIdentity
{
	int n;
	MtsIdentityPart *parts; /* in the columns' order, the filter's first */
	bool is_id;             /* do they lie in _id? */
	int nattributes;
	int *attributes; /* columns written when a bucket is made */
	bson_t *others;  /* terms of the filter that new buckets satisfy */
	bool *read_only; /* by column: does MongoDB or another option fill it? */
	const char *problem; /* why no bucket can be made, or NULL */
	const char *hint;
} MtsIdentity;

extern const char *mts_identity_shape_problem(const MtsTable *table);
extern MtsIdentity *mts_identity_make(const MtsTable *table);
extern void mts_identity_fields(const MtsIdentity *identity,
								const bson_value_t *values,
								const bson_value_t *bucket_time,
								MtsFieldValue *fields);
extern bson_t *mts_identity_selector(const MtsIdentity *identity,
									 const MtsFieldValue *fields);
extern bson_t *mts_identity_partial(const MtsIdentity *identity);

#endif /* MTS_IDENTITY_H */
