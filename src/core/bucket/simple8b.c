/*
 * simple8b.c
 *		Unpack the deltas of a block.
 *
 * The lowest four bits of a block are a selector, which says how many bits
 * each delta has.  The deltas follow from low to high bits.  If all bits of a
 * delta are ones, it is missing; otherwise it is an unsigned number in zig-zag
 * code.  Two selectors have an extension in the next four bits.  Then the
 * lowest bits of a delta count the zeros to append to it.
 */
#include "core/bucket/simple8b.h"

#include <string.h>

#include "core/bson/bson.h"

#define EXTENDED_BITS 7
#define EXTENDED_NIBBLES 8
#define REPEAT 15

/* A block that repeats stands for multiples of so many deltas */
#define REPEAT_UNIT 120

typedef struct Shape
{
	uint8_t deltas; /* 0: invalid */
	uint8_t bits;   /* of each, including those of its count */
	uint8_t count_bits;
} Shape;

/* By selector */
static const Shape shapes[16] = {{0},     {60, 1}, {30, 2}, {20, 3},
								 {15, 4}, {12, 5}, {10, 6}, {0},
								 {0},     {6, 10}, {5, 12}, {4, 15},
								 {3, 20}, {2, 30}, {1, 60}, {0}};

/* By extension; counts are in bits */
static const Shape bits_shapes[16] = {{8, 7},     {9, 6, 4},  {8, 7, 4},
									  {7, 8, 4},  {6, 9, 4},  {5, 11, 4},
									  {4, 14, 4}, {3, 18, 4}, {2, 28, 4},
									  {1, 56, 4}};

/* By extension; counts are in units of four bits */
static const Shape nibbles_shapes[16] = {{7, 8},     {7, 8, 4},  {6, 9, 4},
										 {5, 11, 4}, {4, 14, 4}, {3, 18, 4},
										 {2, 28, 4}, {1, 56, 4}, {6, 9, 5},
										 {5, 11, 5}, {4, 14, 5}, {3, 18, 5},
										 {2, 28, 5}, {1, 56, 5}};

/*
 * mts_simple8b_reset
 *		Begin a series of blocks.
 */
void
mts_simple8b_reset(MtsSimple8b *block)
{
	memset(block, 0, sizeof(*block));
}

/*
 * mts_simple8b_open
 *		Begin with the next block, which is at these eight bytes.
 *
 * False if the selector is invalid.  A valid block has at least one delta.
 */
bool
mts_simple8b_open(MtsSimple8b *block, const uint8_t *bytes)
{
	const Shape *shape;
	uint64_t word;
	int selector, extension;

	memcpy(&word, bytes, sizeof(word));
	word = BSON_UINT64_FROM_LE(word);
	selector = word & 15;
	extension = word >> 4 & 15;
	block->rest = word >> 4;
	block->unit = 1;
	switch (selector)
	{
		case REPEAT:
			block->left = (extension + 1) * REPEAT_UNIT;
			block->bits = 0;
			return true;
		case EXTENDED_BITS:
			shape = &bits_shapes[extension];
			block->rest = word >> 8;
			break;
		case EXTENDED_NIBBLES:
			shape = &nibbles_shapes[extension];
			block->rest = word >> 8;
			block->unit = 4;
			break;
		default:
			shape = &shapes[selector];
	}
	block->left = shape->deltas;
	block->bits = shape->bits;
	block->count_bits = shape->count_bits;
	return shape->deltas > 0;
}
