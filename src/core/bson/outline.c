/*
 * outline.c
 *		Learn the outline of a document.
 *
 * The bytes of numbers, times and other values of one size may differ, and the
 * text of strings of the same length.  All other bytes are compared, so that
 * whatever mts_element_next() would find there is the same.
 */
#include "core/bson/outline.h"

/* The bytes of a string's length */
#define LENGTH_SIZE 4

/* mts_outline_init: prepare to learn outlines. */
void
mts_outline_init(MtsOutline *outline, const MtsArena *arena)
{
	outline->size = 0;
	outline->room = MTS_OUTLINE_SIZE;
	outline->bytes = mts_arena_allocate(arena, outline->room);
	outline->mask = mts_arena_allocate(arena, outline->room);
	outline->arena = arena;
}

/* Make room for so many bytes. */
static void
reserve(MtsOutline *outline, uint32_t size)
{
	if (size <= outline->room)
		return;
	while (size > outline->room)
		outline->room *= 2;
	outline->bytes = mts_arena_allocate(outline->arena, outline->room);
	outline->mask = mts_arena_allocate(outline->arena, outline->room);
}

/* Let the bytes of a value differ. */
static void
mask_value(MtsOutline *outline, const uint8_t *base, const uint8_t *from,
		   uint32_t size)
{
	memset(outline->mask + (from - base), 0, size);
}

/*
 * Mask the values in a document, as far as `end`; return the end of the last
 * element that was read, or NULL if the document is malformed.
 */
static const uint8_t *
mask_values(MtsOutline *outline, const uint8_t *base,
			const MtsElement *document, const uint8_t *end, int depth)
{
	MtsElementCursor cursor;
	MtsElement element;
	MtsNext next = MTS_NEXT_OK;

	if (depth == 0 ||
		!mts_element_open(&cursor, document->value, document->size))
		return NULL;
	while (cursor.at < end &&
		   (next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
	{
		if (cursor.at - base > outline->room)
			return NULL;
		switch (element.type)
		{
			case BSON_TYPE_DOCUMENT:
			case BSON_TYPE_ARRAY:
				if (!mask_values(outline, base, &element, cursor.at,
								 depth - 1))
					return NULL;
				break;
			case BSON_TYPE_UTF8:
				mask_value(outline, base, element.value + LENGTH_SIZE,
						   element.size - LENGTH_SIZE - 1);
				break;
			case BSON_TYPE_DOUBLE:
			case BSON_TYPE_DATE_TIME:
			case BSON_TYPE_INT32:
			case BSON_TYPE_INT64:
			case BSON_TYPE_BOOL:
			case BSON_TYPE_OID:
			case BSON_TYPE_TIMESTAMP:
			case BSON_TYPE_DECIMAL128:
				mask_value(outline, base, element.value, element.size);
				break;
			default:
				break;
		}
	}
	return next == MTS_NEXT_CORRUPT ? NULL : cursor.at;
}

/*
 * mts_outline_learn
 *		Learn the outline of a document, up to its element that contains its
 *		byte before `needed`; with all its bytes, that of the whole.
 *
 * False if that is malformed, too small, or larger than a limit, which is at
 * most MTS_OUTLINE_MAX_SIZE.  Then no document has the outline.
 */
bool
mts_outline_learn(MtsOutline *outline, const MtsElement *document,
				  uint32_t needed, uint32_t limit)
{
	const uint8_t *base = document->value;
	const uint8_t *end;

	outline->size = 0;
	if (needed > limit || needed < sizeof(uint64_t))
		return false;
	reserve(outline, needed);
	memset(outline->mask, 0xff, BSON_MIN(document->size, outline->room));
	end = mask_values(outline, base, document, base + needed, MTS_MAX_DEPTH);
	if (!end)
		return false;
	outline->is_whole = needed == document->size;
	outline->size = outline->is_whole ? needed : (uint32_t) (end - base);
	if (!outline->is_whole)
		mask_value(outline, base, base, LENGTH_SIZE);
	for (uint32_t i = 0; i < outline->size; i++)
		outline->bytes[i] = base[i] & outline->mask[i];
	return true;
}
