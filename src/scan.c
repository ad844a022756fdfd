/*
 * scan.c
 *		Make the query of a plan's scan; row.c reads what it matches.
 *
 * Memory: the query lives until a rescan with other parameters, the values of
 * a bucket's columns until the next bucket, a point's until the next row.  A
 * cursor hangs on the query's context, so an error closes it.
 */
#include "scan.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "core/header.h"
#include "core/projection.h"
#include "core/filter.h"
#include "core/terms.h"
#include "document.h"
#include "fold.h"
#include "merge.h"
#include "order.h"
#include "plan.h"
#include "pushdown.h"
#include "rolling.h"
#include "row_doubles.h"

static void *
resize(void *memory, size_t size)
{
	return memory ? repalloc(memory, size) : palloc(size);
}

/* Which columns the query looks at; NULL in the list is the whole row */
static void
mark_needed(MtsScan *scan, List *attnums)
{
	const MtsLayout *layout = &scan->table->layout;
	bool all = scan->table->on_invalid == MTS_INVALID_SKIP ||
			   list_member_int(attnums, 0);
	ListCell *lc;

	/* what is skipped may not depend on which columns a query names */
	for (int i = 0; i < layout->ncolumns; i++)
		scan->needed[i] = all;
	foreach (lc, attnums)
	{
		int column = mts_table_column(scan->table, lfirst_int(lc));

		if (column >= 0)
			scan->needed[column] = true;
	}
	/* a document of a set is looked at for where it belongs */
	if (scan->table->set && layout->time_kind == MTS_TIME_FLAT)
		scan->needed[layout->time_column] = true;
}

/*
 * mts_scan_new
 *		Prepare to read attributes of a table; nothing is sent yet.
 *
 * Memory is the current context's.
 */
MtsScan *
mts_scan_new(MtsTable *table, Oid userid, List *attnums)
{
	MtsScan *scan = palloc0(sizeof(MtsScan));
	int n = table->layout.ncolumns;

	scan->table = table;
	scan->userid = userid;
	if (!table->set)
		scan->collection = mts_collection_named(table, table->collection);
	scan->needed = palloc0(n * sizeof(bool));
	scan->converters = palloc0(n * sizeof(MtsConverter *));
	scan->values = palloc0(n * sizeof(Datum));
	scan->nulls = palloc0(n * sizeof(bool));
	scan->point.cells =
		palloc0((table->layout.ncontainers + 1) * sizeof(MtsElement));
	mark_needed(scan, attnums);
	scan->filled = palloc(table->natts * sizeof(int));
	for (int i = 0; i < table->natts; i++)
		if (table->columns[i] >= 0 && scan->needed[table->columns[i]])
			scan->filled[scan->nfilled++] = i;
	for (int i = 0; i < n; i++)
		if (scan->needed[i])
			scan->converters[i] = mts_convert_prepare(table, i);
	if (list_member_int(attnums, SelfItemPointerAttributeNumber))
		scan->targets = mts_targets_new(&table->layout);
	scan->on_primary = scan->targets != NULL;
	scan->query_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw query",
							  ALLOCSET_DEFAULT_SIZES);
	scan->bucket_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw bucket",
							  ALLOCSET_DEFAULT_SIZES);
	mts_unfold_init(&scan->unfold, &table->layout, &scan->ranges, resize);
	return scan;
}

/*
 * mts_scan_of_plan
 *		Prepare to run a plan's query: of this relation, by these clauses.
 */
MtsScan *
mts_scan_of_plan(ForeignScanState *node, Relation relation, Index varno,
				 List *clauses)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Oid userid = mts_scan_user(node);
	MtsScan *scan =
		mts_scan_new(mts_table_open(relation),
					 OidIsValid(userid) ? userid : GetUserId(),
					 list_nth(plan->fdw_private, MTS_PRIVATE_NEEDED));
	ListCell *lc;

	foreach (lc, clauses)
	{
		MtsTest *test = mts_pushdown_clause(scan->table, varno, lfirst(lc));

		if (!test)
			elog(ERROR, "a clause of the plan does not go down");
		mts_evaluate_init(test, &node->ss.ps);
		scan->tests = lappend(scan->tests, test);
	}
	if (scan->table->set)
		scan->rolling = mts_rolling_new();
	return scan;
}

/*
 * mts_scan_of_node
 *		Prepare to run the query of a plan's scan of a table.
 */
MtsScan *
mts_scan_of_node(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;

	return mts_scan_of_plan(node, node->ss.ss_currentRelation,
							plan->scan.scanrelid, plan->fdw_exprs);
}

/* A time as a value of the time's column; false when that can't hold it */
bool
mts_scan_time_datum(MtsScan *scan, MtsTime t, Datum *datum)
{
	MtsError error;

	return mts_convert_time(scan->converters[scan->table->layout.time_column],
							t, datum, &error);
}

/*
 * mts_scan_set_collection
 *		Read one collection of the table only.
 */
void
mts_scan_set_collection(MtsScan *scan, const char *name)
{
	MemoryContext old;

	if (!scan->table->set ||
		(scan->collection && strcmp(scan->collection->name, name) == 0))
		return;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	scan->collection = mts_collection_named(scan->table, pstrdup(name));
	MemoryContextSwitchTo(old);
}

/*
 * mts_scan_set_filter
 *		Read the whole buckets that match a filter, which is the caller's, to
 *		change them.
 */
void
mts_scan_set_filter(MtsScan *scan, const bson_t *filter)
{
	MemoryContext old;

	mts_scan_reset(scan);
	old = MemoryContextSwitchTo(scan->query_context);
	scan->filter = (bson_t *) filter;
	scan->projection = mts_document_new();
	scan->sort = mts_document_new();
	scan->is_possible = scan->is_ready = scan->on_primary = true;
	scan->has_warned = true; /* the statement's own scan has */
	scan->is_narrow = false;
	scan->ranges.n = 1;
	scan->ranges.items = palloc(sizeof(MtsRange));
	scan->ranges.items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	MemoryContextSwitchTo(old);
}

/* Evaluate the tests into one condition, and the ranges by which to trim. */
static MtsCond *
evaluate_tests(MtsScan *scan, ExprContext *econtext)
{
	MtsCond *all = palloc0(sizeof(MtsCond));
	MtsCond *times = NULL;
	ListCell *lc;

	all->kind = MTS_COND_AND;
	all->args = palloc((list_length(scan->tests) + 1) * sizeof(MtsCond *));
	scan->ranges.n = 1;
	scan->ranges.items = palloc(sizeof(MtsRange));
	scan->ranges.items[0] = (MtsRange){MTS_TIME_MIN, MTS_TIME_MAX};
	foreach (lc, scan->tests)
	{
		MtsCond *cond = mts_evaluate_test(scan->table, lfirst(lc), econtext);
		MtsRanges both;

		if (cond->kind != MTS_COND_POINTS)
		{
			all->args[all->nargs++] = cond;
			continue;
		}
		both.items =
			palloc((scan->ranges.n + cond->ranges.n) * sizeof(MtsRange));
		mts_ranges_intersect(&scan->ranges, &cond->ranges, &both);
		scan->ranges = both;
		times = cond;
	}
	scan->unfold.wants_null = times == NULL;
	if (times)
	{
		times->ranges = scan->ranges;
		all->args[all->nargs++] = times;
	}
	return all;
}

/*
 * mts_scan_prepare
 *		Make the query, unless it is made: filter, projection, sort, ranges.
 */
void
mts_scan_prepare(MtsScan *scan, ExprContext *econtext)
{
	MemoryContext old;

	if (scan->is_ready)
		return;
	old = MemoryContextSwitchTo(scan->query_context);
	scan->cond = evaluate_tests(scan, econtext);
	scan->filter = mts_document_new();
	scan->projection = mts_document_new();
	scan->is_possible = mts_filter_build(&scan->table->layout, scan->cond,
										 scan->table->filter, scan->filter);
	scan->is_headers = scan->unfold.is_header =
		scan->headers &&
		mts_header_is_worth(&scan->table->layout, &scan->ranges) &&
		mts_projection_headers(&scan->table->layout, scan->needed,
							   &scan->ranges, scan->headers, scan->nheaders,
							   scan->projection);
	scan->is_narrow =
		!scan->is_headers &&
		mts_projection_build(&scan->table->layout, scan->needed, &scan->ranges,
							 true, scan->projection);
	scan->sort = mts_document_new();
	if (scan->order)
		mts_order_append_sort(scan->table, scan->order, scan->sort);
	scan->is_ready = true;
	MemoryContextSwitchTo(old);
}

/* Close the cursor; the query stays. */
static void
close_cursor(MtsScan *scan)
{
	if (scan->cursor)
		mts_remote_close(scan->cursor);
	scan->cursor = NULL;
	scan->in_bucket = false;
}

/*
 * mts_scan_set_part
 *		Begin anew with those buckets of a prepared query that satisfy an array
 *		of terms, too.
 */
void
mts_scan_set_part(MtsScan *scan, const bson_t *terms)
{
	bson_t all = BSON_INITIALIZER;
	MemoryContext old;

	close_cursor(scan);
	if (scan->part_context)
		MemoryContextReset(scan->part_context);
	else
		scan->part_context =
			AllocSetContextCreate(scan->query_context, "mongo_ts_fdw part",
								  ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(scan->part_context);
	scan->part = mts_document_new();
	bson_append_document(&all, "0", -1, scan->filter);
	bson_concat(&all, terms);
	mts_terms_join(&all, scan->part);
	bson_destroy(&all);
	MemoryContextSwitchTo(old);
}

/*
 * mts_scan_reset
 *		Forget the query and begin anew: parameters may have changed.
 */
void
mts_scan_reset(MtsScan *scan)
{
	close_cursor(scan);
	scan->part = NULL;
	scan->part_context = NULL;
	scan->nparts = 0;
	scan->is_ready = false;
	if (scan->merge)
		mts_merge_reset(scan->merge);
	if (scan->rolling)
		mts_rolling_reset(scan->rolling);
	MemoryContextReset(scan->query_context);
	MemoryContextReset(scan->bucket_context);
}

/* Does a node fold, and not scan a table? */
static bool
is_fold(const ForeignScanState *node)
{
	return ((Scan *) node->ss.ps.plan)->scanrelid == 0;
}

/* The scan of a node, its fold's if it has one */
MtsScan *
mts_scan_of_state(const ForeignScanState *node)
{
	return is_fold(node) ? mts_fold_scan(node->fdw_state) : node->fdw_state;
}

/* The scan of a plan's table, in the plan's order */
static MtsScan *
begin_scan(ForeignScanState *node)
{
	List *private = ((ForeignScan *) node->ss.ps.plan)->fdw_private;
	MtsScan *scan = mts_scan_of_node(node);

	scan->order = list_nth(private, MTS_PRIVATE_ORDER);
	scan->first_batch = intVal(list_nth(private, MTS_PRIVATE_FIRST_BATCH));
	if (scan->order)
		scan->merge = mts_merge_new(scan, node);
	mts_row_doubles_init(scan);
	return scan;
}

/* mtsBeginForeignScan: prepare, sending nothing. */
void
mtsBeginForeignScan(ForeignScanState *node, int eflags)
{
	node->fdw_state =
		is_fold(node) ? (void *) mts_fold_begin(node) : begin_scan(node);
	mts_scan_of_state(node)->is_generic = (eflags & MTS_EXPLAIN_GENERIC) != 0;
}

/* mtsIterateForeignScan: the next row, or an empty slot at the end. */
TupleTableSlot *
mtsIterateForeignScan(ForeignScanState *node)
{
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	MtsScan *scan = node->fdw_state;

	if (is_fold(node))
		return mts_fold_next(node->fdw_state, slot);
	ExecClearTuple(slot);
	if (scan->merge)
		(void) mts_merge_next(scan->merge, econtext, slot);
	else if (mts_scan_next(scan, econtext, slot))
		ExecStoreVirtualTuple(slot);
	return slot;
}

/* mtsReScanForeignScan: begin anew, perhaps with other parameters. */
void
mtsReScanForeignScan(ForeignScanState *node)
{
	if (is_fold(node))
		mts_fold_reset(node->fdw_state);
	else
		mts_scan_reset(node->fdw_state);
}

/* mtsEndForeignScan: close the cursor. */
void
mtsEndForeignScan(ForeignScanState *node)
{
	if (node->fdw_state)
		mts_scan_reset(mts_scan_of_state(node));
}
