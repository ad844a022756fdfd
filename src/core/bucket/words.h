/*
 * words.h
 *		The values of a column: words of 64 bits, if they are numbers or times,
 *		otherwise elements.
 */
#ifndef MTS_WORDS_H
#define MTS_WORDS_H

#include <string.h>

#include "core/arena.h"
#include "core/bson/element.h"
#include "core/layout/layout.h"

/* The values of a column in successive points: words of one type, or any
 * elements */
typedef struct MtsWords
{
	int n;
	int room;            /* of the arrays; 0 if the column is not read */
	bool numbers_only;   /* values that are not words are missing, too */
	bool takes_elements; /* values are elements, until the user changes that */
	uint8_t type;        /* double, int32, int64 or date; 0 if all are missing,
						  * or the values are elements */
	bool is_mixed;       /* words had other types, and are of this one now */
	bool is_unfit;       /* a value is not a word, or no type has all */
	bool has_missing;
	bool lacks_room; /* for more values */
	int64_t
		*words; /* integers or the bits of doubles; unspecified if missing */
	MtsElement *elements; /* in the document or in `bytes`; unspecified if
						   * missing */
	uint8_t *bytes;       /* of computed elements, MTS_IMAGE_ROOM for each, or
						   * NULL */
	bool *missing;
	int64_t *numbers; /* of elements, by their keys; unspecified for others */
} MtsWords;

/* The keys of elements: numbers below a limit */
typedef struct MtsWordKeys
{
	const MtsStep *slot; /* whose keys they are, from `first` on; or NULL for
						  * plain numbers from 0 on */
	int64_t first;
	int64_t limit;
} MtsWordKeys;

extern void mts_words_init(MtsWords *words, int room, const MtsArena *arena);
extern void mts_words_take_elements(MtsWords *words, const MtsArena *arena);
extern void mts_words_clear(MtsWords *words);
extern bool mts_words_set(MtsWords *words, int i, const MtsElement *element);
extern bool mts_words_read(MtsWords *words, const MtsElement *holder,
						   const MtsWordKeys *keys);
extern bool mts_words_ascend(const MtsWords *words, int from);
extern void mts_words_spread(MtsWords *words, int from, const int64_t *numbers,
							 int n);

/* Overwrite the value of a point with that of another one. */
static inline void
mts_words_move(MtsWords *words, int from, int to)
{
	words->words[to] = words->words[from];
	words->missing[to] = words->missing[from];
	if (words->takes_elements)
		words->elements[to] = words->elements[from];
}

/* The size of a value of a type, or -1 if it is neither a word nor null */
static inline int
mts_words_size(uint8_t type)
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

/* Read a value of 4 or 8 bytes. */
static inline int64_t
mts_words_get(const uint8_t *value, int size)
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

#endif /* MTS_WORDS_H */
