/*
 * edit.c
 *		Change and remove the points that UPDATE and DELETE have read.
 *
 * Nothing is sent until the statement has read all that it reads: a point that
 * was changed or has moved would be read, and changed, again.  Then the buckets
 * are read again, whole, some at a time.  Each change must find its point as
 * the statement read it, and is sent under the condition that it still is so.
 * What another session has changed in the meantime is an error.
 *
 * New places are filled before old ones are left, so that what fails in between
 * loses no point.  A place that another point has, and keeps, is no place to
 * go: that is seen before anything is written, and so is a point that is not as
 * it was read.  One whose point moves on is overwritten, and need not be left
 * any more.
 */
#include "modify/edit.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplesort.h"

#include "core/bson/template.h"
#include "driver/document.h"
#include "modify/precondition.h"
#include "modify/route.h"

/* So many buckets are read and written at once, and so many bytes */
#define BUCKETS_AT_ONCE 500
#define BYTES_AT_ONCE (8 * 1024 * 1024)

/* If more points of a bucket change, all of it must be as it was read. */
#define MAX_PRECONDITIONS 64

/* How a change is sorted: attributes from 0 */
enum
{
	SORTED_BUCKET, /* int8: the bucket's ordinal */
	SORTED_TID,    /* tid: of the row */
	SORTED_OLD,    /* record: the row as it was read */
	SORTED_NEW,    /* record: as it is to be; NULL: the point is removed */
	SORTED_ATTRIBUTES
};

/* A change, as it is read from the sort */
typedef struct Edit
{
	ItemPointerData tid;
	MtsRowIdRange *target;
	int low;
	Datum old_row;
	Datum new_row; /* 0: the point is removed */
	bool found;
} Edit;

/* The changes of one statement */
struct MtsEdits
{
	MtsWriter *writer; /* has the table and the connection */
	Oid userid;
	TupleDesc rows;            /* of the relation */
	MtsRowIds *targets;        /* of the statement's scan */
	TupleTableSlot *sorted;    /* a change in the sort */
	Tuplesortstate *sort;      /* changes in place and removals, by bucket */
	int64 n;                   /* how many these are */
	List *moved;               /* records: points that go elsewhere */
	MemoryContext row_context; /* for what one row needs */
	TupleTableSlot *old_row;
	TupleTableSlot *new_row;

	/* the changes of some buckets, while these are read again */
	MtsReader *reader;
	bool only_check; /* are the points as they were read? */
	MemoryContext chunk;
	Edit *items;
	int nitems;
	int room;
	MtsChange **writes; /* of one bucket */
	MtsOp *ops;
	int nops;
	Size bytes;
};

/*
 * mts_edits_new
 *		Begin to collect changes to the rows that targets number.
 */
MtsEdits *
mts_edits_new(Relation relation, MtsWriter *writer, Oid userid,
			  MtsRowIds *targets)
{
	static const Oid types[] = {INT8OID, TIDOID, RECORDOID, RECORDOID};
	static AttrNumber columns[] = {SORTED_BUCKET + 1, SORTED_TID + 1};
	static Oid operators[] = {Int8LessOperator, TIDLessOperator};
	static Oid collations[] = {InvalidOid, InvalidOid};
	static bool nulls_first[] = {false, false};
	TupleDesc desc = CreateTemplateTupleDesc(SORTED_ATTRIBUTES);
	MtsEdits *edits = palloc0(sizeof(MtsEdits));

	edits->writer = writer;
	edits->userid = userid;
	edits->rows = CreateTupleDescCopy(RelationGetDescr(relation));
	edits->targets = targets;
	edits->row_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw changed row",
							  ALLOCSET_DEFAULT_SIZES);
	edits->chunk =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw chunk",
							  ALLOCSET_DEFAULT_SIZES);
	edits->old_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual);
	edits->new_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual);
	edits->room = 256;
	edits->items = palloc(edits->room * sizeof(Edit));
	for (int i = 0; i < SORTED_ATTRIBUTES; i++)
		TupleDescInitEntry(desc, i + 1, NULL, types[i], -1, 0);
	edits->sorted = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	edits->sort = tuplesort_begin_heap(desc, lengthof(columns), columns,
									   operators, collations, nulls_first,
									   work_mem, NULL, TUPLESORT_RANDOMACCESS);
	return edits;
}

/* ---- Collecting ---------------------------------------------------------- */

/* Does a column have different values in two rows? */
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

/* Does a change take a point, as edits->old_row, to another bucket or slot? */
static bool
is_move(const MtsEdits *edits, const MtsRowIdRange *target,
		TupleTableSlot *new_row)
{
	const MtsTable *table = edits->writer->table;
	const MtsLayout *layout = &table->layout;
	const MtsTargeting *placer = edits->writer->placer;
	bool moves = false;

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[i];

		if (!differ(edits, i, edits->old_row, new_row))
			continue;
		if (placer->identity->read_only[i])
			refuse_change(column, "MongoDB or the writes themselves fill "
								  "its field.");
		if (layout->nslots > 0 && column->role == MTS_ROLE_ATTRIBUTE)
			refuse_change(
				column, "It describes the bucket, which other points share.");
		if (layout->nslots == 0 && column->path.nsteps > 0 &&
			strcmp(column->path.steps[0].name, "_id") == 0)
			refuse_change(column, "MongoDB never changes an _id.");
		if (layout->write_mode == MTS_WRITE_INCREMENT &&
			column->role == MTS_ROLE_VALUE && new_row->tts_isnull[i])
			refuse_change(column, "Nothing can be added to null.");
		if (i == layout->time_column && !edits->old_row->tts_isnull[i])
			moves |=
				!mts_row_target_stays(placer, target->bucket->start,
									  edits->old_row->tts_values[i], new_row);
		else
			moves |= layout->nslots > 0 && (column->role == MTS_ROLE_KEY ||
											column->role == MTS_ROLE_SLOT);
	}
	return moves;
}

/* See that the new row can be stored, and round its time. */
static void
check_row(const MtsEdits *edits, const MtsRowIdRange *target, bool moves,
		  TupleTableSlot *new_row)
{
	const MtsTargeting *placer = edits->writer->placer;
	const MtsTable *table = placer->table;
	const MtsIdentity *identity = placer->identity;
	bson_value_t *values =
		palloc0(table->layout.ncolumns * sizeof(bson_value_t));
	bool has_bucket = !moves && table->layout.bucket_time.is_set;
	MtsRowTarget *place;

	if (moves && identity->problem)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot move a point of this foreign table to "
							   "another bucket"),
						errdetail("%s", identity->problem),
						identity->hint ? errhint("%s", identity->hint) : 0));
	place = mts_row_target_row(placer, new_row,
							   has_bucket ? &target->bucket->start : NULL);
	if (table->rolling_name && table->layout.nslots == 0 &&
		!mts_row_target_is_timeless(placer, new_row) &&
		strcmp(mts_collections_at(table, place->time),
			   target->bucket->collection) != 0)
		refuse_change(mts_layout_time(&table->layout),
					  "The document would belong to another collection.");
	if (moves || table->layout.nslots == 0)
		mts_row_target_keys(placer, new_row, values);
}

/*
 * mts_edits_add
 *		Note that a row is to be changed, or without a new one removed; false
 *		when that has been noted already.
 *
 * An error when a column is changed that can't be.  The new row's time is
 * changed where it is rounded to its slot.
 */
bool
mts_edits_add(MtsEdits *edits, ItemPointer tid, Datum old_row,
			  TupleTableSlot *new_row)
{
	TupleTableSlot *entry = edits->sorted;
	int low;
	MtsRowIdRange *target = mts_row_ids_find(edits->targets, tid, &low);
	Datum row = (Datum) 0;
	bool moves = false;
	MemoryContext old;

	if (!mts_row_ids_mark(edits->targets, &target->changed, low))
		return false;
	MemoryContextReset(edits->row_context);
	old = MemoryContextSwitchTo(edits->row_context);
	if (new_row)
	{
		ExecStoreHeapTupleDatum(old_row, edits->old_row);
		slot_getallattrs(new_row);
		moves = is_move(edits, target, new_row);
		check_row(edits, target, moves, new_row);
		row = ExecFetchSlotHeapTupleDatum(new_row);
	}
	ExecClearTuple(entry);
	memset(entry->tts_isnull, false, SORTED_ATTRIBUTES * sizeof(bool));
	entry->tts_values[SORTED_BUCKET] = Int64GetDatum(target->bucket->ordinal);
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
		mts_row_ids_mark(edits->targets, &target->moved, low);
		MemoryContextSwitchTo(GetMemoryChunkContext(edits));
		edits->moved =
			lappend(edits->moved, DatumGetPointer(datumCopy(row, false, -1)));
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* ---- Sending ------------------------------------------------------------- */

/* Raise an error: what is stored is not what the statement read. */
static _Noreturn void
refuse_point(const MtsEdits *edits, const char *detail)
{
	if (edits->moved && !edits->only_check)
		detail = psprintf("%s\nPoints that move are stored in their new "
						  "places, and not all have left the old ones.",
						  detail);
	mts_writer_refuse(edits->writer, detail);
}

/* Send the writes that have been made; each must find its bucket. */
static void
send_ops(MtsEdits *edits)
{
	MtsBulk *bulk = &edits->writer->bulk;

	mts_route_execute(bulk, edits->ops, edits->nops);
	if (bulk->affected < edits->nops)
		refuse_point(edits, psprintf("Of the last %d buckets, " INT64_FORMAT
									 " were written; the others were not.",
									 edits->nops, bulk->affected));
	edits->nops = 0;
	edits->bytes = 0;
}

static int
compare_edits(const void *a, const void *b)
{
	const Edit *left = a, *right = b;
	int64 order =
		left->target->bucket->ordinal - right->target->bucket->ordinal;

	if (order != 0)
		return order < 0 ? -1 : 1;
	return ItemPointerCompare((ItemPointer) &left->tid,
							  (ItemPointer) &right->tid);
}

/* The change of the point that has been read, or NULL */
static Edit *
find_edit(const MtsEdits *edits)
{
	Edit key = {.tid = edits->reader->row->tts_tid};

	if (!ItemPointerIsValid(&key.tid))
		return NULL;
	key.target = mts_row_ids_find(edits->targets, &key.tid, &key.low);
	return bsearch(&key, edits->items, edits->nitems, sizeof(Edit),
				   compare_edits);
}

/*
 * Is a point what it was?  What the writes themselves keep of its bucket may
 * have changed.
 */
static bool
is_same(const MtsEdits *edits)
{
	const MtsWriter *writer = edits->writer;

	for (int i = 0; i < writer->table->layout.ncolumns; i++)
		if (!writer->placer->identity->read_only[i] &&
			differ(edits, i, edits->reader->row, edits->old_row))
			return false;
	return true;
}

/* The values of a point that a change changes; false when it changes none. */
static bool
read_changes(const MtsEdits *edits, const Edit *edit, MtsRowTarget *place)
{
	const MtsTargeting *placer = edits->writer->placer;
	const MtsLayout *layout = &placer->table->layout;
	bool any = false;

	if (layout->nslots == 0)
		mts_row_target_keys(placer, edits->new_row, place->values);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!differ(edits, i, edits->old_row, edits->new_row))
			place->values[i].value_type = BSON_TYPE_EOD;
		any |= place->values[i].value_type != BSON_TYPE_EOD;
	}
	return any;
}

/* The write that does a change of the point that was read; NULL: nothing. */
static MtsChange *
make_write(const MtsEdits *edits, const Edit *edit)
{
	const MtsTargeting *placer = edits->writer->placer;
	const MtsLayout *layout = &placer->table->layout;
	const MtsBucket *bucket = edits->reader->bucket;
	MtsRowTarget *place;

	if (edit->new_row)
	{
		ExecStoreHeapTupleDatum(edit->new_row, edits->new_row);
		place = mts_row_target_row(placer, edits->new_row,
								   layout->bucket_time.is_set
									   ? &bucket->unfold.start
									   : NULL);
		place->write.kind = MTS_PUT;
		if (!read_changes(edits, edit, place))
			return NULL;
	}
	else
	{
		place = palloc0(sizeof(MtsRowTarget));
		place->write.kind = MTS_CLEAR;
	}
	for (int i = 0; i < layout->nslots; i++)
	{
		const MtsSlotKey *key = &bucket->point.slots[i];

		place->write.index[i] = key->index;
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			place->write.texts[i] = pnstrdup(key->text, key->len);
	}
	return &place->write;
}

static bson_t *
select_bucket(const MtsBucket *bucket)
{
	bson_t *selector = mts_document_new();
	bson_iter_t id;

	if (bson_iter_init_find(&id, bucket->document, "_id"))
		bson_append_iter(selector, "_id", -1, &id);
	return selector;
}

/* Make the write of the bucket that the reader is at, if any is to be made. */
static void
edit_bucket(MtsEdits *edits)
{
	const MtsBucket *bucket = edits->reader->bucket;
	const MtsLayout *layout = &bucket->table->layout;
	MtsPending pending = {.key.start = bucket->unfold.start,
						  .selector = select_bucket(bucket),
						  .writes = edits->writes};
	MtsOp *op = &edits->ops[edits->nops];
	bool removes_all = !layout->has_missing;

	while (mts_reader_next_point(edits->reader))
	{
		Edit *edit = find_edit(edits);
		MtsChange *write;

		/* a view can show a document several times, and a document a key */
		if (edit && edit->found)
			refuse_point(edits, "A point was read twice.");
		if (edit)
			edit->found = true;
		if (!edit || (!edits->only_check &&
					  bms_is_member(edit->low, edit->target->overwritten)))
		{
			removes_all = false;
			continue;
		}
		ExecStoreHeapTupleDatum(edit->old_row, edits->old_row);
		if (!is_same(edits))
			refuse_point(edits, "A point has another value by now.");
		if (edits->only_check)
			continue;
		write = make_write(edits, edit);
		removes_all &= write && write->kind == MTS_CLEAR;
		if (!write)
			continue;
		if (pending.n < MAX_PRECONDITIONS)
			mts_precondition_point(edits->reader, write, pending.selector);
		pending.writes[pending.n++] = write;
	}
	if (pending.n == 0)
		return;
	/* what was skipped is not the statement's to remove */
	removes_all &= bucket->ninvalid == 0;
	if (layout->nslots > 0 && (removes_all || pending.n > MAX_PRECONDITIONS))
	{
		pending.selector = select_bucket(bucket);
		mts_precondition_bucket(layout, bucket->document, pending.selector);
	}
	if (removes_all)
		*op = (MtsOp){MTS_OP_DELETE, pending.selector, NULL, pending.n};
	else
	{
		mts_writer_settle(edits->writer, &pending);
		mts_writer_build(edits->writer, &pending, 0, pending.n, op);
	}
	op->collection = mts_bucket_of_set(bucket);
	edits->nops++;
	edits->bytes += op->selector->len + (op->document ? op->document->len : 0);
}

/* {_id: {$in: [the buckets of the chunk]}} */
static bson_t *
select_chunk(const MtsEdits *edits)
{
	bson_t *filter = mts_document_new();
	bson_t ids = BSON_INITIALIZER;

	for (int i = 0; i < edits->nitems; i++)
	{
		const MtsRowIdBucket *bucket = edits->items[i].target->bucket;

		if (i == 0 || bucket != edits->items[i - 1].target->bucket)
			bson_append_value(&ids, "", -1, &bucket->id);
	}
	mts_template_fields(filter, "{_id: {$in: %a}}", &ids);
	bson_destroy(&ids);
	return filter;
}

/* Read the buckets of the collected changes again, and send their writes. */
static void
send_chunk(MtsEdits *edits)
{
	MemoryContext old = MemoryContextSwitchTo(edits->chunk);
	const char *collection = edits->items[0].target->bucket->collection;

	edits->writes = palloc(edits->nitems * sizeof(MtsChange *));
	edits->ops = palloc(edits->nitems * sizeof(MtsOp));
	if (collection)
		edits->writer->bulk.collection = collection;
	mts_reader_open(edits->reader, collection, select_chunk(edits));
	while (mts_reader_next_bucket(edits->reader))
	{
		edit_bucket(edits);
		if (edits->bytes > BYTES_AT_ONCE)
			send_ops(edits);
	}
	for (int i = 0; i < edits->nitems; i++)
		if (!edits->items[i].found)
			refuse_point(edits, "A point has been removed by now.");
	send_ops(edits);
	edits->nitems = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(edits->chunk);
}

/* A row of the sort, in the current memory context */
static Datum
copy_row(const MtsEdits *edits, int attribute)
{
	if (edits->sorted->tts_isnull[attribute])
		return (Datum) 0;
	return PointerGetDatum(
		PG_DETOAST_DATUM_COPY(edits->sorted->tts_values[attribute]));
}

/*
 * Send all changes in place and removals, or only check that they can be sent.
 */
static void
send_all(MtsEdits *edits, bool only_check)
{
	int nbuckets = 0;

	edits->only_check = only_check;
	tuplesort_rescan(edits->sort);
	while (
		tuplesort_gettupleslot(edits->sort, true, false, edits->sorted, NULL))
	{
		MemoryContext old = MemoryContextSwitchTo(edits->chunk);
		const MtsRowIdBucket *last =
			edits->nitems > 0 ? edits->items[edits->nitems - 1].target->bucket
							  : NULL;
		Edit edit = {0};

		slot_getallattrs(edits->sorted);
		edit.tid = *(ItemPointer) DatumGetPointer(
			edits->sorted->tts_values[SORTED_TID]);
		edit.target = mts_row_ids_find(edits->targets, &edit.tid, &edit.low);
		if (last && last != edit.target->bucket &&
			(nbuckets == BUCKETS_AT_ONCE ||
			 (last->collection &&
			  strcmp(last->collection, edit.target->bucket->collection) !=
				  0) ||
			 edits->nitems >= edits->writer->table->batch_size))
		{
			send_chunk(edits);
			nbuckets = 0;
		}
		nbuckets += edits->nitems == 0 || last != edit.target->bucket;
		edit.old_row = copy_row(edits, SORTED_OLD);
		edit.new_row = copy_row(edits, SORTED_NEW);
		if (edits->nitems == edits->room)
		{
			edits->room *= 2;
			edits->items =
				repalloc_huge(edits->items, edits->room * sizeof(Edit));
		}
		edits->items[edits->nitems++] = edit;
		MemoryContextSwitchTo(old);
	}
	if (edits->nitems > 0)
		send_chunk(edits);
}

/* ---- Moving -------------------------------------------------------------- */

static _Noreturn void
refuse_place(const MtsEdits *edits, const MtsPending *pending, MtsTime t,
			 const char *detail)
{
	const MtsTable *table = edits->writer->table;

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("cannot move a point to %s in MongoDB collection "
					"\"%s.%s\"",
					timestamptz_to_str(t), table->database,
					mts_collections_at(table, pending->key.start)),
			 errdetail("%s", detail), errhint("Nothing has been changed.")));
}

/*
 * See that the places are free, or become so, to which points move in a
 * bucket, and require that they still are when the bucket is written.
 */
static void
check_places(MtsEdits *edits, MtsPending *pending)
{
	MtsWriter *writer = edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	MtsReader *reader = edits->reader;
	bool *taken = palloc0(pending->n * sizeof(bool));

	pending->precondition = mts_document_new();
	mts_reader_open(reader,
					mts_collections_at(writer->table, pending->key.start),
					mts_row_target_selector(writer->placer, pending->key.start,
											pending->values));
	while (mts_reader_next_bucket(reader))
		while (mts_reader_next_point(reader))
		{
			int i = mts_reader_find(reader, pending->writes, pending->n);
			ItemPointer tid = &reader->row->tts_tid;
			MtsRowIdRange *target = NULL;
			int low;

			pending->exists = true;
			if (i < 0)
				continue;
			if (ItemPointerIsValid(tid))
				target = mts_row_ids_find(edits->targets, tid, &low);
			if (!target || !bms_is_member(low, target->moved))
				refuse_place(edits, pending, pending->writes[i]->time,
							 "Another point is stored there.");
			mts_row_ids_mark(edits->targets, &target->overwritten, low);
			taken[i] = true;
			mts_precondition_point(reader, pending->writes[i],
								   pending->precondition);
		}
	for (int i = 0; i < pending->n; i++)
		if (!taken[i])
			mts_precondition_free(layout, pending->writes[i],
								  pending->precondition);
}

/*
 * Store the points that move in their new places.  All places are looked at
 * before the first is filled, so they are kept in memory.
 */
static void
move(MtsEdits *edits)
{
	MtsWriter *writer = edits->writer;
	MemoryContext old;
	ListCell *lc;

	writer->is_move = true;
	foreach (lc, edits->moved)
	{
		ExecStoreHeapTupleDatum(PointerGetDatum(lfirst(lc)), edits->new_row);
		mts_writer_add(writer, edits->new_row);
	}
	old = MemoryContextSwitchTo(writer->batch);
	foreach (lc, writer->pending)
	{
		MtsPending *pending = lfirst(lc);
		int n = pending->n;

		mts_writer_settle(writer, pending);
		if (pending->n < n)
			refuse_place(edits, pending, pending->writes[0]->time,
						 "The statement takes several points to one place.");
		if (writer->table->layout.write_mode != MTS_WRITE_PUSH)
			check_places(edits, pending);
	}
	MemoryContextSwitchTo(old);
	send_all(edits, true);
	mts_writer_flush(writer);
	writer->is_move = false;
}

/*
 * mts_edits_finish
 *		Send everything.
 */
void
mts_edits_finish(MtsEdits *edits)
{
	if (edits->n > 0)
	{
		mts_row_ids_complete(edits->targets);
		edits->reader = mts_reader_new(edits->writer->table, edits->userid,
									   edits->rows, edits->targets);
		tuplesort_performsort(edits->sort);
		if (edits->moved)
			move(edits);
		send_all(edits, false);
	}
	tuplesort_end(edits->sort);
}
