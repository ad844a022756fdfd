/*
 * order.h
 *		In which orders can a scan give its rows?
 */
#ifndef MTS_ORDER_H
#define MTS_ORDER_H

#include "postgres.h"
#include "nodes/pathnodes.h"

#include "core/write.h"
#include "table.h"

/*
 * An order as a plan keeps it: lists whose elements are for one column each,
 * and two numbers.
 */
enum MtsOrderPrivate
{
	MTS_ORDER_ATTRIBUTES,  /* integers: attribute numbers */
	MTS_ORDER_OPERATORS,   /* OIDs: of the ordering operators */
	MTS_ORDER_COLLATIONS,  /* OIDs */
	MTS_ORDER_DESCENDING,  /* integers */
	MTS_ORDER_NULLS_FIRST, /* integers: do nulls come first? */
	MTS_ORDER_SORTED,      /* integer: how many of the columns, from the
							* first on, MongoDB sorts by */
	MTS_ORDER_SERIES       /* integer: if not 0, the first row is enough of
							* those with the same values of so many columns */
};

extern bool mts_enable_sort;

extern List *mts_order_make(RelOptInfo *rel, const MtsTable *table,
							List *pathkeys, int series, bool is_loose);
extern bool mts_order_is_by_bound(const MtsTable *table, List *order);
extern List *mts_order_useful(PlannerInfo *root, RelOptInfo *rel,
							  const MtsTable *table);

/* The field of a bucket's time, in MongoDB's order if it is that of times */
typedef struct MtsOrderField
{
	const MtsPath *path;
	const MtsFormat *format;
	char dotted[MTS_MAX_DOTTED + 1];
} MtsOrderField;

extern bool mts_order_time_field(const MtsLayout *layout,
								 MtsOrderField *field);
extern bool mts_order_is_of_keys(const MtsTable *table, List *order, int n);
extern void mts_order_field(const MtsTable *table, List *order, int i,
							char *field, bool *descending);
extern void mts_order_append_sort(const MtsTable *table, List *order,
								  bson_t *sort);

#endif /* MTS_ORDER_H */
