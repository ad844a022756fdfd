/*
 * index.h
 *		The index that finds the buckets of a table.
 */
#ifndef MTS_INDEX_H
#define MTS_INDEX_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "core/query/index_use.h"
#include "driver/connection.h"
#include "table/identity.h"
#include "table/known.h"
#include "table/native.h"

extern const char *mts_index_describe(const MtsTable *table,
									  const MtsIdentity *identity,
									  bson_t *index);
extern const char *mts_index_describe_columns(const MtsTable *table,
											  const MtsIdentity *identity,
											  const List *columns,
											  bson_t *index);
extern const char *mts_index_describe_last(const MtsTable *table,
										   const MtsIdentity *identity,
										   const List *columns, bson_t *index);
extern const char *mts_index_describe_native(const MtsTable *table,
											 const MtsNative *native,
											 const List *columns,
											 bson_t *index);
extern void mts_index_create(MtsConnection *connection, const char *database,
							 const char *collection, const bson_t *index);
extern const char *mts_index_find(MtsConnection *connection,
								  const char *database, const char *collection,
								  const bson_t *index, bool *is_named);
extern MtsIndexFields *mts_index_list(MtsConnection *connection,
									 const char *database,
									 const char *collection, int *n);
extern const char *mts_index_ensure(MtsConnection *connection,
									const char *database,
									const char *collection,
									const bson_t *index);
extern const MtsKnown *mts_index_known(const MtsTable *table, Oid userid);

#endif /* MTS_INDEX_H */
