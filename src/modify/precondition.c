/*
 * precondition.c
 *		Read buckets again, and require that they are written as they were read.
 *
 * An update whose selector has these terms finds nothing when another session
 * has changed in the meantime what they state.
 */
#include "modify/precondition.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "core/bson/template.h"
#include "driver/document.h"

/* ---- Reading ------------------------------------------------------------- */

/*
 * mts_reader_new
 *		Prepare to read buckets of a table again, all of their columns.
 *
 * targets, unless they are NULL, number the rows.
 */
MtsReader *
mts_reader_new(MtsTable *table, Oid userid, TupleDesc rows, MtsRowIds *targets)
{
	MtsReader *reader = palloc(sizeof(MtsReader));

	reader->scan = mts_scan_new(table, userid, list_make1_int(0),
								CreateStandaloneExprContext());
	reader->bucket = reader->scan->bucket;
	reader->bucket->row_ids = targets;
	reader->row =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(rows), &TTSOpsVirtual);
	return reader;
}

/*
 * mts_reader_open
 *		Read the buckets that match a filter, which is the caller's.
 *
 * collection is that of a rolling set; NULL: there is one.
 */
void
mts_reader_open(MtsReader *reader, const char *collection,
				const bson_t *filter)
{
	ExecClearTuple(reader->row);
	if (collection)
		mts_scan_set_collection(reader->scan, collection);
	mts_scan_set_filter(reader->scan, filter);
}

/* Go to the next bucket; at the end, close the cursor and return false. */
bool
mts_reader_next_bucket(MtsReader *reader)
{
	ExecClearTuple(reader->row);
	if (mts_scan_next_bucket(reader->scan))
		return true;
	mts_scan_reset(reader->scan);
	return false;
}

/* Read the next point of the bucket; false at its end. */
bool
mts_reader_next_point(MtsReader *reader)
{
	CHECK_FOR_INTERRUPTS();
	ExecClearTuple(reader->row);
	if (!mts_bucket_next_row(reader->bucket, reader->row))
		return false;
	ExecStoreVirtualTuple(reader->row);
	return true;
}

/*
 * Order the slot of a write and that of the point that was read.  Elements of
 * an array are told apart by their time.
 */
static int
compare_slot(const MtsReader *reader, const MtsChange *write)
{
	const MtsLayout *layout = &reader->bucket->table->layout;
	const MtsPoint *point = &reader->bucket->point;
	MtsChange key = {.time = point->time};

	for (int i = 0; i < layout->nslots; i++)
	{
		key.index[i] = layout->slots[i]->kind == MTS_STEP_ELEMENT
						   ? write->index[i]
						   : point->slots[i].index;
		key.texts[i] = point->slots[i].text;
	}
	if (layout->write_mode == MTS_WRITE_PUSH && key.time != write->time)
		return write->time < key.time ? -1 : 1;
	return mts_change_compare(layout, write, &key);
}

/*
 * mts_reader_find
 *		Find the write, of those of a bucket by slot, that goes where the point
 *		that was read is stored; -1 when none does.
 */
int
mts_reader_find(const MtsReader *reader, MtsChange *const *writes, int n)
{
	int low = 0, high = n;

	while (low < high)
	{
		int middle = (low + high) / 2;
		int order = compare_slot(reader, writes[middle]);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/* ---- Preconditions ------------------------------------------------------- */

/* Require that an element stands at a path; type 0: that none does. */
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
 * Require that the first nsteps names of a path lead to what they did; bucket
 * is NULL when there was none.
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

/*
 * mts_precondition_point
 *		Require that the point that was read, where a write goes, is what it was:
 *		what each container has there, or the fields of a document.
 */
void
mts_precondition_point(const MtsReader *reader, const MtsChange *write,
					   bson_t *selector)
{
	const MtsBucket *bucket = reader->bucket;
	const MtsLayout *layout = &bucket->table->layout;
	char path[MTS_MAX_DOTTED];

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];

		mts_change_path(container->path->steps, container->nsteps, write,
						path);
		require_element(selector, path, &bucket->point.elements[i]);
	}
	for (int i = 0; layout->nslots == 0 && i < layout->ncolumns; i++)
	{
		const MtsPath *field = &layout->columns[i].path;

		if (mts_path_addressable_steps(field) == field->nsteps &&
			field->nsteps > 0 && strcmp(field->steps[0].name, "_id") != 0)
			require_field(bucket->document, field, field->nsteps, selector);
	}
}

/*
 * mts_precondition_free
 *		Require that nothing is stored where a write goes.
 *
 * A place in an array, or one that may hold what is missing, can't be told so
 * simply, and is left without a condition.
 */
void
mts_precondition_free(const MtsLayout *layout, const MtsChange *write,
					  bson_t *selector)
{
	MtsElement none = {.type = 0};
	char path[MTS_MAX_DOTTED];

	if (layout->has_missing || mts_change_array_level(layout) >= 0)
		return;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsPath *of = &layout->columns[i].path;

		if (layout->columns[i].container < 0)
			continue;
		mts_change_path(of->steps, of->nsteps, write, path);
		require_element(selector, path, &none);
	}
}

/*
 * mts_precondition_bucket
 *		Require that what holds the points of a bucket is what it was.
 *
 * bucket is NULL when there was none.
 */
void
mts_precondition_bucket(const MtsLayout *layout, const bson_t *bucket,
						bson_t *selector)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;

		require_field(bucket, path, mts_path_leading_names(path), selector);
	}
}
