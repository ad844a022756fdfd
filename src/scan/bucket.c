/*
 * bucket.c
 *		Convert a bucket that has been read, and its points, to rows.
 *
 * The columns of the bucket itself are converted once, when it is opened, and
 * the points one by one, as they are unfolded.  Where all that a bucket holds
 * are doubles, its slots and values are read at once (core/unfold.c).  What is
 * invalid is dealt with here, as the option on_invalid says.
 */
#include "scan/bucket.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/document.h"

static void *
resize(void *memory, size_t size)
{
	return memory ? repalloc(memory, size) : palloc(size);
}

/* ---- Making --------------------------------------------------------------- */

static MtsOutputKind
kind_of(const MtsLayout *layout, int column)
{
	if (column == layout->time_column)
		return MTS_OUTPUT_TIME;
	if (layout->columns[column].role == MTS_ROLE_SLOT)
		return MTS_OUTPUT_SLOT;
	return layout->columns[column].container < 0 ? MTS_OUTPUT_BUCKET
												 : MTS_OUTPUT_POINT;
}

/* mts_bucket_output: the output of a layout's column; -1: it has none. */
int
mts_bucket_output(const MtsBucket *bucket, int column)
{
	for (int i = 0; i < bucket->noutputs; i++)
		if (bucket->outputs[i].column == column)
			return i;
	return -1;
}

/* mts_bucket_converter: the converter of a layout's column, or NULL. */
MtsFromBson *
mts_bucket_converter(const MtsBucket *bucket, int column)
{
	int i = mts_bucket_output(bucket, column);

	return i < 0 ? NULL : bucket->outputs[i].converter;
}

/*
 * mts_bucket_is_double
 *		Tell whether an output is the value of a slot itself, as a double, so
 *		that mts_bucket_doubles() has its values.
 */
bool
mts_bucket_is_double(const MtsBucket *bucket, const MtsOutput *output)
{
	const MtsLayout *layout = &bucket->table->layout;

	return output->kind == MTS_OUTPUT_POINT &&
		   mts_unfold_doubles_supported(layout) &&
		   layout->columns[output->column].path.nsteps ==
			   layout->containers[0].nsteps &&
		   bucket->table->attributes[output->column].typid == FLOAT8OID;
}

/*
 * Can rows be filled from doubles?  The time must be an instant as it is, and
 * rows that are to be changed are numbered by their slots.
 */
static bool
can_fill_from_doubles(const MtsBucket *bucket)
{
	if (!mts_unfold_doubles_supported(&bucket->table->layout) ||
		bucket->row_ids)
		return false;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		const MtsAttribute *attribute =
			&bucket->table->attributes[output->column];

		if (output->kind == MTS_OUTPUT_TIME
				? attribute->typid != TIMESTAMPTZOID || attribute->typmod >= 0
				: output->kind != MTS_OUTPUT_BUCKET &&
					  !mts_bucket_is_double(bucket, output))
			return false;
	}
	return true;
}

/*
 * mts_bucket_new
 *		Prepare to convert those columns of a table's buckets that are needed.
 *
 * All is allocated in the current memory context.  The values of a row are in
 * row_context, which each row resets.
 */
MtsBucket *
mts_bucket_new(MtsTable *table, const bool *needed, MtsRowIds *row_ids,
			   MtsCounters *counters, MemoryContext row_context)
{
	const MtsLayout *layout = &table->layout;
	MtsBucket *bucket = palloc0(sizeof(MtsBucket));

	bucket->table = table;
	bucket->row_ids = row_ids;
	bucket->counters = counters;
	bucket->row_context = row_context;
	bucket->outputs = palloc((layout->ncolumns + 1) * sizeof(MtsOutput));
	for (int i = 0; i < layout->ncolumns; i++)
		if (needed[i])
			bucket->outputs[bucket->noutputs++] =
				(MtsOutput){kind_of(layout, i), i,
							mts_from_bson_prepare(table, i)};
	bucket->values = palloc0((bucket->noutputs + 1) * sizeof(Datum));
	bucket->nulls = palloc0((bucket->noutputs + 1) * sizeof(bool));
	bucket->point.elements =
		palloc0((layout->ncontainers + 1) * sizeof(MtsElement));
	bucket->context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw bucket",
							  ALLOCSET_DEFAULT_SIZES);
	mts_unfold_init(&bucket->unfold, layout, NULL, resize);
	bucket->fills_from_doubles = can_fill_from_doubles(bucket);
	if (mts_unfold_doubles_supported(layout))
	{
		bucket->doubles.values = palloc(MTS_DOUBLES_ROOM * sizeof(double));
		bucket->doubles.keys = palloc(MTS_DOUBLES_ROOM * sizeof(int64_t));
	}
	return bucket;
}

/* ---- What is invalid ------------------------------------------------------ */

/* The _id of the current bucket in the shell's syntax */
static char *
bucket_id(const MtsBucket *bucket)
{
	MtsElement doc = mts_element_document(bson_get_data(bucket->document),
										  bucket->document->len);
	MtsStep step = {.kind = MTS_STEP_NAME, .name = "_id", .len = 3};
	MtsElement id;

	if (mts_path_find(&doc, &step, 1, &id) != MTS_FOUND)
		return pstrdup("unknown");
	return mts_document_value_shell(&id);
}

/* Error context: which document, and which of its fields is converted */
static void
describe_bucket(void *arg)
{
	MtsBucket *bucket = arg;

	if (bucket->converting)
		mts_unfold_locate(&bucket->unfold,
						  bucket->has_point ? &bucket->point : NULL,
						  bucket->converting);
	errcontext("MongoDB collection \"%s.%s\", _id %s, path \"%s\"",
			   bucket->table->database, bucket->collection->name,
			   bucket_id(bucket), bucket->unfold.where);
}

/*
 * Deal with an invalid point or bucket as on_invalid says; the caller goes on
 * behind it.
 */
static void
on_invalid(MtsBucket *bucket, const MtsError *error)
{
	bool is_error = bucket->table->on_invalid == MTS_INVALID_ERROR;

	bucket->counters->skipped++;
	bucket->ninvalid++;
	if (!is_error && bucket->has_warned)
		return;
	bucket->has_warned = true;
	ereport(
		is_error ? ERROR : WARNING,
		(errcode(ERRCODE_FDW_INVALID_DATA_TYPE),
		 errmsg(
			 is_error
				 ? "invalid bucket in MongoDB collection \"%s.%s\""
				 : "skipping invalid points in MongoDB collection \"%s.%s\"",
			 bucket->table->database, bucket->collection->name),
		 errdetail("%s", error->detail),
		 error->hint ? errhint("%s", error->hint) : 0));
}

/* ---- Rolling sets --------------------------------------------------------- */

/* Does a time belong to the bucket's collection?  False with the reason. */
static bool
check_time(const MtsBucket *bucket, MtsTime t, MtsError *error)
{
	const MtsRollingName *rolling_name = bucket->table->rolling_name;
	const MtsClock *clock = &bucket->table->layout.clock;
	char *name;

	if (mts_rolling_name_period_contains(&bucket->collection->period, clock,
										 t))
		return true;
	name = palloc(mts_rolling_name_size(rolling_name));
	return mts_error_set(error, NULL,
						 mts_rolling_name_format(rolling_name, clock, t, name)
							 ? "Its time %s belongs to collection \"%s\"."
							 : "Its time %s belongs to no collection.",
						 timestamptz_to_str(t), name);
}

/*
 * Check that a bucket of a set is in the collection of its time, where queries
 * look for it; false with the reason.
 */
static bool
is_in_its_collection(MtsBucket *bucket, MtsError *error)
{
	const MtsLayout *layout = &bucket->table->layout;
	const MtsPath *path = &layout->bucket_time.path;

	if (!bucket->table->rolling_name || layout->time_kind == MTS_TIME_FLAT ||
		check_time(bucket, bucket->unfold.start, error))
		return true;
	mts_path_dotted(path->steps, path->nsteps, bucket->unfold.where,
					sizeof(bucket->unfold.where));
	return false;
}

/*
 * Check the same of a document that is a row; one without a time may be
 * anywhere.
 */
static bool
is_row_in_its_collection(MtsBucket *bucket, MtsError *error)
{
	const MtsLayout *layout = &bucket->table->layout;

	if (!bucket->table->rolling_name || layout->time_kind != MTS_TIME_FLAT ||
		bucket->point.time_is_null ||
		check_time(bucket, bucket->point.time, error))
		return true;
	bucket->converting = mts_layout_time(layout);
	return false;
}

/* ---- Opening -------------------------------------------------------------- */

/* Convert a field of the bucket or of the current point. */
static bool
convert_field(MtsBucket *bucket, const MtsOutput *output, Datum *value,
			  bool *isnull, MtsError *error)
{
	const MtsColumn *column = &bucket->table->layout.columns[output->column];
	MtsElement element;

	*isnull = false;
	switch (mts_unfold_value(&bucket->unfold,
							 bucket->has_point ? &bucket->point : NULL, column,
							 &element))
	{
		case MTS_MALFORMED:
			*error = bucket->unfold.error;
			return false;
		case MTS_ABSENT:
			*isnull = true;
			return true;
		default:
			return mts_from_bson_element(output->converter, &element, value,
										 isnull, error);
	}
}

/* Convert the columns of the bucket, once for all of its points. */
static bool
convert_bucket(MtsBucket *bucket, MtsError *error)
{
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];

		if (output->kind != MTS_OUTPUT_BUCKET)
			continue;
		bucket->converting = &bucket->table->layout.columns[output->column];
		if (!convert_field(bucket, output, &bucket->values[i],
						   &bucket->nulls[i], error))
			return false;
	}
	bucket->converting = NULL;
	return true;
}

static bool
start_unfolding(MtsBucket *bucket, const bson_t *document)
{
	bucket->document = document;
	return mts_unfold_start(&bucket->unfold, bson_get_data(document),
							document->len);
}

/*
 * May the bucket have wanted points in slots that were not asked for?  Its
 * slots count from another time than an aligned bucket's; or what holds them
 * is missing, which it also seems to be when it is not a subdocument.
 */
static bool
lacks_slots(const MtsBucket *bucket)
{
	return bucket->unfold.has_no_points ||
		   !mts_layout_is_aligned(&bucket->table->layout,
								  bucket->unfold.start);
}

static bool
open_bucket(MtsBucket *bucket, MtsBucketSource *source, const bson_t *document)
{
	bool is_valid = start_unfolding(bucket, document);
	MtsError error;

	if (is_valid && source->query->content == MTS_CONTENT_SLOTS &&
		lacks_slots(bucket))
	{
		document = mts_source_read_again(source, document);
		if (!document)
			return false;
		is_valid = start_unfolding(bucket, document);
	}
	error = bucket->unfold.error;
	if (is_valid && is_in_its_collection(bucket, &error) &&
		convert_bucket(bucket, &error))
		return true;
	on_invalid(bucket, &error);
	return false;
}

/*
 * mts_bucket_open
 *		Begin with a bucket that a source has read; false when it is invalid, or
 *		has been removed meanwhile.
 *
 * The document must live until the next bucket is opened.
 */
bool
mts_bucket_open(MtsBucket *bucket, MtsBucketSource *source,
				const bson_t *document)
{
	const MtsQuery *query = source->query;
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MemoryContext old;
	bool is_open;

	MemoryContextReset(bucket->context);
	old = MemoryContextSwitchTo(bucket->context);
	bucket->collection = source->collection;
	bucket->document = document;
	bucket->converting = NULL;
	bucket->has_point = false;
	bucket->ninvalid = 0;
	bucket->doubles.n = -1;
	bucket->doubles.next = -1;
	bucket->unfold.ranges = &query->ranges;
	bucket->unfold.accepts_null_time = query->accepts_null_time;
	bucket->unfold.headers_only = query->content == MTS_CONTENT_HEADERS;
	error_context_stack = &callback;
	is_open = open_bucket(bucket, source, document);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	return is_open;
}

/* ---- Points --------------------------------------------------------------- */

/*
 * mts_bucket_doubles
 *		Read the values of all points at once, and with_keys their slots; they
 *		are in bucket->doubles then.
 *
 * Returns how many there are; -1 when the bucket must be unfolded.
 */
int
mts_bucket_doubles(MtsBucket *bucket, bool with_keys)
{
	MtsDoubles *doubles = &bucket->doubles;

	if (!doubles->values)
		return -1;
	doubles->n = mts_unfold_doubles_read(&bucket->unfold, doubles->values,
										 with_keys ? doubles->keys : NULL,
										 MTS_DOUBLES_ROOM);
	/* rows need the keys */
	doubles->next = with_keys || doubles->n < 0 ? 0 : -1;
	return doubles->n;
}

/* Fill the slot with the next of the doubles; false when there is none. */
static bool
next_double(MtsBucket *bucket, TupleTableSlot *slot)
{
	MtsDoubles *doubles = &bucket->doubles;
	int i = doubles->next;

	if (i == doubles->n)
		return false;
	doubles->next++;
	bucket->counters->points++;
	bucket->point.time =
		bucket->unfold.start +
		doubles->keys[i] * bucket->table->layout.slots[0]->unit.usecs;
	memset(slot->tts_isnull, true, bucket->table->layout.ncolumns);
	for (int n = 0; n < bucket->noutputs; n++)
	{
		const MtsOutput *output = &bucket->outputs[n];
		Datum *value = &slot->tts_values[output->column];
		bool isnull = false;

		if (output->kind == MTS_OUTPUT_TIME)
			*value = TimestampTzGetDatum(bucket->point.time);
		else if (output->kind == MTS_OUTPUT_POINT)
			*value = Float8GetDatum(doubles->values[i]);
		else
		{
			*value = bucket->values[n];
			isnull = bucket->nulls[n];
		}
		slot->tts_isnull[output->column] = isnull;
	}
	return true;
}

/* Convert an output of the current point. */
static bool
convert_output(MtsBucket *bucket, int i, Datum *value, bool *isnull,
			   MtsError *error)
{
	const MtsOutput *output = &bucket->outputs[i];
	const MtsPoint *point = &bucket->point;
	int slot;

	*isnull = false;
	switch (output->kind)
	{
		case MTS_OUTPUT_TIME:
			*isnull = point->time_is_null;
			return *isnull || mts_from_bson_time(output->converter,
												 point->time, value, error);
		case MTS_OUTPUT_SLOT:
			slot = bucket->table->layout.columns[output->column].slot;
			return mts_from_bson_slot(output->converter, &point->slots[slot],
									  value, error);
		case MTS_OUTPUT_BUCKET:
			*value = bucket->values[i];
			*isnull = bucket->nulls[i];
			return true;
		default:
			return convert_field(bucket, output, value, isnull, error);
	}
}

/* Fill a row with the current point. */
static bool
fill_row(MtsBucket *bucket, TupleTableSlot *slot, MtsError *error)
{
	memset(slot->tts_isnull, true, bucket->table->layout.ncolumns);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;

		bucket->converting =
			&bucket->table->layout.columns[bucket->outputs[i].column];
		if (!convert_output(bucket, i, &slot->tts_values[column],
							&slot->tts_isnull[column], error))
			return false;
	}
	bucket->converting = NULL;
	return true;
}

/* The next point as a row; false when there is none. */
static bool
next_point(MtsBucket *bucket, TupleTableSlot *slot)
{
	MtsError error;

	for (;;)
	{
		bucket->converting = NULL;
		switch (mts_unfold_next(&bucket->unfold, &bucket->point))
		{
			case MTS_DONE:
				return false;
			case MTS_INVALID:
				on_invalid(bucket, &bucket->unfold.error);
				continue;
			case MTS_POINT:
				break;
		}
		bucket->has_point = true;
		if (is_row_in_its_collection(bucket, &error) &&
			fill_row(bucket, slot, &error))
		{
			if (bucket->row_ids)
				mts_row_ids_add(bucket->row_ids, mts_bucket_of_set(bucket),
								&bucket->unfold, &bucket->point,
								&slot->tts_tid);
			bucket->counters->points++;
			return true;
		}
		on_invalid(bucket, &error);
	}
}

/*
 * mts_bucket_next_row
 *		Fill the slot, which is not stored yet, with the next point; false when
 *		the bucket has no more.
 */
bool
mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot)
{
	ErrorContextCallback callback;
	MemoryContext old;
	bool found;

	MemoryContextReset(bucket->row_context);
	/* the first row decides whether the bucket is read at once */
	if (bucket->fills_from_doubles && bucket->doubles.next < 0)
		(void) mts_bucket_doubles(bucket, true);
	if (bucket->fills_from_doubles && bucket->doubles.n >= 0)
		return next_double(bucket, slot);
	callback.previous = error_context_stack;
	callback.callback = describe_bucket;
	callback.arg = bucket;
	error_context_stack = &callback;
	old = MemoryContextSwitchTo(bucket->row_context);
	found = next_point(bucket, slot);
	MemoryContextSwitchTo(old);
	error_context_stack = callback.previous;
	return found;
}

/*
 * mts_bucket_fill_row
 *		Fill a row with the bucket's own columns and a time; others are null.
 *		False when the type of the time can't hold it.
 */
bool
mts_bucket_fill_row(MtsBucket *bucket, MtsTime t, TupleTableSlot *slot)
{
	memset(slot->tts_isnull, true, bucket->table->layout.ncolumns);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		MtsError error;

		if (output->kind == MTS_OUTPUT_TIME)
		{
			if (!mts_from_bson_time(output->converter, t,
									&slot->tts_values[output->column], &error))
				return false;
			slot->tts_isnull[output->column] = false;
		}
		else if (output->kind == MTS_OUTPUT_BUCKET)
		{
			slot->tts_values[output->column] = bucket->values[i];
			slot->tts_isnull[output->column] = bucket->nulls[i];
		}
	}
	return true;
}
