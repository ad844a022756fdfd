/*
 * collections.h
 *		The collections of a table.
 */
#ifndef MTS_COLLECTIONS_H
#define MTS_COLLECTIONS_H

#include "postgres.h"

#include "driver/connection.h"
#include "table/table.h"

/* A collection, with the times of its buckets; all times without a set */
typedef struct MtsCollection
{
	const char *name;
	MtsPeriod period;
} MtsCollection;

/* Existing collections, in the order of their times */
typedef struct MtsCollections
{
	int n;
	MtsCollection *items;
} MtsCollections;

extern MtsCollections *mts_collections_list(const MtsTable *table, Oid userid,
											bool may_fail);
extern const MtsCollection *mts_collections_named(const MtsTable *table,
												  const char *name);
extern const char *mts_collections_at(const MtsTable *table, MtsTime t);
extern const char *mts_collections_similar(List *names, const char *name);
extern Oid mts_collections_other_table(const MtsTable *table);
extern bool mts_collections_overlap(const MtsTable *a, const MtsTable *b);

#endif /* MTS_COLLECTIONS_H */
