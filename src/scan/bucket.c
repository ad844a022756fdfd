/*
 * bucket.c
 *		Convert a bucket, and its points, to rows.
 *
 * The bucket's own fields are converted once, when it is opened.  Its points
 * are read into arrays, by column, and a row is one of these points.
 *
 * If the bucket is simple, all points are read at once (batch_reader.c).
 * Otherwise they are unfolded one by one, some at a time: that works for every
 * layout, hears of what is invalid, and knows where each point is stored.  In
 * both cases they come in the order in which the bucket stores them.
 *
 * Invalid points and buckets raise an error or are skipped, as option
 * on_invalid says.
 */
#include "scan/bucket.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/document.h"
#include "scan/typo.h"

/* The most points that are unfolded at a time, and the bytes of their values
 * after which no more are */
#define CAREFUL_ROOM 256
#define CAREFUL_SIZE (256 * 1024)

/* Allocate from a memory context, for an arena. */
static void *
allocate(void *context, size_t size)
{
	return MemoryContextAlloc(context, size);
}

/* ---- Outputs ----------------------------------------------------------- */

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

/* mts_bucket_output: find the output of a column; NULL if it is not needed. */
const MtsOutput *
mts_bucket_output(const MtsBucket *bucket, int column)
{
	for (int i = 0; i < bucket->noutputs; i++)
		if (bucket->outputs[i].column == column)
			return &bucket->outputs[i];
	return NULL;
}

/* mts_bucket_converter: find the converter of a column, or NULL. */
MtsFromBson *
mts_bucket_converter(const MtsBucket *bucket, int column)
{
	const MtsOutput *output = mts_bucket_output(bucket, column);

	return output ? output->converter : NULL;
}

/*
 * mts_bucket_new
 *		Prepare to convert those columns of a table's buckets that are needed.
 *
 * It is allocated in the current memory context.
 */
MtsBucket *
mts_bucket_new(const MtsTable *table, const bool *needed, MtsRowIds *row_ids,
			   MtsCounters *counters)
{
	const MtsLayout *layout = &table->layout;
	int n = layout->ncolumns + 1; /* of memory: never 0 */
	MtsBucket *bucket = palloc0(sizeof(MtsBucket));

	bucket->arena = (MtsArena){allocate, CurrentMemoryContext};
	bucket->table = table;
	bucket->hides_values = !mts_table_shows_values(table);
	bucket->spec.row_ids = row_ids;
	bucket->counters = counters;
	bucket->outputs = palloc(n * sizeof(MtsOutput));
	for (int i = 0; i < layout->ncolumns; i++)
		if (needed[i])
			bucket->outputs[bucket->noutputs++] =
				(MtsOutput){kind_of(layout, i), i,
							mts_from_bson_prepare(table, i,
												  bucket->hides_values)};
	bucket->values = palloc0(n * sizeof(Datum));
	bucket->nulls = palloc(n * sizeof(bool));
	memset(bucket->nulls, true, n * sizeof(bool));
	bucket->one_by_one.point.elements =
		palloc0((layout->ncontainers + 1) * sizeof(MtsElement));
	bucket->context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw bucket",
							  ALLOCSET_DEFAULT_SIZES);
	bucket->points_context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw points",
							  ALLOCSET_DEFAULT_SIZES);
	bucket->points.columns =
		palloc0((bucket->noutputs + 1) * sizeof(MtsPointValues));
	mts_unfold_init(&bucket->unfold, layout, NULL, &bucket->arena);
	if (layout->ncontainers > 0)
		mts_batch_reader_init(&bucket->at_once, bucket);
	return bucket;
}

/*
 * mts_bucket_last_time
 *		Return the last time that a point of a bucket with this start can have.
 */
MtsTime
mts_bucket_last_time(const MtsLayout *layout, MtsTime start)
{
	MtsTime end;

	/* a bucket without a span holds its own time */
	if (layout->time_kind == MTS_TIME_FLAT || mts_span_is_zero(layout->span))
		return start;
	return mts_layout_bucket_end(layout, start, &end)
			   ? mts_layout_last_time(layout, end)
			   : MTS_TIME_MAX;
}

/* ---- Invalid points and buckets ---------------------------------------- */

/*
 * mts_bucket_start
 *		Begin to unfold a document; false with the reason if it is invalid.
 */
bool
mts_bucket_start(MtsBucket *bucket, const bson_t *document)
{
	bucket->document = document;
	return mts_unfold_start(&bucket->unfold, bson_get_data(document),
							document->len);
}

/*
 * Find the slots of the point that is converted, of those that were read at
 * once: unfolding finds it at the same place.  This moves the unfolding, which
 * nothing else needs by then.
 */
static void
find_converted(MtsBucket *bucket)
{
	MtsPoint *point = &bucket->one_by_one.point;

	(void) mts_bucket_start(bucket, bucket->document);
	for (int i = 0; i <= bucket->converting_point; i++)
		(void) mts_unfold_next(&bucket->unfold, point);
	bucket->converting_point = -1;
}

/* Error context: the document, and the field that is converted */
static void
describe_bucket(void *arg)
{
	MtsBucket *bucket = arg;

	if (bucket->hides_values)
	{
		errcontext("MongoDB collection \"%s.%s\"", bucket->table->database,
				   bucket->collection->name);
		return;
	}
	if (bucket->converting_point >= 0)
		find_converted(bucket);
	if (bucket->converting)
		mts_unfold_locate(&bucket->unfold, &bucket->one_by_one.point,
						  bucket->converting);
	errcontext("MongoDB collection \"%s.%s\", _id %s, path \"%s\"",
			   bucket->table->database, bucket->collection->name,
			   mts_document_id_shell(bucket->document),
			   bucket->unfold.invalid.where);
}

/*
 * Raise the error of an invalid point or bucket, or count it as skipped, or
 * let it be inspected.
 */
static void
on_invalid(MtsBucket *bucket, const MtsError *error)
{
	bool is_error = bucket->table->on_invalid == MTS_INVALID_ERROR;

	bucket->counters->skipped++;
	bucket->ninvalid++;
	if (bucket->spec.inspect)
	{
		bucket->spec.inspect(bucket, error);
		return;
	}
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
		 bucket->hides_values
			 ? errdetail("The value is not shown, because you may not read "
						 "all columns of the foreign table.")
			 : errdetail("%s", error->detail),
		 error->hint && !bucket->hides_values ? errhint("%s", error->hint)
											  : 0));
}

/*
 * Check that the time of a bucket, or of a document that is a row, belongs to
 * its collection of a rolling set, where queries look for it; false with the
 * reason.
 */
static bool
check_collection(MtsBucket *bucket, MtsTime t, MtsError *error)
{
	const MtsRollingName *rolling_name = bucket->table->rolling_name;
	const MtsLayout *layout = &bucket->table->layout;
	const MtsPath *path = layout->time_kind == MTS_TIME_FLAT
							  ? &mts_layout_time_column(layout)->path
							  : &layout->bucket_time.path;
	char *name;

	if (!rolling_name ||
		mts_rolling_name_period_contains(&bucket->collection->period,
										 &layout->clock, t))
		return true;
	mts_path_dotted(path->steps, path->nsteps, bucket->unfold.invalid.where,
					sizeof(bucket->unfold.invalid.where));
	name = palloc(mts_rolling_name_size(rolling_name));
	return mts_error_set(error, NULL,
						 mts_rolling_name_format(rolling_name, &layout->clock,
												 t, name)
							 ? "Its time %s belongs to collection \"%s\"."
							 : "Its time %s belongs to no collection.",
						 timestamptz_to_str(t), name);
}

/* ---- Opening ----------------------------------------------------------- */

/* Convert an output of the bucket, or of the current point. */
static bool
convert_output(MtsBucket *bucket, const MtsOutput *output, Datum *value,
			   bool *isnull, MtsError *error)
{
	const MtsPoint *point = &bucket->one_by_one.point;
	const MtsColumn *column = &bucket->table->layout.columns[output->column];
	MtsElement element;

	mts_bucket_set_converting(bucket, output, -1);
	*isnull = output->kind == MTS_OUTPUT_TIME && point->time_is_null;
	if (output->kind == MTS_OUTPUT_TIME)
		return *isnull || mts_from_bson_time(output->converter, point->time,
											 value, error);
	if (output->kind == MTS_OUTPUT_SLOT)
		return mts_from_bson_slot(output->converter,
								  &point->slots[column->slot], value, error);
	switch (mts_unfold_value(&bucket->unfold, point, column, &element))
	{
		case MTS_MALFORMED:
			*error = bucket->unfold.invalid.error;
			return false;
		case MTS_ABSENT:
			*isnull = true;
			return true;
		default:
			return mts_from_bson_element(output->converter, &element, value,
										 isnull, error);
	}
}

/* Convert the bucket's own fields, once for all of its points. */
static bool
convert_bucket(MtsBucket *bucket, MtsError *error)
{
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];

		if (output->kind == MTS_OUTPUT_BUCKET &&
			!convert_output(bucket, output, &bucket->values[output->column],
							&bucket->nulls[output->column], error))
			return false;
	}
	mts_bucket_set_converting(bucket, NULL, -1);
	return true;
}

/*
 * Tell whether the bucket may have wanted points in slots that the projection
 * left out.  It may if its slots count from another time than those of an
 * aligned bucket, or if the field with the slots seems to be missing.  A
 * projection also leaves that field out if it is not a subdocument.
 */
static bool
may_lack_slots(const MtsBucket *bucket, MtsContent content)
{
	switch (content)
	{
		case MTS_CONTENT_KEYS:
			return bucket->unfold.lacks_container;
		case MTS_CONTENT_SLOTS:
			return bucket->unfold.lacks_container ||
				   !mts_layout_is_aligned(&bucket->table->layout,
										  bucket->unfold.start);
		default:
			return false;
	}
}

static bool
open_bucket(MtsBucket *bucket, MtsBucketSource *source, const bson_t *document)
{
	const MtsLayout *layout = &bucket->table->layout;
	bool is_valid = mts_bucket_start(bucket, document);
	MtsError error;

	if (is_valid && may_lack_slots(bucket, source->query->content))
	{
		document = mts_source_read_again(source, document);
		if (!document)
			return false;
		is_valid = mts_bucket_start(bucket, document);
	}
	error = bucket->unfold.invalid.error;
	if (is_valid &&
		(layout->time_kind == MTS_TIME_FLAT ||
		 check_collection(bucket, bucket->unfold.start, &error)) &&
		convert_bucket(bucket, &error))
		return true;
	on_invalid(bucket, &error);
	return false;
}

/* Let the points be read from the first one on. */
static void
begin_points(MtsBucket *bucket)
{
	bucket->is_begun = false;
	bucket->points.n = bucket->points.next = 0;
	bucket->points.is_last = false;
}

/*
 * mts_bucket_open
 *		Begin with a bucket that a source has read; false if it is invalid, or
 *		has been removed in the meantime.
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
	bucket->source = source;
	mts_bucket_set_converting(bucket, NULL, -1);
	bucket->ninvalid = 0;
	begin_points(bucket);
	bucket->unfold.ranges = &query->ranges;
	bucket->unfold.accepts_null_time = query->accepts_null_time;
	bucket->unfold.headers_only = query->content == MTS_CONTENT_HEADERS;
	error_context_stack = &callback;
	is_open = open_bucket(bucket, source, document);
	if (is_open)
		mts_typo_record(bucket);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	return is_open;
}

/* ---- Points one by one ------------------------------------------------- */

/* Make the memory of points that are unfolded. */
static void
make_careful(MtsBucket *bucket)
{
	MtsCarefulReader *reader = &bucket->one_by_one;
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(bucket));
	int room = bucket->spec.is_stepwise ? 1 : CAREFUL_ROOM;

	reader->room = room;
	reader->times = palloc(room * sizeof(MtsTime));
	reader->values = palloc0((bucket->noutputs + 1) * sizeof(Datum *));
	reader->missing = palloc0((bucket->noutputs + 1) * sizeof(bool *));
	for (int i = 0; i < bucket->noutputs; i++)
	{
		if (bucket->outputs[i].kind == MTS_OUTPUT_BUCKET)
			continue;
		reader->values[i] = palloc(room * sizeof(Datum));
		reader->missing[i] = palloc(room * sizeof(bool));
	}
	reader->row_ids = palloc(room * sizeof(ItemPointerData));
	MemoryContextSwitchTo(old);
}

/* Show the points that are unfolded. */
static void
show_unfolded(MtsBucket *bucket)
{
	MtsPoints *points = &bucket->points;

	points->n = points->next = 0;
	points->slot = NULL;
	points->times = bucket->one_by_one.times;
	points->series = NULL;
	points->is_sorted = points->is_checked = false;
	for (int i = 0; i < bucket->noutputs; i++)
		points->columns[i] = (MtsPointValues){bucket->one_by_one.values[i],
											  bucket->one_by_one.missing[i]};
}

/* Check a document that is a row; one without a time may be anywhere. */
static bool
check_row(MtsBucket *bucket, MtsError *error)
{
	const MtsPoint *point = &bucket->one_by_one.point;

	return bucket->table->layout.time_kind != MTS_TIME_FLAT ||
		   point->time_is_null || check_collection(bucket, point->time, error);
}

/* Append the current point; false if it is invalid. */
static bool
append_point(MtsBucket *bucket, MtsError *error)
{
	MtsCarefulReader *reader = &bucket->one_by_one;
	int n = bucket->points.n;

	if (!check_row(bucket, error))
		return false;
	for (int i = 0; i < bucket->noutputs; i++)
		if (reader->values[i] &&
			!convert_output(bucket, &bucket->outputs[i], &reader->values[i][n],
							&reader->missing[i][n], error))
			return false;
	mts_bucket_set_converting(bucket, NULL, -1);
	reader->times[n] = reader->point.time;
	if (bucket->spec.row_ids)
		mts_row_ids_add(bucket->spec.row_ids, mts_bucket_of_set(bucket),
						&bucket->unfold, &reader->point, &reader->row_ids[n]);
	bucket->points.n++;
	return true;
}

/* Unfold the next points, and report those that are invalid. */
static void
unfold_points(MtsBucket *bucket)
{
	MtsCarefulReader *reader = &bucket->one_by_one;
	MtsError error;

	MemoryContextReset(bucket->points_context);
	if (reader->room == 0)
		make_careful(bucket);
	Assert(!bucket->spec.is_stepwise || reader->room == 1);
	show_unfolded(bucket);
	while (bucket->points.n < reader->room &&
		   MemoryContextMemAllocated(bucket->points_context, false) <
			   CAREFUL_SIZE)
	{
		mts_bucket_set_converting(bucket, NULL, -1);
		switch (mts_unfold_next(&bucket->unfold, &reader->point))
		{
			case MTS_DONE:
				bucket->points.is_last = true;
				return;
			case MTS_INVALID:
				on_invalid(bucket, &bucket->unfold.invalid.error);
				break;
			case MTS_POINT:
				if (!append_point(bucket, &error))
					on_invalid(bucket, &error);
				break;
		}
	}
}

/* ---- Points ------------------------------------------------------------ */

/* Read the first points of the bucket, in the fastest way. */
static void
begin_reading(MtsBucket *bucket)
{
	MtsPoints *points = &bucket->points;

	bucket->is_begun = true;
	points->slot = NULL;
	points->row_series = -1;
	if (mts_batch_reader_read(&bucket->by_series, bucket, points) ||
		mts_batch_reader_read(&bucket->at_once, bucket, points))
	{
		bucket->counters->by_columns +=
			bucket->table->layout.time_kind == MTS_TIME_FLAT ? points->n : 1;
		return;
	}
	points->is_last = false;
	unfold_points(bucket);
	bucket->counters->by_points++;
}

/*
 * mts_bucket_read_more
 *		Read more points, when all at hand have been returned; false if there
 *		are none.
 */
bool
mts_bucket_read_more(MtsBucket *bucket)
{
	MtsPoints *points = &bucket->points;
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MemoryContext old;

	if (points->is_last)
		return false;
	error_context_stack = &callback;
	old = MemoryContextSwitchTo(bucket->points_context);
	if (!bucket->is_begun)
		begin_reading(bucket);
	while (points->next == points->n && !points->is_last)
		unfold_points(bucket);
	MemoryContextSwitchTo(old);
	error_context_stack = callback.previous;
	return points->next < points->n;
}

/*
 * mts_bucket_enter_series
 *		Let the bucket's own values include the keys of a series of the points
 *		at hand.
 */
void
mts_bucket_enter_series(MtsBucket *bucket, int series)
{
	int noutputs = bucket->noutputs;
	const MtsOutput *output = bucket->outputs;
	MtsPoints *points = &bucket->points;
	int first = points->series->series.items[series].known * noutputs;
	const NullableDatum *values = points->keys->values + first;

	points->row_series = series;
	for (int n = 0; n < noutputs; n++, output++)
	{
		if (output->kind == MTS_OUTPUT_BUCKET &&
			bucket->table->layout.time_kind != MTS_TIME_FLAT)
			continue;
		bucket->values[output->column] = values[n].value;
		bucket->nulls[output->column] = values[n].isnull;
	}
}

/*
 * mts_bucket_next_row
 *		Fill the values of a slot with the next point; false if there is none.
 */
bool
mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot)
{
	MtsPoints *points = mts_bucket_points(bucket);
	int i;

	if (!points)
		return false;
	i = points->next;
	mts_bucket_take(bucket, 1);
	if (points->series && points->series->series.of[i] != points->row_series)
		mts_bucket_enter_series(bucket, points->series->series.of[i]);
	if (points->slot != slot)
		memset(slot->tts_isnull, true, bucket->table->layout.ncolumns);
	points->slot = slot;
	for (int n = 0; n < bucket->noutputs; n++)
	{
		const MtsPointValues *from = &points->columns[n];
		int column = bucket->outputs[n].column;

		slot->tts_values[column] =
			from->values ? from->values[i] : bucket->values[column];
		slot->tts_isnull[column] = from->values
									   ? from->missing && from->missing[i]
									   : bucket->nulls[column];
	}
	if (bucket->spec.row_ids)
		slot->tts_tid = bucket->one_by_one.row_ids[i];
	return true;
}

/* Find the first or the last time of the points; false if there are none. */
static bool
find_extreme(MtsBucket *bucket, MtsExtreme extreme, MtsTime *t)
{
	const MtsBatch *batch = mts_batch_reader_times(&bucket->at_once, bucket);
	MtsPoint *point = &bucket->one_by_one.point;
	MtsUnfolded result;
	int n;

	for (n = 0; batch && n < batch->n; n++)
		if (n == 0 || mts_bucket_comes_first(extreme, batch->times[n], *t))
			*t = batch->times[n];
	if (batch)
		return n > 0;
	while ((result = mts_unfold_next(&bucket->unfold, point)) != MTS_DONE)
		if (result == MTS_INVALID)
			on_invalid(bucket, &bucket->unfold.invalid.error);
		else if (n++ == 0 || mts_bucket_comes_first(extreme, point->time, *t))
			*t = point->time;
	return n > 0;
}

/*
 * mts_bucket_keep_extreme
 *		Restrict an open bucket to the points of its first or its last time.
 *
 * The values of the others are not converted.
 */
void
mts_bucket_keep_extreme(MtsBucket *bucket, MtsExtreme extreme)
{
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MtsRanges *ranges;
	MtsTime t = MTS_TIME_MIN;

	if (bucket->table->layout.time_kind == MTS_TIME_FLAT)
		return;
	error_context_stack = &callback;
	begin_points(bucket);
	bucket->points.is_last = !find_extreme(bucket, extreme, &t);
	if (!bucket->points.is_last)
	{
		ranges = MemoryContextAllocZero(bucket->context, sizeof(MtsRanges));
		ranges->items = MemoryContextAlloc(bucket->context, sizeof(MtsRange));
		mts_ranges_add(ranges, t, t + 1);
		bucket->unfold.ranges = ranges;
		(void) mts_bucket_start(bucket, bucket->document);
	}
	error_context_stack = callback.previous;
}

/*
 * mts_bucket_fill_row
 *		Fill the values of a slot with the bucket's own values and a time;
 *		false if the type of the time cannot store it.
 *
 * Other columns are null.
 */
bool
mts_bucket_fill_row(const MtsBucket *bucket, MtsTime t, TupleTableSlot *slot)
{
	const MtsOutput *time =
		mts_bucket_output(bucket, bucket->table->layout.time_column);
	int n = bucket->table->layout.ncolumns;
	MtsError error;

	memcpy(slot->tts_values, bucket->values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, bucket->nulls, n * sizeof(bool));
	if (!time)
		return true;
	slot->tts_isnull[time->column] = false;
	return mts_from_bson_time(time->converter, t,
							  &slot->tts_values[time->column], &error);
}
