/*
 * run.h
 *		The rows of a bucket, sorted.
 */
#ifndef MTS_RUN_H
#define MTS_RUN_H

#include "postgres.h"
#include "lib/pairingheap.h"
#include "utils/sortsupport.h"

#include "pushdown/sort_order.h"
#include "scan/bucket.h"

/* A column by which rows are sorted */
typedef struct MtsRunColumn
{
	SortSupportData support;
	int column; /* of the layout */
	int output; /* of the bucket */
} MtsRunColumn;

/* How the rows of a scan are stored and compared */
typedef struct MtsRunOrder
{
	const MtsBucket *bucket; /* whose outputs are stored */
	TupleDesc desc;
	int ncolumns;
	MtsRunColumn *columns; /* by key of the sort order */
} MtsRunOrder;

typedef struct MtsRow
{
	MtsTime time;  /* unless the time column is null */
	Datum *values; /* by output */
	bool *nulls;
} MtsRow;

typedef struct MtsRun
{
	pairingheap_node node;
	MemoryContext memory; /* of the run */
	Size size;            /* of that memory */
	int n;
	int next; /* the first row that has not been returned */
	MtsRow *rows;
} MtsRun;

extern MtsRunOrder *mts_run_order_new(const MtsBucket *bucket,
									  const MtsSortOrder *order,
									  TupleDesc desc);
extern int mts_run_compare(const MtsRunOrder *order, const MtsRow *a,
						   const MtsRow *b);
extern MtsRun *mts_run_read(const MtsRunOrder *order, MtsBucket *bucket);
extern void mts_run_fill_slot(const MtsRunOrder *order, const MtsRow *row,
							  TupleTableSlot *slot);

static inline int
mts_run_compare_column(const MtsRunColumn *column, const MtsRow *row,
					   Datum value, bool isnull)
{
	return ApplySortComparator(row->values[column->output],
							   row->nulls[column->output], value, isnull,
							   (SortSupport) &column->support);
}

/* The last row of a run that has rows */
static inline const MtsRow *
mts_run_last(const MtsRun *run)
{
	return &run->rows[run->n - 1];
}

#endif /* MTS_RUN_H */
