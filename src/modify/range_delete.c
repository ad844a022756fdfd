/*
 * range_delete.c
 *		Remove all points in some ranges of time, whole buckets at once.
 *
 * The scan must decide all conditions of the DELETE by itself.  It reads the
 * matching buckets, to count the points.  Buckets that surely lie in a range
 * are removed by a filter, with one command for each collection.  Other
 * points, and all of them if no filter is exact, are removed one by one (see
 * edit.c).
 *
 * Where the write belongs to PostgreSQL's transaction, the buckets are read in
 * the transaction of MongoDB that removes them, so they are the same, and are
 * read again if it is begun again.  Elsewhere, a bucket is removed with all
 * that is stored in it by then.
 *
 * Alternatives: to name each bucket and its points sends all data back.  To
 * read before the transaction, and again in it, takes twice as long.
 */
#include "modify/range_delete.h"

#include "executor/executor.h"

#include "core/bson/template.h"
#include "core/query/filter.h"
#include "driver/bulk_error.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "modify/edit.h"
#include "modify/route.h"

/*
 * mts_range_delete_is_possible
 *		Tell whether whole buckets of a table can be removed.
 *
 * A whole bucket must not be removed if it can hold what no row shows: a
 * missing value, or an invalid point that scans skip.  A flat table has no
 * buckets.
 */
bool
mts_range_delete_is_possible(const MtsTable *table)
{
	return table->layout.nslots > 0 && !table->layout.has_missing &&
		   table->on_invalid != MTS_INVALID_SKIP;
}

/*
 * mts_range_delete_new
 *		Begin the removal of what a scan finds; nothing is read yet.
 */
MtsRangeDelete *
mts_range_delete_new(MtsScan *scan)
{
	MtsRangeDelete *delete = palloc0(sizeof(MtsRangeDelete));

	delete->scan = scan;
	return delete;
}

/*
 * Return the ranges in which buckets start that lie in one of the ranges; none
 * if the layout has no bucket time.
 */
static MtsRanges
find_whole_buckets(const MtsLayout *layout, const MtsRanges *ranges)
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
			to++; /* a bucket can end where the range ends */
		if (ranges->items[i].from < to)
			mts_ranges_add(&whole, ranges->items[i].from, to);
	}
	return whole;
}

/*
 * Return the filter that finds these buckets and no others; NULL where there
 * is none.  Only dates are compared exactly: for other formats, the filter of
 * a scan can find more.
 */
static bson_t *
make_filter(const MtsQuery *query, const MtsRanges *whole)
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

/*
 * mts_range_delete_prepare
 *		Make the query and the filter, unless they are made.
 */
void
mts_range_delete_prepare(MtsRangeDelete *delete)
{
	MtsScan *scan = delete->scan;
	MemoryContext old;

	if (scan->query)
		return;
	mts_scan_prepare(scan);
	old = MemoryContextSwitchTo(scan->query_context);
	delete->whole =
		find_whole_buckets(&scan->table->layout, &scan->query->ranges);
	delete->filter = make_filter(scan->query, &delete->whole);
	MemoryContextSwitchTo(old);
}

/* ---- Reading ------------------------------------------------------------ */

/* The whole buckets of one collection */
typedef struct Part
{
	const char *collection;
	MtsSeen seen;
	int64 npoints;   /* that were seen */
	bool is_removed; /* by this statement */
} Part;

/* An execution */
typedef struct Removal
{
	const MtsRangeDelete *delete;
	Relation relation;
	MtsWriter *writer;
	TupleTableSlot *row;
	Part *parts;
	int nparts;
	int starts;      /* that of the transaction in which the reading began */
	MtsEdits *edits; /* of points that are not in whole buckets */
	int64 nedited;
	bool reads_twice; /* what was read first must be found in the transaction,
					   * too */
} Removal;

/* Return the whole buckets of the collection that is read. */
static Part *
find_part(Removal *removal)
{
	const char *name = removal->delete->scan->source->collection->name;
	int i = 0;

	while (removal->parts[i].collection != name)
		i++;
	return &removal->parts[i];
}

/* Begin to read the collections. */
static void
begin_reading(Removal *removal)
{
	MtsRangeDelete *delete = (MtsRangeDelete *) removal->delete;
	MtsScan *scan = delete->scan;
	List *names;

	mts_range_delete_prepare(delete);
	(void) mts_source_list_parts(scan->source, false);
	names = mts_part_names(scan->source->parts);
	if (!removal->parts)
		removal->parts = palloc0(list_length(names) * sizeof(Part));
	removal->nparts = list_length(names);
	for (int i = 0; i < removal->nparts; i++)
	{
		Part *part = &removal->parts[i];

		part->collection = list_nth(names, i);
		if (!part->is_removed)
			part->npoints = 0;
		part->seen = (MtsSeen){.filter = delete->filter,
							   .projection = scan->query->projection};
	}
	removal->starts = mts_xact_starts(removal->writer->bulk.connection);
	removal->nedited = 0;
}

/* Open the next bucket; get the document that was read. */
static bool
open_next(const MtsScan *scan, const bson_t **document)
{
	MemoryContext memory = scan->econtext->ecxt_per_tuple_memory;
	MemoryContext old;

	if (!scan->query->is_possible)
		return false;
	old = MemoryContextSwitchTo(memory);
	do
	{
		MemoryContextReset(memory);
		*document = mts_source_next(scan->source);
	} while (*document &&
			 !mts_bucket_open(scan->bucket, scan->source, *document));
	MemoryContextSwitchTo(old);
	return *document != NULL;
}

/*
 * Count a point to be removed, and mark its interval as stale.  Record its
 * edit unless its bucket is removed as a whole.
 */
static void
add_point(Removal *removal, Part *whole)
{
	const MtsScan *scan = removal->delete->scan;
	const MtsUnfold *unfold = &scan->bucket->unfold;
	const MtsRanges *ranges = &scan->query->ranges;
	MtsRollupMarks *marks = removal->writer->marks;
	TupleTableSlot *row = removal->row;
	Datum old_row;

	if (marks)
		mts_rollup_mark_add(marks,
							Max(unfold->earliest, ranges->items[0].from),
							Min(unfold->latest,
								ranges->items[ranges->n - 1].to - 1));
	if (whole)
	{
		whole->npoints++;
		return;
	}
	removal->nedited++;
	old_row = ExecFetchSlotHeapTupleDatum(row);
	(void) mts_edits_add(removal->edits, &row->tts_tid, old_row, NULL);
	pfree(DatumGetPointer(old_row));
}

/* Read the points to be removed. */
static void
read_points(Removal *removal)
{
	const MtsRangeDelete *delete = removal->delete;
	MtsScan *scan = delete->scan;
	const bson_t *document;

	begin_reading(removal);
	while (open_next(scan, &document))
	{
		Part *whole = NULL;

		if (delete->filter &&
			mts_ranges_contain(&delete->whole, scan->bucket->unfold.start))
		{
			whole = find_part(removal);
			mts_seen_add(&whole->seen, document);
		}
		while (mts_bucket_next_row(scan->bucket, removal->row))
		{
			ExecStoreVirtualTuple(removal->row);
			add_point(removal, whole);
			ExecClearTuple(removal->row);
		}
	}
}

/* Read the points to be removed, in place of those that were read before. */
static void
read_again(Removal *removal)
{
	MtsScan *scan = removal->delete->scan;
	MtsBucket *bucket = scan->bucket;

	if (removal->edits)
	{
		mts_edits_discard(removal->edits);
		mts_scan_restart(scan);
		bucket->spec.row_ids = mts_row_ids_new(&scan->table->layout);
	}
	removal->edits = mts_edits_new(removal->relation, removal->writer,
								   scan->source->userid, bucket->spec.row_ids);
	read_points(removal);
}

/* Raise an error: what was read has changed since. */
static _Noreturn void
refuse_change(const Removal *removal)
{
	mts_bulk_error_refuse_changed(&removal->writer->bulk,
								  "A bucket has been added, changed or "
								  "removed.");
}

/*
 * Read again in the transaction, and check that nothing has changed since the
 * moment of the statement.
 */
static void
compare(Removal *removal)
{
	Removal now = *removal;

	now.edits = NULL;
	now.parts = NULL;
	mts_scan_restart(removal->delete->scan);
	read_again(&now);
	mts_edits_discard(now.edits);
	removal->starts = now.starts;
	for (int i = 0; i < removal->nparts; i++)
	{
		Part *part = &removal->parts[i];

		if (!part->is_removed &&
			!mts_seen_is_equal(&part->seen, &now.parts[i].seen))
			refuse_change(removal);
		part->seen = now.parts[i].seen;
	}
}

/* ---- Removing ----------------------------------------------------------- */

/*
 * Begin the transaction, so that what is read is what will be removed.  If
 * the statement has read before, its moment is earlier: what it sees then is
 * read first, and compared.
 */
static void
begin_transaction(Removal *removal)
{
	MtsBucketSource *source = removal->delete->scan->source;
	MtsBulk *bulk = &removal->writer->bulk;

	if (!removal->delete->filter || mts_bulk_scope(bulk) < MTS_STATEMENT)
		return;
	if (!source->in_xact && source->snapshot &&
		mts_snapshot_time(source->snapshot) != 0)
	{
		removal->reads_twice = true;
		read_again(removal);
	}
	mts_xact_begin_reading(bulk->connection);
	mts_source_read_xact(source, true);
}

/*
 * Remove whole buckets.  Returns false if the transaction has begun again
 * since the first of them was read.
 */
static bool
remove_whole(Removal *removal)
{
	MtsBulk *bulk = &removal->writer->bulk;
	bool is_in_xact = removal->delete->scan->source->in_xact &&
					  mts_xact_starts(bulk->connection) > 0;

	for (int i = 0; i < removal->nparts; i++)
	{
		Part *part = &removal->parts[i];

		if (part->is_removed)
			continue;
		part->seen.xact_starts = removal->starts;
		/* a collection can exclude transactions */
		if (!mts_route_delete(bulk, removal->delete->filter, part->collection,
							  is_in_xact ? &part->seen : NULL))
		{
			/* that of other collections is read again, too */
			mts_source_read_all_commands(removal->delete->scan->source);
			return false;
		}
		part->is_removed = true;
	}
	return true;
}

/*
 * mts_range_delete_execute
 *		Remove the points, and return how many they were.
 */
int64
mts_range_delete_execute(MtsRangeDelete *delete, Relation relation)
{
	MtsScan *scan = delete->scan;
	MtsWriter *writer = mts_writer_new(scan->table, scan->source->userid);
	Removal removal = {.delete = delete,
					   .relation = relation,
					   .writer = writer,
					   .row =
						   MakeSingleTupleTableSlot(RelationGetDescr(relation),
													&TTSOpsVirtual)};
	int64 n;

	mts_range_delete_prepare(delete);
	begin_transaction(&removal);
	do
	{
		if (removal.reads_twice)
			compare(&removal);
		else
			read_again(&removal);
		if (writer->marks)
			mts_rollup_mark_send(writer->marks);
	} while (delete->filter && !remove_whole(&removal));
	mts_edits_finish(removal.edits);
	ExecDropSingleTupleTableSlot(removal.row);
	n = removal.nedited;
	for (int i = 0; i < removal.nparts; i++)
		n += removal.parts[i].npoints;
	return n;
}

/* ---- TRUNCATE ----------------------------------------------------------- */

/* Read the documents of a collection that TRUNCATE removes. */
static void
see_all(MtsBulk *bulk, const char *collection, MtsSeen *seen)
{
	MtsFind find = {.filter = seen->filter,
					.first_batch = MTS_FIRST_BATCH,
					.fetch_size = MTS_FIRST_BATCH,
					.on_primary = true,
					.in_xact = true,
					.before = InvalidCommandId,
					.relid = bulk->relid};
	MtsCursor *cursor;
	const bson_t *document;

	mts_xact_begin_reading(bulk->connection);
	cursor =
		mts_cursor_find(bulk->connection, bulk->database, collection, &find);
	while ((document = mts_cursor_next(cursor)))
		mts_seen_add(seen, document);
	mts_cursor_close(cursor);
	seen->xact_starts = mts_xact_starts(bulk->connection);
}

/*
 * mts_range_delete_all
 *		Remove all documents of a collection that match a filter.
 *
 * In a transaction block, they are read before, so that they can be compared
 * if the transaction is begun again.
 */
void
mts_range_delete_all(MtsBulk *bulk, const bson_t *filter,
					 const char *collection)
{
	bool is_block = mts_bulk_scope(bulk) >= MTS_STATEMENT &&
					!mts_xact_may_repeat(bulk->connection);
	MtsSeen seen;

	do
	{
		seen = (MtsSeen){.filter = filter};
		if (is_block)
			see_all(bulk, collection, &seen);
	} while (!mts_route_delete(bulk, filter, collection,
							   seen.xact_starts > 0 ? &seen : NULL));
}
