/*
 * twin.h
 *		Documents that are the same bucket.
 */
#ifndef MTS_TWIN_H
#define MTS_TWIN_H

#include <stdint.h>

#include "core/bson/bson.h"

/* What identifies the bucket of a document; all of it is the caller's */
typedef struct MtsTwin
{
	const char *collection;
	const bson_t *values; /* of the fields that identify it, in order */
	const char *id;       /* _id, as text */
} MtsTwin;

/* The documents that are the same bucket as another one */
typedef struct MtsTwins
{
	int64_t documents;
	const MtsTwin *first; /* two of these, or NULL */
	const MtsTwin *second;
} MtsTwins;

extern MtsTwins mts_twin_find(MtsTwin *items, int n);

#endif /* MTS_TWIN_H */
