/*
 * merge_private.h
 *		A merge as its files see it.
 */
#ifndef MTS_MERGE_PRIVATE_H
#define MTS_MERGE_PRIVATE_H

#include "merge.h"

#include "lib/pairingheap.h"
#include "utils/sortsupport.h"
#include "utils/tuplesort.h"

#include "skip.h"

/* A column that rows are sorted by */
typedef struct MtsSortColumn
{
	SortSupportData support;
	int place;  /* in what the scan fills */
	int column; /* of the layout */
} MtsSortColumn;

typedef struct MtsRow
{
	MtsTime time;
	Datum *values; /* as the scan fills them */
	bool *nulls;
} MtsRow;

/* The rows of a bucket, sorted */
typedef struct MtsRun
{
	pairingheap_node node;
	MemoryContext memory;
	Size size;
	int n;
	int room;
	int next; /* the first that has not been given */
	MtsRow *rows;
} MtsRun;

struct MtsMerge
{
	MtsScan *scan;
	TupleDesc desc;
	List *order;
	MemoryContext memory; /* of runs, and of the sorter */
	int ncolumns;
	MtsSortColumn *columns;
	int nsorted;      /* so many of them MongoDB has sorted by */
	int nfixed;       /* so many are the same for all that the scan reads */
	bool is_last;     /* does nothing follow these? */
	bool is_by_bound; /* see mts_order_is_by_bound */

	MtsSkip *skip; /* goes from series to series; NULL: all are read */

	pairingheap *runs;
	Size size;      /* of the runs */
	Size largest;   /* of the largest run so far */
	MtsTime bound;  /* buckets to come with the keys of the last one read have
					* no point before it, or, descending, after it */
	bool has_limit; /* of a rolling set: do collections to come leave points
					 * only so far? */
	MtsTime limit;
	bool is_at_end;
	MtsRun *given; /* the run of the row that was given last, or NULL */

	Tuplesortstate *sorter; /* NULL: the runs fit */
	TupleTableSlot *sorted;
	bool is_sorted;   /* does it give rows, rather than take them? */
	MtsRun *greatest; /* the run of the greatest row that it took */
};

/* merge_run.c */
extern int mts_run_compare(const MtsRow *a, const MtsRow *b,
						   const MtsMerge *merge);
extern int mts_run_compare_heads(const pairingheap_node *a,
								 const pairingheap_node *b, void *merge);
extern bool mts_run_is_first(const MtsMerge *merge, const MtsRow *row);
extern MtsRun *mts_run_read(MtsMerge *merge, ExprContext *econtext,
							TupleTableSlot *slot);
extern void mts_run_add(MtsMerge *merge, MtsRun *run);
extern void mts_run_free(MtsMerge *merge, MtsRun *run);
extern void mts_run_fill_slot(const MtsMerge *merge, const MtsRow *row,
							  TupleTableSlot *slot);

/* merge_sort.c */
extern void mts_merge_begin_sorter(MtsMerge *merge, TupleTableSlot *slot);
extern bool mts_merge_next_sorted(MtsMerge *merge, ExprContext *econtext,
								  TupleTableSlot *slot);
extern void mts_merge_end_sorter(MtsMerge *merge);

#endif /* MTS_MERGE_PRIVATE_H */
