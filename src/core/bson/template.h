/*
 * template.h
 *		Append BSON from a template in the syntax of MongoDB's shell.
 */
#ifndef MTS_TEMPLATE_H
#define MTS_TEMPLATE_H

#include <stdarg.h>

#include "core/bson/bson.h"

extern void mts_template_append(bson_t *parent, const char *key,
								const char *template, ...);
extern void mts_template_fields(bson_t *doc, const char *template, ...);
extern void mts_template_vfields(bson_t *doc, const char *template,
								 va_list args);
extern void mts_template_push(bson_t *array, const char *template, ...);

#endif /* MTS_TEMPLATE_H */
