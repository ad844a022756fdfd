/*
 * wide.h
 *		Integers of 128 bits, modulo 2^128.
 *
 * PostgreSQL also runs where C has no such type.
 */
#ifndef MTS_WIDE_H
#define MTS_WIDE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct MtsWide
{
	uint64_t low;
	uint64_t high;
} MtsWide;

static inline bool
mts_wide_is_zero(MtsWide n)
{
	return (n.low | n.high) == 0;
}

static inline MtsWide
mts_wide_add(MtsWide a, MtsWide b)
{
	uint64_t low = a.low + b.low;

	return (MtsWide){low, a.high + b.high + (low < a.low)};
}

/* Shift n to the left by 0 to 127 bits. */
static inline MtsWide
mts_wide_shift(uint64_t n, int bits)
{
	if (bits == 0)
		return (MtsWide){n, 0};
	if (bits < 64)
		return (MtsWide){n << bits, n >> (64 - bits)};
	return (MtsWide){0, n << (bits - 64)};
}

/* Decode zig-zag: 0, 1, 2, 3 stand for 0, -1, 1, -2. */
static inline MtsWide
mts_wide_signed(MtsWide n)
{
	uint64_t sign = -(n.low & 1);

	return (MtsWide){(n.low >> 1 | n.high << 63) ^ sign, n.high >> 1 ^ sign};
}

#endif /* MTS_WIDE_H */
