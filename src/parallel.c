/*
 * parallel.c
 *		Which part of the buckets does a worker read next?
 *
 * The leader divides the buckets of the query (split.c), more finely than
 * there are workers, and puts the split into shared memory.  Whoever has read
 * a part takes the next one.
 */
#include "parallel.h"

#include "optimizer/optimizer.h"
#include "port/atomics.h"
#include "storage/shm_toc.h"

#include "document.h"
#include "split.h"

/* So many parts for each process: they are not equally large */
#define PARTS_PER_PROCESS 4

/* In shared memory, followed by the split's bytes */
struct MtsParallel
{
	pg_atomic_uint32 next; /* part to be taken */
	uint32 parts;
	uint32 size; /* of the split */

	/* what workers have counted when they end */
	pg_atomic_uint64 buckets;
	pg_atomic_uint64 points;
	pg_atomic_uint64 skipped;
	pg_atomic_uint64 bytes;
	pg_atomic_uint64 round_trips;
};

/*
 * mts_parallel_next
 *		Have a prepared scan read the next part; false when all are taken.
 */
bool
mts_parallel_next(MtsScan *scan)
{
	MtsParallel *shared = scan->parallel;
	uint32 part = pg_atomic_fetch_add_u32(&shared->next, 1);
	bson_t split;
	bson_t terms = BSON_INITIALIZER;

	if (part >= shared->parts)
	{
		/* so that it never wraps around */
		pg_atomic_write_u32(&shared->next, shared->parts);
		return false;
	}
	if (!bson_init_static(&split, (uint8 *) (shared + 1), shared->size))
		elog(ERROR, "the split of a parallel scan is no BSON");
	mts_split_append(&split, part, &terms);
	mts_scan_set_part(scan, &terms);
	bson_destroy(&terms);
	return true;
}

/* Reading takes nothing that a worker can't do. */
bool
mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
							 RangeTblEntry *rte)
{
	return true;
}

/* mtsEstimateDSMForeignScan: divide the buckets, and tell the split's size. */
Size
mtsEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt)
{
	MtsScan *scan = mts_scan_of_state(node);
	int parts = (pcxt->nworkers + 1) * PARTS_PER_PROCESS;

	mts_scan_prepare(scan, node->ss.ps.ps_ExprContext);
	scan->split =
		scan->is_possible ? mts_split_make(scan, parts) : mts_document_new();
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
	pg_atomic_init_u64(&shared->buckets, 0);
	pg_atomic_init_u64(&shared->points, 0);
	pg_atomic_init_u64(&shared->skipped, 0);
	pg_atomic_init_u64(&shared->bytes, 0);
	pg_atomic_init_u64(&shared->round_trips, 0);
	shared->parts = mts_split_count(scan->split);
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
 * The leader's scan is shut down when the workers have ended.
 */
void
mtsShutdownForeignScan(ForeignScanState *node)
{
	MtsScan *scan = mts_scan_of_state(node);
	MtsCounters *counters = &scan->counters;
	MtsParallel *shared = scan->parallel;

	if (!shared)
		return;
	scan->parallel = NULL;
	if (IsParallelWorker())
	{
		pg_atomic_fetch_add_u64(&shared->buckets, counters->buckets);
		pg_atomic_fetch_add_u64(&shared->points, counters->points);
		pg_atomic_fetch_add_u64(&shared->skipped, counters->skipped);
		pg_atomic_fetch_add_u64(&shared->bytes, counters->bytes);
		pg_atomic_fetch_add_u64(&shared->round_trips, counters->round_trips);
		return;
	}
	counters->buckets += pg_atomic_read_u64(&shared->buckets);
	counters->points += pg_atomic_read_u64(&shared->points);
	counters->skipped += pg_atomic_read_u64(&shared->skipped);
	counters->bytes += pg_atomic_read_u64(&shared->bytes);
	counters->round_trips += pg_atomic_read_u64(&shared->round_trips);
}
