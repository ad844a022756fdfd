/*
 * batch_reader.c
 *		Read all points of a bucket at once, by column.
 *
 * The words and elements of a batch (core/bucket/batch.c) become Datums in
 * their places.  Keys of series are converted once, and kept.  Conditions
 * remove points as soon as their values are Datums.  If anything is not as
 * expected, the points are unfolded instead, which hears of what is invalid.
 */
#include "scan/batch_reader.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "scan/bucket.h"
#include "scan/typo.h"

/* The size of documents whose values are converted at once, if that takes
 * memory */
#define MOST_SIZE (4 * 1024 * 1024)

/* The number of successive failures from which on pauses are equally long */
#define MOST_FAILURES 5

/* The points that a series of documents should have in a batch */
#define LEAST_POINTS 4

bool mts_enable_column_reader = true;

/* ---- Columns ------------------------------------------------------------ */

/*
 * mts_batch_reader_takes_words
 *		Tell whether words can become Datums of a column's type in their place.
 */
bool
mts_batch_reader_takes_words(const MtsTable *table, int column)
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
 * mts_batch_reader_takes_key
 *		Tell whether values of a column can be keys of series: their conversion
 *		raises no error.
 */
bool
mts_batch_reader_takes_key(const MtsTable *table, int column)
{
	Oid typid = table->attributes[column].typid;

	return column != table->layout.time_column &&
		   (is_text(typid) || typid == BOOLOID ||
			mts_batch_reader_takes_words(table, column));
}

/* Forget the keys of all series. */
static void
forget_keys(MtsKeys *keys)
{
	MemoryContextReset(keys->context);
	keys->room = 0;
	keys->has_failed = false;
	keys->version++;
}

/* Prepare to read columns at once, if that is possible. */
static void
init_reader(MtsBatchReader *reader, MtsBucket *bucket, const bool *values,
			const bool *keys, const uint32 *types)
{
	const MtsLayout *layout = &bucket->table->layout;
	MtsBatch *batch;

	if (!reader->keys.context)
		reader->keys.context =
			AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw keys",
								  ALLOCSET_SMALL_SIZES);
	forget_keys(&reader->keys);
	reader->batch = NULL;
	reader->failures = 0;
	if (!mts_enable_column_reader)
		return;
	batch = palloc(sizeof(MtsBatch));
	if (mts_batch_init(batch, layout, values, keys, types, &bucket->arena))
		reader->batch = batch;
	for (int i = 0; i < layout->ncolumns; i++)
		reader->takes_memory |=
			values[i] && !mts_batch_reader_takes_words(bucket->table, i);
}

/* Prepare to read the columns that rows need; texts as keys, or as values. */
static void
init_rows(MtsBatchReader *reader, MtsBucket *bucket, bool texts_are_keys)
{
	const MtsLayout *layout = &bucket->table->layout;
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(bucket));
	bool *values = palloc0((layout->ncolumns + 1) * sizeof(bool));
	bool *keys = palloc0((layout->ncolumns + 1) * sizeof(bool));

	for (int i = 0; i < bucket->noutputs; i++)
	{
		const MtsOutput *output = &bucket->outputs[i];
		int column = output->column;

		keys[column] = output->kind == MTS_OUTPUT_SLOT ||
					   (output->kind == MTS_OUTPUT_POINT && texts_are_keys &&
						is_text(bucket->table->attributes[column].typid));
		values[column] = output->kind == MTS_OUTPUT_POINT && !keys[column];
	}
	reader->texts_are_keys = texts_are_keys;
	init_reader(reader, bucket, values, keys, NULL);
	MemoryContextSwitchTo(old);
}

/*
 * mts_batch_reader_init
 *		Prepare to read points for rows.
 *
 * Texts are those of few series most often, so that they are read as keys
 * first.  As keys, they can be too many or slow: then they are values.
 */
void
mts_batch_reader_init(MtsBatchReader *reader, MtsBucket *bucket)
{
	init_rows(reader, bucket, true);
	if (!reader->batch || reader->batch->method == MTS_BATCH_POINTS)
		init_rows(reader, bucket, false);
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
 * mts_batch_reader_init_series
 *		Prepare to read all points of a bucket, or many documents that are
 *		rows, at once and sorted by series; false if that is not possible.
 *
 * is_value are the columns that have a value for each point, and is_key those
 * that tell series apart.  remembers_series tells that the caller looks up a
 * series only when it is new.  Call this before the first bucket, in the
 * memory context of the bucket.
 */
bool
mts_batch_reader_init_series(MtsBatchReader *reader, MtsBucket *bucket,
							 const bool *is_value, const bool *is_key,
							 bool remembers_series)
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
	reader->is_of_series = true;
	reader->remembers_series = remembers_series;
	init_reader(reader, bucket, is_value, is_key, types);
	if (reader->batch)
		reader->batch->needs_time = time != NULL;
	return reader->batch != NULL;
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
		mts_bucket_set_converting(bucket, output, i);
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
	bool takes_words = mts_batch_reader_takes_words(bucket->table, column);
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
		mts_batch_reader_takes_words(bucket->table, output->column))
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
			const MtsOutput *output, NullableDatum *value)
{
	const MtsElement *key = mts_batch_key(batch, series, output->column);
	MtsError error;

	value->isnull = !key;
	if (!key)
		return true;
	if (output->kind == MTS_OUTPUT_SLOT)
		return mts_from_bson_slot(output->converter,
								  &(MtsSlotKey){.text =
													(const char *) key->value,
												.len = key->size},
								  &value->value, &error);
	/* a type's input function raises errors, which name the point */
	if (output->kind == MTS_OUTPUT_POINT && key->type == BSON_TYPE_UTF8 &&
		!is_text(bucket->table->attributes[output->column].typid))
		return false;
	mts_bucket_set_converting(bucket, output, -1);
	return mts_from_bson_element(output->converter, key, &value->value,
								 &value->isnull, &error);
}

/* Make room for the keys of all series that the batch knows. */
static void
reserve_keys(MtsKeys *keys, const MtsSeriesSet *known, int noutputs)
{
	int old = keys->room;
	Size size = known->room * noutputs * sizeof(NullableDatum);

	if (old >= known->n)
		return;
	if (old == 0)
	{
		keys->values = palloc(size);
		keys->are_set = palloc(known->room * sizeof(bool));
	}
	else
	{
		keys->values = repalloc(keys->values, size);
		keys->are_set = repalloc(keys->are_set, known->room * sizeof(bool));
	}
	memset(keys->are_set + old, false, known->room - old);
	keys->room = known->room;
}

/*
 * Convert the keys of series from one on, unless they have been in an earlier
 * bucket; false if that fails.
 */
static bool
convert_series(MtsBatchReader *reader, MtsBucket *bucket, int series)
{
	const MtsBatch *batch = reader->batch;
	MtsKeys *keys = &reader->keys;
	MemoryContext old = MemoryContextSwitchTo(keys->context);
	int n = bucket->noutputs;
	bool is_valid = true;

	reserve_keys(keys, &batch->series.known, n);
	for (; series < batch->series.n && is_valid; series++)
	{
		int known = batch->series.items[series].known;

		for (int i = 0; i < n && !keys->are_set[known] && is_valid; i++)
			is_valid = convert_key(bucket, batch, series, &bucket->outputs[i],
								   &keys->values[known * n + i]);
		keys->are_set[known] = is_valid;
	}
	mts_bucket_set_converting(bucket, NULL, -1);
	MemoryContextSwitchTo(old);
	keys->has_failed |= !is_valid;
	return is_valid;
}

/* ---- Documents that are points ----------------------------------------- */

/* Append a document to the batch; false if it must be unfolded or later. */
static bool
append_document(MtsBatchReader *reader, MtsBucket *bucket,
				const bson_t *document)
{
	MtsBatch *batch = reader->batch;
	int nseries = batch->series.n;
	bool is_appended;

	mts_bucket_set_document(bucket, document);
	is_appended = mts_batch_append(batch, &bucket->unfold,
								   bson_get_data(document), document->len);
	/* a document of another outline was looked at by itself */
	if (bucket->unfold.document.value == bson_get_data(document))
		mts_typo_record(bucket);
	if (!is_appended)
		return false;
	if (batch->series.n == nseries || convert_series(reader, bucket, nseries))
		return true;
	mts_batch_remove_last(batch);
	return false;
}

/*
 * Read the documents that follow the current one into the batch, as far as
 * they can be read so; false if not even the first one can.
 */
static bool
read_documents(MtsBatchReader *reader, MtsBucket *bucket)
{
	MtsBatch *batch = reader->batch;
	const bson_t *document = bucket->document;
	ErrorContextCallback *callback = error_context_stack;
	bool is_appended;

	do
	{
		error_context_stack = callback;
		is_appended = append_document(reader, bucket, document);
		mts_bucket_set_converting(bucket, NULL, -1);
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
select_points(const MtsBatchReader *reader, const MtsBucket *bucket,
			  MtsCondition *condition, bool *wanted)
{
	const MtsBatch *batch = reader->batch;
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
	if (batch->series.n == 0 ||
		mts_batch_key(batch, 0, condition->column) == NULL)
		return false;
	holds = palloc(batch->series.n * sizeof(bool));
	for (int i = 0; i < batch->series.n; i++)
	{
		NullableDatum *key = reader->keys.values + (output - bucket->outputs) +
							 batch->series.items[i].known * bucket->noutputs;

		holds[i] = mts_condition_holds(condition, key->value, key->isnull);
	}
	for (int i = 0; i < batch->n; i++)
		wanted[i] &= holds[batch->series.of[i]];
	pfree(holds);
	return true;
}

/*
 * Remove the points that do not fulfil the conditions; false if some of the
 * conditions could not be evaluated.
 */
static bool
apply_conditions(const MtsBatchReader *reader, const MtsBucket *bucket)
{
	MtsBatch *batch = reader->batch;
	List *conditions = bucket->spec.conditions;
	int n = batch->n;
	bool *wanted;
	bool are_evaluated = true;
	ListCell *lc;

	/* the columns of documents are a bucket's: groups evaluate conditions */
	if (conditions == NIL || batch->method == MTS_BATCH_DOCUMENTS)
		return conditions == NIL;
	wanted = palloc(n * sizeof(bool));
	memset(wanted, true, n * sizeof(bool));
	foreach (lc, conditions)
		are_evaluated &= select_points(reader, bucket, lfirst(lc), wanted);
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
keep_extremes(const MtsBucket *bucket, MtsBatch *batch)
{
	int nseries = batch->series.nkeys > 0 ? batch->series.n : 1;
	int *first;
	int read = batch->n;
	int n = 0;

	/* one point of each series comes first */
	if (bucket->spec.extreme == MTS_EXTREME_NONE || nseries == read)
		return;
	first = palloc(nseries * sizeof(int));
	memset(first, -1, nseries * sizeof(int));
	for (int i = 0; i < read; i++)
	{
		int *found = &first[batch->series.nkeys > 0 ? batch->series.of[i] : 0];

		if (*found < 0 ||
			mts_bucket_comes_first(bucket->spec.extreme, batch->times[i],
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
is_due(const MtsBatchReader *reader, const MtsBucket *bucket)
{
	return reader->batch && reader->pause == 0 && !bucket->spec.row_ids &&
		   !bucket->spec.is_stepwise &&
		   !(reader->takes_memory && bucket->document->len > MOST_SIZE);
}

/*
 * Record whether an attempt, which can read nbuckets, was worth its time.
 * After each failure, it takes longer until the next attempt.
 */
static void
record_attempt(MtsBatchReader *reader, bool was_worthwhile, int nbuckets)
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
	(void) mts_bucket_start(bucket, bucket->document);
}

/* Show the points of a batch. */
static void
show_batch(const MtsBatchReader *reader, const MtsBucket *bucket,
		   MtsPoints *points)
{
	const MtsBatch *batch = reader->batch;
	MtsError error; /* of the times, which have been checked */

	points->n = batch->n;
	points->times = batch->times;
	points->series = batch->series.nkeys > 0 ? batch : NULL;
	points->keys = &reader->keys;
	points->is_sorted = reader->is_of_series;
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
read_batch(MtsBatchReader *reader, MtsBucket *bucket)
{
	MtsBatch *batch = reader->batch;
	Converted result = NOT_CONVERTED;

	if (batch->method == MTS_BATCH_DOCUMENTS)
		return read_documents(reader, bucket);
	while (mts_batch_read(batch, &bucket->unfold) &&
		   (result = convert_columns(bucket, batch)) == NEEDS_ELEMENTS)
	{
		MemoryContextReset(bucket->points_context);
		(void) mts_bucket_start(bucket, bucket->document);
	}
	mts_bucket_set_converting(bucket, NULL, -1);
	if (result != CONVERTED || !check_times(bucket, batch) ||
		(batch->series.nkeys > 0 && !convert_series(reader, bucket, 0)))
		return false;
	prefer_words(bucket, batch);
	return true;
}

/*
 * Tell whether a batch was worth its reading, before conditions are applied.
 * Points that are of another series each are not, if the series are new.
 */
static bool
is_worthwhile(const MtsBatchReader *reader, int nknown)
{
	const MtsBatch *batch = reader->batch;
	int nseries = reader->remembers_series ? batch->series.known.n - nknown
										   : batch->series.n;

	return !reader->is_of_series || batch->n >= LEAST_POINTS * nseries;
}

/*
 * mts_batch_reader_read
 *		Read all points of the open bucket, if an attempt is due and succeeds;
 *		otherwise its unfolding stays at its beginning.
 *
 * The points live until the next attempt, and in the points_context.
 */
bool
mts_batch_reader_read(MtsBatchReader *reader, MtsBucket *bucket,
					  MtsPoints *points)
{
	MtsBatch *batch = reader->batch;
	bool is_read;
	int nknown;

	if (!is_due(reader, bucket))
	{
		reader->pause = Max(reader->pause - 1, 0);
		return false;
	}
	MemoryContextReset(bucket->points_context);
	if (mts_batch_forget_series(batch) || reader->keys.has_failed)
		forget_keys(&reader->keys);
	nknown = batch->series.known.n;
	is_read = read_batch(reader, bucket);
	if (!is_read)
		give_up(bucket, batch);
	if (!is_read && reader->texts_are_keys &&
		(batch->has_unfit_keys || reader->keys.has_failed))
	{
		init_rows(reader, bucket, false);
		return mts_batch_reader_read(reader, bucket, points);
	}
	record_attempt(reader, is_read && is_worthwhile(reader, nknown),
				   batch->method == MTS_BATCH_DOCUMENTS ? batch->room : 1);
	if (!is_read)
		return false;
	points->is_checked = apply_conditions(reader, bucket);
	if (points->is_checked)
		keep_extremes(bucket, batch);
	if (reader->is_of_series)
		mts_batch_sort(batch);
	show_batch(reader, bucket, points);
	return true;
}

/*
 * mts_batch_reader_times
 *		Read all points of the open bucket without Datums, if an attempt is due
 *		and successful; otherwise return NULL, and its unfolding stays at its
 *		beginning.
 */
const MtsBatch *
mts_batch_reader_times(const MtsBatchReader *reader, MtsBucket *bucket)
{
	if (!is_due(reader, bucket))
		return NULL;
	if (mts_batch_read(reader->batch, &bucket->unfold))
		return reader->batch;
	give_up(bucket, reader->batch);
	return NULL;
}
