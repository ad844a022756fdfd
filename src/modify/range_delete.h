/*
 * range_delete.h
 *		DELETE of all points in some ranges of time.
 */
#ifndef MTS_RANGE_DELETE_H
#define MTS_RANGE_DELETE_H

#include "driver/bulk.h"
#include "scan/scan.h"

typedef struct MtsRangeDelete
{
	MtsScan *scan;   /* of the points to be removed */
	MtsRanges whole; /* the starts of buckets that lie in the ranges */
	bson_t *filter;  /* that finds those buckets; NULL where none can */
} MtsRangeDelete;

extern bool mts_range_delete_is_possible(const MtsTable *table);
extern MtsRangeDelete *mts_range_delete_new(MtsScan *scan);
extern void mts_range_delete_prepare(MtsRangeDelete *delete);
extern int64 mts_range_delete_execute(MtsRangeDelete *delete,
									  Relation relation);
extern void mts_range_delete_all(MtsBulk *bulk, const bson_t *filter,
								 const char *collection);

#endif /* MTS_RANGE_DELETE_H */
