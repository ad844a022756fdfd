/*
 * unseen.h
 *		Warn of columns whose field no document has.
 */
#ifndef MTS_UNSEEN_H
#define MTS_UNSEEN_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "core/bson/bson.h"
#include "table/table.h"

/* The columns whose field no document of a scan had so far */
typedef struct MtsUnseen
{
	int n;
	bool *columns; /* by column of the layout */
} MtsUnseen;

extern MtsUnseen *mts_unseen_new(const MtsTable *table, List *attnums);
extern void mts_unseen_read(MtsUnseen *unseen, const MtsTable *table,
							const bson_t *document);
extern void mts_unseen_report(MtsUnseen *unseen, const MtsTable *table,
							  Oid userid, int64 documents, List *quals);

#endif /* MTS_UNSEEN_H */
