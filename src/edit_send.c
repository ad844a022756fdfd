/*
 * edit_send.c
 *		Send the changes of points, bucket by bucket.
 *
 * The buckets are read again, whole: each change must find its point as the
 * statement read it, and is sent under the condition that it still is so.
 * What another session has changed in the meantime is an error.
 */
#include "edit.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "document.h"
#include "guard.h"

/* So many buckets are read and written at once, and so many bytes */
#define BUCKETS_AT_ONCE 500
#define BYTES_AT_ONCE (8 * 1024 * 1024)

/* A change, as it is read from the sort */
typedef struct Edit
{
	MtsTarget *target;
	int low;
	MinimalTuple old_row;
	MinimalTuple new_row; /* NULL: the point is removed */
	bool found;
} Edit;

/* The changes of some buckets, sorted by bucket and slot */
typedef struct Chunk
{
	MtsEdits *edits;
	MemoryContext context; /* of this chunk */
	Edit *items;
	int n;
	int room;
	MtsScan *reader;
	ExprContext *econtext;
	TupleTableSlot *row; /* as it is stored now */
	TupleTableSlot *old_row;
	TupleTableSlot *new_row;

	/* the bucket that is being read */
	MtsTargetBucket *bucket;
	bson_t *document;
	bson_t *selector;
	MtsWrite **writes;
	int nwrites;
	int nkept; /* points that are not removed */
	MtsOp *ops;
	int nops;
	Size bytes;
} Chunk;

static void refuse_concurrent(const Chunk *chunk, const char *detail)
	pg_attribute_noreturn();

static void
refuse_concurrent(const Chunk *chunk, const char *detail)
{
	const MtsBulk *bulk = &chunk->edits->writer->bulk;

	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("another session has changed points of MongoDB "
						   "collection \"%s.%s\" that this statement changes",
						   bulk->database, bulk->collection),
					errdetail("%s\nChanged by this statement: " INT64_FORMAT
							  " points.",
							  detail, bulk->stored),
					errhint("Run the statement again.")));
	pg_unreachable();
}

/* ---- The conditions ------------------------------------------------------ */

/* A point is what it was: what each container has there, or its fields */
static void
guard_point(Chunk *chunk, const MtsWrite *write)
{
	const MtsLayout *layout = &chunk->edits->writer->table->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];

		mts_write_path(container->path->steps, container->nsteps, write, path);
		mts_guard_element(chunk->selector, path,
						  &chunk->reader->point.cells[i]);
	}
	for (int i = 0; layout->nslots == 0 && i < layout->ncolumns; i++)
		if (mts_path_addressable(&layout->columns[i].path) ==
				layout->columns[i].path.nsteps &&
			layout->columns[i].path.nsteps > 0 &&
			strcmp(layout->columns[i].path.steps[0].name, "_id") != 0)
			mts_guard_field(chunk->document, &layout->columns[i].path,
							layout->columns[i].path.nsteps, chunk->selector);
}

/* ---- One bucket ---------------------------------------------------------- */

static bson_t *
new_selector(const MtsTargetBucket *bucket)
{
	bson_t *selector = mts_document_new();

	bson_append_value(selector, "_id", -1, &bucket->id);
	return selector;
}

static void
begin_bucket(Chunk *chunk, MtsTargetBucket *bucket)
{
	chunk->bucket = bucket;
	chunk->document = bson_copy(chunk->reader->bucket);
	mts_document_adopt(chunk->document);
	chunk->selector = new_selector(bucket);
	chunk->nwrites = 0;
	chunk->nkept = 0;
}

/* {$set: {path: value}} of a document that is a row */
static bson_t *
set_fields(const Chunk *chunk, const MtsWrite *write)
{
	const MtsLayout *layout = &chunk->edits->writer->table->layout;
	bson_t *update = mts_document_new();
	char path[MTS_MAX_PATH];
	bson_t set;

	bson_append_document_begin(update, "$set", -1, &set);
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (write->values[i].value_type == BSON_TYPE_EOD)
			continue;
		mts_path_dotted(of->steps, of->nsteps, path, sizeof(path));
		bson_append_value(&set, path, -1, &write->values[i]);
	}
	bson_append_document_end(update, &set);
	return update;
}

static int
compare_writes(const void *a, const void *b, void *layout)
{
	return mts_write_compare(layout, *(MtsWrite *const *) a,
							 *(MtsWrite *const *) b);
}

/* Make the write of the bucket, which has been read to its end. */
static void
end_bucket(Chunk *chunk)
{
	MtsWriter *writer = chunk->edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	MtsOp *op = &chunk->ops[chunk->nops];
	bool removes_all = chunk->nkept == 0 && !layout->has_missing;

	if (!chunk->bucket || chunk->nwrites == 0)
		return;
	chunk->nops++;
	if (removes_all)
	{
		if (layout->nslots > 0)
		{
			chunk->selector = new_selector(chunk->bucket);
			mts_guard_containers(layout, chunk->document, chunk->selector);
		}
		*op = (MtsOp){MTS_OP_DELETE, chunk->selector, NULL, chunk->nwrites};
	}
	else if (layout->nslots == 0)
		*op = (MtsOp){MTS_OP_UPDATE, chunk->selector,
					  set_fields(chunk, chunk->writes[0]), 1};
	else
	{
		qsort_arg(chunk->writes, chunk->nwrites, sizeof(MtsWrite *),
				  compare_writes, (void *) layout);
		mts_writer_build_edit(writer, chunk->bucket->start, chunk->writes,
							  chunk->nwrites, chunk->selector, op);
	}
	chunk->bytes += op->selector->len + (op->document ? op->document->len : 0);
	chunk->bucket = NULL;
}

/* Send the writes that have been made; each must find its bucket. */
static void
send_ops(Chunk *chunk)
{
	MtsBulk *bulk = &chunk->edits->writer->bulk;

	mts_bulk_execute(bulk, chunk->ops, chunk->nops);
	if (bulk->affected < chunk->nops)
		refuse_concurrent(chunk,
						  psprintf("Of the last %d buckets, " INT64_FORMAT
								   " could be written.",
								   chunk->nops, bulk->affected));
	chunk->nops = 0;
	chunk->bytes = 0;
}

/* ---- One point ----------------------------------------------------------- */

/* The change of the point that has been read, or NULL */
static Edit *
find_edit(Chunk *chunk)
{
	MtsTarget *target;
	int low_bits;
	int low = 0, high = chunk->n;

	target = mts_targets_lookup(chunk->edits->targets, &chunk->reader->unfold,
								&chunk->reader->point, &low_bits);
	if (!target || !bms_is_member(low_bits, target->changed))
		return NULL;
	while (low < high)
	{
		int middle = (low + high) / 2;
		Edit *edit = &chunk->items[middle];
		int64 order = edit->target->bucket->ordinal - target->bucket->ordinal;

		if (order == 0)
			order = (edit->target->block > target->block) -
					(edit->target->block < target->block);
		if (order == 0)
			order = edit->low - low_bits;
		if (order == 0)
			return edit;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Are two rows the same, value by value? */
static bool
same_rows(TupleDesc desc, TupleTableSlot *a, TupleTableSlot *b)
{
	slot_getallattrs(a);
	slot_getallattrs(b);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (a->tts_isnull[i] != b->tts_isnull[i] ||
			(!a->tts_isnull[i] &&
			 !datum_image_eq(a->tts_values[i], b->tts_values[i], att->attbyval,
							 att->attlen)))
			return false;
	}
	return true;
}

/* Leave out what a change doesn't change. */
static void
drop_unchanged(const Chunk *chunk, MtsPlace *place)
{
	const MtsTable *table = chunk->edits->writer->table;
	TupleTableSlot *a = chunk->old_row, *b = chunk->new_row;

	for (int i = 0; i < table->layout.ncolumns; i++)
	{
		int n = table->attributes[i].attnum - 1;
		Form_pg_attribute att = TupleDescAttr(chunk->edits->rows, n);

		if (a->tts_isnull[n] == b->tts_isnull[n] &&
			(a->tts_isnull[n] ||
			 datum_image_eq(a->tts_values[n], b->tts_values[n], att->attbyval,
							att->attlen)))
			place->values[i].value_type = BSON_TYPE_EOD;
	}
}

static MtsWrite *
make_write(Chunk *chunk, const Edit *edit)
{
	const MtsPlacer *placer = chunk->edits->writer->placer;
	const MtsLayout *layout = &placer->table->layout;
	const MtsPoint *point = &chunk->reader->point;
	MtsPlace *place = palloc0(sizeof(MtsPlace));

	place->write.kind = MTS_CLEAR;
	if (edit->new_row)
	{
		ExecStoreMinimalTuple(edit->new_row, chunk->new_row, false);
		slot_getallattrs(chunk->new_row);
		mts_place_row(placer, chunk->new_row,
					  layout->bucket_time.is_set ? &chunk->bucket->start
												 : NULL,
					  place);
		if (layout->nslots == 0)
			mts_place_keys(placer, chunk->new_row, place->values, false);
		place->write.kind = MTS_PUT;
		drop_unchanged(chunk, place);
	}
	for (int i = 0; i < layout->nslots; i++)
	{
		place->write.index[i] = point->slots[i].index;
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			place->write.texts[i] =
				pnstrdup(point->slots[i].text, point->slots[i].len);
	}
	place->write.number = mts_targets_number(layout, point);
	return &place->write;
}

/* Does a change change anything? */
static bool
has_value(const Chunk *chunk, const MtsWrite *write)
{
	for (int i = 0; i < chunk->edits->writer->table->layout.ncolumns; i++)
		if (write->values[i].value_type != BSON_TYPE_EOD)
			return true;
	return false;
}

/* Take a point of the current bucket that has been read. */
static void
take_point(Chunk *chunk)
{
	Edit *edit = find_edit(chunk);
	MtsWrite *write;

	if (!edit || bms_is_member(edit->low, edit->target->overwritten))
	{
		chunk->nkept++;
		if (edit)
			edit->found = true;
		return;
	}
	ExecStoreMinimalTuple(edit->old_row, chunk->old_row, false);
	if (!same_rows(chunk->edits->rows, chunk->row, chunk->old_row))
		refuse_concurrent(chunk, "A point has another value by now.");
	edit->found = true;
	write = make_write(chunk, edit);
	if (write->kind != MTS_CLEAR)
		chunk->nkept++;
	if (write->kind == MTS_PUT && !has_value(chunk, write))
		return;
	guard_point(chunk, write);
	chunk->writes[chunk->nwrites++] = write;
}

/* ---- A chunk ------------------------------------------------------------- */

/* {_id: {$in: [the buckets of the chunk]}} */
static bson_t *
chunk_filter(const Chunk *chunk)
{
	bson_t *filter = mts_document_new();
	const MtsTargetBucket *last = NULL;
	bson_t in, list;
	char key[16];
	int n = 0;

	bson_append_document_begin(filter, "_id", -1, &in);
	bson_append_array_begin(&in, "$in", -1, &list);
	for (int i = 0; i < chunk->n; i++)
	{
		const MtsTargetBucket *bucket = chunk->items[i].target->bucket;

		if (bucket == last)
			continue;
		last = bucket;
		snprintf(key, sizeof(key), "%d", n++);
		bson_append_value(&list, key, -1, &bucket->id);
	}
	bson_append_array_end(&in, &list);
	bson_append_document_end(filter, &in);
	return filter;
}

static void
send_chunk(Chunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(chunk->context);
	MtsScan *reader = chunk->reader;
	int64 buckets = -1;

	chunk->writes = palloc((chunk->n + 1) * sizeof(MtsWrite *));
	chunk->ops = palloc((chunk->n + 1) * sizeof(MtsOp));
	chunk->bucket = NULL;
	mts_scan_set_filter(reader, chunk_filter(chunk));
	while (mts_scan_next(reader, chunk->econtext, chunk->row))
	{
		if (reader->counters.buckets != buckets)
		{
			MtsTarget *target;
			int low;

			end_bucket(chunk);
			if (chunk->bytes > BYTES_AT_ONCE)
				send_ops(chunk);
			buckets = reader->counters.buckets;
			target = mts_targets_lookup(chunk->edits->targets, &reader->unfold,
										&reader->point, &low);
			begin_bucket(chunk, target
									? target->bucket
									: mts_targets_bucket(chunk->edits->targets,
														 &reader->unfold));
		}
		ExecStoreVirtualTuple(chunk->row);
		take_point(chunk);
		ExecClearTuple(chunk->row);
	}
	end_bucket(chunk);
	mts_scan_reset(reader);
	for (int i = 0; i < chunk->n; i++)
		if (!chunk->items[i].found)
			refuse_concurrent(chunk, "A point has been removed by now.");
	send_ops(chunk);
	chunk->n = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(chunk->context);
}

static MinimalTuple
read_tuple(TupleTableSlot *slot, int attribute)
{
	bool isnull;
	Datum bytes = slot_getattr(slot, attribute, &isnull);
	bytea *data;
	MinimalTuple tuple;

	if (isnull)
		return NULL;
	data = DatumGetByteaPP(bytes);
	tuple = palloc(VARSIZE_ANY_EXHDR(data));
	return memcpy(tuple, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
}

static Edit
read_edit(const MtsEdits *edits, TupleTableSlot *slot)
{
	bool isnull;
	int low;
	ItemPointerData tid;
	Edit edit = {0};

	edit.low = DatumGetInt32(slot_getattr(slot, MTS_SORTED_LOW, &isnull));
	ItemPointerSet(&tid,
				   (BlockNumber) DatumGetInt64(
					   slot_getattr(slot, MTS_SORTED_BLOCK, &isnull)),
				   edit.low + 1);
	edit.target = mts_targets_find(edits->targets, &tid, &low);
	edit.old_row = read_tuple(slot, MTS_SORTED_OLD);
	edit.new_row = read_tuple(slot, MTS_SORTED_NEW);
	return edit;
}

/* Add a change to the chunk; it is sent first when it is full. */
static void
add_edit(Chunk *chunk, int *buckets)
{
	MtsEdits *edits = chunk->edits;
	MemoryContext old = MemoryContextSwitchTo(chunk->context);
	Edit edit = read_edit(edits, edits->sorted_slot);
	bool is_new = chunk->n == 0 || chunk->items[chunk->n - 1].target->bucket !=
									   edit.target->bucket;

	if (is_new && chunk->n > 0 &&
		(*buckets == BUCKETS_AT_ONCE ||
		 chunk->n >= edits->writer->table->batch_size))
	{
		send_chunk(chunk);
		edit = read_edit(edits, edits->sorted_slot);
		*buckets = 0;
	}
	*buckets += is_new;
	if (chunk->n == chunk->room)
	{
		chunk->room *= 2;
		chunk->items = repalloc_huge(chunk->items, chunk->room * sizeof(Edit));
	}
	chunk->items[chunk->n++] = edit;
	MemoryContextSwitchTo(old);
}

/*
 * mts_edits_send
 *		Send all changes in place and removals.
 */
void
mts_edits_send(MtsEdits *edits)
{
	EState *estate = CreateExecutorState();
	Chunk chunk = {
		.edits = edits,
		.context =
			AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw chunk",
								  ALLOCSET_DEFAULT_SIZES),
		.room = 256,
		.items = palloc(256 * sizeof(Edit)),
		.reader = mts_scan_new(edits->writer->table, edits->userid,
							   list_make1_int(0)),
		.econtext = CreateExprContext(estate),
		.row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual),
		.old_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsMinimalTuple),
		.new_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsMinimalTuple),
	};
	int buckets = 0;

	tuplesort_performsort(edits->sorted);
	while (tuplesort_gettupleslot(edits->sorted, true, false,
								  edits->sorted_slot, NULL))
		add_edit(&chunk, &buckets);
	if (chunk.n > 0)
		send_chunk(&chunk);
	ExecDropSingleTupleTableSlot(chunk.row);
	ExecDropSingleTupleTableSlot(chunk.old_row);
	ExecDropSingleTupleTableSlot(chunk.new_row);
	FreeExecutorState(estate);
	MemoryContextDelete(chunk.context);
}
