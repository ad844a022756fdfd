/*
 * edit_send.c
 *		Send the changes of points, bucket by bucket.
 *
 * The buckets are read again, whole, some at a time.
 */
#include "edit_chunk.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "document.h"

/* So many buckets are read and written at once, and so many bytes */
#define BUCKETS_AT_ONCE 500
#define BYTES_AT_ONCE (8 * 1024 * 1024)

/* {_id: {$in: [the buckets of the chunk]}} */
static bson_t *
chunk_filter(const MtsChunk *chunk)
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
send_chunk(MtsChunk *chunk)
{
	MemoryContext old = MemoryContextSwitchTo(chunk->context);
	MtsScan *reader = chunk->reader;
	const char *collection = chunk->items[0].target->bucket->collection;
	int64 buckets = -1;

	chunk->writes = palloc((chunk->n + 1) * sizeof(MtsWrite *));
	chunk->ops = palloc((chunk->n + 1) * sizeof(MtsOp));
	chunk->bucket = NULL;
	if (collection)
	{
		mts_scan_set_collection(reader, collection);
		chunk->edits->writer->bulk.collection = collection;
	}
	mts_scan_set_filter(reader, chunk_filter(chunk));
	while (mts_scan_next(reader, chunk->econtext, chunk->row))
	{
		if (reader->counters.buckets != buckets)
		{
			MtsTarget *target;
			int low;

			mts_chunk_end_bucket(chunk);
			if (chunk->bytes > BYTES_AT_ONCE)
				mts_chunk_send(chunk);
			buckets = reader->counters.buckets;
			target = mts_targets_lookup(chunk->edits->targets, collection,
										&reader->unfold, &reader->point, &low);
			mts_chunk_begin_bucket(
				chunk, target
						   ? target->bucket
						   : mts_targets_bucket(chunk->edits->targets,
												collection, &reader->unfold));
		}
		ExecStoreVirtualTuple(chunk->row);
		mts_chunk_take_point(chunk);
		ExecClearTuple(chunk->row);
	}
	mts_chunk_end_bucket(chunk);
	mts_scan_reset(reader);
	for (int i = 0; i < chunk->n; i++)
		if (!chunk->items[i].found)
			mts_chunk_refuse(chunk, "A point has been removed by now.");
	mts_chunk_send(chunk);
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

static MtsEdit
read_edit(const MtsEdits *edits, TupleTableSlot *slot)
{
	bool isnull;
	int low;
	ItemPointerData tid;
	MtsEdit edit = {0};

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

/* Are two buckets in different collections of a set? */
static bool
is_elsewhere(const MtsTargetBucket *a, const MtsTargetBucket *b)
{
	return a->collection && strcmp(a->collection, b->collection) != 0;
}

/* Add a change to the chunk; it is sent first when it is full. */
static void
add_edit(MtsChunk *chunk, int *buckets)
{
	MtsEdits *edits = chunk->edits;
	MemoryContext old = MemoryContextSwitchTo(chunk->context);
	MtsEdit edit = read_edit(edits, edits->sorted_slot);
	const MtsTargetBucket *last =
		chunk->n > 0 ? chunk->items[chunk->n - 1].target->bucket : NULL;
	bool is_new = last != edit.target->bucket;

	if (is_new && last &&
		(*buckets == BUCKETS_AT_ONCE ||
		 is_elsewhere(last, edit.target->bucket) ||
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
		chunk->items =
			repalloc_huge(chunk->items, chunk->room * sizeof(MtsEdit));
	}
	chunk->items[chunk->n++] = edit;
	MemoryContextSwitchTo(old);
}

/*
 * mts_edits_send
 *		Send all changes in place and removals.
 *
 * only_check: see that they can be sent, as it seems.
 */
void
mts_edits_send(MtsEdits *edits, bool only_check)
{
	EState *estate = CreateExecutorState();
	MtsChunk chunk = {
		.edits = edits,
		.only_check = only_check,
		.context =
			AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw chunk",
								  ALLOCSET_DEFAULT_SIZES),
		.bucket_context =
			AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw bucket",
								  ALLOCSET_DEFAULT_SIZES),
		.room = 256,
		.items = palloc(256 * sizeof(MtsEdit)),
		.reader = mts_scan_new(edits->writer->table, edits->userid,
							   list_make1_int(0)),
		.econtext = CreateExprContext(estate),
		.row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual),
		.old_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsMinimalTuple),
		.new_row = MakeSingleTupleTableSlot(edits->rows, &TTSOpsMinimalTuple),
	};
	int buckets = 0;

	tuplesort_rescan(edits->sorted);
	while (tuplesort_gettupleslot(edits->sorted, true, false,
								  edits->sorted_slot, NULL))
		add_edit(&chunk, &buckets);
	if (chunk.n > 0)
		send_chunk(&chunk);
	ExecDropSingleTupleTableSlot(chunk.row);
	ExecDropSingleTupleTableSlot(chunk.old_row);
	ExecDropSingleTupleTableSlot(chunk.new_row);
	FreeExecutorState(estate);
	MemoryContextDelete(chunk.bucket_context);
	MemoryContextDelete(chunk.context);
}
