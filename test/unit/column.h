/*
 * column.h
 *		Makes compressed columns from bytes, and reads them in both ways.
 */
#ifndef COLUMN_H
#define COLUMN_H

#include <bson/bson.h>

#include "core/bucket/compressed.h"
#include "core/layout/layout.h"
#include "shell.h"

/* The most entries that are read at once */
#define COLUMN_ROOM 65536

/* An element of a document, which is its only one */
typedef struct Column
{
	uint8_t bytes[SHELL_TEXT];
	int n;
} Column;

static inline void
column_put(Column *column, const void *bytes, size_t size)
{
	if (column->n + size > sizeof(column->bytes))
		abort();
	memcpy(column->bytes + column->n, bytes, size);
	column->n += (int) size;
}

static inline void
column_put_byte(Column *column, int byte)
{
	uint8_t c = (uint8_t) byte;

	column_put(column, &c, 1);
}

static inline void
column_put_hex(Column *column, const char *hex)
{
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		column_put_byte(column, (int) byte);
}

static inline void
column_put_word(Column *column, uint64_t word)
{
	word = BSON_UINT64_TO_LE(word);
	column_put(column, &word, sizeof(word));
}

/* A value in memory of its own, so that ASan sees reads past the end; the
 * caller frees it. */
static inline MtsElement
column_binary(const void *bytes, size_t size)
{
	uint8_t *value = malloc(size + 5);
	uint32_t len = BSON_UINT32_TO_LE((uint32_t) size);

	memcpy(value, &len, 4);
	value[4] = MTS_COMPRESSED_SUBTYPE;
	memcpy(value + 5, bytes, size);
	return (MtsElement){.key = "",
						.type = BSON_TYPE_BINARY,
						.value = value,
						.size = (uint32_t) size + 5};
}

/* Print a value that a column has, or "missing". */
static inline const char *
column_print(const MtsElement *element)
{
	static char text[SHELL_TEXT];
	static uint8_t doc[SHELL_TEXT];
	MtsSink sink = {shell_append, text};
	uint32_t size = 4 + 2 + element->size + 1;
	bson_iter_t iter;
	bson_t bson;

	if (element->type == 0)
		return "missing";
	if (size > sizeof(doc))
		abort();
	memcpy(doc, &size, 4);
	doc[4] = element->type;
	doc[5] = '\0';
	memcpy(doc + 6, element->value, element->size);
	doc[size - 1] = '\0';
	text[0] = '\0';
	if (!bson_init_static(&bson, doc, size) || !bson_iter_init(&iter, &bson) ||
		!bson_iter_next(&iter))
		return "unreadable";
	mts_print_value(&iter, MTS_PRINT_SHELL, &sink);
	return shell_unquote(text);
}

/* What the entries of a column have in common */
typedef struct ColumnEntries
{
	int n;
	uint8_t type; /* of those that are neither null nor missing */
	bool has_one_type;
	bool has_missing;
	int64_t words[COLUMN_ROOM];
	bool missing[COLUMN_ROOM];
} ColumnEntries;

static inline void
column_note(ColumnEntries *entries, const MtsElement *element)
{
	int n = entries->n++;
	uint8_t type = element->type;
	bool is_missing = type == 0 || type == BSON_TYPE_NULL;

	entries->has_missing |= is_missing;
	if (!is_missing)
	{
		entries->has_one_type &=
			(entries->type == 0 || entries->type == type) &&
			(type == BSON_TYPE_DOUBLE || type == BSON_TYPE_INT32 ||
			 type == BSON_TYPE_INT64 || type == BSON_TYPE_DATE_TIME);
		entries->type = type;
	}
	if (n >= COLUMN_ROOM)
		return;
	entries->missing[n] = is_missing;
	if (!is_missing && entries->has_one_type)
		entries->words[n] = type == BSON_TYPE_INT32
								? mts_element_int32(element)
								: mts_element_int64(element);
}

/*
 * Read a column entry by entry, and at once.  Returns a fault, or NULL if both
 * agree and all values are well formed.  The result of the last entry is in
 * *last.
 */
static inline const char *
column_compare(MtsCompressed *column, const MtsElement *binary, MtsNext *last)
{
	static ColumnEntries entries;
	static int64_t words[COLUMN_ROOM];
	static bool missing[COLUMN_ROOM];
	MtsWords all = {.room = COLUMN_ROOM, .words = words, .missing = missing};
	bool readable;
	MtsElement element;

	entries.n = entries.type = 0;
	entries.has_one_type = true;
	entries.has_missing = false;
	*last = MTS_NEXT_CORRUPT;
	if (mts_compressed_open(column, binary))
		while ((*last = mts_compressed_next(column, &element)) == MTS_NEXT_OK)
		{
			if (element.type != 0 &&
				!mts_element_is_well_formed(&element, MTS_MAX_DEPTH))
				return "a malformed value";
			if (element.key[0] != '\0' || element.key_len != 0)
				return "a key";
			column_note(&entries, &element);
			entries.has_one_type &= !column->in_section;
		}
	if (entries.n > MTS_MAX_ELEMENTS)
		return "too many entries";
	readable = *last == MTS_NEXT_END && entries.has_one_type &&
			   entries.n <= COLUMN_ROOM;
	if (mts_compressed_read(binary, &all) != readable)
		return readable ? "not read at once" : "read at once";
	if (!readable)
		return NULL;
	if (all.n != entries.n || all.type != entries.type ||
		all.has_missing != entries.has_missing)
		return "another number, type or lack of entries at once";
	for (int i = 0; i < all.n; i++)
		if (missing[i] != entries.missing[i] ||
			(!missing[i] && words[i] != entries.words[i]))
			return "another entry at once";
	all.room = entries.n;
	if (!mts_compressed_read(binary, &all))
		return "the room suffices";
	all.room = entries.n - 1;
	if (entries.n > 0 && mts_compressed_read(binary, &all))
		return "the room does not suffice";
	return NULL;
}

#endif /* COLUMN_H */
