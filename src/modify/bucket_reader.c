/*
 * bucket_reader.c
 *		Read buckets again before a statement writes them.
 *
 * UPDATE, DELETE and ON CONFLICT DO NOTHING compare what is stored with what
 * they have read, or with what they are about to store.  They write under
 * preconditions: terms of the selector that match a bucket only as it was
 * read.  An update with these finds no document when another session has
 * changed what they state.  The caller sees that by the number of documents
 * that were found.
 */
#include "modify/bucket_reader.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "core/bson/template.h"
#include "driver/document.h"

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
	reader->bucket->spec.row_ids = row_ids;
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
	const MtsPoint *point = &bucket->one_by_one.point;
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

/* ---- Preconditions ------------------------------------------------------ */

/* Require an element at a path; type 0 requires that there is none. */
static void
require_element(bson_t *selector, const char *path, const MtsElement *element)
{
	bson_value_t value;

	if (element->type == 0)
		mts_template_append(selector, path, "{$exists: false}");
	else if (element->type == BSON_TYPE_NULL)
		mts_template_append(selector, path, "{$type: 'null'}");
	else
	{
		value = mts_document_value(element);
		mts_template_append(selector, path, "{$eq: %v}", &value);
	}
}

/*
 * Require what a bucket has at the first nsteps names of a path; bucket is
 * NULL when there was none.
 */
static void
require_field(const bson_t *bucket, const MtsPath *path, int nsteps,
			  bson_t *selector)
{
	MtsElement element = {0};
	char dotted[MTS_MAX_PATH];

	if (bucket)
	{
		MtsElement document =
			mts_element_document(bson_get_data(bucket), bucket->len);

		if (mts_path_find(&document, path->steps, nsteps, &element) !=
			MTS_FOUND)
			element.type = 0;
	}
	mts_path_dotted(path->steps, nsteps, dotted, sizeof(dotted));
	require_element(selector, dotted, &element);
}

/* Require what a bucket has in a field that a query can address. */
static void
require_whole(const bson_t *bucket, const MtsPath *path, bson_t *selector)
{
	if (path->nsteps > 0 && !mts_path_is_in_id(path) &&
		mts_path_addressable_steps(path) == path->nsteps)
		require_field(bucket, path, path->nsteps, selector);
}

/*
 * mts_bucket_reader_require_point
 *		Require the point that was read, in the slot of a change.
 *
 * These are the elements that its containers have in the slot.  If a document
 * is a row, they are its fields, except those in _id and those that no dotted
 * path can address.
 */
void
mts_bucket_reader_require_point(const MtsBucketReader *reader,
								const MtsChange *change, bson_t *selector)
{
	const MtsBucket *bucket = reader->bucket;
	const MtsLayout *layout = &bucket->table->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];

		mts_change_path(container->path->steps, container->nsteps, change,
						path);
		require_element(selector, path, &bucket->one_by_one.point.elements[i]);
	}
	for (int i = 0; layout->nslots == 0 && i < layout->ncolumns; i++)
		require_whole(bucket->document, &layout->columns[i].path, selector);
}

/*
 * mts_bucket_reader_can_require_free
 *		Tell whether terms can state that a slot is free.
 *
 * No simple term states that an index of an array is free, or that a slot is
 * free if a missing value can be stored there.
 */
bool
mts_bucket_reader_can_require_free(const MtsLayout *layout)
{
	return !layout->has_missing && mts_change_array_level(layout) < 0;
}

/*
 * mts_bucket_reader_require_free
 *		Require that the slot of a change is free.
 */
void
mts_bucket_reader_require_free(const MtsLayout *layout,
							   const MtsChange *change, bson_t *selector)
{
	MtsElement none = {.type = 0};
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *field = &layout->columns[i].path;

		if (layout->columns[i].container < 0)
			continue;
		mts_change_path(field->steps, field->nsteps, change, path);
		require_element(selector, path, &none);
	}
}

/*
 * mts_bucket_reader_require_bucket
 *		Require all points of a bucket, by the fields that hold its containers.
 *
 * bucket is NULL when there was none.
 */
void
mts_bucket_reader_require_bucket(const MtsLayout *layout, const bson_t *bucket,
								 bson_t *selector)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;

		require_field(bucket, path, mts_path_leading_names(path), selector);
	}
}

/*
 * mts_bucket_reader_require_identity
 *		Require what all points of the bucket that was read have in common: its
 *		time, its keys and its attributes, and that it meets the table's
 *		filter.
 *
 * A field in _id cannot change.
 */
void
mts_bucket_reader_require_identity(const MtsBucketReader *reader,
								   const MtsIdentity *identity,
								   bson_t *selector)
{
	const MtsTable *table = reader->bucket->table;
	const bson_t *bucket = reader->bucket->document;

	for (int i = 0; i < identity->n; i++)
	{
		const MtsIdentityPart *part = &identity->parts[i];

		if (part->column >= 0 || part->is_time)
			require_whole(bucket, part->path, selector);
	}
	for (int i = 0; i < identity->nattributes; i++)
		require_whole(bucket,
					  &table->layout.columns[identity->attributes[i]].path,
					  selector);
	if (table->filter)
		bson_concat(selector, table->filter);
}
