/*
 * keep.h
 *		Insert points only where none is stored: ON CONFLICT DO NOTHING.
 */
#ifndef MTS_KEEP_H
#define MTS_KEEP_H

#include "postgres.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

#include "writer.h"

typedef struct MtsKeep MtsKeep;

extern MtsKeep *mts_keep_new(MtsWriter *writer, Relation relation, Oid userid);
extern bool mts_keep_insert(MtsKeep *keep, TupleTableSlot *slot);

#endif /* MTS_KEEP_H */
