/*
 * fdw_scan.c
 *		The callbacks that run a scan: its rows, in order, or its groups.
 *
 * The work is done elsewhere: scan/scan.c reads rows, scan/merge.c puts them
 * into order, agg/agg.c aggregates them, and scan/parallel.c divides a scan
 * among the processes of a parallel query.
 */
#include "fdw_scan.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "foreign/foreign.h"

#include "compat.h"
#include "driver/xact.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"
#include "scan/parallel.h"
#include "table/option.h"

/* ---- Rows --------------------------------------------------------------- */

/* mtsBeginForeignScan: prepare; nothing is sent yet. */
void
mtsBeginForeignScan(ForeignScanState *state, int eflags)
{
	ForeignScan *plan = (ForeignScan *) state->ss.ps.plan;
	MtsScanNode *node = palloc0(sizeof(MtsScanNode));

	if (plan->scan.scanrelid == 0)
		node->agg = mts_agg_begin(state, &node->scan);
	else
	{
		List *order = list_nth(plan->fdw_private, MTS_PRIVATE_ORDER);

		node->scan = mts_scan_of_node(state);
		node->scan->spec.initial_batch_size = intVal(
			list_nth(plan->fdw_private, MTS_PRIVATE_INITIAL_BATCH_SIZE));
		if (order)
		{
			node->scan->spec.order =
				mts_sort_order_open(node->scan->table, order);
			node->merge = mts_merge_new(node->scan, state);
		}
	}
	if (!node->agg && plan->scan.plan.qual != NIL &&
		!(node->scan->spec.order && node->scan->spec.order->nseries > 0))
		node->scan->bucket->conditions =
			mts_condition_find(node->scan->table, plan->scan.scanrelid,
							   plan->scan.plan.qual,
							   state->ss.ps.ps_ExprContext);
	node->scan->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
	state->fdw_state = node;
}

/* mtsIterateForeignScan: return the next row, or an empty slot at the end. */
TupleTableSlot *
mtsIterateForeignScan(ForeignScanState *state)
{
	TupleTableSlot *slot = state->ss.ss_ScanTupleSlot;
	MtsScanNode *node = state->fdw_state;
	const MtsCounters *counters;
	int64 removed;

	if (node->agg)
		return mts_agg_next(node->agg, slot);
	ExecClearTuple(slot);
	counters = node->scan->counters;
	removed = counters->removed;
	if (node->merge)
		(void) mts_merge_next(node->merge, slot);
	else if (mts_scan_next(node->scan, slot))
		ExecStoreVirtualTuple(slot);
	InstrCountFiltered1(state, counters->removed - removed);
	return slot;
}

/* mtsReScanForeignScan: begin anew; parameters may have changed. */
void
mtsReScanForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;

	if (node->agg)
		mts_agg_reset(node->agg);
	if (node->merge)
		mts_merge_reset(node->merge);
	mts_scan_reset(node->scan);
}

/* mtsEndForeignScan: close the cursor, and warn of absent fields. */
void
mtsEndForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;

	if (!node)
		return;
	if (node->merge)
		mts_merge_reset(node->merge);
	mts_scan_end(node->scan);
}

/* ---- Parallel scans ----------------------------------------------------- */

static MtsScan *
scan_of(const ForeignScanState *state)
{
	return ((MtsScanNode *) state->fdw_state)->scan;
}

/*
 * mtsIsForeignScanParallelSafe
 *		Tell whether workers may read a table.
 *
 * With on_invalid 'skip', a value that a type's input function refuses takes a
 * subtransaction, which workers cannot start.  Nor do they know the leader's
 * transaction of MongoDB; a plan that was made before it has no workers.
 */
bool
mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
							 RangeTblEntry *rte)
{
	const ForeignTable *table = GetForeignTable(rte->relid);
	List *options =
		list_concat_copy(table->options,
						 GetForeignServer(table->serverid)->options);
	const char *on_invalid = mts_option_get(options, "on_invalid");

	return (!on_invalid || strcmp(on_invalid, "skip") != 0) &&
		   !mts_xact_is_active(table->serverid);
}

/* mtsEstimateDSMForeignScan: divide the buckets to know the shares' size. */
Size
mtsEstimateDSMForeignScan(ForeignScanState *state, ParallelContext *pcxt)
{
	return mts_scan_divide(scan_of(state), pcxt->nworkers + 1);
}

/* mtsInitializeDSMForeignScan: put the shares into shared memory. */
void
mtsInitializeDSMForeignScan(ForeignScanState *state, ParallelContext *pcxt,
							void *coordinate)
{
	MtsScan *scan = scan_of(state);

	mts_parallel_share(scan->source, scan->shares, coordinate);
	if (scan->source->in_xact)
		ReinitializeParallelWorkers(pcxt, 0);
}

/* mtsReInitializeDSMForeignScan: let all shares be read again. */
void
mtsReInitializeDSMForeignScan(ForeignScanState *state, ParallelContext *pcxt,
							  void *coordinate)
{
	mts_parallel_restart(coordinate);
}

/* mtsInitializeWorkerForeignScan: find the shares in shared memory. */
void
mtsInitializeWorkerForeignScan(ForeignScanState *state, shm_toc *toc,
							   void *coordinate)
{
	mts_parallel_attach(scan_of(state)->source, coordinate);
}

/* mtsShutdownForeignScan: add the counters of workers to the leader's. */
void
mtsShutdownForeignScan(ForeignScanState *state)
{
	/* the fdw_state of a direct modification is not an MtsScanNode */
	if (((ForeignScan *) state->ss.ps.plan)->operation == CMD_SELECT &&
		state->fdw_state)
		mts_parallel_detach(scan_of(state)->source);
}
