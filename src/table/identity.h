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
	int column;         /* the key column that has its value, or -1 */
	bool is_time;       /* it is the bucket's time */
	bson_value_t fixed; /* the value that the filter requires; of type EOD if
						 * it requires none */
} MtsIdentityPart;

typedef struct MtsIdentity
{
	int n;
	MtsIdentityPart *parts; /* the filter's first, then by column; if they lie
							 * in _id, by column */
	bool is_id;             /* parts lie in _id */
	int nattributes;
	int *attributes; /* columns written only when a bucket is made */
	bson_t *others;  /* other terms of the filter; new buckets match them */
	bool *read_only; /* by column: MongoDB or the writes fill it */
	const char *problem; /* why no row can be inserted, or NULL */
	const char *hint;
} MtsIdentity;

extern const char *mts_identity_shape_problem(const MtsTable *table,
											  const char **hint);
extern MtsIdentity *mts_identity_make(const MtsTable *table);
extern void mts_identity_fields(const MtsIdentity *identity,
								const bson_value_t *values,
								const bson_value_t *bucket_time,
								MtsFieldValue *fields);
extern bson_t *mts_identity_selector(const MtsIdentity *identity,
									 const MtsFieldValue *fields);
extern bson_t *mts_identity_partial(const MtsIdentity *identity);

#endif /* MTS_IDENTITY_H */
