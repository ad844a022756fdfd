/*
 * bucket.c
 *		Convert a bucket, and its points, to rows.
 *
 * The bucket's own fields are converted once, when it is opened, and the
 * fields of a point when its row is asked for.  If the bucket is simple, all
 * of its points are read at once (core/bucket/batch.c), which is much faster
 * than unfolding them.  Invalid points and buckets raise an error or are
 * skipped, as option on_invalid says.
 *
 * Rows come in the order in which the bucket stores its points.
 */
#include "scan/bucket.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/document.h"
#include "scan/typo.h"

/* So many successive buckets that cannot be read at once end the attempts. */
#define MAX_FAILURES 16

/* The points that a series of documents should have in a batch */
#define LEAST_POINTS 4

bool mts_enable_column_reader = true;

/* Allocate from a memory context, for an arena. */
static void *
allocate(void *context, size_t size)
{
	return MemoryContextAlloc(context, size);
}

/* ---- Outputs ------------------------------------------------------------ */

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
 * mts_bucket_takes_words
 *		Tell whether words can become Datums of a column's type in their place.
 */
bool
mts_bucket_takes_words(const MtsTable *table, int column)
{
	switch (table->attributes[column].typid)
	{
		case FLOAT8OID:
		case INT8OID:
		case INT4OID:
		case INT2OID:
			return true;
		case TIMESTAMPTZOID:
			return table->attributes[column].typmod < 0 &&
				   table->layout.columns[column].format.kind ==
					   MTS_FORMAT_DATE;
		default:
			return false;
	}
}

static bool
type_is_text(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID || typid == BPCHAROID;
}

/*
 * mts_bucket_takes_key
 *		Tell whether values of a column can be keys of series: their conversion
 *		raises no error.
 */
bool
mts_bucket_takes_key(const MtsTable *table, int column)
{
	const MtsAttribute *attribute = &table->attributes[column];

	if (column == table->layout.time_column)
		return false;
	return type_is_text(attribute->typid)
			   ? attribute->typmod < 0
			   : attribute->typid == BOOLOID ||
					 mts_bucket_takes_words(table, column);
}

/*
 * Make a batch of columns; NULL if points must be unfolded.  Rows to be
 * changed are identified by their slots, which a batch does not know.
 */
static MtsBatch *
new_batch(MtsBucket *bucket, const bool *words, const bool *keys,
		  const uint32 *types)
{
	const MtsTable *table = bucket->table;
	const MtsOutput *time =
		mts_bucket_output(bucket, table->layout.time_column);
	MtsBatch *batch;

	if (!mts_enable_column_reader || bucket->row_ids || !FLOAT8PASSBYVAL ||
		(time && (table->attributes[time->column].typid != TIMESTAMPTZOID ||
				  table->attributes[time->column].typmod >= 0)))
		return NULL;
	batch = palloc(sizeof(MtsBatch));
	return mts_batch_init(batch, &table->layout, words, keys, types,
						  &bucket->arena)
			   ? batch
			   : NULL;
}

/* Make the batch of the columns that rows need; NULL if there is none. */
static MtsBatch *
new_batch_of_rows(MtsBucket *bucket)
{
	const MtsLayout *layout = &bucket->table->layout;
	bool *words = palloc0((layout->ncolumns + 1) * sizeof(bool));
	bool *keys = palloc0((layout->ncolumns + 1) * sizeof(bool));

	if (layout->ncontainers == 0)
		return NULL;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;

		keys[column] = bucket->outputs[i].kind == MTS_OUTPUT_SLOT;
		if (bucket->outputs[i].kind != MTS_OUTPUT_POINT)
			continue;
		words[column] = mts_bucket_takes_words(bucket->table, column);
		keys[column] = !words[column];
		if (keys[column] && !mts_bucket_takes_key(bucket->table, column))
			return NULL;
	}
	return new_batch(bucket, words, keys, NULL);
}

/*
 * mts_bucket_new
 *		Prepare to convert those columns of a table's buckets that are needed.
 *
 * Everything is allocated in the current memory context, but the values of a
 * row in row_context, which each row resets.
 */
MtsBucket *
mts_bucket_new(const MtsTable *table, const bool *needed, MtsRowIds *row_ids,
			   MtsCounters *counters, MemoryContext row_context)
{
	const MtsLayout *layout = &table->layout;
	int n = layout->ncolumns + 1; /* of memory: never 0 */
	MtsBucket *bucket = palloc0(sizeof(MtsBucket));

	bucket->arena = (MtsArena){allocate, CurrentMemoryContext};
	bucket->table = table;
	bucket->hides_values = !mts_table_shows_values(table);
	bucket->row_ids = row_ids;
	bucket->counters = counters;
	bucket->row_context = row_context;
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
	bucket->point.elements =
		palloc0((layout->ncontainers + 1) * sizeof(MtsElement));
	bucket->context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw bucket",
							  ALLOCSET_DEFAULT_SIZES);
	mts_unfold_init(&bucket->unfold, layout, NULL, &bucket->arena);
	bucket->row_batch = bucket->next_batch = new_batch_of_rows(bucket);
	return bucket;
}

/* Return a bit for each BSON type whose values are always of an SQL type. */
static uint32
types_of(Oid typid)
{
	uint32 int32s = 1u << BSON_TYPE_INT32;

	switch (typid)
	{
		case FLOAT8OID:
			return int32s | 1u << BSON_TYPE_DOUBLE;
		case INT8OID:
			return int32s | 1u << BSON_TYPE_INT64;
		case INT4OID:
			return int32s;
		default:
			return 0;
	}
}

/*
 * mts_bucket_read_series
 *		Read all points of a bucket, or many documents that are rows, at once
 *		and sorted by series; false if that is not possible.
 *
 * is_value are the columns that are read as words, and is_key those that tell
 * series apart.  Rows of such batches must not be asked for.  Call this before
 * the first bucket, in the memory context of the bucket.
 */
bool
mts_bucket_read_series(MtsBucket *bucket, const bool *is_value,
					   const bool *is_key)
{
	const MtsTable *table = bucket->table;
	const MtsLayout *layout = &table->layout;
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;
	uint32 *types = palloc0((layout->ncolumns + 1) * sizeof(uint32));

	if (is_flat && table->rolling_name)
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
		if (mts_type_key_holds(table->attributes[i].key_type, BSON_TYPE_INT32))
			types[i] = types_of(table->attributes[i].typid);
	bucket->series_batch = new_batch(bucket, is_value, is_key, types);
	if (!bucket->series_batch)
		return false;
	bucket->next_batch = bucket->series_batch;
	bucket->reads_documents = is_flat;
	bucket->series_batch->needs_time =
		mts_bucket_output(bucket, layout->time_column) != NULL;
	return true;
}

/*
 * mts_bucket_last_time
 *		Return the last time that a point of a bucket with this start can have.
 */
MtsTime
mts_bucket_last_time(const MtsLayout *layout, MtsTime start)
{
	MtsTime end;

	if (layout->time_kind == MTS_TIME_FLAT)
		return start;
	return mts_layout_bucket_end(layout, start, &end)
			   ? mts_layout_last_time(layout, end)
			   : MTS_TIME_MAX;
}

/* ---- Invalid points and buckets ----------------------------------------- */

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
	if (bucket->converting)
		mts_unfold_locate(&bucket->unfold, &bucket->point, bucket->converting);
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
	if (bucket->inspect)
	{
		bucket->inspect(bucket, error);
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

/* ---- Opening ------------------------------------------------------------ */

/* Convert a field of the bucket or of the current point. */
static bool
convert_field(MtsBucket *bucket, const MtsOutput *output, Datum *value,
			  bool *isnull, MtsError *error)
{
	const MtsColumn *column = &bucket->table->layout.columns[output->column];
	MtsElement element;

	*isnull = false;
	switch (
		mts_unfold_value(&bucket->unfold, &bucket->point, column, &element))
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

		if (output->kind != MTS_OUTPUT_BUCKET)
			continue;
		bucket->converting = &bucket->table->layout.columns[output->column];
		if (!convert_field(bucket, output, &bucket->values[output->column],
						   &bucket->nulls[output->column], error))
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
	bool is_valid = start_unfolding(bucket, document);
	MtsError error;

	if (is_valid && may_lack_slots(bucket, source->query->content))
	{
		document = mts_source_read_again(source, document);
		if (!document)
			return false;
		is_valid = start_unfolding(bucket, document);
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
	bucket->converting = NULL;
	bucket->ninvalid = 0;
	bucket->points = MTS_POINTS_UNREAD;
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

/* ---- Rows of a batch ---------------------------------------------------- */

/* Fill a row with the bucket's own values; other columns are null. */
static void
begin_row(const MtsBucket *bucket, TupleTableSlot *slot)
{
	int n = bucket->table->layout.ncolumns;

	memcpy(slot->tts_values, bucket->values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, bucket->nulls, n * sizeof(bool));
}

/* Convert words to Datums of a type; false if that is not exact. */
static bool
convert_words(MtsWords *words, int n, Oid typid)
{
	int64 least = typid == INT4OID   ? PG_INT32_MIN
				  : typid == INT2OID ? PG_INT16_MIN
									 : PG_INT64_MIN;

	switch (words->type)
	{
		case 0:
			return true;
		case BSON_TYPE_DOUBLE:
			return typid == FLOAT8OID;
		case BSON_TYPE_DATE_TIME:
			if (typid != TIMESTAMPTZOID)
				return false;
			for (int i = 0; i < n; i++)
				if (!words->missing[i] &&
					!mts_format_date(words->words[i], &words->words[i]))
					return false;
			return true;
		default:
			break;
	}
	if (typid == TIMESTAMPTZOID)
		return false;
	for (int i = 0; i < n; i++)
	{
		int64 word = words->words[i];

		if (words->missing[i])
			continue;
		if (typid != FLOAT8OID)
		{
			if (word < least || word > -(least + 1))
				return false;
			continue;
		}
		if (word > MTS_MAX_EXACT || word < -MTS_MAX_EXACT)
			return false;
		words->words[i] = (int64) Float8GetDatum((double) word);
	}
	return true;
}

/* Convert an output's key of a series; false if that fails. */
static bool
convert_key(MtsBucket *bucket, int series, const MtsOutput *output,
			Datum *value, bool *isnull)
{
	const MtsAttribute *attribute = &bucket->table->attributes[output->column];
	const MtsElement *key =
		mts_batch_key(bucket->batch, series, output->column);
	MtsError error;

	*isnull = !key;
	if (!key)
		return true;
	if (output->kind == MTS_OUTPUT_SLOT)
		return mts_from_bson_slot(output->converter,
								  &(MtsSlotKey){.text =
													(const char *) key->value,
												.len = key->size},
								  value, &error);
	/* a type's input function raises errors, which name the point */
	if (output->kind == MTS_OUTPUT_POINT && key->type == BSON_TYPE_UTF8 &&
		!type_is_text(attribute->typid))
		return false;
	bucket->converting = &bucket->table->layout.columns[output->column];
	return mts_from_bson_element(output->converter, key, value, isnull,
								 &error);
}

/* Convert the keys of a series; false if that fails. */
static bool
convert_keys(MtsBucket *bucket, int series)
{
	int first = series * bucket->noutputs;

	for (int i = 0; i < bucket->noutputs; i++)
		if (!convert_key(bucket, series, &bucket->outputs[i],
						 &bucket->keys[first + i],
						 &bucket->key_nulls[first + i]))
			return false;
	return true;
}

/* Convert the keys of all series; false if that fails. */
static bool
convert_series(MtsBucket *bucket)
{
	MemoryContext old = MemoryContextSwitchTo(bucket->context);
	bool is_valid = true;

	for (int i = 0; i < bucket->batch->nseries && is_valid; i++)
		is_valid = convert_keys(bucket, i);
	bucket->converting = NULL;
	MemoryContextSwitchTo(old);
	return is_valid;
}

/*
 * mts_bucket_enter_series
 *		Let the bucket's own values include the keys of a series of the batch.
 */
void
mts_bucket_enter_series(MtsBucket *bucket, int series)
{
	int noutputs = bucket->noutputs;
	const MtsOutput *output = bucket->outputs;
	const Datum *keys = bucket->keys + series * noutputs;
	const bool *key_nulls = bucket->key_nulls + series * noutputs;

	bucket->current_series = series;
	for (int n = 0; n < noutputs; n++, output++)
	{
		if (output->kind == MTS_OUTPUT_BUCKET && !bucket->reads_documents)
			continue;
		bucket->values[output->column] = keys[n];
		bucket->nulls[output->column] = key_nulls[n];
	}
}

/* Append a document to the batch; false if it must be unfolded or later. */
static bool
append_document(MtsBucket *bucket, const bson_t *document)
{
	MtsBatch *batch = bucket->batch;
	int nseries = batch->nseries;
	bool is_appended;

	bucket->document = document;
	is_appended = mts_batch_append(batch, &bucket->unfold,
								   bson_get_data(document), document->len);
	/* a document of another outline was looked at by itself */
	if (bucket->unfold.document.value == bson_get_data(document))
		mts_typo_record(bucket);
	if (!is_appended)
		return false;
	if (batch->nseries == nseries || convert_keys(bucket, nseries))
		return true;
	mts_batch_remove_last(batch);
	return false;
}

/*
 * Read the documents that follow the current one into the batch, as far as
 * they can be read so.
 */
static void
read_documents(MtsBucket *bucket)
{
	MtsBatch *batch = bucket->batch;
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MemoryContext old = MemoryContextSwitchTo(bucket->context);
	const bson_t *document = bucket->document;
	bool is_appended;

	mts_batch_clear(batch);
	do
	{
		error_context_stack = &callback;
		is_appended = append_document(bucket, document);
		bucket->converting = NULL;
		error_context_stack = callback.previous;
	} while (is_appended &&
			 (document = mts_source_next(bucket->source)) != NULL);
	if (document && batch->n > 0)
		mts_source_push_back(bucket->source, document);
	MemoryContextSwitchTo(old);
}

/* Convert all words to Datums; false if one cannot be one in its place. */
static bool
convert_columns(MtsBucket *bucket)
{
	MtsBatch *batch = bucket->batch;

	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		int column = output->column;

		if (batch->words[column].room > 0 && output->kind != MTS_OUTPUT_TIME &&
			!convert_words(&batch->words[column], batch->n,
						   bucket->table->attributes[column].typid))
			return false;
	}
	return true;
}

/*
 * mts_bucket_batch_column
 *		The values that an output has in the points of the batch.
 *
 * *missing tells which are null; it is NULL if none is.
 */
const Datum *
mts_bucket_batch_column(const MtsBucket *bucket, const MtsOutput *output,
						const bool **missing)
{
	const MtsBatch *batch = bucket->batch;
	const MtsWords *words = &batch->words[output->column];

	*missing = NULL;
	if (output->kind == MTS_OUTPUT_TIME)
		return (const Datum *) batch->times;
	if (words->has_missing || words->type == 0)
		*missing = words->missing;
	return (const Datum *) words->words;
}

/*
 * Evaluate a condition for all points of the batch; false if only the executor
 * can.
 */
static bool
select_points(MtsBucket *bucket, MtsCondition *condition, bool *wanted)
{
	const MtsBatch *batch = bucket->batch;
	const MtsOutput *output = mts_bucket_output(bucket, condition->column);
	bool holds[MTS_BATCH_SERIES];

	if (output->kind == MTS_OUTPUT_TIME)
		return false;
	if (batch->words[condition->column].room > 0)
	{
		const bool *missing;
		const Datum *values =
			mts_bucket_batch_column(bucket, output, &missing);

		if (!mts_condition_takes_words(condition))
			return false;
		mts_condition_select(condition,
							 bucket->table->attributes[condition->column]
								 .typid,
							 values, missing, batch->n, wanted);
	}
	else
	{
		int n = output - bucket->outputs;

		if (batch->nseries == 0 ||
			mts_batch_key(batch, 0, condition->column) == NULL)
			return false;
		for (int i = 0; i < batch->nseries; i++, n += bucket->noutputs)
			holds[i] = mts_condition_holds(condition, bucket->keys[n],
										   bucket->key_nulls[n]);
		for (int i = 0; i < batch->n; i++)
			wanted[i] &= holds[batch->series_of[i]];
	}
	return true;
}

/*
 * Remove the points that do not fulfil the conditions; false if some of the
 * conditions could not be evaluated.
 */
static bool
apply_conditions(MtsBucket *bucket)
{
	MtsBatch *batch = bucket->batch;
	int n = batch->n;
	bool wanted[MTS_BATCH_ROOM];
	bool are_evaluated = true;
	ListCell *lc;

	/* the columns of documents are a bucket's: groups evaluate conditions */
	if (bucket->conditions == NIL || bucket->reads_documents)
		return bucket->conditions == NIL;
	memset(wanted, true, n * sizeof(bool));
	foreach (lc, bucket->conditions)
		are_evaluated &= select_points(bucket, lfirst(lc), wanted);
	mts_batch_select(batch, wanted);
	bucket->counters->points += n - batch->n;
	bucket->counters->removed += n - batch->n;
	return are_evaluated;
}

static int
compare_numbers(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

/* Remove the points of the batch that do not come first in their series. */
static void
keep_extremes(MtsBucket *bucket)
{
	MtsBatch *batch = bucket->batch;
	int nseries = batch->nkeys > 0 ? batch->nseries : 1;
	int first[MTS_BATCH_SERIES];
	int read = batch->n;
	int n = 0;

	if (bucket->extreme == MTS_EXTREME_NONE)
		return;
	memset(first, -1, sizeof(first));
	for (int i = 0; i < read; i++)
	{
		int *found = &first[batch->nkeys > 0 ? batch->series_of[i] : 0];

		if (*found < 0 ||
			mts_bucket_comes_first(bucket->extreme, batch->times[i],
								   batch->times[*found]))
			*found = i;
	}
	/* all points of a series may have been removed */
	for (int i = 0; i < nseries; i++)
		if (first[i] >= 0)
			first[n++] = first[i];
	qsort(first, n, sizeof(int), compare_numbers);
	mts_batch_keep(batch, first, n);
	bucket->counters->points += read - n;
}

/* Read all points as Datums; false if they must be unfolded. */
static bool
read_batch(MtsBucket *bucket)
{
	MtsBatch *batch = bucket->batch;
	int n = bucket->noutputs * MTS_BATCH_SERIES;

	if (batch->nkeys > 0 && !bucket->keys)
	{
		bucket->keys = mts_arena_allocate(&bucket->arena, n * sizeof(Datum));
		bucket->key_nulls =
			mts_arena_allocate(&bucket->arena, n * sizeof(bool));
	}
	if (bucket->reads_documents)
	{
		read_documents(bucket);
		/* the next documents have been read, and cannot be unfolded */
		if (!convert_columns(bucket))
			elog(ERROR, "documents were read as words of another type");
	}
	else if (!mts_batch_read(batch, &bucket->unfold) ||
			 !convert_columns(bucket) ||
			 (batch->nkeys > 0 && !convert_series(bucket)))
		return false;
	return batch->n > 0 || !bucket->reads_documents;
}

/*
 * Tell whether a batch was worth its reading, before conditions are applied.
 * Points that are of another series each are not.
 */
static bool
is_worthwhile(const MtsBucket *bucket)
{
	return bucket->points == MTS_POINTS_IN_BATCH &&
		   (bucket->batch != bucket->series_batch ||
			bucket->batch->n >= LEAST_POINTS * bucket->batch->nseries);
}

/*
 * Read all points of the bucket at once, or prepare to unfold it.  Series that
 * are read often in vain are given up, and then columns.
 */
static void
choose_reader(MtsBucket *bucket)
{
	bucket->points = MTS_POINTS_UNFOLDED;
	bucket->batch = bucket->next_batch;
	bucket->next_of_batch = 0;
	bucket->current_series = -1;
	if (bucket->batch)
	{
		if (read_batch(bucket))
			bucket->points = MTS_POINTS_IN_BATCH;
		else
			(void) start_unfolding(bucket, bucket->document);
		bucket->failures = is_worthwhile(bucket) ? 0 : bucket->failures + 1;
	}
	if (bucket->points == MTS_POINTS_IN_BATCH)
	{
		if (apply_conditions(bucket))
			keep_extremes(bucket);
		if (bucket->batch == bucket->series_batch)
			mts_batch_sort(bucket->batch);
	}
	if (bucket->failures == MAX_FAILURES)
	{
		bucket->next_batch =
			bucket->batch == bucket->series_batch ? bucket->row_batch : NULL;
		bucket->failures = 0;
	}
	if (bucket->points == MTS_POINTS_UNFOLDED)
		bucket->counters->by_points++;
	else
		bucket->counters->by_columns +=
			bucket->reads_documents ? bucket->batch->n : 1;
}

/* Read all points of the bucket at once; false if it must be unfolded. */
static bool
reads_columns(MtsBucket *bucket)
{
	if (bucket->points == MTS_POINTS_UNREAD)
		choose_reader(bucket);
	return bucket->points == MTS_POINTS_IN_BATCH;
}

/*
 * mts_bucket_series
 *		Read all points of the bucket, sorted by series; NULL if the rows must
 *		be asked for.
 */
const MtsBatch *
mts_bucket_series(MtsBucket *bucket)
{
	return reads_columns(bucket) && bucket->batch == bucket->series_batch
			   ? bucket->batch
			   : NULL;
}

/* Fill a row with the next point of the batch; false if there is none. */
static bool
next_of_batch(MtsBucket *bucket, TupleTableSlot *slot)
{
	const MtsBatch *batch = bucket->batch;
	int i = bucket->next_of_batch;

	if (i == batch->n)
		return false;
	bucket->next_of_batch++;
	bucket->counters->points++;
	bucket->point.time = batch->times[i];
	bucket->point.time_is_null = false;
	if (batch->nkeys > 0 && batch->series_of[i] != bucket->current_series)
		mts_bucket_enter_series(bucket, batch->series_of[i]);
	begin_row(bucket, slot);
	for (int n = 0; n < bucket->noutputs; n++)
	{
		const MtsOutput *output = &bucket->outputs[n];
		const Datum *values;
		const bool *missing;

		if (output->kind != MTS_OUTPUT_TIME &&
			batch->words[output->column].room == 0)
			continue;
		values = mts_bucket_batch_column(bucket, output, &missing);
		slot->tts_values[output->column] = values[i];
		slot->tts_isnull[output->column] = missing && missing[i];
	}
	return true;
}

/*
 * mts_bucket_take_batch
 *		Read all points of the bucket at once, as if all rows were asked for;
 *		false if they must be.
 */
bool
mts_bucket_take_batch(MtsBucket *bucket)
{
	if (!reads_columns(bucket))
		return false;
	bucket->counters->points += bucket->batch->n - bucket->next_of_batch;
	bucket->next_of_batch = bucket->batch->n;
	return true;
}

/* ---- Rows of points ----------------------------------------------------- */

/* Fill a row with the current point; false if a value of it is invalid. */
static bool
fill_row(MtsBucket *bucket, TupleTableSlot *slot, MtsError *error)
{
	const MtsLayout *layout = &bucket->table->layout;
	const MtsPoint *point = &bucket->point;

	begin_row(bucket, slot);
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		const MtsColumn *column = &layout->columns[output->column];
		Datum *value = &slot->tts_values[output->column];
		bool *isnull = &slot->tts_isnull[output->column];
		bool is_valid = true;

		bucket->converting = column;
		switch (output->kind)
		{
			case MTS_OUTPUT_BUCKET:
				break;
			case MTS_OUTPUT_TIME:
				*isnull = point->time_is_null;
				if (!point->time_is_null)
					is_valid = mts_from_bson_time(output->converter,
												  point->time, value, error);
				break;
			case MTS_OUTPUT_SLOT:
				*isnull = false;
				is_valid = mts_from_bson_slot(output->converter,
											  &point->slots[column->slot],
											  value, error);
				break;
			case MTS_OUTPUT_POINT:
				is_valid = convert_field(bucket, output, value, isnull, error);
				break;
		}
		if (!is_valid)
			return false;
	}
	bucket->converting = NULL;
	return true;
}

/* Check a document that is a row; one without a time may be anywhere. */
static bool
check_row(MtsBucket *bucket, MtsError *error)
{
	return bucket->table->layout.time_kind != MTS_TIME_FLAT ||
		   bucket->point.time_is_null ||
		   check_collection(bucket, bucket->point.time, error);
}

/* Fill a row with the next valid point; false if there is none. */
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
				on_invalid(bucket, &bucket->unfold.invalid.error);
				continue;
			case MTS_POINT:
				break;
		}
		if (check_row(bucket, &error) && fill_row(bucket, slot, &error))
			break;
		on_invalid(bucket, &error);
	}
	if (bucket->row_ids)
		mts_row_ids_add(bucket->row_ids, mts_bucket_of_set(bucket),
						&bucket->unfold, &bucket->point, &slot->tts_tid);
	bucket->counters->points++;
	return true;
}

/*
 * mts_bucket_next_row
 *		Fill the values of a slot with the next point; false if there is none.
 */
bool
mts_bucket_next_row(MtsBucket *bucket, TupleTableSlot *slot)
{
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MemoryContext old;
	bool found;

	if (reads_columns(bucket))
		return next_of_batch(bucket, slot);
	MemoryContextReset(bucket->row_context);
	error_context_stack = &callback;
	old = MemoryContextSwitchTo(bucket->row_context);
	found = next_point(bucket, slot);
	MemoryContextSwitchTo(old);
	error_context_stack = callback.previous;
	return found;
}

/* Move an extreme to a time beyond it, or set it if it is not found yet. */
static void
extend(MtsTime t, bool is_last, bool *found, MtsTime *extreme)
{
	if (!*found || (is_last ? t > *extreme : t < *extreme))
		*extreme = t;
	*found = true;
}

/* Find the first or the last time of the points; false if there are none. */
static bool
find_extreme(MtsBucket *bucket, bool is_last, MtsTime *extreme)
{
	const MtsBatch *batch = reads_columns(bucket) ? bucket->batch : NULL;
	MtsUnfolded result;
	bool found = false;

	for (int i = 0; batch && i < batch->n; i++)
		extend(batch->times[i], is_last, &found, extreme);
	while (!batch && (result = mts_unfold_next(&bucket->unfold,
											   &bucket->point)) != MTS_DONE)
		if (result == MTS_POINT)
			extend(bucket->point.time, is_last, &found, extreme);
		else
			on_invalid(bucket, &bucket->unfold.invalid.error);
	return found;
}

/*
 * mts_bucket_keep_extreme
 *		Restrict an open bucket to the points of its first or its last time.
 *
 * The values of the others are not converted.
 */
void
mts_bucket_keep_extreme(MtsBucket *bucket, bool is_last)
{
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = describe_bucket,
									 .arg = bucket};
	MtsTime t;

	if (bucket->table->layout.time_kind == MTS_TIME_FLAT)
		return;
	error_context_stack = &callback;
	if (find_extreme(bucket, is_last, &t))
	{
		bucket->only = (MtsRange){t, t + 1};
		bucket->only_ranges = (MtsRanges){1, &bucket->only};
		bucket->unfold.ranges = &bucket->only_ranges;
		bucket->points = MTS_POINTS_UNREAD;
		(void) start_unfolding(bucket, bucket->document);
	}
	error_context_stack = callback.previous;
}

/*
 * mts_bucket_fill_row
 *		Fill the values of a slot with the bucket's own values and a time;
 *		false if the type of the time cannot store it.
 */
bool
mts_bucket_fill_row(const MtsBucket *bucket, MtsTime t, TupleTableSlot *slot)
{
	const MtsOutput *time =
		mts_bucket_output(bucket, bucket->table->layout.time_column);
	MtsError error;

	begin_row(bucket, slot);
	if (!time)
		return true;
	slot->tts_isnull[time->column] = false;
	return mts_from_bson_time(time->converter, t,
							  &slot->tts_values[time->column], &error);
}
