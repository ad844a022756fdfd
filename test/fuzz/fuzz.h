/*
 * fuzz.h
 *		Declares the functions that the fuzzed programs share.
 *
 * Each fuzz_*.c reads an input, which is a few bytes of choices and then the
 * data, and aborts at the first failed assertion.  Programs whose inputs
 * contain documents define where these begin and make valid ones, which
 * mutate.c changes.  An input must not be written to or kept.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "core/bson/element.h"
#include "tap.h"

/* The longest input */
#define FUZZ_MAX 4096

/* The deepest nesting that is read as a whole; see MAX_DEPTH in src/ */
#define FUZZ_DEPTH 128

#define fuzz_check(holds, ...) \
	do \
		if (!(holds)) \
		{ \
			fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
			fprintf(stderr, __VA_ARGS__); \
			fprintf(stderr, "\n"); \
			abort(); \
		} \
	while (0)

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * For inputs with documents: the bytes before the first one, and a function
 * that makes a random valid input and returns its size, at most FUZZ_MAX
 */
extern const size_t fuzz_head;
extern size_t fuzz_make(uint8_t *data);

/* Tell whether libbson reads a document of any depth exactly to its end. */
static inline bool
fuzz_libbson_reads(const uint8_t *bytes, size_t size)
{
	MtsElementCursor cursor;
	MtsElement element;
	bson_t doc;
	bson_iter_t iter;
	MtsNext next;
	int left = 0;

	if (!mts_element_open(&cursor, bytes, size) ||
		!bson_init_static(&doc, bytes, size) || !bson_iter_init(&iter, &doc))
		return false;
	while ((next = mts_element_next(&cursor, &element)) == MTS_NEXT_OK)
		left++;
	for (; bson_iter_next(&iter); left--)
	{
		const uint8_t *child;
		uint32_t len;

		if (BSON_ITER_HOLDS_DOCUMENT(&iter))
			bson_iter_document(&iter, &len, &child);
		else if (BSON_ITER_HOLDS_ARRAY(&iter))
			bson_iter_array(&iter, &len, &child);
		else
			continue;
		if (!fuzz_libbson_reads(child, len))
			return false;
	}
	return left == 0 && next == MTS_NEXT_END;
}

#endif /* FUZZ_H */
