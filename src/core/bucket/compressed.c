/*
 * compressed.c
 *		Read the values in a compressed column: one entry for each measurement
 *		of a bucket, which is a value or missing.
 *
 * A column is a sequence of items.  A literal is an element without a name.  A
 * run of blocks has deltas: each one makes the next value out of the last one,
 * or is missing.  A section has objects whose fields are columns of their own,
 * called streams, with their items interleaved.  A zero byte is the end.
 *
 * The bytes are not trusted.  Every value that is read is well-formed BSON.
 */
#include "core/bucket/compressed.h"

#include <string.h>

/* The first bytes of items; literals begin with their types */
#define RUN_FIRST 0x80
#define RUN_LAST 0xDF
#define SECTION_FIELDS 0xF0
#define SECTION_OBJECTS 0xF1
#define SECTION_ARRAYS 0xF2

/* The bytes of a block of deltas */
#define BLOCK_SIZE 8

/* An empty document */
#define EMPTY_SIZE 5

/* A binary value is a length, a subtype and bytes */
#define BINARY_HEAD 5

/* The most fields of objects that are read */
#define MAX_STREAMS 65536

/* By the high four bits of a run's first byte, from 8 */
static const double factors[] = {0, 1, 10, 100, 1e4, 1e8};

static const MtsElement no_value = {.key = ""};

/* ---- Blocks of deltas --------------------------------------------------- */

/*
 * The shapes of blocks of 64 bits, as Simple-8b packs deltas.
 *
 * The lowest four bits of a block are a selector, which says how many bits
 * each delta has.  The deltas follow from low to high bits.  If all bits of a
 * delta are ones, it is missing; otherwise it is an unsigned number in zig-zag
 * code.  Selectors 7 and 8 have an extension in the next four bits.  Then the
 * lowest bits of a delta count the bits, or nibbles, that it is shifted by.
 * Selector 15 repeats the last delta 120 times or more.
 */
static const MtsShape shapes[48] = {
	/* by selector */
	{0},
	{4, 60, 1},
	{4, 30, 2},
	{4, 20, 3},
	{4, 15, 4},
	{4, 12, 5},
	{4, 10, 6},
	{0},
	{0},
	{4, 6, 10},
	{4, 5, 12},
	{4, 4, 15},
	{4, 3, 20},
	{4, 2, 30},
	{4, 1, 60},
	{8, 120, 0},

	/* by the extension of selector 7 */
	{8, 8, 7},
	{8, 9, 6, 4, 1},
	{8, 8, 7, 4, 1},
	{8, 7, 8, 4, 1},
	{8, 6, 9, 4, 1},
	{8, 5, 11, 4, 1},
	{8, 4, 14, 4, 1},
	{8, 3, 18, 4, 1},
	{8, 2, 28, 4, 1},
	{8, 1, 56, 4, 1},
	{0},
	{0},
	{0},
	{0},
	{0},
	{0},

	/* by the extension of selector 8 */
	{8, 7, 8},
	{8, 7, 8, 4, 4},
	{8, 6, 9, 4, 4},
	{8, 5, 11, 4, 4},
	{8, 4, 14, 4, 4},
	{8, 3, 18, 4, 4},
	{8, 2, 28, 4, 4},
	{8, 1, 56, 4, 4},
	{8, 6, 9, 5, 4},
	{8, 5, 11, 5, 4},
	{8, 4, 14, 5, 4},
	{8, 3, 18, 5, 4},
	{8, 2, 28, 5, 4},
	{8, 1, 56, 5, 4},
	{0},
	{0},
};

/*
 * Begin with the next block, which is at eight bytes.  False if its selector
 * is invalid; a valid block has at least one delta.
 */
static inline bool
open_block(MtsBlock *block, const uint8_t *bytes)
{
	uint64_t word = (uint64_t) mts_words_get(bytes, BLOCK_SIZE);
	int selector = word & 15;
	int extension = word >> 4 & 15;

	if (selector == 7 || selector == 8)
		selector = (selector - 6) * 16 + extension;
	block->shape = shapes[selector];
	block->rest = word >> block->shape.head;
	block->left = block->shape.deltas;
	if (block->shape.bits == 0)
		block->left *= extension + 1;
	return block->left > 0;
}

/*
 * Begin with the next block if it has a single delta, of 60 bits.  This is a
 * fast path: columns of random doubles consist of such blocks.
 */
static inline bool
open_single(MtsBlock *block, const uint8_t *bytes)
{
	uint64_t word = (uint64_t) mts_words_get(bytes, BLOCK_SIZE);

	if ((word & 15) != 14)
		return false;
	block->shape = (MtsShape){.head = 4, .deltas = 1, .bits = 60};
	block->rest = word >> 4;
	block->left = 1;
	return true;
}

/*
 * Read the next delta; the block must have one.  A delta that is not wide has
 * 64 bits, and a shift is modulo 64.
 */
static inline void
next_delta(MtsBlock *block, bool is_wide)
{
	const MtsShape *shape = &block->shape;
	uint64_t mask = (UINT64_C(1) << shape->bits) - 1;
	uint64_t n = block->rest & mask;
	int shift = (int) (n & ((1u << shape->count_bits) - 1)) * shape->unit;

	block->left--;
	if (shape->bits == 0)
		return;
	block->rest >>= shape->bits;
	block->is_missing = n == mask;
	n >>= shape->count_bits;
	block->delta = mts_wide_signed(is_wide ? mts_wide_shift(n, shift)
										   : (MtsWide){n << (shift & 63), 0});
}

/* ---- Items -------------------------------------------------------------- */

typedef enum Item
{
	LITERAL,
	RUN,
	SECTION,
	END
} Item;

/* Tell which item begins at a cursor. */
static Item
item_at(const MtsElementCursor *cursor)
{
	uint8_t control = *cursor->at;

	if (control >= RUN_FIRST && control <= RUN_LAST)
		return RUN;
	if (control >= SECTION_FIELDS && control <= SECTION_ARRAYS)
		return SECTION;
	return control == 0 ? END : LITERAL;
}

/* Place a cursor before the first item; its end is the closing zero. */
static bool
open_column(MtsElementCursor *cursor, const MtsElement *binary)
{
	if (binary->type != BSON_TYPE_BINARY || binary->size <= BINARY_HEAD ||
		binary->value[BINARY_HEAD - 1] != MTS_COMPRESSED_SUBTYPE)
		return false;
	cursor->at = binary->value + BINARY_HEAD;
	cursor->end = binary->value + binary->size - 1;
	return *cursor->end == 0;
}

/* ---- Streams ----------------------------------------------------------- */

/* Begin a stream with a value, which may be none. */
static void
start_stream(MtsStream *stream, const MtsElement *value)
{
	stream->last = *value;
	stream->last.key = "";
	stream->last.key_len = 0;
	stream->is_missing = value->type == 0;
	stream->at = stream->end = NULL;
	stream->step = (MtsWide){0, 0};
	memset(&stream->block, 0, sizeof(stream->block));
}

/* Begin the literal at the cursor, which is the next entry. */
static bool
start_literal(MtsStream *stream, MtsElementCursor *cursor)
{
	MtsElement literal;

	if (mts_element_next(cursor, &literal) != MTS_NEXT_OK ||
		literal.key_len != 0 ||
		!mts_element_is_well_formed(&literal, MTS_MAX_DEPTH - stream->depth))
		return false;
	start_stream(stream, &literal);
	return true;
}

/* Begin the run at the cursor, which continues the one before. */
static bool
start_run(MtsStream *stream, MtsElementCursor *cursor)
{
	uint8_t control = *cursor->at++;
	int size = ((control & 15) + 1) * BLOCK_SIZE;

	stream->factor = stream->last.type == BSON_TYPE_DOUBLE
						 ? factors[(control >> 4) - (RUN_FIRST >> 4)]
						 : 0;
	if (cursor->end - cursor->at < size ||
		!mts_image_of(&stream->last, stream->factor, &stream->image))
		return false;
	stream->at = cursor->at;
	stream->end = cursor->at += size;
	return true;
}

/*
 * Begin the item at the cursor, if it belongs to a stream.  False if it is
 * malformed.
 */
static bool
start_item(MtsStream *stream, MtsElementCursor *cursor, Item *item)
{
	*item = item_at(cursor);
	return *item == LITERAL ? start_literal(stream, cursor)
		   : *item == RUN   ? start_run(stream, cursor)
							: true;
}

/* Apply the current delta of a stream; false if it leads to no value. */
static bool
apply_delta(MtsStream *stream)
{
	MtsWide delta = stream->block.delta;

	stream->is_missing = stream->block.is_missing || stream->last.type == 0;
	if (stream->block.is_missing)
		return true;
	if (mts_image_has_steps(stream->last.type))
		delta = stream->step = mts_wide_add(stream->step, delta);
	if (mts_wide_is_zero(delta))
		return true;
	stream->image = mts_wide_add(stream->image, delta);
	return mts_image_store(stream->image, stream->factor, &stream->last,
						   stream->bytes);
}

static bool
is_used_up(const MtsStream *stream)
{
	return stream->block.left == 0 && stream->at == stream->end;
}

/*
 * Read the next entry of a stream.  MTS_NEXT_END if there is neither a delta
 * nor a literal.
 */
static MtsNext
next_entry(MtsElementCursor *cursor, MtsStream *stream)
{
	Item item;

	if (is_used_up(stream))
	{
		if (!start_item(stream, cursor, &item))
			return MTS_NEXT_CORRUPT;
		if (item != RUN)
			return item == LITERAL ? MTS_NEXT_OK : MTS_NEXT_END;
	}
	if (stream->block.left == 0)
	{
		if (!open_block(&stream->block, stream->at))
			return MTS_NEXT_CORRUPT;
		stream->at += BLOCK_SIZE;
	}
	next_delta(&stream->block, mts_image_is_wide(stream->last.type));
	return apply_delta(stream) ? MTS_NEXT_OK : MTS_NEXT_CORRUPT;
}

/* ---- Objects ----------------------------------------------------------- */

/* Tell whether a field of the reference has no stream, but its fields do. */
static bool
is_entered(const MtsCompressed *column, const MtsElement *field)
{
	return field->type == BSON_TYPE_DOCUMENT ||
		   (field->type == BSON_TYPE_ARRAY && column->enters_arrays);
}

/* Add a stream, which begins with a value. */
static bool
add_stream(MtsCompressed *column, const MtsElement *value, int depth)
{
	MtsStream *stream;

	if (column->nstreams == MAX_STREAMS)
		return false;
	if (column->nstreams == column->streams_room)
	{
		size_t size = column->streams_room * sizeof(MtsStream);

		column->streams_room *= 2;
		column->streams =
			mts_arena_grow(column->arena, column->streams, size, 2 * size);
	}
	stream = &column->streams[column->nstreams++];
	stream->depth = depth;
	start_stream(stream, value);
	return true;
}

/* Add streams for all fields of a well-formed document of the reference. */
static bool
add_streams(MtsCompressed *column, const MtsElement *document, int depth)
{
	MtsElementCursor cursor;
	MtsElement field;
	bool added = mts_element_open(&cursor, document->value, document->size);

	while (added && mts_element_next(&cursor, &field) == MTS_NEXT_OK)
		added = is_entered(column, &field)
					? add_streams(column, &field, depth + 1)
					: add_stream(column, &field, depth + 1);
	return added;
}

/* Begin the section at the cursor. */
static bool
start_section(MtsCompressed *column)
{
	MtsElementCursor *cursor = &column->cursor;
	bool is_section = item_at(cursor) == SECTION;
	uint8_t control = *cursor->at++;
	int64_t left = cursor->end - cursor->at;
	uint32_t size;

	if (!is_section || left < (int64_t) sizeof(size))
		return false;
	memcpy(&size, cursor->at, sizeof(size));
	size = BSON_UINT32_FROM_LE(size);
	if (size >= left)
		return false;
	column->reference = mts_element_document(cursor->at, size);
	if (!mts_element_is_well_formed(&column->reference, MTS_MAX_DEPTH))
		return false;
	if (control == SECTION_ARRAYS)
		column->reference.type = BSON_TYPE_ARRAY;
	cursor->at += size;
	column->in_section = true;
	column->enters_arrays = control != SECTION_FIELDS;
	column->object_size = 0;
	column->nstreams = 0;
	start_stream(&column->root, &no_value);
	return add_streams(column, &column->reference, 0) && column->nstreams > 0;
}

static void
append(MtsCompressed *column, const void *bytes, size_t size)
{
	size_t needed = column->object_size + size;

	if (needed > column->object_room)
	{
		column->object_room = needed * 2;
		column->object =
			mts_arena_grow(column->arena, column->object, column->object_size,
						   column->object_room);
	}
	memcpy(column->object + column->object_size, bytes, size);
	column->object_size = needed;
}

/* Append a type and the name of a field. */
static void
append_name(MtsCompressed *column, uint8_t type, const MtsElement *field)
{
	append(column, &type, 1);
	append(column, field->key, field->key_len + 1);
}

/*
 * Append a document like one of the reference to the object, with the current
 * entries of its streams, which are the next ones.  False if it would be empty
 * and is not so in the reference; the caller then removes it.
 */
static bool
append_document(MtsCompressed *column, const MtsElement *document,
				const MtsStream **next)
{
	size_t start = column->object_size;
	bool has_content = document->size == EMPTY_SIZE;
	MtsElementCursor cursor;
	MtsElement field;
	uint32_t size = 0;

	append(column, &size, sizeof(size));
	(void) mts_element_open(&cursor, document->value, document->size);
	while (mts_element_next(&cursor, &field) == MTS_NEXT_OK)
	{
		size_t before = column->object_size;
		bool is_present;

		if (is_entered(column, &field))
		{
			append_name(column, field.type, &field);
			is_present = append_document(column, &field, next);
		}
		else
		{
			const MtsStream *stream = (*next)++;

			append_name(column, stream->last.type, &field);
			append(column, stream->last.value, stream->last.size);
			is_present = !stream->is_missing;
		}
		if (!is_present)
			column->object_size = before;
		has_content |= is_present;
	}
	append(column, "", 1);
	size = BSON_UINT32_TO_LE((uint32_t) (column->object_size - start));
	memcpy(column->object + start, &size, sizeof(size));
	return has_content;
}

/*
 * Read the next object of the section into the root stream.  MTS_NEXT_END if
 * its first field has no entry.
 */
static MtsNext
next_object(MtsCompressed *column)
{
	const MtsStream *streams = column->streams;
	MtsElement object = column->reference;
	MtsNext next;

	for (int i = 0; i < column->nstreams; i++)
	{
		next = next_entry(&column->cursor, &column->streams[i]);
		if (next != MTS_NEXT_OK)
			return i == 0 ? next : MTS_NEXT_CORRUPT;
	}
	column->object_size = 0;
	if (!append_document(column, &column->reference, &streams))
		object.type = 0;
	object.value = column->object;
	object.size = (uint32_t) column->object_size;
	start_stream(&column->root, &object);
	return MTS_NEXT_OK;
}

/* End the section at the cursor.  It has an object, and all streams end. */
static bool
end_section(MtsCompressed *column)
{
	MtsElementCursor *cursor = &column->cursor;

	for (int i = 0; i < column->nstreams; i++)
		if (!is_used_up(&column->streams[i]))
			return false;
	column->in_section = false;
	return column->object_size > 0 && *cursor->at == 0 &&
		   cursor->at++ < cursor->end;
}

/* ---- Columns ----------------------------------------------------------- */

/*
 * mts_compressed_init
 *		Prepare to read columns.
 *
 * The memory is reused from column to column.
 */
void
mts_compressed_init(MtsCompressed *column, const MtsArena *arena)
{
	memset(column, 0, sizeof(*column));
	column->arena = arena;
	column->streams_room = 8;
	column->streams =
		mts_arena_allocate(arena, column->streams_room * sizeof(MtsStream));
	column->object_room = 256;
	column->object = mts_arena_allocate(arena, column->object_room);
}

/*
 * mts_compressed_open
 *		Begin with a column, whose bytes must stay until its last entry.
 *
 * False if the element is not a compressed column.
 */
bool
mts_compressed_open(MtsCompressed *column, const MtsElement *binary)
{
	if (!open_column(&column->cursor, binary))
		return false;
	column->entries = 0;
	column->in_section = false;
	start_stream(&column->root, &no_value);
	return true;
}

/*
 * mts_compressed_next
 *		Read the next entry.
 *
 * The element's type is 0 if the measurement has no value.  The value is valid
 * until the next call.  Do not call it again after MTS_NEXT_CORRUPT.
 */
MtsNext
mts_compressed_next(MtsCompressed *column, MtsElement *element)
{
	MtsStream *root = &column->root;
	MtsElementCursor *cursor = &column->cursor;
	MtsNext next;

	for (;;)
	{
		next = column->in_section ? next_object(column)
								  : next_entry(cursor, root);
		if (next != MTS_NEXT_END)
			break;
		if (!column->in_section && cursor->at == cursor->end)
			return MTS_NEXT_END;
		if (column->in_section ? !end_section(column) : !start_section(column))
			return MTS_NEXT_CORRUPT;
	}
	if (next == MTS_NEXT_OK && column->entries++ == MTS_MAX_ELEMENTS)
		return MTS_NEXT_CORRUPT;
	*element = root->is_missing ? no_value : root->last;
	return next;
}

/* ---- All entries at once -----------------------------------------------
 *
 * The images of a run are computed first, and then the values of these.
 */

/* The sum of the deltas of a run, and where it is stored after each one */
typedef struct Sum
{
	uint64_t image;
	uint64_t step;
	uint64_t kept; /* the bits of the step that the next one begins with */
	int64_t *word;
	bool *missing;
	bool has_missing;
} Sum;

/* Add the deltas of a block. */
static inline __attribute__((always_inline)) void
add_deltas(Sum *sum, MtsBlock *block)
{
	while (block->left > 0)
	{
		next_delta(block, false);
		sum->step &= sum->kept;
		sum->step += block->is_missing ? 0 : block->delta.low;
		sum->image += block->is_missing ? 0 : sum->step;
		sum->has_missing |= block->is_missing;
		*sum->word++ = (int64_t) sum->image;
		*sum->missing++ = block->is_missing;
	}
}

/*
 * Append the images after each delta of the run.  The state of the stream is
 * copied, for the sake of registers.
 */
static bool
read_images(MtsStream *stream, MtsWords *words)
{
	MtsBlock block = stream->block;
	int room = words->room - words->n;
	Sum sum = {.image = stream->image.low,
			   .step = stream->step.low,
			   .word = words->words + words->n,
			   .missing = words->missing + words->n};

	if (mts_image_has_steps(stream->last.type))
		sum.kept = UINT64_MAX;
	for (; stream->at < stream->end; stream->at += BLOCK_SIZE)
	{
		bool is_single = open_single(&block, stream->at);

		if (!is_single && !open_block(&block, stream->at))
			return false;
		words->lacks_room = block.left > room;
		if (words->lacks_room)
			return false;
		room -= block.left;
		/*
		 * Each call is inlined, and compiled for what its branch knows of the
		 * block: a loop that need not test it for each delta.
		 */
		if (is_single)
			add_deltas(&sum, &block);
		else if (block.shape.bits == 0)
			add_deltas(&sum, &block);
		else if (block.shape.count_bits == 0)
			add_deltas(&sum, &block);
		else
			add_deltas(&sum, &block);
	}
	words->n = words->room - room;
	words->has_missing |= sum.has_missing;
	stream->block = block;
	stream->step.low = sum.step;
	return true;
}

/* Make the entries missing, which are all null or missing. */
static bool
clear_words(MtsWords *words, int from)
{
	words->has_missing = true;
	for (int i = from; i < words->n; i++)
	{
		if (words->words[i] != 0)
			return false;
		words->missing[i] = true;
	}
	return true;
}

/* Append the values of a run. */
static bool
append_run(MtsStream *stream, MtsWords *words)
{
	int64_t *word = words->words + words->n;
	const int64_t *end;

	if (!read_images(stream, words))
		return false;
	end = words->words + words->n;
	if (stream->last.type == 0 || stream->last.type == BSON_TYPE_NULL)
		return clear_words(words, (int) (word - words->words));
	if (stream->last.type == BSON_TYPE_INT32)
		for (; word < end; word++)
			*word = (int32_t) *word;
	else if (stream->factor != 0)
		for (; word < end; word++)
			*word = (int64_t) mts_image_bits((double) *word / stream->factor);
	stream->image.low = (uint64_t) end[-1];
	return mts_image_store(stream->image, 0, &stream->last, stream->bytes);
}

/* Append a literal, a value of the only type or a null. */
static bool
append_literal(const MtsElement *literal, MtsWords *words)
{
	words->lacks_room = words->n == words->room;
	words->is_unfit = words->type != 0 && literal->type != words->type &&
					  literal->type != BSON_TYPE_NULL;
	return !words->lacks_room && !words->is_unfit &&
		   mts_words_set(words, words->n++, literal);
}

/*
 * mts_compressed_read
 *		Read all entries of a column whose values are all doubles, int32, int64
 *		or dates.  A null counts as missing.
 *
 * False if there are other types or several, or more entries than room, or the
 * column is malformed.  Then mts_compressed_next tells which of these.
 */
bool
mts_compressed_read(const MtsElement *binary, MtsWords *words)
{
	MtsElementCursor cursor;
	MtsStream stream = {.depth = 0};
	Item item;

	mts_words_clear(words);
	start_stream(&stream, &no_value);
	if (!open_column(&cursor, binary))
		return false;
	while (cursor.at < cursor.end)
		if (!start_item(&stream, &cursor, &item) || item == SECTION ||
			item == END ||
			!(item == RUN ? append_run(&stream, words)
						  : append_literal(&stream.last, words)))
			return false;
	return true;
}

/*
 * Let a value stay that the next one may overwrite: not one in the column.
 * False if it is an object that was put together.
 */
static bool
keep_value(const MtsCompressed *column, const MtsElement *binary,
		   MtsWords *words, MtsElement *element)
{
	uint8_t *bytes;

	if (!element->value || (element->value >= binary->value &&
							element->value < binary->value + binary->size))
		return true;
	if (element->size > MTS_IMAGE_ROOM)
		return false;
	if (!words->bytes)
		words->bytes =
			mts_arena_allocate(column->arena, words->room * MTS_IMAGE_ROOM);
	bytes = words->bytes + words->n * MTS_IMAGE_ROOM;
	element->value = memcpy(bytes, element->value, element->size);
	return true;
}

/*
 * mts_compressed_read_elements
 *		Read all entries of a column as elements.  A null counts as missing.
 *
 * False if there are more entries than room, an object whose fields are
 * compressed, or the column is malformed.
 */
bool
mts_compressed_read_elements(MtsCompressed *column, const MtsElement *binary,
							 MtsWords *words)
{
	MtsElement element;
	MtsNext next;

	mts_words_clear(words);
	if (!mts_compressed_open(column, binary))
		return false;
	while ((next = mts_compressed_next(column, &element)) == MTS_NEXT_OK)
	{
		words->lacks_room = words->n == words->room;
		if (element.type == 0)
			element = (MtsElement){.type = BSON_TYPE_NULL};
		if (words->lacks_room || !keep_value(column, binary, words, &element))
			return false;
		mts_words_set(words, words->n++, &element);
	}
	return next == MTS_NEXT_END;
}
