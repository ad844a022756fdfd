/*
 * batch.c
 *		Read all points of a bucket at once, as an array for each column.
 *
 * Most series are stored as numbers, which are read as words (words.c): a
 * value takes 1 ns, and an entry of a compressed column 3 ns.  Unfolding a
 * point takes 40 ns.  A column with other values is read as elements; that
 * does not depend on the other columns.  Columns that are not numbers can also
 * be keys: then the points are read with their series, which are those with
 * the same keys.  Whatever is not as simple is left to be unfolded, errors
 * included.
 */
#include "core/bucket/batch.h"

#include <string.h>

/* ---- How a layout is read ----------------------------------------------- */

/* Tell whether a column is the whole value of a point in its container. */
static bool
is_whole_value(const MtsLayout *layout, const MtsColumn *column)
{
	return column->container >= 0 &&
		   column->path.nsteps == layout->containers[column->container].nsteps;
}

/* Tell whether a slot has keys that count units. */
static bool
counts_units(const MtsStep *slot)
{
	return slot->kind == MTS_STEP_UNIT_KEY;
}

/* Count the keys that are those of slots. */
static int
count_slot_keys(const MtsBatch *batch, const MtsLayout *layout)
{
	int n = 0;

	for (int i = 0; i < batch->series.nkeys; i++)
		n += layout->columns[batch->columns[batch->series.keys[i]]].role ==
			 MTS_ROLE_SLOT;
	return n;
}

/*
 * Find the column that is read of a container whose points are words: the one
 * that is wanted, otherwise any.  -1 if there is none, or several are wanted.
 */
static int
word_of_container(const MtsBatch *batch, const MtsLayout *layout,
				  int container)
{
	int found = -1;

	for (int i = 0; i < batch->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[batch->columns[i]];

		if (column->container != container)
			continue;
		if (found >= 0 || !is_whole_value(layout, column))
			return -1;
		found = batch->columns[i];
	}
	for (int i = 0; i < layout->ncolumns && found < 0; i++)
		if (layout->columns[i].container == container &&
			is_whole_value(layout, &layout->columns[i]))
			found = i;
	return found;
}

/* Choose how to read points whose slots are their times. */
static MtsBatchMethod
choose_slot_method(const MtsBatch *batch, const MtsLayout *layout)
{
	const MtsStep *last = layout->slots[layout->nslots - 1];

	for (int i = 0; i < layout->nslots - 1; i++)
		if (!counts_units(layout->slots[i]))
			return MTS_BATCH_POINTS;
	if (last->kind == MTS_STEP_COLUMN_KEY && layout->ncontainers == 1)
		return MTS_BATCH_HOLDERS;
	if (batch->series.nkeys > 0 || !counts_units(last) ||
		last->unit.usecs == 0)
		return MTS_BATCH_POINTS;
	for (int i = 0; i < layout->ncontainers; i++)
		if (word_of_container(batch, layout, i) < 0)
			return MTS_BATCH_POINTS;
	return MTS_BATCH_SLOTS;
}

/* Choose the fastest way to read the columns. */
static MtsBatchMethod
choose_method(const MtsBatch *batch, const MtsLayout *layout)
{
	const MtsColumn *time = mts_layout_time_column(layout);

	if (layout->time_kind == MTS_TIME_FLAT)
		return MTS_BATCH_DOCUMENTS;
	if (layout->has_missing)
		return MTS_BATCH_POINTS;
	if (layout->time_kind == MTS_TIME_SLOTS)
		return choose_slot_method(batch, layout);
	if (layout->ncontainers == 1 && !layout->containers[0].is_value &&
		time->role != MTS_ROLE_SLOT && count_slot_keys(batch, layout) == 0)
		return MTS_BATCH_ELEMENTS;
	for (int i = 0; i < batch->ncolumns; i++)
		if (!is_whole_value(layout, &layout->columns[batch->columns[i]]))
			return MTS_BATCH_POINTS;
	return layout->nslots == 1 && layout->slots[0]->kind == MTS_STEP_ELEMENT &&
				   batch->series.nkeys == 0 &&
				   time->format.kind == MTS_FORMAT_DATE &&
				   is_whole_value(layout, time)
			   ? MTS_BATCH_COLUMNS
			   : MTS_BATCH_POINTS;
}

/* List the columns that are read; false if there are too many keys. */
static bool
init_columns(MtsBatch *batch, const MtsLayout *layout, const bool *values,
			 const bool *keys)
{
	for (int i = 0; i < layout->ncolumns; i++)
		if (values[i])
			batch->columns[batch->nwords++] = i;
	batch->ncolumns = batch->nwords;
	for (int i = 0; i < layout->ncolumns; i++)
	{
		int column = 0;

		if (!keys[i])
			continue;
		if (batch->series.nkeys == MTS_BATCH_KEYS)
			return false;
		while (column < batch->ncolumns && batch->columns[column] != i)
			column++;
		if (column == batch->ncolumns)
			batch->columns[batch->ncolumns++] = i;
		batch->series.keys[batch->series.nkeys++] = column;
	}
	return true;
}

/*
 * Read a column of each container, since points are in any of them.  Of those
 * that are not wanted, only the numbers count.
 */
static void
cover_containers(MtsBatch *batch, const MtsLayout *layout,
				 const MtsArena *arena)
{
	int *columns =
		mts_arena_allocate(arena, layout->ncontainers * sizeof(int));

	for (int i = 0; i < layout->ncontainers; i++)
	{
		int column = columns[i] = word_of_container(batch, layout, i);

		batch->words[column].numbers_only = true;
	}
	for (int i = 0; i < batch->ncolumns; i++)
		batch->words[batch->columns[i]].numbers_only = false;
	batch->columns = columns;
	batch->ncolumns = batch->nwords = layout->ncontainers;
}

/* Make room for points. */
static void
make_room(MtsBatch *batch, int room)
{
	const MtsArena *arena = batch->arena;

	batch->room = room;
	batch->times = mts_arena_allocate(arena, room * sizeof(MtsTime));
	batch->spare.numbers =
		mts_arena_allocate(arena, 3 * room * sizeof(int64_t));
	batch->spare.old_missing = mts_arena_allocate(arena, room * sizeof(bool));
	for (int i = 0; i < batch->nwords; i++)
		mts_words_init(&batch->words[batch->columns[i]], room, arena);
	batch->spare.old_places = mts_arena_allocate(arena, room * sizeof(int));
	if (batch->series.nkeys == 0)
		return;
	batch->series.items = mts_arena_allocate(arena, room * sizeof(MtsSeries));
	batch->series.of = mts_arena_allocate(arena, room * sizeof(int));
	batch->spare.new_places = mts_arena_allocate(arena, room * sizeof(int));
	batch->spare.old_words = mts_arena_allocate(arena, room * sizeof(int64_t));
}

/* Make the memory of points, series and models. */
static void
make_memory(MtsBatch *batch)
{
	const MtsArena *arena = batch->arena;
	bool is_holder = batch->method == MTS_BATCH_HOLDERS;

	if (batch->series.nkeys > 0)
		mts_series_set_init(&batch->series.known, batch->series.nkeys, arena);
	batch->models.n = is_holder ? 1 : MTS_BATCH_MODELS;
	batch->models.items =
		mts_arena_allocate(arena, batch->models.n * sizeof(MtsModel));
	for (int i = 0; i < batch->models.n; i++)
		mts_model_init(&batch->models.items[i], batch->ncolumns, arena);
	batch->point = mts_arena_allocate(arena, (batch->layout->ncontainers + 1) *
												 sizeof(MtsElement));
	make_room(batch, MTS_BATCH_ROOM);
}

/*
 * mts_batch_init
 *		Prepare to read the points of many buckets, or documents that are
 *		points; false if they must be unfolded.
 *
 * values are the columns of points that have a value for each point, and keys
 * those that tell series apart; neither is the time.  Of documents, values
 * must have one of their types: a bit for each BSON type, by column, which the
 * caller keeps.
 */
bool
mts_batch_init(MtsBatch *batch, const MtsLayout *layout, const bool *values,
			   const bool *keys, const uint32_t *types, const MtsArena *arena)
{
	size_t n = layout->ncolumns + 1;
	bool is_flat = layout->time_kind == MTS_TIME_FLAT;

	memset(batch, 0, sizeof(*batch));
	batch->time = -1;
	batch->layout = layout;
	batch->arena = arena;
	batch->types = types;
	batch->columns = mts_arena_allocate(arena, n * sizeof(int));
	batch->words = mts_arena_allocate(arena, n * sizeof(MtsWords));
	memset(batch->words, 0, n * sizeof(MtsWords));
	if ((is_flat && layout->has_missing) ||
		!init_columns(batch, layout, values, keys))
		return false;
	batch->method = choose_method(batch, layout);
	batch->series.keys_are_slots =
		batch->method == MTS_BATCH_HOLDERS &&
		count_slot_keys(batch, layout) == batch->series.nkeys;
	if (batch->method == MTS_BATCH_SLOTS)
		cover_containers(batch, layout, arena);
	if (layout->time_column >= 0 &&
		(is_flat || batch->method == MTS_BATCH_ELEMENTS ||
		 batch->method == MTS_BATCH_COLUMNS))
	{
		batch->time = batch->ncolumns;
		batch->columns[batch->ncolumns++] = layout->time_column;
		batch->nwords += batch->method == MTS_BATCH_COLUMNS;
	}
	return true;
}

/*
 * mts_batch_clear
 *		Remove all points.
 *
 * The first call makes the memory of points: many batches never read any.
 */
void
mts_batch_clear(MtsBatch *batch)
{
	if (!batch->times)
		make_memory(batch);
	for (int i = 0; i < batch->series.n; i++)
		batch->series.known.series[batch->series.items[i].known].place = -1;
	batch->n = batch->series.n = 0;
	batch->lacks_room = batch->has_unfit_keys = false;
	for (int i = 0; i < batch->nwords; i++)
		mts_words_clear(&batch->words[batch->columns[i]]);
}

/* ---- Series ------------------------------------------------------------- */

/*
 * mts_batch_forget_series
 *		Remove all points, and forget the series if too many are known; true if
 *		so.
 *
 * Their numbers are those of other series then.
 */
bool
mts_batch_forget_series(MtsBatch *batch)
{
	mts_batch_clear(batch);
	if (batch->series.nkeys == 0 ||
		!mts_series_set_is_large(&batch->series.known))
		return false;
	mts_series_set_clear(&batch->series.known);
	for (int i = 0; i < batch->models.n; i++)
		mts_model_forget(&batch->models.items[i]);
	return true;
}

/* Count a point of a known series. */
static inline void
count_in_series(MtsBatch *batch, int point, int known)
{
	int *place = &batch->series.known.series[known].place;

	if (*place < 0)
	{
		*place = batch->series.n++;
		batch->series.items[*place] = (MtsSeries){.known = known};
	}
	batch->series.items[*place].n++;
	batch->series.of[point] = *place;
}

/* mts_batch_key: find the key of a series in a column; NULL without one. */
const MtsElement *
mts_batch_key(const MtsBatch *batch, int series, int column)
{
	for (int i = 0; i < batch->series.nkeys; i++)
		if (batch->columns[batch->series.keys[i]] == column)
			return mts_series_set_keys(&batch->series.known,
									   batch->series.items[series].known) +
				   i;
	return NULL;
}

/* ---- Points by the model of an element ---------------------------------- */

/*
 * Find the values of a point in its elements or, without any, in the document.
 * False if one is malformed.
 */
static bool
find_values(const MtsBatch *batch, MtsUnfold *unfold, const MtsPoint *point,
			MtsElement *values)
{
	const MtsLayout *layout = unfold->layout;

	for (int i = 0; i < batch->ncolumns; i++)
	{
		const MtsColumn *column = &layout->columns[batch->columns[i]];

		values[i] = (MtsElement){.type = BSON_TYPE_NULL};
		if (column->role == MTS_ROLE_SLOT)
			values[i] = (MtsElement){
				.value = (const uint8_t *) point->slots[column->slot].text,
				.size = point->slots[column->slot].len};
		else
			switch (mts_unfold_value(unfold, point, column, &values[i]))
			{
				case MTS_MALFORMED:
					return false;
				case MTS_ABSENT:
					values[i] = (MtsElement){.type = BSON_TYPE_NULL};
					break;
				case MTS_FOUND:
					break;
			}
	}
	return true;
}

/*
 * Find the series of a model's points in an element that is like it; false if
 * the keys of one are too long.
 */
static bool
find_series(MtsBatch *batch, MtsModel *model, const uint8_t *element)
{
	if (model->has_series)
		return true;
	for (int i = 0; i < model->npoints; i++)
	{
		const MtsElement *values = mts_model_point(model, i);
		MtsElement keys[MTS_BATCH_KEYS];

		for (int k = 0; k < batch->series.nkeys; k++)
		{
			keys[k] = mts_model_value(model, &values[batch->series.keys[k]],
									  element);
			if (!keys[k].value)
				keys[k].value = (const uint8_t *) "";
		}
		model->series[i] = mts_series_set_find(&batch->series.known, keys);
		batch->has_unfit_keys = model->series[i] < 0;
		if (batch->has_unfit_keys)
			return false;
	}
	/* the keys of slots are in the outline */
	model->has_series = batch->series.keys_are_slots;
	return true;
}

/*
 * Tell whether a value can stay where it is: those that were put together out
 * of a compressed column are overwritten.
 */
static bool
is_lasting(const MtsBatch *batch, const MtsElement *value)
{
	const MtsElement *document = batch->document;

	return !value->value || (value->value >= document->value &&
							 value->value < document->value + document->size);
}

/* Append the values of a column of the points of a model. */
static inline bool
append_column(const MtsBatch *batch, MtsWords *words, const MtsModel *model,
			  int column, int64_t distance, int n)
{
	const MtsElement *value = &model->values[column];
	int end = n + model->npoints;

	for (int i = n; i < end; i++, value += model->ncolumns)
	{
		if (value->type == words->type)
		{
			words->missing[i] = false;
			words->words[i] =
				mts_words_get(value->value + distance, value->size);
		}
		else
		{
			MtsElement moved = *value;

			if (value->value)
				moved.value += distance;
			words->n = i;
			if ((words->takes_elements && !is_lasting(batch, &moved)) ||
				!mts_words_set(words, i, &moved))
				return false;
		}
	}
	words->n = end;
	return true;
}

/*
 * Append the points of an element that is like a model, all of them at a time;
 * false if there are too many, or values that are not words.
 */
static bool
append_like(MtsBatch *batch, MtsModel *model, const uint8_t *element,
			MtsTime time)
{
	int n = batch->n;
	int end = n + model->npoints;

	if (end > batch->room)
	{
		batch->lacks_room = true;
		return false;
	}
	for (int i = 0; i < batch->nwords; i++)
		if (!append_column(batch, &batch->words[batch->columns[i]], model, i,
						   element - model->base, n))
			return false;
	if (batch->series.nkeys > 0 && !find_series(batch, model, element))
		return false;
	for (int i = n; i < end; i++)
		batch->times[i] = time;
	for (int i = n; i < end && batch->series.nkeys > 0; i++)
		count_in_series(batch, i, model->series[i - n]);
	batch->n = end;
	return true;
}

/* Find the model of an element; NULL if it is like none. */
static MtsModel *
find_model(const MtsBatch *batch, const MtsElement *element)
{
	for (int i = 0; i < batch->models.n; i++)
		if (mts_model_matches(&batch->models.items[i], element))
			return &batch->models.items[i];
	return NULL;
}

/* Replace the oldest model. */
static MtsModel *
new_model(MtsBatch *batch)
{
	MtsModel *model = &batch->models.items[batch->models.oldest];

	batch->models.oldest = (batch->models.oldest + 1) % batch->models.n;
	mts_model_forget(model);
	return model;
}

/* Learn an element that is a point; NULL if it is malformed. */
static MtsModel *
learn_point(MtsBatch *batch, MtsUnfold *unfold, const MtsPoint *point,
			const MtsElement *element)
{
	MtsModel *model = new_model(batch);

	if (!find_values(batch, unfold, point, mts_model_add_point(model)))
		return NULL;
	mts_model_learn(model, element, false);
	return model;
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

/* ---- Subdocuments with their times -------------------------------------- */

/* Append the point of an element that is like a model, if it is wanted. */
static inline bool
append_element(MtsBatch *batch, MtsUnfold *unfold, MtsModel *model,
			   const uint8_t *element)
{
	MtsElement value =
		mts_model_value(model, &model->values[batch->time], element);
	MtsTime time;

	return read_own_time(unfold, &value, &time) &&
		   (!mts_ranges_contain(unfold->ranges, time) ||
			append_like(batch, model, element, time));
}

/*
 * Read the next elements of an array that are like models, up to another one.
 * They are points, whatever their indexes are.
 */
static bool
read_like_elements(MtsBatch *batch, MtsUnfold *unfold, MtsLevel *level)
{
	MtsElementCursor cursor = level->cursor;
	MtsModel *model = batch->models.items;
	MtsElement element;

	/* most often, an element is like the one before */
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
		   (mts_model_matches(model, &element) ||
			(model = find_model(batch, &element)) != NULL))
	{
		level->cursor = cursor;
		level->next_index++;
		if (!append_element(batch, unfold, model, element.value))
			return false;
	}
	return true;
}

/* Read the points of an innermost level. */
static bool
read_elements(MtsBatch *batch, MtsUnfold *unfold, MtsLevel *level)
{
	MtsWalk *walk = unfold->walks;
	MtsPoint point = {.elements = batch->point};
	bool is_array =
		level->holder.type == BSON_TYPE_ARRAY &&
		unfold->layout->slots[walk->depth]->kind == MTS_STEP_ELEMENT;
	MtsUnfolded result;

	for (;;)
	{
		MtsModel *model;

		if (is_array && !read_like_elements(batch, unfold, level))
			return false;
		result = mts_walk_next_in_level(walk, batch->point);
		if (result != MTS_POINT)
			return result == MTS_DONE;
		model = find_model(batch, batch->point);
		if (!model)
			model = learn_point(batch, unfold, &point, batch->point);
		if (!model ||
			!append_element(batch, unfold, model, batch->point->value))
			return false;
	}
}

/* ---- {column} slots ----------------------------------------------------- */

/* Learn the subdocument of a level, whose elements are points. */
static bool
learn_holder(MtsBatch *batch, MtsUnfold *unfold, const MtsElement *holder,
			 MtsModel *model)
{
	MtsWalk *walk = unfold->walks;
	MtsPoint point = {.elements = batch->point};
	MtsUnfolded result;

	while ((result = mts_walk_next_in_level(walk, batch->point)) == MTS_POINT)
	{
		if (model->npoints == batch->room)
		{
			batch->lacks_room = true;
			return false;
		}
		/* the level of the last point is left later */
		mts_walk_slots(walk, point.slots);
		if (!find_values(batch, unfold, &point, mts_model_add_point(model)))
			return false;
	}
	if (result != MTS_DONE)
		return false;
	mts_model_learn(model, holder, true);
	return true;
}

/*
 * Read the next innermost levels in subdocuments that are like the model, up
 * to another one, without entering them.
 */
static bool
read_like_holders(MtsBatch *batch, MtsUnfold *unfold)
{
	MtsWalk *walk = unfold->walks;
	MtsModel *model = batch->models.items;
	MtsLevel *level;
	MtsElementCursor cursor;
	MtsElement element;

	if (walk->depth < 0 || !mts_walk_holds_innermost(walk))
		return true;
	level = &walk->levels[walk->depth];
	cursor = level->cursor;
	while (mts_element_next(&cursor, &element) == MTS_NEXT_OK &&
		   mts_model_matches(model, &element))
	{
		MtsVerdict verdict = mts_walk_read_slot(walk, &element);

		if (verdict == MTS_REFUSED ||
			(verdict == MTS_ACCEPTED &&
			 mts_ranges_contain(unfold->ranges, level->slot_start) &&
			 !append_like(batch, model, element.value, level->slot_start)))
			return false;
		level->cursor = cursor;
	}
	return true;
}

/*
 * Read the points of an innermost level, whose slot has a time, and of the
 * levels like it that follow.
 */
static bool
read_holder(MtsBatch *batch, MtsUnfold *unfold, MtsLevel *level)
{
	MtsElement holder = level->holder;
	MtsTime time = level->start;
	bool is_wanted = mts_ranges_contain(unfold->ranges, time);
	MtsModel *model = find_model(batch, &holder);

	if (model)
		mts_walk_leave_level(unfold->walks);
	else
	{
		model = new_model(batch);
		if (!learn_holder(batch, unfold, &holder, model))
			return false;
		/* the walk has no points whose time is not wanted */
		if (!is_wanted)
			mts_model_forget(model);
	}
	if (is_wanted && !append_like(batch, model, holder.value, time))
		return false;
	return read_like_holders(batch, unfold);
}

/* ---- Slots that count units --------------------------------------------- */

/* Read the words of a container's innermost level, and leave it. */
static bool
read_words(MtsWords *words, MtsWalk *walk)
{
	const MtsLevel *level = mts_walk_level(walk);
	const MtsStep *slot = walk->layout->slots[walk->depth];
	bool is_plain =
		slot->nnumbers == 0 && slot->base == 0 && mts_span_is_zero(slot->of);
	MtsWordKeys keys = {.slot = is_plain ? NULL : slot,
						.first = level->first_key};

	keys.limit =
		(level->end - level->start + slot->unit.usecs - 1) / slot->unit.usecs;
	if (!mts_words_read(words, &level->holder, &keys))
		return false;
	mts_walk_leave_level(walk);
	return true;
}

/* Merge ascending numbers, each of them once; return how many there are. */
static int
unite(const int64_t *a, int na, const int64_t *b, int nb, int64_t *numbers)
{
	int n = 0;

	for (int i = 0, j = 0; i < na || j < nb; n++)
	{
		numbers[n] = j == nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
		i += i < na && a[i] == numbers[n];
		j += j < nb && b[j] == numbers[n];
	}
	return n;
}

/*
 * Make points of the words that were read of a level: one for each number that
 * a container has.  False if there are too many, or numbers do not ascend.
 */
static bool
join_words(MtsBatch *batch, int *n)
{
	int64_t *both = batch->spare.numbers + batch->room;

	*n = 0;
	for (int i = 0; i < batch->nwords; i++)
	{
		const MtsWords *words = &batch->words[batch->columns[i]];
		const int64_t *numbers = words->numbers + batch->n;
		int nwords = words->n - batch->n;

		if (i > 0 && nwords == *n &&
			memcmp(numbers, batch->spare.numbers, nwords * sizeof(int64_t)) ==
				0)
			continue;
		if (!mts_words_ascend(words, batch->n))
			return false;
		*n = unite(batch->spare.numbers, *n, numbers, nwords, both);
		batch->lacks_room = *n > batch->room - batch->n;
		if (batch->lacks_room)
			return false;
		memcpy(batch->spare.numbers, both, *n * sizeof(int64_t));
	}
	for (int i = 0; i < batch->nwords; i++)
		mts_words_spread(&batch->words[batch->columns[i]], batch->n,
						 batch->spare.numbers, *n);
	return true;
}

/*
 * Read the values that the containers have in an innermost level.  The levels
 * of several containers are joined in the order of their times.
 */
static bool
read_slots(MtsBatch *batch, MtsUnfold *unfold, MtsLevel *level)
{
	const MtsLayout *layout = unfold->layout;
	int64_t unit = layout->slots[layout->nslots - 1]->unit.usecs;
	MtsTime start = level->start;
	const int64_t *numbers = batch->spare.numbers;
	int n = 0;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		MtsWalk *walk = &unfold->walks[i];

		if (walk->depth >= 0 && mts_walk_level(walk)->start == start &&
			!read_words(&batch->words[batch->columns[i]], walk))
			return false;
	}
	if (layout->ncontainers == 1)
	{
		const MtsWords *words = &batch->words[batch->columns[0]];

		numbers = words->numbers + batch->n;
		n = words->n - batch->n;
	}
	else if ((batch->n > 0 && batch->times[batch->n - 1] >= start) ||
			 !join_words(batch, &n))
		return false;
	for (int i = 0; i < n; i++)
		batch->times[batch->n++] = start + numbers[i] * unit;
	return true;
}

/*
 * Find the next innermost level of each container, and the first of these
 * levels; MTS_DONE if there is none.
 */
static MtsUnfolded
next_level(const MtsUnfold *unfold, MtsLevel **first)
{
	*first = NULL;
	for (int i = 0; i < unfold->layout->ncontainers; i++)
	{
		MtsWalk *walk = &unfold->walks[i];
		MtsUnfolded result = mts_walk_next_level(walk);

		if (result == MTS_INVALID)
			return MTS_INVALID;
		if (result == MTS_POINT &&
			(!*first || mts_walk_level(walk)->start < (*first)->start))
			*first = &walk->levels[walk->depth];
	}
	return *first ? MTS_POINT : MTS_DONE;
}

/* Read the points of each innermost level. */
static bool
read_levels(MtsBatch *batch, MtsUnfold *unfold,
			bool (*read_level)(MtsBatch *batch, MtsUnfold *unfold,
							   MtsLevel *level))
{
	MtsLevel *level;
	MtsUnfolded result;

	/* where the clocks of the slots change, slots are not equally long */
	if (unfold->slots.zone && unfold->layout->time_kind == MTS_TIME_SLOTS)
		return false;
	while ((result = next_level(unfold, &level)) == MTS_POINT)
		if (!read_level(batch, unfold, level))
			return false;
	return result == MTS_DONE;
}

/* ---- Elements and compressed columns ------------------------------------ */

/*
 * Read a container, which must have npoints points, or fewer if it can have
 * gaps.  With -1 points, it may have any number.
 */
static bool
read_container(const MtsUnfold *unfold, int container, int npoints,
			   MtsWords *words)
{
	const MtsWalk *walk = &unfold->walks[container];
	const MtsWordKeys keys = {.limit = MTS_BATCH_MAX_ROOM};

	if (walk->depth == 0)
	{
		const MtsElement *holder = &mts_walk_level(walk)->holder;
		int n;

		if (holder->type == BSON_TYPE_BINARY)
		{
			if (!(words->takes_elements
					  ? mts_compressed_read_elements(walk->column, holder,
													 words)
					  : mts_compressed_read(holder, words)) ||
				(npoints >= 0 && words->n != npoints))
				return false;
		}
		else
		{
			if (!mts_words_read(words, holder, &keys) ||
				!mts_words_ascend(words, 0))
				return false;
			n = words->n > 0 ? (int) words->numbers[words->n - 1] + 1 : 0;
			/* the elements of an array are counted */
			if (holder->type == BSON_TYPE_ARRAY && n > words->n)
				return false;
			words->lacks_room = n > words->room;
			if (words->lacks_room)
				return false;
			mts_words_spread(words, 0, NULL, n);
		}
	}
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
						words))
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
	for (int i = 0; i < batch->nwords; i++)
	{
		int column = batch->columns[i];

		if (column != layout->time_column &&
			!read_container(unfold, layout->columns[column].container,
							batch->n, &batch->words[column]))
			return false;
	}
	return true;
}

/* ---- Points of any layout ----------------------------------------------- */

/* Unfold the wanted points. */
static bool
unfold_points(MtsBatch *batch, MtsUnfold *unfold)
{
	MtsModel *model = batch->models.items;
	MtsPoint point = {.elements = batch->point};
	MtsUnfolded result;

	while ((result = mts_unfold_next(unfold, &point)) == MTS_POINT)
	{
		mts_model_forget(model);
		if (!find_values(batch, unfold, &point, mts_model_add_point(model)) ||
			!append_like(batch, model, model->base, point.time))
			return false;
	}
	return result == MTS_DONE;
}

/* ---- Documents that are points ------------------------------------------ */

/* Tell whether the values of a document are words of their columns' types. */
static bool
has_words(const MtsBatch *batch, const MtsModel *model)
{
	for (int i = 0; i < batch->nwords; i++)
	{
		int column = batch->columns[i];
		uint8_t type = model->values[i].type;

		if (type != BSON_TYPE_NULL &&
			(type >= 32 || (batch->types[column] >> type & 1) == 0))
			return false;
	}
	return true;
}

/* Find the time of a document; false if it must be unfolded. */
static bool
read_document_time(const MtsBatch *batch, MtsUnfold *unfold,
				   const MtsModel *model, const uint8_t *document,
				   MtsTime *time)
{
	MtsElement element;

	*time = 0;
	if (batch->time < 0)
		return true;
	element = mts_model_value(model, &model->values[batch->time], document);
	if (element.type == BSON_TYPE_NULL)
		return !batch->needs_time && unfold->accepts_null_time;
	return read_own_time(unfold, &element, time) &&
		   mts_ranges_contain(unfold->ranges, *time);
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
	MtsElement element = mts_element_document(document, size);
	MtsModel *model = find_model(batch, &element);
	MtsTime time;

	if (!model)
	{
		if (!mts_unfold_start(unfold, document, size))
			return false;
		model = learn_point(batch, unfold, NULL, &unfold->document);
	}
	return model && has_words(batch, model) &&
		   read_document_time(batch, unfold, model, document, &time) &&
		   append_like(batch, model, document, time);
}

/* mts_batch_remove_last: remove the point that was appended last. */
void
mts_batch_remove_last(MtsBatch *batch)
{
	batch->n--;
	if (batch->series.nkeys > 0)
		batch->series.items[batch->series.of[batch->n]].n--;
	for (int i = 0; i < batch->nwords; i++)
		batch->words[batch->columns[i]].n = batch->n;
}

/* ---- A bucket ----------------------------------------------------------- */

/*
 * mts_batch_keep
 *		Keep n points of a batch that is not sorted: those with these numbers,
 *		which ascend.
 */
void
mts_batch_keep(MtsBatch *batch, const int *points, int n)
{
	for (int c = 0; c < batch->nwords; c++)
	{
		MtsWords *words = &batch->words[batch->columns[c]];

		for (int i = 0; i < n; i++)
			mts_words_move(words, points[i], i);
		words->n = n;
	}
	for (int i = 0; i < batch->series.n; i++)
		batch->series.items[i].n = 0;
	for (int i = 0; i < n; i++)
	{
		batch->times[i] = batch->times[points[i]];
		if (batch->series.nkeys > 0)
		{
			batch->series.of[i] = batch->series.of[points[i]];
			batch->series.items[batch->series.of[i]].n++;
		}
	}
	batch->n = n;
}

/* mts_batch_select: keep the wanted points of a batch that is not sorted. */
void
mts_batch_select(MtsBatch *batch, const bool *wanted)
{
	int *points = batch->spare.old_places;
	int n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		points[n] = i;
		n += wanted[i];
	}
	mts_batch_keep(batch, points, n);
}

/* Remove the points whose times are not wanted. */
static void
trim(MtsBatch *batch, const MtsUnfold *unfold)
{
	bool *wanted = batch->spare.old_missing;

	if (mts_ranges_cover(unfold->ranges, unfold->earliest, unfold->latest + 1))
		return;
	for (int i = 0; i < batch->n; i++)
		wanted[i] = mts_ranges_contain(unfold->ranges, batch->times[i]);
	mts_batch_select(batch, wanted);
}

/* Read the wanted points, if there is room for them. */
static bool
read_points(MtsBatch *batch, MtsUnfold *unfold)
{
	bool is_read = false;

	mts_batch_clear(batch);
	switch (batch->method)
	{
		case MTS_BATCH_POINTS:
			return unfold_points(batch, unfold);
		case MTS_BATCH_ELEMENTS:
			return read_levels(batch, unfold, read_elements);
		case MTS_BATCH_HOLDERS:
			return read_levels(batch, unfold, read_holder);
		case MTS_BATCH_SLOTS:
			is_read = read_levels(batch, unfold, read_slots);
			break;
		case MTS_BATCH_COLUMNS:
			is_read = read_columns(batch, unfold);
			break;
		case MTS_BATCH_DOCUMENTS:
			break;
	}
	if (is_read)
		trim(batch, unfold);
	return is_read;
}

/* mts_batch_take_words: try to read all columns as words again. */
void
mts_batch_take_words(MtsBatch *batch)
{
	for (int i = 0; i < batch->nwords; i++)
		batch->words[batch->columns[i]].takes_elements = false;
}

/*
 * Read those columns as elements whose values were no words; false if there
 * are none.  The times of points are words.
 */
static bool
admit_elements(MtsBatch *batch)
{
	bool is_changed = false;

	for (int i = 0; i < batch->nwords; i++)
	{
		MtsWords *words = &batch->words[batch->columns[i]];

		if (!words->is_unfit || words->takes_elements || i == batch->time)
			continue;
		mts_words_take_elements(words, batch->arena);
		is_changed = true;
	}
	return is_changed;
}

/* Tell whether points were not read since there is no room for them. */
static bool
lacks_room(const MtsBatch *batch)
{
	for (int i = 0; i < batch->nwords; i++)
		if (batch->words[batch->columns[i]].lacks_room)
			return true;
	return batch->lacks_room;
}

/* Tell whether there can be room for twice as many points. */
static bool
can_grow(const MtsBatch *batch)
{
	return batch->room < MTS_BATCH_MAX_ROOM &&
		   2 * batch->room <= MTS_BATCH_MAX_VALUES / (batch->ncolumns + 1);
}

/*
 * mts_batch_read
 *		Read the wanted points of an unfolding that begins with its bucket.
 *
 * False if it has more points than there can be room for, keys that are too
 * long, elements that were computed, or anything that is invalid.  The caller
 * begins the unfolding again then.
 */
bool
mts_batch_read(MtsBatch *batch, MtsUnfold *unfold)
{
	batch->document = &unfold->document;
	while (!read_points(batch, unfold))
	{
		if (!admit_elements(batch))
		{
			if (!lacks_room(batch) || !can_grow(batch))
				return false;
			mts_batch_clear(batch);
			make_room(batch, 2 * batch->room);
		}
		if (!mts_unfold_start(unfold, unfold->document.value,
							  unfold->document.size))
			return false;
	}
	return true;
}

/* Tell whether the points come in the order of their series. */
static bool
is_sorted(const MtsBatch *batch)
{
	for (int i = 1; i < batch->n; i++)
		if (batch->series.of[i] < batch->series.of[i - 1])
			return false;
	return true;
}

/*
 * mts_batch_sort
 *		Sort the points of a batch by their series.
 *
 * Those of a series stay in their order.
 */
void
mts_batch_sort(MtsBatch *batch)
{
	int *to = batch->spare.new_places;
	int *order = batch->spare.old_places;
	int64_t *words = batch->spare.old_words;
	bool *missing = batch->spare.old_missing;

	if (batch->series.n < 2 || is_sorted(batch))
		return;
	for (int i = 0, n = 0; i < batch->series.n; i++)
	{
		to[i] = n;
		n += batch->series.items[i].n;
	}
	for (int i = 0; i < batch->n; i++)
		order[to[batch->series.of[i]]++] = i;
	memcpy(words, batch->times, batch->n * sizeof(MtsTime));
	for (int i = 0; i < batch->n; i++)
		batch->times[i] = words[order[i]];
	for (int c = 0; c < batch->nwords; c++)
	{
		MtsWords *column = &batch->words[batch->columns[c]];

		memcpy(words, column->words, batch->n * sizeof(int64_t));
		for (int i = 0; i < batch->n; i++)
			column->words[i] = words[order[i]];
		if (!column->has_missing)
			continue;
		memcpy(missing, column->missing, batch->n * sizeof(bool));
		for (int i = 0; i < batch->n; i++)
			column->missing[i] = missing[order[i]];
	}
}
