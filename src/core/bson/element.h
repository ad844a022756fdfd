/*
 * element.h
 *		The elements of a BSON document, read from untrusted bytes.
 *
 * The points of a bucket are the hot loop of every scan.  This reader takes a
 * third of the 10 ns that libbson's iterator takes for an element.
 */
#ifndef MTS_ELEMENT_H
#define MTS_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bson/bson.h"

/* A limit of recursion; MongoDB stores at most 100 levels */
#define MTS_MAX_DEPTH 128

/* Doubles are exact for integers up to this magnitude */
#define MTS_MAX_EXACT INT64_C(9007199254740992)

/*
 * One element; it points into the document.  The type 0 is "absent": its
 * other fields are not set.  An element of another type can lack a key if no
 * document has it.
 */
typedef struct MtsElement
{
	const char *key; /* NUL-terminated */
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

/* What the text of a key is */
typedef enum MtsKeyText
{
	MTS_KEYTEXT_OTHER, /* not a number */
	MTS_KEYTEXT_NUMBER,
	MTS_KEYTEXT_BAD_NUMBER /* like "07", or of more than 18 digits */
} MtsKeyText;

typedef enum MtsFound
{
	MTS_FOUND,
	MTS_ABSENT,   /* no such key, or null instead of a document above it */
	MTS_MALFORMED /* another value instead of a document, or corrupt bytes */
} MtsFound;

extern bool mts_element_open(MtsElementCursor *cursor, const uint8_t *doc,
							 size_t size);
extern MtsNext mts_element_next(MtsElementCursor *cursor, MtsElement *element);
extern MtsKeyText mts_element_key_number(const char *key, size_t len,
										 int64_t *n);
extern MtsElement mts_element_document(const uint8_t *doc, size_t size);
extern bool mts_element_is_empty_document(const MtsElement *element);
extern bool mts_element_is_empty_array(const MtsElement *element);
extern int32_t mts_element_int32(const MtsElement *element);
extern int64_t mts_element_int64(const MtsElement *element);
extern double mts_element_double(const MtsElement *element);
extern bool mts_element_integer(const MtsElement *element, double limit,
								int64_t *n);
extern bool mts_element_number(const MtsElement *element, double *d);
extern bool mts_element_amount(const MtsElement *element, double *d);
extern void mts_element_decimal(const MtsElement *element, char *text);
extern bool mts_element_short_decimal(const MtsElement *element,
									  int64_t *digits, int *scale);
extern const char *mts_element_text(const MtsElement *element, size_t *len);
extern const char *mts_element_type_name(int type);
extern bool mts_element_is_well_formed(const MtsElement *element, int depth);
extern bool mts_element_is_valid(const MtsElement *element, int depth);

#endif /* MTS_ELEMENT_H */
