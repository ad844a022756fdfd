/*
 * edit_chunk.c
 *		Make the write of a bucket from the changes of its points.
 *
 * Each change must find its point as the statement read it, and is sent under
 * the condition that it still is so.  What another session has changed in the
 * meantime is an error.
 */
#include "edit_chunk.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "document.h"
#include "guard.h"
#include "route.h"

/* If more points of a bucket change, all of it must be as it was read. */
#define MAX_GUARDS 64

/*
 * mts_chunk_refuse
 *		Raise an error: what is stored is not what the statement read.
 */
void
mts_chunk_refuse(const MtsChunk *chunk, const char *detail)
{
	if (chunk->edits->moved && !chunk->only_check)
		detail = psprintf("%s\nPoints that move are stored in their new "
						  "places, and not all have left the old ones.",
						  detail);
	mts_writer_refuse(chunk->edits->writer, detail);
}

/* ---- The conditions ------------------------------------------------------ */

/* A point is what it was: what each container has there, or its fields */
static void
guard_point(MtsChunk *chunk, const MtsWrite *write)
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

/*
 * mts_chunk_begin_bucket
 *		Begin with the bucket that the reader is at.
 */
void
mts_chunk_begin_bucket(MtsChunk *chunk, MtsTargetBucket *bucket)
{
	MemoryContext old;

	chunk->bucket = bucket;
	MemoryContextReset(chunk->bucket_context);
	old = MemoryContextSwitchTo(chunk->bucket_context);
	chunk->document = bson_copy(chunk->reader->bucket);
	mts_document_adopt(chunk->document);
	MemoryContextSwitchTo(old);
	chunk->selector = new_selector(bucket);
	chunk->nwrites = 0;
	chunk->nkept = 0;
	chunk->skipped = chunk->reader->skipped_before;
}

/* {$set: {path: value}} of a document that is a row */
static bson_t *
set_fields(const MtsChunk *chunk, const MtsWrite *write)
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

/*
 * mts_chunk_end_bucket
 *		Make the write of the bucket, which has been read to its end.
 */
void
mts_chunk_end_bucket(MtsChunk *chunk)
{
	MtsWriter *writer = chunk->edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	MtsOp *op = &chunk->ops[chunk->nops];
	/* what was skipped is not the statement's to remove */
	bool removes_all = chunk->nkept == 0 && !layout->has_missing &&
					   chunk->reader->skipped_before == chunk->skipped;

	if (!chunk->bucket || chunk->nwrites == 0)
		return;
	chunk->nops++;
	if (layout->nslots > 0 && (removes_all || chunk->nwrites > MAX_GUARDS))
	{
		chunk->selector = new_selector(chunk->bucket);
		mts_guard_containers(layout, chunk->document, chunk->selector);
	}
	if (removes_all)
		*op = (MtsOp){MTS_OP_DELETE, chunk->selector, NULL, chunk->nwrites};
	else if (layout->nslots == 0)
		*op = (MtsOp){MTS_OP_UPDATE, chunk->selector,
					  set_fields(chunk, chunk->writes[0]), 1};
	else
	{
		mts_writer_sort(writer, chunk->writes, chunk->nwrites);
		mts_writer_build_edit(writer, chunk->bucket->start, chunk->writes,
							  chunk->nwrites, chunk->selector, op);
	}
	op->collection = chunk->bucket->collection;
	chunk->bytes += op->selector->len + (op->document ? op->document->len : 0);
	chunk->bucket = NULL;
}

/*
 * mts_chunk_send
 *		Send the writes that have been made; each must find its bucket.
 */
void
mts_chunk_send(MtsChunk *chunk)
{
	MtsBulk *bulk = &chunk->edits->writer->bulk;

	mts_route_execute(bulk, chunk->ops, chunk->nops);
	if (bulk->affected < chunk->nops)
		mts_chunk_refuse(chunk,
						 psprintf("Of the last %d buckets, " INT64_FORMAT
								  " were written; the others were not.",
								  chunk->nops, bulk->affected));
	chunk->nops = 0;
	chunk->bytes = 0;
}

/* ---- One point ----------------------------------------------------------- */

/* The change of the point that has been read, or NULL */
static MtsEdit *
find_edit(MtsChunk *chunk)
{
	MtsTarget *target;
	int low_bits;
	int low = 0, high = chunk->n;

	target = mts_targets_lookup(chunk->edits->targets,
								mts_scan_of_set(chunk->reader),
								&chunk->reader->unfold, &chunk->reader->point,
								&low_bits);
	if (!target || !bms_is_member(low_bits, target->changed))
		return NULL;
	while (low < high)
	{
		int middle = (low + high) / 2;
		MtsEdit *edit = &chunk->items[middle];
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

/*
 * Is a point what it was?  What the writes themselves keep of its bucket may
 * have changed.
 */
static bool
is_same(MtsChunk *chunk)
{
	const MtsWriter *writer = chunk->edits->writer;

	slot_getallattrs(chunk->row);
	slot_getallattrs(chunk->old_row);
	for (int i = 0; i < writer->table->layout.ncolumns; i++)
		if (!writer->placer->identity->read_only[i] &&
			mts_edits_differ(chunk->edits, i, chunk->row->tts_values,
							 chunk->row->tts_isnull, chunk->old_row))
			return false;
	return true;
}

/* Leave out what a change doesn't change. */
static void
drop_unchanged(const MtsChunk *chunk, MtsPlace *place)
{
	const MtsTable *table = chunk->edits->writer->table;

	for (int i = 0; i < table->layout.ncolumns; i++)
		if (!mts_edits_differ(chunk->edits, i, chunk->old_row->tts_values,
							  chunk->old_row->tts_isnull, chunk->new_row))
			place->values[i].value_type = BSON_TYPE_EOD;
}

static MtsWrite *
make_write(MtsChunk *chunk, const MtsEdit *edit)
{
	const MtsPlacer *placer = chunk->edits->writer->placer;
	const MtsLayout *layout = &placer->table->layout;
	const MtsPoint *point = &chunk->reader->point;
	MtsPlace *place;

	if (edit->new_row)
	{
		ExecStoreMinimalTuple(edit->new_row, chunk->new_row, false);
		slot_getallattrs(chunk->new_row);
		place =
			mts_place_row(placer, chunk->new_row,
						  layout->bucket_time.is_set ? &chunk->bucket->start
													 : NULL);
		if (layout->nslots == 0)
			mts_place_keys(placer, chunk->new_row, place->values);
		place->write.kind = MTS_PUT;
		drop_unchanged(chunk, place);
	}
	else
	{
		place = palloc0(sizeof(MtsPlace));
		place->write.kind = MTS_CLEAR;
	}
	for (int i = 0; i < layout->nslots; i++)
	{
		place->write.index[i] = point->slots[i].index;
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			place->write.texts[i] =
				pnstrdup(point->slots[i].text, point->slots[i].len);
	}
	return &place->write;
}

/* Does a change change anything? */
static bool
has_value(const MtsChunk *chunk, const MtsWrite *write)
{
	for (int i = 0; i < chunk->edits->writer->table->layout.ncolumns; i++)
		if (write->values[i].value_type != BSON_TYPE_EOD)
			return true;
	return false;
}

/*
 * mts_chunk_take_point
 *		Take the point of the current bucket that the reader is at.
 */
void
mts_chunk_take_point(MtsChunk *chunk)
{
	MtsEdit *edit = find_edit(chunk);
	MtsWrite *write;

	CHECK_FOR_INTERRUPTS();
	if (!edit || (!chunk->only_check &&
				  bms_is_member(edit->low, edit->target->overwritten)))
	{
		chunk->nkept++;
		if (edit)
			edit->found = true;
		return;
	}
	ExecStoreMinimalTuple(edit->old_row, chunk->old_row, false);
	if (!is_same(chunk))
		mts_chunk_refuse(chunk, "A point has another value by now.");
	edit->found = true;
	if (chunk->only_check)
		return;
	write = make_write(chunk, edit);
	if (write->kind != MTS_CLEAR)
		chunk->nkept++;
	if (write->kind == MTS_PUT && !has_value(chunk, write))
		return;
	if (chunk->nwrites < MAX_GUARDS)
		guard_point(chunk, write);
	chunk->writes[chunk->nwrites++] = write;
}
