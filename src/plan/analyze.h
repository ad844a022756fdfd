/*
 * analyze.h
 *		ANALYZE of foreign tables: sample their points.
 */
#ifndef MTS_ANALYZE_H
#define MTS_ANALYZE_H

#include "postgres.h"
#include "foreign/fdwapi.h"

extern bool mtsAnalyzeForeignTable(Relation relation,
								   AcquireSampleRowsFunc *func,
								   BlockNumber *totalpages);

#endif /* MTS_ANALYZE_H */
