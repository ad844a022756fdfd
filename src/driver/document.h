/*
 * document.h
 *		libbson's documents in memory contexts, and as text.
 */
#ifndef MTS_DOCUMENT_H
#define MTS_DOCUMENT_H

#include "postgres.h"

#include "core/bson/element.h"
#include "core/bson/template.h"

/* The bytes of a character's escape: two code units of UTF-16, and a NUL */
#define MTS_ESCAPE_SIZE 13

extern int mts_document_escape(const unsigned char *utf8, char *escape);
extern char *mts_document_utf8(const char *text);
extern char *mts_document_text(const char *utf8);
extern bson_t *mts_document_new(void);
extern bson_t *mts_document_make(const char *template, ...);
extern void mts_document_append_item(bson_t *array, uint32 *n,
									 const bson_value_t *value);
extern void mts_document_adopt(bson_t *doc);
extern bson_t *mts_document_copy(const bson_t *doc);
extern bool mts_document_view(const bson_iter_t *iter, bson_t *view);
extern const char *mts_document_string(const bson_t *doc, const char *path);
extern int64 mts_document_number(const bson_t *doc, const char *path);
extern int mts_document_count(const bson_t *doc, const char *field);
extern int mts_document_length(const bson_iter_t *array);
extern bool mts_document_has_collation(const bson_t *doc, const char *path);
extern bson_t *mts_document_from_json(const char *json, size_t len,
									  char **problem);
extern char *mts_document_shell(const bson_t *doc);
extern char *mts_document_json(const bson_t *doc);
extern bson_value_t mts_document_value(const MtsElement *element);
extern char *mts_document_value_json(const MtsElement *element);
extern char *mts_document_value_shell(const MtsElement *element);
extern char *mts_document_id_shell(const bson_t *doc);
extern void mts_document_release_with(void (*release)(void *), void *object);

#endif /* MTS_DOCUMENT_H */
