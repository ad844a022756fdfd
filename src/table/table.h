/*
 * table.h
 *		A foreign table as its options declare it.
 */
#ifndef MTS_TABLE_H
#define MTS_TABLE_H

#include "postgres.h"
#include "access/attnum.h"
#include "foreign/foreign.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "core/layout/layout.h"
#include "core/layout/rolling_name.h"
#include "table/option.h"
#include "table/type.h"

/* The properties of a column that PostgreSQL knows; core knows MtsColumn */
typedef struct MtsAttribute
{
	Oid typid;
	int32 typmod;
	bool dropped;
	bool not_null;         /* it is declared NOT NULL */
	bool has_role;         /* option role is set */
	bson_type_t bson_type; /* option bson_type; EOD if it is not set */
	MtsKeyType key_type;
} MtsAttribute;

typedef struct MtsTable
{
	Oid relid;
	Oid serverid;
	const char *database;
	const char *collection; /* of a rolling set, the pattern of its names */
	const MtsRollingName *rolling_name; /* NULL for one collection */
	int fetch_size;                     /* buckets per round trip */
	int batch_size;                     /* points per bulk write */
	MtsTransactions transactions;
	bool updatable;
	bool truncatable;
	bool async_capable;
	bool is_consistent; /* option consistency is statement */
	MtsOnInvalid on_invalid;
	bool drops_points; /* older ones than retention may have been removed */
	MtsSpan retention;
	bool is_utc;                    /* bucket_time_zone is UTC */
	const bson_t *filter;           /* option filter, or NULL */
	bool native_buckets;            /* option native_buckets is auto */
	const struct MtsNative *native; /* whose buckets it reads, or NULL */
	const char *other_buckets;  /* the collection that reads its buckets in the
								* other way, or NULL; see native.c */
	const char *native_problem; /* why it reads a time-series collection by its
								 * view, or NULL */
	MtsLayout layout;
	MtsAttribute *attributes; /* as layout.columns, by attribute number - 1 */
	bool is_narrow;           /* the layout has only some of the containers */
	const char *problem; /* why the options contradict each other, or NULL */
	const char *hint;    /* for the problem, or NULL */
} MtsTable;

extern bool mts_table_server_is_ours(const ForeignServer *server);
extern bool mts_table_is_ours(Oid relid);
extern Relation mts_table_open_relation(Oid relid, LOCKMODE lock);
extern char *mts_table_name(Oid relid);
extern AttrNumber mts_table_find_column(Oid relid, const char *name);
extern List *mts_table_texts(ArrayType *array);
extern const MtsTable *mts_table_open(Relation relation);
extern const MtsTable *mts_table_try_open(Relation relation);
extern MtsTable *mts_table_copy(const MtsTable *table);
extern const MtsTable *mts_table_narrow(const MtsTable *table, List *attnums);
extern bool mts_table_joins_xact(const MtsTable *table);
extern bool mts_table_shows_values(const MtsTable *table);

#endif /* MTS_TABLE_H */
