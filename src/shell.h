/*
 * shell.h
 *		Write buckets that hold no points yet.
 */
#ifndef MTS_SHELL_H
#define MTS_SHELL_H

#include "postgres.h"
#include "executor/tuptable.h"

#include "table.h"

extern int64 mts_shell_write(MtsTable *table, TupleTableSlot *keys,
							 MtsTime from, MtsTime to);

#endif /* MTS_SHELL_H */
