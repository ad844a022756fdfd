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
#include "driver/report.h"

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

/* Spool all rows of a scan that has not begun, before a write. */
static bool
read_all(MtsXactReader *reader)
{
	MtsLateScan *scan = (MtsLateScan *) reader;
	const ForeignScan *plan = (ForeignScan *) scan->state->ss.ps.plan;
	ExprContext *econtext = scan->state->ss.ps.ps_ExprContext;
	MemoryContext old;
	TupleTableSlot *slot;

	if (has_unknown((Node *) plan->fdw_exprs, scan) ||
		has_unknown((Node *) plan->scan.plan.qual, scan))
		return false;
	PushActiveSnapshot(scan->state->ss.ps.state->es_snapshot);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	for (slot = scan->next(scan->state); !TupIsNull(slot);
		 slot = scan->next(scan->state))
	{
		bool is_copy;
		MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &is_copy);

		mts_xact_reader_put(reader, &slot->tts_tid, sizeof(slot->tts_tid));
		mts_xact_reader_put(reader, row, row->t_len);
		ResetExprContext(econtext);
	}
	MemoryContextSwitchTo(old);
	PopActiveSnapshot();
	return true;
}

static void
close_reader(void *reader)
{
	mts_xact_reader_close(reader);
}

/*
 * mts_late_scan_new
 *		Have a scan that has not begun read before the transaction writes.
 *
 * It is allocated in the current memory context.  next reads the rows.
 */
MtsLateScan *
mts_late_scan_new(ForeignScanState *state, const MtsTable *table,
				  MtsNextRow next)
{
	MtsLateScan *scan = palloc0(sizeof(MtsLateScan));

	scan->reader =
		(MtsXactReader){.serverid = table->serverid,
						.message = mts_report_reading(table->database,
													  table->collection),
						.read_all = read_all,
						.spool.context = CurrentMemoryContext};
	scan->state = state;
	scan->next = next;
	scan->portal = ActivePortal;
	mts_document_release_with(close_reader, &scan->reader);
	mts_xact_reader_enlist(&scan->reader);
	return scan;
}

/* mts_late_scan_next: fill a slot with the next row; empty at the end. */
void
mts_late_scan_next(MtsLateScan *scan, TupleTableSlot *slot)
{
	uint32 size;
	const void *item = mts_xact_reader_get(&scan->reader, &size);
	ItemPointerData tid;

	ExecClearTuple(slot);
	if (!item)
		return;
	tid = *(const ItemPointerData *) item;
	item = mts_xact_reader_get(&scan->reader, &size);
	ExecForceStoreMinimalTuple((MinimalTuple) item, slot, false);
	slot->tts_tid = tid;
}

/*
 * mts_late_scan_reset
 *		Have the rows that were read returned again; false if the scan must
 *		read, because parameters have changed or nothing was read.
 */
bool
mts_late_scan_reset(MtsLateScan *scan)
{
	if (scan->reader.state == MTS_READER_SPOOLED &&
		!scan->state->ss.ps.chgParam)
	{
		mts_xact_reader_rewind(&scan->reader);
		return true;
	}
	mts_xact_reader_enlist(&scan->reader);
	return false;
}
