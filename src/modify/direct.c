/*
 * direct.c
 *		DELETE of a time range: whole buckets at once, points at the edges.
 *
 * All conditions must be decided in MongoDB or by the unfolding.  The scan
 * reads what matches, to count the points and to find the edges; what lies
 * whole in the range is then removed by one command.
 */
#include "modify/modify.h"

#include "access/table.h"
#include "executor/executor.h"
#include "nodes/value.h"
#include "parser/parsetree.h"

#include "compat.h"
#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/document.h"
#include "explain.h"
#include "modify/edit.h"
#include "modify/route.h"
#include "plan/plan.h"
#include "pushdown/shippable.h"
#include "scan/fdw_private.h"
#include "scan/rolling.h"

typedef struct MtsDirect
{
	MtsScan *scan;
	MtsWriter *writer;
	MtsEdits *edits;
	MtsRanges whole; /* starts of the buckets that lie in the ranges */
	bson_t *command; /* the filter that finds these, or NULL */
	bool is_done;
} MtsDirect;

/*
 * The starts of buckets that lie whole in one of the ranges; none where the
 * buckets have no time.
 */
static MtsRanges
whole_buckets(const MtsLayout *layout, const MtsRanges *ranges)
{
	MtsRanges whole = {0, palloc(ranges->n * sizeof(MtsRange))};

	if (!layout->bucket_time.is_set)
		return whole;
	for (int i = 0; i < ranges->n; i++)
	{
		MtsTime to = ranges->items[i].to;

		if (to != MTS_TIME_MAX)
			to = mts_clock_step_back(&layout->clock, to, layout->span);
		if (to != MTS_TIME_MAX && to != MTS_TIME_MIN)
			to++;
		if (ranges->items[i].from < to)
			mts_ranges_add(&whole, ranges->items[i].from, to);
	}
	return whole;
}

/*
 * The filter that finds just these buckets; NULL where there is none.  Dates
 * are compared exactly; of other formats some outside might match.
 */
static bson_t *
whole_filter(const MtsQuery *query, const MtsRanges *whole)
{
	const MtsLayout *layout = &query->table->layout;
	const MtsField *time = &layout->bucket_time;
	bson_t terms = BSON_INITIALIZER, any = BSON_INITIALIZER;
	char path[MTS_MAX_PATH];
	bson_t *filter;

	if (whole->n == 0 || !query->is_possible ||
		time->format.kind != MTS_FORMAT_DATE)
		return NULL;
	mts_path_dotted(time->path.steps, time->path.nsteps, path, sizeof(path));
	for (int i = 0; i < whole->n; i++)
	{
		bson_t ops = BSON_INITIALIZER;

		mts_template_append(&ops, "$type", "'date'");
		mts_format_bounds(&time->format, &layout->clock, whole->items[i],
						  &ops);
		mts_template_append(&any, "", "{%s: %o}", path, &ops);
		bson_destroy(&ops);
	}
	mts_template_push(&terms, whole->n == 1 ? "%b" : "{$or: %a}", &any);
	filter = mts_query_restrict(query->filter, &terms);
	bson_destroy(&any);
	bson_destroy(&terms);
	return filter;
}

/* The only scan of a plan that deletes, if it decides all by itself */
static ForeignScan *
find_scan(ModifyTable *plan, Index rtindex)
{
	ForeignScan *scan = (ForeignScan *) outerPlan(plan);

	if (plan->operation != CMD_DELETE || plan->returningLists != NIL ||
		list_length(plan->resultRelations) != 1 || !IsA(scan, ForeignScan) ||
		scan->scan.scanrelid != rtindex || scan->scan.plan.qual != NIL)
		return NULL;
	return scan;
}

/* mtsPlanDirectModify: can the whole DELETE be done here? */
bool
mtsPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation,
					int subplan_index)
{
	ForeignScan *scan = find_scan(plan, resultRelation);
	RangeTblEntry *rte = planner_rt_fetch(resultRelation, root);
	Relation relation;
	const MtsTable *table;
	bool fits;

	if (!scan)
		return false;
	relation = table_open(rte->relid, NoLock);
	table = mts_plan_table(root, resultRelation, relation);
	mts_modify_check(table, relation, CMD_DELETE);
	/* a document alone is no range; what is preallocated or skipped stays */
	fits = table->layout.nslots > 0 && !table->layout.has_missing &&
		   table->on_invalid != MTS_INVALID_SKIP;
	table_close(relation, NoLock);
	if (!fits)
		return false;
	scan->fdw_private =
		lappend(scan->fdw_private, makeBoolean(plan->canSetTag));
	scan->operation = CMD_DELETE;
	scan->resultRelation = resultRelation;
	return true;
}

/* mtsBeginDirectModify: prepare; nothing is sent yet. */
void
mtsBeginDirectModify(ForeignScanState *node, int eflags)
{
	MtsDirect *direct = palloc0(sizeof(MtsDirect));

	direct->scan = mts_scan_of_node(node);
	direct->scan->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
	node->fdw_state = direct;
}

/* Make the queries, unless they are made. */
static void
prepare(MtsDirect *direct)
{
	MemoryContext old;

	if (direct->scan->query)
		return;
	mts_scan_prepare(direct->scan);
	old = MemoryContextSwitchTo(direct->scan->query_context);
	direct->whole = whole_buckets(&direct->scan->table->layout,
								  &direct->scan->query->ranges);
	direct->command = whole_filter(direct->scan->query, &direct->whole);
	MemoryContextSwitchTo(old);
}

/* Read what is to go: count it, and note the points at the edges. */
static int64
read_points(MtsDirect *direct, TupleTableSlot *slot)
{
	MtsScan *scan = direct->scan;
	int64 n = 0;

	while (mts_scan_next(scan, slot))
	{
		n++;
		ExecStoreVirtualTuple(slot);
		if (!direct->command ||
			!mts_ranges_contain(&direct->whole, scan->bucket->unfold.start))
		{
			Datum row = ExecFetchSlotHeapTupleDatum(slot);

			(void) mts_edits_add(direct->edits, &slot->tts_tid, row, NULL);
			pfree(DatumGetPointer(row));
		}
		ExecClearTuple(slot);
	}
	return n;
}

static void
remove_whole(MtsDirect *direct)
{
	const MtsRolling *rolling = direct->scan->source->rolling;
	int n = rolling ? rolling->nchosen : 1;
	MtsOp *ops = palloc((n + 1) * sizeof(MtsOp));

	if (!direct->command)
		return;
	for (int i = 0; i < n; i++)
	{
		ops[i] = (MtsOp){MTS_OP_DELETE_MANY, direct->command, NULL, 0};
		if (rolling)
			ops[i].collection = rolling->chosen[i]->name;
	}
	mts_route_execute(&direct->writer->bulk, ops, n);
}

/* mtsIterateDirectModify: do it all; there is no row to give. */
TupleTableSlot *
mtsIterateDirectModify(ForeignScanState *node)
{
	MtsDirect *direct = node->fdw_state;
	EState *estate = node->ss.ps.state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);
	Instrumentation *instrument = node->ss.ps.instrument;
	TupleTableSlot *row;
	int64 n;

	ExecClearTuple(slot);
	if (direct->is_done)
		return slot;
	direct->is_done = true;
	prepare(direct);
	direct->writer =
		mts_writer_new(direct->scan->table, direct->scan->spec.userid);
	direct->edits = mts_edits_new(node->ss.ss_currentRelation, direct->writer,
								  direct->scan->spec.userid,
								  direct->scan->bucket->row_ids);
	row =
		MakeSingleTupleTableSlot(RelationGetDescr(node->ss.ss_currentRelation),
								 &TTSOpsVirtual);
	n = read_points(direct, row);
	remove_whole(direct);
	mts_edits_finish(direct->edits);
	ExecDropSingleTupleTableSlot(row);
	if (boolVal(list_nth(((ForeignScan *) node->ss.ps.plan)->fdw_private,
						 MTS_PRIVATE_SET_TAG)))
		estate->es_processed += n;
	if (instrument)
		instrument->tuplecount += n;
	MemoryContextSwitchTo(old);
	return slot;
}

/* mtsEndDirectModify: close the cursor. */
void
mtsEndDirectModify(ForeignScanState *node)
{
	MtsDirect *direct = node->fdw_state;

	if (direct)
		mts_scan_reset(direct->scan);
}

/* mtsExplainDirectModify: the command for whole buckets, and the scan's query */
void
mtsExplainDirectModify(ForeignScanState *node, ExplainState *es)
{
	MtsDirect *direct = node->fdw_state;
	const char *collection;

	if (!mts_explain_is_unknown(node, direct->scan))
		prepare(direct);
	collection = mts_explain_first(direct->scan);
	if (direct->command && collection)
		ExplainPropertyText("MongoDB Delete",
							psprintf("%s.deleteMany(%s)",
									 mts_explain_collection(collection),
									 mts_document_shell(direct->command)),
							es);
	mts_explain_scan(direct->scan, es);
}
