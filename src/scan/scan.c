/*
 * scan.c
 *		Read the points of a table as rows.
 *
 * The query (query.c) says which buckets to fetch, the source (source.c)
 * fetches them, and the bucket (bucket.c) converts its points to rows.  Rows
 * come in the order of the buckets.  If the plan wants them sorted, merge.c
 * reads the buckets instead; if it wants groups, agg/agg.c does.
 *
 * The query lives until a rescan, the document of a bucket until the next
 * bucket, and the values of a row until the next row.
 */
#include "scan/scan.h"

#include "access/parallel.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapshot.h"

#include "compat.h"
#include "pushdown/shippable.h"
#include "scan/fdw_private.h"
#include "scan/index_skip.h"
#include "scan/typo.h"
#include "table/native.h"

/* ---- Making ------------------------------------------------------------- */

/* Find the needed columns; attribute 0 is the whole row. */
static bool *
find_needed(const MtsTable *table, List *attnums)
{
	const MtsLayout *layout = &table->layout;
	bool *needed = palloc((layout->ncolumns + 1) * sizeof(bool));
	ListCell *lc;

	/* which points are skipped must not depend on the columns of a query */
	memset(needed,
		   table->on_invalid == MTS_INVALID_SKIP ||
			   list_member_int(attnums, 0),
		   layout->ncolumns);
	foreach (lc, attnums)
		if (lfirst_int(lc) > 0)
			needed[lfirst_int(lc) - 1] = true;
	for (int i = 0; i < layout->ncolumns; i++)
		needed[i] &= !table->attributes[i].dropped;
	/* the time of a row must belong to its collection of a rolling set */
	if (table->rolling_name && layout->time_kind == MTS_TIME_FLAT)
		needed[layout->time_column] = true;
	return needed;
}

static MtsScan *
new_scan(MtsBucketSource *source, bool *needed, ExprContext *econtext,
		 MtsRowIds *row_ids)
{
	MtsScan *scan = palloc0(sizeof(MtsScan));

	scan->table = source->table;
	scan->spec.needed = needed;
	scan->spec.on_primary = row_ids != NULL;
	scan->econtext = econtext;
	scan->counters = source->counters;
	scan->source = source;
	scan->bucket =
		mts_bucket_new(source->table, needed, row_ids, source->counters);
	scan->query_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw query",
							  ALLOCSET_DEFAULT_SIZES);
	return scan;
}

/*
 * mts_scan_new
 *		Prepare to read attributes of a table; nothing is sent yet.
 *
 * The scan is allocated in the current memory context, and the values of a row
 * in the per-tuple memory of econtext.  If ctid is among the attributes, rows
 * get row ids.
 */
MtsScan *
mts_scan_new(const MtsTable *table, Oid userid, List *attnums,
			 ExprContext *econtext)
{
	MtsRowIds *row_ids =
		list_member_int(attnums, SelfItemPointerAttributeNumber)
			? mts_row_ids_new(&table->layout)
			: NULL;

	return new_scan(mts_source_new(table, userid,
								   palloc0(sizeof(MtsCounters))),
					find_needed(table, attnums), econtext, row_ids);
}

/* Tell whether a plan is executed, not only explained. */
static bool
is_executed(const ForeignScanState *node)
{
	return (node->ss.ps.state->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0;
}

/*
 * mts_scan_beside
 *		Prepare to read other buckets for a scan: the same attributes, counted
 *		by the same counters.
 */
MtsScan *
mts_scan_beside(const MtsScan *scan)
{
	return new_scan(mts_source_beside(scan->source), scan->spec.needed,
					scan->econtext, NULL);
}

/*
 * mts_scan_for_plan
 *		Prepare to read attributes of a table for a plan, by these clauses on
 *		the relation varno.
 */
MtsScan *
mts_scan_for_plan(ForeignScanState *node, const MtsTable *table, Oid userid,
				  List *attnums, Index varno, List *clauses,
				  ExprContext *econtext)
{
	MtsScan *scan = mts_scan_new(table, userid, attnums, econtext);
	ListCell *lc;

	foreach (lc, clauses)
	{
		MtsQual *qual = mts_shippable_clause(table, varno, lfirst(lc));

		if (!qual)
			elog(ERROR, "a clause of the plan cannot be pushed down");
		mts_qual_init(qual, &node->ss.ps);
		scan->spec.quals = lappend(scan->spec.quals, qual);
	}
	if (is_executed(node))
		mts_source_read_command(scan->source,
								node->ss.ps.state->es_snapshot->curcid);
	if (is_executed(node) && table->is_consistent)
		mts_source_read_snapshot(
			scan->source,
			mts_snapshot_of(table->serverid, node->ss.ps.state->es_snapshot));
	return scan;
}

/*
 * mts_scan_of_plan
 *		Prepare to run the query of a plan, on a relation and by these clauses.
 */
MtsScan *
mts_scan_of_plan(ForeignScanState *node, Relation relation, Index varno,
				 List *clauses, ExprContext *econtext)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Oid userid = mts_scan_user(node);
	List *attnums = list_nth(plan->fdw_private, MTS_PRIVATE_NEEDED);
	const MtsTable *table =
		mts_native_open_planned(relation, userid,
								list_nth(plan->fdw_private,
										 MTS_PRIVATE_NATIVE),
								is_executed(node));
	MtsScan *scan;

	if (boolVal(list_nth(plan->fdw_private, MTS_PRIVATE_IS_NARROW)))
		table = mts_table_narrow(table, attnums);
	scan = mts_scan_for_plan(node, table, userid, attnums, varno, clauses,
							 econtext);
	scan->warns_of_typos =
		is_executed(node) && !scan->spec.on_primary && !IsParallelWorker();
	if (is_executed(node) && !IsParallelWorker())
		scan->horizon =
			intVal(list_nth(plan->fdw_private, MTS_PRIVATE_HORIZON));
	/* workers read other documents */
	for (int i = 0;
		 i < scan->bucket->noutputs && node->ss.ps.plan->parallel_aware; i++)
		scan->bucket->outputs[i].was_found = true;
	return scan;
}

/*
 * mts_scan_of_node
 *		Prepare to run the query of a plan that scans a table.
 */
MtsScan *
mts_scan_of_node(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;

	return mts_scan_of_plan(node, node->ss.ss_currentRelation,
							plan->scan.scanrelid, plan->fdw_exprs,
							node->ss.ps.ps_ExprContext);
}

/* ---- What is read ------------------------------------------------------- */

/* Read only a collection, which the caller keeps. */
static void
read_only(MtsScan *scan, const MtsCollection *collection)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	List *parts = scan->source->own_parts;

	scan->only.collection = collection;
	mts_source_read_parts(scan->source,
						  parts ? parts : list_make1(&scan->only), NULL);
	MemoryContextSwitchTo(old);
}

/* Find a collection of a rolling set, which lives as long as the scan. */
static const MtsCollection *
find_collection(MtsScan *scan, const char *name)
{
	MemoryContext old;
	ListCell *lc;

	foreach (lc, scan->named)
		if (strcmp(((const MtsCollection *) lfirst(lc))->name, name) == 0)
			return lfirst(lc);
	old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));
	scan->named =
		lappend(scan->named,
				(void *) mts_collections_named(scan->table, pstrdup(name)));
	MemoryContextSwitchTo(old);
	return llast(scan->named);
}

/* mts_scan_set_collection: read only this collection of a rolling set. */
void
mts_scan_set_collection(MtsScan *scan, const char *name)
{
	const MtsCollection *collection;

	if (!scan->table->rolling_name)
		return;
	collection = find_collection(scan, name);
	if (collection != scan->only.collection)
		read_only(scan, collection);
}

static void
begin_query(MtsScan *scan, MtsQuery *query)
{
	scan->query = query;
	mts_source_begin(scan->source, query);
}

/*
 * mts_scan_set_filter
 *		Read the whole buckets that match a filter, in order to change them.
 *
 * The caller keeps the filter alive.
 */
void
mts_scan_set_filter(MtsScan *scan, const bson_t *filter)
{
	MemoryContext old;

	mts_scan_reset(scan);
	old = MemoryContextSwitchTo(scan->query_context);
	begin_query(scan, mts_query_of_filter(scan->table, &scan->spec, filter));
	MemoryContextSwitchTo(old);
	/* the scan of the statement has warned already */
	scan->bucket->has_warned = true;
	/* the changes are found by their slots */
	scan->bucket->spec.is_stepwise = true;
}

/*
 * mts_scan_set_ids
 *		Read what another scan's query needs, of the whole buckets of a
 *		collection with the _ids in an array.
 */
void
mts_scan_set_ids(MtsScan *scan, const MtsQuery *query,
				 const MtsCollection *collection, const bson_t *ids)
{
	MemoryContext old;

	mts_scan_reset(scan);
	old = MemoryContextSwitchTo(scan->query_context);
	read_only(scan, collection);
	begin_query(scan, mts_query_of_ids(query, ids));
	MemoryContextSwitchTo(old);
}

/* mts_scan_prepare: make the query, unless it is made already. */
void
mts_scan_prepare(MtsScan *scan)
{
	MtsQuery *query;
	MemoryContext old;

	if (scan->query)
		return;
	old = MemoryContextSwitchTo(scan->query_context);
	query = mts_query_make(scan->table, &scan->spec, scan->econtext);
	if (query->is_possible &&
		(!bson_empty(query->filter) || query->misfits ||
		 (query->unsorted_come_first && query->order->nseries == 0)))
	{
		mts_source_learn_indexes(scan->source);
		mts_index_skip_add(query, scan->source->indexes,
						   scan->source->documents);
	}
	begin_query(scan, query);
	if (scan->horizon != MTS_HORIZON_NONE &&
		mts_horizon_report(query, scan->horizon))
		scan->horizon = MTS_HORIZON_NONE;
	MemoryContextSwitchTo(old);
}

/*
 * mts_scan_divide
 *		Divide the query among the processes of a parallel scan, unless that is
 *		done, and return the size of their shared memory.
 */
Size
mts_scan_divide(MtsScan *scan, int nprocesses)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(scan));

	mts_scan_prepare(scan);
	if (!scan->shares)
		scan->shares = mts_parallel_divide(scan->source, nprocesses);
	MemoryContextSwitchTo(old);
	return mts_parallel_size(scan->shares);
}

/* Forget the query, when the source has stopped reading. */
static void
forget_query(MtsScan *scan)
{
	scan->query = NULL;
	scan->in_bucket = false;
	MemoryContextReset(scan->query_context);
}

/* mts_scan_reset: begin another execution, perhaps with other parameters. */
void
mts_scan_reset(MtsScan *scan)
{
	mts_source_reset(scan->source);
	forget_query(scan);
	scan->counters_before = *scan->counters;
}

/*
 * mts_scan_restart
 *		Read the buckets of this execution again, from the first one, by a
 *		query that is made anew.
 *
 * The caller has changed what the query is made from, and drops what it has
 * made of buckets so far.  A process of a parallel scan reads the shares again
 * that it has claimed, and then claims others.  What has been counted is
 * counted again, except what the buckets have cost.
 */
void
mts_scan_restart(MtsScan *scan)
{
	MtsCounters *counters = scan->counters;
	MtsCounters cost = *counters;

	mts_source_stop(scan->source);
	forget_query(scan);
	*counters = scan->counters_before;
	counters->buckets = cost.buckets;
	counters->bytes = cost.bytes;
	counters->round_trips = cost.round_trips;
}

/* mts_scan_end: close the cursor, and warn of names without documents. */
void
mts_scan_end(MtsScan *scan)
{
	mts_scan_reset(scan);
	if (scan->warns_of_typos && scan->counters->round_trips > 0)
		mts_typo_report(scan->bucket, scan->source->userid,
						scan->spec.quals != NIL || scan->reads_a_part);
}

/*
 * mts_scan_check_types
 *		Raise the error of a document of another type in a sorted field, or
 *		warn that it is skipped, if one was found and has not been warned of.
 *
 * The document can have been mended since: then it has no wanted row, or the
 * query must be run again.  slot has the type of the rows; it is not changed.
 * The scan can go on.
 */
void
mts_scan_check_types(MtsScan *scan, TupleTableSlot *slot)
{
	MtsBucketSource *source = scan->source;
	const MtsCollection *collection = source->collection;
	MtsBucket *bucket = NULL;
	const bson_t *misfit;

	while (!scan->bucket->has_warned &&
		   (misfit = mts_source_next_misfit(source)) != NULL)
	{
		if (!bucket)
		{
			MemoryContext old = MemoryContextSwitchTo(scan->query_context);

			bucket = mts_bucket_new(scan->table, scan->spec.needed, NULL,
									palloc0(sizeof(MtsCounters)));
			slot = MakeSingleTupleTableSlot(slot->tts_tupleDescriptor,
											&TTSOpsVirtual);
			MemoryContextSwitchTo(old);
		}
		if (mts_bucket_open(bucket, source, misfit) &&
			mts_bucket_next_row(bucket, slot) &&
			scan->table->on_invalid == MTS_INVALID_ERROR)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("a document of MongoDB collection \"%s.%s\" has "
							"changed while it was read",
							scan->table->database, source->collection->name),
					 errhint("Run the query again.")));
		scan->bucket->has_warned = bucket->has_warned;
	}
	source->collection = collection;
}

/* ---- Reading ------------------------------------------------------------ */

/*
 * mts_scan_next_bucket
 *		Open the next valid bucket; NULL at the end, or when it must be waited
 *		for.
 */
MtsBucket *
mts_scan_next_bucket(MtsScan *scan)
{
	MemoryContext memory = scan->econtext->ecxt_per_tuple_memory;
	MemoryContext old;
	const bson_t *document;

	mts_scan_prepare(scan);
	if (!scan->query->is_possible)
		return NULL;
	old = MemoryContextSwitchTo(memory);
	do
	{
		MemoryContextReset(memory);
		document = mts_source_next(scan->source);
	} while (document &&
			 !mts_bucket_open(scan->bucket, scan->source, document));
	MemoryContextSwitchTo(old);
	return document ? scan->bucket : NULL;
}

/*
 * mts_scan_next
 *		Fill the values of a slot with the next row; false if none, or when it
 *		must be waited for.
 */
bool
mts_scan_next(MtsScan *scan, TupleTableSlot *slot)
{
	while (!scan->in_bucket || !mts_bucket_next_row(scan->bucket, slot))
	{
		scan->in_bucket = mts_scan_next_bucket(scan) != NULL;
		if (!scan->in_bucket)
			return false;
	}
	return true;
}
