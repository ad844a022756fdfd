/*
 * parallel.c
 *		Which part of the buckets does a worker read next?
 *
 * The leader divides the buckets of the query (split.c), more finely than
 * there are workers, and puts the split into shared memory.  Whoever has read
 * a part takes the next one.  The parts of a rolling set are its collections.
 */
#include "parallel.h"

#include "foreign/foreign.h"
#include "optimizer/optimizer.h"
#include "port/atomics.h"
#include "storage/shm_toc.h"
#include "utils/memutils.h"

#include "document.h"
#include "rolling.h"
#include "split.h"

/* So many parts for each process: they are not equally large */
#define PARTS_PER_PROCESS 4

#define COUNTERS ((int) (sizeof(MtsCounters) / sizeof(int64)))

/* In shared memory, followed by the split's bytes */
struct MtsParallel
{
	pg_atomic_uint32 next; /* part to be taken */
	uint32 parts;
	uint32 size; /* of the split */

	/* what workers have counted when they end: an MtsCounters */
	pg_atomic_uint64 counters[COUNTERS];
};

/* Read the part that was taken; false when it has nothing that is wanted. */
static bool
take_part(MtsScan *scan, const bson_t *split)
{
	bson_t terms = BSON_INITIALIZER;

	if (scan->rolling)
		return mts_rolling_take(scan, split, scan->part_number);
	mts_split_append(split, scan->part_number, &terms);
	mts_scan_set_part(scan, &terms);
	bson_destroy(&terms);
	return true;
}

/*
 * mts_parallel_next
 *		Have a prepared scan read the next part, or the same one again; false
 *		when all are taken.
 */
bool
mts_parallel_next(MtsScan *scan)
{
	MtsParallel *shared = scan->parallel;
	bson_t split;
	bool found;

	if (!bson_init_static(&split, (uint8 *) (shared + 1), shared->size))
		elog(ERROR, "the split of a parallel scan is no BSON");
	do
	{
		bool is_again = scan->is_again;

		if (!is_again)
			scan->part_number = pg_atomic_fetch_add_u32(&shared->next, 1);
		scan->is_again = false;
		if (scan->part_number >= shared->parts)
		{
			/* so that it never wraps around */
			pg_atomic_write_u32(&shared->next, shared->parts);
			return false;
		}
		found = take_part(scan, &split);
		scan->nparts += found && !is_again;
	} while (!found);
	return true;
}

/*
 * mtsIsForeignScanParallelSafe
 *		May workers read a table?
 *
 * To skip what a type's input function refuses may take a subtransaction,
 * which a worker can't have.
 */
bool
mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
							 RangeTblEntry *rte)
{
	const char *invalid =
		mts_option_get(GetForeignTable(rte->relid)->options, "on_invalid");

	return !invalid || strcmp(invalid, "skip") != 0;
}

/* mtsEstimateDSMForeignScan: divide the buckets, and tell the split's size. */
Size
mtsEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt)
{
	MtsScan *scan = mts_scan_of_state(node);
	int parts = (pcxt->nworkers + 1) * PARTS_PER_PROCESS;
	MemoryContext memory = CurrentMemoryContext;
	bson_t *split;

	mts_scan_prepare(scan, node->ss.ps.ps_ExprContext);

	/* one that was made for other parameters divides these as well */
	if (!scan->split)
	{
		MemoryContext splitting =
			AllocSetContextCreate(memory, "mongo_ts_fdw split",
								  ALLOCSET_SMALL_SIZES);

		MemoryContextSwitchTo(splitting);
		split = !scan->is_possible ? mts_document_new()
				: scan->rolling    ? mts_rolling_split(scan)
								   : mts_split_make(scan, parts);
		MemoryContextSwitchTo(memory);
		scan->split = bson_copy(split);
		mts_document_adopt(scan->split);
		MemoryContextDelete(splitting);
	}
	return sizeof(MtsParallel) + scan->split->len;
}

/* mtsInitializeDSMForeignScan: put the split into shared memory. */
void
mtsInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
							void *coordinate)
{
	MtsScan *scan = mts_scan_of_state(node);
	MtsParallel *shared = coordinate;

	pg_atomic_init_u32(&shared->next, 0);
	for (int i = 0; i < COUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	shared->parts = scan->rolling ? bson_count_keys(scan->split)
								  : mts_split_count(scan->split);
	shared->size = scan->split->len;
	memcpy(shared + 1, bson_get_data(scan->split), scan->split->len);
	scan->parallel = shared;
}

/* mtsReInitializeDSMForeignScan: all parts are to be read again. */
void
mtsReInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt,
							  void *coordinate)
{
	pg_atomic_write_u32(&((MtsParallel *) coordinate)->next, 0);
}

/* mtsInitializeWorkerForeignScan: find the split. */
void
mtsInitializeWorkerForeignScan(ForeignScanState *node, shm_toc *toc,
							   void *coordinate)
{
	mts_scan_of_state(node)->parallel = coordinate;
}

/*
 * mtsShutdownForeignScan
 *		Add what a worker has counted to what the leader shows.
 *
 * The leader's scan is shut down when the workers have ended, unless a LIMIT
 * has had enough before: what they have read by then is not counted.
 */
void
mtsShutdownForeignScan(ForeignScanState *node)
{
	MtsScan *scan;
	MtsParallel *shared;
	int64 *counters;

	/* a direct modify is no scan of ours */
	if (((ForeignScan *) node->ss.ps.plan)->operation != CMD_SELECT ||
		!node->fdw_state)
		return;
	scan = mts_scan_of_state(node);
	shared = scan->parallel;
	counters = (int64 *) &scan->counters;
	if (!shared)
		return;
	scan->parallel = NULL;
	for (int i = 0; i < COUNTERS; i++)
		if (IsParallelWorker())
			pg_atomic_fetch_add_u64(&shared->counters[i], counters[i]);
		else
			counters[i] += pg_atomic_read_u64(&shared->counters[i]);
}
