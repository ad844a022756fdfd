/*
 * sort_order.h
 *		The order of a scan's rows, and MongoDB's sort that serves it.
 */
#ifndef MTS_SORT_ORDER_H
#define MTS_SORT_ORDER_H

#include "postgres.h"
#include "nodes/pg_list.h"

#include "table/table.h"

/* A field whose values MongoDB sorts as the times that they are */
typedef struct MtsOrderField
{
	const MtsPath *path;
	const MtsFormat *format;
	const char *dotted;
} MtsOrderField;

/* A column by which a scan's rows are sorted */
typedef struct MtsSortKey
{
	int column; /* of the layout */
	Oid opno;
	Oid collation;
	bool descending;
	bool nulls_first;
	const char *field; /* that MongoDB sorts by; set in the first nsorted keys
						* only */
} MtsSortKey;

/*
 * The order of a scan's rows.
 *
 * MongoDB sorts the buckets by the first nsorted keys.  If nseries is not 0,
 * the first nseries keys identify series, and the scan may return only the
 * first row of each series.  If nfirst is not 0, the first nfirst keys do so,
 * but all buckets are read, in any order; the next key is the time, if there
 * is one.
 */
typedef struct MtsSortOrder
{
	int nkeys;
	MtsSortKey *keys;
	int nsorted;
	int nseries;
	int nfirst;
	int series_direction; /* 0 for one series after the other; otherwise the
						   * first buckets of many are asked for at once, and
						   * 1 or -1 is the direction of their index */
	bool is_by_bound; /* the last of the nsorted keys is sorted by a declared
					   * bound, which changes when a point is added */
	const MtsField *extreme; /* that bound, if the only sorted key is a value
							  * of the points; otherwise NULL */
	bool has_time;           /* the last of the nsorted keys is the time */
	MtsOrderField time;
} MtsSortOrder;

extern bool mts_sort_order_is_of_keys(const MtsSortOrder *order,
									  const MtsTable *table, int n);
extern bool mts_sort_order_time_field(const MtsLayout *layout,
									  MtsOrderField *field);
extern bool mts_sort_order_bound_field(const MtsLayout *layout,
									   bool descending, MtsOrderField *field);
extern MtsDecoded mts_sort_order_read_time(const MtsOrderField *field,
										   const MtsClock *clock,
										   const bson_t *bucket, MtsTime *t);
extern MtsSortOrder *mts_sort_order_open(const MtsTable *table, List *plan);
extern bson_t *mts_sort_order_series_terms(const MtsSortOrder *order,
										   int nkeys);
extern void mts_sort_order_append_sort(const MtsSortOrder *order,
									   bson_t *sort);

#endif /* MTS_SORT_ORDER_H */
