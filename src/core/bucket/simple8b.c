/*
 * simple8b.c
 *		The shapes of blocks.
 *
 * The lowest four bits of a block are a selector, which says how many bits
 * each delta has.  The deltas follow from low to high bits.  If all bits of a
 * delta are ones, it is missing; otherwise it is an unsigned number in zig-zag
 * code.  Selectors 7 and 8 have an extension in the next four bits.  Then the
 * lowest bits of a delta count the bits, or nibbles, that it is shifted by.
 * Selector 15 repeats the last delta 120 times or more.
 */
#include "core/bucket/simple8b.h"

const MtsShape mts_simple8b_shapes[48] = {
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
