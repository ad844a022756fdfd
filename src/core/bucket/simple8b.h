/*
 * simple8b.h
 *		The deltas in a block of 64 bits, as Simple-8b packs them.
 *
 * The functions are inline: a bucket has a thousand deltas.
 */
#ifndef MTS_SIMPLE8B_H
#define MTS_SIMPLE8B_H

#include <string.h>

#include "core/bson/bson.h"
#include "core/bucket/wide.h"

#define MTS_SIMPLE8B_SIZE 8

/* How a block is divided */
typedef struct MtsShape
{
	uint8_t head;       /* the bits before the first delta */
	uint8_t deltas;     /* how many; 0: invalid */
	uint8_t bits;       /* of each; 0 if the last one is repeated */
	uint8_t count_bits; /* the lowest of these; they count a shift .. */
	uint8_t unit;       /* .. in units of so many bits */
} MtsShape;

/*
 * A block and the delta that was read last, which a block may repeat.  The
 * next blocks are opened in the same struct.
 */
typedef struct MtsSimple8b
{
	MtsShape shape;
	uint64_t rest; /* the deltas to come, the next one lowest */
	int left;      /* how many */

	MtsWide delta; /* zero before the first block */
	bool is_missing;
} MtsSimple8b;

extern const MtsShape mts_simple8b_shapes[48];

static inline uint64_t
mts_simple8b_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return BSON_UINT64_FROM_LE(word);
}

/*
 * Begin with the next block, which is at eight bytes.  False if its selector
 * is invalid; a valid block has at least one delta.
 */
static inline bool
mts_simple8b_open(MtsSimple8b *block, const uint8_t *bytes)
{
	uint64_t word = mts_simple8b_word(bytes);
	int selector = word & 15;
	int extension = word >> 4 & 15;

	if (selector == 7 || selector == 8)
		selector = (selector - 6) * 16 + extension;
	block->shape = mts_simple8b_shapes[selector];
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
mts_simple8b_open_single(MtsSimple8b *block, const uint8_t *bytes)
{
	uint64_t word = mts_simple8b_word(bytes);

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
mts_simple8b_next(MtsSimple8b *block, bool is_wide)
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

#endif /* MTS_SIMPLE8B_H */
