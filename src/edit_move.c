/*
 * edit_move.c
 *		Store points where an UPDATE takes them.
 *
 * A place that another point has, and keeps, is no place to go: that is seen
 * before anything is written, and so is a point that is not as it was read.  One whose point moves on is overwritten, and
 * need not be left any more.
 */
#include "edit.h"

#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "document.h"
#include "guard.h"

static _Noreturn void refuse_place(const MtsEdits *edits,
								   const MtsPending *pending, MtsTime t,
								   const char *detail);

static void
refuse_place(const MtsEdits *edits, const MtsPending *pending, MtsTime t,
			 const char *detail)
{
	const MtsTable *table = edits->writer->table;

	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("cannot move a point to %s in MongoDB collection "
					"\"%s.%s\"",
					timestamptz_to_str(t), table->database,
					mts_collection_at(table, pending->key.start)),
			 errdetail("%s", detail), errhint("Nothing has been changed.")));
	pg_unreachable();
}

/* Which of a bucket's writes goes where a point is; -1 when none does */
static int
find_write(const MtsLayout *layout, const MtsPending *pending,
		   const MtsPoint *point)
{
	MtsWrite key = {0};
	int low = 0, high = pending->n;

	for (int i = 0; i < layout->nslots; i++)
	{
		key.index[i] = point->slots[i].index;
		key.texts[i] = point->slots[i].text;
	}
	while (low < high)
	{
		int middle = (low + high) / 2;
		int order = mts_write_compare(layout, pending->writes[middle], &key);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/* The place of a write holds what was read there. */
static void
guard_taken(const MtsLayout *layout, const MtsPoint *point,
			const MtsWrite *write, bson_t *guard)
{
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];

		mts_write_path(container->path->steps, container->nsteps, write, path);
		mts_guard_element(guard, path, &point->cells[i]);
	}
}

/*
 * The place of a write holds nothing.  A place in an array, or one that may
 * hold what is missing, can't be told so simply, and is left unguarded.
 */
static void
guard_free(const MtsLayout *layout, const MtsWrite *write, bson_t *guard)
{
	MtsElement none = {.type = 0};
	char path[MTS_MAX_DOTTED];

	if (layout->has_missing || mts_update_array_level(layout) >= 0)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (layout->columns[i].container < 0)
			continue;
		mts_write_path(of->steps, of->nsteps, write, path);
		mts_guard_element(guard, path, &none);
	}
}

/* Look at the points that a bucket has where others want to go. */
static void
check_bucket(MtsEdits *edits, MtsScan *reader, ExprContext *econtext,
			 TupleTableSlot *slot, MtsPending *pending)
{
	MtsWriter *writer = edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	bson_t *selector = mts_place_selector(writer->placer, pending->key.start,
										  pending->values);
	bool *taken = palloc0(pending->n * sizeof(bool));

	pending->guard = mts_document_new();
	mts_scan_set_collection(reader, mts_collection_at(writer->table,
													  pending->key.start));
	mts_scan_set_filter(reader, selector);
	MemoryContextSwitchTo(old);
	while (mts_scan_next(reader, econtext, slot))
	{
		int i = find_write(layout, pending, &reader->point);
		MtsTarget *target;
		int low;

		pending->exists = true;
		if (i < 0)
			continue;
		target = mts_targets_lookup(edits->targets, mts_scan_of_set(reader),
									&reader->unfold, &reader->point, &low);
		if (!target || !bms_is_member(low, target->moved))
			refuse_place(edits, pending, pending->writes[i]->time,
						 "Another point is stored there.");
		old = MemoryContextSwitchTo(GetMemoryChunkContext(target));
		target->overwritten = bms_add_member(target->overwritten, low);
		MemoryContextSwitchTo(old);
		taken[i] = true;
		guard_taken(layout, &reader->point, pending->writes[i],
					pending->guard);
	}
	mts_scan_reset(reader);
	for (int i = 0; i < pending->n; i++)
		if (!taken[i])
			guard_free(layout, pending->writes[i], pending->guard);
}

/* See that the places of a batch are free, or become so. */
static void
check_batch(MtsEdits *edits, MtsScan *reader, ExprContext *econtext,
			TupleTableSlot *slot)
{
	MtsWriter *writer = edits->writer;
	const MtsLayout *layout = &writer->table->layout;
	ListCell *lc;

	foreach (lc, writer->pending)
	{
		MtsPending *pending = lfirst(lc);
		int n = pending->n;

		mts_writer_settle(writer, pending);
		if (pending->n < n)
			refuse_place(edits, pending, pending->writes[0]->time,
						 "The statement takes several points to one place.");
		if (layout->write_mode != MTS_WRITE_PUSH)
			check_bucket(edits, reader, econtext, slot, pending);
	}
}

/*
 * mts_edits_move
 *		Store the points that have moved in their new places.
 *
 * All places are looked at before the first is filled, so they are kept in
 * memory.
 */
void
mts_edits_move(MtsEdits *edits)
{
	MtsWriter *writer = edits->writer;
	EState *estate = CreateExecutorState();
	ExprContext *econtext = CreateExprContext(estate);
	TupleTableSlot *row =
		MakeSingleTupleTableSlot(edits->rows, &TTSOpsMinimalTuple);
	TupleTableSlot *copy =
		MakeSingleTupleTableSlot(edits->rows, &TTSOpsVirtual);
	MtsScan *reader =
		mts_scan_new(writer->table, edits->userid, list_make1_int(0));
	ListCell *lc;

	writer->is_move = true;
	foreach (lc, edits->moved)
	{
		ExecStoreMinimalTuple(lfirst(lc), row, false);
		ExecCopySlot(copy, row);
		mts_writer_add(writer, copy);
	}
	check_batch(edits, reader, econtext, copy);
	mts_edits_send(edits, true);
	mts_writer_flush(writer);
	writer->is_move = false;
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(copy);
	FreeExecutorState(estate);
}
