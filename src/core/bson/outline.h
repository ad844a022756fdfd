/*
 * outline.h
 *		Recognize documents that differ in their values only.
 *
 * The outline of a document is all its bytes except those of its values:
 * types, keys and lengths.  In a document with the same outline, each element
 * is at the same offset, with the same type and size.  So what was found in
 * one document by its keys is read from the next ones by its offset.
 */
#ifndef MTS_OUTLINE_H
#define MTS_OUTLINE_H

#include <string.h>

#include "core/arena.h"
#include "core/bson/element.h"

/* The bytes of an outline that there is room for at first, and at most */
#define MTS_OUTLINE_SIZE 4096
#define MTS_OUTLINE_MAX_SIZE 262144

typedef struct MtsOutline
{
	uint32_t size; /* of the bytes that are compared; 0 for none */
	bool is_whole; /* no more follow */
	uint32_t room;
	uint8_t *bytes;
	uint8_t *mask;
	const MtsArena *arena;
} MtsOutline;

extern void mts_outline_init(MtsOutline *outline, const MtsArena *arena);
extern bool mts_outline_learn(MtsOutline *outline, const MtsElement *document,
							  uint32_t needed, uint32_t limit);

/* Compare eight bytes at an offset. */
static inline bool
mts_outline_has_word(const MtsOutline *outline, const uint8_t *document,
					 uint32_t offset)
{
	uint64_t word, bytes, mask;

	memcpy(&word, document + offset, sizeof(word));
	memcpy(&bytes, outline->bytes + offset, sizeof(bytes));
	memcpy(&mask, outline->mask + offset, sizeof(mask));
	return (word & mask) == bytes;
}

/*
 * mts_outline_matches
 *		Tell whether a document has the outline, as far as that is known.
 *
 * size is that of the document, which the caller has found to be its length,
 * as mts_element_next() does.
 */
static inline bool
mts_outline_matches(const MtsOutline *outline, const uint8_t *document,
					uint32_t size)
{
	uint32_t last = outline->size - sizeof(uint64_t);

	if (outline->size == 0 || document[size - 1] != 0 ||
		(outline->is_whole ? size != outline->size : size <= outline->size))
		return false;
	for (uint32_t i = 0; i < last; i += sizeof(uint64_t))
		if (!mts_outline_has_word(outline, document, i))
			return false;
	return mts_outline_has_word(outline, document, last);
}

#endif /* MTS_OUTLINE_H */
