/*
 * group_table.c
 *		Keep the transition values of groups, by the groups' keys.
 *
 * Without keys there is one group, which exists even if it has no points.
 */
#include "agg/group_table.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"

/* The size of a group's transition values, which is not 0 */
static Size
group_size(const MtsGroupTable *groups)
{
	return (groups->spec->naggregates + 1) * sizeof(NullableDatum);
}

static NullableDatum *
start_group(const MtsGroupTable *groups, NullableDatum *group)
{
	for (int i = 0; i < groups->spec->naggregates; i++)
		mts_transition_start(&groups->spec->aggregates[i].transition,
							 &group[i]);
	return group;
}

/* Make the hash table by the keys. */
static void
make_table(MtsGroupTable *groups, MemoryContext temporary)
{
	List *keys = groups->spec->key_exprs;
	int n = list_length(keys);
	TupleDesc desc = ExecTypeFromExprList(keys);
	AttrNumber *numbers = palloc(n * sizeof(AttrNumber));
	Oid *operators = palloc(n * sizeof(Oid));
	Oid *collations = palloc(n * sizeof(Oid));
	Oid *equalities;
	FmgrInfo *hashes;
	ListCell *lc;

	foreach (lc, keys)
	{
		Node *key = lfirst(lc);
		int i = foreach_current_index(lc);

		numbers[i] = i + 1;
		operators[i] =
			lookup_type_cache(exprType(key), TYPECACHE_EQ_OPR)->eq_opr;
		collations[i] = exprCollation(key);
	}
	execTuplesHashPrepare(n, operators, &equalities, &hashes);
	groups->keys = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	groups->table =
		mts_build_hash_table(desc, n, numbers, equalities, hashes, collations,
							 1024, group_size(groups), CurrentMemoryContext,
							 groups->memory, temporary);
}

/*
 * mts_group_table_new
 *		Make an empty table, whose groups live in a memory context that it
 *		resets.
 *
 * Comparisons leave garbage in a temporary context.
 */
MtsGroupTable *
mts_group_table_new(const MtsAggSpec *spec, MemoryContext memory,
					MemoryContext temporary)
{
	MtsGroupTable *groups = palloc0(sizeof(MtsGroupTable));

	groups->spec = spec;
	groups->memory = memory;
	if (spec->nkeys > 0)
		make_table(groups, temporary);
	mts_group_table_clear(groups);
	return groups;
}

/* mts_group_table_clear: remove all groups; the only one starts again. */
void
mts_group_table_clear(MtsGroupTable *groups)
{
	if (groups->table)
		ResetTupleHashTable(groups->table);
	MemoryContextReset(groups->memory);
	if (!groups->table)
		groups->only =
			start_group(groups, MemoryContextAlloc(groups->memory,
												   group_size(groups)));
}

/* mts_group_table_find: find the group of keys, or start it. */
NullableDatum *
mts_group_table_find(MtsGroupTable *groups, TupleTableSlot *keys)
{
	TupleHashEntry entry;
	bool isnew;

	if (!groups->table)
		return groups->only;
	entry = LookupTupleHashEntry(groups->table, keys, &isnew, NULL);
	if (!isnew)
		return mts_hash_additional(groups->table, entry);
	mts_hash_make_additional(entry, groups->memory, group_size(groups));
	return start_group(groups, mts_hash_additional(groups->table, entry));
}

/* mts_group_table_is_larger: tell whether many groups use more memory. */
bool
mts_group_table_is_larger(const MtsGroupTable *groups, Size size)
{
	return groups->table &&
		   MemoryContextMemAllocated(groups->memory, true) > size;
}

/* mts_group_table_emit: begin to emit the groups. */
void
mts_group_table_emit(MtsGroupTable *groups)
{
	if (groups->table)
		InitTupleHashIterator(groups->table, &groups->iterator);
}

/*
 * mts_group_table_next
 *		Emit the next group, and set its keys; NULL at the end.
 */
const NullableDatum *
mts_group_table_next(MtsGroupTable *groups)
{
	NullableDatum *only = groups->only;
	TupleHashEntry entry;

	if (!groups->table)
	{
		groups->only = NULL;
		return only;
	}
	entry = ScanTupleHashTable(groups->table, &groups->iterator);
	if (!entry)
		return NULL;
	ExecStoreMinimalTuple(mts_hash_tuple(entry), groups->keys, false);
	return mts_hash_additional(groups->table, entry);
}
