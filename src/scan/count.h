/*
 * count.h
 *		Have MongoDB count the rows of a table whose documents are rows.
 */
#ifndef MTS_COUNT_H
#define MTS_COUNT_H

#include "postgres.h"

#include "table/table.h"

extern bool mts_count_refuses(const bson_t *filter);
extern bool mts_count_is_possible(const MtsTable *table, List *attnums,
								  List *quals);
extern bson_t *mts_count_group(const MtsTable *table, const bool *needed,
							   List *quals);
extern bool mts_count_read(const bson_t *counted, int64 *n);

#endif /* MTS_COUNT_H */
