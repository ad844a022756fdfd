/*
 * writable.h
 *		Whether a table can be written.
 */
#ifndef MTS_WRITABLE_H
#define MTS_WRITABLE_H

#include "postgres.h"
#include "nodes/nodes.h"
#include "utils/relcache.h"

#include "table/table.h"

extern void mts_writable_check(const MtsTable *table, Relation relation,
							   CmdType operation);
extern int mts_writable_operations(const MtsTable *table);

#endif /* MTS_WRITABLE_H */
