/*
 * bucket_reader.c
 *		Read buckets again before a statement writes them.
 *
 * UPDATE, DELETE and ON CONFLICT DO NOTHING compare what is stored with what
 * they have read, or with what they are about to store.
 */
#include "modify/bucket_reader.h"

#include "executor/executor.h"
#include "miscadmin.h"

/*
 * mts_bucket_reader_new
 *		Prepare to read all columns of a table's buckets.
 *
 * row_ids numbers the rows; NULL where they need no number.
 */
MtsBucketReader *
mts_bucket_reader_new(const MtsTable *table, Oid userid, TupleDesc rows,
					  MtsRowIds *row_ids)
{
	MtsBucketReader *reader = palloc(sizeof(MtsBucketReader));

	reader->scan = mts_scan_new(table, userid, list_make1_int(0),
								CreateStandaloneExprContext());
	/* also what the statement itself has written */
	mts_source_read_xact(reader->scan->source, mts_table_joins_xact(table));
	reader->bucket = reader->scan->bucket;
	reader->bucket->row_ids = row_ids;
	reader->row =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(rows), &TTSOpsVirtual);
	return reader;
}

/*
 * mts_bucket_reader_open
 *		Begin to read the buckets of a collection that match a filter.
 *
 * The filter stays the caller's.  collection can be NULL unless the table
 * is a rolling set.
 */
void
mts_bucket_reader_open(MtsBucketReader *reader, const char *collection,
					   const bson_t *filter)
{
	ExecClearTuple(reader->row);
	if (collection)
		mts_scan_set_collection(reader->scan, collection);
	mts_scan_set_filter(reader->scan, filter);
}

/*
 * mts_bucket_reader_next_bucket
 *		Read the next bucket; at the end, close the cursor and return false.
 */
bool
mts_bucket_reader_next_bucket(MtsBucketReader *reader)
{
	ExecClearTuple(reader->row);
	if (mts_scan_next_bucket(reader->scan))
		return true;
	mts_scan_reset(reader->scan);
	return false;
}

/*
 * mts_bucket_reader_next_point
 *		Read the next point of the bucket; return false at its end.
 */
bool
mts_bucket_reader_next_point(MtsBucketReader *reader)
{
	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(reader->row);
	if (!mts_bucket_next_row(reader->bucket, reader->row))
		return false;
	ExecStoreVirtualTuple(reader->row);
	return true;
}

/*
 * Compare the slot of the point that was read with that of a change.  Elements
 * of an array that grows have no slot, and are compared by time; a write is
 * not sorted by that, so it must have one change.
 */
static int
compare_slot(const void *a, const void *b, void *arg)
{
	const MtsBucket *bucket = a;
	const MtsChange *change = *(MtsChange *const *) b;
	const MtsLayout *layout = &bucket->table->layout;
	const MtsPoint *point = &bucket->point;
	int64_t index[MTS_MAX_SLOTS];
	const char *texts[MTS_MAX_SLOTS];
	MtsChange key = {.time = point->time, .index = index, .texts = texts};

	for (int i = 0; i < layout->nslots; i++)
	{
		index[i] = layout->slots[i]->kind == MTS_STEP_ELEMENT
					   ? change->index[i]
					   : point->slots[i].index;
		texts[i] = point->slots[i].text;
	}
	if (layout->write_mode == MTS_WRITE_PUSH && key.time != change->time)
		return key.time < change->time ? -1 : 1;
	return mts_change_compare(layout, &key, change);
}

/*
 * mts_bucket_reader_find_change
 *		Return the index of the change, of those of a sorted write, in whose
 *		slot the point lies that was read; -1 where there is none.
 */
int
mts_bucket_reader_find_change(const MtsBucketReader *reader,
							  const MtsBucketWrite *write)
{
	MtsChange **change = bsearch_arg(reader->bucket, write->changes, write->n,
									 sizeof(MtsChange *), compare_slot, NULL);

	return change ? change - write->changes : -1;
}
