/*
 * bucket.c
 *		Convert a bucket, and its points, to rows.
 *
 * The bucket's own fields are converted once, when it is opened.  Its points
 * are read into arrays, by column, and a row is one of these points.
 *
 * If the bucket is simple, all points are read at once (core/bucket/batch.c).
 * Otherwise they are unfolded one by one, some at a time: that works for every
 * layout, hears of what is invalid, and knows where each point is stored.  In
 * both cases they come in the order in which the bucket stores them.
 *
 * Invalid points and buckets raise an error or are skipped, as option
 * on_invalid says.
 */
#include "scan/bucket.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "driver/document.h"
#include "scan/typo.h"

/* The size of documents whose values are converted at once, if that takes
 * memory */
#define MOST_SIZE (4 * 1024 * 1024)

/* Failures after which more of them do not make the next pause longer */
#define MOST_FAILURES 5

/* The most points that are unfolded at a time, and the bytes of their values
 * after which no more are */
#define CAREFUL_ROOM 256
#define CAREFUL_SIZE (256 * 1024)

/* The points that a series of documents should have in a batch */
#define LEAST_POINTS 4

bool mts_enable_column_reader = true;

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
is_text(Oid typid)
{
	return typid == TEXTOID || typid == VARCHAROID;
}

/*
 * mts_bucket_takes_key
 *		Tell whether values of a column can be keys of series: their conversion
 *		raises no error.
 */
bool
mts_bucket_takes_key(const MtsTable *table, int column)
{
	Oid typid = table->attributes[column].typid;

	return column != table->layout.time_column &&
		   (is_text(typid) || typid == BOOLOID ||
			mts_bucket_takes_words(table, column));
}

/* Prepare to read columns at once, if that is possible. */
static void
init_reader(MtsFastReader *reader, MtsBucket *bucket, const bool *values,
			const bool *keys, const uint32 *types)
{
	const MtsLayout *layout = &bucket->table->layout;
	MtsBatch *batch;

	*reader = (MtsFastReader){.batch = NULL};
	if (!mts_enable_column_reader)
		return;
	batch = palloc(sizeof(MtsBatch));
	if (mts_batch_init(batch, layout, values, keys, types, &bucket->arena))
		reader->batch = batch;
	for (int i = 0; i < layout->ncolumns; i++)
		reader->takes_memory |=
			values[i] && !mts_bucket_takes_words(bucket->table, i);
}

/*
 * Prepare to read the columns that rows need.  Texts are those of few series
 * most often, so that they are read as keys first.
 */
static void
init_rows(MtsBucket *bucket)
{
	const MtsLayout *layout = &bucket->table->layout;
	bool *values = palloc0((layout->ncolumns + 1) * sizeof(bool));
	bool *keys = palloc0((layout->ncolumns + 1) * sizeof(bool));

	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		int column = output->column;

		keys[column] =
			output->kind == MTS_OUTPUT_SLOT ||
			(output->kind == MTS_OUTPUT_POINT && bucket->texts_are_keys &&
			 is_text(bucket->table->attributes[column].typid));
		values[column] = output->kind == MTS_OUTPUT_POINT && !keys[column];
	}
	init_reader(&bucket->at_once, bucket, values, keys, NULL);
}

/* Read texts as values from now on: as keys, they are too many or slow. */
static void
read_texts_as_values(MtsBucket *bucket)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(bucket));

	bucket->texts_are_keys = false;
	init_rows(bucket);
	MemoryContextSwitchTo(old);
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
	bucket->row_ids = row_ids;
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
	bucket->keys.context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw keys",
							  ALLOCSET_SMALL_SIZES);
	bucket->points.columns =
		palloc0((bucket->noutputs + 1) * sizeof(MtsPointValues));
	mts_unfold_init(&bucket->unfold, layout, NULL, &bucket->arena);
	if (layout->ncontainers == 0)
		return bucket;
	bucket->texts_are_keys = true;
	init_rows(bucket);
	if (!bucket->at_once.batch ||
		bucket->at_once.batch->method == MTS_BATCH_POINTS)
		read_texts_as_values(bucket);
	return bucket;
}

/* Tell whether the type of a time does not hold all instants. */
static bool
may_refuse_times(const MtsTable *table, const MtsOutput *time)
{
	return time && (table->attributes[time->column].typid == DATEOID ||
					table->attributes[time->column].typmod >= 0);
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
 * is_value are the columns that have a value for each point, and is_key those
 * that tell series apart.  remembers_series tells that a series takes the
 * caller long when it is new, and not in later batches.  Call this before the
 * first bucket, in the memory context of the bucket.
 */
bool
mts_bucket_read_series(MtsBucket *bucket, const bool *is_value,
					   const bool *is_key, bool remembers_series)
{
	const MtsTable *table = bucket->table;
	const MtsLayout *layout = &table->layout;
	const MtsOutput *time = mts_bucket_output(bucket, layout->time_column);
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;
	uint32 *types = palloc0((layout->ncolumns + 1) * sizeof(uint32));

	/* the next documents have been read when one cannot be converted */
	if (is_flat && (table->rolling_name || may_refuse_times(table, time)))
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
		if (mts_type_key_holds(table->attributes[i].key_type, BSON_TYPE_INT32))
			types[i] = types_of(table->attributes[i].typid);
	init_reader(&bucket->by_series, bucket, is_value, is_key, types);
	if (!bucket->by_series.batch)
		return false;
	bucket->reads_documents = is_flat;
	bucket->remembers_series = remembers_series;
	bucket->by_series.batch->needs_time = time != NULL;
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

	/* a bucket without a span holds its own time */
	if (layout->time_kind == MTS_TIME_FLAT || mts_span_is_zero(layout->span))
		return start;
	return mts_layout_bucket_end(layout, start, &end)
			   ? mts_layout_last_time(layout, end)
			   : MTS_TIME_MAX;
}

/* ---- Invalid points and buckets ---------------------------------------- */

static bool
start_unfolding(MtsBucket *bucket, const bson_t *document)
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

	(void) start_unfolding(bucket, bucket->document);
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

/* ---- Opening ----------------------------------------------------------- */

/* Convert an output of the bucket, or of the current point. */
static bool
convert_output(MtsBucket *bucket, const MtsOutput *output, Datum *value,
			   bool *isnull, MtsError *error)
{
	const MtsPoint *point = &bucket->one_by_one.point;
	const MtsColumn *column = &bucket->table->layout.columns[output->column];
	MtsElement element;

	bucket->converting = column;
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
	bucket->converting = NULL;
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
	bucket->converting = NULL;
	bucket->converting_point = -1;
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

/* ---- Values of points that are read at once ---------------------------- */

/* The outcome of a conversion of the values of a column */
typedef enum Converted
{
	CONVERTED,      /* they are Datums */
	NEEDS_ELEMENTS, /* as words, they cannot be Datums exactly */
	NOT_CONVERTED   /* one is invalid */
} Converted;

/* Datums take the places of words. */
StaticAssertDecl(sizeof(Datum) == sizeof(int64_t),
				 "only 64-bit servers are supported");

/* Convert words to Datums of a type; false if that is not exact. */
static bool
convert_words(MtsWords *words, Oid typid)
{
	int64 least = typid == INT4OID   ? PG_INT32_MIN
				  : typid == INT2OID ? PG_INT16_MIN
									 : PG_INT64_MIN;
	int n = words->n;

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

/* Make the element that a word was; bytes has room for its value. */
static MtsElement
element_of_word(const MtsWords *words, int i, uint8 bytes[8])
{
	uint64 word = BSON_UINT64_TO_LE((uint64) words->words[i]);

	memcpy(bytes, &word, sizeof(word));
	return (MtsElement){.type = words->type,
						.key = "",
						.value = bytes,
						.size = mts_words_size(words->type)};
}

/* Convert the values of points one by one. */
static Converted
convert_elements(MtsBucket *bucket, const MtsOutput *output, MtsWords *words)
{
	bucket->converting = &bucket->table->layout.columns[output->column];
	for (int i = 0; i < words->n; i++)
	{
		uint8 bytes[8];
		MtsElement element;
		MtsError error;
		Datum value;

		if (words->missing[i])
			continue;
		element = words->takes_elements ? words->elements[i]
										: element_of_word(words, i, bytes);
		bucket->converting_point = i;
		if (!mts_from_bson_element(output->converter, &element, &value,
								   &words->missing[i], &error))
			return NOT_CONVERTED;
		words->words[i] = (int64) value;
		words->has_missing |= words->missing[i];
	}
	return CONVERTED;
}

/*
 * Tell whether elements could have been read as words: they have types whose
 * values are most often of the column's type or, if its words are converted
 * one by one, all the same type.
 */
static bool
are_words(const MtsBucket *bucket, int column, const MtsWords *words)
{
	bool takes_words = mts_bucket_takes_words(bucket->table, column);
	Oid typid = bucket->table->attributes[column].typid;
	uint32 types = types_of(typid);
	uint8 type = 0;

	if (mts_type_is_integer(typid))
		types |= 1u << BSON_TYPE_INT32 | 1u << BSON_TYPE_INT64;
	else if (typid == TIMESTAMPTZOID)
		types |= 1u << BSON_TYPE_DATE_TIME;
	for (int i = 0; i < words->n; i++)
	{
		uint8 other;

		if (words->missing[i])
			continue;
		other = words->elements[i].type;
		if (mts_words_size(other) <= 0 ||
			(takes_words ? (types >> other & 1) == 0
						 : type != 0 && type != other))
			return false;
		type = other;
	}
	return true;
}

/* Convert the values of a column. */
static Converted
convert_column(MtsBucket *bucket, const MtsOutput *output, MtsWords *words)
{
	Oid typid = bucket->table->attributes[output->column].typid;

	if (!words->takes_elements &&
		mts_bucket_takes_words(bucket->table, output->column))
		return convert_words(words, typid) ? CONVERTED : NEEDS_ELEMENTS;
	if (!words->takes_elements && words->is_mixed)
		return NEEDS_ELEMENTS;
	return convert_elements(bucket, output, words);
}

/*
 * Convert all values of a batch.  A column whose words do not suffice is to be
 * read as elements.
 */
static Converted
convert_columns(MtsBucket *bucket, MtsBatch *batch)
{
	Converted result = CONVERTED;

	for (int i = 0; i < bucket->noutputs && result != NOT_CONVERTED; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		MtsWords *words = &batch->words[output->column];
		Converted converted;

		if (words->room == 0 || output->kind == MTS_OUTPUT_TIME)
			continue;
		converted = convert_column(bucket, output, words);
		if (converted == NEEDS_ELEMENTS)
			mts_words_take_elements(words, &bucket->arena);
		if (converted != CONVERTED)
			result = converted;
	}
	return result;
}

/* Read those columns of the next bucket as words that had only such. */
static void
prefer_words(const MtsBucket *bucket, MtsBatch *batch)
{
	for (int i = 0; i < bucket->noutputs; i++)
	{
		int column = bucket->outputs[i].column;
		MtsWords *words = &batch->words[column];

		if (words->takes_elements && are_words(bucket, column, words))
			words->takes_elements = false;
	}
}

/* Tell whether all times of a batch can be converted. */
static bool
check_times(const MtsBucket *bucket, const MtsBatch *batch)
{
	const MtsOutput *time =
		mts_bucket_output(bucket, bucket->table->layout.time_column);
	MtsError error;
	Datum value;

	if (!may_refuse_times(bucket->table, time))
		return true;
	for (int i = 0; i < batch->n; i++)
		if (!mts_from_bson_time(time->converter, batch->times[i], &value,
								&error))
			return false;
	return true;
}

/* ---- Keys of series ---------------------------------------------------- */

/* Convert an output's key of a series; false if that fails. */
static bool
convert_key(MtsBucket *bucket, const MtsBatch *batch, int series,
			const MtsOutput *output, Datum *value, bool *isnull)
{
	const MtsElement *key = mts_batch_key(batch, series, output->column);
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
		!is_text(bucket->table->attributes[output->column].typid))
		return false;
	bucket->converting = &bucket->table->layout.columns[output->column];
	return mts_from_bson_element(output->converter, key, value, isnull,
								 &error);
}

/* Forget the keys of all series. */
static void
forget_keys(MtsKeys *keys)
{
	MemoryContextReset(keys->context);
	keys->room = 0;
	keys->version++;
}

/*
 * Forget series and their keys, if the batch knows many or is another one, and
 * keys if one could not be converted.
 */
static void
forget_many_series(MtsBucket *bucket, MtsBatch *batch)
{
	if (mts_batch_forget_series(batch) || bucket->keys.of != batch)
		forget_keys(&bucket->keys);
	bucket->keys.of = batch;
}

/* Make room for the keys of all series that the batch knows. */
static void
reserve_keys(MtsKeys *keys, const MtsSeriesSet *known, int noutputs)
{
	int old = keys->room;
	int n = known->room * noutputs;

	if (old >= known->n)
		return;
	if (old == 0)
	{
		keys->values = palloc(n * sizeof(Datum));
		keys->nulls = palloc(n * sizeof(bool));
		keys->are_set = palloc(known->room * sizeof(bool));
	}
	else
	{
		keys->values = repalloc(keys->values, n * sizeof(Datum));
		keys->nulls = repalloc(keys->nulls, n * sizeof(bool));
		keys->are_set = repalloc(keys->are_set, known->room * sizeof(bool));
	}
	memset(keys->are_set + old, false, known->room - old);
	keys->room = known->room;
}

/*
 * Convert the keys of a series, unless they have been in an earlier bucket;
 * false if that fails.
 */
static bool
convert_keys(MtsBucket *bucket, const MtsBatch *batch, int series)
{
	MtsKeys *keys = &bucket->keys;
	int known = batch->series[series].known;
	int first = known * bucket->noutputs;

	for (int i = 0; i < bucket->noutputs && !keys->are_set[known]; i++)
		if (!convert_key(bucket, batch, series, &bucket->outputs[i],
						 &keys->values[first + i], &keys->nulls[first + i]))
			return false;
	keys->are_set[known] = true;
	return true;
}

/* Convert the keys of series from one on; false if that fails. */
static bool
convert_series(MtsBucket *bucket, const MtsBatch *batch, int series)
{
	MemoryContext old = MemoryContextSwitchTo(bucket->keys.context);
	bool is_valid = true;

	reserve_keys(&bucket->keys, &batch->known, bucket->noutputs);
	for (; series < batch->nseries && is_valid; series++)
		is_valid = convert_keys(bucket, batch, series);
	bucket->converting = NULL;
	MemoryContextSwitchTo(old);
	/* the conversion that failed leaves memory behind */
	if (!is_valid)
		bucket->keys.of = NULL;
	return is_valid;
}

/* Return the first of the keys of a series in the batch. */
static inline int
first_key(const MtsBucket *bucket, const MtsBatch *batch, int series)
{
	return batch->series[series].known * bucket->noutputs;
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
	int first = first_key(bucket, bucket->points.series, series);
	const Datum *values = bucket->keys.values + first;
	const bool *nulls = bucket->keys.nulls + first;

	bucket->series = series;
	for (int n = 0; n < noutputs; n++, output++)
	{
		if (output->kind == MTS_OUTPUT_BUCKET && !bucket->reads_documents)
			continue;
		bucket->values[output->column] = values[n];
		bucket->nulls[output->column] = nulls[n];
	}
}

/* ---- Documents that are points ----------------------------------------- */

/* Append a document to the batch; false if it must be unfolded or later. */
static bool
append_document(MtsBucket *bucket, MtsBatch *batch, const bson_t *document)
{
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
	if (batch->nseries == nseries || convert_series(bucket, batch, nseries))
		return true;
	mts_batch_remove_last(batch);
	return false;
}

/*
 * Read the documents that follow the current one into the batch, as far as
 * they can be read so; false if not even the first one can.
 */
static bool
read_documents(MtsBucket *bucket, MtsBatch *batch)
{
	const bson_t *document = bucket->document;
	ErrorContextCallback *callback = error_context_stack;
	bool is_appended;

	do
	{
		error_context_stack = callback;
		is_appended = append_document(bucket, batch, document);
		bucket->converting = NULL;
		/* the next document is not the bucket of the context */
		error_context_stack = callback->previous;
	} while (is_appended &&
			 (document = mts_source_next(bucket->source)) != NULL);
	error_context_stack = callback;
	if (document && batch->n > 0)
		mts_source_push_back(bucket->source, document);
	/* the next documents have been read, and cannot be unfolded */
	if (convert_columns(bucket, batch) != CONVERTED)
		elog(ERROR, "documents were read as words of another type");
	return batch->n > 0;
}

/* ---- Conditions and extremes ------------------------------------------- */

/*
 * Evaluate a condition for all points of the batch; false if only the executor
 * can.
 */
static bool
select_points(MtsBucket *bucket, const MtsBatch *batch,
			  MtsCondition *condition, bool *wanted)
{
	const MtsOutput *output = mts_bucket_output(bucket, condition->column);
	const MtsWords *words = &batch->words[condition->column];
	bool *holds;

	if (output->kind == MTS_OUTPUT_TIME)
		return false;
	if (words->room > 0)
	{
		mts_condition_select(
			condition, bucket->table->attributes[condition->column].typid,
			(const Datum *) words->words,
			words->has_missing ? words->missing : NULL, batch->n, wanted);
		return true;
	}
	if (batch->nseries == 0 ||
		mts_batch_key(batch, 0, condition->column) == NULL)
		return false;
	holds = palloc(batch->nseries * sizeof(bool));
	for (int i = 0; i < batch->nseries; i++)
	{
		int n = first_key(bucket, batch, i) + (output - bucket->outputs);

		holds[i] = mts_condition_holds(condition, bucket->keys.values[n],
									   bucket->keys.nulls[n]);
	}
	for (int i = 0; i < batch->n; i++)
		wanted[i] &= holds[batch->series_of[i]];
	pfree(holds);
	return true;
}

/*
 * Remove the points that do not fulfil the conditions; false if some of the
 * conditions could not be evaluated.
 */
static bool
apply_conditions(MtsBucket *bucket, MtsBatch *batch)
{
	int n = batch->n;
	bool *wanted;
	bool are_evaluated = true;
	ListCell *lc;

	/* the columns of documents are a bucket's: groups evaluate conditions */
	if (bucket->conditions == NIL || bucket->reads_documents)
		return bucket->conditions == NIL;
	wanted = palloc(n * sizeof(bool));
	memset(wanted, true, n * sizeof(bool));
	foreach (lc, bucket->conditions)
		are_evaluated &= select_points(bucket, batch, lfirst(lc), wanted);
	mts_batch_select(batch, wanted);
	pfree(wanted);
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
keep_extremes(MtsBucket *bucket, MtsBatch *batch)
{
	int nseries = batch->nkeys > 0 ? batch->nseries : 1;
	int *first;
	int read = batch->n;
	int n = 0;

	/* one point of each series comes first */
	if (bucket->extreme == MTS_EXTREME_NONE || nseries == read)
		return;
	first = palloc(nseries * sizeof(int));
	memset(first, -1, nseries * sizeof(int));
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
	pfree(first);
	bucket->counters->points += read - n;
}

/* ---- All points at once ------------------------------------------------ */

/*
 * Tell whether a reader is to be tried for the open bucket.  It does not know
 * where points are stored.
 */
static bool
is_due(const MtsBucket *bucket, const MtsFastReader *reader)
{
	return reader->batch && reader->pause == 0 && !bucket->row_ids &&
		   !bucket->is_stepwise &&
		   !(reader->takes_memory && bucket->document->len > MOST_SIZE);
}

/*
 * Record whether an attempt, which can read nbuckets, was worth its time.
 * After each failure, it takes longer until the next attempt.
 */
static void
record_attempt(MtsFastReader *reader, bool was_worthwhile, int nbuckets)
{
	reader->failures =
		was_worthwhile ? 0 : Min(reader->failures + 1, MOST_FAILURES);
	if (reader->failures > 0)
		reader->pause = ((1 << (reader->failures - 1)) - 1) * nbuckets;
}

/* Prepare to read the bucket in another way, after an attempt that failed. */
static void
give_up(MtsBucket *bucket, MtsBatch *batch)
{
	mts_batch_take_words(batch);
	(void) start_unfolding(bucket, bucket->document);
}

/* Show the points of a batch. */
static void
show_batch(MtsBucket *bucket, const MtsBatch *batch)
{
	MtsPoints *points = &bucket->points;
	MtsError error; /* of the times, which have been checked */

	points->n = batch->n;
	points->slot = NULL;
	points->times = batch->times;
	points->series = batch->nkeys > 0 ? batch : NULL;
	points->is_sorted = batch == bucket->by_series.batch;
	points->is_last = true;
	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		const MtsAttribute *attribute =
			&bucket->table->attributes[output->column];
		const MtsWords *words = &batch->words[output->column];
		MtsPointValues *column = &points->columns[i];
		Datum *times;

		*column = (MtsPointValues){NULL, NULL};
		if (output->kind != MTS_OUTPUT_TIME)
		{
			if (words->room > 0)
				column->values = (const Datum *) words->words;
			if (words->has_missing)
				column->missing = words->missing;
			continue;
		}
		column->values = (const Datum *) batch->times;
		if (attribute->typid == TIMESTAMPTZOID && attribute->typmod < 0)
			continue;
		column->values = times = palloc(batch->n * sizeof(Datum) + 1);
		for (int n = 0; n < batch->n; n++)
			(void) mts_from_bson_time(output->converter, batch->times[n],
									  &times[n], &error);
	}
}

/* Read all values and keys as Datums; false if they must be unfolded. */
static bool
read_batch(MtsBucket *bucket, MtsBatch *batch)
{
	Converted result = NOT_CONVERTED;

	if (batch->method == MTS_BATCH_DOCUMENTS)
		return read_documents(bucket, batch);
	while (mts_batch_read(batch, &bucket->unfold) &&
		   (result = convert_columns(bucket, batch)) == NEEDS_ELEMENTS)
	{
		MemoryContextReset(bucket->points_context);
		(void) start_unfolding(bucket, bucket->document);
	}
	bucket->converting = NULL;
	bucket->converting_point = -1;
	if (result != CONVERTED || !check_times(bucket, batch) ||
		(batch->nkeys > 0 && !convert_series(bucket, batch, 0)))
		return false;
	prefer_words(bucket, batch);
	return true;
}

/*
 * Tell whether a batch was worth its reading, before conditions are applied.
 * Points that are of another series each are not, if the series are new.
 */
static bool
is_worthwhile(const MtsBucket *bucket, const MtsBatch *batch, int nknown)
{
	int nseries =
		bucket->remembers_series ? batch->known.n - nknown : batch->nseries;

	return batch != bucket->by_series.batch ||
		   batch->n >= LEAST_POINTS * nseries;
}

/*
 * Read all points at once, if a reader is due and can; otherwise the unfolding
 * stays at its beginning.
 */
static bool
read_at_once(MtsBucket *bucket, MtsFastReader *reader)
{
	MtsBatch *batch = reader->batch;
	bool is_read;
	int nknown;

	if (!is_due(bucket, reader))
	{
		reader->pause = Max(reader->pause - 1, 0);
		return false;
	}
	MemoryContextReset(bucket->points_context);
	forget_many_series(bucket, batch);
	nknown = batch->known.n;
	is_read = read_batch(bucket, batch);
	if (!is_read)
		give_up(bucket, batch);
	if (!is_read && batch == bucket->at_once.batch && bucket->texts_are_keys &&
		(batch->has_unfit_keys || !bucket->keys.of))
	{
		read_texts_as_values(bucket);
		return read_at_once(bucket, reader);
	}
	record_attempt(reader, is_read && is_worthwhile(bucket, batch, nknown),
				   bucket->reads_documents ? batch->room : 1);
	if (!is_read)
		return false;
	bucket->points.is_checked = apply_conditions(bucket, batch);
	if (bucket->points.is_checked)
		keep_extremes(bucket, batch);
	if (batch == bucket->by_series.batch)
		mts_batch_sort(batch);
	show_batch(bucket, batch);
	return true;
}

/* ---- Points one by one ------------------------------------------------- */

/* Make the memory of points that are unfolded. */
static void
make_careful(MtsBucket *bucket)
{
	MtsCarefulReader *reader = &bucket->one_by_one;
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(bucket));
	int room = bucket->is_stepwise ? 1 : CAREFUL_ROOM;

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
	bucket->converting = NULL;
	reader->times[n] = reader->point.time;
	if (bucket->row_ids)
		mts_row_ids_add(bucket->row_ids, mts_bucket_of_set(bucket),
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
	Assert(!bucket->is_stepwise || reader->room == 1);
	show_unfolded(bucket);
	while (bucket->points.n < reader->room &&
		   MemoryContextMemAllocated(bucket->points_context, false) <
			   CAREFUL_SIZE)
	{
		bucket->converting = NULL;
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
	bucket->is_begun = true;
	bucket->series = -1;
	if (read_at_once(bucket, &bucket->by_series) ||
		read_at_once(bucket, &bucket->at_once))
	{
		bucket->counters->by_columns +=
			bucket->reads_documents ? bucket->points.n : 1;
		return;
	}
	bucket->points.is_last = false;
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
	if (points->series && points->series->series_of[i] != bucket->series)
		mts_bucket_enter_series(bucket, points->series->series_of[i]);
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
	if (bucket->row_ids)
		slot->tts_tid = bucket->one_by_one.row_ids[i];
	return true;
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
	MtsBatch *batch = bucket->at_once.batch;
	MtsPoint *point = &bucket->one_by_one.point;
	MtsUnfolded result;
	bool found = false;

	if (is_due(bucket, &bucket->at_once))
	{
		if (mts_batch_read(batch, &bucket->unfold))
		{
			for (int i = 0; i < batch->n; i++)
				extend(batch->times[i], is_last, &found, extreme);
			return found;
		}
		give_up(bucket, batch);
	}
	while ((result = mts_unfold_next(&bucket->unfold, point)) != MTS_DONE)
		if (result == MTS_POINT)
			extend(point->time, is_last, &found, extreme);
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
	MtsTime t = MTS_TIME_MIN;

	if (bucket->table->layout.time_kind == MTS_TIME_FLAT)
		return;
	error_context_stack = &callback;
	begin_points(bucket);
	bucket->points.is_last = !find_extreme(bucket, is_last, &t);
	if (!bucket->points.is_last)
	{
		bucket->only = (MtsRange){t, t + 1};
		bucket->only_ranges = (MtsRanges){1, &bucket->only};
		bucket->unfold.ranges = &bucket->only_ranges;
		(void) start_unfolding(bucket, bucket->document);
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
