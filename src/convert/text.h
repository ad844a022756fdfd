/*
 * text.h
 *		The texts of BSON values, and the values that have a text.
 */
#ifndef MTS_TEXT_H
#define MTS_TEXT_H

#include "postgres.h"

#include "core/bson/element.h"

extern char *mts_text_from_utf8(const char *utf8, size_t len);
extern char *mts_text_of(const MtsElement *element);
extern void mts_text_append_values(const char *utf8, bson_t *list, uint32 *n);

#endif /* MTS_TEXT_H */
