/*
 * valueless.h
 *		Whether rows without values of a point matter to a scan.
 */
#ifndef MTS_VALUELESS_H
#define MTS_VALUELESS_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "table/table.h"

extern bool mts_valueless_matter(const MtsTable *table, Index varno,
								 List *attnums, List *clauses, List *output);

#endif /* MTS_VALUELESS_H */
