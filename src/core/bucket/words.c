/*
 * words.c
 *		Read the values of a column.
 *
 * Most columns have numbers or times of one type, whose keys follow each
 * other: reading a key and eight bytes takes 1 ns.  Numbers of several types
 * are values of one of these, if that is exact.  Other values are read as
 * elements, which stay in the document.
 */
#include "core/bucket/words.h"

#include "core/layout/slot_key.h"

/* mts_words_init: make room for the values of so many points. */
void
mts_words_init(MtsWords *words, int room, const MtsArena *arena)
{
	words->room = room;
	words->words = mts_arena_allocate(arena, room * sizeof(int64_t));
	words->missing = mts_arena_allocate(arena, room * sizeof(bool));
	words->numbers = mts_arena_allocate(arena, room * sizeof(int64_t));
	words->elements = NULL;
	words->bytes = NULL;
	if (words->takes_elements)
		mts_words_take_elements(words, arena);
	mts_words_clear(words);
}

/* mts_words_take_elements: have the values that are read next be elements. */
void
mts_words_take_elements(MtsWords *words, const MtsArena *arena)
{
	words->takes_elements = true;
	if (!words->elements)
		words->elements =
			mts_arena_allocate(arena, words->room * sizeof(MtsElement));
}

/* mts_words_clear: remove all values. */
void
mts_words_clear(MtsWords *words)
{
	words->n = 0;
	words->type = 0;
	words->is_mixed = false;
	words->is_unfit = false;
	words->has_missing = false;
	words->lacks_room = false;
}

/* ---- Numbers of several types ------------------------------------------- */

/* The type that has the numbers of both types, or 0 */
static uint8_t
common_type(uint8_t a, uint8_t b)
{
	if (a == BSON_TYPE_DATE_TIME || b == BSON_TYPE_DATE_TIME)
		return 0;
	return a == BSON_TYPE_DOUBLE || b == BSON_TYPE_DOUBLE ? BSON_TYPE_DOUBLE
														  : BSON_TYPE_INT64;
}

/* Tell whether an integer is a value of a type. */
static bool
is_exact(int64_t word, uint8_t type)
{
	return type != BSON_TYPE_DOUBLE ||
		   (word <= MTS_MAX_EXACT && word >= -MTS_MAX_EXACT);
}

/* Convert a word to a type that has its value. */
static int64_t
convert(int64_t word, uint8_t from, uint8_t to)
{
	double d = (double) word;

	if (from != to && to == BSON_TYPE_DOUBLE)
		memcpy(&word, &d, sizeof(word));
	return word;
}

/*
 * Let a column have values of another type; false if no type has all of
 * its values.
 */
static bool
admit_type(MtsWords *words, uint8_t type)
{
	uint8_t old = words->type;
	uint8_t both;

	if (old == 0 || old == type)
	{
		words->type = type;
		return true;
	}
	words->is_mixed = true;
	both = common_type(old, type);
	if (both == 0 || both == old)
		return both != 0;
	for (int i = 0; i < words->n; i++)
		if (!words->missing[i] && !is_exact(words->words[i], both))
			return false;
	for (int i = 0; i < words->n; i++)
		words->words[i] = convert(words->words[i], old, both);
	words->type = both;
	return true;
}

/* Set a value, whose type was admitted; false if that is not exact. */
static inline bool
set_word(MtsWords *words, int i, int64_t word, uint8_t type)
{
	words->missing[i] = false;
	words->words[i] = word;
	if (type == words->type)
		return true;
	words->words[i] = convert(word, type, words->type);
	return is_exact(word, words->type);
}

/*
 * mts_words_set
 *		Set a value; false if it is neither a word nor null, or no type has all
 *		values of the column.
 */
bool
mts_words_set(MtsWords *words, int i, const MtsElement *element)
{
	int size = mts_words_size(element->type);

	words->missing[i] = size == 0;
	words->has_missing |= size == 0;
	if (words->takes_elements)
		words->elements[i] = *element;
	else if (size != 0)
		words->is_unfit =
			size < 0 ||
			(element->type != words->type &&
			 !admit_type(words, element->type)) ||
			!set_word(words, i, mts_words_get(element->value, size),
					  element->type);
	return !words->is_unfit;
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
		 int64_t limit, MtsWords *words)
{
	int size = mts_words_size(type);
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
						 (mts_words_get(at, 8) & mask) == head))
		{
			words->numbers[n] = key++;
			words->words[n++] = mts_words_get(at + head_size, size);
			at += head_size + size;
			head += UINT64_C(1) << (8 * (head_size - 2));
		}
	}
	memset(words->missing + first, false, n - first);
	words->n = n;
	return at;
}

/* Read the key of an element, and return its value; NULL for other keys. */
static const uint8_t *
read_head(const uint8_t *at, const uint8_t *end, const MtsWordKeys *keys,
		  int64_t *number)
{
	at = keys->slot ? read_slot_key(keys->slot, at + 1, end, keys->first,
									keys->limit, number)
					: read_key(at + 1, keys->limit, number);
	return at ? at + 1 : NULL;
}

/*
 * Return the size of the value of an element: of any, if elements are read or
 * only their numbers.  -1 if it can't be read.  Empty documents are not
 * points.
 */
static int
value_size(const MtsWords *words, const MtsElementCursor *cursor,
		   const uint8_t *at)
{
	MtsElementCursor other = *cursor;
	MtsElement element;

	if (mts_words_size(*at) >= 0 ||
		(!words->numbers_only && !words->takes_elements))
		return mts_words_size(*at);
	other.at = at;
	return mts_element_next(&other, &element) == MTS_NEXT_OK &&
				   !mts_element_is_empty_document(&element)
			   ? (int) element.size
			   : -1;
}

/*
 * mts_words_read
 *		Append the elements of a document or array, and set their numbers.
 *
 * False if one is not a word but should be, no type has all of them, their
 * keys are others, or there are too many.
 */
bool
mts_words_read(MtsWords *words, const MtsElement *holder,
			   const MtsWordKeys *keys)
{
	MtsElementCursor cursor;
	MtsElement element;
	const uint8_t *at;

	if (!mts_element_open(&cursor, holder->value, holder->size))
		return false;
	for (at = cursor.at; at < cursor.end;)
	{
		int n = words->n;
		uint8_t type = *at;
		int size = value_size(words, &cursor, at);

		words->lacks_room = n == words->room;
		words->is_unfit = size < 0;
		if (words->is_unfit || words->lacks_room)
			return false;
		at = read_head(at, cursor.end, keys, &words->numbers[n]);
		if (!at || cursor.end - at < size)
			return false;
		element = (MtsElement){.type = words->numbers_only &&
											   mts_words_size(type) < 0
										   ? BSON_TYPE_NULL
										   : type,
							   .key = "",
							   .value = at,
							   .size = size};
		if (!mts_words_set(words, n, &element))
			return false;
		words->n++;
		at += size;
		if (!keys->slot && type == words->type)
			at = read_run(at, cursor.end, type, words->numbers[n] + 1,
						  keys->limit, words);
	}
	return true;
}

/* mts_words_ascend: tell whether numbers ascend from a word on. */
bool
mts_words_ascend(const MtsWords *words, int from)
{
	for (int i = from + 1; i < words->n; i++)
		if (words->numbers[i] <= words->numbers[i - 1])
			return false;
	return true;
}

/*
 * mts_words_spread
 *		Move the words from one on to the places that their numbers have among
 *		n ascending ones.
 *
 * Places without a word are missing.  numbers is NULL for those from 0 on.
 */
void
mts_words_spread(MtsWords *words, int from, const int64_t *numbers, int n)
{
	int last = words->n - 1;

	words->has_missing |= words->n < from + n;
	words->n = from + n;
	for (int to = words->n - 1; to > last; to--)
	{
		int64_t number = numbers ? numbers[to - from] : to - from;
		bool has_word = last >= from && words->numbers[last] == number;

		if (has_word)
			mts_words_move(words, last--, to);
		else
			words->missing[to] = true;
	}
}
