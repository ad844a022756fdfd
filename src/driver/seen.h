/*
 * seen.h
 *		The documents that a write by a filter was decided by.
 */
#ifndef MTS_SEEN_H
#define MTS_SEEN_H

#include "driver/attempt.h"
#include "driver/transaction.h"

/* Documents of a collection that were read before a write removes them */
typedef struct MtsSeen
{
	const bson_t *filter;     /* finds them; borrowed */
	const bson_t *projection; /* the fields that were read; NULL for all */
	int64 ndocuments;
	uint64 hash;     /* of their bytes, in any order */
	int xact_starts; /* the start of the transaction in which they were read,
					   * as in mts_xact_starts(); 0 outside of it */
} MtsSeen;

extern void mts_seen_add(MtsSeen *seen, const bson_t *document);
extern bool mts_seen_is_equal(const MtsSeen *a, const MtsSeen *b);
extern bson_t *mts_seen_command(const MtsSeen *seen, const MtsAttempt *attempt,
								const char *collection);
extern bool mts_seen_read(const MtsAttempt *attempt,
						  MtsTransaction *transaction, const char *database,
						  const bson_t *command, MtsSeen *seen,
						  bson_error_t *error);

#endif /* MTS_SEEN_H */
