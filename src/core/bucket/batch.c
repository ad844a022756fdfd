/*
 * batch.c
 *		Read all points of a bucket at once, as an array for each column.
 *
 * Most series are stored as numbers of one type.  Reading a key and eight
 * bytes takes 1 ns, and an entry of a compressed column 3 ns; unfolding a
 * point takes 40 ns.  Whatever is not as simple is left to be unfolded, errors
 * included.
 */
#include "core/bucket/batch.h"

#include <string.h>

/* The most bytes of the keys of all series of documents */
#define KEY_BYTES 65536

/* Tell whether a column is the whole value of a point in its container. */
static bool
is_whole_value(const MtsLayout *layout, const MtsColumn *column)
{
	return column->container >= 0 &&
		   column->path.nsteps == layout->containers[column->container].nsteps;
}

/* Tell whether the first n slots are keys that count units of equal length. */
static bool
count_units(const MtsLayout *layout, int n)
{
	for (int i = 0; i < n; i++)
		if (layout->slots[i]->kind != MTS_STEP_UNIT_KEY ||
			layout->slots[i]->unit.usecs <= 0)
			return false;
	return true;
}

/* The same where slots are times. */
static MtsBatchMethod
choose_slot_method(const MtsLayout *layout, int n, int column)
{
	int last = layout->nslots - 1;

	if (layout->ncontainers != 1 || !count_units(layout, last))
		return MTS_BATCH_POINTS;
	if (layout->slots[last]->kind == MTS_STEP_COLUMN_KEY)
		return MTS_BATCH_KEYS;
	return n <= 1 && count_units(layout, last + 1) &&
				   is_whole_value(layout, &layout->columns[column])
			   ? MTS_BATCH_SLOTS
			   : MTS_BATCH_POINTS;
}

/* Choose the fastest way to read n wanted columns; `column` is the first. */
static MtsBatchMethod
choose_method(const MtsLayout *layout, const bool *wanted, int n, int column)
{
	const MtsColumn *time = mts_layout_time_column(layout);

	if (layout->has_missing)
		return MTS_BATCH_POINTS;
	if (layout->time_kind == MTS_TIME_SLOTS)
		return choose_slot_method(layout, n, column);
	if (layout->ncontainers == 1 && !layout->containers[0].is_value)
		return layout->nslots == 1 &&
					   layout->slots[0]->kind == MTS_STEP_ELEMENT
				   ? MTS_BATCH_ARRAY
				   : MTS_BATCH_POINTS;
	for (int i = 0; i < layout->ncolumns; i++)
		if (wanted[i] && !is_whole_value(layout, &layout->columns[i]))
			return MTS_BATCH_POINTS;
	return layout->nslots == 1 && layout->slots[0]->kind == MTS_STEP_ELEMENT &&
				   time->format.kind == MTS_FORMAT_DATE &&
				   is_whole_value(layout, time)
			   ? MTS_BATCH_COLUMNS
			   : MTS_BATCH_POINTS;
}

/* Prepare to tell series apart. */
static void
init_series(MtsBatch *batch, const MtsArena *arena)
{
	batch->series =
		mts_arena_allocate(arena, MTS_BATCH_SERIES * sizeof(MtsSeries));
	batch->series_of = mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(int));
	batch->old_words =
		mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(int64_t));
	batch->old_missing =
		mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(bool));
	if (batch->method == MTS_BATCH_DOCUMENTS)
		batch->key_bytes = mts_arena_allocate(arena, KEY_BYTES);
}

static void
init_models(MtsBatch *batch, const MtsLayout *layout, const MtsArena *arena)
{
	bool has_documents = batch->method == MTS_BATCH_DOCUMENTS;
	int points = batch->method == MTS_BATCH_KEYS ? MTS_BATCH_SERIES : 1;

	batch->nmodels = has_documents ? MTS_BATCH_MODELS : 1;
	batch->models =
		mts_arena_allocate(arena, batch->nmodels * sizeof(MtsModel));
	for (int i = 0; i < batch->nmodels; i++)
	{
		MtsModel *model = &batch->models[i];

		model->outline.size = 0;
		model->npoints = 0;
		model->values = mts_arena_allocate(arena, points * layout->ncolumns *
													  sizeof(MtsElement));
		model->numbers = mts_arena_allocate(arena, points * sizeof(int));
		model->copy =
			has_documents ? mts_arena_allocate(arena, MTS_OUTLINE_SIZE) : NULL;
	}
}

/* Make the memory of a batch whose method and keys have been set. */
static void
init(MtsBatch *batch, const MtsLayout *layout, const bool *wanted,
	 const MtsArena *arena)
{
	if (batch->nkeys > 0)
		init_series(batch, arena);
	init_models(batch, layout, arena);
	batch->times = mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(MtsTime));
	batch->keys = mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(int64_t));
	batch->elements = mts_arena_allocate(arena, (layout->ncontainers + 1) *
													sizeof(MtsElement));
	batch->words =
		mts_arena_allocate(arena, layout->ncolumns * sizeof(MtsWords));
	memset(batch->words, 0, layout->ncolumns * sizeof(MtsWords));
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsWords *words = &batch->words[i];

		if (!(wanted[i] && layout->columns[i].role != MTS_ROLE_SLOT) &&
			!(batch->method == MTS_BATCH_SLOTS && i == batch->column) &&
			!(batch->method == MTS_BATCH_COLUMNS && i == layout->time_column))
			continue;
		words->room = MTS_BATCH_ROOM;
		words->words =
			mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(int64_t));
		words->missing =
			mts_arena_allocate(arena, MTS_BATCH_ROOM * sizeof(bool));
	}
}

/*
 * mts_batch_init
 *		Prepare to read the wanted columns of many buckets' points.
 *
 * Columns of the bucket itself are not wanted.  If one of a slot is, the
 * points are read with their series.
 */
void
mts_batch_init(MtsBatch *batch, const MtsLayout *layout, const bool *wanted,
			   const MtsArena *arena)
{
	bool has_series = false;
	int n = 0;

	memset(batch, 0, sizeof(*batch));
	for (int i = layout->ncolumns - 1; i >= 0; i--)
	{
		n += wanted[i];
		has_series |= wanted[i] && layout->columns[i].role == MTS_ROLE_SLOT;
		if (wanted[i] || (n == 0 && layout->columns[i].container >= 0))
			batch->column = i;
	}
	for (int i = 0; i < layout->nslots && has_series; i++)
		if (layout->slots[i]->kind == MTS_STEP_COLUMN_KEY)
			batch->key_slots[batch->nkeys++] = i;
	batch->method = choose_method(layout, wanted, n, batch->column);
	init(batch, layout, wanted, arena);
}

/*
 * mts_batch_init_documents
 *		Prepare to read many documents that are points; false if some must be
 *		unfolded.
 *
 * wanted are columns of words, which must have one of their types: a bit for
 * each BSON type, by column.  keys are the columns that tell series apart.
 * The caller keeps types.
 */
bool
mts_batch_init_documents(MtsBatch *batch, const MtsLayout *layout,
						 const bool *wanted, const uint32_t *types,
						 const bool *keys, const MtsArena *arena)
{
	memset(batch, 0, sizeof(*batch));
	if (layout->time_kind != MTS_TIME_FLAT || layout->has_missing)
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (!keys[i])
			continue;
		if (batch->nkeys == MTS_MAX_SLOTS)
			return false;
		batch->key_slots[batch->nkeys] = batch->nkeys;
		batch->key_columns[batch->nkeys++] = i;
	}
	batch->method = MTS_BATCH_DOCUMENTS;
	batch->types = types;
	init(batch, layout, wanted, arena);
	return true;
}

/* ---- Elements of a document or array ------------------------------------ */

/*
 * Read a key that is a canonical number below a limit, and return its NUL;
 * NULL for other keys.  The NUL at the document's end bounds the loop.
 */
static inline const uint8_t *
read_key(const uint8_t *at, int64_t limit, int64_t *key)
{
	int64_t n = *at - '0';

	if (*at < '0' || *at > '9')
		return NULL;
	if (n == 0 && at[1] != '\0')
		return NULL;
	for (at++; *at != '\0'; at++)
	{
		if (*at < '0' || *at > '9')
			return NULL;
		n = n * 10 + (*at - '0');
		if (n >= limit)
			return NULL;
	}
	*key = n;
	return n < limit ? at : NULL;
}

/* The size of a value of a type, or -1 if it is neither a word nor null */
static inline int
size_of(uint8_t type)
{
	switch (type)
	{
		case BSON_TYPE_DOUBLE:
		case BSON_TYPE_INT64:
		case BSON_TYPE_DATE_TIME:
			return 8;
		case BSON_TYPE_INT32:
			return 4;
		case BSON_TYPE_NULL:
			return 0;
		default:
			return -1;
	}
}

static inline int64_t
read_word(const uint8_t *value, int size)
{
	int64_t word;
	int32_t half;

	if (size == 8)
	{
		memcpy(&word, value, sizeof(word));
		return (int64_t) BSON_UINT64_FROM_LE((uint64_t) word);
	}
	memcpy(&half, value, sizeof(half));
	return (int32_t) BSON_UINT32_FROM_LE((uint32_t) half);
}

/*
 * Read a key of a slot that is written in another way, as the number of the
 * slot, below a limit.
 */
static const uint8_t *
read_slot_key(const MtsStep *slot, const uint8_t *at, const uint8_t *end,
			  int64_t first, int64_t limit, int64_t *n)
{
	const uint8_t *nul = memchr(at, '\0', end - at + 1);

	if (mts_slot_key_index(slot, (const char *) at, nul - at, n) !=
		MTS_KEYTEXT_NUMBER)
		return NULL;
	*n -= first;
	return *n >= 0 && *n < limit ? nul : NULL;
}

/* Keys below this, with a type and a NUL, have at most seven bytes. */
#define MAX_HEAD_KEY 100000

/* With a value they have at most these. */
#define MAX_ELEMENT 16

/*
 * Return the bytes of a type, a key below MAX_HEAD_KEY, and its NUL, the first
 * byte lowest, and set their number.
 */
static inline uint64_t
head_of(uint8_t type, int64_t key, int *size)
{
	uint64_t head = '0' + key % 10;

	for (*size = 3; (key /= 10) > 0; ++*size)
		head = head << 8 | ('0' + key % 10);
	return head << 8 | type;
}

/*
 * Read the elements that have a type and the keys that follow each other from
 * `key` on, below a limit.  Most elements do, so that one comparison reads a
 * type and a key.  Returns the first other element.
 */
static const uint8_t *
read_run(const uint8_t *at, const uint8_t *end, uint8_t type, int64_t key,
		 int64_t limit, MtsWords *words, int64_t *keys)
{
	int size = size_of(type);
	int n = words->n;
	int first = n;
	bool is_run = size > 0;

	limit = BSON_MIN(limit, BSON_MIN(key + words->room - n, MAX_HEAD_KEY));
	while (is_run && key < limit)
	{
		int head_size;
		uint64_t head = head_of(type, key, &head_size);
		uint64_t mask = (UINT64_C(1) << (8 * head_size)) - 1;
		int64_t end_of_ten = BSON_MIN(limit, key - key % 10 + 10);

		while (key < end_of_ten &&
			   (is_run = end - at >= MAX_ELEMENT &&
						 (read_word(at, 8) & mask) == head))
		{
			keys[n] = key++;
			words->words[n++] = read_word(at + head_size, size);
			at += head_size + size;
			head += UINT64_C(1) << (8 * (head_size - 2));
		}
	}
	memset(words->missing + first, false, n - first);
	words->n = n;
	return at;
}

/*
 * Read the type and the key of an element, and return its value; NULL if it
 * does not have the type of the others.  The key is a number below a limit or,
 * if slot is not NULL, the slot's key from `first` on.
 */
static const uint8_t *
read_head(const uint8_t *at, const uint8_t *end, const MtsStep *slot,
		  int64_t first, int64_t limit, MtsWords *words, int64_t *key)
{
	uint8_t type = *at;
	int size = size_of(type);

	if (size < 0)
		return NULL;
	if (type != words->type && size > 0)
	{
		if (words->type != 0)
			return NULL;
		words->type = type;
	}
	at = slot ? read_slot_key(slot, at + 1, end, first, limit, key)
			  : read_key(at + 1, limit, key);
	return at ? at + 1 : NULL;
}

static void
clear(MtsWords *words)
{
	words->n = 0;
	words->type = 0;
	words->has_missing = false;
}

/*
 * Read the elements of a document or array after those that were read before.
 * Their keys are numbers below a limit or, if slot is not NULL, the slot's
 * keys from `first` on.  False if their types differ, or there are too many.
 */
static bool
read_elements(const MtsElement *holder, const MtsStep *slot, int64_t first,
			  int64_t limit, MtsWords *words, int64_t *keys)
{
	MtsElementCursor cursor;
	const uint8_t *at;

	if (!mts_element_open(&cursor, holder->value, holder->size))
		return false;
	for (at = cursor.at; at < cursor.end;)
	{
		int n = words->n;
		uint8_t type = *at;
		int size = size_of(type);

		if (size < 0 || n == words->room)
			return false;
		at = read_head(at, cursor.end, slot, first, limit, words, &keys[n]);
		if (!at || cursor.end - at < size)
			return false;
		words->missing[n] = size == 0;
		if (size == 0)
			words->has_missing = true;
		else
			words->words[n] = read_word(at, size);
		words->n++;
		at += size;
		if (!slot)
			at = read_run(at, cursor.end, type, keys[n] + 1, limit, words,
						  keys);
	}
	return true;
}

/* ---- Elements and compressed columns ------------------------------------ */

/*
 * Move each word to the index that its key is; those in between are missing.
 * False if the keys do not ascend, or leave gaps in an array, whose elements
 * are counted.
 */
static bool
spread(MtsWords *words, const int64_t *keys, bool is_array)
{
	int last = words->n - 1;
	int end = last >= 0 ? (int) keys[last] + 1 : 0;

	for (int i = 1; i <= last; i++)
		if (keys[i] <= keys[i - 1])
			return false;
	if (is_array && end > words->n)
		return false;
	words->has_missing |= end > words->n;
	words->n = end;
	for (int to = end - 1; to > last; to--)
	{
		bool has_key = last >= 0 && keys[last] == to;

		words->missing[to] = !has_key || words->missing[last];
		if (has_key)
			words->words[to] = words->words[last--];
	}
	return true;
}

/*
 * Read a container, which must have npoints points, or fewer if it can have
 * gaps.  With -1 points, it may have any number.
 */
static bool
read_container(const MtsUnfold *unfold, int container, int npoints,
			   MtsWords *words, int64_t *keys)
{
	const MtsPath *path = unfold->layout->containers[container].path;
	MtsElement holder = {0};
	MtsFound found = mts_path_find(&unfold->document, path->steps,
								   mts_path_leading_names(path), &holder);

	clear(words);
	/* without bounds, conditions find the elements of arrays only */
	if (found == MTS_MALFORMED || ((holder.type == BSON_TYPE_DOCUMENT ||
									holder.type == BSON_TYPE_BINARY) &&
								   !mts_layout_has_bounds(unfold->layout)))
		return false;
	if (found == MTS_FOUND && holder.type == BSON_TYPE_BINARY)
	{
		if (!mts_compressed_read(&holder, words) ||
			(npoints >= 0 && words->n != npoints))
			return false;
	}
	else if (found == MTS_FOUND && holder.type != BSON_TYPE_NULL &&
			 ((holder.type != BSON_TYPE_ARRAY &&
			   holder.type != BSON_TYPE_DOCUMENT) ||
			  !read_elements(&holder, NULL, 0, MTS_BATCH_ROOM, words, keys) ||
			  !spread(words, keys, holder.type == BSON_TYPE_ARRAY)))
		return false;
	if (npoints < 0)
		return true;
	for (int i = words->n; i < npoints; i++)
		words->missing[i] = words->has_missing = true;
	return words->n <= npoints;
}

static bool
read_times(MtsBatch *batch, const MtsUnfold *unfold)
{
	int column = unfold->layout->time_column;
	MtsWords *words = &batch->words[column];

	if (!read_container(unfold, unfold->layout->columns[column].container, -1,
						words, batch->keys))
		return false;
	batch->n = words->n;
	if (batch->n > 0 &&
		(words->type != BSON_TYPE_DATE_TIME || words->has_missing))
		return false;
	for (int i = 0; i < batch->n; i++)
		if (!mts_format_date(words->words[i], &batch->times[i]) ||
			batch->times[i] < unfold->earliest ||
			batch->times[i] > unfold->latest)
			return false;
	return true;
}

static bool
read_columns(MtsBatch *batch, const MtsUnfold *unfold)
{
	const MtsLayout *layout = unfold->layout;

	if (!read_times(batch, unfold))
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
		if (batch->words[i].room > 0 && i != layout->time_column &&
			!read_container(unfold, layout->columns[i].container, batch->n,
							&batch->words[i], batch->keys))
			return false;
	return true;
}

/* ---- Points of any layout ----------------------------------------------- */

/* Append a value; false if its type is not that of the column's others. */
static bool
append_value(MtsWords *words, const MtsElement *element)
{
	int size = size_of(element->type);
	bool is_missing = size == 0;

	if (size < 0 ||
		(!is_missing && words->type != 0 && words->type != element->type))
		return false;
	words->missing[words->n] = is_missing;
	words->has_missing |= is_missing;
	if (!is_missing)
	{
		words->type = element->type;
		words->words[words->n] = read_word(element->value, size);
	}
	words->n++;
	return true;
}

/* Append a point, whose values are stored by column, too. */
static bool
append_point(MtsBatch *batch, MtsUnfold *unfold, const MtsPoint *point,
			 MtsElement *values)
{
	for (int i = 0; i < unfold->layout->ncolumns; i++)
	{
		MtsElement *element = &values[i];
		MtsFound found;

		if (batch->words[i].room == 0)
			continue;
		found = mts_unfold_value(unfold, point, &unfold->layout->columns[i],
								 element);
		if (found == MTS_ABSENT)
			*element = (MtsElement){.type = BSON_TYPE_NULL};
		if (found == MTS_MALFORMED || !append_value(&batch->words[i], element))
			return false;
	}
	batch->times[batch->n++] = point->time;
	return true;
}

/* Tell whether a point has the keys of a series. */
static bool
is_in_series(const MtsBatch *batch, const MtsSeries *series,
			 const MtsPoint *point)
{
	bool has_types = batch->method == MTS_BATCH_DOCUMENTS;

	for (int i = 0; i < batch->nkeys; i++)
	{
		const MtsSlotKey *a = &series->slots[batch->key_slots[i]];
		const MtsSlotKey *b = &point->slots[batch->key_slots[i]];

		if (a->len != b->len || memcmp(a->text, b->text, a->len) != 0 ||
			(has_types && a->index != b->index))
			return false;
	}
	return true;
}

/* Begin a series; false if there are too many. */
static bool
begin_series(MtsBatch *batch, const MtsPoint *point)
{
	MtsSeries *series = &batch->series[batch->nseries];

	if (batch->nseries == MTS_BATCH_SERIES)
		return false;
	memset(series, 0, sizeof(*series));
	for (int i = 0; i < batch->nkeys; i++)
	{
		MtsSlotKey *key = &series->slots[batch->key_slots[i]];

		*key = point->slots[batch->key_slots[i]];
		if (batch->method != MTS_BATCH_DOCUMENTS)
			continue;
		/* the document goes before the batch */
		if (key->len > KEY_BYTES - batch->nkey_bytes)
			return false;
		key->text =
			memcpy(batch->key_bytes + batch->nkey_bytes, key->text, key->len);
		batch->nkey_bytes += key->len;
	}
	batch->nseries++;
	return true;
}

/*
 * Find the series of the next point, or begin one; -1 if there are too many.
 * Most often the series come in the same order again.
 */
static int
find_series(MtsBatch *batch, const MtsPoint *point)
{
	int before = batch->n > 0 ? batch->series_of[batch->n - 1] : 0;
	int i = batch->n > 0 ? batch->series[before].next : 0;

	if (i == batch->nseries || !is_in_series(batch, &batch->series[i], point))
		for (i = 0; i < batch->nseries; i++)
			if (is_in_series(batch, &batch->series[i], point))
				break;
	if (i == batch->nseries && !begin_series(batch, point))
		return -1;
	batch->series[before].next = i;
	return i;
}

/* The same for a point that is appended. */
static bool
append_series(MtsBatch *batch, const MtsPoint *point)
{
	int i = find_series(batch, point);

	if (i < 0)
		return false;
	batch->series[i].n++;
	batch->series_of[batch->n] = i;
	return true;
}

/* mts_batch_clear: remove all points. */
void
mts_batch_clear(MtsBatch *batch, const MtsLayout *layout)
{
	batch->n = batch->nseries = 0;
	batch->nkey_bytes = 0;
	for (int i = 0; i < layout->ncolumns; i++)
		clear(&batch->words[i]);
}

/* Unfold the wanted points. */
static bool
read_points(MtsBatch *batch, MtsUnfold *unfold)
{
	MtsPoint point = {.elements = batch->elements};
	MtsUnfolded result;

	mts_batch_clear(batch, unfold->layout);
	while ((result = mts_unfold_next(unfold, &point)) == MTS_POINT)
		if (batch->n == MTS_BATCH_ROOM ||
			(batch->series && !append_series(batch, &point)) ||
			!append_point(batch, unfold, &point, batch->models->values))
			return false;
	return result == MTS_DONE;
}

/* ---- Elements with the same outline ------------------------------------- */

/* Forget the element that was read by its keys. */
static void
forget_model(MtsModel *model)
{
	model->outline.size = 0;
	model->npoints = 0;
}

/*
 * Append the points of an element with the outline, by their offsets; false if
 * there are too many.  The time is that of all of them.
 */
static bool
append_like(MtsBatch *batch, const MtsLayout *layout, const MtsModel *model,
			const uint8_t *element, MtsTime time)
{
	int64_t distance = element - model->base;
	int n = batch->n;
	int end = n + model->npoints;

	if (end > MTS_BATCH_ROOM)
		return false;
	for (int i = n; i < end; i++)
		batch->times[i] = time;
	for (int i = n; i < end && batch->series; i++)
	{
		batch->series_of[i] = model->numbers[i - n];
		batch->series[batch->series_of[i]].n++;
	}
	for (int column = 0; column < layout->ncolumns; column++)
	{
		const MtsElement *value = &model->values[column];
		MtsWords *words = &batch->words[column];

		if (words->room == 0)
			continue;
		for (int i = n; i < end; i++, value += layout->ncolumns)
		{
			words->missing[i] = value->type == BSON_TYPE_NULL;
			if (!words->missing[i])
				words->words[i] =
					read_word(value->value + distance, value->size);
		}
		words->n = end;
	}
	batch->n = end;
	return true;
}

/* Decode a point's time, an element of it; false if that is invalid. */
static bool
read_own_time(MtsUnfold *unfold, const MtsElement *element, MtsTime *t)
{
	const MtsLayout *layout = unfold->layout;

	return mts_format_decode(&mts_layout_time_column(layout)->format,
							 &layout->clock, element, unfold->start,
							 layout->truncate, t,
							 &unfold->invalid.error) == MTS_DECODED &&
		   *t >= unfold->earliest && *t <= unfold->latest;
}

/* ---- Subdocuments with keys of {column} slots --------------------------- */

/*
 * Read the points of a subdocument by their keys, unless their time is not
 * wanted; learn its outline.
 */
static bool
read_keys(MtsBatch *batch, MtsUnfold *unfold, const MtsElement *holder,
		  MtsTime time)
{
	const MtsLayout *layout = unfold->layout;
	MtsPoint point = {.time = time, .elements = batch->elements};
	MtsSlotKey *key = &point.slots[layout->nslots - 1];
	MtsElement *element = batch->elements;
	bool is_wanted = mts_ranges_contain(unfold->ranges, time);
	MtsElementCursor cursor;
	MtsNext next;
	int n = 0;

	forget_model(batch->models);
	if (!mts_element_open(&cursor, holder->value, holder->size))
		return false;
	while ((next = mts_element_next(&cursor, element)) == MTS_NEXT_OK)
	{
		int i = BSON_MIN(n, MTS_BATCH_SERIES - 1);

		if (!is_wanted || mts_element_is_empty_document(element))
			continue;
		key->text = element->key;
		key->len = element->key_len;
		if (batch->n == MTS_BATCH_ROOM ||
			(!layout->containers[0].is_value &&
			 element->type != BSON_TYPE_DOCUMENT) ||
			(batch->series && !append_series(batch, &point)) ||
			!append_point(batch, unfold, &point,
						  &batch->models->values[i * layout->ncolumns]))
			return false;
		if (batch->series)
			batch->models->numbers[i] = batch->series_of[batch->n - 1];
		n++;
	}
	if (next == MTS_NEXT_END && is_wanted && n <= MTS_BATCH_SERIES)
	{
		batch->models->base = holder->value;
		batch->models->npoints = n;
		(void) mts_outline_learn(&batch->models->outline, holder,
								 holder->size);
	}
	return next == MTS_NEXT_END;
}

/* Read the points of a subdocument, whose slot has a time. */
static bool
read_series(MtsBatch *batch, MtsUnfold *unfold, const MtsElement *holder,
			MtsTime time)
{
	if (!mts_outline_matches(&batch->models->outline, holder->value,
							 holder->size))
		return read_keys(batch, unfold, holder, time);
	return !mts_ranges_contain(unfold->ranges, time) ||
		   append_like(batch, unfold->layout, batch->models, holder->value,
					   time);
}

/* ---- Slots that count units --------------------------------------------- */

/* The slots of one level: their keys, which begin at `first`, and times */
typedef struct Slots
{
	const MtsStep *step;
	bool has_plain_keys; /* numbers from 0 on */
	int64_t first;
	int64_t limit; /* of the keys, counted from the first one */
	MtsTime end;   /* of the last slot */
} Slots;

/* Describe the slots of a level within an interval; false if it has none. */
static bool
find_slots(const MtsLayout *layout, int level, MtsRange interval, Slots *slots)
{
	const MtsStep *step = layout->slots[level];

	slots->step = step;
	slots->end = interval.to;
	slots->has_plain_keys =
		step->nnumbers == 0 && step->base == 0 && mts_span_is_zero(step->of);
	if (!mts_layout_first_key(&layout->clock, step, interval.from, &slots->end,
							  &slots->first))
		return false;
	slots->limit =
		(slots->end - interval.from + step->unit.usecs - 1) / step->unit.usecs;
	return true;
}

/* Read the values of the innermost slots, which begin at a time. */
static bool
read_values(MtsBatch *batch, const MtsElement *holder, const Slots *slots,
			MtsTime start)
{
	MtsWords *words = &batch->words[batch->column];
	int n = words->n;

	if (!read_elements(holder, slots->has_plain_keys ? NULL : slots->step,
					   slots->first, slots->limit, words, batch->keys))
		return false;
	for (; n < words->n; n++)
		batch->times[n] = start + batch->keys[n] * slots->step->unit.usecs;
	return true;
}

/* Read the key of a slot, counted from the first one. */
static bool
read_slot(const MtsElement *element, const Slots *slots, int64_t *key)
{
	const uint8_t *at = (const uint8_t *) element->key;

	return slots->has_plain_keys
			   ? read_key(at, slots->limit, key) != NULL
			   : read_slot_key(slots->step, at, at + element->key_len,
							   slots->first, slots->limit, key) != NULL;
}

/* Read the slots of a level in an element, from the step of its path on. */
static bool
read_level(MtsBatch *batch, MtsUnfold *unfold, int level, int step,
		   const MtsElement *from, MtsRange interval)
{
	const MtsLayout *layout = unfold->layout;
	const MtsPath *path = layout->containers[0].path;
	int names = 0;
	MtsElementCursor cursor;
	MtsElement holder, element;
	MtsNext next = MTS_NEXT_OK;
	Slots slots;

	while (!mts_path_step_is_slot(&path->steps[step + names]))
		names++;
	if (mts_path_find(from, path->steps + step, names, &holder) != MTS_FOUND ||
		holder.type != BSON_TYPE_DOCUMENT)
		return false;
	if (layout->slots[level]->kind == MTS_STEP_COLUMN_KEY)
		return read_series(batch, unfold, &holder, interval.from);
	if (!find_slots(layout, level, interval, &slots))
		return false;
	if (level == layout->nslots - 1)
		return read_values(batch, &holder, &slots, interval.from);
	if (!mts_element_open(&cursor, holder.value, holder.size))
		return false;
	while ((next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
	{
		int64_t unit = slots.step->unit.usecs;
		MtsRange slot;
		int64_t key;

		if (!read_slot(&element, &slots, &key))
			return false;
		slot.from = interval.from + key * unit;
		slot.to = BSON_MIN(slot.from + unit, slots.end);
		if (mts_ranges_overlap(unfold->ranges, slot.from, slot.to) &&
			!read_level(batch, unfold, level + 1, step + names + 1, &element,
						slot))
			return false;
	}
	return next == MTS_NEXT_END;
}

static bool
read_slots(MtsBatch *batch, MtsUnfold *unfold)
{
	mts_batch_clear(batch, unfold->layout);
	forget_model(batch->models);
	/* where the clocks of the slots change, slots are not equally long */
	if (unfold->slots.zone ||
		!read_level(batch, unfold, 0, 0, &unfold->document,
					(MtsRange){unfold->start, unfold->end}))
		return false;
	if (batch->method == MTS_BATCH_SLOTS)
		batch->n = batch->words[batch->column].n;
	return true;
}

/* ---- Subdocuments in an array ------------------------------------------ */

/* Learn the outline of the point whose values were read. */
static void
learn_point(MtsBatch *batch, const MtsLayout *layout, const MtsElement *point)
{
	uint32_t needed = 0;

	batch->models->base = point->value;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsElement *element = &batch->models->values[i];

		if (batch->words[i].room == 0 && i != layout->time_column)
			continue;
		/* an element that is absent is in no part of the point */
		needed = element->value
					 ? BSON_MAX(needed,
								element->value + element->size - point->value)
					 : point->size;
	}
	batch->models->npoints = 1;
	(void) mts_outline_learn(&batch->models->outline, point, needed);
}

/* Read a point by its keys. */
static bool
read_point(MtsBatch *batch, MtsUnfold *unfold, const MtsElement *element)
{
	const MtsLayout *layout = unfold->layout;
	const MtsColumn *time = mts_layout_time_column(layout);
	MtsPoint point = {.elements = batch->elements};

	/* the values that go with the outline are overwritten */
	forget_model(batch->models);
	batch->elements[0] = *element;
	if (mts_unfold_value(unfold, &point, time,
						 &batch->models->values[layout->time_column]) !=
			MTS_FOUND ||
		!read_own_time(unfold, &batch->models->values[layout->time_column],
					   &point.time))
		return false;
	if (!mts_ranges_contain(unfold->ranges, point.time))
		return true;
	if (!append_point(batch, unfold, &point, batch->models->values))
		return false;
	learn_point(batch, layout, element);
	return true;
}

/* Read a point that has the outline of an earlier one, by its offsets. */
static bool
read_like_point(MtsBatch *batch, MtsUnfold *unfold, const MtsElement *point)
{
	MtsElement element = batch->models->values[unfold->layout->time_column];
	MtsTime time;

	element.value += point->value - batch->models->base;
	if (!read_own_time(unfold, &element, &time))
		return false;
	return !mts_ranges_contain(unfold->ranges, time) ||
		   append_like(batch, unfold->layout, batch->models, point->value,
					   time);
}

/* Tell whether an element of an array is a point, and not empty. */
static bool
is_point(const MtsContainer *container, const MtsElement *element)
{
	return (element->type == BSON_TYPE_DOCUMENT ||
			(container->is_tuple && element->type == BSON_TYPE_ARRAY)) &&
		   element->size > 5;
}

/* Read the points in an array.  Those in another value are unfolded. */
static bool
read_array(MtsBatch *batch, MtsUnfold *unfold)
{
	const MtsContainer *container = &unfold->layout->containers[0];
	const MtsPath *path = container->path;
	MtsElement holder, point;
	MtsElementCursor cursor;
	MtsNext next;

	if (mts_path_find(&unfold->document, path->steps,
					  mts_path_leading_names(path), &holder) != MTS_FOUND ||
		holder.type != BSON_TYPE_ARRAY)
		return read_points(batch, unfold);
	mts_batch_clear(batch, unfold->layout);
	forget_model(batch->models);
	if (!mts_element_open(&cursor, holder.value, holder.size))
		return false;
	while ((next = mts_element_next(&cursor, &point)) == MTS_NEXT_OK)
	{
		if (mts_element_is_empty_document(&point) ||
			point.type == BSON_TYPE_NULL)
			continue;
		if (!is_point(container, &point) || batch->n == MTS_BATCH_ROOM ||
			!(mts_outline_matches(&batch->models->outline, point.value,
								  point.size)
				  ? read_like_point(batch, unfold, &point)
				  : read_point(batch, unfold, &point)))
			return false;
	}
	return next == MTS_NEXT_END;
}

/* ---- Documents that are points ------------------------------------------ */

/* Find the keys and the values of a document; NULL if it must be unfolded. */
static MtsModel *
learn_document(MtsBatch *batch, MtsUnfold *unfold, const uint8_t *document,
			   size_t size)
{
	const MtsLayout *layout = unfold->layout;
	MtsModel *model = &batch->models[batch->oldest];
	size_t needed = 0;

	forget_model(model);
	if (!mts_unfold_start(unfold, document, size))
		return NULL;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		MtsElement *value = &model->values[i];

		switch (mts_unfold_value(unfold, NULL, &layout->columns[i], value))
		{
			case MTS_MALFORMED:
				return NULL;
			case MTS_ABSENT:
				/* it is in no part of the document */
				*value = (MtsElement){.type = BSON_TYPE_NULL};
				needed = size;
				break;
			case MTS_FOUND:
				needed = BSON_MAX(needed, (size_t) (value->value +
													value->size - document));
				value->value += model->copy - document;
				break;
		}
	}
	if (needed > MTS_OUTLINE_SIZE ||
		!mts_outline_learn(&model->outline, &unfold->document,
						   (uint32_t) needed))
		return NULL;
	memcpy(model->copy, document, needed);
	model->base = model->copy;
	model->npoints = 1;
	batch->oldest = (batch->oldest + 1) % batch->nmodels;
	return model;
}

static MtsModel *
find_model(MtsBatch *batch, MtsUnfold *unfold, const uint8_t *document,
		   size_t size)
{
	for (int i = 0; i < batch->nmodels; i++)
		if (mts_outline_matches(&batch->models[i].outline, document,
								(uint32_t) size))
			return &batch->models[i];
	return learn_document(batch, unfold, document, size);
}

/* Find the time of a document; false if it must be unfolded. */
static bool
read_time(const MtsBatch *batch, MtsUnfold *unfold, const MtsModel *model,
		  const uint8_t *document, MtsTime *time)
{
	int column = unfold->layout->time_column;
	MtsElement element;

	*time = 0;
	if (column < 0)
		return true;
	element = model->values[column];
	if (element.type == BSON_TYPE_NULL)
		return !batch->needs_time && unfold->accepts_null_time;
	element.value += document - model->base;
	return read_own_time(unfold, &element, time) &&
		   mts_ranges_contain(unfold->ranges, *time);
}

/* Tell whether the values of a document are words of their columns' types. */
static bool
has_words(const MtsBatch *batch, const MtsLayout *layout,
		  const MtsModel *model)
{
	for (int i = 0; i < layout->ncolumns; i++)
	{
		uint8_t type = model->values[i].type;

		if (batch->words[i].room > 0 && type != BSON_TYPE_NULL &&
			(type >= 32 || (batch->types[i] >> type & 1) == 0 ||
			 (batch->words[i].type != 0 && batch->words[i].type != type)))
			return false;
	}
	return true;
}

/* Find the series of a document, or begin one; false if there are too many. */
static bool
find_document_series(MtsBatch *batch, MtsModel *model, const uint8_t *document)
{
	MtsPoint point;

	for (int i = 0; i < batch->nkeys; i++)
	{
		const MtsElement *key = &model->values[batch->key_columns[i]];

		point.slots[i].index = key->type;
		point.slots[i].len = key->size;
		point.slots[i].text =
			key->value ? (const char *) key->value + (document - model->base)
					   : "";
	}
	model->numbers[0] = find_series(batch, &point);
	return model->numbers[0] >= 0;
}

/*
 * mts_batch_append
 *		Append a document that is a point; false if it must be unfolded, or
 *		there is no room.
 *
 * The keys of a series stay until the batch is cleared.
 */
bool
mts_batch_append(MtsBatch *batch, MtsUnfold *unfold, const uint8_t *document,
				 size_t size)
{
	const MtsLayout *layout = unfold->layout;
	MtsModel *model = find_model(batch, unfold, document, size);
	MtsTime time;

	if (!model || batch->n == MTS_BATCH_ROOM ||
		!read_time(batch, unfold, model, document, &time) ||
		!has_words(batch, layout, model) ||
		(batch->series && !find_document_series(batch, model, document)))
		return false;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		if (model->values[i].type == BSON_TYPE_NULL)
			batch->words[i].has_missing = true;
		else if (batch->words[i].room > 0)
			batch->words[i].type = model->values[i].type;
	}
	return append_like(batch, layout, model, document, time);
}

/* mts_batch_remove_last: remove the point that was appended last. */
void
mts_batch_remove_last(MtsBatch *batch, const MtsLayout *layout)
{
	batch->n--;
	if (batch->series && --batch->series[batch->series_of[batch->n]].n == 0)
		batch->nseries--;
	for (int i = 0; i < layout->ncolumns; i++)
		batch->words[i].n = batch->n;
}

/* ---- A bucket ----------------------------------------------------------- */

/* Remove the points whose times are not wanted. */
static void
trim(MtsBatch *batch, const MtsLayout *layout, const MtsRanges *ranges)
{
	int n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		if (!mts_ranges_contain(ranges, batch->times[i]))
			continue;
		batch->times[n] = batch->times[i];
		for (int j = 0; j < layout->ncolumns; j++)
			if (batch->words[j].room > 0)
			{
				batch->words[j].words[n] = batch->words[j].words[i];
				batch->words[j].missing[n] = batch->words[j].missing[i];
			}
		n++;
	}
	batch->n = n;
}

/*
 * mts_batch_read
 *		Read the wanted points of an unfolding that begins with its bucket.
 *
 * False if it has values of several types or of another type, more than
 * MTS_BATCH_ROOM points, or anything that is invalid.  The caller begins the
 * unfolding again then.
 */
bool
mts_batch_read(MtsBatch *batch, MtsUnfold *unfold)
{
	switch (batch->method)
	{
		case MTS_BATCH_POINTS:
			return read_points(batch, unfold);
		case MTS_BATCH_ARRAY:
			return read_array(batch, unfold);
		case MTS_BATCH_KEYS:
			return read_slots(batch, unfold);
		case MTS_BATCH_DOCUMENTS:
			return false;
		case MTS_BATCH_SLOTS:
			if (!read_slots(batch, unfold))
				return false;
			break;
		case MTS_BATCH_COLUMNS:
			if (!read_columns(batch, unfold))
				return false;
			break;
	}
	if (!mts_ranges_cover(unfold->ranges, unfold->earliest,
						  unfold->latest + 1))
		trim(batch, unfold->layout, unfold->ranges);
	return true;
}

/*
 * mts_batch_sort
 *		Sort the points of a batch by their series.
 *
 * Those of a series stay in their order.
 */
void
mts_batch_sort(MtsBatch *batch, const MtsLayout *layout)
{
	int to[MTS_BATCH_SERIES];
	int order[MTS_BATCH_ROOM]; /* by point: where it was */
	int64_t *words = batch->old_words;
	bool *missing = batch->old_missing;

	if (batch->nseries < 2)
		return;
	for (int i = 0, n = 0; i < batch->nseries; i++)
	{
		to[i] = n;
		n += batch->series[i].n;
	}
	for (int i = 0; i < batch->n; i++)
		order[to[batch->series_of[i]]++] = i;
	memcpy(words, batch->times, batch->n * sizeof(MtsTime));
	for (int i = 0; i < batch->n; i++)
		batch->times[i] = words[order[i]];
	for (int j = 0; j < layout->ncolumns; j++)
	{
		MtsWords *column = &batch->words[j];

		if (column->room == 0)
			continue;
		memcpy(words, column->words, batch->n * sizeof(int64_t));
		memcpy(missing, column->missing, batch->n * sizeof(bool));
		for (int i = 0; i < batch->n; i++)
		{
			column->words[i] = words[order[i]];
			column->missing[i] = missing[order[i]];
		}
	}
}
