/*
 * on_conflict.h
 *		INSERT .. ON CONFLICT DO NOTHING.
 */
#ifndef MTS_ON_CONFLICT_H
#define MTS_ON_CONFLICT_H

#include "modify/bucket_reader.h"
#include "modify/writer.h"

extern void mts_on_conflict_check(const MtsTable *table,
								  OnConflictAction action);
extern bool mts_on_conflict_insert(MtsWriter *writer, MtsBucketReader *reader,
								   TupleTableSlot *slot);

#endif /* MTS_ON_CONFLICT_H */
