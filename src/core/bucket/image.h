/*
 * image.h
 *		The integers that stand for values in a compressed column.
 */
#ifndef MTS_IMAGE_H
#define MTS_IMAGE_H

#include <string.h>

#include "core/bson/element.h"
#include "core/bucket/wide.h"

/* The room of a value that is made of an image: a length, a subtype or NUL,
 * and 16 bytes */
#define MTS_IMAGE_ROOM 24

extern bool mts_image_is_wide(uint8_t type);
extern bool mts_image_has_steps(uint8_t type);
extern bool mts_image_of(const MtsElement *value, double factor,
						 MtsWide *image);
extern bool mts_image_store(MtsWide image, double factor, MtsElement *value,
							uint8_t *bytes);

/* The bits of a double */
static inline uint64_t
mts_image_bits(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

#endif /* MTS_IMAGE_H */
