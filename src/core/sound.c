/*
 * sound.c
 *		Is a value well formed, with all that it holds?
 *
 * To libbson's iterator what it does not like is the end of a document, and to
 * its JSON nothing at all: so what goes through libbson must first pass here.
 * What is unfolded need not: core/element says what is malformed on the way.
 */
#include "core/sound.h"

#include <string.h>

static bool is_readable(const MtsElement *element, int depth, bool check_text);

/* Bytes before a string of BSON, which are its length */
#define LENGTH 4

static uint32_t
length_at(const uint8_t *at)
{
	uint32_t length;

	memcpy(&length, at, sizeof(length));
	return BSON_UINT32_FROM_LE(length);
}

/* The text of a string within so many bytes, with its NUL; NULL: it is none. */
static const char *
string_at(const uint8_t *at, size_t left, size_t *len)
{
	uint32_t size;

	if (left < LENGTH + 1)
		return NULL;
	size = length_at(at);
	if (size < 1 || size > left - LENGTH || at[LENGTH + size - 1] != 0)
		return NULL;
	*len = size - 1;
	return (const char *) at + LENGTH;
}

/* A length, a string and a document */
static bool
is_code_with_scope(const MtsElement *element, int depth, bool check_text)
{
	const uint8_t *end = element->value + element->size;
	size_t len;
	const char *code =
		string_at(element->value + LENGTH, element->size - LENGTH, &len);
	MtsElement scope;

	if (!code || (check_text && !bson_utf8_validate(code, len, true)))
		return false;
	scope = mts_element_document((const uint8_t *) code + len + 1,
								 end - (const uint8_t *) code - len - 1);
	return is_readable(&scope, depth, check_text);
}

/* Is the text that a value has UTF-8? */
static bool
is_utf8(const MtsElement *element)
{
	const char *text = (const char *) element->value;
	size_t len;

	switch (element->type)
	{
		case BSON_TYPE_UTF8:
		case BSON_TYPE_CODE:
		case BSON_TYPE_SYMBOL:
		case BSON_TYPE_DBPOINTER:
			text = mts_element_text(element, &len);
			return bson_utf8_validate(text, len, true);
		case BSON_TYPE_REGEX:
			/* the expression and its options, each with its NUL */
			len = strlen(text);
			return bson_utf8_validate(text, len, false) &&
				   bson_utf8_validate(text + len + 1, element->size - len - 2,
									  false);
		default:
			return true;
	}
}

/* A length, a subtype and bytes, of which the oldest subtype's begin with
 * their length again */
static bool
is_binary(const MtsElement *element)
{
	const uint8_t *bytes = element->value + LENGTH + 1;
	size_t len = element->size - (LENGTH + 1);

	return bytes[-1] != BSON_SUBTYPE_BINARY_DEPRECATED ||
		   (len >= LENGTH && length_at(bytes) == len - LENGTH);
}

static bool
are_children_readable(const MtsElement *element, int depth, bool check_text)
{
	MtsCursor cursor;
	MtsElement child;
	MtsNext next;

	if (depth == 0 || !mts_cursor_open(&cursor, element->value, element->size))
		return false;
	while ((next = mts_cursor_next(&cursor, &child)) == MTS_NEXT_OK)
		if (!is_readable(&child, depth - 1, check_text))
			return false;
	return next == MTS_NEXT_END;
}

static bool
is_readable(const MtsElement *element, int depth, bool check_text)
{
	if (check_text &&
		(!bson_utf8_validate(element->key, element->key_len, false) ||
		 !is_utf8(element)))
		return false;
	switch (element->type)
	{
		case BSON_TYPE_DOCUMENT:
		case BSON_TYPE_ARRAY:
			return are_children_readable(element, depth, check_text);
		case BSON_TYPE_CODEWSCOPE:
			return is_code_with_scope(element, depth, check_text);
		case BSON_TYPE_BOOL:
			return element->value[0] <= 1;
		case BSON_TYPE_BINARY:
			return is_binary(element);
		default:
			return true;
	}
}

/*
 * mts_element_is_whole
 *		Can libbson's iterator go through a value, no deeper than so many
 *		levels?
 */
bool
mts_element_is_whole(const MtsElement *element, int depth)
{
	return is_readable(element, depth, false);
}

/*
 * mts_element_is_sound
 *		Can all of a value be read, texts too, no deeper than so many levels?
 *
 * What prints or converts a whole document relies on it.
 */
bool
mts_element_is_sound(const MtsElement *element, int depth)
{
	return is_readable(element, depth, true);
}
