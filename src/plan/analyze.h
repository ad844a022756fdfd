/*
 * analyze.h
 *		ANALYZE of foreign tables: sample their points.
 */
#ifndef MTS_ANALYZE_H
#define MTS_ANALYZE_H

#include "postgres.h"
#include "foreign/fdwapi.h"

#include "core/layout/layout.h"

extern double mts_analyze_sample_size(const MtsLayout *layout, int targrows);
extern bool mtsAnalyzeForeignTable(Relation relation,
								   AcquireSampleRowsFunc *func,
								   BlockNumber *totalpages);

#endif /* MTS_ANALYZE_H */
