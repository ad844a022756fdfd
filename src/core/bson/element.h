/*
 * element.h
 *		Which elements does this BSON document have?
 *
 * A reader of untrusted bytes that never looks past their end.  libbson's
 * iterator does the same in 10 ns an element; the points of a bucket are the
 * hot loop of every scan, and this takes a third of it.
 */
#ifndef MTS_ELEMENT_H
#define MTS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bson/bson.h"

/* MongoDB nests no deeper than 100 levels */
#define MTS_MAX_DEPTH 128

/* Doubles hold every integer up to this, either way */
#define MTS_MAX_EXACT INT64_C(9007199254740992)

/* One element; it points into the document.  The type 0 is "absent". */
typedef struct MtsElement
{
	const char *key; /* NUL-terminated in the document */
	uint32_t key_len;
	uint32_t size; /* of the value in bytes */
	const uint8_t *value;
	uint8_t type; /* a bson_type_t */
} MtsElement;

typedef struct MtsElementCursor
{
	const uint8_t *at;
	const uint8_t *end; /* the document's closing NUL */
} MtsElementCursor;

typedef enum MtsNext
{
	MTS_NEXT_OK,
	MTS_NEXT_END,
	MTS_NEXT_CORRUPT
} MtsNext;

typedef enum MtsKeyNumber
{
	MTS_KEY_TEXT, /* not a number */
	MTS_KEY_NUMBER,
	MTS_KEY_BAD_NUMBER /* "07" or beyond 18 digits */
} MtsKeyNumber;

typedef enum MtsFound
{
	MTS_FOUND,
	MTS_ABSENT,   /* no such key, or a null on the way */
	MTS_MALFORMED /* not a document on the way, or corrupt */
} MtsFound;

extern bool mts_element_open(MtsElementCursor *cursor, const uint8_t *doc,
							 size_t size);
extern MtsNext mts_element_next(MtsElementCursor *cursor, MtsElement *element);
extern MtsKeyNumber mts_element_key_number(const char *key, size_t len,
										   int64_t *n);
extern MtsElement mts_element_document(const uint8_t *doc, size_t size);
extern bool mts_element_is_empty_document(const MtsElement *element);
extern int32_t mts_element_int32(const MtsElement *element);
extern int64_t mts_element_int64(const MtsElement *element);
extern double mts_element_double(const MtsElement *element);
extern bool mts_element_integer(const MtsElement *element, double limit,
								int64_t *n);
extern bool mts_element_number(const MtsElement *element, double *d);
extern void mts_element_decimal(const MtsElement *element, char *text);
extern const char *mts_element_text(const MtsElement *element, size_t *len);
extern const char *mts_element_type_name(int type);
extern bool mts_element_is_well_formed(const MtsElement *element, int depth);
extern bool mts_element_is_valid(const MtsElement *element, int depth);

#endif /* MTS_ELEMENT_H */
