/*
 * print.h
 *		Print BSON close to the syntax of MongoDB's shell, or as extended JSON.
 */
#ifndef MTS_PRINT_H
#define MTS_PRINT_H

#include "core/bson/bson.h"

typedef enum MtsPrintStyle
{
	MTS_PRINT_SHELL, /* close to the shell's syntax; rare types are printed
					  * as extended JSON */
	MTS_PRINT_JSON   /* relaxed extended JSON */
} MtsPrintStyle;

/* Receives the text in pieces, which are not NUL-terminated */
typedef struct MtsSink
{
	void (*write)(void *arg, const char *text, size_t len);
	void *arg;
} MtsSink;

extern void mts_print_document(const bson_t *doc, bool is_array,
							   MtsPrintStyle style, const MtsSink *sink);
extern void mts_print_value(const bson_iter_t *iter, MtsPrintStyle style,
							const MtsSink *sink);
extern void mts_print_double(double d, char *text, size_t size);
extern bool mts_print_date(int64_t msecs, char *text, size_t size);

#endif /* MTS_PRINT_H */
