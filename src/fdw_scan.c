/*
 * fdw_scan.c
 *		The callbacks that run a scan: its rows, in order, or its groups.
 */
#include "fdw_scan.h"

#include "executor/executor.h"

#include "compat.h"
#include "pushdown/sort_order.h"
#include "scan/fdw_private.h"

/* mtsBeginForeignScan: prepare, sending nothing. */
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
		node->scan->spec.first_batch =
			intVal(list_nth(plan->fdw_private, MTS_PRIVATE_FIRST_BATCH));
		if (order)
		{
			node->scan->spec.order =
				mts_sort_order_open(node->scan->table, order);
			node->merge = mts_merge_new(node->scan, state);
		}
	}
	node->scan->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
	state->fdw_state = node;
}

/* mtsIterateForeignScan: the next row, or an empty slot at the end. */
TupleTableSlot *
mtsIterateForeignScan(ForeignScanState *state)
{
	TupleTableSlot *slot = state->ss.ss_ScanTupleSlot;
	MtsScanNode *node = state->fdw_state;

	if (node->agg)
		return mts_agg_next(node->agg, slot);
	ExecClearTuple(slot);
	if (node->merge)
		(void) mts_merge_next(node->merge, slot);
	else if (mts_scan_next(node->scan, slot))
		ExecStoreVirtualTuple(slot);
	return slot;
}

/* mtsReScanForeignScan: begin anew, perhaps with other parameters. */
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

/* mtsEndForeignScan: close the cursor. */
void
mtsEndForeignScan(ForeignScanState *state)
{
	MtsScanNode *node = state->fdw_state;

	if (!node)
		return;
	if (node->merge)
		mts_merge_reset(node->merge);
	mts_scan_reset(node->scan);
}
