/*
 * statistics.h
 *		What ANALYZE has stored about a table.
 */
#ifndef MTS_STATISTICS_H
#define MTS_STATISTICS_H

#include "postgres.h"

#include "table/table.h"

extern int mts_statistics_column(const MtsTable *table, const char *field);
extern double mts_statistics_documents(const MtsTable *table);
extern double mts_statistics_distinct(const MtsTable *table, int column);
extern double mts_statistics_null_share(const MtsTable *table, int column);
extern double mts_statistics_time_share(const MtsTable *table,
										const MtsRanges *ranges);

#endif /* MTS_STATISTICS_H */
