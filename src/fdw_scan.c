/*
 * fdw_scan.c
 *		The callbacks that run a scan: its rows, in order, or its groups.
 *
 * The work is done elsewhere: scan/scan.c reads rows, scan/merge.c puts them
 * into order, agg/agg.c aggregates them, and scan/parallel.c divides a scan
 * among the processes of a parallel query.
 *
 * An Append asks the scans of several servers before it waits for one.  It
 * would wait for their sockets.  But libmongoc does not show these, TLS may
 * have read what a socket had, and a server can fall silent.  So no event is
 * registered, and ForeignAsyncNotify is not called.  When the Append has
 * nothing else to do, the last of its scans waits for all of them.
 */
#include "fdw_scan.h"

#include "access/parallel.h"
#include "access/table.h"
#include "executor/execAsync.h"
#include "executor/executor.h"
#include "foreign/fdwapi.h"

#include "compat.h"
#include "driver/xact.h"
#include "plan/plan.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"
#include "scan/parallel.h"
#include "table/table.h"

static MtsScan *
scan_of(const ForeignScanState *state)
{
	return ((MtsScanNode *) state->fdw_state)->scan;
}

/* ---- Rows --------------------------------------------------------------- */

/* Raise the error of a document of another type in a sorted field. */
static void
check_types(ForeignScanState *state)
{
	mts_scan_check_types(scan_of(state), state->ss.ss_ScanTupleSlot);
}

/*
 * Tell whether the error must come before the first row: the rows are written,
 * or a cursor can scroll back to them.  PostgreSQL does not shut down the scan
 * of such a cursor before it is closed.
 */
static bool
must_check_first(const ForeignScanState *state)
{
	const EState *estate = state->ss.ps.state;

	return (estate->es_top_eflags & EXEC_FLAG_BACKWARD) ||
		   estate->es_plannedstmt->commandType != CMD_SELECT ||
		   estate->es_plannedstmt->hasModifyingCTE;
}

/* Read the next row; return an empty slot at the end. */
static TupleTableSlot *
next_row(ForeignScanState *state)
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
	{
		(void) mts_merge_next(node->merge, slot);
		if (node->checks_first)
			check_types(state);
	}
	else if (node->first)
		(void) mts_first_rows_next(node->first, slot);
	else if (mts_scan_next(node->scan, slot))
		ExecStoreVirtualTuple(slot);
	InstrCountFiltered1(state, counters->removed - removed);
	return slot;
}

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
		node->scan->spec.order = mts_sort_order_open(node->scan->table, order);
	}
	node->scan->source->is_async = state->ss.ps.async_capable;
	if (!node->agg && plan->scan.plan.qual != NIL &&
		!(node->scan->spec.order && node->scan->spec.order->nseries > 0))
		node->scan->bucket->spec.conditions =
			mts_condition_find(node->scan->table, plan->scan.scanrelid,
							   plan->scan.plan.qual,
							   state->ss.ps.ps_ExprContext);
	if (node->scan->spec.order && node->scan->spec.order->nfirst > 0)
		node->first = mts_first_rows_new(node->scan, state);
	else if (node->scan->spec.order)
	{
		node->merge = mts_merge_new(node->scan, state);
		node->checks_first = must_check_first(state);
	}
	node->scan->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
	state->fdw_state = node;
	if (node->scan->source->in_xact && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		node->late = mts_late_scan_new(state, node->scan->table, next_row);
}

/* mtsIterateForeignScan: return the next row, or an empty slot at the end. */
TupleTableSlot *
mtsIterateForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;
	TupleTableSlot *slot = state->ss.ss_ScanTupleSlot;

	if (!node->late || !mts_xact_reader_begin(&node->late->reader))
		return next_row(state);
	mts_late_scan_next(node->late, slot);
	return slot;
}

/* mtsReScanForeignScan: begin anew; parameters may have changed. */
void
mtsReScanForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;

	if (node->late && mts_late_scan_reset(node->late))
		return;
	check_types(state);
	if (node->agg)
		mts_agg_reset(node->agg);
	if (node->merge)
		mts_merge_reset(node->merge);
	if (node->first)
		mts_first_rows_reset(node->first);
	mts_scan_reset(node->scan);
}

/* mtsEndForeignScan: close the cursor, and warn of absent fields. */
void
mtsEndForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;

	if (!node)
		return;
	check_types(state);
	if (node->late)
		mts_xact_reader_close(&node->late->reader);
	if (node->merge)
		mts_merge_reset(node->merge);
	if (node->first)
		mts_first_rows_reset(node->first);
	mts_scan_end(node->scan);
}

/* ---- Asynchronous scans ------------------------------------------------- */

/*
 * mtsIsForeignPathAsyncCapable
 *		Tell whether an Append may ask for the rows of a path before it waits.
 *
 * A scan in order reads ahead to merge, and rows that are changed are read as
 * they are written.
 */
bool
mtsIsForeignPathAsyncCapable(ForeignPath *path)
{
	const RelOptInfo *rel = path->path.parent;

	/* see agg_path.c */
	if (rel->relid == 0)
		return boolVal(lfourth(path->fdw_private));
	return path->fdw_private == NIL &&
		   ((const MtsRelInfo *) rel->fdw_private)->is_async;
}

/* mtsForeignAsyncRequest: return the next row, or have the Append wait. */
void
mtsForeignAsyncRequest(AsyncRequest *request)
{
	ForeignScanState *state = (ForeignScanState *) request->requestee;
	TupleTableSlot *slot = state->ss.ps.ExecProcNodeReal(&state->ss.ps);

	if (TupIsNull(slot) && scan_of(state)->source->awaited)
		ExecAsyncRequestPending(request);
	else
		ExecAsyncRequestDone(request, TupIsNull(slot) ? NULL : slot);
}

/*
 * Answer a request that is pending.  Here PostgreSQL only measures the time,
 * so the row is counted.
 */
static void
answer(AsyncRequest *request)
{
	request->callback_pending = false;
	mtsForeignAsyncRequest(request);
	ExecAsyncResponse(request);
	if (request->requestee->instrument)
		InstrUpdateTupleCount(request->requestee->instrument,
							  TupIsNull(request->result) ? 0.0 : 1.0);
}

/*
 * List the cursors that the scans of an Append wait for.  Returns NIL if
 * another foreign-data wrapper has scans that wait, too.
 */
static List *
list_awaited(const AppendState *append)
{
	List *cursors = NIL;
	int i = -1;

	while ((i = bms_next_member(append->as_asyncplans, i)) >= 0)
	{
		const AsyncRequest *request = append->as_asyncrequests[i];
		ForeignScanState *state = (ForeignScanState *) request->requestee;

		if (!request->callback_pending)
			continue;
		if (state->fdwroutine->ForeignAsyncRequest != mtsForeignAsyncRequest)
			return NIL;
		cursors = lappend(cursors, scan_of(state)->source->awaited);
	}
	return cursors;
}

/*
 * mtsForeignAsyncConfigureWait
 *		Answer a pending request if its reply has arrived.
 *
 * If the Append has nothing else to do, the last one waits for a while.  The
 * Append calls again.  If another foreign-data wrapper has scans that wait,
 * the reply is received here, since theirs cannot be waited for together.
 */
void
mtsForeignAsyncConfigureWait(AsyncRequest *request)
{
	const AppendState *append = (const AppendState *) request->requestor;
	MtsCursor *awaited =
		scan_of((ForeignScanState *) request->requestee)->source->awaited;

	if (mts_cursor_must_wait(awaited))
	{
		List *cursors = list_awaited(append);

		if (!append->as_syncdone || append->as_nasyncresults > 0)
			return;
		if (cursors)
		{
			if (llast(cursors) == awaited)
				mts_cursor_wait_any(cursors);
			return;
		}
	}
	answer(request);
}

/* ---- Parallel scans ----------------------------------------------------- */

/*
 * mtsIsForeignScanParallelSafe
 *		Tell whether workers may read a table.
 *
 * With on_invalid 'skip', a value that a type's input function refuses takes a
 * subtransaction, which workers cannot start.  Nor do they know the leader's
 * transaction of MongoDB; a plan that was made before it has no workers.  If
 * workers may scan all its tables, an Append does not ask several servers at
 * once, so none may with async_capable.
 */
bool
mtsIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel,
							 RangeTblEntry *rte)
{
	Relation relation = table_open(rte->relid, NoLock);
	const MtsTable *table = mts_table_try_open(relation);

	table_close(relation, NoLock);
	return table->on_invalid != MTS_INVALID_SKIP && !table->async_capable &&
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

/*
 * mtsShutdownForeignScan
 *		Check that no document of another type was missed, when PostgreSQL
 *		wants no more rows, and add the counters of workers to the leader's.
 *		A cursor may go on later.
 */
void
mtsShutdownForeignScan(ForeignScanState *state)
{
	/* the fdw_state of a direct modification is not an MtsScanNode */
	if (((ForeignScan *) state->ss.ps.plan)->operation != CMD_SELECT ||
		!state->fdw_state)
		return;
	check_types(state);
	mts_parallel_detach(scan_of(state)->source);
}
