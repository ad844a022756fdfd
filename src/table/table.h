/*
 * table.h
 *		A foreign table as its options declare it.
 */
#ifndef MTS_TABLE_H
#define MTS_TABLE_H

#include "postgres.h"
#include "access/attnum.h"
#include "foreign/foreign.h"
#include "utils/rel.h"

#include "core/layout/layout.h"
#include "core/layout/rolling_name.h"
#include "table/option.h"
#include "table/type.h"

/* What PostgreSQL knows of a column, beside core's MtsColumn */
typedef struct MtsAttribute
{
	Oid typid;
	int32 typmod;
	bool dropped;
	bool not_null;         /* is it declared so? */
	bool has_role;         /* does an option say what it is? */
	bson_type_t bson_type; /* the option's; EOD: there is none */
	MtsKeyType key_type;
} MtsAttribute;

typedef struct MtsTable
{
	Oid relid;
	Oid serverid;
	const char *database;
	const char *collection; /* of a rolling set: the pattern of the names */
	const MtsRollingName *rolling_name; /* NULL: it is one collection */
	int fetch_size;                     /* buckets a round trip */
	int batch_size;                     /* points a bulk write */
	bool updatable;
	MtsOnInvalid on_invalid;
	bool is_utc;          /* bucket_time_zone */
	const bson_t *filter; /* the option's, or NULL */
	MtsLayout layout;
	MtsAttribute *attributes; /* as layout.columns, by attribute number - 1 */
	const char *problem;      /* why the options don't fit together, or NULL */
	const char *hint;         /* of the problem, or NULL */
} MtsTable;

extern bool mts_table_server_is_ours(const ForeignServer *server);
extern bool mts_table_is_ours(Oid relid);
extern MtsTable *mts_table_open(Relation relation);
extern MtsTable *mts_table_try_open(Relation relation);

#endif /* MTS_TABLE_H */
