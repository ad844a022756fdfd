/*
 * index_skip.h
 *		The term by which MongoDB skips in an index.
 */
#ifndef MTS_INDEX_SKIP_H
#define MTS_INDEX_SKIP_H

#include "postgres.h"

#include "core/query/index_use.h"
#include "scan/query.h"

extern void mts_index_skip_add(MtsQuery *query, const bson_t *indexes,
							   double documents);

#endif /* MTS_INDEX_SKIP_H */
