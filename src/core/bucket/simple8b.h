/*
 * simple8b.h
 *		The deltas in a block of 64 bits, as Simple-8b packs them.
 */
#ifndef MTS_SIMPLE8B_H
#define MTS_SIMPLE8B_H

#include "core/bucket/wide.h"

/*
 * A block and the delta that was read last, which a block may repeat.  The
 * next blocks are opened in the same struct.
 */
typedef struct MtsSimple8b
{
	uint64_t rest;      /* the deltas to come, the next one lowest */
	int left;           /* how many */
	uint8_t bits;       /* of each; 0 if the block repeats the last delta */
	uint8_t count_bits; /* the lowest of these; they count a shift .. */
	uint8_t unit;       /* .. in units of so many bits */

	MtsWide delta; /* zero before the first block */
	bool is_missing;
} MtsSimple8b;

extern void mts_simple8b_reset(MtsSimple8b *block);
extern bool mts_simple8b_open(MtsSimple8b *block, const uint8_t *bytes);

/*
 * Read the next delta; the block must have one.  A delta that is not wide has
 * 64 bits, and a shift is modulo 64.
 */
static inline void
mts_simple8b_next(MtsSimple8b *block, bool is_wide)
{
	uint64_t mask = (UINT64_C(1) << block->bits) - 1;
	uint64_t n = block->rest & mask;
	int shift = (int) (n & ((1u << block->count_bits) - 1)) * block->unit;

	block->left--;
	if (block->bits == 0)
		return;
	block->rest >>= block->bits;
	block->is_missing = n == mask;
	n >>= block->count_bits;
	block->delta = mts_wide_signed(is_wide ? mts_wide_shift(n, shift)
										   : (MtsWide){n << (shift & 63), 0});
}

#endif /* MTS_SIMPLE8B_H */
