/*
 * builder.c
 *		Build the bytes of many elements.
 *
 * A document or array begins with its length, which is known when it ends.
 */
#include "core/bson/builder.h"

/*
 * mts_builder_grow
 *		Have room for more bytes.
 */
void
mts_builder_grow(MtsBuilder *builder, size_t more)
{
	/* behind the length of the document that they will be */
	if (!builder->data)
		builder->len = sizeof(uint32_t);
	builder->size = 2 * builder->size + more + 64;
	builder->data = bson_realloc(builder->data, builder->size);
}

/*
 * mts_builder_begin
 *		Begin a document or an array under a key of some bytes.
 *
 * Returns what mts_builder_end takes.
 */
size_t
mts_builder_begin(MtsBuilder *builder, bson_type_t type, const char *key,
				  size_t len)
{
	(void) mts_builder_key(builder, type, key, len, sizeof(uint32_t));
	return builder->len - sizeof(uint32_t);
}

/*
 * mts_builder_end
 *		End a document or an array.
 */
void
mts_builder_end(MtsBuilder *builder, size_t begin)
{
	uint32_t len;

	if (builder->len == builder->size)
		mts_builder_grow(builder, 1);
	builder->data[builder->len++] = 0;
	len = BSON_UINT32_TO_LE((uint32_t) (builder->len - begin));
	memcpy(builder->data + begin, &len, sizeof(len));
}

/*
 * mts_builder_append_elements
 *		Append the elements of a document.
 */
void
mts_builder_append_elements(MtsBuilder *builder, const bson_t *elements)
{
	size_t len = elements->len - sizeof(uint32_t) - 1;

	if (builder->size - builder->len < len)
		mts_builder_grow(builder, len);
	memcpy(builder->data + builder->len,
		   bson_get_data(elements) + sizeof(uint32_t), len);
	builder->len += len;
}

/*
 * mts_builder_append_other
 *		Append a value of any type under a key of some bytes.
 */
void
mts_builder_append_other(MtsBuilder *builder, const char *key, size_t len,
						 const bson_value_t *value)
{
	bson_t element = BSON_INITIALIZER;

	bson_append_value(&element, key, (int) len, value);
	mts_builder_append_elements(builder, &element);
	bson_destroy(&element);
}

/*
 * mts_builder_finish
 *		Append the elements to a document, and release their memory.
 *
 * Returns false if they are too large for one.
 */
bool
mts_builder_finish(MtsBuilder *builder, bson_t *doc)
{
	bson_t elements;
	bool ok = true;

	if (builder->data)
	{
		mts_builder_end(builder, 0);
		ok = builder->len <= INT32_MAX &&
			 bson_init_static(&elements, builder->data, builder->len) &&
			 bson_concat(doc, &elements);
	}
	bson_free(builder->data);
	*builder = (MtsBuilder){0};
	return ok;
}
