/*
 * fuzz_compressed.c
 *		Asserts that compressed columns give well-formed values, the same entry
 *		by entry and at once.
 *
 * The input is the bytes of a column.
 */
#include "fuzz.h"

#include "column.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static MtsCompressed column;
	MtsElement binary;
	MtsNext last;
	const char *fault;

	if (size > FUZZ_MAX)
		return 0;
	if (!column.arena)
		mts_compressed_init(&column, mts_arena_new(realloc, free));
	binary = column_binary(data, size);
	fault = column_compare(&column, &binary, &last);
	fuzz_check(!fault, "%s", fault);
	free((void *) binary.value);
	return 0;
}
