/*
 * compress.h
 *		Compress messages by the libraries that were found when this was built.
 */
#ifndef MTS_COMPRESS_H
#define MTS_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A compressor as the protocol numbers it; 0 stands for none */
typedef uint8_t MtsCompressor;

extern MtsCompressor mts_compress_find(const char *name);
extern size_t mts_compress_bound(MtsCompressor compressor, size_t size);
extern size_t mts_compress(MtsCompressor compressor, const uint8_t *from,
						   size_t size, uint8_t *into, size_t capacity);
extern bool mts_compress_undo(MtsCompressor compressor, const uint8_t *from,
							  size_t size, uint8_t *into, size_t original);

#endif /* MTS_COMPRESS_H */
