/*
 * builder.h
 *		Build the bytes of many elements.
 *
 * libbson takes longer to append an element than all else that is done for
 * the value of a point, so the points of a bucket are not appended by it.
 */
#ifndef MTS_BUILDER_H
#define MTS_BUILDER_H

#include <string.h>

#include "core/bson/bson.h"

/* Elements one after the other; {0} has none */
typedef struct MtsBuilder
{
	uint8_t *data;
	size_t len;
	size_t size;
} MtsBuilder;

extern void mts_builder_grow(MtsBuilder *builder, size_t more);
extern size_t mts_builder_begin(MtsBuilder *builder, bson_type_t type,
								const char *key, size_t len);
extern void mts_builder_end(MtsBuilder *builder, size_t begin);
extern void mts_builder_append_elements(MtsBuilder *builder,
										const bson_t *elements);
extern void mts_builder_append_other(MtsBuilder *builder, const char *key,
									 size_t len, const bson_value_t *value);
extern bool mts_builder_finish(MtsBuilder *builder, bson_t *doc);

/* Append the type and the key of an element, and have room for more bytes. */
static inline uint8_t *
mts_builder_key(MtsBuilder *builder, bson_type_t type, const char *key,
				size_t len, size_t more)
{
	uint8_t *at;

	if (builder->size - builder->len < len + 2 + more)
		mts_builder_grow(builder, len + 2 + more);
	at = builder->data + builder->len;
	*at = (uint8_t) type;
	memcpy(at + 1, key, len);
	at[1 + len] = 0;
	builder->len += len + 2 + more;
	return at + len + 2;
}

/* Append a value under a key of some bytes. */
static inline void
mts_builder_append(MtsBuilder *builder, const char *key, size_t len,
				   const bson_value_t *value)
{
	bson_type_t type = value->value_type;
	uint64_t bits;

	if (type != BSON_TYPE_DOUBLE && type != BSON_TYPE_INT64 &&
		type != BSON_TYPE_DATE_TIME)
	{
		mts_builder_append_other(builder, key, len, value);
		return;
	}
	/* the eight bytes of any of these types */
	bits = BSON_UINT64_TO_LE((uint64_t) value->value.v_int64);
	memcpy(mts_builder_key(builder, type, key, len, sizeof(bits)), &bits,
		   sizeof(bits));
}

#endif /* MTS_BUILDER_H */
