/*
 * encode.h
 *		Makes buckets of points and inserts them, without PostgreSQL: the floor
 *		of an INSERT that does the same work.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <mongoc/mongoc.h>

/* Return a bulk of unordered writes. */
extern mongoc_bulk_operation_t *begin_bulk(mongoc_collection_t *collection);

/* Send a bulk, and return the seconds that this took. */
extern double run_bulk(mongoc_bulk_operation_t *bulk);

extern void die(const char *what, const char *why) __attribute__((noreturn));

/* What has been sent */
typedef struct Total
{
	int64_t documents;
	int64_t bytes;
} Total;

/*
 * Insert the points of a file into a collection, as buckets of a shape of
 * load.c with values of a kind, in bulks of so many documents.  The points are
 * read into memory first, once for each file.
 */
extern void encode_points(mongoc_collection_t *collection, const char *file,
						  const char *shape, const char *kind, int64_t size,
						  Total *total, double *took);

#endif
