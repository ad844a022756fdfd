/*
 * precondition.h
 *		Read buckets again, and require that they are written as they were read.
 */
#ifndef MTS_PRECONDITION_H
#define MTS_PRECONDITION_H

#include "postgres.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"

#include "core/update/change.h"
#include "scan/scan.h"

/* Whole buckets that are read again, from the primary */
typedef struct MtsReader
{
	MtsScan *scan;
	MtsBucket *bucket;   /* that was read last */
	TupleTableSlot *row; /* the point that was read last */
} MtsReader;

extern MtsReader *mts_reader_new(MtsTable *table, Oid userid, TupleDesc rows,
								 MtsRowIds *targets);
extern void mts_reader_open(MtsReader *reader, const char *collection,
							const bson_t *filter);
extern bool mts_reader_next_bucket(MtsReader *reader);
extern bool mts_reader_next_point(MtsReader *reader);
extern int mts_reader_find(const MtsReader *reader, MtsChange *const *writes,
						   int n);

extern void mts_precondition_point(const MtsReader *reader,
								   const MtsChange *write, bson_t *selector);
extern void mts_precondition_free(const MtsLayout *layout,
								  const MtsChange *write, bson_t *selector);
extern void mts_precondition_bucket(const MtsLayout *layout,
									const bson_t *bucket, bson_t *selector);

#endif /* MTS_PRECONDITION_H */
