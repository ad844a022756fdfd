/*
 * compress.c
 *		Compress messages by the libraries that were found when this was built.
 *
 * libmongoc agrees with a server on the compressors that both have, and its
 * functions are not public.
 */
#include "driver/compress.h"

#include <string.h>

#ifdef MTS_ZLIB
#include <zlib.h>
#endif
#ifdef MTS_ZSTD
#include <zstd.h>
#endif
#ifdef MTS_SNAPPY
#include <snappy-c.h>
#endif

#define SNAPPY 1
#define ZLIB 2
#define ZSTD 3

/*
 * mts_compress_find
 *		Find a compressor by its name in a URI; 0 if it is not known here.
 */
MtsCompressor
mts_compress_find(const char *name)
{
#ifdef MTS_SNAPPY
	if (strcmp(name, "snappy") == 0)
		return SNAPPY;
#endif
#ifdef MTS_ZLIB
	if (strcmp(name, "zlib") == 0)
		return ZLIB;
#endif
#ifdef MTS_ZSTD
	if (strcmp(name, "zstd") == 0)
		return ZSTD;
#endif
	return 0;
}

/*
 * mts_compress_bound
 *		Return the most bytes that so many bytes become.
 */
size_t
mts_compress_bound(MtsCompressor compressor, size_t size)
{
	switch (compressor)
	{
#ifdef MTS_SNAPPY
		case SNAPPY:
			return snappy_max_compressed_length(size);
#endif
#ifdef MTS_ZLIB
		case ZLIB:
			return compressBound(size);
#endif
#ifdef MTS_ZSTD
		case ZSTD:
			return ZSTD_compressBound(size);
#endif
		default:
			return 0;
	}
}

/*
 * mts_compress
 *		Compress bytes; returns how many they become, or 0 on failure.
 */
size_t
mts_compress(MtsCompressor compressor, const uint8_t *from, size_t size,
			 uint8_t *into, size_t capacity)
{
	switch (compressor)
	{
#ifdef MTS_SNAPPY
		case SNAPPY:
			return snappy_compress((const char *) from, size, (char *) into,
								   &capacity) == SNAPPY_OK
					   ? capacity
					   : 0;
#endif
#ifdef MTS_ZLIB
		case ZLIB:
		{
			uLongf length = capacity;

			return compress(into, &length, from, size) == Z_OK ? length : 0;
		}
#endif
#ifdef MTS_ZSTD
		case ZSTD:
			size =
				ZSTD_compress(into, capacity, from, size, ZSTD_CLEVEL_DEFAULT);
			return ZSTD_isError(size) ? 0 : size;
#endif
		default:
			return 0;
	}
}

/*
 * mts_compress_undo
 *		Decompress bytes; returns false unless they become as many as the
 *		caller has room for.
 */
bool
mts_compress_undo(MtsCompressor compressor, const uint8_t *from, size_t size,
				  uint8_t *into, size_t original)
{
	switch (compressor)
	{
#ifdef MTS_SNAPPY
		case SNAPPY:
		{
			size_t length = original;

			return snappy_uncompress((const char *) from, size, (char *) into,
									 &length) == SNAPPY_OK &&
				   length == original;
		}
#endif
#ifdef MTS_ZLIB
		case ZLIB:
		{
			uLongf length = original;

			return uncompress(into, &length, from, size) == Z_OK &&
				   length == original;
		}
#endif
#ifdef MTS_ZSTD
		case ZSTD:
			return ZSTD_decompress(into, original, from, size) == original;
#endif
		default:
			return false;
	}
}
