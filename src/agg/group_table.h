/*
 * group_table.h
 *		The groups of an aggregation.
 */
#ifndef MTS_GROUP_TABLE_H
#define MTS_GROUP_TABLE_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "agg/agg_spec.h"

/* A group is an array of transition values, by aggregate. */
typedef struct MtsGroupTable
{
	const MtsAggSpec *spec;
	MemoryContext memory; /* of all groups */
	TupleHashTable table; /* NULL without keys: there is one group */
	NullableDatum *only;  /* the one group; NULL with keys or once emitted */

	/* the groups that are emitted */
	TupleHashIterator iterator;
	TupleTableSlot *keys; /* of the group that was emitted last */
} MtsGroupTable;

extern MtsGroupTable *mts_group_table_new(const MtsAggSpec *spec,
										  MemoryContext memory,
										  MemoryContext temporary);
extern void mts_group_table_clear(MtsGroupTable *groups);
extern NullableDatum *mts_group_table_find(MtsGroupTable *groups,
										   TupleTableSlot *keys);
extern bool mts_group_table_is_larger(const MtsGroupTable *groups, Size size);
extern void mts_group_table_emit(MtsGroupTable *groups);
extern const NullableDatum *mts_group_table_next(MtsGroupTable *groups);

#endif /* MTS_GROUP_TABLE_H */
