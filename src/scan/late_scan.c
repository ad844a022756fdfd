/*
 * late_scan.c
 *		Scans that begin after later commands of their transaction.
 *
 * A scan sees what its transaction has written before the command of its
 * snapshot.  MongoDB's transaction shows the latest writes.  A scan can begin
 * after such a write: that of a cursor that was declared before, or the next
 * scan of a query that calls a function.  So it is registered when it is made.
 * Before a write, a scan that has not begun returns all its rows, whatever
 * makes them, and they are spooled.  One that has begun is spooled by its
 * cursor (driver/cursor.c).
 *
 * That requires the values of the parameters of its conditions.  A join sets
 * them later, and so does a subquery, which must not be executed while its
 * query is.  Then the scan is left alone.  It fails if it begins after the
 * transaction has written to its collection.
 */
#include "scan/late_scan.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "driver/document.h"

/* Remove a scan from the list of those that wait, where it is freed. */
static void
leave(void *arg)
{
	MtsLateScan *scan = arg;

	if (scan->late == MTS_LATE_WAITING)
		dlist_delete(&scan->reader.node);
	scan->late = MTS_LATE_NOT;
	mts_spool_close(&scan->spool);
}

/* Tell whether an expression has a parameter that cannot be evaluated. */
static bool
has_unknown(Node *node, void *context)
{
	const MtsLateScan *scan = context;
	const EState *estate = scan->state->ss.ps.state;

	/* subplans are evaluated above the scan */
	if (node == NULL || IsA(node, SubPlan))
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		const ParamExecData *value =
			&estate->es_param_exec_vals[((Param *) node)->paramid];

		return value->execPlan == NULL || !scan->portal ||
			   scan->portal->status != PORTAL_READY;
	}
	return expression_tree_walker(node, has_unknown, context);
}

/* Append a row and its ctid to the spool. */
static void
append_row(MtsLateScan *scan, TupleTableSlot *slot)
{
	bool is_copy;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

	mts_spool_append(&scan->spool, &slot->tts_tid, sizeof(slot->tts_tid));
	mts_spool_append(&scan->spool, &row->t_len, sizeof(row->t_len));
	mts_spool_append(&scan->spool, row, row->t_len);
	if (is_copy)
		pfree(row);
	scan->nrows++;
}

/* Spool all rows of a scan that has not begun, before a write. */
static void
read_all(MtsLateReader *reader)
{
	MtsLateScan *scan = (MtsLateScan *) reader;
	const ForeignScan *plan = (ForeignScan *) scan->state->ss.ps.plan;
	ExprContext *econtext = scan->state->ss.ps.ps_ExprContext;
	MemoryContext old;

	scan->late = MTS_LATE_NOT;
	if (has_unknown((Node *) plan->fdw_exprs, scan) ||
		has_unknown((Node *) plan->scan.plan.qual, scan))
		return;
	/* until all are read, in case of an error */
	scan->late = MTS_LATE_FAILED;
	PushActiveSnapshot(scan->state->ss.ps.state->es_snapshot);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (;;)
	{
		TupleTableSlot *slot;

		ResetExprContext(econtext);
		slot = scan->next(scan->state);
		if (TupIsNull(slot))
			break;
		append_row(scan, slot);
	}
	MemoryContextSwitchTo(old);
	PopActiveSnapshot();
	mts_spool_rewind(&scan->spool);
	scan->nleft = scan->nrows;
	scan->late = MTS_LATE_READ;
}

/* Have the scan read if the transaction writes before it begins. */
static void
enlist(MtsLateScan *scan)
{
	scan->nrows = 0;
	scan->late = MTS_LATE_WAITING;
	mts_cursor_await_write(&scan->reader);
}

/*
 * mts_late_scan_new
 *		Have a scan that has not begun read before the transaction writes.
 *
 * It is allocated in the current memory context.  next reads the rows.
 */
MtsLateScan *
mts_late_scan_new(ForeignScanState *state, Oid serverid, MtsNextRow next)
{
	MtsLateScan *scan = palloc0(sizeof(MtsLateScan));

	scan->reader = (MtsLateReader){.serverid = serverid, .read_all = read_all};
	scan->state = state;
	scan->next = next;
	scan->portal = ActivePortal;
	scan->spool.context = CurrentMemoryContext;
	mts_document_release_with(leave, scan);
	enlist(scan);
	return scan;
}

/*
 * mts_late_scan_begin
 *		Tell whether the rows of a scan have been read; otherwise it begins
 *		now.
 */
bool
mts_late_scan_begin(MtsLateScan *scan)
{
	if (scan->late == MTS_LATE_WAITING)
	{
		dlist_delete(&scan->reader.node);
		scan->late = MTS_LATE_NOT;
	}
	return scan->late != MTS_LATE_NOT;
}

/* mts_late_scan_next: fill a slot with the next row; empty at the end. */
void
mts_late_scan_next(MtsLateScan *scan, TupleTableSlot *slot)
{
	ItemPointerData tid;
	MinimalTuple row;
	uint32 len;

	if (scan->late == MTS_LATE_FAILED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_CURSOR_STATE),
				 errmsg("the rows of a scan could not be kept before the "
						"transaction wrote others"),
				 errhint("Run the transaction again.")));
	ExecClearTuple(slot);
	if (scan->nleft == 0)
		return;
	mts_spool_read(&scan->spool, &tid, sizeof(tid));
	mts_spool_read(&scan->spool, &len, sizeof(len));
	row = palloc(len);
	mts_spool_read(&scan->spool, row, len);
	ExecForceStoreMinimalTuple(row, slot, false);
	slot->tts_tid = tid;
	scan->nleft--;
}

/*
 * mts_late_scan_reset
 *		Have the rows that were read returned again; false if the scan must
 *		read, because parameters have changed or nothing was read.
 */
bool
mts_late_scan_reset(MtsLateScan *scan)
{
	if (scan->late == MTS_LATE_READ && !scan->state->ss.ps.chgParam)
	{
		mts_spool_rewind(&scan->spool);
		scan->nleft = scan->nrows;
		return true;
	}
	if (scan->late == MTS_LATE_WAITING)
		return false;
	mts_spool_close(&scan->spool);
	enlist(scan);
	return false;
}

/* mts_late_scan_end: free the rows. */
void
mts_late_scan_end(MtsLateScan *scan)
{
	leave(scan);
}
