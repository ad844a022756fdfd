/*
 * writer.c
 *		Collect rows as writes of buckets, and send a batch of them at once.
 *
 * The rows of one bucket become one write, which is much faster than one write
 * each (bucket_map.c).  A batch lives in a memory context of its own, which is
 * reset when the batch has been sent.  Points of buckets that are growing are
 * kept for the next batch.  If too few buckets are complete, the batch grows
 * as far as memory allows, and is then sent as a whole, slice by slice.  What
 * the writes of a slice may assume, learnt.c knows.
 *
 * In a transaction, a batch with new collections of a rolling set has all
 * earlier ones sent again (route.c).  The next batch is then twice as large,
 * as far as memory allows, so that this happens a few times only.
 */
#include "modify/writer.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "driver/bulk_error.h"
#include "modify/route.h"
#include "table/collections.h"
#include "table/native.h"

/* A batch is full, or looked at again, after 1 / this of its size */
#define CHECKS_PER_BATCH 8

/* ---- Rows --------------------------------------------------------------- */

/* Begin an empty batch. */
static void
begin_batch(MtsWriter *writer)
{
	MemoryContextReset(writer->batch);
	writer->writes = NIL;
	writer->npoints = 0;
	writer->next_check = writer->table->batch_size;
}

/*
 * mts_writer_discard
 *		Forget the batch and all buckets, and begin an empty batch.
 */
void
mts_writer_discard(MtsWriter *writer)
{
	mts_bucket_map_reset(&writer->buckets);
	begin_batch(writer);
}

/*
 * mts_writer_new
 *		Prepare to write into a table with the rights of a user's mapping.
 */
MtsWriter *
mts_writer_new(const MtsTable *table, Oid userid)
{
	MtsWriter *writer = palloc0(sizeof(MtsWriter));

	writer->table = table;
	writer->batch_size = table->batch_size;
	writer->userid = userid;
	writer->targeting = mts_row_target_prepare(table);
	mts_route_init(&writer->bulk, table, userid);
	writer->marks = mts_rollup_mark_begin(table, userid);
	mts_learnt_init(&writer->learnt, writer->targeting, &writer->bulk);
	mts_bucket_map_init(&writer->buckets, writer->targeting);
	writer->batch =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
								ALLOCSET_DEFAULT_SIZES);
	writer->sent.batch =
		GenerationContextCreate(CurrentMemoryContext, "mongo_ts_fdw batch",
								ALLOCSET_DEFAULT_SIZES);
	writer->sent.slice =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw slice",
							  ALLOCSET_DEFAULT_SIZES);
	writer->sent.next_slice =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw slice",
							  ALLOCSET_DEFAULT_SIZES);
	begin_batch(writer);
	return writer;
}

/*
 * Begin the write of the bucket or document that a row belongs to.
 *
 * MongoDB begins a bucket of a native collection each time that a field
 * changes between null and a number, but not if the field is absent.
 */
static MtsBucketWrite *
begin_write(MtsWriter *writer, TupleTableSlot *slot, MtsTime start,
			bson_value_t *values)
{
	MtsBucketWrite *write = palloc0(sizeof(MtsBucketWrite));

	if (writer->nrows == 1)
		writer->targeting->omits_null =
			mts_native_describe(writer->table, writer->userid) != NULL;
	write->kind = MTS_BUCKET_UPSERT;
	write->collection = mts_collections_at(writer->table, start);
	write->start = start;
	write->values = values;
	write->is_move = writer->moves_points;
	mts_row_target_encode_bucket(writer->targeting, slot, values);
	if (writer->returning)
		mts_returning_add_id(writer->returning, slot, values);
	writer->writes = lappend(writer->writes, write);
	return write;
}

/* Find the write of a row's bucket, or begin it. */
static MtsBucketWrite *
find_write(MtsWriter *writer, TupleTableSlot *slot, MtsTime start)
{
	MtsBucketWrite *write = mts_bucket_map_find(&writer->buckets, slot, start);

	if (write)
		return write;
	write = begin_write(writer, slot, start,
						palloc0(writer->table->layout.ncolumns *
								sizeof(bson_value_t)));
	mts_bucket_map_begin(&writer->buckets, write, slot);
	return write;
}

/*
 * mts_writer_add
 *		Add a row to the batch, and return the write of its bucket.
 *
 * The row is copied.  Where the time is rounded, the caller's row gets the
 * rounded time, too, and where RETURNING shows it, the generated _id.
 */
MtsBucketWrite *
mts_writer_add(MtsWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->batch);
	MtsRowTarget target;
	MtsBucketWrite *write;

	slot_getallattrs(slot);
	if (!writer->moves_points)
		mts_row_target_check_new(writer->targeting, slot);
	target = mts_row_target_make(writer->targeting, slot, NULL);
	target.change->order = writer->nrows++;
	writer->npoints++;
	if (writer->moves_points)
		target.change->kind = MTS_CHANGE_SET;
	write = writer->table->layout.nslots > 0
				? find_write(writer, slot, target.start)
				: begin_write(writer, slot, target.change->time,
							  target.change->items);
	mts_bucket_write_add(&writer->table->layout, write, target.change);
	MemoryContextSwitchTo(old);
	return write;
}

/* ---- Sending ------------------------------------------------------------ */

/* Wait until the last writes are stored, and forget them. */
static void
finish_sent(MtsWriter *writer)
{
	MtsBulk *bulk = &writer->bulk;
	MtsSent *sent = &writer->sent;
	MemoryContext old = MemoryContextSwitchTo(sent->slice);

	mts_bulk_end(bulk);
	mts_learnt_record(&sent->guess, sent->ops, sent->nops);
	if (bulk->affected < sent->nops)
		mts_bulk_error_refuse_changed(
			bulk, "Another point has been stored in one of the slots.");
	sent->nops = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(sent->slice);
	MemoryContextReset(sent->batch);
}

/* Mark what writes change of roll-ups. */
static void
mark_writes(MtsRollupMarks *marks, List *writes, int first, int end)
{
	for (int i = first; i < end; i++)
	{
		const MtsBucketWrite *write = list_nth(writes, i);

		for (int j = 0; j < write->n; j++)
			mts_rollup_mark_add(marks, write->changes[j]->time,
								write->changes[j]->time);
	}
	mts_rollup_mark_send(marks);
}

/*
 * Build the operations of writes from number first up to end, and send them
 * when the last ones are stored.
 */
static void
send_writes(MtsWriter *writer, List *writes, int first, int end,
			MtsGuess guess)
{
	MtsSent *sent = &writer->sent;
	MemoryContext slice = sent->next_slice;
	MemoryContext old = MemoryContextSwitchTo(slice);
	const MtsLayout *layout = &writer->table->layout;
	int room = 0, nops = 0;
	MtsOp *ops;

	for (int i = first; i < end; i++)
		room += mts_bucket_write_most_ops(layout, list_nth(writes, i));
	ops = palloc(room * sizeof(MtsOp));
	for (int i = first; i < end; i++)
	{
		MtsBucketWrite *write = list_nth(writes, i);

		CHECK_FOR_INTERRUPTS();
		mts_bucket_write_sort(layout, write);
		nops += mts_bucket_write_ops(writer->targeting, write, guess.tried,
									 ops + nops);
	}
	finish_sent(writer);
	sent->next_slice = sent->slice;
	sent->slice = slice;
	sent->ops = ops;
	sent->nops = nops;
	sent->guess = guess;
	if (writer->marks)
		mark_writes(writer->marks, writes, first, end);
	mts_route_begin(&writer->bulk, ops, nops);
	if (writer->bulk.has_restarted)
		writer->batch_size = Min(writer->batch_size, INT_MAX / 2) * 2;
	MemoryContextSwitchTo(old);
}

/*
 * Return the end of the writes from number first on that have no more than
 * writer->batch_size points, but at least one write.
 */
static int
find_slice(const MtsWriter *writer, List *writes, int first)
{
	int end = first;
	int npoints = 0;

	do
		npoints += ((MtsBucketWrite *) list_nth(writes, end++))->n;
	while (end < list_length(writes) &&
		   npoints + ((MtsBucketWrite *) list_nth(writes, end))->n <=
			   writer->batch_size);
	return end;
}

/* Send writes, by as many points at once as writer->batch_size says. */
static void
send_slices(MtsWriter *writer, List *writes)
{
	int n = list_length(writes);
	int end;

	if (n == 0)
		finish_sent(writer);
	else
		mts_learnt_begin_batch(&writer->learnt, writes, writer->npoints);
	for (int first = 0; first < n; first = end)
	{
		MtsGuess guess = mts_learnt_guess(&writer->learnt, n - first);

		end = guess.most > 0 ? first + guess.most
							 : find_slice(writer, writes, first);
		send_writes(writer, writes, first, end, guess);
		if (guess.most > 0)
			finish_sent(writer);
	}
}

/* ---- Batches ------------------------------------------------------------ */

/* Return the memory of the batch, and of what is known of its buckets. */
static Size
batch_memory(const MtsWriter *writer)
{
	return MemoryContextMemAllocated(writer->batch, true) +
		   MemoryContextMemAllocated(writer->buckets.memory, true);
}

/* Tell whether the batch has no more memory, even if it need not be shared. */
static bool
is_out_of_memory(MtsWriter *writer)
{
	Size limit = get_hash_memory_limit();

	if (batch_memory(writer) +
			MemoryContextMemAllocated(writer->sent.batch, true) <
		limit)
		return false;
	finish_sent(writer);
	return batch_memory(writer) >= limit;
}

/*
 * mts_writer_is_full
 *		Tell whether it is time to send the batch.
 *
 * The points of complete buckets are sent if they are the most.  Otherwise,
 * the batch is full when it has no more memory.  Before that, the last one is
 * awaited, which has its memory until it is stored.
 */
bool
mts_writer_is_full(MtsWriter *writer)
{
	if (writer->npoints < writer->next_check)
		return false;
	if ((writer->npoints >= writer->batch_size &&
		 mts_bucket_map_mark_kept(&writer->buckets) <= writer->npoints / 2) ||
		is_out_of_memory(writer))
		return true;
	writer->next_check =
		writer->npoints + Max(writer->table->batch_size / CHECKS_PER_BATCH, 1);
	return false;
}

/*
 * Tell whether to keep points of growing buckets: if the others are the most,
 * and there is memory for a copy.
 */
static bool
should_keep(MtsWriter *writer)
{
	Size memory = batch_memory(writer);
	int kept = mts_bucket_map_mark_kept(&writer->buckets);

	return kept <= writer->npoints / 2 &&
		   memory + memory / writer->npoints * kept <= get_hash_memory_limit();
}

/* Send the batch, but points of growing buckets may be kept. */
static void
send_batch(MtsWriter *writer, bool may_keep)
{
	MemoryContext batch = writer->batch;
	MemoryContext old = MemoryContextSwitchTo(batch);
	List *writes = NIL;
	bool keeps_points;
	ListCell *lc;

	if (writer->table->layout.max_points > 0)
		mts_open_bucket_find(writer->targeting, writer->bulk.connection,
							 writer->writes);
	keeps_points = may_keep && should_keep(writer);
	foreach (lc, writer->writes)
	{
		MtsBucketWrite *write = lfirst(lc);

		if (!keeps_points)
			write->nkept = 0;
		write->n -= write->nkept;
		if (write->n > 0)
			writes = lappend(writes, write);
	}
	send_slices(writer, writes);
	writer->batch = writer->sent.batch;
	writer->sent.batch = batch;
	begin_batch(writer);
	MemoryContextSwitchTo(writer->batch);
	writer->writes = mts_bucket_map_begin_batch(&writer->buckets);
	foreach (lc, writer->writes)
		writer->npoints += ((MtsBucketWrite *) lfirst(lc))->n;
	MemoryContextSwitchTo(old);
}

/*
 * mts_writer_send
 *		Send the batch, and begin a new one while it is stored.
 *
 * An error of the batch is raised with the next one, or by mts_writer_flush.
 */
void
mts_writer_send(MtsWriter *writer)
{
	send_batch(writer, true);
}

/*
 * mts_writer_flush
 *		Send the batch, and wait until it is stored.
 */
void
mts_writer_flush(MtsWriter *writer)
{
	send_batch(writer, false);
	finish_sent(writer);
}
