/*
 * stored.h
 *		What is stored although PostgreSQL's transaction is rolled back.
 */
#ifndef MTS_STORED_H
#define MTS_STORED_H

#include "postgres.h"

/* A table that is written, until PostgreSQL's transaction ends */
typedef struct MtsStoredTable MtsStoredTable;

extern void mts_stored_init(void);
extern const MtsStoredTable *mts_stored_table(Oid serverid, Oid relid);
extern void mts_stored_record(const MtsStoredTable *table, bool is_known);

#endif /* MTS_STORED_H */
