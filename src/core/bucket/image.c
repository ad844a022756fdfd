/*
 * image.c
 *		Convert values to the integers that stand for them in a compressed
 *		column, and back.
 *
 * A compressed column has the differences of these integers.  The image of a
 * double is its bits or, with a factor, the nearest integer to the product.  A
 * long string has the image zero, like an empty one: an image with its value
 * unchanged is not converted back.
 */
#include "core/bucket/image.h"

#include <math.h>
#include <string.h>

/* The bytes of a wide image */
#define WIDE_SIZE 16

/* A binary value is a length, a subtype and bytes, a string a length, bytes
 * and a NUL */
#define BINARY_HEAD 5
#define STRING_HEAD 4

/* The bytes of an ObjectId that differ within a process, least significant
 * first: those of the counter and of the time alternate. */
static const uint8_t oid_bytes[] = {11, 3, 10, 2, 9, 1, 0};

/*
 * mts_image_is_wide
 *		Tell whether images of a type have 128 bits, not 64.
 */
bool
mts_image_is_wide(uint8_t type)
{
	return type == BSON_TYPE_DECIMAL128 || type == BSON_TYPE_BINARY ||
		   type == BSON_TYPE_UTF8 || type == BSON_TYPE_CODE;
}

/*
 * mts_image_has_steps
 *		Tell whether a column has the differences of the steps between images,
 *		not of the images.
 */
bool
mts_image_has_steps(uint8_t type)
{
	return type == BSON_TYPE_DATE_TIME || type == BSON_TYPE_OID ||
		   type == BSON_TYPE_TIMESTAMP;
}

/* ---- Numbers as bytes -------------------------------------------------- */

static void
put_uint64(uint8_t *bytes, uint64_t n)
{
	n = BSON_UINT64_TO_LE(n);
	memcpy(bytes, &n, sizeof(n));
}

static void
put_uint32(uint8_t *bytes, uint32_t n)
{
	n = BSON_UINT32_TO_LE(n);
	memcpy(bytes, &n, sizeof(n));
}

static MtsWide
get_wide(const uint8_t *bytes)
{
	uint64_t n[2];

	memcpy(n, bytes, sizeof(n));
	return (MtsWide){BSON_UINT64_FROM_LE(n[0]), BSON_UINT64_FROM_LE(n[1])};
}

static void
put_wide(uint8_t *bytes, MtsWide n)
{
	put_uint64(bytes, n.low);
	put_uint64(bytes + 8, n.high);
}

/* ---- The image of a value ---------------------------------------------- */

/*
 * Return the image of a binary value: its bytes, the first one least
 * significant, or zero if there are too many.
 */
static MtsWide
binary_image(const MtsElement *value)
{
	uint8_t bytes[WIDE_SIZE] = {0};
	size_t len = value->size - BINARY_HEAD;

	if (len <= WIDE_SIZE)
		memcpy(bytes, value->value + BINARY_HEAD, len);
	return get_wide(bytes);
}

/*
 * Return the image of a string: its bytes, the last one least significant, or
 * zero if these are too many or the first is NUL.
 */
static MtsWide
string_image(const MtsElement *value)
{
	uint8_t bytes[WIDE_SIZE] = {0};
	size_t len;
	const char *text = mts_element_text(value, &len);

	if (len <= WIDE_SIZE && text[0] != '\0')
		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t) text[len - 1 - i];
	return get_wide(bytes);
}

static uint64_t
oid_image(const MtsElement *value)
{
	uint64_t image = 0;

	for (size_t i = 0; i < sizeof(oid_bytes); i++)
		image |= (uint64_t) value->value[oid_bytes[i]] << (8 * i);
	return image;
}

/*
 * Compute the image of a double with a factor.  The double must be exactly the
 * quotient, which MongoDB requires.
 */
static bool
scaled_image(double d, double factor, uint64_t *image)
{
	double product = d * factor;
	int64_t n;

	if (!(fabs(product) <= (double) MTS_MAX_EXACT))
		return false;
	n = llround(product);
	*image = (uint64_t) n;
	return mts_image_bits((double) n / factor) == mts_image_bits(d);
}

/*
 * mts_image_of
 *		Compute the image of a value; that of a type without images is zero.
 *
 * factor is that of doubles, or 0.  False if a double has no image with it.
 */
bool
mts_image_of(const MtsElement *value, double factor, MtsWide *image)
{
	*image = (MtsWide){0, 0};
	switch (value->type)
	{
		case BSON_TYPE_INT32:
			image->low = (uint64_t) (int64_t) mts_element_int32(value);
			break;
		case BSON_TYPE_DOUBLE:
			if (factor != 0)
				return scaled_image(mts_element_double(value), factor,
									&image->low);
			__attribute__((fallthrough));
		case BSON_TYPE_INT64:
		case BSON_TYPE_DATE_TIME:
		case BSON_TYPE_TIMESTAMP:
			image->low = (uint64_t) mts_element_int64(value);
			break;
		case BSON_TYPE_BOOL:
			image->low = value->value[0];
			break;
		case BSON_TYPE_OID:
			image->low = oid_image(value);
			break;
		case BSON_TYPE_DECIMAL128:
			*image = get_wide(value->value);
			break;
		case BSON_TYPE_BINARY:
			*image = binary_image(value);
			break;
		case BSON_TYPE_UTF8:
		case BSON_TYPE_CODE:
			*image = string_image(value);
			break;
		default:
			break;
	}
	return true;
}

/* ---- The value of an image --------------------------------------------- */

/* Store a binary value; its length and subtype are those of the last one. */
static bool
store_binary(MtsWide image, MtsElement *value, uint8_t *bytes)
{
	uint8_t wide[WIDE_SIZE];
	size_t len = value->size - BINARY_HEAD;

	if (len > WIDE_SIZE)
		return false;
	put_wide(wide, image);
	for (size_t i = len; i < WIDE_SIZE; i++)
		if (wide[i] != 0)
			return false;
	memmove(bytes, value->value, BINARY_HEAD);
	memcpy(bytes + BINARY_HEAD, wide, len);
	value->value = bytes;
	return mts_element_is_well_formed(value, 1);
}

/* Store the significant bytes of an image as a string. */
static void
store_string(MtsWide image, MtsElement *value, uint8_t *bytes)
{
	uint8_t wide[WIDE_SIZE];
	uint32_t len = WIDE_SIZE;

	put_wide(wide, image);
	while (len > 0 && wide[len - 1] == 0)
		len--;
	put_uint32(bytes, len + 1);
	for (uint32_t i = 0; i < len; i++)
		bytes[STRING_HEAD + i] = wide[len - 1 - i];
	bytes[STRING_HEAD + len] = '\0';
	value->size = STRING_HEAD + len + 1;
}

/* Store an ObjectId; its process is that of the last one. */
static void
store_oid(uint64_t image, const MtsElement *value, uint8_t *bytes)
{
	memmove(bytes, value->value, value->size);
	for (size_t i = 0; i < sizeof(oid_bytes); i++)
		bytes[oid_bytes[i]] = (uint8_t) (image >> (8 * i));
}

/*
 * mts_image_store
 *		Change a value to that of another image.
 *
 * The new value is in bytes, which have MTS_IMAGE_ROOM; the old one may be in
 * them, too.  False if the type has no value of the image.
 */
bool
mts_image_store(MtsWide image, double factor, MtsElement *value,
				uint8_t *bytes)
{
	switch (value->type)
	{
		case BSON_TYPE_INT32:
			put_uint32(bytes, (uint32_t) image.low);
			break;
		case BSON_TYPE_DOUBLE:
			if (factor != 0)
				image.low =
					mts_image_bits((double) (int64_t) image.low / factor);
			__attribute__((fallthrough));
		case BSON_TYPE_INT64:
		case BSON_TYPE_DATE_TIME:
		case BSON_TYPE_TIMESTAMP:
			put_uint64(bytes, image.low);
			break;
		case BSON_TYPE_BOOL:
			if (image.low > 1)
				return false;
			bytes[0] = (uint8_t) image.low;
			break;
		case BSON_TYPE_OID:
			store_oid(image.low, value, bytes);
			break;
		case BSON_TYPE_DECIMAL128:
			put_wide(bytes, image);
			break;
		case BSON_TYPE_BINARY:
			return store_binary(image, value, bytes);
		case BSON_TYPE_UTF8:
		case BSON_TYPE_CODE:
			store_string(image, value, bytes);
			break;
		default:
			return false;
	}
	value->value = bytes;
	return true;
}
