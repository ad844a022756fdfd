/*
 * edit.c
 *		Change and remove the points that UPDATE and DELETE have read.
 *
 * Nothing is sent until the statement has read all its rows: otherwise it
 * could read a point again that it has changed or moved.  Then the buckets are
 * read again, a chunk of them at a time.  Each edit must find its point as the
 * statement read it, and is sent under the condition that the point is still
 * so.  A point that another session has changed meanwhile is an error.
 *
 * A point that moves to another bucket or slot is stored there before it is
 * removed from its old slot.  Where the server has transactions, all moves of
 * a statement are one, unless the option switches transactions off.  Elsewhere
 * a failure in between loses no point, but can leave both.  A point cannot
 * move to the slot of a point that stays.  That is checked before
 * anything is written, and so is that all points are as they were read.  It
 * can move to a slot whose own point moves away: that slot is overwritten, and
 * is not removed afterwards.
 */
#include "modify/edit.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplesort.h"

#include "core/bson/template.h"
#include "driver/bulk_error.h"
#include "driver/document.h"
#include "driver/xact.h"
#include "modify/bucket_reader.h"
#include "modify/route.h"
#include "table/collections.h"

/* The buckets of a chunk, and the bytes of it that are sent at once */
#define CHUNK_BUCKETS 500
#define SENT_BYTES (8 * 1024 * 1024)

/* If more points of a bucket are edited, all its points must be unchanged. */
#define MAX_POINT_PRECONDITIONS 64

/* The attributes of an edit in the sort, from 0 */
enum
{
	SORTED_BUCKET, /* int8: the bucket's ordinal */
	SORTED_TID,    /* tid: of the row */
	SORTED_OLD,    /* record: the row as it was read */
	SORTED_NEW,    /* record: the row as it will be; NULL if the point is
					* removed, or leaves its slot */
	SORTED_ATTRIBUTES
};

/* The change or removal of one point */
typedef struct Edit
{
	ItemPointerData tid;
	MtsRowIdRange *range; /* what the tid stands for */
	int low;
	Datum old_row;
	Datum new_row;    /* 0 if the point is removed, or leaves its slot */
	bool was_matched; /* the point has been read again */
} Edit;

/* Whether a pass over the edits sends them */
typedef enum Pass
{
	PASS_CHECK, /* only checks that all points are as they were read */
	PASS_SEND
} Pass;

/* The edits of one relation in a statement */
struct MtsEdits
{
	MtsWriter *writer; /* has the table and the connection */
	Oid userid;
	TupleDesc rows;            /* of the relation */
	MtsRowIds *row_ids;        /* of the statement's scan */
	Tuplesortstate *sort;      /* all edits, by bucket */
	TupleTableSlot *sorted;    /* of the sort */
	int64 n;                   /* edits in the sort */
	List *moved;               /* records: new rows of points that move */
	MemoryContext row_context; /* reset for each row */
	TupleTableSlot *old_row;
	TupleTableSlot *new_row;

	/* a chunk: the edits of some buckets, which are read again */
	MtsBucketReader *reader;
	Pass pass;
	MemoryContext chunk;
	Edit *items;
	int nitems;
	int room;
	MtsOp *ops; /* that have not been sent */
	int nops;
	Size bytes; /* of these */
};

/*
 * mts_edits_new
 *		Begin to collect edits of the rows that row_ids numbers.
 */
MtsEdits *
mts_edits_new(Relation relation, MtsWriter *writer, Oid userid,
			  MtsRowIds *row_ids)
{
	static const Oid types[] = {INT8OID, TIDOID, RECORDOID, RECORDOID};
	static AttrNumber columns[] = {SORTED_BUCKET + 1, SORTED_TID + 1};
	static Oid operators[] = {Int8LessOperator, TIDLessOperator};
	static Oid collations[] = {InvalidOid, InvalidOid};
	static bool nulls_first[] = {false, false};
	List *sorted = NIL;
	TupleDesc desc;
	MtsEdits *edits = palloc0(sizeof(MtsEdits));

	edits->writer = writer;
	edits->userid = userid;
	edits->rows = CreateTupleDescCopy(RelationGetDescr(relation));
	edits->row_ids = row_ids;
	edits->row_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw edited row",
							  ALLOCSET_DEFAULT_SIZES);
	edits->chunk =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw chunk",
							  ALLOCSET_DEFAULT_SIZES);
	edits->old_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual);
	edits->new_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual);
	edits->room = 256;
	edits->items = palloc(edits->room * sizeof(Edit));
	for (int i = 0; i < SORTED_ATTRIBUTES; i++)
		sorted = lappend(sorted, makeNullConst(types[i], -1, InvalidOid));
	desc = ExecTypeFromExprList(sorted);
	edits->sorted = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	edits->sort = tuplesort_begin_heap(desc, lengthof(columns), columns,
									   operators, collations, nulls_first,
									   work_mem, NULL, TUPLESORT_RANDOMACCESS);
	return edits;
}

/* ---- Collecting --------------------------------------------------------- */

/* Tell whether two rows have different values in a column. */
static bool
differ(const MtsEdits *edits, int i, const TupleTableSlot *a,
	   const TupleTableSlot *b)
{
	Form_pg_attribute att = TupleDescAttr(edits->rows, i);

	return a->tts_isnull[i] != b->tts_isnull[i] ||
		   (!a->tts_isnull[i] &&
			!datum_image_eq(a->tts_values[i], b->tts_values[i], att->attbyval,
							att->attlen));
}

static _Noreturn void
refuse_change(const MtsColumn *column, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot update column \"%s\"", column->name),
					errdetail("%s", detail)));
}

/*
 * Tell whether a new row moves the point of edits->old_row to another bucket
 * or slot; raise an error where it changes a column that cannot be changed.
 */
static bool
check_changes(const MtsEdits *edits, const MtsRowIdBucket *bucket,
			  TupleTableSlot *new_row)
{
	const MtsTable *table = edits->writer->table;
	const MtsLayout *layout = &table->layout;
	const MtsTargeting *targeting = edits->writer->targeting;
	bool moves = false;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (!differ(edits, i, edits->old_row, new_row))
			continue;
		if (targeting->identity->read_only[i])
			refuse_change(column,
						  "MongoDB or the extension maintains its field.");
		if (layout->nslots > 0 && column->role == MTS_ROLE_ATTRIBUTE)
			refuse_change(
				column,
				"The column is stored once per bucket, so a change would affect other rows.");
		if (layout->nslots == 0 && mts_path_is_in_id(&column->path))
			refuse_change(column, "MongoDB does not allow an _id to change.");
		if (i == layout->time_column &&
			!mts_format_is_writable(&column->format))
			refuse_change(
				column,
				"Its times are stored in a format that cannot be written.");
		if (layout->write_mode == MTS_WRITE_INCREMENT &&
			column->role == MTS_ROLE_VALUE && new_row->tts_isnull[i])
			refuse_change(
				column,
				"With write_mode \"increment\", the new value must not be null.");
		if (i == layout->time_column && !edits->old_row->tts_isnull[i])
			moves |=
				!mts_row_target_stays(targeting, bucket->start,
									  edits->old_row->tts_values[i], new_row);
		else
			moves |= layout->nslots > 0 && (column->role == MTS_ROLE_KEY ||
											column->role == MTS_ROLE_SLOT);
	}
	return moves;
}

/* Check that a new row can be stored, and round its time. */
static void
check_row(const MtsEdits *edits, const MtsRowIdBucket *bucket, bool moves,
		  TupleTableSlot *new_row)
{
	const MtsTargeting *targeting = edits->writer->targeting;
	const MtsTable *table = targeting->table;
	const MtsIdentity *identity = targeting->identity;
	bool keeps_bucket = !moves && table->layout.bucket_time.is_set;
	MtsRowTarget target;

	if (moves && identity->problem)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot move a point of MongoDB collection "
							   "\"%s.%s\" to another slot",
							   table->database, table->collection),
						errdetail("%s", identity->problem),
						identity->hint ? errhint("%s", identity->hint) : 0));
	target = mts_row_target_make(targeting, new_row,
								 keeps_bucket ? &bucket->start : NULL);
	if (table->rolling_name && table->layout.nslots == 0 &&
		!mts_row_target_is_timeless(targeting, new_row) &&
		strcmp(mts_collections_at(table, target.change->time),
			   bucket->collection) != 0)
		refuse_change(mts_layout_time_column(&table->layout),
					  "The document would belong to another collection.");
	if (moves || table->layout.nslots == 0)
		mts_row_target_encode_bucket(targeting, new_row,
									 palloc0(table->layout.ncolumns *
											 sizeof(bson_value_t)));
}

/*
 * mts_edits_add
 *		Record the change of a row or, without a new row, its removal; return
 *		false when the row has one already.
 *
 * Raises an error where the change is not possible.  The new row's time is
 * changed where it is rounded to its slot.
 */
bool
mts_edits_add(MtsEdits *edits, ItemPointer tid, Datum old_row,
			  TupleTableSlot *new_row)
{
	TupleTableSlot *entry = edits->sorted;
	int low;
	MtsRowIdRange *range = mts_row_ids_find(edits->row_ids, tid, &low);
	Datum row = (Datum) 0;
	bool moves = false;
	MemoryContext old;

	if (!mts_row_ids_mark(edits->row_ids, &range->changed, low))
		return false;
	MemoryContextReset(edits->row_context);
	old = MemoryContextSwitchTo(edits->row_context);
	if (new_row)
	{
		ExecStoreHeapTupleDatum(old_row, edits->old_row);
		slot_getallattrs(new_row);
		moves = check_changes(edits, range->bucket, new_row);
		check_row(edits, range->bucket, moves, new_row);
		if (moves && edits->writer->returning)
			mts_returning_check_move(edits->writer->returning);
		row = ExecFetchSlotHeapTupleDatum(new_row);
	}
	ExecClearTuple(entry);
	memset(entry->tts_isnull, false, SORTED_ATTRIBUTES * sizeof(bool));
	entry->tts_values[SORTED_BUCKET] = Int64GetDatum(range->bucket->ordinal);
	entry->tts_values[SORTED_TID] = PointerGetDatum(tid);
	entry->tts_values[SORTED_OLD] = old_row;
	entry->tts_values[SORTED_NEW] = row;
	entry->tts_isnull[SORTED_NEW] = !new_row || moves;
	ExecStoreVirtualTuple(entry);
	tuplesort_puttupleslot(edits->sort, entry);
	ExecClearTuple(entry);
	edits->n++;
	if (moves)
	{
		mts_row_ids_mark(edits->row_ids, &range->moved, low);
		MemoryContextSwitchTo(GetMemoryChunkContext(edits));
		edits->moved =
			lappend(edits->moved, DatumGetPointer(datumCopy(row, false, -1)));
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- Matching ----------------------------------------------------------- */

/* Raise an error: stored points differ from those that were read. */
static _Noreturn void
refuse_point(const MtsEdits *edits, const char *detail)
{
	const MtsBulk *bulk = &edits->writer->bulk;

	if (edits->moved && edits->pass == PASS_SEND && bulk->has_stored)
		detail = psprintf(
			"%s\nMoved points are stored in their new slots, and some are also still in their old ones.",
			detail);
	mts_bulk_error_refuse_changed(bulk, detail);
}

static int
compare_edits(const void *a, const void *b)
{
	const Edit *left = a, *right = b;
	int64 order = left->range->bucket->ordinal - right->range->bucket->ordinal;

	if (order != 0)
		return order < 0 ? -1 : 1;
	return ItemPointerCompare((ItemPointer) &left->tid,
							  (ItemPointer) &right->tid);
}

/* Find the edit of the point that was read; NULL where it has none. */
static Edit *
find_edit(const MtsEdits *edits)
{
	Edit key = {.tid = edits->reader->row->tts_tid};

	if (!ItemPointerIsValid(&key.tid))
		return NULL;
	key.range = mts_row_ids_find(edits->row_ids, &key.tid, &key.low);
	return bsearch(&key, edits->items, edits->nitems, sizeof(Edit),
				   compare_edits);
}

/*
 * Find the edit of the point that was read, and check that the point is as the
 * statement read it.  NULL where the point stays as it is.
 */
static Edit *
match_edit(const MtsEdits *edits)
{
	const MtsWriter *writer = edits->writer;
	Edit *edit = find_edit(edits);

	if (!edit)
		return NULL;
	/* a view can show a document several times, and a document a key */
	if (edit->was_matched)
		refuse_point(edits, "A point was read twice.");
	edit->was_matched = true;
	/* another point has moved into the slot: nothing is left to remove */
	if (edits->pass == PASS_SEND &&
		bms_is_member(edit->low, edit->range->overwritten))
		return NULL;
	ExecStoreHeapTupleDatum(edit->old_row, edits->old_row);
	/* read-only columns, such as counters, may have changed meanwhile */
	for (int i = 0; i < writer->table->layout.ncolumns; i++)
		if (!writer->targeting->identity->read_only[i] &&
			differ(edits, i, edits->reader->row, edits->old_row))
			refuse_point(edits, "The value of a point has changed.");
	return edit;
}

/* ---- Sending ------------------------------------------------------------ */

/* Encode the columns that an edit changes; return whether there are any. */
static bool
encode_changed(const MtsEdits *edits, MtsChange *change)
{
	const MtsTargeting *targeting = edits->writer->targeting;
	const MtsLayout *layout = &targeting->table->layout;
	bool has_changed = false;

	if (layout->nslots == 0)
		mts_row_target_encode_bucket(targeting, edits->new_row, change->items);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		int place = layout->columns[i].place;

		if (place < 0)
			continue;
		if (!differ(edits, i, edits->old_row, edits->new_row))
			change->items[place].value_type = BSON_TYPE_EOD;
		has_changed |= change->items[place].value_type != BSON_TYPE_EOD;
	}
	return has_changed;
}

/* Make the change of the point that was read; NULL when it has no effect. */
static MtsChange *
make_change(const MtsEdits *edits, const Edit *edit)
{
	const MtsTargeting *targeting = edits->writer->targeting;
	const MtsLayout *layout = &targeting->table->layout;
	const MtsBucket *bucket = edits->reader->bucket;
	MtsChange *change;

	if (edit->new_row)
	{
		ExecStoreHeapTupleDatum(edit->new_row, edits->new_row);
		change = mts_row_target_make(targeting, edits->new_row,
									 layout->bucket_time.is_set
										 ? &bucket->unfold.start
										 : NULL)
					 .change;
		change->kind = MTS_CHANGE_SET;
		if (!encode_changed(edits, change))
			return NULL;
	}
	else
	{
		change = mts_row_target_new_change(layout);
		change->kind = MTS_CHANGE_REMOVE;
	}
	/* the point keeps its slot, which need not be the first for its time */
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsSlotKey *key = &bucket->one_by_one.point.slots[i];

		change->index[i] = key->index;
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			change->texts[i] = pnstrdup(key->text, key->len);
	}
	return change;
}

/*
 * Return the column whose value is a key of the point that was read that no
 * update can name, and set the problem; -1 if there is none.
 */
static int
find_unnamed(const MtsBucket *bucket, const char **problem)
{
	const MtsLayout *layout = &bucket->table->layout;

	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_SLOT)
		{
			const MtsSlotKey *key =
				&bucket->one_by_one.point.slots[layout->columns[i].slot];

			*problem = mts_row_target_key_problem(key->text, key->len);
			if (*problem)
				return i;
		}
	return -1;
}

static bson_t *
select_bucket(const MtsBucketReader *reader)
{
	bson_t *selector = mts_document_new();

	mts_source_append_id(reader->scan->source, reader->bucket->document,
						 selector, "_id");
	return selector;
}

/* Record that the point that was read changes, for its old and new time. */
static void
mark_edit(const MtsEdits *edits, const MtsChange *change)
{
	MtsRollupMarks *marks = edits->writer->marks;
	MtsTime time = edits->reader->bucket->one_by_one.point.time;

	if (!marks)
		return;
	mts_rollup_mark_add(marks, time, time);
	if (change->kind != MTS_CHANGE_REMOVE)
		mts_rollup_mark_add(marks, change->time, change->time);
}

/*
 * Match the edits of the bucket that was read, and make the operation that
 * does them, if any is needed.
 */
static void
edit_bucket(MtsEdits *edits)
{
	MtsBucketReader *reader = edits->reader;
	const MtsBucket *bucket = reader->bucket;
	const MtsLayout *layout = &bucket->table->layout;
	MtsBucketWrite write = {.kind = MTS_BUCKET_EDIT,
							.collection = mts_bucket_of_set(bucket),
							.start = bucket->unfold.start,
							.required = select_bucket(reader)};
	MtsOp *op = &edits->ops[edits->nops];
	const MtsForm *form;
	bool removes_all = !layout->has_missing;
	int unnamed = -1;
	const char *problem = NULL;

	while (mts_bucket_reader_next_point(reader))
	{
		Edit *edit = match_edit(edits);
		MtsChange *change = NULL;

		removes_all &= edit && !edit->new_row &&
					   !bms_is_member(edit->low, edit->range->overwritten);
		if (edit && unnamed < 0)
			unnamed = find_unnamed(bucket, &problem);
		if (edit && edits->pass == PASS_SEND)
			change = make_change(edits, edit);
		if (!change)
			continue;
		if (write.n < MAX_POINT_PRECONDITIONS)
			mts_bucket_reader_require_point(reader, change, write.required);
		mts_bucket_write_add(layout, &write, change);
		mark_edit(edits, change);
	}
	/* points that the scan has skipped stay */
	removes_all &= bucket->ninvalid == 0;
	if (unnamed >= 0 && !removes_all)
		mts_row_target_refuse_key(edits->writer->targeting, unnamed,
								  ERRCODE_FDW_INVALID_STRING_FORMAT, problem);
	if (write.n == 0)
		return;
	if (layout->nslots > 0 &&
		(removes_all || write.n > MAX_POINT_PRECONDITIONS))
	{
		write.required = select_bucket(reader);
		mts_bucket_reader_require_bucket(layout, bucket->document,
										 write.required);
	}
	/* what is removed, or stored elsewhere, is all that the rows have shown */
	if (layout->nslots > 0 && (removes_all || edits->moved))
		mts_bucket_reader_require_identity(reader,
										   edits->writer->targeting->identity,
										   write.required);
	if (removes_all)
		write.kind = MTS_BUCKET_REMOVE;
	mts_bucket_write_sort(layout, &write);
	edits->nops +=
		mts_bucket_write_ops(edits->writer->targeting, &write, 0, op);
	form = mts_op_form(op);
	edits->bytes +=
		form->selector->len + (form->document ? form->document->len : 0);
}

/* Send the operations that have been made; each must find its bucket. */
static void
send_ops(MtsEdits *edits)
{
	MtsBulk *bulk = &edits->writer->bulk;

	if (edits->writer->marks)
		mts_rollup_mark_send(edits->writer->marks);
	mts_route_begin(bulk, edits->ops, edits->nops);
	mts_bulk_end(bulk);
	if (bulk->affected < edits->nops)
		refuse_point(
			edits, bulk->affected == 0
					   ? psprintf("None of the last %d buckets was written.",
								  edits->nops)
					   : psprintf("Of the last %d buckets, only " INT64_FORMAT
								  " were written.",
								  edits->nops, bulk->affected));
	edits->nops = 0;
	edits->bytes = 0;
}

/* {_id: {$in: [the buckets of the chunk]}} */
static bson_t *
select_chunk(const MtsEdits *edits)
{
	bson_t *filter = mts_document_new();
	bson_t ids = BSON_INITIALIZER;

	for (int i = 0; i < edits->nitems; i++)
	{
		const MtsRowIdBucket *bucket = edits->items[i].range->bucket;

		if (i == 0 || bucket != edits->items[i - 1].range->bucket)
			bson_append_value(&ids, "", -1, &bucket->id);
	}
	mts_template_fields(filter, "{_id: {$in: %a}}", &ids);
	bson_destroy(&ids);
	return filter;
}

/* Read the buckets of the chunk again, send its edits, and begin a new one. */
static void
finish_chunk(MtsEdits *edits)
{
	MemoryContext old = MemoryContextSwitchTo(edits->chunk);
	const char *collection = edits->items[0].range->bucket->collection;

	edits->ops = palloc(edits->nitems * sizeof(MtsOp));
	if (collection)
		edits->writer->bulk.collection = collection;
	mts_bucket_reader_open(edits->reader, collection, select_chunk(edits));
	while (mts_bucket_reader_next_bucket(edits->reader))
	{
		edit_bucket(edits);
		if (edits->bytes > SENT_BYTES)
			send_ops(edits);
	}
	for (int i = 0; i < edits->nitems; i++)
		if (!edits->items[i].was_matched)
			refuse_point(edits, "A point has been removed.");
	send_ops(edits);
	edits->nitems = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(edits->chunk);
}

/* Copy a row of the sort into the current memory context. */
static Datum
copy_row(const MtsEdits *edits, int attribute)
{
	if (edits->sorted->tts_isnull[attribute])
		return (Datum) 0;
	return PointerGetDatum(
		PG_DETOAST_DATUM_COPY(edits->sorted->tts_values[attribute]));
}

/* Add an edit to the chunk. */
static void
add_to_chunk(MtsEdits *edits, const Edit *edit)
{
	MemoryContext old = MemoryContextSwitchTo(edits->chunk);

	if (edits->nitems == edits->room)
	{
		edits->room *= 2;
		edits->items = repalloc_huge(edits->items, edits->room * sizeof(Edit));
	}
	edits->items[edits->nitems] = *edit;
	edits->items[edits->nitems].old_row = copy_row(edits, SORTED_OLD);
	edits->items[edits->nitems++].new_row = copy_row(edits, SORTED_NEW);
	MemoryContextSwitchTo(old);
}

/* Process all edits in chunks of whole buckets of one collection. */
static void
process(MtsEdits *edits, Pass pass)
{
	const MtsRowIdBucket *last = NULL;
	int nbuckets = 0;

	edits->pass = pass;
	tuplesort_rescan(edits->sort);
	while (
		tuplesort_gettupleslot(edits->sort, true, false, edits->sorted, NULL))
	{
		const MtsRowIdBucket *bucket;
		Edit edit = {0};

		slot_getallattrs(edits->sorted);
		edit.tid = *(ItemPointer) DatumGetPointer(
			edits->sorted->tts_values[SORTED_TID]);
		edit.range = mts_row_ids_find(edits->row_ids, &edit.tid, &edit.low);
		bucket = edit.range->bucket;
		if (last && last != bucket &&
			(nbuckets == CHUNK_BUCKETS ||
			 edits->nitems >= edits->writer->table->batch_size ||
			 (last->collection &&
			  strcmp(last->collection, bucket->collection) != 0)))
		{
			finish_chunk(edits);
			nbuckets = 0;
		}
		nbuckets += bucket != last;
		last = bucket;
		add_to_chunk(edits, &edit);
	}
	if (edits->nitems > 0)
		finish_chunk(edits);
}

/* ---- Moving ------------------------------------------------------------- */

static _Noreturn void
refuse_move(const MtsEdits *edits, const MtsBucketWrite *write, MtsTime t,
			const char *detail)
{
	const MtsTable *table = edits->writer->table;

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("cannot move a point to %s in MongoDB collection "
					"\"%s.%s\"",
					timestamptz_to_str(t), table->database, write->collection),
			 errdetail("%s No row was changed.", detail)));
}

/*
 * Check that the slots to which points move in a bucket are free, or that
 * their points move too.  Require of the write that they still are so; if no
 * term states that, that the bucket has the same points.
 */
static void
check_slots(MtsEdits *edits, MtsBucketWrite *write)
{
	const MtsWriter *writer = edits->writer;
	MtsBucketReader *reader = edits->reader;
	const MtsLayout *layout = &writer->table->layout;
	bool can_require_free = mts_bucket_reader_can_require_free(layout);
	bool *is_taken = palloc0(write->n * sizeof(bool));

	write->required = mts_document_new();
	mts_bucket_reader_open(reader, write->collection,
						   mts_row_target_selector(writer->targeting,
												   write->start,
												   write->values));
	while (mts_bucket_reader_next_bucket(reader))
	{
		if (!can_require_free && write->kind == MTS_BUCKET_UPSERT)
			mts_bucket_reader_require_bucket(layout, reader->bucket->document,
											 write->required);
		write->kind = MTS_BUCKET_UPDATE;
		while (mts_bucket_reader_next_point(reader))
		{
			int i = mts_bucket_reader_find_change(reader, write);
			ItemPointer tid = &reader->row->tts_tid;
			MtsRowIdRange *range = NULL;
			int low;

			if (i < 0)
				continue;
			if (ItemPointerIsValid(tid))
				range = mts_row_ids_find(edits->row_ids, tid, &low);
			if (!range || !bms_is_member(low, range->moved))
				refuse_move(edits, write, write->changes[i]->time,
							"Another point is stored in that slot.");
			mts_row_ids_mark(edits->row_ids, &range->overwritten, low);
			is_taken[i] = true;
			mts_bucket_reader_require_point(reader, write->changes[i],
											write->required);
		}
	}
	if (!can_require_free && write->kind == MTS_BUCKET_UPSERT)
		mts_bucket_reader_require_bucket(layout, NULL, write->required);
	for (int i = 0; i < write->n && can_require_free; i++)
		if (!is_taken[i])
			mts_bucket_reader_require_free(layout, write->changes[i],
										   write->required);
}

/*
 * Store the points that move in their new slots.  All slots are checked before
 * the first point is stored, so these points are kept in memory.
 */
static void
store_moved(MtsEdits *edits)
{
	MtsWriter *writer = edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	MemoryContext old;
	ListCell *lc;

	writer->moves_points = true;
	foreach (lc, edits->moved)
	{
		ExecStoreHeapTupleDatum(PointerGetDatum(lfirst(lc)), edits->new_row);
		mts_writer_add(writer, edits->new_row);
	}
	old = MemoryContextSwitchTo(writer->batch);
	foreach (lc, writer->writes)
	{
		MtsBucketWrite *write = lfirst(lc);
		int n = write->n;

		mts_bucket_write_sort(layout, write);
		if (write->n < n)
			refuse_move(edits, write, write->changes[0]->time,
						"The statement moves several points to one slot.");
		if (layout->write_mode != MTS_WRITE_PUSH)
			check_slots(edits, write);
	}
	MemoryContextSwitchTo(old);
	process(edits, PASS_CHECK);
	mts_source_read_xact(edits->reader->scan->source,
						 writer->bulk.scope >= MTS_STATEMENT);
	mts_writer_flush(writer);
	writer->moves_points = false;
}

/*
 * Store the points that move, and send all edits, as one transaction where
 * the server has transactions.  With option transactions 'batch' it ends here,
 * unless it is that of another table's writes.
 */
static void
move_and_send(MtsEdits *edits)
{
	MtsBulk *bulk = &edits->writer->bulk;
	MtsScope scope = bulk->scope;
	bool is_own = mts_bulk_begin_statement(bulk);

	store_moved(edits);
	process(edits, PASS_SEND);
	/* it is lower if the collection excludes transactions */
	bulk->scope = Min(bulk->scope, scope);
	if (is_own)
		mts_xact_commit(bulk->connection);
}

/* mts_edits_discard: send no edits, because all rows are read again. */
void
mts_edits_discard(MtsEdits *edits)
{
	tuplesort_end(edits->sort);
}

/*
 * mts_edits_finish
 *		Send all edits.
 */
void
mts_edits_finish(MtsEdits *edits)
{
	if (edits->n > 0)
	{
		mts_row_ids_complete(edits->row_ids);
		edits->reader =
			mts_bucket_reader_new(edits->writer->table, edits->userid,
								  edits->rows, edits->row_ids);
		tuplesort_performsort(edits->sort);
		if (edits->moved)
			move_and_send(edits);
		else
			process(edits, PASS_SEND);
	}
	tuplesort_end(edits->sort);
}
