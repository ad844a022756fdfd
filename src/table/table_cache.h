/*
 * table_cache.h
 *		Keep for the session what the options of tables mean.
 */
#ifndef MTS_TABLE_CACHE_H
#define MTS_TABLE_CACHE_H

#include "table/table.h"

extern const MtsTable *
mts_table_cache_get(Relation relation,
					const MtsTable *(*read)(Relation relation));

#endif /* MTS_TABLE_CACHE_H */
